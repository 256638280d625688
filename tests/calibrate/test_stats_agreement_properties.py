"""What must hold of every agreement coefficient, whatever the ratings: definitions done slowly, invariances, bounds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from calibrate.estimate import Interval, Undefined
from calibrate.stats.agreement.coefficient import Coefficient
from calibrate.stats.agreement.fleiss import fleiss_category_kappas, fleiss_kappa, randolph
from calibrate.stats.agreement.icc import icc
from calibrate.stats.agreement.light import all_agree, light_kappa, pairwise_agreement, pairwise_kappas
from calibrate.stats.agreement.multirater import gwet
from calibrate.stats.agreement.paradox import bias_index, prevalence_index
from calibrate.stats.agreement.ratings import ratings_of
from calibrate.stats.agreement.two_raters import (
    brennan_prediger,
    cohen_kappa,
    cohen_kappa_of_table,
    gwet_ac,
    pabak,
    percent_agreement,
    scott_pi,
)
from calibrate.stats.agreement.weights import weight_matrix

pytestmark = pytest.mark.filterwarnings("error")

Rows = list[list[int | None]]
GWET = ("pa", "ac", "bp", "fleiss", "conger", "kripp")
WEIGHTS = (None, "linear", "quadratic", "ordinal")


@st.composite
def tables(draw: st.DrawFn, q: int | None = None, missing: bool = True) -> tuple[Rows, list[int]]:
    """Return ratings of units by raters and the declared categories, whose values are not equally far apart."""
    size = q or draw(st.integers(2, 4))
    categories = [1, 2, 5, 9][:size]
    raters = draw(st.integers(2, 4))
    cell = st.sampled_from([*categories, None]) if missing else st.sampled_from(categories)
    rows = draw(st.lists(st.lists(cell, min_size=raters, max_size=raters), min_size=1, max_size=9))
    return rows, categories


contingency = st.integers(1, 4).flatmap(
    lambda q: st.lists(st.lists(st.integers(0, 8), min_size=q, max_size=q), min_size=q, max_size=q)
)


def close(first: float | Undefined | None, second: float | Undefined | None) -> bool:
    if isinstance(first, float) and isinstance(second, float):
        return first == pytest.approx(second, rel=1e-6, abs=1e-9)
    return type(first) is type(second)


def same(first: Coefficient, second: Coefficient) -> None:
    """Value, terms, standard errors, limits and p agree."""
    assert close(first.value, second.value), (first.value, second.value)
    for part in ("observed", "expected", "raw", "se", "se_null", "p_value"):
        assert close(getattr(first, part), getattr(second, part)), part
    assert isinstance(first.interval, Interval) == isinstance(second.interval, Interval)
    if isinstance(first.interval, Interval) and isinstance(second.interval, Interval):
        assert close(first.interval.low, second.interval.low)
        assert close(first.interval.high, second.interval.high)
    assert first.n == second.n


# ------------------------------------------------------------------------------------------- definitions, done slowly


def slowly(rows: Rows, categories: list[int], w: np.ndarray) -> dict[str, float | None]:
    """The six coefficients by loops over units and pairs of raters."""
    at = {name: place for place, name in enumerate(categories)}
    held = [[at[cell] for cell in row if cell is not None] for row in rows]
    rated, paired = [row for row in held if row], [row for row in held if len(row) > 1]
    q, raters = len(categories), len(rows[0])
    if not paired:
        return dict.fromkeys(GWET)
    observed = np.mean([np.mean([w[a, b] for a, b in permutations(row, 2)]) for row in paired])
    pi = np.mean([np.bincount(row, minlength=q) / len(row) for row in rated], axis=0)
    own = [np.array([at[row[g]] for row in rows if row[g] is not None]) for g in range(raters)]
    shares = [np.bincount(one, minlength=q) / len(one) for one in own if len(one)]
    every = np.concatenate([np.array(row) for row in paired])
    total = len(every)
    apart = sum((1 - w[a, b]) / (len(row) - 1) for row in paired for a, b in permutations(row, 2)) / total
    chance = sum(1 - w[a, b] for a, b in permutations(every, 2)) / (total * (total - 1))
    expected = {
        "ac": w.sum() / (q * (q - 1)) * (pi * (1 - pi)).sum(),
        "bp": w.sum() / q**2,
        "fleiss": pi @ w @ pi,
        "conger": np.mean([a @ w @ b for a, b in combinations(shares, 2)]) if len(shares) > 1 else 1.0,
    }
    found: dict[str, float | None] = {"pa": float(observed), "kripp": 1 - apart / chance if chance else None}
    for name, p_e in expected.items():
        found[name] = None if p_e > 1 - 1e-13 else float((observed - p_e) / (1 - p_e))
    return found


@pytest.mark.parametrize("weights", WEIGHTS)
@settings(max_examples=60, deadline=None)
@given(data=tables())
def test_the_six_are_what_their_definitions_say(weights: str | None, data: tuple[Rows, list[int]]) -> None:
    rows, categories = data
    ours = gwet(ratings_of(rows, level="interval", categories=categories), weights)
    for name, expected in slowly(rows, categories, weight_matrix(weights, categories)).items():
        value = ours[name].value
        assert (None if isinstance(value, Undefined) else value) == (
            None if expected is None else pytest.approx(expected, abs=1e-10)
        ), name


# ---------------------------------------------------------------------------------------------------------- invariances


@settings(max_examples=60, deadline=None)
@given(data=tables(), shuffle=st.randoms(use_true_random=False), weights=st.sampled_from(WEIGHTS))
def test_the_order_of_units_and_of_raters_is_nothing(
    data: tuple[Rows, list[int]], shuffle: Any, weights: str | None
) -> None:
    rows, categories = data
    raters = list(range(len(rows[0])))
    shuffle.shuffle(raters)
    moved = [[row[g] for g in raters] for row in shuffle.sample(rows, len(rows))]
    here, there = (ratings_of(one, level="interval", categories=categories) for one in (rows, moved))
    for name, ours in gwet(here, weights).items():
        same(ours, gwet(there, weights)[name])
    same(light_kappa(here, weights), light_kappa(there, weights))
    same(all_agree(here, 3), all_agree(there, 3))
    for name, form in icc(here).items():
        same(form, icc(there)[name])


@settings(max_examples=60, deadline=None)
@given(data=tables(), shuffle=st.randoms(use_true_random=False))
def test_other_names_for_the_categories_change_nothing(data: tuple[Rows, list[int]], shuffle: Any) -> None:
    rows, categories = data
    names = ["d", "b", "a", "c"][: len(categories)]
    other = dict(zip(categories, names, strict=True))
    order = shuffle.sample(names, len(names))
    renamed = [[None if cell is None else other[cell] for cell in row] for row in rows]
    here = ratings_of(rows, level="nominal", categories=categories)
    there = ratings_of(renamed, level="nominal", categories=order)
    for name, ours in gwet(here).items():
        same(ours, gwet(there)[name])
    same(light_kappa(here), light_kappa(there))
    kappas = fleiss_category_kappas(there)
    for category, kappa in fleiss_category_kappas(here).items():
        same(kappa, kappas[other[category]])


@settings(max_examples=50, deadline=None)
@given(data=tables(), times=st.integers(2, 4), weights=st.sampled_from(WEIGHTS))
def test_the_same_units_again_leave_the_values(data: tuple[Rows, list[int]], times: int, weights: str | None) -> None:
    rows, categories = data
    once = ratings_of(rows, level="interval", categories=categories)
    often = ratings_of(rows * times, level="interval", categories=categories)
    for name, ours in gwet(once, weights).items():
        theirs = gwet(often, weights)[name]
        if name != "kripp":  # α corrects for the number of ratings
            assert close(ours.value, theirs.value), name
            if ours.se and theirs.se:
                assert theirs.se < ours.se
    assert close(light_kappa(once, weights).value, light_kappa(often, weights).value)
    assert close(pairwise_agreement(once).value, pairwise_agreement(often).value)


@settings(max_examples=60, deadline=None)
@given(table=contingency, weights=st.sampled_from(WEIGHTS))
def test_it_is_nothing_which_rater_is_called_the_first(table: list[list[int]], weights: str | None) -> None:
    turned = np.transpose(table)
    for statistic in (cohen_kappa_of_table, scott_pi, brennan_prediger, gwet_ac, percent_agreement):
        same(statistic(table, weights=weights), statistic(turned, weights=weights))
    assert close(prevalence_index(table), prevalence_index(turned))
    assert close(bias_index(table), bias_index(turned))


@settings(max_examples=50, deadline=None)
@given(table=contingency, slope=st.sampled_from([-3.0, 0.25, 7.0]), offset=st.integers(-50, 50))
@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_unit_origin_and_direction_of_the_scale_are_nothing(
    weights: str, table: list[list[int]], slope: float, offset: int
) -> None:
    scores = np.array([1.0, 2.0, 5.0, 9.0])[: len(table)]
    here = cohen_kappa_of_table(table, scores=scores, weights=weights)
    same(here, cohen_kappa_of_table(table, scores=slope * scores + offset, weights=weights))


@settings(max_examples=60, deadline=None)
@given(table=contingency)
def test_a_category_that_nobody_used_changes_ac_and_bp_and_not_kappa(table: list[list[int]]) -> None:
    wider = np.pad(np.array(table), (0, 1))
    if np.sum(table) and len(table) > 1:
        same(cohen_kappa_of_table(table), cohen_kappa_of_table(wider))
        same(scott_pi(table), scott_pi(wider))
    apart = np.sum(table) - np.trace(table)
    if apart and len(table) > 1:
        assert brennan_prediger(wider).value > brennan_prediger(table).value
        before, after = gwet_ac(table).value, gwet_ac(wider).value
        assert before != after


@settings(max_examples=60, deadline=None)
@given(table=contingency)
def test_two_categories_make_all_weights_the_same(table: list[list[int]]) -> None:
    assume(len(table) == 2)
    plain = cohen_kappa_of_table(table)
    for weights in ("linear", "quadratic", "ordinal", [[1, 0], [0, 1]]):
        same(plain, cohen_kappa_of_table(table, weights=weights))
    if np.sum(table):
        same(pabak(table), brennan_prediger(table))
        observed = percent_agreement(table).value
        assert close(pabak(table).value, 2 * observed - 1)


@settings(max_examples=60, deadline=None)
@given(data=tables(missing=False), weights=st.sampled_from(WEIGHTS))
def test_a_table_and_the_ratings_that_it_counts_say_the_same(data: tuple[Rows, list[int]], weights: str | None) -> None:
    rows, categories = data
    rated = ratings_of([row[:2] for row in rows], level="interval", categories=categories)
    table = rated.pair_table(0, 1)
    found = gwet(rated, weights)
    scores = np.array(categories, dtype=float)
    same(scott_pi(table, scores=scores, weights=weights), found["fleiss"])
    same(brennan_prediger(table, scores=scores, weights=weights), found["bp"])
    same(gwet_ac(table, scores=scores, weights=weights), found["ac"])
    cohen = cohen_kappa([r[0] for r in rows], [r[1] for r in rows], categories=categories, weights=weights)
    same(cohen, cohen_kappa_of_table(table, scores=scores, weights=weights))
    assert close(cohen.value, found["conger"].value)
    assert close(cohen.value, light_kappa(rated, weights).value)
    assert close(cohen.value, pairwise_kappas(rated, weights)[0, 1].value)
    assert close(prevalence_index(table), prevalence_index(rated))
    assert close(bias_index(table), bias_index(rated))


@settings(max_examples=50, deadline=None)
@given(data=tables(missing=False))
def test_counts_and_ratings_say_the_same(data: tuple[Rows, list[int]]) -> None:
    rows, categories = data
    rated = ratings_of(rows, level="nominal", categories=categories)
    same(fleiss_kappa(rated), fleiss_kappa(rated.counts()))
    same(randolph(rated), randolph(rated.counts()))
    assert close(fleiss_kappa(rated).value, gwet(rated)["fleiss"].value)
    assert close(randolph(rated).value, gwet(rated)["bp"].value)


# --------------------------------------------------------------------------------------------------------------- bounds


@settings(max_examples=80, deadline=None)
@given(data=tables(), weights=st.sampled_from(WEIGHTS))
def test_bounds(data: tuple[Rows, list[int]], weights: str | None) -> None:
    rows, categories = data
    rated = ratings_of(rows, level="interval", categories=categories)
    q = len(categories)
    for name, made in gwet(rated, weights).items():
        assert made.raw is None or -1e-12 <= made.raw <= 1 + 1e-12
        assert not made.marginals or sum(made.marginals.values()) == pytest.approx(1.0)
        assert made.p_value is None or 0.0 <= made.p_value <= 1.0
        if isinstance(made.value, Undefined):
            assert made.value.reason
            assert made.se is None
            continue
        assert made.value <= 1.0 + 1e-12
        if isinstance(made.interval, Interval):
            assert made.interval.high <= 1.0
            assert made.interval.low <= made.value + 1e-12
        if weights is None and name in ("ac", "bp"):
            assert made.value >= -1.0 / (q - 1) - 1e-12
        if name == "pa":
            assert made.value >= -1e-12


@settings(max_examples=60, deadline=None)
@given(data=tables(missing=False))
def test_perfect_agreement_is_one_or_has_no_value(data: tuple[Rows, list[int]]) -> None:
    rows, categories = data
    agreed = ratings_of([[row[0]] * len(row) for row in rows], level="nominal", categories=categories)
    for name, made in gwet(agreed).items():
        if name in ("pa", "ac", "bp"):
            assert made.value == 1.0
        else:
            assert made.value == 1.0 or isinstance(made.value, Undefined)


@settings(max_examples=40, deadline=None)
@given(
    table=st.integers(2, 4).flatmap(
        lambda k: st.lists(st.lists(st.integers(-5, 5), min_size=k, max_size=k), min_size=2, max_size=8)
    )
)
def test_intraclass_correlations_of_any_numbers(table: list[list[int]]) -> None:
    made = icc(ratings_of(table, level="interval"))
    moved = icc(ratings_of((np.array(table) * 0.37 + 1e4).tolist(), level="interval"))
    for name, form in made.items():
        if isinstance(form.value, Undefined):
            continue
        assert form.value <= 1.0 + 1e-9
        assert moved[name].value == pytest.approx(form.value, abs=1e-5)
    one, mean = made["icc_1_1"].value, made["icc_1_k"].value
    if isinstance(one, float) and isinstance(mean, float):  # Spearman–Brown
        k = len(table[0])
        assert mean == pytest.approx(k * one / (1 + (k - 1) * one), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("make", [lambda q: "linear", lambda q: "quadratic", lambda q: "ordinal", lambda q: None])
@given(scores=st.lists(st.integers(-20, 20), min_size=1, max_size=6, unique=True))
@settings(max_examples=40, deadline=None)
def test_weights_are_symmetric_with_ones_and_the_farthest_two_at_zero(
    make: Callable[[int], str | None], scores: list[int]
) -> None:
    w = weight_matrix(make(len(scores)), scores)
    assert (w == w.T).all()
    assert (np.diag(w) == 1.0).all()
    assert ((w >= 0.0) & (w <= 1.0)).all()
    if len(scores) > 1:
        assert w.min() == 0.0
    same_again = weight_matrix(w, scores)
    assert (same_again == w).all()
