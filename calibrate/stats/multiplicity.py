"""Several tests at once: p-values adjusted so that false claims among all of them stay rare.

Holm bounds the chance of any false claim, Benjamini and Yekutieli the expected share of false ones among the claims.
Both hold however the tests depend on each other. A test without a p (None) stays None and counts for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

from annotate.errors import InvalidData
from calibrate.stats.checking import check_number, shown


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return p-values adjusted by Holm's step-down rule; a test without a p (None) stays None and counts for nothing.

    The i-th smallest of m is multiplied by m − i + 1, is never below the adjusted one before it, and never above 1
    (Holm 1979, Scandinavian Journal of Statistics 6:65). Rejecting where the adjusted p is at most α keeps the chance
    of any false rejection at α, however the tests depend on each other. Equal p-values get equal adjusted ones.

    Raises:
        InvalidData: a p-value outside 0..1, or nan.

    By hand, 4 · .005, 3 · .01, then 2 · .03 (which .04 cannot go below):

    >>> holm([0.01, 0.04, 0.03, 0.005])
    (0.03, 0.06, 0.06, 0.02)
    """
    known = _ordered(p_values)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for step, (p, index) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - step) * p))
        adjusted[index] = highest
    return tuple(adjusted)


def benjamini_yekutieli(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return p-values adjusted by Benjamini and Yekutieli's step-up rule for tests of any dependence.

    The i-th smallest of m becomes the smallest of p_(j) · m · H_m / j over j ≥ i, H_m = 1 + 1/2 + … + 1/m, and never
    above 1 (Benjamini and Yekutieli 2001, Annals of Statistics 29:1165, theorem 1.3). Rejecting where the adjusted p
    is at most q keeps the expected share of false ones among the rejections at q.

    Raises:
        InvalidData: a p-value outside 0..1, or nan.

    By hand with H_4 = 25/12: .04 · 25/12 = 1/12; .03 · 4/3 · 25/12 = 1/12; .01 · 4/2 · 25/12 = .005 · 4 · 25/12 = 1/24:

    >>> [round(p, 6) for p in benjamini_yekutieli([0.01, 0.04, 0.03, 0.005])]
    [0.041667, 0.083333, 0.083333, 0.041667]
    """
    known = _ordered(p_values)
    adjusted: list[float | None] = [None] * len(p_values)
    factor, lowest = len(known) * _harmonic(len(known)), 1.0
    for rank in range(len(known), 0, -1):
        p, index = known[rank - 1]
        lowest = min(lowest, p * factor / rank)
        adjusted[index] = lowest
    return tuple(adjusted)


def rejected_by_benjamini_yekutieli(p_values: Sequence[float | None], q: float = 0.05) -> tuple[bool, ...]:
    """Return which tests are rejected: all up to the largest i with p_(i) ≤ (i/m) · q/H_m (a test without a p: False).

    A p that equals its threshold is rejected.

    Raises:
        InvalidData: a p-value outside 0..1, or q not between 0 and 1.

    By hand, thresholds .006, .012, .018, .024 for q = .05:

    >>> rejected_by_benjamini_yekutieli([0.01, 0.04, 0.03, 0.005])
    (True, False, False, True)
    """
    check_number(q, "q")
    if not 0.0 < q < 1.0:
        raise InvalidData(f"q, the share of false claims allowed, must be above 0 and below 1, not {q!r}; take .05.")
    known = _ordered(p_values)
    rejected = [False] * len(p_values)
    level = q / _harmonic(len(known)) if known else q
    passing = [rank for rank, (p, _) in enumerate(known, 1) if p <= rank / len(known) * level]
    for _, index in known[: max(passing, default=0)]:
        rejected[index] = True
    return tuple(rejected)


def _harmonic(m: int) -> float:
    return sum(1.0 / i for i in range(1, m + 1))


def _ordered(p_values: Sequence[float | None]) -> list[tuple[float, int]]:
    """Return the p-values that there are, smallest first, each with its place."""
    known = [(p, index) for index, p in enumerate(p_values) if p is not None]
    for p, index in known:
        if not isinstance(p, Real) or not 0.0 <= p <= 1.0:
            raise InvalidData(
                f"a p-value must be in 0..1, got {shown(p)} at place {index + 1}: give None for a missing one."
            )
    return sorted(known)
