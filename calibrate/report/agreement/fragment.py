"""Agreement as a piece of HTML for a notebook: answer and coefficients with their own styles, and no request."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from calibrate.agreement import MIXED, Agreement
from calibrate.estimate import Estimate
from calibrate.report.agreement.titles import begun, clean, leading, shorts, titles
from calibrate.report.agreement.words import (
    ended,
    free,
    interval_words,
    level_words,
    n_words,
    parts_of,
    target_words,
)
from calibrate.report.wording import encodable, write

MOST_PARTS = 12
_TABLE = "border-collapse:collapse;margin:0.6em 0;font-variant-numeric:tabular-nums"
_HEAD = "text-align:left;font-weight:600;padding:0.25em 1.2em 0.25em 0;border-bottom:1px solid currentColor"
_CELL = "text-align:left;font-weight:400;padding:0.25em 1.2em 0.25em 0;white-space:nowrap"
_SMALL = "font-size:0.85em;opacity:0.8;max-width:60em"


def to_fragment(agreement: Agreement) -> str:
    """Return an HTML fragment for a notebook: every text escaped, inline styles, no script, colours of the page."""
    overall = agreement.overall
    names = titles(overall.estimates)
    rows = [(begun(title), "", e) for title, e in zip(names, overall.estimates.values(), strict=True)]
    held = list(overall.estimates.values())
    target = target_words(agreement)
    foot = ended(interval_words(agreement)) + (f" They speak of {target}." if target else "")
    parts = _parts(agreement)
    blocks = [
        _paragraph(f"{clean(agreement.scale, 60)}: {free(agreement.sentence)}", "font-weight:600;max-width:60em"),
        _paragraph(free(overall.remark), "max-width:60em") if overall.remark else "",
        _table(rows, ("Coefficient", "", "Value", f"{level_words(held)} interval", "n")),
        _table(parts, ("Part", "Coefficient", "Value", f"{level_words(held)} interval", "n")) if parts else "",
        _paragraph(f"{foot} {ended(n_words(agreement))}", _SMALL),
    ]
    return encodable(f'<div style="line-height:1.4">{"".join(blocks)}</div>')


def _parts(agreement: Agreement) -> list[tuple[str, str, Estimate]]:
    """Return the leading coefficients of the first parts; all of them are in the files."""
    made = []
    for _, part in parts_of(agreement)[:MOST_PARTS]:
        named = shorts(part.estimates)
        name = clean(part.name) + (" (n = pairs)" if part.name == MIXED else "")
        for at, key in enumerate(leading(part, 2)):
            made.append((name if at == 0 else "", named[key], part.estimates[key]))
    return made


def _paragraph(text: str, style: str) -> str:
    return f'<p style="{style}">{escape(text)}</p>'


def _table(rows: Sequence[tuple[str, str, Estimate]], columns: Sequence[str]) -> str:
    shown = [at for at, column in enumerate(columns) if column]
    head = "".join(f'<th scope="col" style="{_HEAD}">{escape(columns[at])}</th>' for at in shown)
    body = ""
    for first, second, estimate in rows:
        cells = [first, second, *_written(estimate)]
        told = "".join(f'<td style="{_CELL}">{escape(cells[at])}</td>' for at in shown[1:])
        body += f'<tr><th scope="row" style="{_CELL}">{escape(first)}</th>{told}</tr>'
    return f'<table style="{_TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _written(estimate: Estimate) -> tuple[str, str, str]:
    """Return value, interval and n; the reason where one of the first two is missing."""
    parts = write(estimate)
    if estimate.value is None:
        return "–", free(parts.note), f"{estimate.n:,}"
    return parts.value, parts.interval or free(parts.note), f"{estimate.n:,}"
