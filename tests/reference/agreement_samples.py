"""Made-up agreements that any writing must survive: ordinary, paradoxical, huge, empty, hostile."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from calibrate.agreement import MIXED, Agreement, Confusion, GroupAgreement, Marginal, PairAgreement, SplitUnit
from calibrate.estimate import Estimate, Signature

BOOTSTRAP = "percentile bootstrap of clusters"
SPLIT = "no unit has two ratings"
FLAT = "all ratings are in one category, so nothing is left beyond chance"
FEW = "2 clusters are too few to resample"
REMARK = "Raw agreement is 91 % and α only 0.12 because 95 % of all ratings are 'no': read it beside AC1."
NASTY = [
    "<script>alert(1)</script>",
    "line\nbreak\ttab",
    "x" * 300,
    "日本語の評価者" * 6,
    "=HYPERLINK(1)",
    "a|b*c_d`e",
    r"\input{x} & 50 % $ #",
    "\u202eevil\u2066",
    "",
    "\ud800 half",
    "👩‍👩‍👧 family",
    "[bracket]",
]


def est(name: str, value: float | None, low: float | None = None, high: float | None = None, **more: Any) -> Estimate:
    """Return a made-up estimate."""
    fields: dict[str, Any] = {
        "n": 36, "clusters": 12, "method": BOOTSTRAP, "target": "these raters, other units",
        "signature": Signature(seed=7, spawn_key=(1, 2), resamples=1000, version="9.9"), **more,
    }  # fmt: skip
    return Estimate(name=name, value=value, low=low, high=high, **fields)


def coefficients(shift: float = 0.0) -> dict[str, Estimate]:
    """Return all ordinary coefficients of an ordinal scale; one without a value, one without an interval."""
    held = [
        est("raw_agreement", 0.62 + shift, 0.51 + shift, 0.73 + shift),
        est("alpha_ordinal", 0.71 + shift, 0.58 + shift, 0.82 + shift, extra={"symbol": "α"}),
        est("alpha_nominal", 0.41 + shift, 0.29 + shift, 0.54 + shift, extra={"symbol": "α"}, n=35),
        est("light_kappa_quadratic", 0.69 + shift, 0.55 + shift, 0.81 + shift, extra={"symbol": "κ_w"}),
        est("gwet_ac2_quadratic", 0.83 + shift, 0.74 + shift, 0.91 + shift, method="linearised t interval", p_value=0),
        est("brennan_prediger", -0.04 + shift, interval_reason=FEW),
        est("icc_2_1", None, reason="raters did not all rate all units", n=22),
    ]
    known = {estimate.name: estimate for estimate in held}
    # As the computation has it: the weights stand in the key alone.
    known["cohen_kappa_linear"] = est("cohen_kappa", 0.55 + shift, 0.4 + shift, 0.7 + shift, extra={"symbol": "κ"})
    known["cohen_kappa_quadratic"] = est("cohen_kappa", 0.66 + shift, 0.5 + shift, 0.8 + shift, extra={"symbol": "κ"})
    return known


def group(name: str, held: Mapping[str, Estimate], **more: Any) -> GroupAgreement:
    """Return a made-up part with 40 units."""
    counts: dict[str, Any] = {
        "units": 40, "paired_units": 36, "ratings": 110, "raters": 3, "missing": 8, "not_applicable": 2,
        "marginals": {1: 0.1, 2: 0.2, 3: 0.25, 4: 0.25, 5: 0.2}, **more,
    }  # fmt: skip
    return GroupAgreement(name=name, estimates=held, **counts)


def sample(names: tuple[str, ...] = ("ann", "bo", "judge-mini"), /, **more: Any) -> Agreement:
    """Return a made-up agreement on a scale of five with kinds and groups."""
    kinds = ["people"] * (len(names) - 1) + ["models"]
    undefined = {name: est(name, None, reason=SPLIT, n=0) for name in coefficients()}
    fields: dict[str, Any] = {
        "scale": "helpfulness",
        "level": "ordinal",
        "categories": (1, 2, 3, 4, 5),
        "declared": True,
        "sentence": "Raters agree well beyond chance on helpfulness: α 0.71 [0.58, 0.82], n = 36 units.",
        "overall": group("all", coefficients()),
        "kinds": [group("people", coefficients(0.05), raters=2), group("models", undefined, raters=1)],
        "groups": [group("tutor A", coefficients(0.02)), group("tutor B", coefficients(-0.1), remark=REMARK)],
        "group_by": "assistant",
        "raters": [
            Marginal(name, kind, 36, place, {1: 0.1, 2: 0.2, 3: 0.25, 4: 0.25, 5: 0.2}, 3.25 if place else None)
            for place, (name, kind) in enumerate(zip(names, kinds, strict=True))
        ],
        "pairs": [
            PairAgreement(first, second, 30 + at, est("raw_agreement", 0.6 + at / 1000, 0.4, 0.8, n=30 + at),
                          est("cohen_kappa_quadratic", 0.5 + at / 1000, 0.3, 0.7, n=30 + at, extra={"symbol": "κ_w"}))
            for at, (first, second) in enumerate(combinations(names, 2))
        ][:40],
        "confusions": [Confusion(names[0], names[-1], 4, 5, 6, 31)] if len(names) > 1 else [],
        "split": [
            SplitUnit(f"item-{at}", {name: 1 + 4 * (i % 2) for i, name in enumerate(names)}, 0.667) for at in range(8)
        ],
        "cluster": "participant",
        "notes": ["3 ratings were given again by the same rater; the last one counts"],
        **more,
    }  # fmt: skip
    return Agreement(**fields)


def paradox() -> Agreement:
    """Return a made-up agreement of two raters who say 'no' nearly always."""
    held = {
        "raw_agreement": est("raw_agreement", 0.91, 0.86, 0.95, n=125),
        "alpha_nominal": est("alpha_nominal", 0.12, -0.04, 0.31, n=125, extra={"symbol": "α"}),
        "cohen_kappa": est("cohen_kappa", None, reason=FLAT, n=125, extra={"symbol": "κ"}),
        "gwet_ac1": est("gwet_ac1", 0.9, 0.85, 0.95, n=125),
        "pabak": est("pabak", 0.82, 0.72, 0.9, n=125),
    }
    overall = group("all", held, raters=2, marginals={"no": 0.95, "yes": 0.05}, remark=REMARK)
    more = {"level": "nominal", "categories": ("no", "yes"), "declared": False, "overall": overall, "cluster": "unit"}
    return sample(("ann", "bo"), scale="contains_error", kinds=[], groups=[], group_by=None, **more)


def many(raters: int = 200, categories: int = 300) -> Agreement:
    """Return a made-up agreement of very many raters, categories and groups."""
    names = tuple(f"rater {at:03}" for at in range(raters))
    held = dict.fromkeys(range(categories), 1 / categories)
    groups = [group(f"group {at}", coefficients(-at / 1000)) for at in range(100)]
    overall = group("all", coefficients(), raters=raters, marginals=held)
    marginals = [Marginal(name, "raters", 40, 0, held, 3.0) for name in names]
    more = {"categories": tuple(range(categories)), "groups": groups, "raters": marginals}
    return sample(names, scale="topic", level="interval", overall=overall, kinds=[], **more)


def nothing() -> Agreement:
    """Return a made-up agreement of one rater: nothing can be compared."""
    held = {name: est(name, None, reason=SPLIT, n=0) for name in coefficients()}
    empty = group("all", held, units=0, paired_units=0, ratings=0, raters=0, missing=0, not_applicable=0, marginals={})
    more = {"overall": empty, "categories": (), "pairs": [], "confusions": [], "split": [], "notes": []}
    said = "Nothing can be said about helpfulness: no unit has two ratings."
    return sample(("ann",), sentence=said, kinds=[], groups=[], group_by=None, raters=[], **more)


def hostile() -> Agreement:
    """Return a made-up agreement whose every label is out to break something."""
    names = tuple(NASTY)
    groups = [group(name, coefficients(), marginals=dict.fromkeys(NASTY, 1 / 12)) for name in NASTY]
    confused = [Confusion(name, NASTY[0], name, NASTY[-1], 3, 0) for name in NASTY]
    split = [SplitUnit(name, dict(zip(NASTY, NASTY, strict=True)), 1.0) for name in NASTY]
    overall = group("all", coefficients(), marginals=dict.fromkeys(NASTY, 1 / 12), remark=NASTY[0])
    raters = [Marginal(name, name, 0, 3, dict.fromkeys(NASTY, 1 / 12), None) for name in NASTY]
    more = {"scale": NASTY[0], "cluster": NASTY[6], "group_by": NASTY[1], "notes": NASTY, "categories": names}
    return sample(names, groups=groups, confusions=confused, split=split, overall=overall, raters=raters, **more)


def mixed(**more: Any) -> Agreement:
    """Return a made-up agreement of two people and two models on 40 units, with kinds, groups and two scales of n."""
    names = ("ann", "bo", "judge-a", "judge-b")
    spread: dict[str, Any] = {
        "method": "t over clusters, 11 df, cut at 0 and 1",
        "signature": Signature(seed=7, spawn_key=(1, 2), version="9.9"),
    }
    held = {
        "raw_agreement": est("raw_agreement", 0.86, 0.82, 0.9, **spread),
        "alpha_nominal": est("alpha_nominal", 0.56, 0.46, 0.65, method="percentile bootstrap by cluster"),
        "conger_kappa": est("conger_kappa", 0.57, 0.47, 0.66, n=40, method="percentile bootstrap by clusters"),
        "fleiss_kappa": est("fleiss_kappa", 0.55, -1.3, 0.64, n=40),
    }
    two = {name: e for name, e in held.items() if "kappa" not in name}
    two["cohen_kappa"] = est("cohen_kappa", 0.61, 0.5, 0.7)
    marginals = [
        Marginal(name, kind, n, 0, shares, mean)
        for name, kind, n, shares, mean in [
            ("ann", "people", 30, {1: 0.5, 2: 0.5}, 1.5),
            ("bo", "people", 10, {1: 0.1, 2: 0.9}, 1.9),
            ("judge-a", "models", 20, {1: 0.25, 2: 0.75}, 1.75),
            ("judge-b", "models", 20, {1: 0.75, 2: 0.25}, 1.25),
        ]
    ]
    kinds = [group("people", two, raters=2), group(MIXED, two, units=89, paired_units=89, ratings=178, raters=2)]
    overall = group("all", held, raters=4, marginals={1: 0.45, 2: 0.55})
    fields = {"overall": overall, "kinds": kinds, "raters": marginals, "categories": (1, 2), **more}
    return sample(names, **{"groups": [], "group_by": None, **fields})


SAMPLES = [sample(), paradox(), many(), nothing(), hostile(), sample(("ann", "bo"), kinds=[], groups=[]), mixed()]
NAMES = ["sample", "paradox", "many", "nothing", "hostile", "two", "mixed"]


def parts(agreement: Agreement) -> list[GroupAgreement]:
    """Return all parts of an agreement, all ratings first."""
    return [agreement.overall, *agreement.kinds, *agreement.groups]
