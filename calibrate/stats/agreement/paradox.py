"""The prevalence paradox: raters who agree on nearly everything, and a coefficient near 0 because of the marginals.

The rule of `paradox_remark`: raw agreement of at least .80, at least .80 of all ratings in one category, and a
coefficient below .60 or without a value. The bounds belong together: at a raw agreement of .80 a coefficient whose
chance term does not look at the marginals (Brennan–Prediger) is at least .60, whatever the number of categories; a
coefficient that is lower is so because of the marginals alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrate.estimate import Undefined
from calibrate.stats.agreement.ratings import FloatArray, Ratings
from calibrate.stats.agreement.tables import as_table

HIGH_RAW = 0.8
ONE_CATEGORY = 0.8
LOW_VALUE = 0.6
_ROUNDING = 1e-9


def paradox_remark(
    raw: float | None,
    value: float | Undefined,
    marginals: Mapping[Any, float],
    *,
    symbol: str = "κ",
    marginal_free: float | Undefined | None = None,
) -> str | None:
    """Return one sentence where the marginals, and not the raters, make a coefficient low; None elsewhere.

    Args:
        raw: unweighted share of agreeing pairs of ratings; None where nothing can be compared.
        value: of a coefficient whose chance term comes from the marginals (κ, π, α), or that it is undefined.
        marginals: category → share of the ratings, adding up to 1.
        symbol: what the sentence calls the coefficient.
        marginal_free: Brennan–Prediger's coefficient with the same weights, where known: a weighted coefficient that
            is low without the marginals too gets no remark.

    Source: Feinstein and Cicchetti 1990, the first paradox (their table of 80, 10, 5 and 5 has κ = .32 at 85 %).

    >>> print(paradox_remark(0.85, 0.318, {"yes": 0.875, "no": 0.125}))
    Raw agreement is 85 % and κ only 0.32 because 88 % of all ratings are 'yes', which leaves little beyond chance to
    agree on: read it beside raw agreement, AC1 and PABAK.
    >>> paradox_remark(0.70, 0.40, {"yes": 0.6, "no": 0.4}) is None
    True
    """
    share = max(marginals.values(), default=0.0)
    if raw is None or raw < HIGH_RAW - _ROUNDING or share < ONE_CATEGORY - _ROUNDING:
        return None
    if isinstance(marginal_free, float) and marginal_free < LOW_VALUE - _ROUNDING:
        return None
    category = next(name for name, held in marginals.items() if held == share)
    if isinstance(value, Undefined):
        if share < 1.0 - _ROUNDING:
            return None
        return (
            f"Raw agreement is {_percent(raw)} and {symbol} has no value because all ratings are {category!r}, which "
            "leaves nothing beyond chance to agree on: read raw agreement, AC1 and PABAK instead."
        )
    if value >= LOW_VALUE - _ROUNDING:
        return None
    figure = f"{value:.2f}".replace("-0.00", "0.00")
    return (
        f"Raw agreement is {_percent(raw)} and {symbol} only {figure} because {_percent(share)} of all ratings are "
        f"{category!r}, which leaves little beyond chance to agree on: read it beside raw agreement, AC1 and PABAK."
    )


def prevalence_index(data: Ratings | ArrayLike) -> float | Undefined:
    """Return how unevenly the categories are used: 0 for even use, 1 where only one is used; shares of all raters.

    For two categories |a − d|/n of the table [[a, b], [c, d]] (Byrt, Bishop and Carlin 1993), which is |π_1 − π_2|;
    for q categories √((q Σ π_k² − 1)/(q − 1)), which is the same thing at q = 2.

    Args:
        data: a contingency table of two raters, shape (category of first, category of second), or ratings; π are then
            mean shares over the units with two ratings or more.

    Undefined: nobody to compare, or fewer than two declared categories.

    >>> prevalence_index([[118, 5], [2, 0]])
    0.944
    """
    if isinstance(data, Ratings):
        per_unit = data.per_unit
        chosen = per_unit >= 2
        q = len(data.categories)
        if not chosen.any():
            return Undefined("no unit has two ratings")
        share = (data.counts()[chosen] / per_unit[chosen, None]).mean(axis=0)
    else:
        table = as_table(data)
        q, n = len(table), table.sum()
        if n == 0:
            return Undefined("no pairs of ratings")
        share = (table.sum(axis=0) + table.sum(axis=1)) / (2.0 * n)
    if q < 2:
        return Undefined("fewer than two categories are declared")
    if q == 2:
        return float(abs(share[0] - share[1]))
    return float(np.sqrt(max(0.0, (q * float((share**2).sum()) - 1.0) / (q - 1.0))))


def bias_index(data: Ratings | ArrayLike) -> float | Undefined:
    """Return how differently raters use the categories: 0 for equal marginals, 1 for marginals without overlap.

    For two categories |b − c|/n of the table [[a, b], [c, d]] (Byrt, Bishop and Carlin 1993); for more the same thing,
    ½ Σ_k |p_1k − p_2k|; for more than two raters its mean over the pairs of raters with units in common.

    Args:
        data: a contingency table of two raters, shape (category of first, category of second), or ratings.

    Undefined: no two raters have a unit in common.

    >>> bias_index([[118, 5], [2, 0]])
    0.024
    """
    if not isinstance(data, Ratings):
        table = as_table(data)
        return _distance(table) if table.sum() else Undefined("no pairs of ratings")
    tables = (
        data.pair_table(first, second).astype(np.float64) for first, second in combinations(range(data.raters), 2)
    )
    held = [_distance(table) for table in tables if table.sum()]
    return float(np.mean(held)) if held else Undefined("no two raters have a unit in common")


def _distance(table: FloatArray) -> float:
    return float(0.5 * np.abs(table.sum(axis=1) - table.sum(axis=0)).sum() / table.sum())


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
