"""Correlation of two columns: Spearman's ρ, Pearson's r, Kendall's τ; on rows, on group means, on weighted resamples.

Conventions: a pair with a missing (nan) member is dropped; ties get average ranks; fewer than three pairs, or
a side that does not vary, leaves a coefficient undefined. Values that come out of arithmetic (z-scores, group
means) are rounded to 10 decimals before they are ranked: values equal in mathematics differ in their last
bit, and ranking that noise breaks ties at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrate.estimate import Undefined

FloatArray = NDArray[np.float64]
Coefficient = Literal["spearman", "pearson", "kendall"]

MIN_PAIRS = 3
RANK_DECIMALS = 10
_MAX_CATEGORIES = 64  # up to here a side is counted by category, all resamples at once; beyond, one by one
_BLOCK = 2_000_000  # entries of one (resample, unit, category) array held at a time


def spearman(x: ArrayLike, y: ArrayLike) -> float | Undefined:
    """Return Spearman's ρ: Pearson's correlation of average ranks (never the shortcut that ignores ties).

    Checked against scipy's documented example: x = 1..5, y = 5, 6, 7, 8, 7 gives .8207826816681233.
    """
    pairs = _pairs(x, y)
    if isinstance(pairs, Undefined):
        return pairs
    from scipy.stats import rankdata

    return _product_moment(rankdata(pairs[0]), rankdata(pairs[1]))


def pearson(x: ArrayLike, y: ArrayLike) -> float | Undefined:
    """Return Pearson's product-moment correlation."""
    pairs = _pairs(x, y)
    return pairs if isinstance(pairs, Undefined) else _product_moment(*pairs)


def kendall(x: ArrayLike, y: ArrayLike, variant: Literal["a", "b", "c"] = "b") -> float | Undefined:
    """Return Kendall's τ from concordant minus discordant pairs.

    `b` divides by the geometric mean of the pairs untied on each side (the default, and what is meant by τ
    without a letter); `a` by all pairs, and stays defined (0) on a constant side; `c` (Stuart) allows for a
    table that is not square.
    """
    if variant == "a":
        return _kendall_a(*complete_pairs(x, y))
    pairs = _pairs(x, y)
    if isinstance(pairs, Undefined):
        return pairs
    from scipy.stats import kendalltau

    tau = float(kendalltau(*pairs, variant=variant, method="asymptotic").statistic)
    return min(1.0, max(-1.0, tau))


def spearman_p(rho: float, n: int) -> float | Undefined:
    """Return the two-sided p of ρ = 0 by the t approximation with n − 2 degrees of freedom; independent pairs only."""
    if n < MIN_PAIRS:
        return Undefined("fewer than three pairs")
    from scipy.special import stdtr

    if abs(rho) >= 1.0:
        return 0.0
    t = rho * np.sqrt((n - 2) / ((1.0 - rho) * (1.0 + rho)))
    return float(2.0 * stdtr(n - 2, -abs(t)))


def half_step(coefficient: Coefficient, n: int) -> float:
    """Return the largest absolute value that a resample's coefficient may have before atanh is taken.

    A rank coefficient of ±1 is taken as half a step inside: the largest value below 1 that n untied pairs
    allow is 1 − 12/(n³ − n) for ρ and 1 − 4/(n² − n) for τ. Pearson's r has no steps; a resample reaches ±1
    only where it fell on two points, and is taken as 1 − 10⁻⁶.
    """
    if coefficient == "spearman":
        return 1.0 - 6.0 / (n**3 - n)
    return 1.0 - 2.0 / (n**2 - n) if coefficient == "kendall" else 1.0 - 1e-6


def correlate(
    coefficient: Coefficient, x: ArrayLike, y: ArrayLike, *, sides: tuple[str, str] = ("first", "second")
) -> float | Undefined:
    """Return the named coefficient of values that come out of arithmetic: rounded before they are compared.

    Pearson's r itself uses the unrounded values; only whether a side varies at all is decided on rounded
    ones. `sides` are the names that the reason of an undefined coefficient uses.
    """
    left, right = complete_pairs(x, y)
    if len(left) < MIN_PAIRS:
        return Undefined("fewer than three pairs")
    rounded = np.round(left, RANK_DECIMALS), np.round(right, RANK_DECIMALS)
    for name, side in zip(sides, rounded, strict=True):
        if side.min() == side.max():
            return Undefined(f"the {name} side is constant")
    if coefficient == "pearson":
        return pearson(left, right)
    return spearman(*rounded) if coefficient == "spearman" else kendall(*rounded)


@dataclass(frozen=True, slots=True)
class GroupMeans:
    """Means of both sides, one entry a group that has at least one value on each side; `dropped` counts the others."""

    groups: NDArray[np.generic]
    x: FloatArray
    y: FloatArray
    n_x: NDArray[np.int64]
    n_y: NDArray[np.int64]
    dropped: int


def group_means(groups: ArrayLike, x: ArrayLike, y: ArrayLike) -> GroupMeans:
    """Return the mean of each side within each group, over the values that the side has (nan = missing).

    The sides are averaged apart: a row with one member missing still counts on the other side. Pass matched
    rows only where that is not wanted.
    """
    labels, codes = np.unique(np.asarray(groups), return_inverse=True)
    sums, counts = [], []
    for side in (np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)):
        present = ~np.isnan(side)
        counts.append(np.bincount(codes[present], minlength=len(labels)))
        sums.append(np.bincount(codes[present], weights=side[present], minlength=len(labels)))
    kept = (counts[0] > 0) & (counts[1] > 0)
    return GroupMeans(
        groups=labels[kept],
        x=sums[0][kept] / counts[0][kept],
        y=sums[1][kept] / counts[1][kept],
        n_x=counts[0][kept],
        n_y=counts[1][kept],
        dropped=int((~kept).sum()),
    )


def group_correlation(coefficient: Coefficient, groups: ArrayLike, x: ArrayLike, y: ArrayLike) -> float | Undefined:
    """Return the coefficient over group means, rounded to 10 decimals before they are ranked."""
    means = group_means(groups, x, y)
    if len(means.x) < MIN_PAIRS:
        return Undefined("fewer than three groups")
    return correlate(coefficient, means.x, means.y)


@dataclass(frozen=True, slots=True)
class Reliability:
    """Share of the variance of group means that is not noise of the ratings, and its sampling variance.

    `borrowed` counts groups of one rating: they have no variance of their own and take the pooled one.
    """

    value: float
    variance: float
    borrowed: int


def reliability_of_means(groups: ArrayLike, values: ArrayLike) -> Reliability | Undefined:
    """Return rel = 1 − mean(s²_g/n_g) / Var(group means), s²_g the variance within group g, for these very groups.

    1 = no noise; at or below 0 the means vary no more than noise alone would make them. The sampling variance
    holds the
    groups fixed: with E = mean(s²_g/n_g), V = Var(means) and B = V − E it is Var(E)/V² + E² Var(V)/V⁴, Var(V)
        = (2E² + 4EB)/(G − 1) as of a noncentral χ², Var(E) = Σ 2 (s²_g/n_g)²/(n_g − 1)/G².
    """
    y = np.asarray(values, dtype=np.float64)
    codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    n = np.bincount(codes)
    if len(n) < MIN_PAIRS:
        return Undefined("fewer than three groups")
    if n.max() < 2:
        return Undefined("no group has two ratings, so noise cannot be told from differences")
    means = np.bincount(codes, weights=y) / n
    squares = np.bincount(codes, weights=(y - means[codes]) ** 2)
    own = n > 1
    within = np.where(own, squares / np.maximum(n - 1, 1), squares.sum() / (n - 1).sum())
    noise = within / n
    e, v = float(noise.mean()), float(means.var(ddof=1))
    if v <= 10.0 ** (-2 * RANK_DECIMALS):
        return Undefined("the group means are constant")
    between = max(v - e, 0.0)
    var_v = (2 * e**2 + 4 * e * between) / (len(n) - 1)
    df = np.where(own, n - 1, (n - 1).sum())
    var_e = float((2 * noise**2 / df).sum()) / len(n) ** 2
    return Reliability(1.0 - e / v, var_e / v**2 + e**2 * var_v / v**4, int((~own).sum()))


def correlation_rows(coefficient: Coefficient, x: ArrayLike, y: ArrayLike, weights: ArrayLike) -> FloatArray:
    """Return the coefficient of each row of a resampling; nan where a row leaves it undefined.

    Args:
        x, y: values, shape (resample, unit) or (unit,) where all resamples share them; finite where the
            weight is > 0.
        weights: how often each unit is in the resample, integers ≥ 0, shape (resample, unit); 0 = not drawn.

    A unit with weight k counts as k equal rows. A row whose distinct units are fewer than three, or one of
    whose sides does not vary, is undefined. Values are rounded to 10 decimals for all three coefficients.
    """
    w = np.asarray(weights, dtype=np.float64)
    drawn = w > 0
    sides = []
    defined = drawn.sum(axis=1) >= MIN_PAIRS
    for side in (x, y):
        values = np.broadcast_to(np.asarray(side, dtype=np.float64), w.shape)
        values = np.asarray(np.round(np.where(drawn, values, 0.0), RANK_DECIMALS), dtype=np.float64)
        defined &= _varies(values, drawn)
        sides.append(values)
    result = np.full(len(w), np.nan)
    if defined.any():
        kernel = {"spearman": _spearman_rows, "pearson": _pearson_rows, "kendall": _kendall_rows}[coefficient]
        result[defined] = np.clip(kernel(sides[0][defined], sides[1][defined], w[defined]), -1.0, 1.0)
    return result


def midrank_rows(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return weighted average ranks within each row, shape (resample, unit): a unit of weight k takes k places."""
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


def complete_pairs(x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return both columns without the pairs of which a member is missing (nan); infinite values are refused."""
    left, right = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if left.ndim != 1 or left.shape != right.shape:
        raise ValueError(f"two columns of equal length are needed, got shapes {left.shape} and {right.shape}")
    if np.isinf(left).any() or np.isinf(right).any():
        raise ValueError("a correlation needs finite values, got an infinite one")
    present = ~(np.isnan(left) | np.isnan(right))
    return left[present], right[present]


def _pairs(x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray] | Undefined:
    left, right = complete_pairs(x, y)
    if len(left) < MIN_PAIRS:
        return Undefined("fewer than three pairs")
    for name, side in (("first", left), ("second", right)):
        if side.min() == side.max():
            return Undefined(f"the {name} side is constant")
    return left, right


def _product_moment(x: FloatArray, y: FloatArray) -> float | Undefined:
    dx, dy = _direction(x), _direction(y)
    if dx is None or dy is None:
        return Undefined(f"the {'first' if dx is None else 'second'} side varies by rounding error only")
    return float(np.clip(dx @ dy, -1.0, 1.0))


def _direction(x: FloatArray) -> FloatArray | None:
    """Return x centred, with length 1; None where what is left after centring is rounding error."""
    scale = np.abs(x).max()
    centred = x / scale - np.mean(x / scale)
    length = float(np.linalg.norm(centred))
    return None if length <= 1e-13 * np.sqrt(len(x)) else centred / length


def _kendall_a(x: FloatArray, y: FloatArray) -> float | Undefined:
    if len(x) < MIN_PAIRS:
        return Undefined("fewer than three pairs")
    upper = np.triu_indices(len(x), 1)
    agreement = np.sign(x[:, None] - x)[upper] * np.sign(y[:, None] - y)[upper]
    return float(agreement.mean())


def _varies(values: FloatArray, drawn: NDArray[np.bool_]) -> NDArray[np.bool_]:
    lowest = np.where(drawn, values, np.inf).min(axis=1)
    highest = np.where(drawn, values, -np.inf).max(axis=1)
    return np.asarray(highest > lowest)
