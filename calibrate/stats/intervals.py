"""Intervals and tests for proportions, means by cluster, correlations from resamples, and equivalence.

z is the exact normal quantile (1.959963984540054 at 95 %), never 1.96. No successes give a lower bound of
exactly 0, only successes an upper bound of exactly 1. Wald's interval is not here on purpose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrate.estimate import Interval, Undefined
from calibrate.stats.correlation import Coefficient, Reliability, half_step
from calibrate.stats.resample import Replicates, cluster_codes

FloatArray = NDArray[np.float64]

RESAMPLED_SPREAD_FACTOR = 1.15  # chosen by simulation: the annotator bootstrap's spread alone covers about .90 to .92
MIN_GROUPS = 4  # with three pairs a correlation has no spread to speak of (Fisher's 1/√(n − 3) has no value)
NO_TRIALS = Undefined("no trials")


def normal_quantile(level: float) -> float:
    """Return the z that leaves (1 − level)/2 above it."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + level / 2.0))


def t_quantile(level: float, df: float) -> float:
    """Return Student's t that leaves (1 − level)/2 above it."""
    from scipy.special import stdtrit

    return float(stdtrit(df, 0.5 + level / 2.0))


# ------------------------------------------------------------------------------------------------- one proportion


def wilson(x: float, n: float, level: float = 0.95, *, continuity: bool = False) -> Interval | Undefined:
    """Return Wilson's score interval for x successes in n; x may hold halves (ties), n may be an effective size.

    With `continuity` Newcombe's corrected limits (Statistics in Medicine 17:857, 1998, method 4), which
    prints 81/263 as .2535 to .3682, and .2553 to .3662 without the correction.
    """
    _check_counts(x, n)
    if n == 0:
        return NO_TRIALS
    z, p = normal_quantile(level), x / n
    scale = 2.0 * (n + z * z)
    if continuity:
        low = (2 * x + z * z - 1 - z * np.sqrt(max(0.0, z * z - 2 - 1 / n + 4 * p * (n * (1 - p) + 1)))) / scale
        high = (2 * x + z * z + 1 + z * np.sqrt(max(0.0, z * z + 2 - 1 / n + 4 * p * (n * (1 - p) - 1)))) / scale
    else:
        reach = z * np.sqrt(z * z + 4 * x * (1 - p))
        low, high = (2 * x + z * z - reach) / scale, (2 * x + z * z + reach) / scale
    return _proportion_limits(x, n, float(low), float(high))


def clopper_pearson(x: int, n: int, level: float = 0.95) -> Interval | Undefined:
    """Return the exact interval: both tails of the binomial at least (1 − level)/2 (Clopper and Pearson 1934)."""
    _check_whole(x, n)
    if n == 0:
        return NO_TRIALS
    from scipy.special import betaincinv

    tail = (1.0 - level) / 2.0
    low = betaincinv(x, n - x + 1, tail) if x > 0 else 0.0
    high = betaincinv(x + 1, n - x, 1.0 - tail) if x < n else 1.0
    return _proportion_limits(x, n, float(low), float(high))


def mid_p(x: int, n: int, level: float = 0.95) -> Interval | Undefined:
    """Return the mid-P interval: as Clopper–Pearson, with half the probability of x itself in each tail."""
    _check_whole(x, n)
    if n == 0:
        return NO_TRIALS
    from scipy.optimize import brentq
    from scipy.special import bdtr, bdtrc

    tail = (1.0 - level) / 2.0

    def upper_tail(p: float) -> float:  # P(X > x) + P(X = x)/2, rising in p
        at_least = bdtrc(x - 1, n, p) if x > 0 else 1.0
        above = bdtrc(x, n, p) if x < n else 0.0
        return float((at_least + above) / 2.0)

    def lower_tail(p: float) -> float:  # P(X < x) + P(X = x)/2, falling in p
        at_most = bdtr(x, n, p) if x < n else 1.0
        below = bdtr(x - 1, n, p) if x > 0 else 0.0
        return float((at_most + below) / 2.0)

    low = float(brentq(lambda p: upper_tail(p) - tail, 0.0, 1.0, xtol=1e-14)) if x > 0 else 0.0
    high = float(brentq(lambda p: lower_tail(p) - tail, 0.0, 1.0, xtol=1e-14)) if x < n else 1.0
    return _proportion_limits(x, n, low, high)


def agresti_coull(x: float, n: float, level: float = 0.95) -> Interval | Undefined:
    """Return Agresti and Coull's interval (z²/2 successes and failures added), cut at 0 and 1."""
    _check_counts(x, n)
    if n == 0:
        return NO_TRIALS
    z = normal_quantile(level)
    size = n + z * z
    centre = (x + z * z / 2.0) / size
    reach = z * np.sqrt(centre * (1.0 - centre) / size)
    return Interval(float(max(0.0, centre - reach)), float(min(1.0, centre + reach)))


def jeffreys(x: float, n: float, level: float = 0.95) -> Interval | Undefined:
    """Return quantiles of Beta(x + ½, n − x + ½), with 0 at x = 0 and 1 at x = n; x and n may be effective sizes."""
    _check_counts(x, n)
    if n == 0:
        return NO_TRIALS
    from scipy.special import betaincinv

    low, high = betaincinv(x + 0.5, n - x + 0.5, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return _proportion_limits(x, n, float(low), float(high))


def binomial_test(x: int, n: int, null: float = 0.5) -> float | Undefined:
    """Return the exact two-sided p: the probability of all counts no likelier than x (at ½ the doubled tail).

    Ties worth one half must be left out before; a fractional count is refused.
    """
    _check_whole(x, n)
    if n == 0:
        return NO_TRIALS
    from scipy.stats import binomtest

    return float(binomtest(int(x), int(n), null).pvalue)


# ----------------------------------------------------------------------------------------------- means by cluster


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
            raise ValueError(f"an equivalence margin must be above 0, got {margin!r}")
        below = stdtr(self.df, -(self.value - (null - margin)) / self.se)
        above = stdtr(self.df, (self.value - (null + margin)) / self.se)
        return float(max(below, above))


def cluster_mean(values: ArrayLike, *clusterings: ArrayLike) -> ClusterMean | Undefined:
    """Return the mean over rows with a standard error by cluster; undefined where no spread can be estimated.

    One clustering: se² = G/(G − 1) Σ_g (Σ_i (y_gi − ȳ))² / n², G − 1 degrees of freedom; with one row a
    cluster that is the ordinary t interval. Two clusterings (pair and judge, person and item): V_first +
    V_second − V_cell (Cameron, Gelbach and Miller 2011), never below the larger of the first two, degrees of
    freedom by the coarser.
    """
    y = np.asarray(values, dtype=np.float64)
    if not 1 <= len(clusterings) <= 2:
        raise ValueError(f"one or two clusterings are needed, got {len(clusterings)}")
    if not np.isfinite(y).all():
        raise ValueError("a value is missing or not finite: drop it before averaging")
    if len(y) == 0:
        return Undefined("no values")
    coded = [cluster_codes(clustering) for clustering in clusterings]
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


# ---------------------------------------------------------------------------------------------------- equivalence


def equivalence_binomial(x: int, n: int, margin: float, null: float = 0.5) -> float | Undefined:
    """Return the exact p of two one-sided binomial tests: that the share is not within `margin` of `null`.

    The larger of P(X ≥ x | null − margin) and P(X ≤ x | null + margin); below .05 the 90 % interval lies
    inside.
    """
    _check_whole(x, n)
    if not 0 < margin < min(null, 1 - null):
        raise ValueError(f"the margin must be above 0 and below {min(null, 1 - null)!r}, got {margin!r}")
    if n == 0:
        return NO_TRIALS
    from scipy.special import bdtr, bdtrc

    at_least = float(bdtrc(x - 1, n, null - margin)) if x > 0 else 1.0
    at_most = float(bdtr(x, n, null + margin)) if x < n else 1.0
    return max(at_least, at_most)


def equivalence_n(margin: float, *, design_effect: float = 1.0, alpha: float = 0.05, power: float = 0.8) -> int:
    """Return how many verdicts show a share of exactly ½ to lie within `margin` of it: 215 at .10, times the effect.

    n = (z_{1−α} + z_{(1+power)/2})² · ¼ / margin² · design effect, the normal approximation for two one-sided
    tests.
    """
    from scipy.special import ndtri

    reach = float(ndtri(1.0 - alpha) + ndtri((1.0 + power) / 2.0))
    return int(np.ceil(reach**2 * 0.25 / margin**2 * design_effect - 1e-9))


# --------------------------------------------------------------------------------------------------- correlations


@dataclass(frozen=True, slots=True)
class ResampledSpread:
    """SD* of atanh ρ* of a resampled correlation, SD of ρ* itself, and how many ρ* were pulled inside `limit`."""

    sd_atanh: float
    sd: float
    limit: float
    limited: int


def resampled_spread(replicates: Replicates, limit: float) -> ResampledSpread | Undefined:
    """Return the spread of a correlation's replicates, absolute values above `limit` (< 1) taken as it in atanh."""
    trouble = replicates.trouble()
    if trouble is not None:
        return trouble
    inside = np.clip(replicates.values, -limit, limit)
    sd_atanh = float(np.arctanh(inside).std(ddof=1))
    if sd_atanh <= 1e-12:
        return Undefined("all resamples give the same value: too little data")
    limited = int((inside != replicates.values).sum())
    return ResampledSpread(sd_atanh, float(replicates.values.std(ddof=1)), limit, limited)


def correlation_limits(value: float, spread: ResampledSpread, level: float = 0.95) -> Interval:
    """Return tanh(atanh ρ̂ ± z · 1.15 · SD*), for ρ on fresh conversations of the same groups.

    The annotator bootstrap's own spread is too small by the factor; percentile limits cover .88 to .95 and
    are not used. A value beyond the limit of `spread` (mostly ±1) is moved inside before atanh, and is itself
    the outer bound.
    """
    return atanh_limits(value, RESAMPLED_SPREAD_FACTOR * normal_quantile(level) * spread.sd_atanh, spread.limit)


@dataclass(frozen=True, slots=True)
class NoiseFree:
    """A correlation corrected for unreliability of both sides; `value` and `interval` are cut at ±1, `uncut` is not."""

    value: float
    uncut: float
    interval: Interval | Undefined


def noise_free_limits(
    rho: float, sd: float | None, first: Reliability, second: Reliability, level: float = 0.95
) -> NoiseFree | Undefined:
    """Return θ = ρ̂ / √(rel_1 rel_2), the correlation of the groups' true means (Spearman 1904), and its limits.

    θ ± z · 1.15 · SE with SE by the delta method from all three parts: SE² = SD²(ρ*)/(rel_1 rel_2) + θ²/4 Σ
    Var(rel)/rel². `sd` is SD(ρ*) of the annotator bootstrap; None = none could be drawn. It takes the noise
    of the two sides to be independent within groups.
    """
    if min(first.value, second.value) <= 0.0:
        return Undefined(
            f"the group means vary no more than noise would make them (reliability {first.value:.2f} of the human, "
            f"{second.value:.2f} of the simulated side)"
        )
    product = first.value * second.value
    theta = rho / np.sqrt(product)
    cut = float(np.clip(theta, -1.0, 1.0))
    if sd is None:
        return NoiseFree(cut, float(theta), Undefined("the uncorrected value has no interval"))
    relative = first.variance / first.value**2 + second.variance / second.value**2
    reach = RESAMPLED_SPREAD_FACTOR * normal_quantile(level) * np.sqrt(sd**2 / product + theta**2 / 4 * relative)
    if abs(theta) - reach > 1.0:
        return NoiseFree(cut, float(theta), Undefined("beyond 1 by more than its error: the sides share their noise"))
    limits = Interval(float(max(-1.0, theta - reach)), float(min(1.0, theta + reach)))
    return NoiseFree(cut, float(theta), limits)


def fisher_limits(
    value: float, n: int, coefficient: Coefficient = "pearson", level: float = 0.95
) -> Interval | Undefined:
    """Return tanh(atanh r ± z · √variance) for n independent pairs: r = .955 over seven gives [.72, .99].

    The variance of atanh is 1/(n − 3) for Pearson's r (Fisher 1921), 1.06/(n − 3) for Spearman's ρ and .437/(n − 4) for
    Kendall's τ (Fieller, Hartley and Pearson 1957).
    """
    lost, factor = {"pearson": (3, 1.0), "spearman": (3, 1.06), "kendall": (4, 0.437)}[coefficient]
    if n <= lost:
        return Undefined(f"{n} pairs are too few (at least {lost + 1})")
    return atanh_limits(value, normal_quantile(level) * float(np.sqrt(factor / (n - lost))), half_step(coefficient, n))


def jackknife_limits(value: float, left_out: Replicates, limit: float, level: float = 0.95) -> Interval | Undefined:
    """Return tanh(atanh ρ̂ ± t · SE), the delete-one jackknife over A units (assistants), t with A − 1 df.

    SE² = (A − 1)/A Σ (θ_(a) − θ̄)² with θ_(a) = atanh ρ without unit a. Undefined where a deletion leaves ρ undefined.
    """
    units = left_out.resamples
    if left_out.undefined:
        return Undefined(f"undefined without one of the {units}")
    theta = np.arctanh(np.clip(left_out.values, -limit, limit))
    se = float(np.sqrt((units - 1) / units * ((theta - theta.mean()) ** 2).sum()))
    if se <= 1e-12:
        return Undefined("leaving out one unit never changes the value")
    return atanh_limits(value, t_quantile(level, units - 1) * se, limit)


def atanh_limits(value: float, reach: float, limit: float) -> Interval:
    """Return tanh(atanh value ± reach), the value taken as ±`limit` where it lies beyond, and never outside."""
    centre = float(np.arctanh(np.clip(value, -limit, limit)))
    return Interval(min(value, float(np.tanh(centre - reach))), max(value, float(np.tanh(centre + reach))))


def _check_counts(x: float, n: float) -> None:
    if not (np.isfinite(x) and np.isfinite(n) and 0 <= x <= n):
        raise ValueError(f"x must be in 0..n, got x = {x!r} and n = {n!r}")


def _check_whole(x: float, n: float) -> None:
    _check_counts(x, n)
    if x != int(x) or n != int(n):
        raise ValueError(f"success count must be an integer, got {x!r} of {n!r}: drop ties first")


def _proportion_limits(x: float, n: float, low: float, high: float) -> Interval:
    return Interval(0.0 if x == 0 else max(0.0, low), 1.0 if x == n else min(1.0, high))
