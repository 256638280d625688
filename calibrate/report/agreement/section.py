"""Agreement as sections of a report: answer, coefficients with a chart, kinds and groups, pairs, disagreements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from calibrate.agreement import Agreement
from calibrate.report.agreement.charts import coefficient_chart
from calibrate.report.agreement.pairs import disagreement_blocks, note, pair_blocks, plain
from calibrate.report.agreement.parts import part_blocks
from calibrate.report.agreement.titles import FULL, begun, clean, says, titles
from calibrate.report.agreement.usage import use_blocks
from calibrate.report.agreement.words import (
    by_words,
    counts_words,
    ended,
    free,
    interval_words,
    level_words,
    missing_words,
    n_words,
    parts_of,
    scale_heading,
    scale_words,
    target_words,
)
from calibrate.report.document import Block, Details, Heading, Note, Paragraph, Section, Table

TITLE = "Do raters agree?"


def section(agreements: Sequence[Agreement], title: str = TITLE) -> Section:
    """Return one section on all scales: a heading each, the answer, and all else folded below it."""
    if not agreements:
        nothing = "No scale has a unit that two raters rated, so there is nothing to compare."
        return Section(title, (Paragraph(nothing),))
    blocks: list[Block] = []
    for place, agreement in enumerate(agreements):
        blocks.append(Heading(scale_heading(agreement)))
        blocks += _answer(agreement)
        blocks += [Details(summary, tuple(held)) for summary, held in _rest(agreement, place)]
    return Section(title, tuple(blocks))


def sections(agreements: Sequence[Agreement]) -> tuple[Section, ...]:
    """Return a section a scale, for a report on agreement alone; a single scale is called as it was given."""
    alone = len(agreements) == 1
    return tuple(
        Section(
            clean(agreement.scale, 60) if alone else scale_heading(agreement),
            (*_answer(agreement, said=alone), *_headed(agreement, place)),
        )
        for place, agreement in enumerate(agreements)
    )


def _headed(agreement: Agreement, place: int) -> Iterator[Block]:
    for at, (heading, held) in enumerate(_rest(agreement, place)):
        if at:
            yield Heading(heading)
        yield from held


def _answer(agreement: Agreement, *, said: bool = False) -> Iterator[Block]:
    """Yield the sentence and the remark, where the first screen has not said them, and the coefficients."""
    if not said:
        yield Paragraph(free(agreement.sentence))
        yield from note([free(agreement.overall.remark)] if agreement.overall.remark else [])
    yield _coefficient_table(agreement)


def _rest(agreement: Agreement, place: int) -> Iterator[tuple[str, Iterator[Block]]]:
    """Yield what else there is to say, each under what it is called."""
    yield "Chart, counts and intervals", _facts(agreement, place)
    if parts_of(agreement):
        yield f"By {by_words(agreement)}", part_blocks(agreement, place)
    if len(agreement.pairs) > 1:  # of a single pair the coefficients of all ratings say the same
        yield "Pair by pair", pair_blocks(agreement, place)
    if agreement.overall.paired_units:
        yield "Where they disagree", disagreement_blocks(agreement)
    yield "How the scale was used", use_blocks(agreement)


def _facts(agreement: Agreement, place: int) -> Iterator[Block]:
    drawn = coefficient_chart(agreement, place)
    if drawn is not None:
        yield drawn
    target = target_words(agreement)
    yield Note(
        (
            f"{begun(scale_words(agreement))}; {counts_words(agreement.overall)}.",
            f"{begun(missing_words(agreement.overall))}.",
            ended(interval_words(agreement)) + (f" They speak of {target}." if target else ""),
            f"{n_words(agreement)}.",
            *(begun(ended(free(remark))) for remark in agreement.notes if free(remark)),
        )
    )


def _coefficient_table(agreement: Agreement) -> Table:
    held = agreement.overall.estimates
    rows = tuple(
        (begun(title), plain(e), begun(says(e, name).removeprefix(FULL)) or "–")
        for title, (name, e) in zip(titles(held), held.items(), strict=True)
    )
    caption = f"Coefficients for all units and raters, with {level_words(held.values())} interval and n"
    return Table(caption, ("Coefficient", "Value", "What it says; 1 is full agreement"), rows)
