from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calibrate.estimate import Undefined
from calibrate.stats.correlation import Coefficient, correlate, half_step, kendall, pearson, spearman, spearman_p
from calibrate.stats.correlation_rows import correlation_rows, midrank_rows
from calibrate.stats.group_means import group_correlation, group_means, reliability_of_means

COEFFICIENTS: tuple[Coefficient, ...] = ("spearman", "pearson", "kendall")
likert = st.integers(1, 10)


def test_equal_group_means_stay_tied_whatever_the_order_of_summation() -> None:
    """.1 + .2 + .3 over 3 and .3 + .2 + .1 over 3 differ in the last bit; ranking that breaks a tie at random."""
    x = np.array([0.1, 0.2, 0.3, 0.3, 0.2, 0.1, 0.4, 0.4, 0.4, 0.0, 0.0, 0.0])
    groups = np.repeat([0, 1, 2, 3], 3)
    y = np.repeat([1.0, 2.0, 3.0, 0.0], 3)
    means = group_means(groups, x, y)
    assert means.x[0] != means.x[1]  # the trap is really there
    assert group_correlation("spearman", groups, x, y) == pytest.approx(0.9486832980505138)
    assert group_correlation("kendall", groups, x, y) == pytest.approx(5 / np.sqrt(5 * 6))


def test_wikipedia_iq_and_television() -> None:
    """Wikipedia, "Spearman's rank correlation coefficient": ρ = −29/165."""
    iq = [106, 100, 86, 101, 99, 103, 97, 113, 112, 110]
    hours = [7, 27, 2, 50, 28, 29, 20, 12, 6, 17]
    assert spearman(iq, hours) == pytest.approx(-29 / 165)


def test_ties_never_take_the_shortcut() -> None:
    """Six pairs by hand: ranks 1, 2.5, 2.5, 4, 5.5, 5.5 against 1..6; the shortcut would give .971429."""
    rho = spearman([1, 2, 2, 3, 4, 4], [1, 2, 3, 4, 5, 6])
    assert rho == pytest.approx(16.5 / np.sqrt(16.5 * 17.5))


@pytest.mark.parametrize("function", [spearman, pearson, kendall])
def test_undefined_is_said_never_nan(function: object) -> None:
    assert callable(function)
    assert function([1, 2], [2, 1]) == Undefined("fewer than three pairs")
    assert function([], []) == Undefined("fewer than three pairs")
    assert function([3, 3, 3, 3], [1, 2, 3, 4]) == Undefined("the first side is constant")
    assert function([1, 2, 3, 4], [3, 3, 3, 3]) == Undefined("the second side is constant")
    assert function([1, 2, np.nan, 4], [1, np.nan, 3, 4]) == Undefined("fewer than three pairs")


def test_a_side_that_varies_by_rounding_error_is_not_correlated() -> None:
    nearly = np.array([0.1 + 0.2, 0.3, 0.3, 0.1 + 0.2])
    assert np.ptp(nearly) > 0
    assert isinstance(correlate("pearson", nearly, [1, 2, 3, 4]), Undefined)
    assert isinstance(pearson([1e9, np.nextafter(1e9, 2e9), 1e9], [1, 2, 3]), Undefined)


def test_infinite_values_and_unequal_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="infinite"):
        spearman([1, 2, np.inf], [1, 2, 3])
    with pytest.raises(ValueError, match="equal length"):
        spearman([1, 2, 3], [1, 2])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(likert, likert), min_size=3, max_size=30))
def test_agrees_with_scipy_and_its_symmetries(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=float).T
    assume(np.ptp(x) > 0 and np.ptp(y) > 0)
    oracles = {"spearman": scipy.stats.spearmanr, "pearson": scipy.stats.pearsonr, "kendall": scipy.stats.kendalltau}
    for coefficient, oracle in oracles.items():
        value = correlate(coefficient, x, y)
        assert value == pytest.approx(oracle(x, y).statistic, abs=1e-12)
        assert correlate(coefficient, y, x) == pytest.approx(value, abs=1e-12)
        assert correlate(coefficient, 3 * x + 1, -2 * y) == pytest.approx(-value, abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(data=st.data(), units=st.integers(2, 12), kinds=st.integers(1, 5))
def test_weighted_rows_equal_repeated_rows(data: st.DataObject, units: int, kinds: int) -> None:
    shape = (3, units)
    x = data.draw(arrays(float, shape, elements=st.integers(0, kinds).map(float)))
    y = data.draw(arrays(float, shape, elements=st.integers(0, kinds).map(float)))
    w = data.draw(arrays(np.int64, shape, elements=st.integers(0, 3)))
    for coefficient in COEFFICIENTS:
        for row, got in enumerate(correlation_rows(coefficient, x, y, w)):
            expected = correlate(coefficient, np.repeat(x[row], w[row]), np.repeat(y[row], w[row]))
            if isinstance(expected, Undefined) or (w[row] > 0).sum() < 3:
                assert np.isnan(got)
            else:
                assert got == pytest.approx(expected, abs=1e-9)


def test_weighted_rows_with_many_categories_agree_too() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(2, 4, 90))
    w = rng.multinomial(90, np.full(90, 1 / 90), size=4)
    for coefficient in COEFFICIENTS:
        got = correlation_rows(coefficient, x, y, w)
        for row in range(4):
            expected = correlate(coefficient, np.repeat(x[row], w[row]), np.repeat(y[row], w[row]))
            assert got[row] == pytest.approx(expected, abs=1e-9)


def test_midranks_count_a_unit_as_often_as_it_was_drawn() -> None:
    ranks = midrank_rows(np.array([[5.0, 1.0, 5.0, 9.0]]), np.array([[1.0, 2.0, 1.0, 0.0]]))
    assert ranks[0, :3] == pytest.approx([3.5, 1.5, 3.5])  # 1, 1, 5, 5


def test_kendall_variants_on_a_constant_side() -> None:
    assert kendall([3, 3, 3, 3], [1, 2, 3, 4], "a") == 0.0
    assert isinstance(kendall([3, 3, 3, 3], [1, 2, 3, 4], "b"), Undefined)


def test_spearman_p_at_the_ends() -> None:
    assert spearman_p(1.0, 10) == 0.0
    assert spearman_p(0.0, 10) == 1.0
    assert spearman_p(0.5, 2) == Undefined("fewer than three pairs")


def test_groups_need_a_value_on_both_sides() -> None:
    groups = np.array(["a", "a", "b", "b", "c", "d"])
    human = np.array([1.0, np.nan, 2.0, 4.0, np.nan, 5.0])
    simulated = np.array([1.0, 3.0, np.nan, np.nan, 2.0, 4.0])
    means = group_means(groups, human, simulated)
    assert list(means.groups) == ["a", "d"]
    assert means.dropped == 2
    assert list(means.x) == [1.0, 5.0]
    assert list(means.y) == [2.0, 4.0]  # each side over what it has: (1 + 3)/2
    assert group_correlation("spearman", groups, human, simulated) == Undefined("fewer than three groups")


@pytest.mark.parametrize("n", [3, 4, 5])
def test_half_step_lies_between_one_and_the_next_value_of_untied_ranks(n: int) -> None:
    from itertools import permutations

    base = list(range(n))
    for coefficient, function in (("spearman", spearman), ("kendall", kendall)):
        values = {round(float(function(base, order)), 9) for order in permutations(base)}  # type: ignore[arg-type]
        second = sorted(values)[-2]
        assert half_step(coefficient, n) == pytest.approx((1 + second) / 2)


def test_reliability_by_hand() -> None:
    """Groups {0, 2}, {4, 6}, {8, 10}: s² = 2 each, noise 2/2 = 1; means 1, 5, 9 have variance 16; 1 − 1/16."""
    groups, values = np.repeat([0, 1, 2], 2), np.array([0.0, 2, 4, 6, 8, 10])
    made = reliability_of_means(groups, values)
    assert not isinstance(made, Undefined)
    assert made.value == pytest.approx(15 / 16)
    var_v = (2 + 4 * 15) / 2
    assert made.variance == pytest.approx(3 * 2 / 9 / 16**2 + var_v / 16**4)
    assert made.borrowed == 0


def test_reliability_of_a_group_of_one_borrows_the_pooled_variance() -> None:
    made = reliability_of_means([0, 0, 1, 1, 2], [0.0, 2, 4, 6, 20])
    assert not isinstance(made, Undefined)
    assert made.borrowed == 1
    assert made.value == pytest.approx(1 - ((1 + 1 + 2) / 3) / np.var([1, 5, 20], ddof=1))


def test_reliability_is_undefined_without_repetition() -> None:
    assert isinstance(reliability_of_means([0, 1, 2], [1.0, 2, 3]), Undefined)
    assert isinstance(reliability_of_means([0, 0, 1, 1], [1.0, 2, 3, 4]), Undefined)
    assert isinstance(reliability_of_means([0, 0, 1, 1, 2, 2], [1.0, 3, 1, 3, 1, 3]), Undefined)
