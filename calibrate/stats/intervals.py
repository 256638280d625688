"""Intervals and tests for one proportion, and its equivalence to a value.

z is the exact normal quantile (1.959963984540054 at 95 %), never 1.96. No successes give a lower bound of
exactly 0, only successes an upper bound of exactly 1. Wald's interval is not here on purpose.
"""

from __future__ import annotations

import numpy as np

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.checking import check_number, is_real, shown

MOST_TRIALS = 1e15  # beyond it limits are the share itself
NO_TRIALS = Undefined("no trials")


def check_level(level: float) -> None:
    """Refuse a level of confidence that is not between 0 and 1.

    >>> check_level(95)
    Traceback (most recent call last):
    annotate.errors.InvalidData: the level of an interval must be above 0 and below 1, got 95: take .95 for 95 %.
    """
    if not is_real(level) or not 0.5 < 0.5 + level / 2.0 < 1.0:  # nearer to 0 or 1 there is no quantile
        raise InvalidData(
            f"the level of an interval must be above 0 and below 1, got {shown(level)}: take .95 for 95 %."
        )


def normal_quantile(level: float) -> float:
    """Return the z that leaves (1 − level)/2 above it.

    >>> normal_quantile(0.95)
    1.959963984540054
    """
    check_level(level)
    from scipy.special import ndtri

    return float(ndtri(0.5 + level / 2.0))


def t_quantile(level: float, df: float) -> float:
    """Return Student's t that leaves (1 − level)/2 above it.

    Tables print 4.303 for 2 degrees of freedom:

    >>> round(t_quantile(0.95, 2), 3)
    4.303
    """
    check_level(level)
    check_number(df, "degrees of freedom")
    if df < 0.1:
        raise InvalidData(f"degrees of freedom must be at least .1, got {df!r}: give more rows.")
    from scipy.special import stdtrit

    return float(stdtrit(df, 0.5 + level / 2.0))


# ------------------------------------------------------------------------------------------------- one proportion


def wilson(x: float, n: float, level: float = 0.95, *, continuity: bool = False) -> Interval | Undefined:
    """Return Wilson's score interval for x successes in n; x may hold halves (ties), n may be an effective size.

    With `continuity` Newcombe's corrected limits (Statistics in Medicine 17:857, 1998, method 4), which
    prints 81/263 as .2535 to .3682, and .2553 to .3662 without the correction.

    >>> found = wilson(81, 263)
    >>> round(found.low, 4), round(found.high, 4)
    (0.2553, 0.3662)
    >>> found = wilson(81, 263, continuity=True)
    >>> round(found.low, 4), round(found.high, 4)
    (0.2535, 0.3682)
    """
    check_level(level)
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
    """Return the exact interval: both tails of the binomial at least (1 − level)/2 (Clopper and Pearson 1934).

    Newcombe (1998, method 5) prints 81/263 as .2527 to .3676:

    >>> found = clopper_pearson(81, 263)
    >>> round(found.low, 4), round(found.high, 4)
    (0.2527, 0.3676)
    """
    check_level(level)
    _check_whole(x, n)
    if n == 0:
        return NO_TRIALS
    from scipy.special import betaincinv

    tail = (1.0 - level) / 2.0
    low = betaincinv(x, n - x + 1, tail) if x > 0 else 0.0
    high = betaincinv(x + 1, n - x, 1.0 - tail) if x < n else 1.0
    return _proportion_limits(x, n, float(low), float(high))


def mid_p(x: int, n: int, level: float = 0.95) -> Interval | Undefined:
    """Return the mid-P interval: as Clopper–Pearson, with half the probability of x itself in each tail.

    Newcombe (1998, method 6) prints 81/263 as .2544 to .3658:

    >>> found = mid_p(81, 263)
    >>> round(found.low, 4), round(found.high, 4)
    (0.2544, 0.3658)
    """
    check_level(level)
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
    """Return Agresti and Coull's interval (z²/2 successes and failures added), cut at 0 and 1.

    By hand for 0 of 20, z² = 3.8415: centre 1.9207/23.8415 = .08056, reach 1.96 √(.08056 · .91944/23.8415) = .10925.

    >>> found = agresti_coull(0, 20)
    >>> round(found.low, 4), round(found.high, 4)
    (0.0, 0.1898)
    """
    check_level(level)
    _check_counts(x, n)
    if n == 0:
        return NO_TRIALS
    z = normal_quantile(level)
    size = n + z * z
    centre = (x + z * z / 2.0) / size
    reach = z * np.sqrt(centre * (1.0 - centre) / size)
    return Interval(float(max(0.0, centre - reach)), float(min(1.0, centre + reach)))


def jeffreys(x: float, n: float, level: float = 0.95) -> Interval | Undefined:
    """Return quantiles of Beta(x + ½, n − x + ½), with 0 at x = 0 and 1 at x = n; x and n may be effective sizes.

    Brown, Cai and DasGupta (2001, Statistical Science 16:101, table 5) print 1/7 as .016 to .501:

    >>> found = jeffreys(1, 7)
    >>> round(found.low, 3), round(found.high, 3)
    (0.016, 0.501)
    """
    check_level(level)
    _check_counts(x, n)
    if n == 0:
        return NO_TRIALS
    from scipy.special import betaincinv

    low, high = betaincinv(x + 0.5, n - x + 0.5, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return _proportion_limits(x, n, float(low), float(high))


def binomial_test(x: int, n: int, null: float = 0.5) -> float | Undefined:
    """Return the exact two-sided p: the probability of all counts no likelier than x (at ½ the doubled tail).

    Ties worth one half must be left out before; a fractional count is refused.

    By hand, 2 (1 + 10 + 45 + 120)/1024:

    >>> binomial_test(3, 10)
    0.34375
    """
    check_number(null, "the share that is tested")
    if not 0.0 <= null <= 1.0:
        raise InvalidData(f"the share that is tested must be in 0..1, got {null!r}: take .5 for chance between two.")
    _check_whole(x, n)
    if n == 0:
        return NO_TRIALS
    from scipy.stats import binomtest

    return float(binomtest(int(x), int(n), null).pvalue)


# ---------------------------------------------------------------------------------------------------- equivalence


def equivalence_binomial(x: int, n: int, margin: float, null: float = 0.5) -> float | Undefined:
    """Return the exact p of two one-sided binomial tests: that the share is not within `margin` of `null`.

    The larger of P(X ≥ x | null − margin) and P(X ≤ x | null + margin); below .05 the 90 % interval lies
    inside.

    By hand, one trial: P(X ≤ 1 | .9) = 1 is the larger.

    >>> equivalence_binomial(1, 1, 0.4)
    1.0
    """
    _check_whole(x, n)
    check_number(margin, "the margin")
    check_number(null, "the share that is tested")
    if not 0 < margin < min(null, 1 - null):
        raise InvalidData(
            f"the margin must be above 0 and below {min(null, 1 - null)!r}, got {margin!r}: give the largest harmless "
            "difference from the value that is tested."
        )
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

    >>> equivalence_n(0.1), equivalence_n(0.1, design_effect=2)
    (215, 429)
    """
    check_number(margin, "an equivalence margin")
    if not margin > 0.0:
        raise InvalidData(
            f"an equivalence margin must be above 0, got {margin!r}: give the largest harmless difference."
        )
    check_level(1.0 - alpha)
    check_level(power)
    check_number(design_effect, "a design effect")
    if design_effect <= 0.0 or margin < 1e-6 or not design_effect < 1e6:
        raise InvalidData(
            f"a margin of {shown(margin)} at a design effect of {shown(design_effect)} needs no number of verdicts "
            "that could be judged: give a margin from .000001 and a design effect above 0."
        )
    from scipy.special import ndtri

    reach = float(ndtri(1.0 - alpha) + ndtri((1.0 + power) / 2.0))
    return int(np.ceil(reach**2 * 0.25 / margin**2 * design_effect - 1e-9))


def _check_counts(x: float, n: float) -> None:
    if not (_counted(x) and _counted(n) and 0 <= x <= n):
        raise InvalidData(
            f"x must be in 0..n, got x = {shown(x)} and n = {shown(n)}: count successes among the n trials only."
        )


def _counted(count: float) -> bool:
    return is_real(count) and abs(count) <= MOST_TRIALS


def _check_whole(x: float, n: float) -> None:
    _check_counts(x, n)
    if x != int(x) or n != int(n):
        raise InvalidData(f"a success count must be an integer, got {x!r} of {n!r}: drop ties first.")


def _proportion_limits(x: float, n: float, low: float, high: float) -> Interval:
    return Interval(0.0 if x == 0 else max(0.0, low), 1.0 if x == n else min(1.0, high))
