"""A report as GitHub-flavoured Markdown: the numbers of the HTML, figures by what they say."""

from __future__ import annotations

import re
from collections.abc import Iterable

from calibrate.estimate import Estimate
from calibrate.report.document import (
    Band,
    Block,
    Card,
    Cell,
    Details,
    Figure,
    Heading,
    Note,
    Paragraph,
    Report,
    Table,
)
from calibrate.report.wording import encodable, write

_SPECIAL = re.compile(r"[\\`*<|~]|(?<!\w)_|_(?!\w)|\](?=[(\[:])|\$(?!\d)|&(?=#|\w+;)")
_LINE_START = re.compile(r"^(#|>|[-+=](?=\s|$|[-=])|\d+(?=[.)]\s))")


def to_markdown(report: Report) -> str:
    """Return the report as Markdown; names that look like markup are escaped, never obeyed."""
    parts = [f"# {escape(report.title)}", escape(report.subtitle)]
    parts += [f"> {escape(notice)}" for notice in report.notices]
    parts.append(_bullets(f"**{escape(sentence)}**" for sentence in report.verdict))
    if report.cards:
        parts += ["## Answers", *(_card(card) for card in report.cards)]
    for section in report.sections:
        parts += [f"## {escape(section.title)}", *(_block(block) for block in section.blocks)]
    if report.methods:
        parts += ["## Methods", *(_block(block) for block in report.methods)]
    parts += ["---", escape(report.footer)]
    return encodable("\n\n".join(part for part in parts if part)) + "\n"


def escape(text: str) -> str:
    """Return one line of text in which nothing is markup."""
    line = " ".join(text.split())
    line = _SPECIAL.sub(lambda found: "&amp;" if found[0] == "&" else "\\" + found[0], line)
    return _LINE_START.sub(lambda found: found[1] + "\\" if found[1].isdigit() else "\\" + found[1], line)


def _card(card: Card) -> str:
    lines = [f"### {escape(card.label)}", f"**{_cell(card.answer)}**", escape(card.sentence)]
    if card.cannot_tell:
        lines.append(f"*What this cannot tell:* {escape(card.cannot_tell)}")
    text = "\n\n".join(lines)
    return _banded(card.band, text) if card.band else text


def _cell(cell: Cell) -> str:
    return escape(write(cell).line) if isinstance(cell, Estimate) else escape(cell)


def _block(block: Block) -> str:
    match block:
        case Paragraph(text):
            return escape(text)
        case Heading(text):
            return f"### {escape(text)}"
        case Note(items):
            return _bullets(escape(item) for item in items)
        case Table():
            return _table(block)
        case Figure():
            return f"**Figure: {escape(block.caption)}**\n\n{escape(block.alt)}"
        case Details(summary, blocks):
            return "\n\n".join([f"#### {escape(summary)}", *(_block(inner) for inner in blocks)])
        case Band(text, blocks):
            return _banded(text, "\n\n".join(_block(inner) for inner in blocks))


def _banded(band: str, text: str) -> str:
    quoted = "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
    return f"> **{escape(band)}**\n>\n{quoted}"


def _bullets(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _table(table: Table) -> str:
    head = f"| {' | '.join(escape(column) for column in table.columns)} |"
    rule = f"|{'---|' * len(table.columns)}"
    rows = [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in table.rows]
    return "\n".join([f"**{escape(table.caption)}**", "", head, rule, *rows])
