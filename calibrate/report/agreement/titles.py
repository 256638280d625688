"""What a coefficient is called, long and short, and what its 1 and its 0 mean, in words that need no literature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calibrate.agreement import Agreement, GroupAgreement
from calibrate.estimate import Estimate
from calibrate.report.drawing import shortened
from calibrate.report.wording import MINUS, capital

LONGEST_NAME = 40
LONGEST_VALUE = 24
WEIGHTED_KAPPA = "κw"


@dataclass(frozen=True, slots=True)
class _Kind:
    """A coefficient: `{}` in `title` and `short` is its symbol; `says` is what 1 and 0 mean, or what is counted."""

    title: str
    short: str
    symbol: str
    says: str


FULL = "1 = full agreement, "
_RAW = "share of pairs of ratings that are equal; not corrected for chance"
_SHUFFLED = f"{FULL}0 = as if ratings were shuffled among everybody"
_OWN = f"{FULL}0 = as if each rater had guessed at their own rates"
_SHARED = f"{FULL}0 = as if everybody had guessed at the rates of all ratings together"
_EQUAL = f"{FULL}0 = as if all categories were guessed equally often"
_RARE = f"{FULL}0 = chance, which is taken to be small where one category is very common"
_NEAR = "near misses count in part"
_AC1, _AC2 = _Kind("Gwet's {}", "{}", "AC1", _RARE), _Kind("Gwet's {}", "{}", "AC2", f"{_RARE}; {_NEAR}")
_AC = _Kind("Gwet's {}", "{}", "AC", _RARE)
_ALPHA = _Kind("Krippendorff's {}", "{}", "α", _SHUFFLED)
_BP = _Kind("Brennan–Prediger", "BP", "BP", _EQUAL)
_SAME = _Kind("raw agreement", "raw", "raw", _RAW)
# By the beginning of the name; what follows it (a level, weights) is said in brackets.
_KINDS: dict[str, _Kind] = {
    "raw_agreement": _SAME,
    "percent_agreement": _SAME,
    "pa": _Kind("agreement with weights", "weighted raw", "weighted raw", f"{_NEAR}; not corrected for chance"),
    "all_agree": _Kind(
        "all raters agree", "all agree", "all agree", "units on which nobody differs; not corrected for chance"
    ),
    "alpha": _ALPHA,
    "kripp": _ALPHA,
    "cohen_kappa": _Kind("Cohen's {}", "Cohen {}", "κ", _OWN),
    "weighted_kappa": _Kind("Cohen's {}", "Cohen {}", WEIGHTED_KAPPA, f"{_OWN}; {_NEAR}"),
    "light_kappa": _Kind("Light's {}", "Light {}", "κ", "mean of Cohen's κ over the pairs of raters"),
    "conger": _Kind("Conger's {}", "Conger {}", "κ", _OWN),
    "fleiss": _Kind("Fleiss' {}", "Fleiss {}", "κ", _SHARED),
    "randolph": _Kind("Randolph's {}", "Randolph {}", "κ", _EQUAL),
    "scott_pi": _Kind("Scott's {}", "Scott {}", "π", _SHARED),
    "gwet_ac1": _AC1,
    "gwet_ac2": _AC2,
    "gwet": _AC,
    "ac1": _AC1,
    "ac2": _AC2,
    "ac": _AC,
    "brennan_prediger": _BP,
    "bp": _BP,
    "pabak": _Kind("PABAK", "PABAK", "PABAK", _EQUAL),
}
_WEIGHTS = ("linear", "quadratic", "weighted")
_DISTANCES = ("ordinal", "interval", "ratio")
_RATERS = {
    "1": "each unit with other raters",
    "2": "these raters stand for others like them",
    "3": "these raters only, each on their own level",
}
_NEXT = ("gwet", "ac", "brennan_prediger", "bp", "icc_2_1", "cohen_kappa", "fleiss")


def _kind(name: str) -> tuple[_Kind | None, str]:
    """Return what is known of a coefficient by its name, and what its name says beyond that."""
    if name.startswith("icc_") and name.count("_") == 2:
        model, size = name.split("_")[1:]
        what = "one rating" if size == "1" else "the mean of all ratings"
        says = f"share of the spread that comes from the units, in {what}; {_RATERS.get(model, 'other raters')}"
        sign = f"ICC({model},{size})"
        return _Kind(sign, sign, sign, says), ""
    for start in sorted(_KINDS, key=len, reverse=True):
        if name == start or name.startswith(f"{start}_"):
            return _KINDS[start], name[len(start) :].strip("_").removeprefix("kappa").strip("_").replace("_", " ")
    return None, ""


def symbol_of(estimate: Estimate, name: str = "") -> str:
    """Return the field's sign of a coefficient, such as α, κw or AC1, or a short name where it has none.

    `name` is the one that the records know the estimate by; it may say more than the estimate's own (weights).
    """
    kind, rest = _kind(name or estimate.name)
    own = estimate.extra.get("symbol")
    sign = clean(own, LONGEST_VALUE) if own and (kind is None or "{}" in kind.title) else kind.symbol if kind else ""
    if sign == "κ_w" or (sign == "κ" and (rest in _WEIGHTS or _weighted(estimate))):
        return WEIGHTED_KAPPA
    return sign or clean((name or estimate.name).replace("_", " "), LONGEST_VALUE)


def _weighted(estimate: Estimate) -> bool:
    """Whether agreement was counted with weights: then it is more than the share of equal pairs."""
    observed, raw = estimate.extra.get("observed"), estimate.extra.get("raw_agreement")
    return isinstance(observed, float) and isinstance(raw, float) and observed > raw + 1e-9


def title_of(estimate: Estimate, name: str = "") -> str:
    """Return what a coefficient is called in a table: `Krippendorff's α (ordinal)`; `name` as in `symbol_of`."""
    name = name or estimate.name
    kind, rest = _kind(name)
    if kind is None:
        own = estimate.extra.get("symbol")
        plain = clean(name.replace("_", " "))
        return f"{clean(own, LONGEST_VALUE)}, {plain}" if own and str(own) != plain else plain
    return kind.title.format(symbol_of(estimate, name)) + (f" ({rest})" if rest else "")


def titles(estimates: Mapping[str, Estimate]) -> list[str]:
    """Return what each coefficient is called; two that would be called the same have their names added."""
    plain = [title_of(estimate, name) for name, estimate in estimates.items()]
    return [
        f"{title} [{name}]" if plain.count(title) > 1 else title for title, name in zip(plain, estimates, strict=True)
    ]


def shorts(estimates: Mapping[str, Estimate]) -> dict[str, str]:
    """Return a short name of each coefficient by its key, no two alike: `α`, `Cohen κ`, `Cohen κw linear`, `AC2`."""
    plain: dict[str, str] = {}
    longer: dict[str, str] = {}
    for name, estimate in estimates.items():
        kind, rest = _kind(name)
        sign = symbol_of(estimate, name)
        plain[name] = sign if kind is None else kind.short.format(sign)
        longer[name] = f"{plain[name]} {rest}".strip()
    held = list(plain.values())
    made = {
        name: longer[name] if held.count(short) > 1 or WEIGHTED_KAPPA in short else short
        for name, short in plain.items()
    }
    told = list(made.values())
    return {name: f"{short} [{name}]" if told.count(short) > 1 else short for name, short in made.items()}


def pair_title(agreement: Agreement) -> str:
    """Return what the coefficient of the pairs is called: κw where any pair shows that weights were used."""
    found = list(dict.fromkeys(title_of(pair.kappa) for pair in agreement.pairs)) or ["Cohen's κ"]
    return next((title for title in found if WEIGHTED_KAPPA in title), found[0])


def pair_sign(agreement: Agreement) -> str:
    """Return the sign of the coefficient of the pairs: κ, κw or α."""
    signs = list(dict.fromkeys(symbol_of(pair.kappa) for pair in agreement.pairs)) or ["κ"]
    return WEIGHTED_KAPPA if WEIGHTED_KAPPA in signs else signs[0]


def says(estimate: Estimate, name: str = "") -> str:
    """Return in a few words what a coefficient says; empty where it is not known."""
    kind, rest = _kind(name or estimate.name)
    if kind is None:
        return ""
    partly = rest in _WEIGHTS or rest in _DISTANCES or symbol_of(estimate, name) == WEIGHTED_KAPPA
    return f"{kind.says}; {_NEAR}" if partly and _NEAR not in kind.says else kind.says


def begun(text: str) -> str:
    """Return a text with a capital first letter; a sign such as α stays as it is."""
    return capital(text) if text[:1].isascii() else text


def is_alpha(name: str) -> bool:
    """Whether a coefficient is Krippendorff's α, which the bars of .667 and .80 are for."""
    return name.startswith(("alpha", "kripp"))


def leading(group: GroupAgreement, most: int = 3) -> list[str]:
    """Return the names to show where there is room for few: raw agreement, α, and one that the marginals move less."""
    names = list(group.estimates)
    first = [name for name in names if name == "raw_agreement"][:1]
    first += [name for name in names if is_alpha(name)][:1]
    for start in _NEXT:
        first += [name for name in names if name == start or name.startswith(f"{start}_") or name == f"{start}1"][:1]
    return list(dict.fromkeys([*first, *names]))[:most]


def main_name(agreement: Agreement) -> str:
    """Return the name of the coefficient that stands for a scale: α, else the first corrected for chance, else any."""
    names = leading(agreement.overall)
    return next((name for name in names if name != "raw_agreement"), names[0])


def clean(value: Any, most: int = LONGEST_NAME) -> str:
    """Return a label on one line without control signs; a long one is cut, and the cut is shown as …"""
    if isinstance(value, int | float) and not isinstance(value, bool):
        whole = isinstance(value, int) or (value.is_integer() and abs(value) < 1e15)
        text = str(int(value)) if whole else f"{value:g}"
        return shortened(text.replace("-", MINUS), False, most)
    return shortened(str(value), False, most) or "(no name)"


def category(value: Any, most: int = LONGEST_VALUE) -> str:
    """Return a category as it is shown."""
    return clean(value, most) if str(value).strip() else "(empty)"
