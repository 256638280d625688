"""How often raters say "not applicable", and whether they agree on that: beside the coefficients, never inside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrate.estimate import Interval, Undefined
from calibrate.stats.agreement.ratings import Ratings
from calibrate.stats.intervals import NO_TRIALS, wilson


@dataclass(frozen=True, slots=True)
class Applicability:
    """The share of "not applicable" among what was said, and agreement on it.

    share, interval: of `not_applicable` in `n` entries (ratings and "not applicable" together, missing ones left out),
        Wilson's limits, as if entries were independent.
    agreement: mean over the `paired_units` units with two entries or more of the share of pairs of raters who both, or
        neither, found the question applicable. A raw figure, not corrected for chance.
    """

    share: float | Undefined
    interval: Interval | Undefined
    n: int
    not_applicable: int
    agreement: float | Undefined
    paired_units: int


def not_applicable_rate(ratings: Ratings, *, confidence: float = 0.95) -> Applicability:
    """Return the share of "not applicable" with Wilson's interval, and raw agreement on applicability.

    Undefined: nothing was said (share); no unit with two entries (agreement).

    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> rated = ratings_of([["yes", "n/a"], ["n/a", "n/a"], ["no", "no"], ["no", None]], level="nominal",
    ...                    not_applicable=["n/a"])
    >>> found = not_applicable_rate(rated)
    >>> round(found.share, 3), found.not_applicable, found.n, round(found.agreement, 3)
    (0.429, 3, 7, 0.667)
    """
    na = len(ratings.na_unit)
    n = ratings.n + na
    outside = np.bincount(ratings.na_unit, minlength=ratings.units).astype(np.float64)
    entries = ratings.per_unit + outside
    paired = entries >= 2
    size, apart = entries[paired], outside[paired]
    agreement: float | Undefined = Undefined("no unit has two entries")
    if paired.any():
        agreement = float((1.0 - 2.0 * apart * (size - apart) / (size * (size - 1.0))).mean())
    return Applicability(
        share=na / n if n else NO_TRIALS,
        interval=wilson(na, n, confidence),
        n=n,
        not_applicable=na,
        agreement=agreement,
        paired_units=int(paired.sum()),
    )
