"""Which proxy is more faithful than which: paired differences of UFS on the tasks that both completed.

A task counts once, with all its rollouts: its difference is the mean of f over the rollouts of one proxy minus that
over the other's. So the difficulty of tasks leaves the comparison even where proxies repeated them unequally often.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from calibrate.estimate import Estimate, Signature, fork, signature_of
from calibrate.fidelity.results import Difference, Question
from calibrate.stats.intervals import normal_quantile
from calibrate.stats.multiplicity import holm

if TYPE_CHECKING:
    import pandas as pd

    from calibrate.fidelity.scoring import Scored

FloatArray = NDArray[np.float64]

DRAWS = 100_000  # sign flips of a test that cannot be counted out; Holm over 21 pairs can then still say p < .001
COUNTED = 100_000  # so many ways for the signs to fall are counted one by one
INTERVAL = "z · SE after ½ a task was added to each cell of a domain's 2 × 2 table (Agresti and Min 2005)"


def differences(scored: Scored, question: Question, rng: Generator) -> tuple[Difference, ...]:
    """Return UFS of the first minus the second of each pair of proxies, both scored on the task; Holm over all pairs.

    The mean over domains (of those in which the two share a task) or over tasks, as `question.basis` says. Pairs in the
    order of the proxies' names. The interval covers at least .93 also with hardly a
    discordant task, where percentile limits of a bootstrap over tasks cover .5 to .9 (n = 50 to 100, UFS near 1).
    """
    table = task_means(scored.rows[scored.rows["state"] == "scored"], "faithful").reindex(columns=list(scored.proxies))
    pairs = list(combinations(scored.proxies, 2))
    found = [paired(table, pair, question, rng) for pair in pairs]
    adjusted = holm([made.p_value for made in found])
    return tuple(
        Difference(first, second, made, p_holm, tasks=made.n)
        for (first, second), made, p_holm in zip(pairs, found, adjusted, strict=True)
    )


def task_means(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the mean of a column over rollouts, rows (domain, task), columns proxies, nan where there is none."""
    means = rows.groupby(["domain", "task", "proxy"], observed=True)[column].mean().unstack("proxy")
    means.columns = [str(name) for name in means.columns]
    return means.sort_index()


def paired(table: pd.DataFrame, pair: tuple[str, str], question: Question, rng: Generator) -> Estimate:
    """Return the difference of two columns of `task_means` with its interval and its test."""
    first, second = pair
    name = f"UFS({first}) − UFS({second})"
    gap = (table[first] - table[second]).dropna()
    common: dict[str, Any] = {"name": name, "n": len(gap), "clusters": len(gap), "level": question.level}
    if not len(gap):
        return Estimate.undefined(reason="no task that both completed", **common)
    by_domain = [np.asarray(values, dtype=np.float64) for _, values in gap.groupby(level="domain", observed=True)]
    shares = domain_shares([len(values) for values in by_domain], question.basis)
    value = float(sum(share * values.mean() for share, values in zip(shares, by_domain, strict=True)))
    low, high = _limits(value, by_domain, shares, question.level)
    test = sign_flip(np.concatenate([s * v / len(v) for s, v in zip(shares, by_domain, strict=True)]), rng)
    mean = f"mean over {len(by_domain)} domains" if question.basis == "domains" else "mean over tasks"
    return Estimate(
        value=value,
        low=low,
        high=high,
        p_value=test.p,
        signature=test.signature,
        method=f"paired by task, {mean}; {INTERVAL}; p: {test.method}",
        target="new tasks of the same domains",
        extra={"domains": len(by_domain), "discordant_tasks": int((gap.abs() > 1e-12).sum())},
        **common,
    )


def domain_shares(sizes: list[int], basis: str) -> list[float]:
    """Return what each domain weighs: the same for all, or by its number of tasks."""
    return [1.0 / len(sizes)] * len(sizes) if basis == "domains" else [size / sum(sizes) for size in sizes]


def _limits(value: float, by_domain: list[FloatArray], shares: list[float], level: float) -> tuple[float, float]:
    """Return limits of a weighted mean of paired differences, each domain with one task more on either side in all."""
    centre = variance = 0.0
    for share, gaps in zip(shares, by_domain, strict=True):
        n, total = len(gaps) + 2, float(gaps.sum())
        centre += share * total / n
        variance += share**2 * (float((gaps**2).sum()) + 1.0 - total**2 / n) / n**2
    reach = normal_quantile(level) * float(np.sqrt(variance))
    return max(-1.0, min(value, centre - reach)), min(1.0, max(value, centre + reach))


@dataclass(frozen=True, slots=True)
class SignTest:
    """A two-sided p, how it was found, and what its draws need to be repeated."""

    p: float
    method: str
    signature: Signature


def sign_flip(parts: FloatArray, rng: Generator) -> SignTest:
    """Return the two-sided p that the sum of `parts` is 0: how often flipped signs give a sum at least as far from 0.

    One entry a task, its share of the difference. Under the null either proxy of a task may have done either thing. Of
    equal sizes only how many are positive matters: with one size that is McNemar's exact test; with few sizes all
    ways are counted, else `DRAWS` are drawn, the observed one among them. Conservative where domains differ.
    """
    sizes, counts = np.unique(np.round(np.abs(parts[parts != 0.0]), 12), return_counts=True)
    observed = abs(float(parts.sum()))
    if not len(sizes):
        return SignTest(1.0, "no discordant task", Signature())
    if len(sizes) == 1:
        return SignTest(_mcnemar(int((parts > 0).sum()), int(counts[0])), "exact McNemar", Signature())
    slack = 1e-9 * float(sizes @ counts)
    if float(np.prod(counts + 1.0)) <= COUNTED:
        return SignTest(_count_out(sizes, counts, observed - slack), "exact sign-flip permutation by task", Signature())
    child = fork(rng)
    signature = signature_of(child, DRAWS)
    sums = np.zeros(DRAWS)
    for size, count in zip(sizes, counts, strict=True):
        sums += size * (2.0 * child.binomial(count, 0.5, DRAWS) - count)
    p = (1 + int((np.abs(sums) >= observed - slack).sum())) / (DRAWS + 1)
    return SignTest(p, f"sign-flip permutation by task, {DRAWS} draws", signature)


def _mcnemar(positive: int, discordant: int) -> float:
    from scipy.special import bdtr

    return min(1.0, 2.0 * float(bdtr(min(positive, discordant - positive), discordant, 0.5)))


def _count_out(sizes: FloatArray, counts: NDArray[np.int64], at_least: float) -> float:
    """Return the probability of a sum at least that far from 0 over all ways for the signs to fall."""
    from scipy.special import gammaln

    sums, logs = np.zeros(1), np.zeros(1)
    for size, count in zip(sizes, counts, strict=True):
        k = np.arange(count + 1)
        ways = gammaln(count + 1) - gammaln(k + 1) - gammaln(count - k + 1) - count * np.log(2.0)
        sums = np.add.outer(sums, size * (2.0 * k - count)).ravel()
        logs = np.add.outer(logs, ways).ravel()
    return min(1.0, float(np.exp(logs[np.abs(sums) >= at_least]).sum()))
