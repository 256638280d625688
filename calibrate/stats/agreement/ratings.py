"""Ratings of units by raters, as arrays: what every agreement coefficient is computed from.

Three states are kept apart: a rating; a *missing* one (the rater did not rate), which is no row at all; and *not
applicable*, which is counted as a rate of its own and never enters a coefficient that corrects for chance (pooled as a
category it turns a true κ of .33 into .65 to .78).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.stats.agreement.coding import NUMBERS, coded, declared_categories, factorised, written
from calibrate.stats.checking import MOST_COUNTED, as_labels, check_count
from calibrate.stats.labels import is_missing

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
Level = Literal["nominal", "ordinal", "interval", "ratio"]

NOTHING: frozenset[Hashable] = frozenset()
_MAX_TABLE = 50_000_000  # cells of a table that is still built


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings in long form: entry i says that rater `rater[i]` put unit `unit[i]` into category `code[i]`.

    unit, rater, code: integers, shape (rating,); sorted by unit, then rater; nobody rates a unit twice.
    units, raters: how many there are, also those without any rating.
    categories: the declared ones in their order, or the observed ones in ascending order.
    scores: shape (category,), what distances between categories are measured with: the categories themselves where
        they are numbers, their places 1, 2, … where they are labels (ordinal levels), and None for nominal labels.
    declared: whether the categories were given, and not taken from what occurs.
    na_unit, na_rater: shape (not applicable,), where "not applicable" was said.
    """

    unit: IntArray
    rater: IntArray
    code: IntArray
    units: int
    raters: int
    categories: tuple[Any, ...]
    level: Level
    declared: bool
    scores: FloatArray | None
    na_unit: IntArray
    na_rater: IntArray

    @property
    def n(self) -> int:
        """How many ratings there are."""
        return len(self.code)

    @cached_property
    def per_unit(self) -> IntArray:
        """Ratings of each unit, shape (unit,)."""
        return np.bincount(self.unit, minlength=self.units)

    def counts(self) -> IntArray:
        """Return how often each unit was put into each category, shape (unit, category); few categories only."""
        cells = self._cells(self.units, "units", len(self.categories), "categories")
        flat = np.bincount(self.unit * len(self.categories) + self.code, minlength=cells)
        return flat.reshape(self.units, len(self.categories))

    def matrix(self) -> IntArray:
        """Return category codes, shape (unit, rater); −1 where there is no rating."""
        self._cells(self.units, "units", self.raters, "raters")
        cells = np.full((self.units, self.raters), -1, dtype=np.int64)
        cells[self.unit, self.rater] = self.code
        return cells

    def pair_table(self, first: int, second: int) -> IntArray:
        """Return the contingency table of two raters, shape (category of first, category of second)."""
        mine, theirs = self.rater == first, self.rater == second
        _, left, right = np.intersect1d(self.unit[mine], self.unit[theirs], assume_unique=True, return_indices=True)
        q = len(self.categories)
        self._cells(q, "categories", q, "categories")
        cells = self.code[mine][left] * q + self.code[theirs][right]
        return np.bincount(cells, minlength=q * q).reshape(q, q)

    def of_units(self, chosen: NDArray[np.bool_]) -> Ratings:
        """Return the ratings of the chosen units (a mask, shape (unit,)), renumbered; raters and categories stay."""
        place = np.cumsum(chosen) - 1
        kept, na = chosen[self.unit], chosen[self.na_unit]
        return self._with(
            place[self.unit[kept]], self.rater[kept], self.code[kept], int(chosen.sum()), self.raters,
            place[self.na_unit[na]], self.na_rater[na],
        )  # fmt: skip

    def of_raters(self, chosen: Sequence[int]) -> Ratings:
        """Return the ratings of the chosen raters, renumbered in the order given; units and categories stay."""
        place = np.full(self.raters, -1, dtype=np.int64)
        place[list(chosen)] = np.arange(len(chosen))
        rater, na = place[self.rater], place[self.na_rater]
        unit, code = self.unit[rater >= 0], self.code[rater >= 0]
        rater = rater[rater >= 0]
        order = np.lexsort((rater, unit))
        return self._with(
            unit[order], rater[order], code[order], self.units, len(chosen), self.na_unit[na >= 0], na[na >= 0]
        )

    @staticmethod
    def _cells(rows: int, of: str, columns: int, by: str) -> int:
        if rows * columns > _MAX_TABLE:
            raise InvalidData(f"a table of {rows} {of} × {columns} {by} is too large: use α, or fewer {by}.")
        return rows * columns

    def _with(
        self,
        unit: IntArray,
        rater: IntArray,
        code: IntArray,
        units: int,
        raters: int,
        na_unit: IntArray,
        na_rater: IntArray,
    ) -> Ratings:
        return Ratings(
            unit, rater, code, units, raters, self.categories, self.level, self.declared, self.scores, na_unit, na_rater
        )


def ratings_of(
    table: ArrayLike | Sequence[Sequence[Any]],
    *,
    level: Level,
    categories: Sequence[Any] | None = None,
    not_applicable: Iterable[Hashable] = NOTHING,
) -> Ratings:
    """Return ratings from a table, one row a unit and one column a rater.

    Args:
        table: shape (unit, rater), numbers or labels; None and nan are missing. Rows may be of unequal length.
        level: of measurement; always given, because no coefficient can guess it.
        categories: all categories that could have been used, in their order (numbers at a level above nominal stand
            in ascending order whatever is given); the observed ones where not given.
        not_applicable: values that mean "does not apply".

    Raises:
        InvalidData: a value outside the declared categories, text at a numeric level, a negative ratio value, an
            infinite value, ordinal labels without their order, or what is no table.

    >>> ratings_of([[1, 1, None], [2, 3, 3]], level="ordinal").per_unit.tolist()
    [2, 3]
    """
    if isinstance(table, np.ndarray) and table.ndim == 2 and table.dtype.kind in NUMBERS:
        units, raters = table.shape
        value: Any = table.ravel()
        unit, rater = np.repeat(np.arange(units), raters), np.tile(np.arange(raters), units)
    else:
        rows = _rows(table)
        width = np.array([len(row) for row in rows], dtype=np.int64)
        units, raters = len(rows), int(width.max(initial=0))
        unit = np.repeat(np.arange(units), width)
        rater = np.arange(len(unit)) - np.repeat(np.cumsum(width) - width, width)
        value = list(chain.from_iterable(rows))
    return ratings_from_long(
        unit, rater, value, level=level, categories=categories, not_applicable=not_applicable, units=units,
        raters=raters,
    )  # fmt: skip


def ratings_from_long(
    unit: ArrayLike,
    rater: ArrayLike,
    value: ArrayLike | Sequence[Any],
    *,
    level: Level,
    categories: Sequence[Any] | None = None,
    not_applicable: Iterable[Hashable] = NOTHING,
    units: int | None = None,
    raters: int | None = None,
) -> Ratings:
    """Return ratings from three columns, one entry a rating: number of its unit, number of its rater, and the value.

    Args:
        unit, rater: integers from 0, shape (rating,).
        value: numbers or labels, shape (rating,); None and nan are missing.
        units, raters: how many there are, where some have no entry at all.

    Further arguments and errors as in `ratings_of`; a rater who rates a unit twice is `InvalidData` too.

    >>> rated = ratings_from_long([0, 0, 1, 1], [0, 1, 0, 1], ["yes", "no", "yes", None], level="nominal")
    >>> rated.categories, rated.n
    (('no', 'yes'), 3)
    """
    if level not in get_args(Level):
        raise InvalidData(f"level must be one of {', '.join(get_args(Level))}, got {level!r}: say how it was measured.")
    u, units = _numbers("unit", unit, units)
    r, raters = _numbers("rater", rater, raters)
    raw, labels = factorised(value)
    if not u.shape == r.shape == raw.shape:
        raise InvalidData(
            f"unit, rater and value need one entry a rating, got {u.shape}, {r.shape} and {raw.shape}: pass columns of "
            "equal length."
        )
    missing, outside = _states(labels, not_applicable)
    said = ~missing[raw]
    u, r, raw = _sorted_once(u[said], r[said], raw[said])
    na = outside[raw]
    present = np.flatnonzero(~missing & ~outside)
    names, place, scores = coded(labels[present], level, declared_categories(categories))
    category = np.full(len(labels), -1, dtype=np.int64)
    category[present] = place
    return Ratings(
        unit=u[~na],
        rater=r[~na],
        code=category[raw[~na]],
        units=units,
        raters=raters,
        categories=names,
        level=level,
        declared=categories is not None,
        scores=scores,
        na_unit=u[na],
        na_rater=r[na],
    )


# ------------------------------------------------------------------------------------------------------ reading input


def _rows(table: Any) -> list[Any]:
    """Return the rows of a table; text is no row, though it could be taken apart into letters."""
    try:
        rows = [row if isinstance(row, list | tuple | str | bytes | dict) else list(row) for row in table]
    except TypeError:
        raise InvalidData(
            f"a table of ratings has one row a unit, got {written(table)}: give rows of ratings."
        ) from None
    wrong = next((row for row in rows if isinstance(row, str | bytes | dict)), None)
    if wrong is not None:
        raise InvalidData(
            f"a row holds one rating a rater, got {written(wrong)}: give a list of ratings for each unit."
        )
    return rows


def _numbers(what: str, given: ArrayLike, most: int | None) -> tuple[IntArray, int]:
    """Return numbers of units or raters, and how many there are."""
    held = as_labels(given, f"{what} numbers")
    if most is not None:
        check_count(most, f"the number of {what}s", 0, MOST_COUNTED)
    if held.size and held.dtype.kind not in "iu":
        raise InvalidData(f"{what} numbers are whole numbers from 0, got {held.dtype} values: number them first.")
    if held.ndim != 1:
        raise InvalidData(f"{what} numbers need shape (rating,), got {held.shape}: give one for each rating.")
    held = held.astype(np.int64)
    low, high = int(held.min(initial=0)), int(held.max(initial=-1))
    if low < 0:
        raise InvalidData(f"{what} numbers are whole numbers from 0, got {low}: number them first.")
    if most is not None and high >= most:
        raise InvalidData(f"{what} number {high} needs {high + 1} {what}s, but {most} are declared: declare them all.")
    return held, high + 1 if most is None else int(most)


def _sorted_once(u: IntArray, r: IntArray, raw: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return entries sorted by unit, then rater, nobody having rated a unit twice."""
    rising = (u[1:] > u[:-1]) | ((u[1:] == u[:-1]) & (r[1:] > r[:-1]))
    if rising.all():
        return u, r, raw
    order = np.lexsort((r, u))
    u, r, raw = u[order], r[order], raw[order]
    twice = (u[1:] == u[:-1]) & (r[1:] == r[:-1])
    if twice.any():
        at = int(np.flatnonzero(twice)[0])
        raise InvalidData(f"rater {r[at]} rates unit {u[at]} more than once: keep one rating of each.")
    return u, r, raw


def _states(labels: NDArray[Any], not_applicable: Iterable[Hashable]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return masks of labels that are missing, and of those that mean "not applicable"."""
    if isinstance(not_applicable, str | bytes):
        raise InvalidData(f"not_applicable is a list of values, got {not_applicable!r}: write [{not_applicable!r}].")
    try:
        na = frozenset(not_applicable)
    except TypeError:
        raise InvalidData(f"not_applicable is a list of values, got {written(not_applicable)}: list them.") from None
    outside = np.zeros(len(labels), dtype=bool)
    if labels.dtype != object:
        missing = np.isnan(labels) if labels.dtype.kind == "f" else outside.copy()
    else:
        missing = np.array([is_missing(label) for label in labels], dtype=bool)
    if na:
        outside[:] = [label in na for label in labels.tolist()]
    return missing & ~outside, outside
