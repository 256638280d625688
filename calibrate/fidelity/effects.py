"""Does reward see a failure of the user? Reward of episodes with a failure family minus reward without.

First within tasks across proxies, so that hard tasks, in which users fail more and agents earn less, do not look like
an effect; then within each proxy and domain, which is the published comparison and lets difficulty in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from calibrate.estimate import Estimate, Undefined, fork, signature_of
from calibrate.fidelity.counting import completed
from calibrate.fidelity.results import Effect, Question
from calibrate.stats.intervals import normal_quantile
from calibrate.stats.resample import Replicates, cluster_codes, cluster_weights
from calibrate.stats.stratified import RiskDifference, risk_difference

if TYPE_CHECKING:
    import pandas as pd

    from calibrate.fidelity.scoring import Scored

FloatArray = NDArray[np.float64]
Cell = tuple[str, str, int, int, float]

FULL_REWARD = 1.0 - 1e-9
MIN_SIDE = 5  # episodes on either side of a cell
CELL_RULE = f"cells of a proxy and a domain with at least {MIN_SIDE} episodes on both sides"


def effects(scored: Scored, question: Question, rng: Generator) -> tuple[Effect, ...]:
    """Return what each failure family goes with: share of full reward (≥ 1 − 1e-9) with it minus without.

    Episodes that ran and had an applicable criterion count, whether or not a missing verdict keeps them from being
    scored: to take the scored ones only would keep those with any failure and drop the clean ones. One of unknown
    reward leaves, and one without a failing but with a missing verdict of the family: whether it occurred is not
    known. In the order of `scored.families`.
    """
    found = []
    for family in scored.families:
        kept = with_and_without(scored, family)
        passed = kept[np.isfinite(kept["reward"].to_numpy(np.float64))]
        found.append(_effect(family, passed, question, rng))
    return tuple(found)


def with_and_without(scored: Scored, family: str) -> pd.DataFrame:
    """Return the episodes that ran of which it is known whether the family occurred, with a column `occurred`."""
    rows = completed(scored)
    rows = rows[(rows["applicable"] > 0).to_numpy()]
    column = f"failed:{family}"
    if column not in rows.columns:
        return rows.iloc[:0].assign(occurred=False)
    occurred = rows[column].to_numpy(np.float64) > 0
    return rows.assign(occurred=occurred)[occurred | (rows[f"missing:{family}"] == 0).to_numpy()]


def full_reward(rows: pd.DataFrame) -> NDArray[np.bool_]:
    """Return whether each episode has full reward; False also where it is not known."""
    return np.asarray(rows["reward"].to_numpy(np.float64) >= FULL_REWARD)


def task_labels(rows: pd.DataFrame) -> NDArray[np.int64]:
    """Return a number for each episode's task; a task key of two domains is two tasks."""
    domain, _ = cluster_codes(rows["domain"].astype(str))
    task, tasks = cluster_codes(rows["task"].astype(str))
    return domain * tasks + task


def _effect(family: str, rows: pd.DataFrame, question: Question, rng: Generator) -> Effect:
    cells = _cells(rows)
    gaps = np.array([cell[4] for cell in cells])
    return Effect(
        family=family,
        within_task=_within_task(family, rows, question.level),
        cells=tuple(cells),
        cell_mean=_cell_mean(family, rows, cells, question, rng),
        cell_median=float(np.median(gaps)) if len(gaps) else None,
        signs=(int((gaps < -1e-12).sum()), int((np.abs(gaps) <= 1e-12).sum()), int((gaps > 1e-12).sum())),
    )


# ----------------------------------------------------------------------------------------------- within tasks


def _within_task(family: str, rows: pd.DataFrame, level: float) -> Estimate:
    name = f"reward with minus without {family}, within tasks"
    tasks, exposed = task_labels(rows), rows["occurred"].to_numpy(np.float64)
    counts: dict[str, Any] = {"with": int(exposed.sum()), "without": int(len(rows) - exposed.sum())}
    if not len(rows):
        return Estimate.undefined(name, "no episode with an applicable criterion and a known reward", n=0, level=level)
    made = risk_difference(full_reward(rows).astype(np.float64), exposed, tasks)
    if isinstance(made, Undefined):
        reason = "no task has episodes with and without it"
        return Estimate.undefined(name, reason, n=0, clusters=0, level=level, extra=counts)
    return _of_difference(name, made, counts, level)


def _of_difference(name: str, made: RiskDifference, counts: dict[str, Any], level: float) -> Estimate:
    limits, p = made.limits(level), made.p_value()
    interval: dict[str, Any] = (
        {"interval_reason": limits.reason}
        if isinstance(limits, Undefined)
        else {"low": limits.low, "high": limits.high}
    )
    return Estimate(
        name=name,
        value=made.value,
        n=made.n,
        clusters=made.strata,
        level=level,
        p_value=None if isinstance(p, Undefined) else p,
        method="Mantel–Haenszel difference by task across proxies, score limits on the larger of Sato's variance and "
        "the sandwich by task; full reward is ≥ 1 − 1e-9",
        target="new tasks, the same proxies; what else distinguishes proxies stays in",
        extra={**counts, "tasks_with_one_side_only": made.uninformative, "inflation": made.inflation},
        **interval,
    )


# ------------------------------------------------------------------------------------------- cells of the paper


def _cells(rows: pd.DataFrame) -> list[Cell]:
    """Return (proxy, domain, n with, n without, difference) of the cells that have enough episodes on both sides."""
    found: list[Cell] = []
    for (proxy, domain), own in rows.groupby(["proxy", "domain"], observed=True):
        passed, occurred = full_reward(own), own["occurred"].to_numpy(bool)
        n1, n0 = int(occurred.sum()), int((~occurred).sum())
        if min(n1, n0) >= MIN_SIDE:
            gap = float(passed[occurred].mean() - passed[~occurred].mean())
            found.append((str(proxy), str(domain), n1, n0, gap))
    return found


def _cell_mean(family: str, rows: pd.DataFrame, cells: list[Cell], question: Question, rng: Generator) -> Estimate:
    name, n = f"reward with minus without {family}, mean over cells", sum(n1 + n0 for _, _, n1, n0, _ in cells)
    common: dict[str, Any] = {"name": name, "n": n, "level": question.level, "extra": {"cells": len(cells)}}
    if not cells:
        reason = f"no proxy and domain with at least {MIN_SIDE} episodes on both sides"
        return Estimate.undefined(reason=reason, **common)
    child = fork(rng)
    signature = signature_of(child, question.resamples)
    replicates = Replicates.of(_resampled_cell_means(rows, cells, question.resamples, child))
    value, trouble = float(np.mean([cell[4] for cell in cells])), replicates.trouble()
    if trouble is not None:
        return Estimate(value=value, interval_reason=trouble.reason, **common)
    reach = normal_quantile(question.level) * float(replicates.values.std(ddof=1))
    return Estimate(
        value=value,
        low=max(-1.0, value - reach),
        high=min(1.0, value + reach),
        signature=signature,
        method=f"mean over {CELL_RULE}, z · SD* of a bootstrap over tasks, the same draw for all proxies",
        target="new tasks, these cells; the difficulty of tasks stays in",
        **common,
    )


@dataclass(frozen=True, slots=True)
class _Sums:
    """Per task of a domain, for each of its cells: passed and all episodes with and without, shape (task, cell)."""

    passed: tuple[FloatArray, FloatArray]
    size: tuple[FloatArray, FloatArray]


def _resampled_cell_means(rows: pd.DataFrame, cells: list[Cell], resamples: int, rng: Generator) -> FloatArray:
    """Return the mean over cells in each resample of tasks within domains, without cells that lost a side."""
    total, defined = np.zeros(resamples), np.zeros(resamples)
    for domain in sorted({cell[1] for cell in cells}):
        own = rows[rows["domain"].astype(str) == domain]
        sums = _task_sums(own, [cell[0] for cell in cells if cell[1] == domain])
        weights = cluster_weights(len(sums.size[0]), resamples, rng).astype(np.float64)
        sides = [(weights @ y, weights @ n) for y, n in zip(sums.passed, sums.size, strict=True)]
        present = (sides[0][1] > 0) & (sides[1][1] > 0)
        shares = [y / np.maximum(n, 1.0) for y, n in sides]
        total += np.where(present, shares[0] - shares[1], 0.0).sum(axis=1)
        defined += present.sum(axis=1)
    return np.where(defined > 0, total / np.maximum(defined, 1.0), np.nan)


def _task_sums(rows: pd.DataFrame, proxies: list[str]) -> _Sums:
    tasks, count = cluster_codes(rows["task"].astype(str))
    place = {proxy: index for index, proxy in enumerate(proxies)}
    cell = rows["proxy"].astype(str).map(place).to_numpy(np.float64)
    passed, occurred = full_reward(rows).astype(np.float64), rows["occurred"].to_numpy(bool)
    parts: list[FloatArray] = []
    for weight in (passed, np.ones(len(rows))):
        for side in (occurred, ~occurred):
            kept = side & np.isfinite(cell)
            flat = tasks[kept] * len(proxies) + cell[kept].astype(np.int64)
            sums = np.bincount(flat, weights=weight[kept], minlength=count * len(proxies))
            parts.append(np.asarray(sums, dtype=np.float64).reshape(count, len(proxies)))
    return _Sums(passed=(parts[0], parts[1]), size=(parts[2], parts[3]))
