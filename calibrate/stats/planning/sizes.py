"""How many cases an interval of a wanted width, a threshold or a gap needs: independent, clustered, or of few in all.

Numbers of cases are rounded up. Where one has no finite answer, as a gap of 0, the result is `Undefined`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from annotate.errors import InvalidData
from calibrate.estimate import Undefined
from calibrate.stats.intervals import normal_quantile

_ROUNDING = 1e-9
_LARGEST = 10**9


def proportion_n(share: float, half_width: float, level: float = 0.95) -> int:
    """Return n = z² p (1 − p)/e² for p ± e, the normal formula; p = ½ is the largest.

    Raises:
        InvalidData: a share outside 0..1, a half-width that is not above 0.

    Cochran, Sampling Techniques (1977), section 4.4, has .5 ± .05: 385 at the exact quantile (400 at his t = 2).

    >>> proportion_n(0.5, 0.05)
    385
    """
    _share(share, "share")
    _above_zero(half_width, "half-width")
    z = _z(level)
    return _finite(_cases(z * math.sqrt(share * (1.0 - share)), half_width))


def wilson_n(share: float, half_width: float, level: float = 0.95) -> int:
    """Return the smallest n for which Wilson's interval at p n successes is at most 2e wide; search, not formula.

    Fractional successes are allowed, so that p stays what it is. Near 0 and 1 the normal formula asks for too few, at ½
    for z² too many.

    Raises:
        InvalidData: as `proportion_n`.

    By hand at p = ½: half-width z/(2 √(n + z²)), so n = z²/(4 e²) − z² = 384.1 − 3.8:

    >>> wilson_n(0.5, 0.05), wilson_n(0.02, 0.02), proportion_n(0.02, 0.02)
    (381, 223, 189)
    """
    _share(share, "share")
    _above_zero(half_width, "half-width")
    z = _z(level)

    def half(n: int) -> float:
        return z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)

    return smallest(lambda n: half(n) <= half_width + 1e-12)


def mean_n(sd: float, half_width: float, level: float = 0.95) -> int:
    """Return n = (z s/e)² for a mean ± e of values with standard deviation s.

    Raises:
        InvalidData: a standard deviation or half-width that is not above 0.

    By hand, (1.96 · 15/2)² = 216.1:

    >>> mean_n(15, 2)
    217
    """
    _above_zero(sd, "standard deviation")
    _above_zero(half_width, "half-width")
    return _finite(_cases(_z(level) * sd, half_width))


# ------------------------------------------------------------------------------------- clusters, small populations


def design_effect(per_cluster: float, icc: float) -> float:
    """Return 1 + (m − 1) ρ: how many times as many cases are needed when they come m a cluster with correlation ρ.

    Raises:
        InvalidData: fewer than one case a cluster; a correlation outside −1/(m − 1)..1, which no clusters can have.

    Kish, Survey Sampling (1965), section 5.4; by hand:

    >>> round(design_effect(20, 0.05), 6)
    1.95
    """
    if not (math.isfinite(per_cluster) and per_cluster >= 1):
        raise InvalidData(f"a cluster has at least one case, got {per_cluster!r}: give the mean number of cases.")
    lowest = -1.0 if per_cluster <= 2 else -1.0 / (per_cluster - 1)
    if not lowest <= icc <= 1:
        raise InvalidData(f"an intraclass correlation lies in {lowest:.3g}..1 here, got {icc!r}: estimate it again.")
    return 1.0 + (per_cluster - 1.0) * icc


def clustered_n(n: int, per_cluster: float, icc: float) -> tuple[int, int]:
    """Return (cases, clusters) that are worth n independent cases: n · design effect, in whole clusters of m.

    Raises:
        InvalidData: as `design_effect`; n below 1.

    By hand, 385 · 1.95 = 750.8, which is 37.5 clusters of 20:

    >>> clustered_n(385, 20, 0.05)
    (751, 38)
    """
    _count(n, "n", least=1)
    cases = max(1, math.ceil(n * design_effect(per_cluster, icc) - _ROUNDING))
    return cases, math.ceil(cases / per_cluster - _ROUNDING)


def finite_population_n(n: int, population: int) -> int:
    """Return n/(1 + (n − 1)/N): how many of a population of N are worth n of an endless one; never above N.

    Raises:
        InvalidData: n or N below 1.

    Cochran (1977), section 4.4. By hand, 385 of 1,000: 385/1.384:

    >>> finite_population_n(385, 1000)
    279
    """
    _count(n, "n", least=1)
    _count(population, "population", least=1)
    return min(population, math.ceil(n / (1.0 + (n - 1) / population) - _ROUNDING))


# ------------------------------------------------------------------------------------------------------- none of n


def none_of_n_limit(n: int, level: float = 0.95) -> float:
    """Return the one-sided upper limit of a share of which n cases show none: 1 − α^(1/n), exact.

    Raises:
        InvalidData: n below 1.

    Hanley and Lippman-Hand (JAMA 249:1743, 1983) discuss 0 of 14, an upper limit of about .19:

    >>> round(none_of_n_limit(14), 3)
    0.193
    """
    _count(n, "n", least=1)
    _level(level)
    return -math.expm1(math.log1p(-level) / n)


def rule_of_three(n: int) -> float:
    """Return 3/n, cut at 1: the 95 % limit of `none_of_n_limit` for the head; near from n = 30.

    Raises:
        InvalidData: n below 1.

    Hanley and Lippman-Hand (1983):

    >>> rule_of_three(100), round(none_of_n_limit(100), 4)
    (0.03, 0.0295)
    """
    _count(n, "n", least=1)
    return min(1.0, 3.0 / n)


def none_of_n_needed(limit: float, level: float = 0.95) -> int:
    """Return how many cases without one event put the one-sided upper limit at most at `limit`: ln α / ln(1 − limit).

    Raises:
        InvalidData: a limit that is not between 0 and 1.

    Well known: 59 cases without an event for a limit of 5 %.

    >>> none_of_n_needed(0.05)
    59
    """
    _inside(limit, "limit")
    _level(level)
    return max(1, math.ceil(math.log1p(-level) / math.log1p(-limit) - _ROUNDING))


# ---------------------------------------------------------------------------------------------- thresholds and gaps


def threshold_n(share: float, threshold: float, *, level: float = 0.95, power: float = 0.8) -> int | Undefined:
    """Return n with which a share p is told from a threshold q by a one-sided test at 1 − level, with `power`.

    n = [(z_level √(q(1 − q)) + z_power √(p(1 − p)))/(p − q)]², the score test (Fleiss, Levin and Paik, Statistical
    Methods for Rates and Proportions, 2003, chapter 2). Undefined where p = q.

    Raises:
        InvalidData: a share outside 0..1, a threshold that is not between 0 and 1, a level or power likewise.

    By hand for .9 against .8: (1.6449 · .4 + .8416 · .3)²/.01 = 82.8:

    >>> threshold_n(0.9, 0.8)
    83
    """
    _share(share, "share")
    _inside(threshold, "threshold")
    if share == threshold:
        return Undefined("the share lies on the threshold: no number of cases tells the two apart")
    reach = _one_sided(level) * math.sqrt(threshold * (1 - threshold))
    reach += _one_sided(power) * math.sqrt(share * (1 - share))
    return _cases(reach, share - threshold)


def gap_n(first: float, second: float, *, level: float = 0.95, power: float = 0.8) -> int | Undefined:
    """Return n of *each* of two independent groups with which the limits of p1 − p2 exclude 0, with `power`.

    n = (z_(1+level)/2 + z_power)² [p1(1 − p1) + p2(1 − p2)]/(p1 − p2)², two-sided level, unpooled variance. Undefined
    where p1 = p2.

    Raises:
        InvalidData: a share outside 0..1, a level or power that is not between 0 and 1.

    By hand for .6 and .5: 7.849 · .49/.01 = 384.6:

    >>> gap_n(0.6, 0.5)
    385
    """
    _share(first, "first share")
    _share(second, "second share")
    if first == second:
        return Undefined("there is no gap: no number of cases shows one")
    variance = first * (1 - first) + second * (1 - second)
    return _cases((_z(level) + _one_sided(power)) * math.sqrt(variance), first - second)


def paired_gap_n(first_only: float, second_only: float, *, level: float = 0.95, power: float = 0.8) -> int | Undefined:
    """Return how many pairs show that two paired shares differ (McNemar), from the shares of discordant pairs b and c.

    n = [z_(1+level)/2 √(b + c) + z_power √(b + c − (b − c)²)]²/(b − c)² (Connor, Biometrics 43:207, 1987).
    Undefined where b = c.

    Raises:
        InvalidData: shares outside 0..1 or together above 1, a level or power that is not between 0 and 1.

    By hand for .2 and .1: (1.9600 √.3 + .8416 √.29)²/.01 = 233.1:

    >>> paired_gap_n(0.2, 0.1)
    234
    """
    _share(first_only, "first-only share")
    _share(second_only, "second-only share")
    both, gap = first_only + second_only, first_only - second_only
    if both > 1 + _ROUNDING:
        raise InvalidData(f"discordant shares are parts of all pairs, got {both!r} together: divide by all pairs.")
    if gap == 0:
        return Undefined("there is no gap: no number of pairs shows one")
    reach = _z(level) * math.sqrt(both) + _one_sided(power) * math.sqrt(max(0.0, both - gap * gap))
    return _cases(reach, gap)


def correlation_n(
    correlation: float, threshold: float = 0.0, *, level: float = 0.95, power: float = 0.8, two_sided: bool = True
) -> int | Undefined:
    """Return how many independent pairs put a threshold outside the limits of a correlation, by Fisher's z.

    n = [(z + z_power)/(atanh r − atanh threshold)]² + 3, at least 4. Undefined where the two are equal, or
    closer than a thousand million pairs can tell.

    Raises:
        InvalidData: a correlation or threshold that is not between −1 and 1, a level or power not between 0 and 1.

    Cohen, Statistical Power Analysis (1988), table 3.4.1, has 85 for .3 at 80 % power:

    >>> correlation_n(0.3)
    85
    """
    for name, value in (("correlation", correlation), ("threshold", threshold)):
        if not -1 < value < 1:
            raise InvalidData(f"a {name} lies between -1 and 1, got {value!r}: no finite number tells ±1.")
    if correlation == threshold:
        return Undefined("the correlation lies on the threshold: no number of pairs tells the two apart")
    z = _z(level) if two_sided else _one_sided(level)
    return _cases(z + _one_sided(power), math.atanh(correlation) - math.atanh(threshold), added=3)


def smallest(enough: Callable[[int], bool], least: int = 1) -> int:
    """Return the smallest n from `least` that is enough, for a condition that stays true once it is.

    Raises:
        InvalidData: nothing up to a thousand million is enough.

    >>> smallest(lambda n: n * n >= 50)
    8
    """
    high = least
    while not enough(high):
        if high >= _LARGEST:
            raise InvalidData(f"not even {_LARGEST:,} cases are enough: ask for a wider interval or less power.")
        high = min(2 * high, _LARGEST)
    low = max(least, high // 2)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return high


def _cases(reach: float, gap: float, added: int = 0) -> int | Undefined:
    """Return ⌈(reach/gap)²⌉, at least 1, with what is added; undefined beyond a thousand million."""
    if abs(reach) > math.sqrt(_LARGEST) * abs(gap):
        return Undefined(f"more than {_LARGEST:,} cases: too small a difference to show")
    return max(1, math.ceil((reach / gap) ** 2 - _ROUNDING)) + added


def _finite(n: int | Undefined) -> int:
    if isinstance(n, Undefined):
        raise InvalidData(f"not even {_LARGEST:,} cases are enough: ask for a wider interval.")
    return n


def _z(level: float) -> float:
    _level(level)
    return normal_quantile(level)


def _one_sided(probability: float) -> float:
    from scipy.special import ndtri

    _level(probability)
    return float(ndtri(probability))


def _level(level: float) -> None:
    if not 0 < level < 1:
        raise InvalidData(f"a level or power must lie between 0 and 1, got {level!r}: use 0.95 or 0.8.")


def _share(value: float, name: str) -> None:
    if not 0 <= value <= 1:
        raise InvalidData(f"a {name} must lie in 0..1, got {value!r}: divide by the number of cases.")


def _inside(value: float, name: str) -> None:
    if not 0 < value < 1:
        raise InvalidData(f"a {name} must lie between 0 and 1, got {value!r}: give one inside.")


def _above_zero(value: float, name: str) -> None:
    if not (math.isfinite(value) and value > 0):
        raise InvalidData(f"a {name} must be a number above 0, got {value!r}: give the one that is wanted.")


def _count(value: int, name: str, *, least: int) -> None:
    if not (math.isfinite(value) and value >= least and value == int(value)):
        raise InvalidData(f"{name} must be a whole number from {least}, got {value!r}: count the cases.")
