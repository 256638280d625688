"""The lines of `usercal agreement` below its tables: pairs, disagreements, use of the scale, intervals, notes."""

from __future__ import annotations

from calibrate.agreement import Agreement, Marginal
from calibrate.estimate import Estimate
from calibrate.report.agreement.pairs import why_no_disagreement
from calibrate.report.agreement.titles import category, clean, pair_sign
from calibrate.report.agreement.usage import kind_words, median_words, together
from calibrate.report.agreement.words import (
    FEW_CATEGORIES,
    counts_words,
    decimal,
    free,
    interval_words,
    missing_words,
    n_words,
    percent,
    scale_words,
    shares,
    target_words,
)
from calibrate.report.wording import counted, decimals, number

FEW_PAIRS = 6
TOP = 3  # disagreements
TOP_UNITS = 2
VALUES_SHOWN = 5  # of a unit
RATERS_SHOWN = 6
MORE = "--out DIR, or --json"


def remarks(agreement: Agreement) -> list[tuple[str, list[str]]]:
    """Return what is said below the tables: (label, texts), an empty text being an empty line."""
    overall = agreement.overall
    target = target_words(agreement)
    return [
        ("", [""]),
        ("Remark", [free(overall.remark)] if overall.remark else []),
        ("Scale", [f"{scale_words(agreement)}; {counts_words(overall)}"]),
        ("Missing", [missing_words(overall)]),
        ("Pairs", _pairs(agreement)),
        ("Disagree", _confusions(agreement)),
        ("Split", _split(agreement)),
        ("Used", _used(agreement)),
        ("Intervals", [interval_words(agreement) + (f"; they speak of {target}" if target else "")]),
        ("n", [n_words(agreement).removeprefix("n ")]),
        ("Note", [free(note) for note in agreement.notes]),
    ]


def more_words(count: int, noun: str) -> list[str]:
    """Return how many more there are, and where."""
    return [f"… {counted(count, noun)}: {MORE}"] if count > 0 else []


def _pairs(agreement: Agreement) -> list[str]:
    """Return every pair where they are few, else those that agree least and most beyond chance.

    The overall table says it where there is one pair.
    """
    known = [pair for pair in agreement.pairs if pair.kappa.value is not None]
    if len(agreement.pairs) < 2:
        return []
    if len(agreement.pairs) <= FEW_PAIRS:
        chosen = [("", pair) for pair in agreement.pairs]
    else:
        ordered = sorted(known, key=lambda pair: pair.kappa.value or 0.0)
        chosen = [("least: ", ordered[0])] if ordered else []
        chosen += [("most: ", ordered[-1])] if len(ordered) > 1 else []
    return [
        f"{word}{clean(pair.first, 20)} / {clean(pair.second, 20)}  "
        f"{pair_sign(agreement)} {inline(pair.kappa, '')}; raw {inline(pair.raw)}"
        for word, pair in chosen
    ] + more_words(len(agreement.pairs) - len(chosen), "more pair")


def _confusions(agreement: Agreement) -> list[str]:
    if not agreement.confusions:
        return [why_no_disagreement(agreement)] if agreement.overall.paired_units else []
    return [
        f"{own.n:,} of {own.of:,} ({percent(own.n / own.of) if own.of else '–'})  {clean(own.first, 20)}: "
        f"{category(own.first_value)}, {clean(own.second, 20)}: {category(own.second_value)}"
        for own in agreement.confusions[:TOP]
    ]


def _split(agreement: Agreement) -> list[str]:
    made = []
    for unit in agreement.split[:TOP_UNITS]:
        shown = list(unit.values.items())[:VALUES_SHOWN]
        values = [f"{clean(rater, 16)}: {category(value, 16)}" for rater, value in shown]
        more = f", … {len(unit.values) - VALUES_SHOWN} more" if len(unit.values) > VALUES_SHOWN else ""
        made.append(f"{clean(unit.unit, 24)}  {', '.join(values)}{more}  (distance {decimal(unit.disagreement)} of 1)")
    return made


def _used(agreement: Agreement) -> list[str]:
    if not agreement.overall.ratings:
        return ["no rating"]
    shown = [*together(agreement), *agreement.raters[:RATERS_SHOWN]]
    more = more_words(len(agreement.raters) - RATERS_SHOWN, "more rater")
    return [_use(agreement, own) for own in shown] + more


def _use(agreement: Agreement, own: Marginal) -> str:
    median = median_words(agreement, own)
    middle = f"; median {median}" if median else ""
    mean = "" if own.mean is None else f"; mean {decimal(own.mean)}"
    na = f", {own.not_applicable:,} n/a" if own.not_applicable else ""
    told = shares(own.shares, FEW_CATEGORIES) if own.n else "no rating"
    return f"{kind_words(own)}: {told}{middle}{mean} (n = {own.n:,}{na})"


def number_words(estimate: Estimate) -> str:
    """Return the value with its unit, or a dash where there is none."""
    unit = f" {estimate.unit}" if estimate.unit else ""
    return "–" if estimate.value is None else f"{number(estimate.value, decimals(estimate))}{unit}"


def limits(estimate: Estimate) -> str:
    """Return the interval in brackets, or nothing where there is none."""
    interval, places = estimate.interval, decimals(estimate)
    return f"[{number(interval.low, places)}, {number(interval.high, places)}]" if interval else ""


def inline(estimate: Estimate, n: str = "n = ") -> str:
    """Return value, interval and n on one line, or why there is no value or interval; without n where `n` is empty."""
    counts = f" {n}{estimate.n:,}" if n else ""
    if estimate.value is None:
        return f"undefined ({free(estimate.reason)}){',' if n else ''}{counts}"
    shown = limits(estimate) or f"[no interval: {free(estimate.interval_reason)}]"
    return f"{number_words(estimate)} {shown}{counts}"
