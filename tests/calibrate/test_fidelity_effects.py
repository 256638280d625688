"""Reward with and without a failure family, what is reinforced, and how proxies differ as a whole."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pandas as pd
import pytest

from annotate.episodes import EpisodeFrames
from calibrate.estimate import Estimate, Undefined
from calibrate.fidelity.associations import (
    agent_turns,
    common_tasks,
    disclosure_against_rest,
    reward_spread,
    turns_against_reward,
    turns_against_ufs,
    ufs_against_reward,
    ufs_by_proxy,
)
from calibrate.fidelity.effects import effects
from calibrate.fidelity.reinforced import reinforced
from calibrate.fidelity.results import Question
from calibrate.fidelity.scoring import Scored, score
from calibrate.stats.stratified import risk_difference

EARLY, GROUND = "premature_disclosure", "groundedness"
Z = 1.959963984540054


def episode(proxy: str, task: str, reward: float | None, early: str = "pass", ground: str = "pass", **more: object):  # type: ignore[no-untyped-def]
    """One episode: the verdicts on its two criteria stand under the names of the families."""
    return {
        "proxy": proxy,
        "domain": "x",
        "task": task,
        "trial": "0",
        "status": "ok",
        "reward": reward,
        "agent_turns": 5.0,
        EARLY: early,
        GROUND: ground,
        **more,
    }


def scored_from(given: list[dict[str, object]]) -> Scored:
    frame = pd.DataFrame(given).assign(episode=[f"e{place}" for place in range(len(given))])
    verdicts = frame.melt("episode", [EARLY, GROUND], "family", "value").assign(criterion=lambda f: f["family"])
    return score(EpisodeFrames(episodes=frame.drop(columns=[EARLY, GROUND]), verdicts=verdicts))


def effect_of(given: list[dict[str, object]], family: str = EARLY, **more: object):  # type: ignore[no-untyped-def]
    made = effects(scored_from(given), Question(**more), np.random.default_rng(2))  # type: ignore[arg-type]
    return next(one for one in made if one.family == family)


# ---------------------------------------------------------------------------------------------- Mantel–Haenszel


def rows_of(tables: list[tuple[int, int, int, int]]) -> tuple[list[int], list[int], list[int]]:
    """Rows (outcome, exposed, stratum) of tables (a of n1 with, c of n0 without)."""
    made = [
        (outcome, exposed, stratum)
        for stratum, (a, n1, c, n0) in enumerate(tables)
        for exposed, hits, n in ((1, a, n1), (0, c, n0))
        for outcome in [1] * hits + [0] * (n - hits)
    ]
    return tuple(map(list, zip(*made, strict=True)))  # type: ignore[return-value]


def test_difference_on_tables_worked_by_hand() -> None:
    made = risk_difference(*rows_of([(3, 4, 2, 6), (1, 2, 1, 1), (2, 3, 0, 0)]))
    # weights 4·6/10 = 2.4 and 2·1/3; excess (3·6 − 2·4)/10 = 1 and (1·1 − 1·2)/3 = −1/3
    assert made.value == pytest.approx((1 - 1 / 3) / (2.4 + 2 / 3))
    assert (made.strata, made.uninformative, made.n) == (2, 1, 13)
    p = (16 * 2 - 36 * 3 + 24 * (6 - 4) / 2) / 100 + (4 * 1 - 1 * 1 + 2 * (1 - 2) / 2) / 9
    q = (3 * 4 + 2 * 1) / 20 + (1 * 0 + 1 * 1) / 6
    assert made.base + made.slope * made.value == pytest.approx((made.value * p + q) / (2.4 + 2 / 3) ** 2)


@pytest.mark.parametrize(("n1", "n0", "p0", "delta"), [(1, 1, 0.3, 0.4), (2, 5, 0.7, -0.5), (4, 1, 0.1, 0.0)])
def test_the_variance_is_unbiased_in_a_stratum_of_any_size(n1: int, n0: int, p0: float, delta: float) -> None:
    """Σ over all tables of P(table) · (δP + Q) is the exact variance of the excess, also for sides of one row."""
    p1, weight = p0 + delta, n1 * n0 / (n1 + n0)
    expected = 0.0
    for a, c in product(range(n1 + 1), range(n0 + 1)):
        chance = comb(n1, a) * p1**a * (1 - p1) ** (n1 - a) * comb(n0, c) * p0**c * (1 - p0) ** (n0 - c)
        made = risk_difference(*rows_of([(a, n1, c, n0)]))
        expected += chance * (made.base + made.slope * delta) * weight**2
    assert expected == pytest.approx(weight**2 * (p1 * (1 - p1) / n1 + p0 * (1 - p0) / n0))


def test_pairs_give_mcnemars_statistic_and_one_stratum_the_plain_difference() -> None:
    pairs = [(1, 1, 1, 1)] * 9 + [(1, 1, 0, 1)] * 12 + [(0, 1, 1, 1)] * 3 + [(0, 1, 0, 1)] * 6
    made = risk_difference(*rows_of(pairs))
    assert made.value == pytest.approx((12 - 3) / 30)
    assert made.value**2 / made.base == pytest.approx((12 - 3) ** 2 / (12 + 3))
    assert made.inflation == pytest.approx(1.0) and made.p_value() == pytest.approx(0.0201, abs=1e-4)
    assert risk_difference(*rows_of([(7, 10, 2, 8)])).value == pytest.approx(0.7 - 0.25)


def test_the_limits_are_where_the_score_statistic_reaches_z_and_agree_with_the_p() -> None:
    rng = np.random.default_rng(4)
    for shift in np.linspace(0.0, 0.5, 12):
        tables = []
        for base in rng.random(25) * 0.5:
            n1, n0 = rng.integers(1, 5, 2)
            tables.append((rng.binomial(n1, base + shift), n1, rng.binomial(n0, base), n0))
        made = risk_difference(*rows_of(tables))
        limits = made.limits()
        for limit in (limits.low, limits.high):
            spread = Z**2 * made.inflation * (made.base + made.slope * limit)
            assert abs(limit) == 1 or (made.value - limit) ** 2 == pytest.approx(spread)
        assert (made.p_value() < 0.05) == (not limits.low <= 0 <= limits.high)


def test_nothing_to_compare_and_nothing_that_varies() -> None:
    alone = risk_difference(*rows_of([(2, 3, 0, 0), (0, 0, 1, 2)]))
    assert isinstance(alone, Undefined) and "both sides" in alone.reason
    same = risk_difference(*rows_of([(1, 1, 2, 2), (0, 2, 0, 1)]))
    assert same.value == 0.0 and isinstance(same.limits(), Undefined) and isinstance(same.p_value(), Undefined)
    with pytest.raises(ValueError, match="0 or 1"):
        risk_difference([0.5], [1], [0])


def test_copies_of_rows_and_strata_that_differ_widen_the_limits() -> None:
    single = [(1, 1, 0, 1), (0, 1, 1, 1), (1, 1, 1, 1), (1, 1, 0, 1), (0, 1, 0, 1)] * 8
    once = risk_difference(*rows_of(single))
    copies = risk_difference(*rows_of([tuple(3 * count for count in table) for table in single]))  # type: ignore[misc]
    assert once.inflation == pytest.approx(1.0) and copies.inflation == pytest.approx(3.0)
    assert copies.limits().low == pytest.approx(once.limits().low)
    assert copies.p_value() == pytest.approx(once.p_value())
    assert risk_difference(*rows_of([(1, 2, 1, 2)])).inflation == 1.0


# ------------------------------------------------------------------------------------------------------ effects


def test_difficulty_makes_a_raw_effect_and_none_within_tasks() -> None:
    """Hard tasks fail for everybody, and users disclose more in them; within a task disclosure changes nothing."""
    given = []
    for task in range(40):
        hard = task % 2 == 0
        for place, proxy in enumerate("ABCD"):
            early = place != 3 if hard else place == 0
            given.append(episode(proxy, f"t{task}", 0.0 if hard else 1.0, "fail" if early else "pass"))
    made = effect_of(given)
    assert made.within_task.value == 0.0
    by_proxy = {cell[0]: cell for cell in made.cells}
    assert set(by_proxy) == {"B", "C"}  # A always discloses, D never
    assert by_proxy["B"] == ("B", "x", 20, 20, -1.0)
    assert made.cell_mean.value == -1.0 and made.cell_median == -1.0 and made.signs == (2, 0, 0)


def test_an_effect_within_tasks_is_found_where_the_margins_hide_it() -> None:
    given = []
    for task in range(60):
        easy = task % 2 == 0
        for place, proxy in enumerate("AB"):
            early = place == 0
            reward = float(easy) if not early else float(easy and task % 4 == 0)
            given.append(episode(proxy, f"t{task}", reward, "fail" if early else "pass"))
    made = effect_of(given).within_task
    assert made.value == pytest.approx(-0.25)
    assert made.high < 0 and made.p_value < 0.001 and made.clusters == 60
    assert made.extra["with"] == 60 and made.extra["tasks_with_one_side_only"] == 0


def test_cells_below_five_on_a_side_are_left_out() -> None:
    given = [episode("A", f"t{i}", 1.0, "fail" if i < 4 else "pass") for i in range(12)]
    given += [episode("B", f"t{i}", float(i % 2), "fail" if i < 5 else "pass") for i in range(12)]
    made = effect_of(given)
    assert [(cell[0], cell[2], cell[3]) for cell in made.cells] == [("B", 5, 7)]
    assert made.cells[0][4] == pytest.approx(2 / 5 - 4 / 7)
    assert made.cell_mean.low < made.cells[0][4] < made.cell_mean.high


def test_unknown_reward_and_unknown_occurrence_leave_and_partial_reward_is_no_pass() -> None:
    given = [
        episode("A", "t1", 1.0, "fail"),
        episode("B", "t1", 0.999999, "pass"),
        episode("C", "t1", None, "pass"),
        episode("A", "t2", 1.0, "missing", "fail"),  # scored, as groundedness failed; disclosure is not known
        episode("B", "t2", 0.0, "pass"),
        episode("A", "t3", 1 - 1e-12, "fail"),
        episode("B", "t3", 1.0, "na"),
        episode("C", "t3", 1.0, "fail", status="infra_error"),
    ]
    made = effect_of(given)
    assert made.within_task.value == pytest.approx(0.5)
    assert (made.within_task.n, made.within_task.extra["with"], made.within_task.extra["without"]) == (4, 2, 3)
    assert effect_of(given, GROUND).within_task.value == pytest.approx(1.0)


def test_a_family_that_never_occurs_has_no_effect_and_says_so() -> None:
    made = effect_of([episode("A", f"t{i}", 1.0) for i in range(12)])
    assert made.within_task.value is None and "with and without" in made.within_task.reason
    assert made.cells == () and made.cell_mean.value is None and made.cell_median is None and made.signs == (0, 0, 0)


def test_rollouts_of_one_proxy_widen_the_interval_within_tasks() -> None:
    rng = np.random.default_rng(8)
    once, often = [], []
    for task in range(50):
        for proxy in "AB":
            passed, early = float(rng.random() < 0.5), "fail" if proxy == "A" else "pass"
            once.append(episode(proxy, f"t{task}", passed, early))
            often += [episode(proxy, f"t{task}", passed, early, trial=str(k)) for k in range(4)]
    one, four = effect_of(once).within_task, effect_of(often).within_task
    assert four.value == pytest.approx(one.value)
    assert four.high - four.low == pytest.approx(one.high - one.low, rel=0.1)  # copies add nothing
    assert one.extra["inflation"] == pytest.approx(1.0) and four.extra["inflation"] == pytest.approx(4.0)


def test_tasks_of_the_same_name_in_two_domains_are_two_tasks() -> None:
    given = [episode("A", "1", 1.0, "fail", domain="x"), episode("B", "1", 0.0, "pass", domain="y")]
    assert effect_of(given).within_task.value is None


# --------------------------------------------------------------------------------------------------- reinforced


def over(n: int, calls: list[float], early: str, start: int, **more: object) -> list[dict[str, object]]:
    given = []
    for place in range(n):
        counted = {"agent_tool_calls": calls[place % len(calls)], "agent_questions": 2.0}
        given.append(episode("A", f"t{start + place}", 1.0, early, **counted, **more))
    return given


def test_agents_effort_on_successful_episodes_with_welchs_interval() -> None:
    from scipy.stats import ttest_ind

    short, full = [3.0, 4.0, 5.0, 4.0, 3.0, 3.0], [5.0, 9.0, 4.0, 6.0, 7.0, 5.0, 8.0]
    given = over(6, short, "fail", 0) + over(7, full, "pass", 6)
    given += [episode("A", "lost", 0.0, "fail", agent_tool_calls=99.0, agent_questions=99.0)]
    made = reinforced(scored_from(given), Question())[0]
    expected = ttest_ind(short, full, equal_var=False).confidence_interval()
    assert made.tool_calls.value == pytest.approx(np.mean(short) - np.mean(full))
    assert (made.tool_calls.low, made.tool_calls.high) == pytest.approx((expected.low, expected.high))
    assert made.tool_calls.n == 13 and "Welch" in made.tool_calls.method
    assert made.questions.value == 0.0 and made.questions.interval is None


def test_fewer_than_five_on_a_side_is_undefined() -> None:
    made = reinforced(scored_from(over(4, [3.0, 5.0], "fail", 0) + over(9, [3.0, 5.0], "pass", 4)), Question())[0]
    assert made.tool_calls.value is None and "4 successful episodes with and 9 without" in made.tool_calls.reason


def test_rollouts_of_a_task_are_one_cluster() -> None:
    given = over(6, [3.0, 4.0, 5.0], "fail", 0) + over(6, [6.0, 8.0], "pass", 6)
    copies = given + [dict(row, trial="1") for row in given]
    made = reinforced(scored_from(copies), Question())[0].tool_calls
    once = reinforced(scored_from(given), Question())[0].tool_calls
    assert "cluster" in made.method and made.clusters == 12
    assert (made.high - made.low) / (once.high - once.low) == pytest.approx(1.1, abs=0.2)


# ------------------------------------------------------------------------------------------------- associations


def proxies_with(turns: list[float], faithful: list[int], rewarded: list[int], n: int = 20) -> list[dict[str, object]]:
    """Per proxy n tasks, of which the first so many are faithful and rewarded."""
    return [
        episode(f"P{p}", f"t{i}", float(i < r), "pass" if i < f else "fail", agent_turns=t)
        for p, (t, f, r) in enumerate(zip(turns, faithful, rewarded, strict=True))
        for i in range(n)
    ]


def test_seven_proxies_give_a_correlation_with_its_wide_interval() -> None:
    turns, faithful = [10.0, 12.0, 9.0, 15.0, 14.0, 11.0, 16.0], [10, 12, 11, 17, 15, 12, 18]
    scored = scored_from(proxies_with(turns, faithful, [14, 15, 14, 13, 16, 12, 17]))
    made = turns_against_ufs(scored, Question())
    assert made.value == pytest.approx(np.corrcoef(turns, faithful)[0, 1]) and made.n == 7
    z, half = np.arctanh(made.value), Z / np.sqrt(4)
    assert (made.low, made.high) == pytest.approx((np.tanh(z - half), np.tanh(z + half)))
    assert made.extra["common_tasks"] == 20
    assert turns_against_reward(scored, Question()).low < 0 < turns_against_reward(scored, Question()).high
    assert ufs_against_reward(scored, Question()).value == pytest.approx(
        np.corrcoef(faithful, [14, 15, 14, 13, 16, 12, 17])[0, 1]
    )


def test_turns_are_means_over_the_tasks_that_all_completed() -> None:
    given = proxies_with([10.0, 12.0, 14.0, 16.0], [5, 6, 7, 9], [5, 6, 8, 9], n=10)
    extra = [episode("P0", "more", 1.0, agent_turns=500.0)]
    extra += [episode("P0", "broken", None, agent_turns=1.0), episode("P1", "broken", None, status="infra_error")]
    scored = scored_from(given + extra)
    assert len(common_tasks(scored)) == 10
    made = turns_against_reward(scored, Question())
    assert made.value == pytest.approx(np.corrcoef([10, 12, 14, 16], [6 / 11, 0.6, 0.8, 0.9])[0, 1])


def test_too_few_proxies_no_common_task_and_a_constant_side_say_why() -> None:
    two = turns_against_ufs(scored_from(proxies_with([1.0, 2.0], [3, 4], [3, 4])), Question())
    assert two.value is None and two.reason == "2 proxies are too few"
    three = turns_against_ufs(scored_from(proxies_with([1.0, 2.0, 4.0], [3, 4, 5], [3, 4, 5])), Question())
    assert three.value is not None and "3 proxies are too few" in three.interval_reason
    apart = [episode(proxy, proxy, 1.0) for proxy in "ABCD"]
    assert isinstance(turns_against_ufs(scored_from(apart), Question()), Undefined)
    assert all(made.value is None for made in agent_turns(scored_from(apart), Question()).values())
    by_proxy = agent_turns(scored_from(proxies_with([1.0, 2.0], [3, 4], [3, 4])), Question())
    assert len(by_proxy) == 2 and len({made.value for made in by_proxy.values()}) == 2
    flat = ufs_against_reward(scored_from(proxies_with([1.0] * 4, [3, 4, 5, 6], [3] * 4)), Question())
    assert flat.value is None and "reward side is constant" in flat.reason


def test_a_proxy_without_one_domain_has_no_mean_over_domains_and_is_left_out() -> None:
    given = proxies_with([1.0, 2.0, 3.0, 4.0], [3, 4, 5, 6], [3, 4, 5, 9], n=10)
    given += [episode(f"P{p}", f"t{i}", float(i < 3), domain="y") for p in range(3) for i in range(10)]
    scored = scored_from(given)
    assert np.isnan(ufs_by_proxy(scored, "domains")["P3"]) and ufs_by_proxy(scored, "episodes")["P3"] == 0.6
    made = ufs_against_reward(scored, Question())
    assert made.n == 3 and made.extra["proxies_left_out"] == 1
    assert ufs_against_reward(scored, Question(basis="episodes")).n == 4


def test_disclosure_against_the_rest_ranks_both_scores() -> None:
    given = []
    for p, (early, ground) in enumerate([(9, 1), (7, 3), (5, 4), (2, 8), (1, 9)]):
        given += [
            episode(f"P{p}", f"t{i}", 1.0, "pass" if i < early else "fail", "pass" if i < ground else "fail")
            for i in range(10)
        ]
    given += [episode("P0", "na", 1.0, "na", "fail"), episode("P0", "gap", 1.0, "missing", "fail")]
    made = disclosure_against_rest(scored_from(given), Question())
    assert made.value == pytest.approx(-1.0) and made.n == 5


# ------------------------------------------------------------------------------------------------ reward spread


def test_spread_of_rewards_is_bounded_by_the_pairs_and_its_bias_is_said() -> None:
    scored = scored_from(proxies_with([1.0] * 3, [5] * 3, [20, 40, 90], n=100))
    made = reward_spread(scored, Question(), np.random.default_rng(0))
    assert made.value == pytest.approx(0.7) and (made.extra["largest"], made.extra["smallest"]) == ("P2", "P0")
    assert made.low < 0.7 < made.high and made.low > 0.55
    assert made == reward_spread(scored, Question(), np.random.default_rng(0))


def test_proxies_of_equal_reward_show_a_spread_that_its_interval_does_not_believe() -> None:
    rng = np.random.default_rng(6)
    given = [episode(p, f"t{i}", float(rng.random() < 0.7)) for p in "ABCDEFG" for i in range(80)]
    made = reward_spread(scored_from(given), Question(), np.random.default_rng(0))
    assert made.value > 0.03 and made.low == 0.0
    assert made.extra["bias"] > 0 and made.extra["corrected"] < made.value


def test_rewards_beyond_one_have_a_spread_in_their_own_unit() -> None:
    given = [episode("A", f"t{i}", float(10 * (i % 4))) for i in range(40)]
    given += [episode("B", f"t{i}", 30.0 + 10 * (i % 5 // 2)) for i in range(40)]
    made = reward_spread(scored_from(given), Question(), np.random.default_rng(0))
    assert made.value == pytest.approx(23.0) and 13 < made.low < 23.0 < made.high < 33


def test_nothing_known_is_undefined_everywhere_and_never_an_exception() -> None:
    """One episode; errors only; rewards, turns and calls unknown; no verdict at all."""
    bare = {"agent_turns": np.nan, "agent_tool_calls": np.nan, "agent_questions": np.nan}
    for given in (
        [episode("A", "t", None, **bare)],
        [episode(p, "t", None, status="infra_error", **bare) for p in "ABC"],
        [episode(p, f"t{i}", None, "na", "missing", **bare) for p in "ABC" for i in range(3)],
        [episode(p, f"t{i}", None, **bare) for p in "ABC" for i in range(9)],
    ):
        scored, question, rng = scored_from(given), Question(), np.random.default_rng(0)
        assert all(
            one.within_task.value is None and one.cell_mean.value is None for one in effects(scored, question, rng)
        )
        assert all(one.tool_calls.value is None for one in reinforced(scored, question))
        assert reward_spread(scored, question, rng).value is None
        for made in (turns_against_ufs(scored, question), ufs_against_reward(scored, question)):
            assert made.reason if isinstance(made, Undefined) else made.value is None and made.reason


def test_spread_from_totals_and_of_one_proxy() -> None:
    totals = pd.DataFrame(
        [
            {"proxy": proxy, "domain": domain, "faithful": f, "n": 50, "rewarded": r, "n_reward": 50}
            for proxy, f, r in (("A", 40, 45), ("B", 30, 25), ("C", 20, 20), ("D", 35, 41))
            for domain in ("x", "y")
        ]
    )
    made = reward_spread(totals, Question(), np.random.default_rng(0))
    assert made.value == pytest.approx(0.5) and made.low < 0.5 < made.high and "totals" in made.method
    against = ufs_against_reward(totals, Question())
    assert against.value == pytest.approx(np.corrcoef([40, 30, 20, 35], [45, 25, 20, 41])[0, 1])
    alone = reward_spread(totals[totals["proxy"] == "A"], Question(), np.random.default_rng(0))
    assert isinstance(alone, Estimate) and alone.value is None and "fewer than two" in alone.reason


def test_a_missing_verdict_of_another_family_selects_no_episode_by_its_outcome() -> None:
    """Disclosure has nothing to do with reward; groundedness does, and a third of its verdicts is missing."""
    draw, given = np.random.default_rng(6), []
    for task in range(400):
        for proxy in "abcdef":
            ground = "fail" if draw.random() < 0.4 else "pass"
            reward = float(draw.random() < (0.3 if ground == "fail" else 0.8))
            early = "fail" if draw.random() < 0.4 else "pass"
            seen = "missing" if draw.random() < 0.33 else ground
            given.append(episode(proxy, str(task), reward, early, seen))
    found = effect_of(given)
    assert found.within_task.value == pytest.approx(0.0, abs=0.035)
    assert found.within_task.n > 2250, "tasks with one side only say nothing; no other episode is left out"
