"""Limits of correlations: from resamples, by Fisher's z, by the jackknife, and freed of the noise of both sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.checking import MOST_COUNTED, check_count, check_number
from calibrate.stats.correlation import Coefficient, check_coefficient, half_step
from calibrate.stats.group_means import Reliability
from calibrate.stats.intervals import normal_quantile, t_quantile
from calibrate.stats.resample import Replicates

RESAMPLED_SPREAD_FACTOR = 1.15  # chosen by simulation: the annotator bootstrap's spread alone covers about .90 to .92
MIN_GROUPS = 4  # with three pairs a correlation has no spread to speak of (Fisher's 1/√(n − 3) has no value)


@dataclass(frozen=True, slots=True)
class ResampledSpread:
    """SD* of atanh ρ* of a resampled correlation, SD of ρ* itself, and how many ρ* were pulled inside `limit`."""

    sd_atanh: float
    sd: float
    limit: float
    limited: int


def resampled_spread(replicates: Replicates, limit: float) -> ResampledSpread | Undefined:
    """Return the spread of a correlation's replicates, absolute values above `limit` (< 1) taken as it in atanh.

    By hand: atanh .5 = .5493 and atanh 0 lie .5493/√2 from each other's mean, in standard deviations.

    >>> found = resampled_spread(Replicates.of([0.0, 0.5]), 0.99)
    >>> round(found.sd_atanh, 4), round(found.sd, 4), found.limited
    (0.3884, 0.3536, 0)
    """
    trouble = replicates.trouble()
    if trouble is not None:
        return trouble
    check_limit(limit)
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

    By hand: atanh .5 ± 1.15 · 1.96 · .1 = .5493 ± .2254.

    >>> found = correlation_limits(0.5, ResampledSpread(0.1, 0.08, 0.99, 0))
    >>> round(found.low, 4), round(found.high, 4)
    (0.313, 0.6497)
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

    By hand: .6/√(.8 · .8) = .75 ± 1.15 · 1.96 · .06/.8.

    >>> sure = Reliability(0.8, 0.0, 0)
    >>> found = noise_free_limits(0.6, 0.06, sure, sure)
    >>> round(found.value, 6), round(found.interval.low, 4), round(found.interval.high, 4)
    (0.75, 0.581, 0.919)
    """
    if min(first.value, second.value) <= 0.0:
        return Undefined(
            f"the group means vary no more than noise would make them (reliability {first.value:.2f} of the human, "
            f"{second.value:.2f} of the simulated side)"
        )
    check_number(rho, "a correlation")
    if not -1.0 <= rho <= 1.0 or not (sd is None or 0.0 <= sd <= 2.0):
        raise InvalidData(f"a correlation lies in -1..1 and its spread in 0..2, got {rho!r} and {sd!r}: correct them.")
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

    >>> found = fisher_limits(0.955, 7)
    >>> round(found.low, 2), round(found.high, 2)
    (0.72, 0.99)
    """
    check_count(n, "a number of pairs", 0, MOST_COUNTED)
    check_coefficient(coefficient)
    lost, factor = {"pearson": (3, 1.0), "spearman": (3, 1.06), "kendall": (4, 0.437)}[coefficient]
    if n <= lost:
        return Undefined(f"{n} pairs are too few (at least {lost + 1})")
    return atanh_limits(value, normal_quantile(level) * float(np.sqrt(factor / (n - lost))), half_step(coefficient, n))


def jackknife_limits(value: float, left_out: Replicates, limit: float, level: float = 0.95) -> Interval | Undefined:
    """Return tanh(atanh ρ̂ ± t · SE), the delete-one jackknife over A units (assistants), t with A − 1 df.

    SE² = (A − 1)/A Σ (θ_(a) − θ̄)² with θ_(a) = atanh ρ without unit a. Undefined where a deletion leaves ρ undefined.

    By hand with three units: atanh values .4, .5, .6, so SE² = 2/3 · .02 and t = 4.3027.

    >>> found = jackknife_limits(np.tanh(0.5), Replicates.of(np.tanh([0.4, 0.5, 0.6])), 0.99)
    >>> round(found.low, 4), round(found.high, 4)
    (0.0032, 0.7603)
    """
    units = left_out.resamples
    if left_out.undefined:
        return Undefined(f"undefined without one of the {units}")
    check_limit(limit)
    if units < 2:
        return Undefined("fewer than two units")
    theta = np.arctanh(np.clip(left_out.values, -limit, limit))
    se = float(np.sqrt((units - 1) / units * ((theta - theta.mean()) ** 2).sum()))
    if se <= 1e-12:
        return Undefined("leaving out one unit never changes the value")
    return atanh_limits(value, t_quantile(level, units - 1) * se, limit)


def check_limit(limit: float) -> None:
    """Refuse (`InvalidData`) a largest absolute value of resampled correlations that is not between 0 and 1.

    >>> check_limit(1.0)
    Traceback (most recent call last):
    annotate.errors.InvalidData: the limit of resampled correlations must be above 0 and below 1, got 1.0: take .999999.
    """
    check_number(limit, "the limit of resampled correlations")
    if not 0.0 < limit < 1.0:
        raise InvalidData(
            f"the limit of resampled correlations must be above 0 and below 1, got {limit!r}: take .999999."
        )


def atanh_limits(value: float, reach: float, limit: float) -> Interval:
    """Return tanh(atanh value ± reach), the value taken as ±`limit` where it lies beyond, and never outside.

    By hand: atanh .5 = .5493, and tanh of .2493 and .8493:

    >>> found = atanh_limits(0.5, 0.3, 0.99)
    >>> round(found.low, 4), round(found.high, 4)
    (0.2443, 0.6907)
    """
    check_limit(limit)
    for given, what in ((value, "a correlation"), (reach, "a reach")):
        check_number(given, what)
    if not -1.0 <= value <= 1.0 or not reach >= 0.0:
        raise InvalidData(f"a correlation lies in -1..1, its reach is from 0, got {value!r} and {reach!r}: correct it.")
    centre = float(np.arctanh(np.clip(value, -limit, limit)))
    return Interval(min(value, float(np.tanh(centre - reach))), max(value, float(np.tanh(centre + reach))))
