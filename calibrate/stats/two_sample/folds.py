"""Folds that keep people and items apart: nobody and nothing of a test fold is seen in training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from calibrate.estimate import Undefined
from calibrate.stats.checking import check_count
from calibrate.stats.two_sample.samples import BoolArray, FloatArray, IntArray, TwoSample

CROSSED_FOLDS = 3  # people and items are both cut in three: nine cells, each trained on four ninths of the rows


@dataclass(frozen=True, slots=True)
class Folds:
    """Rows to train on and rows to test on, shape (fold, row) each, and how they were made, in words."""

    train: BoolArray
    test: BoolArray
    method: str


def person_item_folds(sample: TwoSample, rng: Generator, folds: int = 5) -> Folds | Undefined:
    """Return folds in which training and test rows share no person and no item; every row is tested once.

    Without items people are dealt to the folds. With items the connected parts of the network of people and items are
    dealt, where there are at least `folds` of them. Where there are fewer (people met the same items), people and items
    are both cut in three: a cell of people and items is tested on a model of the other people with other items, and the
    rows in between are left out of that training. Undefined with fewer people (or items, when crossed) than needed.

    >>> from calibrate.stats.two_sample.samples import paired_sample
    >>> sample = paired_sample([1, 2, 3, 4], [2, 3, 4, 5], list("abcd"), ["x", "x", "y", "y"])
    >>> found = person_item_folds(sample, np.random.default_rng(1), 2)
    >>> found.method, found.test.sum(axis=0).tolist()
    ('2 folds of people and items without connection', [1, 1, 1, 1, 1, 1, 1, 1])
    """
    check_count(folds, "folds", 2)
    person = sample.person[sample.unit] if len(sample.unit) else sample.unit
    if sample.item is None:
        if sample.persons < folds:
            return Undefined(f"{sample.persons} people are too few for {folds} folds")
        return _by_part(person, sample.persons, rng, folds, f"{folds} folds of people")
    part, parts = _connected_parts(person, sample.item)
    if parts >= folds:
        return _by_part(part, parts, rng, folds, f"{folds} folds of people and items without connection")
    items = int(sample.item.max()) + 1 if len(sample.item) else 0
    if min(sample.persons, items) < CROSSED_FOLDS:
        return Undefined(
            f"{sample.persons} people and {items} items are too few to keep both apart (at least {CROSSED_FOLDS} each)"
        )
    return _crossed(person, sample.persons, item_order(sample), items, rng)


def half_split(sample: TwoSample, rng: Generator) -> Folds | Undefined:
    """Return one split: a model of half of the people (with half of the items), tested on the other half.

    Without items, or where people and items fall into at least four parts, all rows are used; otherwise only those of
    one half of the items on each side. Undefined with fewer than two people or, when crossed, fewer than two items.

    >>> from calibrate.stats.two_sample.samples import paired_sample
    >>> split = half_split(paired_sample([1, 2, 3, 4], [2, 3, 4, 5], list("abcd")), np.random.default_rng(1))
    >>> split.train.sum(), split.test.sum()
    (np.int64(4), np.int64(4))
    """
    if sample.persons < 2:
        return Undefined(f"{sample.persons} people are too few to be cut in halves")
    person = sample.person[sample.unit]
    if sample.item is None:
        return _first_fold(_by_part(person, sample.persons, rng, 2, "one half of the people"))
    part, parts = _connected_parts(person, sample.item)
    if parts >= 4:
        return _first_fold(_by_part(part, parts, rng, 2, "one half of people and items without connection"))
    items = int(sample.item.max()) + 1
    if items < 2:
        return Undefined("with one item no row can be tested on a model of other items")
    half, items_half = _dealt(sample.persons, 2, rng)[person], _dealt(items, 2, rng)[item_order(sample)]
    train, test = (half == 0) & (items_half == 0), (half == 1) & (items_half == 1)
    return Folds(train[None], test[None], "one half of the people with one half of the items")


def item_order(sample: TwoSample) -> IntArray:
    """Return a number for each row's item that depends on what its rows hold, and not on what it is called.

    >>> from calibrate.stats.two_sample.samples import paired_sample
    >>> sample = paired_sample([9, 1], [9, 1], ["a", "b"], ["x", "y"])
    >>> item_order(sample).tolist(), sample.values[:, 0].tolist()
    ([0, 1, 0, 1], [1.0, 9.0, 1.0, 9.0])
    """
    if sample.item is None or not len(sample.item):
        return np.zeros(len(sample.values), dtype=np.int64)
    held: list[tuple[tuple[float, ...], int]] = []
    for number in range(int(sample.item.max()) + 1):
        rows: FloatArray = sample.values[sample.item == number]
        held.append((tuple(rows[np.lexsort(rows.T[::-1])].ravel().tolist()), number))
    rank = np.empty(len(held), dtype=np.int64)
    rank[[number for _, number in sorted(held)]] = np.arange(len(held))
    return rank[sample.item]


def _connected_parts(person: IntArray, item: IntArray) -> tuple[IntArray, int]:
    """Return the connected part of each row, numbered by first occurrence: rows of a person or item share one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not len(person):
        return person, 0
    people, items = int(person.max()) + 1, int(item.max()) + 1
    links = coo_array((np.ones(len(person)), (person, item + people)), shape=(people + items, people + items))
    count, part = connected_components(links, directed=False)
    first = np.sort(np.unique(part[person], return_index=True)[1])
    rank = np.empty(count, dtype=np.int64)
    rank[part[person][first]] = np.arange(count)
    return rank[part[person]], int(count)


def _dealt(things: int, folds: int, rng: Generator) -> IntArray:
    """Return the fold of each thing: as many in each as can be, at random."""
    return rng.permutation(np.arange(things) % folds)


def _by_part(part: IntArray, parts: int, rng: Generator, folds: int, method: str) -> Folds:
    fold = _dealt(parts, folds, rng)[part]
    test = fold[None, :] == np.arange(folds)[:, None]
    return Folds(~test, test, method)


def _first_fold(folds: Folds) -> Folds:
    return Folds(folds.train[:1], folds.test[:1], folds.method)


def _crossed(person: IntArray, persons: int, item: IntArray, items: int, rng: Generator) -> Folds:
    people, things = _dealt(persons, CROSSED_FOLDS, rng)[person], _dealt(items, CROSSED_FOLDS, rng)[item]
    cells = [(a, b) for a in range(CROSSED_FOLDS) for b in range(CROSSED_FOLDS)]
    test = np.array([(people == a) & (things == b) for a, b in cells])
    train = np.array([(people != a) & (things != b) for a, b in cells])
    filled = test.any(axis=1)
    method = f"{int(filled.sum())} cells of people and items, each tested on a model of other people with other items"
    return Folds(train[filled], test[filled], method)
