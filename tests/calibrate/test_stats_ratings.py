"""Ratings as a table or as columns: three states kept apart, hostile values, one sentence for every mistake."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate.errors import InvalidData
from calibrate.stats.agreement.alpha import alpha, alpha_interval
from calibrate.stats.agreement.pairable import pairable_of
from calibrate.stats.agreement.ratings import Level, Ratings, ratings_from_long, ratings_of

LEVELS: tuple[Level, ...] = get_args(Level)
NAN = float("nan")


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def entries(rated: Ratings) -> list[tuple[int, int, Any]]:
    categories = [rated.categories[code] for code in rated.code]
    return list(zip(rated.unit.tolist(), rated.rater.tolist(), categories, strict=True))


# -------------------------------------------------------------------------------------------------------- what is read


def test_rows_of_unequal_length_and_what_is_missing() -> None:
    rated = ratings_of([[1, None], [], [NAN, 2, 1], [np.nan, np.float64("nan"), pd.NA]], level="ordinal")
    assert entries(rated) == [(0, 0, 1), (2, 1, 2), (2, 2, 1)]
    assert (rated.units, rated.raters, rated.n) == (4, 3, 3)
    assert rated.per_unit.tolist() == [1, 0, 2, 0]
    assert rated.matrix().tolist() == [[0, -1, -1], [-1, -1, -1], [-1, 1, 0], [-1, -1, -1]]
    assert rated.counts().tolist() == [[1, 0], [0, 0], [1, 1], [0, 0]]


def test_every_kind_of_missing_is_missing() -> None:
    gone: list[Any] = [None, NAN, np.nan, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("nan")]
    rated = ratings_of([["yes", *gone], ["no", "yes"]], level="nominal")
    assert rated.n == 3 and rated.categories == ("no", "yes")


def test_missing_not_applicable_and_labels_are_three_things() -> None:
    rated = ratings_of([["a", "n/a"], [None, "n/a"], ["b", "nan"]], level="nominal", not_applicable=["n/a"])
    assert rated.categories == ("a", "b", "nan")
    assert rated.na_unit.tolist() == [0, 1] and rated.na_rater.tolist() == [1, 1]
    numbers = ratings_of(np.array([[1.0, 9.0], [np.nan, 2.0]]), level="interval", not_applicable=[9])
    assert numbers.categories == (1, 2) and numbers.na_unit.tolist() == [0]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float32", "float64", "bool", "object"])
def test_arrays_of_any_type_are_the_same_ratings(level: Level, dtype: str) -> None:
    table = [[0, 1, 1], [1, 1, 0]]
    found, expected = ratings_of(np.array(table, dtype=dtype), level=level), ratings_of(table, level=level)
    assert entries(found) == entries(expected)
    assert found.categories == expected.categories == (0, 1)
    assert found.scores is not None and found.scores.tolist() == [0.0, 1.0]


def test_numpy_scalars_bools_and_equal_numbers_are_one_category() -> None:
    rated = ratings_of(
        [[1, 1.0, True, np.int8(1), np.float32(1)], [0, False, np.bool_(False), 2.5, -0.0]], level="nominal"
    )
    assert rated.categories == (0, 1, 2.5) and rated.n == 10
    words = ratings_of(np.array([["a", "b"], ["b", "b"]]), level="nominal")
    assert words.categories == ("a", "b") and type(words.categories[0]) is str
    truth = ratings_of([[True, False], [True, True]], level="nominal")
    assert truth.categories == (False, True)


def test_labels_with_odd_letters_stay_apart() -> None:
    labels = ["é", "e\u0301", "\u200b", "", " ", "a\x00", "a", "\U0001f600", "nan", "None"]
    rated = ratings_of([[label, label] for label in labels], level="nominal")
    assert len(rated.categories) == len(labels)
    assert alpha(rated).value == 1.0


def test_labels_of_mixed_kinds_have_an_order_that_does_not_depend_on_theirs() -> None:
    mixed = [1, "1", (1, 2), 2.5, datetime.date(2026, 1, 1), "a", frozenset({1}), 3j, 1j, Decimal("1.5"), b"b"]
    one = ratings_of([[label] for label in mixed], level="nominal")
    other = ratings_of([[label] for label in mixed[::-1]], level="nominal")
    assert one.categories == other.categories and len(one.categories) == len(mixed)
    assert one.scores is None


def test_categories_declared_keep_their_order_and_unused_ones() -> None:
    words = ratings_of([["low", "high"]], level="ordinal", categories=["low", "mid", "high", "low"])
    assert words.categories == ("low", "mid", "high") and words.code.tolist() == [0, 2] and words.declared
    assert words.scores is not None and words.scores.tolist() == [1.0, 2.0, 3.0]
    numbers = ratings_of([[5, 1]], level="interval", categories=[1, 3, 5])
    assert numbers.categories == (1, 3, 5) and numbers.code.tolist() == [2, 0]
    nominal = ratings_of([[5, 1]], level="nominal", categories=[5, 3, 1])
    assert nominal.categories == (5, 3, 1) and nominal.code.tolist() == [0, 2]
    assert nominal.scores is not None and nominal.scores.tolist() == [5.0, 3.0, 1.0]


def test_long_and_wide_are_the_same_in_any_order() -> None:
    table = [["a", "b", None], ["b", None, "b"], [None, None, None]]
    cells = [(u, r, table[u][r]) for u in range(3) for r in range(3)]
    for order in (range(9), range(8, -1, -1), np.random.default_rng(1).permutation(9)):
        unit, rater, value = zip(*(cells[at] for at in order), strict=True)
        long = ratings_from_long(unit, rater, value, level="nominal")
        assert entries(long) == entries(ratings_of(table, level="nominal"))
        assert (long.units, long.raters) == (3, 3)
    assert ratings_from_long([], [], [], level="ordinal", units=4, raters=2).per_unit.tolist() == [0] * 4


def test_a_missing_entry_is_no_second_rating() -> None:
    rated = ratings_from_long([0, 0, 0], [0, 0, 1], [None, 1, 1], level="interval")
    assert rated.n == 2


def test_chosen_units_and_raters() -> None:
    rated = ratings_of([["a", "b", "x"], ["b", "x", "a"], ["a", "a", None]], level="nominal", not_applicable=["x"])
    units = rated.of_units(np.array([False, True, True]))
    assert entries(units) == [(0, 0, "b"), (0, 2, "a"), (1, 0, "a"), (1, 1, "a")] and units.na_unit.tolist() == [0]
    raters = rated.of_raters([2, 0])
    assert entries(raters) == [(0, 1, "a"), (1, 0, "a"), (1, 1, "b"), (2, 1, "a")]
    assert raters.na_unit.tolist() == [0] and raters.na_rater.tolist() == [0]
    assert rated.pair_table(0, 1).tolist() == [[1, 1], [0, 0]]


def test_huge_and_tiny_numbers() -> None:
    labels = ratings_of([[10**400, 10**400], [1, 10**400]], level="nominal")
    assert labels.scores is None and labels.n == 4
    numbers = ratings_of([[1e308, -1e308], [5e-324, 2**53]], level="interval")
    assert numbers.scores is not None and np.isfinite(numbers.scores).all()
    assert isinstance(alpha(numbers).value, float)


def test_empty_tables_are_ratings_too() -> None:
    for table in ([], [[]], [[], []], [[None]], np.zeros((0, 3)), np.zeros((3, 0)), np.full((2, 2), np.nan)):
        for level in LEVELS:
            rated = ratings_of(table, level=level, categories=None)
            assert rated.n == 0 and rated.categories == () and pairable_of(rated).kinds == 0
    assert ratings_of([[None]], level="ordinal", categories=["a", "b"]).categories == ("a", "b")


def test_a_million_cells_are_read_from_an_array_in_order() -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(0, 5, (20_000, 50)).astype(float)
    table[rng.random(table.shape) < 0.3] = np.nan
    rated = ratings_of(table, level="ordinal")
    assert rated.n == int(np.isfinite(table).sum())
    assert (rated.matrix() == np.where(np.isnan(table), -1, table)).all()


# ------------------------------------------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("table", "level", "given", "words"),
    [
        ([[1, 2]], "median", {}, "level must be one of"),
        ([[1, 2]], None, {}, "level must be one of"),
        ([[1, "a"]], "interval", {}, "needs numbers, got 'a'"),
        ([[1, "a"]], "ratio", {}, "needs numbers"),
        ([["a", "b"]], "ordinal", {}, "no order of their own"),
        ([[1, "a"]], "ordinal", {}, "no order of their own"),
        ([[1, 2]], "interval", {"categories": ["a", "b"]}, "needs numbers"),
        ([[-1, 1]], "ratio", {}, "non-negative values, got -1"),
        ([[1, 1]], "ratio", {"categories": [-1, 1]}, "non-negative values"),
        ([[1, float("inf")]], "interval", {}, "infinite"),
        ([[1, float("-inf")]], "nominal", {}, "infinite"),
        (np.array([[1.0, np.inf]]), "nominal", {}, "infinite"),
        ([[1, 2]], "ordinal", {"categories": [1, float("inf")]}, "infinite"),
        ([[1, 9]], "ordinal", {"categories": [1, 2, 3]}, "value 9 is not among the declared categories"),
        ([["a", "z"]], "nominal", {"categories": ["a", "b"]}, "value 'z' is not among"),
        ([[1, 9]], "nominal", {"categories": []}, "not among the declared"),
        ([[1, 9]], "interval", {"categories": []}, "not among the declared"),
        ([[1, 9]], "interval", {"categories": [1, None]}, "missing rating"),
        ([["a"]], "nominal", {"categories": "abc"}, "categories are a list"),
        ([["a"]], "nominal", {"categories": [["a"]]}, "categories are a list"),
        ([["a"]], "nominal", {"categories": 3}, "categories are a list"),
        ([["a"]], "nominal", {"not_applicable": "n/a"}, "not_applicable is a list"),
        ([["a"]], "nominal", {"not_applicable": [["a"]]}, "not_applicable is a list"),
        ([[["a"], "b"]], "nominal", {}, "plain values"),
        (["abc", "abd"], "nominal", {}, "a row holds one rating a rater"),
        ([{"a": 1}], "nominal", {}, "a row holds one rating a rater"),
        ([1, 2, 3], "nominal", {}, "one row a unit"),
        (7, "nominal", {}, "one row a unit"),
        (None, "nominal", {}, "one row a unit"),
        (np.zeros((2, 2, 2)), "nominal", {}, "plain values"),
        (pd.DataFrame({"ann": [1], "bo": [2]}), "nominal", {}, "a row holds one rating a rater"),
        ([[10**400, 1]], "interval", {}, "too large"),
        ([[2**60, 2**60 + 1]], "ordinal", {}, "sixteenth digit"),
        (np.array([[2**60, 2**60 + 1]]), "interval", {}, "sixteenth digit"),
        ([[1 + 2j, 1]], "interval", {}, "needs numbers"),
    ],
)
def test_a_mistake_is_told_in_one_sentence(table: Any, level: Any, given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidData, match=words) as told:
        ratings_of(table, level=level, **given)
    assert str(told.value).endswith(".") and "\n" not in str(told.value) and len(str(told.value)) < 400


@pytest.mark.parametrize(
    ("unit", "rater", "value", "given", "words"),
    [
        ([0, 0], [1, 1], [1, 2], {}, "rater 1 rates unit 0 more than once"),
        ([0, 1], [0], [1, 2], {}, "one entry a rating"),
        ([0.5, 1], [0, 0], [1, 2], {}, "whole numbers"),
        (["u", "v"], [0, 0], [1, 2], {}, "whole numbers"),
        ([-1, 1], [0, 0], [1, 2], {}, "got -1"),
        ([0, 5], [0, 0], [1, 2], {"units": 3}, "unit number 5 needs 6 units"),
        ([0, 1], [0, 2], [1, 2], {"raters": 1}, "rater number 2 needs 3 raters"),
        ([[0, 1]], [[0, 0]], [[1, 2]], {}, "plain values|shape"),
        ([0, 1], [0, 0], np.ones((2, 1)), {}, "values need shape"),
        ([0, 1], [0, 0], None, {}, "plain values"),
    ],
)
def test_a_mistake_in_columns_is_told(unit: Any, rater: Any, value: Any, given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidData, match=words):
        ratings_from_long(unit, rater, value, level="nominal", **given)


def test_tables_too_large_to_build_are_refused() -> None:
    many = ratings_from_long(np.arange(60_000), np.arange(60_000), np.arange(60_000.0), level="interval")
    for build in (many.counts, many.matrix, lambda: many.pair_table(0, 1)):
        with pytest.raises(InvalidData, match="too large"):
            build()


# -------------------------------------------------------------------------------------------------------- properties

SCALARS = [st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.binary(max_size=2)]
ODD = [st.complex_numbers(), st.dates(), st.decimals(), st.tuples(st.integers(0, 2)), st.just(pd.NA)]
ANYTHING = st.one_of(*SCALARS, *ODD, st.just(np.float32(1)), st.just(np.str_("x")))


@settings(max_examples=200, deadline=None)
@given(table=st.lists(st.lists(ANYTHING, max_size=4), max_size=5), level=st.sampled_from(LEVELS))
def test_anything_is_read_or_refused(table: list[list[Any]], level: Level) -> None:
    try:
        rated = ratings_of(table, level=level)
    except InvalidData as told:
        message = str(told)
        assert message.endswith(".")
        return
    assert len(rated.categories) == len(set(rated.categories)) == len(set(rated.code.tolist()))
    found = alpha_interval(rated, np.random.default_rng(0), resamples=20)
    found.estimate()


CELLS = st.sampled_from([None, NAN, 0, 1, 2.5, "a", "b"])


@settings(max_examples=100, deadline=None)
@given(table=st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_kinds_hold_what_units_hold(table: list[list[Any]], seed: int) -> None:
    rated = ratings_of(table, level="nominal")
    units = pairable_of(rated)
    assert int(units.alike.sum()) == len(units.unit) == int((rated.per_unit >= 2).sum())
    counts, used = np.zeros((units.kinds, len(rated.categories))), units.used
    counts[np.ix_(np.arange(units.kinds), used)] = units.counts
    assert (counts[units.kind] == rated.counts()[units.unit]).all()
    assert len(np.unique(counts, axis=0)) == units.kinds
    order = np.random.default_rng(seed).permutation(len(table))
    mixed = pairable_of(ratings_of([table[at] for at in order], level="nominal"))
    if mixed.used.tolist() == used.tolist() and rated.categories:
        assert (mixed.alike == units.alike).all() and (mixed.entry_code == units.entry_code).all()


@pytest.mark.parametrize("categories", [3, 300, 70_000])
def test_kinds_with_any_number_of_categories(categories: int) -> None:
    rng = np.random.default_rng(2)
    table = rng.integers(0, categories, (2000, 4)).astype(float)
    table[:500] = table[500:1000, ::-1]  # the same ratings by other raters
    table[0, 1:] = np.nan
    whole = ratings_of(table, level="interval", categories=range(categories))
    units = pairable_of(whole)
    assert len(units.unit) == 1999 and units.kinds <= 1500
    order = [tuple(sorted(row)) for row in table[units.unit].tolist()]
    seen: dict[int, tuple[float, ...]] = {}
    for kind, row in zip(units.kind.tolist(), order, strict=True):
        assert seen.setdefault(kind, row) == row
    assert [seen[kind] for kind in range(units.kinds)] == sorted(seen.values())
