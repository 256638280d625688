"""Agreement by pairs of raters: every pair's κ, Light's κ, the share of units on which all raters agree."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from annotate.errors import InvalidData
from calibrate.estimate import Undefined
from calibrate.stats.agreement.coefficient import NO_INTERVAL, Coefficient
from calibrate.stats.agreement.framework import Framework
from calibrate.stats.agreement.paradox import paradox_remark
from calibrate.stats.agreement.ratings import IntArray, Ratings
from calibrate.stats.agreement.raw import disagreeing_share, marginals_of, raw_agreement
from calibrate.stats.agreement.two_raters import cohen_kappa_of_table
from calibrate.stats.agreement.weights import Weights, ratings_weights
from calibrate.stats.checking import check_number
from calibrate.stats.intervals import wilson


def pairwise_agreement(ratings: Ratings, weights: Weights = None, *, confidence: float = 0.95) -> Coefficient:
    """Return the mean over units with two ratings or more of the (weighted) share of agreeing pairs of raters.

    Standard error and t interval over units, as in `gwet(...)["pa"]`. Undefined: no unit with two ratings.

    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> rated = ratings_of([[1, 1, None], [2, 1, 2], [None, None, 3], [3, 3, 3], [1, 2, 1]], level="nominal")
    >>> round(pairwise_agreement(rated).value, 4)
    0.6667
    """
    frame = Framework.of_ratings(ratings, ratings_weights(weights, ratings))
    return frame.coefficient(frame.agreement(), "percent_agreement", "p_o", confidence)


def pairwise_kappas(
    ratings: Ratings, weights: Weights = None, *, confidence: float = 0.95
) -> dict[tuple[int, int], Coefficient]:
    """Return Cohen's κ of every pair of raters who rated anything, (number of first, number of second) → κ.

    Each pair is taken on the units that both rated; a pair without such units is undefined.

    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> rated = ratings_of([[1, 1, None], [2, 1, 2], [1, 2, 1], [2, 2, None]], level="nominal")
    >>> {pair: kappa.value for pair, kappa in pairwise_kappas(rated).items()}
    {(0, 1): 0.0, (0, 2): 1.0, (1, 2): -1.0}
    """
    w = ratings_weights(weights, ratings)
    q = len(ratings.categories)
    index = _by_rater(ratings)
    found: dict[tuple[int, int], Coefficient] = {}
    for first, second in combinations(sorted(index), 2):
        (units, codes), (other_units, other_codes) = index[first], index[second]
        _, left, right = np.intersect1d(units, other_units, assume_unique=True, return_indices=True)
        cells = np.bincount(codes[left] * q + other_codes[right], minlength=q * q).reshape(q, q)
        kappa = cohen_kappa_of_table(cells, scores=ratings.scores, weights=w, confidence=confidence)
        if len(left) == 0:
            kappa = Coefficient("cohen_kappa", Undefined("no unit in common"), None, None, None, {}, 0, symbol="κ")
        found[first, second] = kappa
    return found


def light_kappa(ratings: Ratings, weights: Weights = None) -> Coefficient:
    """Return Light's κ: the mean of Cohen's κ over all pairs of raters, each on the units that both rated.

    Undefined where it is so for any pair (both constant on one category, or no unit in common): a mean over a
    selection of pairs is no estimate of the mean over all. `extra` holds `pairs`, `undefined_pairs` and, for those who
    want the selection, `mean_of_defined`. It has no standard error here: pairs share their units; see
    `bootstrap_coefficients`.

    Args:
        ratings: of units by raters. weights: as in `weight_matrix`.

    Source: Light 1971. Freelon 2010 (table 10) prints .335 for file 3.02, with 50 units and three raters:

    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> rows = 39 * [[0, 0, 0]] + [[1, 1, 1]] + 3 * [[1, 1, 0]] + 2 * [[1, 0, 0]] + 4 * [[0, 1, 0]] + [[1, 0, 1]]
    >>> round(light_kappa(ratings_of(rows, level="nominal")).value, 3)
    0.335

    File 3.03, on which his program prints no value, has one pair of constant raters:

    >>> kappa = light_kappa(ratings_of(27 * [[0, 0, 0]] + [[1, 0, 0]], level="nominal"))
    >>> kappa.value, kappa.extra["mean_of_defined"]
    (Undefined(reason='1 of 3 pairs of raters have no κ'), 0.0)
    """
    pairs = list(pairwise_kappas(ratings, weights).values())
    defined = [pair for pair in pairs if not isinstance(pair.value, Undefined)]
    mean = float(np.mean([pair.value for pair in defined])) if defined else None
    lost = len(pairs) - len(defined)
    value: float | Undefined
    if not pairs:
        value = Undefined("fewer than two raters")
    elif lost or mean is None:
        value = Undefined(f"{lost} of {len(pairs)} pairs of raters have no κ")
    else:
        value = mean
    frame = Framework.of_ratings(ratings, ratings_weights(weights, ratings))
    seen = [pair for pair in pairs if pair.n]
    return Coefficient(
        name="light_kappa",
        value=value,
        observed=_mean([pair.observed for pair in seen]),
        expected=_mean([pair.expected for pair in seen]),
        raw=frame.raw,
        marginals=frame.marginals,
        n=round(frame.n_paired),
        interval=NO_INTERVAL if lost else Undefined("it has no standard error: ask for a bootstrap"),
        method="mean of the pairs' Cohen κ",
        remark=paradox_remark(frame.raw, value, frame.marginals, marginal_free=frame.brennan_prediger().value),
        symbol="κ",
        extra={"pairs": len(pairs), "undefined_pairs": lost, "mean_of_defined": mean},
    )


def all_agree(ratings: Ratings, tolerance: float = 0.0, *, confidence: float = 0.95) -> Coefficient:
    """Return the share of complete units on which every rater agrees, with Wilson's interval.

    A unit is complete that everybody rated who rated anything at all.

    Args:
        ratings: of units by raters.
        tolerance: how far the largest and the smallest rating may be apart, in units of the scale; 0 = the same.

    Raises:
        InvalidData: a negative tolerance, or one above 0 for categories that are no numbers.

    Undefined: fewer than two raters, or no complete unit.

    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> rated = ratings_of([[4, 4, 3], [4, 4, 4], [2, 3, 5], [1, None, 1]], level="interval")
    >>> round(all_agree(rated).value, 3), round(all_agree(rated, tolerance=1).value, 3)
    (0.333, 0.667)
    """
    if not tolerance >= 0.0:
        raise InvalidData(f"tolerance must be 0 or more, got {tolerance!r}: say how far apart ratings may be.")
    if tolerance > 0.0 and ratings.scores is None:
        raise InvalidData(f"a tolerance of {tolerance:g} needs numeric categories: leave it out for labels.")
    raters = len(np.unique(ratings.rater))
    check_number(tolerance, "a tolerance")
    complete = ratings.per_unit == raters
    n = int(complete.sum()) if raters >= 2 else 0
    value: float | Undefined = Undefined("fewer than two raters" if raters < 2 else "no unit was rated by everybody")
    agreeing = _agreeing(ratings, complete, tolerance) if n else 0
    if n:
        value = agreeing / n
    return Coefficient(
        name="all_agree",
        value=value,
        observed=agreeing / n if n else None,
        expected=None,
        raw=raw_agreement(ratings),
        marginals=marginals_of(ratings),
        n=n,
        interval=wilson(agreeing, n, confidence) if n else NO_INTERVAL,
        method="Wilson",
        symbol="all agree",
        extra={"tolerance": tolerance, "agreeing": agreeing, "raters": raters},
    )


def _agreeing(ratings: Ratings, complete: NDArray[np.bool_], tolerance: float) -> int:
    """Return on how many of the complete units the largest and the smallest rating are at most `tolerance` apart."""
    if tolerance == 0.0 or ratings.scores is None:
        return int((disagreeing_share(ratings)[complete] == 0.0).sum())
    kept = ratings.of_units(complete)
    starts = np.flatnonzero(np.r_[True, np.diff(kept.unit) > 0])
    half = ratings.scores[kept.code] / 2.0  # so that no difference is infinite
    reach = np.maximum.reduceat(half, starts) - np.minimum.reduceat(half, starts)
    return int((reach <= tolerance / 2.0 * (1.0 + 1e-9)).sum())  # .4 − .3 is within .1


def _by_rater(ratings: Ratings) -> dict[int, tuple[IntArray, IntArray]]:
    order = np.argsort(ratings.rater, kind="stable")
    who, starts = np.unique(ratings.rater[order], return_index=True)
    parts = zip(
        who.tolist(), np.split(ratings.unit[order], starts[1:]), np.split(ratings.code[order], starts[1:]), strict=True
    )
    return {rater: (units, codes) for rater, units, codes in parts} if len(who) else {}


def _mean(values: list[float | None]) -> float | None:
    held = [value for value in values if value is not None]
    return float(np.mean(held)) if held else None
