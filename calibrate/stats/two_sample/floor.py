"""How far people are from people, at the same n: what a distance of twins to humans is to be compared with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from calibrate.estimate import Undefined
from calibrate.stats.two_sample.distances import U_STATISTICS, DistanceName, Measure, measure
from calibrate.stats.two_sample.samples import FloatArray, HalfLabels, TwoSample, half_labels

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and central 95 % range over random splits; splits overlap, so that the range is no confidence interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Floor:
    """The two distances at equal n, over the same random halves of the humans.

    people: half of the humans against the other half; measured: the first half against the twins of the other half
    (grouped: as many of the second sample). above: the share of splits in which measured is farther than people, ties
    one half: about .5 says as unlike as people are from each other. persons: on each side of every comparison.
    """

    people: Spread
    measured: Spread
    above: float
    splits: int
    persons: int


def human_floor(sample: TwoSample, name: DistanceName, rng: Generator, splits: int = 200) -> Floor | Undefined:
    """Return the human-versus-human floor of a distance, and the measured distance at the same n.

    Whole people are dealt to the halves, with all of their rows. KS and Wasserstein-1 grow as n falls, so that only
    equal n compares; energy and MMD have a floor of 0 on average at any n, and the range shows their spread. Undefined
    with fewer than two people on each side of a comparison (one for KS and Wasserstein), or without bandwidth.

    Raises:
        InvalidData: as `measure`.

    >>> from calibrate.stats.two_sample.samples import paired_sample
    >>> far = paired_sample([1, 2, 3, 4], [11, 12, 13, 14], list("abcd"))
    >>> floor = human_floor(far, "wasserstein", np.random.default_rng(1), 50)
    >>> floor.persons, floor.people.low >= 0, floor.people.high <= 2, floor.measured.low >= 8, floor.above
    (2, True, True, True, 1.0)
    """
    ready = measure(sample, name)
    return ready if isinstance(ready, Undefined) else human_floor_of(ready, half_labels(sample, rng, splits))


def human_floor_of(ready: Measure, halves: HalfLabels) -> Floor | Undefined:
    """Return the floor under halves that were drawn before (several distances share them).

    >>> from calibrate.stats.two_sample.samples import paired_sample
    >>> alike = paired_sample([1, 1, 1, 1], [1, 1, 1, 1], list("abcd"))
    >>> floor = human_floor_of(measure(alike, "ks"), half_labels(alike, np.random.default_rng(1), 20))
    >>> floor.people.mean, floor.above
    (0.0, 0.5)
    """
    needed = 2 if ready.name in U_STATISTICS else 1
    if halves.persons < needed:
        return Undefined(f"{halves.persons} people in half of the humans are too few for a floor (at least {needed})")
    people, measured = ready.of(halves.people), ready.of(halves.measured)
    if not (np.isfinite(people).all() and np.isfinite(measured).all()):
        return Undefined("a half holds no two rows of different people")
    nearer = measured - people
    slack = 1e-12 * ready.scale
    above = float(((nearer > slack).mean() + (nearer >= -slack).mean()) / 2.0)
    return Floor(_spread(people), _spread(measured), above, len(people), halves.persons)


def _spread(values: FloatArray) -> Spread:
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Spread(float(values.mean()), float(low), float(high))
