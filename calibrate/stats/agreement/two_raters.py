"""Agreement of two raters, from a contingency table (rows: the first rater's categories, columns: the second's).

For more than two raters, and for ratings with their own missing cells, `gwet` gives the same coefficients.
`contingency_table` and `Ratings.pair_table` make the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.agreement.coefficient import NO_INTERVAL, Coefficient
from calibrate.stats.agreement.framework import ROUNDING, Framework, chance_corrected
from calibrate.stats.agreement.paradox import paradox_remark
from calibrate.stats.agreement.ratings import FloatArray
from calibrate.stats.agreement.tables import as_table, contingency_table
from calibrate.stats.agreement.weights import Weights, is_identity, weight_matrix
from calibrate.stats.checking import as_numbers, shown
from calibrate.stats.intervals import normal_quantile, wilson

NO_PAIRS = Undefined("no pairs of ratings")


def cohen_kappa(
    first: Sequence[Any],
    second: Sequence[Any],
    *,
    categories: Sequence[Any],
    weights: Weights = None,
    confidence: float = 0.95,
) -> Coefficient:
    """Return Cohen's κ, plain or weighted, of two raters' ratings of the same units; see `cohen_kappa_of_table`.

    Args:
        first, second: shape (unit,); None and nan are missing, and such pairs are dropped (n says how many are left).
        categories: all that could have been given. Weights are taken from their values where they are numbers, and
            from their places in this list where they are not.
        weights: None, "linear", "quadratic", "ordinal", or agreement weights, shape (category, category).

    Raises:
        InvalidData: unequal lengths, a value that is not among the categories, or weights that are none.

    Cohen and weighted κ of the anxiety ratings in the manual of R's irr (raters 1 and 2; κ = .297 with z = 1.34):

    >>> one, two = [[3, 3, 3, 4, 5, 5, 2, 3, 5, 2, 2, 6, 1, 5, 2, 2, 1, 2, 4, 3],
    ...             [3, 6, 4, 6, 2, 4, 2, 4, 3, 3, 2, 3, 3, 3, 2, 2, 1, 3, 3, 4]]
    >>> kappa = cohen_kappa(one, two, categories=range(1, 7), weights="quadratic")
    >>> round(kappa.value, 3), round(kappa.extra["z"], 2)
    (0.297, 1.34)
    """
    table = contingency_table(first, second, list(categories))
    return _cohen(table, tuple(categories), weight_matrix(weights, scores_of(list(categories))), confidence)


def cohen_kappa_of_table(
    table: ArrayLike, *, scores: ArrayLike | None = None, weights: Weights = None, confidence: float = 0.95
) -> Coefficient:
    """Return Cohen's κ = (p_o − p_e)/(1 − p_e) with p_e = Σ w_ij p_i· p_·j, from a contingency table.

    `se` is the large-sample standard error, which the interval κ ± z·se comes from (upper limit cut at 1); `se_null`
    the one at κ = 0, which `extra["z"]` and the two-sided p come from. Both take units to be sampled alike: with
    sampling weights or clusters use `bootstrap_coefficients`.

    Args:
        table: counts, shape (category of first, category of second).
        scores: values of the categories for weights, shape (category,); 1, 2, … where not given.
        weights: None, "linear", "quadratic", "ordinal", or agreement weights, shape (category, category).

    Undefined: no pairs, or p_e = 1 (both raters use one category, and the same). κ is exactly 0 where one of them uses
    one category only. Interval: where the standard error is 0, as it is when all pairs agree.

    Source: Cohen 1960 and 1968; Fleiss, Cohen and Everitt 1969, equations 8, 9, 13 and 14. Cohen's own table of 1968
    has κ = .492:

    >>> kappa = cohen_kappa_of_table([[88, 14, 18], [10, 40, 10], [2, 6, 12]])
    >>> round(kappa.value, 3), round(kappa.observed, 2), round(kappa.expected, 2)
    (0.492, 0.7, 0.41)

    Fleiss, Cohen and Everitt's example has κ_w = .507 with standard error .057:

    >>> w = [[1, 0, 0.4444], [0, 1, 0.6667], [0.4444, 0.6667, 1]]
    >>> kappa = cohen_kappa_of_table([[106, 10, 4], [22, 28, 10], [2, 12, 6]], weights=w)
    >>> round(kappa.value, 3), round(kappa.se, 3)
    (0.507, 0.057)
    """
    held, values = _scored(table, scores)
    return _cohen(held, _names(values), weight_matrix(weights, values), confidence)


def percent_agreement(
    table: ArrayLike, *, scores: ArrayLike | None = None, weights: Weights = None, confidence: float = 0.95
) -> Coefficient:
    """Return the share of pairs that agree, Σ w_ij p_ij; Wilson's interval, or with weights the t interval.

    Arguments as in `cohen_kappa_of_table`. Undefined: no pairs.

    >>> share = percent_agreement([[20, 5], [10, 15]])
    >>> share.value, round(share.interval.low, 3), round(share.interval.high, 3)
    (0.7, 0.562, 0.809)
    """
    frame = _frame(table, scores, weights)
    made = frame.coefficient(frame.agreement(), "percent_agreement", "p_o", confidence)
    if isinstance(made.value, Undefined):
        return _no_pairs(made)
    if not is_identity(1.0 - frame.disagreement):
        return made
    limits = wilson(made.value * frame.n, frame.n, confidence)
    return replace(made, interval=limits, method="Wilson", p_value=None)


def scott_pi(
    table: ArrayLike, *, scores: ArrayLike | None = None, weights: Weights = None, confidence: float = 0.95
) -> Coefficient:
    """Return Scott's π: as Cohen's κ, with p_e from the mean of both raters' marginals. Arguments as there.

    Standard error and t interval by linearisation (n − 1 degrees of freedom). Undefined: no pairs, or all ratings in
    one category.

    Source: Scott 1955. The two-category files of Freelon 2010, table 9, print π = .185 and .805:

    >>> round(scott_pi([[43, 5], [1, 1]]).value, 3), round(scott_pi([[39, 1], [2, 8]]).value, 3)
    (0.185, 0.805)
    """
    frame = _frame(table, scores, weights)
    return _no_pairs(frame.coefficient(frame.fleiss(), "scott_pi", "π", confidence, prone=True))


def brennan_prediger(
    table: ArrayLike, *, scores: ArrayLike | None = None, weights: Weights = None, confidence: float = 0.95
) -> Coefficient:
    """Return Brennan and Prediger's coefficient (Bennett's S): p_e = Σ w/q², q being the *declared* categories.

    It stays defined where everybody says the same. Arguments as in `cohen_kappa_of_table`; the size of the table is q.
    Undefined: no pairs, or a single declared category.

    Source: Brennan and Prediger 1981. At q = 2 it is 2 p_o − 1; the same counts with a third category that nobody used:

    >>> s = [brennan_prediger([[118, 5], [2, 0]]), brennan_prediger([[118, 5, 0], [2, 0, 0], [0, 0, 0]])]
    >>> [round(coefficient.value, 3) for coefficient in s]
    [0.888, 0.916]
    """
    frame = _frame(table, scores, weights)
    return _no_pairs(frame.coefficient(frame.brennan_prediger(), "brennan_prediger", "S", confidence))


def gwet_ac(
    table: ArrayLike, *, scores: ArrayLike | None = None, weights: Weights = None, confidence: float = 0.95
) -> Coefficient:
    """Return Gwet's AC1, or AC2 with weights: p_e = T_w/(q(q − 1)) Σ π_k (1 − π_k), T_w the sum of all weights.

    It stays defined where everybody says the same (1). Arguments as in `cohen_kappa_of_table`; the size of the table
    is q. Undefined: no pairs, or a single declared category.

    Source: Gwet 2008, whose table of 125 pairs has AC1 = .941 where κ = −.023:

    >>> round(gwet_ac([[118, 5], [2, 0]]).value, 3), round(cohen_kappa_of_table([[118, 5], [2, 0]]).value, 3)
    (0.941, -0.023)
    """
    frame = _frame(table, scores, weights)
    kind = "1" if is_identity(1.0 - frame.disagreement) else "2"
    return _no_pairs(frame.coefficient(frame.gwet(), f"gwet_ac{kind}", f"AC{kind}", confidence))


def pabak(table: ArrayLike, *, confidence: float = 0.95) -> Coefficient:
    """Return the prevalence- and bias-adjusted κ of two categories, 2 p_o − 1.

    Undefined: no pairs, or a number of declared categories that is not two (`brennan_prediger` is its form for more).

    Source: Byrt, Bishop and Carlin 1993. Feinstein and Cicchetti's table with κ = .32 has PABAK = .70:

    >>> round(pabak([[80, 10], [5, 5]]).value, 2)
    0.7
    """
    made = replace(brennan_prediger(table, confidence=confidence), name="pabak", symbol="PABAK")
    if len(made.marginals) not in (0, 2):
        reason = f"PABAK is for two categories and {len(made.marginals)} are declared: Brennan–Prediger is its form"
        return replace(made, value=Undefined(reason), interval=NO_INTERVAL, se=None, p_value=None)
    return made


def scores_of(categories: Sequence[Any]) -> FloatArray:
    """Return what distances between categories are measured with: their values if all are numbers, else their places.

    >>> scores_of([1, 2, 4]).tolist(), scores_of(["low", "middle", "high"]).tolist()
    ([1.0, 2.0, 4.0], [1.0, 2.0, 3.0])
    """
    if all(isinstance(name, int | float | np.number) for name in categories):
        scores = as_numbers(categories, "categories", largest=np.inf)
        if not np.isfinite(scores).all():
            raise InvalidData("a declared category is not a finite number: leave it out, or correct it.")
        return scores
    return np.arange(1.0, len(categories) + 1.0)


# -------------------------------------------------------------------------------------------------------- Cohen's κ


@dataclass(frozen=True, slots=True)
class _Errors:
    se: float
    se_null: float


def _cohen(table: FloatArray, categories: tuple[Any, ...], weights: FloatArray, level: float) -> Coefficient:
    n = float(table.sum())
    if n == 0.0:
        return Coefficient("cohen_kappa", NO_PAIRS, None, None, None, {}, 0, method=_METHOD, symbol="κ")
    share = table / n
    rows, columns = share.sum(axis=1), share.sum(axis=0)
    observed = float(((1.0 - weights) * share).sum())
    expected = float(rows @ (1.0 - weights) @ columns)
    value = chance_corrected(observed, expected)
    errors = None if isinstance(value, Undefined) else _fleiss_cohen_everitt(share, weights, expected, observed, n)
    z = None
    if errors is not None and errors.se_null > 0.0 and not isinstance(value, Undefined):
        z = value / errors.se_null
    marginals = dict(zip(categories, ((rows + columns) / 2.0).tolist(), strict=True))
    raw = float(np.trace(table)) / n
    q = len(table)
    free = chance_corrected(observed, float((1.0 - weights).sum()) / q**2)
    return Coefficient(
        name="cohen_kappa",
        value=value,
        observed=1.0 - observed,
        expected=1.0 - expected,
        raw=raw,
        marginals=marginals,
        n=round(n),
        interval=_normal_limits(value, errors, level),
        method=_METHOD,
        se=None if errors is None else errors.se,
        se_null=None if errors is None else errors.se_null,
        p_value=None if z is None else _normal_p(z),
        remark=paradox_remark(raw, value, marginals, marginal_free=free),
        symbol="κ",
        extra={"z": z},
    )


_METHOD = "large-sample standard error (Fleiss, Cohen and Everitt 1969)"


def _fleiss_cohen_everitt(
    share: FloatArray, weights: FloatArray, expected: float, observed: float, n: float
) -> _Errors:
    """Return both standard errors; each is the spread of a quantity over the table, here taken about its own mean."""
    rows, columns = share.sum(axis=1), share.sum(axis=0)
    both = (weights @ columns)[:, None] + (weights.T @ rows)[None, :]
    moved = weights * expected - both * observed
    centre = float((share * moved).sum())
    se = float(np.sqrt((share * (moved - centre) ** 2).sum() / n)) / expected**2
    chance = rows[:, None] * columns[None, :]
    null = weights - both
    se_null = float(np.sqrt((chance * (null - float((chance * null).sum())) ** 2).sum() / n)) / expected
    return _Errors(0.0 if se <= ROUNDING else se, 0.0 if se_null <= ROUNDING else se_null)


def _normal_limits(value: float | Undefined, errors: _Errors | None, level: float) -> Interval | Undefined:
    if isinstance(value, Undefined) or errors is None:
        return NO_INTERVAL
    if errors.se == 0.0:
        return Undefined("the standard error is 0: all pairs are alike")
    reach = normal_quantile(level) * errors.se
    return Interval(value - reach, min(1.0, value + reach))


def _normal_p(z: float) -> float:
    from scipy.special import ndtr

    return float(2.0 * ndtr(-abs(z)))


# ----------------------------------------------------------------------------------------------------------- tables


def _scored(table: ArrayLike, scores: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    held = as_table(table)
    values = np.arange(1.0, len(held) + 1.0) if scores is None else as_numbers(scores, "scores", largest=np.inf)
    if values.shape != (len(held),):
        raise InvalidData(
            f"scores need one value a category ({len(held)}), got {shown(values.tolist())}: correct them."
        )
    return held, values


def _frame(table: ArrayLike, scores: ArrayLike | None, weights: Weights) -> Framework:
    held, values = _scored(table, scores)
    return Framework.of_table(held, weight_matrix(weights, values), _names(values))


def _names(values: FloatArray) -> tuple[float | int, ...]:
    return tuple(int(value) if value == int(value) else value for value in values.tolist())


def _no_pairs(made: Coefficient) -> Coefficient:
    return made if made.n else replace(made, value=NO_PAIRS)
