"""The lines of `usercal agreement`: the answer first, then n and interval, then what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from calibrate.agreement import Agreement, GroupAgreement, Marginal
from calibrate.estimate import Estimate
from calibrate.report.agreement.words import (
    FEW_CATEGORIES,
    NO_BREAK,
    OVERALL,
    category,
    clean,
    counts_words,
    decimal,
    free,
    interval_words,
    leading,
    level_words,
    missing_words,
    n_words,
    pair_sign,
    parts_of,
    percent,
    scale_words,
    shares,
    symbol_of,
    tied,
    titles,
)
from calibrate.report.fidelity.terminal import columns_of
from calibrate.report.wording import counted, decimals, number

WIDTH = 100
NARROWEST = 40
TOP = 5
PARTS_SHOWN = 8
RATERS_SHOWN = 6
_LABEL = 11
_NAME = 24
_GAP = "  "


def lines(agreement: Agreement, width: int = WIDTH) -> list[str]:
    """Return one screen on one scale; every line fits `width` columns (at least 40)."""
    width = max(width, NARROWEST)
    made = [*_lines(free(agreement.sentence), width), *_coefficients(agreement, width), *_parts(agreement, width)]
    for label, texts in _remarks(agreement):
        made += _labelled(label, texts, width)
    return made


def short_lines(agreement: Agreement, width: int = 110) -> list[str]:
    """Return a scale in a few lines, for a list of several scales: the answer, the leading numbers, the warning."""
    width = max(width, NARROWEST)
    held = agreement.overall.estimates
    said = [f"{symbol_of(held[name], name)} {_inline(held[name])}" for name in leading(agreement.overall)]
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
    limits = [_limits(e) for e in held]
    widest = max(columns_of(text) for text in [*limits, level_words(held)])
    room = max([columns_of(_number(e, e.value)) for e in held if e.value is not None] + [5])
    counts = max([columns_of(f"{e.n:,}") for e in held] + [1])
    most = width - room - widest - counts - 3 * len(_GAP)
    names = [cut(name, most) for name in [OVERALL, *titles(agreement.overall.estimates)]]
    first = max(columns_of(name) for name in names)
    head = f"{_pad(names[0], first)}{_GAP}{_right('value', room)}{_GAP}{_pad(level_words(held), widest)}{_GAP}"
    made = [f"{head}{_right('n', counts)}"]
    for name, estimate, limit in zip(names[1:], held, limits, strict=True):
        start = f"{_pad(name, first)}{_GAP}"
        if estimate.value is None:
            text = f"undefined: {free(estimate.reason)} (n = {estimate.n:,})"
            made += _hanging(start, text, width)
            continue
        line = f"{start}{_right(_number(estimate, estimate.value), room)}{_GAP}{_pad(limit, widest)}"
        made.append(f"{line}{_GAP}{_right(f'{estimate.n:,}', counts)}")
        if estimate.interval is None:
            made += _hanging(" " * columns_of(start), f"no interval: {free(estimate.interval_reason)}", width)
    return made


def _parts(agreement: Agreement, width: int) -> list[str]:
    """Return the leading coefficients of each kind and group, as many as fit, with their reasons below."""
    made = []
    by = dict.fromkeys(name for name, _ in parts_of(agreement))
    for name in by:
        made += _part_table(agreement, name, [part for own, part in parts_of(agreement) if own == name], width)
    shown = min(len(_fitting(agreement, name, [], width)[1]) for name in by) if by else 0
    hidden = len(agreement.overall.estimates) - shown
    if by and hidden > 0:
        made += _indented(f"{counted(hidden, 'further coefficient')} of each: --out DIR, or --json", width)
    return made


def _part_table(agreement: Agreement, by: str, parts: Sequence[GroupAgreement], width: int) -> list[str]:
    shown = parts[:PARTS_SHOWN]
    table, _, reasons = _fitting(agreement, by, shown, width)
    widths = [max(columns_of(row[at]) for row in table) for at in range(len(table[0]))]
    made = ["", *(_joined(row, widths, width) for row in table)]
    for mark, reason in enumerate(reasons, 1):
        made += _indented(f"({mark}) {reason}", width)
    if len(parts) > len(shown):
        made += _indented(f"… {len(parts) - len(shown):,} more of {len(parts):,}: --out DIR, or --json", width)
    for part in shown:
        if part.remark and part.remark != agreement.overall.remark:
            made += _indented(f"{clean(part.name)}: {free(part.remark)}", width)
    return made


def _fitting(
    agreement: Agreement, by: str, parts: Sequence[GroupAgreement], width: int
) -> tuple[list[list[str]], list[str], list[str]]:
    """Return the rows with as many of the leading coefficients as fit, the names of those, and the reasons marked."""
    names = leading(agreement.overall)
    while True:
        reasons: list[str] = []
        table = [_heads(agreement, by, names)]
        table += [[cut(clean(part.name), _NAME), *_cells(part, names, reasons)] for part in parts]
        widths = [max(columns_of(row[at]) for row in table) for at in range(len(table[0]))]
        if sum(widths) + len(_GAP) * (len(widths) - 1) <= width or len(names) <= 1:
            return table, names, reasons
        names = names[:-1] if len(names) > 2 or names[0] != "raw_agreement" else names[1:]


def _heads(agreement: Agreement, by: str, names: Sequence[str]) -> list[str]:
    symbols = [symbol_of(agreement.overall.estimates[name], name) for name in names]
    level = level_words(agreement.overall.estimates.values())
    return [cut(f"by {by}", _NAME), *(f"{cut(symbol, 14)} [{level}] n" for symbol in symbols)]


def _cells(part: GroupAgreement, names: Sequence[str], reasons: list[str]) -> list[str]:
    cells = []
    for name in names:
        estimate = part.estimates.get(name)
        if estimate is None:
            cells.append(f"not computed {_mark('this part has no such coefficient', reasons)}")
        elif estimate.value is None:
            cells.append(f"undefined {_mark(free(estimate.reason), reasons)} {estimate.n:,}")
        else:
            limits = _limits(estimate) if estimate.interval else _mark(free(estimate.interval_reason), reasons)
            cells.append(f"{_number(estimate, estimate.value)} {limits} {estimate.n:,}")
    return cells


def _mark(reason: str, reasons: list[str]) -> str:
    if reason not in reasons:
        reasons.append(reason)
    return f"({reasons.index(reason) + 1})"


# ------------------------------------------------------------------------------------------------------------ remarks


def _remarks(agreement: Agreement) -> list[tuple[str, list[str]]]:
    overall = agreement.overall
    return [
        ("", [""]),
        ("Remark", [free(overall.remark)] if overall.remark else []),
        ("Scale", [f"{scale_words(agreement)}; {counts_words(overall)}"]),
        ("Missing", [missing_words(overall)]),
        ("Pairs", _pairs(agreement)),
        ("Disagree", _confusions(agreement)),
        ("Split", _split(agreement)),
        ("Used", [f"all: {shares(overall.marginals)} (n = {overall.ratings:,})" if overall.ratings else "no rating"]),
        ("", [_rater(marginal) for marginal in agreement.raters[:RATERS_SHOWN]]),
        ("", _more(len(agreement.raters) - RATERS_SHOWN, "more rater")),
        ("Intervals", [f"{interval_words(agreement)}; {n_words(overall)}"]),
        ("Note", [free(note) for note in agreement.notes]),
    ]


def _more(count: int, noun: str) -> list[str]:
    return [f"… {counted(count, noun)}: --out DIR, or --json"] if count > 0 else []


def _pairs(agreement: Agreement) -> list[str]:
    """Return the pairs that agree least and most beyond chance; the overall table says it where there is one pair."""
    known = [pair for pair in agreement.pairs if pair.kappa.value is not None]
    if len(agreement.pairs) < 2 or not known:
        return []
    ordered = sorted(known, key=lambda pair: pair.kappa.value or 0.0)
    chosen = [("least", ordered[0])] + ([("most", ordered[-1])] if len(ordered) > 1 else [])
    return [
        f"{word}: {clean(pair.first, 20)} / {clean(pair.second, 20)}  "
        f"{pair_sign(agreement)} {_inline(pair.kappa)}; raw {_inline(pair.raw)}"
        for word, pair in chosen
    ] + _more(len(agreement.pairs) - len(chosen), "more pair")


def _confusions(agreement: Agreement) -> list[str]:
    return [
        f"{own.n:,} of {own.of:,} ({percent(own.n / own.of) if own.of else '–'})  {clean(own.first, 20)}: "
        f"{category(own.first_value)}, {clean(own.second, 20)}: {category(own.second_value)}"
        for own in agreement.confusions[:TOP]
    ]


def _split(agreement: Agreement) -> list[str]:
    made = []
    for unit in agreement.split[:TOP]:
        values = [f"{clean(rater, 16)}: {category(value, 16)}" for rater, value in list(unit.values.items())[:TOP]]
        more = f", … {len(unit.values) - TOP} more" if len(unit.values) > TOP else ""
        made.append(f"{clean(unit.unit, 24)}  {', '.join(values)}{more}  (distance {decimal(unit.disagreement)} of 1)")
    return made


def _rater(marginal: Marginal) -> str:
    kind = "" if marginal.kind in ("", "raters") else f" ({clean(marginal.kind, 12)})"
    mean = "" if marginal.mean is None else f"; mean {decimal(marginal.mean)}"
    na = f", {marginal.not_applicable:,} not applicable" if marginal.not_applicable else ""
    told = shares(marginal.shares, FEW_CATEGORIES) if marginal.n else "no rating"
    return f"{clean(marginal.rater, 24)}{kind}: {told}{mean} (n = {marginal.n:,}{na})"


# ---------------------------------------------------------------------------------------------------------- type area


def _number(estimate: Estimate, value: float | None) -> str:
    unit = f" {estimate.unit}" if estimate.unit else ""
    return "–" if value is None else f"{number(value, decimals(estimate))}{unit}"


def _limits(estimate: Estimate) -> str:
    interval, places = estimate.interval, decimals(estimate)
    return f"[{number(interval.low, places)}, {number(interval.high, places)}]" if interval else ""


def _inline(estimate: Estimate) -> str:
    if estimate.value is None:
        return f"undefined ({free(estimate.reason)}), n = {estimate.n:,}"
    limits = _limits(estimate) or f"[no interval: {free(estimate.interval_reason)}]"
    return f"{_number(estimate, estimate.value)} {limits} n = {estimate.n:,}"


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
