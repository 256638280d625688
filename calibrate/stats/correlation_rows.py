"""Correlations of all rows of a resampling at once: units weighted by how often they were drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.stats.checking import as_numbers
from calibrate.stats.correlation import MIN_PAIRS, RANK_DECIMALS, Coefficient, check_coefficient

FloatArray = NDArray[np.float64]

_MAX_CATEGORIES = 64  # up to here a side is counted by category, all resamples at once; beyond, one by one
_BLOCK = 2_000_000  # entries of one (resample, unit, category) array held at a time


def correlation_rows(coefficient: Coefficient, x: ArrayLike, y: ArrayLike, weights: ArrayLike) -> FloatArray:
    """Return the coefficient of each row of a resampling; nan where a row leaves it undefined.

    Args:
        x, y: values, shape (resample, unit) or (unit,) where all resamples share them; finite where the
            weight is > 0.
        weights: how often each unit is in the resample, integers ≥ 0, shape (resample, unit); 0 = not drawn.

    A unit with weight k counts as k equal rows. A row whose distinct units are fewer than three, or one of
    whose sides does not vary, is undefined. Values are rounded to 10 decimals for all three coefficients.

    By hand: all three units once; then only two distinct ones.

    >>> correlation_rows("spearman", [1, 2, 3], [2, 1, 3], [[1, 1, 1], [2, 1, 0]]).round(6).tolist()
    [0.5, nan]
    """
    check_coefficient(coefficient)
    w = as_numbers(weights, "weights of resamples", ndim=2)
    if not (np.isfinite(w) & (w >= 0)).all() or (w % 1 != 0).any():
        raise InvalidData("a weight says how often a unit was drawn, a whole number from 0: correct it.")
    drawn = w > 0
    sides = []
    defined = drawn.sum(axis=1) >= MIN_PAIRS
    for side in (x, y):
        values = _broadcast(side, w)
        values = np.asarray(np.round(np.where(drawn, values, 0.0), RANK_DECIMALS), dtype=np.float64)
        defined &= _varies(values, drawn)
        sides.append(values)
    result = np.full(len(w), np.nan)
    if defined.any():
        kernel = {"spearman": _spearman_rows, "pearson": _pearson_rows, "kendall": _kendall_rows}[coefficient]
        result[defined] = np.clip(kernel(sides[0][defined], sides[1][defined], w[defined]), -1.0, 1.0)
    return result


def _broadcast(side: ArrayLike, weights: FloatArray) -> FloatArray:
    """Return values of each resample and unit; those of units that were not drawn may be anything."""
    values = as_numbers(side, "values to correlate", ndim=None)
    try:
        values = np.broadcast_to(values, weights.shape)
    except ValueError:
        raise InvalidData(
            f"values need one entry a unit, shape (unit,) or {weights.shape}, got {values.shape}: pass one of each."
        ) from None
    if not np.isfinite(values[weights > 0]).all():
        raise InvalidData("values of units that were drawn must be finite: drop units that lack one.")
    return values


def midrank_rows(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return weighted average ranks within each row, shape (resample, unit): a unit of weight k takes k places.

    By hand: the unit of weight 2 takes places 1 and 2.

    >>> midrank_rows(np.array([[3.0, 5.0, 5.0]]), np.array([[2.0, 1.0, 1.0]])).tolist()
    [[1.5, 3.5, 3.5]]
    """
    order = np.argsort(values, axis=1, kind="stable")
    starts = _starts(np.take_along_axis(values, order, axis=1))
    upto = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    before = np.concatenate([np.zeros((len(values), 1)), upto[:, :-1]], axis=1)
    ends = np.concatenate([starts[:, 1:], np.ones((len(values), 1), dtype=bool)], axis=1)
    below = np.maximum.accumulate(np.where(starts, before, -1.0), axis=1)
    through = np.minimum.accumulate(np.where(ends, upto, np.inf)[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty_like(values)
    np.put_along_axis(ranks, order, (below + through + 1.0) / 2.0, axis=1)
    return ranks


def _starts(ordered: FloatArray) -> NDArray[np.bool_]:
    """Return where a run of equal values begins in each sorted row."""
    starts = np.ones(ordered.shape, dtype=bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return starts


def _spearman_rows(x: FloatArray, y: FloatArray, w: FloatArray) -> FloatArray:
    return _pearson_rows(midrank_rows(x, w), midrank_rows(y, w), w)


def _pearson_rows(x: FloatArray, y: FloatArray, w: FloatArray) -> FloatArray:
    total = w.sum(axis=1, keepdims=True)
    dx = x - (w * x).sum(axis=1, keepdims=True) / total
    dy = y - (w * y).sum(axis=1, keepdims=True) / total
    spread = np.sqrt((w * dx * dx).sum(axis=1)) * np.sqrt((w * dy * dy).sum(axis=1))
    return np.asarray((w * dx * dy).sum(axis=1) / spread)


def _kendall_rows(x: FloatArray, y: FloatArray, w: FloatArray) -> FloatArray:
    x_codes, y_codes = _dense_codes(x), _dense_codes(y)
    if y_codes.max() > x_codes.max():
        x, x_codes, y_codes = y, y_codes, x_codes
    categories = int(y_codes.max()) + 1
    if categories > _MAX_CATEGORIES:
        return _kendall_one_by_one(x_codes, y_codes, w)
    chunk = max(1, _BLOCK // (w.shape[1] * categories))
    parts = [slice(start, start + chunk) for start in range(0, len(w), chunk)]
    return np.concatenate([_kendall_by_category(x[part], y_codes[part], w[part], categories) for part in parts])


def _dense_codes(values: FloatArray) -> NDArray[np.int64]:
    """Return the place of each value among its row's distinct values."""
    order = np.argsort(values, axis=1, kind="stable")
    places = np.cumsum(_starts(np.take_along_axis(values, order, axis=1)), axis=1) - 1
    codes = np.empty_like(order)
    np.put_along_axis(codes, order, places, axis=1)
    return codes


def _kendall_by_category(x: FloatArray, y: NDArray[np.int64], w: FloatArray, categories: int) -> FloatArray:
    """Return τ-b of each row, y having few categories: sort by x and count the weight of each category so far."""
    order = np.argsort(x, axis=1, kind="stable")
    starts = _starts(np.take_along_axis(x, order, axis=1))
    weight, category = np.take_along_axis(w, order, axis=1), np.take_along_axis(y, order, axis=1)
    own = weight[:, :, None] * (category[:, :, None] == np.arange(categories))
    first = np.maximum.accumulate(np.where(starts, np.arange(x.shape[1]), 0), axis=1)  # of the run of equal x
    before = np.take_along_axis(np.cumsum(own, axis=1) - own, first[:, :, None], axis=1)  # weight at smaller x
    places = np.arange(categories)
    lead = before @ np.sign(places[None, :] - places[:, None]).astype(np.float64)  # concordant − discordant
    score = (weight * np.take_along_axis(lead, category[:, :, None], axis=2)[:, :, 0]).sum(axis=1)
    untied_x = (weight * before.sum(axis=2)).sum(axis=1)
    untied_y = (weight.sum(axis=1) ** 2 - (own.sum(axis=1) ** 2).sum(axis=1)) / 2.0
    return np.asarray(score / np.sqrt(untied_x * untied_y))


def _kendall_one_by_one(x: NDArray[np.int64], y: NDArray[np.int64], w: FloatArray) -> FloatArray:
    from scipy.stats import kendalltau

    rows = zip(x, y, w.astype(np.int64), strict=True)
    return np.array([kendalltau(np.repeat(i, k), np.repeat(j, k), method="asymptotic").statistic for i, j, k in rows])


def _varies(values: FloatArray, drawn: NDArray[np.bool_]) -> NDArray[np.bool_]:
    lowest = np.where(drawn, values, np.inf).min(axis=1)
    highest = np.where(drawn, values, -np.inf).max(axis=1)
    return np.asarray(highest > lowest)
