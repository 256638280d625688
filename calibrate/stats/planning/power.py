"""Power by simulation: of Williams' comparison of two simulators over groups, and of McNemar's test of pairs.

A power is a share of simulated studies, with its Monte-Carlo interval. It never says that a difference found is real:
it says how often a difference as planted would be found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Signature, Undefined, fork, signature_of
from calibrate.stats.intervals import normal_quantile, wilson
from calibrate.stats.planning.sizes import smallest

FloatArray = NDArray[np.float64]
Assistants = Literal["new", "the same"]
SAFETY = 1.15  # factor of a bootstrap's spread in the limits of a group-level correlation


@dataclass(frozen=True, slots=True)
class Power:
    """Share of `trials` simulated studies in which the test rejects, with Wilson's interval of the simulation.

    `undefined` studies had no test and count as not rejected.
    """

    value: float
    interval: Interval
    trials: int
    undefined: int
    signature: Signature


@dataclass(frozen=True, slots=True)
class Design:
    """A study of groups: assistants by levels, conversations of each group, and what the ratings are like.

    human_sd, simulated_sd: spread of one conversation's human and simulated ratings within its group, in units of the
    spread of true group means. assistant_share: share of the variance of true group means between assistants.
    """

    assistants: int
    levels: int
    conversations: int
    human_sd: float = 1.5
    simulated_sd: float = 0.5
    assistant_share: float = 0.6

    def __post_init__(self) -> None:
        for name, least in (("assistants", 2), ("levels", 1), ("conversations", 1)):
            count = getattr(self, name)
            if count != int(count) or count < least:
                raise InvalidData(f"{name} must be a whole number from {least}, got {count!r}: change the design.")
        if self.assistants * self.levels < 4:
            raise InvalidData(f"at least four groups are needed, got {self.assistants * self.levels}: add assistants.")
        for spread in (self.human_sd, self.simulated_sd):
            if not (math.isfinite(spread) and spread >= 0):
                raise InvalidData(f"a spread must be a number from 0, got {spread!r}: change it.")
        if not 0 <= self.assistant_share <= 1:
            raise InvalidData(f"a share must lie in 0..1, got {self.assistant_share!r}: change it.")

    @property
    def groups(self) -> int:
        """Assistants times levels."""
        return self.assistants * self.levels


def williams_power(
    r12: float,
    r13: float,
    r23: float,
    design: Design,
    rng: Generator,
    *,
    assistants: Assistants = "new",
    trials: int = 2000,
    alpha: float = 0.05,
) -> Power:
    """Return how often Williams' test on ranks tells two simulators (2, 3) apart by their correlation with humans (1).

    Args:
        r12, r13, r23: true correlations of group means, before the noise of conversations.
        design: groups and conversations.
        assistants: "new": assistants are drawn anew in every study; "the same": group means whose own correlations
            are the planted ones, and only conversations are new.
        trials: simulated studies. alpha: two-sided level.

    Raises:
        InvalidData: correlations that no data have together, no trial, a level that is not between 0 and 1.

    Groups that share assistants are not independent, so that true hypotheses too are rejected more often than alpha.
    Test: Williams; see `calibrate.stats.dependent_correlations`. By construction, equal correlations of independent
    groups without noise reject about as often as alpha:

    >>> quiet = Design(assistants=30, levels=1, conversations=1, human_sd=0.0, simulated_sd=0.0)
    >>> found = williams_power(0.6, 0.6, 0.5, quiet, np.random.default_rng(1), trials=500)
    >>> found.interval.low < 0.06 < found.interval.high
    True
    """
    from calibrate.stats.dependent_correlations import compare_overlapping

    factor = _factor(r12, r13, r23)
    _check(trials, alpha)
    child = fork(rng)
    sign = signature_of(child, trials)
    correlations = _rank_correlations(_observed(_means(factor, design, assistants, trials, child), design, child))
    rejected = undefined = 0
    for one, two, both in correlations.tolist():
        if math.isnan(one + two + both):
            undefined += 1
            continue
        test = compare_overlapping(one, two, both, design.groups, coefficient="spearman").williams
        if isinstance(test, Undefined):
            undefined += 1
        else:
            rejected += test.p < alpha
    return _power(rejected, trials, undefined, sign)


def fresh_conversations_power(
    r12: float,
    r13: float,
    r23: float,
    design: Design,
    rng: Generator,
    *,
    worlds: int = 40,
    trials: int = 100,
    alpha: float = 0.05,
) -> Power:
    """Return how often Δ atanh ρ of two simulators is told from 0 on the same assistants, conversations being new.

    The test that is meant is the bootstrap of annotators with its factor 1.15; here its spread is the standard
    deviation of Δ atanh ρ over the `trials` repeats of each of `worlds` sets of true means, which a bootstrap
    estimates. Arguments otherwise, and errors, as `williams_power`.

    Simulations of .70 against .77 on the same nine assistants had 12 to 21 % power with 432 conversations, 40 to 84 %
    with 7,000; so has this one, by how closely the simulators follow each other:

    >>> few, many = (Design(assistants=9, levels=3, conversations=n) for n in (16, 259))
    >>> for r23 in (0.7, 0.9):
    ...     powers = [fresh_conversations_power(0.77, 0.7, r23, d, np.random.default_rng(1)).value for d in (few, many)]
    ...     print([round(power, 1) for power in powers])
    [0.1, 0.6]
    [0.2, 0.9]
    """
    factor = _factor(r12, r13, r23)
    _check(min(trials - 1, worlds), alpha)
    child = fork(rng)
    sign = signature_of(child, worlds * trials)
    means = np.repeat(_means(factor, design, "the same", worlds, child), trials, axis=0)
    correlations = _rank_correlations(_observed(means, design, child)).reshape(worlds, trials, 3)
    missing = np.asarray(np.isnan(correlations).any(axis=2))
    limit = 1.0 - 6.0 / (design.groups**3 - design.groups)
    z = np.arctanh(np.clip(np.where(missing[..., None], 0.0, correlations[..., :2]), -limit, limit))
    gap = z[..., 0] - z[..., 1]
    spread = gap.std(axis=1, ddof=1, keepdims=True)
    rejected = (np.abs(gap) > normal_quantile(1.0 - alpha) * SAFETY * spread) & ~missing & (spread > 0)
    return _power(int(rejected.sum()), worlds * trials, int(missing.sum()), sign)


def mcnemar_power(
    pairs: int,
    first_only: float,
    second_only: float,
    rng: Generator,
    *,
    test: Literal["exact", "mid-p"] = "exact",
    trials: int = 2000,
    alpha: float = 0.05,
) -> Power:
    """Return how often McNemar's test finds a difference in `pairs` pairs, of which these shares are discordant.

    Raises:
        InvalidData: shares outside 0..1 or together above 1, no pair, no trial, a level that is not between 0 and 1.

    Connor's formula (`calibrate.stats.planning.sizes.paired_gap_n`) has 234 pairs for 80 % at .2 and .1:

    >>> found = mcnemar_power(234, 0.2, 0.1, np.random.default_rng(1), test="mid-p")
    >>> found.interval.low < 0.8 < found.interval.high
    True
    """
    from calibrate.stats.paired import mcnemar

    _check_pairs(pairs, first_only, second_only)
    _check(trials, alpha)
    child = fork(rng)
    sign = signature_of(child, trials)
    odds = [first_only, second_only, max(0.0, 1.0 - first_only - second_only)]
    tables, times = np.unique(child.multinomial(pairs, odds, size=trials)[:, :2], axis=0, return_counts=True)
    rejected = 0
    for (b, c), count in zip(tables.tolist(), times.tolist(), strict=True):
        found = mcnemar(0, b, c, pairs - b - c)
        rejected += count * ((found.exact_p if test == "exact" else found.mid_p) < alpha)
    return _power(rejected, trials, 0, sign)


def mcnemar_power_formula(pairs: int, first_only: float, second_only: float, *, alpha: float = 0.05) -> float:
    """Return Φ((|b − c| √n − z √(b + c))/√(b + c − (b − c)²)), the normal power of McNemar's test.

    Connor (Biometrics 43:207, 1987). Equal shares give about alpha / 2 by construction of the formula, which looks at
    one side only. Errors as `mcnemar_power`.

    >>> round(mcnemar_power_formula(234, 0.2, 0.1), 3)
    0.802
    """
    from scipy.special import ndtr

    _check_pairs(pairs, first_only, second_only)
    _check(1, alpha)
    both, gap = first_only + second_only, abs(first_only - second_only)
    reach = gap * math.sqrt(pairs) - normal_quantile(1.0 - alpha) * math.sqrt(both)
    spread = math.sqrt(max(0.0, both - gap * gap))
    return float(ndtr(reach / spread)) if spread > 0 else float(reach > 0)


def needed_n(power_of: Callable[[int], float | Power], power: float = 0.8, *, least: int = 2) -> int:
    """Return the smallest n whose power, as `power_of` gives it, reaches `power`, found by doubling and halving.

    For a simulated power give `power_of` a generator of the same seed for every n; then the answer is one of the
    simulation too, and moves with its trials and its seed.

    Raises:
        InvalidData: a power that is not between 0 and 1, or one that no n up to a thousand million reaches.

    The formula of McNemar's power turned round is Connor's number of pairs, 234:

    >>> needed_n(lambda n: mcnemar_power_formula(n, 0.2, 0.1))
    234
    """
    if not 0 < power < 1:
        raise InvalidData(f"a power must lie between 0 and 1, got {power!r}: use 0.8.")

    def reaches(n: int) -> bool:
        found = power_of(n)
        return (found.value if isinstance(found, Power) else found) >= power

    return smallest(reaches, least)


def _factor(r12: float, r13: float, r23: float) -> FloatArray:
    """Return the lower Cholesky factor of the three correlations."""
    matrix = np.array([[1.0, r12, r13], [r12, 1.0, r23], [r13, r23, 1.0]])
    if not (np.abs(matrix[np.triu_indices(3, 1)]) < 1).all() or np.linalg.eigvalsh(matrix)[0] <= 1e-10:
        raise InvalidData(
            f"correlations {r12!r}, {r13!r} and {r23!r} lie between -1 and 1 and go together, and these do not: "
            "change one of them."
        )
    return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)


def _means(factor: FloatArray, design: Design, assistants: Assistants, trials: int, rng: Generator) -> FloatArray:
    """Return true group means, shape (trial, group, side), of variance 1."""
    between = rng.normal(size=(trials, design.assistants, 3)).repeat(design.levels, axis=1)
    within = rng.normal(size=(trials, design.groups, 3))
    raw = math.sqrt(design.assistant_share) * between + math.sqrt(1.0 - design.assistant_share) * within
    if assistants == "new":
        return np.asarray(raw @ factor.T)
    centred = raw - raw.mean(axis=1, keepdims=True)
    own = np.linalg.cholesky(np.einsum("tgi,tgj->tij", centred, centred) / design.groups)
    white = np.linalg.solve(own, centred.transpose(0, 2, 1)).transpose(0, 2, 1)
    return np.asarray(white @ factor.T)


def _observed(means: FloatArray, design: Design, rng: Generator) -> FloatArray:
    """Return means of the conversations of each group: true ones with noise."""
    spread = np.array([design.human_sd, design.simulated_sd, design.simulated_sd]) / math.sqrt(design.conversations)
    return np.asarray(means + rng.normal(size=means.shape) * spread)


def _rank_correlations(means: FloatArray) -> FloatArray:
    """Return ρ of sides 1-2, 1-3 and 2-3 in every trial, shape (trial, 3); values without ties by construction."""
    ranks = np.argsort(np.argsort(means, axis=1), axis=1).astype(np.float64)
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    scaled = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    pairs = [(0, 1), (0, 2), (1, 2)]
    return np.asarray(
        np.clip(np.stack([(scaled[..., i] * scaled[..., j]).sum(axis=1) for i, j in pairs], axis=1), -1.0, 1.0)
    )


def _power(rejected: int, trials: int, undefined: int, sign: Signature) -> Power:
    interval = wilson(rejected, trials)
    assert isinstance(interval, Interval)  # there are trials
    return Power(rejected / trials, interval, trials, undefined, sign)


def _check(trials: int, alpha: float) -> None:
    if trials < 1:
        raise InvalidData(f"at least one trial is needed (two a world), got {trials!r}: ask for more.")
    if not 0 < alpha < 1:
        raise InvalidData(f"a level must lie between 0 and 1, got {alpha!r}: use 0.05.")


def _check_pairs(pairs: int, first_only: float, second_only: float) -> None:
    if pairs < 1 or pairs != int(pairs):
        raise InvalidData(f"pairs must be a whole number from 1, got {pairs!r}: count the pairs.")
    if not (first_only >= 0 and second_only >= 0 and first_only + second_only <= 1 + 1e-9):
        raise InvalidData(
            f"discordant shares are parts of all pairs, got {first_only!r} and {second_only!r}: divide by all pairs."
        )
