"""The lines of `usercal agreement`: the answer first, then n and interval, then what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from calibrate.agreement import MIXED, Agreement, GroupAgreement
from calibrate.report.agreement.remarks import MORE, inline, limits, number_words, remarks
from calibrate.report.agreement.titles import clean, leading, shorts, titles
from calibrate.report.agreement.words import (
    NO_BREAK,
    OVERALL,
    counts_words,
    free,
    level_words,
    missing_words,
    parts_of,
    scale_words,
    tied,
)
from calibrate.report.fidelity.terminal import columns_of
from calibrate.report.wording import counted, listed

WIDTH = 100
NARROWEST = 40
PARTS_SHOWN = 8
_LABEL = 11
_NAME = 26
_GAP = "  "


def lines(agreement: Agreement, width: int = WIDTH) -> list[str]:
    """Return one screen on one scale; every line fits `width` columns (at least 40)."""
    width = max(width, NARROWEST)
    made = [*_lines(free(agreement.sentence), width), *_coefficients(agreement, width), *_parts(agreement, width)]
    for label, texts in remarks(agreement):
        made += _labelled(label, texts, width)
    return made


def short_lines(agreement: Agreement, width: int = 110) -> list[str]:
    """Return a scale in a few lines, for a list of several scales: the answer, the leading numbers, the warning."""
    width = max(width, NARROWEST)
    held = agreement.overall.estimates
    named = shorts(held)
    said = [f"{named[name]} {inline(held[name])}" for name in leading(agreement.overall)]
    made = [*_lines(free(agreement.sentence), width), *_indented("; ".join(said) or "no coefficient", width)]
    overall = agreement.overall
    rest = [f"{scale_words(agreement)}; {counts_words(overall)}; {missing_words(overall)}"]
    if overall.remark:
        rest.append(free(overall.remark))
    return made + [line for text in rest for line in _indented(text, width)]


# ------------------------------------------------------------------------------------------------------- coefficients


def _coefficients(agreement: Agreement, width: int) -> list[str]:
    held = list(agreement.overall.estimates.values())
    if not held:
        return ["no coefficient: there is nothing to compare"]
    shown = [limits(e) for e in held]
    widest = max(columns_of(text) for text in [*shown, level_words(held)])
    room = max([columns_of(number_words(e)) for e in held if e.value is not None] + [5])
    counts = max([columns_of(f"{e.n:,}") for e in held] + [1])
    most = width - room - widest - counts - 3 * len(_GAP)
    names = [cut(name, most) for name in [OVERALL, *titles(agreement.overall.estimates)]]
    first = max(columns_of(name) for name in names)
    head = f"{_pad(names[0], first)}{_GAP}{_right('value', room)}{_GAP}{_pad(level_words(held), widest)}{_GAP}"
    made = [f"{head}{_right('n', counts)}"]
    for name, estimate, limit in zip(names[1:], held, shown, strict=True):
        start = f"{_pad(name, first)}{_GAP}"
        if estimate.value is None:
            text = f"undefined: {free(estimate.reason)} (n = {estimate.n:,})"
            made += _hanging(start, text, width)
            continue
        line = f"{start}{_right(number_words(estimate), room)}{_GAP}{_pad(limit, widest)}"
        made.append(f"{line}{_GAP}{_right(f'{estimate.n:,}', counts)}")
        if estimate.interval is None:
            made += _hanging(" " * columns_of(start), f"no interval: {free(estimate.interval_reason)}", width)
    return made


def _parts(agreement: Agreement, width: int) -> list[str]:
    """Return the leading coefficients of each kind and group, as many as fit, with their reasons below."""
    made: list[str] = []
    by = dict.fromkeys(name for name, _ in parts_of(agreement))
    for name in by:
        made += _part_table(agreement, name, [part for own, part in parts_of(agreement) if own == name], width)
    alike = [clean(part.name) for _, part in parts_of(agreement) if part.remark]
    if alike:
        made += _indented(f"nearly all ratings are alike in {listed(alike)}: read raw agreement beside α", width)
    shown = min(len(_fitting(agreement, name, [], width)[1]) for name in by) if by else 0
    hidden = len(agreement.overall.estimates) - shown
    if by and hidden > 0:
        made += _indented(f"{counted(hidden, 'further coefficient')} of each: {MORE}", width)
    return made


def _part_table(agreement: Agreement, by: str, parts: Sequence[GroupAgreement], width: int) -> list[str]:
    shown = parts[:PARTS_SHOWN]
    table, _, reasons = _fitting(agreement, by, shown, width)
    widths = [max(columns_of(row[at]) for row in table) for at in range(len(table[0]))]
    made = ["", *(_joined(row, widths, width) for row in table)]
    for mark, reason in enumerate(reasons, 1):
        made += _indented(f"({mark}) {reason}", width)
    if len(parts) > len(shown):
        made += _indented(f"… {len(parts) - len(shown):,} more of {len(parts):,}: {MORE}", width)
    return made


def _fitting(
    agreement: Agreement, by: str, parts: Sequence[GroupAgreement], width: int
) -> tuple[list[list[str]], list[str], list[str]]:
    """Return the rows with as many of the leading coefficients as fit, the names of those, and the reasons marked."""
    names = [name for name in leading(agreement.overall) if not parts or any(name in p.estimates for p in parts)]
    while True:
        reasons: list[str] = []
        table = [_heads(agreement, by, names)]
        table += [[cut(_part_name(part), _NAME), *_cells(part, names, reasons)] for part in parts]
        widths = [max(columns_of(row[at]) for row in table) for at in range(len(table[0]))]
        if sum(widths) + len(_GAP) * (len(widths) - 1) <= width or len(names) <= 1:
            return table, names, reasons
        names = names[:-1] if len(names) > 2 or names[0] != "raw_agreement" else names[1:]


def _part_name(part: GroupAgreement) -> str:
    return f"{MIXED}, n pairs" if part.name == MIXED else clean(part.name)


def _heads(agreement: Agreement, by: str, names: Sequence[str]) -> list[str]:
    named = shorts(agreement.overall.estimates)
    level = level_words(agreement.overall.estimates.values())
    return [cut(f"by {by}", _NAME), *(f"{cut(named[name], 20)} [{level}] n" for name in names)]


def _cells(part: GroupAgreement, names: Sequence[str], reasons: list[str]) -> list[str]:
    cells = []
    for name in names:
        estimate = part.estimates.get(name)
        if estimate is None:
            cells.append(f"not computed {_mark('this part has no such coefficient', reasons)}")
        elif estimate.value is None:
            cells.append(f"undefined {_mark(free(estimate.reason), reasons)} {estimate.n:,}")
        else:
            told = limits(estimate) if estimate.interval else _mark(free(estimate.interval_reason), reasons)
            cells.append(f"{number_words(estimate)} {told} {estimate.n:,}")
    return cells


def _mark(reason: str, reasons: list[str]) -> str:
    if reason not in reasons:
        reasons.append(reason)
    return f"({reasons.index(reason) + 1})"


# ---------------------------------------------------------------------------------------------------------- type area


def cut(text: str, columns: int) -> str:
    """Return a text that takes no more than `columns` of a terminal; a cut is shown as …"""
    if columns_of(text) <= columns:
        return text
    return f"{_start(text, columns - 1)}…"


def _pad(text: str, columns: int) -> str:
    return text + " " * (columns - columns_of(text))


def _right(text: str, columns: int) -> str:
    return " " * (columns - columns_of(text)) + text


def _joined(cells: Sequence[str], widths: Sequence[int], width: int) -> str:
    return cut(_GAP.join(_pad(cell, own) for cell, own in zip(cells, widths, strict=True)).rstrip(), width)


def _lines(text: str, columns: int) -> list[str]:
    """Break a text into lines of so many columns; no line ends within `n = 12` or `83 %`."""
    held = tied(text)
    made, line = [], ""
    for word in held.split(" "):
        longer = f"{line} {word}" if line else word
        if columns_of(longer) <= columns:
            line = longer
            continue
        made += [line] if line.strip() else []
        while columns_of(word) > columns:
            piece = _start(word, columns)
            made.append(piece)
            word = word[len(piece) :]
        line = word
    return [part.replace(NO_BREAK, " ").rstrip() for part in [*made, line] if part.strip()] or [""]


def _start(text: str, columns: int) -> str:
    """Return the longest beginning of a text that fits, at least one sign."""
    end = 1
    while end < len(text) and columns_of(text[: end + 1]) <= columns:
        end += 1
    return text[:end]


def _indented(text: str, width: int) -> list[str]:
    return [f"  {line}" for line in _lines(text, width - 2)]


def _hanging(start: str, text: str, width: int) -> list[str]:
    """Return a text beside its start, its further lines below the first."""
    indent = columns_of(start)
    return [(start if at == 0 else " " * indent) + line for at, line in enumerate(_lines(text, width - indent))]


def _labelled(label: str, texts: Sequence[str], width: int) -> list[str]:
    made = []
    for at, text in enumerate(texts):
        if not text:
            made.append("")
            continue
        made += _hanging((label if at == 0 else "").ljust(_LABEL), text, width)
    return made
