"""The bootstrap of agreement coefficients: every resample is the coefficient of the units that it holds."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.agreement.bootstrap import bootstrap_coefficients, coefficient_names
from calibrate.stats.agreement.bootstrap_sums import sums_of
from calibrate.stats.agreement.coefficient import Coefficient
from calibrate.stats.agreement.icc import ICC_NAMES, icc
from calibrate.stats.agreement.light import all_agree, light_kappa
from calibrate.stats.agreement.multirater import gwet
from calibrate.stats.agreement.ratings import Ratings, ratings_of
from calibrate.stats.agreement.two_raters import cohen_kappa_of_table, pabak, scott_pi
from calibrate.stats.agreement.weights import ratings_weights

pytestmark = pytest.mark.filterwarnings("error")

GWET = ("pa", "ac", "bp", "fleiss", "conger", "kripp")
SCALE = [1, 2, 4, 7]


def directly(name: str, rated: Ratings, weights: str | None) -> Coefficient:
    """The coefficient by the functions that everybody else uses."""
    if name in GWET:
        return gwet(rated, weights)[name]
    if name in ICC_NAMES:
        return icc(rated)[name]
    table = rated.pair_table(0, 1)
    return {
        "raw": lambda: gwet(rated)["pa"],
        "light": lambda: light_kappa(rated, weights),
        "all_agree": lambda: all_agree(rated),
        "pabak": lambda: pabak(table),
        "cohen": lambda: cohen_kappa_of_table(table, scores=rated.scores, weights=weights),
        "scott": lambda: scott_pi(table, scores=rated.scores, weights=weights),
    }[name]()


def table_of(seed: int, units: int, raters: int, missing: float, q: int = 4) -> list[list[int | None]]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, q, units)
    place = np.where(rng.random((units, raters)) < 0.6, truth[:, None], rng.integers(0, q, (units, raters)))
    gone = rng.random((units, raters)) < missing
    return [[None if g else SCALE[p] for p, g in zip(*row, strict=True)] for row in zip(place, gone, strict=True)]


def number(made: Coefficient) -> float | None:
    return None if isinstance(made.value, Undefined) else made.value


MANY = [name for name in coefficient_names() if name not in ("cohen", "scott", "pabak")]
PAIRS = ["cohen", "scott", "light", "conger", "kripp", "icc_2_1"]


@pytest.mark.parametrize(("raters", "names"), [(3, MANY), (2, PAIRS)])
@pytest.mark.parametrize("weights", [None, "quadratic"])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), often=st.lists(st.integers(0, 3), min_size=7, max_size=7))
@example(seed=21822, often=[0, 2, 0, 0, 0, 0, 1])  # a total variance that is 0 but for rounding
def test_a_resample_is_the_coefficient_of_its_units(
    weights: str | None, raters: int, names: list[str], seed: int, often: list[int]
) -> None:
    """Scott's π of a table and of ratings differ where a unit has one rating, so cohen and scott get complete pairs."""
    rows = table_of(seed, 7, raters, 0.0 if raters == 2 else 0.2)
    rows = [row if any(cell is not None for cell in row) else [1] * raters for row in rows]
    drawn = [row for row, times in zip(rows, often, strict=True) for _ in range(times)]
    if not drawn:
        return
    rated, resample = (ratings_of(one, level="interval", categories=SCALE) for one in (rows, drawn))
    whole = set(np.unique(rated.rater)) == set(np.unique(resample.rater))
    for name in names:
        if name in ("all_agree", "light", *ICC_NAMES) and not whole:
            continue  # there a rater who is not in the resample makes other units complete
        sums = sums_of(name, rated, ratings_weights(weights, rated))
        value = sums.finish(np.array([often], dtype=float) @ sums.parts).value[0]
        expected = number(directly(name, resample, weights))
        assert (None if np.isnan(value) else value) == (
            None if expected is None else pytest.approx(expected, abs=1e-9)
        ), name


@pytest.mark.parametrize("weights", [None, "linear"])
def test_values_terms_and_n_are_those_without_a_bootstrap(weights: str | None) -> None:
    rated = ratings_of(table_of(1, 40, 3, 0.25), level="interval", categories=SCALE)
    made = bootstrap_coefficients(rated, MANY, np.random.default_rng(1), 50, weights=weights)
    for name in MANY:
        ours, direct = made[name], directly(name, rated, weights)
        assert number(ours) == pytest.approx(number(direct), abs=1e-12), name
        assert ours.n == (direct.n if name not in ("raw",) else gwet(rated)["kripp"].n), name
        if name in (*GWET, "light"):
            assert ours.observed == pytest.approx(direct.observed), name
            assert (ours.expected is None) == (direct.expected is None)
            assert ours.name == direct.name
        if name not in ICC_NAMES:
            assert ours.raw == pytest.approx(direct.raw), name
            assert ours.marginals == pytest.approx(direct.marginals), name


def test_two_raters_and_two_categories() -> None:
    rows = [[1, 1]] * 30 + [[2, 2]] * 12 + [[1, 2]] * 6 + [[2, 1]] * 3
    rated = ratings_of(rows, level="nominal", categories=[1, 2])
    made = bootstrap_coefficients(rated, ["cohen", "scott", "pabak", "bp"], np.random.default_rng(2), 400)
    for name in ("cohen", "scott", "pabak"):
        assert number(made[name]) == pytest.approx(number(directly(name, rated, None)))
    assert made["pabak"].interval == made["bp"].interval


@pytest.mark.parametrize("name", ["pa", "ac", "bp", "fleiss", "conger", "kripp"])
def test_by_units_the_limits_are_about_those_of_the_standard_error(name: str) -> None:
    rated = ratings_of(table_of(3, 400, 3, 0.15), level="interval", categories=SCALE)
    made = bootstrap_coefficients(rated, [name], np.random.default_rng(3), 2000)[name].interval
    direct = gwet(rated)[name].interval
    assert isinstance(made, Interval)
    assert isinstance(direct, Interval)
    width = direct.high - direct.low
    assert made.high - made.low == pytest.approx(width, rel=0.08)
    assert made.low == pytest.approx(direct.low, abs=0.1 * width)


def test_clusters_whose_units_are_alike_widen_the_limits() -> None:
    rng = np.random.default_rng(4)
    rows: list[Any] = []
    for _ in range(40):  # one cluster: eight times the same unit
        truth, agree = rng.integers(0, 2), rng.random() < 0.8
        rows += [[truth, truth if agree else 1 - truth]] * 8
    rated = ratings_of(rows, level="nominal", categories=[0, 1])
    cluster = [f"episode {row // 8}" for row in range(len(rows))]
    by_unit, by_cluster = (
        bootstrap_coefficients(rated, ["cohen", "ac"], np.random.default_rng(5), 1000, cluster=one)
        for one in (None, cluster)
    )
    for name in ("cohen", "ac"):
        widths = [one[name].interval.high - one[name].interval.low for one in (by_unit, by_cluster)]  # type: ignore[union-attr]
        assert widths[1] / widths[0] == pytest.approx(8**0.5, rel=0.15)
        assert by_cluster[name].extra["clusters"] == 40
        assert "clusters" in (by_cluster[name].method or "")


def test_strata_keep_their_number_of_clusters() -> None:
    """Two strata, each without any spread inside: stratified resamples are all alike."""
    rows = [[0, 0]] * 20 + [[0, 1]] * 20
    rated = ratings_of(rows, level="nominal", categories=[0, 1])
    strata = ["easy"] * 20 + ["hard"] * 20
    made = bootstrap_coefficients(rated, ["pa", "ac"], np.random.default_rng(6), 300, strata=strata)
    assert made["pa"].value == 0.5
    assert isinstance(made["pa"].interval, Undefined)
    assert made["pa"].extra["strata"] == 2
    free = bootstrap_coefficients(rated, ["pa"], np.random.default_rng(6), 300)
    assert isinstance(free["pa"].interval, Interval)
    lonely = bootstrap_coefficients(rated, ["pa"], np.random.default_rng(6), 30, strata=["one", *strata[1:]])
    assert lonely["pa"].extra["single_cluster_strata"] == 1


def test_sampling_weights_weigh_units_as_if_they_stood_there_more_often() -> None:
    rows = table_of(7, 12, 3, 0.2)
    rows[0] = [1, 1, 2]
    weights = [1 + number % 3 for number in range(12)]
    repeated = [row for row, times in zip(rows, weights, strict=True) for _ in range(times)]
    names = ["pa", "ac", "bp", "fleiss", "conger"]
    rated, more = (ratings_of(one, level="interval", categories=SCALE) for one in (rows, repeated))
    made = bootstrap_coefficients(rated, names, np.random.default_rng(7), 20, unit_weights=weights)
    for name in names:
        assert number(made[name]) == pytest.approx(number(gwet(more)[name]), abs=1e-12), name
    assert made["pa"].marginals == pytest.approx(gwet(more)["pa"].marginals)
    equal = bootstrap_coefficients(rated, names, np.random.default_rng(7), 20, unit_weights=[5.0] * 12)
    plain = bootstrap_coefficients(rated, names, np.random.default_rng(7), 20)
    assert [equal[name].interval for name in names] == [plain[name].interval for name in names]


@pytest.mark.parametrize("with_clusters", [False, True])
def test_limits_do_not_depend_on_the_order_of_units_or_raters(with_clusters: bool) -> None:
    rows = table_of(8, 30, 3, 0.2)
    cluster = [f"c{unit % 9}" for unit in range(30)]
    order = np.random.default_rng(9).permutation(30)
    moved = [[rows[unit][rater] for rater in (2, 0, 1)] for unit in order]
    found = []
    for table, labels in ((rows, cluster), (moved, [cluster[unit].upper() for unit in order])):
        rated = ratings_of(table, level="interval", categories=SCALE)
        given_clusters = labels if with_clusters else None
        found.append(bootstrap_coefficients(rated, MANY, np.random.default_rng(10), 200, cluster=given_clusters))
    for name in MANY:
        first, second = (one[name].interval for one in found)
        assert type(first) is type(second)
        if isinstance(first, Interval) and isinstance(second, Interval):
            assert (first.low, first.high) == pytest.approx((second.low, second.high), abs=1e-12), name


def test_the_signature_repeats_the_limits_and_two_calls_differ() -> None:
    rated = ratings_of(table_of(11, 25, 2, 0.0), level="interval", categories=SCALE)
    rng = np.random.default_rng(12)
    first, second = (bootstrap_coefficients(rated, ["fleiss"], rng, 100)["fleiss"] for _ in range(2))
    again = bootstrap_coefficients(rated, ["fleiss"], np.random.default_rng(12), 100)["fleiss"]
    assert first.interval == again.interval
    assert first.interval != second.interval
    assert first.signature.resamples == 100
    assert first.signature.seed == 12
    assert first.estimate().interval == first.interval


def test_undefined_resamples_are_counted_and_too_many_leave_no_limits() -> None:
    rows = [[0, 0]] * 30 + [[1, 1]]
    rated = ratings_of(rows, level="nominal", categories=[0, 1])
    made = bootstrap_coefficients(rated, ["cohen", "ac"], np.random.default_rng(13), 500)
    assert made["cohen"].extra["undefined_resamples"] == pytest.approx(500 * (30 / 31) ** 31, abs=40)
    assert isinstance(made["cohen"].interval, Undefined)
    assert "resamples" in made["cohen"].interval.reason
    assert made["ac"].extra["undefined_resamples"] == 0
    assert made["ac"].interval == Undefined("all resamples give the same value: too little data")
    few = ratings_of([[0, 0]] * 30 + [[1, 1]] * 3 + [[0, 1]], level="nominal", categories=[0, 1])
    some = bootstrap_coefficients(few, ["cohen", "ac"], np.random.default_rng(13), 500)
    assert 0 < some["cohen"].extra["undefined_resamples"] < 100  # type: ignore[operator]
    assert isinstance(some["cohen"].interval, Interval)
    assert isinstance(some["ac"].interval, Interval)


def test_a_coefficient_without_a_value_gives_its_own_reason() -> None:
    constant = ratings_of([[1, 1], [1, 1]], level="interval", categories=[1, 2, 3])
    made = bootstrap_coefficients(constant, [*MANY, "cohen", "scott", "pabak"], np.random.default_rng(14), 30)
    for name in ("fleiss", "conger", "kripp", "light", "cohen", "scott", "pabak", *ICC_NAMES):
        value = made[name].value
        assert isinstance(value, Undefined), name
        assert value.reason
        assert made[name].estimate().value is None
    assert [number(made[name]) for name in ("pa", "ac", "bp", "all_agree")] == [1.0, 1.0, 1.0, 1.0]
    assert made["kripp"].remark is not None
    assert made["ac"].remark is None


@pytest.mark.parametrize(
    "rows", [[], [[None, None]], [[1, None]], [[1, 2]], [[1, None, None], [None, 2, None]]], ids=str
)
def test_hostile_tables(rows: list[list[Any]]) -> None:
    rated = ratings_of(rows, level="interval", categories=[1, 2])
    for made in bootstrap_coefficients(rated, MANY, np.random.default_rng(15), 20).values():
        shown = made.estimate()
        assert shown.interval is None


def test_thousands_of_values_and_no_table_of_categories() -> None:
    x = np.random.default_rng(16).normal(size=(3000, 2)) + np.arange(3000)[:, None] % 5
    rated = ratings_of(x, level="interval")
    made = bootstrap_coefficients(rated, ["icc_2_1", "icc_3_k", "raw"], np.random.default_rng(17), 200)
    assert isinstance(made["icc_2_1"].interval, Interval)
    assert made["raw"].value == 0.0


def test_a_hundred_thousand_units_take_seconds() -> None:
    rng = np.random.default_rng(18)
    truth = rng.integers(0, 5, 100_000)
    table = np.where(rng.random((100_000, 3)) < 0.7, truth[:, None], rng.integers(0, 5, (100_000, 3))).astype(float)
    table[rng.random(table.shape) < 0.2] = np.nan
    rated = ratings_of(table, level="ordinal", categories=range(5))
    start = time.perf_counter()
    bootstrap_coefficients(rated, ["ac", "bp", "fleiss", "conger", "kripp", "light"], rng, 1000, weights="quadratic")
    assert time.perf_counter() - start < 20


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"names": ["kappa"]}, "no coefficient is called 'kappa'"),
        ({"names": ["cohen"]}, "for two raters, got 3"),
        ({"resamples": 0}, "resamples must be a whole number from 1"),
        ({"cluster": ["a", "b"]}, "one entry a unit"),
        ({"strata": [1, 2, None, 1]}, "strata is missing for unit 2"),
        ({"cluster": ["a", "a", "b", "b"], "strata": [1, 2, 1, 1]}, "lies in two strata"),
        ({"unit_weights": [1, 0, 1, 1]}, "must be above 0, got 0"),
        ({"unit_weights": [1, 1]}, "one entry a unit"),
    ],
)
def test_refused_input(change: dict[str, Any], says: str) -> None:
    rated = ratings_of([[1, 2, 2], [1, 1, 1], [2, 2, 1], [2, 2, 2]], level="nominal")
    given_input: dict[str, Any] = {"names": ["ac"], "rng": np.random.default_rng(19), "resamples": 10} | change
    with pytest.raises(InvalidData, match=says):
        bootstrap_coefficients(rated, **given_input)


def test_intraclass_correlation_of_labels_is_refused() -> None:
    with pytest.raises(InvalidData, match="needs numbers"):
        bootstrap_coefficients(ratings_of([["a", "b"]], level="nominal"), ["icc_1_1"], np.random.default_rng(20), 10)
