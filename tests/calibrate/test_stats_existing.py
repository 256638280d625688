"""Statistics that are used everywhere: a second implementation of each, invariances, and errors that say what to do."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import StratifiedTable
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.cluster_means import ClusterMean, cluster_mean
from calibrate.stats.correlation import correlate, kendall, pearson, spearman, spearman_p
from calibrate.stats.correlation_limits import fisher_limits
from calibrate.stats.group_means import group_correlation, group_means, reliability_of_means
from calibrate.stats.intervals import (
    agresti_coull,
    binomial_test,
    clopper_pearson,
    equivalence_binomial,
    equivalence_n,
    jeffreys,
    mid_p,
    wilson,
)
from calibrate.stats.multiplicity import benjamini_yekutieli, holm, rejected_by_benjamini_yekutieli
from calibrate.stats.normalise import fit_scales, zscore_by_annotator
from calibrate.stats.proportions import independent_difference, paired_difference
from calibrate.stats.resample import (
    Replicates,
    bca_limits,
    cluster_bootstrap,
    cluster_codes,
    cluster_jackknife,
    cluster_weights,
    percentile_limits,
    stratified_bootstrap,
    stratified_weights,
)
from calibrate.stats.simultaneous import max_t_critical
from calibrate.stats.stratified import RiskDifference, risk_difference

counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
p_value = st.one_of(st.none(), st.floats(0, 1))


def ends(found: object) -> tuple[float, float]:
    assert isinstance(found, Interval)
    return found.low, found.high


# ---------------------------------------------------------------------------------------------------- proportions


@settings(deadline=None, max_examples=50)
@given(counts, st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_intervals_of_a_share_are_statsmodels(xn: tuple[int, int], level: float) -> None:
    x, n = xn
    oracles = {"wilson": wilson, "beta": clopper_pearson, "agresti_coull": agresti_coull}
    for method, ours in oracles.items():
        low, high = proportion_confint(x, n, alpha=1 - level, method=method)
        assert ends(ours(x, n, level)) == pytest.approx((low, high), abs=1e-9)
    if 0 < x < n:  # at 0 and n ours end at 0 and 1
        assert ends(jeffreys(x, n, level)) == pytest.approx(
            proportion_confint(x, n, alpha=1 - level, method="jeffreys"), abs=1e-9
        )
    assert binomial_test(x, n) == pytest.approx(scipy.stats.binomtest(x, n).pvalue)


@settings(deadline=None, max_examples=50)
@given(counts)
def test_intervals_of_a_share_mirror_its_complement_and_hold_it(xn: tuple[int, int]) -> None:
    x, n = xn
    for method in (wilson, clopper_pearson, mid_p, agresti_coull, jeffreys):
        low, high = ends(method(x, n))
        other_low, other_high = ends(method(n - x, n))
        assert (low, high) == pytest.approx((1 - other_high, 1 - other_low), abs=1e-9)
        assert 0 <= low <= x / n <= high <= 1
    inner, outer = ends(mid_p(x, n)), ends(clopper_pearson(x, n))
    assert outer[0] <= inner[0] + 1e-12
    assert inner[1] <= outer[1] + 1e-12


@settings(deadline=None, max_examples=50)
@given(counts, counts)
def test_the_independent_difference_is_statsmodels(one: tuple[int, int], two: tuple[int, int]) -> None:
    low, high = confint_proportions_2indep(*one, *two, compare="diff", method="newcomb")
    assert ends(independent_difference(*one, *two)) == pytest.approx((low, high), abs=1e-9)


@settings(deadline=None, max_examples=50)
@given(*[st.integers(0, 50)] * 4)
def test_the_paired_difference_stays_in_bounds_and_turns_with_the_sides(a: int, b: int, c: int, d: int) -> None:
    if a + b + c + d == 0:
        return
    for method in (8, 10):
        low, high = ends(paired_difference(a, b, c, d, method=method))  # type: ignore[arg-type]
        turned = ends(paired_difference(a, c, b, d, method=method))  # type: ignore[arg-type]
        assert -1 - 1e-12 <= low <= (b - c) / (a + b + c + d) + 1e-12
        assert (low, high) == pytest.approx((-turned[1], -turned[0]), abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 300), st.data())
def test_equivalence_is_the_larger_of_two_one_sided_tests(n: int, data: st.DataObject) -> None:
    x = data.draw(st.integers(0, n))
    above = scipy.stats.binomtest(x, n, 0.4, alternative="greater").pvalue
    below = scipy.stats.binomtest(x, n, 0.6, alternative="less").pvalue
    assert equivalence_binomial(x, n, 0.1) == pytest.approx(max(above, below))


def test_the_planned_number_of_verdicts_has_the_planned_power() -> None:
    n = equivalence_n(0.1)
    x = np.arange(n + 1)
    shown = np.array([equivalence_binomial(int(k), n, 0.1) for k in x], dtype=float) < 0.05
    assert scipy.stats.binom.pmf(x, n, 0.5)[shown].sum() == pytest.approx(0.8, abs=0.03)


# --------------------------------------------------------------------------------------------------- multiplicity


@settings(deadline=None, max_examples=60)
@given(st.lists(p_value, max_size=25), st.sampled_from([0.01, 0.05, 0.2]))
def test_adjusted_p_values_are_statsmodels(p_values: list[float | None], q: float) -> None:
    known = [p for p in p_values if p is not None]
    for ours, method in ((holm, "holm"), (benjamini_yekutieli, "fdr_by")):
        adjusted = ours(p_values)
        assert [p is None for p in adjusted] == [p is None for p in p_values]
        if known:
            expected = multipletests(known, method=method)[1]
            assert [p for p in adjusted if p is not None] == pytest.approx(list(expected), abs=1e-12)
    rejected = rejected_by_benjamini_yekutieli(p_values, q)
    if known:
        expected = iter(multipletests(known, q, method="fdr_by")[0])
        assert list(rejected) == [p is not None and bool(next(expected)) for p in p_values]


@settings(deadline=None, max_examples=60)
@given(st.lists(p_value, max_size=12), st.data())
def test_the_order_of_the_tests_does_not_matter(p_values: list[float | None], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(p_values))))
    for ours in (holm, benjamini_yekutieli, rejected_by_benjamini_yekutieli):
        plain, moved = ours(p_values), ours([p_values[i] for i in order])
        assert [plain[i] for i in order] == list(moved)


def test_a_p_that_equals_its_threshold_is_rejected() -> None:
    assert rejected_by_benjamini_yekutieli([0.05 / 1.5, 1.0], 0.05) == (False, False)
    assert rejected_by_benjamini_yekutieli([0.05 / 1.5 / 2, 1.0], 0.05) == (True, False)
    assert rejected_by_benjamini_yekutieli([0.05 / 1.5, 0.05 / 1.5], 0.05) == (True, True)
    assert rejected_by_benjamini_yekutieli([]) == ()
    with pytest.raises(InvalidData, match="q, the share"):
        rejected_by_benjamini_yekutieli([0.1], 1.0)
    for ours in (holm, benjamini_yekutieli, rejected_by_benjamini_yekutieli):
        for bad in (math.nan, -0.1, 1.1):
            with pytest.raises(InvalidData, match="place 2"):
                ours([0.1, bad])


# ----------------------------------------------------------------------------------------------- strata and bounds


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(*[st.integers(0, 6)] * 4), min_size=1, max_size=6))
def test_the_common_difference_is_its_definition_in_any_order(tables: list[tuple[int, int, int, int]]) -> None:
    """Tables (a, b, c, d): a of a + b succeed with, c of c + d without."""
    rows = [
        (y, x, f"s{i}")
        for i, table in enumerate(tables)
        for (y, x), k in zip(((1, 1), (0, 1), (1, 0), (0, 0)), table, strict=True)
        for _ in range(k)
    ]
    if not rows:
        return
    found = risk_difference(*zip(*rows, strict=True))
    informative = [t for t in tables if t[0] + t[1] and t[2] + t[3]]
    if not informative:
        assert isinstance(found, Undefined)
        return
    assert isinstance(found, RiskDifference)
    above = sum((a * (c + d) - c * (a + b)) / (a + b + c + d) for a, b, c, d in informative)
    below = sum((a + b) * (c + d) / (a + b + c + d) for a, b, c, d in informative)
    assert found.value == pytest.approx(above / below)
    turned = risk_difference(*zip(*[(y, 1 - x, s) for y, x, s in reversed(rows)], strict=True))
    assert isinstance(turned, RiskDifference)
    assert turned.value == pytest.approx(-found.value)
    limits = found.limits()
    if isinstance(limits, Interval):
        assert -1 <= limits.low <= found.value <= limits.high <= 1


def test_the_score_test_of_strata_is_the_mantel_haenszel_test_of_pairs() -> None:
    """One row a side and stratum: z² is McNemar's (b − c)²/(b + c), as statsmodels finds from the strata."""
    pairs = [(1, 0)] * 9 + [(0, 1)] * 3 + [(1, 1)] * 4 + [(0, 0)] * 2
    outcome = [y for pair in pairs for y in pair]
    found = risk_difference(outcome, [1, 0] * len(pairs), np.repeat(np.arange(len(pairs)), 2))
    assert isinstance(found, RiskDifference)
    tables = [np.array([[one, 1 - one], [two, 1 - two]]) for one, two in pairs]
    oracle = StratifiedTable(tables).test_null_odds(correction=False)
    assert found.value**2 / found.base == pytest.approx(oracle.statistic)
    assert oracle.statistic == pytest.approx(36 / 12)


def test_max_t_of_three_estimates_is_the_multivariate_normals() -> None:
    matrix = np.array([[1, 0.6, 0.3], [0.6, 1, 0.5], [0.3, 0.5, 1]])
    draws = np.random.default_rng(1).normal(size=(4000, 3)) @ np.linalg.cholesky(matrix).T
    critical = max_t_critical(draws, 0.95, np.random.default_rng(2))
    covered = scipy.stats.multivariate_normal(cov=matrix).cdf(np.full(3, critical))
    assert covered == pytest.approx(0.95, abs=0.006)
    assert max_t_critical(np.zeros((5, 2)), 0.95, np.random.default_rng(2)) >= 1.64


# ------------------------------------------------------------------------------------------------------- resampling


def test_bca_limits_are_scipys() -> None:
    y = np.random.default_rng(3).lognormal(size=25)

    def mean(rows: np.ndarray) -> float:
        return float(y[rows].mean())

    unit = np.arange(25)
    oracle = scipy.stats.bootstrap((y,), np.mean, method="BCa", n_resamples=9_999, rng=np.random.default_rng(5))
    same_draws = Replicates.of(oracle.bootstrap_distribution)
    found = ends(bca_limits(float(y.mean()), same_draws, cluster_jackknife(mean, unit), 0.95))
    assert found == pytest.approx(tuple(oracle.confidence_interval), rel=1e-6)
    draws = cluster_bootstrap(mean, unit, 9_999, np.random.default_rng(4))
    assert draws.values.std() == pytest.approx(oracle.standard_error, rel=0.04)


def test_strata_keep_their_sizes_and_clusters_their_rows() -> None:
    cluster = np.array(list("aabbccddde"))
    stratum = np.array(list("xxxxyyyyyy"))
    weights = stratified_weights(cluster, stratum, 1000, np.random.default_rng(1))
    assert isinstance(weights, np.ndarray)
    assert (weights[:, :2].sum(axis=1) == 2).all()
    assert (weights[:, 2:].sum(axis=1) == 3).all()
    assert len(np.unique(weights, axis=0)) == 3 * 10  # all ways to draw two of two and three of three

    def whole(rows: np.ndarray) -> float:
        times = np.bincount(rows, minlength=10)
        assert all(len(set(times[cluster == name])) == 1 for name in "abcde")
        return float(len(rows))

    assert isinstance(stratified_bootstrap(whole, cluster, stratum, 50, np.random.default_rng(1)), Replicates)


def test_the_spread_within_strata_is_that_of_a_stratified_mean() -> None:
    """Var = Σ (n_h/n)² (n_h − 1)/n_h · s²_h/n_h, far below that of a bootstrap which lets strata change in size."""
    draws = np.random.default_rng(7)
    stratum = np.repeat(["low", "high"], [30, 20])
    y = np.where(stratum == "low", 0.0, 10.0) + draws.normal(size=50)
    found = stratified_bootstrap(lambda rows: float(y[rows].mean()), range(50), stratum, 4000, draws)
    free = cluster_bootstrap(lambda rows: float(y[rows].mean()), range(50), 1000, draws)
    assert isinstance(found, Replicates)
    expected = sum(y[stratum == s].var() * (stratum == s).sum() for s in ("low", "high")) / 50**2
    assert found.values.var() == pytest.approx(expected, rel=0.12)
    assert free.values.var() > 5 * expected
    limits = ends(percentile_limits(found, 0.95))
    assert limits[1] - limits[0] == pytest.approx(2 * 1.96 * math.sqrt(expected), rel=0.1)


def test_a_stratum_of_one_cluster_has_no_spread_and_says_which() -> None:
    found = stratified_bootstrap(lambda rows: 1.0, list("aabbc"), list("xxxxy"), 9, np.random.default_rng(1))
    assert found == Undefined("stratum 'y' has a single cluster: its spread cannot be told")
    with pytest.raises(InvalidData, match="cluster 'a' in two"):
        stratified_weights(list("aab"), list("xyy"), 9, np.random.default_rng(1))
    with pytest.raises(InvalidData, match="got 3 and 2"):
        stratified_weights(list("abc"), list("xy"), 9, np.random.default_rng(1))
    with pytest.raises(InvalidData, match="resamples must be a whole number from 1"):
        stratified_weights(list("ab"), list("xx"), 0, np.random.default_rng(1))


# ----------------------------------------------------------------------------------- correlations, means and scales


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=30))
def test_coefficients_are_scipys(pairs: list[tuple[int, int]]) -> None:
    x, y = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    if len(set(x)) < 2 or len(set(y)) < 2:
        assert isinstance(spearman(x, y), Undefined)
        return
    oracle = scipy.stats.spearmanr(x, y)
    rho = spearman(x, y)
    assert rho == pytest.approx(oracle.statistic, abs=1e-12)
    assert isinstance(rho, float)
    if abs(rho) < 1:
        assert spearman_p(rho, len(x)) == pytest.approx(oracle.pvalue, rel=1e-6, abs=1e-12)
    assert pearson(x, y) == pytest.approx(scipy.stats.pearsonr(x, y).statistic, abs=1e-12)
    for variant in ("b", "c"):
        expected = scipy.stats.kendalltau(x, y, variant=variant).statistic
        assert kendall(x, y, variant) == pytest.approx(expected, abs=1e-12)  # type: ignore[arg-type]


@settings(deadline=None, max_examples=40)
@given(st.floats(-0.99, 0.99), st.integers(5, 300))
def test_fishers_limits_are_scipys(r: float, n: int) -> None:
    reach = 1.959963984540054 / math.sqrt(n - 3)
    expected = (math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach))
    assert ends(fisher_limits(r, n)) == pytest.approx(expected)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=30))
def test_group_means_are_pandas(rows: list[tuple[int, int, int]]) -> None:
    frame = pd.DataFrame(rows, columns=["g", "x", "y"])
    means = frame.groupby("g").mean()
    found = group_means(frame["g"], frame["x"], frame["y"])
    assert found.x == pytest.approx(means["x"].to_numpy())
    assert found.y == pytest.approx(means["y"].to_numpy())
    rho = group_correlation("spearman", frame["g"], frame["x"], frame["y"])
    assert rho == (correlate("spearman", means["x"], means["y"]) if len(means) > 2 else rho)


def test_reliability_is_one_minus_the_f_ratio_inverted() -> None:
    """With equal group sizes 1 − E/V is 1 − 1/F of a one-way analysis of variance."""
    groups, y = np.repeat(np.arange(6), 5), np.random.default_rng(1).normal(size=30) + np.repeat(np.arange(6), 5)
    found = reliability_of_means(groups, y)
    assert not isinstance(found, Undefined)
    oracle = scipy.stats.f_oneway(*[y[groups == g] for g in range(6)])
    assert found.value == pytest.approx(1 - 1 / oracle.statistic)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 5), min_size=3, max_size=12), st.lists(st.integers(1, 5), min_size=3, max_size=12))
def test_z_scores_are_scipys(first: list[int], second: list[int]) -> None:
    who = ["a"] * len(first) + ["b"] * len(second)
    made = zscore_by_annotator(who, first + second)
    for values, z in ((first, made[: len(first)]), (second, made[len(first) :])):
        expected = np.zeros(len(values)) if len(set(values)) == 1 else scipy.stats.zscore(values, ddof=1)
        assert z == pytest.approx(expected)


def test_a_clustered_mean_is_the_sandwich_of_statsmodels() -> None:
    import statsmodels.api as sm

    draws = np.random.default_rng(2)
    who = np.repeat(np.arange(12), 4)
    y = draws.normal(size=12)[who] + draws.normal(size=48)
    found = cluster_mean(y, who)
    assert isinstance(found, ClusterMean)
    fit = sm.OLS(y, np.ones(48)).fit(cov_type="cluster", cov_kwds={"groups": who, "use_correction": True})
    assert found.se == pytest.approx(float(fit.bse[0]))


# ------------------------------------------------------------------------------------------------- hostile inputs


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wilson(5, 3), "count successes among"),
        (lambda: wilson(math.nan, 3), "x must be in"),
        (lambda: wilson(2, 3, 95), "got 95: take .95"),
        (lambda: mid_p(2, 3, 0), "got 0: take .95"),
        (lambda: jeffreys(2, 3, math.nan), "got nan: take .95"),
        (lambda: clopper_pearson(2, 3, 1.0), "got 1.0: take .95"),
        (lambda: paired_difference(1, 2, 3, 4, 95), "got 95: take .95"),
        (lambda: fisher_limits(0.5, 9, level=2), "got 2: take .95"),
        (lambda: percentile_limits(Replicates.of([1, 2]), 95), "got 95: take .95"),
        (lambda: bca_limits(1.0, Replicates.of([1, 2]), Replicates.of([1, 2]), 95), "got 95: take .95"),
        (lambda: binomial_test(2, 3, 50), "got 50: take .5"),
        (lambda: equivalence_n(0), "give the largest harmless"),
        (lambda: clopper_pearson(1.5, 3), "drop ties first"),  # type: ignore[arg-type]
        (lambda: equivalence_binomial(1, 2, 0.6), "give the largest harmless"),
        (lambda: cluster_mean([1, math.nan], [1, 2]), "drop what is missing"),
        (lambda: cluster_mean([1, 2]), "pass one label a row"),
        (lambda: spearman([1, 2, 3], [1, 2]), "pass one value a pair"),
        (lambda: pearson([1, 2, math.inf], [1, 2, 3]), "mark it as missing"),
        (lambda: fit_scales(["a", "b"], [1]), "pass columns of equal length"),
        (lambda: fit_scales(["a", "b"], [1, math.nan]), "drop it before normalising"),
        (lambda: fit_scales(["a", None], [1, 2]), "with no annotator"),
        (lambda: fit_scales(["a"], [1]).z(["b"], [1]), "fit the scales on all"),
        (lambda: paired_difference(-1, 2, 3, 4), "count the pairs"),
        (lambda: cluster_codes(["a", None]), "drop it first"),
        (lambda: cluster_weights(0, 5, np.random.default_rng(1)), "give rows"),
        (lambda: risk_difference([1, 0], [1], [1, 2]), "equal length"),
        (lambda: risk_difference([1, 2], [1, 0], [1, 1]), "got 2: drop what is missing"),
        (lambda: risk_difference([1, math.nan], [1, 0], [1, 1]), "got nan"),
    ],
)
def test_errors_name_the_rule_the_value_and_the_remedy(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidData, match=message):
        call()


def test_too_little_data_is_undefined_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in (wilson, clopper_pearson, mid_p, agresti_coull, jeffreys):
            assert isinstance(method(0, 0), Undefined)
        for found in (
            independent_difference(0, 0, 1, 2),
            paired_difference(0, 0, 0, 0),
            spearman([], []),
            pearson([1, 1, 1], [1, 2, 3]),
            kendall([math.nan] * 5, range(5)),
            correlate("spearman", [1, 2], [1, 2]),
            fisher_limits(0.5, 3),
            cluster_mean([], []),
            cluster_mean([1], ["a"]),
            group_correlation("pearson", list("ab"), [1, 2], [1, 2]),
            reliability_of_means(list("abc"), [1, 2, 3]),
            reliability_of_means([], []),
            risk_difference([], [], []),
            risk_difference([1, 0], [1, 1], [1, 1]),
            percentile_limits(Replicates.of([math.nan] * 5), 0.95),
            percentile_limits(Replicates.of([]), 0.95),
            percentile_limits(Replicates.of([2.0] * 5), 0.95),
        ):
            assert isinstance(found, Undefined)
            assert found.reason
