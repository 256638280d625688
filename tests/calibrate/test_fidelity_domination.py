"""The frontier and the operating point: ties, unknown costs, sums of floats, and the published claims."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.errors import InputError
from calibrate.fidelity.domination import Point, cheapest, dominators, frontier, operating_point

PUBLISHED: dict[str, Point] = {  # UserProxyBench, Table 1: cost per conversation in US dollars and mean UFS
    "Sonnet-4-6": (0.1841, 0.778),
    "Gemini-3.5-Flash": (0.0558, 0.864),
    "Qwen3.6-35B": (0.0249, 0.612),
    "Gemma-31B": (0.0175, 0.845),
    "Gemma-26B": (0.0147, 0.759),
    "GPT-5.4-mini": (0.0144, 0.599),
    "GPT-4.1-mini": (0.0063, 0.752),
}


def test_the_published_frontier() -> None:
    made = frontier(PUBLISHED)
    assert made.strict == ("GPT-4.1-mini", "Gemma-26B", "Gemma-31B", "Gemini-3.5-Flash")
    assert set(made.strictly_dominated) == {"Sonnet-4-6", "Qwen3.6-35B", "GPT-5.4-mini"}
    assert made.dominated_by["Qwen3.6-35B"] == ("GPT-4.1-mini", "Gemma-26B", "Gemma-31B")
    assert [operating_point(PUBLISHED, q) for q in (0.75, 0.84, 0.86, 0.87)] == [
        "GPT-4.1-mini",
        "Gemma-31B",
        "Gemini-3.5-Flash",
        None,
    ]


def test_q_is_inclusive_also_for_sums_of_floats() -> None:
    assert 0.1 + 0.2 != 0.3
    assert operating_point({"a": (1.0, 0.3)}, 0.1 + 0.2) == "a"
    mean = sum([0.7, 0.8, 0.9]) / 3  # 0.7999999999999999
    assert operating_point({"a": (1.0, mean)}, 0.8) == "a"
    assert operating_point({"a": (1.0, 0.8 - 1e-11)}, 0.8) is None


def test_sums_of_floats_do_not_dominate_each_other() -> None:
    points: dict[str, Point] = {"b": (0.3, 0.7), "a": (0.1 + 0.2, 0.7 + 1e-16)}
    made = frontier(points)
    assert set(made.strict) == set(made.pareto) == {"a", "b"}
    assert operating_point(points, 0.5) == "a"


def test_ties_go_to_the_more_faithful_and_then_by_name() -> None:
    assert operating_point({"z": (1.0, 0.9), "a": (1.0, 0.8)}, 0.5) == "z"
    assert operating_point({"z": (1.0, 0.8), "a": (1.0, 0.8)}, 0.5) == "a"


def test_an_unknown_cost_never_wins_and_zero_is_a_cost() -> None:
    points: dict[str, Point] = {
        "free": (0.0, 0.5),
        "unpriced": (None, 0.99),
        "nan": (math.nan, 0.99),
        "none": (1.0, None),
    }
    made = frontier(points)
    assert made.strict == ("free",)
    assert made.excluded == {"nan": "cost unknown", "none": "UFS unknown", "unpriced": "cost unknown"}
    assert operating_point(points, 0.9) is None and operating_point(points, 0.5) == "free"


def test_what_is_excluded_dominates_nobody() -> None:
    points: dict[str, Point] = {"slow": (1.0, 0.9), "quick": (2.0, 0.8)}
    made = frontier(points, {"slow": "too slow"})
    assert made.strict == ("quick",) and made.excluded == {"slow": "too slow"}
    assert operating_point(points, 0.5, {"slow": "too slow"}) == "quick"


def test_a_negative_cost_is_refused() -> None:
    for name, point in (("a", (-1.0, 0.5)), ("b", (-0.01, None))):
        with pytest.raises(InputError, match=f"proxy '{name}': cost .* is below 0"):
            frontier({name: point})
        with pytest.raises(InputError, match="cost must be >= 0"):
            operating_point({name: point}, 0.5)


UNIT = st.integers(0, 5).map(lambda value: value / 5)


@given(points=st.dictionaries(st.sampled_from("abcdefg"), st.tuples(UNIT, UNIT), max_size=7), q=UNIT)
def test_against_the_definition(points: dict[str, tuple[float, float]], q: float) -> None:
    made = frontier(dict(points))
    strict, pareto = set(), set()
    for name, (cost, ufs) in points.items():
        others = [own for other, own in points.items() if other != name]
        if not any(c < cost and u > ufs for c, u in others):
            strict.add(name)
        if not any(c <= cost and u >= ufs and (c < cost or u > ufs) for c, u in others):
            pareto.add(name)
    assert (set(made.strict), set(made.pareto)) == (strict, pareto)
    assert (
        set(made.strict) | set(made.strictly_dominated) == set(points) == set(made.pareto) | set(made.pareto_dominated)
    )
    meeting = sorted((cost, -ufs, name) for name, (cost, ufs) in points.items() if ufs >= q)
    assert operating_point(dict(points), q) == (meeting[0][2] if meeting else None)
    assert operating_point(dict(reversed(points.items())), q) == operating_point(dict(points), q)


def test_rows_are_decided_one_by_one() -> None:
    cost = np.array([1.0, 2.0, 3.0])
    ufs = np.array([[0.5, 0.8, 0.9], [0.9, 0.8, 0.1], [0.1, 0.1, 0.1], [np.nan, 0.8, 0.9]])
    assert cheapest(cost, ufs, 0.8).tolist() == [1, 0, -1, 1]
    assert dominators(cost, ufs).any(axis=-1).tolist()[1] == [False, True, True]
