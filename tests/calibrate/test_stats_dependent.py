"""Dependent correlations: against R, against regression, the delta method and simulation, and on hostile data."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import fields
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.dependent_correlations import (
    GROUP_REMARK,
    RANK_REMARK,
    Comparison,
    compare_columns,
    compare_overlapping,
    compare_separate,
)

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "dependent_correlations_r.json"
R_CASES: list[dict[str, float]] = json.loads(GOLDEN.read_text())["cases"]
TESTS = ("williams", "hotelling", "steiger", "dunn_clark", "meng")

correlation = st.floats(-0.95, 0.95)
column = st.lists(st.integers(0, 4), min_size=4, max_size=12)


def comparison(found: object) -> Comparison:
    assert isinstance(found, Comparison)
    return found


def data(seed: int, n: int = 30, variables: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, variables)) @ rng.normal(size=(variables, variables))


# ------------------------------------------------------------------------------------------- second implementations


@pytest.mark.parametrize("case", R_CASES, ids=lambda case: f"n{case['n']:g}-{case['r12']:.2f}")
def test_psych_in_r_gives_the_same(case: dict[str, float]) -> None:
    n = int(case["n"])
    williams = comparison(compare_overlapping(case["r12"], case["r13"], case["r23"], n).williams)
    assert williams.statistic == pytest.approx(case["williams_t"], rel=1e-10)
    assert williams.p == pytest.approx(case["williams_p"], rel=1e-9)
    separate = compare_separate(*(case[name] for name in ("r12", "r34", "r13", "r14", "r23", "r24")), n)
    assert comparison(separate.steiger).statistic == pytest.approx(case["steiger_z"], rel=1e-10)
    assert comparison(separate.steiger).p == pytest.approx(case["steiger_p"], rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_hotelling_is_the_t_of_equal_standardised_slopes(seed: int) -> None:
    """Regress x1 on standardised x2 and x3; the t of the difference of the slopes has n − 3 degrees of freedom."""
    columns = data(seed)
    z = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    design = z[:, 1:]
    slopes, rest, *_ = np.linalg.lstsq(design, z[:, 0], rcond=None)
    spread = rest[0] / (len(z) - 3) * np.array([1, -1]) @ np.linalg.inv(design.T @ design) @ np.array([1, -1])
    found = comparison(compare_columns(*columns.T).hotelling)
    assert found.statistic == pytest.approx((slopes[0] - slopes[1]) / math.sqrt(spread), rel=1e-9)


def asymptotic_correlation(matrix: np.ndarray, first: tuple[int, int], second: tuple[int, int]) -> float:
    """Correlation of two sample correlations of normal data: covariances of covariances and numerical gradients."""
    size = len(matrix)
    cells = list(product(range(size), repeat=2))
    spread = np.array([[matrix[i, k] * matrix[j, m] + matrix[i, m] * matrix[j, k] for k, m in cells] for i, j in cells])

    def r(s: np.ndarray, pair: tuple[int, int]) -> float:
        return float(s[pair] / np.sqrt(s[pair[0], pair[0]] * s[pair[1], pair[1]]))

    def gradient(pair: tuple[int, int]) -> np.ndarray:
        steps = []
        for cell in cells:
            h = np.zeros_like(matrix)
            h[cell] = 1e-6
            steps.append((r(matrix + h, pair) - r(matrix - h, pair)) / 2e-6)
        return np.array(steps)

    one, two = gradient(first), gradient(second)
    return float(one @ spread @ two / math.sqrt((one @ spread @ one) * (two @ spread @ two)))


@pytest.mark.parametrize("seed", range(6))
def test_dunn_clark_uses_the_delta_methods_correlation(seed: int) -> None:
    r = np.corrcoef(data(seed, variables=4).T)
    n = 40
    for found, second in (
        (compare_overlapping(r[0, 1], r[0, 2], r[1, 2], n).dunn_clark, (0, 2)),
        (compare_separate(r[0, 1], r[2, 3], r[0, 2], r[0, 3], r[1, 2], r[1, 3], n).dunn_clark, (2, 3)),
    ):
        c = asymptotic_correlation(r, (0, 1), second)
        gap = np.arctanh(r[0, 1]) - np.arctanh(r[second])
        assert comparison(found).statistic == pytest.approx(gap * math.sqrt((n - 3) / (2 - 2 * c)), rel=1e-5)


def test_under_a_true_hypothesis_williams_rejects_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    matrix = np.array([[1, 0.5, 0.5], [0.5, 1, 0.6], [0.5, 0.6, 1]])
    draws = rng.normal(size=(3000, 20, 3)) @ np.linalg.cholesky(matrix).T
    rejected = 0
    for sample in draws:
        r = np.corrcoef(sample.T)
        rejected += comparison(compare_overlapping(r[0, 1], r[0, 2], r[1, 2], 20).williams).p < 0.05
    assert 0.037 < rejected / 3000 < 0.064  # 99.9 % limits of 5 %


def test_zou_covers() -> None:
    rng = np.random.default_rng(4)
    matrix = np.array([[1, 0.7, 0.4], [0.7, 1, 0.5], [0.4, 0.5, 1]])
    draws = rng.normal(size=(2000, 30, 3)) @ np.linalg.cholesky(matrix).T
    covered = 0
    for sample in draws:
        r = np.corrcoef(sample.T)
        limits = compare_overlapping(r[0, 1], r[0, 2], r[1, 2], 30).zou_interval
        assert isinstance(limits, Interval)
        covered += limits.low <= 0.3 <= limits.high
    assert 0.93 < covered / 2000 < 0.967


# ------------------------------------------------------------------------------------------------------ properties


@settings(deadline=None, max_examples=150)
@given(correlation, correlation, correlation, st.integers(4, 200))
def test_exchanging_the_two_sides_turns_every_sign(r12: float, r13: float, r23: float, n: int) -> None:
    try:
        one, two = compare_overlapping(r12, r13, r23, n), compare_overlapping(r13, r12, r23, n)
    except InvalidData:
        assert 1 + 2 * r12 * r13 * r23 - r12**2 - r13**2 - r23**2 < 0
        return
    for name in TESTS:
        first, second = getattr(one, name), getattr(two, name)
        if isinstance(first, Undefined):
            assert first == second
            continue
        assert first.statistic == pytest.approx(-second.statistic, rel=1e-9, abs=1e-12)
        assert first.p == pytest.approx(second.p, rel=1e-9)
        assert 0 <= first.p <= 1
        assert first.statistic == 0 or (first.statistic > 0) == (r12 > r13)
    for name in ("meng_interval", "zou_interval"):
        first, second = getattr(one, name), getattr(two, name)
        assert isinstance(first, Interval)
        assert (first.low, first.high) == pytest.approx((-second.high, -second.low), rel=1e-9, abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(5, 40))
def test_mengs_interval_leaves_0_out_where_its_test_rejects(seed: int, n: int) -> None:
    found = compare_columns(*data(seed, n).T)
    assert isinstance(found.meng_interval, Interval)
    inside = found.meng_interval.low <= 0 <= found.meng_interval.high
    assert inside == (comparison(found.meng).p >= 0.05)
    assert isinstance(found.zou_interval, Interval)
    assert isinstance(found.difference, float)
    assert found.zou_interval.low <= found.difference <= found.zou_interval.high


@settings(deadline=None, max_examples=80)
@given(column, column, column)
def test_no_warning_and_no_nan_on_coarse_data(x1: list[int], x2: list[int], x3: list[int]) -> None:
    n = min(map(len, (x1, x2, x3)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for coefficient in ("pearson", "spearman"):
            found = compare_columns(x1[:n], x2[:n], x3[:n], coefficient=coefficient)  # type: ignore[arg-type]
            for field in fields(found):
                for number in numbers(getattr(found, field.name)):
                    assert math.isfinite(number), field.name
            assert GROUP_REMARK in found.format()


def numbers(value: Any) -> list[float]:
    if isinstance(value, (Comparison, Interval)):
        return [number for field in fields(value) for number in numbers(getattr(value, field.name))]
    return [value] if isinstance(value, float) else []


def test_order_of_the_units_and_monotone_changes_of_scale_do_not_matter_to_ranks() -> None:
    x1, x2, x3 = data(8).T
    shuffled = np.random.default_rng(1).permutation(len(x1))
    plain = compare_columns(x1, x2, x3, coefficient="spearman")
    changed = compare_columns(np.exp(x1)[shuffled], x2[shuffled] ** 3, x3[shuffled], coefficient="spearman")
    assert comparison(plain.williams).statistic == pytest.approx(comparison(changed.williams).statistic)
    assert plain.n == changed.n


# ---------------------------------------------------------------------------------------------------- conventions


def test_equal_correlations_are_no_difference_even_with_one_variable_twice() -> None:
    found = compare_overlapping(0.6, 0.6, 1.0, 20)
    for name in TESTS:
        assert (getattr(found, name).statistic, getattr(found, name).p) == (0.0, 1.0)
    assert isinstance(found.zou_interval, Undefined)
    x1, x2, _ = data(1).T
    assert comparison(compare_columns(x1, x2, 3 * x2 + 1).williams).p == 1.0


def test_a_perfect_correlation_leaves_williams_and_takes_fishers_z_away() -> None:
    found = compare_overlapping(1.0, 0.5, 0.5, 20)
    assert comparison(found.williams).statistic == pytest.approx(10.066445913694333)
    for name in ("steiger", "dunn_clark", "meng", "meng_interval", "zou_interval", "hotelling"):
        assert isinstance(getattr(found, name), Undefined)
    assert isinstance(compare_separate(1.0, 0.5, 0.2, 0.3, 0.2, 0.3, 20).steiger, Undefined)
    assert isinstance(compare_overlapping(1.0, -1.0, -1.0, 20).williams, Undefined)  # 0 in the denominator


def test_what_no_data_can_have_is_refused() -> None:
    with pytest.raises(InvalidData, match=r"0\.9, -0\.9, 0\.9 together .* positive semidefinite"):
        compare_overlapping(0.9, -0.9, 0.9, 50)
    with pytest.raises(InvalidData, match="positive semidefinite"):
        compare_separate(0.9, 0.9, 0.9, -0.9, 0.9, 0.9, 50)
    with pytest.raises(InvalidData, match=r"r13 = 1\.2"):
        compare_overlapping(0.9, 1.2, 0.9, 50)
    with pytest.raises(InvalidData, match="r12 = nan"):
        compare_overlapping(math.nan, 0.2, 0.9, 50)
    for n in (3, 0, 4.5):
        with pytest.raises(InvalidData, match="at least 4 units"):
            compare_overlapping(0.9, 0.1, 0.2, n)  # type: ignore[arg-type]
    with pytest.raises(InvalidData, match="level"):
        compare_overlapping(0.9, 0.1, 0.2, 20, 95)
    with pytest.raises(InvalidData, match="equal length"):
        compare_columns([1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3])
    with pytest.raises(InvalidData, match="infinite"):
        compare_columns([1, 2, 3, math.inf], [1, 2, 3, 4], [1, 2, 4, 3])


def test_r23_comes_from_the_units_that_have_all_three() -> None:
    x1, x2, x3 = (column.copy() for column in data(5, 12).T)
    x1[0] = x2[1] = x3[2] = math.nan
    found, kept = compare_columns(x1, x2, x3), compare_columns(x1[3:], x2[3:], x3[3:])
    assert found == kept
    assert found.n == 9


def test_too_little_and_constant_data_are_undefined_with_the_reason() -> None:
    few = compare_columns([1, 2, 3, 4], [2, 1, 4, 3], [1, 3, 2, math.nan])
    assert few.williams == Undefined("3 complete units are too few (at least 4)")
    constant = compare_columns([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], [7] * 5)
    assert isinstance(constant.r13, Undefined)
    assert constant.r12 == pytest.approx(0.8)
    assert constant.zou_interval == Undefined("the third variable is constant")
    assert "undefined (the third variable is constant)" in constant.format()


def test_the_print_carries_r23_the_interval_and_the_remarks() -> None:
    text = compare_overlapping(0.774, 0.607, 0.6, 27, coefficient="spearman").format()
    assert "r23 0.600, n = 27" in text
    assert "difference 0.167 [-0.062, 0.455] (95%, Zou)" in text
    assert "Williams: t(24) = 1.463, p = 0.157" in text
    assert RANK_REMARK in text
    assert GROUP_REMARK in text
    assert RANK_REMARK not in compare_overlapping(0.774, 0.607, 0.6, 27).format()
    separate = compare_separate(0.5, 0.6, 0.8, 0.5, 0.5, 0.7, 103).format()
    assert "r24 0.700" in separate
    assert "Steiger: z = -1.405, p = 0.160" in separate


def test_the_closer_the_two_sides_the_smaller_a_difference_shows() -> None:
    found = [abs(comparison(compare_overlapping(0.5, 0.2, r23, 50).williams).statistic) for r23 in (0.3, 0.6, 0.8)]
    assert all(a < b for a, b in pairwise(found))


def test_kendall_is_none_of_the_two() -> None:
    with pytest.raises(InvalidData, match="Pearson's r and Spearman's"):
        compare_columns([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], [1, 3, 2, 5, 4], coefficient="kendall")
