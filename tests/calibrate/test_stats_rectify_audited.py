"""Audited shares: pooled-Jeffreys MOVER limits, draws, differences and rows in clusters."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta as beta_distribution

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.intervals import jeffreys, wilson
from calibrate.stats.rectify.audited import AuditStratum, audited_ufs, pj_draws, pjm_limits, task_bootstrap
from calibrate.stats.rectify.audited_difference import JudgedTasks, audited_difference
from calibrate.stats.rectify.pooling import jeffreys_limits, pool_verdicts
from calibrate.stats.rectify.stratified_difference import audit_strata, stratified_difference

pytestmark = pytest.mark.filterwarnings("error")


@st.composite
def audits(draw: st.DrawFn, *, census: bool = False) -> list[AuditStratum]:
    strata = []
    for domain in range(draw(st.integers(1, 3))):
        for verdict in draw(st.sampled_from([("pass", "fail"), ("pass",), ("fail",), ("pass", "fail", "flagged")])):
            judged = draw(st.integers(1, 400))
            audited = judged if census else draw(st.integers(1, min(judged, 60)))
            strata.append(AuditStratum(f"d{domain}", verdict, judged, audited, draw(st.integers(0, audited))))
    return strata


def values(strata: list[AuditStratum], **how: Any) -> tuple[float, float, float]:
    result = audited_ufs(strata, **how)
    assert isinstance(result.value, float) and isinstance(result.interval, Interval)
    return result.value, result.interval.low, result.interval.high


# ---------------------------------------------------------------------- by hand, from scratch


def by_hand(strata: list[AuditStratum], target: str) -> tuple[float, float, float]:
    """The definition, written plainly a second time for strata weighted by judged episodes."""
    total = sum(s.judged for s in strata)
    theta = sum(s.judged / total * s.passed / s.audited for s in strata)
    below = above = 0.0
    for verdict in {s.verdict for s in strata}:
        own = [s for s in strata if s.verdict == verdict]
        weight = sum(s.judged / total for s in own)
        p = sum(s.judged / total * s.passed / s.audited for s in own) / weight
        spread = sum(
            (s.judged / total) ** 2 * (s.judged - s.audited) / (s.audited * (s.judged - 1)) for s in own if s.judged > 1
        )
        if spread == 0:
            continue
        n = weight**2 / spread
        low = 0.0 if sum(s.passed for s in own) == 0 else beta_distribution.ppf(0.025, p * n + 0.5, (1 - p) * n + 0.5)
        all_pass = all(s.passed == s.audited for s in own)
        high = 1.0 if all_pass else beta_distribution.ppf(0.975, p * n + 0.5, (1 - p) * n + 0.5)
        below += (weight * max(p - low, 0.0)) ** 2
        above += (weight * max(high - p, 0.0)) ** 2
    if target == "tasks":
        for domain in {s.domain for s in strata}:
            own = [s for s in strata if s.domain == domain]
            size = sum(s.judged for s in own)
            share = min(1.0, sum(s.judged / size * s.passed / s.audited for s in own))
            score = wilson(share * size, size)
            assert isinstance(score, Interval)
            below += (size / total * (share - score.low)) ** 2
            above += (size / total * (score.high - share)) ** 2
    return theta, max(0.0, theta - below**0.5), min(1.0, theta + above**0.5)


@given(audits(), st.sampled_from(["finite", "tasks"]))
@settings(max_examples=150, deadline=None)
def test_the_limits_are_those_of_the_definition_written_a_second_time(strata: list[AuditStratum], target: Any) -> None:
    assert values(strata, target=target) == pytest.approx(by_hand(strata, target), abs=1e-9)


def test_one_verdict_and_an_endless_population_is_the_jeffreys_interval() -> None:
    expected = jeffreys(18, 20)
    assert isinstance(expected, Interval)
    _, low, high = values([AuditStratum("a", "pass", 10**12, 20, 18)])
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_jeffreys_limits_agree_with_statsmodels() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    for x in range(1, 10):
        theirs = proportion.proportion_confint(x, 10, method="jeffreys")
        assert [float(limit) for limit in jeffreys_limits(x / 10, 10.0)] == pytest.approx(theirs, abs=1e-9)
    assert [float(limit) for limit in jeffreys_limits(1.0, 10.0)][1] == 1.0


# ---------------------------------------------------------------------- properties


@given(audits(), st.sampled_from(["finite", "tasks"]), st.randoms())
@settings(max_examples=80, deadline=None)
def test_order_and_names_of_strata_are_of_no_effect(strata: list[AuditStratum], target: Any, random: Any) -> None:
    renamed = [replace(s, domain=f"x{9 - int(s.domain[1:])}") for s in strata]
    random.shuffle(renamed)
    assert values(renamed, target=target) == pytest.approx(values(strata, target=target), abs=1e-12)


@given(audits(), st.sampled_from(["finite", "tasks"]))
@settings(max_examples=80, deadline=None)
def test_limits_are_ordered_within_0_and_1_and_wider_for_new_tasks(strata: list[AuditStratum], target: Any) -> None:
    value, low, high = values(strata, target=target)
    assert 0 <= low <= value <= high <= 1
    _, narrow_low, narrow_high = values(strata)
    assert low <= narrow_low + 1e-12 and high >= narrow_high - 1e-12


@given(audits(), st.data())
@settings(max_examples=80, deadline=None)
def test_one_more_faithful_episode_lowers_nothing(strata: list[AuditStratum], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(strata) - 1))
    target = data.draw(st.sampled_from(["finite", "tasks"]))
    one = strata[place]
    if one.passed == one.audited:
        return
    more = [*strata[:place], replace(one, passed=one.passed + 1), *strata[place + 1 :]]
    before, after = values(strata, target=target), values(more, target=target)
    assert all(b <= a + 1e-9 for b, a in zip(before, after, strict=True))


@given(audits(census=True))
@settings(max_examples=60, deadline=None)
def test_an_audit_of_everything_is_exact_for_these_episodes(strata: list[AuditStratum]) -> None:
    value, low, high = values(strata)
    assert low == value == high
    assert value == pytest.approx(sum(s.passed for s in strata) / sum(s.judged for s in strata))


@given(audits(), st.floats(0.5, 0.9), st.floats(0.91, 0.99))
@settings(max_examples=60, deadline=None)
def test_a_higher_level_is_wider(strata: list[AuditStratum], less: float, more: float) -> None:
    _, low, high = values(strata, level=less)
    _, lower, higher = values(strata, level=more)
    assert lower <= low + 1e-12 and high <= higher + 1e-12


@given(audits())
@settings(max_examples=60, deadline=None)
def test_weights_by_size_are_the_default(strata: list[AuditStratum]) -> None:
    total = sum(s.judged for s in strata)
    weights = {d: sum(s.judged for s in strata if s.domain == d) / total for d in {s.domain for s in strata}}
    assert values(strata, domain_weights=weights) == pytest.approx(values(strata), abs=1e-9)


def test_mirrored_outcomes_mirror_the_limits() -> None:
    strata = [AuditStratum("a", "pass", 90, 20, 18), AuditStratum("a", "fail", 30, 10, 3)]
    flipped = [replace(s, passed=s.audited - s.passed) for s in strata]
    value, low, high = values(strata, target="tasks")
    assert values(flipped, target="tasks") == pytest.approx((1 - value, 1 - high, 1 - low), abs=1e-9)


def test_flagged_verdicts_audited_in_full_add_their_share_and_no_width() -> None:
    plain = [AuditStratum("a", "pass", 300, 40, 38), AuditStratum("a", "fail", 80, 30, 6)]
    flagged = [*plain, AuditStratum("a", "flagged", 20, 20, 5)]
    value, low, high = values(plain)
    with_flagged, lower, higher = values(flagged)
    assert with_flagged == pytest.approx(0.95 * value + 0.05 * 0.25)
    assert with_flagged - lower == pytest.approx(0.95 * (value - low))
    assert higher - with_flagged == pytest.approx(0.95 * (high - value))


def test_several_rollouts_of_a_task_count_once() -> None:
    strata = [AuditStratum("a", "pass", 400, 60, 57), AuditStratum("a", "fail", 100, 40, 10)]
    _, low, high = values(strata, target="tasks")
    _, lower, higher = values(strata, target="tasks", tasks={"a": 125})
    assert lower < low and higher > high


def test_the_rows_of_an_array_are_the_single_audits() -> None:
    rng = np.random.default_rng(5)
    judged = rng.integers(1, 90, (40, 6))
    audited = np.minimum(judged, rng.integers(1, 40, (40, 6)))
    passed = rng.binomial(audited, 0.8)
    how: dict[str, Any] = {"verdict": [0, 1, 2, 0, 1, 2], "domain": [0, 0, 0, 1, 1, 1], "target": "tasks"}
    value, low, high = pjm_limits(judged, audited, passed, **how)
    for row in range(40):
        one = pjm_limits(judged[row], audited[row], passed[row], **how)
        assert [float(v) for v in one] == [value[row], low[row], high[row]]
    assert pjm_limits(judged[None], audited, passed, **how)[0].shape == (1, 40)


# ---------------------------------------------------------------------- undefined and refused


def test_a_judged_stratum_without_audit_is_named() -> None:
    strata = [AuditStratum("retail", "pass", 100, 0, 0), AuditStratum("retail", "fail", 20, 10, 3)]
    result = audited_ufs(strata)
    assert isinstance(result.value, Undefined)
    assert "'retail' × pass" in result.value.reason and "100" in result.value.reason
    assert not result.estimate().defined
    value, low, high = pjm_limits([100, 20], [0, 10], [0, 3], verdict=[1, 0], domain=[0, 0])
    assert np.isnan([value, low, high]).all()


def test_one_bad_trial_spoils_no_other() -> None:
    value, low, _ = pjm_limits(
        [[100, 20], [100, 20]], [[0, 10], [20, 10]], [[0, 3], [19, 3]], verdict=[1, 0], domain=[0, 0]
    )
    assert np.isnan(value[0]) and np.isnan(low[0]) and np.isfinite([value[1], low[1]]).all()


def test_what_has_no_weight_needs_no_audit() -> None:
    strata = [
        AuditStratum("a", "pass", 50, 20, 19),
        AuditStratum("b", "pass", 70, 0, 0),
        AuditStratum("b", "fail", 0, 0, 0),
    ]
    value, _, _ = values(strata, domain_weights={"a": 1.0, "b": 0.0})
    assert value == pytest.approx(0.95)
    missing = audited_ufs([*strata, AuditStratum("c", "pass", 0, 0, 0)], domain_weights={"a": 0.5, "b": 0.0, "c": 0.5})
    assert isinstance(missing.value, Undefined) and "'c'" in missing.value.reason
    assert isinstance(audited_ufs([]).value, Undefined)
    assert isinstance(audited_ufs([AuditStratum("a", "pass", 0, 0, 0)]).value, Undefined)


@pytest.mark.parametrize(
    ("counts", "word"),
    [
        ((10, 11, 3), "audited"),
        ((10, 5, 6), "passed"),
        ((-1, 0, 0), "judged"),
        ((10, 5, 2.5), "whole"),
        ((10, 5, float("nan")), "whole"),
        ((float("inf"), 5, 2), "whole"),
    ],
)
def test_impossible_counts_are_refused(counts: tuple[Any, Any, Any], word: str) -> None:
    with pytest.raises(InvalidData, match=word):
        AuditStratum("a", "pass", *counts)
    with pytest.raises(InvalidData):
        pjm_limits([counts[0]], [counts[1]], [counts[2]], verdict=[0], domain=[0])


def test_what_does_not_fit_is_refused() -> None:
    one = AuditStratum("a", "pass", 10, 5, 4)
    with pytest.raises(InvalidData, match="twice"):
        audited_ufs([one, one])
    with pytest.raises(InvalidData, match="sum to 1"):
        audited_ufs([one], domain_weights={"a": 2.0})
    with pytest.raises(InvalidData, match="'b'"):
        audited_ufs([one], domain_weights={"a": 0.5, "b": 0.5})
    with pytest.raises(InvalidData, match="target"):
        audited_ufs([one], target="all")  # type: ignore[arg-type]
    with pytest.raises(InvalidData, match="level"):
        audited_ufs([one], level=1.0)
    with pytest.raises(InvalidData, match="verdict"):
        AuditStratum("a", "maybe", 10, 5, 4)  # type: ignore[arg-type]
    with pytest.raises(InvalidData, match="tasks"):
        audited_ufs([one], target="tasks", tasks={"a": 11})
    with pytest.raises(InvalidData, match="codes"):
        pjm_limits([10], [5], [4], verdict=[0.5], domain=[0])
    with pytest.raises(InvalidData):
        pool_verdicts([np.nan], [1], [1], verdict=[0], domain=[0])
    with pytest.raises(InvalidData):
        pjm_limits([], [], [], verdict=[], domain=[])


# ---------------------------------------------------------------------- known truth


def simulated(target: str, trials: int = 1500) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Audits of 300 episodes in two domains, UFS .8, judge error 5 %: (value, low, high, truth)."""
    rng = np.random.default_rng(11)
    domain = rng.integers(0, 2, (trials, 300))
    faithful = rng.random((trials, 300)) < 0.8
    stratum = 2 * domain + (faithful ^ (rng.random((trials, 300)) < 0.05))
    judged = np.stack([(stratum == k).sum(axis=1) for k in range(4)], axis=1)
    faithful_in = np.stack([((stratum == k) & faithful).sum(axis=1) for k in range(4)], axis=1)
    audited = np.minimum(judged, [15, 35, 15, 35])
    passed = rng.hypergeometric(faithful_in, judged - faithful_in, audited)
    how: dict[str, Any] = {"verdict": [0, 1, 0, 1], "domain": [0, 0, 1, 1], "target": target}
    truth = faithful.mean(axis=1) if target == "finite" else np.full(trials, 0.8)
    return (*pjm_limits(judged, audited, passed, **how), truth)


@pytest.mark.parametrize("target", ["finite", "tasks"])
def test_the_value_is_unbiased_and_the_limits_cover(target: str) -> None:
    value, low, high, truth = simulated(target)
    error = value - truth
    assert abs(error.mean()) < 4 * error.std() / np.sqrt(len(error))
    covered = ((low <= truth) & (truth <= high)).mean()
    assert covered + 3.29 * np.sqrt(0.05 * 0.95 / len(error)) >= 0.93


# ---------------------------------------------------------------------- draws


def test_draws_centre_on_the_value_and_agree_with_the_limits() -> None:
    counts = ([300, 100], [60, 40], [57, 10])
    how: dict[str, Any] = {"verdict": [1, 0], "domain": [0, 0]}
    for target in ("finite", "tasks"):
        value, low, high = pjm_limits(*counts, **how, target=target)
        drawn = pj_draws(*counts, **how, target=target, rng=np.random.default_rng(3), draws=20000)
        assert drawn.mean() == pytest.approx(float(value), abs=0.01)
        assert np.quantile(drawn, [0.025, 0.975]) == pytest.approx([float(low), float(high)], abs=0.015)


def test_draws_of_a_census_stand_still_for_these_episodes_and_move_for_new_tasks() -> None:
    how: dict[str, Any] = {"verdict": [1, 0], "domain": [0, 0], "draws": 50}
    still = pj_draws([30, 10], [30, 10], [28, 2], **how, rng=np.random.default_rng(1))
    assert still == pytest.approx(np.full(50, 0.75), abs=1e-12)
    one = pj_draws([40], [40], [30], verdict=[1], domain=[0], target="tasks", rng=np.random.default_rng(1), draws=20000)
    expected = beta_distribution(30.5, 10.5)
    assert one.std() == pytest.approx(expected.std(), rel=0.03) and one.mean() == pytest.approx(
        expected.mean(), abs=0.003
    )


def test_draws_repeat_with_their_seed_and_keep_leading_axes() -> None:
    how: dict[str, Any] = {"verdict": [1, 0], "domain": [0, 0], "target": "tasks", "draws": 7}
    judged = np.array([[[30, 10]] * 3] * 2)
    first, again = (pj_draws(judged, judged // 2, judged // 4, **how, rng=np.random.default_rng(9)) for _ in range(2))
    assert first.shape == (7, 2, 3) and (first == again).all()
    undefined = pj_draws([[30, 10], [30, 10]], [[0, 5], [3, 5]], [[0, 1], [3, 1]], **how, rng=np.random.default_rng(9))
    assert np.isnan(undefined[:, 0]).all() and np.isfinite(undefined[:, 1]).all()
    with pytest.raises(InvalidData, match="shape"):
        pj_draws([30, 10], [3, 5], [3, 1], **how, rng=np.random.default_rng(9), resampled=np.zeros((3, 2)))


def test_a_bootstrap_of_tasks_keeps_domains_pairs_and_rollouts_together() -> None:
    stratum = [[0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 2, 2]]
    task, domain = ["t1", "t1", "t2", "t2", "t3", "t3"], ["a"] * 4 + ["b"] * 2
    counts = task_bootstrap(stratum, task, domain, 3, np.random.default_rng(2), 200)
    assert counts.shape == (200, 2, 3)
    assert (counts[:, :, :2].sum(axis=-1) == 4).all() and (counts[:, :, 2] == 2).all()
    assert (counts[:, 0, 0] == counts[:, 1, 1]).all() and (counts % 2 == 0).all()
    order = [4, 2, 0, 5, 3, 1]
    shuffled = task_bootstrap(
        np.array(stratum)[:, order], np.array(task)[order], np.array(domain)[order], 3, np.random.default_rng(2), 200
    )
    assert (shuffled == counts).all()
    with pytest.raises(InvalidData, match="one domain"):
        task_bootstrap([[0, 0]], ["t", "t"], ["a", "b"], 1, np.random.default_rng(1), 10)
    with pytest.raises(InvalidData, match="codes"):
        task_bootstrap([[0, 3]], ["t", "u"], ["a", "a"], 2, np.random.default_rng(1), 10)


GOOD = [AuditStratum("a", "pass", 80, 20, 20), AuditStratum("a", "fail", 20, 10, 3)]
POOR = [AuditStratum("a", "pass", 70, 20, 19), AuditStratum("a", "fail", 30, 10, 3)]


def test_differences_do_not_hang_on_the_order_of_strata() -> None:
    one = audited_difference(GOOD, POOR, np.random.default_rng(4), draws=500)
    two = audited_difference(GOOD[::-1], POOR[::-1], np.random.default_rng(4), draws=500)
    assert one == two
    assert isinstance(one.interval, Interval) and isinstance(one.value, float)
    assert one.interval.low <= one.value <= one.interval.high
    assert one.signature.resamples == 500
    assert one.estimate().extra["support"] == pytest.approx(0.9, abs=0.09)


def test_pairing_by_task_narrows_the_difference_for_new_tasks() -> None:
    first = ["pass"] * 80 + ["fail"] * 20
    second = ["pass"] * 70 + ["fail"] * 30
    judged = JudgedTasks(task=list(range(100)), domain=["a"] * 100, first=first, second=second)  # type: ignore[arg-type]
    how: dict[str, Any] = {"target": "tasks", "draws": 2000}
    alone = audited_difference(GOOD, POOR, np.random.default_rng(4), **how)
    paired = audited_difference(GOOD, POOR, np.random.default_rng(4), **how, judged=judged)
    assert alone.remark is not None and paired.remark is None
    assert isinstance(alone.interval, Interval) and isinstance(paired.interval, Interval)
    assert paired.interval.high - paired.interval.low < alone.interval.high - alone.interval.low
    with pytest.raises(InvalidData, match="same episodes"):
        audited_difference(GOOD, GOOD, np.random.default_rng(4), **how, judged=judged)
    with pytest.raises(InvalidData, match="length"):
        JudgedTasks([1], ["a"], ["pass"], [])


def test_a_difference_with_an_unaudited_stratum_has_no_value() -> None:
    result = audited_difference(GOOD, [AuditStratum("a", "pass", 5, 0, 0)], np.random.default_rng(4))
    assert isinstance(result.value, Undefined) and "second" in result.value.reason
    with pytest.raises(InvalidData, match="draws"):
        audited_difference(GOOD, POOR, np.random.default_rng(4), draws=10)


# ---------------------------------------------------------------------- rows in clusters


def rows(seed: int, clusters: int, size: int, together: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows of tasks with rollouts whose judge errors go together: (judge, human, audited by whole task, task)."""
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(clusters), size)

    def bits(share: float) -> np.ndarray:
        own, shared = rng.random(clusters * size) < share, (rng.random(clusters) < share)[task]
        return np.where(rng.random(clusters * size) < together, shared, own)

    human = bits(0.8)
    judge = human ^ bits(0.1)
    drawn = np.isin(task, rng.permutation(clusters)[: clusters // 4])
    return judge.astype(float), human.astype(float), drawn, task


def test_rows_alone_in_their_cluster_change_nothing() -> None:
    judge, human, drawn, _ = rows(1, 120, 1, 0.0)
    seen = np.where(drawn, human, np.nan)
    plain = stratified_difference(judge, seen)
    alone = stratified_difference(judge, seen, cluster=list(range(120)))
    assert isinstance(plain.interval, Interval) and isinstance(alone.interval, Interval)
    assert (alone.interval.low, alone.interval.high) == pytest.approx((plain.interval.low, plain.interval.high))


def test_rows_that_go_together_widen_the_limits_and_order_does_not_matter() -> None:
    judge, human, drawn, task = rows(2, 100, 5, 0.9)
    seen = np.where(drawn, human, np.nan)
    plain, by_task = stratified_difference(judge, seen), stratified_difference(judge, seen, cluster=task.tolist())
    assert isinstance(plain.interval, Interval) and isinstance(by_task.interval, Interval)
    assert by_task.value == plain.value
    assert by_task.interval.high - by_task.interval.low > 1.1 * (plain.interval.high - plain.interval.low)
    order = np.random.default_rng(0).permutation(len(task))
    again = stratified_difference(judge[order], seen[order], cluster=[f"t{t}" for t in task[order]])
    assert isinstance(again.interval, Interval)
    assert again.interval.low == pytest.approx(by_task.interval.low, abs=1e-12)


def test_clustered_limits_cover_where_plain_ones_do_not() -> None:
    plain = clustered = 0
    trials = 300
    for seed in range(trials):
        judge, human, drawn, task = rows(seed, 160, 5, 0.9)
        seen = np.where(drawn, human, np.nan)
        truth = human.mean()
        for by, name in ((None, "plain"), (task.tolist(), "clustered")):
            interval = stratified_difference(judge, seen, cluster=by).interval
            assert isinstance(interval, Interval)
            covered = interval.low <= truth <= interval.high
            plain, clustered = plain + (covered and name == "plain"), clustered + (covered and name == "clustered")
    assert clustered / trials > 0.92 > plain / trials


def test_rows_undefined_and_refused() -> None:
    nan = float("nan")
    assert isinstance(stratified_difference([1, 0], [1, nan]).value, Undefined)
    assert isinstance(stratified_difference([1, 0], [1, nan], cluster=["a", "a"]).value, Undefined)
    one = stratified_difference([1, 1, 1, 0], [1, 0, nan, 0], cluster=["a", "a", "b", "c"])
    assert isinstance(one.value, float) and isinstance(one.interval, Undefined)
    every = stratified_difference([1, 1, 0, 0], [1, 0, 0, 0], cluster=["a", "a", "b", "b"])
    assert isinstance(every.interval, Interval) and every.interval.low == every.interval.high == 0.25
    for bad in ([2, 0], [nan, 0]):
        with pytest.raises(InvalidData, match="0 or 1"):
            stratified_difference(bad, [1, 0])
    with pytest.raises(InvalidData, match="row"):
        stratified_difference([1, 0], [1])
    with pytest.raises(InvalidData, match="cluster"):
        stratified_difference([1, 0], [1, 0], cluster=["a"])
    strata = audit_strata([1, 1, 0], [1, nan, 0], ["x", "x", "y"], flagged=[False, True, False])
    assert {(s.domain, s.verdict) for s in strata} == {("x", "pass"), ("x", "flagged"), ("y", "fail")}


def test_estimates_carry_method_and_target() -> None:
    estimate = audited_ufs(GOOD, target="tasks").estimate()
    assert estimate.method and "MOVER" in estimate.method and estimate.target == "new tasks of the same domains"
    assert estimate.n == 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "undefined" in audited_ufs([AuditStratum("a", "pass", 3, 0, 0)]).estimate().format()
