"""Draws of audited UFS (PJ): for differences of proxies and for the frontier, alone or with bootstrapped tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.stats.checking import as_numbers, check_count
from calibrate.stats.rectify.pooling import PooledVerdicts, Target, check_target, membership, pool_verdicts

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def pj_draws(
    judged: ArrayLike,
    audited: ArrayLike,
    passed: ArrayLike,
    *,
    verdict: ArrayLike,
    domain: ArrayLike,
    domain_weights: ArrayLike | None = None,
    target: Target = "finite",
    rng: Generator,
    draws: int = 1000,
    resampled: ArrayLike | None = None,
) -> FloatArray:
    """Return draws of θ, shape (draw, …): p_v* ~ Beta(p_v n_v + ½, (1 − p_v) n_v + ½) at the verdict shares W_v.

    For *finite* a class audited in full is fixed. For *tasks* n_v is without finite-population factor, and the verdict
    shares come from `resampled`, shape (draw, …, stratum): judged episodes of each stratum in a bootstrap of the tasks
    (`task_bootstrap` makes it, paired over proxies); None = one judged episode a task, drawn here. Draws depend on the
    order of strata and classes: sort them (as `audited_ufs` does). nan where the value is undefined.

    >>> import numpy as np
    >>> theta = pj_draws(
    ...     [55, 96], [20, 17], [20, 2], verdict=[1, 0], domain=[0, 0], rng=np.random.default_rng(1), draws=4000
    ... )
    >>> theta.shape, bool(abs(theta.mean() - 0.44) < 0.02)
    ((4000,), True)
    """
    check_target(target, 0.95)
    check_count(draws, "draws")
    groups: dict[str, Any] = {"verdict": verdict, "domain": domain, "domain_weights": domain_weights}
    pooled = pool_verdicts(judged, audited, passed, **groups, finite=target == "finite")
    share = _drawn_shares(pooled, rng, draws)
    weight = pooled.weight
    if target == "tasks":
        weight = _drawn_weights(np.asarray(judged), pooled, verdict, domain, rng, draws, resampled)
    theta = np.clip((weight * share).sum(axis=-1), 0.0, 1.0)
    return np.where(np.isnan(pooled.value), np.nan, theta)


def task_bootstrap(
    stratum: ArrayLike, task: ArrayLike, domain: ArrayLike, strata: int, rng: Generator, draws: int
) -> IntArray:
    """Return judged episodes of each stratum in bootstraps of the tasks within domains, shape (draw, proxy, stratum).

    `stratum`, shape (proxy, episode), holds each episode's stratum code for every proxy, −1 where that proxy has no
    verdict; `task` and `domain`, shape (episode,), say where the episode belongs. All proxies and rollouts of a task
    are drawn together, so that differences are paired. `InvalidData` where shapes do not fit, a code is not in
    −1..strata − 1 or a task lies in two domains.

    >>> import numpy as np
    >>> counts = task_bootstrap([[0, 1, 1]], ["t1", "t2", "t3"], ["a", "a", "a"], 2, np.random.default_rng(1), 500)
    >>> counts.shape, counts.sum(axis=-1).max().item()
    ((500, 1, 2), 3)
    """
    from calibrate.stats.resample import cluster_codes

    given = np.atleast_2d(as_numbers(stratum, "stratum codes", ndim=None))
    if given.ndim != 2 or not np.isfinite(given).all() or (given % 1 != 0).any():
        raise InvalidData("stratum codes are whole numbers from -1, shape (proxy, episode): recode them")
    codes = given.astype(np.int64)
    check_count(draws, "draws")
    check_count(strata, "strata")
    tasks, count = cluster_codes(task)
    domains, _ = cluster_codes(domain)
    if codes.shape[1] != len(tasks) or len(tasks) != len(domains) or draws < 1:
        raise InvalidData(
            f"every episode needs a stratum, a task and a domain, got {codes.shape[1]}, {len(tasks)} and {len(domains)}"
            f" for {draws} draws: give arrays of one length"
        )
    if codes.size and (codes.min() < -1 or codes.max() >= strata):
        raise InvalidData(f"stratum codes run from -1 to {strata - 1}, got {codes.min()}..{codes.max()}: recode them")
    home = np.full(count, -1)
    home[tasks] = domains
    if (home[tasks] != domains).any():
        raise InvalidData("a task belongs to one domain, but one lies in two: name tasks apart by domain")
    held = np.zeros((count, codes.shape[0], strata), dtype=np.int64)
    proxies, episodes = np.nonzero(codes >= 0)
    np.add.at(held, (tasks[episodes], proxies, codes[proxies, episodes]), 1)
    order = sorted(range(count), key=lambda one: held[one].ravel().tolist())  # the same for any order of the episodes
    times = np.zeros((draws, count), dtype=np.int64)
    for own in _by_domain(order, home):
        times[:, own] = rng.multinomial(len(own), np.full(len(own), 1.0 / len(own)), size=draws)
    return np.asarray(np.tensordot(times, held, axes=(1, 0)), dtype=np.int64)


def _by_domain(order: list[int], home: IntArray) -> list[list[int]]:
    """Return the tasks of each domain, both in the given order of tasks."""
    groups: dict[int, list[int]] = {}
    for task in order:
        groups.setdefault(int(home[task]), []).append(task)
    return list(groups.values())


def _drawn_shares(pooled: PooledVerdicts, rng: Generator, draws: int) -> FloatArray:
    """Return p_v*, shape (draw, …, class); what a census fixes, or what has no weight, stays."""
    open_ = np.isfinite(pooled.size) & np.isfinite(pooled.share) & (pooled.weight > 0)
    size = np.where(open_, pooled.size, 1.0)
    share = np.where(open_, pooled.share, 0.5)
    drawn = rng.beta(share * size + 0.5, (1.0 - share) * size + 0.5, size=(draws, *size.shape))
    return np.where(open_, drawn, pooled.share)


def _drawn_weights(
    judged: NDArray[np.generic],
    pooled: PooledVerdicts,
    verdict: ArrayLike,
    domain: ArrayLike,
    rng: Generator,
    draws: int,
    resampled: ArrayLike | None,
) -> FloatArray:
    """Return W_v*, shape (draw, …, class), from resampled tasks; domains keep their weight."""
    big = np.asarray(judged, dtype=np.float64)
    in_class, in_domain = membership(verdict, big.shape[-1], "verdict"), membership(domain, big.shape[-1], "domain")
    if resampled is None:
        counts = np.zeros((draws, *big.shape))
        for own in (np.flatnonzero(column) for column in in_domain.T):
            total = big[..., own].sum(axis=-1)
            odds = np.where(total[..., None] > 0, big[..., own] / np.maximum(total, 1)[..., None], 1.0 / len(own))
            size = (draws, *total.shape)
            counts[..., own] = rng.multinomial(total.astype(np.int64), odds, size=size)
    else:
        counts = np.asarray(resampled, dtype=np.float64)
        if counts.shape != (draws, *big.shape):
            raise InvalidData(
                f"resampled counts must have the shape (draw, …, stratum) = {(draws, *big.shape)}, got {counts.shape}: "
                "draw them for the same strata"
            )
    per_domain = counts @ in_domain
    scale = np.where(per_domain > 0, pooled.domain_weight / np.maximum(per_domain, 1.0), 0.0)
    return np.asarray((counts * (scale @ in_domain.T)) @ in_class)
