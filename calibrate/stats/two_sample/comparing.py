"""Distances of two samples as estimates: value, p, interval where there is one, and the floor beside it."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.random import Generator

from annotate.errors import InvalidData
from calibrate.estimate import Estimate, Signature, Undefined, fork, signature_of
from calibrate.stats.checking import check_count
from calibrate.stats.exchange import check_permutations
from calibrate.stats.intervals import check_level
from calibrate.stats.two_sample.distances import (
    NAMES,
    U_STATISTICS,
    DistanceName,
    Measure,
    jackknife_interval,
    measure,
    permutation_test_of,
)
from calibrate.stats.two_sample.floor import Floor, human_floor_of
from calibrate.stats.two_sample.samples import HalfLabels, Labels, TwoSample, half_labels, permuted_labels

SYMBOLS: dict[DistanceName, str] = {"ks": "KS", "wasserstein": "W₁", "energy": "E", "mmd": "MMD²"}
TARGET = "new people like these, on the same items"

Extra = dict[str, float | int | str | None]


def compare(
    sample: TwoSample,
    rng: Generator,
    distances: Sequence[DistanceName] | None = None,
    *,
    permutations: int = 999,
    splits: int = 200,
    unit: str | None = None,
    level: float = 0.95,
) -> dict[str, Estimate]:
    """Return each distance of the sample with its permutation p, its interval where it has one, and its floor.

    p: labels swapped person by person (paired), or people dealt anew (grouped). `extra` holds the human-versus-human
    floor at equal n (floor_mean, floor_low, floor_high: mean and 95 % range over random halves), the measured distance
    at that n (equal_n_mean, …), floor_people (people on each side), above_floor (share of splits in which measured is
    farther apart than people are), smallest_p, and the bandwidth of MMD. All distances share one set of relabellings
    and one of halves, so that none depends on which others are asked for. distances: by default all that fit the
    features, which are all four for one feature, energy and MMD for several. unit: of the values; KS and MMD have none.

    Undefined as `measure`; the floor's fields are None, with floor_reason, where there are too few people for it.

    Raises:
        InvalidData: as `measure`.

    >>> import numpy as np
    >>> from calibrate.stats.two_sample.samples import paired_sample
    >>> human, twin = [12, 30, 25, 8, 19, 22, 31, 15], [40, 52, 61, 38, 45, 50, 58, 41]  # words a turn
    >>> sample = paired_sample(human, twin, list("abcdefgh"))
    >>> found = compare(sample, np.random.default_rng(1), ["wasserstein", "ks"], unit="words")
    >>> print(found["wasserstein"].format())
    W₁ 27.88 words [no interval: ...] n = 8 p = 0.0...
    >>> found["ks"].value, found["wasserstein"].extra["above_floor"]
    (1.0, 1.0)
    """
    if distances is None:
        distances = NAMES if sample.values.shape[1] == 1 else U_STATISTICS
    for name in distances:
        if name not in NAMES:
            raise InvalidData(f"a distance is one of {', '.join(NAMES)}, got {name!r}: choose one of them.")
    check_level(level)
    check_permutations(permutations)
    check_count(splits, "splits", remedy="ask for 200")
    child = fork(rng)
    signature = signature_of(child, permutations)
    labels, halves = permuted_labels(sample, child, permutations), half_labels(sample, child, splits)
    return {name: _estimate(sample, name, labels, halves, signature, unit, level) for name in distances}


def _estimate(
    sample: TwoSample,
    name: DistanceName,
    labels: Labels,
    halves: HalfLabels,
    signature: Signature,
    unit: str | None,
    level: float,
) -> Estimate:
    ready = measure(sample, name)
    if isinstance(ready, Undefined):
        return _undefined(sample, name, ready, level)
    test = permutation_test_of(sample, ready, labels)
    if isinstance(test, Undefined):
        return _undefined(sample, name, test, level)
    limits = jackknife_interval(sample, ready, level)
    bounded = not isinstance(limits, Undefined)
    return Estimate(
        name=name,
        value=test.value,
        low=None if isinstance(limits, Undefined) else limits.low,
        high=None if isinstance(limits, Undefined) else limits.high,
        interval_reason=limits.reason if isinstance(limits, Undefined) else None,
        p_value=test.p,
        level=level,
        n=sample.pairs,
        clusters=sample.persons,
        unit=unit if name in ("wasserstein", "energy") else None,
        method=_method(sample, name, bounded),
        target=TARGET,
        signature=signature,
        extra=_extra(ready, test.smallest, human_floor_of(ready, halves)),
    )


def _undefined(sample: TwoSample, name: DistanceName, why: Undefined, level: float) -> Estimate:
    counts = {"n": sample.pairs, "clusters": sample.persons}
    return Estimate.undefined(name, why.reason, **counts, level=level, extra={"symbol": SYMBOLS[name]})


def _method(sample: TwoSample, name: DistanceName, bounded: bool) -> str:
    if sample.paired:
        exchanged = "labels of human and twin swapped by person"
        exchanged += "" if sample.exact else " (right for many people: some conversations have several twins)"
    else:
        exchanged = "people exchanged between the samples"
    kind = "U-statistic over people" if name in U_STATISTICS else "of the pooled rows"
    interval = "; score limits from a jackknife over people, t" if bounded else ""
    return f"{SYMBOLS[name]} {kind}; permutation p, {exchanged}{interval}"


def _extra(ready: Measure, smallest: float, floor: Floor | Undefined) -> Extra:
    extra: Extra = {"symbol": SYMBOLS[ready.name], "smallest_p": smallest}
    if ready.bandwidth is not None:
        extra["bandwidth"] = ready.bandwidth
    if isinstance(floor, Undefined):
        return {**extra, "floor_mean": None, "floor_low": None, "floor_high": None, "floor_reason": floor.reason}
    for prefix, spread in (("floor", floor.people), ("equal_n", floor.measured)):
        extra |= {f"{prefix}_mean": spread.mean, f"{prefix}_low": spread.low, f"{prefix}_high": spread.high}
    return {**extra, "floor_people": floor.persons, "floor_splits": floor.splits, "above_floor": floor.above}
