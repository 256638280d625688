"""Rating alignment in the report: a predictor that reads nothing, judges of human conversations, twins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd

from calibrate.alignment import Alignment, Coefficient, Level, align
from calibrate.estimate import Estimate
from calibrate.metric import Metric, average
from calibrate.report import figures
from calibrate.report.context import Context, banded, task_label
from calibrate.report.document import Block, Details, Figure, Heading, Note, Paragraph, Section, Table
from calibrate.report.ratings import (
    group_columns,
    human_frame,
    mean_by_person,
    mean_rating,
    rated_scales,
    scale_label,
    scale_remarks,
)
from calibrate.report.wording import capital

Kind = Literal["baseline", "judge", "twins"]
SECOND_PART = "_problem_2"
BASELINE = "length baseline: reads nothing"
MEAN_Z = Metric("human rating relative to the rater, mean", "mean", average)
MEAN_SIMULATED = Metric("simulated rating, mean", "mean", average)


@dataclass(frozen=True)
class Predictor:
    """One way of predicting human ratings, and how well it does."""

    kind: Kind
    name: str
    frame: pd.DataFrame
    alignment: Alignment
    exercise: bool
    judge: str | None = None
    strategy: str | None = None

    @property
    def detail(self) -> str:
        """Who rated; empty for the baseline."""
        return f"rated by {self.judge}" if self.judge else ""

    @property
    def label(self) -> str:
        """Name and rater in one text."""
        return f"{self.name}, {self.detail}" if self.judge else self.name

    @property
    def main(self) -> Estimate:
        """Spearman's ρ of group means, human ratings relative to their raters."""
        return self.alignment.get()

    @property
    def matched(self) -> pd.DataFrame:
        """The rows that both sides rated, with the human z-score."""
        rows = self.frame[self.frame["simulated"].notna()]
        return rows.assign(z=self.alignment.human_z)


@dataclass(frozen=True)
class TaskAlignment:
    """Alignment on one scale of one task, by every predictor there is."""

    context: Context
    task: str
    scale: str
    predictors: tuple[Predictor, ...]

    @cached_property
    def shown(self) -> Predictor:
        """The predictor on the card: twins of the main strategy, else the first judge, else the baseline."""
        strategy = self.context.main_strategy(self.task)
        ranked = [p for p in self.predictors if p.kind == "twins" and p.strategy == strategy]
        ranked += [p for p in self.predictors if p.kind == "judge"]
        return (ranked + list(self.predictors))[0]


def aligned(context: Context) -> list[TaskAlignment]:
    """Return the alignment of every predictor with every human scale of every task.

    Scales of a second part are left out: twins, and the words that are counted, are of the first.
    """
    return [
        TaskAlignment(context, task, scale, tuple(_predictors(context, task, scale)))
        for task in context.frames.tasks()
        for scale in rated_scales(context, task)
        if not scale.endswith(SECOND_PART)
    ]


def _predictors(context: Context, task: str, scale: str) -> Iterator[Predictor]:
    human = human_frame(context, task, scale)
    ratings = context.frames.ratings

    def predictor(
        kind: Kind,
        name: str,
        simulated: pd.Series[float],
        *,
        exercise: bool = False,
        judge: str | None = None,
        strategy: str | None = None,
    ) -> Predictor:
        frame = human.assign(simulated=human["conversation"].map(simulated).astype(float))
        # One generator for all predictors of a scale: those that say the same get the same interval.
        rng = context.generator(f"align {task} {scale}")
        found = align(frame, rng=rng, groups=group_columns(frame), resamples=context.resamples)
        return Predictor(kind, name, frame, found, exercise, judge, strategy)

    yield predictor("baseline", BASELINE, length_baseline(context, task))
    for judge in context.judges(scale):
        used = ratings[(ratings["scale"] == scale) & (ratings["model"] == judge)]
        seen = context.frames.conversations.merge(used[["conversation"]].drop_duplicates(), on="conversation")
        seen = seen[seen["task"] == task]
        weak = context.exercise_judge(judge)
        if (seen["origin"] == "human").any():
            values = context.frames.model_ratings(scale, judge, None)
            yield predictor("judge", "people's own conversations", values, exercise=weak, judge=judge)
        for strategy in [s for s in context.frames.strategies(task) if (seen["strategy"] == s).any()]:
            values = context.frames.model_ratings(scale, judge, strategy)
            shaky = weak or context.exercise_twins
            yield predictor(
                "twins", f"twins, {strategy}", values, exercise=shaky, judge=judge, strategy=strategy
            )


def length_baseline(context: Context, task: str) -> pd.Series[float]:
    """Return ln(words of the assistant's messages), standardised over a task's human conversations (ddof 1).

    A predictor of ratings that reads nothing. nan where the assistant said no word, or where nothing varies.
    """
    rows = context.human(task)
    words = rows["assistant_words"].to_numpy(np.float64)
    logs = np.log(np.where(words > 0, words, np.nan))
    known = np.sort(logs[~np.isnan(logs)])  # in one order, so that the last digit does not depend on it
    spread = float(known.std(ddof=1)) if len(known) > 1 else 0.0
    scores = (logs - known.mean()) / spread if spread > 0 else np.full(len(logs), np.nan)
    return pd.Series(scores, index=rows["conversation"].to_numpy())


def alignment_section(parts: list[TaskAlignment]) -> Section:
    """Return the section on rating alignment, task by task and scale by scale."""
    blocks: list[Block] = [
        Paragraph(
            "Do simulated ratings put assistants and kinds of item in the order in which people's ratings "
            "put them? Spearman's ρ between group means, people's ratings taken relative to each person's "
            "own mean and spread. 1 is the same order, 0 no relation, −1 the opposite order."
        )
    ]
    for part in parts:
        blocks += _part_blocks(part)
    if not parts:
        blocks = [Paragraph("Alignment needs human ratings of conversations, and there are none.")]
    return Section("Do ratings move together?", tuple(blocks))


def _part_blocks(part: TaskAlignment) -> list[Block]:
    label = f"{task_label(part.task)}, {scale_label(part.context.frames.scales[part.scale])}"
    made: list[Block] = [Heading(capital(label))]
    study = [p for p in part.predictors if not p.exercise]
    exercise = [p for p in part.predictors if p.exercise]
    if exercise and all(p.kind == "baseline" for p in study):
        made.append(_targets(study))  # its drawings come below, beside what it is to be compared with
    else:
        made += _predictor_blocks(part, study, study, label)
    if exercise:
        beside = [p for p in study if p.kind == "baseline"]
        made += banded(True, _predictor_blocks(part, exercise, [*beside, *exercise], label))
    return made


def _predictor_blocks(
    part: TaskAlignment, chosen: list[Predictor], drawn_in: list[Predictor], label: str
) -> list[Block]:
    key = f"{part.task}-{part.scale}-{'exercise' if chosen[0].exercise else 'study'}"
    rows = [figures.Row(p.name, p.main, simulated=p.kind == "twins", detail=p.detail) for p in drawn_in]
    forest = figures.forest(
        f"alignment-{key}",
        rows,
        x_label="Spearman's ρ between group means",
        limits=(-1.05, 1.05),
        reference=0,
        reference_label="no relation",
        caption="Bars: 95 % intervals for the same groups on fresh conversations. Hollow: twins; filled: "
        "predictors that see the person's own conversation.",
        place=label,
    )
    blocks: list[Block] = [forest, _targets(chosen)]
    drawn = part.shown if part.shown in chosen else chosen[-1]
    scatter = _scatter(drawn, f"scatter-{key}", label)
    if scatter is not None:
        blocks.append(scatter)
    blocks.append(Details("Other levels and coefficients", (_levels(chosen), _coefficients(chosen))))
    means = _group_means(part.context, drawn, part.task)
    blocks.append(Details("Group means behind the marks", (means,)))
    return blocks + list(_left_out(chosen))


def _targets(chosen: list[Predictor]) -> Table:
    return Table(
        "Spearman's ρ with human ratings, by what it speaks for",
        (
            "Predictor",
            "Same groups, fresh conversations",
            "Same groups, without rating noise",
            "New assistants",
        ),
        tuple(
            (
                p.label,
                p.main,
                p.alignment.get(target="noise_free"),
                p.alignment.get(target="new_assistants"),
            )
            for p in chosen
        ),
    )


def _levels(chosen: list[Predictor]) -> Table:
    levels: tuple[Level, ...] = ("instance", "intermediate", "system")
    return Table(
        "Spearman's ρ at three levels, for the same groups on fresh conversations",
        ("Predictor", "Each conversation", "Assistant × group", "Assistant"),
        tuple((p.label, *(p.alignment.get(level) for level in levels)) for p in chosen),
    )


def _coefficients(chosen: list[Predictor]) -> Table:
    kinds: tuple[Coefficient, ...] = ("spearman", "pearson", "kendall")
    return Table(
        "Three coefficients between group means, for the same groups on fresh conversations",
        ("Predictor", "Spearman", "Pearson", "Kendall (τ-b)"),
        tuple((p.label, *(p.alignment.get("intermediate", kind) for kind in kinds)) for p in chosen),
    )


def _scatter(predictor: Predictor, key: str, label: str) -> Figure | None:
    rows = predictor.matched
    columns = ["assistant", *group_columns(rows)]
    dots = [
        figures.Dot(
            str(name[0]),
            " · ".join(map(str, name[1:])),
            float(part["z"].mean()),
            float(part["simulated"].mean()),
            len(part),
        )
        for name, part in rows.groupby(columns, sort=True)
    ]
    if not dots:
        return None
    score = "ln(words), standardised" if predictor.kind == "baseline" else "Simulated rating, mean"
    return figures.scatter(
        key,
        dots,
        x_label=score,
        y_label="Human rating (z), mean",
        caption=f"Each mark is one assistant × group. Predictor: {predictor.label}.",
        place=label,
    )


def _group_means(context: Context, predictor: Predictor, task: str) -> Table:
    rows = predictor.matched
    columns = ["assistant", *group_columns(rows)]
    made = tuple(
        (
            " · ".join(map(str, name)),
            mean_rating(part),
            mean_by_person(MEAN_Z, part["z"].to_numpy(np.float64), part["annotator"].to_numpy()),
            mean_by_person(
                MEAN_SIMULATED, part["simulated"].to_numpy(np.float64), part["annotator"].to_numpy()
            ),
        )
        for name, part in rows.groupby(columns, sort=True)
    )
    names = " · ".join(["Assistant", *(tag.replace("_", " ") for tag in context.groups(task))])
    caption = f"Means by group; predictor: {predictor.label}"
    return Table(caption, (names, "Human rating", "Human rating (z)", "Predictor"), made)


def _left_out(chosen: list[Predictor]) -> Iterator[Note]:
    lacking = [p for p in chosen if p.alignment.rows_dropped]
    if lacking:
        named = "; ".join(f"{p.label}: {p.alignment.rows_dropped:,} of {len(p.frame):,}" for p in lacking)
        yield Note(
            (f"Rated conversations left out because the predictor gives nothing for them. {capital(named)}.",)
        )
    scales = chosen[0].alignment.scales
    flat = int(scales.flat(chosen[0].frame["annotator"].to_numpy()).sum())
    remarks = scale_remarks(flat, int(scales.pooled.sum()), len(scales.annotators))
    if remarks is not None:
        yield remarks
