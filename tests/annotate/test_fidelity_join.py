"""Verdicts of one file on the episodes of another: found by their key, or refused by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from annotate.episodes import EPISODE_COLUMNS, VERDICT_COLUMNS, EpisodeFrames
from annotate.errors import InputError
from annotate.fidelity_join import join_verdicts


def frames(
    prefix: str, keys: list[tuple[str, str]], verdicts: list[tuple[str, str]] | None = None, **more: object
) -> EpisodeFrames:
    rows = pd.DataFrame(
        [
            {
                "episode": f"{prefix}{proxy}{task}", "proxy": proxy, "agent": "g", "domain": "retail", "task": task,
                "trial": "0", "status": "ok", "reward": np.nan, "cost_usd": np.nan, "cost_basis": "unknown",
                "duplicate_of": None,
            }
            | more
            for proxy, task in keys
        ],
        columns=EPISODE_COLUMNS,
    )  # fmt: skip
    said = pd.DataFrame(
        [
            {"episode": f"{prefix}{key}", "criterion": "k1", "family": "groundedness", "value": value}
            for key, value in verdicts or []
        ],
        columns=VERDICT_COLUMNS,
    )
    return EpisodeFrames(episodes=rows, verdicts=said, source=f"{prefix}.x")


RUNS = frames("run-", [("a", "1"), ("a", "2"), ("b", "1")])


def test_verdicts_get_the_episode_of_the_run_and_fill_in_what_it_lacks() -> None:
    given = frames("csv-", [("a", "1"), ("b", "1")], [("a1", "pass"), ("b1", "fail")], reward=1.0, cost_usd=0.02)
    joined = join_verdicts(RUNS, given)
    assert joined.verdicts is not None and joined.episodes is not None
    assert list(joined.verdicts["episode"]) == ["run-a1", "run-b1"]
    by = joined.episodes.set_index("episode")
    assert by.loc["run-a1", "reward"] == 1.0 and by.loc["run-a1", "cost_basis"] == "billed"
    assert np.isnan(by.loc["run-a2", "reward"]) and len(by) == 3


def test_what_the_run_knows_stays() -> None:
    ours = frames("run-", [("a", "1")], reward=0.0, cost_usd=0.5, cost_basis="list")
    joined = join_verdicts(ours, frames("csv-", [("a", "1")], [("a1", "pass")], reward=1.0, cost_usd=9.0))
    assert joined.episodes is not None
    assert joined.episodes[["reward", "cost_usd", "cost_basis"]].iloc[0].tolist() == [0.0, 0.5, "list"]


def test_a_verdict_of_no_episode_is_refused_with_its_key() -> None:
    with pytest.raises(InputError, match=r"1 of the 2 episodes .* aa, retail, task 1, trial 0"):
        join_verdicts(RUNS, frames("csv-", [("a", "1"), ("aa", "1")], [("a1", "pass"), ("aa1", "pass")]))


def test_a_key_of_two_episodes_is_refused() -> None:
    double = frames("run-", [("a", "1"), ("a", "1")])
    with pytest.raises(InputError, match="2 episodes have this"):
        join_verdicts(double, frames("csv-", [("a", "1")], [("a1", "pass")]))


def test_a_repeated_episode_is_not_two() -> None:
    double = frames("run-", [("a", "1"), ("a", "1")])
    assert double.episodes is not None
    double.episodes["episode"] = ["e1", "e2"]
    double.episodes["duplicate_of"] = [None, "e1"]
    joined = join_verdicts(double, frames("csv-", [("a", "1")], [("a1", "pass")]))
    assert joined.verdicts is not None and list(joined.verdicts["episode"]) == ["e1"]
