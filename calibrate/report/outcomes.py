"""Outcome in the report: does the twin end where its person did?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from calibrate.estimate import Estimate
from calibrate.metric import Metric, average, estimate
from calibrate.outcome import outcome_agreement
from calibrate.report.aligning import TaskAlignment
from calibrate.report.context import Context, banded, joined, scaled, task_label
from calibrate.report.document import Block, Cell, Note, Paragraph, Section, Table
from calibrate.report.ratings import TARGET
from calibrate.report.wording import counted

CORRECT, DOCUMENT = "correct", "document"
RATE_HUMAN = Metric("outcome.correct, people", "proportion", average)
RATE_TWIN = Metric("outcome.correct, twins", "proportion", average)


def outcome_section(context: Context, parts: list[TaskAlignment]) -> Section | None:
    """Return the section on outcomes, answers and documents; None where no task of the study has one."""
    blocks: list[Block] = []
    for task in context.frames.tasks():
        blocks += _task_blocks(context, task)
    for part in parts:
        blocks += _document_blocks(part)
    if not blocks:
        return None
    lead = Paragraph(
        "Does the twin end where its person did? For answers, macro-F1 is the mean of F1 over correct and "
        "incorrect; 1 is the same outcome every time, and an unknown outcome counts as incorrect. For "
        "documents, the rating of the twin's document against the person's rating of their own."
    )
    return Section("Do they reach the same result?", (lead, *joined(blocks)))


def _document_blocks(part: TaskAlignment) -> list[Block]:
    """Correlate ratings of documents by conversation, human ratings relative to their raters."""
    if part.scale != DOCUMENT:
        return []
    blocks: list[Block] = []
    for exercise in (False, True):
        rows = tuple(
            (p.label, p.alignment.get("instance", "pearson"), p.alignment.get("instance", "spearman"))
            for p in part.predictors
            if p.kind == "twins" and p.exercise == exercise
        )
        if rows:
            caption = f"Rating of the twin's document and of the person's, {task_label(part.task)}"
            blocks += banded(
                exercise, [Table(caption, ("Twins and judge", "Pearson's r", "Spearman's ρ"), rows)]
            )
    return blocks


def _task_blocks(context: Context, task: str) -> list[Block]:
    human = context.human(task)
    known = human[human["correct"].notna()]
    if not len(known):
        return []
    rate = _share(RATE_HUMAN, known["correct"].to_numpy(dtype=bool), known["participant"])
    blocks: list[Block] = []
    matched = list(_matched(context, task))
    if not matched:
        caption = f"How often people reached the correct result, {task_label(task)}"
        blocks.append(Table(caption, ("", "Correct"), (("People", rate),)))
    for exercise in (False, True):
        rows, notes = [], list[str]()
        for strategy, judge, pairs, missing in matched:
            if (context.exercise_twins or context.exercise_judge(judge)) == exercise:
                rows.append(_row(context, task, strategy, judge, pairs))
                notes += _notes(f"{strategy}, {judge}", pairs, missing)
        if rows:
            caption = f"Outcome of {task_label(task)}: people and their twins"
            table = Table(
                caption,
                ("Twins, outcome found by", "Macro-F1", "People correct", "Twins correct"),
                tuple(rows),
            )
            blocks += banded(exercise, [table, *([Note(tuple(notes))] if notes else [])])
    return blocks


def _share(metric: Metric, values: np.ndarray[Any, Any], person: pd.Series[Any]) -> Estimate:
    made = estimate(metric, values.astype(float), cluster=person.astype(str).to_numpy(), target=TARGET)
    return scaled(made, 100, "%")


def _matched(context: Context, task: str) -> Iterator[tuple[str, str, pd.DataFrame, int]]:
    """Yield strategy, judge, twins with their own and their person's outcome, and how many of all lack one."""
    human = context.human(task).set_index("conversation")
    notes = context.frames.ratings
    notes = notes[(notes["scale"] == CORRECT) & notes["turn"].isna()]
    for strategy in context.frames.strategies(task):
        twins = context.twins(task, strategy)[["conversation", "twin_of"]]
        rows = notes.merge(twins, on="conversation").drop_duplicates(["conversation", "model"], keep="last")
        rows = rows.assign(
            truth=rows["twin_of"].map(human["correct"]), person=rows["twin_of"].map(human["participant"])
        )
        for judge, own in rows.groupby(rows["model"].fillna("people"), sort=False):
            complete = own[own["value"].notna() & own["truth"].notna()]
            yield strategy, str(judge), complete, len(twins) - len(complete)


def _row(context: Context, task: str, strategy: str, judge: str, pairs: pd.DataFrame) -> tuple[Cell, ...]:
    truth = [CORRECT if value else "incorrect" for value in pairs["truth"]]
    said = [str(value) for value in pairs["value"]]
    agreement = outcome_agreement(
        truth,
        said,
        person=pairs["person"].astype(str).to_numpy(),
        resamples=context.resamples,
        rng=context.generator(f"outcome {task} {strategy} {judge}"),
    )
    once = pairs.drop_duplicates("twin_of")  # a conversation with several twins is one outcome of its person
    people = _share(RATE_HUMAN, once["truth"].to_numpy(dtype=bool), once["person"])
    twins = _share(RATE_TWIN, np.array([value == CORRECT for value in said], dtype=bool), pairs["person"])
    return (f"{strategy}, {judge}", agreement, people, twins)


def _notes(label: str, pairs: pd.DataFrame, missing: int) -> list[str]:
    unknown = int((pairs["value"] == "unknown").sum())
    said = (
        [f"{counted(unknown, 'twin')} with an unknown outcome, counted as incorrect ({label})."]
        if unknown
        else []
    )
    if missing:
        said.append(f"{counted(missing, 'twin')} left out, its outcome or its person's is missing ({label}).")
    return said
