"""Fleiss' κ for raters who need not be the same from unit to unit, κ of each category, Randolph's free-marginal κ."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrate.estimate import Undefined
from calibrate.stats.agreement.coefficient import Coefficient
from calibrate.stats.agreement.framework import Framework
from calibrate.stats.agreement.ratings import FloatArray, Ratings
from calibrate.stats.agreement.tables import as_counts

EQUAL = "p from the standard error under no agreement (Fleiss, Nee and Landis 1979); t interval (Gwet 2014)"
UNEQUAL = "unequal numbers of ratings: linearised standard error, t interval and p (Gwet 2014)"


def fleiss_kappa(data: Ratings | ArrayLike, *, confidence: float = 0.95) -> Coefficient:
    """Return Fleiss' κ of ratings, or of a table that says how often each unit was put into each category.

    With m ratings of every unit κ = (P̄ − P_e)/(1 − P_e), P_i = (Σ_j n_ij² − m)/(m(m − 1)), P_e = Σ p_j². With unequal
    numbers P̄ is the mean over units with two ratings or more, and p_j the mean over all rated units of the share of j
    in the unit's own ratings (Gwet 2014), so that a single rating counts in p_j: not what Krippendorff's α does.

    `se` and the interval are Gwet's (t with n − 1 degrees of freedom, units sampled); `se_null`, `extra["z"]` and the
    two-sided p those of Fleiss, Nee and Landis 1979 for equal numbers; for unequal ones there is none, and p is
    Gwet's.

    Args:
        data: ratings, or counts, shape (unit, category), with a column for every declared category.

    Raises:
        InvalidData: counts that are no whole numbers from 0.

    Undefined: no unit with two ratings, or all ratings in one category.

    Source: Fleiss 1971. Freelon 2010 (table 10, file 3.04) prints −.042 for five units and three raters:

    >>> kappa = fleiss_kappa([[1, 2, 0], [0, 1, 2], [2, 0, 1], [0, 1, 2], [1, 0, 2]])
    >>> round(kappa.value, 3), round(kappa.extra["z"], 3)
    (-0.042, -0.225)

    Randolph's calculator has κ = .16 for

    >>> round(fleiss_kappa([[7, 1], [3, 5]]).value, 2)
    0.16
    """
    return _fleiss(_frame(data), confidence)


def fleiss_category_kappas(data: Ratings | ArrayLike, *, confidence: float = 0.95) -> dict[Any, Coefficient]:
    """Return κ of each category against all others together, category → coefficient.

    With m ratings of each of N units they share `se_null` = √(2/(N m (m − 1))). Arguments as in `fleiss_kappa`; the
    categories of a table of counts are called 1, 2, …

    Undefined: a category that holds none, or all, of the ratings.

    Source: Fleiss 1971; Fleiss, Nee and Landis 1979.

    >>> kappas = fleiss_category_kappas([[1, 2, 0], [0, 1, 2], [2, 0, 1], [0, 1, 2], [1, 0, 2]])
    >>> {category: round(kappa.value, 3) for category, kappa in kappas.items()}
    {1: -0.023, 2: -0.023, 3: -0.071}
    """
    frame = _frame(data)
    found: dict[Any, Coefficient] = {}
    for place, category in enumerate(frame.categories):
        inside = frame.counts[:, place]
        either = np.column_stack([inside, frame.size - inside])
        one = _fleiss(Framework.of_counts(either, np.eye(2), (category, "another")), confidence)
        if isinstance(one.value, Undefined) and one.n and inside.sum() == 0.0:
            one = replace(one, value=Undefined("nobody used the category"))
        found[category] = replace(one, name="fleiss_category_kappa")
    return found


def randolph(data: Ratings | ArrayLike, *, confidence: float = 0.95) -> Coefficient:
    """Return Randolph's free-marginal κ, (P̄ − 1/q)/(1 − 1/q), q being the declared categories.

    Arguments as in `fleiss_kappa`. It stays defined where everybody says the same. Undefined: no unit with two
    ratings, or a single declared category.

    Source: Randolph 2005; his calculator has .21, .79 and 1 for these tables:

    >>> tables = [[7, 1], [3, 5]], [[6, 1, 0], [0, 7, 0]], [[7, 0], [0, 7]]
    >>> [round(randolph(table).value, 2) for table in tables]
    [0.21, 0.79, 1.0]
    """
    frame = _frame(data)
    return frame.coefficient(frame.brennan_prediger(), "randolph_kappa", "κ free", confidence)


def _frame(data: Ratings | ArrayLike) -> Framework:
    if isinstance(data, Ratings):
        return Framework.of_ratings(data, np.eye(len(data.categories)))
    counts = as_counts(data)
    q = counts.shape[1]
    return Framework.of_counts(counts, np.eye(q), tuple(range(1, q + 1)))


def _fleiss(frame: Framework, level: float) -> Coefficient:
    made = frame.coefficient(frame.fleiss(), "fleiss_kappa", "κ", level, prone=True)
    se_null = _null_error(frame)
    if isinstance(made.value, Undefined) or se_null is None:
        return replace(made, method=UNEQUAL, extra={**made.extra, "z": None})
    from scipy.special import ndtr

    z = made.value / se_null
    p_value = float(2.0 * ndtr(-abs(z)))
    return replace(made, method=EQUAL, se_null=se_null, p_value=p_value, extra={**made.extra, "z": z})


def _null_error(frame: Framework) -> float | None:
    """Return √(2 [(Σ p q)² − Σ p q (q − p)]/(N m (m − 1) (Σ p q)²)); None for unequal or single ratings."""
    if not len(frame.size) or np.ptp(frame.size) or frame.size[0] < 2:
        return None
    m, p = float(frame.size[0]), frame.prevalence
    spread: FloatArray = p * (1.0 - p)
    total = float(spread.sum())
    skew = float((spread * (1.0 - 2.0 * p)).sum())
    if total <= 0.0:
        return None
    square = 2.0 * (total**2 - skew) / (frame.n * m * (m - 1.0))
    return float(np.sqrt(square)) / total if square > 0.0 else None
