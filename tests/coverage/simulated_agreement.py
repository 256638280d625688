"""Methods without a promise, measured all the same: α by unit bootstrap, Rogan–Gladen by Lang and Reiczigel (Lee et
al.), PPI++, and the pass rate of criteria multiplied up to episodes, which is shown as what not to do.

Each yields, a trial, whether the limits hold the truth, and their width; None where the method says undefined.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from scipy.special import betaincinv
from simulated_audit import CRITERIA, pass_rate

from calibrate.estimate import Interval, Undefined
from calibrate.stats.agreement.alpha import alpha_interval
from calibrate.stats.agreement.ratings import ratings_of
from calibrate.stats.rectify.prediction_powered import prediction_powered_mean
from calibrate.stats.rectify.rogan_gladen import rogan_gladen

Trial = tuple[bool, float] | None
ALPHA_RESAMPLES = 500


def alpha_units(rng: Generator, trials: int, *, units: int, agreement: float, prevalence: float) -> Iterator[Trial]:
    """α of two raters, nominal: each tells the truth of a unit or, in a share of cases, a label by chance.

    A rater's label is the unit's with probability √agreement and else drawn by prevalence, so that labels agree beyond
    chance exactly in a share `agreement`, which is the true α.
    """
    for _ in range(trials):
        truth = rng.random(units) < prevalence
        told = rng.random((units, 2)) < np.sqrt(agreement)
        labels = np.where(told, truth[:, None], rng.random((units, 2)) < prevalence).astype(np.int64)
        ratings = ratings_of(labels.tolist(), level="nominal", categories=[0, 1])
        yield _holds(alpha_interval(ratings, rng, resamples=ALPHA_RESAMPLES).interval, agreement)


def rogan_gladen_lee(
    rng: Generator, trials: int, *, judged: int, labelled: int, share: float, error: float
) -> Iterator[Trial]:
    """A judged share corrected by a human-labelled sample of its own, half of it passes; errors of both kinds alike."""
    each = labelled // 2
    passes = rng.binomial(judged, share * (1 - error) + (1 - share) * error, size=trials)
    right = rng.binomial(each, 1 - error, size=(trials, 2))
    for positive, (tp, tn) in zip(passes.tolist(), right.tolist(), strict=True):
        yield _holds(rogan_gladen(positive, judged, tp, each, tn, each).lang_reiczigel, share)


def ppi(rng: Generator, trials: int, *, judged: int, labelled: int, share: float, error: float) -> Iterator[Trial]:
    """PPI++ of a share: labelled rows with both verdicts, and others with the judge's only."""
    human = rng.random((trials, labelled + judged)) < share
    judge = human ^ (rng.random(human.shape) < error)
    for own, seen in zip(human[:, :labelled].astype(float), judge.astype(float), strict=True):
        found = prediction_powered_mean(own, seen[:labelled], seen[labelled:])
        yield None if isinstance(found, Undefined) else _holds(found.limits(), share)


def products(rng: Generator, trials: int, *, judged: int, ufs: float, icc: float) -> Iterator[Trial]:
    """UFS as the pass rate of criteria to the power of their number: limits of that power, human verdicts.

    Biased where a user's failures go together within an episode, which the power takes for independent.
    """
    mean = pass_rate(ufs, icc)
    rates: np.ndarray | float = mean
    if icc > 0:
        scale = (1.0 - icc) / icc
        rates = rng.beta(mean * scale, (1.0 - mean) * scale, size=(trials, judged))
    kept = rng.binomial(CRITERIA, rates, size=(trials, judged)).sum(axis=1)
    n = judged * CRITERIA
    low, high = (betaincinv(kept + 0.5, n - kept + 0.5, tail) ** CRITERIA for tail in (0.025, 0.975))
    yield from ((bool(one <= ufs <= two), float(two - one)) for one, two in zip(low, high, strict=True))


def _holds(limits: Interval | Undefined | None, truth: float) -> Trial:
    if not isinstance(limits, Interval):
        return None
    return limits.low <= truth <= limits.high, limits.high - limits.low
