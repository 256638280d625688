"""Reference cases of Krippendorff's α: input unpacked, outputs named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrate.estimate import Interval, Undefined
from calibrate.stats.agreement.alpha import alpha, alpha_interval
from calibrate.stats.agreement.coefficient import Coefficient
from calibrate.stats.agreement.ratings import Ratings, ratings_of

Case = dict[str, Any]
RESAMPLES = 20_000


def rated(case: Case) -> Ratings:
    return ratings_of(case["input"]["units"], level=case["params"]["level"], categories=case["params"].get("domain"))


def number(value: float | Undefined) -> float | None:
    return None if isinstance(value, Undefined) else value


def resampled(case: Case) -> Coefficient:
    confidence = case["params"].get("conf", 0.95)
    return alpha_interval(rated(case), np.random.default_rng(1), resamples=RESAMPLES, confidence=confidence)


def output(case: Case) -> dict[str, Any]:
    expected = case["expected"]
    point = alpha(rated(case))
    found: dict[str, Any] = {"alpha": number(point.value)}
    if set(expected) <= {"alpha", "error"}:
        return {name: found.get(name) for name in expected}
    once, again = resampled(case), resampled(case)
    undefined = once.extra["undefined_resamples"]
    interval = once.interval if isinstance(once.interval, Interval) else None
    found |= {
        "ci_low": interval.low if interval else None,
        "ci_high": interval.high if interval else None,
        "se": once.se,
        "undefined_replicates": undefined,
        "undefined_fraction": undefined / RESAMPLES if isinstance(undefined, int) else None,
        "same_seed_identical": once == again,
    }
    return {name: found.get(name) for name in expected}


STATISTICS: dict[str, Callable[[Case], dict[str, Any]]] = {"krippendorff_alpha": output}
