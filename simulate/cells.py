"""Cells: the units that work is planned in, each known by the hash of what it is, so that nothing is planned twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from annotate.schema import Annotation, Conversation, Profile, Rubric, canonical_hash
from annotate.store import Store


class Step(Protocol):
    """What the engine must know of a cell.

    needs: cells that must be finished before it. group: cells of one group are done one after another, in order.
    """

    @property
    def id(self) -> str:
        """The hash of what it is."""
        ...

    @property
    def kind(self) -> str:
        """The stage that it belongs to."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Cells that come first."""
        ...

    @property
    def group(self) -> str:
        """Cells that it is done in order with."""
        ...


S = TypeVar("S", bound=Step)


@dataclass
class Plan(Generic[S]):
    """Every cell of a run, and which are finished."""

    run: str
    cells: list[S] = field(default_factory=list)
    finished: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def once(self) -> None:
        """Keep one of cells that are the same: two names of one judge, two strategies that give the same."""
        cells: dict[str, S] = {}
        for cell in self.cells:
            cells.setdefault(cell.id, cell)
        if (more := len(self.cells) - len(cells)) > 0:
            self.notes.append(f"{more:,} cells are named twice, and are done and counted once")
        self.cells = list(cells.values())

    def open(self, kind: str | None = None) -> list[S]:
        """The cells still to do."""
        return [c for c in self.cells if c.id not in self.finished and kind in (None, c.kind)]

    def count(self, kind: str) -> tuple[int, int]:
        """(finished, planned) of one kind."""
        planned = [c for c in self.cells if c.kind == kind]
        return sum(c.id in self.finished for c in planned), len(planned)


def finished(store: Store, cells: Sequence[Step]) -> set[str]:
    """Return the ids of the cells whose result is in the store."""
    wanted = {cell.id for cell in cells}
    done = store.ids(Profile) | store.ids(Annotation) | store.ids(Rubric)
    return wanted & (done | {cell for cell in store.column(Conversation, "cell") if cell})


def cell_id(prefix: str, spec: dict[str, Any]) -> str:
    """Return the identity of a cell of that specification."""
    return f"{prefix}_{canonical_hash(spec)[:20]}"
