"""UFS by episode: what leaves the product, what is unscored, what collapses, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate.episodes import VERDICT_COLUMNS, EpisodeFrames
from annotate.errors import InputError
from calibrate.fidelity.counting import (
    all_of_k,
    counts_of,
    family_counts,
    on_common_criteria,
    power,
    powers,
    without_family,
)
from calibrate.fidelity.means import TaskSums
from calibrate.fidelity.scoring import Scored, score


def frames(episodes: list[dict[str, Any]], **more: Any) -> EpisodeFrames:
    """Return frames from episodes of {task, criteria: [value, or (family, mode, value)]} with what they leave out."""
    rows, verdicts = [], []
    for at, own in enumerate(episodes):
        defaults = {"episode": f"e{at:03}", "proxy": "p", "domain": "all", "trial": "0", "status": "ok", "rubric": None}
        row = {**defaults, **own}
        criteria = row.pop("criteria")
        rows.append({**row, "trial": str(row["trial"])})
        for place, held in enumerate(criteria):
            family, mode, value = held if isinstance(held, tuple) else ("f", "m", held)
            verdicts.append([row["episode"], f"c{place}", family, mode, value, "judge", "model", 1, "words"])
    return EpisodeFrames(episodes=pd.DataFrame(rows), verdicts=pd.DataFrame(verdicts, columns=VERDICT_COLUMNS), **more)


def states(scored: Scored) -> list[str]:
    return scored.rows.sort_values("episode")["state"].tolist()


def as_case(scored: Scored) -> dict[str, Any]:
    sums = TaskSums.of(scored.rows, scored.rows["faithful"].to_numpy(), scored.proxies, scored.domains)
    counts = counts_of(scored, scored.proxies[0])
    by_domain = sums.means()[0]
    return {
        "n_total": counts.total,
        "n_duplicates": counts.duplicates,
        "n_infra": counts.infra_errors,
        "n_undefined": counts.undefined,
        "n_unscored": counts.unscored,
        "n_scored": counts.scored,
        "ufs_pooled": float(sums.over("episodes")[0]),
        "ufs_by_domain": dict(zip(scored.domains, by_domain.tolist(), strict=True)),
        "ufs_mean_of_domains": float(sums.over("domains")[0]),
    }


# -------------------------------------------------------------------------------------------------- product of verdicts


def test_an_empty_product_is_undefined_and_not_one() -> None:
    scored = score(frames([{"task": "a", "criteria": ["na", "na"]}, {"task": "b", "criteria": []}]))
    assert states(scored) == ["undefined", "undefined"]
    assert scored.rows[["faithful", "faithful_low", "faithful_high"]].isna().all().all()


def test_a_missing_verdict_leaves_unscored_unless_another_failed() -> None:
    scored = score(
        frames(
            [
                {"task": "a", "criteria": ["pass", "missing"]},
                {"task": "b", "criteria": ["fail", "missing"]},
                {"task": "c", "criteria": ["na", "missing"]},
            ]
        )
    )
    assert states(scored) == ["unscored", "scored", "unscored"]
    assert scored.rows["faithful"].tolist()[1] == 0.0 and np.isnan(scored.rows["faithful"].iloc[[0, 2]]).all()
    assert scored.rows["faithful_low"].tolist() == [0.0, 0.0, 0.0]
    assert scored.rows["faithful_high"].tolist() == [1.0, 0.0, 1.0]


def test_infrastructure_errors_stand_apart_even_with_verdicts() -> None:
    scored = score(
        frames(
            [
                {"task": "a", "criteria": ["pass"], "status": "infra_error"},
                {"task": "b", "criteria": ["pass"], "status": "not_scorable"},
            ]
        )
    )
    assert states(scored) == ["infra_error", "not_scorable"]
    counts = counts_of(scored, "p")
    assert (counts.scored, counts.infra_errors, counts.not_scorable, counts.undefined) == (0, 1, 1, 0)
    assert scored.rows["faithful"].isna().all()


def test_what_the_judge_never_reached_is_missing() -> None:
    scored = score(
        frames(
            [
                {"task": "a", "proxy": "p", "criteria": ["pass", "pass"], "rubric": "r"},
                {"task": "a", "proxy": "q", "criteria": ["pass"], "rubric": "r"},
                {"task": "b", "proxy": "q", "criteria": [], "rubric": "r"},
                {"task": "a", "proxy": "s", "criteria": ["pass"], "rubric": "another"},
            ]
        )
    )
    assert states(scored) == ["scored", "unscored", "unscored", "scored"]
    assert scored.rows.sort_values("episode")["missing"].tolist() == [0, 1, 1, 0]
    added = scored.verdicts[scored.verdicts["value"] == "missing"]
    assert added[["episode", "criterion", "family"]].astype(str).to_numpy().tolist() == [["e001", "c1", "f"]]


def test_a_domain_without_a_scorable_episode_leaves_the_mean_over_domains_undefined() -> None:
    case = as_case(
        score(
            frames(
                [
                    {"task": "a", "domain": "x", "criteria": ["pass"]},
                    {"task": "a", "domain": "y", "criteria": ["na"]},
                ]
            )
        )
    )
    assert math.isnan(case["ufs_mean_of_domains"]) and case["ufs_pooled"] == 1.0


# ------------------------------------------------------------------------------------------------------- duplicates


def test_identical_duplicates_collapse_and_are_counted() -> None:
    one = {"task": "a", "criteria": ["pass", "fail"], "reward": 1.0}
    scored = score(frames([one, one, one, {"task": "a", "trial": 1, "criteria": ["pass"], "reward": 1.0}]))
    assert dict(scored.duplicates) == {("p", "all"): 2}
    assert scored.rows["episode"].tolist() == ["e000", "e003"]
    counts = counts_of(scored, "p")
    assert (counts.total, counts.scored, counts.duplicates) == (4, 2, 2)
    assert len(scored.verdicts) == 3


@pytest.mark.parametrize(
    ("second", "difference"),
    [
        ({"criteria": ["fail"]}, "verdicts"),
        ({"criteria": []}, "verdicts"),
        ({"criteria": ["pass"], "reward": 0.0}, "reward"),
        ({"criteria": ["pass"], "status": "infra_error"}, "status"),
        ({"criteria": ["pass"], "user_turns": 9}, "user_turns: remove one of them"),
        ({"criteria": ["pass"], "agent": "another"}, "agent: compare proxies on the episodes of one agent"),
    ],
)
def test_conflicting_duplicates_are_refused(second: dict[str, Any], difference: str) -> None:
    first = {"task": "a", "criteria": ["pass"], "reward": 1.0, "user_turns": 4}
    with pytest.raises(
        InputError, match=f"'e000' and 'e001'.*proxy 'p', domain 'all', task 'a', trial '0'.*{difference}"
    ):
        score(frames([first, {**first, **second}]))


def test_conflicting_episodes_of_unknown_proxies_are_to_be_named() -> None:
    first = {"task": "a", "proxy": None, "criteria": ["pass"]}
    with pytest.raises(InputError, match="name the proxy of each"):
        score(frames([first, {**first, "criteria": ["fail"]}]))


def test_the_more_complete_of_two_duplicates_counts() -> None:
    first = {"task": "a", "criteria": ["pass"], "cost_usd": math.nan}
    scored = score(frames([first, {**first, "cost_usd": 0.02}]))
    assert scored.rows["episode"].tolist() == ["e001"]


def test_a_repeat_of_the_content_collapses_into_the_episode_it_names() -> None:
    scored = score(
        frames(
            [
                {"task": "a", "criteria": [], "duplicate_of": None},
                {"task": "unknown", "criteria": ["fail"], "duplicate_of": "e000"},
                {"task": "b", "criteria": ["pass"], "duplicate_of": "elsewhere"},
            ]
        )
    )
    assert scored.rows["episode"].tolist() == ["e000", "e002"]
    assert scored.rows["faithful"].tolist() == [0.0, 1.0]
    assert sum(scored.duplicates.values()) == 1


def test_episodes_that_repeat_each_other_are_refused() -> None:
    with pytest.raises(InputError, match="repeats one that repeats it"):
        score(
            frames(
                [
                    {"task": "a", "criteria": [], "duplicate_of": "e001"},
                    {"task": "b", "criteria": [], "duplicate_of": "e002"},
                    {"task": "c", "criteria": [], "duplicate_of": "e000"},
                ]
            )
        )


def test_unknown_tasks_and_trials_are_not_taken_for_the_same() -> None:
    scored = score(
        frames(
            [
                {"task": None, "criteria": ["pass"]},
                {"task": "unknown", "criteria": ["fail"]},
                {"task": "a", "trial": "unknown", "criteria": ["pass"]},
                {"task": "a", "trial": "unknown", "criteria": ["fail"]},
            ]
        )
    )
    assert len(scored.rows) == 4 and scored.tasks == 3


# ------------------------------------------------------------------------------------------------------------ raters


def two_raters(second: str) -> EpisodeFrames:
    made = frames([{"task": "a", "criteria": ["pass", "pass"]}, {"task": "b", "criteria": ["fail", "pass"]}])
    assert made.verdicts is not None
    other = made.verdicts.iloc[[0]].assign(rater="ann", rater_kind="human", value=second)
    return EpisodeFrames(episodes=made.episodes, verdicts=pd.concat([made.verdicts, other], ignore_index=True))


def test_several_raters_are_refused_unless_one_is_chosen_and_agreement_does_not_matter() -> None:
    for second in ("fail", "pass"):
        with pytest.raises(InputError, match=r"'c0' on episode 'e000' has verdicts of two raters, 'ann' and 'judge'"):
            score(two_raters(second))
    assert score(two_raters("fail"), rater="judge").rows["faithful"].tolist() == [1.0, 0.0]
    with pytest.raises(InputError, match="did you mean 'judge'"):
        score(two_raters("fail"), rater="juge")


def test_what_the_chosen_rater_did_not_judge_is_missing() -> None:
    scored = score(two_raters("pass"), rater="ann")
    assert states(scored) == ["unscored", "unscored"]
    assert scored.rows["missing"].tolist() == [1, 2]
    assert score(two_raters("fail"), rater="ann").rows["faithful"].tolist()[0] == 0.0


def test_the_same_verdict_twice_counts_once_and_another_one_is_refused() -> None:
    made = frames([{"task": "a", "criteria": ["pass"]}])
    assert made.verdicts is not None
    twice = pd.concat([made.verdicts, made.verdicts], ignore_index=True)
    assert score(EpisodeFrames(episodes=made.episodes, verdicts=twice)).rows["applicable"].tolist() == [1]
    for rater in (None, "judge"):
        with pytest.raises(InputError, match="two verdicts of rater 'judge', 'pass' and 'fail'"):
            score(EpisodeFrames(episodes=made.episodes, verdicts=twice.assign(value=["pass", "fail"])), rater=rater)


# --------------------------------------------------------------------------------------------------------- the border


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"criteria": ["passed"]}, "verdict 'passed' is none of pass, fail, na, missing; did you mean 'pass'"),
        ({"status": "okay"}, "status of an episode 'okay'"),
        ({"reward": "high"}, "reward 'high' is not a number"),
        ({"reward": math.inf}, "reward 'inf' is not a number"),
        ({"cost_usd": -0.1}, "cost_usd -0.1 is below 0"),
    ],
)
def test_what_is_none_is_refused_in_one_sentence(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        score(frames([{"task": "a", "criteria": ["pass"], **change}]))


def test_a_verdict_on_no_episode_is_refused() -> None:
    made = frames([{"task": "a", "criteria": ["pass"]}])
    assert made.verdicts is not None
    with pytest.raises(InputError, match="'x', which is not among the episodes"):
        score(EpisodeFrames(episodes=made.episodes, verdicts=made.verdicts.assign(episode="x")))


def test_no_verdicts_and_no_episodes() -> None:
    made = frames([{"task": "a", "criteria": []}])
    assert states(score(EpisodeFrames(episodes=made.episodes))) == ["undefined"]
    assert made.episodes is not None
    empty = score(EpisodeFrames(episodes=made.episodes.iloc[:0]))
    assert (len(empty.rows), empty.proxies, empty.tasks) == (0, (), 0)
    with pytest.raises(InputError, match="a table of results has no episodes"):
        score(EpisodeFrames(results=pd.DataFrame()))


# -------------------------------------------------------------------------------------------------- families and more


def test_families_count_episodes_verdicts_and_applicable_and_keep_three_quotes() -> None:
    scored = score(
        frames(
            [
                {"task": "a", "criteria": [("f", "m1", "fail"), ("f", "m2", "fail"), ("g", "m3", "pass")]},
                {"task": "b", "criteria": [("f", "m1", "pass"), ("f", "m2", "na"), ("g", "m3", "missing")]},
                {"task": "c", "criteria": [("f", "m1", "fail")], "status": "infra_error"},
            ]
        )
    )
    found = {(own.family, own.mode): own for own in family_counts(scored)["p"]}
    assert (found["f", None].episodes, found["f", None].verdicts, found["f", None].applicable) == (1, 2, 3)
    assert (found["f", "m1"].episodes, found["f", "m1"].applicable) == (1, 2)
    assert (found["g", None].episodes, found["g", None].applicable) == (0, 1)
    assert found["f", None].quotes == ("words",) and found["g", None].quotes == ()
    assert list(found) == [("f", None), ("f", "m1"), ("f", "m2"), ("g", None), ("g", "m3")]
    rows = scored.rows
    assert rows["failed:f"].tolist()[:2] == [2, 0] and rows["missing:g"].tolist()[:2] == [0, 1]


def test_a_verdict_that_names_no_mode_is_counted_in_its_family_alone() -> None:
    scored = score(frames([{"task": "a", "criteria": [("f", None, "fail"), ("f", "m1", "pass")]}]))
    found = {(own.family, own.mode): own.episodes for own in family_counts(scored)["p"]}
    assert found == {("f", None): 1, ("f", "m1"): 0}


def test_ufs_without_a_family() -> None:
    scored = score(
        frames(
            [
                {"task": "a", "criteria": [("f", "m", "fail"), ("g", "m", "pass")]},
                {"task": "b", "criteria": [("f", "m", "pass"), ("g", "m", "na")]},
                {"task": "c", "criteria": [("f", "m", "missing"), ("g", "m", "pass")]},
                {"task": "d", "criteria": [("f", "m", "pass"), ("g", "m", "missing")]},
            ]
        )
    )
    np.testing.assert_array_equal(without_family(scored, "f"), [1.0, np.nan, 1.0, np.nan])


def test_common_criteria_are_those_that_apply_to_every_proxy_of_the_task() -> None:
    scored = score(
        frames(
            [
                {"task": "a", "proxy": "p", "criteria": ["pass", "fail", "fail"]},
                {"task": "a", "proxy": "q", "criteria": ["pass", "na", "fail"]},
                {"task": "b", "proxy": "p", "criteria": ["fail"]},
                {"task": "c", "proxy": "p", "criteria": ["pass"]},
                {"task": "c", "proxy": "q", "criteria": ["na"]},
                {"task": "d", "proxy": "p", "criteria": ["pass", "fail"]},
                {"task": "d", "proxy": "q", "criteria": ["pass", "na"]},
            ]
        )
    )
    own = dict(zip(scored.rows["episode"], on_common_criteria(scored).tolist(), strict=True))
    assert [own[f"e{at:03}"] for at in (0, 1, 2, 5, 6)] == [0.0, 0.0, 0.0, 1.0, 1.0]
    assert np.isnan([own["e003"], own["e004"]]).all()


def test_power_is_the_unbiased_estimate() -> None:
    np.testing.assert_allclose(all_of_k(np.array([3.0, 1.0, 4.0]), np.array([4.0, 4.0, 4.0]), 2), [0.5, 0.0, 1.0])
    assert np.isnan(all_of_k(np.array([1.0]), np.array([1.0]), 2)).all()
    sums = TaskSums(("p",), ("d",), (np.array([[3.0], [4.0], [1.0]]),), (np.array([[4.0], [4.0], [1.0]]),))
    made = power(sums, "p", 2, 0.95)
    assert made.value == pytest.approx(0.75) and made.n == 2
    assert list(powers(sums, "p", 0.95)) == [1, 2, 3, 4]
    assert power(sums, "p", 1, 0.95).value == pytest.approx((0.75 + 1 + 1) / 3)
    single = TaskSums(("p",), ("d",), (np.ones((3, 1)),), (np.ones((3, 1)),))
    assert powers(single, "p", 0.95) == {}


VALUE = st.sampled_from(["pass", "fail", "na", "missing"])


@settings(max_examples=40, deadline=None)
@given(
    criteria=st.lists(st.lists(VALUE, max_size=4), min_size=1, max_size=8),
    order=st.randoms(use_true_random=False),
    doubled=st.integers(0, 7),
)
def test_order_and_duplicates_change_nothing(criteria: list[list[str]], order: Any, doubled: int) -> None:
    episodes = [{"task": f"t{at}", "criteria": own} for at, own in enumerate(criteria)]
    made = frames(episodes)
    reference = score(made).rows
    assert made.episodes is not None and made.verdicts is not None
    copied = frames([*episodes, episodes[doubled % len(episodes)]])
    assert copied.episodes is not None and copied.verdicts is not None
    shuffled = EpisodeFrames(
        episodes=copied.episodes.sample(frac=1, random_state=order.randrange(1000)),
        verdicts=copied.verdicts.sample(frac=1, random_state=order.randrange(1000)),
    )
    again = score(shuffled)
    pd.testing.assert_frame_equal(again.rows, reference)
    assert sum(again.duplicates.values()) == 1
    for own, row in zip(criteria, reference.to_dict("records"), strict=True):
        assert row["faithful_low"] <= row["faithful_high"] or np.isnan(row["faithful_low"])
        if row["state"] == "scored":
            assert row["faithful"] == float("fail" not in own)
