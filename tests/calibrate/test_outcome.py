from __future__ import annotations

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate.errors import InputError
from calibrate.outcome import class_scores, outcome_agreement

labels = st.sampled_from(["correct", "incorrect", "unknown"])


def test_a_class_on_neither_side_is_left_out_and_reported() -> None:
    """All correct, one missed: F1 of correct 2·3/(2·3 + 1) = 6/7; nobody is incorrect in the second pair of sides."""
    made = outcome_agreement(["correct"] * 4, ["correct"] * 4)
    assert made.value == 1.0
    assert made.extra["absent_classes"] == "incorrect"
    assert made.extra["f1_incorrect"] is None
    release = outcome_agreement(["correct"] * 4, ["correct"] * 4, absent="zero")
    assert release.value == 0.5
    assert release.extra["absent_class_counts"] == "0"
    assert release.name != made.name


def test_unknown_counts_as_incorrect_and_is_reported() -> None:
    made = outcome_agreement(["correct", "unknown", "incorrect"], ["correct", "incorrect", "unknown"])
    assert made.value == 1.0
    assert (made.extra["unknown_human"], made.extra["unknown_simulated"]) == (1, 1)


def test_a_label_that_is_neither_is_refused_with_the_remedy() -> None:
    with pytest.raises(InputError, match="'right' is not one of correct, incorrect, unknown"):
        outcome_agreement(["right"], ["correct"])
    with pytest.raises(InputError, match="None"):
        outcome_agreement(["correct"], [None])  # type: ignore[list-item]
    with pytest.raises(InputError, match="Match them"):
        outcome_agreement(["correct"], [])
    with pytest.raises(ValueError, match="not among the classes"):
        class_scores([1, 2], [1, 1], [0, 1])


def test_nothing_is_undefined_not_zero() -> None:
    made = outcome_agreement([], [])
    assert made.value is None
    assert made.reason == "no conversations"


def test_macro_f1_is_not_the_f1_of_the_means() -> None:
    scores = class_scores([1] * 6 + [0] * 4, [1] * 5 + [0] + [1] * 3 + [0], [0, 1])
    assert scores.macro_f1 == pytest.approx((2 / 6 + 10 / 14) / 2)
    assert scores.f1_of_means != pytest.approx(scores.macro_f1)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=40))
def test_agrees_with_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    truth, predicted = (list(side) for side in zip(*pairs, strict=True))
    binary = [[label == "correct" for label in side] for side in (truth, predicted)]
    expected = sklearn.metrics.f1_score(*binary, average="macro", labels=[False, True], zero_division=0)
    assert outcome_agreement(truth, predicted, absent="zero").value == pytest.approx(expected)
    present = sorted({label for side in binary for label in side})
    expected = sklearn.metrics.f1_score(*binary, average="macro", labels=present, zero_division=0)
    assert outcome_agreement(truth, predicted).value == pytest.approx(expected)


def test_the_interval_is_by_person_and_wider_where_people_repeat_themselves() -> None:
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(60) < 0.6, "correct", "incorrect")
    predicted = np.where(rng.random(60) < 0.7, truth, "incorrect")
    once = outcome_agreement(list(truth), list(predicted), rng=np.random.default_rng(1), resamples=600)
    people = np.tile(np.arange(60), 4)
    repeated = outcome_agreement(
        list(np.tile(truth, 4)), list(np.tile(predicted, 4)), person=people, rng=np.random.default_rng(1), resamples=600
    )
    assert once.interval is not None
    assert repeated.interval is not None
    assert (repeated.n, repeated.clusters) == (240, 60)
    assert repeated.interval.low == pytest.approx(once.interval.low, abs=0.02)
    assert repeated.interval.high == pytest.approx(once.interval.high, abs=0.02)
    assert once.method == "bootstrap over clusters, BCa limits"


def test_a_perfect_simulator_gets_no_interval_of_zero_width() -> None:
    truth = ["correct", "incorrect"] * 10
    made = outcome_agreement(truth, truth, rng=np.random.default_rng(0), resamples=200)
    assert made.value == 1.0
    assert made.interval is None
    assert made.interval_reason == "all resamples give the same value: too little data"
