"""The cells of the coverage simulations, what is promised for them, and the rule by which a promise is broken.

A cell breaks its promise only where the 99.9 % Monte-Carlo interval (Clopper–Pearson) of its coverage lies wholly
outside the promised band. Each cell has a seed of its own, from its name: results do not depend on order or company.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
import simulated_agreement
from scipy.special import betaincinv
from simulated_audit import AuditCell, pj, pjm, wald
from simulated_groups import GROUP_TARGETS

Method = Literal["PJM", "PJ", "Wald", "group ρ", "α", "Rogan–Gladen", "PPI++", "products"]
Verdict = Literal["held", "broken", "no promise"]

CLOSED_FORM_TRIALS, DRAW_TRIALS, BOOTSTRAP_TRIALS = 2000, 500, 400
AGAIN_TRIALS: Mapping[str, int] = {"PJM": 40_000, "PJ": 4_000, "group ρ": 2_000}
PJ_DRAWS = 600
FEWEST_DISCORDANT = 5.0
LEAST_SHARE_OF_PJ_CELLS = 0.95
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Promise:
    """The band in which the true coverage lies."""

    low: float
    high: float = 1.0


PROMISES: Mapping[str, Promise] = {
    "PJM": Promise(0.93),
    "PJ": Promise(0.93, 0.97),
    "fresh conversations": Promise(0.945, 0.965),
    "noise-free": Promise(0.95, 0.985),
    "new assistants": Promise(0.935, 0.96),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """A method under one set of circumstances; `promise` None = measured without one."""

    method: Method
    where: Mapping[str, Any]
    trials: int
    promise: Promise | None = None
    again: bool = False

    @property
    def name(self) -> str:
        """Method and circumstances in words: the cell's key."""
        words = f"{self.method}: " + ", ".join(f"{key} {value}" for key, value in self.where.items())
        return f"{words}, again" if self.again else words

    @property
    def seed(self) -> int:
        return zlib.crc32(self.name.encode())


@dataclass(frozen=True, slots=True)
class Result:
    """What a cell came to. `defined` trials gave limits, `hits` of them held the truth; `facts` are further figures."""

    name: str
    seed: int
    trials: int
    defined: int
    hits: int
    width: float | None
    facts: dict[str, float] = field(default_factory=dict)

    @property
    def coverage(self) -> float | None:
        return self.hits / self.defined if self.defined else None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def monte_carlo_limits(hits: int, trials: int, level: float = 0.999) -> tuple[float, float]:
    """Clopper–Pearson limits of a coverage."""
    tail = (1.0 - level) / 2.0
    low = float(betaincinv(hits, trials - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, trials - hits, 1.0 - tail)) if hits < trials else 1.0
    return low, high


def verdict(hits: int, trials: int, promise: Promise | None) -> Verdict:
    """Whether a coverage breaks its promise: only where its whole 99.9 % interval lies outside the band."""
    if promise is None or trials == 0:
        return "no promise"
    low, high = monte_carlo_limits(hits, trials)
    return "broken" if high < promise.low or low > promise.high else "held"


def pj_promise(cell: Cell, result: Result) -> Promise | None:
    """PJ's band, where five or more discordant episodes are expected and something is left open by the audit."""
    census = cell.where["target"] == "finite" and cell.where["audited"] >= cell.where["judged"]
    return None if census or result.facts["discordant"] < FEWEST_DISCORDANT else PROMISES["PJ"]


def promise_of(cell: Cell, result: Result) -> Promise | None:
    """The band that a cell's coverage is held against."""
    return pj_promise(cell, result) if cell.method == "PJ" else cell.promise


def pj_share(pairs: Iterable[tuple[Cell, Result]]) -> tuple[int, int]:
    """How many of PJ's cells with a band hold it, and how many have one: the promise is a share of 95 %."""
    promised = [(result, pj_promise(cell, result)) for cell, result in pairs if cell.method == "PJ"]
    told = [verdict(result.hits, result.defined, band) for result, band in promised if band is not None]
    return told.count("held"), len(told)


def audit_circumstances() -> list[dict[str, Any]]:
    """The protocol's grid of audits; errors that are one-sided come in both directions."""
    axes: dict[str, tuple[Any, ...]] = {
        "judged": (300, 2600),
        "audited": (40, 100, 300),
        "error": (0.01, 0.05, 0.15),
        "errors": ("symmetric", "lenient", "strict"),
        "icc": (0.0, 0.3),
        "ufs": (0.5, 0.8, 0.95),
        "strata": ("equal", "unequal", "unequal, domains alike"),
        "target": ("finite", "tasks"),
    }
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def cells() -> list[Cell]:
    """Return the whole grid."""
    audits = audit_circumstances()
    strengths = (0.3, 0.5, 0.7, 0.9)
    made = [Cell("PJM", where, CLOSED_FORM_TRIALS, PROMISES["PJM"]) for where in audits]
    made += [Cell("Wald", w, CLOSED_FORM_TRIALS) for w in audits if w["audited"] == 40 and w["strata"] == "equal"]
    made += [
        Cell("group ρ", {"target": target, "strength": strength}, BOOTSTRAP_TRIALS, PROMISES[target])
        for target in GROUP_TARGETS
        for strength in strengths
    ]
    made += [
        Cell("α", {"units": units, "agreement": agreement, "prevalence": prevalence}, BOOTSTRAP_TRIALS)
        for units in (50, 200)
        for agreement in (0.4, 0.8)
        for prevalence in (0.5, 0.9)
    ]
    for method in ("Rogan–Gladen", "PPI++"):
        made += [
            Cell(method, {"judged": 300, "labelled": labelled, "share": share, "error": error}, CLOSED_FORM_TRIALS)
            for labelled in (40, 100)
            for share in (0.5, 0.8, 0.95)
            for error in (0.01, 0.05, 0.15)
        ]
    made += [
        Cell("products", {"judged": 300, "ufs": ufs, "icc": icc}, CLOSED_FORM_TRIALS)
        for ufs in (0.5, 0.8, 0.95)
        for icc in (0.0, 0.3)
    ]
    weighted_by_size = [where for where in audits if where["strata"] != "unequal, domains alike"]
    return made + [Cell("PJ", where, DRAW_TRIALS, PROMISES["PJ"]) for where in weighted_by_size]


def second_look(pairs: Iterable[tuple[Cell, Result]]) -> list[Cell]:
    """Return the cells whose coverage lay outside its band at all, with many more trials and another seed.

    The rule lets them pass where chance may have done it; this tells chance from a promise that is a little too much.
    """
    again = []
    for cell, result in pairs:
        band = promise_of(cell, result)
        if band is not None and result.coverage is not None and not band.low <= result.coverage <= band.high:
            again.append(replace(cell, trials=AGAIN_TRIALS[cell.method], again=True))
    return again


def run(cell: Cell, trials: int | None = None) -> Result:
    """Simulate a cell, with its own number of trials or another one."""
    count, rng, where = trials or cell.trials, np.random.default_rng(cell.seed), dict(cell.where)
    if cell.method in ("PJM", "PJ", "Wald"):
        return _audited(cell, count, rng)
    if cell.method == "group ρ":
        target = GROUP_TARGETS[where["target"]]
        found = list(target(rng, where["strength"], count))
    else:
        simulated: dict[str, Callable[..., Iterator[simulated_agreement.Trial]]] = {
            "α": simulated_agreement.alpha_units,
            "Rogan–Gladen": simulated_agreement.rogan_gladen_lee,
            "PPI++": simulated_agreement.ppi,
            "products": simulated_agreement.products,
        }
        found = list(simulated[cell.method](rng, count, **where))
    defined = [one for one in found if one is not None]
    width = float(np.mean([one[1] for one in defined])) if defined else None
    return Result(cell.name, cell.seed, len(found), len(defined), sum(one[0] for one in defined), width)


def _audited(cell: Cell, trials: int, rng: np.random.Generator) -> Result:
    where = AuditCell(**cell.where)
    if cell.method == "PJ":
        low, high, truth, made = pj(where, trials, rng, PJ_DRAWS)
    else:
        low, high, truth, made = (pjm if cell.method == "PJM" else wald)(where, trials, rng)
    defined = ~np.isnan(low)
    hit = (low <= truth + ROUNDING) & (truth <= high + ROUNDING)
    width = float((high - low)[defined].mean()) if defined.any() else None
    facts = {"discordant": round(made.discordant, 3)}
    return Result(cell.name, cell.seed, trials, int(defined.sum()), int((hit & defined).sum()), width, facts)
