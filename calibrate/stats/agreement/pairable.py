"""Units that can be compared: those with two ratings or more, sorted into kinds of units that were rated alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrate.stats.agreement.ratings import FloatArray, IntArray, Level, Ratings

DENSE_CELLS = 4_000_000  # of a table of kinds × categories that is held as such


@dataclass(frozen=True, eq=False)
class Pairable:
    """Pairable ratings as kinds: units with the same ratings, whoever gave them, are of one kind.

    Kinds stand in an order that depends on what they hold alone (size, then ratings), and so does all that follows.

    used: the categories that occur, as places among those of the ratings, ascending, shape (category,). scores: what
    distances between them are measured with, shape (category,), None for labels.
    unit: numbers of the pairable units; kind: the kind of each, both shape (unit,).
    alike: how many units are of the kind; size: ratings of such a unit, both shape (kind,).
    entry_kind, entry_code, entry_count: a unit of the kind was put so many times into the category, shape (entry,),
    sorted by kind, then category.
    """

    level: Level
    used: IntArray
    scores: FloatArray | None
    unit: IntArray
    kind: IntArray
    alike: IntArray
    size: FloatArray
    entry_kind: IntArray
    entry_code: IntArray
    entry_count: FloatArray

    @property
    def categories(self) -> int:
        """How many categories occur."""
        return len(self.used)

    @property
    def kinds(self) -> int:
        """How many kinds of units there are."""
        return len(self.size)

    @cached_property
    def split(self) -> NDArray[np.bool_]:
        """Whether a unit of the kind holds two categories or more, shape (kind,)."""
        return np.bincount(self.entry_kind, minlength=self.kinds) > 1

    @cached_property
    def lowest(self) -> IntArray:
        """The lowest category of the kind, its only one where it is not split, shape (kind,)."""
        first = np.flatnonzero(np.diff(self.entry_kind, prepend=-1))
        return self.entry_code[first]

    @cached_property
    def counts(self) -> Any:
        """How often a unit of the kind was put into each category, (kind, category): an array, or sparse if large."""
        shape = (self.kinds, self.categories)
        if shape[0] * shape[1] <= DENSE_CELLS:
            table = np.zeros(shape)
            table[self.entry_kind, self.entry_code] = self.entry_count
            return table
        from scipy.sparse import csr_array

        return csr_array((self.entry_count, (self.entry_kind, self.entry_code)), shape=shape)

    def sums(self, each: FloatArray) -> FloatArray:
        """Return Σ count × each over the entries of every kind; each: shape (entry,)."""
        return np.bincount(self.entry_kind, self.entry_count * each, self.kinds).astype(np.float64)

    @cached_property
    def agreeing(self) -> FloatArray:
        """Share of agreeing pairs of ratings in a unit of the kind, shape (kind,)."""
        return (self.sums(self.entry_count) - self.size) / (self.size * (self.size - 1.0))

    @cached_property
    def marginals(self) -> FloatArray:
        """How many pairable ratings are in each category, shape (category,)."""
        each = self.entry_count * self.alike[self.entry_kind]
        return np.bincount(self.entry_code, each, self.categories).astype(np.float64)


def pairable_of(ratings: Ratings) -> Pairable:
    """Return the units with two ratings or more as kinds; single ratings are dropped before anything is counted.

    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> found = pairable_of(ratings_of([[1, 2, 2], [5, None, None], [2, 1, 2], [2, None, 2]], level="ordinal"))
    >>> found.unit.tolist(), found.kind.tolist(), found.alike.tolist(), found.marginals.tolist()
    ([0, 2, 3], [1, 1, 0], [1, 2], [2.0, 6.0])
    """
    chosen = ratings.per_unit >= 2
    mask = chosen[ratings.unit]
    size = ratings.per_unit[chosen]
    code = ratings.code[mask]
    used = np.flatnonzero(np.bincount(code, minlength=len(ratings.categories)))
    place = np.zeros(len(ratings.categories), dtype=np.int64)
    place[used] = np.arange(len(used))
    width = max(len(used), 1)
    held = np.sort(np.repeat(np.arange(len(size)), size) * width + place[code]) % width  # sorted within each unit
    kind, first = _kinds(held, size, len(used))
    starts = np.cumsum(size) - size
    members = _spans(starts[first], size[first])
    cell, count = np.unique(np.repeat(np.arange(len(first)), size[first]) * width + held[members], return_counts=True)
    return Pairable(
        level=ratings.level,
        used=used,
        scores=None if ratings.scores is None else ratings.scores[used],
        unit=np.flatnonzero(chosen),
        kind=kind,
        alike=np.bincount(kind, minlength=len(first)),
        size=size[first].astype(np.float64),
        entry_kind=cell // width,
        entry_code=cell % width,
        entry_count=count.astype(np.float64),
    )


def _kinds(held: IntArray, size: IntArray, categories: int) -> tuple[IntArray, IntArray]:
    """Return the kind of each unit, and one unit of every kind; held: sorted categories, unit after unit."""
    kind, firsts, so_far = np.zeros(len(size), dtype=np.int64), [np.zeros(0, dtype=np.int64)], 0
    starts = np.cumsum(size) - size
    bytes_each = 1 if categories <= 1 << 8 else 2 if categories <= 1 << 16 else 4
    for m in np.unique(size).tolist():  # at most √(2 × ratings) sizes
        units = np.flatnonzero(size == m)
        rows = held[starts[units][:, None] + np.arange(m)].astype(f">u{bytes_each}")  # big-endian sorts as numbers
        keys = np.ascontiguousarray(rows).view(f"S{m * bytes_each}").ravel()
        distinct, first, own = np.unique(keys, return_index=True, return_inverse=True)
        kind[units] = so_far + own.ravel()
        firsts.append(units[first])
        so_far += len(distinct)
    return kind, np.concatenate(firsts)


def _spans(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return start, start + 1, … for each span, one after the other."""
    ends = np.cumsum(lengths)
    spans: IntArray = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts - (ends - lengths), lengths)
    return spans
