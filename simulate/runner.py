"""Run a plan of profiles, twins and ratings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from annotate.config import RunSection, StudyConfig
from annotate.schema import (
    Conversation,
    Item,
    Noun,
    Participant,
    Profile,
    Provenance,
    Run,
    canonical_hash,
    new_id,
)
from simulate.asking import cost_of
from simulate.assistants import DocumentKeeper, SimulatedAssistant
from simulate.cells import Plan
from simulate.dialogue import converse
from simulate.engine import Engine, Progress
from simulate.llm import Gateway
from simulate.plan import ORDERS, Planned, Planner, scales_of
from simulate.profiles import Extractor, person_length_range
from simulate.raters import SimulatedRater
from simulate.task import Task
from simulate.users import SimulatedUser, own_facts

N = TypeVar("N")


class Runner(Engine[Planned]):
    """Carries out a plan of profiles, twins and ratings."""

    stages = ("profile", "conversation", "annotation")

    def __init__(
        self,
        planner: Planner,
        plan: Plan[Planned],
        gateway: Gateway,
        observe: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        super().__init__(plan, planner.store, gateway, planner.config.models, observe, planner.run.concurrency)
        self.planner = planner
        self.config: StudyConfig = planner.config
        self.run: RunSection = planner.run
        self.tasks: dict[str, Task] = planner.tasks

    def announce(self) -> None:
        """Write down the run, its raters, scales and cells."""
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
                    self.cell(
                        run_id,
                        c,
                        {
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

    async def do(self, cell: Planned) -> list[Noun]:
        """Return a profile, a twin with its player, or ratings."""
        conversation = self._conversation(cell.source)
        item, task = self._item(conversation), self.tasks[cell.task]
        if cell.kind == "profile":
            extractor = Extractor(
                self.voice(self.run.extractor, "extract", self.run.assistant_max_tokens), task, self.run.prompt_tokens
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
            self.voice(self.run.user, "user", self.run.user_max_tokens),
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
            self.voice(model, "assistant", self.run.assistant_max_tokens),
            task,
            item,
            self.run.prompt_tokens,
            cell.trial,
        )
        keeper = self.voice(self.run.document or model, "document", self.run.assistant_max_tokens)
        canvas = DocumentKeeper(keeper, task, item, self.run.prompt_tokens, cell.trial) if task.file.document else None
        talk = await converse(
            user, assistant, max_user_turns=self.run.max_user_turns, canvas=canvas, on_turn=lambda _: self.turned()
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
            self.voice(judge, "judge", self.run.assistant_max_tokens), task, known[scale], self.run.prompt_tokens
        )

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
