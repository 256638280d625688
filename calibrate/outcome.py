"""Outcome: does the simulated user end where the person did? Macro-F1 over correct and incorrect.

Conventions: F1 of a class = 2TP / (2TP + FP + FN); macro-F1 is the mean of the classes' F1, not the F1 of the
mean precision and recall. A class absent from truth and prediction has no F1: it is left out of the mean and
reported (or counted as 0, as SimulatorArena's release does, where that is asked for). "unknown" counts as
incorrect, and how many is reported. A
missing value is an error: say what it means first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InputError
from calibrate.estimate import Estimate, Undefined
from calibrate.metric import RESAMPLES, Metric, estimate

Absent = Literal["leave_out", "zero"]
OUTCOMES = ("incorrect", "correct")
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ClassScores:
    """F1 of each class (None where the class is absent from truth and prediction) and their means.

    `macro_f1` and `accuracy` are None without rows. `f1_of_means` is the F1 of the mean precision and recall,
    which some programs print under the same name; None where both are 0.
    """

    n: int
    f1: dict[Hashable, float | None]
    macro_f1: float | None
    accuracy: float | None
    f1_of_means: float | None
    absent: tuple[Hashable, ...]


def class_scores(
    truth: Sequence[Hashable] | NDArray[np.generic],
    predicted: Sequence[Hashable] | NDArray[np.generic],
    classes: Sequence[Hashable],
    *,
    absent: Absent = "leave_out",
) -> ClassScores:
    """Return F1 of each declared class and their unweighted mean.

    Args:
        classes: all classes there are, whether or not they occur; a label that is not among them is a
            ValueError.
        absent: what a class that occurs on neither side counts: not at all, or as 0.
    """
    place = {label: index for index, label in enumerate(classes)}
    if len(truth) != len(predicted):
        raise ValueError(f"truth has {len(truth)} rows and prediction {len(predicted)}")
    strange = [label for label in (*truth, *predicted) if label not in place]
    if strange:
        raise ValueError(f"label {strange[0]!r} is not among the classes {tuple(classes)}")
    table = np.zeros((len(place), len(place)))
    np.add.at(table, ([place[label] for label in truth], [place[label] for label in predicted]), 1.0)
    f1 = _f1(table)
    n, hits = len(truth), np.diag(table)
    precision = (hits / np.maximum(table.sum(axis=0), 1.0)).mean()
    recall = (hits / np.maximum(table.sum(axis=1), 1.0)).mean()
    return ClassScores(
        n=n,
        f1={label: None if np.isnan(f1[index]) else float(f1[index]) for label, index in place.items()},
        macro_f1=_macro(f1, absent) if n else None,
        accuracy=float(hits.sum() / n) if n else None,
        f1_of_means=float(2 * precision * recall / (precision + recall)) if precision + recall > 0 else None,
        absent=tuple(label for label, index in place.items() if np.isnan(f1[index])),
    )


def _f1(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return F1 of each class of a truth × prediction table; nan where the class occurs on neither side."""
    occurs = table.sum(axis=0) + table.sum(axis=1)
    return np.where(occurs > 0, 2.0 * np.diag(table) / np.maximum(occurs, 1.0), np.nan)


def _macro(f1: NDArray[np.float64], absent: Absent) -> float:
    return float(np.nan_to_num(f1).mean() if absent == "zero" else np.nanmean(f1))


def _macro_f1_point(absent: Absent, truth: NDArray[np.float64], predicted: NDArray[np.float64]) -> float | Undefined:
    """Return macro-F1 of two 0/1 columns (incorrect, correct)."""
    if len(truth) == 0:
        return Undefined("no conversations")
    cells = np.bincount((2 * truth + predicted).astype(np.int64), minlength=4).astype(np.float64)
    return _macro(_f1(cells.reshape(2, 2)), absent)


MACRO_F1 = Metric("macro_f1", "composite", lambda t, p: _macro_f1_point("leave_out", t, p), symbol="macro-F1")
MACRO_F1_RELEASE = Metric(
    "macro_f1_absent_as_zero", "composite", lambda t, p: _macro_f1_point("zero", t, p), symbol="macro-F1"
)


def outcome_agreement(
    truth: Sequence[str],
    predicted: Sequence[str],
    *,
    person: ArrayLike | None = None,
    rng: Generator | None = None,
    absent: Absent = "leave_out",
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Estimate:
    """Return macro-F1 of the simulated outcome against the person's, with a BCa interval over people.

    Args:
        truth, predicted: "correct", "incorrect" or "unknown" (counted as incorrect), one a conversation.
        person: who had the conversation; each conversation for itself where it is not given.
        rng: drawn from through a child; without it there is no interval, and the estimate says so.
        absent: whether a class that occurs on neither side is left out or counts as 0 (the release's
            convention).

    `extra` holds the F1 of both classes, accuracy, unknowns on each side, and the classes left out or counted
    as 0.

    Raises:
        InputError: another label, a missing one, or sides of different length.
    """
    sides = [_codes("truth", truth), _codes("prediction", predicted)]
    if len(truth) != len(predicted):
        raise InputError(
            f"outcome: {len(truth)} human and {len(predicted)} simulated outcomes. Match them by conversation first."
        )
    metric = MACRO_F1 if absent == "leave_out" else MACRO_F1_RELEASE
    made = estimate(
        metric,
        *sides,
        cluster=person,
        rng=rng,
        resamples=resamples,
        level=level,
        target="fresh people of the same kind, same assistants",
    )
    extra = {
        **made.extra,
        **_parts(sides, absent),
        "unknown_human": sum(label == UNKNOWN for label in truth),
        "unknown_simulated": sum(label == UNKNOWN for label in predicted),
    }
    return made.model_copy(update={"extra": extra})


def _parts(sides: Sequence[NDArray[np.float64]], absent: Absent) -> dict[str, float | str | None]:
    """Return what macro-F1 is made of, for the record beside it."""
    labels = [[OUTCOMES[int(code)] for code in side] for side in sides]
    scores = class_scores(labels[0], labels[1], OUTCOMES, absent=absent)
    return {
        "f1_correct": scores.f1["correct"],
        "f1_incorrect": scores.f1["incorrect"],
        "accuracy": scores.accuracy,
        "absent_classes": ", ".join(map(str, scores.absent)) or None,
        "absent_class_counts": "0" if absent == "zero" else "not",
    }


def _codes(side: str, labels: Sequence[str]) -> NDArray[np.float64]:
    """Return 1 for correct, 0 for incorrect and unknown."""
    known = {"correct": 1.0, "incorrect": 0.0, UNKNOWN: 0.0}
    for label in labels:
        if label not in known:
            raise InputError(
                f"outcome: {side} '{label}' is not one of {', '.join(known)}. Write a missing outcome as 'unknown', "
                "or leave its conversation out on both sides."
            )
    return np.array([known[label] for label in labels], dtype=np.float64)
