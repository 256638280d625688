"""How an estimate is written: value, limits, n, or the reason that stands in their place.

The number of decimals follows the unit, so that a table does not show more than its interval supports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calibrate.estimate import Estimate

MINUS = "\u2212"
_DECIMALS = {"%": 0, "points": 1, "words": 1, "messages": 1}
_UNWRITTEN = ("USD", "scale points")  # the dollar sign, or the column, says it
_SIGN = 2  # ρ, r, τ stand before their value; longer symbols are words, and the column says them
_FINER_FROM = 200  # from so many rows on a percentage gets a decimal


@dataclass(frozen=True, slots=True)
class Written:
    """The parts of a written estimate; `value` is empty where there is none, then `note` says why."""

    symbol: str
    value: str
    interval: str
    counts: str
    p: str
    note: str

    @property
    def line(self) -> str:
        """All parts on one line: `ρ 0.41 [−0.22, 0.80], n = 12, 6 groups`."""
        head = " ".join(part for part in (self.symbol, self.value, self.interval) if part)
        return ", ".join(part for part in (head, self.note, self.counts, self.p) if part)


def write(estimate: Estimate) -> Written:
    """Return how an estimate is written; nothing in it is ever nan."""
    symbol = str(estimate.extra.get("symbol") or "")
    symbol = symbol if len(symbol) <= _SIGN else ""
    counts = written_counts(estimate)
    if estimate.value is None:
        return Written(symbol, "", "", counts, "", f"no value: {estimate.reason}")
    places = decimals(estimate)
    unit = "" if estimate.unit in _UNWRITTEN else estimate.unit
    dollar = "$" if estimate.unit == "USD" else ""
    value = " ".join(part for part in (f"{dollar}{number(estimate.value, places)}", unit) if part)
    interval = estimate.interval
    limits = f"[{number(interval.low, places)}, {number(interval.high, places)}]" if interval else ""
    note = "" if interval else f"no interval: {estimate.interval_reason}"
    return Written(symbol, value, limits, counts, p_value(estimate.p_value), note)


def written_counts(estimate: Estimate) -> str:
    """Return `n = 12` and, where it is known, the number of groups: `n = 12, 6 groups`."""
    groups = estimate.extra.get("groups")
    return f"n = {estimate.n:,}" + (f", {groups} groups" if groups is not None else "")


def decimals(estimate: Estimate) -> int:
    """Return how many decimals an estimate is written with: by its unit, and for percentages by n."""
    if estimate.unit == "%" and estimate.n >= _FINER_FROM:
        return 1
    if estimate.unit == "USD":
        return 2 if estimate.value is not None and abs(estimate.value) >= 1 else 4
    return _DECIMALS.get(estimate.unit or "", 2)


def number(value: float, places: int = 2) -> str:
    """Return a fixed-point number with a true minus sign, and none before zero."""
    text = f"{value:,.{places}f}"
    if text.startswith("-"):
        return MINUS + text[1:] if text.strip("-0.,") else text[1:]
    return text


def p_value(p: float | None) -> str:
    """Return `p = .031`, `p < .001`, or nothing where there is none."""
    if p is None:
        return ""
    return "p < .001" if p < 0.001 else "p = 1" if p > 0.9995 else f"p = {p:.3f}".replace("0.", ".", 1)


def capital(text: str) -> str:
    """Return text with a capital first letter; the rest, which may hold names, stays as it is."""
    return text[:1].upper() + text[1:]


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return `1 conversation`, `12 conversations`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Return `a, b and c`, or the first names and how many more where there are too many to read."""
    shown = list(names)
    if len(shown) > most:
        return f"{', '.join(shown[: most - 1])} and {len(shown) - most + 1} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def encodable(text: str) -> str:
    """Return text that can be written as UTF-8: lone surrogates, which occur in exports, become `?`."""
    return text.encode("utf-8", "replace").decode("utf-8")
