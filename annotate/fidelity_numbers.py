"""Numbers as tables print them: a rate by its digits, a count, an amount; and the one count behind a printed rate."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

MARKS = "†‡*∗§"
_RATE = re.compile(r"(\d*)[.,]?(\d*)(?:e([+-]?\d+))?", re.IGNORECASE)
_WHOLE = re.compile(r"\d+(\.0*)?|\d{1,3}(,\d{3})+|\d+(\.\d+)?e\+?\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rate:
    """A printed rate: its value, exactly, and the half unit of its last digit."""

    text: str
    value: Fraction
    half: Fraction

    def rounds_from(self, count: int, n: int) -> bool:
        """Whether `count` of `n` would be printed so, rounded half up or half even."""
        # A number of full machine precision is the share itself, up to its rounding in the seventeenth digit.
        return n > 0 and abs(Fraction(count, n) - self.value) <= max(self.half, Fraction(1, 10**12))


@dataclass(frozen=True, slots=True)
class Match:
    """The count that a printed rate stands for; `fits` is how many counts would have been printed so."""

    count: int
    fits: int


def printed_rate(text: str) -> Rate:
    """Read a rate from 0 to 1 (`.711`, `0.711`, `0,711`) or in percent (`71.1 %`) with the precision of its digits.

    `ValueError` says what is wrong with it.
    """
    percent = text.endswith("%")
    digits = text.rstrip("%").strip()
    form = _RATE.fullmatch(digits)
    if form is None or not (form[1] or form[2]):
        raise ValueError(f"{text!r} is no rate; write a number from 0 to 1, or one in percent with its sign")
    shift = int(form[3] or 0) - (2 if percent else 0)
    value = Fraction(int((form[1] + form[2]) or 0)) / 10 ** len(form[2]) * Fraction(10) ** shift
    if not 0 <= value <= 1:
        raise ValueError(f"{text!r} is not between 0 and 1; write a rate, or percent with its sign")
    return Rate(text, value, Fraction(1, 2) / 10 ** len(form[2]) * Fraction(10) ** shift)


def counts_behind(rate: Rate, n: int) -> Match | None:
    """Return the whole number of `n` that a printed rate stands for (the GRIM check), the nearest where several fit.

    A count fits where its share rounds to the printed digits, half up or half even. None where no count fits.
    Source: Brown & Heathers (2017), The GRIM test, Social Psychological and Personality Science 8(4).
    """
    if n == 0:
        return None
    half = max(rate.half, Fraction(1, 10**12))
    lowest = max(0, math.ceil((rate.value - half) * n))
    highest = min(n, math.floor((rate.value + half) * n))
    near = [count for count in (math.floor(rate.value * n), math.ceil(rate.value * n)) if rate.rounds_from(count, n)]
    if not near:
        return None
    return Match(min(near, key=lambda count: abs(Fraction(count, n) - rate.value)), highest - lowest + 1)


def whole_number(text: str) -> float:
    """Read a whole number of at least 0, also with commas between thousands (`57,888`)."""
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is no whole number of at least 0; correct it")
    value = float(text.replace(",", ""))
    if not math.isfinite(value) or not value.is_integer() or value > 2**53:
        raise ValueError(f"{text!r} is no whole number of at least 0; correct it")
    return value


def number(text: str) -> float:
    """Read a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in text:
        raise ValueError(f"{text[:40]!r} is no number; correct it, or leave the cell empty where it is not known.")
    return value


def amount(text: str) -> float:
    """Read a number of at least 0, with or without a dollar sign; a comma before decimals is taken as a point."""
    plain = text.removeprefix("$").strip()
    if re.fullmatch(r"0?,\d+", plain):
        plain = plain.replace(",", ".")
    value = number(plain)
    if value < 0:
        raise ValueError(f"{text[:40]!r} is below 0; correct it, or leave the cell empty where it is not known.")
    return value


def reward(text: str) -> float:
    """Read a reward: a number, or true and false for 1 and 0."""
    said = text.casefold()
    return float(said == "true") if said in ("true", "false") else number(text)


def whole_or_negative(text: str) -> float:
    """Read the position of a turn; -1 says that there is none."""
    return math.nan if text == "-1" else whole_number(text)


def without_marks(text: str) -> tuple[str, str]:
    """Return (number, marks) of a cell such as `.912†`."""
    plain = text.rstrip(MARKS + " ^").strip()
    return plain, "".join(mark for mark in text[len(plain) :] if mark in MARKS).replace("∗", "*")
