"""Agreement weights: how nearly two categories agree, 1 for the same and 0 for the farthest apart.

Distances come from the *values* of the declared categories, never from the places of those that happened to occur: a
scale 1 to 6 on which nobody said 5 still has two steps from 4 to 6. T_w of Gwet's AC2 is the sum of the whole matrix.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.stats.agreement.ratings import FloatArray, Ratings
from calibrate.stats.checking import as_numbers, shown

WeightName = Literal["identity", "linear", "quadratic", "ordinal"]
Weights = WeightName | ArrayLike | None


def weight_matrix(weights: Weights, scores: ArrayLike) -> FloatArray:
    """Return agreement weights, shape (category, category): symmetric, 1 on the diagonal, in 0..1.

    Args:
        weights: None or "identity": 1 for the same category, 0 otherwise; "linear": 1 − |x_k − x_l|/range;
            "quadratic": 1 − ((x_k − x_l)/range)²; "ordinal": 1 − C(m, 2)/C(q, 2), m being how many categories lie from
            the one to the other, both counted (Gwet 2014; these are not the distances of Krippendorff's ordinal α);
            or the matrix itself.
        scores: the values x of the declared categories, shape (category,).

    Raises:
        InvalidData: an unknown name, equal or non-finite scores, or a matrix that breaks the rules above.

    Source: Cicchetti and Allison 1971 (linear), Fleiss and Cohen 1973 (quadratic).

    >>> weight_matrix("linear", [1, 2, 4])[0].round(3).tolist()
    [1.0, 0.667, 0.0]
    >>> weight_matrix("ordinal", [1, 2, 3, 4])[0].round(3).tolist()
    [1.0, 0.833, 0.5, 0.0]
    """
    x = as_numbers(scores, "the scores of categories", ndim=None, largest=np.inf)
    if x.ndim != 1 or not len(x):
        raise InvalidData("at least one category must be declared: list the categories that could have been used.")
    if not np.isfinite(x).all() or len(np.unique(x)) != len(x):
        raise InvalidData(f"the scores of categories must be finite and differ, got {shown(x.tolist())}: correct them.")
    if weights is None or isinstance(weights, str):
        return _named(str(weights or "identity"), x)
    return _checked(weights, len(x))


def ratings_weights(weights: Weights, ratings: Ratings) -> FloatArray:
    """Return agreement weights of the categories of `ratings`, in their order, shape (category, category).

    Numeric categories are at their own values, declared labels at their places in the declared list.

    Raises:
        InvalidData: distances are asked for between labels that have no declared order.

    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> rated = ratings_of([[1, 4]], level="interval", categories=[1, 2, 4])
    >>> ratings_weights("quadratic", rated)[1].round(3).tolist()
    [0.889, 1.0, 0.556]
    """
    q = len(ratings.categories)
    needs_scores = isinstance(weights, str) and weights != "identity"
    if ratings.scores is not None:
        scores = ratings.scores
    elif needs_scores and not ratings.declared:
        raise InvalidData(
            f"{weights!s} weights need an order of the labels {ratings.categories!r}: declare the categories from "
            "lowest to highest."
        )
    else:
        scores = np.arange(1.0, q + 1.0)
    return weight_matrix(weights, scores) if q else np.ones((0, 0))


def is_identity(weights: FloatArray) -> bool:
    """Return whether a weight matrix counts exact agreement only.

    >>> is_identity(weight_matrix("linear", [0, 1])), is_identity(weight_matrix("linear", [0, 1, 2]))
    (True, False)
    """
    return bool((weights == np.eye(len(weights))).all())


def _named(name: str, x: FloatArray) -> FloatArray:
    if name not in get_args(WeightName):
        raise InvalidData(
            f"weights must be one of {', '.join(get_args(WeightName))} or a matrix, got {name!r}: name one."
        )
    q = len(x)
    if name == "identity" or q == 1:
        return np.eye(q)
    if name == "ordinal":
        place = np.argsort(np.argsort(x))
        apart = np.abs(place[:, None] - place[None, :]) + 1
        return np.asarray(1.0 - apart * (apart - 1) / (q * (q - 1)), dtype=np.float64)
    if np.abs(x).max() > 1e150:
        x = x / np.abs(x).max()  # so that no difference of two scores, or its square, is infinite
    apart = np.abs(x[:, None] - x[None, :]) / np.ptp(x)
    return np.asarray(1.0 - (apart if name == "linear" else apart**2), dtype=np.float64)


def _checked(matrix: ArrayLike, q: int) -> FloatArray:
    try:
        w = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidData(f"weights must be a name or a {q} × {q} matrix of numbers: correct them.") from None
    rule: NDArray[np.bool_] | bool
    if w.shape != (q, q):
        raise InvalidData(f"weights must have one row and column a category ({q}), got shape {w.shape}: correct them.")
    if not np.isfinite(w).all():
        raise InvalidData(f"agreement weights must be finite, got {w[~np.isfinite(w)][0]:g}: correct the matrix.")
    for rule, says in (
        ((w >= 0) & (w <= 1), "in 0..1 (of disagreement weights take 1 − d/max d)"),
        (np.abs(w - w.T) <= 1e-12, "symmetric"),
        ((w == 1.0) | ~np.eye(q, dtype=bool), "1 on the diagonal"),
    ):
        if not rule.all():
            raise InvalidData(f"agreement weights must be {says}, got {w[~rule][0]:g}: correct the matrix.")
    return (w + w.T) / 2.0
