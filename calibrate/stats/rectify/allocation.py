"""How many units of each stratum to draw: proportional to size, or by Neyman to size × standard deviation.

Shares are scaled to the total; a stratum that reaches its cap gives what is left to the others; counts are rounded by
the largest remainder (ties to the larger stratum, then to the first) within minimum and cap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.stats.checking import MOST_COUNTED, as_labels, as_numbers, check_count, shown

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Allocation:
    """Units to draw, in the order of the strata.

    exact: before rounding and without the minimum; counts: whole numbers, sum = total.
    fallback: "proportional" where all spreads are 0 and say nothing; None elsewhere.
    """

    exact: tuple[float, ...]
    counts: tuple[int, ...]
    fallback: Literal["proportional"] | None = None


def proportional_allocation(
    total: int, sizes: Sequence[int], *, minimum: int = 2, caps: Sequence[int] | None = None
) -> Allocation:
    """Return n_h ∝ N_h for strata of `sizes` N_h: at least `minimum` (or all of a smaller stratum), at most `caps`.

    `caps` are the sizes where not given. `InvalidData`: a total below the minimums together or above the caps.

    >>> proportional_allocation(10, [60, 40]).counts
    (6, 4)
    """
    return allocate(total, sizes, as_numbers(sizes, "sizes"), minimum=minimum, caps=caps)


def neyman_allocation(
    total: int,
    sizes: Sequence[int],
    spreads: Sequence[float],
    *,
    minimum: int = 2,
    caps: Sequence[int] | None = None,
) -> Allocation:
    """Return n_h ∝ N_h S_h, the smallest variance of a stratified mean for `total` units; S_h are standard deviations.

    Proportional, and `fallback` says so, where all S_h are 0: from a pilot without any discordance nothing can be
    learned. `InvalidData` as in `proportional_allocation`, and for a spread that is negative or not finite.

    Source: Neyman, Journal of the Royal Statistical Society 97:558 (1934); Cochran, Sampling Techniques (1977), section
    5.5. A stratum of S = .3 gets half as much as one of its size with S = .6:

    >>> neyman_allocation(90, [500, 500], [0.3, 0.6]).counts
    (30, 60)
    """
    deviation = as_numbers(spreads, "spreads")
    if deviation.shape != (len(sizes),) or not (np.isfinite(deviation) & (deviation >= 0)).all():
        raise InvalidData(
            f"spreads must be {len(sizes)} finite numbers from 0, got {shown(list(spreads))}: one a stratum"
        )
    if not (as_numbers(sizes, "sizes") * deviation > 0).any():
        flat = proportional_allocation(total, sizes, minimum=minimum, caps=caps)
        return Allocation(flat.exact, flat.counts, "proportional")
    return allocate(total, sizes, as_numbers(sizes, "sizes") * deviation, minimum=minimum, caps=caps)


def allocate(
    total: int, sizes: Sequence[int], shares: ArrayLike, *, minimum: int = 2, caps: Sequence[int] | None = None
) -> Allocation:
    """Return units in proportion to any `shares` (from 0), capped, re-allocated and rounded as this module says.

    What strata with a share cannot take goes to the others by size. `InvalidData` as in `proportional_allocation`.

    >>> allocate(10, [2, 50, 50], [0.5, 0.25, 0.25]).counts
    (2, 4, 4)
    """
    size = as_labels(sizes, "sizes")
    check_count(total, "a total", 0, MOST_COUNTED)
    check_count(minimum, "a minimum", 0, MOST_COUNTED)
    weight = as_numbers(shares, "shares")
    upper = size if caps is None else _capped(size, as_labels(caps, "caps"))
    _check(size, weight, upper)
    lower = np.minimum(minimum, upper)
    if total < lower.sum() or total > upper.sum():
        raise InvalidData(
            f"a total must lie between {lower.sum()} (minimums) and {upper.sum()} (caps), got {total}: change it"
        )
    exact = _fill(total, weight, size, np.zeros_like(upper), upper)
    bounded = _fill(total, weight, size, lower, upper)
    return Allocation(tuple(float(v) for v in exact), _round(bounded, total, size, upper))


def _fill(
    total: int, weight: FloatArray, size: NDArray[np.int64], lower: NDArray[np.int64], upper: NDArray[np.int64]
) -> FloatArray:
    """Return k · weight cut to lower..upper with the k that sums to the total; the rest goes by size."""
    held = np.where(weight > 0, upper, lower)
    if held.sum() < total:  # every stratum with a share is full
        rest = np.where(weight > 0, 0.0, size.astype(np.float64))
        return _scaled(float(total), rest, np.where(weight > 0, upper, lower), upper)
    return _scaled(float(total), weight, lower, upper)


def _scaled(total: float, weight: FloatArray, lower: NDArray[np.int64], upper: NDArray[np.int64]) -> FloatArray:
    """Return clip(k · weight, lower, upper) that sums to the total: k is linear between the places where one is cut."""
    active = weight > 0
    if not active.any():
        return lower.astype(np.float64)

    def taken(k: float) -> FloatArray:
        return np.where(active, np.clip(k * weight, lower, upper), lower)

    breaks = np.unique(np.concatenate([lower[active] / weight[active], upper[active] / weight[active], [0.0]]))
    sums = np.array([taken(k).sum() for k in breaks])
    place = int(np.searchsorted(sums, total))
    if place >= len(breaks) or place == 0:
        return taken(float(breaks[min(place, len(breaks) - 1)]))
    low, high = float(sums[place - 1]), float(sums[place])
    step = 0.0 if high == low else (total - low) / (high - low)
    return taken(float(breaks[place - 1] + step * (breaks[place] - breaks[place - 1])))


def _round(exact: FloatArray, total: int, size: NDArray[np.int64], upper: NDArray[np.int64]) -> tuple[int, ...]:
    """Return whole numbers by the largest remainder; ties to the larger stratum, then to the first."""
    nearest = np.round(exact)
    settled = np.where(np.abs(exact - nearest) < 1e-9, nearest, exact)
    counts = np.minimum(np.floor(settled), upper).astype(np.int64)
    order = np.lexsort((np.arange(len(size)), -size, -np.round(settled - counts, 9)))
    left = total - int(counts.sum())
    for index in order[:left]:
        counts[index] += 1
    return tuple(int(count) for count in counts)


def _capped(size: NDArray[np.int64], caps: NDArray[np.int64]) -> NDArray[np.int64]:
    if caps.shape != size.shape or caps.dtype.kind not in "iu" or size.dtype.kind not in "iu":
        raise InvalidData(f"caps must be whole numbers from 0, one a stratum, got {shown(caps.tolist())}: correct them")
    return np.minimum(size, caps)


def _check(size: NDArray[np.int64], weight: FloatArray, upper: NDArray[np.int64]) -> None:
    if size.ndim != 1 or len(size) == 0 or size.dtype.kind not in "iu" or (size < 0).any():
        raise InvalidData(
            f"sizes must be whole numbers from 0, one a stratum, got {shown(size.tolist())}: count the strata"
        )
    if weight.shape != size.shape or not (np.isfinite(weight) & (weight >= 0)).all() or not (weight > 0).any():
        raise InvalidData(
            f"shares must be finite numbers from 0, not all 0, got {shown(weight.tolist())}: one a stratum"
        )
    if upper.shape != size.shape or (upper < 0).any():
        raise InvalidData(
            f"caps must be whole numbers from 0, one a stratum, got {shown(upper.tolist())}: correct them"
        )
