"""The alternative annotator test."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate.errors import InvalidData
from calibrate.estimate import Undefined
from calibrate.stats.rectify.alternative_annotator import EPSILON, alternative_annotator_test, epsilon_of

pytestmark = pytest.mark.filterwarnings("error")


def people(seed: int, instances: int = 60, count: int = 4, error: float = 0.1, model_error: float = 0.1) -> Any:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, instances)

    def blur(share: float) -> dict[str, int]:
        wrong = rng.random(instances) < share
        return {f"i{i}": int(v) for i, v in enumerate(np.where(wrong, (truth + 1) % 3, truth))}

    return blur(model_error), {f"h{j}": blur(error) for j in range(count)}


@given(st.integers(0, 10**6), st.sampled_from(["accuracy", "neg_rmse"]), st.floats(0, 0.6))
@settings(max_examples=40, deadline=None)
def test_the_p_values_are_scipys_and_the_rest_follows(seed: int, scoring: Any, model_error: float) -> None:
    from scipy.stats import ttest_1samp

    model, humans = people(seed, model_error=model_error)
    result = alternative_annotator_test(model, humans, epsilon=0.1, scoring=scoring)
    for one in result.annotators:
        others = [h for h in humans if h != one.annotator]
        differences = []
        for instance in model:
            marks = []
            for label in (model[instance], humans[one.annotator][instance]):
                errors = [label - humans[h][instance] for h in others]
                marks.append(sum(e == 0 for e in errors) if scoring == "accuracy" else -sum(e * e for e in errors))
            differences.append(int(marks[1] >= marks[0]) - int(marks[0] >= marks[1]))
        assert one.mean_difference == pytest.approx(np.mean(differences))
        assert one.mean_difference == pytest.approx(one.rho_human - one.rho_model)
        if np.std(differences) > 0:
            assert one.p_value == pytest.approx(ttest_1samp(differences, 0.1, alternative="less").pvalue, abs=1e-12)
        assert one.rho_model + one.rho_human >= 1 - 1e-12
    assert result.winning_rate == len(result.rejected) / 4
    assert result.passes == (len(result.rejected) >= 2)


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_names_and_orders_are_of_no_effect_and_epsilon_helps(seed: int) -> None:
    model, humans = people(seed, model_error=0.25)
    one = alternative_annotator_test(model, humans, epsilon=0.1)
    turned = {f"z{h}": dict(reversed(humans[h].items())) for h in reversed(humans)}
    two = alternative_annotator_test(dict(reversed(model.items())), turned, epsilon=0.1)
    assert (one.winning_rate, one.advantage_probability) == (two.winning_rate, two.advantage_probability)
    assert [a.p_value for a in one.annotators] == [a.p_value for a in two.annotators]
    letters = {0: "a", 1: "b", 2: "c"}
    renamed = alternative_annotator_test(
        {i: letters[v] for i, v in model.items()},
        {h: {i: letters[v] for i, v in own.items()} for h, own in humans.items()},
        epsilon=0.1,
    )
    assert renamed == one
    more = alternative_annotator_test(model, humans, epsilon=0.3)
    assert isinstance(one.winning_rate, float) and isinstance(more.winning_rate, float)
    assert more.winning_rate >= one.winning_rate


def test_a_good_model_passes_and_a_random_one_fails() -> None:
    model, humans = people(3, instances=200, model_error=0.05)
    assert alternative_annotator_test(model, humans, epsilon=epsilon_of("expert")).passes
    model, humans = people(3, instances=200, model_error=0.9)
    assert alternative_annotator_test(model, humans, epsilon=epsilon_of("expert")).winning_rate == 0.0


def test_a_model_worse_by_exactly_epsilon_is_rarely_accepted() -> None:
    accepted = 0
    for seed in range(60):
        model, humans = people(seed, instances=80, count=3, error=0.1, model_error=0.33)
        gap = alternative_annotator_test(model, humans, epsilon=0.2)
        accepted += gap.winning_rate == 1.0
    assert accepted <= 9


def test_missing_labels_and_short_annotators_are_left_out_and_named() -> None:
    model, humans = people(4, instances=40)
    humans["h3"] = {i: (v if n < 10 else None) for n, (i, v) in enumerate(humans["h3"].items())}
    model["i0"] = None
    humans["h0"]["elsewhere"] = 1
    result = alternative_annotator_test(model, humans, epsilon=0.2)
    assert dict(result.skipped) == {"h3": 9}
    assert [one.n for one in result.annotators] == [39, 39, 39]
    pairs = alternative_annotator_test(model, {"a": humans["h0"], "b": {}}, epsilon=0.2)
    assert isinstance(pairs.winning_rate, Undefined) and pairs.passes is None and pairs.rejected == ()
    assert "30 instances" in pairs.winning_rate.reason


def test_no_spread_is_decided_by_the_mean() -> None:
    same = {i: i % 3 for i in range(35)}
    humans = {"a": same, "b": same}
    assert [o.p_value for o in alternative_annotator_test(same, humans, epsilon=0.1).annotators] == [0.0, 0.0]
    equal = alternative_annotator_test(same, humans, epsilon=0.0)
    assert [o.p_value for o in equal.annotators] == [None, None] and equal.winning_rate == 0.0
    never = dict.fromkeys(range(35), 9)
    worse = alternative_annotator_test(never, humans, epsilon=0.2)
    assert [o.p_value for o in worse.annotators] == [1.0, 1.0]
    one = alternative_annotator_test({0: 1}, {"a": {0: 1}, "b": {0: 1}}, epsilon=0.2, min_instances=1)
    assert [o.p_value for o in one.annotators] == [None, None]


def test_scores_equal_but_for_rounding_are_ties() -> None:
    model, humans = (
        dict.fromkeys(range(30), 0.1),
        {"a": dict.fromkeys(range(30), 0.5), "b": dict.fromkeys(range(30), 0.3)},
    )
    result = alternative_annotator_test(model, humans, epsilon=0.2, scoring="neg_rmse")
    by_a = next(one for one in result.annotators if one.annotator == "a")
    assert (by_a.rho_model, by_a.rho_human) == (1.0, 1.0)


def test_any_scoring_function_may_be_given() -> None:
    model, humans = people(5)
    own = alternative_annotator_test(model, humans, epsilon=0.2, scoring=lambda one, rest: sum(one == o for o in rest))
    assert own == alternative_annotator_test(model, humans, epsilon=0.2)


@pytest.mark.parametrize(
    "how",
    [
        {"epsilon": -0.1},
        {"epsilon": 1.5},
        {"q": 0.0},
        {"q": 1.0},
        {"min_humans": 1},
        {"min_instances": 0},
        {"scoring": "kappa"},
    ],
)
def test_unfit_settings_are_refused(how: dict[str, Any]) -> None:
    model, humans = people(6, instances=30)
    with pytest.raises(InvalidData):
        alternative_annotator_test(model, humans, **{"epsilon": 0.2, **how})


def test_neg_rmse_needs_numbers_and_epsilon_a_known_kind() -> None:
    words = dict.fromkeys(range(30), "yes")
    with pytest.raises(InvalidData, match="numbers"):
        alternative_annotator_test(words, {"a": words, "b": words}, epsilon=0.2, scoring="neg_rmse")
    infinite = {i: float("inf") for i in range(30)}
    with pytest.raises(InvalidData, match="finite"):
        alternative_annotator_test(infinite, {"a": infinite, "b": infinite}, epsilon=0.2, scoring="neg_rmse")
    assert dict(EPSILON) == {"expert": 0.2, "skilled": 0.15, "crowd": 0.1}
    with pytest.raises(InvalidData, match="expert"):
        epsilon_of("novice")


def test_nan_is_no_label() -> None:
    labels = {i: float(i % 2) for i in range(60)}
    gone = {i: (math.nan if i < 10 else value) for i, value in labels.items()}
    outcome = alternative_annotator_test(labels, {"a": gone, "b": labels, "c": labels}, epsilon=0.2)
    assert [own.n for own in outcome.annotators] == [50, 60, 60]
    assert alternative_annotator_test(gone, {"b": labels, "c": labels}, epsilon=0.2).annotators[0].n == 50
