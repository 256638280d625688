from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate.errors import InputError
from calibrate.estimate import Estimate
from calibrate.realism.turing import Verdicts, judges_share, null_deviation, score_pairs, turing
from calibrate.stats.intervals import clopper_pearson, wilson

RIGHT = (("A", 9), ("B", 9))  # the human stands at A, then at B
WRONG = (("B", 9), ("A", 9))
FIRST_RUN_WINS = (("A", 6), ("A", 4))  # position A twice: right in run 1, wrong in run 2
SECOND_RUN_WINS = (("A", 4), ("A", 6))
TIED = (("A", 5), ("A", 5))
UNSURE = (("B", 6), ("B", None))
REFUSED = (("A", 9), (None, None))


def judged(*pairs: tuple[tuple[object, object], ...]) -> Verdicts:
    picks = [[run[0] for run in pair] for pair in pairs]
    sure = [[run[1] for run in pair] for pair in pairs]
    return score_pairs(picks, [["A", "B"]] * len(pairs), sure)


def test_every_way_to_a_verdict() -> None:
    verdicts = judged(RIGHT, WRONG, FIRST_RUN_WINS, SECOND_RUN_WINS, TIED, UNSURE, REFUSED)
    assert list(verdicts.score) == [1, 0, 1, 0, 0.5, 0.5]
    assert list(verdicts.same_position) == [False, False, True, True, True, True]
    assert (verdicts.pairs, verdicts.scored, verdicts.missing, verdicts.tied, verdicts.right) == (7, 6, 1, 2, 2)
    assert verdicts.right_by_position.tolist() == [
        [True, True],
        [False, False],
        [True, False],
        [True, False],
        [True, False],
        [False, True],
    ]


def test_the_side_the_human_stands_on_first_does_not_matter() -> None:
    swapped = score_pairs([["B", "A"], ["A", "A"]], [["B", "A"]] * 2, [[9, 9], [4, 6]])
    assert list(swapped.score) == [1, 1]  # the second: wrong in run 1 (human at B), right in run 2 with more confidence
    assert swapped.right_by_position.tolist() == [[True, True], [True, False]]


def test_what_cannot_be_scored_is_refused() -> None:
    with pytest.raises(InputError, match="must swap the order"):
        score_pairs([["A", "A"]], [["A", "A"]], [[9, 8]])
    with pytest.raises(InputError, match="two runs"):
        score_pairs([["A"]], [["A"]], [[9]])
    with pytest.raises(InputError, match="does not say where"):
        score_pairs([["A", "B"]], [["A", None]], [[9, 8]])
    with pytest.raises(InputError, match="a pair has two"):
        score_pairs([["A", "B"]] * 2, [["A", "B"], ["left", "right"]], [[9, 8]] * 2)
    with pytest.raises(InputError, match="'very'"):
        score_pairs([["A", "B"]], [["A", "B"]], [["very", 8]])
    with pytest.raises(InputError, match="one row a pair"):
        score_pairs([["A", "B"]], [], [[9, 8]])
    with pytest.raises(InputError, match="3 people for 1 pairs"):
        turing(judged(RIGHT), ["a", "b", "c"])


def test_one_pair_a_person_is_exact_and_ties_stay_out_of_the_test() -> None:
    result = turing(judged(*[RIGHT] * 5, *[WRONG] * 3, TIED, TIED), list("abcdefghij"))
    assert result.right.value == pytest.approx(0.6)
    assert result.right.interval == wilson(6, 10)
    assert result.right.p_value == pytest.approx(scipy.stats.binomtest(5, 8).pvalue)
    assert result.right.extra["tied"] == 2
    assert result.ties.value == pytest.approx(0.2)
    assert result.position_disagreement.value == pytest.approx(0.2)
    assert result.deviation.value == pytest.approx(10.0)


def test_people_who_give_several_pairs_get_a_t_test() -> None:
    """Shares 1, 0 and .5 of two pairs each: mean .5, residual sums 1, −1, 0; se² = 3/2 · 2 / 36."""
    verdicts = judged(RIGHT, RIGHT, WRONG, WRONG, RIGHT, WRONG)
    result = turing(verdicts, list("aabbcc"))
    assert result.right.p_value == pytest.approx(1.0)
    assert result.right.extra["test"] == "t over people, 2 df"
    se = np.sqrt(1.5 * 2 / 36)
    assert result.right.low == pytest.approx(max(0, 0.5 - scipy.stats.t.ppf(0.975, 2) * se))
    effect = se**2 / (np.var([1, 1, 0, 0, 1, 0], ddof=1) / 6)
    assert result.deviation.extra["design_effect"] == pytest.approx(effect)
    assert result.deviation.extra["expected_when_guessing"] == pytest.approx(null_deviation(6)[0] * np.sqrt(effect))
    assert result.needed_pairs == pytest.approx(214.1 * effect, abs=1)
    assert result.needed_pairs_strict == pytest.approx(700 * effect, rel=0.05)


@pytest.mark.parametrize(("people", "p"), [("aaaa", 1.0), ("aabb", 0.5), ("aabbccddeeff", 0.03125)])
def test_unanimous_verdicts_count_each_person_once_in_the_test(people: str, p: float) -> None:
    for verdict, value in ((RIGHT, 1.0), (WRONG, 0.0)):
        right = turing(judged(*[verdict] * len(people)), list(people)).right
        assert (right.value, right.p_value) == (value, pytest.approx(p))
        assert "as if of one pair each" in str(right.extra["test"])
    undecided = turing(judged(*[RIGHT, WRONG] * 3), list("aabbcc")).right  # every person one half: no spread, no test
    assert undecided.p_value is None


def test_the_bias_of_the_distance_is_that_of_the_protocol() -> None:
    assert null_deviation(427)[0] == pytest.approx(1.9, abs=0.05)
    assert null_deviation(51)[0] == pytest.approx(5.6, abs=0.05)
    assert null_deviation(1) == pytest.approx((50.0, 50.0))
    with pytest.raises(ValueError, match="at least one"):
        null_deviation(0)


def test_the_distance_keeps_zero_where_one_half_is_inside() -> None:
    near = turing(judged(*[RIGHT] * 12, *[WRONG] * 10)).deviation
    assert near.low == 0.0
    far = turing(judged(*[WRONG] * 40, RIGHT)).deviation
    limits = wilson(1, 41)
    assert (far.low, far.high) == pytest.approx((100 * (0.5 - limits.high), 100 * (0.5 - limits.low)))


def test_position_bias_does_not_pass_for_a_perfect_twin() -> None:
    """Right in 95 % with the human at A, in 55 % at B: .5 and more of the pairs are undecided, the ability is not."""
    a, b = 0.95, 0.55
    both, only_a = 55, 40  # of 100 pairs: right twice, right at A only; 5 wrong twice
    verdicts = judged(*[RIGHT] * both, *[TIED] * only_a, *[WRONG] * 5)
    result = turing(verdicts)
    expected = scipy.stats.norm.cdf((scipy.stats.norm.ppf(a) + scipy.stats.norm.ppf(b)) / 2)
    assert result.position_free.value == pytest.approx(expected)
    assert result.position_free.extra["share_right_first_position"] == pytest.approx(a)
    assert result.position_free.low < expected < result.position_free.high
    assert result.position_disagreement.value == pytest.approx(0.4)


def test_the_delta_interval_of_the_position_free_share_covers() -> None:
    rng, hits, trials = np.random.default_rng(6), 0, 300
    z_a, z_b = 0.9, 0.1
    truth = scipy.stats.norm.cdf((z_a + z_b) / 2)
    for _ in range(trials):
        right = rng.random((150, 2)) < scipy.stats.norm.cdf([z_a, z_b])
        picks = np.where(right, ["A", "B"], ["B", "A"])
        made = turing(score_pairs(picks.tolist(), [["A", "B"]] * 150, rng.random((150, 2)).tolist())).position_free
        hits += made.low <= truth <= made.high
    low = scipy.stats.beta.ppf(0.0005, hits, trials - hits + 1)
    high = scipy.stats.beta.ppf(0.9995, hits + 1, trials - hits)
    assert low <= 0.97 and high >= 0.93


def test_extreme_positions_are_moved_in() -> None:
    made = turing(judged(*[RIGHT] * 10)).position_free
    assert made.value == pytest.approx(10.5 / 11)
    assert made.method is not None
    assert "moved in" in made.method
    assert made.interval is None


def test_equivalence_is_claimed_only_with_assay_sensitivity() -> None:
    even = judged(*[RIGHT] * 150, *[WRONG] * 150)
    result = turing(even)
    assert result.equivalence.p_value is not None
    assert result.equivalence.p_value < 0.05
    assert result.equivalent is None
    assert result.not_claimed is not None
    assert "assay sensitivity" in result.not_claimed
    sharp = turing(judged(*[RIGHT] * 80, *[WRONG] * 20)).right
    assert turing(even, control=sharp).equivalent is True
    dull = turing(judged(*[RIGHT] * 55, *[WRONG] * 45)).right
    assert turing(even, control=dull).equivalent is None
    assert turing(judged(*[RIGHT] * 80, *[WRONG] * 20), control=sharp).equivalent is False


def test_exact_equivalence_is_used_only_without_ties() -> None:
    verdicts = judged(*[RIGHT] * 30, *[WRONG] * 30)
    limits = clopper_pearson(30, 60, 0.90)
    result = turing(verdicts)
    assert (result.equivalence.p_value < 0.05) == (limits.low > 0.4 and limits.high < 0.6)
    assert "exact binomial" in str(result.equivalence.extra["test"])
    assert "t over people" in str(turing(judged(*[RIGHT] * 30, *[WRONG] * 30, TIED)).equivalence.extra["test"])
    assert result.equivalence.level == 0.90


def test_nothing_scored_is_undefined_everywhere() -> None:
    for verdicts in (judged(), judged(REFUSED)):
        result = turing(verdicts)
        for made in (result.right, result.deviation, result.position_free, result.equivalence):
            assert made.value is None
            assert made.reason == "no scored pairs"
        assert result.equivalent is None
    assert turing(judged(REFUSED)).right.extra["missing"] == 1


def test_all_ties_say_one_half_without_a_test() -> None:
    made = turing(judged(TIED, TIED, TIED)).right
    assert made.value == 0.5
    assert made.p_value is None
    assert made.extra["test"] == "none: no trials"


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.sampled_from([RIGHT, WRONG, FIRST_RUN_WINS, SECOND_RUN_WINS, TIED, UNSURE, REFUSED]), min_size=1, max_size=30
    ),
    st.integers(1, 8),
)
def test_swapping_human_and_simulated_mirrors_the_share(pairs: list[tuple[tuple[str, int], ...]], people: int) -> None:
    person = [index % people for index in range(len(pairs))]
    flip = {"A": "B", "B": "A", None: None}
    mirrored = [tuple((flip[pick], sure) for pick, sure in pair) for pair in pairs]
    one, other = turing(judged(*pairs), person), turing(judged(*mirrored), person)
    if one.right.value is None:
        assert other.right.value is None
        return
    assert one.right.value + other.right.value == pytest.approx(1)
    assert one.deviation.value == pytest.approx(other.deviation.value)
    assert one.position_free.value + other.position_free.value == pytest.approx(1)
    assert one.right.low == pytest.approx(1 - other.right.high)


def test_human_judges_are_two_ways_dependent() -> None:
    rng = np.random.default_rng(0)
    pair, judge = np.repeat(np.arange(20), 6), np.tile(np.arange(6), 20)
    able = np.array([0.95, 0.9, 0.5, 0.5, 0.9, 0.4])[judge]
    right = (rng.random(120) < able).astype(float)
    made = judges_share(right, pair, judge)
    alone = wilson(float(right.sum()), 120)
    assert made.interval is not None
    assert made.interval.high - made.interval.low > alone.high - alone.low
    assert (made.extra["pairs"], made.extra["judges"], made.clusters) == (20, 6, 6)
    assert judges_share([], [], []).reason == "no verdicts"
    assert isinstance(judges_share([1.0, 0.0], [1, 2], [1, 1]), Estimate)
