"""Sample sizes, allocation and power: against statsmodels, against tables, and against simulations of their own."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import power_proportions_2indep, proportion_confint, samplesize_confint_proportion

from annotate.errors import InvalidData
from calibrate.estimate import Undefined
from calibrate.stats.intervals import wilson
from calibrate.stats.planning.allocation import n_for_variance, neyman_with_costs, within_budget
from calibrate.stats.planning.audit import (
    PRIOR_DISCORDANCE,
    expected_pjm_width,
    judged_shares,
    narrowest_audit,
    plan_audit,
)
from calibrate.stats.planning.power import (
    Design,
    fresh_conversations_power,
    mcnemar_power,
    mcnemar_power_formula,
    needed_n,
    williams_power,
)
from calibrate.stats.planning.sizes import (
    clustered_n,
    correlation_n,
    design_effect,
    finite_population_n,
    gap_n,
    mean_n,
    none_of_n_limit,
    none_of_n_needed,
    paired_gap_n,
    proportion_n,
    rule_of_three,
    smallest,
    threshold_n,
    wilson_n,
)
from calibrate.stats.rectify.allocation import neyman_allocation
from calibrate.stats.rectify.pooling import pjm_limits

inside = st.floats(0.02, 0.98)


@pytest.fixture(autouse=True)
def _warnings_are_errors() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# ------------------------------------------------------------------------------------------------------------- sizes


@given(inside, st.floats(0.01, 0.3), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_the_normal_formula_is_that_of_statsmodels(share: float, half: float, level: float) -> None:
    assert proportion_n(share, half, level) == math.ceil(
        samplesize_confint_proportion(share, half, alpha=1 - level, method="normal") - 1e-9
    )


@given(st.floats(0.0, 1.0), st.floats(0.01, 0.45))
def test_wilsons_n_is_the_smallest(share: float, half: float) -> None:
    n = wilson_n(share, half)

    def width(size: int) -> float:
        low, high = proportion_confint(share * size, size, method="wilson")
        return float(high - low)

    assert width(n) <= 2 * half + 1e-9
    assert n == 1 or width(n - 1) > 2 * half - 1e-9
    found = wilson(share * n, n)
    assert not isinstance(found, Undefined) and found.high - found.low <= 2 * half + 1e-9


def test_the_normal_formula_asks_for_too_few_near_the_edge() -> None:
    assert proportion_n(0.0, 0.02) == 1
    assert wilson_n(0.0, 0.02) > 90


@given(st.floats(0.1, 100), st.floats(0.1, 10))
def test_a_mean_scales(sd: float, half: float) -> None:
    assert mean_n(sd, half) == mean_n(7 * sd, 7 * half)
    assert mean_n(sd, half) <= mean_n(sd, half / 2)


@given(st.integers(1, 5000), st.integers(1, 50), st.floats(0, 1))
def test_clusters(n: int, per_cluster: int, icc: float) -> None:
    cases, clusters = clustered_n(n, per_cluster, icc)
    assert n <= cases <= n * per_cluster
    assert (clusters - 1) * per_cluster < cases <= clusters * per_cluster
    assert design_effect(1, icc) == 1.0 and clustered_n(n, per_cluster, 0.0)[0] == n


@given(st.integers(1, 10_000), st.integers(1, 10_000))
def test_a_small_population_needs_fewer_and_never_more_than_there_are(n: int, population: int) -> None:
    found = finite_population_n(n, population)
    assert 1 <= found <= min(n, population)
    assert finite_population_n(n, 10**12) == n


@given(st.integers(1, 5000), st.sampled_from([0.9, 0.95, 0.99]))
def test_none_of_n(n: int, level: float) -> None:
    limit = none_of_n_limit(n, level)
    assert (1 - limit) ** n == pytest.approx(1 - level, rel=1e-9)
    if limit > 1e-6:
        assert none_of_n_needed(limit * (1 - 1e-12), level) in (n, n + 1)
    if level == 0.95 and n >= 30:
        assert 0 < rule_of_three(n) - limit < 0.005


@given(inside, inside)
@settings(max_examples=60)
def test_a_gap_of_independent_shares_has_the_power_that_statsmodels_gives(first: float, second: float) -> None:
    n = gap_n(first, second)
    if isinstance(n, Undefined) or n < 30:
        return
    found = power_proportions_2indep(
        first - second, second, n, ratio=1, alpha=0.05, alternative="two-sided", return_results=True
    )
    effect = (first - second) / math.sqrt((first * (1 - first) + second * (1 - second)) / 2)
    formula = NormalIndPower().power(effect, n, 0.05, ratio=1)
    assert formula == pytest.approx(0.8, abs=0.03) and formula >= 0.8 - 1e-6
    assert found.power == pytest.approx(0.8, abs=0.06)  # it pools the variance under the null


@pytest.mark.parametrize(("share", "threshold"), [(0.9, 0.8), (0.7, 0.8), (0.845, 0.8), (0.3, 0.5)])
def test_a_share_is_told_from_a_threshold_as_often_as_was_asked_for(share: float, threshold: float) -> None:
    from scipy.stats import binom

    n = threshold_n(share, threshold)
    assert isinstance(n, int)
    reach = 1.6448536269514722 * math.sqrt(threshold * (1 - threshold) / n)
    counts = np.arange(n + 1)
    told = counts / n > threshold + reach if share > threshold else counts / n < threshold - reach
    assert binom.pmf(counts, n, share)[told].sum() == pytest.approx(0.8, abs=0.05)


@given(st.floats(-0.9, 0.9), st.floats(-0.9, 0.9))
def test_correlations_are_told_apart_by_fishers_z_as_often_as_was_asked_for(r: float, threshold: float) -> None:
    n = correlation_n(r, threshold)
    if isinstance(n, Undefined):
        assert abs(r - threshold) < 1e-3
        return
    assert n == correlation_n(-r, -threshold) >= 4
    gap = abs(math.atanh(r) - math.atanh(threshold)) * math.sqrt(n - 3)
    assert gap >= 1.959963984540054 + 0.8416212335729143 - 1e-9
    one_sided = correlation_n(r, threshold, two_sided=False)
    assert isinstance(one_sided, int) and one_sided <= n


def test_what_has_no_answer_is_undefined() -> None:
    for found in (threshold_n(0.8, 0.8 + 1e-12), gap_n(0.5, 0.5 + 1e-12), correlation_n(0.0, 1e-244)):
        assert isinstance(found, Undefined)
    for found in (threshold_n(0.8, 0.8), gap_n(0.5, 0.5), paired_gap_n(0.1, 0.1), correlation_n(0.5, 0.5)):
        assert isinstance(found, Undefined)


@pytest.mark.parametrize(
    "call",
    [
        lambda: proportion_n(1.2, 0.05),
        lambda: proportion_n(math.nan, 0.05),
        lambda: wilson_n(0.5, 0.0),
        lambda: wilson_n(0.5, 1e-9),
        lambda: proportion_n(0.5, 1e-300),
        lambda: mean_n(1.0, 1e-300),
        lambda: mean_n(-1, 1),
        lambda: mean_n(1, math.inf),
        lambda: proportion_n(0.5, 0.05, 95),
        lambda: design_effect(0.5, 0.1),
        lambda: design_effect(20, -0.2),
        lambda: clustered_n(0, 2, 0.1),
        lambda: finite_population_n(10, 0),
        lambda: none_of_n_limit(0),
        lambda: none_of_n_needed(1.0),
        lambda: threshold_n(0.9, 1.0),
        lambda: gap_n(0.9, math.nan),
        lambda: paired_gap_n(0.7, 0.6),
        lambda: correlation_n(1.0),
        lambda: correlation_n(0.5, power=1.0),
        lambda: smallest(lambda n: False),
        lambda: needed_n(lambda n: 0.5, 1.0),
        lambda: mcnemar_power(0, 0.1, 0.2, np.random.default_rng(1)),
        lambda: mcnemar_power_formula(10, -0.1, 0.2),
        lambda: mcnemar_power(10, 0.1, 0.2, np.random.default_rng(1), trials=0),
        lambda: Design(1, 3, 16),
        lambda: Design(3, 1, 16),
        lambda: Design(9, 3, 16, human_sd=math.nan),
        lambda: Design(9, 3, 16, assistant_share=2),
        lambda: williams_power(0.9, -0.9, 0.9, Design(9, 3, 16), np.random.default_rng(1)),
        lambda: fresh_conversations_power(0.7, 0.7, 0.8, Design(9, 3, 16), np.random.default_rng(1), trials=1),
        lambda: neyman_with_costs(10, [10, 10], [1, 1], [0, 1]),
        lambda: neyman_with_costs(10, [10, 10], [1], [1, 1]),
        lambda: within_budget(math.nan, [10, 10], [1, 1], [1, 1]),
        lambda: n_for_variance(1.0, [0.5, 0.6], [1, 1], [1, 1]),
        lambda: n_for_variance(0.0, [0.5, 0.5], [1, 1], [1, 1]),
        lambda: plan_audit(10, [10, 10], [0, 2]),
        lambda: plan_audit(10, [0, 0], [0, 1]),
        lambda: plan_audit(10, [10, 10], [0, 1], pilot=([2, 2], [3, 1])),
        lambda: expected_pjm_width([10, 10], [11, 5], [2, 9]),
        lambda: expected_pjm_width([10.5, 10], [1, 5], [2, 9]),  # type: ignore[list-item]
        lambda: narrowest_audit(21, [10, 10], [2, 9]),
        lambda: judged_shares(1.1, 0, 0, 6),
        lambda: judged_shares(0.8, 0.01, 0.01, 0),
    ],
)
def test_bad_input_is_one_sentence(call: Any) -> None:
    with pytest.raises(InvalidData) as caught:
        call()
    message = str(caught.value)
    assert len(message) > 20 and "\n" not in message and message.count(". ") <= 1


# -------------------------------------------------------------------------------------------------------- allocation


@given(st.lists(st.tuples(st.integers(20, 500), st.floats(0.01, 5)), min_size=2, max_size=5), st.floats(0.1, 9))
def test_equal_costs_are_neyman(strata: list[tuple[int, float]], cost: float) -> None:
    sizes, spreads = [size for size, _ in strata], [spread for _, spread in strata]
    total = sum(sizes) // 3
    found = neyman_with_costs(total, sizes, spreads, [cost] * len(sizes))
    assert found.allocation.exact == pytest.approx(neyman_allocation(total, sizes, spreads).exact, rel=1e-9)
    assert found.cost == pytest.approx(total * cost)


def test_no_other_sample_of_the_same_cost_has_a_smaller_variance() -> None:
    weight, spread, cost = np.array([0.5, 0.3, 0.2]), np.array([1.0, 2.0, 4.0]), np.array([1.0, 4.0, 2.0])
    best = np.array(n_for_variance(0.01, weight, list(spread), list(cost)))
    assert (weight**2 * spread**2 / best).sum() == pytest.approx(0.01)
    for other in np.random.default_rng(1).dirichlet(np.ones(3), 300):
        n = other * (best @ cost) / (other @ cost)
        assert (weight**2 * spread**2 / np.maximum(n, 1e-9)).sum() >= 0.01 - 1e-12


@given(st.floats(12, 3000))
def test_a_budget_is_kept_and_used_up(budget: float) -> None:
    found = within_budget(budget, [100, 200], [1.0, 3.0], [2.0, 4.0])
    assert not isinstance(found, Undefined)
    assert found.cost <= budget and (found.cost > budget - 4 - 4 or sum(found.allocation.counts) == 300)


def test_too_small_a_budget_and_no_spread() -> None:
    assert isinstance(within_budget(3, [100, 200], [1, 1], [1, 1]), Undefined)
    assert neyman_with_costs(30, [100, 200], [0, 0], [1, 1]).allocation.fallback == "proportional"


# ------------------------------------------------------------------------------------------------------------ audits


def test_the_rule_of_audits() -> None:
    judged, verdict = [200, 100], [1, 0]
    spread = [math.sqrt(p * (1 - p)) for p in (PRIOR_DISCORDANCE[1], PRIOR_DISCORDANCE[0])]
    neyman = neyman_allocation(100, judged, spread)
    assert plan_audit(100, judged, verdict).allocation.counts == neyman.counts
    half = np.array(neyman_allocation(60, judged, spread).exact) / 2 + np.array([40, 20]) / 2
    assert plan_audit(60, judged, verdict).allocation.exact == pytest.approx(half)
    assert plan_audit(99, judged, verdict).rule != plan_audit(100, judged, verdict).rule


def test_a_pilot_counts_only_with_discordances_in_both_classes() -> None:
    def plan(*wrong: int) -> Any:
        return plan_audit(100, [200, 100], [1, 0], pilot=([20, 20], list(wrong)))

    assert plan(0, 3).basis == plan(3, 0).basis == plan(0, 0).basis == "prior guesses"
    assert plan(0, 3).allocation == plan_audit(100, [200, 100], [1, 0]).allocation
    assert plan(2, 10).basis == "pilot" and plan(2, 10).discordance == (0.1, 0.5)


@pytest.mark.parametrize(
    ("error", "audited", "width"),
    [
        (0.01, 40, 0.127),
        (0.01, 100, 0.057),
        (0.05, 40, 0.179),
        (0.05, 100, 0.092),
        (0.15, 40, 0.218),
        (0.15, 100, 0.123),
    ],
)
def test_expected_widths_are_those_that_were_simulated(error: float, audited: int, width: float) -> None:
    """375 episodes, UFS .8, the judge's error a criterion; 5.7 criteria an episode make a perfect proxy .944 at 1 %."""
    perfect = judged_shares(1.0, 0.01, 0.01, 5.7)
    assert not isinstance(perfect, Undefined) and perfect.judged_pass == pytest.approx(0.944, abs=0.001)
    found = judged_shares(0.8, error, error, 5.7)
    assert not isinstance(found, Undefined)
    passes = round(375 * found.judged_pass)
    fails = 375 - passes
    faithful = [round(fails * found.faithful_if_fail), round(passes * found.faithful_if_pass)]
    counts = plan_audit(audited, [fails, passes], [0, 1]).allocation.counts
    mine = expected_pjm_width([fails, passes], list(counts), faithful)
    best = narrowest_audit(audited, [fails, passes], faithful)
    assert mine == pytest.approx(width, abs=0.006)
    assert not isinstance(best, Undefined) and isinstance(mine, float) and best.width <= mine + 1e-12
    assert best.width == pytest.approx(width, abs=0.006)


def test_the_expected_width_is_the_mean_of_audits_drawn() -> None:
    judged, audited, faithful = np.array([60, 140]), np.array([20, 30]), np.array([10, 138])
    passed = np.random.default_rng(1).hypergeometric(faithful, judged - faithful, audited, size=(20_000, 2))
    for target in ("finite", "tasks"):
        _, low, high = pjm_limits(judged, audited, passed, verdict=[0, 1], domain=[0, 0], target=target)
        found = expected_pjm_width(judged.tolist(), audited.tolist(), faithful.tolist(), target=target)
        assert found == pytest.approx((high - low).mean(), abs=0.0005)


@given(st.integers(5, 30), st.integers(5, 30), st.data())
@settings(max_examples=15, deadline=None)
def test_the_narrowest_audit_is_the_narrowest(fails: int, passes: int, data: st.DataObject) -> None:
    faithful = [data.draw(st.integers(0, fails // 2)), data.draw(st.integers(passes // 2, passes))]
    total = data.draw(st.integers(4, fails + passes))
    best = narrowest_audit(total, [fails, passes], faithful)
    assert not isinstance(best, Undefined) and sum(best.audited) == total
    splits = range(max(2, total - passes), min(fails, total - 2) + 1)
    widths = [expected_pjm_width([fails, passes], [n, total - n], faithful) for n in splits]
    assert best.width <= min(float(w) for w in widths if isinstance(w, float)) + 0.01  # may stop at a dent


def test_audits_without_an_answer() -> None:
    assert isinstance(expected_pjm_width([10, 10], [0, 5], [0, 9]), Undefined)
    assert isinstance(expected_pjm_width([0, 0], [0, 0], [0, 0]), Undefined)
    assert expected_pjm_width([10, 10], [10, 10], [1, 9]) == 0.0  # a census leaves nothing open
    assert isinstance(narrowest_audit(3, [10, 10], [1, 9]), Undefined)
    assert isinstance(judged_shares(1.0, 0.0, 0.0, 6), Undefined)


# ------------------------------------------------------------------------------------------------------------- power


@pytest.mark.parametrize(("pairs", "b", "c"), [(100, 0.3, 0.1), (234, 0.2, 0.1), (400, 0.12, 0.06)])
def test_mcnemar_by_simulation_and_by_formula(pairs: int, b: float, c: float) -> None:
    formula = mcnemar_power_formula(pairs, b, c)
    mid_p = mcnemar_power(pairs, b, c, np.random.default_rng(1), test="mid-p", trials=4000)
    exact = mcnemar_power(pairs, b, c, np.random.default_rng(1), trials=4000)
    assert mid_p.value == pytest.approx(formula, abs=0.04)
    assert exact.value < mid_p.value  # conservative
    assert mid_p.interval.low < mid_p.value < mid_p.interval.high and mid_p.trials == 4000


def test_equal_shares_are_rejected_no_more_often_than_the_level() -> None:
    assert mcnemar_power(300, 0.1, 0.1, np.random.default_rng(1)).value < 0.05
    assert mcnemar_power(300, 0.0, 0.0, np.random.default_rng(1)).value == 0.0
    assert mcnemar_power_formula(10, 0.0, 0.0) == 0.0


def test_n_by_search_on_a_simulation_is_near_the_formulas() -> None:
    found = needed_n(lambda n: mcnemar_power(n, 0.25, 0.1, np.random.default_rng(5), test="mid-p", trials=3000))
    formula = paired_gap_n(0.25, 0.1)
    assert isinstance(formula, int) and found == pytest.approx(formula, rel=0.08)


def test_a_power_can_be_drawn_again_from_its_signature() -> None:
    design = Design(9, 3, 16)
    first = williams_power(0.77, 0.7, 0.8, design, np.random.default_rng(7), trials=200)
    again = williams_power(0.77, 0.7, 0.8, design, np.random.default_rng(7), trials=200)
    assert first == again and first.signature.seed == 7 and first.signature.resamples == 200


def test_williams_has_little_power_with_nine_assistants_and_rejects_true_hypotheses_too_often() -> None:
    """Simulations elsewhere: 12 to 21 % with 432 conversations; under the null 10 to 19 % at a nominal 5 %."""
    design = Design(9, 3, 16)
    power = williams_power(0.77, 0.7, 0.8, design, np.random.default_rng(1))
    assert 0.08 < power.value < 0.30
    null = williams_power(0.7, 0.7, 0.8, design, np.random.default_rng(1))
    assert 0.07 < null.value < 0.20
    independent = williams_power(0.7, 0.7, 0.8, Design(27, 1, 16), np.random.default_rng(1))
    assert independent.value < null.value


def test_new_assistants_take_hundreds() -> None:
    """80 % power for .70 against .77 takes about 160 to 280 assistants."""
    powers = [
        williams_power(0.77, 0.7, 0.8, Design(n, 3, 16), np.random.default_rng(1), trials=400).value for n in (60, 280)
    ]
    assert powers[0] < 0.6
    assert powers[1] > 0.75


def test_the_power_on_the_same_assistants_grows_with_conversations() -> None:
    powers = [
        fresh_conversations_power(0.77, 0.7, 0.8, Design(9, 3, n), np.random.default_rng(1)).value
        for n in (16, 64, 259)
    ]
    assert powers[0] < 0.25 and powers[0] < powers[1] < powers[2] < 0.95 and powers[2] > 0.4
