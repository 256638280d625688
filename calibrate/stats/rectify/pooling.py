"""Strata of an audit pooled by verdict, and their limits (PJM), on arrays with leading axes of trials or proxies.

The formulas and their sources stand in `calibrate.stats.rectify.audited`. nan marks a trial without a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.stats.checking import as_labels, as_numbers, shown
from calibrate.stats.intervals import check_level, normal_quantile

FloatArray = NDArray[np.float64]
Target = Literal["finite", "tasks"]

TARGETS: Mapping[Target, str] = {"finite": "these episodes", "tasks": "new tasks of the same domains"}


@dataclass(frozen=True, slots=True)
class PooledVerdicts:
    """Verdict classes pooled over domains. Axes: (…, class), (…, domain), (…); nan where a trial is undefined.

    size: effective audited episodes; inf where a census leaves nothing open.
    """

    weight: FloatArray
    share: FloatArray
    size: FloatArray
    value: FloatArray
    domain_weight: FloatArray
    domain_value: FloatArray
    domain_judged: FloatArray


def pool_verdicts(
    judged: ArrayLike,
    audited: ArrayLike,
    passed: ArrayLike,
    *,
    verdict: ArrayLike,
    domain: ArrayLike,
    domain_weights: ArrayLike | None = None,
    finite: bool = True,
) -> PooledVerdicts:
    """Return p_v, W_v and n_v of each verdict class, for counts of shape (…, stratum).

    `verdict` and `domain`, shape (stratum,), hold codes from 0; `domain_weights`, shape (domain,), sum to 1, None =
    by judged episodes. `finite` keeps (N − n)/(N − 1) in n_v. nan where a stratum of positive weight has no audited
    episode, or a domain of positive weight no judged one. `InvalidData` for counts that are not 0 ≤ passed ≤ audited ≤
    judged, for codes and for weights.

    >>> pooled = pool_verdicts([100, 50], [20, 50], [18, 5], verdict=[1, 0], domain=[0, 0])
    >>> pooled.share.round(3).tolist(), pooled.size.round(3).tolist()
    ([0.1, 0.9], [inf, 24.75])
    """
    big, small, hits = _counts(judged, audited, passed)
    in_class, in_domain = membership(verdict, big.shape[-1], "verdict"), membership(domain, big.shape[-1], "domain")
    per_domain = big @ in_domain
    omega = _domain_weights(domain_weights, per_domain)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(omega > 0, omega / per_domain, 0.0)  # inf where a domain of positive weight is empty
        weight = big * (scale @ in_domain.T)
        needed = weight > 0
        hit, miss = (np.where(needed, count / small, 0.0) for count in (hits, small - hits))
        left = np.where(big > 1, (big - small) / np.maximum(big - 1, 1), 0.0) if finite else np.ones_like(big)
        spread = np.where(needed, weight**2 * left / small, 0.0) @ in_class
        class_weight = weight @ in_class
        hit_sum, miss_sum = (weight * hit) @ in_class, (weight * miss) @ in_class
        share = np.where(miss_sum == 0, 1.0, hit_sum / (hit_sum + miss_sum))
        size = np.where(spread > 0, class_weight**2 / spread, np.inf)
        domain_value = ((big * hit) @ in_domain) / per_domain
    value = np.clip((class_weight * np.where(class_weight > 0, share, 0.0)).sum(axis=-1), 0.0, 1.0)
    open_ = (needed & (small == 0)).any(axis=-1) | ((omega > 0) & (per_domain == 0)).any(axis=-1)
    open_ |= per_domain.sum(axis=-1) == 0
    return PooledVerdicts(
        weight=class_weight, share=share, size=size, value=np.where(open_, np.nan, value), domain_weight=omega,
        domain_value=np.clip(domain_value, 0.0, 1.0), domain_judged=per_domain,
    )  # fmt: skip


def pjm_limits(
    judged: ArrayLike,
    audited: ArrayLike,
    passed: ArrayLike,
    *,
    verdict: ArrayLike,
    domain: ArrayLike,
    domain_weights: ArrayLike | None = None,
    target: Target = "finite",
    level: float = 0.95,
    tasks: ArrayLike | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return (value, low, high), each of shape (…), for counts of shape (…, stratum): audited UFS by PJM.

    `verdict`: code of each stratum's class (0 judge fail, 1 judge pass, 2 flagged). Target *finite*: these judged
    episodes, an audit of all of them has low = value = high. Target *tasks* adds ω_d² (θ_d − Wilson(θ_d, N_d))² inside
    the roots; with several rollouts a task N_d is `tasks`, shape (…, domain). Limits are cut at 0 and 1. nan as in
    `pool_verdicts`, which says what is refused.

    >>> value, low, high = pjm_limits([55, 96], [20, 17], [20, 2], verdict=[1, 0], domain=[0, 0])
    >>> f"{value:.4f} {low:.4f} {high:.4f}"
    '0.4390 0.3761 0.5581'
    """
    check_target(target, level)
    pooled = pool_verdicts(judged, audited, passed, verdict=verdict, domain=domain, domain_weights=domain_weights)
    return pooled.value, *mover_limits(pooled, target=target, level=level, tasks=tasks)


def mover_limits(
    pooled: PooledVerdicts, *, target: Target = "finite", level: float = 0.95, tasks: ArrayLike | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return PJM limits, each of shape (…), of pooled classes (their sizes may hold a design effect).

    Zou and Donner (2008). nan where the value is. `InvalidData` for another target or level.

    >>> pooled = pool_verdicts([55, 96], [20, 17], [20, 2], verdict=[1, 0], domain=[0, 0])
    >>> [round(float(limit), 4) for limit in mover_limits(pooled, target="tasks")]
    [0.3399, 0.5823]
    """
    check_target(target, level)
    low, high = jeffreys_limits(pooled.share, pooled.size, level)
    below = ((pooled.weight * (pooled.share - low)) ** 2).sum(axis=-1)
    above = ((pooled.weight * (high - pooled.share)) ** 2).sum(axis=-1)
    if target == "tasks":
        units = pooled.domain_judged if tasks is None else _task_counts(tasks, pooled.domain_judged)
        theta = np.where(pooled.domain_weight > 0, np.nan_to_num(pooled.domain_value), 0.0)
        under, over = _wilson_reach(theta, units, level)
        below = below + ((pooled.domain_weight * under) ** 2).sum(axis=-1)
        above = above + ((pooled.domain_weight * over) ** 2).sum(axis=-1)
    return np.maximum(pooled.value - np.sqrt(below), 0.0), np.minimum(pooled.value + np.sqrt(above), 1.0)


def jeffreys_limits(share: ArrayLike, size: ArrayLike, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Return Jeffreys limits of shares at effective sizes, elementwise; 0 at share 0, 1 at share 1, share at size inf.

    Quantiles of Beta(p n + ½, (1 − p) n + ½): Brown, Cai and DasGupta (2001), section 4.3. An undefined (nan) share is
    given back. `InvalidData` for a level outside (0, 1). statsmodels' proportion_confint gives [.011, .381] for 1 of
    10.

    >>> [round(float(limit), 3) for limit in jeffreys_limits(0.1, 10.0)]
    [0.011, 0.381]
    """
    from scipy.special import betaincinv

    check_target("finite", level)
    p, n = _together(as_numbers(share, "shares", ndim=None), as_numbers(size, "sizes", ndim=None))
    if not (((p >= 0) & (p <= 1)) | np.isnan(p)).all() or (n < 0).any():
        raise InvalidData("shares must lie in 0..1 and sizes be from 0 (nan where undefined): correct them")
    low, high = p.copy(), p.copy()
    open_ = np.isfinite(n) & np.isfinite(p)
    a, b = p[open_] * n[open_] + 0.5, (1.0 - p[open_]) * n[open_] + 0.5
    low[open_], high[open_] = betaincinv(a, b, (1 - level) / 2), betaincinv(a, b, (1 + level) / 2)
    return np.minimum(low, p), np.maximum(high, p)  # 0 and 1 stay; where p n is near 0 a quantile may lie beyond p


# -------------------------------------------------------------------------------------------------------------- checks


def _counts(judged: ArrayLike, audited: ArrayLike, passed: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    big, small, hits = _together(*(as_numbers(a, "counts", ndim=None) for a in (judged, audited, passed)))
    if big.ndim < 1 or big.shape[-1] == 0:
        raise InvalidData("counts need an axis of strata with at least one stratum: give arrays (…, stratum)")
    if (
        not ((hits >= 0) & (hits <= small) & (small <= big) & np.isfinite(big)).all()
        or ((big % 1 != 0) | (small % 1 != 0) | (hits % 1 != 0)).any()
    ):
        raise InvalidData("counts must be whole numbers with 0 ≤ passed ≤ audited ≤ judged: count the episodes again")
    return big, small, hits


def _together(*arrays: FloatArray) -> tuple[FloatArray, ...]:
    """Return arrays of one shape."""
    try:
        return tuple(np.broadcast_arrays(*arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise InvalidData(f"counts must be of one shape, got {shapes}: give one of each for every stratum") from None


def membership(codes: ArrayLike, strata: int, what: str) -> FloatArray:
    """Return which group each stratum belongs to, shape (stratum, group), as 0 and 1, from codes from 0.

    `InvalidData`, which calls them `what`, for codes of another number, kind or sign.

    >>> membership([1, 0, 1], 3, "verdict").tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    """
    given = as_labels(codes, f"{what} codes")
    if given.shape != (strata,) or given.dtype.kind not in "iub" or (given.astype(np.int64) < 0).any():
        got = shown(given.tolist())
        raise InvalidData(f"{what} codes must be {strata} whole numbers from 0, one a stratum, got {got}: recode them")
    whole = given.astype(np.int64)
    return np.asarray(whole[:, None] == np.arange(int(whole.max()) + 1), dtype=np.float64)


def _domain_weights(weights: ArrayLike | None, per_domain: FloatArray) -> FloatArray:
    if weights is None:
        total = per_domain.sum(axis=-1, keepdims=True)
        return np.asarray(per_domain / np.where(total > 0, total, 1.0))
    omega = as_numbers(weights, "domain weights", ndim=None)
    if (
        omega.shape[-1:] != per_domain.shape[-1:]
        or not (omega >= 0).all()
        or not np.allclose(omega.sum(-1), 1.0, 0, 1e-6)
    ):
        raise InvalidData(
            f"domain weights must be {per_domain.shape[-1]} numbers from 0 that sum to 1, got {shown(omega.tolist())}: "
            "divide them by their sum"
        )
    return np.broadcast_to(omega, per_domain.shape)


def _task_counts(tasks: ArrayLike, per_domain: FloatArray) -> FloatArray:
    units = as_numbers(tasks, "tasks", ndim=None)
    if (
        units.shape[-1:] != per_domain.shape[-1:]
        or not ((units <= per_domain) & ((units > 0) | (per_domain == 0))).all()
    ):
        raise InvalidData(
            f"tasks of a domain must be between 1 and its judged episodes, got {shown(units.tolist())} tasks for "
            f"{shown(per_domain.tolist())} episodes: count the tasks again"
        )
    return np.broadcast_to(units, per_domain.shape)


def check_target(target: str, level: float) -> None:
    """Refuse (`InvalidData`) a target that is not in `TARGETS` and a level outside (0, 1).

    >>> check_target("everything", 0.95)
    Traceback (most recent call last):
    annotate.errors.InvalidData: an audit's target must be one of finite, tasks, got 'everything': choose one of them
    """
    if target not in TARGETS:
        raise InvalidData(f"an audit's target must be one of {', '.join(TARGETS)}, got {target!r}: choose one of them")
    check_level(level)


def _wilson_reach(theta: FloatArray, units: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return how far Wilson's limits lie below and above shares at `units`; 0 where there is no unit."""
    z = normal_quantile(level)
    n = np.where(units > 0, units, 1.0)
    middle = (theta + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(theta * (1 - theta) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    below, above = theta - (middle - half), middle + half - theta
    none = units <= 0
    return (
        np.where(none | (theta <= 0), 0.0, np.maximum(below, 0.0)),
        np.where(none | (theta >= 1), 0.0, np.maximum(above, 0.0)),
    )
