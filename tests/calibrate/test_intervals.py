from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrate.estimate import Interval, Undefined
from calibrate.stats.cluster_means import ClusterMean, cluster_mean
from calibrate.stats.correlation_limits import (
    atanh_limits,
    correlation_limits,
    fisher_limits,
    jackknife_limits,
    noise_free_limits,
    resampled_spread,
)
from calibrate.stats.group_means import Reliability
from calibrate.stats.intervals import (
    agresti_coull,
    binomial_test,
    clopper_pearson,
    equivalence_binomial,
    equivalence_n,
    jeffreys,
    mid_p,
    normal_quantile,
    wilson,
)
from calibrate.stats.resample import Replicates

METHODS = (wilson, clopper_pearson, mid_p, agresti_coull, jeffreys)
EXACT_AT_THE_ENDS = (wilson, clopper_pearson, mid_p, jeffreys)


def test_the_normal_quantile_is_not_rounded() -> None:
    assert normal_quantile(0.95) == pytest.approx(1.959963984540054, abs=1e-15)


@pytest.mark.parametrize("method", EXACT_AT_THE_ENDS)
@pytest.mark.parametrize("n", [1, 2, 7, 400, 100_000])
def test_bounds_at_the_ends_are_exact(method: object, n: int) -> None:
    assert callable(method)
    assert method(0, n).low == 0.0
    assert method(n, n).high == 1.0
    assert 0 < method(0, n).high < 1
    assert 0 < method(n, n).low < 1


@pytest.mark.parametrize("method", METHODS)
def test_no_trials_is_undefined_and_impossible_counts_are_refused(method: object) -> None:
    assert callable(method)
    assert method(0, 0) == Undefined("no trials")
    for x, n in ((5, 4), (-1, 4), (np.nan, 4)):
        with pytest.raises(ValueError, match=r"must be in 0\.\.n"):
            method(x, n)


@pytest.mark.parametrize("function", [clopper_pearson, mid_p, binomial_test])
def test_half_a_success_is_refused_where_counts_are_meant(function: object) -> None:
    assert callable(function)
    with pytest.raises(ValueError, match="integer"):
        function(5.5, 10)


def test_newcombes_table() -> None:
    """Newcombe, Statistics in Medicine 17:857 (1998), Table I."""
    for x, n, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611)):
        made = wilson(x, n)
        assert isinstance(made, Interval)
        assert (round(made.low, 4), round(made.high, 4)) == (low, high)


@settings(deadline=None, max_examples=80)
@given(n=st.integers(1, 300), share=st.floats(0, 1), level=st.sampled_from([0.8, 0.95, 0.99]))
def test_intervals_hold_the_share_mirror_and_nest(n: int, share: float, level: float) -> None:
    x = round(share * n)
    for method in METHODS:
        made, mirrored = method(x, n, level), method(n - x, n, level)
        assert isinstance(made, Interval)
        assert isinstance(mirrored, Interval)
        assert 0 <= made.low <= x / n <= made.high <= 1
        assert (made.low, made.high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low), abs=1e-9)
    exact = clopper_pearson(x, n, level)
    assert isinstance(exact, Interval)
    for narrower in (mid_p(x, n, level), jeffreys(x, n, level)):
        assert isinstance(narrower, Interval)
        assert exact.low - 1e-9 <= narrower.low <= narrower.high <= exact.high + 1e-9


@settings(deadline=None, max_examples=40)
@given(n=st.integers(1, 200), share=st.floats(0, 1))
def test_clopper_pearson_is_where_the_exact_tails_are(n: int, share: float) -> None:
    x = round(share * n)
    made = clopper_pearson(x, n)
    assert isinstance(made, Interval)
    if x > 0:
        assert scipy.stats.binom.sf(x - 1, n, made.low) == pytest.approx(0.025, rel=1e-6)
    if x < n:
        assert scipy.stats.binom.cdf(x, n, made.high) == pytest.approx(0.025, rel=1e-6)


def test_jeffreys_takes_effective_sizes() -> None:
    made = jeffreys(0.9 * 37.5, 37.5)
    assert isinstance(made, Interval)
    expected = scipy.stats.beta.ppf([0.025, 0.975], 0.9 * 37.5 + 0.5, 0.1 * 37.5 + 0.5)
    assert (made.low, made.high) == pytest.approx(tuple(expected))


# ----------------------------------------------------------------------------------------------- means by cluster


def test_cluster_mean_by_hand() -> None:
    """Three people with 2, 1 and 1 rows, 1 1 | 4 | 6: mean 3, residual sums −4, 1, 3; 3/2 · 26 / 16."""
    made = cluster_mean([1.0, 1, 4, 6], ["a", "a", "b", "c"])
    assert isinstance(made, ClusterMean)
    assert (made.value, made.df, made.n, made.clusters) == (3.0, 2, 4, 3)
    assert made.se**2 == pytest.approx(1.5 * 26 / 16)
    assert made.design_effect == pytest.approx((1.5 * 26 / 16) / (np.var([1, 1, 4, 6], ddof=1) / 4))
    reach = 4.302652729911275 * made.se  # t with 2 df
    assert (made.limits().low, made.limits().high) == pytest.approx((3 - reach, 3 + reach))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(-50, 50), min_size=2, max_size=30))
def test_one_row_a_cluster_is_the_ordinary_t_test(values: list[int]) -> None:
    made = cluster_mean(values, range(len(values)))
    if len(set(values)) == 1:
        assert isinstance(made, Undefined)
        return
    assert isinstance(made, ClusterMean)
    oracle = scipy.stats.ttest_1samp(values, 0.3)
    assert made.p_value(0.3) == pytest.approx(oracle.pvalue, rel=1e-7)
    limits = oracle.confidence_interval(0.95)
    assert (made.limits().low, made.limits().high) == pytest.approx((limits.low, limits.high))
    assert made.design_effect == pytest.approx(1)


def test_repeating_every_row_changes_nothing_but_the_design_effect() -> None:
    values = [1.0, 2, 5, 3]
    once, thrice = cluster_mean(values, list("abcd")), cluster_mean(values * 3, list("abcd") * 3)
    assert isinstance(once, ClusterMean)
    assert isinstance(thrice, ClusterMean)
    assert thrice.se == pytest.approx(once.se)
    assert thrice.df == once.df
    assert thrice.design_effect == pytest.approx(11 / 3)  # 3, but 11 against 9 degrees of freedom


def test_no_standard_error_of_zero_for_too_little_data() -> None:
    assert isinstance(cluster_mean([1.0, 2, 3], ["a"] * 3), Undefined)
    assert isinstance(cluster_mean([0.1] * 4, list("aabb")), Undefined)
    assert isinstance(cluster_mean([1.0, 3, 3, 1], list("aabb")), Undefined)  # both people average 2
    assert isinstance(cluster_mean([], []), Undefined)


def test_two_way_clusters_by_hand() -> None:
    """Two pairs × two judges, 1 1 | 0 1: mean .75; pair sums .5, −.5; judge sums −.5, .5; cells as they are."""
    made = cluster_mean([1.0, 1, 0, 1], list("aabb"), [1, 2, 1, 2])
    assert isinstance(made, ClusterMean)
    one_way = 2 * 0.5 / 16
    cells = 4 / 3 * (3 * 0.25**2 + 0.75**2) / 16
    assert made.se**2 == pytest.approx(max(one_way, 2 * one_way - cells))
    assert made.df == 1


def test_clustering_by_the_same_labels_twice_is_one_clustering() -> None:
    values, who = [1.0, 1, 4, 6, 2], list("aabcc")
    once, twice = cluster_mean(values, who), cluster_mean(values, who, who)
    assert isinstance(once, ClusterMean)
    assert isinstance(twice, ClusterMean)
    assert twice.se == pytest.approx(once.se)


# ---------------------------------------------------------------------------------------------------- equivalence


def test_equivalence_needs_the_numbers_of_the_protocol() -> None:
    assert equivalence_n(0.10) == 215  # 214.1: about 214
    assert 650 < equivalence_n(0.056) < 750
    assert equivalence_n(0.10, design_effect=2) == 429


def test_that_many_verdicts_have_the_power_that_was_asked_for() -> None:
    n = equivalence_n(0.10)
    shown = [x for x in range(n + 1) if (p := equivalence_binomial(x, n, 0.10)) is not None and p < 0.05]
    assert scipy.stats.binom.pmf(shown, n, 0.5).sum() == pytest.approx(0.8, abs=0.03)


@settings(deadline=None, max_examples=40)
@given(n=st.integers(1, 400), share=st.floats(0, 1))
def test_exact_equivalence_is_the_clopper_pearson_interval_at_ninety(n: int, share: float) -> None:
    x = round(share * n)
    p, limits = equivalence_binomial(x, n, 0.10), clopper_pearson(x, n, 0.90)
    assert isinstance(p, float)
    assert isinstance(limits, Interval)
    assert (p < 0.05) == (limits.low > 0.40 and limits.high < 0.60)
    assert p == pytest.approx(equivalence_binomial(n - x, n, 0.10))


def test_t_equivalence_is_the_t_interval_at_ninety() -> None:
    made = cluster_mean([0.1, 0.3, -0.2, 0.05, 0.0, -0.1], range(6))
    assert isinstance(made, ClusterMean)
    for margin in (0.05, 0.15, 0.2, 0.4):
        limits = made.limits(0.90)
        assert (made.equivalence_p(0, margin) < 0.05) == (-margin < limits.low and limits.high < margin)
    with pytest.raises(ValueError, match="margin"):
        made.equivalence_p(0, 0)
    with pytest.raises(ValueError, match="margin"):
        equivalence_binomial(1, 2, 0.5)


# --------------------------------------------------------------------------------------------------- correlations


def test_correlation_limits_are_the_formula() -> None:
    draws = np.tanh(np.array([0.2, 0.4, 0.6, 0.8]))
    spread = resampled_spread(Replicates.of(draws), 0.999)
    assert not isinstance(spread, Undefined)
    sd = np.std([0.2, 0.4, 0.6, 0.8], ddof=1)
    assert spread.sd_atanh == pytest.approx(sd)
    made = correlation_limits(0.5, spread)
    reach = 1.959963984540054 * 1.15 * sd
    assert (made.low, made.high) == pytest.approx((np.tanh(np.arctanh(0.5) - reach), np.tanh(np.arctanh(0.5) + reach)))


def test_perfect_resamples_are_pulled_inside_and_counted() -> None:
    spread = resampled_spread(Replicates.of([1.0, 1.0, 0.5, 0.8]), 0.9)
    assert not isinstance(spread, Undefined)
    assert spread.limited == 2
    assert spread.sd_atanh == pytest.approx(np.std(np.arctanh([0.9, 0.9, 0.5, 0.8]), ddof=1))
    made = correlation_limits(1.0, spread)
    assert made.high == 1.0  # the point itself stays inside
    assert made.low < 0.9


def test_resamples_that_all_agree_or_are_mostly_undefined_give_no_interval() -> None:
    assert isinstance(resampled_spread(Replicates.of([1.0] * 100), 0.99), Undefined)
    assert isinstance(resampled_spread(Replicates.of([1.0, 0.995] * 50), 0.99), Undefined)
    assert isinstance(resampled_spread(Replicates.of([0.1, 0.2, np.nan]), 0.99), Undefined)


@given(value=st.floats(-1, 1), reach=st.floats(0.01, 5), limit=st.floats(0.5, 0.999999))
def test_atanh_limits_hold_the_value_and_stay_within_one(value: float, reach: float, limit: float) -> None:
    made = atanh_limits(value, reach, limit)
    assert -1 <= made.low <= value <= made.high <= 1


@pytest.mark.parametrize(("r", "low", "high"), [(0.955, 0.72, 0.99), (0.594, -0.29, 0.93)])
def test_a_correlation_over_seven_proxies_says_little(r: float, low: float, high: float) -> None:
    """UserProxyBench's correlations over its seven proxies, with the intervals that it does not print."""
    made = fisher_limits(r, 7)
    assert isinstance(made, Interval)
    assert (round(made.low, 2), round(made.high, 2)) == (low, high)


def test_fisher_needs_more_pairs_than_it_loses_and_rank_coefficients_have_their_own_variance() -> None:
    assert isinstance(fisher_limits(0.5, 3), Undefined)
    assert isinstance(fisher_limits(0.5, 4, "kendall"), Undefined)
    for coefficient, variance in (("pearson", 1 / 17), ("spearman", 1.06 / 17), ("kendall", 0.437 / 16)):
        made = fisher_limits(0.0, 20, coefficient)
        assert isinstance(made, Interval)
        assert made.high == pytest.approx(np.tanh(1.959963984540054 * np.sqrt(variance)))


def test_jackknife_by_hand() -> None:
    left_out = np.array([0.3, 0.5, 0.4, 0.6])
    theta = np.arctanh(left_out)
    se = np.sqrt(3 / 4 * ((theta - theta.mean()) ** 2).sum())
    made = jackknife_limits(0.45, Replicates.of(left_out), 0.99)
    assert isinstance(made, Interval)
    t = scipy.stats.t.ppf(0.975, 3)
    expected = np.tanh(np.arctanh(0.45) + np.array([-t, t]) * se)
    assert (made.low, made.high) == pytest.approx(tuple(expected))
    assert isinstance(jackknife_limits(0.45, Replicates.of([0.3, np.nan, 0.4]), 0.99), Undefined)
    assert isinstance(jackknife_limits(0.45, Replicates.of([0.3, 0.3, 0.3]), 0.99), Undefined)


def test_noise_free_value_and_error_by_hand() -> None:
    human, simulated = Reliability(0.64, 0.01, 0), Reliability(1.0, 0.0, 0)
    made = noise_free_limits(0.4, 0.1, human, simulated)
    assert not isinstance(made, Undefined)
    assert made.value == pytest.approx(0.5)
    se = np.sqrt(0.1**2 / 0.64 + 0.5**2 / 4 * 0.01 / 0.64**2)
    assert isinstance(made.interval, Interval)
    assert made.interval.high == pytest.approx(0.5 + 1.959963984540054 * 1.15 * se)


def test_noise_free_is_cut_at_one_refused_without_signal_and_says_when_it_is_absurd() -> None:
    perfect = Reliability(1.0, 0.0, 0)
    above = noise_free_limits(0.9, 0.1, Reliability(0.64, 0.0, 0), perfect)
    assert not isinstance(above, Undefined)
    assert (above.value, above.uncut) == pytest.approx((1.0, 1.125))
    assert isinstance(above.interval, Interval)
    absurd = noise_free_limits(0.99, 0.001, Reliability(0.25, 0.0, 0), perfect)
    assert not isinstance(absurd, Undefined)
    assert isinstance(absurd.interval, Undefined)
    assert isinstance(noise_free_limits(0.5, 0.1, Reliability(-0.1, 0.1, 0), perfect), Undefined)
    bare = noise_free_limits(0.5, None, perfect, perfect)
    assert not isinstance(bare, Undefined)
    assert isinstance(bare.interval, Undefined)
