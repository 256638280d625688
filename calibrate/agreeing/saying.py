"""The plain sentence about a scale's agreement, and what a reader must know before using the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from calibrate.agreeing.disagreeing import MAX_PAIRS
from calibrate.agreeing.table import RatedTable
from calibrate.agreement import MIXED, GroupAgreement
from calibrate.estimate import Estimate
from calibrate.stats.agreement.ratings import Level

RELIABLE, TENTATIVE = 0.8, 2 / 3  # Krippendorff, Content Analysis, 4th edition 2018, chapter 12
FEW_UNITS = 30


def answer_of(overall: GroupAgreement, kinds: Sequence[GroupAgreement], level: Level) -> str:
    """Return the plain answer; where people and models both rated, how they agree with each other comes first."""
    mixed = next((kind for kind in kinds if kind.name == MIXED), None)
    people = next((kind for kind in kinds if kind.name == "people"), None)
    if mixed is None:
        return sentence_of(overall, level, f"{overall.raters} raters of {overall.paired_units:,} units")
    said = sentence_of(mixed, level, f"A person and a model, in {mixed.units:,} pairs of ratings,", "")
    if people is None:
        return said
    return f"{said} {sentence_of(people, level, f'{people.raters} people, on {people.paired_units:,} units,')}"


def sentence_of(group: GroupAgreement, level: Level, who: str, of: str = " of pairs of ratings") -> str:
    """Return how often raters agree, how much is beyond chance, and what that is good for.

    The bars are Krippendorff's: conclusions can rest on α from .80, tentative ones from .667; an interval that holds a
    bar settles nothing about it.
    """
    raw, alpha = group.estimates["raw_agreement"], group.estimates[f"alpha_{level}"]
    if raw.value is None:
        return f"No two raters rated the same unit, so there is no agreement to measure ({raw.reason})."
    verb = "agree on" if level == "nominal" else "give the same rating in"
    said = f"{who} {verb} {_percent(raw)}{of}"
    if alpha.value is None:
        return f"{said}; α has no value: {alpha.reason}."
    figure = f"α = {_signed(alpha.value)}{_limits(alpha)}"
    if group.remark is not None:
        return f"{said}. Beyond chance {figure}, which says little here: {_commonest(group)}."
    return f"{said}; beyond chance {figure}: {_worth(alpha)}."


def _commonest(group: GroupAgreement) -> str:
    """Return which share of the ratings makes α low whatever the raters do."""
    category, share = max(group.marginals.items(), key=lambda entry: entry[1])
    return f"{100 * share:.0f} % of all ratings are {category!r}; read AC1 and PABAK beside it"


def difference_words(difference: Estimate) -> str:
    """Return how models differ from people on the same units, in points of the scale."""
    if difference.value is None:
        return f"how models differ from people cannot be told: {difference.reason}"
    side = "higher" if difference.value >= 0 else "lower"
    if difference.low is None or difference.high is None:
        limits = f"[no interval: {difference.interval_reason}]"
    else:
        low, high = sorted((abs(difference.low), abs(difference.high)))
        crosses = difference.low < 0 < difference.high
        limits = f"[{_signed(difference.low)}, {_signed(difference.high)}]" if crosses else f"[{low:.2f}, {high:.2f}]"
    points = f"{abs(difference.value):.2f} points {side}"
    return f"models rate {points} than people on the same units {limits}, n = {difference.n:,} pairs"


def _worth(alpha: Estimate) -> str:
    assert alpha.value is not None
    if alpha.low is None or alpha.high is None:
        return "without an interval nothing is settled"
    if alpha.low >= RELIABLE:
        return "conclusions can rest on single ratings"
    if alpha.high < TENTATIVE:
        return "too little for conclusions that rest on single ratings"
    if alpha.low >= TENTATIVE:
        return "enough for tentative conclusions"
    if alpha.high < RELIABLE:
        return "tentative conclusions at best"
    return "these data do not settle whether ratings can be relied on"


def notes_of(table: RatedTable, overall: GroupAgreement, pairs: int, unsearched: int) -> Iterator[str]:
    """Yield what must be known beside the numbers."""
    if 0 < overall.paired_units < FEW_UNITS:
        yield f"only {overall.paired_units} units have two ratings: intervals by resampling are rough below {FEW_UNITS}"
    if not table.ratings.declared and table.ratings.level in ("nominal", "ordinal"):
        yield (
            "the categories are those that occur; AC1, AC2, Brennan–Prediger and PABAK depend on all that could have "
            "been used: declare them (--categories; in Python categories=…)"
        )
    if pairs > MAX_PAIRS:
        yield f"{pairs:,} pairs of raters share units; the {MAX_PAIRS} with the most are shown"
    if unsearched:
        yield f"pairs were sought among the {table.ratings.raters - unsearched} raters with the most ratings"
    alone = overall.units - overall.paired_units
    if alone:
        yield f"{alone:,} units have a single rating and say nothing about agreement"


def _percent(estimate: Estimate) -> str:
    assert estimate.value is not None
    text = f"{100 * estimate.value:.0f} %"
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} [{100 * estimate.low:.0f}, {100 * estimate.high:.0f}]"


def _limits(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f" [{_signed(estimate.low)}, {_signed(estimate.high)}]"


def _signed(value: float) -> str:
    """Return two decimals with a true minus sign, and none before zero."""
    text = f"{value:.2f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")
