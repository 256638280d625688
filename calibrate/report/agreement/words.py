"""What is counted and how intervals came about, in words, so that every way of writing an `Agreement` says the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from calibrate.agreement import MIXED, Agreement, GroupAgreement
from calibrate.estimate import Estimate
from calibrate.report.agreement.titles import category, clean, shorts, titles
from calibrate.report.wording import MINUS, capital, counted, listed, number

FEW_CATEGORIES = 7
MOST_SHARES = 5
NO_BREAK = "\u00a0"
OVERALL = "all units and raters"
_TIED = re.compile(r"\bn = (?=\d)|(?<=\d) %|(?<=\d,) (?=[−.]*\d*\.?\d\d\])")
_HYPHEN = re.compile(r"(?<![\w.−-])-(?=\d*\.\d)")


def free(text: str | None) -> str:
    """Return running text on one line, without control signs, uncut; numbers below 0 have a true minus sign."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text or "").split())
    return _HYPHEN.sub(MINUS, line)


def ended(text: str) -> str:
    """Return a text that ends like a sentence."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def tied(text: str) -> str:
    """Return a text in which no line can end within `n = 12`, `83 %` or `[0.2, 0.8]`."""
    return _TIED.sub(lambda found: found[0].replace(" ", NO_BREAK), text)


def percent(share: float) -> str:
    """Return a share as a percentage; what is not quite 0 or 100 % is not written as that."""
    if 0 < share < 0.005:
        return "<1 %"
    if 0.995 <= share < 1:
        return ">99 %"
    return f"{100 * share:.0f} %"


def shares(marginals: Mapping[Any, float], few: int = FEW_CATEGORIES) -> str:
    """Return `1: 20 %, 2: 80 %` in the scale's order; of many categories those used most, and how many more."""
    if not marginals:
        return "not told: too many categories"
    shown = list(marginals.items())
    if len(shown) <= few:
        return ", ".join(f"{category(name)}: {percent(share)}" for name, share in shown)
    used = sorted((entry for entry in shown if entry[1] > 0), key=lambda entry: -entry[1])
    text = ", ".join(f"{category(name)}: {percent(share)}" for name, share in used[:MOST_SHARES])
    more = len(used) - MOST_SHARES
    return f"most used {text}; {counted(more, 'more category', 'more categories')}" if more > 0 else text


def decimal(value: float | None, places: int = 2) -> str:
    """Return a number with a true minus sign, or a dash where there is none."""
    return "–" if value is None else number(value, places)


# ------------------------------------------------------------------------------------------------------ scale and parts


def scale_name(agreement: Agreement) -> str:
    """Return a scale's name as it is read."""
    return clean(agreement.scale.replace("_", " "), 60)


def scale_heading(agreement: Agreement) -> str:
    """Return a scale's name as a heading, with its bounds where numbers were declared: `Interaction (1–10)`."""
    held = agreement.categories
    numbers = len(held) > 1 and all(isinstance(own, int | float) and not isinstance(own, bool) for own in held)
    bounds = f" ({category(held[0])}–{category(held[-1])})"
    if not numbers or not agreement.declared or agreement.level == "nominal":
        bounds = ""
    return capital(scale_name(agreement)) + bounds


def scale_words(agreement: Agreement) -> str:
    """Return level and categories: `ordinal, 5 categories (1 to 5), as declared`."""
    held = agreement.categories
    known = "as declared" if agreement.declared else "as they occur"
    if not held:
        return f"{agreement.level}, no categories"
    if len(held) == 1:
        span = category(held[0])
    elif agreement.level == "nominal":
        span = listed([category(name) for name in held], 6)
    else:
        span = f"{category(held[0])} to {category(held[-1])}"
    return f"{agreement.level}, {counted(len(held), 'category', 'categories')} ({span}), {known}"


def parts_of(agreement: Agreement) -> list[tuple[str, GroupAgreement]]:
    """Return what has coefficients of its own beside all ratings, each with what it is a part by."""
    by = clean(agreement.group_by) if agreement.group_by is not None else "group"
    return [("kind", part) for part in agreement.kinds] + [(by, part) for part in agreement.groups]


def by_words(agreement: Agreement) -> str:
    """Return what the parts are parts by: `kind of rater and domain`."""
    by = dict.fromkeys(name for name, _ in parts_of(agreement))
    return listed(["kind of rater" if name == "kind" else name for name in by])


# --------------------------------------------------------------------------------------------------------------- counts


def counts_words(group: GroupAgreement) -> str:
    """Return units, raters and ratings in words."""
    paired = "each" if group.paired_units == group.units > 0 else f"{group.paired_units:,}"
    return (
        f"{counted(group.units, 'unit')} ({paired} with two ratings or more), "
        f"{counted(group.raters, 'rater')}, {counted(group.ratings, 'rating')}"
    )


def missing_words(group: GroupAgreement) -> str:
    """Return how many ratings are missing, and how often a scale did not apply, which is told apart."""
    answers = group.ratings + group.not_applicable
    absent = f"{counted(group.missing, 'rating')} missing" if group.missing else "no rating missing"
    if not group.not_applicable:
        return f"{absent}; never not applicable"
    rate = percent(group.not_applicable / answers)
    return (
        f"{absent}; {group.not_applicable:,} not applicable ({rate} of {counted(answers, 'answer')}), "
        "kept out of every coefficient that corrects for chance"
    )


def n_words(agreement: Agreement) -> str:
    """Return what n counts: units with two ratings or more, and for which coefficients it is something else."""
    group = agreement.overall
    named = shorts(group.estimates)
    others: dict[str, list[str]] = {}
    for name, estimate in group.estimates.items():
        if estimate.n != group.paired_units:
            others.setdefault(_counted_by(name, estimate, group), []).append(named[name])
    both = "both ratings" if group.raters == 2 else "two ratings or more"
    said = f"n counts units with {both}" + "".join(f"; for {listed(own, 12)}, {what}" for what, own in others.items())
    mixed = next((kind for kind in agreement.kinds if kind.name == MIXED), None)
    return f"{said}; in “{MIXED}”, {pairs_words(agreement, mixed)}" if mixed is not None else said


def _counted_by(name: str, estimate: Estimate, group: GroupAgreement) -> str:
    if name.startswith("icc"):
        return f"the {estimate.n:,} units that everybody rated"
    if estimate.n == group.units:
        return f"the {estimate.n:,} units with a rating"
    if estimate.n == group.ratings:
        return f"the {estimate.n:,} ratings"
    return f"{estimate.n:,} units"


def pairs_words(agreement: Agreement, mixed: GroupAgreement) -> str:
    """Return what people and models are compared on: `889 pairs of ratings from 296 units`."""
    raw = mixed.estimates.get("raw_agreement")
    units = raw.clusters if raw is not None and agreement.cluster == "unit" else None
    of = f" from {counted(units, 'unit')}" if units is not None else ""
    return f"pairs of ratings ({mixed.units:,}{of})"


# ------------------------------------------------------------------------------------------------------------ intervals


def level_words(estimates: Iterable[Estimate]) -> str:
    """Return `95 %`, or all levels where they differ."""
    return "/".join(f"{100 * level:g} %" for level in sorted({estimate.level for estimate in estimates})) or "95 %"


def method_of(agreement: Agreement, estimate: Estimate) -> str:
    """Return how one interval came about, in one wording whatever the computation calls it."""
    text = free(estimate.method) or "method not stated"
    what = "units" if agreement.cluster == "unit" else f"clusters ({clean(agreement.cluster)})"
    drawn = re.fullmatch(r"percentile bootstrap (?:by|of) (?:units?|clusters?)(.*)", text)
    if drawn is not None:
        return f"percentile bootstrap of {what}{drawn[1]}"
    return f"t over {what}" if re.match(r"t over (clusters|units)\b", text) else text


def by_method(agreement: Agreement, group: GroupAgreement) -> dict[str, list[str]]:
    """Return the keys of the coefficients that have an interval, by the method that made it."""
    found: dict[str, list[str]] = {}
    for name, estimate in group.estimates.items():
        if estimate.interval is not None:
            found.setdefault(method_of(agreement, estimate), []).append(name)
    return found


def interval_words(agreement: Agreement, *, long: bool = False) -> str:
    """Return how the intervals came about, in one sentence: level, methods by coefficient, resamples and seed."""
    overall = agreement.overall
    methods = by_method(agreement, overall)
    level = f"{level_words(overall.estimates.values())} intervals"
    if not methods:
        return f"{level}: none could be made"
    called = dict(zip(overall.estimates, titles(overall.estimates), strict=True)) if long else shorts(overall.estimates)
    most = max(methods, key=lambda method: len(methods[method]))
    ordered = [*(method for method in methods if method != most), most]
    said = []
    for method in ordered:
        names = methods[method]
        others = "all others" if method == most and len(methods) > 1 and len(names) > 1 else ""
        who = others or ("all" if len(methods) == 1 else listed([called[name] for name in names], 12))
        drawn = drawing([overall.estimates[name] for name in names])
        said.append(f"{method}{drawn}{',' if drawn else ''} for {who}")
    return "; ".join([f"{level}: {said[0]}", *said[1:], *_mixed_method(agreement, methods)])


def _mixed_method(agreement: Agreement, methods: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield how the pairs of a person and a model got theirs, where that is otherwise than overall."""
    mixed = next((kind for kind in agreement.kinds if kind.name == MIXED), None)
    if mixed is None:
        return
    named = shorts(mixed.estimates)
    for method, names in by_method(agreement, mixed).items():
        if method not in methods:
            yield f"in “{MIXED}” {method} for {listed([named[name] for name in names], 12)}"


def drawing(held: Sequence[Estimate]) -> str:
    """Return `, 36 of them, 1,000 resamples, seed 0` of intervals by resampling; nothing of the others."""
    drawn = [e for e in held if e.signature.resamples is not None]
    if not drawn:
        return ""
    clusters = sorted({e.clusters if e.clusters is not None else e.n for e in drawn})
    resamples = sorted({e.signature.resamples or 0 for e in drawn})
    seeds = listed(sorted({str(e.signature.seed) for e in drawn}), 3)
    return f", {_span(clusters)} of them, {_span(resamples)} resamples, seed {seeds}"


def _span(counts: Sequence[int]) -> str:
    return f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"


def target_words(agreement: Agreement) -> str:
    """Return for whom the intervals speak, or nothing where that is not known."""
    held = agreement.overall.estimates.values()
    return listed([free(told) for told in dict.fromkeys(e.target for e in held) if told])
