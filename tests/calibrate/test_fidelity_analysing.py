"""The whole analysis: the published claims from the published counts, costs, constraints, and what is left unsaid."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import math
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from annotate.episodes import VERDICT_COLUMNS, EpisodeFrames
from annotate.errors import InputError
from calibrate.estimate import Estimate, Undefined
from calibrate.fidelity.analysing import analyse, expected_failures
from calibrate.fidelity.costing import cost_of_episodes
from calibrate.fidelity.results import FidelityAnalysis, ProxyScore, Question

SHARED = Path(os.environ.get("USERCAL_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
CASES = SHARED / "cases"
DOMAINS = ("Telecom", "Airline", "Retail", "Banking")
COSTS = {  # UserProxyBench, Table 1: US dollars per conversation
    "Sonnet-4-6": 0.1841,
    "Gemini-3.5-Flash": 0.0558,
    "Qwen3.6-35B": 0.0249,
    "Gemma-31B": 0.0175,
    "Gemma-26B": 0.0147,
    "GPT-5.4-mini": 0.0144,
    "GPT-4.1-mini": 0.0063,
}


def published_results() -> pd.DataFrame:
    path = CASES / "userproxybench_counts_reconstructed.csv"
    if not path.exists():
        pytest.skip("the shared reference cases are not here")
    counts = pd.read_csv(path)
    names = {"reward_successes": "rewarded", "ufs_passes": "faithful", "n_ufs": "n"}
    return counts.rename(columns=names).assign(cost_usd=counts["proxy"].map(COSTS), cost_basis="billed")


@pytest.fixture(scope="module")
def published() -> FidelityAnalysis:
    return analyse(EpisodeFrames(results=published_results()), Question(q=0.84, margin=0.02, resamples=20_000))


def cases() -> dict[str, Any]:
    return {case["id"]: case for case in json.loads((CASES / "userproxybench.json").read_text())["cases"]}


def mismatches(case: Any, got: Any) -> list[Any]:
    spec = importlib.util.spec_from_file_location("shared_compare", CASES / "compare.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: list[Any] = module.compare(case, got)
    return found


def score_of(made: FidelityAnalysis, proxy: str) -> ProxyScore:
    return next(own for own in made.proxies if own.proxy == proxy)


# -------------------------------------------------------------------------------------------------- published claims


def test_published_means_and_standard_errors(published: FidelityAnalysis) -> None:
    pooled = analyse(EpisodeFrames(results=published_results()), Question(basis="episodes", resamples=100))
    for own in published.proxies:
        case = cases().get(f"up-mean-{own.proxy}")
        if case is None:
            continue
        got = {
            "mean_ufs_from_counts": own.ufs.value,
            "mean_reward_from_counts": own.reward.value,
            "mean_ufs_from_printed": case["expected"]["mean_ufs_from_printed"],  # of the printed table, not of counts
            "mean_reward_from_printed": case["expected"]["mean_reward_from_printed"],
            "pooled_ufs": own.pooled.value,
            "pooled_reward": score_of(pooled, own.proxy).reward.value,
            "se_mean_ufs": own.ufs.extra["se"],
        }
        assert mismatches(case, got) == [], own.proxy


def test_published_ranks_reward_range_and_failures(published: FidelityAnalysis) -> None:
    ranking = [own.proxy for own in published.proxies]
    ranks = {"qwen_rank": ranking.index("Qwen3.6-35B") + 1, "gemma26_rank": ranking.index("Gemma-26B") + 1}
    assert mismatches(cases()["up-ranks"], {"ranking": ranking, **ranks}) == []
    rewards = [own.reward.value or 0.0 for own in published.proxies]
    expected = cases()["up-reward-range"]["expected"]
    assert published.reward_spread.value == pytest.approx(expected["spread_from_counts"], abs=1e-9)
    assert (round(min(rewards), 3), round(max(rewards), 3)) == (expected["min"], expected["max"])
    failing = [
        sum(round(own.by_domain[name].n * (1 - (own.by_domain[name].value or 0.0))) for own in published.proxies)
        for name in DOMAINS
    ]
    expected = cases()["up-fail-total"]["expected"]
    assert (failing, sum(failing)) == (expected["failing_by_domain"], expected["failing_episodes"])


def test_published_frontier_and_operating_points(published: FidelityAnalysis) -> None:
    expected = cases()["up-frontier"]["expected"]
    assert list(published.frontier.strict) == expected["frontier"]
    assert list(published.frontier.strictly_dominated) == expected["strictly_dominated"]
    assert {name: list(by) for name, by in published.frontier.dominated_by.items()} == expected["dominated_by"]
    assert "Gemma-26B" in published.frontier_pooled.strictly_dominated
    chosen = {
        (q, basis): analyse(
            EpisodeFrames(results=published_results()),
            Question(q=q, basis=basis, resamples=100),  # type: ignore[arg-type]
        ).decision.chosen
        for q in (0.75, 0.84, 0.86, 0.87)
        for basis in ("domains", "episodes")
    }
    assert [chosen[q, "domains"] for q in (0.75, 0.84, 0.86, 0.87)] == [
        "GPT-4.1-mini",
        "Gemma-31B",
        "Gemini-3.5-Flash",
        None,
    ]
    assert chosen[0.86, "episodes"] is None


def test_published_uncertainty(published: FidelityAnalysis) -> None:
    expected = cases()["up-uncertainty"]["expected"]
    for own in published.proxies:
        assert own.ufs.extra["se"] == pytest.approx(expected["se"][own.proxy], abs=1e-9)
    assert score_of(published, "Gemma-31B").support.meets == pytest.approx(0.61, abs=0.02)
    assert published.decision.margin_support == pytest.approx(0.91, abs=0.02)
    for q, name in ((0.86, "Gemini-3.5-Flash"), (0.75, "GPT-4.1-mini")):
        made = analyse(EpisodeFrames(results=published_results()), Question(q=q, resamples=20_000))
        share = expected["prob_ge"][f"{name}>={f'{q:g}'.removeprefix('0')}"]
        assert score_of(made, name).support.meets == pytest.approx(share, abs=0.02)
    by_pair = {(own.first, own.second): own for own in published.differences}
    for pair, name in (
        (("Gemini-3.5-Flash", "Gemma-31B"), "Gemini-Gemma31"),
        (("GPT-4.1-mini", "Gemma-26B"), "Gemma26-GPT41"),
    ):
        own, wanted = by_pair[pair].estimate, expected["diff"][name]
        assert abs(own.value or 0.0) == pytest.approx(wanted["diff"], abs=1e-9)
        assert own.extra["se"] == pytest.approx(wanted["se_unpaired"], abs=1e-9)


def test_published_decision(published: FidelityAnalysis) -> None:
    decision = published.decision
    assert (decision.chosen, decision.assured, decision.settled) == ("Gemma-31B", None, False)
    assert decision.needed_n is not None and round(decision.needed_n, -3) == 14_000
    assert not published.paired and published.tasks == 375
    first, second = score_of(published, "Gemini-3.5-Flash"), score_of(published, "Gemma-31B")
    assert (first.cost.usd or 0) / (second.cost.usd or 1) == pytest.approx(
        cases()["up-cost-ratio"]["expected"]["cost_ratio"]
    )
    assert (
        round((first.ufs.value or 0) - (second.ufs.value or 0), 3) == cases()["up-cost-ratio"]["expected"]["ufs_gain"]
    )


def test_what_needs_episodes_says_so(published: FidelityAnalysis) -> None:
    assert published.effects == () and published.reinforced == ()
    for made in (published.turns_against_ufs, published.turns_against_reward):
        assert isinstance(made, Undefined) and "needs episodes" in made.reason
    assert isinstance(published.ufs_against_reward, Estimate)
    assert published.expected_failures == {} and any("not paired" in note for note in published.notes)
    own = published.proxies[0]
    assert own.power == {} and own.families == () and own.common is None and own.bounds is None


# ------------------------------------------------------------------------------------------------------------- totals


def table(**changes: Any) -> pd.DataFrame:
    row = {"proxy": "p", "domain": "d", "faithful": 8, "n": 10, "rewarded": 5, "n_reward": 10, "cost_usd": 0.1}
    return pd.DataFrame([{**row, "cost_basis": "billed", **changes}])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"faithful": 11}, "faithful 11 of n 10 is not a count"),
        ({"faithful": 0.8}, "faithful 0.8 of n 10"),
        ({"faithful": None}, "faithful nan of n 10"),
        ({"rewarded": 11}, "rewarded 11 of n_reward 10"),
        ({"cost_usd": -1.0}, "cost_usd -1.0 is below 0"),
        ({"n": "many"}, "n 'many' is not a number"),
    ],
)
def test_totals_that_cannot_be_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        analyse(EpisodeFrames(results=table(**changes)), Question(resamples=100))


def test_repeats_of_totals_collapse_and_conflicts_are_refused() -> None:
    made = analyse(EpisodeFrames(results=pd.concat([table(), table()])), Question(resamples=100))
    assert made.proxies[0].counts.scored == 10
    with pytest.raises(InputError, match="two different rows for domain 'd'"):
        analyse(EpisodeFrames(results=pd.concat([table(), table(faithful=9)])), Question(resamples=100))
    with pytest.raises(InputError, match="both episodes and a table"):
        analyse(EpisodeFrames(results=table(), episodes=pd.DataFrame()), Question(resamples=100))


def test_totals_without_rewards_or_costs() -> None:
    bare = table(rewarded=None, n_reward=None, cost_usd=None)
    own = analyse(EpisodeFrames(results=bare), Question(resamples=100, q=0.5)).proxies[0]
    assert own.reward.value is None and own.reward.reason == "no episode with a known reward"
    assert own.cost.usd is None and own.cost.reason == "known for 0 of 10"
    assert own.support.meets is not None and own.support.chosen is None


def test_all_pass_in_totals_is_not_infinitely_certain() -> None:
    own = analyse(EpisodeFrames(results=table(faithful=10), audited=True), Question(q=0.95, resamples=100))
    assert own.decision.chosen == "p" and own.decision.assured is None and not own.decision.settled


# ----------------------------------------------------------------------------------------------------------- episodes


def study(tasks: int = 40, rollouts: int = 1, seed: int = 0, **columns: Any) -> EpisodeFrames:
    """Return frames of three proxies in two domains; proxy b is dearer and more faithful than a, c has no cost."""
    rng = np.random.default_rng(seed)
    episodes, verdicts = [], []
    for proxy, share, cost in (("a", 0.93, 0.01), ("b", 0.97, 0.03), ("c", 0.98, math.nan)):
        for task in range(tasks):
            for trial in range(rollouts):
                name = f"e{len(episodes):05}"
                numbers = {"seconds": 10.0 + len(proxy), "user_turns": 5 + task % 3, "agent_turns": 6 + task % 2}
                episodes.append(
                    {
                        "episode": name,
                        "proxy": proxy,
                        "agent": "agent",
                        "domain": ("airline", "retail")[task % 2],
                        "task": f"t{task}",
                        "trial": str(trial),
                        "status": "ok",
                        "reward": float(rng.uniform() < 0.6),
                        "cost_usd": cost,
                        "cost_basis": "billed",
                        "rubric": "r1",
                        "agent_tool_calls": int(rng.integers(1, 6)),
                        "agent_questions": int(rng.integers(0, 4)),
                        **numbers,
                    }
                )
                for place, family in enumerate(("premature_disclosure", "premature_disclosure", "goal_deviation")):
                    value = "pass" if rng.uniform() < share else "fail"
                    verdicts.append([name, f"c{place}", family, f"m{place}", value, "judge", "model", 1, "words"])
    frame = pd.DataFrame(episodes).assign(**columns)
    return EpisodeFrames(episodes=frame, verdicts=pd.DataFrame(verdicts, columns=VERDICT_COLUMNS))


def with_episodes(frames: EpisodeFrames, **columns: Any) -> EpisodeFrames:
    assert frames.episodes is not None
    return dataclasses.replace(frames, episodes=frames.episodes.assign(**columns))


def fingerprint(made: FidelityAnalysis) -> str:
    return repr(dataclasses.replace(made, points=None)) + (made.points.to_csv() if made.points is not None else "")


def test_the_order_of_rows_changes_nothing_and_the_seed_does() -> None:
    frames = study()
    assert frames.episodes is not None and frames.verdicts is not None
    shuffled = dataclasses.replace(
        frames,
        episodes=frames.episodes.sample(frac=1, random_state=3),
        verdicts=frames.verdicts.sample(frac=1, random_state=4),
    )
    question = Question(q=0.85, resamples=200)
    first = fingerprint(analyse(frames, question))
    assert fingerprint(analyse(shuffled, question)) == first
    assert fingerprint(analyse(frames, dataclasses.replace(question, seed=8))) != first


def test_proxies_stand_by_falling_ufs_and_the_parts_agree() -> None:
    made = analyse(study(), Question(q=0.8, resamples=200, rollouts=64, prompts=1000))
    values = [own.ufs.value or 0.0 for own in made.proxies]
    assert all(first >= second for first, second in pairwise(values))
    own = score_of(made, "a")
    assert own.ufs.value == pytest.approx(np.mean([own.by_domain[name].value for name in made.domains]))
    assert own.counts.total == sum(part.total for part in own.counts_by_domain.values()) == 40
    assert own.cost.epoch_usd == pytest.approx(640.0)
    assert own.bounds is None and own.lower is not None and own.lower < (own.ufs.low or 0.0) + 0.05
    assert set(own.without) == {"premature_disclosure", "goal_deviation"}
    assert (own.without["premature_disclosure"].value or 0) >= (own.ufs.value or 1)
    assert own.common is not None and own.common.value == pytest.approx(own.ufs.value)
    assert own.applicable is not None and own.applicable.value == 3.0
    assert made.tasks == made.common_tasks == 40 and made.paired
    assert made.points is not None and made.points["proxy"].tolist() == ["a", "b", "c"]
    for estimate in (own.ufs, own.pooled, own.reward, own.applicable, own.pass_and_fail, own.turns):
        assert estimate is not None and estimate.target == "new tasks" and estimate.method and estimate.clusters


def test_an_unknown_cost_is_told_and_never_wins() -> None:
    made = analyse(study(), Question(q=0.5, resamples=200))
    assert made.decision.chosen == "a"
    assert made.frontier.excluded == {"c": "cost unknown (known for 0 of 40)"}
    assert score_of(made, "c").support.chosen is None


def test_costs_are_known_for_all_or_not_at_all_and_bases_are_not_mixed() -> None:
    frames = study()
    assert frames.episodes is not None
    cost = frames.episodes["cost_usd"].where(np.arange(120) > 0)
    basis = frames.episodes["cost_basis"].where(np.arange(120) != 50, "list")
    made = analyse(with_episodes(frames, cost_usd=cost, cost_basis=basis), Question(q=0.5, resamples=100))
    assert score_of(made, "a").cost.reason == "known for 39 of 40"
    assert score_of(made, "b").cost.reason == "billed for 39, list for 1: costs of different bases are not averaged"
    assert made.decision.chosen is None and made.decision.chosen_reason == "no proxy has both a cost and a UFS"


def test_broken_episodes_do_not_count_for_the_cost() -> None:
    rows = pd.DataFrame(
        {
            "state": ["scored", "infra_error", "unscored"],
            "cost_usd": [0.1, np.nan, 0.3],
            "cost_basis": ["list"] * 3,
            "list_cost_usd": [0.1, np.nan, 0.3],
        }
    )
    made = cost_of_episodes(rows, Question(rollouts=2))
    assert made.usd == pytest.approx(0.2) and made.basis == "list" and made.n == 2
    assert made.list_usd == pytest.approx(0.2) and made.epoch_usd is None
    assert cost_of_episodes(rows.iloc[1:2], Question()).reason == "no conversation"
    free = cost_of_episodes(rows.assign(cost_usd=0.0), Question())
    assert free.usd == 0.0 and free.reason is None


def test_constraints_exclude_with_a_reason() -> None:
    frames = study()
    assert frames.episodes is not None
    slow = frames.episodes["seconds"].where(frames.episodes["proxy"] != "a", 99.0)
    made = analyse(with_episodes(frames, seconds=slow), Question(q=0.5, resamples=100, max_seconds=20.0))
    assert made.decision.chosen == "b" and score_of(made, "a").support.chosen is None
    assert made.frontier.excluded["a"] == "99.0 seconds an episode, and at most 20 are allowed"
    unknown = analyse(with_episodes(frames, user_turns=np.nan), Question(q=0.5, resamples=100, max_turns=9.0))
    assert unknown.decision.chosen is None
    assert unknown.frontier.excluded["a"] == "user turns unknown, and at most 9 are allowed"


def test_missing_verdicts_give_bounds() -> None:
    frames = study()
    assert frames.verdicts is not None
    values = frames.verdicts["value"].to_numpy(dtype=object).copy()
    values[:3] = ["pass", "pass", "missing"]
    made = analyse(dataclasses.replace(frames, verdicts=frames.verdicts.assign(value=values)), Question(resamples=100))
    own = score_of(made, "a")
    assert own.counts.unscored == 1 and own.counts.missing_verdicts == 1
    assert own.bounds is not None and own.bounds_pooled is not None
    assert own.bounds[1] - own.bounds[0] == pytest.approx(1 / 40)
    assert own.bounds_pooled[0] <= (own.pooled.value or 0.0) <= own.bounds_pooled[1]
    assert score_of(made, "b").bounds is None


def test_rollouts_give_powers_and_a_note_where_there_is_one() -> None:
    several = analyse(study(tasks=20, rollouts=3), Question(resamples=100))
    assert list(several.proxies[0].power) == [1, 2, 3]
    values = [own.value or 0.0 for own in several.proxies[0].power.values()]
    assert values == sorted(values, reverse=True)
    assert several.proxies[0].power[1].value == pytest.approx(several.proxies[0].ufs.value)
    assert not any("one rollout" in note for note in several.notes)
    assert any("one rollout" in note for note in analyse(study(), Question(resamples=100)).notes)


def test_success_that_fails_stands_beside_what_a_perfect_proxy_would_show() -> None:
    found = expected_failures(5.7)
    assert [round(share * 100, 1) for share in found.values()] == [5.6, 10.9, 25.4]
    assert expected_failures(None) == {}
    made = analyse(study(), Question(resamples=100))
    own = score_of(made, "a").pass_and_fail
    assert own is not None and own.value is not None and 0 < own.value < 0.6
    assert made.expected_failures["1 %"] == pytest.approx(1 - 0.99**3)
    nobody = analyse(study(reward=0.0), Question(resamples=100)).proxies[0].pass_and_fail
    assert nobody is not None and nobody.reason == "no scored episode with full reward"


def test_rewards_outside_0_to_1_keep_their_unit() -> None:
    frames = study()
    assert frames.episodes is not None
    doubled = analyse(with_episodes(frames, reward=frames.episodes["reward"] * 4 - 2), Question(resamples=100))
    plain = analyse(frames, Question(resamples=100))
    for own in doubled.proxies:
        single = score_of(plain, own.proxy).reward
        assert own.reward.value == pytest.approx(4 * (single.value or 0) - 2)
        assert own.reward.low == pytest.approx(4 * (single.low or 0) - 2)


def test_different_agents_and_rubric_sets_are_noted() -> None:
    frames = study()
    assert frames.episodes is not None
    of_a = frames.episodes["proxy"] == "a"
    mixed = with_episodes(frames, agent=np.where(of_a, "other", "agent"), rubric=np.where(of_a, "r2", "r1"))
    notes = " ".join(analyse(mixed, Question(resamples=100)).notes)
    assert "the agents differ (agent, other)" in notes and "40 tasks were judged by more than one rubric set" in notes


def test_an_audit_lets_the_assured_rule_speak() -> None:
    audited = dataclasses.replace(study(tasks=200), audited=True)
    made = analyse(audited, Question(q=0.6, resamples=200))
    assert made.decision.assured == made.decision.chosen == "a" and made.decision.settled and made.audited


def test_nothing_to_analyse() -> None:
    frames = study()
    assert frames.episodes is not None and frames.verdicts is not None
    empty = EpisodeFrames(episodes=frames.episodes.iloc[:0], verdicts=frames.verdicts.iloc[:0])
    made = analyse(empty, Question(resamples=100))
    assert made.proxies == () and made.tasks == 0 and made.decision.chosen is None
    broken = analyse(with_episodes(frames, status="infra_error"), Question(resamples=100))
    assert all(own.ufs.value is None and own.counts.infra_errors == 40 for own in broken.proxies)
    unjudged = analyse(with_episodes(EpisodeFrames(episodes=frames.episodes), rubric=None), Question(resamples=100))
    assert all(own.counts.undefined == 40 and own.reward.value is not None for own in unjudged.proxies)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": 84.0}, "q must lie in 0..1, not 84.0"),
        ({"q": math.nan}, "q must lie in 0..1"),
        ({"level": 95.0}, "the level must lie"),
        ({"resamples": 0}, "at least 100 resamples"),
        ({"rollouts": 0}, "rollouts must be at least 1"),
        ({"max_turns": -1.0}, "max_turns must be above 0"),
        ({"margin": -0.1}, "the margin must lie"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        analyse(study(tasks=2), Question(**change))
