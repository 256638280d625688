"""Means of two sides within groups, their correlation, and how much of their variance is not noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.estimate import Undefined
from calibrate.stats.checking import as_numbers
from calibrate.stats.correlation import MIN_PAIRS, RANK_DECIMALS, Coefficient, correlate
from calibrate.stats.labels import numbered

FloatArray = NDArray[np.float64]


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

    By hand; group b has nothing on the second side:

    >>> found = group_means(["a", "a", "b"], [1, 2, 3], [5, np.nan, np.nan])
    >>> found.groups.tolist(), found.x.tolist(), found.y.tolist(), found.dropped
    (['a'], [1.5], [5.0], 1)
    """
    sides = _columns(groups, x, y)
    codes, labels = _grouped(groups)
    sums, counts = [], []
    for side in sides:
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
    """Return the coefficient over group means, rounded to 10 decimals before they are ranked.

    By hand: means 1.5, 3, 4 against 2, 1, 3 have the ranks 1, 2, 3 and 2, 1, 3.

    >>> round(group_correlation("spearman", list("aabc"), [1, 2, 3, 4], [2, 2, 1, 3]), 6)
    0.5
    """
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

    By hand: s²_g/n_g = 2/2 in each group, the means 2, 5, 8 have the variance 9, so 1 − 1/9.

    >>> round(reliability_of_means(list("aabbcc"), [1, 3, 4, 6, 7, 9]).value, 6)
    0.888889
    """
    (y,) = _columns(groups, values)
    if np.isnan(y).any():
        raise InvalidData("a rating is missing (nan): drop it before the reliability of means is computed.")
    codes, _ = _grouped(groups)
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


def _grouped(groups: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.generic]]:
    """Return a number for each row's group, and the groups in ascending order where they have one."""
    codes, labels = numbered(groups)
    if (codes < 0).any():
        raise InvalidData("a row belongs to no group (its label is missing): name the group, or drop the row.")
    if labels.dtype == object:
        return codes, labels
    order = np.argsort(labels, kind="stable")
    return np.argsort(order, kind="stable")[codes], labels[order]


def _columns(groups: ArrayLike, *columns: ArrayLike) -> list[FloatArray]:
    """Return columns as numbers, one entry a row; nan is missing."""
    held = [as_numbers(column, "values of groups") for column in columns]
    lengths = [np.size(np.asarray(groups, dtype=object)), *(len(column) for column in held)]
    if len(set(lengths)) > 1:
        raise InvalidData(f"every row needs a group and its values, got lengths {lengths}: pass columns of one length.")
    if any(np.isinf(column).any() for column in held):
        raise InvalidData("values of groups must be finite, got an infinite one: mark it as missing (nan).")
    return held
