"""The parts of a report: plain frozen records, so that every way of writing it says the same.

A cell is a text or an `Estimate`. A table holds at most three statistics a row: whoever needs more makes two
tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from calibrate.estimate import Estimate
from calibrate.report.wording import encodable

Cell = str | Estimate
MAX_STATISTICS = 3


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading within a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """A list of short remarks, such as what is missing."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A captioned table; the first cell of a row names the row.

    Raises:
        ValueError: a row is longer or shorter than the columns, or holds more than three statistics.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.caption!r}: {len(row)} cells for {len(self.columns)} columns")
            if sum(isinstance(cell, Estimate) for cell in row) > MAX_STATISTICS:
                raise ValueError(f"table {self.caption!r}: more than {MAX_STATISTICS} statistics in a row")

    @property
    def dense(self) -> bool:
        """Whether the cells of a row are too many for value and limits to stand side by side."""
        return len(self.columns) > MAX_STATISTICS


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart as SVG text, with a second drawing for narrow screens; `alt` says in words what it shows."""

    svg: str
    caption: str
    alt: str
    narrow: str | None = None


@dataclass(frozen=True, slots=True)
class Details:
    """Blocks that are folded away under a summary, and open in print."""

    summary: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Band:
    """Blocks that stand under a grey band whose text limits what they may be taken for."""

    text: str
    blocks: tuple[Block, ...]


Block = Heading | Paragraph | Note | Table | Figure | Details | Band


@dataclass(frozen=True, slots=True)
class Card:
    """One answer of the first screen: the number, one plain sentence, and what it cannot tell.

    `kind` and `place` say of what it is the answer; `remark` is the short form of the sentence, for one line
    of a terminal, and `prefix` and `suffix` stand around the number there; `available` counts the rows that
    there were for it, rated or not. `band` limits what the card may be taken for, as `Band` does; it is empty
    where nothing does.
    """

    label: str
    answer: Cell
    sentence: str
    cannot_tell: str
    kind: str = ""
    place: str = ""
    available: int = 0
    remark: str = ""
    prefix: str = ""
    suffix: str = ""
    band: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a report."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report; `notices` say on the first screen where its data come from.

    `files` are what lies beside the page: (relative address, words).
    """

    title: str
    subtitle: str
    verdict: tuple[str, ...]
    cards: tuple[Card, ...] = ()
    sections: tuple[Section, ...] = ()
    methods: tuple[Block, ...] = ()
    footer: str = ""
    notices: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()


def estimates(report: Report) -> Iterator[Estimate]:
    """Yield every estimate of a report, in the order in which it is read."""
    for card in report.cards:
        if isinstance(card.answer, Estimate):
            yield card.answer
    for section in report.sections:
        yield from _estimates(section.blocks)
    yield from _estimates(report.methods)


def _estimates(blocks: tuple[Block, ...]) -> Iterator[Estimate]:
    for block in blocks:
        if isinstance(block, Table):
            yield from (cell for row in block.rows for cell in row if isinstance(cell, Estimate))
        elif isinstance(block, Details | Band):
            yield from _estimates(block.blocks)


def to_json(report: Report) -> str:
    """Return the report as JSON: every estimate in full, figures by caption and description only."""
    content = {
        "title": report.title,
        "subtitle": report.subtitle,
        "notices": list(report.notices),
        "verdict": list(report.verdict),
        "cards": [_card(card) for card in report.cards],
        "sections": [{"title": s.title, "blocks": [_block(b) for b in s.blocks]} for s in report.sections],
        "methods": [_block(block) for block in report.methods],
        "footer": report.footer,
    }
    return encodable(json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)) + "\n"


def _card(card: Card) -> dict[str, Any]:
    fields = {"label": card.label, "answer": _cell(card.answer), "sentence": card.sentence}
    return {**fields, "cannot_tell": card.cannot_tell, "band": card.band or None}


def _cell(cell: Cell) -> Any:
    return cell.as_dict() if isinstance(cell, Estimate) else cell


def _block(block: Block) -> dict[str, Any]:
    match block:
        case Paragraph(text):
            return {"kind": "paragraph", "text": text}
        case Heading(text):
            return {"kind": "heading", "text": text}
        case Note(items):
            return {"kind": "note", "items": list(items)}
        case Table(caption, columns, rows):
            cells = [[_cell(cell) for cell in row] for row in rows]
            return {"kind": "table", "caption": caption, "columns": list(columns), "rows": cells}
        case Figure():
            return {"kind": "figure", "caption": block.caption, "alt": block.alt}
        case Details(summary, blocks):
            return {"kind": "details", "summary": summary, "blocks": [_block(b) for b in blocks]}
        case Band(text, blocks):
            return {"kind": "band", "text": text, "blocks": [_block(b) for b in blocks]}
