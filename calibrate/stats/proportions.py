"""Differences of two proportions: Newcombe's intervals for independent and for paired samples.

Sources: Newcombe, Statistics in Medicine 17:873 (1998), method 10, for independent samples (square and add of Wilson's
limits); 17:2635 (1998), methods 8 and 10, for paired ones (the same with a correlation term).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.checking import MOST_COUNTED, check_count
from calibrate.stats.intervals import wilson

NO_PAIRS = Undefined("there is no pair")


def independent_difference(x1: float, n1: float, x2: float, n2: float, level: float = 0.95) -> Interval | Undefined:
    """Return Newcombe's limits of p1 − p2 for x1 of n1 and x2 of n2, two samples that share nothing.

    0.6 for 9/10 against 3/10 has the limits .1705 and .8090. Undefined where a sample is empty; `InvalidData` where a
    count is outside 0..n.

    >>> found = independent_difference(9, 10, 3, 10)
    >>> round(found.low, 4), round(found.high, 4)
    (0.1705, 0.809)
    """
    first, second = wilson(x1, n1, level), wilson(x2, n2, level)
    if isinstance(first, Undefined) or isinstance(second, Undefined):
        return Undefined("a sample is empty")
    p1, p2 = x1 / n1, x2 / n2
    below = np.hypot(p1 - first.low, second.high - p2)
    above = np.hypot(first.high - p1, p2 - second.low)
    return Interval(float(p1 - p2 - below), float(p1 - p2 + above))


def paired_difference(
    both: int, first_only: int, second_only: int, neither: int, level: float = 0.95, *, method: Literal[8, 10] = 10
) -> Interval | Undefined:
    """Return Newcombe's limits of (first_only − second_only)/n for pairs of outcomes.

    Method 10 takes n/2 from a positive numerator of φ, method 8 does not. (20, 12, 2, 16) has .0562 to .3292 by method
    10. Undefined without a pair; `InvalidData` for a negative count.

    >>> found = paired_difference(20, 12, 2, 16)
    >>> round(found.low, 4), round(found.high, 4)
    (0.0562, 0.3292)
    """
    counts = (both, first_only, second_only, neither)
    _check_pairs(counts, method)
    n = sum(counts)
    if n == 0:
        return NO_PAIRS
    x1, x2 = both + first_only, both + second_only
    one, two = wilson(x1, n, level), wilson(x2, n, level)
    assert isinstance(one, Interval) and isinstance(two, Interval)
    p1, p2, phi = x1 / n, x2 / n, pair_phi(*counts, method=method)
    down1, up1, down2, up2 = p1 - one.low, one.high - p1, p2 - two.low, two.high - p2
    below = np.sqrt(max(0.0, down1**2 - 2 * phi * down1 * up2 + up2**2))
    above = np.sqrt(max(0.0, up1**2 - 2 * phi * up1 * down2 + down2**2))
    return Interval(float(p1 - p2 - below), float(p1 - p2 + above))


def pair_phi(both: int, first_only: int, second_only: int, neither: int, *, method: Literal[8, 10] = 10) -> float:
    """Return the correlation of paired outcomes that `paired_difference` uses; 0 where a margin is empty.

    By hand: (18 · 18 − 12 · 2 − 25)/√(30 · 20 · 20 · 30), and without 25 by method 8.

    >>> round(pair_phi(18, 12, 2, 18), 6), pair_phi(18, 12, 2, 18, method=8)
    (0.458333, 0.5)
    """
    _check_pairs((both, first_only, second_only, neither), method)
    n = both + first_only + second_only + neither
    margins = (both + first_only, second_only + neither, both + second_only, first_only + neither)
    product = float(np.prod([float(margin) for margin in margins]))
    if product == 0:
        return 0.0
    cross = float(both * neither - first_only * second_only)
    if method == 10 and cross > 0:
        cross = max(0.0, cross - n / 2)
    return cross / float(np.sqrt(product))


def _check_pairs(counts: tuple[int, ...], method: int) -> None:
    for count in counts:
        check_count(count, "a count of pairs", 0, MOST_COUNTED, "count the pairs of each kind")
    if method not in (8, 10):
        raise InvalidData(f"Newcombe's method for pairs is 8 or 10, got {method!r}: take 10.")
