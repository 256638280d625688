"""The classifier two-sample test: can a model that has seen other people and items tell twin from human?

Chance is .5 in the paired design. A classifier that was trained and tested on the same people or items finds them, not
the difference of the samples; one permutation of the labels must refit it, since the folds share their training rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator

from calibrate.estimate import Estimate, Interval, Signature, Undefined, fork, signature_of
from calibrate.stats.checking import check_count
from calibrate.stats.cluster_means import cluster_mean
from calibrate.stats.exchange import check_permutations
from calibrate.stats.intervals import check_level
from calibrate.stats.two_sample.distances import smallest_p
from calibrate.stats.two_sample.folds import Folds, half_split, person_item_folds
from calibrate.stats.two_sample.samples import BoolArray, FloatArray, TwoSample, observed_labels, permuted_labels

MIN_PERSONS = 6  # with five, swapping their labels cannot give a p below .0625
TARGET = "new people with new items"
HELD_OUT_TARGET = "this one model, on new people"
NAMES = ("accuracy", "auc", "held_out_accuracy")

Factory = Callable[[], Any]


def logistic_regression() -> Any:
    """Return a fresh logistic regression on features standardised by the training rows, with ridge penalty 1.

    >>> fitted = logistic_regression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> fitted.predict([[0.2], [2.8]]).tolist()
    [0, 1]
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def classifier_test(
    sample: TwoSample,
    rng: Generator,
    *,
    classifier: Factory = logistic_regression,
    permutations: int = 199,
    folds: int = 5,
    level: float = 0.95,
) -> dict[str, Estimate]:
    """Return how well a classifier tells the second sample from the first, with a person-wise permutation p.

    Keys: accuracy (share of rows told right in cross-validation; where the samples differ in size, the mean of both
    sides' shares) and auc (chance that a row of the second sample scores above one of the first, within folds, ties one
    half; 0..1, .5 is chance), both with p and without interval, since folds share their training rows. And
    held_out_accuracy: one model of half of the people, tested on the other half, with t limits by person.

    classifier: makes a fresh scikit-learn classifier with `fit` and `predict_proba`, `decision_function` or `predict`;
    it must not draw from a generator of its own (give it a random_state). Folds: see `person_item_folds`. p: labels
    move as in `permuted_labels` and every fold is fitted anew; (1 + as good or better)/(1 + permutations).

    Undefined with fewer than six people, with features that are all constant, or with too few items for the folds.

    Source: Lopez-Paz and Oquab 2017, section 3 (the test); here with folds and permutations by person.

    >>> from calibrate.stats.two_sample.samples import paired_sample
    >>> words, people = np.arange(12.0), np.repeat(list("abcdef"), 2)
    >>> found = classifier_test(paired_sample(words, words + 50, people), np.random.default_rng(1), permutations=19)
    >>> found["accuracy"].value, found["auc"].value, found["accuracy"].p_value <= 0.1
    (1.0, 1.0, True)
    >>> same = classifier_test(paired_sample([1.0] * 6, [1.0] * 6, list("abcdef")), np.random.default_rng(1))
    >>> print(same["auc"].format())
    AUC undefined (no feature varies) n = 6
    """
    check_permutations(permutations)
    check_count(folds, "folds", 2)
    check_level(level)
    child = fork(rng)
    signature = signature_of(child, permutations)
    trouble = _trouble(sample)
    split = trouble if trouble is not None else person_item_folds(sample, child, folds)
    if isinstance(split, Undefined):
        return {name: _undefined(sample, name, split, level) for name in NAMES}
    half = half_split(sample, child)
    labels = permuted_labels(sample, child, permutations)
    second = [observed_labels(sample).second[0], *labels.second]
    scores = [_cross_validated(sample, split, marks[sample.unit], classifier) for marks in second]
    figures = np.array(scores)  # (1 + permutation, accuracy and auc)
    found = {
        name: _tested(sample, name, figures[:, column], split, signature, level)
        for column, name in enumerate(NAMES[:2])
    }
    return {**found, NAMES[2]: _held_out(sample, half, classifier, signature, level)}


def _trouble(sample: TwoSample) -> Undefined | None:
    few = min(sample.persons_by_side) if sample.paired else sample.persons
    if few < MIN_PERSONS or min(sample.persons_by_side) < 1:
        return Undefined(f"{few} people are too few (at least {MIN_PERSONS})")
    if not np.ptp(sample.values, axis=0).any():
        return Undefined("no feature varies")
    return None


def _cross_validated(sample: TwoSample, folds: Folds, second: BoolArray, classifier: Factory) -> tuple[float, float]:
    """Return accuracy and AUC over all folds under these labels (true: second sample)."""
    right = np.zeros(len(second), dtype=np.bool_)
    above, couples = 0.0, 0.0
    for train, test in zip(folds.train, folds.test, strict=True):
        score = _scores(classifier, sample.values[train], second[train], sample.values[test])
        right[test] = (score > 0.0) == second[test]
        twin, human = score[second[test]], score[~second[test]]
        above += _wins(twin, human)
        couples += len(twin) * len(human)
    accuracy = (right[second].mean() + right[~second].mean()) / 2.0
    return float(accuracy), above / couples if couples else 0.5


def _scores(classifier: Factory, seen: FloatArray, second: BoolArray, unseen: FloatArray) -> FloatArray:
    """Return scores of unseen rows, above 0 where the model says second sample; all alike where it saw one side."""
    if second.all() or not second.any():
        return np.full(len(unseen), 1.0 if len(second) and second.all() else -1.0)
    varies = np.ptp(seen, axis=0) > 0.0
    if not varies.any():
        return np.full(len(unseen), -1.0)
    model = classifier()
    model.fit(seen[:, varies], second.astype(np.int64))
    rows = unseen[:, varies]
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(rows), dtype=np.float64).reshape(len(rows))
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows), dtype=np.float64)[:, 1] - 0.5
    return np.asarray(model.predict(rows), dtype=np.float64) - 0.5


def _wins(twin: FloatArray, human: FloatArray) -> float:
    """Return in how many couples the twin scores above the human, ties one half."""
    ordered = np.sort(human)
    return float((np.searchsorted(ordered, twin, "left") + np.searchsorted(ordered, twin, "right")).sum() / 2.0)


def _tested(
    sample: TwoSample, name: str, figures: FloatArray, folds: Folds, signature: Signature, level: float
) -> Estimate:
    value, null = figures[0], figures[1:]
    p = (1 + int((null >= value - 1e-12).sum())) / (1 + len(null))
    smallest = max(smallest_p(sample), 1 / (1 + len(null)))
    exchanged = "labels swapped by person" if sample.paired else "people exchanged between the samples"
    return Estimate(
        name=name,
        value=float(value),
        p_value=p,
        interval_reason="folds share their training rows; see held_out_accuracy",
        level=level,
        n=sample.pairs,
        clusters=sample.persons,
        method=f"classifier, {folds.method}; permutation p with refit, {exchanged}",
        target=TARGET if sample.item is not None else "new people",
        signature=signature,
        extra={"symbol": _symbol(name), "chance": 0.5, "null_mean": float(null.mean()), "smallest_p": smallest},
    )


def _held_out(
    sample: TwoSample, half: Folds | Undefined, classifier: Factory, signature: Signature, level: float
) -> Estimate:
    name = NAMES[2]
    if isinstance(half, Undefined):
        return _undefined(sample, name, half, level)
    second = ~sample.first[sample.unit]
    train, test = half.train[0], half.test[0]
    if not (train.any() and test.any()):
        return _undefined(sample, name, Undefined("one half holds no rows"), level)
    score = _scores(classifier, sample.values[train], second[train], sample.values[test])
    right = ((score > 0.0) == second[test]).astype(np.float64)
    person = sample.person[sample.unit][test]
    limits = _person_limits(right, person, level)
    return Estimate(
        name=name,
        value=float(right.mean()),
        low=None if isinstance(limits, Undefined) else limits.low,
        high=None if isinstance(limits, Undefined) else limits.high,
        interval_reason=limits.reason if isinstance(limits, Undefined) else None,
        level=level,
        n=len(right),
        clusters=len(np.unique(person)),
        method=f"classifier trained on {half.method}, tested on the other; t over people",
        target=HELD_OUT_TARGET,
        signature=signature,
        extra={"symbol": _symbol(name), "chance": 0.5, "training_rows": int(train.sum())},
    )


def _person_limits(right: FloatArray, person: FloatArray, level: float) -> Interval | Undefined:
    """Return t limits by person, cut at 0 and 1."""
    people = len(np.unique(person))
    if people < 3:
        return Undefined(f"{people} people in the tested half are too few for limits")
    mean = cluster_mean(right, person)
    if isinstance(mean, Undefined):
        return mean
    limits = mean.limits(level)
    return Interval(max(0.0, limits.low), min(1.0, limits.high))


def _symbol(name: str) -> str:
    return {"accuracy": "accuracy", "auc": "AUC"}.get(name, "held-out accuracy")


def _undefined(sample: TwoSample, name: str, why: Undefined, level: float) -> Estimate:
    counts = {"n": sample.pairs, "clusters": sample.persons}
    return Estimate.undefined(name, why.reason, **counts, level=level, extra={"symbol": _symbol(name)})
