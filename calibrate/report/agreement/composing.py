"""A report on agreement alone: the answers on the first screen, a section a scale, and the methods."""

from __future__ import annotations

from collections.abc import Sequence

from calibrate.agreement import Agreement
from calibrate.estimate import Estimate, installed_version
from calibrate.report.agreement.pairs import plain
from calibrate.report.agreement.quoting import summary
from calibrate.report.agreement.section import TITLE, section, sections
from calibrate.report.agreement.titles import begun, clean, leading, main_name, says, title_of
from calibrate.report.agreement.words import counts_words, free, interval_words, scale_heading, scale_name
from calibrate.report.document import Block, Card, Paragraph, Report, Section
from calibrate.report.wording import counted, listed

FEW_SCALES = 3
CANNOT = "Whether the raters are right: they may agree on the same mistake."


def compose_agreement(
    agreements: Sequence[Agreement], *, title: str = "", files: Sequence[tuple[str, str]] = ()
) -> Report:
    """Return the report of one scale or several; `files` lie beside the page: (address, words)."""
    held = list(agreements)
    if not title:
        title = f"{TITLE} {clean(held[0].scale, 60)}" if len(held) == 1 else TITLE
    return Report(
        title=title,
        subtitle=_subtitle(held),
        verdict=tuple(_verdict(held)),
        cards=tuple(_cards(held)),
        sections=(*sections(held), _to_quote(held)) if held else (section(held),),
        methods=tuple(_methods(held)) if held else (),
        footer=_footer(held),
        files=tuple(files),
    )


def _to_quote(held: Sequence[Agreement]) -> Section:
    """Return a ready paragraph for a paper on each scale."""
    named = len(held) > 1
    return Section(
        "To quote", tuple(Paragraph((f"{scale_heading(own)}: " if named else "") + summary(own)) for own in held)
    )


def _footer(held: Sequence[Agreement]) -> str:
    version = f"UserCal {installed_version()}."
    return f"{version} {interval_words(held[0])}." if len(held) == 1 else version


def _subtitle(held: Sequence[Agreement]) -> str:
    if not held:
        return "There is no scale to compare raters on."
    if len(held) == 1:
        return f"{begun(counts_words(held[0].overall))}."
    return f"{counted(len(held), 'scale')}: {listed([scale_name(own) for own in held], 8)}."


def _verdict(held: Sequence[Agreement]) -> list[str]:
    if not held:
        return ["No scale has a unit that two raters rated, so nothing can be said."]
    if len(held) == 1:
        return [free(text) for text in (held[0].sentence, held[0].overall.remark) if text]
    if len(held) <= FEW_SCALES:
        return [f"{scale_heading(own)}: {free(own.sentence)}" for own in held]
    return [f"Raters are compared on {counted(len(held), 'scale')}, one answer each below."]


def _cards(held: Sequence[Agreement]) -> list[Card]:
    """Return a card a scale; of a single scale, one for each of its leading coefficients."""
    many = len(held) > FEW_SCALES  # the verdict has the sentences of few
    if len(held) == 1:
        overall = held[0].overall
        names = leading(overall, 4 if overall.remark else 2)
        return [_card(name, title_of(overall.estimates[name], name), overall.estimates[name], "") for name in names]
    cards = []
    for own in held:
        if own.overall.estimates:
            name = main_name(own)
            main = own.overall.estimates[name]
            label = f"{scale_name(own)}: {title_of(main, name)}"
            cards.append(_card(name, label, main, free(own.sentence) if many else ""))
    return cards


def _card(name: str, label: str, estimate: Estimate, sentence: str) -> Card:
    return Card(
        label=begun(label),
        answer=plain(estimate),
        sentence=sentence or f"{begun(says(estimate, name) or 'a coefficient of agreement')}.",
        cannot_tell="" if estimate.name == "raw_agreement" else CANNOT,
        kind="agreement",
        available=estimate.n,
    )


def _methods(held: Sequence[Agreement]) -> list[Block]:
    texts = [
        "Every number stands with n, what entered it, and in square brackets its interval. Where a number or an "
        "interval cannot be had, the reason stands in its place; an undefined coefficient is never written as 0 or 1.",
        "Raw agreement is the share of pairs of ratings of one unit that are equal. The other coefficients subtract "
        "what chance would give and differ in what they take chance to be, so they are read together: α and κ fall "
        "where one category is very common, however well raters agree; AC1, AC2 and Brennan–Prediger fall less.",
        "Three states are kept apart: a rating; a missing rating, which enters nothing; and not applicable, which is "
        "counted by itself and enters no coefficient that corrects for chance.",
        "Pairs of raters are compared on the units that both rated. A unit's distance says how unlike its ratings are, "
        "as a share of the most that so many ratings can be: by the pairs that differ on a nominal scale, else by how "
        "far pairs lie apart.",
    ]
    if len(held) > 1:
        texts += [f"{scale_heading(own)}: {interval_words(own, long=True)}." for own in held[:12]]
    texts.append(
        f"Computed with UserCal {installed_version()}. agreement.json holds each estimate with its method, target, "
        "resamples and seed; agreement.csv has one row an estimate."
    )
    return [Paragraph(text) for text in texts]
