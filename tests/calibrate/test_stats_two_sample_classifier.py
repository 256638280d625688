"""The classifier two-sample test: folds that keep people and items apart, p under the null, and broken data."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.dummy import DummyClassifier
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from annotate.errors import InvalidData
from calibrate.estimate import Undefined
from calibrate.stats.two_sample.classifier import classifier_test
from calibrate.stats.two_sample.folds import half_split, person_item_folds
from calibrate.stats.two_sample.samples import TwoSample, grouped_sample, paired_sample

Array = np.ndarray[Any, np.dtype[Any]]


def nearest() -> Any:
    return KNeighborsClassifier(1)


class Centroids:
    """A quick classifier: which side's mean is nearer."""

    def fit(self, rows: Array, side: Array) -> Centroids:
        self.means = [rows[side == label].mean(axis=0) for label in (0, 1)]
        return self

    def decision_function(self, rows: Array) -> Array:
        away = [((rows - mean) ** 2).sum(axis=1) for mean in self.means]
        return np.asarray(away[0] - away[1])


def people_of(sample: TwoSample) -> Array:
    return sample.person[sample.unit]


# ------------------------------------------------------------------------------------------------------------ folds


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 7)), min_size=1, max_size=40),
    st.integers(0, 50),
    st.integers(2, 5),
)
def test_no_person_and_no_item_of_a_test_fold_is_trained_on(
    drawn: list[tuple[int, int]], seed: int, folds: int
) -> None:
    person, item = np.array(drawn).T
    rng = np.random.default_rng(seed)
    values = rng.normal(size=len(person))
    sample = paired_sample(values, values[::-1], person, item)
    assert sample.item is not None
    for split in (person_item_folds(sample, rng, folds), half_split(sample, rng)):
        if isinstance(split, Undefined):
            continue
        for train, test in zip(split.train, split.test, strict=True):
            assert not set(people_of(sample)[train]) & set(people_of(sample)[test])
            assert not set(sample.item[train]) & set(sample.item[test])
    whole = person_item_folds(sample, rng, folds)
    if not isinstance(whole, Undefined):
        assert (whole.test.sum(axis=0) == 1).all()


def test_crossed_people_and_items_are_cut_in_cells_and_disconnected_ones_in_folds() -> None:
    person, item = np.repeat(np.arange(6), 4), np.tile(np.arange(4), 6)
    values = np.random.default_rng(1).normal(size=24)
    crossed = person_item_folds(paired_sample(values, values, person, item), np.random.default_rng(1))
    assert not isinstance(crossed, Undefined) and "9 cells" in crossed.method
    apart = person_item_folds(paired_sample(values, values, person, person), np.random.default_rng(1))
    assert not isinstance(apart, Undefined) and "5 folds of people and items" in apart.method
    one_item = person_item_folds(paired_sample(values, values, person, np.zeros(24)), np.random.default_rng(1))
    assert isinstance(one_item, Undefined) and "1 items are too few" in one_item.reason
    alone = half_split(paired_sample(values, values, person, np.zeros(24)), np.random.default_rng(1))
    assert isinstance(alone, Undefined)


def test_a_model_that_learns_items_by_heart_gets_nothing_from_them() -> None:
    """The hard case: each item has its own direction of difference. A nearest neighbour finds it if an item leaks."""
    rng = np.random.default_rng(2)
    person, item = np.repeat(np.arange(24), 6), np.tile(np.arange(6), 24)
    place = np.array([10.0, 20, 30, 40, 50, 60])[item]
    side = np.array([1.0, -1, 1, -1, 1, -1])[item]
    human, twin = place + rng.normal(0, 0.1, 144), place + side + rng.normal(0, 0.1, 144)
    leaking = classifier_test(paired_sample(human, twin, person), rng, classifier=nearest, permutations=1)
    kept = classifier_test(paired_sample(human, twin, person, item), rng, classifier=nearest, permutations=1)
    assert leaking["accuracy"].value == 1.0
    assert kept["accuracy"].value is not None and kept["accuracy"].value < 0.75


# ------------------------------------------------------------------------------------------------------------ truth


@pytest.mark.parametrize("is_paired", [True, False])
def test_p_is_uniform_under_the_null_with_people_who_differ(is_paired: bool) -> None:
    rng = np.random.default_rng(3)
    person = np.repeat(np.arange(12), 5)
    found, by_row = [], []
    for _ in range(70):
        human, twin = (rng.normal(size=(12, 2))[person] + 0.5 * rng.normal(size=(60, 2)) for _ in range(2))
        for who, kept in ((person, found), (np.arange(60), by_row)):
            sample = paired_sample(human, twin, who) if is_paired else grouped_sample(human, twin, who, who + 100)
            test = classifier_test(sample, rng, classifier=Centroids, permutations=19, folds=3)
            assert test["auc"].p_value is not None
            kept.append(test["auc"].p_value)
    for level in (0.05, 0.2, 0.5):
        limits = stats.binomtest(int((np.array(found) <= level).sum()), 70).proportion_ci(0.999)
        assert limits.low <= level <= limits.high
    assert np.mean(np.array(by_row) <= 0.05) > 0.2


def test_a_shift_is_found_and_the_held_out_half_says_how_well() -> None:
    rng = np.random.default_rng(4)
    person = np.repeat(np.arange(40), 3)
    human = rng.normal(size=(120, 2))
    twin = rng.normal([1.5, 0.0], 1.0, size=(120, 2))
    found = classifier_test(paired_sample(human, twin, person), rng, permutations=19)
    best = stats.norm.cdf(0.75)
    for name in ("accuracy", "held_out_accuracy"):
        assert found[name].value == pytest.approx(best, abs=0.08)
    assert found["auc"].value == pytest.approx(stats.norm.cdf(1.5 / np.sqrt(2)), abs=0.06)
    assert found["accuracy"].p_value == found["auc"].p_value == 1 / 20
    assert found["accuracy"].low is None and "held_out" in str(found["accuracy"].interval_reason)
    held = found["held_out_accuracy"]
    assert held.low is not None and held.high is not None and held.low < best < held.high
    assert held.n == 120 and held.clusters == 20 and held.extra["training_rows"] == 120


def test_auc_is_that_of_scikit_learn_within_a_fold() -> None:
    rng = np.random.default_rng(5)
    person = np.arange(20)
    human, twin = rng.integers(0, 5, 20).astype(float), rng.integers(1, 6, 20).astype(float)
    sample = paired_sample(human, twin, person)
    found = classifier_test(sample, np.random.default_rng(1), classifier=Centroids, permutations=1, folds=2)
    child = np.random.default_rng(1).spawn(1)[0]
    folds = person_item_folds(sample, child, 2)
    assert not isinstance(folds, Undefined)
    twin_row = ~sample.first[sample.unit]
    areas = []
    for train, test in zip(folds.train, folds.test, strict=True):
        model = Centroids().fit(sample.values[train], twin_row[train].astype(int))
        areas.append(roc_auc_score(twin_row[test], model.decision_function(sample.values[test])))
    assert found["auc"].value == pytest.approx(np.mean(areas))


# --------------------------------------------------------------------------------------------- invariances, hostile


def test_order_of_rows_names_and_features_change_nothing() -> None:
    rng = np.random.default_rng(6)
    person, item = np.repeat(np.arange(8), 3), rng.integers(0, 6, 24)
    human, twin = rng.normal(size=(24, 2)), rng.normal(0.5, 1, size=(24, 2))
    order = rng.permutation(24)
    names = np.array(list("qwertyui"))[person]
    before = classifier_test(
        paired_sample(human, twin, person, item), np.random.default_rng(9), classifier=Centroids, permutations=19
    )
    after = classifier_test(
        paired_sample(human[order], twin[order], names[order], 10 - item[order]),
        np.random.default_rng(9),
        classifier=Centroids,
        permutations=19,
    )
    assert before == after


def test_two_features_of_another_scale_give_the_same_answer_with_the_default_classifier() -> None:
    rng = np.random.default_rng(7)
    person = np.repeat(np.arange(8), 3)
    human, twin = rng.normal(size=(24, 2)), rng.normal(0.5, 1, size=(24, 2))
    scale = np.array([1024.0, 0.5])
    before = classifier_test(paired_sample(human, twin, person), np.random.default_rng(9), permutations=3)
    after = classifier_test(
        paired_sample(human * scale, twin * scale, person), np.random.default_rng(9), permutations=3
    )
    assert before["accuracy"].value == after["accuracy"].value


@pytest.mark.parametrize(
    "factory",
    [
        lambda: DummyClassifier(strategy="most_frequent"),
        lambda: DecisionTreeClassifier(random_state=0),
        nearest,
    ],
)
def test_any_classifier_can_be_passed(factory: Any) -> None:
    rng = np.random.default_rng(8)
    sample = paired_sample(rng.normal(size=18), rng.normal(size=18), np.repeat(np.arange(9), 2))
    found = classifier_test(sample, rng, classifier=factory, permutations=3, folds=3)
    assert all(found[name].value is not None for name in ("accuracy", "auc", "held_out_accuracy"))
    if isinstance(factory(), DummyClassifier):
        assert found["accuracy"].value == found["auc"].value == 0.5 and found["auc"].p_value == 1.0
        assert found["held_out_accuracy"].low is None


@pytest.mark.parametrize("rows", [0, 1, 5, 6, 12])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("people", [1, 5, 6, 12])
def test_little_or_constant_data_is_undefined_with_a_reason_and_never_warns(
    rows: int, constant: bool, people: int
) -> None:
    human = np.zeros((rows, 2)) if constant else np.column_stack([np.arange(rows) % 4, np.ones(rows)])
    person = np.arange(rows) % people
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for sample in (
            paired_sample(human, human[::-1], person),
            grouped_sample(human, human[::-1] + (0 if constant else 1), person, person + 50),
        ):
            found = classifier_test(sample, np.random.default_rng(1), permutations=2, folds=3)
            few = (min(sample.persons_by_side) if sample.paired else sample.persons) < 6
            for estimate in found.values():
                assert (estimate.value is None) == bool(few or constant)
                assert estimate.reason or estimate.low is not None or estimate.interval_reason


def test_broken_requests_are_refused() -> None:
    sample = paired_sample(range(8), range(8), range(8))
    for wrong in ({"permutations": 0}, {"folds": 1}):
        with pytest.raises(InvalidData, match="must be a whole number from"):
            classifier_test(sample, np.random.default_rng(1), **wrong)  # type: ignore[arg-type]
    few = classifier_test(sample, np.random.default_rng(1), permutations=1, folds=9)
    assert "8 people are too few for 9 folds" in str(few["auc"].reason)
