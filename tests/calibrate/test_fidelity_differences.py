"""Paired differences of UFS between proxies, and Holm's adjustment over all pairs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, wilcoxon

from annotate.episodes import EpisodeFrames
from calibrate.fidelity.differences import differences, sign_flip
from calibrate.fidelity.results import Question
from calibrate.fidelity.scoring import Scored, score
from calibrate.stats.multiplicity import holm


def scored_from(outcomes: list[tuple[str, str, str, str, str]]) -> Scored:
    """Episodes (proxy, domain, task, trial, value of their one criterion), scored; `infra` is an error."""
    episodes = pd.DataFrame(
        [
            {
                "episode": f"e{place}",
                "proxy": proxy,
                "domain": domain,
                "task": task,
                "trial": trial,
                "status": "infra_error" if value == "infra" else "ok",
            }
            for place, (proxy, domain, task, trial, value) in enumerate(outcomes)
        ]
    )
    verdicts = pd.DataFrame(
        [
            {"episode": f"e{place}", "criterion": "c", "family": "groundedness", "value": value}
            for place, (*_, value) in enumerate(outcomes)
            if value != "infra"
        ],
        columns=["episode", "criterion", "family", "value"],
    )
    return score(EpisodeFrames(episodes=episodes, verdicts=verdicts))


def both(domain: str, table: tuple[int, int, int, int]) -> list[tuple[str, str, str, str, str]]:
    """Tasks of one rollout on which A and B pass, only A, only B, neither."""
    kinds = [("pass", "pass"), ("pass", "fail"), ("fail", "pass"), ("fail", "fail")]
    made = [kind for kind, count in zip(kinds, table, strict=True) for _ in range(count)]
    return [
        (proxy, domain, str(task), "0", value)
        for task, pair in enumerate(made)
        for proxy, value in zip("AB", pair, strict=True)
    ]


def ask(scored: Scored, basis: str = "domains", **more: object):  # type: ignore[no-untyped-def]
    return differences(scored, Question(basis=basis, **more), np.random.default_rng(3))  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------- Holm


def test_holm_on_a_table_worked_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_leaves_undefined_tests_out_of_the_count_and_undefined() -> None:
    assert holm([None, 0.02, None, 0.5]) == (None, pytest.approx(0.04), None, pytest.approx(0.5))
    assert holm([]) == () and holm([None]) == (None,)


def test_holm_keeps_ties_equal_order_and_the_ceiling() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        p = np.round(rng.random(9), 1)
        adjusted = np.array(holm(p.tolist()), dtype=float)
        for i, j in product(range(9), repeat=2):
            assert (adjusted[i] <= adjusted[j]) if p[i] < p[j] else True
            assert (adjusted[i] == adjusted[j]) if p[i] == p[j] else True
        assert (adjusted >= p).all() and (adjusted <= 1).all()
    assert holm([0.6, 0.6]) == (1.0, 1.0)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_holm_refuses_what_is_no_p(wrong: float) -> None:
    with pytest.raises(ValueError, match="must be in 0"):
        holm([0.5, wrong])


# ------------------------------------------------------------------------------------------------------ the test


def test_one_size_is_mcnemars_exact_test() -> None:
    for positive, n in [(0, 5), (6, 22), (3, 6), (1, 1)]:
        parts = np.array([0.1] * positive + [-0.1] * (n - positive) + [0.0] * 7)
        made = sign_flip(parts, np.random.default_rng(0))
        assert made.p == pytest.approx(binomtest(positive, n).pvalue) and made.method == "exact McNemar"


def test_all_ways_for_the_signs_to_fall_are_counted() -> None:
    parts = np.array([0.5, 0.5, -0.25, 0.25, 0.25, 0.125, -0.125])
    every = np.array([np.dot(signs, np.abs(parts)) for signs in product((-1, 1), repeat=len(parts))])
    expected = (np.abs(every) >= abs(parts.sum()) - 1e-12).mean()
    assert sign_flip(parts, np.random.default_rng(0)).p == pytest.approx(expected)


def test_drawn_signs_agree_with_a_rank_test_that_counts_all_ways() -> None:
    ranks = np.arange(1, 26) * np.where(np.isin(np.arange(25), [3, 5, 8, 20, 11, 14]), -1, 1)
    made = sign_flip(ranks.astype(float), np.random.default_rng(1))
    assert "100000 draws" in made.method and made.signature.resamples == 100_000
    assert made.p == pytest.approx(wilcoxon(ranks, method="exact").pvalue, abs=0.003)


def test_without_a_discordant_task_nothing_is_claimed() -> None:
    made = ask(scored_from(both("x", (20, 0, 0, 5))))[0]
    assert made.estimate.p_value == 1.0 and made.estimate.value == 0.0
    assert made.estimate.low < -0.05 and made.estimate.high > 0.05  # not [0, 0], as a bootstrap would say


# ------------------------------------------------------------------------------------------------ differences


def test_domains_weigh_the_same_or_by_tasks() -> None:
    scored = scored_from(both("x", (5, 5, 0, 0)) + both("y", (20, 0, 3, 7)))
    by_domain, pooled = ask(scored)[0], ask(scored, "episodes")[0]
    assert (by_domain.first, by_domain.second, by_domain.tasks) == ("A", "B", 40)
    assert by_domain.estimate.value == pytest.approx((0.5 - 0.1) / 2)
    assert pooled.estimate.value == pytest.approx(2 / 40)
    assert pooled.estimate.p_value == pytest.approx(binomtest(5, 8).pvalue)
    assert "McNemar" in pooled.estimate.method and "sign-flip" in by_domain.estimate.method


def test_interval_is_agresti_and_mins_in_one_domain() -> None:
    made = ask(scored_from(both("x", (20, 12, 2, 16))))[0].estimate  # Newcombe 1998: .0562 to .3292 by method 10
    assert (made.low, made.high) == pytest.approx((0.0562, 0.3292), abs=1e-3)
    assert made.value == pytest.approx(0.2)
    gap, variance = 10 / 52, (15 - 10**2 / 52) / 52**2
    assert made.low == pytest.approx(gap - 1.959963984540054 * np.sqrt(variance))


def test_only_tasks_scored_in_both_count() -> None:
    rows = both("x", (3, 1, 1, 1))
    rows += [("A", "x", "only A", "0", "fail"), ("B", "x", "error", "0", "infra"), ("A", "x", "error", "0", "fail")]
    rows += [("A", "x", "missing", "0", "missing"), ("B", "x", "missing", "0", "fail")]
    made = ask(scored_from(rows))[0]
    assert made.tasks == 6 and made.estimate.value == 0.0


def test_rollouts_of_a_task_count_as_one_and_unequal_repeats_change_nothing() -> None:
    rows = both("x", (4, 2, 0, 2))
    once = ask(scored_from(rows))[0].estimate
    again = [(p, d, t, trial, v) for p, d, t, _, v in rows for trial in ("0", "1", "2") if p == "A" or trial == "0"]
    assert ask(scored_from(again))[0].estimate.value == pytest.approx(once.value)
    assert ask(scored_from(again))[0].estimate.p_value == pytest.approx(once.p_value)
    mixed = ask(scored_from([*again, ("A", "x", "0", "3", "fail")]))[0].estimate
    assert mixed.value == pytest.approx(once.value - 0.25 / 8)


def test_no_common_task_is_undefined_with_its_reason_and_leaves_holm_alone() -> None:
    rows = [*both("x", (6, 9, 0, 0)), ("C", "y", "0", "0", "pass")]
    made = ask(scored_from(rows))
    assert [(d.first, d.second) for d in made] == [("A", "B"), ("A", "C"), ("B", "C")]
    assert made[1].estimate.value is None and "no task" in made[1].estimate.reason
    assert made[1].p_holm is None and made[1].tasks == 0
    assert made[0].p_holm == pytest.approx(made[0].estimate.p_value)


def test_a_task_key_of_two_domains_is_two_tasks() -> None:
    rows = [("A", "x", "1", "0", "pass"), ("B", "y", "1", "0", "fail")]
    assert ask(scored_from(rows))[0].tasks == 0


def test_a_proxy_without_a_scored_episode_still_has_its_pairs() -> None:
    made = ask(scored_from([*both("x", (2, 1, 0, 0)), ("C", "x", "0", "0", "infra")]))
    assert [d.tasks for d in made] == [3, 0, 0]


def test_holm_is_over_all_pairs_and_the_same_seed_gives_the_same_answer() -> None:
    rng = np.random.default_rng(5)
    rows = [
        (proxy, domain, str(task), trial, "pass" if rng.random() < share else "fail")
        for proxy, share in (("A", 0.95), ("B", 0.6), ("C", 0.5), ("D", 0.5))
        for domain, size in (("x", 60), ("y", 37), ("z", 11))
        for task in range(size)
        for trial in ("0", "1", "2")
    ]
    made = ask(scored_from(rows))
    assert made == ask(scored_from(rows))
    assert [d.p_holm for d in made] == list(holm([d.estimate.p_value for d in made]))
    first = made[0]
    assert first.p_holm < 0.001 and "100000 draws" in first.estimate.method
    assert ask(scored_from(rows[::-1]))[0].estimate.value == pytest.approx(first.estimate.value)
