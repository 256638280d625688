"""Support, simultaneous bounds, the assured rule and how many tasks would settle it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import default_rng

from calibrate.estimate import Interval, Undefined
from calibrate.fidelity.deciding import UNAUDITED, decide
from calibrate.fidelity.means import TaskSums, combine, effective_episodes
from calibrate.fidelity.planning import needed_tasks
from calibrate.fidelity.results import Question
from calibrate.stats.intervals import normal_quantile, wilson
from calibrate.stats.simultaneous import correlations, max_t_critical

Z = normal_quantile(0.95)


def by_task(*domains: list[list[float]], rollouts: int = 1) -> TaskSums:
    """Return sums from faithful episodes by domain, task and proxy."""
    sums = tuple(np.array(rows, dtype=np.float64) for rows in domains)
    names = tuple(f"p{at}" for at in range(sums[0].shape[1]))
    sizes = tuple(np.full(own.shape, float(rollouts)) for own in sums)
    return TaskSums(names, tuple(f"d{at}" for at in range(len(sums))), sums, sizes)


def totals(faithful: list[int], n: list[int]) -> TaskSums:
    domains = tuple(f"d{at}" for at in range(len(n)))
    return TaskSums(
        ("p0",),
        domains,
        tuple(np.array([[float(x)]]) for x in faithful),
        tuple(np.array([[float(x)]]) for x in n),
        totals=True,
    )


# ------------------------------------------------------------------------------------------------------------- limits


def test_one_rollout_a_task_gives_wilson_limits() -> None:
    sums = by_task([[1.0]] * 17 + [[0.0]] * 3)
    assert sums.limits(0, 0, Z) == wilson(17, 20) == sums.limits_over(0, "domains", Z)
    made = sums.estimate("UFS", "p0", "d0", 0.95)
    assert (made.n, made.clusters, made.method, made.target) == (20, 20, "Wilson", "new tasks")


def test_rollouts_that_agree_within_tasks_count_as_tasks() -> None:
    alike = by_task([[4.0]] * 60 + [[0.0]] * 20, rollouts=4)
    single = by_task([[1.0]] * 60 + [[0.0]] * 20)
    wide, reference = alike.limits(0, 0, Z), single.limits(0, 0, Z)
    assert isinstance(wide, Interval) and isinstance(reference, Interval)
    assert wide.low == pytest.approx(reference.low, abs=0.01) and wide.low <= reference.low
    spread = by_task([[3.0]] * 80, rollouts=4)
    narrow = spread.limits(0, 0, Z)
    assert isinstance(narrow, Interval) and narrow.high - narrow.low < 0.6 * (wide.high - wide.low)


def test_a_proxy_whose_episodes_all_pass_is_not_infinitely_certain() -> None:
    one = by_task([[1.0]] * 10, [[1.0]] * 40)
    limits = one.limits_over(0, "domains", Z)
    assert isinstance(limits, Interval) and limits.high == 1.0 and limits.low < 0.92
    several = by_task([[5.0]] * 10, rollouts=5)
    assert several.limits(0, 0, Z) == wilson(10, 10)
    assert (one.standard_errors() > 0).all()


def test_a_single_task_with_several_rollouts_tells_no_spread() -> None:
    sums = by_task([[3.0]], rollouts=4)
    made = sums.estimate("UFS", "p0", "d0", 0.95)
    assert made.value == 0.75 and made.low is None and "only one task" in str(made.interval_reason)
    assert isinstance(sums.limits_over(0, "episodes", Z), Undefined)


def test_an_empty_domain_leaves_the_mean_over_domains_undefined_and_says_where() -> None:
    sums = by_task([[1.0], [0.0]], [[0.0]])
    empty = TaskSums(sums.proxies, ("retail", "airline"), sums.sums, (sums.sizes[0], np.zeros((1, 1))))
    made = empty.estimate_over("UFS", "p0", "domains", 0.95)
    assert made.value is None and made.reason == "no scorable episode in airline"
    assert empty.estimate_over("UFS", "p0", "episodes", 0.95).value == 0.5


@pytest.mark.parametrize("shares", [(0.781, 0.88, 0.886, 0.835), (0.98, 0.98, 0.98, 0.98), (0.25, 0.68, 0.65, 0.87)])
def test_limits_of_the_mean_over_domains_cover_on_both_sides(shares: tuple[float, ...]) -> None:
    rng, tasks = default_rng(11), np.array([114, 50, 114, 97])
    truth, below, above, trials = float(np.mean(shares)), 0, 0, 2000
    for drawn in rng.binomial(tasks, shares, size=(trials, 4)):
        limits = totals(drawn.tolist(), tasks.tolist()).limits_over(0, "domains", Z)
        assert isinstance(limits, Interval)
        below, above = below + (truth < limits.low), above + (truth > limits.high)
    # 99.9 % Monte-Carlo limits of 5 % and of a one-sided 4 % with 2,000 trials
    assert (below + above) / trials < 0.05 + 0.016 and max(below, above) / trials < 0.04 + 0.015


@pytest.mark.parametrize("alike", [0.1, 0.6])
def test_limits_cover_when_rollouts_of_a_task_are_alike(alike: float) -> None:
    rng, share, missed, trials = default_rng(5), 0.85, 0, 800
    first = share * (1 - alike) / alike
    for _ in range(trials):
        sums = rng.binomial(4, rng.beta(first, first * (1 - share) / share, 60)).astype(np.float64)[:, None]
        limits = TaskSums(("p",), ("d",), (sums,), (np.full_like(sums, 4.0),)).limits(0, 0, Z)
        assert isinstance(limits, Interval)
        missed += not limits.low <= share <= limits.high
    assert missed / trials < 0.05 + 0.026


def test_effective_episodes() -> None:
    ones = np.ones(10)
    assert effective_episodes(np.r_[ones, np.zeros(10)], np.ones(20), Z, whole=True) == 20
    assert isinstance(effective_episodes(np.array([2.0]), np.array([4.0]), Z, whole=True), Undefined)
    assert isinstance(effective_episodes(np.zeros(0), np.zeros(0), Z, whole=True), Undefined)
    all_or_none = effective_episodes(np.r_[5 * ones, np.zeros(10)], np.full(20, 5.0), 0.0, whole=True)
    assert all_or_none == pytest.approx(19.0)


# -------------------------------------------------------------------------------------------------- simultaneous bounds


def test_the_critical_value_lies_between_one_estimate_and_independent_ones() -> None:
    rng = default_rng(3)
    alone = rng.standard_normal((2000, 7))
    together = alone[:, :1] + 1e-9 * rng.standard_normal((2000, 7))
    independent = float(normal_quantile(2 * 0.95 ** (1 / 7) - 1))
    assert max_t_critical(alone, 0.95, default_rng(1)) == pytest.approx(independent, abs=0.04)
    assert max_t_critical(together, 0.95, default_rng(1)) == pytest.approx(1.645, abs=0.03)
    assert max_t_critical(alone[:, :1], 0.95, default_rng(1)) == pytest.approx(1.6449, abs=1e-4)
    constant = np.c_[alone[:, :3], np.ones((2000, 4))]
    assert max_t_critical(constant, 0.95, default_rng(1)) == pytest.approx(independent, abs=0.04)
    assert correlations(constant)[0, 5] == 0.0


def test_simultaneous_lower_limits_hold_for_all_proxies_at_once() -> None:
    rng, trials, wrong = default_rng(8), 200, 0
    shares = np.array([0.85, 0.86, 0.9, 0.95, 0.97])
    question = Question(resamples=300)
    for _ in range(trials):
        hard = rng.uniform(size=(120, 1))
        own = rng.uniform(size=(120, 5))
        sums = by_task((np.where(rng.uniform(size=(120, 5)) < 0.5, hard, own) < shares).astype(float).tolist())
        lower = decide(sums, {}, question, rng, audited=True).lower
        wrong += any((lower[f"p{at}"] or 0.0) > share for at, share in enumerate(shares))
    assert wrong / trials < 0.05 + 0.051  # 99.9 % Monte-Carlo limit of 5 % with 200 trials


# ------------------------------------------------------------------------------------------------------------ support


def test_support_is_paired_across_proxies() -> None:
    rows = [[1.0, 1.0]] * 30 + [[0.0, 0.0]] * 8 + [[1.0, 0.0]] * 2
    made = decide(by_task(rows), {"p0": 1.0, "p1": 2.0}, Question(q=0.75, resamples=4000), default_rng(1))
    # p1 is dearer and better on no task: it stays undominated only where neither of the tasks that differ is drawn
    assert made.support["p0"].frontier == 1.0
    assert made.support["p1"].frontier == pytest.approx((38 / 40) ** 40, abs=0.03)
    assert made.support["p0"].meets >= made.support["p1"].meets  # type: ignore[operator]
    chosen = [own.chosen for own in made.support.values()]
    assert sum(share for share in chosen if share is not None) <= 1.0 + 1e-9


def test_all_rollouts_of_a_task_move_together() -> None:
    alike = by_task([[4.0]] * 30 + [[0.0]] * 10, rollouts=4)
    means, counts = alike.draw(3000, default_rng(2))
    assert means.std() == pytest.approx(np.sqrt(0.75 * 0.25 / 40), rel=0.06)
    assert (counts == 160).all()


def test_an_unknown_cost_cannot_be_chosen_yet_meets() -> None:
    sums = by_task([[1.0, 1.0]] * 18 + [[0.0, 1.0]] * 2)
    made = decide(sums, {"p0": 1.0, "p1": None}, Question(q=0.8), default_rng(1), audited=True)
    assert made.support["p1"].chosen is None and made.support["p1"].frontier is None
    assert made.support["p1"].meets == 1.0
    assert made.decision.chosen == "p0" and made.frontier.excluded == {"p1": "cost unknown"}


def test_the_margin_has_a_support_of_its_own() -> None:
    sums = by_task([[1.0]] * 84 + [[0.0]] * 16)
    made = decide(sums, {"p0": 1.0}, Question(q=0.84, margin=0.05), default_rng(1)).decision
    assert made.margin_support is not None and made.margin_support > 0.85
    assert decide(sums, {"p0": 1.0}, Question(q=0.84), default_rng(1)).decision.margin_support is None


def test_resamples_without_an_episode_do_not_count() -> None:
    sums = by_task([[1.0], [1.0], [1.0]])
    sizes = np.array([[1.0], [0.0], [0.0]])
    rare = TaskSums(("p0",), ("d0",), (sums.sums[0] * sizes,), (sizes,))
    made = decide(rare, {"p0": 1.0}, Question(q=0.5), default_rng(1))
    assert made.support["p0"].meets is None and made.support["p0"].chosen is None


# ---------------------------------------------------------------------------------------------------------- decision


def certain() -> TaskSums:
    return by_task([[1.0, 1.0]] * 280 + [[0.0, 1.0]] * 20)


COSTS = {"p0": 1.0, "p1": 3.0}


def test_without_an_audit_nothing_is_assured_and_the_limits_stay() -> None:
    made = decide(certain(), COSTS, Question(q=0.8), default_rng(1))
    assert made.decision.chosen == "p0" and made.decision.assured is None
    assert made.decision.assured_reason == UNAUDITED and not made.decision.settled
    assert (made.lower["p0"] or 0) > 0.8
    assert "what is missing is an audit of the judge" in made.decision.needed_reason


def test_settled_means_that_both_rules_name_the_same() -> None:
    settled = decide(certain(), COSTS, Question(q=0.8), default_rng(1), audited=True).decision
    assert settled.settled and settled.assured == settled.chosen == "p0" and settled.needed_n is None
    close = decide(certain(), COSTS, Question(q=0.93), default_rng(1), audited=True).decision
    assert (close.chosen, close.assured, close.settled) == ("p0", "p1", False)
    assert close.needed_n is not None and close.needed_n > 300
    never = decide(certain(), {"p0": 1.0}, Question(q=0.999), default_rng(1), audited=True).decision
    assert never.chosen is None and never.assured is None and never.settled


def test_the_assured_proxy_is_the_cheapest_of_those_that_reach_q() -> None:
    made = decide(certain(), {"p0": 1.0, "p1": 0.5}, Question(q=0.8), default_rng(1), audited=True).decision
    assert made.assured == "p1"
    barred = decide(
        certain(), {"p0": 1.0, "p1": 0.5}, Question(q=0.8), default_rng(1), audited=True, barred={"p1": "too slow"}
    )
    assert barred.decision.assured == "p0" and barred.frontier.excluded == {"p1": "too slow"}


def test_no_proxy_and_no_cost() -> None:
    nobody = TaskSums((), (), (), ())
    made = decide(nobody, {}, Question(), default_rng(1), audited=True).decision
    assert (made.chosen, made.assured, made.needed_n, made.settled) == (None, None, None, False)
    unpriced = decide(certain(), {}, Question(q=0.8), default_rng(1), audited=True).decision
    assert unpriced.chosen is None and unpriced.assured is None and not unpriced.settled


def test_both_bases_decide_on_their_own_mean() -> None:
    sums = by_task([[1.0]] * 90 + [[0.0]] * 10, [[1.0]] * 5 + [[0.0]] * 5)
    over_domains = decide(sums, {"p0": 1.0}, Question(q=0.8, basis="domains"), default_rng(1)).decision
    over_episodes = decide(sums, {"p0": 1.0}, Question(q=0.8, basis="episodes"), default_rng(1)).decision
    assert (over_domains.chosen, over_episodes.chosen) == (None, "p0")
    assert "mean over domains" in over_domains.chosen_reason and "mean over episodes" in over_episodes.chosen_reason


def test_the_same_seed_gives_the_same_support() -> None:
    first = decide(certain(), COSTS, Question(q=0.93), default_rng(4))
    again = decide(certain(), COSTS, Question(q=0.93), default_rng(4))
    assert first.support == again.support and first.lower == again.lower


def test_combining_is_undefined_where_a_domain_is_empty() -> None:
    means, counts = np.array([[0.5, np.nan]]), np.array([[4.0, 0.0]])
    assert np.isnan(combine(means, counts, "domains")).all()
    assert combine(means, counts, "episodes").tolist() == [0.5]


# ----------------------------------------------------------------------------------------------------------- planning


def test_needed_tasks_of_the_published_decision() -> None:
    # UserProxyBench, Table 2, Gemma-31B: telecom 89/114, airline 44/50, retail 101/114, banking 81/97
    sums = totals([89, 44, 101, 81], [114, 50, 114, 97])
    needed, reason = needed_tasks(sums, "p0", Question(q=0.84))
    assert needed == 13_950
    assert reason.startswith(".845 against .84 would need about 14,000 tasks, spread evenly over the domains")


def test_needed_tasks_is_the_n_at_which_the_limit_reaches_q() -> None:
    sums = by_task([[1.0]] * 90 + [[0.0]] * 10)
    needed, _ = needed_tasks(sums, "p0", Question(q=0.88))
    assert needed is not None
    assert 0.9 - 1.6448536 * np.sqrt(0.09 / needed) == pytest.approx(0.88, abs=1e-4)
    on_q, reason = needed_tasks(sums, "p0", Question(q=0.9))
    assert on_q is None and "no number of tasks" in reason
    all_pass, _ = needed_tasks(by_task([[1.0]] * 20), "p0", Question(q=0.95))
    assert all_pass is not None and all_pass > 1
