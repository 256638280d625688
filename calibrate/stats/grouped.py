"""Ratings in groups: matched rows as arrays, means per group, and their bootstrap over the people who rated.

A person drawn twice is two persons, so a resample changes which ratings there are and the scale that
annotators with few ratings share, and with them z-scores, group means and ranks; it never changes the scale
of an annotator of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from calibrate.stats.correlation import Coefficient
from calibrate.stats.correlation_rows import correlation_rows
from calibrate.stats.normalise import Scales
from calibrate.stats.resample import Replicates, cluster_weights

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Level = Literal["instance", "intermediate", "system"]
Scores = Literal["raw", "z"]
Draws = dict[tuple[Level, Coefficient, Scores], Replicates]

_BLOCK = 150_000  # entries of one array held at a time; more would leave the processor's cache


@dataclass(frozen=True)
class Rows:
    """Matched human and simulated ratings, and the ratings of the whole file that the z-scores rest on.

    All arrays but `file_*` have one entry a matched row. Persons are numbered as in `scales`, over the whole
    file; `cell` numbers assistant × group.
    """

    person: IntArray
    assistant: IntArray
    cell: IntArray
    human: FloatArray
    z: FloatArray
    simulated: FloatArray
    file_person: IntArray
    file_human: FloatArray
    scales: Scales

    def units(self, level: Level) -> IntArray:
        """Return the number of the unit that each row belongs to at a level."""
        if level == "instance":
            return np.arange(len(self.human))
        return self.cell if level == "intermediate" else self.assistant

    def side(self, scores: Scores) -> FloatArray:
        """Return the human ratings on a scale."""
        return self.human if scores == "raw" else self.z


def bootstrap(
    rows: Rows,
    resamples: int,
    rng: Generator,
    *,
    levels: Sequence[Level] = get_args(Level),
    coefficients: Sequence[Coefficient] = get_args(Coefficient),
) -> Draws:
    """Return replicates of each coefficient and level, on both scales, over one bootstrap of the file's annotators.

    By construction z-scores of one annotator's conversations are a line of the ratings, and the correlation is 1:

    >>> from calibrate.stats.normalise import fit_scales
    >>> who, human = np.repeat([0, 1, 2], 4), np.array([1.0, 2, 3, 5, 2, 3, 4, 6, 1, 3, 4, 5])
    >>> place, scales = np.arange(12), fit_scales(who, human)
    >>> rows = Rows(who, place % 4, place, human, scales.z(who, human), 2 * human, who, human, scales)
    >>> draws = bootstrap(rows, 5, np.random.default_rng(1), levels=["instance"], coefficients=["pearson"])
    >>> draws["instance", "pearson", "raw"].values.round(6).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    weights = cluster_weights(len(rows.scales.annotators), resamples, rng)
    parts: dict[tuple[Level, Coefficient, Scores], list[FloatArray]] = {}
    sums = {level: _person_sums(rows, level) for level in levels if level != "instance"}
    widest = len(rows.human) if "instance" in levels else max(len(rows.scales.annotators), 1)
    block = max(1, _BLOCK // max(1, widest))
    for start in range(0, resamples, block):
        drawn = weights[start : start + block]
        for level in levels:
            sides = _instances(rows, drawn) if level == "instance" else _units(rows, sums[level], drawn)
            for coefficient in coefficients:
                for scores, human in (("raw", sides.raw), ("z", sides.z)):
                    values = correlation_rows(coefficient, human, sides.simulated, sides.present)
                    parts.setdefault((level, coefficient, scores), []).append(values)  # type: ignore[arg-type]
    return {key: Replicates.of(np.concatenate(values)) for key, values in parts.items()}


def resampled_z(rows: Rows, drawn: IntArray) -> FloatArray:
    """Return each row's z-score in each resample, shape (resample, row); `drawn` counts persons, (resample, person).

    By hand, two persons with one rating each share a scale, 1 and 3: mean 2, spread √2; with one drawn twice z is 0.

    >>> from calibrate.stats.normalise import fit_scales
    >>> who, human = np.array([0, 1]), np.array([1.0, 3.0])
    >>> scales = fit_scales(who, human)
    >>> rows = Rows(who, who, who, human, scales.z(who, human), human, who, human, scales)
    >>> resampled_z(rows, np.array([[1, 1], [2, 0]])).round(4).tolist()
    [[-0.7071, 0.7071], [0.0, 0.0]]
    """
    z = np.tile(rows.z, (len(drawn), 1))
    pooled = rows.scales.pooled[rows.person]
    if pooled.any():
        pool = _pool(rows, drawn)
        z[:, pooled] = (rows.human[pooled] - pool.mean) * pool.inverse
    return z


class _Pool(NamedTuple):
    """Mean and 1/spread of the scale that annotators with few ratings share, each of shape (resample, 1).

    `inverse` is 0 where the pool does not vary: z is 0 there.
    """

    mean: FloatArray
    inverse: FloatArray


def _pool(rows: Rows, drawn: IntArray) -> _Pool:
    in_pool = rows.scales.pooled[rows.file_person]
    values = rows.file_human[in_pool]
    weights = drawn[:, rows.file_person[in_pool]].astype(np.float64)
    total = weights.sum(axis=1, keepdims=True)
    mean = (weights * values).sum(axis=1, keepdims=True) / np.maximum(total, 1.0)
    squares = (weights * (values - mean) ** 2).sum(axis=1, keepdims=True)
    spread = np.sqrt(squares / np.maximum(total - rows.scales.ddof, 1.0))
    present = weights > 0
    lowest = np.where(present, values, np.inf).min(axis=1, keepdims=True)
    highest = np.where(present, values, -np.inf).max(axis=1, keepdims=True)
    varies = highest > lowest
    return _Pool(mean, np.where(varies, 1.0 / np.where(varies, spread, 1.0), 0.0))


class _Sides(NamedTuple):
    """Both human sides, the simulated one and the weights of a level's units, each of shape (resample, unit)."""

    raw: FloatArray
    z: FloatArray
    simulated: FloatArray
    present: FloatArray


def _instances(rows: Rows, drawn: IntArray) -> _Sides:
    weights = drawn[:, rows.person].astype(np.float64)
    wide = weights.shape
    raw, simulated = np.broadcast_to(rows.human, wide), np.broadcast_to(rows.simulated, wide)
    return _Sides(raw, resampled_z(rows, drawn), simulated, weights)


class _PersonSums(NamedTuple):
    """What each person adds to each unit, shape (person, unit): a resample's sums are one product with its weights.

    `own_z` holds z-scores on scales of persons' own; of ratings on the shared scale there are `pooled` many, and
    `pooled_human` is their sum.
    """

    size: FloatArray
    human: FloatArray
    simulated: FloatArray
    own_z: FloatArray
    pooled: FloatArray
    pooled_human: FloatArray


def _person_sums(rows: Rows, level: Level) -> _PersonSums:
    units = rows.units(level)
    shape = len(rows.scales.annotators), int(units.max(initial=-1)) + 1
    place = rows.person * shape[1] + units
    shared = rows.scales.pooled[rows.person].astype(np.float64)

    def sums(side: FloatArray) -> FloatArray:
        return np.bincount(place, weights=side, minlength=shape[0] * shape[1]).astype(np.float64).reshape(shape)

    return _PersonSums(
        size=sums(np.ones(len(units))),
        human=sums(rows.human),
        simulated=sums(rows.simulated),
        own_z=sums(rows.z * (1.0 - shared)),
        pooled=sums(shared),
        pooled_human=sums(rows.human * shared),
    )


def _units(rows: Rows, sums: _PersonSums, drawn: IntArray) -> _Sides:
    weights = drawn.astype(np.float64)
    size = weights @ sums.size
    divisor = np.maximum(size, 1.0)
    z = weights @ sums.own_z
    if rows.scales.pooled.any():
        pool = _pool(rows, drawn)
        z += (weights @ sums.pooled_human - pool.mean * (weights @ sums.pooled)) * pool.inverse
    return _Sides(
        raw=weights @ sums.human / divisor,
        z=z / divisor,
        simulated=weights @ sums.simulated / divisor,
        present=(size > 0).astype(np.float64),
    )
