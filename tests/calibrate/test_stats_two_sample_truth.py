"""Two samples of which the truth is known: p under the null, power, coverage, floors and placement."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from annotate.errors import InvalidData
from calibrate.estimate import Undefined
from calibrate.stats.two_sample.distances import (
    DistanceName,
    distance,
    jackknife_interval,
    measure,
    permutation_test,
)
from calibrate.stats.two_sample.floor import human_floor
from calibrate.stats.two_sample.placement import distance_placement, fieller, joint_covariance, placement
from calibrate.stats.two_sample.samples import TwoSample, grouped_sample, observed_labels, paired_sample

Array = np.ndarray[Any, np.dtype[Any]]
PERSONS, CONVERSATIONS = 12, 8
ROWS = PERSONS * CONVERSATIONS
PERSON = np.repeat(np.arange(PERSONS), CONVERSATIONS)


def within(count: int, trials: int, promised: float) -> bool:
    """Whether the 99.9 % Monte-Carlo interval of a share holds what is promised."""
    result = stats.binomtest(count, trials).proportion_ci(0.999, method="exact")
    return bool(result.low <= promised <= result.high)


def one_side(rng: np.random.Generator, shift: float = 0.0) -> Array:
    """Conversations of people who differ: intraclass correlation .5."""
    return np.asarray(rng.normal(size=PERSONS)[PERSON] + rng.normal(size=ROWS) + shift)


def p_of(sample: TwoSample, name: DistanceName, rng: np.random.Generator) -> float:
    test = permutation_test(sample, name, rng, 99)
    assert not isinstance(test, Undefined)
    return test.p


def paired(human: Array, twin: Array, by_person: bool) -> TwoSample:
    return paired_sample(human, twin, PERSON if by_person else np.arange(ROWS))


def grouped(first: Array, second: Array, by_person: bool) -> TwoSample:
    person = PERSON if by_person else np.arange(ROWS)
    return grouped_sample(first, second, person, person + ROWS)


@pytest.mark.parametrize("design", [paired, grouped])
@pytest.mark.parametrize("name", ["wasserstein", "energy"])
def test_p_by_person_is_uniform_under_the_null_where_p_by_conversation_rejects_far_too_often(
    design: Any, name: DistanceName
) -> None:
    """Both sides have person effects of their own, as alike as they can be; only whole people may be exchanged."""
    rng = np.random.default_rng(20)
    trials = 120
    found: dict[bool, list[float]] = {True: [], False: []}
    for trial in range(trials):
        first, second = one_side(rng), one_side(rng)
        for by_person in (True, False) if trial < 40 else (True,):
            found[by_person].append(p_of(design(first, second, by_person), name, rng))
    by_person_p, by_row_p = np.array(found[True]), np.array(found[False])
    for level in (0.05, 0.2, 0.5, 0.8):
        assert within(int((by_person_p <= level).sum()), trials, level), level
    assert (by_row_p <= 0.05).mean() > 0.25


def test_a_shift_is_found_by_swapping_pairs_and_hardly_by_free_exchange() -> None:
    """Twins that follow their humans closely: the pairs tell a shift that free exchange of people cannot see."""
    rng = np.random.default_rng(21)
    swapped, free = [], []
    for _ in range(40):
        human = 3.0 * one_side(rng)
        twin = human + rng.normal(0.6, 0.5, ROWS)
        swapped.append(p_of(paired(human, twin, True), "wasserstein", rng))
        free.append(p_of(grouped(human, twin, True), "wasserstein", rng))
    assert np.mean(np.array(swapped) <= 0.05) > 0.95
    assert np.mean(np.array(free) <= 0.05) < 0.1


@pytest.mark.parametrize("name", ["ks", "wasserstein", "energy", "mmd"])
def test_every_distance_finds_another_shape_with_the_same_mean(name: DistanceName) -> None:
    rng = np.random.default_rng(22)
    found = [p_of(paired(one_side(rng), 0.05 * one_side(rng), True), name, rng) for _ in range(20)]
    assert np.mean(np.array(found) <= 0.05) >= 0.85


def normal_energy(shift: float, variance: float) -> float:
    """2E|X − Y| − 2E|X − X'| of two normal variables of that variance whose means are `shift` apart."""
    s = np.sqrt(2 * variance)

    def folded(mean: float) -> float:
        return float(
            s * np.sqrt(2 / np.pi) * np.exp(-(mean**2) / (2 * s**2)) + mean * (1 - 2 * stats.norm.cdf(-mean / s))
        )

    return 2 * folded(shift) - 2 * folded(0.0)


def normal_mmd(shift: float, variance: float, width: float) -> float:
    """2E k(X, X') − 2E k(X, Y) of the same two variables, k Gaussian of that width."""
    wider = width**2 + 2 * variance
    return float(2 * width / np.sqrt(wider) * (1 - np.exp(-(shift**2) / (2 * wider))))


@pytest.mark.parametrize("is_paired", [True, False])
@pytest.mark.parametrize(("name", "shift"), [("energy", 0.0), ("energy", 0.6), ("energy", 1.5), ("mmd", 0.8)])
def test_jackknife_covers_the_distance(is_paired: bool, name: DistanceName, shift: float) -> None:
    """Over 400 trials with 8 to 60 people and shifts 0 to 2 the limits covered .95 to 1, plain ones .79 to 1."""
    rng = np.random.default_rng(23)
    persons, trials = 40, 200
    truth = normal_energy(shift, 2.0) if name == "energy" else normal_mmd(shift, 2.0, 1.5)
    person = np.repeat(np.arange(persons), 3)
    covered, values = 0, []
    for _ in range(trials):
        human, twin = (rng.normal(size=persons)[person] + rng.normal(size=len(person)) for _ in range(2))
        twin = (0.5 * human + np.sqrt(0.75) * twin if is_paired else twin) + shift
        sample = paired_sample(human, twin, person) if is_paired else grouped_sample(human, twin, person, person + 100)
        ready = measure(sample, name, bandwidth=1.5)
        assert not isinstance(ready, Undefined)
        limits = jackknife_interval(sample, ready)
        assert not isinstance(limits, Undefined)
        covered += limits.low <= truth <= limits.high
        values.append(float(ready.of(observed_labels(sample))[0]))
    assert stats.binomtest(covered, trials).proportion_ci(0.999).high >= 0.95
    assert np.mean(values) == pytest.approx(truth, abs=4 * np.std(values) / np.sqrt(trials))


def test_energy_and_mmd_are_zero_on_average_where_samples_are_alike() -> None:
    rng = np.random.default_rng(24)
    for name in ("energy", "mmd"):
        values = np.array([distance(paired(one_side(rng), one_side(rng), True), name) for _ in range(200)])  # type: ignore[arg-type]
        assert abs(values.mean()) < 4 * values.std() / np.sqrt(200)
        assert (values < 0).any()


def test_twins_that_are_other_people_lie_on_the_floor_and_shifted_ones_above_it() -> None:
    """The hard case: at full n alike twins look nearer than people are in halves; at equal n they do not."""
    rng = np.random.default_rng(25)
    alike, full, shifted = [], [], []
    for _ in range(30):
        human = one_side(rng)
        floor = human_floor(paired(human, one_side(rng), True), "wasserstein", rng, 40)
        moved = human_floor(paired(human, one_side(rng, 1.5), True), "wasserstein", rng, 40)
        assert not isinstance(floor, Undefined) and not isinstance(moved, Undefined)
        assert floor.people.low <= floor.people.mean <= floor.people.high
        alike.append(floor.measured.mean - floor.people.mean)
        full.append(distance(paired(human, one_side(rng), True), "wasserstein") - floor.people.mean)  # type: ignore[operator]
        shifted.append(moved.above)
    error = np.std(alike) / np.sqrt(30)
    assert abs(np.mean(alike)) < 3.5 * error + 0.06  # humans are the same in both halves, twins are drawn anew
    assert np.mean(full) < -0.05
    assert np.mean(shifted) > 0.8


def test_grouped_floor_takes_as_many_of_the_second_sample() -> None:
    rng = np.random.default_rng(26)
    sample = grouped_sample(rng.normal(size=20), rng.normal(size=6), np.arange(20), np.arange(20, 26))
    floor = human_floor(sample, "ks", rng, 30)
    assert not isinstance(floor, Undefined)
    assert floor.persons == 6 and 0 < floor.above < 1


def test_fieller_covers_a_ratio_and_refuses_one_near_a_pole() -> None:
    rng = np.random.default_rng(27)
    covariance = np.array([[0.04, 0.018], [0.018, 0.04]])
    draws = rng.multivariate_normal([0.5, 1.0], covariance, size=2000)
    covered = refused = 0
    for top, bottom in draws:
        ratio = fieller(top, bottom, covariance, least_ratio=2.5)
        if isinstance(ratio, Undefined):
            refused += 1
        else:
            covered += ratio.interval.low <= 0.5 <= ratio.interval.high
    assert refused < 30
    assert within(covered, 2000 - refused, 0.95)
    near = fieller(0.5, 0.7, covariance)
    assert isinstance(near, Undefined) and "3.5 standard errors" in near.reason
    assert isinstance(fieller(1.0, 0.0, np.zeros((2, 2))), Undefined)


def test_fieller_limits_solve_the_quadratic() -> None:
    covariance = np.array([[0.3, -0.05], [-0.05, 0.1]])
    ratio = fieller(2.0, 3.0, covariance, df=9.0)
    assert not isinstance(ratio, Undefined)
    for r in (ratio.interval.low, ratio.interval.high):
        contrast = np.array([1.0, -r])
        assert (2 - 3 * r) ** 2 == pytest.approx(stats.t.ppf(0.975, 9) ** 2 * contrast @ covariance @ contrast)


def test_placement_stands_between_floor_and_ceiling_and_says_what_it_is_made_of() -> None:
    assert placement(0.2, 0.2, 0.9, [0.01] * 3, n=9).value == pytest.approx(0.0)
    assert placement(0.9, 0.2, 0.9, [0.01] * 3, n=9).value == pytest.approx(1.0)
    downward = placement(-0.3, -0.1, -0.9, [0.04, 0.02, 0.05], n=9)
    upward = placement(0.3, 0.1, 0.9, [0.04, 0.02, 0.05], n=9)
    assert (downward.value, downward.low, downward.high) == pytest.approx((upward.value, upward.low, upward.high))
    same = placement(0.3, 0.1, 0.9, np.diag([0.04, 0.02, 0.05]) ** 2, n=9)
    assert (same.low, same.high) == pytest.approx((upward.low, upward.high))
    assert upward.extra["floor"] == 0.1 and upward.extra["ceiling_se"] == pytest.approx(0.05)
    refused = placement(0.3, 0.1, 0.2, [0.04, 0.02, 0.05], n=9)
    assert refused.value is None and refused.extra["measured"] == 0.3


@pytest.mark.parametrize(
    ("covariance", "says"),
    [
        ([0.1, 0.1], "shape"),
        ([0.1, -0.1, 0.1], "at least 0"),
        ([0.1, np.nan, 0.1], "finite"),
        ([[1, 2, 0], [2, 1, 0], [0, 0, 1]], "negative eigenvalue"),
        ([[1, 2, 0], [0, 1, 0], [0, 0, 1]], "symmetric"),
    ],
)
def test_broken_covariances_are_refused(covariance: Any, says: str) -> None:
    with pytest.raises(InvalidData, match=says):
        placement(0.3, 0.1, 0.9, covariance, n=9)
    with pytest.raises(InvalidData, match="finite figures"):
        placement(np.nan, 0.1, 0.9, [0.1, 0.1, 0.1], n=9)


def test_joint_covariance_is_that_of_leaving_the_same_person_out_of_both() -> None:
    """The hard case: equal humans, so that people stand in another order in each sample and must be matched by name."""
    rng = np.random.default_rng(28)
    human, person = np.tile([1.0, 2.0], 8), np.repeat(list("abcdefgh"), 2)
    twin, control = rng.normal(size=16), rng.normal(3.0, 2.0, size=16)
    found = joint_covariance([paired_sample(human, other, person) for other in (twin, control)], "energy")
    assert not isinstance(found, Undefined)
    left = np.array(
        [
            [distance(paired_sample(human[stay], other[stay], person[stay]), "energy") for other in (twin, control)]
            for stay in (person != name for name in "abcdefgh")
        ],
        dtype=float,
    )
    assert found == pytest.approx(7 * np.cov(left.T, ddof=0))
    assert isinstance(joint_covariance([paired_sample(human, twin, person)], "ks"), Undefined)
    few = person < "g"
    two = [paired_sample(human, twin, person), paired_sample(human[few], twin[few], person[few])]
    with pytest.raises(InvalidData, match="same people"):
        joint_covariance(two, "mmd")


@pytest.mark.parametrize("name", ["energy", "mmd"])
def test_twins_halfway_to_a_control_stand_between_people_and_control(name: DistanceName) -> None:
    rng = np.random.default_rng(29)
    person = np.repeat(np.arange(60), 2)
    human = rng.normal(size=120)
    near, far = human + rng.normal(1.0, 0.3, 120), human + rng.normal(3.0, 0.3, 120)
    control = paired_sample(human, far, person)
    found = distance_placement(paired_sample(human, near, person), control, name)
    alike = distance_placement(paired_sample(human, rng.permutation(human), person), control, name)
    itself = distance_placement(control, control, name)
    assert found.value is not None and found.low is not None and found.high is not None
    assert 0.05 < found.low < found.value < found.high < 0.6
    assert alike.low is not None and alike.high is not None and alike.low < 0.0 < alike.high < 0.1
    assert itself.value == pytest.approx(1.0) and itself.low is not None and itself.low < 1.0 < itself.high  # type: ignore[operator]
    weak = distance_placement(control, paired_sample(human, human[::-1], person), name)
    assert weak.value is None and "standard errors" in str(weak.reason)
    few = person < 4
    small = paired_sample(human[few], near[few], person[few])
    assert "4 people are too few" in str(distance_placement(small, small, name).reason)
