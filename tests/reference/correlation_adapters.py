"""Reference cases of dependent correlations: input unpacked, outputs named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrate.estimate import Interval, Undefined
from calibrate.stats.dependent_correlations import (
    Comparison,
    OverlappingCorrelations,
    compare_columns,
    compare_overlapping,
    compare_separate,
)

Case = dict[str, Any]


def number(value: float | Undefined) -> float | None:
    return None if isinstance(value, Undefined) else value


def limits(interval: Interval | Undefined) -> dict[str, float] | None:
    return None if isinstance(interval, Undefined) else {"ci_low": interval.low, "ci_high": interval.high}


def comparison(test: Comparison | Undefined, interval: Interval | Undefined | None = None) -> dict[str, Any] | None:
    if isinstance(test, Undefined):
        return None
    statistic = {"z": test.statistic} if test.df is None else {"t": test.statistic, "df": test.df}
    return {**statistic, "p": test.p, **((limits(interval) if interval is not None else None) or {})}


def overlapping(case: Case) -> OverlappingCorrelations:
    data, level = case["input"], case["params"].get("conf", 0.95)
    if "x1" in data:
        columns = (np.array(data[key], dtype=float) for key in ("x1", "x2", "x3"))
        return compare_columns(*columns, level, coefficient=case["params"].get("coefficient", "pearson"))
    return compare_overlapping(data["r12"], data["r13"], data["r23"], data["n"], level)


def dependent_correlations(case: Case) -> dict[str, Any]:
    data, level = case["input"], case["params"].get("conf", 0.95)
    if "r34" in data:
        separate = compare_separate(**data, level=level)
        return {
            "steiger": comparison(separate.steiger),
            "dunn_clark": comparison(separate.dunn_clark),
            "zou": limits(separate.zou_interval),
        }
    found = overlapping(case)
    return {
        **{name: number(getattr(found, name)) for name in ("r12", "r13", "r23")},
        "n": found.n,
        "williams": comparison(found.williams),
        "hotelling": comparison(found.hotelling),
        "steiger": comparison(found.steiger),
        "dunn_clark": comparison(found.dunn_clark),
        "meng": comparison(found.meng, found.meng_interval),
        "zou": limits(found.zou_interval),
    }


STATISTICS: dict[str, Callable[[Case], dict[str, Any]]] = {"dependent_correlations": dependent_correlations}
