"""Likert realism: how human conversations are scored (1 to 5), twins against their own humans.

The difference is taken within pairs (a twin and the human it was made from, by one rater), and people are the
clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InputError
from calibrate.estimate import Estimate, Undefined
from calibrate.metric import Metric, average, estimate
from calibrate.stats.cluster_means import cluster_mean

FloatArray = NDArray[np.float64]

TWIN = Metric("likert.twin", "mean", average, unit="scale points", symbol="twin")
HUMAN = Metric("likert.human", "mean", average, unit="scale points", symbol="human")
DIFFERENCE = Metric("likert.difference", "mean", average, unit="scale points", symbol="twin − human")

MARGIN = 0.3
TARGET = "fresh people, this rater and prompt"


@dataclass(frozen=True, slots=True)
class LikertResult:
    """Mean score of twins, of humans, and their paired difference (below 0: twins look less human).

    `difference` carries the p of a difference of 0 and, in `extra`, of equivalence within the margin.
    `missing_*` count scores that were not given.
    """

    twin: Estimate
    human: Estimate
    difference: Estimate
    missing_twin: int
    missing_human: int


def likert(
    twin: ArrayLike,
    human: ArrayLike | None = None,
    person: ArrayLike | None = None,
    *,
    margin: float = MARGIN,
    level: float = 0.95,
) -> LikertResult:
    """Return means and paired difference of Likert scores with t intervals over people.

    Args:
        twin: scores of simulated conversations, one a pair; nan or None = not given.
        human: scores of the human conversation of the same pair; none at all where it is not given.
        person: the human of each pair; each pair its own where it is not given.
        margin: difference that still counts as none, for the equivalence test; fix it before looking.

    Raises:
        InputError: sides of different length, or an infinite score.
    """
    twins = _scores(twin, "twin")
    humans = np.full(len(twins), np.nan) if human is None else _scores(human, "human")
    people = np.arange(len(twins)) if person is None else np.asarray(person)
    if not len(twins) == len(humans) == len(people):
        raise InputError(
            f"likert: {len(twins)} twin scores, {len(humans)} human scores, {len(people)} people. Give one each a pair."
        )
    return LikertResult(
        twin=_over_people(TWIN, twins, people, level),
        human=_over_people(HUMAN, humans, people, level),
        difference=_difference(twins - humans, people, margin, level),
        missing_twin=int(np.isnan(twins).sum()),
        missing_human=0 if human is None else int(np.isnan(humans).sum()),
    )


def _scores(values: ArrayLike, side: str) -> FloatArray:
    try:
        scores = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"likert: a {side} score is not a number. Leave a missing one empty.") from None
    if np.isinf(scores).any():
        raise InputError(f"likert: a {side} score is infinite. Leave a missing one empty.")
    return scores


def _over_people(metric: Metric, values: FloatArray, people: NDArray[Any], level: float) -> Estimate:
    given = ~np.isnan(values)
    return estimate(metric, values[given], cluster=people[given], level=level, target=TARGET)


def _difference(values: FloatArray, people: NDArray[Any], margin: float, level: float) -> Estimate:
    made = _over_people(DIFFERENCE, values, people, level)
    given = ~np.isnan(values)
    spread = cluster_mean(values[given], people[given])
    if not made.defined or isinstance(spread, Undefined):
        return made
    extra = {**made.extra, "margin": margin, "equivalence_p": spread.equivalence_p(0.0, margin)}
    return made.model_copy(update={"p_value": spread.p_value(0.0), "extra": extra})
