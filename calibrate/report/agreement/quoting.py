"""One paragraph on a scale's agreement that a paper can quote: counts, raw agreement, α, intervals and target."""

from __future__ import annotations

from calibrate.agreement import MIXED, Agreement, GroupAgreement
from calibrate.estimate import Estimate, installed_version
from calibrate.report.agreement.titles import is_alpha, leading, title_of
from calibrate.report.agreement.words import drawing, ended, free, method_of, percent, target_words
from calibrate.report.wording import capital, counted, number

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def summary(agreement: Agreement) -> str:
    """Return sentences for a paper: who rated what, raw agreement, α and, where prevalence misleads, one more."""
    overall = agreement.overall
    raters = _WORDS[overall.raters] if overall.raters < len(_WORDS) else f"{overall.raters:,}"
    who = f"{capital(raters)} {'rater' if overall.raters == 1 else 'raters'}"
    counts = f"({counted(overall.units, 'unit')}, {counted(overall.ratings, 'rating')})"
    raw = overall.estimates.get("raw_agreement")
    if raw is None or raw.value is None:
        why = free(raw.reason) if raw is not None else "nothing could be compared"
        return f"{who} {counts} cannot be compared: {ended(why)}"
    said = [f"{who} {counts} agreed on {_share(agreement, raw)}"]
    said += [_coefficient(agreement, name, overall.estimates[name]) for name in _quoted(overall)]
    target = target_words(agreement)
    parts = [ended("; ".join(said)), f"Intervals speak of {target}." if target else "", _mixed(agreement)]
    return " ".join(part for part in [*parts, f"Computed with UserCal {installed_version()}."] if part)


def _quoted(group: GroupAgreement) -> list[str]:
    """Return α, or what leads beyond raw agreement; where prevalence misleads, also what it moves less."""
    names = [name for name in leading(group) if name != "raw_agreement"]
    return names if group.remark else names[:1]


def _share(agreement: Agreement, raw: Estimate) -> str:
    assert raw.value is not None
    if raw.interval is None:
        return f"{percent(raw.value)} of pairs of ratings (no interval: {free(raw.interval_reason)})"
    limits = f"[{100 * raw.interval.low:.0f}, {100 * raw.interval.high:.0f}]"
    how = f"{100 * raw.level:g} % interval, {method_of(agreement, raw)}"
    return f"{percent(raw.value)} of pairs of ratings {limits} ({how})"


def _coefficient(agreement: Agreement, name: str, estimate: Estimate) -> str:
    title = title_of(estimate, name)
    if estimate.value is None:
        return f"{title} has no value ({free(estimate.reason)})"
    if estimate.interval is None:
        return f"{title} = {_apa(estimate.value)} (no interval: {free(estimate.interval_reason)})"
    limits = f"[{_apa(estimate.interval.low)}, {_apa(estimate.interval.high)}]"
    how = f"{100 * estimate.level:g} % interval, {method_of(agreement, estimate)}{drawing([estimate])}"
    return f"{title} = {_apa(estimate.value)} {limits} ({how})"


def _mixed(agreement: Agreement) -> str:
    """Return how a person and a model agree, where both rated."""
    mixed = next((kind for kind in agreement.kinds if kind.name == MIXED), None)
    raw = None if mixed is None else mixed.estimates.get("raw_agreement")
    if mixed is None or raw is None or raw.value is None:
        return ""
    alpha = next((name for name in mixed.estimates if is_alpha(name)), None)
    beyond = "" if alpha is None else f"; {_bare(alpha, mixed.estimates[alpha])}"
    limits = f" [{100 * raw.interval.low:.0f}, {100 * raw.interval.high:.0f}]" if raw.interval else ""
    return f"A person and a model agreed in {percent(raw.value)}{limits} of {mixed.units:,} pairs of ratings{beyond}."


def _bare(name: str, estimate: Estimate) -> str:
    if estimate.value is None:
        return f"{title_of(estimate, name)} has no value ({free(estimate.reason)})"
    limits = f" [{_apa(estimate.interval.low)}, {_apa(estimate.interval.high)}]" if estimate.interval else ""
    return f"{title_of(estimate, name)} = {_apa(estimate.value)}{limits}"


def _apa(value: float) -> str:
    """Return two decimals without a 0 before the point, as is usual for what cannot be above 1."""
    text = number(value)
    return text.replace("0.", ".", 1) if text.lstrip("−").startswith("0.") else text
