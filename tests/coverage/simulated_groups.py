"""Group-level correlation with known truth: 27 groups, nine assistants by three levels of difficulty, rated by people.

The three targets of alignment: ρ on fresh conversations of the same groups, the noise-free ρ of the same groups, and
ρ of new assistants. Each yields, a trial, whether the limits hold the truth, and their width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from calibrate.estimate import Interval, Undefined
from calibrate.stats.correlation import correlate, half_step
from calibrate.stats.correlation_limits import (
    ResampledSpread,
    correlation_limits,
    jackknife_limits,
    noise_free_limits,
    resampled_spread,
)
from calibrate.stats.group_means import group_correlation, reliability_of_means
from calibrate.stats.grouped import Rows, bootstrap
from calibrate.stats.normalise import fit_scales
from calibrate.stats.resample import cluster_jackknife

FloatArray = NDArray[np.float64]
Trial = tuple[bool, float] | None  # whether the limits hold the truth, and their width; None: undefined, none promised

ASSISTANTS, LEVELS, CONVERSATIONS, PEOPLE = 9, 3, 432, 108
GROUPS = ASSISTANTS * LEVELS
LIMIT = half_step("spearman", GROUPS)
RESAMPLES = 150
PER_WORLD, REPEATS = 50, 150  # trials with the same true means; repeats whose mean is the truth of those


def true_means(rng: Generator, rho: float) -> tuple[FloatArray, FloatArray]:
    """True human and simulated means of the groups, correlated rho; two thirds of their spread is the assistants'."""
    assistant, cell = rng.normal(size=(2, ASSISTANTS)), rng.normal(size=(2, GROUPS))
    follow = np.array([[1.0, 0.0], [rho, np.sqrt(1.0 - rho**2)]])
    sides = 0.55 * (follow @ assistant).repeat(LEVELS, axis=1) + 0.4 * (follow @ cell)
    return 7.4 + sides[0], 7.0 + sides[1]


def rate(rng: Generator, human: FloatArray, simulated: FloatArray) -> Rows:
    """Ratings from 1 to 10, as many a group as another, by people of different strictness and diligence."""
    cell = np.arange(CONVERSATIONS) % GROUPS
    diligence = rng.dirichlet(np.full(PEOPLE, 1.5))
    person = np.concatenate([np.arange(PEOPLE), rng.choice(PEOPLE, CONVERSATIONS - PEOPLE, p=diligence)])
    rng.shuffle(person)
    said = human[cell] + rng.normal(0, 0.9, PEOPLE)[person] + rng.normal(0, 1.4, CONVERSATIONS)
    scored = simulated[cell] + rng.normal(0, 1.0, CONVERSATIONS)
    said, scored = (np.clip(np.round(side), 1, 10) for side in (said, scored))
    scales = fit_scales(person, said)
    codes = scales.codes(person)
    return Rows(codes, cell // LEVELS, cell, said, scales.z(person, said), scored, codes, said, scales)


def rho_of(rows: Rows, chosen: NDArray[np.int64] | slice = slice(None)) -> float | Undefined:
    """Spearman's ρ of the group means of all rows, or of those chosen."""
    return group_correlation("spearman", rows.cell[chosen], rows.z[chosen], rows.simulated[chosen])


def fresh_conversations(rng: Generator, strength: float, trials: int) -> Iterator[Trial]:
    for _ in range(-(-trials // PER_WORLD)):
        means = true_means(rng, strength)
        repeats = [rho_of(rate(rng, *means)) for _ in range(REPEATS)]
        truth = float(np.mean([value for value in repeats if not isinstance(value, Undefined)]))
        for _ in range(PER_WORLD):
            rows = rate(rng, *means)
            value, spread = rho_of(rows), _spread(rows, rng)
            if isinstance(value, Undefined) or isinstance(spread, Undefined):
                yield None
            else:
                yield _holds(correlation_limits(value, spread), truth)


def noise_free(rng: Generator, strength: float, trials: int) -> Iterator[Trial]:
    for _ in range(trials):
        means = true_means(rng, strength)
        truth, rows = correlate("spearman", *means), rate(rng, *means)
        value, spread = rho_of(rows), _spread(rows, rng)
        first, second = (reliability_of_means(rows.cell, side) for side in (rows.z, rows.simulated))
        parts = (truth, value, spread, first, second)
        if any(isinstance(part, Undefined) for part in parts):
            yield None
            continue
        found = noise_free_limits(value, spread.sd, first, second)  # type: ignore[arg-type, union-attr]
        hidden = isinstance(found, Undefined) or isinstance(found.interval, Undefined)
        yield None if hidden else _holds(found.interval, truth)  # type: ignore[arg-type, union-attr]


def new_assistants(rng: Generator, strength: float, trials: int) -> Iterator[Trial]:
    made: list[tuple[float, Interval]] = []
    for _ in range(trials):
        rows = rate(rng, *true_means(rng, strength))
        value = rho_of(rows)
        if isinstance(value, Undefined):
            continue
        left_out = cluster_jackknife(partial(rho_of, rows), rows.assistant)
        limits = jackknife_limits(value, left_out, LIMIT)
        if isinstance(limits, Interval):
            made.append((value, limits))
    truth = float(np.median([value for value, _ in made]))
    yield from (_holds(limits, truth) for _, limits in made)
    yield from [None] * (trials - len(made))


GROUP_TARGETS: Mapping[str, Callable[[Generator, float, int], Iterator[Trial]]] = {
    "fresh conversations": fresh_conversations,
    "noise-free": noise_free,
    "new assistants": new_assistants,
}


def _spread(rows: Rows, rng: Generator) -> ResampledSpread | Undefined:
    draws = bootstrap(rows, RESAMPLES, rng, levels=["intermediate"], coefficients=["spearman"])
    return resampled_spread(draws["intermediate", "spearman", "z"], LIMIT)


def _holds(limits: Interval, truth: float) -> Trial:
    return limits.low <= truth <= limits.high, limits.high - limits.low
