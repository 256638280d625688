from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from annotate.errors import InputError
from calibrate.realism.likert import likert


def test_difference_is_paired_and_signed() -> None:
    twin, human = [3, 2, 4, 3, 2], [4, 4, 5, 3, 4]
    made = likert(twin, human)
    oracle = scipy.stats.ttest_rel(twin, human)
    assert made.difference.value == pytest.approx(-1.2)
    assert made.difference.p_value == pytest.approx(oracle.pvalue)
    limits = oracle.confidence_interval()
    assert (made.difference.low, made.difference.high) == pytest.approx((limits.low, limits.high))
    assert (made.twin.value, made.human.value) == pytest.approx((2.8, 4.0))


def test_only_complete_pairs_enter_the_difference_but_all_scores_the_means() -> None:
    made = likert([3, None, 5, 2], [4, 4, None, 3])
    assert (made.twin.n, made.human.n, made.difference.n) == (3, 3, 2)
    assert (made.missing_twin, made.missing_human) == (1, 1)
    assert made.twin.value == pytest.approx(10 / 3)
    assert made.difference.value == -1.0
    assert made.difference.interval is None  # both −1: no spread to tell


def test_people_are_the_clusters() -> None:
    made = likert([3, 3, 1, 1, 5, 5], [4, 4, 4, 4, 4, 4], list("aabbcc"))
    assert made.difference.clusters == 3
    oracle = scipy.stats.ttest_1samp([-1, -3, 1], 0)
    assert made.difference.p_value == pytest.approx(oracle.pvalue)


def test_equivalence_within_the_margin() -> None:
    rng = np.random.default_rng(0)
    human = rng.integers(1, 6, 200).astype(float)
    near, far = likert(human + rng.normal(0, 0.5, 200), human), likert(human - 1 + rng.normal(0, 0.5, 200), human)
    assert near.difference.extra["equivalence_p"] < 0.05
    assert far.difference.extra["equivalence_p"] > 0.9
    assert near.difference.extra["margin"] == 0.3


def test_without_human_scores_there_is_no_difference() -> None:
    made = likert([3, 4, 5])
    assert made.twin.value == 4.0
    assert made.human.reason == "no values"
    assert made.difference.value is None
    assert made.missing_human == 0


def test_what_is_not_a_score_is_refused() -> None:
    with pytest.raises(InputError, match="not a number"):
        likert(["good", 3])
    with pytest.raises(InputError, match="one each a pair"):
        likert([3, 4], [3])
    with pytest.raises(InputError, match="infinite"):
        likert([3, np.inf])
