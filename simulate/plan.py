"""What a run will do: cells, each known by the hash of what it is, so that planning twice plans nothing twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from annotate.config import RunSection, StrategyConfig, StudyConfig
from annotate.errors import ConfigError, nearest
from annotate.schema import Conversation, Scale
from annotate.store import Store
from annotate.study import known_names
from simulate.cells import Plan, cell_id, finished
from simulate.judgeable import check_judgeable
from simulate.raters import prompt_name
from simulate.task import Part, Task, shipped
from simulate.users import STRATEGIES

Kind = Literal["profile", "conversation", "annotation"]
ORDERS = {"human_first": True, "twin_first": False}
_TWINS_ONLY = frozenset({"final_answer"})


@dataclass(frozen=True)
class Planned:
    """One cell: what it is, and what it needs at hand."""

    id: str
    kind: Kind
    source: str
    task: str
    needs: tuple[str, ...] = ()
    strategy: str | None = None
    trial: int = 0
    scale: str | None = None
    judge: str | None = None
    twin: str | None = None
    order: str | None = None
    parts: tuple[Part, ...] = ()

    @property
    def group(self) -> str:
        """Each is done for itself."""
        return self.id


def strategies_of(config: StudyConfig, run: RunSection) -> dict[str, StrategyConfig]:
    """Return the strategies that a run names: declared ones over built-in ones; raises `ConfigError`."""
    known = {**STRATEGIES, **config.strategies}
    for name in run.strategies:
        known_names(known, name, "[run] strategies")
    return {name: known[name] for name in run.strategies}


def check_run(config: StudyConfig, run: RunSection, *, twins: bool) -> None:
    """Raise `ConfigError` where a model that the run needs is not named or not declared."""
    named = [
        ("user", run.user),
        ("assistant", run.assistant),
        ("document", run.document),
        ("extractor", run.extractor),
        *(("judges", judge) for judge in run.judges),
        *(("assistants", name) for name in run.assistants.values()),
    ]
    for key, name in named:
        if name is not None:
            known_names(config.models, name, f"[run] {key}")
    for name in run.per_task:
        known_names(dict.fromkeys([*shipped(), *config.tasks]), name, "[run] per_task")
    needed = {"user": run.user, "assistant": run.assistant} if twins else {}
    for part, name in needed.items():
        if name is None and not (part == "assistant" and run.assistants):
            raise ConfigError(
                f'[run] {part}: no model is named. Set {part} = "NAME" of a [models.NAME]'
                f" (declared: {', '.join(sorted(config.models)) or 'none'})."
            )


class Planner:
    """Plans a run over the human conversations of a store."""

    def __init__(self, config: StudyConfig, run: RunSection, tasks: dict[str, Task], store: Store) -> None:
        self.config, self.run, self.tasks, self.store = config, run, tasks, store
        self.strategies = strategies_of(config, run)

    def plan(self, *, twins: bool = True, judge: bool = True) -> Plan[Planned]:
        """Return the plan: profiles, then twins, then annotations."""
        check_run(self.config, self.run, twins=twins)
        plan: Plan[Planned] = Plan(self.run.name, notes=list(self._unused()))
        for task in self.tasks.values():
            if judge:
                self._check_scales(task)
            chosen = self._chosen(task)
            if not chosen:
                plan.notes.append(f"{task.name}: no human conversation of this task is in the store")
            for conversation in chosen:
                cells = list(self._of(conversation, task, twins))
                plan.cells += cells
                if judge:
                    plan.cells += self._annotations(conversation, task, [c for c in cells if c.kind == "conversation"])
        plan.once()
        plan.finished = finished(self.store, plan.cells)
        return plan

    def plan_judging(self) -> Plan[Planned]:
        """Return a plan of ratings only: of the human conversations, and of every twin of theirs in the store."""
        plan: Plan[Planned] = Plan(self.run.name)
        check_run(self.config, self.run, twins=False)
        for task in self.tasks.values():
            self._check_scales(task)
            for conversation in self._chosen(task):
                twins = [
                    Planned(str(twin.cell), "conversation", conversation.id, task.name, strategy=twin.strategy)
                    for twin in self.store.iterate(Conversation, twin_of=conversation.id)
                    if twin.cell
                ]
                plan.cells += self._annotations(conversation, task, twins)
                plan.finished |= {twin.id for twin in twins}
        plan.once()
        plan.finished |= finished(self.store, plan.cells)
        return plan

    def plan_profiles(self) -> Plan[Planned]:
        """Return a plan of profiles only, with every part that the tasks know."""
        plan: Plan[Planned] = Plan(self.run.name)
        check_run(self.config, self.run, twins=False)
        for task in self.tasks.values():
            plan.cells += [self._profile(c, task, task.file.parts) for c in self._chosen(task)]
        plan.finished = finished(self.store, plan.cells)
        return plan

    def _check_scales(self, task: Task) -> None:
        stored = {scale.name: scale for scale in self.store.iterate(Scale)} if self.run.judges else {}
        for scale in scales_of(task, self.config, self.run) if self.run.judges else ():
            check_judgeable(task, scale, stored)

    def _unused(self) -> Iterator[str]:
        """Say which names of [run] stand for nothing in the store, since a typing error there goes unseen."""
        if self.run.assistants:
            there = set(self.store.column(Conversation, "assistant", origin="human"))
            for name in self.run.assistants:
                if name not in there:
                    yield f"[run.assistants] {name!r}: no conversation is with an assistant of that name"

    def _chosen(self, task: Task) -> list[Conversation]:
        limit = self.run.per_task.get(task.name, self.run.conversations)
        found: list[Conversation] = []
        for conversation in self.store.iterate(Conversation, chunk=50, task=task.name, origin="human"):
            if limit is not None and len(found) >= limit:
                break
            if conversation.content_hash is not None:  # one that is still going on has no twin
                found.append(conversation)
        return found

    def _of(self, conversation: Conversation, task: Task, twins: bool) -> Iterator[Planned]:
        if not twins:
            return
        parts = self._parts(task)
        profile = self._profile(conversation, task, parts) if parts else None
        if profile:
            yield profile
        for name, strategy in self.strategies.items():
            for trial in range(self.run.trials):
                needs = (profile.id,) if profile and set(strategy.parts) & set(parts) else ()
                spec = {**self._twin_spec(conversation, task, strategy, needs), "trial": trial}
                yield Planned(
                    cell_id("t", spec), "conversation", conversation.id, task.name, needs, strategy=name, trial=trial
                )

    def _parts(self, task: Task) -> tuple[Part, ...]:
        """The parts of a profile that the strategies use and the task has."""
        wanted = {part for strategy in self.strategies.values() for part in strategy.parts}
        return tuple(part for part in task.file.parts if part in wanted)

    def _profile(self, conversation: Conversation, task: Task, parts: tuple[Part, ...]) -> Planned:
        extractor = self.run.extractor
        if extractor is None:
            raise ConfigError(
                "[run] extractor: no model is named, but the strategies need profiles. Set extractor = "
                '"NAME", or use strategies without parts.'
            )
        spec = {
            "source": _source(conversation),
            "task": task.name,
            "parts": parts,
            "model": self._model(extractor),
            "room": self.run.prompt_tokens,
            "max_tokens": self.run.assistant_max_tokens,
            "prompts": [task.prompts.hash(n) for n in ("extract_style", "extract_knowledge", "extract_preferences")],
            "styles": {p: [a.model_dump() for a in task.styles[p]] for p in task.styles},
        }
        return Planned(cell_id("f", spec), "profile", conversation.id, task.name, parts=parts)

    def _twin_spec(
        self, conversation: Conversation, task: Task, strategy: StrategyConfig, needs: tuple[str, ...]
    ) -> dict[str, Any]:
        run = self.run
        document = run.document or run.assistant
        return {
            "source": _source(conversation),
            "task": task.name,
            "strategy": strategy.model_dump(),
            "needs": needs,
            "user": self._model(run.user),
            "assistant": self._model(self.assistant_for(conversation)),
            "document": self._model(document) if task.file.document else None,
            "room": run.prompt_tokens,
            "caps": [run.max_user_turns, run.user_max_tokens, run.assistant_max_tokens],
            "prompts": [task.prompts.hash(n) for n in ("user", "assistant")]
            + ([task.prompts.hash("update_document")] if task.file.document else []),
        }

    def assistant_for(self, conversation: Conversation) -> str | None:
        """Return the model that stands for the assistant of a conversation."""
        return self.run.assistants.get(conversation.assistant, self.run.assistant)

    def _annotations(self, conversation: Conversation, task: Task, twins: Sequence[Planned]) -> Iterator[Planned]:
        for judge in self.run.judges:
            for scale in scales_of(task, self.config, self.run):
                if scale.target == "pair":
                    for twin in twins:
                        for order in ORDERS:
                            yield self._annotation(conversation, task, scale, judge, twin, order)
                    continue
                if scale.name not in _TWINS_ONLY:
                    yield self._annotation(conversation, task, scale, judge, None, None)
                for twin in twins:
                    yield self._annotation(conversation, task, scale, judge, twin, None)

    def _annotation(
        self, conversation: Conversation, task: Task, scale: Scale, judge: str, twin: Planned | None, order: str | None
    ) -> Planned:
        prompt = prompt_name(task, scale.name)
        spec = {
            "source": _source(conversation),
            "twin": twin.id if twin else None,
            "scale": scale.model_dump(),
            "judge": self._model(judge),
            "order": order,
            "prompt": task.prompts.hash(prompt),
            "room": self.run.prompt_tokens,
            "max_tokens": self.run.assistant_max_tokens,
        }
        return Planned(
            cell_id("a", spec),
            "annotation",
            conversation.id,
            task.name,
            (twin.id,) if twin else (),
            strategy=twin.strategy if twin else None,
            scale=scale.name,
            judge=judge,
            twin=twin.id if twin else None,
            order=order,
        )

    def _model(self, name: str | None) -> dict[str, Any] | None:
        """What of a model makes a difference to its replies."""
        if name is None:
            return None
        config = self.config.models[name]
        return config.model_dump(include={"model", "temperature", "top_p", "seed", "api_base", "structured", "params"})


def scales_of(task: Task, config: StudyConfig, run: RunSection) -> list[Scale]:
    """Return the scales that are judged for a task: those of the run that the task knows, else the task's own."""
    known = {**task.scales, **config.scales}
    if not run.scales:
        for name in task.file.run_scales:
            known_names(known, name, f"{task.folder / 'task.toml'}: run_scales")
        return [known[name] for name in task.file.run_scales]
    return [known[name] for name in run.scales if name in known]


def check_scales(tasks: Iterable[Task], config: StudyConfig, names: Sequence[str]) -> None:
    """Raise `ConfigError` for a scale that no task of the run has."""
    known = sorted({name for task in tasks for name in task.scales} | set(config.scales))
    for name in names:
        if name not in known:
            raise ConfigError(
                f"scale {name!r} is not known{nearest(name, known)} Known: {', '.join(known) or 'none'}; declare "
                f"another with [scales.{name}]."
            )


def _source(conversation: Conversation) -> list[str | None]:
    """What names a conversation: its content, its person and its item, not the id that it happened to get."""
    return [conversation.content_hash, conversation.participant, conversation.item]
