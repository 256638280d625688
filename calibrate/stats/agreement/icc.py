"""Intraclass correlations of ratings on a numeric scale, in the six forms of Shrout and Fleiss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.agreement.coefficient import NO_INTERVAL, Coefficient
from calibrate.stats.agreement.paradox import paradox_remark
from calibrate.stats.agreement.ratings import FloatArray, Ratings
from calibrate.stats.agreement.raw import marginals_of, raw_agreement
from calibrate.stats.intervals import check_level

METHOD = "F distribution (Shrout and Fleiss 1979), complete units only"
ICC_NAMES = ("icc_1_1", "icc_2_1", "icc_3_1", "icc_1_k", "icc_2_k", "icc_3_k")
POSITIVE = 1e-12  # of the mean squares: a total variance below it is 0 but for rounding
LARGEST = 1e150  # ratings beyond it cannot be squared
_TINY = 1e-13  # of the total sum of squares: beyond what rounding leaves of a sum that is 0
NOT_POSITIVE = Undefined("the estimated total variance is not above 0")
NO_VARIANCE = Undefined("all ratings are the same: there is no variance")
NO_ERROR = Undefined("nothing is left of the ratings but units and raters: the error variance is 0")
NO_UNITS_VARIANCE = Undefined("all units have the same mean rating: the variance between them is 0")


@dataclass(frozen=True, slots=True)
class MeanSquares:
    """Of units × raters without a missing cell: between units (BMS), within units (WMS), raters (JMS), error (EMS)."""

    between: float
    within: float
    raters: float
    error: float
    n: int
    k: int


def icc(ratings: Ratings, *, confidence: float = 0.95) -> dict[str, Coefficient]:
    """Return ICC(1,1), (2,1), (3,1) and (1,k), (2,k), (3,k) as `icc_1_1` … `icc_3_k`, with F test and limits.

    (1,·): every unit has its own raters; (2,·): absolute agreement, raters sampled; (3,·): consistency, these raters.
    (·,1) is the reliability of one rating, (·,k) of the mean of k. Negative values are reported as they are. `extra`
    holds bms, wms, jms, ems, f, df1, df2, k and n_dropped; p belongs to that F (BMS/WMS for the first form, BMS/EMS
    for the others). Limits of (2,1) are Shrout and Fleiss' by Satterthwaite's degrees of freedom, those of (2,k) their
    Spearman–Brown transform.

    Units with a missing rating are dropped (n and n_dropped say how many).

    Args:
        ratings: numbers, or ordinal labels (then their places); "not applicable" counts as missing.

    Raises:
        InvalidData: labels at nominal level, which have no distances.

    Undefined: fewer than two complete units or raters; no variance at all; an estimated total variance of 0 or below.
    Limits: an error variance of 0, or no variance between units.

    Source: Shrout and Fleiss 1979, whose table 2 gives .17, .29, .71, .44, .62 and .91:

    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> table = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> {name: round(c.value, 2) for name, c in icc(ratings_of(table, level="interval")).items()}
    {'icc_1_1': 0.17, 'icc_2_1': 0.29, 'icc_3_1': 0.71, 'icc_1_k': 0.44, 'icc_2_k': 0.62, 'icc_3_k': 0.91}
    """
    complete, dropped = complete_units(ratings)
    beside = _Beside(raw_agreement(complete), marginals_of(complete), dropped)
    if len(complete.unit) == 0 or complete.units < 2:
        few = f"{complete.units} units with all ratings are too few (at least 2)"
        return _undefined("fewer than two raters" if len(np.unique(ratings.rater)) < 2 else few, complete.units, beside)
    squares = mean_squares(_scored(complete))
    if isinstance(squares, Undefined):
        return _undefined(squares.reason, complete.units, beside)
    values = icc_values(squares)
    tests = {"1": _f_test(squares, "1"), "23": _f_test(squares, "3")}
    limits = _limits(squares, values, confidence)
    return {
        name: _coefficient(name, values[name], limits[name], squares, tests["1" if name[4] == "1" else "23"], beside)
        for name in ICC_NAMES
    }


def complete_units(ratings: Ratings) -> tuple[Ratings, int]:
    """Return the units that everybody rated who rated anything, by those raters, and how many rated units were dropped.

    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> kept, dropped = complete_units(ratings_of([[1, 2], [3, None], [2, 2]], level="interval"))
    >>> kept.units, kept.raters, dropped
    (2, 2, 1)
    """
    raters = np.unique(ratings.rater)
    chosen = ratings.per_unit == len(raters) if len(raters) >= 2 else np.zeros(ratings.units, dtype=np.bool_)
    dropped = int(((ratings.per_unit > 0) & ~chosen).sum())
    kept = ratings.of_units(chosen)
    return kept.of_raters(raters.tolist()), dropped


def mean_squares(table: FloatArray) -> MeanSquares | Undefined:
    """Return the mean squares of a table without missing cells, shape (unit, rater), both at least 2.

    Undefined: ratings too large to be squared.

    >>> table = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> squares = mean_squares(np.array(table, dtype=float))
    >>> round(squares.between, 2), round(squares.within, 2), round(squares.raters, 2), round(squares.error, 2)
    (11.24, 6.26, 32.49, 1.02)
    """
    n, k = table.shape
    if (table == table[0, 0]).all():
        return MeanSquares(0.0, 0.0, 0.0, 0.0, n, k)
    largest = float(np.abs(table).max())
    if largest > LARGEST:
        return Undefined(f"ratings up to {largest:g} cannot be squared")
    x = table - table.mean()
    reach = float(np.abs(x).max())
    x, scale = x / reach, reach**2
    unit, rater, grand = x.mean(axis=1), x.mean(axis=0), x.mean()
    between = k * float(((unit - grand) ** 2).sum())
    raters = n * float(((rater - grand) ** 2).sum())
    error = float(((x - unit[:, None] - rater[None, :] + grand) ** 2).sum())
    floor = _TINY * (between + raters + error) + 1e-30
    between, raters, error = (0.0 if part <= floor else part * scale for part in (between, raters, error))
    return MeanSquares(
        between=between / (n - 1),
        within=(raters + error) / (n * (k - 1)),
        raters=raters / (k - 1),
        error=error / ((n - 1) * (k - 1)),
        n=n,
        k=k,
    )


def icc_values(squares: MeanSquares) -> dict[str, float | Undefined]:
    """Return the six intraclass correlations of mean squares.

    >>> found = icc_values(MeanSquares(between=11.24, within=6.26, raters=32.49, error=1.02, n=6, k=4))
    >>> round(found["icc_2_1"], 2), round(found["icc_3_k"], 2)
    (0.29, 0.91)
    """
    b, w, j, e = squares.between, squares.within, squares.raters, squares.error
    n, k = squares.n, squares.k
    drift = (j - e) / n
    least = POSITIVE * (b + w + j + e)
    if b == w == 0.0:
        return dict.fromkeys(ICC_NAMES, NO_VARIANCE)
    return {
        "icc_1_1": _ratio(b - w, b + (k - 1) * w, least),
        "icc_2_1": _ratio(b - e, b + (k - 1) * e + k * drift, least),
        "icc_3_1": _ratio(b - e, b + (k - 1) * e, least),
        "icc_1_k": _ratio(b - w, b, least),
        "icc_2_k": _ratio(b - e, b + drift, least),
        "icc_3_k": _ratio(b - e, b, least),
    }


# ------------------------------------------------------------------------------------------------ tests and limits


@dataclass(frozen=True, slots=True)
class _Test:
    f: float | None
    df1: int
    df2: int
    p_value: float | None


def _f_test(squares: MeanSquares, form: str) -> _Test:
    from scipy.special import fdtrc

    n, k = squares.n, squares.k
    df1, df2 = n - 1, n * (k - 1) if form == "1" else (n - 1) * (k - 1)
    below = squares.within if form == "1" else squares.error
    if below == 0.0:
        return _Test(None, df1, df2, None)
    f = squares.between / below
    return _Test(f, df1, df2, float(fdtrc(df1, df2, f)))


Limits = dict[str, Interval | Undefined]


def _limits(squares: MeanSquares, values: dict[str, float | Undefined], level: float) -> Limits:
    from scipy.special import fdtri

    found: Limits = {}
    check_level(level)
    k, upper = squares.k, 0.5 + level / 2.0
    for form in ("1", "3"):
        test = _f_test(squares, form)
        if test.f is None or test.f == 0.0:
            trouble = NO_ERROR if test.f is None else NO_UNITS_VARIANCE
            found |= {f"icc_{form}_1": trouble, f"icc_{form}_k": trouble}
            continue
        low = test.f / float(fdtri(test.df1, test.df2, upper))
        high = test.f * float(fdtri(test.df2, test.df1, upper))
        found[f"icc_{form}_1"] = _ordered((low - 1.0) / (low + k - 1.0), (high - 1.0) / (high + k - 1.0))
        found[f"icc_{form}_k"] = _ordered(1.0 - 1.0 / low, 1.0 - 1.0 / high)
    found["icc_2_1"] = absolute = _absolute_limits(squares, values["icc_2_1"], upper)
    found["icc_2_k"] = absolute if isinstance(absolute, Undefined) else _stepped_up(absolute, k)
    return {name: NO_INTERVAL if isinstance(values[name], Undefined) else found[name] for name in ICC_NAMES}


def _absolute_limits(squares: MeanSquares, value: float | Undefined, upper: float) -> Interval | Undefined:
    """Return Shrout and Fleiss' limits of ICC(2,1), whose degrees of freedom are Satterthwaite's."""
    from scipy.special import fdtri

    b, j, e, n, k = squares.between, squares.raters, squares.error, squares.n, squares.k
    if isinstance(value, Undefined):
        return NO_INTERVAL
    if e == 0.0 or b == 0.0:
        return NO_ERROR if e == 0.0 else NO_UNITS_VARIANCE
    ratio = k * value * j / e
    rest = n * (1.0 + (k - 1) * value) - k * value
    below = (n - 1) * ratio**2 + rest**2
    df = (k - 1) * (n - 1) * (ratio + rest) ** 2 / below if below > 0.0 else 0.0
    if not df > 0.01:
        return Undefined("the limits need more degrees of freedom than the ratings give")
    low_f, high_f = float(fdtri(n - 1, df, upper)), float(fdtri(df, n - 1, upper))
    spread = k * j + (k * n - k - n) * e
    if not (np.isfinite(low_f) and np.isfinite(high_f)):
        return Undefined("the limits need more degrees of freedom than the ratings give")
    return _ordered(n * (b - low_f * e) / (low_f * spread + n * b), n * (high_f * b - e) / (spread + n * high_f * b))


def _stepped_up(limits: Interval, k: int) -> Interval | Undefined:
    if 1.0 + (k - 1) * limits.low <= 1e-6:  # from there on it is −∞ but for rounding
        return Undefined("the lower limit of one rating has no Spearman–Brown transform")
    return _ordered(*(k * end / (1.0 + (k - 1) * end) for end in (limits.low, limits.high)))


def _ordered(low: float, high: float) -> Interval | Undefined:
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        return Undefined("the limits are not finite")
    return Interval(float(low), float(high))


def _ratio(above: float, below: float, least: float) -> float | Undefined:
    """Return above/below; a variance that is rounding error beside the mean squares is not positive."""
    return float(above / below) if below > least else NOT_POSITIVE


# ------------------------------------------------------------------------------------------------------- assembling


def _scored(complete: Ratings) -> FloatArray:
    if complete.scores is None:
        raise InvalidData(
            f"intraclass correlation needs numbers, got labels such as {complete.categories[0]!r}: use the level "
            "'interval' with numbers, or a coefficient for categories."
        )
    return complete.scores[complete.matrix()]


@dataclass(frozen=True, slots=True)
class _Beside:
    """What stands beside every form."""

    raw: float | None
    marginals: dict[Any, float]
    dropped: int


def _coefficient(
    name: str,
    value: float | Undefined,
    limits: Interval | Undefined,
    squares: MeanSquares,
    test: _Test,
    beside: _Beside,
) -> Coefficient:
    return Coefficient(
        name=name,
        value=value,
        observed=None,
        expected=None,
        raw=beside.raw,
        marginals=beside.marginals,
        n=squares.n,
        interval=limits,
        method=METHOD,
        p_value=None if isinstance(value, Undefined) else test.p_value,
        remark=paradox_remark(beside.raw, value, beside.marginals, symbol=_symbol(name)),
        symbol=_symbol(name),
        extra={
            "bms": squares.between,
            "wms": squares.within,
            "jms": squares.raters,
            "ems": squares.error,
            "f": test.f,
            "df1": test.df1,
            "df2": test.df2,
            "k": squares.k,
            "n_dropped": beside.dropped,
        },
    )


def _undefined(reason: str, units: int, beside: _Beside) -> dict[str, Coefficient]:
    value = Undefined(reason)
    return {
        name: Coefficient(
            name=name,
            value=value,
            observed=None,
            expected=None,
            raw=beside.raw,
            marginals=beside.marginals,
            n=units,
            method=METHOD,
            remark=paradox_remark(beside.raw, value, beside.marginals, symbol=_symbol(name)),
            symbol=_symbol(name),
            extra={"n_dropped": beside.dropped},
        )
        for name in ICC_NAMES
    }


def _symbol(name: str) -> str:
    return f"ICC({name[4]},{name[6]})"
