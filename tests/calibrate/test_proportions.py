"""Newcombe's intervals against the published ones, and where they have no value."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import pytest

from calibrate.estimate import Interval, Undefined
from calibrate.stats.proportions import independent_difference, pair_phi, paired_difference

SHARED = Path(os.environ.get("USERCAL_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
CASES = SHARED / "cases" / "proportion_difference_ci.json"


def found(case: dict[str, Any]) -> dict[str, Any]:
    given = case["input"]
    if "table" not in given:
        limits = independent_difference(*(given[name] for name in ("x1", "n1", "x2", "n2")))
        assert isinstance(limits, Interval)
        return {"diff": given["x1"] / given["n1"] - given["x2"] / given["n2"], "low": limits.low, "high": limits.high}
    (a, b), (c, d) = given["table"]
    got: dict[str, Any] = {"diff": (b - c) / (a + b + c + d) if a + b + c + d else None}
    for method in (10, 8):
        limits = paired_difference(a, b, c, d, method=method)  # type: ignore[arg-type]
        got[f"method{method}"] = (
            None
            if isinstance(limits, Undefined)
            else {"low": limits.low, "high": limits.high, "phi": pair_phi(a, b, c, d, method=method)}  # type: ignore[arg-type]
        )
    return got


@pytest.mark.shared
@pytest.mark.skipif(not CASES.is_file(), reason="the reference cases are not here")
def test_reference_cases() -> None:
    spec = importlib.util.spec_from_file_location("compare", SHARED / "cases" / "compare.py")
    assert spec is not None and spec.loader is not None
    compare = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(compare)
    cases = json.loads(CASES.read_text("utf-8"))["cases"]
    assert len(cases) > 8
    assert {
        case["id"]: compare.compare(case, found(case)) for case in cases if compare.compare(case, found(case))
    } == {}


def test_published_examples() -> None:
    limits = paired_difference(20, 12, 2, 16)
    assert isinstance(limits, Interval)
    assert (round(limits.low, 4), round(limits.high, 4)) == (0.0562, 0.3292)
    limits = independent_difference(9, 10, 3, 10)
    assert isinstance(limits, Interval)
    assert (round(limits.low, 4), round(limits.high, 4)) == (0.1705, 0.8090)


def test_no_data_has_no_interval() -> None:
    assert isinstance(independent_difference(0, 0, 1, 2), Undefined)
    assert isinstance(paired_difference(0, 0, 0, 0), Undefined)
    with pytest.raises(ValueError, match="whole number from 0"):
        paired_difference(1, -1, 0, 0)


def test_the_difference_turned_round_has_the_interval_turned_round() -> None:
    one, two = paired_difference(5, 7, 2, 9), paired_difference(5, 2, 7, 9)
    assert isinstance(one, Interval) and isinstance(two, Interval)
    assert one.low == pytest.approx(-two.high) and one.high == pytest.approx(-two.low)
