"""Realism in the report: Turing test and Likert scores by judge and strategy, behaviour beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from calibrate.estimate import Estimate
from calibrate.realism.likert import LikertResult, likert
from calibrate.realism.turing import TuringResult, judges_share, score_pairs, turing
from calibrate.report import figures
from calibrate.report.behaviour import behaviour_blocks
from calibrate.report.context import Context, banded, joined, scaled, task_label
from calibrate.report.document import Block, Heading, Note, Paragraph, Section, Table
from calibrate.report.wording import capital, counted, number

# Strategies known to differ from people, in the order in which they serve as control of assay sensitivity.
CONTROLS = ("shuffled", "zero_shot", "zero_shot_cot")
PEOPLE = "human readers"


@dataclass(frozen=True)
class Told:
    """What one model judge could tell about one strategy's twins of a task."""

    task: str
    strategy: str
    judge: str
    result: TuringResult
    incomplete: int
    exercise: bool

    @property
    def right(self) -> Estimate:
        """The share of right verdicts in percent; 50 is guessing."""
        return scaled(self.result.right, 100, "%")

    @property
    def label(self) -> str:
        """Strategy and judge."""
        return f"{self.name}, {self.detail}"

    @property
    def name(self) -> str:
        """Whose twins."""
        return f"twins, {self.strategy}"

    @property
    def detail(self) -> str:
        """Who read them."""
        return f"read by {self.judge}"


@dataclass(frozen=True)
class TaskRealism:
    """Realism of the twins of one task."""

    context: Context
    task: str
    told: tuple[Told, ...]

    @cached_property
    def shown(self) -> Told | None:
        """The result on the card: the first judge on the main strategy; None where no pair was judged."""
        main = self.context.main_strategy(self.task)
        return next((t for t in self.told if t.strategy == main), self.told[0] if self.told else None)


def told_apart(context: Context) -> list[TaskRealism]:
    """Return what every model judge could tell, for every task that has twins."""
    tasks = [task for task in context.frames.tasks() if context.frames.strategies(task)]
    return [TaskRealism(context, task, tuple(_told(context, task))) for task in tasks]


def _told(context: Context, task: str) -> Iterator[Told]:
    for judge in context.judges("turing"):
        shown = {s: _pairs(context, task, s, "model", judge) for s in context.frames.strategies(task)}
        shown = {strategy: rows for strategy, rows in shown.items() if len(rows)}
        scored = {strategy: _score(rows) for strategy, rows in shown.items()}
        margin = context.config.report.equivalence_margin_points / 100
        for strategy, (verdicts, person, incomplete) in scored.items():
            control = next((scored[name] for name in CONTROLS if name in scored and name != strategy), None)
            able = None if control is None else turing(control[0], control[1], margin=margin).right
            result = turing(verdicts, person, margin=margin, control=able)
            exercise = context.exercise_judge(judge) or context.exercise_twins
            yield Told(task, strategy, judge, result, incomplete, exercise)


def _pairs(context: Context, task: str, strategy: str, kind: str, judge: str | None = None) -> pd.DataFrame:
    """Return the shown pairs of a strategy's twins by one judge (or by people), with the human's `person`."""
    pairs = context.frames.pairs
    rows = pairs[
        (pairs["rater_kind"] == kind) & pairs["twin"].isin(set(context.twins(task, strategy)["conversation"]))
    ]
    if judge is not None:
        rows = rows[rows["model"] == judge]
    people = context.frames.by_conversation["participant"]
    return rows.assign(person=rows["human"].map(people)).dropna(subset=["person"])


def _score(rows: pd.DataFrame) -> tuple[Any, np.ndarray[Any, Any], int]:
    """Return verdicts and person of the pairs shown in both orders, and how many were shown in one only.

    Where a pair was shown in one order more than once, the last verdict stands.
    """
    picks, places, sure, person = [], [], [], []
    incomplete = 0
    for _, pair in rows.groupby(["human", "twin"], sort=False):
        runs = {place: pair[pair["position"] == place] for place in (1, 2)}
        if not all(len(run) for run in runs.values()):
            incomplete += 1
            continue
        last = [runs[place].iloc[-1] for place in (1, 2)]
        picks.append([_known(run["picked"]) for run in last])
        places.append([1, 2])
        sure.append([_known(run["confidence"]) for run in last])
        person.append(str(last[0]["person"]))
    return score_pairs(picks, places, sure), np.array(person, dtype=object), incomplete


def _known(value: Any) -> Any:
    return None if pd.isna(value) else value


def realism_section(parts: list[TaskRealism]) -> Section:
    """Return the section on realism."""
    blocks: list[Block] = [
        Paragraph(
            "Can a reader tell twins from people? A judge sees a person's conversation and its twin, twice "
            "with the order swapped, and says which user is the person. 50 % right is guessing. A judge "
            "that is often right can tell; a judge that is not may be unable to read closely, so a share "
            "near 50 % alone is no praise."
        )
    ]
    for part in parts:
        blocks.append(Heading(capital(task_label(part.task))))
        blocks += banded(part.context.exercise_twins, behaviour_blocks(part.context, part.task))
        for exercise in (False, True):
            chosen = [told for told in part.told if told.exercise == exercise]
            blocks += banded(exercise, _turing_blocks(part, chosen) if chosen else [])
        blocks += _people_blocks(part)
        blocks += _likert_blocks(part)
    if not parts:
        blocks = [Paragraph("There are no simulated conversations yet, so realism cannot be measured.")]
    elif not any(part.told for part in parts):
        blocks.append(Paragraph("No model has judged a pair of conversations yet."))
    return Section("Can readers tell them apart?", joined(blocks))


def _turing_blocks(part: TaskRealism, chosen: list[Told]) -> list[Block]:
    task = task_label(part.task)
    margin = part.context.config.report.equivalence_margin_points
    kind = "exercise" if chosen[0].exercise else "study"
    forest = figures.forest(
        f"turing-{part.task}-{kind}",
        [figures.Row(told.name, told.right, detail=told.detail) for told in chosen],
        x_label="Judge found the person, % of pairs",
        limits=(-3, 103),
        reference=50,
        reference_label="guessing",
        margin=margin,
        caption=f"Turing test. Bars: 95 % intervals; grey: within {margin:g} points of guessing.",
        place=task,
    )
    first = Table(
        "Turing test: how often the judge found the person",
        (
            "Twins and judge",
            "Right",
            "Right, had the judge no favourite position",
            f"Within {margin:g} points of 50 %?",
        ),
        tuple((t.label, t.right, scaled(t.result.position_free, 100, "%"), _equivalence(t)) for t in chosen),
    )
    second = Table(
        "Turing test: distance from guessing, ties, and the judge's habit",
        ("Twins and judge", "|p − 50|", "Ties", "Same position named twice"),
        tuple(
            (
                t.label,
                t.result.deviation,
                scaled(t.result.ties, 100, "%"),
                scaled(t.result.position_disagreement, 100, "%"),
            )
            for t in chosen
        ),
    )
    remarks = [remark for told in chosen for remark in _remarks(told)]
    return [forest, first, second, Note(tuple(dict.fromkeys(remarks)))]


def _equivalence(told: Told) -> str:
    """Say whether the share is shown to lie within the margin of guessing."""
    result = told.result
    if result.equivalent:
        return "yes, shown"
    if result.equivalent is None:
        return f"not claimed: {result.not_claimed}"
    return f"not shown; with perfect twins it would take about {result.needed_pairs:,} pairs"


def _remarks(told: Told) -> Iterator[str]:
    result, extra = told.result, told.result.deviation.extra
    if result.deviation.defined:
        expected, limit = (float(extra[key] or 0) for key in ("expected_when_guessing", "q95_when_guessing"))
        yield (
            f"|p − 50| is biased upward: on {counted(result.verdicts.scored, 'pair')} a judge that guesses "
            f"shows {number(expected, 1)} points on average, and up to {number(limit, 1)} in 95 of 100 "
            "studies."
        )
    if result.verdicts.missing or told.incomplete:
        yield (
            f"{counted(result.verdicts.missing, 'pair')} left out for an unreadable verdict, "
            f"{told.incomplete:,} shown in one order only ({told.label})."
        )


def _people_blocks(part: TaskRealism) -> list[Block]:
    rows = []
    for strategy in part.context.frames.strategies(part.task):
        shown = _pairs(part.context, part.task, strategy, "human").dropna(subset=["picked", "position"])
        if len(shown):
            right = (shown["picked"] == shown["position"]).to_numpy(np.float64)
            share = judges_share(right, shown["twin"].astype(str), shown["rater"].astype(str))
            rows.append((f"twins, {strategy}, read by {PEOPLE}", scaled(share, 100, "%")))
    if not rows:
        return []
    caption = "Turing test: how often human readers found the person"
    return banded(part.context.exercise_twins, [Table(caption, ("Twins and readers", "Right"), tuple(rows))])


def _likert_blocks(part: TaskRealism) -> list[Block]:
    context, blocks = part.context, list[Block]()
    for scale in [name for name in context.frames.scales if name.startswith("likert_")]:
        for exercise in (False, True):
            rows, missing = [], list[str]()
            for strategy, judge, result in _likert(context, part.task, scale):
                if (context.exercise_judge(judge) or context.exercise_twins) == exercise:
                    label = f"{strategy}, scored by {judge}"
                    rows.append((label, result.human, result.twin, result.difference))
                    missing += _unscored(result, label)
            if rows:
                name = f"How human the user looks, {scale.removeprefix('likert_').replace('_', ' ')} style"
                table = Table(name, ("Twins and judge", "People", "Twins", "Twin − own person"), tuple(rows))
                notes: list[Block] = [Note(tuple(missing))] if missing else []
                blocks += banded(exercise, [table, *notes])
    return blocks


def _likert(context: Context, task: str, scale: str) -> Iterator[tuple[str, str, LikertResult]]:
    humans = context.human(task).set_index("conversation")["participant"]
    for judge in context.judges(scale):
        own = context.frames.model_ratings(scale, judge, None)
        for strategy in context.frames.strategies(task):
            twin = context.frames.model_ratings(scale, judge, strategy)
            pairs = humans[humans.index.isin(set(context.twins(task, strategy)["twin_of"]))]
            scores = twin.reindex(pairs.index)
            if scores.notna().any():
                yield strategy, judge, likert(scores, own.reindex(pairs.index), pairs.astype(str))


def _unscored(result: LikertResult, label: str) -> list[str]:
    if not (result.missing_twin or result.missing_human):
        return []
    return [f"{label}: {result.missing_twin:,} twins and {result.missing_human:,} people without a score."]
