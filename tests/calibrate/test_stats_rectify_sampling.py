"""Stratified means, Horvitz–Thompson and Hájek, and allocation."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.rectify.allocation import allocate, neyman_allocation, proportional_allocation
from calibrate.stats.rectify.stratified_sample import (
    HajekMean,
    Stratum,
    design_variance,
    hajek_mean,
    horvitz_thompson_total,
    sen_yates_grundy_variance,
    strata_of,
    stratified_mean,
    two_draw_inclusion,
)

pytestmark = pytest.mark.filterwarnings("error")


@st.composite
def designs(draw: st.DrawFn) -> list[Stratum]:
    strata = []
    for index in range(draw(st.integers(1, 4))):
        drawn = draw(st.integers(1, 20))
        strata.append(
            Stratum.of_share(f"s{index}", drawn + draw(st.integers(0, 300)), drawn, draw(st.integers(0, drawn)))
        )
    return strata


# ----------------------------------------------------------------------------------------------------- stratified


@given(designs(), st.randoms())
@settings(max_examples=100, deadline=None)
def test_order_is_of_no_effect_and_limits_surround_the_mean(strata: list[Stratum], random: Any) -> None:
    mean = stratified_mean(strata)
    mixed = strata[:]
    random.shuffle(mixed)
    assert stratified_mean(mixed) == mean
    assert isinstance(mean.value, float) and 0 <= mean.value <= 1 + 1e-12
    for distribution in ("t", "normal"):
        limits = mean.limits(distribution)  # type: ignore[arg-type]
        assert isinstance(limits, Undefined) or limits.low <= mean.value <= limits.high
    mean.rectified().estimate()


def test_one_stratum_is_a_simple_sample() -> None:
    values = [2.0, 4.0, 4.0, 7.0]
    mean = stratified_mean(strata_of(values, ["a"] * 4, {"a": 10**9}))
    assert mean.value == np.mean(values)
    assert mean.se == pytest.approx(np.std(values, ddof=1) / 2, rel=1e-8)
    from scipy.stats import t

    limits = mean.limits("t")
    assert isinstance(limits, Interval)
    theirs = t.interval(0.95, 3, np.mean(values), np.std(values, ddof=1) / 2)
    assert (limits.low, limits.high) == pytest.approx(theirs, rel=1e-8)


def test_the_variance_is_unbiased_over_all_samples() -> None:
    population = {"a": [1.0, 3.0, 8.0, 2.0], "b": [5.0, 5.0, 9.0]}
    means, variances = [], []
    for one in combinations(population["a"], 2):
        for two in combinations(population["b"], 2):
            mean = stratified_mean(strata_of([*one, *two], ["a", "a", "b", "b"], {"a": 4, "b": 3}))
            assert isinstance(mean.value, float) and isinstance(mean.se, float)
            means.append(mean.value)
            variances.append(mean.se**2)
    assert np.mean(means) == pytest.approx(33 / 7)
    assert np.mean(variances) == pytest.approx(np.var(means))


def test_census_singletons_and_gaps() -> None:
    census = stratified_mean([Stratum.of_share("a", 5, 5, 2), Stratum.of_share("b", 1, 1, 1)])
    assert census.limits() == Interval(3 / 6, 3 / 6) and census.se == 0.0
    lonely = stratified_mean([Stratum.of_share("a", 40, 1, 1), Stratum.of_share("b", 60, 12, 6)])
    assert lonely.value == pytest.approx(0.7)
    assert isinstance(lonely.se, Undefined) and "'a'" in lonely.se.reason
    assert isinstance(lonely.limits(), Undefined) and isinstance(lonely.total_se, Undefined)
    assert lonely.rectified().estimate().interval_reason
    gap = stratified_mean([Stratum("a", 40, 0, None, None), Stratum.of_share("b", 60, 12, 6)])
    assert isinstance(gap.value, Undefined) and isinstance(gap.total, Undefined) and "'a'" in gap.value.reason
    assert isinstance(gap.limits(), Undefined) and not gap.rectified().estimate().defined
    assert isinstance(stratified_mean([]).value, Undefined)
    assert stratified_mean([Stratum("z", 0, 0, None, None), Stratum.of_share("b", 60, 12, 6)]).strata == 1
    flat = stratified_mean([Stratum.of_share("a", 60, 12, 12)])
    assert flat.value == 1.0 and isinstance(flat.limits(), Undefined)


@pytest.mark.parametrize(
    "fields", [(5, 6, 0.5, 0.1), (-1, 0, None, None), (5, 2, None, None), (5, 2, float("nan"), 0.1), (5, 2, 0.5, -0.1)]
)
def test_impossible_strata_are_refused(fields: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidData, match="'a'"):
        Stratum("a", *fields)


def test_unfit_samples_are_refused() -> None:
    with pytest.raises(InvalidData, match="twice"):
        stratified_mean([Stratum.of_share("a", 5, 5, 2)] * 2)
    with pytest.raises(InvalidData, match="size"):
        strata_of([1.0], ["b"], {"a": 3})
    with pytest.raises(InvalidData, match="finite"):
        strata_of([float("nan")], ["a"], {"a": 3})
    with pytest.raises(InvalidData, match="hits"):
        Stratum.of_share("a", 5, 3, 4)


# ------------------------------------------------------------------------------------------------ unequal chances

chances = st.lists(st.integers(1, 9), min_size=3, max_size=6).map(lambda w: [v / sum(w) for v in w])


@given(chances, st.data())
@settings(max_examples=60, deadline=None)
def test_two_draws_are_unbiased_for_total_and_variance(psi: list[float], data: st.DataObject) -> None:
    totals = np.array(data.draw(st.lists(st.integers(-50, 50), min_size=len(psi), max_size=len(psi))), dtype=float)
    inclusion, joint = two_draw_inclusion(psi)
    assert inclusion.sum() == pytest.approx(2.0)
    expected = spread = estimated = 0.0
    for pair in combinations(range(len(psi)), 2):
        own = list(pair)
        total = horvitz_thompson_total(totals[own], inclusion[own])
        variance = sen_yates_grundy_variance(totals[own], inclusion[own], joint[np.ix_(own, own)])
        assert isinstance(total, float) and isinstance(variance, float)
        expected += joint[pair] * total
        spread += joint[pair] * (total - totals.sum()) ** 2
        estimated += joint[pair] * variance
    scale = max(1.0, float(np.abs(totals).max()) ** 2)
    assert expected == pytest.approx(totals.sum(), abs=1e-9 * scale)
    assert design_variance(totals, inclusion, joint) == pytest.approx(spread, abs=1e-9 * scale)
    assert estimated == pytest.approx(spread, abs=1e-9 * scale)


def test_equal_chances_are_a_simple_sample() -> None:
    y = np.array([3.0, 8.0])
    inclusion, joint = two_draw_inclusion([0.2] * 5)
    assert horvitz_thompson_total(y, inclusion[:2]) == pytest.approx(27.5)
    expected = 25 * (1 - 2 / 5) * y.var(ddof=1) / 2
    assert sen_yates_grundy_variance(y, inclusion[:2], joint[:2, :2]) == pytest.approx(expected)
    equal = hajek_mean(y, [2.5, 2.5])
    assert isinstance(equal, HajekMean) and equal.value == 5.5
    assert equal.se == pytest.approx(y.std(ddof=1) / np.sqrt(2))


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 9)), min_size=1, max_size=20), st.floats(0.1, 50))
@settings(max_examples=60, deadline=None)
def test_hajek_does_not_know_the_scale_of_weights(rows: list[tuple[int, int]], factor: float) -> None:
    y, w = (np.array(side, dtype=float) for side in zip(*rows, strict=True))
    one, two = hajek_mean(y, w), hajek_mean(y, w * factor)
    assert isinstance(one, HajekMean) and isinstance(two, HajekMean)
    assert one.value == pytest.approx(two.value) and 0 <= one.value <= 1
    assert (one.se is None) == (len(y) == 1)


def test_unequal_chances_undefined_and_refused() -> None:
    assert isinstance(horvitz_thompson_total([], []), Undefined)
    assert isinstance(hajek_mean([], []), Undefined)
    assert isinstance(sen_yates_grundy_variance([1], [0.5], [[0.5]]), Undefined)
    negative = sen_yates_grundy_variance([1, 9], [0.2, 0.2], [[0.2, 0.1], [0.1, 0.2]])
    assert isinstance(negative, Undefined) and "negative" in negative.reason
    for bad in ([0.0, 0.5], [1.1, 0.5], [0.5]):
        with pytest.raises(InvalidData):
            horvitz_thompson_total([1, 2], bad)
    for joint in ([[0.5, 0.0], [0.0, 0.5]], [[0.5, 0.2], [0.3, 0.5]], [[0.5, 0.9], [0.9, 0.5]], [[0.5]]):
        with pytest.raises(InvalidData):
            sen_yates_grundy_variance([1, 2], [0.5, 0.5], joint)
    for psi in ([1.0], [0.5, 0.6], [0.0, 1.0], [-0.5, 1.5]):
        with pytest.raises(InvalidData):
            two_draw_inclusion(psi)
    for weights in ([0, 1], [1], [float("inf"), 1]):
        with pytest.raises(InvalidData):
            hajek_mean([1, 0], weights)


# ------------------------------------------------------------------------------------------------------ allocation


@st.composite
def budgets(draw: st.DrawFn) -> tuple[int, list[int], list[float], int]:
    sizes = draw(st.lists(st.integers(0, 300), min_size=1, max_size=6).filter(any))
    spreads = [draw(st.sampled_from([0.0, 0.1, 0.25, 0.5])) for _ in sizes]
    minimum = draw(st.integers(0, 3))
    least = sum(min(minimum, size) for size in sizes)
    return draw(st.integers(least, sum(sizes))), sizes, spreads, minimum


@given(budgets())
@settings(max_examples=250, deadline=None)
def test_counts_add_up_within_minimum_and_size(budget: tuple[int, list[int], list[float], int]) -> None:
    total, sizes, spreads, minimum = budget
    for result in (
        neyman_allocation(total, sizes, spreads, minimum=minimum),
        proportional_allocation(total, sizes, minimum=minimum),
    ):
        assert sum(result.counts) == total == pytest.approx(sum(result.exact))
        assert all(min(minimum, n) <= c <= n for c, n in zip(result.counts, sizes, strict=True))
        assert all(-1e-9 <= e <= n + 1e-9 for e, n in zip(result.exact, sizes, strict=True))


@given(budgets())
@settings(max_examples=80, deadline=None)
def test_order_of_strata_only_reorders(budget: tuple[int, list[int], list[float], int]) -> None:
    total, sizes, _, minimum = budget
    one = proportional_allocation(total, sizes, minimum=minimum).counts
    two = proportional_allocation(total, sizes[::-1], minimum=minimum).counts
    assert sorted(zip(sizes, one, strict=True)) == sorted(zip(sizes[::-1], two, strict=True))


def test_neyman_minimises_the_variance() -> None:
    sizes, spreads, total = [40, 60, 30], [0.5, 0.1, 0.3], 18

    def variance(counts: tuple[int, ...]) -> float:
        return sum(n**2 * (1 - c / n) * s**2 / c for n, s, c in zip(sizes, spreads, counts, strict=True))

    ours = variance(neyman_allocation(total, sizes, spreads).counts)
    best = min(
        variance((a, b, total - a - b)) for a in range(2, 16) for b in range(2, 16) if 2 <= total - a - b <= sizes[2]
    )
    assert ours == pytest.approx(best, rel=0.01)


def test_full_strata_give_the_rest_away() -> None:
    result = neyman_allocation(50, [10, 100, 100], [0.5, 0.01, 0.02])
    assert result.counts[0] == 10 and result.exact[1:] == (pytest.approx(40 / 3), pytest.approx(80 / 3))
    assert neyman_allocation(30, [10, 100, 100], [0.5, 0.0, 0.0]).counts == (10, 10, 10)
    assert proportional_allocation(10, [500, 500, 2], caps=[3, 500, 500]).counts == (3, 5, 2)
    fallback = neyman_allocation(10, [60, 40], [0, 0])
    assert fallback.fallback == "proportional" and fallback.counts == (6, 4)
    assert allocate(5, [10, 10, 10], [1, 1, 1], minimum=0).counts == (2, 2, 1)


@pytest.mark.parametrize(
    "how",
    [
        {"total": 3},
        {"total": 101},
        {"total": -1},
        {"sizes": []},
        {"sizes": [60, -4]},
        {"spreads": [0.1]},
        {"spreads": [0.1, float("nan")]},
        {"spreads": [0.1, -0.1]},
        {"caps": [1]},
        {"minimum": -1},
    ],
)
def test_impossible_budgets_are_refused(how: dict[str, Any]) -> None:
    fit: dict[str, Any] = {"total": 20, "sizes": [60, 40], "spreads": [0.1, 0.2]}
    with pytest.raises(InvalidData):
        neyman_allocation(**{**fit, **how})
