"""The alternative annotator test: may a model's labels stand in for a person's?

Each annotator j is left out in turn. On every instance i that j labelled, model and j are scored against the other
people's labels: W_i = 1 where the model's score is at least j's, E_i = 1 where j's is at least the model's (a tie
counts for both). With advantage probabilities ρ_model = mean W and ρ_human = mean E, H0: ρ_human − ρ_model ≥ ε is
tested by a one-sided t test over instances, and the annotators' tests are corrected by Benjamini and Yekutieli. The
winning rate ω is the share of annotators whose H0 falls; from .5 on the model passes.

Source: Calderon, Reichart and Dror, "The Alternative Annotator Test for LLM-as-a-Judge", ACL 2025 (arXiv 2501.10970).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from annotate.errors import InvalidData
from calibrate.estimate import Undefined
from calibrate.stats.checking import check_count, check_number
from calibrate.stats.labels import is_missing

Scoring = Literal["accuracy", "neg_rmse"] | Callable[[Any, Sequence[Any]], float]
Labels = Mapping[Hashable, Any]

EPSILON: Mapping[str, float] = MappingProxyType({"expert": 0.2, "skilled": 0.15, "crowd": 0.1})
PASSING_RATE = 0.5


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One annotator's comparison. n: instances; mean_difference: ρ_human − ρ_model, tested to lie below ε.

    p_value: 0 or 1 where the difference never varies and lies below or above ε; None where it equals ε, or n = 1.
    """

    annotator: str
    n: int
    rho_model: float
    rho_human: float
    mean_difference: float
    p_value: float | None
    rejected: bool


@dataclass(frozen=True, slots=True)
class AlternativeAnnotator:
    """The test's outcome. winning_rate: ω; advantage_probability: mean ρ_model; undefined where nobody is eligible.

    skipped: annotators with fewer than the asked instances, and how many they have.
    """

    winning_rate: float | Undefined
    advantage_probability: float | Undefined
    annotators: tuple[LeftOut, ...]
    skipped: Mapping[str, int]
    epsilon: float
    q: float

    @property
    def passes(self) -> bool | None:
        """Whether ω ≥ .5; None where it is undefined."""
        return None if isinstance(self.winning_rate, Undefined) else self.winning_rate >= PASSING_RATE

    @property
    def rejected(self) -> tuple[str, ...]:
        """Annotators whom the model may replace at ε, sorted."""
        return tuple(sorted(one.annotator for one in self.annotators if one.rejected))


def epsilon_of(kind: str) -> float:
    """Return ε, the advantage granted to people for their cost, by kind of annotator: expert, skilled or crowd.

    Calderon et al. (2025) recommend .2, .15 and .1. `InvalidData` for another kind.

    >>> epsilon_of("skilled")
    0.15
    """
    if kind not in EPSILON:
        raise InvalidData(
            f"a kind of annotator must be one of {', '.join(EPSILON)}, got {kind!r}: or give ε as a number"
        )
    return EPSILON[kind]


def alternative_annotator_test(
    model: Labels,
    humans: Mapping[str, Labels],
    *,
    epsilon: float,
    scoring: Scoring = "accuracy",
    q: float = 0.05,
    min_instances: int = 30,
    min_humans: int = 2,
) -> AlternativeAnnotator:
    """Test whether the model's labels may replace each person's: `model` and each of `humans` map instance → label.

    Labels that are None or nan, and instances without a label of the model or with fewer than `min_humans` people, are
    left out; people with fewer than `min_instances` are skipped. `scoring`: "accuracy" (share of the others who agree),
    "neg_rmse" (minus root mean square difference, for numbers), or a function of one label and the others'. Undefined
    with nobody left. `InvalidData`: ε or q outside 0..1, an unknown scoring, `min_humans` below 2, a label that is not
    a number under "neg_rmse".

    With no difference anywhere and ε = .2 every H0 falls, and ω = ρ = 1 (as in the authors' code):

    >>> labels = {i: i % 2 for i in range(40)}
    >>> outcome = alternative_annotator_test(labels, {"a": labels, "b": labels, "c": labels}, epsilon=0.2)
    >>> outcome.winning_rate, outcome.advantage_probability, outcome.passes
    (1.0, 1.0, True)
    """
    _check(epsilon, q, min_instances, min_humans)
    _check_labels(model, humans)
    score = _scorer(scoring)
    held = _eligible(model, humans, min_humans)
    compared: list[tuple[str, NDArray[np.float64], NDArray[np.float64]]] = []
    skipped: dict[str, int] = {}
    for name in sorted(humans):
        own = [people for people in held.values() if name in people[1]]
        if len(own) < max(min_instances, 1):
            skipped[name] = len(own)
            continue
        wins, keeps = zip(*(_compare(label, people, name, score) for label, people in own), strict=True)
        compared.append((name, np.array(wins, dtype=np.float64), np.array(keeps, dtype=np.float64)))
    if not compared:
        no = Undefined(
            f"no annotator has {min_instances} instances that at least {min_humans} people and the model rated"
        )
        return AlternativeAnnotator(no, no, (), MappingProxyType(skipped), epsilon, q)
    p_values = [_t_test(keeps - wins, epsilon) for _, wins, keeps in compared]
    falls = _rejections(p_values, q)
    annotators = tuple(
        LeftOut(
            annotator=name, n=len(wins), rho_model=float(wins.mean()), rho_human=float(keeps.mean()),
            mean_difference=float((keeps - wins).mean()), p_value=p, rejected=fall,
        )
        for (name, wins, keeps), p, fall in zip(compared, p_values, falls, strict=True)
    )  # fmt: skip
    return AlternativeAnnotator(
        winning_rate=sum(falls) / len(falls),
        advantage_probability=fsum(one.rho_model for one in annotators) / len(annotators),
        annotators=annotators, skipped=MappingProxyType(skipped), epsilon=epsilon, q=q,
    )  # fmt: skip


def _check_labels(model: Labels, humans: Mapping[str, Labels]) -> None:
    tables = [model, *(humans.values() if isinstance(humans, Mapping) else [None])]
    if not all(isinstance(table, Mapping) for table in tables):
        raise InvalidData("the labels of the model and of each person map instance to label: give dictionaries")


def _eligible(
    model: Labels, humans: Mapping[str, Labels], min_humans: int
) -> dict[Hashable, tuple[Any, dict[str, Any]]]:
    """Return instance → (label of the model, label of each person), where there are enough of them."""
    known = {instance: label for instance, label in model.items() if not is_missing(label)}
    people: dict[Hashable, dict[str, Any]] = {}
    for name in sorted(humans):
        for instance, label in humans[name].items():
            if instance in known and not is_missing(label):
                people.setdefault(instance, {})[name] = label
    return {i: (known[i], own) for i, own in people.items() if len(own) >= min_humans}


def _compare(
    label: Any, people: Mapping[str, Any], left_out: str, score: Callable[[Any, Sequence[Any]], float]
) -> tuple[bool, bool]:
    """Return (model at least as good, person at least as good) on one instance; scores equal but for rounding tie."""
    others = [other for name, other in people.items() if name != left_out]
    of_model, of_human = score(label, others), score(people[left_out], others)
    tie = abs(of_model - of_human) <= 1e-12 * max(1.0, abs(of_model), abs(of_human))
    return tie or of_model > of_human, tie or of_human > of_model


def _t_test(difference: NDArray[np.float64], epsilon: float) -> float | None:
    """Return the p of H0: mean ≥ ε against below, from whole differences −1, 0 and 1."""
    from scipy.special import stdtr

    n, total, squares = len(difference), float(difference.sum()), float((difference**2).sum())  # whole, so exact
    if n < 2:
        return None
    gap, variance = total / n - epsilon, (squares - total**2 / n) / (n - 1)
    if abs(total) == n or squares == 0:
        return None if abs(gap) <= 1e-12 else float(gap > 0)
    return float(stdtr(n - 1, gap / np.sqrt(variance / n)))


def _rejections(p_values: Sequence[float | None], q: float) -> list[bool]:
    """Return which H0 fall by Benjamini and Yekutieli (i/m · q/H_m, with ≤); a test without p never does."""
    from calibrate.stats.multiplicity import rejected_by_benjamini_yekutieli

    return list(rejected_by_benjamini_yekutieli([1.0 if p is None else p for p in p_values], q))  # it counts in m


def _scorer(scoring: Scoring) -> Callable[[Any, Sequence[Any]], float]:
    if callable(scoring):
        return lambda label, others: float(scoring(label, others))
    if scoring == "accuracy":
        return _accuracy
    if scoring == "neg_rmse":
        return _neg_rmse
    raise InvalidData(f"scoring must be accuracy, neg_rmse or a function, got {scoring!r}: choose one of them")


def _accuracy(label: Any, others: Sequence[Any]) -> float:
    return float(np.mean([bool(label == other) for other in others]))


def _neg_rmse(label: Any, others: Sequence[Any]) -> float:
    try:
        distances = [float(label) - float(other) for other in others]
    except (TypeError, ValueError) as error:
        raise InvalidData(f"neg_rmse needs numbers, got {label!r} and {list(others)!r}: use accuracy") from error
    if not np.isfinite(distances).all():
        raise InvalidData(f"neg_rmse needs finite numbers, got {label!r} and {list(others)!r}: mark them missing")
    return -float(np.sqrt(np.mean(np.square(distances))))


def _check(epsilon: float, q: float, min_instances: int, min_humans: int) -> None:
    check_number(epsilon, "ε")
    check_number(q, "q")
    check_count(min_humans, "min_humans", 0)
    check_count(min_instances, "min_instances", 0)
    if not (0 <= epsilon <= 1 and 0 < q < 1):
        raise InvalidData(f"ε must lie in 0..1 and q between 0 and 1, got {epsilon!r} and {q!r}: use .2 and .05")
    if min_humans < 2 or min_instances < 1:
        raise InvalidData(
            f"at least 2 people and 1 instance are needed to leave one out, got {min_humans!r} and {min_instances!r}:"
            " raise them"
        )
