"""What coefficients, categories and counts are called, so that every way of writing an `Agreement` says the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calibrate.agreement import Agreement, GroupAgreement
from calibrate.estimate import Estimate
from calibrate.report.drawing import shortened
from calibrate.report.wording import capital, counted, listed, number

LONGEST_NAME = 40
LONGEST_VALUE = 24
FEW_CATEGORIES = 7
MOST_SHARES = 5
NO_BREAK = "\u00a0"
_TIED = re.compile(r"\bn = (?=\d)|(?<=\d) %|(?<=\d,) (?=−?\d+\.\d\d\])")
OVERALL = "all units and raters"


@dataclass(frozen=True, slots=True)
class _Kind:
    """A coefficient: `{}` in `title` is its symbol; `says` is what 1 and 0 mean, or what is counted."""

    title: str
    symbol: str
    says: str


_BY_CHANCE = "1 is full agreement, 0 what chance gives"
# By the beginning of the name; what follows it (a level, weights) is said in brackets.
_KINDS: dict[str, _Kind] = {
    "raw_agreement": _Kind("raw agreement", "raw", "pairs of ratings that are equal; chance is in it"),
    "percent_agreement": _Kind("raw agreement", "raw", "pairs of ratings that are equal; chance is in it"),
    "pa": _Kind("agreement with weights", "p_a", "as weights count it; chance is in it"),
    "all_agree": _Kind("all raters agree", "all agree", "units on which nobody differs; chance is in it"),
    "alpha": _Kind("Krippendorff's {}", "α", f"{_BY_CHANCE} if ratings were shuffled over all raters"),
    "kripp": _Kind("Krippendorff's {}", "α", f"{_BY_CHANCE} if ratings were shuffled over all raters"),
    "cohen_kappa": _Kind("Cohen's {}", "κ", f"{_BY_CHANCE} if each rater keeps their own shares"),
    "weighted_kappa": _Kind("Cohen's {}", "κ_w", f"{_BY_CHANCE}; near misses count in part"),
    "light_kappa": _Kind("Light's {}", "κ", "mean of Cohen's κ over the pairs of raters"),
    "conger": _Kind("Conger's {}", "κ", f"{_BY_CHANCE} if each rater keeps their own shares"),
    "fleiss": _Kind("Fleiss' {}", "κ", f"{_BY_CHANCE} if all raters share one set of shares"),
    "randolph": _Kind("Randolph's {}", "κ", f"{_BY_CHANCE} if all categories were equally likely"),
    "scott_pi": _Kind("Scott's {}", "π", f"{_BY_CHANCE} if both raters share one set of shares"),
    "gwet_ac1": _Kind("Gwet's {}", "AC1", "corrected for chance; stays high where one category is common"),
    "gwet_ac2": _Kind("Gwet's {}", "AC2", "AC1 with weights: near misses count in part"),
    "gwet": _Kind("Gwet's {}", "AC", "corrected for chance; stays high where one category is common"),
    "ac1": _Kind("Gwet's {}", "AC1", "corrected for chance; stays high where one category is common"),
    "ac2": _Kind("Gwet's {}", "AC2", "AC1 with weights: near misses count in part"),
    "ac": _Kind("Gwet's {}", "AC", "corrected for chance; stays high where one category is common"),
    "brennan_prediger": _Kind("Brennan–Prediger", "BP", f"{_BY_CHANCE} if all categories were equally likely"),
    "bp": _Kind("Brennan–Prediger", "BP", f"{_BY_CHANCE} if all categories were equally likely"),
    "pabak": _Kind("PABAK", "PABAK", f"{_BY_CHANCE} if all categories were equally likely"),
}
_WEIGHTS = ("linear", "quadratic", "weighted")
_RATERS = {"1": "raters differ by unit", "2": "raters are a sample", "3": "these raters only"}
_NEXT = ("gwet", "ac", "brennan_prediger", "bp", "icc_2_1", "cohen_kappa", "fleiss")


def _kind(name: str) -> tuple[_Kind | None, str]:
    """Return what is known of a coefficient by its name, and what its name says beyond that."""
    if name.startswith("icc_") and name.count("_") == 2:
        model, size = name.split("_")[1:]
        what = "one rating" if size == "1" else "the mean of all ratings"
        says = f"share of variance that is the units', of {what}; {_RATERS.get(model, 'other raters')}"
        return _Kind(f"ICC({model},{size})", f"ICC({model},{size})", says), ""
    for start in sorted(_KINDS, key=len, reverse=True):
        if name == start or name.startswith(f"{start}_"):
            return _KINDS[start], name[len(start) :].strip("_").removeprefix("kappa").strip("_").replace("_", " ")
    return None, ""


def symbol_of(estimate: Estimate, name: str = "") -> str:
    """Return the field's sign of a coefficient, such as α, κ_w or AC1, or a short name where it has none.

    `name` is the one that the records know the estimate by; it may say more than the estimate's own (weights).
    """
    kind, rest = _kind(name or estimate.name)
    own = estimate.extra.get("symbol")
    sign = clean(own, LONGEST_VALUE) if own and (kind is None or "{}" in kind.title) else kind.symbol if kind else ""
    if sign == "κ" and (rest in _WEIGHTS or _weighted(estimate)):
        return "κ_w"
    return sign or clean((name or estimate.name).replace("_", " "), LONGEST_VALUE)


def _weighted(estimate: Estimate) -> bool:
    """Whether agreement was counted with weights: then it is more than the share of equal pairs."""
    observed, raw = estimate.extra.get("observed"), estimate.extra.get("raw_agreement")
    return isinstance(observed, float) and isinstance(raw, float) and observed > raw + 1e-9


def pair_sign(agreement: Agreement) -> str:
    """Return the sign of the pairs' κ: κ_w where any pair shows that weights were used."""
    signs = list(dict.fromkeys(symbol_of(pair.kappa) for pair in agreement.pairs)) or ["κ"]
    return "κ_w" if "κ_w" in signs else signs[0]


def title_of(estimate: Estimate, name: str = "") -> str:
    """Return what a coefficient is called in a table: `Krippendorff's α (ordinal)`; `name` as in `symbol_of`."""
    name = name or estimate.name
    kind, rest = _kind(name)
    if kind is None:
        own = estimate.extra.get("symbol")
        plain = clean(name.replace("_", " "))
        return f"{clean(own, LONGEST_VALUE)}, {plain}" if own and str(own) != plain else plain
    return kind.title.format(symbol_of(estimate, name)) + (f" ({rest})" if rest else "")


def says(estimate: Estimate) -> str:
    """Return in a few words what a coefficient says; empty where it is not known."""
    kind, _ = _kind(estimate.name)
    return kind.says if kind else ""


def begun(text: str) -> str:
    """Return a text with a capital first letter; a sign such as α stays as it is."""
    return capital(text) if text[:1].isascii() else text


def titles(estimates: Mapping[str, Estimate]) -> list[str]:
    """Return what each coefficient is called; two that would be called the same have their names added."""
    plain = [title_of(estimate, name) for name, estimate in estimates.items()]
    return [
        f"{title} [{name}]" if plain.count(title) > 1 else title for title, name in zip(plain, estimates, strict=True)
    ]


def leading(group: GroupAgreement, most: int = 3) -> list[str]:
    """Return the names to show where there is room for few: raw agreement, α, and one that the marginals move less."""
    names = list(group.estimates)
    first = [name for name in names if name == "raw_agreement"][:1]
    first += [name for name in names if name.startswith(("alpha", "kripp"))][:1]
    for start in _NEXT:
        first += [name for name in names if name == start or name.startswith(f"{start}_") or name == f"{start}1"][:1]
    return list(dict.fromkeys([*first, *names]))[:most]


def main_name(agreement: Agreement) -> str:
    """Return the name of the coefficient that stands for a scale: α, else the first corrected for chance, else any."""
    names = leading(agreement.overall)
    return next((name for name in names if name != "raw_agreement"), names[0])


def n_words(group: GroupAgreement) -> str:
    """Return what n counts."""
    larger = [title_of(e, name) for name, e in group.estimates.items() if e.n > group.units]
    return "n counts units" + (f"; that of {listed(larger, 12)} counts ratings" if larger else "")


def clean(value: Any, most: int = LONGEST_NAME) -> str:
    """Return a label on one line without control signs; a long one is cut, and the cut is shown as …"""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    text = shortened(f"{value:g}" if isinstance(value, float) else str(value), False, most)
    return text or "(no name)"


def free(text: str | None) -> str:
    """Return running text on one line, without control signs, uncut."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text or "").split())


def category(value: Any, most: int = LONGEST_VALUE) -> str:
    """Return a category as it is shown."""
    return clean(value, most) if str(value).strip() else "(empty)"


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


def counts_words(group: GroupAgreement) -> str:
    """Return units, raters and ratings in words."""
    return (
        f"{counted(group.units, 'unit')} ({group.paired_units:,} with two ratings or more), "
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


def level_words(estimates: Iterable[Estimate]) -> str:
    """Return `95 %`, or all levels where they differ."""
    return "/".join(f"{100 * level:g} %" for level in sorted({estimate.level for estimate in estimates})) or "95 %"


def interval_words(agreement: Agreement) -> str:
    """Return how the intervals came about: level, what was resampled, how often, and the seed."""
    held = list(agreement.overall.estimates.values())
    drawn = [e for e in held if e.signature.resamples is not None]
    parts = [level_words(held)]
    if not drawn:
        parts.append("nothing resampled")
    else:
        clusters = sorted({e.clusters for e in drawn if e.clusters is not None})
        count = f", {_span(clusters)} of them" if clusters else ""
        unit = agreement.cluster == "unit"
        parts.append(f"by resampling {'units' if unit else f'whole clusters ({clean(agreement.cluster)})'}{count}")
        resamples = sorted({e.signature.resamples or 0 for e in drawn})
        parts.append(f"{_span(resamples)} resamples")
        parts.append(f"seed {listed(sorted({str(e.signature.seed) for e in drawn}), 3)}")
    return ", ".join(parts)


def _span(counts: Sequence[int]) -> str:
    return f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"


def methods_of(estimates: Mapping[str, Estimate]) -> list[str]:
    """Return one line per method of intervals with the coefficients that have it."""
    by_method: dict[str, list[str]] = {}
    for name, estimate in estimates.items():
        if estimate.interval is not None:
            by_method.setdefault(estimate.method or "method not stated", []).append(title_of(estimate, name))
    return [f"{method}: {listed(names, 12)}" for method, names in by_method.items()]


def parts_of(agreement: Agreement) -> list[tuple[str, GroupAgreement]]:
    """Return what has coefficients of its own beside all ratings, each with what it is a part by."""
    by = clean(agreement.group_by) if agreement.group_by is not None else "group"
    return [("kind", part) for part in agreement.kinds] + [(by, part) for part in agreement.groups]


def decimal(value: float | None, places: int = 2) -> str:
    """Return a number with a true minus sign, or a dash where there is none."""
    return "–" if value is None else number(value, places)
