from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrate.estimate import Interval, Undefined
from calibrate.stats.resample import (
    Replicates,
    acceleration,
    bca_limits,
    canonical_order,
    cluster_bootstrap,
    cluster_codes,
    cluster_jackknife,
    cluster_weights,
    percentile_limits,
)


def test_clusters_come_whole_and_as_often_as_drawn() -> None:
    who = np.array(["a", "b", "a", "c", "b", "a"])
    seen = []

    def record(rows: np.ndarray) -> float:
        counts = [np.bincount(rows[who[rows] == label], minlength=6)[who == label] for label in "abc"]
        assert all(len(set(count)) == 1 for count in counts)  # every row of a cluster equally often
        times = [int(count[0]) for count in counts]
        assert sum(times) == 3
        seen.append(tuple(times))
        return 1.0

    cluster_bootstrap(record, who, 200, np.random.default_rng(1))
    assert len(set(seen)) == 10  # all ways to draw three of three


def test_the_generator_alone_decides() -> None:
    who, y = np.repeat(np.arange(8), 3), np.arange(24.0)
    draws = []
    for state in (0, 1):
        np.random.seed(state)  # the global state must not matter
        draws.append(cluster_bootstrap(lambda r: float(y[r].mean()), who, 50, np.random.default_rng(4)).values)
    assert (draws[0] == draws[1]).all()


def test_weights_give_the_same_mean_as_rows() -> None:
    who, y = np.repeat(np.arange(8), 3), np.random.default_rng(0).normal(size=24)
    rows = cluster_bootstrap(lambda r: float(y[r].mean()), who, 30, np.random.default_rng(9)).values
    weights = cluster_weights(8, 30, np.random.default_rng(9))[:, who]
    assert (weights @ y / weights.sum(axis=1)) == pytest.approx(rows)


def test_the_canonical_order_sorts_clusters_by_what_they_hold() -> None:
    x, who = np.array([2.0, 5, 1, 5, 1]), np.array(["z", "a", "z", "b", "a"])
    assert x[canonical_order(who, x)].tolist() == [1, 2, 1, 5, 5]  # (1, 2), (1, 5), (5)
    assert who[canonical_order(who, x)].tolist() == ["z", "z", "a", "a", "b"]
    assert canonical_order(np.array([]), np.array([])).tolist() == []


def test_undefined_resamples_are_counted_not_replaced() -> None:
    def statistic(rows: np.ndarray) -> float | Undefined:
        return float(rows.mean()) if 0 in rows else Undefined("row 0 was not drawn")

    draws = cluster_bootstrap(statistic, np.arange(10), 500, np.random.default_rng(2))
    assert draws.resamples == 500
    assert draws.undefined == pytest.approx(500 * 0.9**10, abs=60)
    assert isinstance(percentile_limits(draws, 0.95), Undefined)


def test_jackknife_leaves_each_cluster_out_in_turn() -> None:
    y = np.array([1.0, 2, 3, 10])
    made = cluster_jackknife(lambda rows: float(y[rows].sum()), ["a", "b", "a", "c"])
    assert list(made.values) == [12.0, 14.0, 6.0]


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 30), st.integers(1, 20))
def test_every_resample_has_as_many_clusters_as_there_are(clusters: int, resamples: int) -> None:
    weights = cluster_weights(clusters, resamples, np.random.default_rng(0))
    assert weights.shape == (resamples, clusters)
    assert (weights.sum(axis=1) == clusters).all()


def test_bca_without_bias_and_skew_is_the_percentile_interval() -> None:
    draws = Replicates.of(np.linspace(-1, 1, 2001))
    left_out = Replicates.of([-0.1, 0.0, 0.1])
    bca, percentile = bca_limits(0.0, draws, left_out, 0.9), percentile_limits(draws, 0.9)
    assert isinstance(bca, Interval)
    assert isinstance(percentile, Interval)
    assert (bca.low, bca.high) == pytest.approx((percentile.low, percentile.high))


def test_bca_has_no_limits_where_it_has_no_meaning() -> None:
    varied, left_out = Replicates.of(np.linspace(0, 1, 100)), Replicates.of([0.1, 0.2, 0.3])
    assert isinstance(bca_limits(0.5, Replicates.of([5.0] * 100), left_out, 0.95), Undefined)
    assert isinstance(bca_limits(2.0, varied, left_out, 0.95), Undefined)  # all resamples below the value
    assert isinstance(bca_limits(0.5, varied, Replicates.of([0.1, np.nan]), 0.95), Undefined)
    assert isinstance(acceleration([1.0, 1.0, 1.0]), Undefined)


def test_labels_may_be_mixed_but_not_missing() -> None:
    assert cluster_codes(np.array(["b", 1, "b"], dtype=object))[1] == 2
    with pytest.raises(ValueError, match="no cluster"):
        cluster_codes(np.array(["a", None], dtype=object))
    with pytest.raises(ValueError, match="whole number from 1"):
        cluster_weights(0, 5, np.random.default_rng(0))
