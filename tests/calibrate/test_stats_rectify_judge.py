"""Sensitivity and specificity, Rogan–Gladen, and prediction-powered means."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.intervals import normal_quantile, t_quantile
from calibrate.stats.rectify.prediction_powered import PredictionPowered, nested_mean, prediction_powered_mean
from calibrate.stats.rectify.rogan_gladen import RoganGladen, lang_reiczigel_limits, lee_limits, rogan_gladen
from calibrate.stats.rectify.sens_spec import JudgeValidity, judge_validity, judge_validity_of_counts

pytestmark = pytest.mark.filterwarnings("error")
SHARES = ("sensitivity", "specificity", "ppv", "npv", "accuracy")
tables = st.tuples(*[st.integers(0, 60)] * 4)


def decisions(tp: int, fn: int, fp: int, tn: int) -> tuple[list[int], list[int]]:
    return [1] * tp + [0] * fn + [1] * fp + [0] * tn, [1] * (tp + fn) + [0] * (fp + tn)


def figures(validity: JudgeValidity) -> list[Any]:
    shares = [getattr(validity, name) for name in SHARES]
    limits = [s.interval for s in shares]
    return [s.value for s in shares] + [v for i in limits if isinstance(i, Interval) for v in (i.low, i.high)]


# ------------------------------------------------------------------------------------ sensitivity and specificity


@given(tables)
@settings(max_examples=100, deadline=None)
def test_rows_of_weight_1_are_counts(table: tuple[int, int, int, int]) -> None:
    by_counts = judge_validity_of_counts(*table)
    judge, human = decisions(*table)
    by_rows = judge_validity(judge, human, weights=[3.5] * len(judge))
    for one, two in zip(figures(by_counts), figures(by_rows), strict=True):
        assert one == two if isinstance(one, Undefined) else one == pytest.approx(two, abs=1e-12)
    assert by_counts.youden == by_rows.youden or by_counts.youden == pytest.approx(by_rows.youden)


@given(tables)
@settings(max_examples=100, deadline=None)
def test_bounds_and_mirrored_labels(table: tuple[int, int, int, int]) -> None:
    tp, fn, fp, tn = table
    one, mirror = judge_validity_of_counts(tp, fn, fp, tn), judge_validity_of_counts(tn, fp, fn, tp)
    for name, other in zip(SHARES, ("specificity", "sensitivity", "npv", "ppv", "accuracy"), strict=True):
        share = getattr(one, name)
        assert share == getattr(mirror, other) or isinstance(share.value, Undefined)
        if isinstance(share.value, float):
            assert isinstance(share.interval, Interval)
            assert 0 <= share.interval.low <= share.value <= share.interval.high <= 1
    for estimate in one.estimates():
        assert estimate.defined or estimate.reason


def test_wilson_is_that_of_statsmodels() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    share = judge_validity_of_counts(43, 7, 4, 96).sensitivity
    assert isinstance(share.interval, Interval)
    theirs = proportion.proportion_confint(43, 50, method="wilson")
    assert (share.interval.low, share.interval.high) == pytest.approx(theirs, abs=1e-12)


def test_likelihood_ratios_and_their_gaps() -> None:
    validity = judge_validity_of_counts(43, 7, 4, 96)
    assert (validity.lr_positive, validity.lr_negative) == (pytest.approx(21.5), pytest.approx(0.14 / 0.96))
    assert isinstance(judge_validity_of_counts(5, 5, 0, 5).lr_positive, Undefined)
    assert isinstance(judge_validity_of_counts(5, 5, 5, 0).lr_negative, Undefined)
    empty = judge_validity_of_counts(0, 0, 0, 0)
    assert all(isinstance(getattr(empty, name).value, Undefined) for name in SHARES)
    assert isinstance(empty.youden, Undefined)


def test_weights_undo_an_unequal_draw() -> None:
    rng = np.random.default_rng(1)
    human = rng.random(60000) < 0.7
    judge = human ^ (rng.random(60000) < np.where(human, 0.2, 0.1))
    chance = np.where(judge, 0.02, 0.3)  # fails were looked at far more often
    drawn = rng.random(60000) < chance
    plain = judge_validity(judge[drawn], human[drawn])
    weighted = judge_validity(judge[drawn], human[drawn], weights=1 / chance[drawn])
    assert isinstance(plain.sensitivity.value, float) and abs(plain.sensitivity.value - 0.8) > 0.3
    assert weighted.sensitivity.value == pytest.approx(0.8, abs=0.02)
    assert weighted.specificity.value == pytest.approx(0.9, abs=0.03)
    assert weighted.sensitivity.effective_n < weighted.sensitivity.n


def test_decisions_of_one_episode_widen_the_limits() -> None:
    rng = np.random.default_rng(2)
    episode = np.repeat(np.arange(60), 6)
    wrong = (rng.random(60) < 0.2)[episode]
    human = rng.random(360) < 0.5
    judge = human ^ wrong
    alone = judge_validity(judge, human, cluster=np.arange(360)).accuracy
    together = judge_validity(judge, human, cluster=episode).accuracy
    assert isinstance(alone.interval, Interval) and isinstance(together.interval, Interval)
    assert together.value == alone.value
    assert together.effective_n < 100 < alone.effective_n
    order = rng.permutation(360)
    again = judge_validity(judge[order], human[order], cluster=[f"e{e}" for e in episode[order]]).accuracy
    assert again.effective_n == pytest.approx(together.effective_n)
    assert isinstance(together.value, float)
    sums = np.bincount(episode, weights=(judge == human) - together.value)
    variance = 60 / 59 * (sums**2).sum() / 360**2
    shrink = (normal_quantile(0.95) / t_quantile(0.95, 59)) ** 2  # Korn and Graubard
    assert together.effective_n == pytest.approx(together.value * (1 - together.value) / variance * shrink)
    perfect = judge_validity(human, human, cluster=episode).accuracy
    assert perfect.effective_n == 60 and perfect.value == 1.0
    single = judge_validity(judge[:6], human[:6], cluster=episode[:6]).accuracy
    assert isinstance(single.value, float) and isinstance(single.interval, Undefined)


@pytest.mark.parametrize(
    ("judge", "human", "how"),
    [
        ([1, 2], [1, 0], {}),
        ([1, 0], [1], {}),
        ([1, float("nan")], [1, 0], {}),
        (["pass", "fail"], [1, 0], {}),
        ([1, 0], [1, 0], {"weights": [1, 0]}),
        ([1, 0], [1, 0], {"weights": [1]}),
        ([1, 0], [1, 0], {"cluster": ["a"]}),
        ([1, 0], [1, 0], {"level": 95}),
    ],
)
def test_unfit_decisions_are_refused(judge: Any, human: Any, how: dict[str, Any]) -> None:
    with pytest.raises(InvalidData):
        judge_validity(judge, human, **how)


def test_unfit_counts_are_refused_and_no_rows_are_undefined() -> None:
    for bad in (-1, 1.5, float("nan"), float("inf")):
        with pytest.raises(InvalidData, match="tp"):
            judge_validity_of_counts(bad, 1, 1, 1)  # type: ignore[arg-type]
    assert isinstance(judge_validity([], []).accuracy.value, Undefined)


# ------------------------------------------------------------------------------------------------- Rogan and Gladen

labels = st.tuples(
    st.integers(1, 80), st.integers(1, 80), st.floats(0, 1), st.floats(0, 1), st.integers(1, 500), st.floats(0, 1)
)


def correct(m1: int, m0: int, q1: float, q0: float, n: int, p: float) -> RoganGladen:
    return rogan_gladen(round(p * n), n, round(q1 * m1), m1, round(q0 * m0), m0)


@given(labels)
@settings(max_examples=150, deadline=None)
def test_correcting_undoes_the_judges_errors(given_labels: Any) -> None:
    result = correct(*given_labels)
    if isinstance(result.raw, Undefined):
        assert not isinstance(result.youden, float) or result.youden <= 1e-9
        assert isinstance(result.clipped, Undefined) and isinstance(result.lang_reiczigel, Undefined)
        return
    assert isinstance(result.sensitivity, float) and isinstance(result.specificity, float)
    judged = result.raw * result.sensitivity + (1 - result.raw) * (1 - result.specificity)
    assert judged == pytest.approx(result.apparent, abs=1e-9)
    assert isinstance(result.clipped, float) and 0 <= result.clipped <= 1
    assert result.was_clipped == (not 0 <= result.raw <= 1)
    interval = result.lang_reiczigel
    assert isinstance(interval, Undefined) or 0 <= interval.low <= interval.high <= 1
    result.rectified().estimate()


@given(labels)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_mirrored_labels_mirror_the_share(given_labels: Any) -> None:
    m1, m0, q1, q0, n, p = given_labels
    x, tp, tn = round(p * n), round(q1 * m1), round(q0 * m0)
    one, two = rogan_gladen(x, n, tp, m1, tn, m0), rogan_gladen(n - x, n, tn, m0, tp, m1)
    assume(isinstance(one.raw, float) and isinstance(one.lang_reiczigel_raw, Interval))
    assert isinstance(two.raw, float) and isinstance(two.lang_reiczigel_raw, Interval)
    assert isinstance(one.raw, float) and isinstance(one.lang_reiczigel_raw, Interval)
    scale = max(1.0, abs(one.lang_reiczigel_raw.low), abs(one.lang_reiczigel_raw.high))
    assert two.raw == pytest.approx(1 - one.raw, abs=1e-9 * max(1.0, abs(one.raw)))
    assert two.lang_reiczigel_raw.low == pytest.approx(1 - one.lang_reiczigel_raw.high, abs=1e-8 * scale)


def test_a_perfect_judge_needs_no_correction() -> None:
    result = rogan_gladen(30, 100, 50, 50, 50, 50)
    assert result.raw == pytest.approx(0.3) and result.variance == pytest.approx(0.3 * 0.7 / 100)


@given(labels)
@settings(max_examples=60, deadline=None)
def test_lee_is_lang_and_reiczigel(given_labels: Any) -> None:
    result = correct(*given_labels)
    m1, m0, _, _, n, _ = given_labels
    if isinstance(result.lang_reiczigel, Undefined):
        return
    assert isinstance(result.specificity, float) and isinstance(result.sensitivity, float)
    lee = lee_limits(result.apparent, result.specificity, result.sensitivity, n, m0, m1)
    assert isinstance(lee, Interval)
    assert (lee.low, lee.high) == pytest.approx((result.lang_reiczigel.low, result.lang_reiczigel.high), abs=1e-7)


def test_lee_written_from_the_paper() -> None:
    p, q0, q1, n, m0, m1, z = 0.3, 0.7, 0.9, 1000, 100, 100, 1.959963984540054
    p_, q0_, q1_ = (n * p + z**2 / 2) / (n + z**2), (m0 * q0 + 1) / (m0 + 2), (m1 * q1 + 1) / (m1 + 2)
    theta = (p_ + q0_ - 1) / (q0_ + q1_ - 1)
    errors = (theta**2 * q1_ * (1 - q1_) / (m1 + 2), (1 - theta) ** 2 * q0_ * (1 - q0_) / (m0 + 2))
    se = math.sqrt(p_ * (1 - p_) / (n + z**2) + sum(errors)) / (q0_ + q1_ - 1)
    shift = 2 * z**2 * (theta * q1_ * (1 - q1_) / (m1 + 2) - (1 - theta) * q0_ * (1 - q0_) / (m0 + 2))
    lee = lee_limits(p, q0, q1, n, m0, m1)
    assert isinstance(lee, Interval)
    assert (lee.low, lee.high) == pytest.approx((max(0, theta + shift - z * se), theta + shift + z * se), abs=1e-12)


def test_lang_reiczigel_covers_where_wald_does_not() -> None:
    rng = np.random.default_rng(3)
    truth, q1, q0, trials = 0.9, 0.95, 0.95, 1500
    covered = {"lang_reiczigel": 0, "wald": 0}
    for _ in range(trials):
        p = truth * q1 + (1 - truth) * (1 - q0)
        result = rogan_gladen(rng.binomial(400, p), 400, rng.binomial(30, q1), 30, rng.binomial(30, q0), 30)
        for name in covered:
            interval = getattr(result, name)
            covered[name] += interval.low <= truth <= interval.high
    assert covered["lang_reiczigel"] / trials > 0.93 > covered["wald"] / trials


def test_refusals_say_why() -> None:
    chance = rogan_gladen(40, 100, 25, 50, 25, 50)
    assert isinstance(chance.raw, Undefined) and "chance" in chance.raw.reason and chance.youden == 0
    few = rogan_gladen(1, 5, 1, 1, 1, 90)
    assert isinstance(few.raw, float) and isinstance(few.lang_reiczigel, Undefined)
    assert few.rectified().estimate().interval_reason
    assert isinstance(rogan_gladen(0, 0, 1, 1, 1, 1).raw, Undefined)
    assert isinstance(rogan_gladen(1, 2, 0, 0, 1, 1).youden, Undefined)
    assert isinstance(lang_reiczigel_limits(0, 0, 1, 1, 1, 1), Undefined)
    assert isinstance(lee_limits(0.5, 0.4, 0.4, 100, 10, 10), Undefined)
    assert isinstance(lee_limits(0.5, 0.9, 0.9, 100, 0, 10), Undefined)
    clipped = rogan_gladen(95, 100, 45, 50, 98, 100).rectified()
    assert clipped.value == 1.0 and clipped.remark and "clipped" in clipped.remark
    for bad in ((11, 10, 1, 2, 1, 2), (1, 10, 3, 2, 1, 2), (1, 10, 1, 2, -1, 2), (float("nan"), 10, 1, 2, 1, 2)):
        with pytest.raises(InvalidData):
            rogan_gladen(*bad)
    with pytest.raises(InvalidData):
        lee_limits(1.2, 0.9, 0.9, 10, 10, 10)


# ------------------------------------------------------------------------------------------- prediction-powered means

numbers = st.integers(-40, 40).map(lambda v: v / 4)


@st.composite
def samples(draw: st.DrawFn) -> tuple[list[float], list[float], list[float]]:
    n, big = draw(st.integers(2, 15)), draw(st.integers(2, 30))
    return tuple(draw(st.lists(numbers, min_size=k, max_size=k)) for k in (n, n, big))  # type: ignore[return-value]


def mean(*sides: Any, **how: Any) -> PredictionPowered:
    result = prediction_powered_mean(*sides, **how)
    assert isinstance(result, PredictionPowered)
    return result


@given(samples(), st.sampled_from(["two-sided", "larger", "smaller"]))
@settings(max_examples=60, deadline=None)
def test_it_is_what_ppi_python_computes(sides: Any, alternative: Any) -> None:
    ppi = pytest.importorskip("ppi_py")
    y, f, g = (np.array(side) for side in sides)
    assume(np.ptp(np.concatenate([f, g])) > 0)
    ours = mean(y, f, g, ddof=0)
    assume(ours.se > 0)
    lam = ours.lam
    assert ours.value == pytest.approx(float(ppi.ppi_mean_pointestimate(y, f, g, lam=lam).item()), abs=1e-9)
    limits = ppi.ppi_mean_ci(y, f, g, alpha=0.05, lam=lam, alternative=alternative)
    low, high = (float(np.squeeze(limit)) for limit in limits)
    bound = ours.bound(alternative)
    assert not isinstance(bound, Undefined)
    assert (bound.low is None) == math.isinf(low) and (bound.high is None) == math.isinf(high)
    assert bound.low is None or bound.low == pytest.approx(low, abs=1e-9)
    assert bound.high is None or bound.high == pytest.approx(high, abs=1e-9)
    if alternative == "two-sided":
        plain = ppi.ppi_mean_ci(y, f, g, alpha=0.05)  # λ chosen by the library, cut as here
        assert (low, high) == pytest.approx([float(np.squeeze(limit)) for limit in plain], abs=1e-8)


@given(samples(), numbers, st.integers(1, 5))
@settings(max_examples=80, deadline=None)
def test_shift_scale_and_order(sides: Any, shift: float, factor: int) -> None:
    y, f, g = (np.array(side) for side in sides)
    one = mean(y, f, g)
    moved = mean(factor * y + shift, factor * f + shift, factor * g + shift)
    assert moved.value == pytest.approx(factor * one.value + shift, abs=1e-8)
    assert moved.se == pytest.approx(factor * one.se, abs=1e-8)
    turned = mean(y[::-1], f[::-1], g[::-1])
    assert (turned.value, turned.se) == pytest.approx((one.value, one.se), abs=1e-12)
    assert 0 <= one.lam <= 1
    assert mean(y, f, g, estimator="ppi").value == pytest.approx(g.mean() + (y - f).mean(), abs=1e-9)
    assert mean(y, f, g, estimator="classical").value == pytest.approx(y.mean(), abs=1e-12)


@given(samples())
@settings(max_examples=60, deadline=None)
def test_clusters_of_one_row_change_the_quantile_only(sides: Any) -> None:
    y, f, g = (np.array(side) for side in sides)
    plain = mean(y, f, g)
    single = mean(y, f, g, cluster=range(len(y)), cluster_unlabelled=[f"u{i}" for i in range(len(g))])
    assert (single.value, single.se) == pytest.approx((plain.value, plain.se), abs=1e-9)
    assert single.df == min(len(y), len(g)) - 1 or single.estimator == "classical" or single.lam == 0.0


def test_the_p_value_and_the_limits_use_one_lambda() -> None:
    y, f = [1, 0, 1, 0, 1, 0, 1, 1], [0, 1, 0, 1, 0, 1, 0, 1]
    result = mean(y, f, [0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1])
    assert result.lam == 0.0 and result.lam_unclipped is not None and result.lam_unclipped < 0
    limits = result.limits(0.95)
    assert isinstance(limits, Interval)
    assert result.p_value(limits.low) == pytest.approx(0.05) == result.p_value(limits.high)
    larger, smaller = result.p_value(0.3, "larger"), result.p_value(0.3, "smaller")
    assert isinstance(larger, float) and isinstance(smaller, float) and larger + smaller == pytest.approx(1.0)


def test_ppi_is_unbiased_covers_and_helps() -> None:
    rng = np.random.default_rng(8)
    errors, covered, gain = [], 0, []
    for _ in range(1500):
        truth = rng.normal(2.0, 1.0, 460)
        judge = 0.9 * truth + 1.0 + rng.normal(0, 0.4, 460)  # biased upwards
        result = mean(truth[:60], judge[:60], judge[60:])
        limits = result.limits()
        assert isinstance(limits, Interval)
        errors.append(result.value - 2.0)
        covered += limits.low <= 2.0 <= limits.high
        gain.append(result.se / mean(truth[:60], judge[:60], judge[60:], estimator="classical").se)
    assert abs(np.mean(errors)) < 4 * np.std(errors) / np.sqrt(1500)
    assert 0.93 < covered / 1500 < 0.97
    assert np.mean(gain) < 0.7


def test_clustered_limits_cover_where_plain_ones_do_not() -> None:
    rng = np.random.default_rng(9)
    plain = clustered = 0
    for _ in range(600):
        person = np.repeat(np.arange(120), 5)
        truth = rng.normal(0, 1, 120)[person] + rng.normal(0, 0.5, 600)
        judge = truth + rng.normal(0, 1, 120)[person]
        near, far = person < 40, person >= 40
        for by in (False, True):
            how = {"cluster": person[near], "cluster_unlabelled": person[far]} if by else {}
            limits = mean(truth[near], judge[near], judge[far], **how).limits()
            assert isinstance(limits, Interval)
            plain, clustered = (
                plain + (not by and limits.low <= 0 <= limits.high),
                clustered + (by and limits.low <= 0 <= limits.high),
            )
    assert clustered / 600 > 0.92 and plain / 600 < 0.8


def test_a_cluster_on_both_sides_is_one_cluster() -> None:
    rng = np.random.default_rng(4)
    person = np.repeat(np.arange(30), 4)
    judge = rng.normal(0, 1, 30)[person]
    near = np.tile([True, False, False, False], 30)
    y = judge[near] + rng.normal(0, 0.1, 30)
    apart = mean(
        y, judge[near], judge[~near], estimator="ppi", cluster=person[near], cluster_unlabelled=person[~near] + 99
    )
    shared = mean(y, judge[near], judge[~near], estimator="ppi", cluster=person[near], cluster_unlabelled=person[~near])
    assert shared.se != pytest.approx(apart.se, rel=0.01)
    assert shared.se**2 == pytest.approx(y.var(ddof=1) / 30, rel=1e-9)  # λ = 1: each person's judge values cancel


def test_what_cannot_help_is_said() -> None:
    flat = mean([1, 0, 1, 1], [1, 1, 1, 1], [1, 1, 1])
    assert flat.estimator == "classical" and flat.remark and "same" in flat.remark and flat.lam_unclipped is None
    none = mean([1, 0, 1, 1], [1, 0, 0, 1], [])
    assert none.estimator == "classical" and none.remark and "unlabelled" in none.remark
    lone = mean([1, 0, 1, 1], [1, 0, 0, 1], [1])
    assert lone.se > 0
    still = mean([1, 1, 1], [1, 1, 1], [1, 1])
    assert still.value == 1.0 and isinstance(still.limits(), Undefined) and isinstance(still.p_value(0.5), Undefined)
    assert isinstance(still.bound("larger"), Undefined)
    assert still.rectified().estimate().interval_reason
    assert mean([1, 0, 1], [1, 0, 0], [1, 0]).rectified().estimate().defined
    assert isinstance(prediction_powered_mean([1], [1], [1, 0, 1]), Undefined)
    assert isinstance(prediction_powered_mean([], [], []), Undefined)
    assert isinstance(
        prediction_powered_mean([1, 0], [1, 0], [1, 0], cluster=["a", "a"], cluster_unlabelled=["b", "c"]), Undefined
    )
    assert isinstance(
        prediction_powered_mean([1, 0], [1, 0], [1, 0], cluster=["a", "b"], cluster_unlabelled=["c", "c"]), Undefined
    )


@pytest.mark.parametrize(
    "how",
    [
        {"human": [1, float("nan")]},
        {"judge": [1]},
        {"judge_unlabelled": [float("inf")]},
        {"estimator": "best"},
        {"ddof": 2},
        {"cluster": ["a", "b"]},
        {"cluster_unlabelled": ["a", "b"]},
        {"cluster": ["a"], "cluster_unlabelled": ["a", "b"]},
        {"human": [[1, 0]]},
        {"human": ["yes", "no"]},
    ],
)
def test_unfit_samples_are_refused(how: dict[str, Any]) -> None:
    sides: dict[str, Any] = {"human": [1, 0], "judge": [1, 0], "judge_unlabelled": [1, 0]}
    with pytest.raises(InvalidData):
        prediction_powered_mean(**{**sides, **how})


def test_alternatives_are_checked() -> None:
    result = mean([1, 0, 1], [1, 0, 0], [1, 0])
    with pytest.raises(InvalidData, match="alternative"):
        result.p_value(0.5, "above")  # type: ignore[arg-type]
    with pytest.raises(InvalidData, match="alternative"):
        result.bound("above")  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------------ nested


@given(tables, st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=80, deadline=None)
def test_nested_with_a_binary_judge_is_post_stratification(table: Any, more_pass: int, more_fail: int) -> None:
    tp, fn, fp, tn = table
    assume(tp + fp > 0 and fn + tn > 0)
    judge, human = decisions(*table)
    n_pass, n_fail = tp + fp + more_pass, fn + tn + more_fail
    result = nested_mean(human, judge, [1] * n_pass + [0] * n_fail)
    assert isinstance(result, PredictionPowered)
    expected = (n_pass * tp / (tp + fp) + n_fail * fn / (fn + tn)) / (n_pass + n_fail)
    assert result.value == pytest.approx(expected, abs=1e-9)


def test_a_nested_census_is_exact_for_these_rows_and_not_for_others() -> None:
    human, judge = [1, 0, 1, 1, 0, 1], [1, 0, 1, 0, 0, 1]
    exact = nested_mean(human, judge, judge)
    wider = nested_mean(human, judge, judge, target="superpopulation")
    assert isinstance(exact, PredictionPowered) and isinstance(wider, PredictionPowered)
    assert exact.value == wider.value == pytest.approx(4 / 6) and exact.se == 0.0
    assert wider.se**2 == pytest.approx(np.var(human, ddof=1) / 6)


def test_nested_limits_cover() -> None:
    rng = np.random.default_rng(12)
    covered = {"finite": 0, "superpopulation": 0}
    for _ in range(800):
        truth = rng.normal(0, 1, 300)
        judge = truth + rng.normal(0, 0.6, 300)
        for target, aim in (("finite", truth.mean()), ("superpopulation", 0.0)):
            result = nested_mean(truth[:80], judge[:80], judge, target=target)  # type: ignore[arg-type]
            assert isinstance(result, PredictionPowered)
            limits = result.limits()
            assert isinstance(limits, Interval)
            covered[target] += limits.low <= aim <= limits.high
    assert all(0.92 < count / 800 < 0.975 for count in covered.values())


def test_nested_undefined_refused_and_clustered() -> None:
    flat = nested_mean([1, 0, 1], [1, 1, 1], [1, 1, 1, 0])
    assert isinstance(flat, PredictionPowered) and flat.estimator == "classical" and flat.remark
    assert isinstance(nested_mean([1], [1], [1, 0]), Undefined)
    with pytest.raises(InvalidData, match="part of"):
        nested_mean([1, 0], [1, 0], [1])
    with pytest.raises(InvalidData, match="target"):
        nested_mean([1, 0], [1, 0], [1, 0], target="all")  # type: ignore[arg-type]
    y, f = [1, 1, 0, 0, 1, 0, 1, 1], [1, 1, 0, 0, 1, 0, 0, 0]
    plain, by = nested_mean(y, f, f * 3), nested_mean(y, f, f * 3, cluster=list("aabbccdd"))
    assert isinstance(plain, PredictionPowered) and isinstance(by, PredictionPowered)
    assert by.value == plain.value and by.df == 3 and by.clusters == 4
    assert isinstance(nested_mean([1, 0], [1, 0], [1, 0, 1], cluster=["a", "a"]), Undefined)
