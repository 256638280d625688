"""Contingency tables of two raters: rows are the first rater's categories, columns the second's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.stats.agreement.coding import declared_categories
from calibrate.stats.agreement.ratings import FloatArray
from calibrate.stats.checking import shown


def contingency_table(first: Sequence[Any], second: Sequence[Any], categories: Sequence[Any]) -> FloatArray:
    """Return how often each pair of categories was given, shape (category of first, category of second).

    Args:
        first, second: ratings of two raters of the same units, shape (unit,); None and nan are missing, and such
            pairs are dropped.
        categories: all that could have been given, in their order.

    Raises:
        InvalidData: unequal lengths, a value that is not among the categories, or a category that is listed twice.

    >>> contingency_table(["a", "b", None], ["a", "a", "b"], ["a", "b"]).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    if len(first) != len(second):
        raise InvalidData(
            f"two raters must rate the same units, got {len(first)} and {len(second)} ratings: give one entry a unit "
            "to each, None where a rating is missing."
        )
    names = declared_categories(categories) or []
    place = {name: index for index, name in enumerate(names)}
    if len(place) != len(categories):
        raise InvalidData(f"categories must differ, got {shown(tuple(categories))}: list each of them once.")
    table = np.zeros((len(place), len(place)))
    for mine, theirs in zip(first, second, strict=True):
        if _missing(mine) or _missing(theirs):
            continue
        for value in (mine, theirs):
            if isinstance(value, list | dict | set | np.ndarray) or value not in place:
                raise InvalidData(
                    f"value {shown(value)} is not among the categories {shown(tuple(categories))}: correct or add it."
                )
        table[place[mine], place[theirs]] += 1.0
    return table


def as_table(table: ArrayLike) -> FloatArray:
    """Return a contingency table as numbers, checked: square, of whole numbers from 0, at least one category.

    Raises:
        InvalidData: where it is not.

    >>> as_table([[20, 5], [10, 15]]).sum().item()
    50.0
    """
    try:
        held = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidData("a contingency table holds counts: give a square list of lists of numbers.") from None
    if held.ndim != 2 or held.shape[0] != held.shape[1] or not len(held):
        raise InvalidData(
            f"a contingency table must be square, got shape {held.shape}: give both raters all categories."
        )
    wrong = _no_counts(held)
    if wrong.any():
        raise InvalidData(
            f"a contingency table holds whole numbers from 0 to 9e15, got {held[wrong][0]:g}: correct it, or take "
            "sampling weights to `bootstrap_coefficients`."
        )
    return held


def as_counts(counts: ArrayLike) -> FloatArray:
    """Return a table of how often each unit was put into each category, checked, shape (unit, category).

    An empty list is a table of no units.

    Raises:
        InvalidData: not two-dimensional, no category, or an entry that is no whole number from 0.

    >>> as_counts([[2, 1], [0, 3]]).shape
    (2, 2)
    """
    try:
        held = np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidData("counts must be numbers: give one row a unit and one column a category.") from None
    if held.shape == (0,):
        return held.reshape(0, 1)
    if held.ndim != 2 or not held.shape[1]:
        raise InvalidData(
            f"counts need one row a unit and one column a category, got shape {held.shape}: reshape them."
        )
    wrong = _no_counts(held)
    if wrong.any():
        raise InvalidData(f"a count of ratings is a whole number from 0 to 9e15, got {held[wrong][0]:g}: correct it.")
    return held


def _no_counts(held: FloatArray) -> NDArray[np.bool_]:
    """Return where an entry is no whole number from 0 that is counted without rounding."""
    wrong = ~(held <= MOST_COUNTED) | (held < 0)
    wrong[~wrong] |= held[~wrong] != np.round(held[~wrong])
    return wrong


MOST_COUNTED = 2**53  # a larger number of units is no whole number any more


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value)))
