from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrate.stats.normalise import fit_scales, zscore_by_annotator


def test_few_ratings_share_the_pool_and_the_scale_serves_other_rows() -> None:
    who = np.array(["a", "a", "a", "b", "c", "c"])
    scales = fit_scales(who, [6, 8, 10, 5, 7, 9])
    assert (scales.pool_n, scales.pool_mean, scales.pool_sd) == (3, 7.0, 2.0)
    assert list(scales.z(["c", "a"], [11, 11])) == [2.0, 1.5]


def test_no_spread_gives_zero_and_a_flag() -> None:
    who = np.array(["a"] * 3 + ["b"] * 3 + ["c"])
    scales = fit_scales(who, [7.1, 7.1, 7.1, 1, 2, 3, 4])
    assert list(scales.z(who, [7.1, 7.1, 7.1, 1, 2, 3, 4])) == [0, 0, 0, -1, 0, 1, 0]
    assert list(scales.flat(who)) == [True] * 3 + [False] * 3 + [True]
    assert scales.zero_spread == 2  # a, and the pool of one rating
    assert scales.pool_sd is None


def test_constant_ratings_of_any_value_have_no_spread_to_the_last_bit() -> None:
    """0.1 summed three times and divided by three is not 0.1: a naive spread is 1e-17, and z is ±1."""
    assert list(zscore_by_annotator(["a"] * 3, [0.1] * 3)) == [0.0, 0.0, 0.0]


def test_order_of_rows_does_not_matter_and_nobody_pooled_is_said() -> None:
    who, rating = np.array(["b", "a"] * 3), np.array([1.0, 10, 2, 20, 3, 30])
    scales = fit_scales(who, rating)
    assert (scales.pool_n, scales.pool_mean, scales.pool_sd) == (0, None, None)
    backwards = zscore_by_annotator(who[::-1], rating[::-1])
    assert list(backwards[::-1]) == list(scales.z(who, rating))


@settings(deadline=None, max_examples=50)
@given(
    ratings=st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 10)), min_size=1, max_size=60),
    shift=st.floats(-100, 100),
    stretch=st.floats(0.1, 10),
    ddof=st.sampled_from([0, 1]),
)
def test_scales_are_centred_and_do_not_see_units(
    ratings: list[tuple[str, int]], shift: float, stretch: float, ddof: int
) -> None:
    who = np.array([label for label, _ in ratings])
    values = np.array([float(value) for _, value in ratings])
    scales = fit_scales(who, values, ddof=ddof)
    z = scales.z(who, values)
    assert np.isfinite(z).all()
    pool = scales.pooled[scales.codes(who)]
    for members in [who == label for label in set(who[~pool])] + [pool]:
        if members.any():
            assert z[members].mean() == pytest.approx(0, abs=1e-9)
            if np.ptp(values[members]) > 0:
                assert z[members].std(ddof=ddof) == pytest.approx(1)
    moved = values * stretch + shift
    assert zscore_by_annotator(who, moved, ddof=ddof) == pytest.approx(z, abs=1e-7)


def test_what_cannot_be_normalised_is_refused() -> None:
    with pytest.raises(ValueError, match="missing"):
        fit_scales(["a", "b"], [1, np.nan])
    with pytest.raises(ValueError, match="no annotator"):
        fit_scales(np.array(["a", None], dtype=object), [1, 2])
    with pytest.raises(ValueError, match="'x'"):
        fit_scales(["a", "a", "a"], [1, 2, 3]).z(["x"], [1])
    with pytest.raises(ValueError, match="shapes"):
        fit_scales(["a"], [1, 2])


def test_time_grows_with_the_ratings_only() -> None:
    rng = np.random.default_rng(0)
    who, rating = rng.integers(0, 100_000, 300_000), rng.integers(1, 11, 300_000)
    start = time.process_time()
    zscore_by_annotator(who, rating)
    assert time.process_time() - start < 2.0  # one annotator at a time takes minutes
