"""Agreement coefficients: published figures, undefined cases, the sentence on prevalence, standard errors."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from calibrate.estimate import Interval, Undefined
from calibrate.stats.agreement.applicability import not_applicable_rate
from calibrate.stats.agreement.coefficient import Coefficient
from calibrate.stats.agreement.fleiss import fleiss_category_kappas, fleiss_kappa, randolph
from calibrate.stats.agreement.icc import ICC_NAMES, icc
from calibrate.stats.agreement.light import light_kappa, pairwise_kappas
from calibrate.stats.agreement.multirater import gwet
from calibrate.stats.agreement.paradox import bias_index, paradox_remark, prevalence_index
from calibrate.stats.agreement.ratings import ratings_of
from calibrate.stats.agreement.two_raters import (
    brennan_prediger,
    cohen_kappa_of_table,
    gwet_ac,
    pabak,
    percent_agreement,
    scott_pi,
)

pytestmark = pytest.mark.filterwarnings("error")

N = None
# Fleiss 1971, table 1: 30 patients, six psychiatrists, diagnoses depression, personality disorder, schizophrenia,
# neurosis, other.
FLEISS = [
    [0, 0, 0, 6, 0], [0, 3, 0, 0, 3], [0, 1, 4, 0, 1], [0, 0, 0, 0, 6], [0, 3, 0, 3, 0], [2, 0, 4, 0, 0],
    [0, 0, 4, 0, 2], [2, 0, 3, 1, 0], [2, 0, 0, 4, 0], [0, 0, 0, 0, 6], [1, 0, 0, 5, 0], [1, 1, 0, 4, 0],
    [0, 3, 3, 0, 0], [1, 0, 0, 5, 0], [0, 2, 0, 3, 1], [0, 0, 5, 0, 1], [3, 0, 0, 1, 2], [5, 1, 0, 0, 0],
    [0, 2, 0, 4, 0], [1, 0, 2, 0, 3], [0, 0, 0, 0, 6], [0, 1, 0, 5, 0], [0, 2, 0, 1, 3], [2, 0, 0, 4, 0],
    [1, 0, 0, 4, 1], [0, 5, 0, 1, 0], [4, 0, 0, 0, 2], [0, 2, 0, 4, 0], [1, 0, 5, 0, 0], [0, 0, 0, 0, 6],
]  # fmt: skip


def value_of(made: Coefficient) -> float:
    assert isinstance(made.value, float)
    return made.value


# ------------------------------------------------------------------------------------------------- published figures


def test_fleiss_1971() -> None:
    kappa = fleiss_kappa(FLEISS)
    assert value_of(kappa) == pytest.approx(0.430, abs=5e-4)
    assert kappa.extra["z"] == pytest.approx(17.65, abs=5e-3)  # as R's irr prints it
    each = [value_of(one) for one in fleiss_category_kappas(FLEISS).values()]
    assert each == pytest.approx([0.245, 0.245, 0.520, 0.471, 0.566], abs=5e-4)
    shared = {round(one.se_null or 0.0, 12) for one in fleiss_category_kappas(FLEISS).values()}
    assert shared == {round(math.sqrt(2 / (30 * 6 * 5)), 12)}


@pytest.mark.parametrize(
    ("table", "kappa", "observed"),
    [
        ([[80, 10], [5, 5]], 0.32, 0.85),  # Feinstein and Cicchetti 1990
        ([[45, 15], [25, 15]], 0.13, 0.60),
        ([[25, 35], [5, 35]], 0.26, 0.60),
        ([[118, 5], [2, 0]], -0.02, 0.94),  # Gwet 2008
    ],
)
def test_tables_of_the_paradoxes(table: list[list[int]], kappa: float, observed: float) -> None:
    made = cohen_kappa_of_table(table)
    assert (value_of(made), made.observed) == pytest.approx((kappa, observed), abs=6e-3)
    assert made.raw == pytest.approx(made.observed, abs=1e-15)


def test_shrout_and_fleiss_1979() -> None:
    made = icc(
        ratings_of(
            [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], level="interval"
        )
    )
    assert [round(value_of(made[name]), 2) for name in ICC_NAMES] == [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
    squares = [made["icc_1_1"].extra[key] for key in ("bms", "wms", "jms", "ems")]
    assert squares == pytest.approx([11.24, 6.26, 32.49, 1.02], abs=5e-3)
    assert made["icc_3_1"].extra["f"] == pytest.approx(11.03, abs=5e-3)
    limits = made["icc_2_1"].interval
    assert isinstance(limits, Interval)
    assert (limits.low, limits.high) == pytest.approx((0.02, 0.76), abs=5e-3)


def test_the_icc_of_a_mean_has_stepped_up_limits() -> None:
    made = icc(ratings_of([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6]], level="interval"))
    one, mean = made["icc_2_1"].interval, made["icc_2_k"].interval
    assert isinstance(one, Interval)
    assert isinstance(mean, Interval)
    for single, stepped in ((one.low, mean.low), (one.high, mean.high)):
        assert stepped == pytest.approx(4 * single / (1 + 3 * single))


def test_gwets_quadratic_weights_on_three_abstractors() -> None:
    """Gwet 2014's table of two abstractors: κ = .796 without weights and .892 with quadratic ones."""
    table = [[13, 0, 0], [0, 20, 7], [0, 4, 56]]
    assert value_of(cohen_kappa_of_table(table)) == pytest.approx(0.796, abs=5e-4)
    assert value_of(cohen_kappa_of_table(table, weights="quadratic")) == pytest.approx(0.892, abs=5e-4)


# ----------------------------------------------------------------------------------------------------- undefined, exact


def test_constant_data_leave_ac_bp_and_pabak_defined_and_nothing_else() -> None:
    table = [[10, 0], [0, 0]]
    assert [value_of(one) for one in (gwet_ac(table), brennan_prediger(table), pabak(table))] == [1.0, 1.0, 1.0]
    for made in (cohen_kappa_of_table(table), scott_pi(table)):
        assert isinstance(made.value, Undefined)
        assert "one category" in made.value.reason
        assert made.raw == 1.0
        assert made.remark is not None
        assert "no value" in made.remark
    many = gwet(ratings_of([["a", "a", "a"]] * 4, level="nominal", categories=["a", "b"]))
    assert {name for name, made in many.items() if isinstance(made.value, float)} == {"pa", "ac", "bp"}


def test_one_declared_category_is_undefined_everywhere_but_in_raw_agreement() -> None:
    many = gwet(ratings_of([[1, 1], [1, 1]], level="nominal"))
    assert {name for name, made in many.items() if isinstance(made.value, float)} == {"pa"}
    for made in (
        gwet_ac([[4]]),
        brennan_prediger([[4]]),
        cohen_kappa_of_table([[4]]),
        pabak([[4]]),
        randolph([[3], [3]]),
    ):
        assert isinstance(made.value, Undefined)


def test_kappa_is_exactly_0_where_one_rater_is_constant() -> None:
    for table in ([[7, 3], [0, 0]], [[0, 3], [0, 0]], [[3, 0, 0], [7, 0, 0], [2, 0, 0]]):
        for weights in (None, "linear", "quadratic"):
            assert cohen_kappa_of_table(table, weights=weights).value == 0.0
    rng = np.random.default_rng(22)
    for _ in range(40):
        wide = np.zeros((60, 60))
        wide[7] = rng.integers(0, 50, 60)
        assert cohen_kappa_of_table(wide, weights="linear").value == 0.0
        rows = [["a", other] for other in rng.choice(["a", "b", "c"], 31)]
        assert gwet(ratings_of(rows, level="nominal", categories=["a", "b", "c"]))["conger"].value == 0.0


def test_the_limits_of_a_mean_are_left_out_where_they_run_to_minus_infinity() -> None:
    made = icc(ratings_of([[1, 2, 5], [2, 2, 2]], level="interval"))["icc_2_k"]
    assert value_of(made) == pytest.approx(-2.25)
    assert isinstance(made.interval, Undefined)
    assert "Spearman–Brown" in made.interval.reason


def test_pabak_is_for_two_categories() -> None:
    made = pabak([[3, 1, 0], [0, 3, 1], [1, 0, 4]])
    assert isinstance(made.value, Undefined)
    assert "3 are declared" in made.value.reason


@pytest.mark.parametrize(
    "statistic", [cohen_kappa_of_table, scott_pi, brennan_prediger, gwet_ac, pabak, percent_agreement]
)
def test_no_pairs_at_all(statistic: Callable[..., Coefficient]) -> None:
    made = statistic([[0, 0], [0, 0]])
    assert made.value == Undefined("no pairs of ratings")
    assert (made.n, made.raw, made.se, made.p_value) == (0, None, None, None)
    assert made.estimate().value is None


def test_a_pair_without_a_kappa_leaves_lights_kappa_without_a_value_and_says_how_many() -> None:
    rated = ratings_of([[1, 1, 2], [1, 1, 1], [1, 1, 2]], level="nominal")
    made = light_kappa(rated)
    assert isinstance(made.value, Undefined)
    assert (made.extra["pairs"], made.extra["undefined_pairs"], made.extra["mean_of_defined"]) == (3, 1, 0.0)
    apart = pairwise_kappas(ratings_of([[1, 2, N, N], [N, N, 1, 2]], level="nominal"))
    assert apart[0, 2].value == Undefined("no unit in common")


def test_fleiss_of_unequal_numbers_counts_single_ratings_in_the_marginals_only() -> None:
    counts = [[2, 0], [1, 1], [0, 1], [0, 1]]
    made = fleiss_kappa(counts)
    pi = np.mean([[1, 0], [0.5, 0.5], [0, 1], [0, 1]], axis=0)
    expected = float((pi**2).sum())
    assert value_of(made) == pytest.approx((0.5 - expected) / (1 - expected))
    assert made.se_null is None
    assert made.extra["z"] is None
    assert made.p_value is not None


def test_one_rating_a_unit_has_no_agreement() -> None:
    for made in (fleiss_kappa([[1, 0], [0, 1]]), randolph([[1, 0], [0, 1]])):
        assert made.value == Undefined("no unit has two ratings")


def test_an_icc_with_no_error_or_no_variance_between_units() -> None:
    exact = icc(ratings_of([[1, 2], [3, 4], [5, 6]], level="interval"))
    assert value_of(exact["icc_3_1"]) == 1.0
    assert value_of(exact["icc_3_k"]) == 1.0
    assert isinstance(exact["icc_3_1"].interval, Undefined)
    assert exact["icc_3_1"].p_value is None
    flat = icc(ratings_of([[1, 5], [5, 1], [2, 4], [4, 2]], level="interval"))
    assert [value_of(flat[f"icc_{form}_1"]) for form in (1, 2, 3)] == pytest.approx([-1.0, -2.0, -1.0])
    assert all(isinstance(flat[f"icc_{form}_k"].value, Undefined) for form in (1, 2, 3))
    for reason, table in (
        ("no variance", [[3, 3], [3, 3]]),
        ("too few", [[1, 2]]),
        ("fewer than two raters", [[1], [2]]),
        ("cannot be squared", [[1e200, -1e200], [3.0, 4.0]]),
    ):
        made = icc(ratings_of(table, level="interval"))["icc_2_1"]
        assert isinstance(made.value, Undefined)
        assert reason in made.value.reason


def test_an_icc_drops_incomplete_units_and_says_so() -> None:
    full = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8]]
    made = icc(ratings_of([*full, [5, N, 4, 6], [N, N, N, N]], level="interval"))["icc_2_1"]
    assert value_of(made) == value_of(icc(ratings_of(full, level="interval"))["icc_2_1"])
    assert (made.n, made.extra["n_dropped"]) == (3, 1)


def test_an_icc_of_thousands_of_different_values_needs_no_table_of_categories() -> None:
    x = np.random.default_rng(5).normal(size=(4000, 3)) + np.arange(4000)[:, None] % 7
    made = icc(ratings_of(x, level="interval"))["icc_3_1"]
    assert 0.6 < value_of(made) < 0.95
    assert made.raw == 0.0


def test_a_single_unit_has_a_value_and_no_limits() -> None:
    made = gwet(ratings_of([[1, 2, 1]], level="nominal"))["fleiss"]
    assert value_of(made) == pytest.approx(-0.5)
    assert made.se is None
    assert isinstance(made.interval, Undefined)
    assert made.p_value is None


def test_agreement_of_all_pairs_leaves_kappa_without_an_interval_and_gwets_limits_at_1() -> None:
    kappa = cohen_kappa_of_table([[5, 0], [0, 5]])
    assert (kappa.value, kappa.se) == (1.0, 0.0)
    assert isinstance(kappa.interval, Undefined)
    assert gwet_ac([[5, 0], [0, 5]]).interval == Interval(1.0, 1.0)


# ---------------------------------------------------------------------------------------------- not applicable, missing


def test_not_applicable_is_a_rate_of_its_own_and_in_no_coefficient() -> None:
    rows = [["yes", "n/a"], ["n/a", "n/a"], ["no", "no"], ["no", "yes"], [N, "yes"], ["yes", "yes"]]
    rated = ratings_of(rows, level="nominal", categories=["yes", "no"], not_applicable=["n/a"])
    without = ratings_of(
        [[None if v == "n/a" else v for v in row] for row in rows], level="nominal", categories=["yes", "no"]
    )
    for name, made in gwet(rated).items():
        assert made.value == gwet(without)[name].value
    rate = not_applicable_rate(rated)
    assert (rate.not_applicable, rate.n, rate.paired_units) == (3, 11, 5)
    assert rate.share == pytest.approx(3 / 11)
    assert rate.agreement == pytest.approx(4 / 5)
    assert isinstance(rate.interval, Interval)
    assert rate.interval.low < 3 / 11 < rate.interval.high


def test_pooling_not_applicable_would_make_agreement_look_better() -> None:
    rows = [["n/a", "n/a"]] * 50 + [[1, 1]] * 30 + [[0, 0]] * 8 + [[1, 0]] * 7 + [[0, 1]] * 5
    apart = ratings_of(rows, level="nominal", not_applicable=["n/a"])
    pooled = ratings_of([[str(v) for v in row] for row in rows], level="nominal")
    assert value_of(gwet(pooled)["conger"]) > value_of(gwet(apart)["conger"]) + 0.25


def test_nothing_was_said() -> None:
    rate = not_applicable_rate(ratings_of([[N, N]], level="nominal"))
    assert isinstance(rate.share, Undefined)
    assert isinstance(rate.interval, Undefined)
    assert isinstance(rate.agreement, Undefined)


# ------------------------------------------------------------------------------------------------------------- paradox


@pytest.mark.parametrize(
    ("raw", "value", "share", "free", "said"),
    [
        (0.85, 0.318, 0.875, None, True),
        (0.95, 0.0, 0.975, None, True),
        (0.944, -0.0234, 0.972, 0.888, True),
        (0.80, 0.59, 0.80, None, True),
        (0.79, 0.10, 0.90, None, False),  # raters do disagree
        (0.95, 0.61, 0.95, None, False),  # not low
        (0.85, 0.30, 0.79, None, False),  # not one category
        (0.90, 0.20, 0.90, 0.30, False),  # low without the marginals too: the weights, not the prevalence
        (None, 0.1, 0.9, None, False),
    ],
)
def test_the_rule_of_the_remark(raw: float | None, value: float, share: float, free: float | None, said: bool) -> None:
    remark = paradox_remark(raw, value, {"no": share, "yes": 1 - share}, symbol="α", marginal_free=free)
    assert (remark is not None) == said
    if remark is not None:
        assert remark.count(".") - f"{value:.2f}".count(".") == 1  # one sentence
        assert "'no'" in remark
        assert "α" in remark


def test_no_coefficient_that_looks_away_from_the_marginals_is_below_the_bound() -> None:
    """At a raw agreement of .80 Brennan–Prediger is .60 or more for every number of categories: hence LOW_VALUE."""
    for q in range(2, 30):
        assert (0.8 - 1 / q) / (1 - 1 / q) >= 0.6 - 1e-12


def test_every_coefficient_carries_the_remark_where_it_is_due_and_only_there() -> None:
    rows = [[0, 0]] * 118 + [[0, 1]] * 5 + [[1, 0]] * 2
    made = gwet(ratings_of(rows, level="nominal"))
    assert {name for name, one in made.items() if one.remark} == {"fleiss", "conger", "kripp"}
    table = [[118, 5], [2, 0]]
    for one in (cohen_kappa_of_table(table), scott_pi(table), light_kappa(ratings_of(rows, level="nominal"))):
        assert one.remark is not None
        assert "94 %" in one.remark
        assert one.estimate().extra["remark"] == one.remark
    for one in (gwet_ac(table), brennan_prediger(table), pabak(table), percent_agreement(table)):
        assert one.remark is None
    even = gwet(ratings_of([[0, 0], [1, 1], [0, 1], [1, 0]] * 5, level="nominal"))
    assert not any(one.remark for one in even.values())


def test_indices_of_prevalence_and_bias() -> None:
    assert prevalence_index([[10, 0], [0, 0]]) == 1.0
    assert prevalence_index([[3, 2], [2, 3]]) == 0.0
    assert bias_index([[3, 4], [0, 3]]) == pytest.approx(0.4)
    assert bias_index([[0, 5], [0, 0]]) == 1.0
    three = [[2, 0, 0], [0, 2, 0], [0, 0, 2]]
    assert prevalence_index(three) == pytest.approx(0.0, abs=1e-7)
    assert prevalence_index([[5, 0, 0], [0, 0, 0], [0, 0, 0]]) == 1.0
    assert isinstance(prevalence_index([[0, 0], [0, 0]]), Undefined)
    assert isinstance(bias_index(ratings_of([[1, N], [N, 2]], level="nominal")), Undefined)
    assert isinstance(prevalence_index(ratings_of([[1, 1]], level="nominal")), Undefined)


# --------------------------------------------------------------------------------------------------- standard errors


def test_standard_errors_are_the_spread_over_samples_of_units() -> None:
    """300 samples of 80 units, a fifth of the cells missing: root mean square of the SE against the spread of values.

    Gwet's formula for percent agreement takes a unit with a single rating for a deviation of the whole of p_o: with
    missing cells its standard error is too large, as the documentation says, and never too small.
    """
    rng = np.random.default_rng(21)
    values: dict[str, list[float]] = {}
    squares: dict[str, list[float]] = {}
    for _ in range(300):
        truth = rng.choice(3, 80, p=[0.5, 0.3, 0.2])
        table = np.where(rng.random((80, 3)) < 0.7, truth[:, None], rng.integers(0, 3, (80, 3))).astype(float)
        table[rng.random((80, 3)) < 0.2] = np.nan
        rated = ratings_of(table, level="interval", categories=range(3))
        pair = rated.pair_table(0, 1)
        made = {**gwet(rated, "linear"), "cohen": cohen_kappa_of_table(pair, weights="linear")}
        for name, one in made.items():
            values.setdefault(name, []).append(value_of(one))
            squares.setdefault(name, []).append((one.se or 0.0) ** 2)
    ratio = {name: float(np.sqrt(np.mean(squares[name])) / np.std(found)) for name, found in values.items()}
    assert 1.1 < ratio.pop("pa") < 1.5
    assert len(ratio) == 6
    assert all(one == pytest.approx(1.0, abs=0.12) for one in ratio.values()), ratio
