"""Reference cases of paired outcomes and of differences of proportions: input unpacked, outputs named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calibrate.estimate import Interval, Undefined
from calibrate.stats.paired import ChiSquare, McNemar, mcnemar, mcnemar_of_columns
from calibrate.stats.proportions import independent_difference, pair_phi, paired_difference

Case = dict[str, Any]


def number(value: float | Undefined) -> float | None:
    return None if isinstance(value, Undefined) else value


def ends(interval: Interval | Undefined) -> dict[str, float] | None:
    return None if isinstance(interval, Undefined) else {"low": interval.low, "high": interval.high}


def chi_square(prefix: str, test: ChiSquare | Undefined) -> dict[str, float | None]:
    missing = isinstance(test, Undefined)
    return {prefix: None if missing else test.statistic, f"{prefix}_p": None if missing else test.p}


def pairs(case: Case) -> McNemar:
    data, level = case["input"], case.get("params", {}).get("conf", 0.95)
    if "table" in data:
        (both, first_only), (second_only, neither) = data["table"]
        return mcnemar(both, first_only, second_only, neither, level=level)
    first, second = (data[key] for key in list(data)[:2])
    return mcnemar_of_columns(first, second, level=level)


def mcnemar_case(case: Case) -> dict[str, Any]:
    found = pairs(case)
    return {
        "n": found.n,
        "b": found.first_only,
        "c": found.second_only,
        "exact_p": found.exact_p,
        "midp": found.mid_p,
        **chi_square("chi2", found.chi_square),
        **chi_square("chi2_cc", found.chi_square_corrected),
        "diff": number(found.difference),
    }


def proportion_difference_ci(case: Case) -> dict[str, Any]:
    data, level = case["input"], case["params"].get("conf", 0.95)
    if case["params"]["design"] == "independent":
        x1, n1, x2, n2 = (data[key] for key in ("x1", "n1", "x2", "n2"))
        limits = independent_difference(x1, n1, x2, n2, level)
        return {"diff": None, "low": None, "high": None} | (
            {} if isinstance(limits, Undefined) else {"diff": x1 / n1 - x2 / n2, **(ends(limits) or {})}
        )
    (both, first_only), (second_only, neither) = data["table"]
    counts = (both, first_only, second_only, neither)
    got: dict[str, Any] = {"diff": number(mcnemar(*counts, level=level).difference)}
    for method in (10, 8):
        found = ends(paired_difference(*counts, level, method=method))
        got[f"method{method}"] = found and {**found, "phi": pair_phi(*counts, method=method)}
    return got


STATISTICS: dict[str, Callable[[Case], dict[str, Any]]] = {
    "mcnemar": mcnemar_case,
    "proportion_difference_ci": proportion_difference_ci,
}
