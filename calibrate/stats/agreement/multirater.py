"""Six coefficients for two raters or more, with missing ratings: Gwet's framework."""

from __future__ import annotations

from calibrate.stats.agreement.coefficient import Coefficient
from calibrate.stats.agreement.framework import Framework
from calibrate.stats.agreement.ratings import Ratings
from calibrate.stats.agreement.weights import Weights, is_identity, ratings_weights


def gwet(ratings: Ratings, weights: Weights = None, confidence: float = 0.95) -> dict[str, Coefficient]:
    """Return `pa`, `ac`, `bp`, `fleiss`, `conger` and `kripp` of the same ratings, each with standard error and limits.

    pa: mean over units with two ratings or more of the (weighted) share of agreeing pairs of raters.
    ac: Gwet's AC1, or AC2 with weights; bp: Brennan–Prediger; fleiss, conger: κ with common and with every rater's own
    marginals; kripp: Krippendorff's α with the weights as 1 − distance.
    The first five count units with at least one rating (n): a single rating has a part in the marginals, not in the
    agreement. α counts units with two ratings or more. Limits are value ± t·se with n − 1 degrees of freedom, the upper
    one cut at 1; p is two-sided against 0. Target: units and not raters are sampled. Where many units have a single
    rating the standard error of pa is too large (1.1 to 1.3 times at a fifth of the cells missing, three raters);
    limits by `bootstrap_coefficients` are not.

    Args:
        ratings: of units by raters, missing ones left out; "not applicable" does not count.
        weights: None, "linear", "quadratic", "ordinal" or a matrix; see `weight_matrix`.
        confidence: level of the limits.

    Undefined: no unit with two ratings; all ratings in one category (fleiss, conger, kripp); one declared category
    (ac, bp). Limits: a single unit.

    Source: Gwet, Handbook of Inter-Rater Reliability, 4th edition 2014, chapters 2 to 5, whose 12 units and 4 raters
    give AC1 = .77544, Fleiss' κ = .76117, α = .74342 and S = .77273:

    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> x = None
    >>> table = [[1, 1, x, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4], [4, 4, 4, 4],
    ...          [1, 1, 2, 1], [2, 2, 2, 2], [x, 5, 5, 5], [x, x, 1, 1], [x, x, 3, x]]
    >>> found = gwet(ratings_of(table, level="nominal"))
    >>> {name: (round(c.value, 5), round(c.se, 5)) for name, c in found.items()}
    {'pa': (0.81818, 0.12561), 'ac': (0.77544, 0.14295), 'bp': (0.77273, 0.14472), 'fleiss': (0.76117, 0.15302),
     'conger': (0.76282, 0.14917), 'kripp': (0.74342, 0.14557)}
    """
    return framework_coefficients(Framework.of_ratings(ratings, ratings_weights(weights, ratings)), confidence)


def framework_coefficients(frame: Framework, confidence: float = 0.95) -> dict[str, Coefficient]:
    """Return the six coefficients of a framework that is set up already; see `gwet`.

    >>> import numpy as np
    >>> frame = Framework.of_table(np.array([[118.0, 5.0], [2.0, 0.0]]), np.eye(2), ("yes", "no"))
    >>> {name: round(c.value, 4) for name, c in framework_coefficients(frame).items()}
    {'pa': 0.944, 'ac': 0.9408, 'bp': 0.888, 'fleiss': -0.0288, 'conger': -0.0234, 'kripp': -0.0247}
    """
    plain = is_identity(1.0 - frame.disagreement)
    ac = "1" if plain else "2"
    return {
        "pa": frame.coefficient(frame.agreement(), "percent_agreement", "p_o", confidence),
        "ac": frame.coefficient(frame.gwet(), f"gwet_ac{ac}", f"AC{ac}", confidence),
        "bp": frame.coefficient(frame.brennan_prediger(), "brennan_prediger", "S", confidence),
        "fleiss": frame.coefficient(frame.fleiss(), "fleiss_kappa", "κ", confidence, prone=True),
        "conger": frame.coefficient(frame.conger(), "conger_kappa", "κ", confidence, prone=True),
        "kripp": frame.coefficient(
            frame.krippendorff(), "krippendorff_alpha", "α", confidence, paired_only=True, prone=True
        ),
    }
