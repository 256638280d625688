"""U-statistics over people as quadratic forms: a kernel is evaluated once, every relabelling is a matrix product."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from calibrate.stats.two_sample.samples import FloatArray, Labels, TwoSample

CELLS_IN_MEMORY = 4_000_000  # numbers held at once while a matrix is gone through in blocks

Kernel = Callable[[FloatArray, FloatArray], FloatArray]


def euclidean(rows: FloatArray, others: FloatArray) -> FloatArray:
    """Return the distance of each row to each other, shape (row, other).

    >>> euclidean(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])).tolist()
    [[5.0]]
    """
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(rows, others))


def gaussian(rows: FloatArray, others: FloatArray, width: float) -> FloatArray:
    """Return exp(−distance²/(2 width²)) of each row and each other, shape (row, other).

    >>> gaussian(np.array([[0.0]]), np.array([[0.0], [2.0]]), 2.0).round(4).tolist()
    [[1.0, 0.6065]]
    """
    return np.asarray(np.exp(-((euclidean(rows, others) / width) ** 2) / 2.0))


def blocks(lines: int, width: int) -> Iterator[slice]:
    """Yield slices of so many lines that a block of that width stays small in memory.

    >>> [(part.start, part.stop) for part in blocks(3, 2_000_000)]
    [(0, 2), (2, 3)]
    """
    step = max(1, CELLS_IN_MEMORY // max(1, width))
    for start in range(0, lines, step):
        yield slice(start, min(start + step, lines))


class QuadraticForm:
    """2E d(X, Y) − E d(X, X') − E d(Y, Y') over rows of different people, for any labels of the units.

    degenerate_variance: the variance of the statistic where its true value is 0, 2 Σ (w_p w_q h̃_pq)² over people p ≠ q:
    h̃ is the kernel of two people less both their means over others plus the overall mean (the second part of
    Hoeffding's decomposition; times (P − 1)/(P − 3) as the means were estimated), w a person's share of the rows.
    """

    def __init__(self, sample: TwoSample, kernel: Kernel) -> None:
        self._sums, self._counts = _sums_by_unit(sample, kernel)
        self.degenerate_variance = self._of_pairs(sample) if sample.paired else self._of_groups(sample)

    def of(self, labels: Labels) -> FloatArray:
        """Return the statistic under each line of labels, shape (draw,); nan where a side holds no two people."""
        found = np.full(len(labels.first), np.nan)
        for block in blocks(len(labels.first), 4 * len(self._sums)):
            one, other = labels.first[block].astype(np.float64), labels.second[block].astype(np.float64)
            terms = [_forms(one @ matrix, other @ matrix, one, other) for matrix in (self._sums, self._counts)]
            enough = np.all([count > 0 for count in terms[1]], axis=0)
            cross, within, within_other = (
                total / np.where(enough, count, 1.0) for total, count in zip(*terms, strict=True)
            )
            found[block] = np.where(enough, 2.0 * cross - within - within_other, np.nan)
        return found

    def _of_pairs(self, sample: TwoSample) -> float:
        human, twin = slice(0, sample.persons), slice(sample.persons, None)
        sums = self._sums[human, twin] + self._sums[twin, human] - self._sums[human, human] - self._sums[twin, twin]
        size = np.bincount(sample.unit, minlength=len(sample.person))[human].astype(np.float64)
        weight = size / np.sqrt(max(1.0, self._counts[human, human].sum()))
        return _degenerate(sums, self._counts[human, human], size, weight)

    def _of_groups(self, sample: TwoSample) -> float:
        size = np.bincount(sample.unit, minlength=len(sample.person)).astype(np.float64)
        weight = np.empty(len(size))
        for side in (sample.first, ~sample.first):
            pairs = size[side].sum() ** 2 - (size[side] ** 2).sum()
            weight[side] = size[side] / np.sqrt(max(1.0, pairs))
        return _degenerate(self._sums, self._counts, size, weight)


def _degenerate(sums: FloatArray, counts: FloatArray, size: FloatArray, weight: FloatArray) -> float:
    """Return the variance of Σ_p≠q w_p w_q h̃_pq with random signs, h̃ the centred means of the sums."""
    people = len(size)
    differ = counts > 0
    mean = np.where(differ, sums / np.maximum(counts, 1.0), 0.0)
    by_person = (mean * size).sum(axis=1) / np.maximum((differ * size).sum(axis=1), 1.0)
    overall = float((by_person * size).sum() / max(1.0, size.sum()))
    centred = np.where(differ, mean - by_person[:, None] - by_person[None, :] + overall, 0.0)
    return float(2.0 * ((np.outer(weight, weight) * centred) ** 2).sum() * (people - 1) / max(1, people - 3))


def _forms(
    ones: FloatArray, others: FloatArray, one: FloatArray, other: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return sums across the sides and within each, one a draw."""
    return (ones * other).sum(1), (ones * one).sum(1), (others * other).sum(1)


def _sums_by_unit(sample: TwoSample, kernel: Kernel) -> tuple[FloatArray, FloatArray]:
    """Return sums of the kernel and numbers of row pairs by units, 0 between units of one person, (unit, unit)."""
    order = np.argsort(sample.unit, kind="stable")
    rows, unit = sample.values[order], sample.unit[order]
    units = len(sample.person)
    starts = np.searchsorted(unit, np.arange(units))
    sums = np.zeros((units, units))
    for block in blocks(len(rows), len(rows)):
        np.add.at(sums, unit[block], np.add.reduceat(kernel(rows[block], rows), starts, axis=1))
    size = np.bincount(unit, minlength=units).astype(np.float64)
    differ = sample.person[:, None] != sample.person[None, :]
    return np.where(differ, (sums + sums.T) / 2.0, 0.0), np.where(differ, np.outer(size, size), 0.0)
