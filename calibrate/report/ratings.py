"""What people said: ratings by assistant and group, each with n and interval, and how scales relate."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from calibrate.alignment import SPEARMAN
from calibrate.estimate import Estimate
from calibrate.metric import Metric, average, estimate
from calibrate.report import figures
from calibrate.report.context import Context, task_label
from calibrate.report.document import Block, Details, Heading, Note, Paragraph, Section, Table
from calibrate.report.wording import capital, counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from annotate.schema import Scale

_REALISM_SCALES = ("likert_", "turing")
NOT_GIVEN = "not given"
MEAN_RATING = Metric("human rating, mean", "mean", average)
TARGET = "the same assistants, items and kind of people"


def rated_scales(context: Context, task: str) -> list[str]:
    """Return the numeric scales on which people rated their own conversations of a task, in the study's order."""
    scales = context.frames.scales
    rated = [name for name, scale in scales.items() if is_rating(scale)]
    return [name for name in rated if len(context.frames.human_ratings(task, name))]


def is_rating(scale: Scale) -> bool:
    """Whether a scale says how good a conversation or its document is, as a number."""
    return scale.numeric and scale.target == "conversation" and not scale.name.startswith(_REALISM_SCALES)


def scale_label(scale: Scale) -> str:
    """Return a scale's name with its bounds: `interaction (1–10)`."""
    name = scale.name.replace("_", " ")
    if scale.minimum is None or scale.maximum is None:
        return name
    return f"{name} ({scale.minimum:g}–{scale.maximum:g})"


def human_frame(context: Context, task: str, scale: str) -> pd.DataFrame:
    """Return human ratings, one row a conversation: conversation, annotator, assistant, `tag:…`, human.

    Where people rated a conversation more than once on a scale their mean stands; a tag that an item lacks is
    `not given`.
    """
    rows = context.frames.human_ratings(task, scale).rename(columns={"participant": "annotator"})
    frame = rows[["conversation", "annotator", "assistant", "human"]].copy()
    for tag in context.groups(task):
        values = rows[tag] if tag in rows else pd.Series(index=rows.index, dtype=object)
        frame[f"tag:{tag}"] = [NOT_GIVEN if pd.isna(value) else str(value) for value in values]
    keys = [column for column in frame.columns if column != "human"]
    means = frame.groupby(keys, sort=False, dropna=False)["human"].mean().reset_index()
    bounds = context.frames.scales[scale]
    means.attrs["bounds"] = (bounds.minimum, bounds.maximum)  # kept by every part of the frame
    return means


def group_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns of `human_frame` that hold tags."""
    return [column for column in frame.columns if column.startswith("tag:")]


def mean_rating(frame: pd.DataFrame) -> Estimate:
    """Return the mean human rating of some conversations, with an interval over people, cut at the scale's bounds."""
    found = mean_by_person(MEAN_RATING, frame["human"].to_numpy(np.float64), frame["annotator"].to_numpy())
    lowest, highest = frame.attrs.get("bounds", (None, None))
    if found.low is None or found.high is None:
        return found
    low = found.low if lowest is None else max(found.low, lowest)
    high = found.high if highest is None else min(found.high, highest)
    if (low, high) == (found.low, found.high):
        return found
    return found.model_copy(update={"low": low, "high": high, "method": f"{found.method}, cut at the scale's bounds"})


def mean_by_person(metric: Metric, values: NDArray[np.float64], person: NDArray[np.object_]) -> Estimate:
    """Return a mean over rows with a t interval over people."""
    if len(values) == 0:
        return Estimate.undefined(metric.name, "no values", n=0, unit=metric.unit)
    return estimate(metric, values, cluster=person.astype(str), target=TARGET)


def human_section(context: Context) -> Section:
    """Return the section on human ratings, task by task."""
    blocks: list[Block] = []
    for task in context.frames.tasks():
        scales = rated_scales(context, task)
        for scale in scales:
            blocks += _scale_blocks(context, task, context.frames.scales[scale])
        blocks += _relations(context, task, scales)
    if not blocks:
        blocks = [Paragraph("No person has rated a conversation on a numeric scale yet.")]
    return Section("What people said", tuple(blocks))


def _scale_blocks(context: Context, task: str, scale: Scale) -> list[Block]:
    frame = human_frame(context, task, scale.name)
    by_assistant = [(name, part) for name, part in frame.groupby("assistant", sort=True)]
    label = scale_label(scale)
    rows = [figures.Ratings(str(name), _counts(part), mean_rating(part)) for name, part in by_assistant]
    low, high = _limits(scale, frame["human"].to_numpy(np.float64))
    place = f"{task_label(task)}, {label}"
    drawn = figures.ratings(
        f"ratings-{task}-{scale.name}",
        rows,
        x_label=f"Human rating, {label}",
        limits=(low, high),
        place=place,
        caption="Discs: how often people gave a rating (area). Dot and line: mean with its 95 % interval; "
        "a line without an end goes on beyond the scale.",
    )
    table = Table(
        "Mean human rating by assistant",
        ("Assistant", "Mean rating", "People"),
        tuple(
            (str(name), mean_rating(part), f"{part['annotator'].nunique():,}")
            for name, part in [*by_assistant, ("All", frame)]
        ),
    )
    return [Heading(capital(place)), drawn, table, *_by_group(frame, context.groups(task))]


def _counts(part: pd.DataFrame) -> dict[float, int]:
    values, counts = np.unique(part["human"].to_numpy(np.float64), return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _by_group(frame: pd.DataFrame, tags: tuple[str, ...]) -> list[Block]:
    columns = group_columns(frame)
    if not columns:
        return []
    rows = tuple(
        (str(key[0]), " · ".join(map(str, key[1:])), mean_rating(part))
        for key, part in frame.groupby(["assistant", *columns], sort=True)
    )
    name = " · ".join(tag.replace("_", " ") for tag in tags)
    table = Table(
        f"Mean human rating by assistant and {name}", ("Assistant", name.capitalize(), "Mean rating"), rows
    )
    return [Details(f"By {name}: {counted(len(rows), 'group')}", (table,))]


def _limits(scale: Scale, values: NDArray[np.float64]) -> tuple[float, float]:
    low = float(values.min()) if scale.minimum is None else scale.minimum
    high = float(values.max()) if scale.maximum is None else scale.maximum
    return low, max(high, low + 1)


def _relations(context: Context, task: str, scales: list[str]) -> list[Block]:
    """Say how two human scales of the same conversations move together."""
    rows = []
    for first, second in combinations(scales, 2):
        left, right = (human_frame(context, task, name) for name in (first, second))
        both = left.merge(right[["conversation", "annotator", "human"]], on=["conversation", "annotator"])
        relation = estimate(
            SPEARMAN,
            both["human_x"],
            both["human_y"],
            cluster=both["annotator"].astype(str).to_numpy(),
            rng=context.generator(f"relation {task} {first} {second}"),
            resamples=context.resamples,
            target=TARGET,
        )
        rows.append((f"{first.replace('_', ' ')} and {second.replace('_', ' ')}", relation))
    if not rows:
        return []
    caption = f"How people's ratings of {task_label(task)} relate, conversation by conversation"
    return [Table(caption, ("Scales", "Spearman's ρ"), tuple(rows))]


def scale_remarks(flagged: int, pooled: int, annotators: int) -> Note | None:
    """Say what the z-scores rest on: whose scale is shared, and where there was no spread to divide by."""
    items = []
    if pooled:
        items.append(
            f"{pooled} of {counted(annotators, 'person', 'people')} rated fewer than three conversations and "
            "share one scale (mean and spread of their pool)."
        )
    if flagged:
        verb = "has" if flagged == 1 else "have"
        items.append(f"{counted(flagged, 'rating')} {verb} z = 0 because the rater's values do not vary.")
    return Note(tuple(items)) if items else None
