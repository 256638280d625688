"""The bootstrap of α: resamples as weights of kinds of units, so that many of them are one product of matrices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.stats.agreement.distances import distances_of
from calibrate.stats.agreement.pairable import Pairable
from calibrate.stats.agreement.ratings import FloatArray, IntArray
from calibrate.stats.labels import numbered
from calibrate.stats.resample import Replicates, canonical_order

_CELLS_AT_ONCE = 2_000_000
_MANY_ALIKE = 10  # a binomial draw takes as long as ten whole numbers


@dataclass(frozen=True, eq=False)
class Draws:
    """What is drawn: units by kind, or clusters by what they hold, in an order that depends on that alone.

    alike: how many things that hold the same there are, shape (thing,). members: how many units of each kind a thing
    holds, sparse, (thing, kind); None where a thing is a single unit of its kind.
    """

    alike: IntArray
    members: Any

    @property
    def clusters(self) -> int:
        """How many units or clusters there are, and are drawn."""
        return int(self.alike.sum())

    def weights(self, resamples: int, rng: Generator, at_once: int) -> Iterator[FloatArray]:
        """Yield how often a unit of each kind stands in a resample, shape (some resamples, kind)."""
        at_once = max(1, min(at_once, _CELLS_AT_ONCE // max(self.clusters, 1)))
        for start in range(0, resamples, at_once):
            drawn = self._drawn(min(at_once, resamples - start), rng)
            yield drawn if self.members is None else np.ascontiguousarray((self.members.T @ drawn.T).T)

    def _drawn(self, resamples: int, rng: Generator) -> FloatArray:
        """Return how often each thing is drawn, (resample, thing): the same however many are asked for at once."""
        things, clusters = len(self.alike), self.clusters
        if things * _MANY_ALIKE < clusters:
            return rng.multinomial(clusters, self.alike / clusters, size=resamples).astype(np.float64)
        starts = np.cumsum(self.alike) - self.alike
        rows = np.empty((resamples, things))
        for row in rows:  # one at a time stays in the processor's cache, which is worth more than one call for all
            drawn = np.bincount(rng.integers(clusters, size=clusters), minlength=clusters)
            row[:] = drawn if things == clusters else np.add.reduceat(drawn, starts)
        return rows


def draws_of(units: Pairable, all_units: int, cluster: ArrayLike | None) -> Draws:
    """Return what a resample is drawn from: pairable units, or clusters of them; cluster: a label of each of all units.

    Raises:
        InvalidData: not one label a unit, or none for a pairable unit.

    >>> from calibrate.stats.agreement.pairable import pairable_of
    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> units = pairable_of(ratings_of([[1, 1], [1, 2], [1, 1], [2, 1], [2, 2]], level="nominal"))
    >>> draws_of(units, 5, None).alike.tolist(), draws_of(units, 5, ["a", "a", "b", "b", "c"]).alike.tolist()
    ([2, 2, 1], [2, 1])
    """
    if cluster is None:
        return Draws(units.alike, None)
    from scipy.sparse import csr_array

    code = _labels(cluster, all_units)[units.unit]
    if (code < 0).any():
        raise InvalidData(f"unit {int(units.unit[code < 0][0])} belongs to no cluster: name one, or leave it out.")
    if not len(code):
        return Draws(np.zeros(0, dtype=np.int64), None)
    order = canonical_order(code, units.kind)
    held = np.split(units.kind[order], np.flatnonzero(np.diff(code[order])) + 1)
    alike: dict[bytes, int] = {}
    for own in held:
        alike[own.tobytes()] = alike.get(own.tobytes(), 0) + 1
    rows = [np.frombuffer(own, dtype=units.kind.dtype) for own in alike]
    kinds, thing = np.concatenate(rows), np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    members = csr_array((np.ones(len(kinds)), (thing, kinds)), shape=(len(rows), units.kinds))
    return Draws(np.array(list(alike.values()), dtype=np.int64), members)


def alpha_replicates(units: Pairable, draws: Draws, resamples: int, rng: Generator) -> Replicates:
    """Return α of every resample; undefined are those in which all ratings are equal, which is counted exactly.

    >>> from calibrate.stats.agreement.pairable import pairable_of
    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> units = pairable_of(ratings_of(4 * [[1, 1]] + [[1, 2]], level="nominal"))  # (4/5)^5 = .328 are undefined
    >>> found = alpha_replicates(units, draws_of(units, 5, None), 10_000, np.random.default_rng(1))
    >>> round(found.undefined / 10_000, 2)
    0.33
    """
    distances = distances_of(units)
    split = units.split.astype(np.float64)
    values = []
    for weights in draws.weights(resamples, rng, _CELLS_AT_ONCE // max(distances.cells(), 1)):
        sums = distances.sums(weights)
        apart = weights @ split > 0
        constant = np.zeros(len(weights), dtype=bool)
        constant[~apart] = _one_category(weights[~apart], units.lowest)
        good = ~constant & (sums.among > 0.0)
        ratio = np.divide(sums.within, sums.among, out=np.full(len(weights), np.nan), where=good)
        values.append(np.where(good & ~apart, 1.0, 1.0 - (sums.n - 1.0) * ratio))
    return Replicates.of(np.concatenate(values))


def _one_category(weights: FloatArray, category: IntArray) -> Any:
    """Return whether all units drawn are of one category, each unit being of a single one; shape (resample,)."""
    drawn = weights > 0
    high = np.where(drawn, category, -1).max(axis=1, initial=-1)
    low = np.where(drawn, category, np.iinfo(np.int64).max).min(axis=1, initial=np.iinfo(np.int64).max)
    return low == high


def _labels(cluster: ArrayLike, units: int) -> IntArray:
    """Return a number for each unit's cluster, −1 where there is none."""
    labels: NDArray[Any]
    if isinstance(cluster, np.ndarray):
        labels = cluster
    else:
        labels = np.empty(len(cluster), dtype=object)  # type: ignore[arg-type]
        labels[:] = list(cluster)  # type: ignore[arg-type]
    if labels.shape != (units,):
        raise InvalidData(f"cluster needs one label a unit, shape ({units},), got shape {labels.shape}: give one each.")
    return numbered(labels)[0]
