"""McNemar's tests against scipy, statsmodels and enumeration; paired columns with missing outcomes."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as oracle

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.paired import ChiSquare, mcnemar, mcnemar_of_columns
from calibrate.stats.proportions import paired_difference

count = st.integers(0, 60)
outcome = st.sampled_from([0, 1, None])


@settings(deadline=None, max_examples=80)
@given(count, count, count, count)
def test_the_tests_are_those_of_scipy_and_statsmodels(a: int, b: int, c: int, d: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mcnemar(a, b, c, d)
    if b + c == 0:
        assert (found.exact_p, found.mid_p) == (1.0, 0.5)
        assert found.chi_square == found.chi_square_corrected == Undefined("no discordant pairs")
        return
    assert found.exact_p == pytest.approx(scipy.stats.binomtest(b, b + c).pvalue, rel=1e-9)
    assert found.exact_p == pytest.approx(oracle([[a, b], [c, d]], exact=True).pvalue, rel=1e-9)
    assert isinstance(found.chi_square, ChiSquare)
    assert isinstance(found.chi_square_corrected, ChiSquare)
    plain = oracle([[a, b], [c, d]], exact=False, correction=False)
    assert found.chi_square.statistic == pytest.approx(plain.statistic)
    assert found.chi_square.p == pytest.approx(plain.pvalue, rel=1e-9)
    if b != c:  # with b = c statsmodels makes a statistic above 0 out of its correction
        corrected = oracle([[a, b], [c, d]], exact=False, correction=True)
        assert found.chi_square_corrected.statistic == pytest.approx(corrected.statistic)
        assert found.chi_square_corrected.p == pytest.approx(corrected.pvalue, rel=1e-9)
    else:
        assert found.chi_square_corrected == ChiSquare(0.0, 1.0)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 12), st.integers(0, 12))
def test_mid_p_gives_half_the_weight_to_what_was_seen(b: int, c: int) -> None:
    """Sum over all outcomes: those less likely in full, those as likely as the observed one by half."""
    n = b + c
    if n == 0:
        return
    weights = [math.comb(n, k) / 2**n for k in range(n + 1)]
    observed = weights[b]
    less = sum(w for w in weights if w < observed * (1 - 1e-12))
    as_likely = sum(w for w in weights if abs(w - observed) <= observed * 1e-12)
    assert mcnemar(0, b, c, 0).mid_p == pytest.approx(less + as_likely / 2)


@settings(deadline=None, max_examples=60)
@given(count, count, count, count)
def test_which_side_comes_first_and_which_outcome_is_success_only_turn_the_difference(
    a: int, b: int, c: int, d: int
) -> None:
    found, turned, other = mcnemar(a, b, c, d), mcnemar(a, c, b, d), mcnemar(d, c, b, a)
    for mirror in (turned, other):
        assert mirror.exact_p == pytest.approx(found.exact_p)
        assert mirror.mid_p == pytest.approx(found.mid_p)
        assert mirror.chi_square == found.chi_square
    if found.n == 0:
        assert found.difference == Undefined("there is no pair")
        return
    assert isinstance(found.difference, float)
    assert isinstance(turned.difference, float)
    assert turned.difference == -found.difference
    assert isinstance(found.interval, Interval)
    assert isinstance(turned.interval, Interval)
    assert (turned.interval.low, turned.interval.high) == pytest.approx((-found.interval.high, -found.interval.low))
    assert found.interval == paired_difference(a, b, c, d)
    assert -1 <= found.interval.low <= found.difference <= found.interval.high <= 1
    assert 0 <= found.mid_p <= found.exact_p <= 1


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(outcome, outcome), max_size=30), st.randoms(use_true_random=False))
def test_columns_are_counted_and_incomplete_pairs_left_out(pairs: list[tuple[int | None, ...]], random: object) -> None:
    first, second = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = mcnemar_of_columns(first, second)
    assert found.n + found.missing == len(pairs)
    known = [pair for pair in pairs if None not in pair]
    table = [known.count(cell) for cell in ((1, 1), (1, 0), (0, 1), (0, 0))]
    assert [found.both, found.first_only, found.second_only, found.neither] == table
    assert found.exact_p == mcnemar(*table).exact_p
    random.shuffle(pairs)  # type: ignore[attr-defined]
    assert mcnemar_of_columns([pair[0] for pair in pairs], [pair[1] for pair in pairs]) == found


def test_truth_values_and_missing_ones_are_read() -> None:
    found = mcnemar_of_columns(np.array([True, False, True]), [1.0, math.nan, 0.0])
    assert (found.both, found.first_only, found.missing) == (1, 1, 1)


def test_the_estimate_says_what_it_is() -> None:
    made = mcnemar(20, 12, 2, 16).estimate("difference", unit="share")
    assert made.value == pytest.approx(0.2)
    assert made.p_value == pytest.approx(0.012939453125)
    assert "Newcombe" in str(made.method)
    assert made.extra["remark"] is None
    assert mcnemar(3, 0, 0, 1).estimate("difference").extra["remark"] == "no discordant pairs"
    empty = mcnemar(0, 0, 0, 0).estimate("difference")
    assert (empty.value, empty.reason) == (None, "there is no pair")


@pytest.mark.parametrize("bad", [-1, 1.5, math.nan, math.inf])
def test_a_count_that_is_none_is_refused(bad: float) -> None:
    with pytest.raises(InvalidData, match="second_only must be a whole number"):
        mcnemar(1, 2, bad, 3)  # type: ignore[arg-type]


def test_bad_columns_are_refused() -> None:
    with pytest.raises(InvalidData, match="got 3 and 2"):
        mcnemar_of_columns([1, 0, 1], [1, 0])
    with pytest.raises(InvalidData, match=r"got 2 in the second column"):
        mcnemar_of_columns([1, 0, 1], [1, 0, 2])
    with pytest.raises(InvalidData, match="the first column must hold 1, 0"):
        mcnemar_of_columns(["yes", "no"], [1, 0])
    with pytest.raises(InvalidData, match="one column"):
        mcnemar_of_columns([[1, 0]], [1, 0])
