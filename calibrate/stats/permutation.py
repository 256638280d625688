"""Permutation tests that exchange what can be exchanged: whole persons between samples, or the members of each pair.

Rows of one person depend on each other, so a permutation moves all of them together. Where there are few arrangements
all are gone through and p is exact (their share at least as extreme, the observed one among them); else random ones are
drawn and p = (b + 1)/(m + 1). Results do not depend on the order of the rows or on what persons are called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.estimate import Estimate, Signature, Undefined, fork, signature_of
from calibrate.stats.checking import as_numbers
from calibrate.stats.exchange import (
    Tail,
    canonical_clusters,
    check_permutations,
    count_as_extreme,
    paired_swaps,
    permutation_p,
)
from calibrate.stats.resample import canonical_order, cluster_codes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Statistic = Callable[[FloatArray, FloatArray], float | Undefined]

PERMUTATIONS = 9_999
_BLOCK = 2_000_000  # entries of one (permutation, cluster) array of numbers held at a time


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """A statistic with its permutation p.

    `n` counts rows (pairs, in a paired test), `clusters` what was moved as one. `permutations` is how many arrangements
    p rests on: all of them, the observed one among them, where `exact`; else the drawn ones, the observed one not
    counted. Arrangements with an `undefined` statistic count as at least as extreme.
    """

    value: float
    p: float
    tail: Tail
    n: int
    clusters: int
    permutations: int
    exact: bool
    undefined: int
    exchanged: str
    signature: Signature

    def estimate(self, name: str, **fields: Any) -> Estimate:
        """Return the value and p as an `Estimate`; `fields` are further fields of it."""
        how = "all" if self.exact else "random"
        return Estimate(
            name=name,
            value=self.value,
            p_value=self.p,
            n=self.n,
            clusters=self.clusters,
            method=f"permutation test ({self.tail}), {self.exchanged}, {self.permutations} {how} arrangements",
            interval_reason="a permutation test gives a p-value and no interval",
            signature=self.signature,
            extra={"undefined_permutations": self.undefined} if self.undefined else {},
            **fields,
        )


def two_sample_permutation(
    first: ArrayLike,
    second: ArrayLike,
    rng: Generator,
    *,
    first_cluster: ArrayLike | None = None,
    second_cluster: ArrayLike | None = None,
    first_stratum: ArrayLike | None = None,
    second_stratum: ArrayLike | None = None,
    statistic: Statistic | None = None,
    tail: Tail = "two-sided",
    permutations: int = PERMUTATIONS,
) -> PermutationTest | Undefined:
    """Test that two samples come from one distribution, moving whole clusters between them (within strata).

    Args:
        first, second: finite values, shapes (row of the first sample,) and (row of the second sample,).
        first_cluster, second_cluster: the person of each row; without them every row is one of its own.
        first_stratum, second_stratum: what clusters are exchanged within; without them, everywhere.
        statistic: of both samples' values, 0 where they are alike; if None, mean of first minus mean of second.
        tail: two-sided compares absolute values.
        permutations: how many are drawn; where there are no more arrangements than this, all are gone through.

    Undefined where a sample is empty, the statistic is undefined, or nothing can be exchanged.

    Raises:
        InvalidData: a value that is not finite, a cluster in both samples or in two strata, or lengths that differ.

    By hand: of the six ways to choose two of 1, 2, 3, 4 two have a difference of means of at least 2 in size.

    >>> found = two_sample_permutation([3, 4], [1, 2], np.random.default_rng(1))
    >>> found.value, round(found.p, 6), found.permutations, found.exact
    (2.0, 0.333333, 6, True)
    """
    one, two = _finite(first, "first"), _finite(second, "second")
    if not len(one) or not len(two):
        return Undefined("a sample is empty")
    values = np.concatenate([one, two])
    label = np.repeat([1, 0], [len(one), len(two)])
    cluster = _joined(first_cluster, second_cluster, len(one), len(two), "cluster")
    stratum = _joined(first_stratum, second_stratum, len(one), len(two), "stratum")
    order, clusters = canonical_clusters(values, label, cluster, stratum)
    values = values[order]
    observed = _difference(statistic, values, clusters.label[clusters.codes] == 1)
    if isinstance(observed, Undefined):
        return observed
    count = clusters.arrangements()
    if count < 2:
        return Undefined("no stratum holds clusters of both samples: nothing can be exchanged")
    check_permutations(permutations)
    exact = count <= permutations
    child = None if exact else fork(rng)
    signature = Signature() if child is None else signature_of(child, permutations)
    moved = "clusters exchanged whole" if cluster is not None else "rows exchanged"
    drawn = clusters.every() if child is None else clusters.drawn(child, permutations)
    null = _null_of_labels(statistic, values, clusters.codes, drawn)
    return _result(
        observed,
        null,
        tail,
        exact,
        signature,
        n=len(values),
        clusters=len(clusters.label),
        exchanged=moved + (" within strata" if stratum is not None else ""),
    )


def paired_permutation(
    first: ArrayLike,
    second: ArrayLike,
    rng: Generator,
    *,
    person: ArrayLike | None = None,
    statistic: Statistic | None = None,
    tail: Tail = "two-sided",
    permutations: int = PERMUTATIONS,
) -> PermutationTest | Undefined:
    """Test that the members of a pair are exchangeable, swapping all pairs of a person together.

    Args:
        first, second: the members of each pair, shape (pair,), nan = missing; such a pair is left out.
        person: whose pair it is; without it every pair is of another person.
        statistic: of both members' values, 0 where they are alike; the mean of first minus second if None.
        tail: two-sided compares absolute values.
        permutations: how many are drawn; where 2^persons is no larger, all arrangements are gone through.

    Undefined without a complete pair, where the statistic is undefined, or where no pair differs.

    Raises:
        InvalidData: an infinite value, or lengths that differ.

    By hand: differences 1, 2, 3; of the eight ways to give them signs two have a mean of at least 2 in size.

    >>> found = paired_permutation([2, 4, 6], [1, 2, 3], np.random.default_rng(1))
    >>> found.value, found.p, found.permutations, found.exact
    (2.0, 0.25, 8, True)
    """
    one, two, who = _pairs(first, second, person)
    if not len(one):
        return Undefined("there is no complete pair")
    if bool((one == two).all()):
        return Undefined("no pair differs: nothing changes when its members are swapped")
    order = canonical_order(who, one, two)
    one, two, codes = one[order], two[order], cluster_codes(who[order])[0]
    persons = int(codes.max()) + 1
    observed = _number(statistic(one, two)) if statistic is not None else float((one - two).mean())
    if np.isnan(observed):
        return Undefined("the statistic is undefined on the pairs as they are")
    check_permutations(permutations)
    exact = 2**persons <= permutations
    child = None if exact else fork(rng)
    signature = Signature() if child is None else signature_of(child, permutations)
    if child is None:
        swaps = np.array(list(product([False, True], repeat=persons)))
    else:
        swaps = paired_swaps(np.arange(persons), child, permutations)
    if statistic is None:
        sums = np.bincount(codes, weights=one - two, minlength=persons)
        null = (sums.sum() - 2.0 * _row_sums(swaps, sums)) / len(one)
    else:
        rows = (swap[codes] for swap in swaps)
        null = np.array([_number(statistic(np.where(s, two, one), np.where(s, one, two))) for s in rows])
    moved = "members swapped within pairs" + (", a person's pairs together" if person is not None else "")
    return _result(observed, null, tail, exact, signature, n=len(one), clusters=persons, exchanged=moved)


def _null_of_labels(statistic: Statistic | None, values: FloatArray, codes: IntArray, drawn: BoolArray) -> FloatArray:
    """Return the statistic under each arrangement of the clusters; nan where it is undefined."""
    if statistic is None:
        sums = np.bincount(codes, weights=values, minlength=drawn.shape[1])
        sizes = np.bincount(codes, minlength=drawn.shape[1])
        total, count = _row_sums(drawn, sums), _row_sums(drawn, sizes)
        return np.asarray(total / count - (values.sum() - total) / (len(values) - count))
    return np.array([_number(statistic(values[row[codes]], values[~row[codes]])) for row in drawn])


def _row_sums(chosen: BoolArray, weights: NDArray[Any]) -> FloatArray:
    """Return the sum of the chosen weights in each row of `chosen`, shape (row, value), a block at a time."""
    step = max(1, _BLOCK // max(1, chosen.shape[1]))
    parts = [chosen[start : start + step].astype(np.float64) @ weights for start in range(0, len(chosen), step)]
    return np.concatenate(parts)


def _difference(statistic: Statistic | None, values: FloatArray, first: BoolArray) -> float | Undefined:
    if statistic is None:
        return float(values[first].mean() - values[~first].mean())
    found = _number(statistic(values[first], values[~first]))
    return Undefined("the statistic is undefined on the samples as they are") if np.isnan(found) else found


# ------------------------------------------------------------------------------------------------ input and result


def _result(
    observed: float,
    null: FloatArray,
    tail: Tail,
    exact: bool,
    signature: Signature,
    *,
    n: int,
    clusters: int,
    exchanged: str,
) -> PermutationTest:
    p = count_as_extreme(observed, null, tail) / len(null) if exact else permutation_p(observed, null, tail=tail)
    undefined = int(np.isnan(null).sum())
    return PermutationTest(observed, p, tail, n, clusters, len(null), exact, undefined, exchanged, signature)


def _finite(values: ArrayLike, name: str) -> FloatArray:
    array = as_numbers(values, "values")
    if array.ndim != 1 or not np.isfinite(array).all():
        raise InvalidData(f"the {name} sample must be one column of finite numbers: drop missing values first.")
    return array


def _joined(first: ArrayLike | None, second: ArrayLike | None, n1: int, n2: int, what: str) -> NDArray[Any] | None:
    """Return the labels of both samples' rows; None where neither is given."""
    if first is None and second is None:
        return None
    if first is None or second is None:
        raise InvalidData(f"the {what} of one sample is given and of the other is not: give both or none.")
    one, two = np.asarray(first), np.asarray(second)
    if one.shape != (n1,) or two.shape != (n2,):
        raise InvalidData(
            f"one {what} a row is needed, got {len(one)} and {len(two)} for {n1} and {n2} rows: pass equal lengths."
        )
    return np.concatenate([one, two])


def _pairs(
    first: ArrayLike, second: ArrayLike, person: ArrayLike | None
) -> tuple[FloatArray, FloatArray, NDArray[Any]]:
    """Return the complete pairs and whose they are."""
    one, two = as_numbers(first, "values"), as_numbers(second, "values")
    who = np.arange(len(one)) if person is None else np.asarray(person)
    if one.ndim != 1 or one.shape != two.shape or who.shape != one.shape:
        raise InvalidData(
            f"both members and the person need one entry a pair, got shapes {one.shape}, {two.shape} and {who.shape}: "
            "pass columns of equal length."
        )
    if np.isinf(one).any() or np.isinf(two).any():
        raise InvalidData("a member of a pair must be a finite number, got an infinite one: mark it as missing (nan).")
    present = ~(np.isnan(one) | np.isnan(two))
    return one[present], two[present], who[present]


def _number(value: float | Undefined) -> float:
    return np.nan if isinstance(value, Undefined) else float(value)
