"""Tests whether two correlations over the same units differ: with one variable in common, or with none.

Which simulator's scores follow the human ones more closely is such a question: variable 1 is the human side, 2 and 3
are the two simulated sides, and all three come from the same units. The correlation of 2 and 3 belongs to the test and
to its print: the closer they are, the smaller a difference can be told.

All tests take the units to be independent draws from a normal distribution. On ranks they are approximate. Groups of
conversations that share their assistants are not independent: see `GROUP_REMARK`.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.checking import MOST_COUNTED, as_numbers, check_count, shown
from calibrate.stats.correlation import correlate
from calibrate.stats.correlation_limits import fisher_limits
from calibrate.stats.intervals import check_level, normal_quantile

MIN_UNITS = 4
GROUP_REMARK = (
    "units are taken as independent; groups that share assistants are not, and over 27 groups from nine assistants "
    "Williams' test at a nominal 5 % rejects 10 to 19 % of true hypotheses"
)
RANK_REMARK = "approximate: the test is made for Pearson's r and is applied to ranks"
_SINGULAR = 1e-12  # a determinant below minus this belongs to no correlations of real data
_SAME = 1e-12  # correlations no further apart are equal up to rounding
_AT_ONE = Undefined("a correlation of ±1 has no Fisher z")
_ONE_VARIABLE = Undefined("the two correlations are of one variable: their difference has no spread")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A test statistic (t with `df` degrees of freedom, or z where `df` is None) and its two-sided p."""

    statistic: float
    df: int | None
    p: float


@dataclass(frozen=True, slots=True)
class OverlappingCorrelations:
    """Correlations r12 and r13 of one variable with two others, compared; every difference is r12 minus r13.

    `meng_interval` is for atanh r12 − atanh r13, `zou_interval` for r12 − r13 itself. `n` counts complete units.
    """

    r12: float | Undefined
    r13: float | Undefined
    r23: float | Undefined
    n: int
    level: float
    coefficient: Literal["pearson", "spearman"]
    williams: Comparison | Undefined
    hotelling: Comparison | Undefined
    steiger: Comparison | Undefined
    dunn_clark: Comparison | Undefined
    meng: Comparison | Undefined
    meng_interval: Interval | Undefined
    zou_interval: Interval | Undefined

    @property
    def difference(self) -> float | Undefined:
        """r12 − r13."""
        return _difference(self.r12, self.r13)

    def format(self, digits: int = 3) -> str:
        """Return the difference, r23, Williams' test and Zou's interval in one line, remarks in lines below."""
        named = (("r12", self.r12), ("r13", self.r13), ("r23", self.r23))
        head = ", ".join(f"{name} {_shown(value, digits)}" for name, value in named)
        lines = [f"{head}, n = {self.n}", *_difference_lines(self.difference, self.zou_interval, self.level, digits)]
        lines += [_test_line("Williams", self.williams, digits)]
        remarks = [RANK_REMARK] if self.coefficient == "spearman" else []
        return "\n".join([*lines, *remarks, GROUP_REMARK])


@dataclass(frozen=True, slots=True)
class SeparateCorrelations:
    """Correlations r12 and r34 of four variables, compared; every difference is r12 minus r34.

    `matrix` holds all six correlations, shape (variable, variable), and `zou_interval` is for r12 − r34.
    """

    matrix: NDArray[np.float64]
    n: int
    level: float
    steiger: Comparison | Undefined
    dunn_clark: Comparison | Undefined
    zou_interval: Interval | Undefined

    @property
    def difference(self) -> float:
        """r12 − r34."""
        return float(self.matrix[0, 1] - self.matrix[2, 3])

    def format(self, digits: int = 3) -> str:
        """Return the correlations, their difference with Zou's interval, Steiger's test and the remark."""
        named = {"r12": (0, 1), "r34": (2, 3), "r13": (0, 2), "r14": (0, 3), "r23": (1, 2), "r24": (1, 3)}
        head = ", ".join(f"{name} {self.matrix[place]:.{digits}f}" for name, place in named.items())
        lines = [f"{head}, n = {self.n}", *_difference_lines(self.difference, self.zou_interval, self.level, digits)]
        return "\n".join([*lines, _test_line("Steiger", self.steiger, digits), GROUP_REMARK])


def compare_overlapping(
    r12: float,
    r13: float,
    r23: float,
    n: int,
    level: float = 0.95,
    *,
    coefficient: Literal["pearson", "spearman"] = "pearson",
) -> OverlappingCorrelations:
    """Compare r12 with r13, correlations with one variable in common, given r23 over the same n units.

    With |R| the determinant of the three correlations, r̄ = (r12 + r13)/2 and Z = atanh r:
    Williams' t = (r12 − r13) √[(n − 1)(1 + r23) / (2 |R| (n − 1)/(n − 3) + r̄² (1 − r23)³)], n − 3 degrees of freedom
    (Steiger 1980, Psychological Bulletin 87:245, equation 7); Hotelling's t = (r12 − r13) √[(n − 3)(1 + r23)/(2 |R|)];
    Dunn and Clark's z = (Z12 − Z13) √[(n − 3)/(2 − 2c)], c the correlation of r12 and r13; Steiger's Z, the same with r̄
    for both in c (his equation 14); Meng, Rosenthal and Rubin's z and limits (1992, Psychological Bulletin 111:172,
    equations 1 to 5); Zou's limits (2007, Psychological Methods 12:399, equation 15).

    Equal correlations give 0 and p = 1, also where r23 = 1. A correlation of ±1 leaves the tests on Z undefined.

    The units must be independent. Over 27 groups from nine assistants they are not: at a nominal 5 % Williams' test
    rejects 10 to 19 % of true hypotheses there. On Spearman's ρ (say so by `coefficient`) all tests are approximate.

    Raises:
        InvalidData: a correlation outside −1..1, three that no data can have together, or fewer than four units.

    The example of Silver, Hittner and May (2006, Journal of Experimental Education 74:69) prints t −1.0767, p .2843,
    Meng −1.0707, Steiger −1.0718, Dunn and Clark −1.0730:

    >>> found = compare_overlapping(0.3, 0.4, 0.5, 100)
    >>> round(found.williams.statistic, 4), round(found.williams.p, 4), found.williams.df
    (-1.0767, 0.2843, 97)
    >>> [round(test.statistic, 4) for test in (found.meng, found.steiger, found.dunn_clark)]
    [-1.0707, -1.0718, -1.073]
    """
    _check(n, level, r12=r12, r13=r13, r23=r23)
    _check_coefficient(coefficient)
    determinant = _determinant(r12, r13, r23)
    z_tests = _z_tests(r12, r13, r23, n, level)
    return OverlappingCorrelations(
        r12=r12,
        r13=r13,
        r23=r23,
        n=n,
        level=level,
        coefficient=coefficient,
        williams=_williams(r12, r13, r23, n, determinant),
        hotelling=_hotelling(r12, r13, r23, n, determinant),
        steiger=z_tests[0],
        dunn_clark=z_tests[1],
        meng=z_tests[2],
        meng_interval=z_tests[3],
        zou_interval=_zou(r12, r13, _covariation(r12, r13, r23), n, level) if r23 < 1.0 else _ONE_VARIABLE,
    )


def compare_columns(
    x1: ArrayLike,
    x2: ArrayLike,
    x3: ArrayLike,
    level: float = 0.95,
    *,
    coefficient: Literal["pearson", "spearman"] = "pearson",
) -> OverlappingCorrelations:
    """Compare the correlation of x1 with x2 to that of x1 with x3, over the units that have all three values.

    Args:
        x1, x2, x3: one value a unit, nan = missing, shape (unit,); a unit that lacks one of them is left out of all.
        level: of the intervals.
        coefficient: Pearson's r, or Spearman's ρ, for which the tests are approximate.

    Tests are undefined with fewer than four such units or where a variable is constant. See `compare_overlapping` for
    the tests, and for why units that share assistants make them reject too often.

    Raises:
        InvalidData: columns of unequal length, or an infinite value.

    By hand: the squared differences of ranks sum to 4, 2 and 2 over four units, and r = 1 − 6 Σd²/60; the fifth unit
    lacks a value:

    >>> found = compare_columns([1, 2, 3, 4, np.nan], [2, 1, 4, 3, 9], [2, 1, 3, 4, 9])
    >>> found.n, round(found.r12, 6), round(found.r13, 6), round(found.r23, 6)
    (4, 0.6, 0.8, 0.8)
    >>> compare_columns([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], [7, 7, 7, 7, 7]).williams
    Undefined(reason='the third variable is constant')
    """
    columns = _complete_columns(x1, x2, x3)
    n = len(columns[0])
    names = ("first", "second", "third")
    pairs = ((0, 1), (0, 2), (1, 2))
    _check_coefficient(coefficient)
    r = [correlate(coefficient, columns[i], columns[j], sides=(names[i], names[j])) for i, j in pairs]
    lacking = _why_undefined(columns, names)
    if lacking is None and not any(isinstance(value, Undefined) for value in r):
        r12, r13, r23 = (float(value) for value in r if not isinstance(value, Undefined))
        return compare_overlapping(r12, r13, r23, n, level, coefficient=coefficient)
    reason = lacking or next(value for value in r if isinstance(value, Undefined))
    return OverlappingCorrelations(r[0], r[1], r[2], n, level, coefficient, *[reason] * 7)


def compare_separate(
    r12: float, r34: float, r13: float, r14: float, r23: float, r24: float, n: int, level: float = 0.95
) -> SeparateCorrelations:
    """Compare r12 with r34, correlations with no variable in common, over the same n units.

    Dunn and Clark's z = (Z12 − Z34) √[(n − 3)/(2 − 2c)] with c the correlation of r12 and r34, Steiger's Z with their
    mean for both in c (Steiger 1980, equations 2, 11 and 15), and Zou's limits of r12 − r34 (2007, equation 16). The
    units must be independent, as in `compare_overlapping`.

    Raises:
        InvalidData: a correlation outside −1..1, six that no data can have together, or fewer than four units.

    Steiger's case B (1980, page 249) prints z = −1.40 for r12 = .5 at a first and r34 = .6 at a second occasion:

    >>> round(compare_separate(0.5, 0.6, r13=0.8, r14=0.5, r23=0.5, r24=0.7, n=103).steiger.statistic, 2)
    -1.4
    """
    _check(n, level, r12=r12, r34=r34, r13=r13, r14=r14, r23=r23, r24=r24)
    matrix = np.array([[1, r12, r13, r14], [r12, 1, r23, r24], [r13, r23, 1, r34], [r14, r24, r34, 1]], dtype=float)
    if float(np.linalg.eigvalsh(matrix)[0]) < -1e-9:
        raise InvalidData(_impossible("r12, r34, r13, r14, r23 and r24", (r12, r34, r13, r14, r23, r24)))
    mean = (r12 + r34) / 2.0
    own, pooled = (_separate_covariation(*pair, r13, r14, r23, r24) for pair in ((r12, r34), (mean, mean)))
    return SeparateCorrelations(
        matrix=matrix,
        n=n,
        level=level,
        steiger=_z_comparison(r12, r34, pooled, n),
        dunn_clark=_z_comparison(r12, r34, own, n),
        zou_interval=_zou(r12, r34, own, n, level),
    )


# ------------------------------------------------------------------------------------------------------- the tests


def _williams(r12: float, r13: float, r23: float, n: int, determinant: float) -> Comparison | Undefined:
    mean = (r12 + r13) / 2.0
    below = 2.0 * (n - 1) / (n - 3) * determinant + mean**2 * (1.0 - r23) ** 3
    return _t_comparison(r12, r13, (n - 1) * (1.0 + r23), below, n)


def _hotelling(r12: float, r13: float, r23: float, n: int, determinant: float) -> Comparison | Undefined:
    return _t_comparison(r12, r13, (n - 3) * (1.0 + r23), 2.0 * determinant, n)


def _t_comparison(first: float, second: float, above: float, below: float, n: int) -> Comparison | Undefined:
    """Return t = (first − second) √(above/below) with n − 3 degrees of freedom; 0 where the two are equal."""
    from scipy.special import stdtr

    if abs(first - second) <= _SAME:
        return Comparison(0.0, n - 3, 1.0)
    if below <= _SINGULAR:
        return Undefined("the three correlations determine each other: the difference has no spread")
    t = (first - second) * float(np.sqrt(above / below))
    return Comparison(t, n - 3, float(2.0 * stdtr(n - 3, -abs(t))))


def _z_tests(
    r12: float, r13: float, r23: float, n: int, level: float
) -> tuple[Comparison | Undefined, Comparison | Undefined, Comparison | Undefined, Interval | Undefined]:
    """Return Steiger's, Dunn and Clark's, and Meng, Rosenthal and Rubin's test, and the limits of the last."""
    if max(abs(r12), abs(r13)) >= 1.0:
        return _AT_ONE, _AT_ONE, _AT_ONE, _AT_ONE
    mean = (r12 + r13) / 2.0
    steiger = _z_comparison(r12, r13, _covariation(mean, mean, r23), n)
    dunn_clark = _z_comparison(r12, r13, _covariation(r12, r13, r23), n)
    square = (r12**2 + r13**2) / 2.0
    f = min(1.0, (1.0 - r23) / (2.0 * (1.0 - square)))
    h = (1.0 - f * square) / (1.0 - square)
    meng = _z_comparison(r12, r13, 1.0 - (1.0 - r23) * h, n)
    if r23 >= 1.0:
        return steiger, dunn_clark, meng, _ONE_VARIABLE
    centre = float(np.arctanh(r12) - np.arctanh(r13))
    reach = normal_quantile(level) * float(np.sqrt(2.0 * (1.0 - r23) * h / (n - 3)))
    return steiger, dunn_clark, meng, Interval(centre - reach, centre + reach)


def _z_comparison(first: float, second: float, c: float | None, n: int) -> Comparison | Undefined:
    """Return z = (atanh first − atanh second) √[(n − 3)/(2 − 2c)]; 0 where the two are equal."""
    from scipy.special import ndtr

    if c is None or max(abs(first), abs(second)) >= 1.0:
        return _AT_ONE
    if abs(first - second) <= _SAME:
        return Comparison(0.0, None, 1.0)
    if 1.0 - c <= _SINGULAR:
        return _ONE_VARIABLE
    z = float((np.arctanh(first) - np.arctanh(second)) * np.sqrt((n - 3) / (2.0 - 2.0 * c)))
    return Comparison(z, None, float(2.0 * ndtr(-abs(z))))


def _covariation(r12: float, r13: float, r23: float) -> float | None:
    """Return the large-sample correlation of r12 and r13; None where one of them is ±1 and does not vary."""
    if max(abs(r12), abs(r13)) >= 1.0:
        return None
    shared = 1.0 - r12**2 - r13**2
    return (r23 * shared - r12 * r13 * (shared - r23**2) / 2.0) / ((1.0 - r12**2) * (1.0 - r13**2))


def _separate_covariation(r12: float, r34: float, r13: float, r14: float, r23: float, r24: float) -> float | None:
    """Return the large-sample correlation of r12 and r34; None where one of them is ±1 and does not vary."""
    if max(abs(r12), abs(r34)) >= 1.0:
        return None
    parts = (
        (r13 - r12 * r23) * (r24 - r23 * r34)
        + (r14 - r13 * r34) * (r23 - r12 * r13)
        + (r13 - r14 * r34) * (r24 - r12 * r14)
        + (r14 - r12 * r24) * (r23 - r24 * r34)
    )
    return parts / (2.0 * (1.0 - r12**2) * (1.0 - r34**2))


def _zou(first: float, second: float, c: float | None, n: int, level: float) -> Interval | Undefined:
    """Return the limits of first − second from each one's Fisher limits and the correlation c of the two."""
    if c is None:
        return _AT_ONE
    one, two = fisher_limits(first, n, level=level), fisher_limits(second, n, level=level)
    if isinstance(one, Undefined) or isinstance(two, Undefined):
        return Undefined(f"{n} units are too few")
    down1, up1, down2, up2 = first - one.low, one.high - first, second - two.low, two.high - second
    below = np.sqrt(max(0.0, down1**2 + up2**2 - 2.0 * c * down1 * up2))
    above = np.sqrt(max(0.0, up1**2 + down2**2 - 2.0 * c * up1 * down2))
    return Interval(float(first - second - below), float(first - second + above))


# ----------------------------------------------------------------------------------------------- input and printing


def _check(n: int, level: float, **correlations: float) -> None:
    check_count(n, "n", MIN_UNITS, MOST_COUNTED, f"compare over at least {MIN_UNITS} units")
    for name, value in correlations.items():
        if not isinstance(value, Real) or not -1.0 <= value <= 1.0:
            raise InvalidData(
                f"a correlation must be in -1..1, got {name} = {shown(value)}: check how it was computed."
            )
    check_level(level)


def _determinant(r12: float, r13: float, r23: float) -> float:
    """Return |R|, rounding below 0 mended; refuses correlations that no data can have together."""
    determinant = 1.0 + 2.0 * r12 * r13 * r23 - r12**2 - r13**2 - r23**2
    if determinant < -_SINGULAR:
        raise InvalidData(_impossible("r12, r13 and r23", (r12, r13, r23)))
    return max(0.0, determinant)


def _impossible(names: str, values: tuple[float, ...]) -> str:
    shown = ", ".join(f"{value:g}" for value in values)
    return (
        f"{names} must be correlations over the same units, but no data can have {shown} together (the matrix is not "
        "positive semidefinite): compute all of them from one set of complete units."
    )


def _complete_columns(*columns: ArrayLike) -> list[NDArray[np.float64]]:
    """Return the columns without the units that lack a value in any of them."""
    arrays = [as_numbers(column, "variables", ndim=None, largest=np.inf) for column in columns]
    shapes = [array.shape for array in arrays]
    if arrays[0].ndim != 1 or len(set(shapes)) > 1:
        raise InvalidData(f"all variables need one value a unit, got shapes {shapes}: pass columns of equal length.")
    if any(np.isinf(array).any() for array in arrays):
        raise InvalidData("a correlation needs finite values, got an infinite one: mark it as missing (nan).")
    present = ~np.isnan(np.array(arrays)).any(axis=0)
    return [array[present] for array in arrays]


def _why_undefined(columns: list[NDArray[np.float64]], names: tuple[str, ...]) -> Undefined | None:
    n = len(columns[0])
    if n < MIN_UNITS:
        return Undefined(f"{n} complete units are too few (at least {MIN_UNITS})")
    for name, column in zip(names, columns, strict=True):
        if column.min() == column.max():
            return Undefined(f"the {name} variable is constant")
    return None


def _difference(first: float | Undefined, second: float | Undefined) -> float | Undefined:
    if isinstance(first, Undefined):
        return first
    return second if isinstance(second, Undefined) else first - second


def _shown(value: float | Undefined, digits: int) -> str:
    return f"undefined ({value.reason})" if isinstance(value, Undefined) else f"{value:.{digits}f}"


def _difference_lines(
    difference: float | Undefined, interval: Interval | Undefined, level: float, digits: int
) -> list[str]:
    if isinstance(difference, Undefined):
        return [f"difference undefined ({difference.reason})"]
    if isinstance(interval, Undefined):
        return [f"difference {difference:.{digits}f} [no interval: {interval.reason}]"]
    limits = f"[{interval.low:.{digits}f}, {interval.high:.{digits}f}]"
    return [f"difference {difference:.{digits}f} {limits} ({level:.0%}, Zou)"]


def _test_line(name: str, test: Comparison | Undefined, digits: int) -> str:
    if isinstance(test, Undefined):
        return f"{name}: undefined ({test.reason})"
    p = "p < 0.001" if test.p < 0.001 else f"p = {test.p:.3f}"
    symbol = "z" if test.df is None else f"t({test.df})"
    return f"{name}: {symbol} = {test.statistic:.{digits}f}, {p}"


def _check_coefficient(coefficient: str) -> None:
    if coefficient not in ("pearson", "spearman"):
        raise InvalidData(f"these tests know Pearson's r and Spearman's ρ, got {coefficient!r}: choose one of the two.")
