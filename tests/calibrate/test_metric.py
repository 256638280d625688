from __future__ import annotations

import numpy as np
import pytest

from annotate.errors import InputError
from calibrate.estimate import Undefined
from calibrate.metric import Metric, average, estimate
from calibrate.registry import METRICS, find
from calibrate.stats.correlation import spearman
from calibrate.stats.correlation_limits import fisher_limits
from calibrate.stats.intervals import wilson

MEAN = Metric("mean", "mean", average)
SHARE = Metric("share", "proportion", average)
RHO = Metric("rho", "association", spearman, symbol="ρ", coefficient="spearman")
PEOPLE = np.arange(12)
GAP = Metric("gap", "distance", lambda x, y: float(abs(x.mean() - y.mean())))
SPREAD = Metric("spread", "composite", lambda x: float(x.var()))


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_a_distance_never_gets_a_bootstrap_interval() -> None:
    made = estimate(GAP, np.arange(50.0), np.arange(50.0), rng=rng())
    assert made.value == 0.0
    assert made.interval is None
    assert made.interval_reason is not None
    assert "permutation" in made.interval_reason


def test_a_proportion_is_wilson_and_by_people_where_they_repeat() -> None:
    values = np.array([1.0, 1, 1, 0, 1, 0, 1, 1, 0, 1])
    alone = estimate(SHARE, values)
    assert alone.method == "Wilson"
    assert alone.interval == wilson(7, 10)
    people = np.repeat(np.arange(5), 2)
    grouped = estimate(SHARE, values, cluster=people)
    assert grouped.method is not None
    assert grouped.method.startswith("t over clusters, 4 df")
    assert grouped.clusters == 5
    assert grouped.interval is not None
    assert grouped.interval.low >= 0
    assert grouped.interval.high <= 1


def test_people_who_do_not_vary_give_no_false_certainty() -> None:
    made = estimate(SHARE, np.ones(40), cluster=np.repeat(np.arange(8), 5))
    assert made.interval == wilson(8, 8)


def test_a_mean_of_one_person_has_no_interval_and_says_why() -> None:
    made = estimate(MEAN, [1.0, 2.0, 3.0], cluster=["a"] * 3)
    assert made.value == 2.0
    assert made.interval_reason == "only one cluster: its spread cannot be told"


def test_an_association_needs_a_generator_people_and_pairs() -> None:
    x = np.arange(12.0)
    y = x[[1, 0, 3, 2, 5, 4, 6, 8, 7, 11, 9, 10]]
    assert estimate(RHO, x, y, cluster=PEOPLE).interval_reason == "no generator was given to resample with"
    assert estimate(RHO, x, y, cluster=np.repeat([0, 1, 2], 4), rng=rng()).interval is None
    assert estimate(RHO, x[:3], y[:3], cluster=PEOPLE[:3], rng=rng()).interval_reason == "fewer than 4 pairs"
    made = estimate(RHO, x, y, cluster=PEOPLE, rng=rng(), resamples=500)
    assert made.interval is not None
    assert made.value is not None
    assert made.interval.low < made.value < made.interval.high
    assert made.signature.resamples == 500
    assert made.extra["undefined_resamples"] == 0
    assert made.format().startswith("ρ 0.")


def test_rows_that_belong_to_nobody_get_fishers_interval() -> None:
    x, y = np.arange(7.0), np.array([0.0, 2, 1, 4, 3, 6, 5])
    made = estimate(RHO, x, y)
    assert made.method == "Fisher's z, independent rows"
    assert made.interval == fisher_limits(spearman(x, y), 7, "spearman")
    assert estimate(RHO, x[:3], y[:3]).interval_reason == "3 pairs are too few (at least 4)"


def test_a_composite_is_bootstrapped_and_repeats_from_its_signature() -> None:
    values = np.random.default_rng(1).normal(size=40)
    made = estimate(SPREAD, values, rng=rng(), resamples=400)
    assert made.method == "bootstrap over clusters, BCa limits"
    used = rng()
    used.random(100)
    assert estimate(SPREAD, values, rng=used, resamples=400) == made


def test_order_of_rows_and_names_of_people_change_nothing() -> None:
    draw = np.random.default_rng(8)
    x, who = draw.integers(1, 6, 40).astype(float), draw.integers(0, 14, 40)
    y = np.clip(x + draw.integers(-1, 2, 40), 1, 5)
    order = draw.permutation(40)
    for metric, columns in ((RHO, (x, y)), (SPREAD, (x,)), (MEAN, (x,)), (SHARE, (x / 5,))):
        first = estimate(metric, *columns, cluster=who, rng=rng(), resamples=200)
        assert first.interval is not None
        shuffled = (column[order] for column in columns)
        assert estimate(metric, *shuffled, cluster=-who[order], rng=rng(), resamples=200) == first
    alone = estimate(SPREAD, x, rng=rng(), resamples=200)
    assert estimate(SPREAD, x[order], rng=rng(), resamples=200) == alone


def test_undefined_keeps_its_reason() -> None:
    made = estimate(RHO, [1.0, 1, 1, 1], [1.0, 2, 3, 4], rng=rng())
    assert made.reason == "the first side is constant"
    assert estimate(MEAN, []).reason == "no values"
    assert average(np.array([])) == Undefined("no values")


def test_columns_must_match_and_be_complete() -> None:
    with pytest.raises(ValueError, match="one entry a row"):
        estimate(RHO, [1.0, 2, 3], [1.0, 2])
    with pytest.raises(ValueError, match="missing"):
        estimate(MEAN, [1.0, np.nan])


def test_the_registry_names_every_metric_once() -> None:
    assert all(name == metric.name for name, metric in METRICS.items())
    assert find("spearman").symbol == "ρ"
    with pytest.raises(InputError, match="did you mean 'spearman'"):
        find("spearmen")
