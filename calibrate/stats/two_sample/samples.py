"""Two samples whose rows belong to people, and the relabellings under which their distance is looked at.

The unit that may be exchanged is what people are: a human conversation against its own twin swaps the two labels, all
pairs of a person together; humans against other humans move whole persons. Free relabelling of paired rows has no
power, relabelling conversation by conversation rejects far too often.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.stats.checking import LARGEST, check_count
from calibrate.stats.exchange import cluster_permutations, paired_swaps
from calibrate.stats.resample import canonical_order, cluster_codes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TwoSample:
    """The rows of both samples together, in an order that depends on what they hold and not on how they came.

    values: shape (row, feature). unit: the unit of each row, shape (row,): what one person holds on one side; units
    are what relabelling moves. person: the person of each unit, shape (unit,). first: whether a unit belongs to the
    first sample (human), shape (unit,). people: the label of each person, shape (person,). item: the item of each
    row, shape (row,), None where none were given.
    paired: rows i and i + rows/2 are a human conversation and its twin.
    exact: each human row stands once, so that a swap of labels is exact and not only right for many persons.
    """

    values: FloatArray
    unit: IntArray
    person: IntArray
    first: BoolArray
    people: tuple[Any, ...]
    paired: bool
    item: IntArray | None = None
    exact: bool = True

    @property
    def persons(self) -> int:
        """How many people both samples hold together."""
        return int(self.person.max()) + 1 if len(self.person) else 0

    @property
    def pairs(self) -> int:
        """How many rows count: pairs in the paired design, rows of both samples otherwise."""
        return len(self.values) // 2 if self.paired else len(self.values)

    @property
    def persons_by_side(self) -> tuple[int, int]:
        """How many people the first and the second sample hold."""
        return int(self.first.sum()), int((~self.first).sum())


@dataclass(frozen=True, slots=True)
class Labels:
    """Which units make up the first and the second sample, one line a draw; both shape (draw, unit).

    A unit in neither is left out of that draw.
    """

    first: BoolArray
    second: BoolArray


def paired_sample(
    human: ArrayLike,
    twin: ArrayLike,
    person: ArrayLike,
    item: ArrayLike | None = None,
    conversation: ArrayLike | None = None,
) -> TwoSample:
    """Return human conversations with their twins; row i of `human` and of `twin` are a pair.

    human, twin: shape (pair,) or (pair, feature). person, item, conversation: shape (pair,), any labels; where no
    conversations are given each pair is one. A conversation with several twins stands in several pairs, each with the
    same human row, and counts as often. Labels are then swapped for all of its twins at once, which is right for many
    persons and no longer exact.

    Raises:
        InvalidData: values that are no finite numbers, different lengths or numbers of features, a missing label, or
            human rows of one conversation that differ.

    >>> sample = paired_sample([1.0, 2.0, 4.0], [1.5, 2.0, 3.0], ["ann", "ann", "ben"])
    >>> sample.pairs, sample.persons, sample.values.shape
    (3, 2, (6, 1))
    """
    rows, twins = _matrix(human, "human"), _matrix(twin, "twin")
    _check_features(rows, twins, "human", "twin")
    if len(rows) != len(twins):
        raise InvalidData(
            f"a paired sample needs a twin for each human row, got {len(rows)} human rows and {len(twins)} twins: "
            "drop what has no partner, or use grouped_sample."
        )
    codes = _labels(person, len(rows), "person")
    things = None if item is None else _labels(item, len(rows), "item")
    exact = conversation is None or _one_twin_each(rows, codes, _labels(conversation, len(rows), "conversation"))
    order = _order(codes, rows, twins, things)
    codes, count = cluster_codes(codes[order]) if len(order) else (codes, 0)
    rows, twins = rows[order], twins[order]
    both = None if things is None else np.tile(cluster_codes(things[order])[0] if len(order) else things, 2)
    return TwoSample(
        values=np.concatenate([rows, twins]),
        unit=np.concatenate([codes, codes + count]),
        person=np.tile(np.arange(count), 2),
        first=np.repeat([True, False], count),
        people=_names(np.asarray(person, dtype=object)[order], codes),
        paired=True,
        item=both,
        exact=exact,
    )


def grouped_sample(
    first: ArrayLike,
    second: ArrayLike,
    first_person: ArrayLike,
    second_person: ArrayLike,
    first_item: ArrayLike | None = None,
    second_item: ArrayLike | None = None,
) -> TwoSample:
    """Return two samples of different people, such as humans against other humans; whole persons are exchanged.

    first, second: shape (row,) or (row, feature). Labels: shape (row,); items are given for both samples or for none.

    Raises:
        InvalidData: values that are no finite numbers, different numbers of features, a missing label, or a person
            who stands in both samples.

    >>> sample = grouped_sample([1.0, 2.0], [3.0, 4.0, 5.0], ["ann", "ben"], ["cleo", "cleo", "dora"])
    >>> sample.persons_by_side, sample.pairs
    ((2, 2), 5)
    """
    left, right = _matrix(first, "first"), _matrix(second, "second")
    _check_features(left, right, "first", "second")
    people = np.concatenate(
        [_objects(first_person, len(left), "person"), _objects(second_person, len(right), "person")]
    )
    codes = _labels(people, len(people), "person")
    side = np.arange(len(people)) < len(left)
    shared = np.intersect1d(codes[side], codes[~side])
    if len(shared):
        name = people[int(np.flatnonzero(codes == shared[0])[0])]
        raise InvalidData(
            f"in a grouped sample a person belongs to one side, but {name!r} stands in both: "
            "drop them from one, or use paired_sample for people and their twins."
        )
    things = _items_of_both(first_item, second_item, len(left), len(right))
    values = np.concatenate([left, right])
    order = _order(codes, values, side.astype(np.float64)[:, None], things)
    unit, count = cluster_codes(codes[order]) if len(order) else (codes, 0)
    first_units = np.zeros(count, dtype=np.bool_)
    first_units[unit] = side[order]
    return TwoSample(
        values=values[order],
        unit=unit,
        person=np.arange(count),
        first=first_units,
        people=_names(people[order], unit),
        paired=False,
        item=None if things is None else cluster_codes(things[order])[0] if len(order) else things,
    )


def observed_labels(sample: TwoSample) -> Labels:
    """Return the labels as they are, shape (1, unit).

    >>> observed_labels(paired_sample([1.0], [2.0], ["ann"])).first
    array([[ True, False]])
    """
    return Labels(sample.first[None, :], ~sample.first[None, :])


def permuted_labels(sample: TwoSample, rng: Generator, permutations: int) -> Labels:
    """Return labels that were as likely were both samples alike, shape (permutation, unit).

    Paired: the labels of human and twin swap for each person with chance one half. Grouped: whole persons are dealt to
    the sides, as many to each as there are.

    >>> sample = paired_sample([1.0, 2.0], [2.0, 3.0], ["ann", "ben"])
    >>> labels = permuted_labels(sample, np.random.default_rng(1), 4)
    >>> bool((labels.first[:, :2] == labels.second[:, 2:]).all())
    True
    """
    if sample.paired:
        swap = paired_swaps(np.arange(sample.persons), rng, permutations)
        first = np.concatenate([~swap, swap], axis=1)
    else:
        first = cluster_permutations(np.arange(sample.persons), sample.first, rng, permutations)
    return Labels(first, ~first)


def labels_without_each_person(sample: TwoSample) -> Labels:
    """Return the labels with each person left out in turn, with all they hold on both sides, shape (person, unit).

    >>> labels_without_each_person(paired_sample([1.0, 2.0], [2.0, 3.0], ["ann", "ben"])).first.astype(int)
    array([[0, 1, 0, 0],
           [1, 0, 0, 0]])
    """
    stays = np.arange(sample.persons)[:, None] != sample.person[None, :]
    return Labels(stays & sample.first, stays & ~sample.first)


@dataclass(frozen=True, slots=True)
class HalfLabels:
    """Labels at equal n: `people` sets a half of the humans against the other half, `measured` against the second side.

    persons: how many people stand on each side of every comparison.
    """

    people: Labels
    measured: Labels
    persons: int


def half_labels(sample: TwoSample, rng: Generator, splits: int) -> HalfLabels:
    """Return random halves of the first sample's people, shape (split, unit) each.

    Paired: human half A against human half B, and human half A against the twins of half B. Grouped: half A against
    half B, and half A against as many people of the second sample. With an odd number one person stays out.

    >>> half_labels(paired_sample([1.0] * 5, [2.0] * 5, list("abcde")), np.random.default_rng(1), 10).persons
    2
    """
    check_count(splits, "splits", remedy="ask for 200")
    own, others = np.flatnonzero(sample.first), np.flatnonzero(~sample.first)
    size = min(len(own) // 2, len(others))
    dealt = rng.permuted(np.tile(own, (splits, 1)), axis=1)
    half_a, half_b = dealt[:, :size], dealt[:, size : 2 * size]
    unpaired = rng.permuted(np.tile(others, (splits, 1)), axis=1)[:, :size]
    against = half_b + sample.persons if sample.paired else unpaired
    chosen = [_marked(part, len(sample.first)) for part in (half_a, half_b, against)]
    return HalfLabels(Labels(chosen[0], chosen[1]), Labels(chosen[0], chosen[2]), size)


def _marked(numbers: IntArray, units: int) -> BoolArray:
    marks = np.zeros((len(numbers), units), dtype=np.bool_)
    np.put_along_axis(marks, numbers, True, axis=1)
    return marks


def _matrix(values: ArrayLike, side: str) -> FloatArray:
    """Return finite values, shape (row, feature)."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidData(
            f"{side}: values must be numbers, as many in each row: convert or drop what is none first."
        ) from None
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0:
        raise InvalidData(f"{side}: values must have shape (row,) or (row, feature), got {array.shape}: reshape them.")
    if np.abs(array[np.isfinite(array)]).max(initial=0.0) > LARGEST:
        raise InvalidData(f"{side}: values must be below {LARGEST:g} in size, a larger one is there: rescale them.")
    broken = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(broken):
        value = array[broken[0]][~np.isfinite(array[broken[0]])][0]
        raise InvalidData(
            f"{side}: values must be finite numbers, row {int(broken[0])} holds {float(value)}: "
            "drop the row first (with its twin)."
        )
    return array


def _check_features(one: FloatArray, other: FloatArray, name: str, other_name: str) -> None:
    if one.shape[1] != other.shape[1]:
        raise InvalidData(
            f"both samples need the same features, got {one.shape[1]} in {name} and {other.shape[1]} in {other_name}: "
            "measure the same in both."
        )


def _objects(labels: ArrayLike, rows: int, what: str) -> NDArray[Any]:
    array = np.asarray(labels)
    if array.ndim != 1 or len(array) != rows:
        raise InvalidData(
            f"each row needs one {what}, got {what} labels of shape {array.shape} for {rows} rows: give one for each."
        )
    return array.astype(object)


def _labels(labels: ArrayLike, rows: int, what: str) -> IntArray:
    array = _objects(labels, rows, what)
    try:
        return cluster_codes(array)[0]
    except ValueError:
        raise InvalidData(f"each row needs its {what}, a label is missing: drop the row first.") from None


def _names(labels: NDArray[Any], codes: IntArray) -> tuple[Any, ...]:
    """Return the label of each code, in the order of codes."""
    return tuple(labels[np.unique(codes, return_index=True)[1]].tolist())


def _items_of_both(
    first_item: ArrayLike | None, second_item: ArrayLike | None, first_rows: int, second_rows: int
) -> IntArray | None:
    if first_item is None and second_item is None:
        return None
    if first_item is None or second_item is None:
        raise InvalidData("items are given for one of the samples only: give them for both, or for none.")
    both = [_objects(first_item, first_rows, "item"), _objects(second_item, second_rows, "item")]
    return _labels(np.concatenate(both), first_rows + second_rows, "item")


def _order(codes: IntArray, left: FloatArray, right: FloatArray, items: IntArray | None) -> IntArray:
    """Return an order of the rows by what they hold, and by how often their item stands there."""
    columns = [*left.T, *right.T]
    if items is not None and len(items):
        columns.append(np.bincount(items)[items].astype(np.float64))
    return canonical_order(codes, *columns)


def _one_twin_each(human: FloatArray, person: IntArray, conversation: IntArray) -> bool:
    """Return whether every conversation stands in one pair only; refuse one whose human side differs between pairs."""
    conversations = len(np.unique(conversation))
    held = np.column_stack([conversation, person, human])
    if len(np.unique(held, axis=0)) != conversations:
        raise InvalidData(
            "all pairs of a conversation must hold the same human row and person, one does not: "
            "give each human conversation its own label."
        )
    return conversations == len(human)
