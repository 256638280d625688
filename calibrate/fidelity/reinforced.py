"""What is reinforced: of the episodes with full reward, do agents do less where the user tells all at once?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrate.estimate import Estimate, Undefined
from calibrate.fidelity.effects import MIN_SIDE, full_reward, task_labels, with_and_without
from calibrate.fidelity.results import Question, Reinforced
from calibrate.stats.intervals import t_quantile
from calibrate.stats.resample import cluster_codes

if TYPE_CHECKING:
    import pandas as pd
    from numpy.random import Generator

    from calibrate.fidelity.scoring import Scored

FloatArray = NDArray[np.float64]

FAMILY = "premature_disclosure"


def reinforced(scored: Scored, question: Question, rng: Generator | None = None) -> tuple[Reinforced, ...]:
    """Return, per proxy, the agent's tool calls and questions on successful episodes: over-disclosing minus not.

    Successful is a reward ≥ 1 − 1e-9; over-disclosing an episode that fails a criterion of premature disclosure. Tasks
    differ between the two sides, so what a task needs stays in. Below five episodes a side there is no value. Nothing
    is drawn from `rng`.
    """
    kept = with_and_without(scored, FAMILY)
    kept = kept[full_reward(kept)]
    found = []
    for proxy in scored.proxies:
        own = kept[kept["proxy"].astype(str) == proxy]
        calls, questions = (
            _difference(own, column, question.level) for column in ("agent_tool_calls", "agent_questions")
        )
        found.append(Reinforced(proxy=proxy, tool_calls=calls, questions=questions))
    return tuple(found)


def _difference(rows: pd.DataFrame, column: str, level: float) -> Estimate:
    """Return the mean of a count with over-disclosure minus without."""
    name = f"{column.replace('_', ' ')}, over-disclosing minus not"
    known = rows[np.isfinite(rows[column].to_numpy(np.float64))]
    y, exposed = known[column].to_numpy(np.float64), known["occurred"].to_numpy(bool)
    n1, n0 = int(exposed.sum()), int((~exposed).sum())
    common: dict[str, Any] = {"name": name, "n": n1 + n0, "level": level, "extra": {"with": n1, "without": n0}}
    if min(n1, n0) < MIN_SIDE:
        reason = (
            f"{n1} successful episodes with and {n0} without over-disclosure, at least {MIN_SIDE} of each are needed"
        )
        return Estimate.undefined(reason=reason, **common)
    tasks = task_labels(known)
    repeated = len(np.unique(tasks)) < len(tasks)
    value = float(y[exposed].mean() - y[~exposed].mean())
    spread = _by_task(y, exposed, tasks) if repeated else _welch(y, exposed)
    common |= {"value": value, "clusters": len(np.unique(tasks)), "target": "new tasks, this proxy and agent"}
    if isinstance(spread, Undefined):
        return Estimate(interval_reason=spread.reason, **common)
    se, df = spread
    reach = t_quantile(level, df) * se
    method = f"cluster t by task, {df:.0f} df" if repeated else f"Welch's t, {df:.1f} df"
    return Estimate(low=value - reach, high=value + reach, method=method, **common)


def _welch(y: FloatArray, exposed: NDArray[np.bool_]) -> tuple[float, float] | Undefined:
    """Return Welch's standard error of the difference of means and Satterthwaite's degrees of freedom."""
    sides = [y[exposed], y[~exposed]]
    parts = np.array([side.var(ddof=1) / len(side) for side in sides])
    if parts.sum() <= 0.0:
        return Undefined("the count is the same in all episodes of a side: its spread cannot be told")
    df = parts.sum() ** 2 / sum(part**2 / (len(side) - 1) for part, side in zip(parts, sides, strict=True))
    return float(np.sqrt(parts.sum())), float(df)


def _by_task(y: FloatArray, exposed: NDArray[np.bool_], tasks: NDArray[np.int64]) -> tuple[float, float] | Undefined:
    """Return the standard error where rollouts of a task depend on each other, on both sides too; df by the rarer side.

    A task's influence is the sum of its deviations from their side's mean, over the side's size, with the sign of the
    side; the variance is the sum of squared influences, times G/(G − 1).
    """
    codes, count = cluster_codes(tasks)
    influence = np.zeros(count)
    for side, sign in ((exposed, 1.0), (~exposed, -1.0)):
        apart = sign * (y[side] - y[side].mean()) / side.sum()
        influence += np.bincount(codes[side], weights=apart, minlength=count)
    fewest = min(len(np.unique(codes[exposed])), len(np.unique(codes[~exposed])))
    variance = count / max(1, count - 1) * float((influence**2).sum())
    if fewest < 2 or variance <= 0.0:
        return Undefined("one task only on a side, or no spread between tasks: its spread cannot be told")
    return float(np.sqrt(variance)), float(fewest - 1)
