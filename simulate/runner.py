"""Run a plan: a finished cell is stored at once, a failed one is a record, nothing is done twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from annotate.config import RunSection, StudyConfig
from annotate.errors import BudgetError, ModelError, OutcomeError
from annotate.schema import (
    Cell,
    Conversation,
    Failure,
    Item,
    Noun,
    Participant,
    Profile,
    Provenance,
    Run,
    canonical_hash,
    new_id,
)
from annotate.store import Store
from simulate.asking import Stopped, Voice, cost_of
from simulate.assistants import DocumentKeeper, SimulatedAssistant
from simulate.dialogue import converse
from simulate.llm import CallFailed, Gateway, as_model_error
from simulate.plan import ORDERS, Plan, Planned, Planner, scales_of
from simulate.profiles import Extractor, person_length_range
from simulate.raters import SimulatedRater
from simulate.task import Task
from simulate.users import SimulatedUser, own_facts

N = TypeVar("N")
STAGES = ("profile", "conversation", "annotation")


@dataclass
class Progress:
    """How far a run is; handed to the observer after every cell and every turn."""

    done: int = 0
    failed: int = 0
    total: int = 0
    stage: str = ""
    turns: int = 0


@dataclass
class Summary:
    """What a run did."""

    done: int = 0
    failed: int = 0
    unreadable: int = 0
    already: int = 0
    blocked: int = 0
    stopped: bool = False
    failures: list[Failure] = field(default_factory=list)
    budget: str | None = None


class Runner:
    """Carries out a plan with one gateway."""

    def __init__(
        self,
        planner: Planner,
        plan: Plan,
        gateway: Gateway,
        observe: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        self.planner, self.plan, self.gateway, self.observe = planner, plan, gateway, observe
        self.config: StudyConfig = planner.config
        self.run: RunSection = planner.run
        self.tasks: dict[str, Task] = planner.tasks
        self.store: Store = planner.store
        self.stop = asyncio.Event()
        self.progress = Progress(total=len(plan.open()))
        self.summary = Summary(already=len(plan.finished))

    async def execute(self) -> Summary:
        """Do every open cell; a budget that is used up, or `stop`, ends it early with everything finished stored."""
        self._announce()
        for stage in STAGES:
            self.progress.stage = stage
            limit = asyncio.Semaphore(self.run.concurrency)
            cells = [c for c in self.plan.cells if c.kind == stage and c.id not in self.plan.finished]
            await asyncio.gather(*(self._guarded(cell, limit) for cell in cells))
            if self.summary.budget or self.stop.is_set():
                break
        self.summary.stopped = self.stop.is_set()
        return self.summary

    def _announce(self) -> None:
        raters = [
            self._rater(self.tasks[task], scale.name, judge).rater
            for task in self.tasks
            for judge in self.run.judges
            for scale in scales_of(self.tasks[task], self.config, self.run)
        ]
        scales = [s for task in self.tasks.values() for s in [*task.scales.values(), *self.config.scales.values()]]
        run_id = f"r_{canonical_hash([self.run.name, self.run.model_dump(mode='json')])[:16]}"
        with self.store.begin() as tx:
            tx.add_new([Run(id=run_id, name=self.run.name, config=self.run.model_dump(mode="json"))])
            tx.add_new([*raters, *scales])
            tx.add_new(
                [
                    Cell(
                        id=c.id,
                        run=run_id,
                        kind=c.kind,
                        spec={
                            "source": c.source,
                            "task": c.task,
                            "strategy": c.strategy,
                            "trial": c.trial,
                            "scale": c.scale,
                            "judge": c.judge,
                            "order": c.order,
                        },
                    )
                    for c in self.plan.open()
                ]
            )
        self.run_id = run_id

    async def _guarded(self, cell: Planned, limit: asyncio.Semaphore) -> None:
        async with limit:
            if self.stop.is_set() or self.summary.budget:
                return
            if any(need not in self.plan.finished for need in cell.needs):
                self.summary.blocked += 1
                self.progress.failed += 1
                return
            try:
                nouns = await self._do(cell)
            except CallFailed as failed:
                self._failed(cell, failed)
                if ended := self._hopeless(failed):  # every further call would fail in the same way
                    raise ended from None
                return
            except OutcomeError as error:
                self._record(cell, "outcome", str(error))
                return
            except Stopped:
                return
            except BudgetError as error:
                self.summary.budget = str(error)
                return
            self._finished(cell, nouns)

    def _finished(self, cell: Planned, nouns: Sequence[Noun]) -> None:
        with self.store.begin() as tx:
            tx.add_new(nouns)
        self.plan.finished.add(cell.id)
        self.summary.done += 1
        self.summary.unreadable += any(getattr(noun, "missing", None) == "unparsable" for noun in nouns)
        self.progress.done += 1
        self.observe(self.progress)

    def _failed(self, cell: Planned, failed: CallFailed) -> None:
        call_id = failed.call.id if failed.call else None
        self._record(cell, failed.kind, str(failed), retryable=failed.retryable, call_id=call_id)

    def _record(
        self, cell: Planned, kind: str, message: str, *, retryable: bool = False, call_id: str | None = None
    ) -> None:
        failure = Failure(
            id=new_id("x"), kind=kind, message=message, cell=cell.id, retryable=retryable, call_id=call_id
        )
        with self.store.begin() as tx:
            tx.add([failure])
        self.summary.failures.append(failure)
        self.summary.failed += 1
        self.progress.failed += 1
        self.observe(self.progress)

    def _hopeless(self, failed: CallFailed) -> ModelError | None:
        """Return the error that ends the run where its model cannot be used at all: a wrong key, name or setting."""
        named = [(name, model) for name, model in self.config.models.items() if model.model == failed.call.model]
        return as_model_error(failed, *named[0]) if named else None

    async def _do(self, cell: Planned) -> list[Noun]:
        conversation = self._conversation(cell.source)
        item, task = self._item(conversation), self.tasks[cell.task]
        if cell.kind == "profile":
            extractor = Extractor(
                self._voice(self.run.extractor, "extract", self.run.assistant_max_tokens), task, self.run.prompt_tokens
            )
            return [await extractor.extract(cell.id, conversation, item, cell.parts)]
        if cell.kind == "conversation":
            return await self._twin(cell, conversation, item, task)
        return await self._annotate(cell, conversation, item, task)

    async def _twin(self, cell: Planned, source: Conversation, item: Item, task: Task) -> list[Noun]:
        strategy = self.planner.strategies[str(cell.strategy)]
        profile = self.store.get(Profile, cell.needs[0]) if cell.needs else None
        model = self.planner.assistant_for(source)
        user = SimulatedUser(
            self._voice(self.run.user, "user", self.run.user_max_tokens),
            task,
            item,
            strategy,
            profile,
            tuple(own_facts(source, item)),
            person_length_range(source),
            self.run.prompt_tokens,
            cell.trial,
        )
        assistant = SimulatedAssistant(
            self._voice(model, "assistant", self.run.assistant_max_tokens),
            task,
            item,
            self.run.prompt_tokens,
            cell.trial,
        )
        keeper = self._voice(self.run.document or model, "document", self.run.assistant_max_tokens)
        canvas = DocumentKeeper(keeper, task, item, self.run.prompt_tokens, cell.trial) if task.file.document else None
        talk = await converse(
            user, assistant, max_user_turns=self.run.max_user_turns, canvas=canvas, on_turn=lambda _: self._turned()
        )
        player = Participant(
            id=f"s_{canonical_hash([user.voice.model.model, strategy.model_dump()])[:12]}",
            kind="simulator",
            background={"model": user.voice.model.model, "strategy": cell.strategy},
        )
        twin = Conversation(
            id=new_id("c"),
            task=task.name,
            item=item.id,
            participant=player.id,
            assistant=source.assistant,
            origin="simulated",
            turns=tuple(talk.turns),
            documents=tuple(talk.documents),
            ended=talk.ended,
            cost_usd=cost_of(talk.calls),
            run=self.run_id,
            cell=cell.id,
            strategy=cell.strategy,
            profile=profile.id if profile else None,
            twin_of=source.id,
            tags={**source.tags, "assistant_model": str(model)},
            provenance=Provenance(format="usercal run", file=self.run.name, record=cell.id, trial=cell.id),
        ).completed()
        return [player, twin]

    async def _annotate(self, cell: Planned, source: Conversation, item: Item, task: Task) -> list[Noun]:
        rater = self._rater(task, str(cell.scale), str(cell.judge))
        twin = self._by_cell(cell.twin) if cell.twin else None
        if cell.order is not None and twin is not None:
            return [*await rater.compare(cell.id, source, twin, item, ORDERS[cell.order], self.run_id)]
        profile = self._profile_of(source) if task.file.document else None
        return [*await rater.rate(cell.id, twin or source, item, profile, self.run_id)]

    def _rater(self, task: Task, scale: str, judge: str) -> SimulatedRater:
        known = {**task.scales, **self.config.scales}
        return SimulatedRater(
            self._voice(judge, "judge", self.run.assistant_max_tokens), task, known[scale], self.run.prompt_tokens
        )

    def _voice(self, name: str | None, purpose: str, max_tokens: int) -> Voice:
        return Voice(self.gateway, str(name), self.config.models[str(name)], max_tokens, purpose, self.stop.is_set)

    def _turned(self) -> None:
        self.progress.turns += 1
        self.observe(self.progress)

    def _conversation(self, identity: str) -> Conversation:
        return _required(self.store.get(Conversation, identity), identity)

    def _by_cell(self, cell: str) -> Conversation:
        found = self.store.select(Conversation, cell=cell)
        return _required(found[0] if found else None, cell)

    def _item(self, conversation: Conversation) -> Item:
        return _required(self.store.get(Item, conversation.item), conversation.item)

    def _profile_of(self, conversation: Conversation) -> Profile | None:
        """The profile whose preferences a judge of the document sees: the newest that has any."""
        found = [p for p in self.store.select(Profile, conversation=conversation.id) if p.preferences]
        return found[-1] if found else None


def _required(noun: N | None, identity: str) -> N:
    if noun is None:
        raise LookupError(f"{identity} is not in the store")
    return noun
