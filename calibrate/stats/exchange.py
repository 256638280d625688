"""What a permutation moves: whole clusters between samples, or the members of a person's pairs; and the p it gives.

Where random arrangements are drawn p = (b + 1)/(m + 1), b of m being at least as extreme (Phipson and Smyth 2010,
Statistical Applications in Genetics and Molecular Biology 9:39, section 4), so that p is never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from math import comb, prod
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.stats.checking import as_numbers, check_count, check_number
from calibrate.stats.resample import canonical_order, cluster_codes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Tail = Literal["two-sided", "greater", "less"]

_TIE = 1e-12  # relative: arrangements that give the same value in mathematics differ in their last bits


def permutation_p(observed: float, null: ArrayLike, *, tail: Tail = "two-sided") -> float:
    """Return (b + 1)/(m + 1), b being how many of the m drawn values are at least as extreme as the observed one.

    Two-sided compares absolute values, for statistics that are 0 where nothing differs. Values equal up to rounding
    count as extreme; so does nan, an arrangement that leaves the statistic undefined.

    Raises:
        InvalidData: no drawn value, or an observed value that is not finite.

    By hand: −3 and 2 are as far from 0 as 2, so (2 + 1)/(4 + 1):

    >>> permutation_p(2.0, [-3.0, 0.0, 1.0, 2.0])
    0.6
    >>> permutation_p(2.0, [-3.0, 0.0, 1.0, 2.0], tail="greater")
    0.4
    """
    values = as_numbers(null, "drawn values", ndim=None, largest=np.inf)
    if values.ndim != 1 or len(values) == 0:
        raise InvalidData(f"a permutation p needs at least one drawn value, got shape {values.shape}: draw some.")
    check_number(observed, "the observed statistic")
    return (count_as_extreme(observed, values, tail) + 1) / (len(values) + 1)


def paired_swaps(person: ArrayLike, rng: Generator, permutations: int) -> BoolArray:
    """Return which pairs change sides, shape (permutation, row): every person's pairs all do or all do not.

    Persons are numbered by first occurrence: order the rows by what they hold where names must not matter.

    Raises:
        InvalidData: a row without a person, or fewer than one permutation.

    By construction the two pairs of `a` always move together:

    >>> swaps = paired_swaps(["a", "a", "b"], np.random.default_rng(1), 4)
    >>> swaps.shape, bool((swaps[:, 0] == swaps[:, 1]).all())
    ((4, 3), True)
    """
    check_permutations(permutations)
    codes, persons = cluster_codes(person)
    return np.asarray(rng.integers(0, 2, size=(permutations, persons), dtype=np.int8).astype(bool)[:, codes])


def cluster_permutations(
    cluster: ArrayLike, labels: ArrayLike, rng: Generator, permutations: int, *, stratum: ArrayLike | None = None
) -> NDArray[Any]:
    """Return permuted labels of the rows, shape (permutation, row): each cluster takes another cluster's label, whole.

    Args:
        cluster: what is moved as one (the person), one entry a row.
        labels: the sample of each row; all rows of a cluster have the same.
        rng: draws the permutations.
        permutations: how many.
        stratum: labels move between the clusters of one stratum only; all rows of a cluster are in the same.

    As many clusters as before have each label (within each stratum). Clusters and strata are numbered by first
    occurrence: order the rows by what they hold where names must not matter.

    Raises:
        InvalidData: a cluster with two labels or in two strata (that is a paired design: see `paired_swaps`), lengths
            that differ, or fewer than one permutation.

    By construction a cluster keeps together, and two of three keep label 0:

    >>> drawn = cluster_permutations(["a", "a", "b", "c"], [1, 1, 0, 0], np.random.default_rng(1), 5)
    >>> bool((drawn[:, 0] == drawn[:, 1]).all()), (drawn[:, 1:] == 1).sum(axis=1).tolist()
    (True, [1, 1, 1, 1, 1])
    """
    check_permutations(permutations)
    clusters = Clusters.of(cluster, labels, stratum)
    own, codes = clusters.label, clusters.codes
    drawn = np.tile(own, (permutations, 1))
    for members in clusters.members():
        drawn[:, members] = rng.permuted(np.tile(own[members], (permutations, 1)), axis=1)
    return np.asarray(drawn[:, codes])


# ------------------------------------------------------------------------------------------------ whole clusters


@dataclass(frozen=True, slots=True)
class Clusters:
    """Each row's cluster number, and each cluster's label and stratum number."""

    codes: IntArray
    label: NDArray[Any]
    stratum: IntArray

    @classmethod
    def of(cls, cluster: ArrayLike, labels: ArrayLike, stratum: ArrayLike | None) -> Clusters:
        codes, clusters = cluster_codes(cluster)
        label = np.asarray(labels)
        strata = np.zeros(len(codes), dtype=np.int64) if stratum is None else cluster_codes(stratum)[0]
        if label.shape != codes.shape or strata.shape != codes.shape:
            raise InvalidData(
                f"cluster, label and stratum need one entry a row, got {len(codes)}, {label.shape} and {len(strata)}: "
                "pass columns of equal length."
            )
        first = np.zeros(clusters, dtype=np.int64)
        first[codes[::-1]] = np.arange(len(codes))[::-1]
        names = np.asarray(cluster)
        for held, what, remedy in (
            (label, "label", "compare the members of its pairs instead"),
            (strata, "stratum", "make the stratum part of the cluster's name"),
        ):
            broken = held != held[first][codes]
            if broken.any():
                name = names[np.flatnonzero(broken)[0]]
                raise InvalidData(f"cluster '{name}' has more than one {what}, and cannot be moved as one: {remedy}.")
        return cls(codes, label[first], strata[first])

    def members(self) -> list[IntArray]:
        """Return the cluster numbers of each stratum."""
        return [np.flatnonzero(self.stratum == s) for s in range(int(self.stratum.max(initial=-1)) + 1)]

    def arrangements(self) -> int:
        """Return in how many ways labels 0 and 1 can be dealt out (within strata)."""
        return prod(comb(len(own), int((self.label[own] == 1).sum())) for own in self.members())

    def every(self) -> BoolArray:
        """Return all arrangements, shape (arrangement, cluster)."""
        choices = [list(combinations(own.tolist(), int((self.label[own] == 1).sum()))) for own in self.members()]
        result = np.zeros((self.arrangements(), len(self.label)), dtype=bool)
        for row, chosen in enumerate(product(*choices)):
            result[row, [place for part in chosen for place in part]] = True
        return result

    def drawn(self, rng: Generator, permutations: int) -> BoolArray:
        """Return random arrangements, shape (permutation, cluster)."""
        own = np.arange(len(self.label))
        moved = cluster_permutations(own, self.label.astype(np.int8), rng, permutations, stratum=self.stratum)
        return np.asarray(moved == 1)


def canonical_clusters(
    values: FloatArray, label: IntArray, cluster: NDArray[Any] | None, stratum: NDArray[Any] | None
) -> tuple[IntArray, Clusters]:
    """Return an order of the rows by what clusters and strata hold, and the clusters of the rows in that order.

    By hand: `b` of label 0 comes before `a` of label 1, whatever they are called.

    >>> label, cluster = np.array([1, 0, 0]), np.array(["a", "b", "b"])
    >>> order, clusters = canonical_clusters(np.array([5.0, 1.0, 2.0]), label, cluster, None)
    >>> order.tolist(), clusters.codes.tolist(), clusters.label.tolist()
    ([1, 2, 0], [0, 0, 1], [0, 1])
    """
    own = np.arange(len(values)) if cluster is None else cluster
    given = Clusters.of(own, label, stratum)
    kinds = np.unique(np.column_stack([label, values]), axis=0, return_inverse=True)[1].reshape(-1)
    rows = np.lexsort((kinds, given.codes))
    held = [tuple(part.tolist()) for part in np.split(kinds[rows], np.cumsum(np.bincount(given.codes))[:-1])]
    place = {content: index for index, content in enumerate(sorted(set(held)))}
    kind = np.array([place[content] for content in held])[given.codes]
    order = canonical_order(given.stratum[given.codes], kind, kinds)
    return order, Clusters.of(given.codes[order], label[order], given.stratum[given.codes][order])


def count_as_extreme(observed: float, null: FloatArray, tail: Tail) -> int:
    """Return how many values of `null` are at least as extreme as the observed one (ties up to rounding, and nan, are).

    By hand: −3, 2 and the undefined one.

    >>> count_as_extreme(2.0, np.array([-3.0, 1.0, 2.0, np.nan]), "two-sided")
    3
    """
    missing = np.isnan(null)
    values = null[~missing]
    slack = _TIE * max(1.0, abs(observed), float(np.abs(values).max(initial=0.0)))
    if tail == "two-sided":
        extreme = np.abs(values) >= abs(observed) - slack
    elif tail == "greater":
        extreme = values >= observed - slack
    elif tail == "less":
        extreme = values <= observed + slack
    else:
        raise InvalidData(f"a tail is 'two-sided', 'greater' or 'less', not {tail!r}: give one of them.")
    return int(extreme.sum() + missing.sum())


def check_permutations(permutations: int) -> None:
    """Refuse fewer than one permutation.

    >>> check_permutations(0)
    Traceback (most recent call last):
    annotate.errors.InvalidData: permutations must be a whole number from 1 to 10,000,000, got 0: take 999 or more.
    """
    check_count(permutations, "permutations", remedy="take 999 or more")
