"""Several tests at once: p-values adjusted so that one false claim among all of them stays rare."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return p-values adjusted by Holm's step-down rule; a test without a p (None) stays None and counts for nothing.

    The i-th smallest of m is multiplied by m − i + 1, is never below the adjusted one before it, and never above 1
    (Holm 1979, Scandinavian Journal of Statistics 6:65): .01, .04, .03, .005 become .03, .06, .06, .02. Rejecting
    where the adjusted p is at most α keeps the chance of any false rejection at α, however the tests depend on each
    other. Equal p-values get equal adjusted ones.

    Raises:
        ValueError: a p-value outside 0..1, or nan.
    """
    known = [(p, index) for index, p in enumerate(p_values) if p is not None]
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for step, (p, index) in enumerate(sorted(known)):
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"a p-value must be in 0..1, got {p!r}")
        highest = max(highest, min(1.0, (len(known) - step) * p))
        adjusted[index] = highest
    return tuple(adjusted)
