"""Audited UFS with known truth: episodes of six criteria, a judge who errs, an audit stratified by verdict and domain.

A user's failures, and a judge's errors, go together within an episode: each episode has its own rate of both, Beta
with intraclass correlation `icc`. With that the four shares of (faithful, judged pass) are closed forms, episodes of a
domain are one multinomial draw, and the audit of a stratum is a hypergeometric one: all trials of a cell at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betaln, comb, expit, logit

from calibrate.stats.planning.audit import NEYMAN_FROM, PRIOR_DISCORDANCE
from calibrate.stats.rectify.audit_draws import pj_draws
from calibrate.stats.rectify.pooling import Target, pjm_limits

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Errors = Literal[
    "symmetric", "lenient", "strict"
]  # lenient: only failures are overlooked; strict: only passes are lost
Strata = Literal["equal", "unequal", "unequal, domains alike"]

CRITERIA = 6
DOMAINS: dict[Strata, tuple[float, ...]] = {
    "equal": (0.25, 0.25, 0.25, 0.25),
    "unequal": (0.45, 0.30, 0.15, 0.10),
    "unequal, domains alike": (0.45, 0.30, 0.15, 0.10),
}
SHIFTS = (0.6, 0.2, -0.2, -0.6)  # of the domains' UFS from each other, in logits, where strata are unequal
MINIMUM = 2  # audited episodes of a stratum


@dataclass(frozen=True, slots=True)
class AuditCell:
    """One place of the grid. `error` is the judge's rate a criterion; `strata` the domains' sizes, weights and UFS."""

    judged: int
    audited: int
    error: float
    errors: Errors
    icc: float
    ufs: float
    strata: Strata
    target: Target

    @property
    def domain_weights(self) -> FloatArray | None:
        """What each domain counts: its share of the episodes (None), or all domains the same."""
        return np.full(4, 0.25) if self.strata == "unequal, domains alike" else None


@dataclass(frozen=True, slots=True)
class Audits:
    """Counts of all trials, shape (trial, stratum), and the truth of the cell's target, shape (trial,)."""

    judged: IntArray
    audited: IntArray
    passed: IntArray
    truth: FloatArray
    groups: dict[str, Any]

    @property
    def discordant(self) -> float:
        """Audited episodes whose verdict is wrong, mean of the trials."""
        wrong = np.where(np.array(self.groups["verdict"]) == 1, self.audited - self.passed, self.passed)
        return float(wrong.sum(axis=1).mean())


def moments(mean: float, icc: float, hits: int, misses: int) -> float:
    """E[r^hits (1 − r)^misses] of a rate with this mean and intraclass correlation."""
    if mean in (0.0, 1.0) or icc == 0.0:
        return float(mean**hits * (1.0 - mean) ** misses)
    scale = (1.0 - icc) / icc
    a, b = mean * scale, (1.0 - mean) * scale
    return float(np.exp(betaln(a + hits, b + misses) - betaln(a, b)))


@cache
def pass_rate(ufs: float, icc: float) -> float:
    """The pass rate of a criterion with which all six pass in a share `ufs` of the episodes."""
    return float(brentq(lambda rate: moments(rate, icc, CRITERIA, 0) - ufs, 1e-9, 1.0 - 1e-12))


@cache
def shares(ufs: float, error: float, errors: Errors, icc: float) -> tuple[float, float, float, float]:
    """Shares of episodes: unfaithful judged fail and pass, faithful judged fail and pass."""
    rate = pass_rate(ufs, icc)
    accepted = [0.0, 0.0]  # unfaithful, faithful
    for failing in range(CRITERIA + 1):
        kept = CRITERIA - failing
        here = float(comb(CRITERIA, failing)) * moments(rate, icc, kept, failing)
        if errors == "strict":
            judged_pass = moments(error, icc, 0, kept) if failing == 0 else 0.0
        else:
            judged_pass = moments(error, icc, failing, kept if errors == "symmetric" else 0)
        accepted[int(failing == 0)] += here * judged_pass
    return (1.0 - ufs - accepted[0], accepted[0], ufs - accepted[1], accepted[1])


def domain_ufs(cell: AuditCell) -> FloatArray:
    """UFS of each domain: the cell's, or shifted about it so that the weighted mean is the cell's."""
    if cell.strata == "equal":
        return np.full(4, cell.ufs)
    weights = np.array(DOMAINS[cell.strata]) if cell.domain_weights is None else cell.domain_weights
    spread = np.array(SHIFTS)
    middle = brentq(lambda shift: float(weights @ expit(logit(cell.ufs) + shift + spread)) - cell.ufs, -3.0, 3.0)
    return np.asarray(expit(logit(cell.ufs) + middle + spread), dtype=np.float64)


def allocate_rows(total: int, sizes: IntArray, weights: FloatArray) -> IntArray:
    """Units of each stratum in every trial, (trial, stratum): in proportion to `weights` within minimum and size."""
    lower = np.minimum(MINIMUM, sizes)
    low, high = np.zeros((len(sizes), 1)), np.full((len(sizes), 1), 1e9)
    for _ in range(80):
        middle = np.sqrt(np.maximum(low, 1e-9) * high)
        enough = np.clip(middle * weights, lower, sizes).sum(axis=1, keepdims=True) >= total
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    exact = np.clip(high * weights, lower, sizes)
    counts = np.minimum(np.floor(exact + 1e-7), sizes).astype(np.int64)
    rest = np.where(counts < sizes, exact - counts, -1.0)
    rank = np.argsort(np.argsort(-rest, axis=1, kind="stable"), axis=1, kind="stable")
    left = total - counts.sum(axis=1, keepdims=True)
    return np.asarray(counts + ((rank < left) & (counts < sizes)), dtype=np.int64)


def audit_weights(total: int, judged: IntArray, verdict: IntArray) -> FloatArray:
    """The rule of audits for every trial: Neyman from 100 audited, below the mean of it and proportional."""
    spread = np.where(verdict == 1, *(np.sqrt(PRIOR_DISCORDANCE[v] * (1 - PRIOR_DISCORDANCE[v])) for v in (1, 0)))
    proportional = judged / judged.sum(axis=1, keepdims=True)
    neyman = judged * spread / (judged * spread).sum(axis=1, keepdims=True)
    return np.asarray(neyman if total >= NEYMAN_FROM else (proportional + neyman) / 2.0)


def simulate(cell: AuditCell, trials: int, rng: Generator) -> Audits:
    """Draw episodes, verdicts and audits of all trials."""
    sizes = np.round(np.array(DOMAINS[cell.strata]) * cell.judged).astype(np.int64)
    drawn = []
    for size, ufs in zip(sizes, domain_ufs(cell), strict=True):
        chances = np.maximum(shares(float(ufs), cell.error, cell.errors, cell.icc), 0.0)
        drawn.append(rng.multinomial(size, chances / chances.sum(), size=trials).reshape(trials, 2, 2))
    counts = np.stack(drawn, axis=1)  # (trial, domain, faithful, verdict)
    judged = counts.sum(axis=2).reshape(trials, -1)
    faithful = counts[:, :, 1, :].reshape(trials, -1)
    verdict, domain = np.tile([0, 1], 4), np.repeat(np.arange(4), 2)
    audited = allocate_rows(min(cell.audited, cell.judged), judged, audit_weights(cell.audited, judged, verdict))
    passed = rng.hypergeometric(faithful, judged - faithful, audited)
    weights = sizes / sizes.sum() if cell.domain_weights is None else cell.domain_weights
    realised = (counts[:, :, 1, :].sum(axis=2) / sizes) @ weights
    truth = realised if cell.target == "finite" else np.full(trials, cell.ufs)
    groups = {"verdict": verdict, "domain": domain, "domain_weights": cell.domain_weights}
    return Audits(judged, audited, passed, truth, groups)


def pjm(cell: AuditCell, trials: int, rng: Generator) -> tuple[FloatArray, FloatArray, FloatArray, Audits]:
    """PJM limits of all trials: low, high, truth, and the audits that they are from."""
    made = simulate(cell, trials, rng)
    _, low, high = pjm_limits(made.judged, made.audited, made.passed, **made.groups, target=cell.target)
    return low, high, made.truth, made


def pj(cell: AuditCell, trials: int, rng: Generator, draws: int) -> tuple[FloatArray, FloatArray, FloatArray, Audits]:
    """Central 95 % of PJ draws of all trials, as `pjm`; trials in blocks to keep memory small."""
    made = simulate(cell, trials, rng)
    limits = []
    for start in range(0, trials, 100):
        part = slice(start, start + 100)
        counts = (made.judged[part], made.audited[part], made.passed[part])
        theta = pj_draws(*counts, **made.groups, target=cell.target, rng=rng, draws=draws)
        limits.append(np.quantile(theta, [0.025, 0.975], axis=0))
    low, high = np.concatenate(limits, axis=1)
    return low, high, made.truth, made


def wald(cell: AuditCell, trials: int, rng: Generator) -> tuple[FloatArray, FloatArray, FloatArray, Audits]:
    """The rejected way, as `pjm`: the stratified mean ± z of its estimated standard error (0 where nothing differs)."""
    made = simulate(cell, trials, rng)
    sizes = made.judged.reshape(trials, 4, 2)
    share = np.where(made.audited > 0, made.passed / np.maximum(made.audited, 1), 0.0)
    domain_weight = sizes.sum(axis=2) / cell.judged if cell.domain_weights is None else cell.domain_weights
    weight = (domain_weight[..., None] * sizes / sizes.sum(axis=2, keepdims=True)).reshape(trials, -1)
    left = 1.0 - made.audited / np.maximum(made.judged, 1)
    variance = (weight**2 * left * share * (1 - share) / np.maximum(made.audited - 1, 1)).sum(axis=1)
    value, reach = (weight * share).sum(axis=1), 1.959963984540054 * np.sqrt(variance)
    return value - reach, value + reach, made.truth, made
