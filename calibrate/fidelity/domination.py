"""The cost-fidelity frontier and the operating point U*(q) = argmin cost subject to UFS ≥ q.

Strict domination: another proxy is cheaper and more faithful. Pareto's: another is no dearer and no less faithful, and
better in one. Values that differ by no more than `TOLERANCE` are equal, so that 0.1 + 0.2 meets q = 0.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from annotate.errors import InputError
from calibrate.fidelity.results import Frontier

TOLERANCE = 1e-12  # of costs in US dollars and of UFS: below it two sums of the same figures may differ by their order
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Point = tuple[float | None, float | None]
"""Cost (US dollars, None or nan where unknown; 0 is a cost) and UFS (None or nan where undefined)."""


def frontier(points: Mapping[str, Point], excluded: Mapping[str, str] | None = None) -> Frontier:
    """Return who is dominated and by whom (strictly), by cost and then name; `dominated_by` names in their own order.

    A proxy without a cost or a UFS takes no part, nor does one of `excluded` (proxy → reason). Raises InputError for a
    negative cost.
    """
    known, left_out = taking_part(points, excluded or {})
    cost = np.array([known[name][0] for name in known])
    ufs = np.array([known[name][1] for name in known])
    strict, pareto = dominators(cost, ufs), dominators(cost, ufs, pareto=True)
    beaten = {"strict": np.asarray(strict.any(axis=1)), "pareto": np.asarray(pareto.any(axis=1))}
    names = list(known)

    def chosen(marks: BoolArray) -> tuple[str, ...]:
        return tuple(name for name, mark in zip(names, marks, strict=True) if mark)

    return Frontier(
        strict=chosen(~beaten["strict"]),
        pareto=chosen(~beaten["pareto"]),
        strictly_dominated=chosen(beaten["strict"]),
        pareto_dominated=chosen(beaten["pareto"]),
        dominated_by={name: tuple(sorted(chosen(strict[at]))) for at, name in enumerate(names) if strict[at].any()},
        excluded=left_out,
    )


def operating_point(points: Mapping[str, Point], q: float, excluded: Mapping[str, str] | None = None) -> str | None:
    """Return the cheapest proxy with UFS ≥ q (q inclusive), then the more faithful, then by name; None where none is.

    Raises InputError for a negative cost.
    """
    known = dict(sorted(taking_part(points, excluded or {})[0].items()))
    cost = np.array([known[name][0] for name in known])
    ufs = np.array([known[name][1] for name in known])
    at = int(cheapest(cost, ufs[np.newaxis], q)[0])
    return list(known)[at] if at >= 0 else None


def taking_part(
    points: Mapping[str, Point], excluded: Mapping[str, str]
) -> tuple[dict[str, tuple[float, float]], dict[str, str]]:
    """Return cost and UFS of the proxies that have both, by cost and then name, and why the others have not."""
    known: dict[str, tuple[float, float]] = {}
    left_out: dict[str, str] = {}
    for name in sorted(points):
        cost, ufs = (_known(value) for value in points[name])
        if cost is not None and cost < 0:
            raise InputError(f"proxy {name!r}: cost {cost!r} is below 0, a cost must be >= 0: correct the price.")
        if name in excluded:
            left_out[name] = excluded[name]
        elif cost is None or ufs is None:
            unknown = [what for what, value in (("cost", cost), ("UFS", ufs)) if value is None]
            left_out[name] = f"{' and '.join(unknown)} unknown"
        else:
            known[name] = (cost, ufs)
    return dict(sorted(known.items(), key=lambda item: (item[1][0], item[0]))), left_out


def dominators(cost: FloatArray, ufs: FloatArray, *, pareto: bool = False) -> BoolArray:
    """Return whether proxy i is dominated by proxy j, shape (…, i, j); `cost` is (proxy,), `ufs` (…, proxy)."""
    cheaper = cost[np.newaxis, :] < cost[:, np.newaxis] - TOLERANCE
    dearer = cost[np.newaxis, :] > cost[:, np.newaxis] + TOLERANCE
    higher = ufs[..., np.newaxis, :] > ufs[..., :, np.newaxis] + TOLERANCE
    if not pareto:
        return np.asarray(cheaper & higher)
    lower = ufs[..., np.newaxis, :] < ufs[..., :, np.newaxis] - TOLERANCE
    return np.asarray(~dearer & ~lower & (cheaper | higher))


def cheapest(cost: FloatArray, ufs: FloatArray, q: float) -> NDArray[np.int64]:
    """Return per row of `ufs` (row, proxy) the position of the operating point, −1 where no proxy reaches q.

    Among equal cost and UFS the first position wins: order the proxies by name.
    """
    rows = len(ufs)
    if not len(cost):
        return np.full(rows, -1, dtype=np.int64)
    meets = ufs >= q - TOLERANCE
    least = np.where(meets, cost, np.inf).min(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        tied = meets & (cost <= least + TOLERANCE)
    best = np.where(tied, ufs, -np.inf).max(axis=1, keepdims=True)
    winner = np.argmax(tied & (ufs >= best - TOLERANCE), axis=1)
    return np.where(meets.any(axis=1), winner, -1).astype(np.int64)


def _known(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
