"""Krippendorff's α: against its definition, the krippendorff package, its own two ways, and its bootstrap."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any, get_args

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.agreement.alpha import alpha, alpha_interval, by_package, closed_form
from calibrate.stats.agreement.alpha_bootstrap import alpha_replicates, draws_of
from calibrate.stats.agreement.distances import Distances, distances_of
from calibrate.stats.agreement.pairable import Pairable, pairable_of
from calibrate.stats.agreement.ratings import Level, ratings_of

LEVELS: tuple[Level, ...] = get_args(Level)
Table = list[list[Any]]
CELL = st.sampled_from([None, 0, 1, 2, 3, 7])
TABLES = st.integers(1, 5).flatmap(
    lambda raters: st.lists(st.lists(CELL, min_size=raters, max_size=raters), min_size=1, max_size=8)
)
NUMERIC = pytest.mark.parametrize("level", LEVELS)


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def value_of(table: Table, level: Level, **given: Any) -> float | Undefined:
    return alpha(ratings_of(table, level=level, **given)).value


def same(left: float | Undefined, right: float | Undefined) -> bool:
    if isinstance(left, Undefined) or isinstance(right, Undefined):
        return left == right
    return left == pytest.approx(right, abs=1e-9)


def defined(value: float | Undefined) -> float:
    assert isinstance(value, float), value
    return value


def exact(table: Table, level: Level) -> float | None:
    """Return α from pairs of ratings in exact arithmetic; None where it is not defined."""
    units = [[Fraction(v) for v in row if v is not None] for row in table]
    units = [unit for unit in units if len(unit) >= 2]
    held = sorted(v for unit in units for v in unit)
    n = len(held)

    def apart(c: Fraction, k: Fraction) -> Fraction:
        if level == "nominal":
            return Fraction(int(c != k))
        if level == "interval":
            return (c - k) ** 2
        if level == "ratio":
            return ((c - k) / (c + k)) ** 2 if c + k else Fraction(0)
        low, high = min(c, k), max(c, k)
        between = sum(low <= g <= high for g in held)
        return (between - Fraction(held.count(c) + held.count(k), 2)) ** 2

    among = sum((2 * apart(c, k) for c, k in combinations(held, 2)), Fraction(0))
    if not among:
        return None
    pairs = ((2 * apart(c, k) / (len(unit) - 1)) for unit in units for c, k in combinations(unit, 2))
    return float(1 - (n - 1) * sum(pairs, Fraction(0)) / among)


# ---------------------------------------------------------------------------------------------------------- the value


@NUMERIC
@settings(max_examples=150, deadline=None)
@given(table=TABLES)
def test_it_is_the_definition_in_exact_arithmetic(level: Level, table: Table) -> None:
    expected = exact(table, level)
    found = value_of(table, level)
    if expected is None:
        assert isinstance(found, Undefined)
    else:
        assert found == pytest.approx(expected, abs=1e-12)
        assert defined(found) <= 1.0


@NUMERIC
@settings(max_examples=100, deadline=None)
@given(table=TABLES)
def test_all_ways_agree(level: Level, table: Table) -> None:
    units = pairable_of(ratings_of(table, level=level))
    package, closed = by_package(units), closed_form(units)
    assert type(package) is type(closed)
    if isinstance(closed, float):
        assert closed == pytest.approx(package, abs=1e-12)
        weights = units.alike[None, :].astype(float)
        few, many = (distances_of(units, many=way).sums(weights) for way in (False, True))
        assert few.within == pytest.approx(many.within, abs=1e-12 * float(few.among[0]))
        assert few.among == pytest.approx(many.among, rel=1e-12)
        assert few.largest == pytest.approx(many.largest, rel=1e-12)


@NUMERIC
def test_the_package_agrees_on_thousands_of_tables_where_it_is_right(level: Level) -> None:
    rng = np.random.default_rng(LEVELS.index(level))
    compared = 0
    for _ in range(1500):
        raters, units, q = rng.integers(2, 6), rng.integers(1, 9), rng.integers(2, 6)
        data = rng.integers(0, q, (raters, units)).astype(float)
        data[rng.random(data.shape) < 0.25] = np.nan
        paired = data[:, (~np.isnan(data)).sum(axis=0) >= 2]
        if len(np.unique(paired[~np.isnan(paired)])) < 2:
            continue  # the package raises, or divides 0 by 0
        expected = krippendorff.alpha(reliability_data=data, level_of_measurement=level)
        assert value_of(data.T, level) == pytest.approx(expected, abs=1e-12)  # type: ignore[arg-type]
        compared += 1
    assert compared > 1000


def test_what_the_package_gets_wrong() -> None:
    with pytest.raises(ValueError, match="more than one value"):
        krippendorff.alpha(reliability_data=[[3, 3], [3, 3]], level_of_measurement="nominal")
    unpaired = [[1.0, 1.0, 2.0], [1.0, 1.0, np.nan]]  # the second value stands alone
    with np.errstate(all="ignore"):
        assert np.isnan(krippendorff.alpha(reliability_data=unpaired, level_of_measurement="nominal"))
    minus = [[-1.0, 1.0, 2.0], [1.0, 1.0, 2.0]]
    assert krippendorff.alpha(reliability_data=minus, level_of_measurement="ratio") == 1.0
    with pytest.raises(ValueError, match="dtype kind"):
        krippendorff.alpha(reliability_data=np.array([[1, 2], [1, None]], dtype=object))
    with np.errstate(all="ignore"):
        huge = krippendorff.alpha(reliability_data=[[1e308, 1e308], [1.5e308, 1e308]], level_of_measurement="ratio")
    assert not np.isfinite(huge)


def test_what_the_package_gets_wrong_is_right_here() -> None:
    assert isinstance(value_of([[3, 3], [3, 3]], "nominal"), Undefined)
    assert isinstance(value_of([[1, 1], [1, 1], [2, None]], "nominal"), Undefined)
    with pytest.raises(InvalidData, match="non-negative"):
        value_of([[-1, 1], [1, 1], [2, 2]], "ratio")
    assert value_of([[1, 1], [2, None]], "interval") == Undefined(
        "all pairable ratings are equal: nothing but agreement is expected"
    )
    scaled = value_of([[1e308, 1.5e308], [1e308, 1e308]], "ratio")
    assert scaled == pytest.approx(defined(value_of([[1, 1.5], [1, 1]], "ratio")), abs=1e-12)
    assert value_of([[-1.7e308, 1.7e308], [0, 0], [1e308, 1e308]], "interval") == pytest.approx(
        defined(value_of([[-17, 17], [0, 0], [10, 10]], "interval")), abs=1e-12
    )
    tiny = value_of([[5e-324, 1e-323], [5e-324, 5e-324]], "interval")
    assert tiny == pytest.approx(defined(value_of([[1, 2], [1, 1]], "interval")), abs=1e-12)


@NUMERIC
def test_values_that_need_no_computation_are_exact(level: Level) -> None:
    assert value_of([[1, 1, 2]], level) == 0.0
    assert value_of([[1, 1], [2, 2], [7, 7, 7]], level) == 1.0
    for empty in ([], [[]], [[None, None]], [[1, None], [None, 2]], [[1]]):
        assert value_of(empty, level) == Undefined("no unit has two ratings")


# --------------------------------------------------------------------------------------------------------- invariances


@NUMERIC
@settings(max_examples=60, deadline=None)
@given(table=TABLES, seed=st.integers(0, 2**32 - 1))
def test_order_of_units_and_raters_does_not_matter(level: Level, table: Table, seed: int) -> None:
    rng = np.random.default_rng(seed)
    raters = rng.permutation(len(table[0]))
    mixed = [[table[unit][rater] for rater in raters] for unit in rng.permutation(len(table))]
    assert value_of(mixed, level) == value_of(table, level)  # to the last digit


@NUMERIC
@settings(max_examples=60, deadline=None)
@given(table=TABLES, scale=st.floats(1e-3, 1e3), shift=st.floats(-100, 100))
def test_what_the_level_allows_changes_nothing(level: Level, table: Table, scale: float, shift: float) -> None:
    maps: dict[str, Any] = {
        "nominal": {0: "z", 1: "a", 2: "é", 3: "\u200b", 7: "z "}.get,
        "ordinal": {0: -9, 1: 0.5, 2: 0.6, 3: 1e9, 7: 1e10}.get,
        "interval": lambda v: scale * v + shift,
        "ratio": lambda v: scale * v,
    }
    moved = [[None if v is None else maps[level](v) for v in row] for row in table]
    assert same(value_of(moved, level), value_of(table, level))
    if level == "interval":
        mirrored = [[None if v is None else -v for v in row] for row in table]
        assert same(value_of(mirrored, level), value_of(table, level))


@NUMERIC
@settings(max_examples=60, deadline=None)
@given(table=TABLES)
def test_duplicates_unused_categories_and_single_ratings(level: Level, table: Table) -> None:
    value = value_of(table, level)
    units = pairable_of(ratings_of(table, level=level))
    if isinstance(value, float) and len(units.unit):
        n, times = float(units.marginals.sum()), 3
        # D_o stays, D_e = among/(n(n − 1)) grows from n(n − 1) to 3n(3n − 1) in its divisor
        expected = 1.0 - (1.0 - value) * (times * n - 1.0) / (times * (n - 1.0))
        assert value_of(table * times, level) == pytest.approx(expected, abs=1e-9)
    width = len(table[0])
    assert value_of([*table, [99] + [None] * (width - 1)], level) == value
    assert value_of(table, level, categories=[0, 1, 2, 3, 4, 5, 6, 7, 50]) == value
    assert value_of([[*row, None] for row in table], level) == value


@settings(max_examples=60, deadline=None)
@given(table=TABLES)
def test_ordinal_is_the_same_upside_down_and_nominal_of_two_is_all_the_same(table: Table) -> None:
    mirrored = [[None if v is None else -v for v in row] for row in table]
    assert same(value_of(mirrored, "ordinal"), value_of(table, "ordinal"))
    two = [[None if v is None else int(v > 1) for v in row] for row in table]
    values = [value_of(two, level) for level in LEVELS]
    assert all(same(one, values[0]) for one in values[1:])


# ------------------------------------------------------------------------------------------------- beside the value


def test_what_stands_beside_it() -> None:
    found = alpha(ratings_of([[1, 1, None], [1, 2, 2], [None, None, 3]], level="nominal"))
    assert (found.name, found.symbol, found.n) == ("alpha_nominal", "α", 5)
    assert found.extra["pairable_values"] == 5 and found.extra["units"] == 2
    assert found.raw == pytest.approx((1 + 1 / 3) / 2)
    assert dict(found.marginals) == pytest.approx({1: 0.6, 2: 0.4, 3: 0.0})
    assert found.observed == pytest.approx(1 - 2 / 5) and found.expected == pytest.approx(1 - 12 / 20)
    estimate = found.estimate()
    assert estimate.value == found.value and estimate.interval_reason


@NUMERIC
@settings(max_examples=40, deadline=None)
@given(table=TABLES)
def test_value_is_observed_beyond_expected(level: Level, table: Table) -> None:
    found = alpha(ratings_of(table, level=level))
    if isinstance(found.value, Undefined):
        assert found.estimate().reason == found.value.reason
        return
    assert found.observed is not None and found.expected is not None and found.raw is not None
    assert found.value == pytest.approx((found.observed - found.expected) / (1 - found.expected), abs=1e-9)
    assert all(-1e-12 <= share <= 1 + 1e-12 for share in (found.observed, found.expected, found.raw))
    assert sum(found.marginals.values()) == pytest.approx(1.0)


def test_one_disagreement_among_many_is_remarked_on() -> None:
    table = [[0, 0]] * 99 + [[0, 1]]
    for level in LEVELS:
        found = alpha(ratings_of(table, level=level))
        assert abs(defined(found.value)) < 0.01
        assert found.remark is not None and "α" in found.remark
    assert alpha(ratings_of([[0, 0], [1, 1]] * 50, level="nominal")).remark is None
    constant = alpha(ratings_of([[0, 0]] * 9, level="nominal"))
    assert isinstance(constant.value, Undefined) and constant.remark is not None


# -------------------------------------------------------------------------------------------------------- many values


def spread(level: Level, units: int, seed: int) -> Pairable:
    rng = np.random.default_rng(seed)
    table = np.exp(rng.normal(0.0, 2.0, (units, 1)) + rng.normal(0.0, 0.5, (units, 4)))
    table[rng.random(table.shape) < 0.3] = np.nan
    table[rng.random(table.shape) < 0.02] = 0.0
    return pairable_of(ratings_of(table, level=level))


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_many_values_need_no_table_and_give_the_same(level: Level) -> None:
    units = spread(level, 60, 1)
    assert units.categories > 120
    assert closed_form(units) == pytest.approx(defined(by_package(units)), abs=1e-11)


@pytest.mark.parametrize("spacing", [1e-9, 1e-6, 1e-2, 5.0])
def test_ratio_distances_hold_for_values_close_together_and_far_apart(spacing: float) -> None:
    rng = np.random.default_rng(3)
    table = np.exp(spacing * rng.normal(size=(80, 3)))
    units = pairable_of(ratings_of(table, level="ratio"))
    weights = rng.integers(0, 4, (5, units.kinds)).astype(float)
    few, many = (distances_of(units, many=way).sums(weights) for way in (False, True))
    assert many.among == pytest.approx(few.among, rel=1e-5 if spacing < 1e-5 else 1e-9)
    assert many.within == pytest.approx(few.within, rel=1e-5 if spacing < 1e-5 else 1e-9)


def test_ratio_distances_hold_over_six_hundred_orders_of_magnitude() -> None:
    table = [[1e-300, 1e-299, 0.0], [1.0, 2.0, 1e-3], [1e300, 3e299, 1e300], [0.0, 0.0, 1e-300]]
    units = pairable_of(ratings_of(table, level="ratio"))
    weights = units.alike[None, :].astype(float)
    few, many = (distances_of(units, many=way).sums(weights) for way in (False, True))
    assert many.among == pytest.approx(few.among, rel=1e-12)
    assert many.within == pytest.approx(few.within, rel=1e-12)


def test_an_outlier_leaves_no_rounding_behind_where_it_is_not_drawn() -> None:
    units = pairable_of(ratings_of([[1, 2], [2, 2], [3, 3], [1e12, 2e12]], level="interval"))
    weights = np.array([[1.0, 1.0, 1.0, 0.0]])
    sums = distances_of(units).sums(weights)
    expected = value_of([[1, 2], [2, 2], [3, 3]], "interval")
    assert 1 - (sums.n[0] - 1) * sums.within[0] / sums.among[0] == pytest.approx(expected, abs=1e-6)


# ---------------------------------------------------------------------------------------------------------- bootstrap

FORTY = [
    "112.2 1101. 2333. .00.0 000.0 000.0 102.1 1.20. 222.2 2111. .100. 0000. 1222. 33223 111.1 111.1 212.2 1233.",
    "1101. 000.0 0011. 00.00 2333. 0000. 12.22 0111. 00010 1212. 1122. 112.2 110.0 2121. 22.22 3222. 222.2 223.2",
    "222.2 22.12 2222. 111.1",
]
HAYES: Table = [[None if c == "." else int(c) for c in unit] for line in FORTY for unit in line.split()]


def test_hayes_and_krippendorff_2007() -> None:
    assert value_of(HAYES, "ordinal") == pytest.approx(0.7598, abs=5e-5)
    assert sum(v is not None for row in HAYES for v in row) == 159  # judgements, as they say
    found = alpha_interval(ratings_of(HAYES, level="interval"), np.random.default_rng(7), resamples=10_000)
    assert isinstance(found.interval, Interval)
    assert found.interval.low == pytest.approx(0.637, abs=0.012)
    assert found.interval.high == pytest.approx(0.836, abs=0.012)
    assert found.se == pytest.approx(0.0508, abs=0.003)


def replicates_by_hand(table: Table, level: Level, drawn: np.ndarray) -> np.ndarray:
    values = [value_of([table[unit] for unit in row], level) for row in drawn]
    return np.array([np.nan if isinstance(v, Undefined) else v for v in values])


def by_weights(units: Pairable, distances: Distances, drawn: np.ndarray) -> np.ndarray:
    kinds = units.kind[drawn]
    weights = np.stack([np.bincount(row, minlength=units.kinds) for row in kinds]).astype(float)
    sums = distances.sums(weights)
    return 1 - (sums.n - 1) * sums.within / sums.among


@NUMERIC
@pytest.mark.parametrize("many", [False, True])
def test_a_resample_is_alpha_of_the_units_drawn(level: Level, many: bool) -> None:
    units = pairable_of(ratings_of(HAYES, level=level))
    drawn = np.random.default_rng(5).integers(len(HAYES), size=(40, len(HAYES)))
    found = by_weights(units, distances_of(units, many=many), drawn)
    assert found == pytest.approx(replicates_by_hand(HAYES, level, drawn), abs=1e-12)


@NUMERIC
def test_same_seed_same_interval_whatever_the_order(level: Level) -> None:
    rng = np.random.default_rng(9)
    order, raters = rng.permutation(len(HAYES)), rng.permutation(5)
    mixed = [[HAYES[unit][rater] for rater in raters] for unit in order]
    one, other = (
        alpha_interval(ratings_of(table, level=level), np.random.default_rng(3), resamples=300)
        for table in (HAYES, mixed)
    )
    assert one == other
    names = np.array([f"c{unit // 4}" for unit in range(len(HAYES))])
    renamed = {name: at for at, name in enumerate(rng.permutation(np.unique(names)))}
    mixed_names = [renamed[name] for name in names[order]]
    one = alpha_interval(ratings_of(HAYES, level=level), np.random.default_rng(3), resamples=300, cluster=names)
    other = alpha_interval(ratings_of(mixed, level=level), np.random.default_rng(3), resamples=300, cluster=mixed_names)
    assert one == other and one.extra["clusters"] == 10
    assert one.signature.resamples == 300 and one.signature.seed == 3


def test_clusters_stay_together() -> None:
    table = [[1, 1], [1, 2], [2, 2], [1, 1], [1, 2], [2, 2], [3, 3], [2, 3], [3, None]]
    cluster = ["a", "a", "a", "b", "b", "b", "c", "c", "d"]
    rated = ratings_of(table, level="nominal")
    units = pairable_of(rated)
    draws = draws_of(units, len(table), cluster)
    assert sorted(draws.alike.tolist()) == [1, 2] and draws.clusters == 3  # a and b hold the same; d nothing pairable
    weights = np.concatenate(list(draws.weights(200, np.random.default_rng(1), 50)))
    per_kind = {tuple(row) for row in weights.tolist()}
    a, c = draws.members.toarray()[draws.alike == 2][0], draws.members.toarray()[draws.alike == 1][0]
    assert per_kind == {tuple((times * a + (3 - times) * c).tolist()) for times in range(4)}


def test_single_unit_clusters_are_units() -> None:
    rated = ratings_of(HAYES, level="ordinal")
    alone = alpha_interval(rated, np.random.default_rng(1), resamples=4000)
    named = alpha_interval(rated, np.random.default_rng(1), resamples=4000, cluster=np.arange(len(HAYES)))
    assert isinstance(alone.interval, Interval) and isinstance(named.interval, Interval)
    assert named.interval.low == pytest.approx(alone.interval.low, abs=0.02)
    assert named.interval.high == pytest.approx(alone.interval.high, abs=0.02)


def test_resamples_do_not_depend_on_how_many_are_held_at_once() -> None:
    for table in (HAYES, HAYES * 20):  # drawn one by one, and by kind
        units = pairable_of(ratings_of(table, level="ordinal"))
        draws = draws_of(units, len(table), None)
        whole, parts = (
            np.concatenate(list(draws.weights(50, np.random.default_rng(2), at_once))) for at_once in (1000, 7)
        )
        assert (whole == parts).all() and (whole.sum(axis=1) == len(table)).all()


def test_kinds_drawn_at_once_spread_like_units_drawn_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rated = ratings_of(HAYES * 20, level="ordinal")
    by_kind = alpha_interval(rated, np.random.default_rng(1), resamples=3000)
    monkeypatch.setattr("calibrate.stats.agreement.alpha_bootstrap._MANY_ALIKE", 10_000)
    one_by_one = alpha_interval(rated, np.random.default_rng(1), resamples=3000)
    assert by_kind.se != one_by_one.se
    assert by_kind.se == pytest.approx(one_by_one.se, rel=0.08)


def test_clusters_that_repeat_themselves_widen_the_interval() -> None:
    rated = ratings_of(HAYES * 5, level="ordinal")
    cluster = list(range(len(HAYES))) * 5
    alone = alpha_interval(rated, np.random.default_rng(1))
    together = alpha_interval(rated, np.random.default_rng(1), cluster=cluster)
    assert alone.se is not None and together.se is not None
    assert together.se > 1.8 * alone.se  # √5 = 2.24


def test_undefined_resamples_are_counted_and_too_many_are_refused() -> None:
    rated = ratings_of([[1, 1]] * 4 + [[1, 2]], level="nominal")
    found = alpha_interval(rated, np.random.default_rng(1), resamples=20_000)
    assert found.value == 0.0  # D_o = D_e = 2/10
    assert isinstance(found.interval, Undefined) and "undefined in" in found.interval.reason
    assert int(str(found.extra["undefined_resamples"])) / 20_000 == pytest.approx(0.8**5, abs=0.015)


@NUMERIC
def test_resamples_of_one_category_are_undefined_whatever_rounding_leaves(level: Level) -> None:
    table = [[0.1, 0.1], [0.1, 0.1, 0.1], [0.7, 0.7], [1.3, 1.3], [1.3, 1.3, 1.3]]  # no unit is split: 1 or undefined
    units = pairable_of(ratings_of(table, level=level))
    draws = draws_of(units, len(table), None)
    weights = np.concatenate(list(draws.weights(5000, np.random.default_rng(2), 1000)))
    alike = ((weights > 0)[:, :, None] & (units.counts > 0)).any(axis=1).sum(axis=1) == 1
    replicates = alpha_replicates(units, draws, 5000, np.random.default_rng(2))
    assert replicates.undefined == int(alike.sum()) > 50
    assert (replicates.values == 1.0).all()


@pytest.mark.parametrize("table", [[], [[1, 1]], [[1, 1]] * 9, [[1, None]] * 9])
def test_no_value_no_interval(table: Table) -> None:
    found = alpha_interval(ratings_of(table, level="interval"), np.random.default_rng(1))
    assert isinstance(found.value, Undefined) and isinstance(found.interval, Undefined)
    assert found.extra["undefined_resamples"] is None
    assert found.estimate().reason


def test_too_few_units_or_clusters_are_refused() -> None:
    four = ratings_of([[1, 2], [2, 2], [1, 1], [3, 3]], level="ordinal")
    found = alpha_interval(four, np.random.default_rng(1))
    assert isinstance(found.interval, Undefined) and "4 units are too few" in found.interval.reason
    estimate = found.estimate(clusters=4)
    assert estimate.value is not None and estimate.interval_reason
    pair = alpha_interval(ratings_of(HAYES, level="nominal"), np.random.default_rng(1), cluster=[0, 1] * 20)
    assert isinstance(pair.interval, Undefined) and "2 clusters are too few" in pair.interval.reason


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"resamples": 0}, "resample"),
        ({"resamples": 2.5}, "resample"),
        ({"resamples": True}, "resample"),
        ({"confidence": 1.0}, "level of an interval"),
        ({"confidence": float("nan")}, "level of an interval"),
        ({"cluster": ["a"]}, "one label a unit"),
        ({"cluster": ["a"] * 39 + [None]}, "belongs to no cluster"),
        ({"cluster": [float("nan")] * 40}, "belongs to no cluster"),
    ],
)
def test_wrong_arguments(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidData, match=words):
        alpha_interval(ratings_of(HAYES, level="nominal"), np.random.default_rng(1), **given)


@settings(max_examples=40, deadline=None)
@given(table=TABLES, level=st.sampled_from(LEVELS), seed=st.integers(0, 1000))
def test_no_nan_and_no_infinity_ever(table: Table, level: Level, seed: int) -> None:
    rated = ratings_of(table, level=level)
    for cluster in (None, [unit // 2 for unit in range(len(table))]):
        found = alpha_interval(rated, np.random.default_rng(seed), resamples=50, cluster=cluster)
        if isinstance(found.interval, Interval):
            assert found.interval.high <= 1.0
        found.estimate()  # refuses nan and infinity


def test_replicates_are_those_of_the_units_drawn_from_the_generator() -> None:
    units = pairable_of(ratings_of(HAYES, level="ordinal"))
    draws = draws_of(units, len(HAYES), None)
    replicates = alpha_replicates(units, draws, 64, np.random.default_rng(4))
    weights = np.concatenate(list(draws.weights(64, np.random.default_rng(4), 10_000)))
    assert (weights.sum(axis=1) == len(HAYES)).all()
    sums = distances_of(units).sums(weights)
    assert replicates.values == pytest.approx(1 - (sums.n - 1) * sums.within / sums.among, abs=1e-15)
