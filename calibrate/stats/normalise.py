"""z-scores per annotator: each person's ratings relative to that person's own mean and spread.

Convention: an annotator with at least `min_conversations` ratings is scaled by the own mean and standard
deviation; all others are pooled and share the pool's mean and standard deviation. The standard deviation has
`ddof` in its denominator (1, as in SimulatorArena's release, unless asked otherwise). Where it is 0 or
undefined z is 0, and flagged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.stats.checking import as_labels, as_numbers, check_count
from calibrate.stats.labels import numbered, places_of

FloatArray = NDArray[np.float64]
MIN_CONVERSATIONS = 3


@dataclass(frozen=True, slots=True)
class Scales:
    """The mean and spread that each annotator is scaled by; arrays have one entry an annotator, as in `annotators`.

    `spread` is 0 where ratings do not vary and nan where one rating has no standard deviation. `zero_spread`
    counts the scales (the pool being one) with either. `pool_*` describe the shared scale of the annotators
    with few ratings: `pool_mean` is None where nobody is pooled, `pool_sd` also where it is undefined.
    """

    annotators: NDArray[np.generic]
    ratings: NDArray[np.int64]
    mean: FloatArray
    spread: FloatArray
    pooled: NDArray[np.bool_]
    ddof: int
    zero_spread: int
    pool_n: int
    pool_mean: float | None
    pool_sd: float | None

    def codes(self, annotator: ArrayLike) -> NDArray[np.int64]:
        """Return the place of each label among `annotators`; an unknown one is InvalidData."""
        labels = np.asarray(annotator)
        places = places_of(labels, self.annotators)
        if (places < 0).any():
            raise InvalidData(
                f"annotator '{labels[places < 0][0]}' has no rating to be normalised by: fit the scales on all ratings."
            )
        return places

    def z(self, annotator: ArrayLike, rating: ArrayLike) -> FloatArray:
        """Return z-scores of ratings by these annotators; 0 where the spread is 0 or undefined (see `flat`)."""
        return rescale(np.asarray(rating, dtype=np.float64), self.mean, self.spread, self.codes(annotator))

    def flat(self, annotator: ArrayLike) -> NDArray[np.bool_]:
        """Return whether z is 0 only because the annotator's scale has no spread."""
        return np.asarray(~(self.spread > 0)[self.codes(annotator)])


def fit_scales(
    annotator: ArrayLike,
    rating: ArrayLike,
    *,
    ddof: int = 1,
    min_conversations: int = MIN_CONVERSATIONS,
    fallback: Literal["pool", "everybody"] = "pool",
) -> Scales:
    """Return the scale of every annotator, in one pass over the ratings.

    Args:
        annotator: who rated, one label a rating.
        rating: the ratings of the whole file; a missing one is an error here, drop it first.
        ddof: 1 divides by n − 1, 0 by n.
        min_conversations: from how many ratings on an annotator is scaled alone.
        fallback: what the others are scaled by: their `pool`, or the mean and spread of `everybody`'s
            ratings.

    Raises:
        InvalidData: lengths differ, or a rating is not a finite number.

    By hand: `a` has three ratings and an own scale, `b` and `c` share one.

    >>> found = fit_scales(list("aaabbc"), [1, 2, 3, 4, 4, 1])
    >>> found.mean.tolist(), found.spread.round(4).tolist(), found.pooled.tolist()
    ([2.0, 3.0, 3.0], [1.0, 1.7321, 1.7321], [False, True, True])
    """
    values = as_numbers(rating, "ratings")
    labels = as_labels(annotator, "annotators")
    check_count(ddof, "ddof", 0, 1)
    check_count(min_conversations, "min_conversations", 0)
    if values.ndim != 1 or values.shape != labels.shape:
        raise InvalidData(
            f"one annotator a rating is needed, got shapes {labels.shape} and {values.shape}: pass columns "
            "of equal length."
        )
    if not np.isfinite(values).all():
        raise InvalidData(
            "a rating must be a finite number, got one that is missing or infinite: drop it before normalising."
        )
    codes, annotators = _number(labels)
    counts = np.bincount(codes, minlength=len(annotators))
    small = counts < min_conversations
    scale = np.where(small[codes], len(counts), codes)  # the pool is one more scale, the last
    mean, spread, sizes = moments(scale, values, len(counts) + 1, ddof)
    zero_spread = int((~(spread > 0) & (sizes > 0)).sum())
    if fallback == "everybody" and small.any():
        mean[-1], spread[-1] = (moment[0] for moment in moments(np.zeros_like(codes), values, 1, ddof)[:2])
    pool_n = int(sizes[-1])
    return Scales(
        annotators=annotators,
        ratings=counts,
        mean=np.where(small, mean[-1], mean[:-1]),
        spread=np.where(small, spread[-1], spread[:-1]),
        pooled=small,
        ddof=ddof,
        zero_spread=zero_spread,
        pool_n=pool_n,
        pool_mean=float(mean[-1]) if pool_n else None,
        pool_sd=float(spread[-1]) if pool_n and np.isfinite(spread[-1]) else None,
    )


def zscore_by_annotator(
    annotator: ArrayLike, rating: ArrayLike, *, ddof: int = 1, min_conversations: int = MIN_CONVERSATIONS
) -> FloatArray:
    """Return the z-score of every rating on its annotator's scale, in the order given (see `fit_scales`).

    >>> zscore_by_annotator(list("aaabbb"), [1, 2, 3, 5, 5, 5]).tolist()
    [-1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    """
    return fit_scales(annotator, rating, ddof=ddof, min_conversations=min_conversations).z(annotator, rating)


def rescale(values: FloatArray, mean: FloatArray, spread: FloatArray, codes: NDArray[np.int64]) -> FloatArray:
    """Return (value − mean)/spread of each value's scale; 0 where the spread is 0 or nan.

    >>> rescale(np.array([3.0, 9.0]), np.array([1.0, 9.0]), np.array([2.0, 0.0]), np.array([0, 1])).tolist()
    [1.0, 0.0]
    """
    divisible = spread > 0
    divisor = np.where(divisible, spread, 1.0)
    return np.where(divisible[codes], (values - mean[codes]) / divisor[codes], 0.0)


def moments(
    codes: NDArray[np.int64], values: FloatArray, scales: int, ddof: int
) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    """Return mean, standard deviation and size of each scale: exactly 0 where constant, nan where undefined.

    By hand: 1, 3 and a single 7.

    >>> mean, spread, sizes = moments(np.array([0, 0, 1]), np.array([1.0, 3.0, 7.0]), 2, 1)
    >>> mean.tolist(), spread.round(4).tolist(), sizes.tolist()
    ([2.0, 7.0], [1.4142, nan], [2, 1])
    """
    sizes = np.bincount(codes, minlength=scales)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(codes, weights=values, minlength=scales) / sizes
        squares = np.bincount(codes, weights=(values - mean[codes]) ** 2, minlength=scales)
        spread = np.sqrt(squares / np.where(sizes > ddof, sizes - ddof, np.nan))
    lowest, highest = np.full(scales, np.inf), np.full(scales, -np.inf)
    np.minimum.at(lowest, codes, values)
    np.maximum.at(highest, codes, values)
    spread[(lowest == highest) & (sizes > ddof)] = 0.0
    return mean, spread, sizes


def _number(labels: NDArray[np.generic]) -> tuple[NDArray[np.int64], NDArray[np.generic]]:
    """Return a number for each label, by first occurrence, and the distinct labels."""
    codes, distinct = numbered(labels)
    if (codes < 0).any():
        raise InvalidData("every rating needs an annotator, got one with no annotator: drop it before normalising.")
    return codes, distinct
