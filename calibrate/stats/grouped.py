"""Ratings in groups: matched rows as arrays, means per group, and their bootstrap over the people who rated.

A person drawn twice is two persons, so a resample changes which ratings there are and the scale that
annotators with few ratings share, and with them z-scores, group means and ranks; it never changes the scale
of an annotator of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

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

_BLOCK = 150_000  # entries of one (resample, row) array held at a time; more would leave the processor's cache


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
    block = max(1, _BLOCK // max(1, len(rows.human)))
    for start in range(0, resamples, block):
        drawn = weights[start : start + block]
        row_weights = drawn[:, rows.person].astype(np.float64)
        raw = np.broadcast_to(rows.human, row_weights.shape)
        sides: dict[Scores, FloatArray] = {"raw": raw, "z": resampled_z(rows, drawn)}
        for level in levels:
            humans, simulated, present = _resampled_units(rows, level, list(sides.values()), row_weights)
            for scores, human in zip(sides, humans, strict=True):
                for coefficient in coefficients:
                    values = correlation_rows(coefficient, human, simulated, present)
                    parts.setdefault((level, coefficient, scores), []).append(values)
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
    if not pooled.any():
        return z
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
    z[:, pooled] = np.where(varies, (rows.human[pooled] - mean) / np.where(varies, spread, 1.0), 0.0)
    return z


def _resampled_units(
    rows: Rows, level: Level, humans: Sequence[FloatArray], weights: FloatArray
) -> tuple[list[FloatArray], FloatArray, FloatArray]:
    """Return each human side, the simulated one and weights of a level's units, each of shape (resample, unit)."""
    if level == "instance":
        return list(humans), np.broadcast_to(rows.simulated, weights.shape), weights
    units = rows.units(level)
    order = np.argsort(units, kind="stable")
    first = np.flatnonzero(np.diff(units[order], prepend=-1))  # where each unit begins
    ordered = weights[:, order]
    size = np.add.reduceat(ordered, first, axis=1)
    divisor = np.maximum(size, 1.0)

    def mean(side: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(ordered * side, first, axis=1) / divisor)

    present: FloatArray = (size > 0).astype(np.float64)
    return [mean(human[:, order]) for human in humans], mean(rows.simulated[order]), present
