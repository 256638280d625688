"""The engine of all long work with models: a finished cell is stored at once, a failed one is a record."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Generic, TypeVar

from annotate.config import ModelConfig
from annotate.errors import BudgetError, ModelError, OutcomeError
from annotate.schema import Annotation, Cell, Failure, Noun, new_id
from annotate.store import Store
from simulate.asking import Stopped, Voice
from simulate.cells import Plan, Step
from simulate.llm import CallFailed, Gateway, as_model_error

S = TypeVar("S", bound=Step)


@dataclass
class Progress:
    """How far a run is; handed to the observer after every cell and every turn."""

    done: int = 0
    failed: int = 0
    total: int = 0
    stage: str = ""
    turns: int = 0
    unreadable: int = 0


@dataclass
class Summary:
    """What a run did; `flagged` counts the verdicts that look odd."""

    done: int = 0
    failed: int = 0
    unreadable: int = 0
    flagged: int = 0
    already: int = 0
    blocked: int = 0
    stopped: bool = False
    failures: list[Failure] = field(default_factory=list)
    budget: str | None = None


class Engine(ABC, Generic[S]):
    """Carries out a plan with one gateway; what a cell takes is said in `do`.

    stages: kinds of cells in the order in which they are done. concurrency: how many groups of cells are under way at
    once; the cells of one group follow each other.
    """

    stages: tuple[str, ...]

    def __init__(
        self,
        plan: Plan[S],
        store: Store,
        gateway: Gateway,
        models: Mapping[str, ModelConfig],
        observe: Callable[[Progress], None] = lambda progress: None,
        concurrency: int = 8,
    ) -> None:
        self.plan, self.store, self.gateway, self.observe = plan, store, gateway, observe
        self.models, self.concurrency = models, concurrency
        self.stop = asyncio.Event()
        self.progress = Progress(total=len(plan.open()))
        self.summary = Summary(already=len(plan.finished))

    @abstractmethod
    def announce(self) -> None:
        """Write down what the results will refer to: the run, its cells, raters, scales."""

    @abstractmethod
    async def do(self, cell: S) -> Sequence[Noun]:
        """Return what a cell results in; it is stored whole, or not at all."""

    async def execute(self) -> Summary:
        """Do every open cell; a budget that is used up, or `stop`, ends it early with everything finished stored."""
        self.announce()
        for stage in self.stages:
            self.progress.stage = stage
            limit = asyncio.Semaphore(self.concurrency)
            groups = [list(cells) for _, cells in groupby(self.plan.open(stage), key=lambda cell: cell.group)]
            await asyncio.gather(*(self._in_order(cells, limit) for cells in groups))
            if self.summary.budget or self.stop.is_set():
                break
        self.summary.stopped = self.stop.is_set()
        return self.summary

    def voice(self, name: str | None, purpose: str, max_tokens: int) -> Voice:
        """Return a model of the study in a part."""
        return Voice(self.gateway, str(name), self.models[str(name)], max_tokens, purpose, self.stop.is_set)

    def cell(self, run: str, cell: S, spec: dict[str, object]) -> Cell:
        """Return the record of a cell."""
        return Cell.model_validate({"id": cell.id, "run": run, "kind": cell.kind, "spec": spec})

    def turned(self) -> None:
        """Count a turn of a conversation that is under way."""
        self.progress.turns += 1
        self.observe(self.progress)

    async def _in_order(self, cells: Sequence[S], limit: asyncio.Semaphore) -> None:
        async with limit:
            for cell in cells:
                await self._guarded(cell)

    async def _guarded(self, cell: S) -> None:
        if self.stop.is_set() or self.summary.budget:
            return
        if any(need not in self.plan.finished for need in cell.needs):
            self.summary.blocked += 1
            self.progress.failed += 1
            return
        try:
            nouns = await self.do(cell)
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

    def _finished(self, cell: S, nouns: Sequence[Noun]) -> None:
        with self.store.begin() as tx:
            tx.add_new(nouns)
        self.plan.finished.add(cell.id)
        unreadable = any(getattr(noun, "missing", None) == "unparsable" for noun in nouns)
        self.summary.done += 1
        self.summary.unreadable += unreadable
        self.summary.flagged += any(
            isinstance(noun, Annotation) and noun.target.kind == "verdict" and noun.value is not None and noun.flags
            for noun in nouns
        )
        self.progress.done += 1
        self.progress.unreadable += unreadable
        self.observe(self.progress)

    def _failed(self, cell: S, failed: CallFailed) -> None:
        call_id = failed.call.id if failed.call else None
        self._record(cell, failed.kind, str(failed), retryable=failed.retryable, call_id=call_id)

    def _record(self, cell: S, kind: str, message: str, *, retryable: bool = False, call_id: str | None = None) -> None:
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
        if failed.call is None:
            return None
        named = [(name, model) for name, model in self.models.items() if model.model == failed.call.model]
        return as_model_error(failed, *named[0]) if named else None
