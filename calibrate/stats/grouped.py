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

from calibrate.stats.correlation import Coefficient, correlation_rows
from calibrate.stats.normalise import Scales
from calibrate.stats.resample import Replicates, cluster_weights

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Level = Literal["instance", "intermediate", "system"]
Scores = Literal["raw", "z"]
Draws = dict[tuple[Level, Coefficient, Scores], Replicates]

_BLOCK = 1_000_000  # entries of one (resample, row) array held at a time


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
    """Return replicates of each coefficient and level, on both scales, over one bootstrap of the file's annotators."""
    weights = cluster_weights(len(rows.scales.annotators), resamples, rng)
    parts: dict[tuple[Level, Coefficient, Scores], list[FloatArray]] = {}
    block = max(1, _BLOCK // max(1, len(rows.human)))
    for start in range(0, resamples, block):
        drawn = weights[start : start + block]
        row_weights = drawn[:, rows.person].astype(np.float64)
        raw = np.broadcast_to(rows.human, row_weights.shape)
        sides: dict[Scores, FloatArray] = {"raw": raw, "z": resampled_z(rows, drawn)}
        for level in levels:
            for scores, human in sides.items():
                x, y, present = _resampled_units(rows, level, human, row_weights)
                for coefficient in coefficients:
                    values = correlation_rows(coefficient, x, y, present)
                    parts.setdefault((level, coefficient, scores), []).append(values)
    return {key: Replicates.of(np.concatenate(values)) for key, values in parts.items()}


def resampled_z(rows: Rows, drawn: IntArray) -> FloatArray:
    """Return each row's z-score in each resample, shape (resample, row); `drawn` counts persons, (resample, person)."""
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
    rows: Rows, level: Level, human: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return human and simulated values and weights of the units of a level, each of shape (resample, unit)."""
    if level == "instance":
        return human, np.broadcast_to(rows.simulated, weights.shape), weights
    units = rows.units(level)
    order = np.argsort(units, kind="stable")
    first = np.flatnonzero(np.diff(units[order], prepend=-1))  # where each unit begins
    ordered = weights[:, order]
    size = np.add.reduceat(ordered, first, axis=1)
    divisor = np.maximum(size, 1.0)
    means = [
        np.add.reduceat(ordered * side, first, axis=1) / divisor for side in (human[:, order], rows.simulated[order])
    ]
    present: FloatArray = (size > 0).astype(np.float64)
    return means[0], means[1], present
