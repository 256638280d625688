"""How many tasks would settle on which side of q a proxy lies."""

from __future__ import annotations

import math

import numpy as np

from calibrate.fidelity.means import TaskSums
from calibrate.fidelity.results import Question

DIGITS = 3  # UFS is printed with three


def needed_tasks(sums: TaskSums, proxy: str, question: Question) -> tuple[int | None, str]:
    """Return how many tasks would tell a proxy's UFS, as it is printed, from q, and in words what that means.

    n = (z · σ / |UFS − q|)², z of a one-sided limit at the question's level, σ² the variance of one task's mean; for
    the mean over domains n is spread evenly over them, σ² = mean of σ²_d, else by their shares. It is the n at which
    the limit would just reach q if the UFS stayed as printed, hence with an even chance. For .845 (UserProxyBench's
    Gemma-31B, one rollout a task) against .84 it is 13,950. None where the printed UFS is q, or undefined.
    """
    from scipy.special import ndtri

    at = sums.proxies.index(proxy)
    value = float(sums.over(question.basis)[at])
    if math.isnan(value):
        return None, f"the UFS of {proxy} is undefined"
    shown = round(value, DIGITS)
    printed = f"{value:.{DIGITS}f}".removeprefix("0")
    gap = abs(shown - question.q)
    if gap < 1e-9:
        return None, f"{proxy} lies on q as printed ({printed}): no number of tasks tells the two apart"
    z = float(ndtri(question.level))
    n = math.ceil(z**2 * _task_variance(sums, at, question) / gap**2 - 1e-9)
    spread = ", spread evenly over the domains" if question.basis == "domains" and len(sums.domains) > 1 else ""
    tasks = "task" if n == 1 else "tasks"
    return n, (
        f"{printed} against {short(question.q)} would need about {_rounded(n):,} {tasks}{spread} "
        f"(the one-sided {question.level * 100:g} % limit reaches q if the UFS stays as it is; 80 % power takes "
        f"{(1 + float(ndtri(0.8)) / z) ** 2:.1f} times as many)"
    )


def _task_variance(sums: TaskSums, proxy: int, question: Question) -> float:
    """Return the variance of one task's mean, domains evenly or by their shares of the episodes."""
    variances = sums.standard_errors()[proxy] ** 2 * sums.task_counts()[proxy]
    counts = sums.counts()[proxy]
    if question.basis == "domains":
        return float(variances.mean())
    shares = counts / counts.sum()
    return float((np.where(shares > 0, np.nan_to_num(variances), 0.0) * shares).sum())


def _rounded(n: int) -> int:
    """Return n with two significant digits."""
    return n if n < 100 else round(n, 2 - len(str(n)))


def short(value: float) -> str:
    """Return a limit of fidelity with as many decimals as it has, at least two: `.84`, `.855`, `1.00`."""
    text = f"{value:.4f}"
    return text.rstrip("0").removeprefix("0").ljust(3, "0") if 0 < value < 1 else f"{value:.2f}"
