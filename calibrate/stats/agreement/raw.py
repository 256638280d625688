"""Raw agreement and marginals straight from ratings: no table of categories, so that any number of values will do."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrate.stats.agreement.ratings import FloatArray, IntArray, Ratings


def disagreeing_share(ratings: Ratings) -> FloatArray:
    """Return the share of each unit's pairs of ratings that differ, shape (unit,); 0 where a unit has no pair.

    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> disagreeing_share(ratings_of([[1, 1, 2], [3, 3, 3], [1, None, None]], level="nominal")).round(3).tolist()
    [0.667, 0.0, 0.0]
    """
    order = np.lexsort((ratings.code, ratings.unit))
    unit, code = ratings.unit[order], ratings.code[order]
    first = np.flatnonzero(np.r_[True, (np.diff(unit) != 0) | (np.diff(code) != 0)][: len(unit)])
    times = np.diff(np.r_[first, len(unit)]).astype(np.float64)
    same = np.bincount(unit[first], times * (times - 1.0), ratings.units)
    size = ratings.per_unit.astype(np.float64)
    return np.asarray(np.where(size >= 2, 1.0 - same / np.maximum(size * (size - 1.0), 1.0), 0.0), dtype=np.float64)


def raw_agreement(ratings: Ratings) -> float | None:
    """Return the mean over units with two ratings or more of the share of agreeing pairs; None without any.

    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> round(raw_agreement(ratings_of([[1, 1, 2], [3, 3, 3], [1, None, None]], level="nominal")), 3)
    0.667
    """
    paired = ratings.per_unit >= 2
    return float(1.0 - disagreeing_share(ratings)[paired].mean()) if paired.any() else None


def marginals_of(ratings: Ratings, unit_weights: FloatArray | None = None) -> dict[Any, float]:
    """Return category → share of all ratings, units weighted where `unit_weights`, shape (unit,), are given.

    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> marginals_of(ratings_of([["a", "b"], ["b", "b"]], level="nominal"))
    {'a': 0.25, 'b': 0.75}
    """
    if not ratings.n:
        return {}
    each = None if unit_weights is None else unit_weights[ratings.unit]
    held = np.bincount(ratings.code, each, len(ratings.categories))
    return dict(zip(ratings.categories, (held / held.sum()).tolist(), strict=True))


def sorted_codes(ratings: Ratings) -> IntArray:
    """Return each unit's category codes in ascending order, −1 after the last, shape (unit, most ratings of a unit).

    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> sorted_codes(ratings_of([[2, 1], [1, None]], level="nominal")).tolist()
    [[0, 1], [0, -1]]
    """
    order = np.lexsort((ratings.code, ratings.unit))
    size = ratings.per_unit
    held = np.full((ratings.units, int(size.max(initial=0))), -1, dtype=np.int64)
    place = np.arange(ratings.n) - np.repeat(np.cumsum(size) - size, size)
    held[ratings.unit[order], place] = ratings.code[order]
    return held
