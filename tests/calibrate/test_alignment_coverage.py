"""Do the three intervals of alignment hold what they promise? 27 groups, 9 assistants, ratings with known true means.

A cell fails only where the 99.9 % interval of its simulated coverage lies wholly outside the promised band.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import scipy.stats

from calibrate.estimate import Interval, Undefined
from calibrate.stats.correlation import correlate, half_step
from calibrate.stats.correlation_limits import correlation_limits, jackknife_limits, noise_free_limits, resampled_spread
from calibrate.stats.group_means import group_correlation, reliability_of_means
from calibrate.stats.grouped import Rows, bootstrap
from calibrate.stats.normalise import fit_scales
from calibrate.stats.resample import cluster_jackknife

FloatArray = np.ndarray
ASSISTANTS, LEVELS, CONVERSATIONS, PEOPLE = 9, 3, 427, 107
GROUPS = ASSISTANTS * LEVELS
LIMIT = half_step("spearman", GROUPS)


def true_means(rng: np.random.Generator, rho: float) -> tuple[FloatArray, FloatArray]:
    """True human and simulated means of the groups, correlated rho; assistants matter more than difficulty."""
    assistant, cell = rng.normal(size=(2, ASSISTANTS)), rng.normal(size=(2, GROUPS))
    follow = np.array([[1.0, 0.0], [rho, np.sqrt(1 - rho**2)]])
    sides = 0.6 * (follow @ assistant).repeat(LEVELS, axis=1) + 0.3 * (follow @ cell)
    return 7.5 + sides[0], 7.0 + sides[1]


def rate(rng: np.random.Generator, human: FloatArray, simulated: FloatArray) -> Rows:
    """Ratings from 1 to 10 by people of different strictness and very different diligence."""
    cell = np.concatenate([np.arange(GROUPS), rng.integers(0, GROUPS, CONVERSATIONS - GROUPS)])
    diligence = rng.dirichlet(np.ones(PEOPLE))
    person = np.concatenate([np.arange(PEOPLE), rng.choice(PEOPLE, CONVERSATIONS - PEOPLE, p=diligence)])
    rng.shuffle(person)
    said = human[cell] + rng.normal(0, 0.8, PEOPLE)[person] + rng.normal(0, 1.5, CONVERSATIONS)
    scored = simulated[cell] + rng.normal(0, 1.0, CONVERSATIONS)
    said, scored = (np.clip(np.round(side), 1, 10) for side in (said, scored))
    scales = fit_scales(person, said)
    codes = scales.codes(person)
    return Rows(codes, cell // LEVELS, cell, said, scales.z(person, said), scored, codes, said, scales)


def rho(rows: Rows, chosen: FloatArray | slice = slice(None)) -> float | Undefined:
    return group_correlation("spearman", rows.cell[chosen], rows.z[chosen], rows.simulated[chosen])


def spread_of(rows: Rows, rng: np.random.Generator):  # type: ignore[no-untyped-def]
    draws = bootstrap(rows, 150, rng, levels=["intermediate"], coefficients=["spearman"])
    return resampled_spread(draws["intermediate", "spearman", "z"], LIMIT)


def fresh_conversations(rng: np.random.Generator, strength: float) -> Iterator[bool]:
    for _ in range(6):
        means = true_means(rng, strength)
        truth = np.mean([rho(rate(rng, *means)) for _ in range(150)])
        for _ in range(50):
            rows = rate(rng, *means)
            limits = correlation_limits(rho(rows), spread_of(rows, rng))
            yield bool(limits.low <= truth <= limits.high)


def noise_free(rng: np.random.Generator, strength: float) -> Iterator[bool]:
    for _ in range(300):
        means = true_means(rng, strength)
        truth, rows = correlate("spearman", *means), rate(rng, *means)
        sides = [reliability_of_means(rows.cell, side) for side in (rows.z, rows.simulated)]
        found = noise_free_limits(rho(rows), spread_of(rows, rng).sd, *sides)
        if isinstance(found, Undefined) or isinstance(found.interval, Undefined):
            continue  # said to be undefined, so nothing was promised
        yield bool(found.interval.low <= truth <= found.interval.high)


def new_assistants(rng: np.random.Generator, strength: float) -> Iterator[bool]:
    made: list[tuple[float, Interval]] = []
    for _ in range(300):
        rows = rate(rng, *true_means(rng, strength))
        value = rho(rows)
        left_out = cluster_jackknife(lambda chosen, rows=rows: rho(rows, chosen), rows.assistant)
        made.append((value, jackknife_limits(value, left_out, LIMIT)))
    truth = np.median([value for value, _ in made])
    yield from (bool(limits.low <= truth <= limits.high) for _, limits in made)


@pytest.mark.parametrize("strength", [0.5, 0.9])
@pytest.mark.parametrize(
    ("target", "lowest", "highest"),
    [(fresh_conversations, 0.945, 0.965), (noise_free, 0.95, 0.985), (new_assistants, 0.935, 0.96)],
)
def test_coverage(target, lowest: float, highest: float, strength: float) -> None:  # type: ignore[no-untyped-def]
    hits = list(target(np.random.default_rng(20), strength))
    n, covered = len(hits), sum(hits)
    assert n > 270
    assert scipy.stats.beta.ppf(0.9995, covered + 1, n - covered) >= lowest
    assert scipy.stats.beta.ppf(0.0005, covered, n - covered + 1) <= highest
