"""Krippendorff's four distances as sums over ratings: no table of all values by all values where there are many values.

With weights w of kinds of units (how often each stands in a resample) the two sums are

    within = Σ_u w_u Σ_{i≠j in u} δ²(i, j) / (m_u − 1),    among = Σ_{c,k} n_c n_k δ²(c, k),

and α = 1 − (n − 1) within / among, n = Σ_u w_u m_u. Each level has its own way to them:

nominal   δ² = 1 for different categories: sums of squared counts.
interval  δ² = (c − k)²: sums of squares, n Σ x² − (Σ x)².
ratio     δ² = ((c − k)/(c + k))²: a table of distances up to `TABLE_CATEGORIES` values; beyond, `Waves`.
ordinal   δ² = (Σ_{g=c..k} n_g − (n_c + n_k)/2)² is the squared difference of mid-positions (cumulative count minus half
          the own count), which every resample has its own of: sums of squares again, from coincidences of pairs of
          categories where these are few, from sums over units where they are many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from calibrate.stats.agreement.pairable import DENSE_CELLS, Pairable
from calibrate.stats.agreement.ratings import FloatArray

TABLE_CATEGORIES = 256
_CACHED_CELLS = 16_000_000  # of waves that are kept between resamples
_NODES_AT_ONCE = 16
_STEP, _BELOW, _ABOVE = 0.22, 20.0, 3.7


@dataclass(frozen=True, slots=True)
class Sums:
    """n pairable ratings, sums within units and among all ratings, and the largest δ², each of shape (resample,)."""

    n: FloatArray
    within: FloatArray
    among: FloatArray
    largest: FloatArray


class Distances(Protocol):
    """A level of measurement on given units: weights of the kinds, shape (resample, kind), to their sums."""

    def sums(self, weights: FloatArray) -> Sums:
        """Return the sums of every resample."""

    def cells(self) -> int:
        """Return how many numbers a single resample takes."""


def distances_of(pairable: Pairable, *, many: bool | None = None) -> Distances:
    """Return the level's distances; `many` forces the way for many (or few) values of ordinal and ratio data.

    >>> from calibrate.stats.agreement.pairable import pairable_of
    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> units = pairable_of(ratings_of([[1, 1], [1, 2], [2, 2], [2, 3], [3, 3]], level="ordinal"))
    >>> [round(float(distances_of(units, many=way).sums(units.alike[None, :].astype(float)).within[0]), 3)
    ...  for way in (False, True)]
    [0.49, 0.49]
    """
    if pairable.level == "nominal":
        return Nominal(pairable)
    if pairable.level == "interval":
        return Interval(pairable)
    q = pairable.categories
    if pairable.level == "ratio":
        return Waves(pairable) if (q > TABLE_CATEGORIES if many is None else many) else Table(pairable)
    large = q > TABLE_CATEGORIES or pairable.kinds * q * (q - 1) // 2 > DENSE_CELLS
    return Positions(pairable) if (large if many is None else many) else Coincidences(pairable)


def unit_scores(scores: FloatArray) -> FloatArray:
    """Return scores times a power of two, so that the largest size is in [½, 1): no square of them overflows.

    >>> unit_scores(np.array([1.0, 3.0])).tolist()
    [0.25, 0.75]
    """
    largest = float(np.abs(scores).max(initial=0.0))
    return np.asarray(np.ldexp(scores, -int(np.frexp(largest)[1])), dtype=np.float64)


class Nominal:
    """Different categories are at distance 1."""

    def __init__(self, pairable: Pairable) -> None:
        squares = pairable.sums(pairable.entry_count)
        self._units = pairable
        self._within = (pairable.size**2 - squares) / (pairable.size - 1.0)

    def cells(self) -> int:
        return self._units.kinds + self._units.categories

    def sums(self, weights: FloatArray) -> Sums:
        used = _times(weights, self._units.counts)
        n = weights @ self._units.size
        return Sums(n, weights @ self._within, n**2 - (used**2).sum(axis=1), np.ones(len(n)))


class Interval:
    """Squared difference of scores, taken from their median: an outlier that is not drawn leaves no rounding behind."""

    def __init__(self, pairable: Pairable) -> None:
        assert pairable.scores is not None
        scores = unit_scores(pairable.scores)
        middle = np.searchsorted(np.cumsum(pairable.marginals), pairable.marginals.sum() / 2.0)
        x = unit_scores(scores - (scores[middle] if len(scores) else 0.0))[pairable.entry_code]
        total, size = pairable.sums(x), pairable.size
        apart = pairable.sums((x - (total / size)[pairable.entry_kind]) ** 2)
        within = np.where(pairable.split, 2.0 * size * apart / (size - 1.0), 0.0)
        self._parts = np.column_stack([size, within, total, pairable.sums(x**2)])
        self._largest = float(np.ptp(x)) ** 2 if len(x) else 0.0

    def cells(self) -> int:
        return len(self._parts)

    def sums(self, weights: FloatArray) -> Sums:
        n, within, total, squares = (weights @ self._parts).T
        return Sums(n, within, 2.0 * (n * squares - total**2), np.full(len(n), self._largest))


class Table:
    """Ratio distances of few values, from a table of all of them; 0 and 0 are at distance 0."""

    def __init__(self, pairable: Pairable) -> None:
        assert pairable.scores is not None
        scores = unit_scores(pairable.scores)
        total = scores[:, None] + scores
        apart = np.divide(scores[:, None] - scores, total, out=np.zeros_like(total), where=total > 0)
        self._units, self._squared = pairable, apart**2
        self._largest = float(self._squared.max(initial=0.0))
        self._within = np.zeros(pairable.kinds)
        if pairable.categories:
            rows = max(1, DENSE_CELLS // pairable.categories)
            for start in range(0, pairable.kinds, rows):
                counts = pairable.counts[start : start + rows]
                counts = counts if isinstance(counts, np.ndarray) else counts.toarray()
                size = pairable.size[start : start + rows]
                self._within[start : start + rows] = ((counts @ self._squared) * counts).sum(axis=1) / (size - 1.0)

    def cells(self) -> int:
        return self._units.kinds + self._units.categories

    def sums(self, weights: FloatArray) -> Sums:
        used = _times(weights, self._units.counts)
        among = ((used @ self._squared) * used).sum(axis=1)
        return Sums(weights @ self._units.size, weights @ self._within, among, np.full(len(among), self._largest))


class Waves:
    """Ratio distances of many values, as sums of squares along some hundred coordinates.

    For x = log c, y = log k the distance is 1 − sech²((x − y)/2), and sech² is an integral of products,

        4ck/(c + k)² = 4 ∫ g(x + s) g(y + s) ds,    g(u) = exp(u − exp(u)),

    from 1/(c + k)² = ∫ t exp(−(c + k)t) dt with t = exp(s). The trapezoidal rule in s at a step of 0.22 is exact to
    rounding (its error falls as exp(−π²/step)), so that δ² = ½ ‖φ(c) − φ(k)‖² with φ_j(c) = √(4 · step) g(log c + s_j),
    and one more coordinate that is 1 for c = 0 alone. Memory: values × 16 numbers, or up to 16 million that are kept.
    """

    def __init__(self, pairable: Pairable) -> None:
        assert pairable.scores is not None
        self._units = pairable
        scores = unit_scores(pairable.scores)
        self._zero = scores == 0.0
        self._log = np.log(np.where(self._zero, 1.0, scores))
        positive = self._log[~self._zero]
        low, high = (float(positive.min()), float(positive.max())) if len(positive) else (0.0, 0.0)
        self._nodes = np.arange(-high - _BELOW, -low + _ABOVE + _STEP, _STEP)
        self._cache: list[FloatArray] | None = None
        if len(scores) * (len(self._nodes) + 1) <= _CACHED_CELLS:
            self._cache = list(self._made())
        apart, self._norms = np.zeros(pairable.kinds), np.zeros(pairable.categories)
        for wave in self._waves():
            self._norms += (wave**2).sum(axis=1)
            for column in wave.T:
                each = column[pairable.entry_code]
                mean = pairable.sums(each) / pairable.size
                apart += pairable.sums((each - mean[pairable.entry_kind]) ** 2)
        self._within = np.where(pairable.split, pairable.size * apart / (pairable.size - 1.0), 0.0)
        smallest, largest = (float(scores[0]), float(scores[-1])) if len(scores) else (0.0, 0.0)
        self._largest = ((largest - smallest) / (largest + smallest)) ** 2 if largest > 0 else 0.0

    def cells(self) -> int:
        return self._units.kinds + self._units.categories

    def sums(self, weights: FloatArray) -> Sums:
        used, n = _times(weights, self._units.counts), weights @ self._units.size
        among = n * (used @ self._norms)
        for wave in self._waves():
            among -= ((used @ wave) ** 2).sum(axis=1)
        return Sums(n, weights @ self._within, among, np.full(len(n), self._largest))

    def _waves(self) -> Iterator[FloatArray]:
        return iter(self._cache) if self._cache is not None else self._made()

    def _made(self) -> Iterator[FloatArray]:
        """Yield coordinates from their mean over the ratings, shape (category, coordinate), some at a time."""
        share = self._units.marginals / max(float(self._units.marginals.sum()), 1.0)
        if self._zero.any():
            yield (self._zero - share @ self._zero)[:, None]
        for start in range(0, len(self._nodes), _NODES_AT_ONCE):
            u = self._log[:, None] + self._nodes[start : start + _NODES_AT_ONCE]
            wave = np.sqrt(4.0 * _STEP) * np.exp(u - np.exp(np.minimum(u, 6.0)))
            wave[(u > 6.0) | self._zero[:, None]] = 0.0
            yield wave - share @ wave


class Coincidences:
    """Ordinal distances of few categories: how often each pair of categories met in a unit, times their distance."""

    def __init__(self, pairable: Pairable) -> None:
        self._units = pairable
        self._low, self._high = np.triu_indices(pairable.categories, 1)
        counts = pairable.counts if isinstance(pairable.counts, np.ndarray) else pairable.counts.toarray()
        met = counts[:, self._low] * counts[:, self._high] / (pairable.size - 1.0)[:, None]
        self._parts = np.hstack([counts, met])

    def cells(self) -> int:
        return sum(self._parts.shape)

    def sums(self, weights: FloatArray) -> Sums:
        parts = weights @ self._parts
        q = self._units.categories
        used, met = parts[:, :q], parts[:, q:]
        n, position = _mid_positions(used)
        within = 2.0 * (met * (position[:, self._low] - position[:, self._high]) ** 2).sum(axis=1)
        return Sums(n, within, _among(used, position, n), _widest(used, position))


class Positions:
    """Ordinal distances of many categories: mid-positions of each resample, summed over the units that are split."""

    def __init__(self, pairable: Pairable) -> None:
        from scipy.sparse import csr_array

        self._units, self._split = pairable, np.flatnonzero(pairable.split)
        place = np.cumsum(pairable.split) - 1
        kept = pairable.split[pairable.entry_kind]
        shape = (len(self._split), pairable.categories)
        cell = (place[pairable.entry_kind[kept]], pairable.entry_code[kept])
        self._counts: Any = csr_array((pairable.entry_count[kept], cell), shape=shape)
        self._size = pairable.size[self._split]

    def cells(self) -> int:
        return 2 * self._units.kinds + 3 * self._units.categories

    def sums(self, weights: FloatArray) -> Sums:
        used = _times(weights, self._units.counts)
        n, position = _mid_positions(used)
        total, squares = self._counts @ position.T, self._counts @ (position**2).T  # (kind, resample)
        apart = np.maximum(self._size[:, None] * squares - total**2, 0.0) / (self._size - 1.0)[:, None]
        within = 2.0 * np.einsum("rk,kr->r", weights[:, self._split], apart)
        return Sums(n, within, _among(used, position, n), _widest(used, position))


def _times(weights: FloatArray, table: Any) -> FloatArray:
    """Return weights @ table, shape (resample, column); table: an array or sparse."""
    if isinstance(table, np.ndarray):
        return np.asarray(weights @ table, dtype=np.float64)
    return np.ascontiguousarray((table.T @ weights.T).T)


def _mid_positions(used: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return n, shape (resample,), and mid-positions as shares of n from the middle, shape (resample, category)."""
    n = used.sum(axis=1)
    position = np.cumsum(used, axis=1) - used / 2.0
    return n, position / n[:, None] - 0.5


def _among(used: FloatArray, position: FloatArray, n: FloatArray) -> FloatArray:
    """Return Σ n_c n_k (p_c − p_k)², which is 2n Σ n_c p_c² because mid-positions have mean 0."""
    return np.asarray(2.0 * n * (used * position**2).sum(axis=1), dtype=np.float64)


def _widest(used: FloatArray, position: FloatArray) -> FloatArray:
    """Return the squared distance of the lowest and the highest category that occur, shape (resample,)."""
    rows = np.arange(len(used))
    low = (used > 0).argmax(axis=1)
    high = used.shape[1] - 1 - (used[:, ::-1] > 0).argmax(axis=1)
    return np.asarray((position[rows, high] - position[rows, low]) ** 2, dtype=np.float64)
