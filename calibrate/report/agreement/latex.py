"""Agreement as tables for a paper: booktabs, every name escaped, n and interval method in the caption."""

from __future__ import annotations

import re
from collections.abc import Sequence

from calibrate.agreement import Agreement, GroupAgreement
from calibrate.estimate import Estimate, installed_version
from calibrate.report.agreement.titles import clean, leading, titles
from calibrate.report.agreement.words import (
    OVERALL,
    by_words,
    counts_words,
    interval_words,
    level_words,
    missing_words,
    n_words,
    parts_of,
    target_words,
)
from calibrate.report.fidelity.latex import escape
from calibrate.report.wording import encodable, number

_LONGEST_REASON = 160
MOST_ROWS = 45  # of the table of parts; a page holds no more, and the CSV has them all
_INDEXED = re.compile(r"\$(\\kappa)\$w\b")


def to_latex(agreements: Sequence[Agreement]) -> str:
    """Return a table of coefficients a scale and one of each kind and group, where there are any."""
    texts = [f"% Agreement of raters, UserCal {installed_version()}. Needs booktabs; accents need T1 fontenc."]
    for place, agreement in enumerate(agreements):
        mark = "" if len(agreements) == 1 else f"-{place + 1}"
        texts.append(_coefficients(agreement, f"tab:agreement{mark}"))
        if parts_of(agreement):
            texts.append(_parts(agreement, f"tab:agreement-parts{mark}"))
    return encodable("\n\n".join(texts)) + "\n"


def _coefficients(agreement: Agreement, label: str) -> str:
    held = list(agreement.overall.estimates.values())
    columns = ["Coefficient", "Value", f"{_text(level_words(held))} interval", "$n$"]
    rows = [_row([_text(title)], e) for title, e in zip(titles(agreement.overall.estimates), held, strict=True)]
    caption = (
        f"Agreement of raters on {clean(agreement.scale)} ({agreement.level}): {counts_words(agreement.overall)}; "
        f"{missing_words(agreement.overall)}. {_how(agreement, held)}"
    )
    return _table(caption, label, "lrrr", columns, rows)


def _parts(agreement: Agreement, label: str) -> str:
    everything = [agreement.overall, *(part for _, part in parts_of(agreement))]
    for most in (None, 3, 2):  # fewer coefficients of each part where a page would not hold all
        rows, held = _rows_of(agreement, everything, most)
        if len(rows) <= MOST_ROWS:
            break
    all_told = most is None and len(rows) <= MOST_ROWS
    more = "" if all_told else " Further parts and coefficients are in agreement.csv."
    caption = (
        f"Agreement of raters on {clean(agreement.scale)} ({agreement.level}) by {by_words(agreement)}.{more} "
        f"{_how(agreement, held)}"
    )
    columns = ["Part", "Coefficient", "Value", f"{_text(level_words(held))} interval", "$n$"]
    return _table(caption, label, "llrrr", columns, rows[:MOST_ROWS])


def _rows_of(
    agreement: Agreement, parts: Sequence[GroupAgreement], most: int | None
) -> tuple[list[list[str]], list[Estimate]]:
    rows: list[list[str]] = []
    held: list[Estimate] = []
    for part in parts:
        names = list(part.estimates) if most is None else leading(part, most)
        own = {name: part.estimates[name] for name in names}
        held += own.values()
        for at, (title, estimate) in enumerate(zip(titles(own), own.values(), strict=True)):
            rows.append(_row([_text(_name(agreement, part)) if at == 0 else "", _text(title)], estimate))
    return rows, held


def _name(agreement: Agreement, part: GroupAgreement) -> str:
    return OVERALL if part is agreement.overall else clean(part.name)


def _how(agreement: Agreement, held: Sequence[Estimate]) -> str:
    """Return how intervals came about and for whom they speak, what n is, and why something has no value."""
    target = target_words(agreement)
    text = f"{interval_words(agreement, long=True)}." + (f" They speak of {target}." if target else "")
    text += f" {n_words(agreement)}."
    found = list(dict.fromkeys(e.reason or e.interval_reason or "" for e in held))
    reasons = [clean(why, _LONGEST_REASON) for why in found if why]
    return text + (f" No value or no interval: {'; '.join(reasons)}." if reasons else "")


def _row(head: Sequence[str], estimate: Estimate) -> list[str]:
    if estimate.value is None:
        return [*head, "undefined", "--", f"{estimate.n:,}"]
    interval = estimate.interval
    limits = f"{{[{_number(interval.low)}, {_number(interval.high)}]}}" if interval else "none"
    unit = f" {_text(estimate.unit)}" if estimate.unit else ""
    return [*head, f"{_number(estimate.value)}{unit}", limits, f"{estimate.n:,}"]


def _number(value: float) -> str:
    return escape(number(value, 2))


def _text(text: str) -> str:
    """Escape a text; the weighted κ, written κw, has its index in a formula."""
    return _INDEXED.sub(r"$\1_{\\mathrm{w}}$", escape(text))


def _table(caption: str, label: str, spec: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(
        [
            r"\begin{table}[t]",
            r"\centering\small",
            rf"\caption{{{_text(caption)}}}",
            rf"\label{{{label}}}",
            rf"\begin{{tabular}}{{{spec}}}",
            r"\toprule",
            " & ".join(columns) + r" \\",
            r"\midrule",
            # Braces first: a row that begins with a bracket would be an argument of the line break before it.
            *("{}" * row[0].startswith(("[", "*")) + " & ".join(row) + r" \\" for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )
