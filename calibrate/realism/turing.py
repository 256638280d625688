"""Turing test: a judge sees a human and a simulated conversation of one item, twice with the order swapped.

A pair's verdict: where both runs name the same conversation, that one; where they name the same position, the
run with strictly higher confidence decides; else (equal or missing confidence) a tie. A tie counts one half
in the share, is left out of the exact test, and is counted. A run without a valid choice takes its pair out,
and is counted.

One judge at a time: judges are reported singly, never pooled as if independent. The share of right verdicts
comes first, with its sign; its distance from one half is biased upward and stands second, beside what a
perfect simulator would show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InputError
from calibrate.estimate import Estimate, Undefined
from calibrate.metric import Metric, average, estimate
from calibrate.stats.cluster_means import ClusterMean, cluster_mean
from calibrate.stats.intervals import binomial_test, equivalence_binomial, equivalence_n, t_quantile
from calibrate.stats.resample import cluster_codes

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

RIGHT = Metric("turing.right", "proportion", average, symbol="judge right")
TIES = Metric("turing.ties", "proportion", average, symbol="ties")
POSITION = Metric("turing.position_disagreement", "proportion", average, symbol="same position twice")

MARGIN = 0.10
STRICT_MARGIN = 0.056
ASSAY_BOUND = 0.60
TARGET = "fresh people and pairs, this judge and prompt"
CHANCE = 0.5
NO_PAIRS = "no scored pairs"


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The verdict on each scored pair, and how it came about; arrays have one entry a scored pair.

    `score` is 1 where the judge is right, 0 where wrong, .5 for a tie. `right_by_position` has shape (pair,
    position): whether the run was right that had the human in the first and in the second of `positions`.
    `kept` marks, among all pairs given, those that are scored.
    """

    score: FloatArray
    right_by_position: BoolArray
    same_position: BoolArray
    kept: BoolArray
    positions: tuple[Any, ...]

    @property
    def pairs(self) -> int:
        """How many pairs were given."""
        return len(self.kept)

    @property
    def scored(self) -> int:
        """How many have a verdict or a tie."""
        return len(self.score)

    @property
    def missing(self) -> int:
        """How many were left out because a run has no valid choice."""
        return self.pairs - self.scored

    @property
    def tied(self) -> int:
        """How many are undecided."""
        return int((self.score == CHANCE).sum())

    @property
    def right(self) -> int:
        """How many times the judge found the human."""
        return int((self.score == 1.0).sum())


def score_pairs(
    pick: Sequence[Sequence[Any]], human_position: Sequence[Sequence[Any]], confidence: Sequence[Sequence[Any]]
) -> Verdicts:
    """Return the verdict of each pair from its two runs.

    Args:
        pick: the position named, shape (pair, run = 2); anything that is not a position (None, "tie") is no
            valid choice.
        human_position: where the human stood, same shape; the two runs of a pair must differ.
        confidence: a number or None, same shape.

    Raises:
        InputError: a pair whose runs do not swap the order, or that has not two runs; more than two
        positions.
    """
    where = _two_runs(human_position, "human_position")
    picked, stated = _two_runs(pick, "pick"), _two_runs(confidence, "confidence")
    if not len(where) == len(picked) == len(stated):
        raise InputError("turing: pick, human_position and confidence must have one row a pair. Export them together.")
    for number, (first, second) in enumerate(where, start=1):
        if first is None or second is None:
            raise InputError(f"turing: pair {number} does not say where the human stood. Export human_position again.")
        if first == second:
            raise InputError(
                f"turing: pair {number} has the human at '{first}' twice. Runs must swap the order: judge it again."
            )
    positions = tuple(sorted({place for row in where for place in row}, key=str))
    if len(positions) > 2:
        named = ", ".join(map(str, positions))
        raise InputError(f"turing: there are {len(positions)} positions ({named}), but a pair has two. Rename them.")
    kept = np.array([all(choice in positions for choice in row) for row in picked], dtype=bool)
    rows = [index for index in range(len(where)) if kept[index]]
    right = np.array([[picked[i][r] == where[i][r] for r in (0, 1)] for i in rows], dtype=bool).reshape(-1, 2)
    sure = np.array([[_confidence(stated[i][r]) for r in (0, 1)] for i in rows]).reshape(-1, 2)
    human_second = np.array([where[i][0] == positions[1] for i in rows], dtype=bool)
    return Verdicts(
        score=_verdict(right, sure),
        right_by_position=np.where(human_second[:, None], right[:, ::-1], right),
        same_position=right[:, 0] != right[:, 1],  # the order is swapped, so one right and one wrong name one position
        kept=kept,
        positions=positions,
    )


def _two_runs(table: Sequence[Sequence[Any]], name: str) -> list[list[Any]]:
    rows = [list(row) for row in table]
    for number, row in enumerate(rows, start=1):
        if len(row) != 2:
            raise InputError(f"turing: pair {number} has {len(row)} values of {name}. Each pair is judged in two runs.")
    return rows


def _confidence(value: Any) -> float:
    try:
        return np.nan if value is None else float(value)
    except (TypeError, ValueError):
        raise InputError(f"turing: confidence '{value}' is not a number. Leave a missing one empty.") from None


def _verdict(right: BoolArray, sure: FloatArray) -> FloatArray:
    """Return 1, 0 or .5 for each pair; comparisons with a missing (nan) confidence are false and leave a tie."""
    agreed = right[:, 0] == right[:, 1]
    decided = np.where(sure[:, 0] > sure[:, 1], right[:, 0], right[:, 1]).astype(np.float64)
    clear = (sure[:, 0] > sure[:, 1]) | (sure[:, 1] > sure[:, 0])
    return np.where(agreed, right[:, 0].astype(np.float64), np.where(clear, decided, CHANCE))


@dataclass(frozen=True, slots=True)
class TuringResult:
    """What one judge could tell, as estimates; shares from 0 to 1, deviations in percentage points.

    `right` carries the test against one half as its p. `equivalence` is the share with a 90 % interval and
    the p of two one-sided tests. `equivalent` says whether the simulator may be called indistinguishable;
    None where `not_claimed` says why nothing may be claimed.
    """

    right: Estimate
    deviation: Estimate
    position_free: Estimate
    ties: Estimate
    position_disagreement: Estimate
    equivalence: Estimate
    equivalent: bool | None
    not_claimed: str | None
    verdicts: Verdicts
    needed_pairs: int
    needed_pairs_strict: int


def turing(
    verdicts: Verdicts,
    person: ArrayLike | None = None,
    *,
    margin: float = MARGIN,
    control: Estimate | None = None,
    level: float = 0.95,
) -> TuringResult:
    """Return what one judge's verdicts say.

    Args:
        verdicts: from `score_pairs`, of one judge with one prompt.
        person: the human of each pair given (also of those not scored); each pair its own where it is not
            given.
        margin: the share must lie within it of one half to be called equivalent; fix it before looking.
        control: `right` of the same judge and prompt on twins known to differ (shuffled, zero-shot).
            Equivalence is claimed only where its lower bound is above .60: a judge who finds nothing anywhere
            proves nothing.
    """
    score = verdicts.score
    people = np.arange(len(score)) if person is None else _people(person, verdicts)
    spread = cluster_mean(score, people)
    right = _right(verdicts, people, spread, level)
    effect = max(1.0, spread.design_effect) if isinstance(spread, ClusterMean) else 1.0
    common: dict[str, Any] = {"cluster": people, "level": level, "target": TARGET}
    equivalence = _equivalence(verdicts, people, spread, margin)
    equivalent, not_claimed = _claim(equivalence, control)
    return TuringResult(
        right=right,
        deviation=_deviation(right, verdicts.scored, effect),
        position_free=_position_free(verdicts, people, level),
        ties=estimate(TIES, score == CHANCE, **common),
        position_disagreement=estimate(POSITION, verdicts.same_position, **common),
        equivalence=equivalence,
        equivalent=equivalent,
        not_claimed=not_claimed,
        verdicts=verdicts,
        needed_pairs=equivalence_n(margin, design_effect=effect),
        needed_pairs_strict=equivalence_n(STRICT_MARGIN, design_effect=effect),
    )


def _people(person: ArrayLike, verdicts: Verdicts) -> NDArray[Any]:
    """Return the person of each scored pair."""
    labels = np.asarray(person)
    if labels.shape != (verdicts.pairs,):
        raise InputError(f"turing: {len(labels)} people for {verdicts.pairs} pairs. Give one person a pair.")
    return labels[verdicts.kept]


def _right(verdicts: Verdicts, people: NDArray[Any], spread: ClusterMean | Undefined, level: float) -> Estimate:
    """Return the share of right verdicts: exact binomial test where each person gives one pair, else t over people.

    Where all verdicts are alike there is no t: the test is exact, as if each person gave one pair.
    """
    made = estimate(RIGHT, verdicts.score, cluster=people, level=level, target=TARGET)
    counts = {"pairs": verdicts.pairs, "missing": verdicts.missing, "tied": verdicts.tied, "right": verdicts.right}
    if not made.defined:
        return made.model_copy(update={"reason": NO_PAIRS, "extra": {**made.extra, **counts}})
    p: float | Undefined
    if _one_pair_each(people):
        decided = verdicts.scored - verdicts.tied
        p, test = binomial_test(verdicts.right, decided), f"exact binomial, {decided} decided pairs"
    elif isinstance(spread, ClusterMean):
        p, test = spread.p_value(CHANCE), f"t over people, {spread.df} df"
    elif made.value in (0.0, 1.0):
        given = cluster_codes(people)[1]
        p = binomial_test(int(made.value) * given, given)
        test = f"exact binomial, {given} people as if of one pair each"
    else:
        p, test = spread, ""
    test = f"none: {p.reason}" if isinstance(p, Undefined) else test
    update = {"extra": {**made.extra, **counts, "test": test}, "p_value": None if isinstance(p, Undefined) else p}
    return made.model_copy(update=update)


def _one_pair_each(people: NDArray[Any]) -> bool:
    return len(people) > 0 and cluster_codes(people)[1] == len(people)


def null_deviation(n: int) -> tuple[float, float]:
    """Return mean and 95 % quantile of |p − 50| in points when the judge guesses on n independent pairs.

    Exact, from the binomial: 5.61 and 12.75 at n = 51, 1.86 and 4.47 at n = 459. Zero is never to be
    expected.
    """
    if n < 1:
        raise ValueError(f"at least one pair is needed, got {n}")
    from scipy.stats import binom

    counts = np.arange(n + 1)
    points = np.abs(2 * counts - n) * (50.0 / n)
    chance = binom.pmf(counts, n, CHANCE)
    order = np.argsort(points, kind="stable")
    upto = np.cumsum(chance[order])
    return float(points @ chance), float(points[order][np.searchsorted(upto, 0.95 - 1e-12)])


def _deviation(right: Estimate, n: int, effect: float) -> Estimate:
    """Return |p − 50| in points with the folded interval, and what a judge who guesses would show."""
    name, unit = "turing.deviation", "points"
    if right.value is None:
        return Estimate.undefined(name, NO_PAIRS, n=n, unit=unit)
    expected, q95 = null_deviation(n)
    limits = right.interval
    interval: dict[str, Any] = {"interval_reason": right.interval_reason}
    if limits is not None:
        ends = sorted(100.0 * abs(bound - CHANCE) for bound in (limits.low, limits.high))
        interval = {"low": 0.0 if limits.low <= CHANCE <= limits.high else ends[0], "high": ends[1]}
    return Estimate(
        name=name,
        value=100.0 * abs(right.value - CHANCE),
        unit=unit,
        n=n,
        clusters=right.clusters,
        level=right.level,
        target=right.target,
        method=f"interval of the share, folded at one half ({right.method})",
        extra={
            "symbol": "|p − 50|",
            "expected_when_guessing": expected * float(np.sqrt(effect)),
            "q95_when_guessing": q95 * float(np.sqrt(effect)),
            "design_effect": effect,
            "note": "biased upward: a perfect simulator does not show 0",
        },
        **interval,
    )


def _position_free(verdicts: Verdicts, people: NDArray[Any], level: float) -> Estimate:
    """Return Φ((Φ⁻¹p_L + Φ⁻¹p_R)/2): the share right of a judge as able who favours no position.

    p_L and p_R are the shares right with the human in the one and the other position. A judge who mostly
    names one position is right about half the time whatever there is to see. A share of 0 or 1 is moved in:
    (x + ½)/(n + 1) on both sides. Interval by the delta method over people.
    """
    from scipy.special import ndtr, ndtri

    name, n = "turing.position_free", verdicts.scored
    common: dict[str, Any] = {"n": n, "clusters": cluster_codes(people)[1], "level": level, "target": TARGET}
    if n == 0:
        return Estimate.undefined(name, NO_PAIRS, **common)
    hits = verdicts.right_by_position.sum(axis=0)
    extreme = bool(((hits == 0) | (hits == n)).any())
    shares = (hits + 0.5) / (n + 1.0) if extreme else hits / n
    scores = ndtri(shares)
    centre = float(scores.mean())
    density = np.exp(-(scores**2) / 2.0) / np.sqrt(2.0 * np.pi)
    influence = ((verdicts.right_by_position - hits / n) / density).mean(axis=1)
    spread = cluster_mean(centre + influence, people)
    interval: dict[str, Any] = {"interval_reason": spread.reason} if isinstance(spread, Undefined) else {}
    if isinstance(spread, ClusterMean):
        reach = t_quantile(level, spread.df) * spread.se
        interval = {"low": float(ndtr(centre - reach)), "high": float(ndtr(centre + reach))}
    return Estimate(
        name=name,
        value=float(ndtr(centre)),
        method="Φ of the mean Φ⁻¹ of both positions, delta method over people"
        + (", shares moved in from 0 or 1" if extreme else ""),
        extra={
            "symbol": "judge right, no favourite position",
            "share_right_first_position": float(hits[0] / n),
            "share_right_second_position": float(hits[1] / n),
        },
        **common,
        **interval,
    )


def _equivalence(verdicts: Verdicts, people: NDArray[Any], spread: ClusterMean | Undefined, margin: float) -> Estimate:
    """Return the share with its 90 % interval and the p of two one-sided tests against one half ± margin."""
    made = estimate(RIGHT, verdicts.score, cluster=people, level=0.90, target=TARGET)
    name, extra = "turing.equivalence", {**made.extra, "margin": margin}
    if not made.defined:
        return made.model_copy(update={"name": name, "reason": NO_PAIRS, "extra": extra})
    p: float | Undefined
    if _one_pair_each(people) and verdicts.tied == 0:
        p, test = equivalence_binomial(verdicts.right, verdicts.scored, margin, CHANCE), "exact binomial"
    elif isinstance(spread, Undefined):
        p, test = spread, ""
    else:
        p, test = spread.equivalence_p(CHANCE, margin), f"t over people, {spread.df} df"
    extra["test"] = f"none: {p.reason}" if isinstance(p, Undefined) else f"two one-sided tests, {test}"
    p_value = None if isinstance(p, Undefined) else p
    return made.model_copy(update={"name": name, "p_value": p_value, "extra": extra})


def _claim(equivalence: Estimate, control: Estimate | None) -> tuple[bool | None, str | None]:
    """Return whether equivalence is shown, or None and why it may not be claimed either way."""
    if equivalence.p_value is None:
        return None, equivalence.reason or "there is no test of equivalence on these verdicts"
    if equivalence.p_value >= 0.05:
        return False, None
    if control is None:
        return None, "assay sensitivity is not shown: judge known-different twins with the same judge and prompt"
    if control.low is None or control.low <= ASSAY_BOUND:
        bound = "no lower bound" if control.low is None else f"lower bound {control.low:.2f}"
        return (
            None,
            f"assay sensitivity is not shown: {bound} on known-different twins, above {ASSAY_BOUND:.2f} is needed",
        )
    return True, None


def judges_share(right: ArrayLike, pair: ArrayLike, judge: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Return the share of right verdicts of several human judges, variance V_pair + V_judge − V_cell.

    Args:
        right: 1, 0 or .5 (undecided), one a verdict.
        pair, judge: which pair was judged, and by whom.

    For models as judges use `turing` on each alone: their number is no sample of judges.
    """
    score = np.asarray(right, dtype=np.float64)
    name = "turing.judges_right"
    common: dict[str, Any] = {
        "n": len(score),
        "level": level,
        "target": "fresh pairs and fresh judges of the same kind",
    }
    if len(score) == 0:
        return Estimate.undefined(name, "no verdicts", **common)
    spread = cluster_mean(score, pair, judge)
    common["extra"] = {"pairs": cluster_codes(pair)[1], "judges": cluster_codes(judge)[1], "symbol": "judges right"}
    if isinstance(spread, Undefined):
        return Estimate(name=name, value=float(score.mean()), interval_reason=spread.reason, **common)
    limits = spread.limits(level)
    return Estimate(
        name=name,
        value=spread.value,
        low=max(0.0, limits.low),
        high=min(1.0, limits.high),
        clusters=spread.clusters,
        method=f"two-way clusters (pair, judge), t with {spread.df} df, cut at 0 and 1",
        p_value=spread.p_value(CHANCE),
        **common,
    )
