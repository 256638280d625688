"""Stratified samples where a unit costs more in one stratum than in another: n_h ∝ N_h S_h/√c_h.

Sizes N_h, standard deviations S_h and costs c_h of one unit are of shape (stratum,). With equal costs this is Neyman's
allocation (`calibrate.stats.rectify.allocation`), which also rounds, caps and keeps minimums here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.estimate import Undefined
from calibrate.stats.rectify.allocation import Allocation, allocate

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CostedAllocation:
    """Units to draw and what they cost together, in the unit of `costs`."""

    allocation: Allocation
    cost: float


def neyman_with_costs(
    total: int, sizes: Sequence[int], spreads: Sequence[float], costs: Sequence[float], *, minimum: int = 2
) -> CostedAllocation:
    """Return `total` units by n_h ∝ N_h S_h/√c_h: the smallest variance for what they cost.

    Without any spread, in proportion to N_h/√c_h.

    Raises:
        InvalidData: a spread below 0, a cost that is not above 0, a total outside what minimums and sizes allow.

    Cochran, Sampling Techniques (1977), exercise 5.2: shares .4 and .6, S = 10 and 20, costs 4 and 9 give one third and
    two thirds:

    >>> found = neyman_with_costs(264, [4000, 6000], [10, 20], [4, 9])
    >>> found.allocation.counts, found.cost
    ((88, 176), 1936.0)
    """
    spread, cost = _numbers(spreads, "spreads", len(sizes)), _costs(costs, len(sizes))
    flat = not (np.asarray(sizes) * spread > 0).any()
    shares = np.asarray(sizes) * (1.0 if flat else spread) / np.sqrt(cost)
    found = allocate(total, sizes, shares, minimum=minimum)
    named = Allocation(found.exact, found.counts, "proportional" if flat else None)
    return CostedAllocation(named, float(np.asarray(found.counts) @ cost))


def within_budget(
    budget: float, sizes: Sequence[int], spreads: Sequence[float], costs: Sequence[float], *, minimum: int = 2
) -> CostedAllocation | Undefined:
    """Return the most units by `neyman_with_costs` that cost at most `budget`, in the unit of `costs`.

    Undefined where the budget does not pay the minimum of every stratum.

    Raises:
        InvalidData: as `neyman_with_costs`; a budget that is not a number from 0.

    Cochran (1977), exercise 5.2 turned round:

    >>> within_budget(1936, [4000, 6000], [10, 20], [4, 9]).allocation.counts
    (88, 176)
    """
    if not (np.isfinite(budget) and budget >= 0):
        raise InvalidData(f"a budget must be a number from 0, got {budget!r}: change it.")
    lowest, highest = int(np.minimum(minimum, np.asarray(sizes)).sum()), int(np.asarray(sizes).sum())

    def at(total: int) -> CostedAllocation:
        return neyman_with_costs(total, sizes, spreads, costs, minimum=minimum)

    if at(lowest).cost > budget:
        return Undefined(f"the budget does not pay {minimum} units of every stratum")
    while lowest < highest:
        middle = (lowest + highest + 1) // 2
        lowest, highest = (middle, highest) if at(middle).cost <= budget else (lowest, middle - 1)
    return at(lowest)


def n_for_variance(
    variance: float, weights: ArrayLike, spreads: Sequence[float], costs: Sequence[float]
) -> tuple[float, ...]:
    """Return n_h of the cheapest sample whose stratified mean has this variance: the strata taken as endless.

    n = Σ W_h S_h √c_h · Σ W_h S_h/√c_h / V, shared as W_h S_h/√c_h; W_h, shape (stratum,), are shares that sum to 1.

    Raises:
        InvalidData: a variance or cost not above 0, a spread below 0, none above 0, weights that do not sum to 1.

    Cochran (1977), equation 5.24 and exercise 5.2, V = 1 without the finite population correction:

    >>> [round(n, 6) for n in n_for_variance(1.0, [0.4, 0.6], [10, 20], [4, 9])]
    [88.0, 176.0]
    """
    weight = np.asarray(weights, dtype=np.float64)
    if weight.ndim != 1 or not (weight >= 0).all() or not np.isclose(weight.sum(), 1.0, 0, 1e-6):
        raise InvalidData(f"weights must be shares from 0 that sum to 1, got {weight.tolist()!r}: divide by their sum.")
    spread, cost = _numbers(spreads, "spreads", len(weight)), _costs(costs, len(weight))
    if not (np.isfinite(variance) and variance > 0) or not (weight * spread > 0).any():
        raise InvalidData(
            f"variance and some spread must be above 0, got {variance!r} and {list(spreads)!r}: give them."
        )
    shares = weight * spread / np.sqrt(cost)
    return tuple(float(n) for n in shares * (weight * spread * np.sqrt(cost)).sum() / variance)


def _numbers(values: Sequence[float], name: str, strata: int) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (strata,) or not (np.isfinite(array) & (array >= 0)).all():
        raise InvalidData(f"{name} must be {strata} finite numbers from 0, got {list(values)!r}: give one a stratum.")
    return array


def _costs(values: Sequence[float], strata: int) -> FloatArray:
    cost = _numbers(values, "costs", strata)
    if not (cost > 0).all():
        raise InvalidData(f"a unit costs more than 0 in every stratum, got {list(values)!r}: give the price of one.")
    return cost
