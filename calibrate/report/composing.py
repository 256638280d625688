"""A study's frames in, one report out: whatever stage the study is at, with what can be said by then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from annotate.errors import ConfigError
from calibrate.estimate import Estimate, installed_version
from calibrate.report.agreement.section import section as agreement_section
from calibrate.report.aligning import BASELINE, TaskAlignment, aligned, alignment_section
from calibrate.report.behaviour import people_table
from calibrate.report.context import ALL_EXERCISE, EMBEDDED, SHORT_EXERCISE, Context, banded, task_label
from calibrate.report.document import Block, Card, Note, Paragraph, Report, Section, Table
from calibrate.report.effort import cost_section, missing_section
from calibrate.report.methods import methods
from calibrate.report.outcomes import outcome_section
from calibrate.report.published import Published, published_card, published_section
from calibrate.report.ratings import human_frame, human_section, mean_rating, scale_label
from calibrate.report.realism import TaskRealism, realism_section, told_apart
from calibrate.report.verdict import (
    alignment_finding,
    alignment_sentence,
    realism_finding,
    realism_sentence,
    subject_of,
)
from calibrate.report.wording import capital, counted, listed, write

if TYPE_CHECKING:
    from annotate.config import StudyConfig
    from annotate.frames import StudyFrames
    from calibrate.agreement import Agreement

DEMO = "Conversations and ratings were written by the authors of UserCal; they are not human data."
RECORDED = "The models' replies were recorded earlier and are replayed here; no model was asked for this report."
CARD_BAND = f"{SHORT_EXERCISE} ({EMBEDDED})"
MODEL_MADE = "Simulated conversations, and all ratings by a named judge, were made by models."


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the short result: `text` is all that follows the label, `remark` its last part alone."""

    label: str
    text: str
    remark: str


def compose(
    frames: StudyFrames,
    config: StudyConfig,
    *,
    seed: int,
    resamples: int,
    title: str,
    recorded: bool,
    demo: bool,
    group_by: Mapping[str, tuple[str, ...]],
    published: Published | None = None,
    agreements: Sequence[Agreement] = (),
) -> Report:
    """Return the report of a study, the answer first.

    Args:
        seed, resamples: of every bootstrap; the same data, seed and resamples give the same report.
        recorded: whether replies of models were recorded earlier; the report says so.
        demo: whether the conversations were written by the authors; the report says so.
        group_by: task → tags that make, with the assistant, the groups of the main figure; a task that is not
            there is grouped as study.toml says.
        published: published figures that are shown beside the study's own, with their source.
        agreements: how well raters agree, one a scale that two raters used on the same unit.

    Raises:
        ConfigError: a negative seed, or an equivalence margin that leaves nothing outside it.
    """
    _check(config, seed)
    context = Context(frames, config, seed, resamples, recorded, demo, group_by)
    parts, told = aligned(context), told_apart(context)
    sections = [_overview(context), human_section(context), alignment_section(parts), realism_section(told)]
    sections += [_agreement(context, agreements)] if agreements else []
    optional = (outcome_section(context, parts), cost_section(context))
    sections += [section for section in optional if section is not None]
    sections += [published_section(published)] if published is not None else []
    return Report(
        title=title,
        subtitle=_subtitle(context),
        verdict=tuple(_verdict(context, parts, told)),
        cards=(*_cards(context, parts, told), *([published_card(published)] if published is not None else [])),
        sections=(*sections, missing_section(context)),
        methods=methods(context, parts, told),
        footer=f"UserCal {installed_version()}, seed {seed}, {resamples:,} resamples.",
        notices=tuple(_notices(context)),
    )


def _agreement(context: Context, agreements: Sequence[Agreement]) -> Section:
    """Return the section on agreement, under the grey band where the embedded model is one of the raters."""
    section = agreement_section(agreements)
    exercise = any(
        rater.kind == "models" and context.exercise_judge(rater.rater) for made in agreements for rater in made.raters
    )
    return Section(section.title, tuple(banded(exercise, list(section.blocks))))


def _check(config: StudyConfig, seed: int) -> None:
    if seed < 0:
        raise ConfigError(f"[report] seed: {seed} is below 0. Choose a whole number from 0 on.")


def headline(report: Report) -> list[Line]:
    """Return the short result: one line of alignment and one of realism, of the task with the most to say."""
    lines = []
    for kind in ("ratings", "alignment", "realism"):
        cards = [card for card in report.cards if card.kind == kind]
        if cards:
            card = max(cards, key=lambda card: card.available)
            text = _card_line(card)
            place = f"{card.place}: " if len(cards) > 1 else ""
            lines.append(Line(kind, f"{place}{text}", card.remark))
    return lines


def _card_line(card: Card) -> str:
    if not isinstance(card.answer, Estimate):
        return f"{card.answer}   {card.remark}".strip()
    parts = write(card.answer)
    head = " ".join(
        part for part in (card.prefix, parts.symbol, parts.value, card.suffix if parts.value else "") if part
    )
    remark = card.remark + (f" ({SHORT_EXERCISE.lower()})" if card.band else "")
    counts = "  ".join(part for part in (head, parts.interval, parts.counts) if part)
    return f"{counts}   {remark}".rstrip()


def _subtitle(context: Context) -> str:
    rows = context.frames.conversations
    human, twins = rows[rows["origin"] == "human"], rows[rows["origin"] == "simulated"]
    if not len(rows):
        return "No conversations yet."
    parts = [
        counted(len(human), "conversation"),
        counted(int(human["participant"].nunique()), "person", "people"),
        counted(int(human["assistant"].nunique()), "assistant"),
    ]
    if len(twins):
        parts.append(counted(len(twins), "simulated conversation"))
    return f"{', '.join(parts)}. {capital(listed([task_label(t) for t in context.frames.tasks()]))}."


def _notices(context: Context) -> list[str]:
    rows, notices = context.frames.conversations, []
    if context.demo:
        notices.append(DEMO)
    if context.recorded:
        notices.append(RECORDED)
    judged = (context.frames.ratings["rater_kind"] == "model").any()
    if judged or (rows["origin"] == "simulated").any():
        notices.append(MODEL_MADE)
    return notices


def _place(context: Context, part: TaskAlignment) -> str:
    return f"{task_label(part.task)}, {part.scale.replace('_', ' ')} rating"


def _first_scales(parts: list[TaskAlignment]) -> list[TaskAlignment]:
    """Return the first scale of each task."""
    return list({part.task: part for part in reversed(parts)}.values())[::-1]


def _verdict(context: Context, parts: list[TaskAlignment], told: list[TaskRealism]) -> list[str]:
    if not len(context.frames.conversations):
        return ["There are no conversations in this study yet, so nothing can be said."]
    first = _first_scales(parts)
    shown = [part.shown.exercise for part in first] + [part.shown.exercise for part in told if part.shown]
    mixed = not all(shown)
    sentences = [] if mixed or not shown else [ALL_EXERCISE]
    sentences += [alignment_sentence(part, _place(context, part), qualify=mixed) for part in first]
    if not parts:
        sentences.append("No person has rated a conversation yet, so no alignment can be measured.")
    sentences += [realism_sentence(part, task_label(part.task), qualify=mixed) for part in told]
    if not told:
        sentences.append("There are no simulated users yet: this report describes the people only.")
    return [sentence for sentence in sentences if sentence]


def _cards(context: Context, parts: list[TaskAlignment], told: list[TaskRealism]) -> list[Card]:
    cards = []
    if all(part.shown.kind == "baseline" for part in parts):
        cards += [_rating_card(context, part) for part in _first_scales(parts)]
    cards += [_alignment_card(context, part) for part in parts]
    return cards + [card for card in (_realism_card(part) for part in told) if card is not None]


def _rating_card(context: Context, part: TaskAlignment) -> Card:
    frame = human_frame(context, part.task, part.scale)
    label = scale_label(context.frames.scales[part.scale])
    assistants = counted(int(frame["assistant"].nunique()), "assistant")
    return Card(
        label=f"Human ratings, {task_label(part.task)}",
        answer=mean_rating(frame),
        sentence=f"The mean rating that {counted(int(frame['annotator'].nunique()), 'person', 'people')} "
        f"gave to {counted(len(frame), 'conversation')} with {assistants}, {label}.",
        cannot_tell="How other people, other items or other assistants would fare.",
        kind="ratings",
        place=_place(context, part),
        available=len(part.shown.frame),
        prefix="mean",
        remark=f"{label}, by {counted(int(frame['annotator'].nunique()), 'person', 'people')}",
    )


_CANNOT = {
    "baseline": "Anything about simulated users: this predictor only counts the assistant's words.",
    "judge": "Whether a simulated user can stand in: the judge read the person's own conversation.",
    "twins": "How one conversation would be rated, or what new assistants would show: see the tables below.",
}


def _alignment_card(context: Context, part: TaskAlignment) -> Card:
    shown = part.shown
    found = alignment_finding(shown.main, subject_of(shown))
    baseline = next(p for p in part.predictors if p.kind == "baseline")
    beside = (
        ""
        if shown is baseline
        else f" Counting the assistant's words, which reads nothing: {write(baseline.main).line}."
    )
    what = BASELINE if shown is baseline else shown.label
    return Card(
        label=f"{'Baseline (words counted)' if shown is baseline else 'Alignment'}, {_place(context, part)}",
        answer=shown.main,
        sentence=f"{found.sentence}{beside}",
        cannot_tell=_CANNOT[shown.kind],
        kind="alignment",
        place=_place(context, part),
        available=len(part.shown.frame),
        prefix="Spearman",
        remark=f"{found.brief} ({what})" if shown.kind != "twins" else found.brief,
        band=CARD_BAND if shown.exercise else "",
    )


def _realism_card(part: TaskRealism) -> Card | None:
    told = part.shown
    if told is None:
        return None
    found = realism_finding(part, told)
    return Card(
        label=f"Realism, {task_label(part.task)}",
        answer=told.right,
        sentence=f"{found.sentence} Right verdicts of {told.judge} on {told.name}; 50 % is guessing.",
        cannot_tell="How human readers would do, and whether the twin says what its person would have said.",
        kind="realism",
        place=task_label(part.task),
        available=told.result.verdicts.pairs + told.incomplete,
        prefix="Turing",
        suffix="right",
        remark=found.brief,
        band=CARD_BAND if told.exercise else "",
    )


def _overview(context: Context) -> Section:
    blocks: list[Block] = []
    rows = []
    for task in context.frames.tasks():
        human, twins = context.human(task), context.twins(task)
        rows.append((task_label(task), f"{len(human):,}", f"{human['participant'].nunique():,}", f"{len(twins):,}"))
    if not rows:
        return Section("What is in the study", (Paragraph("Nothing yet. Import conversations or collect them first."),))
    blocks.append(Table("Conversations and people", ("Task", "Human conversations", "People", "Twins"), tuple(rows)))
    items = []
    for task in context.frames.tasks():
        human = context.human(task)
        names = sorted(str(name) for name in human["assistant"].unique())
        of = counted(int(human["item"].nunique()), "item")
        items.append(f"{capital(task_label(task))}: {of}; {counted(len(names), 'assistant')}: {listed(names, 10)}.")
        items += _mixed(context, task)
    blocks.append(Note(tuple(items)))
    blocks += [people_table(context, task) for task in context.frames.tasks() if not context.frames.strategies(task)]
    return Section("What is in the study", tuple(blocks))


def _mixed(context: Context, task: str) -> list[str]:
    """Say where twins of one strategy were played by several simulators, which the figures count together."""
    items = []
    for strategy in context.frames.strategies(task):
        players = int(context.twins(task, strategy)["participant"].nunique())
        if players > 1:
            items.append(
                f"{capital(task_label(task))}: twins of the strategy {strategy} were played by {players:,} "
                "simulators and are counted together."
            )
    return items
