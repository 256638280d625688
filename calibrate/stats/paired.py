"""Two outcomes of the same units, each yes or no: McNemar's tests and the difference of the two shares.

Only units with both outcomes known enter, and only those whose outcomes differ (the discordant ones) speak about a
difference. A small number of them can never show one: five on one side and none on the other have an exact p of .0625.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.estimate import Estimate, Interval, Undefined
from calibrate.stats.checking import MOST_COUNTED, check_count
from calibrate.stats.proportions import paired_difference

NO_DISCORDANT = Undefined("no discordant pairs")


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """A χ² statistic with one degree of freedom and its p."""

    statistic: float
    p: float


@dataclass(frozen=True, slots=True)
class McNemar:
    """McNemar's tests of pairs of outcomes, and the difference of shares, first minus second.

    The four counts are of pairs where both succeed, only the first, only the second, or neither. `missing` pairs lacked
    an outcome and are not among them. `interval` is Newcombe's (method 10) at `level`. All p are two-sided.
    """

    both: int
    first_only: int
    second_only: int
    neither: int
    missing: int
    level: float
    difference: float | Undefined
    interval: Interval | Undefined
    exact_p: float
    mid_p: float
    chi_square: ChiSquare | Undefined
    chi_square_corrected: ChiSquare | Undefined

    @property
    def n(self) -> int:
        """How many pairs have both outcomes."""
        return self.both + self.first_only + self.second_only + self.neither

    def estimate(self, name: str, **fields: Any) -> Estimate:
        """Return the paired difference with its interval and the exact p; `fields` are further fields of `Estimate`."""
        if isinstance(self.difference, Undefined):
            return Estimate.undefined(name, self.difference.reason, n=0, **fields)
        assert isinstance(self.interval, Interval)  # there is a pair
        return Estimate(
            name=name,
            value=self.difference,
            low=self.interval.low,
            high=self.interval.high,
            level=self.level,
            n=self.n,
            method="Newcombe (method 10); p of McNemar's exact test",
            p_value=self.exact_p,
            extra={
                "first_only": self.first_only,
                "second_only": self.second_only,
                "missing_pairs": self.missing,
                "mid_p": self.mid_p,
                "remark": NO_DISCORDANT.reason if self.first_only + self.second_only == 0 else None,
            },
            **fields,
        )


def mcnemar(both: int, first_only: int, second_only: int, neither: int, *, level: float = 0.95) -> McNemar:
    """Test whether first and second succeed equally often, from the table of pairs (rows of the first, 'yes' first).

    With b = first_only, c = second_only and X ~ Bin(b + c, ½): exact p = min(1, 2 P(X ≤ min(b, c))); mid-p takes
    P(X = b) off it, and is 1 − P(X = b)/2 where b = c (Fagerland, Lydersen and Laake 2013, BMC Medical Research
    Methodology 13:91); χ² = (b − c)²/(b + c), with continuity correction max(|b − c| − 1, 0)²/(b + c).

    Without a discordant pair the exact p is 1, mid-p ½ (its formula, P(X = 0) being 1) and χ² undefined. Without a
    pair the difference is undefined as well.

    Raises:
        InvalidData: a count that is negative or not whole.

    Complete response before and after consolidation, 59, 6, 16 and 80 patients (Fagerland et al. 2013, table 2, print
    exact .0525, mid-p .0347, χ² p .0330, corrected .0550):

    >>> found = mcnemar(59, 6, 16, 80)
    >>> round(found.exact_p, 4), round(found.mid_p, 4)
    (0.0525, 0.0347)
    >>> round(found.chi_square.p, 4), round(found.chi_square_corrected.p, 4)
    (0.033, 0.055)
    >>> mcnemar(3, 0, 0, 2).chi_square
    Undefined(reason='no discordant pairs')
    """
    b, c = _whole(first_only, "first_only"), _whole(second_only, "second_only")
    return _tested(_whole(both, "both"), b, c, _whole(neither, "neither"), missing=0, level=level)


def mcnemar_of_columns(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> McNemar:
    """Test whether two columns of outcomes (1 = yes, 0 = no, nan or None = missing), shape (pair,), succeed equally.

    A pair that lacks an outcome is left out and counted in `missing`. See `mcnemar`.

    Raises:
        InvalidData: columns of unequal length, or a value other than 0, 1, true, false or a missing one.

    By hand: of four complete pairs two have only the first, so exact p = 2 · ¼.

    >>> found = mcnemar_of_columns([1, 1, 0, 1, None], [1, 0, 0, 0, 1])
    >>> found.n, found.missing, found.difference, found.exact_p
    (4, 1, 0.5, 0.5)
    """
    one, two = _outcomes(first, "first"), _outcomes(second, "second")
    if one.shape != two.shape:
        raise InvalidData(
            f"both columns need one outcome a pair, got {len(one)} and {len(two)}: pass columns of equal length."
        )
    known = ~(np.isnan(one) | np.isnan(two))
    table = [int(((one == i) & (two == j))[known].sum()) for i, j in ((1, 1), (1, 0), (0, 1), (0, 0))]
    return _tested(*table, missing=int((~known).sum()), level=level)


def _tested(both: int, b: int, c: int, neither: int, *, missing: int, level: float) -> McNemar:
    n = both + b + c + neither
    exact, mid = _binomial_p(b, c)
    return McNemar(
        both=both,
        first_only=b,
        second_only=c,
        neither=neither,
        missing=missing,
        level=level,
        difference=(b - c) / n if n else Undefined("there is no pair"),
        interval=paired_difference(both, b, c, neither, level),
        exact_p=exact,
        mid_p=mid,
        chi_square=_chi_square(b, c, abs(b - c)),
        chi_square_corrected=_chi_square(b, c, max(abs(b - c) - 1, 0)),
    )


def _binomial_p(b: int, c: int) -> tuple[float, float]:
    """Return the exact and the mid-p of b against c discordant pairs, two-sided."""
    from scipy.special import bdtr

    if b + c == 0:
        return 1.0, 0.5
    least = min(b, c)
    tail = float(bdtr(least, b + c, 0.5))
    below = float(bdtr(least - 1, b + c, 0.5)) if least > 0 else 0.0
    if b == c:
        return 1.0, 1.0 - (tail - below) / 2.0
    return min(1.0, 2.0 * tail), tail + below  # 2 P(X ≤ least) − P(X = least)


def _chi_square(b: int, c: int, gap: int) -> ChiSquare | Undefined:
    from scipy.special import chdtrc

    if b + c == 0:
        return NO_DISCORDANT
    statistic = gap**2 / (b + c)
    return ChiSquare(statistic, float(chdtrc(1, statistic)))


def _whole(count: int, name: str) -> int:
    check_count(count, f"the count {name}", 0, MOST_COUNTED, "count complete pairs")
    return int(count)


def _outcomes(column: ArrayLike, name: str) -> NDArray[np.float64]:
    try:
        values = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidData(f"the {name} column must hold 1, 0 or missing ones: turn its labels into 1 and 0.") from None
    if values.ndim != 1:
        raise InvalidData(f"the {name} outcomes must be one column, got shape {values.shape}: pass one value a pair.")
    odd = ~(np.isnan(values) | np.isin(values, (0.0, 1.0)))
    if odd.any():
        raise InvalidData(
            f"an outcome must be 1, 0 or missing, got {values[odd][0]:g} in the {name} column: recode it."
        )
    return values
