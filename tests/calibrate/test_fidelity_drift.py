"""Drift: a change is found where there is one, and not announced where there is none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrate.fidelity.drift import Rate, compare_rates, faithful_rates, sample_episodes, unknown_cells


def rows(n: int, domains: tuple[str, ...] = ("retail", "airline")) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "proxy": ["a"] * n + ["b"] * n,
            "domain": [domains[i % len(domains)] for i in range(2 * n)],
            "task": [str(i) for i in range(2 * n)],
            "trial": "0",
            "episode": [f"c{i}" for i in range(2 * n)],
            "faithful": [1.0, 0.0] * n,
        }
    )


def test_a_sample_is_the_same_whatever_the_order_of_the_rows() -> None:
    frame = rows(50)
    one = sample_episodes(frame, 10, np.random.default_rng(3))
    two = sample_episodes(frame.sample(frac=1, random_state=1), 10, np.random.default_rng(3))
    assert list(one["episode"]) == list(two["episode"])
    assert one.groupby("proxy").size().to_dict() == {"a": 10, "b": 10}
    assert one.groupby(["proxy", "domain"]).size().tolist() == [5, 5, 5, 5]
    other = sample_episodes(frame, 10, np.random.default_rng(4))
    assert list(one["episode"]) != list(other["episode"])


def test_a_sample_larger_than_what_there_is_takes_all() -> None:
    assert len(sample_episodes(rows(5), 100, np.random.default_rng(1))) == 10
    with pytest.raises(ValueError, match="at least one"):
        sample_episodes(rows(5), 0, np.random.default_rng(1))


def test_a_fall_is_found_and_a_rise_is_not_called_worse() -> None:
    before = {("a", "retail", "UFS"): Rate(90, 100), ("b", "retail", "UFS"): Rate(50, 100)}
    after = {("a", "retail", "UFS"): Rate(25, 50), ("b", "retail", "UFS"): Rate(48, 50)}
    a, b = compare_rates(before, after, worse_when={"UFS": -1})
    assert a.worse and a.difference.value == pytest.approx(-0.4)
    assert not b.worse and b.difference.low is not None and b.difference.low > 0
    assert a.detectable is not None and 0.1 < a.detectable < 0.3


def test_a_fault_that_becomes_frequent_is_worse() -> None:
    (found,) = compare_rates(
        {("a", "retail", "first-turn disclosure"): Rate(0, 60)},
        {("a", "retail", "first-turn disclosure"): Rate(30, 60)},
        worse_when={},
    )
    assert found.worse


def test_false_alarms_stay_at_the_level_over_all_proxies_together() -> None:
    rng, alarms, trials = np.random.default_rng(11), 0, 400
    for _ in range(trials):
        before = {(p, "retail", "UFS"): Rate(int(rng.binomial(200, 0.8)), 200) for p in "abcdef"}
        after = {(p, "retail", "UFS"): Rate(int(rng.binomial(60, 0.8)), 60) for p in "abcdef"}
        alarms += any(drift.worse for drift in compare_rates(before, after, worse_when={"UFS": -1}))
    assert alarms / trials < 0.05  # two-sided intervals, one side counted: 2.5 % expected


def test_an_empty_side_is_undefined_and_a_new_proxy_is_named() -> None:
    (found,) = compare_rates(
        {("a", "retail", "UFS"): Rate(0, 0)}, {("a", "retail", "UFS"): Rate(3, 5)}, worse_when={"UFS": -1}
    )
    assert found.difference.value is None and not found.worse
    assert unknown_cells(
        {("a", "retail", "UFS"): Rate(1, 2)}, {("z", "retail", "UFS"): Rate(1, 2), ("a", "retail", "UFS"): Rate(1, 2)}
    ) == ["z in retail"]


def test_only_scored_episodes_count() -> None:
    frame = rows(3, ("retail",)).assign(faithful=[1.0, np.nan, 0.0, 1.0, 1.0, np.nan])
    assert faithful_rates(frame) == {("a", "retail", "UFS"): Rate(1, 2), ("b", "retail", "UFS"): Rate(2, 2)}


def test_domains_are_never_compared_with_each_other() -> None:
    before, after = {("a", "telecom", "UFS"): Rate(90, 100)}, {("a", "airline", "UFS"): Rate(20, 100)}
    assert compare_rates(before, after, worse_when={"UFS": -1}) == []


def test_samples_that_could_find_nothing_say_so() -> None:
    (found,) = compare_rates({("a", "r", "UFS"): Rate(2, 2)}, {("a", "r", "UFS"): Rate(1, 1)}, worse_when={})
    assert found.detectable is None
