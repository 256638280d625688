"""Resampling whole clusters: bootstrap, jackknife and BCa limits, on a generator that is passed in.

The cluster (mostly the person) is drawn with all its rows; a cluster drawn twice counts as two clusters.
Resamples in which a statistic is undefined are counted, never replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.checking import as_numbers, check_count
from calibrate.stats.intervals import check_level
from calibrate.stats.labels import numbered

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
RowStatistic = Callable[[IntArray], float | Undefined]

MAX_UNDEFINED_SHARE = 0.2  # beyond it the defined resamples are a selection, and their spread too small


@dataclass(frozen=True, slots=True)
class Replicates:
    """A statistic's values on the resamples where it is defined, and on how many it is not."""

    values: FloatArray
    undefined: int

    @property
    def resamples(self) -> int:
        """How many resamples were drawn."""
        return len(self.values) + self.undefined

    @classmethod
    def of(cls, values: ArrayLike) -> Replicates:
        """Return replicates from an array in which nan marks an undefined resample."""
        array = as_numbers(values, "replicates")
        if np.isinf(array).any():
            raise InvalidData("replicates must be finite, nan where undefined: leave out those that overflow.")
        missing = np.isnan(array)
        return cls(values=array[~missing], undefined=int(missing.sum()))

    def trouble(self) -> Undefined | None:
        """Return why no interval may be read off these replicates; None where it may."""
        if self.undefined > MAX_UNDEFINED_SHARE * self.resamples:
            return Undefined(f"undefined in {self.undefined} of {self.resamples} resamples: too little data")
        if len(self.values) < 2 or float(np.ptp(self.values)) <= 1e-12 * float(np.abs(self.values).max()):
            return Undefined("all resamples give the same value: too little data")
        return None


def cluster_codes(cluster: ArrayLike) -> tuple[IntArray, int]:
    """Return a number for each row's cluster, in order of first occurrence, and how many clusters there are.

    >>> codes, clusters = cluster_codes(["b", "a", "b"])
    >>> codes.tolist(), clusters
    ([0, 1, 0], 2)
    """
    codes, labels = numbered(cluster)
    if (codes < 0).any():
        raise InvalidData(
            "every row needs a cluster, got one that belongs to no cluster (its label is missing): drop it first."
        )
    return codes, len(labels)


def canonical_order(cluster: ArrayLike, *columns: ArrayLike) -> IntArray:
    """Return an order of the rows that depends on what they hold, and not on how they came or how clusters are called.

    The rows of a cluster stand together, sorted by `columns` (finite numbers), and clusters by what they hold. Those
    that hold the same may come either way round, which no statistic of the columns can tell.

    By hand: `a` holds 1, and comes before `z`, which holds 2 and 3.

    >>> canonical_order(["z", "a", "z"], [3, 1, 2]).tolist()
    [1, 2, 0]
    """
    codes, clusters = cluster_codes(cluster)
    lengths = [len(codes), *(np.size(np.asarray(column, dtype=object)) for column in columns)]
    if len(set(lengths)) > 1:
        raise InvalidData(
            f"every row needs a cluster and its values, got lengths {lengths}: pass columns of one length."
        )
    held = np.column_stack([as_numbers(column, "values", largest=np.inf) for column in columns])
    kinds = np.unique(held, axis=0, return_inverse=True)[1].reshape(-1) if len(held) else codes
    order = np.lexsort((kinds, codes))
    rows = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if clusters else []
    rows.sort(key=lambda own: tuple(kinds[own].tolist()))
    return np.concatenate(rows) if rows else order


def cluster_weights(clusters: int, resamples: int, rng: Generator) -> IntArray:
    """Return how often each cluster is drawn, shape (resample, cluster); each row sums to the number of clusters.

    >>> cluster_weights(4, 3, np.random.default_rng(1)).sum(axis=1).tolist()
    [4, 4, 4]
    """
    check_count(clusters, "clusters", remedy="give rows")
    check_count(resamples, "resamples", remedy="take 1000 or more")
    return rng.multinomial(clusters, np.full(clusters, 1.0 / clusters), size=resamples)


def cluster_bootstrap(statistic: RowStatistic, cluster: ArrayLike, resamples: int, rng: Generator) -> Replicates:
    """Return a statistic's replicates; it is given the row numbers of each resample (rows of a cluster together).

    For statistics that have no vectorised form; where one exists, weight the rows by `cluster_weights`
    instead.

    By construction a mean that does not vary between clusters does not vary between resamples:

    >>> y = np.array([1.0, 3.0, 1.0, 3.0])
    >>> found = cluster_bootstrap(lambda rows: float(y[rows].mean()), list("aabb"), 5, np.random.default_rng(1))
    >>> found.values.tolist()
    [2.0, 2.0, 2.0, 2.0, 2.0]
    """
    codes, clusters = cluster_codes(cluster)
    weights = cluster_weights(clusters, resamples, rng)
    return Replicates.of([_number(statistic(rows)) for rows in _resampled_rows(codes, weights)])


def stratified_weights(cluster: ArrayLike, stratum: ArrayLike, resamples: int, rng: Generator) -> IntArray | Undefined:
    """Return how often each cluster is drawn within its stratum, shape (resample, cluster).

    Clusters are numbered as by `cluster_codes`. Each stratum keeps its number of clusters in every resample. Undefined,
    with the stratum's name, where a stratum has a single cluster: drawn again and again it would claim a spread of 0.

    Raises:
        InvalidData: a cluster in two strata, a row without cluster or stratum, lengths that differ, or no resample.

    By construction two clusters of `x` and three of `y` are drawn in every resample:

    >>> drawn = stratified_weights(list("abcde"), list("xxyyy"), 4, np.random.default_rng(1))
    >>> drawn[:, :2].sum(axis=1).tolist(), drawn[:, 2:].sum(axis=1).tolist()
    ([2, 2, 2, 2], [3, 3, 3, 3])
    >>> stratified_weights(list("abc"), list("xxy"), 4, np.random.default_rng(1))
    Undefined(reason="stratum 'y' has a single cluster: its spread cannot be told")
    """
    codes, clusters = cluster_codes(cluster)
    strata, count = cluster_codes(stratum)
    if len(codes) != len(strata):
        raise InvalidData(
            f"cluster and stratum need one entry a row, got {len(codes)} and {len(strata)}: pass columns of "
            "equal length."
        )
    check_count(clusters, "clusters", remedy="give rows")
    check_count(resamples, "resamples", remedy="take 1000 or more")
    own = np.zeros(clusters, dtype=np.int64)
    own[codes] = strata
    if (own[codes] != strata).any():
        name = np.asarray(cluster)[np.flatnonzero(own[codes] != strata)[0]]
        raise InvalidData(f"a cluster must lie in one stratum, got cluster '{name}' in two: make it one of each.")
    weights = np.zeros((resamples, clusters), dtype=np.int64)
    for number in range(count):
        members = np.flatnonzero(own == number)
        if len(members) < 2:
            name = np.asarray(stratum)[np.flatnonzero(strata == number)[0]]
            return Undefined(f"stratum '{name}' has a single cluster: its spread cannot be told")
        weights[:, members] = cluster_weights(len(members), resamples, rng)
    return weights


def stratified_bootstrap(
    statistic: RowStatistic, cluster: ArrayLike, stratum: ArrayLike, resamples: int, rng: Generator
) -> Replicates | Undefined:
    """Return a statistic's replicates, clusters resampled within their stratum and strata fixed in size.

    As `cluster_bootstrap`, with the weights of `stratified_weights`.

    By construction a mean that varies between strata only does not vary between resamples:

    >>> y = np.array([1.0, 1.0, 5.0, 5.0])
    >>> draws = stratified_bootstrap(
    ...     lambda rows: float(y[rows].mean()), list("abcd"), list("xxyy"), 3, np.random.default_rng(1)
    ... )
    >>> draws.values.tolist()
    [3.0, 3.0, 3.0]
    """
    weights = stratified_weights(cluster, stratum, resamples, rng)
    if isinstance(weights, Undefined):
        return weights
    codes = cluster_codes(cluster)[0]
    return Replicates.of([_number(statistic(rows)) for rows in _resampled_rows(codes, weights)])


def cluster_jackknife(statistic: RowStatistic, cluster: ArrayLike) -> Replicates:
    """Return a statistic's values with each cluster left out in turn, in order of first occurrence.

    By hand, without `a` and without `b`:

    >>> y = np.array([1.0, 3.0, 8.0])
    >>> cluster_jackknife(lambda rows: float(y[rows].mean()), list("aab")).values.tolist()
    [8.0, 2.0]
    """
    codes, clusters = cluster_codes(cluster)
    return Replicates.of([_number(statistic(np.flatnonzero(codes != left_out))) for left_out in range(clusters)])


def percentile_limits(replicates: Replicates, level: float) -> Interval | Undefined:
    """Return the central quantiles of the replicates. Never for a distance: it covers a true 0 in no trial at all.

    By hand, the .025 and .975 quantiles of 0, 1, …, 40:

    >>> found = percentile_limits(Replicates.of(range(41)), 0.95)
    >>> round(found.low, 6), round(found.high, 6)
    (1.0, 39.0)
    """
    check_level(level)
    trouble = replicates.trouble()
    if trouble is not None:
        return trouble
    low, high = np.quantile(replicates.values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


@dataclass(frozen=True, slots=True)
class BcaConstants:
    """Bias correction z0 and acceleration a."""

    z0: float
    acceleration: float


def acceleration(left_out: ArrayLike) -> float | Undefined:
    """Return a = Σd³ / (6 (Σd²)^1.5) of leave-one-out values, d being their mean minus each.

    Source: Efron and Tibshirani 1993, equation 14.15.

    By hand: d = 2.25, 1.25, .25, −3.75; Σd³ = −39.375 and Σd² = 20.75.

    >>> round(acceleration([1, 2, 3, 7]), 6)
    -0.069429
    """
    values = as_numbers(left_out, "leave-one-out values", largest=1e90)
    if not np.isfinite(values).all():
        raise InvalidData("leave-one-out values must be finite: leave out those that are undefined.")
    spread = float(np.ptp(values)) if len(values) > 1 else 0.0
    if spread < 1e-100 or spread <= 1e-12 * float(np.abs(values).max()):
        return Undefined("leaving out one unit never changes the value")
    d = values.mean() - values
    return float((d**3).sum() / (6.0 * (d**2).sum() ** 1.5))


def bias_correction(
    value: float, replicates: FloatArray, *, ties: Literal["half", "none"] = "half"
) -> float | Undefined:
    """Return z0 = Φ⁻¹ of the share of replicates below the value, those equal to it counting one half (or nothing).

    By hand: one below and one equal of four, Φ⁻¹(3/8).

    >>> round(bias_correction(2.0, np.array([1.0, 2.0, 3.0, 4.0])), 6)
    -0.318639
    """
    from scipy.special import ndtri

    below, upto = (replicates < value).sum(), (replicates <= value).sum()
    share = (below + (upto if ties == "half" else below)) / (2.0 * len(replicates))
    return float(ndtri(share)) if 0.0 < share < 1.0 else Undefined("all resamples lie on one side of the value")


def bca_limits(value: float, replicates: Replicates, left_out: Replicates, level: float) -> Interval | Undefined:
    """Return bias-corrected and accelerated limits (Efron 1987), ties with the value counting one half in z0.

    Undefined where the replicates or the leave-one-out values do not vary, or lie on one side of the value.

    By hand: without bias and skew they are the percentile limits.

    >>> found = bca_limits(20.0, Replicates.of(range(41)), Replicates.of([1, 2, 3]), 0.95)
    >>> round(found.low, 6), round(found.high, 6)
    (1.0, 39.0)
    """
    from scipy.special import ndtr, ndtri

    check_level(level)
    trouble = replicates.trouble()
    if trouble is not None:
        return trouble
    if left_out.undefined:
        return Undefined("undefined without one of the clusters: too little data")
    a, z0 = acceleration(left_out.values), bias_correction(value, replicates.values)
    if isinstance(a, Undefined):
        return a
    if isinstance(z0, Undefined):
        return z0
    tails = z0 + ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))
    if (1.0 - a * tails <= 0.0).any():
        return Undefined("too skewed for bias-corrected and accelerated limits")
    low, high = np.quantile(replicates.values, ndtr(z0 + tails / (1.0 - a * tails)))
    return Interval(float(low), float(high))


def _resampled_rows(codes: IntArray, weights: IntArray) -> Iterator[IntArray]:
    """Yield the row numbers of each resample: each cluster's rows as often as it was drawn."""
    order = np.argsort(codes, kind="stable")
    for row_weights in weights:
        yield np.repeat(order, row_weights[codes[order]])


def _number(value: float | Undefined) -> float:
    return np.nan if isinstance(value, Undefined) else value
