"""Reference cases of agreement coefficients: input unpacked, public functions called, outputs named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrate.estimate import Interval, Undefined
from calibrate.stats.agreement.coefficient import Coefficient
from calibrate.stats.agreement.fleiss import fleiss_category_kappas, fleiss_kappa, randolph
from calibrate.stats.agreement.icc import ICC_NAMES, icc
from calibrate.stats.agreement.light import all_agree, light_kappa, pairwise_agreement
from calibrate.stats.agreement.multirater import gwet
from calibrate.stats.agreement.ratings import Ratings, ratings_of
from calibrate.stats.agreement.tables import contingency_table
from calibrate.stats.agreement.two_raters import (
    brennan_prediger,
    cohen_kappa,
    cohen_kappa_of_table,
    gwet_ac,
    pabak,
    percent_agreement,
    scores_of,
    scott_pi,
)

Case = dict[str, Any]


def number(value: float | Undefined | None) -> float | None:
    return None if isinstance(value, Undefined) else value


def ends(interval: Interval | Undefined) -> tuple[float | None, float | None]:
    return (None, None) if isinstance(interval, Undefined) else (interval.low, interval.high)


def weights_of(case: Case) -> Any:
    named = case["params"].get("weights")
    return case["input"].get("weights_matrix", named)


def scores_in(data: dict[str, Any]) -> Any:
    return scores_of(data["categories"]) if "categories" in data else data.get("scores")


def ratings_in(case: Case) -> Ratings:
    rows = case["input"]["ratings"]
    seen = [cell for row in rows for cell in row if cell is not None]
    declared = case["input"].get("categories") or case["params"].get("categories")
    if declared is None and not all(isinstance(cell, int | float) for cell in seen):
        declared = sorted(set(seen))
    return ratings_of(rows, level="nominal", categories=declared)


def cohen(case: Case) -> dict[str, Any]:
    data, weights = case["input"], weights_of(case)
    if "index weights" in case["title"]:  # the case asks for places: numbers that are mere names of categories
        made = cohen_kappa_of_table(
            contingency_table(data["rater1"], data["rater2"], data["categories"]), weights=weights
        )
    elif "table" in data:
        made = cohen_kappa_of_table(data["table"], scores=scores_in(data), weights=weights)
    else:
        made = cohen_kappa(data["rater1"], data["rater2"], categories=data["categories"], weights=weights)
    low, high = ends(made.interval)
    return {
        "kappa": number(made.value),
        "se": made.se,
        "se_null": made.se_null,
        "z_null": made.extra.get("z"),
        "po": made.observed,
        "pe": made.expected,
        "n": made.n,
        "p": made.p_value,
        "ci_low": low,
        "ci_high": high,
    }


def two_raters(case: Case) -> dict[str, Any]:
    table, weights = np.array(case["input"]["table"]), weights_of(case)
    table = np.pad(table, (0, max(0, case["params"].get("q", 0) - len(table))))
    pairs = [
        [first, second]
        for first, row in enumerate(table, start=1)
        for second, times in enumerate(row, start=1)
        for _ in range(int(times))
    ]
    rated = ratings_of(pairs, level="nominal", categories=range(1, len(table) + 1))
    agreement = percent_agreement(table, weights=weights)
    return {
        "n": agreement.n,
        "percent_agreement": number(agreement.value),
        "scott_pi": number(scott_pi(table, weights=weights).value),
        "brennan_prediger": number(brennan_prediger(table, weights=weights).value),
        "ac": number(gwet_ac(table, weights=weights).value),
        "cohen_kappa": number(cohen_kappa_of_table(table, weights=weights).value),
        "kripp_alpha": number(gwet(rated, weights)["kripp"].value),
        "pabak": number(pabak(table).value),
    }


def fleiss(case: Case) -> dict[str, Any]:
    data = case["input"]["counts"] if "counts" in case["input"] else ratings_in(case)
    made = fleiss_kappa(data)
    return {
        "kappa": number(made.value),
        "po": made.observed,
        "pe": made.expected,
        "se": made.se,
        "se_null": made.se_null,
        "z": made.extra["z"],
        "category_kappa": [number(one.value) for one in fleiss_category_kappas(data).values()],
        "randolph": number(randolph(data).value),
    }


def gwet_named(made: Coefficient) -> dict[str, Any]:
    low, high = ends(made.interval)
    return {
        "est": number(made.value),
        "se": made.se,
        "pa": made.observed,
        "pe": 0.0 if made.expected is None and made.observed is not None else made.expected,
        "ci_low": low,
        "ci_high": high,
        "p": made.p_value,
    }


def gwets(case: Case) -> dict[str, Any]:
    found = gwet(ratings_in(case), weights_of(case), case["params"].get("conf", 0.95))
    return {name: gwet_named(made) for name, made in found.items()}


def pairwise(case: Case) -> dict[str, Any]:
    rated, tolerance = ratings_in(case), case["params"].get("tolerance")
    light = light_kappa(rated, weights_of(case))
    got = {
        "pairwise_agreement": number(pairwise_agreement(rated).value),
        "all_agree": number(all_agree(rated).value),
        "light_kappa": number(light.value),
        "mean_of_defined": light.extra["mean_of_defined"],
        "n_undefined_pairs": light.extra["undefined_pairs"],
    }
    return got if tolerance is None else got | {"all_agree_tol": number(all_agree(rated, tolerance).value)}


def intraclass(case: Case) -> dict[str, Any]:
    made = icc(ratings_of(case["input"]["ratings"], level="interval"), confidence=case["params"].get("conf", 0.95))
    got: dict[str, Any] = {}
    for name in ICC_NAMES:
        form = f"({name[4]},{name[6]})"
        low, high = ends(made[name].interval)
        got |= {f"ICC{form}": number(made[name].value), f"CI{form}": None if low is None else [low, high]}
    one, three = made["icc_1_1"], made["icc_3_1"]
    for form, test in (("1", one), ("3", three)):
        got |= {f"F{form}": test.extra.get("f"), f"p{form}": test.p_value}
    squares = {key: one.extra.get(key.lower()) for key in ("BMS", "WMS", "JMS", "EMS")}
    return got | squares | {"n_used": one.n, "n_dropped": one.extra["n_dropped"]}


STATISTICS: dict[str, Callable[[Case], dict[str, Any]]] = {
    "cohen_kappa": cohen,
    "two_rater_agreement": two_raters,
    "fleiss_kappa": fleiss,
    "gwet_coefficients": gwets,
    "multirater_pairwise": pairwise,
    "icc": intraclass,
}
