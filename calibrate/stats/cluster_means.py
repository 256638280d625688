"""Means over rows that depend on each other within clusters (people, tasks, judges)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.checking import as_numbers
from calibrate.stats.intervals import t_quantile
from calibrate.stats.resample import cluster_codes

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ClusterMean:
    """A mean over rows whose standard error lets rows of one cluster depend on each other.

    `design_effect` is its variance over that of as many independent rows; 1 where every cluster has one row.
    """

    value: float
    se: float
    df: int
    n: int
    clusters: int
    design_effect: float

    def limits(self, level: float = 0.95) -> Interval:
        """Return value ± t · se with `df` degrees of freedom."""
        reach = t_quantile(level, self.df) * self.se
        return Interval(self.value - reach, self.value + reach)

    def p_value(self, null: float) -> float:
        """Return the two-sided t test of the mean against `null`."""
        from scipy.special import stdtr

        return float(2.0 * stdtr(self.df, -abs(self.value - null) / self.se))

    def equivalence_p(self, null: float, margin: float) -> float:
        """Return the p of two one-sided t tests: that the mean is not within `margin` of `null` (the larger p)."""
        from scipy.special import stdtr

        if margin <= 0:
            raise InvalidData(
                f"an equivalence margin must be above 0, got {margin!r}: give the largest harmless difference."
            )
        below = stdtr(self.df, -(self.value - (null - margin)) / self.se)
        above = stdtr(self.df, (self.value - (null + margin)) / self.se)
        return float(max(below, above))


def cluster_mean(values: ArrayLike, *clusterings: ArrayLike) -> ClusterMean | Undefined:
    """Return the mean over rows with a standard error by cluster; undefined where no spread can be estimated.

    One clustering: se² = G/(G − 1) Σ_g (Σ_i (y_gi − ȳ))² / n², G − 1 degrees of freedom; with one row a
    cluster that is the ordinary t interval. Two clusterings (pair and judge, person and item): V_first +
    V_second − V_cell (Cameron, Gelbach and Miller 2011), never below the larger of the first two, degrees of
    freedom by the coarser.

    By hand, three people with 1 1 | 4 | 6: mean 3, residual sums −4, 1, 3, se² = 3/2 · 26/16.

    >>> found = cluster_mean([1, 1, 4, 6], ["a", "a", "b", "c"])
    >>> found.value, round(found.se**2, 6), found.df, found.design_effect
    (3.0, 2.4375, 2, 1.625)
    """
    y = as_numbers(values, "values")
    if not 1 <= len(clusterings) <= 2:
        raise InvalidData(f"one or two clusterings are needed, got {len(clusterings)}: pass one label a row for each.")
    if not np.isfinite(y).all():
        raise InvalidData(
            f"values must be finite numbers, got {y[~np.isfinite(y)][0]}: drop what is missing before averaging."
        )
    if len(y) == 0:
        return Undefined("no values")
    coded = [cluster_codes(clustering) for clustering in clusterings]
    if any(len(codes) != len(y) for codes, _ in coded):
        raise InvalidData("every value needs a cluster: pass columns of equal length.")
    sizes = [groups for _, groups in coded]
    if min(sizes) < 2:
        return Undefined("only one cluster: its spread cannot be told")
    variances = [_cluster_variance(y, codes, groups) for codes, groups in coded]
    variance = variances[0]
    if len(coded) == 2:
        cell, cells = cluster_codes(coded[0][0] * sizes[1] + coded[1][0])
        variance = max(*variances, sum(variances) - _cluster_variance(y, cell, cells))
    independent = float(y.var(ddof=1)) / len(y)
    if np.sqrt(variance) <= 1e-12 * np.abs(y).max() or independent == 0.0:
        return Undefined("no variation between clusters: its spread cannot be told")
    return ClusterMean(
        value=float(y.mean()),
        se=float(np.sqrt(variance)),
        df=min(sizes) - 1,
        n=len(y),
        clusters=min(sizes),
        design_effect=float(variance / independent),
    )


def _cluster_variance(y: FloatArray, codes: NDArray[np.int64], clusters: int) -> float:
    sums = np.bincount(codes, weights=y - y.mean(), minlength=clusters)
    return float(clusters / (clusters - 1) * (sums**2).sum() / len(y) ** 2)
