"""Distances of two samples: against second implementations, under what must not change them, and on broken data."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from annotate.errors import InvalidData
from calibrate.estimate import Estimate, Undefined
from calibrate.stats.two_sample.comparing import compare
from calibrate.stats.two_sample.distances import (
    NAMES,
    DistanceName,
    distance,
    jackknife_interval,
    measure,
    median_bandwidth,
    permutation_test,
)
from calibrate.stats.two_sample.floor import human_floor
from calibrate.stats.two_sample.samples import TwoSample, grouped_sample, paired_sample, permuted_labels

Array = np.ndarray[Any, np.dtype[Any]]


def defined(found: float | Undefined) -> float:
    assert not isinstance(found, Undefined), found
    return found


def people(count: int, prefix: str) -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


def clustered(rng: np.random.Generator, features: int = 1, persons: int = 9) -> tuple[Array, Array, Array]:
    """Human rows, twin rows and persons with one to four conversations each."""
    person = np.repeat(np.arange(persons), rng.integers(1, 5, persons))
    own = rng.normal(size=(persons, features))[person]
    return own + rng.normal(size=own.shape), own + rng.normal(0.5, 1.2, size=own.shape), person


# ------------------------------------------------------------------------------------------- second implementations


@pytest.mark.parametrize("seed", range(4))
def test_ks_and_wasserstein_are_those_of_scipy_with_ties_and_unequal_sizes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 9, 23).astype(float), rng.integers(2, 12, 17).astype(float)
    sample = grouped_sample(first, second, people(23, "a"), people(17, "b"))
    assert distance(sample, "ks") == pytest.approx(stats.ks_2samp(first, second).statistic, abs=1e-14)
    assert distance(sample, "wasserstein") == pytest.approx(stats.wasserstein_distance(first, second), abs=1e-12)
    human, twin, person = clustered(rng)
    paired = paired_sample(human, twin, person)
    assert distance(paired, "ks") == pytest.approx(stats.ks_2samp(human[:, 0], twin[:, 0]).statistic, abs=1e-14)
    assert distance(paired, "wasserstein") == pytest.approx(stats.wasserstein_distance(human[:, 0], twin[:, 0]))


def test_energy_is_the_square_of_scipys_with_the_terms_of_a_row_with_itself_taken_out() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=23), rng.normal(0.7, 2.0, size=17)
    found = distance(grouped_sample(first, second, people(23, "a"), people(17, "b")), "energy")
    own = [np.abs(np.subtract.outer(values, values)).mean() for values in (first, second)]
    expected = stats.energy_distance(first, second) ** 2 - own[0] / 22 - own[1] / 16
    assert found == pytest.approx(expected, abs=1e-12)


def by_double_loop(sample: tuple[Array, Array, Array], similar: Any) -> float:
    """Mean similarity within both sides less twice that across, over rows of different people."""
    human, twin, person = sample
    sums = {"within human": [], "within twin": [], "across": []}  # type: dict[str, list[float]]
    for i, j in itertools.product(range(len(person)), repeat=2):
        if person[i] != person[j]:
            sums["within human"].append(similar(human[i], human[j]))
            sums["within twin"].append(similar(twin[i], twin[j]))
            sums["across"].append(similar(human[i], twin[j]))
    means = {name: float(np.mean(values)) for name, values in sums.items()}
    return means["within human"] + means["within twin"] - 2 * means["across"]


@pytest.mark.parametrize("features", [1, 3])
def test_mmd_and_energy_are_the_double_loops_without_rows_of_one_person(features: int) -> None:
    data = clustered(np.random.default_rng(11), features)
    sample = paired_sample(*data)
    pooled = np.concatenate(data[:2])
    width = np.median([np.linalg.norm(a - b) for a, b in itertools.combinations(pooled, 2)])
    assert median_bandwidth(sample) == pytest.approx(width)
    kernel = by_double_loop(data, lambda a, b: np.exp(-((a - b) @ (a - b)) / (2 * width**2)))
    assert distance(sample, "mmd") == pytest.approx(kernel, abs=1e-12)
    assert distance(sample, "energy") == pytest.approx(by_double_loop(data, lambda a, b: -np.linalg.norm(a - b)))


def test_a_distance_that_counted_own_twins_would_be_another_number() -> None:
    """The hard case: twins near their own humans. With own-twin terms the samples look nearer than they are."""
    human, _, person = clustered(np.random.default_rng(2))
    twin = human + 0.01
    kept = distance(paired_sample(human, twin, person), "energy")
    as_if_strangers = grouped_sample(human, twin, [f"h{p}" for p in person], [f"t{p}" for p in person])
    assert defined(kept) > defined(distance(as_if_strangers, "energy")) + 0.01


def test_jackknife_is_the_one_computed_by_leaving_people_out() -> None:
    human, twin, person = clustered(np.random.default_rng(5))
    sample = paired_sample(human, twin, person)
    ready = measure(sample, "energy")
    assert not isinstance(ready, Undefined)
    limits = jackknife_interval(sample, ready, limits="plain")
    assert not isinstance(limits, Undefined)
    left = []
    for out in range(9):
        stay = person != out
        left.append(defined(distance(paired_sample(human[stay], twin[stay], person[stay]), "energy")))
    se = np.sqrt(8 / 9 * ((np.array(left) - np.mean(left)) ** 2).sum())
    value, t = defined(distance(sample, "energy")), stats.t.ppf(0.975, 8)
    assert (limits.low, limits.high) == pytest.approx((value - t * se, value + t * se))
    score = jackknife_interval(sample, ready)
    assert not isinstance(score, Undefined) and ready.degenerate_variance is not None
    v = ready.degenerate_variance + score.high * se**2 / max(value, np.sqrt(ready.degenerate_variance))
    assert (value - score.high) ** 2 == pytest.approx(t**2 * v)
    assert score.low <= limits.low and score.high > limits.high


@pytest.mark.parametrize("name", ["energy", "mmd"])
@pytest.mark.parametrize("is_paired", [True, False])
def test_the_variance_at_distance_zero_is_that_of_relabelling(name: DistanceName, is_paired: bool) -> None:
    human, _, person = clustered(np.random.default_rng(12), persons=60)
    twin = human[::-1].copy()
    sample = paired_sample(human, twin, person) if is_paired else grouped_sample(human, twin, person, person + 99)
    ready = measure(sample, name)
    assert not isinstance(ready, Undefined)
    null = ready.of(permuted_labels(sample, np.random.default_rng(1), 4000))
    assert ready.degenerate_variance == pytest.approx(null.var(), rel=0.25)


@pytest.mark.parametrize("name", ["wasserstein", "ks"])
def test_p_of_pairs_is_the_exact_one_of_scipy(name: DistanceName) -> None:
    rng = np.random.default_rng(8)
    human, twin = rng.normal(size=8), rng.normal(0.3, 1.0, size=8)
    statistic = stats.wasserstein_distance if name == "wasserstein" else lambda x, y: stats.ks_2samp(x, y).statistic
    exact = stats.permutation_test(
        (human, twin), statistic, permutation_type="samples", alternative="greater", n_resamples=np.inf
    ).pvalue
    test = permutation_test(paired_sample(human, twin, people(8, "p")), name, np.random.default_rng(1), 4999)
    assert not isinstance(test, Undefined)
    assert 0.005 < exact < 0.6
    assert test.p == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 4999))


@pytest.mark.parametrize("name", NAMES)
def test_p_of_groups_is_the_exact_one_of_all_deals(name: DistanceName) -> None:
    rng = np.random.default_rng(4)
    first, second = rng.normal(size=5), rng.normal(1.0, 1.0, size=5)
    pooled, labels = np.concatenate([first, second]), people(10, "p")
    values = []
    for chosen in itertools.combinations(range(10), 5):
        mask = np.isin(np.arange(10), chosen)
        dealt = grouped_sample(pooled[mask], pooled[~mask], people(5, "a"), people(5, "b"))
        values.append(defined(distance(dealt, name)))
    exact = np.mean(np.array(values) >= values[0] - 1e-12)
    test = permutation_test(grouped_sample(first, second, labels[:5], labels[5:]), name, np.random.default_rng(1), 4999)
    assert not isinstance(test, Undefined)
    assert test.p == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 4999))
    assert min(test.p, exact) >= test.smallest == pytest.approx(2 / 252)


# ---------------------------------------------------------------------------------------------------- invariances

rows = st.lists(
    st.tuples(st.integers(0, 5), st.integers(-20, 20), st.integers(-20, 20)), min_size=6, max_size=25
).filter(lambda drawn: len({person for person, _, _ in drawn}) >= 3)
names = st.sampled_from(NAMES)


def of_rows(drawn: list[tuple[int, int, int]]) -> tuple[Array, Array, Array]:
    person, human, twin = np.array(drawn, dtype=float).T
    return human, twin, person


def estimates(sample: TwoSample, name: DistanceName) -> Estimate:
    return compare(sample, np.random.default_rng(7), [name], permutations=39, splits=10)[name]


@settings(max_examples=60, deadline=None)
@given(rows, names, st.randoms(use_true_random=False))
def test_order_of_rows_and_names_of_people_change_nothing(
    drawn: list[tuple[int, int, int]], name: DistanceName, random: Any
) -> None:
    human, twin, person = of_rows(drawn)
    order = list(range(len(drawn)))
    random.shuffle(order)
    called = list("uvwxyz")
    random.shuffle(called)
    renamed = [called[int(p)] for p in person[order]]
    before = estimates(paired_sample(human, twin, person), name)
    assert before == estimates(paired_sample(human[order], twin[order], renamed), name)
    side = person % 2 == 0
    assume(side.any() and not side.all())
    first = grouped_sample(human[side], human[~side], person[side], person[~side])
    moved = side[order]
    shuffled, labels = human[order], np.array(renamed)
    again = grouped_sample(shuffled[moved], shuffled[~moved], labels[moved], labels[~moved])
    assert estimates(first, name) == estimates(again, name)


@settings(max_examples=60, deadline=None)
@given(rows, names)
def test_distances_are_symmetric_and_not_changed_by_moving_or_doubling(
    drawn: list[tuple[int, int, int]], name: DistanceName
) -> None:
    human, twin, person = of_rows(drawn)
    here = distance(paired_sample(human, twin, person), name)
    if isinstance(here, Undefined):
        assert name == "mmd" and len(set(human) | set(twin)) == 1
        return
    assert distance(paired_sample(twin, human, person), name) == pytest.approx(here, abs=1e-9)
    assert distance(paired_sample(human + 7, twin + 7, person), name) == pytest.approx(here, abs=1e-9)
    if name != "mmd":  # doubled rows add zeros to the distances whose median is the bandwidth
        twice = paired_sample(np.tile(human, 2), np.tile(twin, 2), np.tile(person, 2))
        assert distance(twice, name) == pytest.approx(here, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(rows)
def test_scales_and_bounds(drawn: list[tuple[int, int, int]]) -> None:
    human, twin, person = of_rows(drawn)
    sample, threefold = paired_sample(human, twin, person), paired_sample(3 * human, 3 * twin, person)
    bent = paired_sample(np.exp(human / 10), np.exp(twin / 10), person)
    ks, area, energy = (defined(distance(sample, name)) for name in ("ks", "wasserstein", "energy"))
    assert 0 <= ks <= 1 and 0 <= area <= np.ptp(sample.values)
    assert area >= abs(human.mean() - twin.mean()) - 1e-9
    assert distance(bent, "ks") == ks
    assert distance(threefold, "ks") == ks
    assert distance(threefold, "wasserstein") == pytest.approx(3 * area, abs=1e-9)
    assert distance(threefold, "energy") == pytest.approx(3 * energy, abs=1e-9)
    mmd = distance(sample, "mmd")
    if not isinstance(mmd, Undefined):
        assert distance(threefold, "mmd") == pytest.approx(mmd, abs=1e-9)
        assert -2 <= mmd <= 2


@settings(max_examples=40, deadline=None)
@given(rows, names)
def test_twins_equal_to_their_humans_are_at_distance_zero_with_p_one(
    drawn: list[tuple[int, int, int]], name: DistanceName
) -> None:
    human, _, person = of_rows(drawn)
    found = estimates(paired_sample(human, human, person), name)
    if found.value is None:
        assert name == "mmd" and len(set(human)) == 1
    else:
        assert found.value == 0.0 and found.p_value == 1.0 and found.low is None


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    human, twin, person = clustered(np.random.default_rng(6))
    whole = compare(paired_sample(human, twin, person), np.random.default_rng(1), permutations=99)
    monkeypatch.setattr("calibrate.stats.two_sample.u_statistics.CELLS_IN_MEMORY", 100)
    parts = compare(paired_sample(human, twin, person), np.random.default_rng(1), permutations=99)
    for name in NAMES:
        assert parts[name].value == pytest.approx(whole[name].value, abs=1e-12)
        assert parts[name].p_value == whole[name].p_value


def test_a_distance_does_not_depend_on_which_others_are_asked_for_and_repeats_from_its_signature() -> None:
    human, twin, person = clustered(np.random.default_rng(6))
    sample = paired_sample(human, twin, person)
    alone = compare(sample, np.random.default_rng(5), ["mmd"], permutations=99)["mmd"]
    assert alone == compare(sample, np.random.default_rng(5), permutations=99)["mmd"]
    assert alone.signature.seed == 5 and alone.signature.resamples == 99
    assert alone != compare(sample, np.random.default_rng(6), ["mmd"], permutations=99)["mmd"]


def test_bandwidth_of_many_rows_is_near_that_of_all() -> None:
    rng = np.random.default_rng(2)
    human, twin, person = rng.normal(size=2000), rng.normal(size=2000), np.arange(2000) // 4
    found = defined(median_bandwidth(paired_sample(human, twin, person)))
    assert found == pytest.approx(stats.norm.ppf(0.75) * np.sqrt(2), rel=0.05)


def test_conversations_with_several_twins_are_said_to_be_no_exact_test() -> None:
    human, twin, person = np.repeat([1.0, 2, 3, 4, 5, 6], 2), np.arange(12.0), np.repeat(list("abcdef"), 2)
    several = paired_sample(human, twin, person, conversation=np.repeat(range(6), 2))
    assert not several.exact
    found = compare(several, np.random.default_rng(1), ["energy"], permutations=19)["energy"]
    assert "several twins" in str(found.method)
    assert paired_sample(human, twin, person, conversation=range(12)).exact
    with pytest.raises(ValueError, match="same human row"):
        paired_sample([1.0, 2.0], [1.0, 1.0], ["a", "a"], conversation=["c", "c"])


# ---------------------------------------------------------------------------------------------------------- hostile


@pytest.mark.parametrize(
    ("human", "twin", "person", "says"),
    [
        ([1.0, np.nan], [1, 2], "ab", r"row 1 holds nan: drop the row first"),
        ([1.0, 2.0], [np.inf, 2], "ab", r"twin: .*holds inf"),
        ([1.0, 1e300], [1, 2], "ab", "rescale"),
        (["x", "y"], [1, 2], "ab", "must be numbers"),
        ([[1.0, 2.0], [3.0]], [1, 2], "ab", "as many in each row"),
        ([1.0, 2.0], [1], "ab", "2 human rows and 1 twins"),
        ([[1.0, 2.0], [3, 4]], [1, 2], "ab", "got 2 in human and 1 in twin"),
        ([[[1.0]]], [1], "a", "reshape"),
        ([1.0, 2.0], [1, 2], "a", "one person"),
        ([1.0, 2.0], [1, 2], [None, "a"], "its person, a label is missing"),
        ([1.0, 2.0], [1, 2], [[1], [2]], "one person"),
    ],
)
def test_broken_pairs_are_refused_in_one_sentence(human: Any, twin: Any, person: Any, says: str) -> None:
    with pytest.raises(InvalidData, match=says) as caught:
        paired_sample(human, twin, list(person))
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def test_broken_groups_names_and_features_are_refused() -> None:
    with pytest.raises(InvalidData, match="'b' stands in both"):
        grouped_sample([1, 2], [3], ["a", "b"], ["b"])
    with pytest.raises(InvalidData, match="items are given for one"):
        grouped_sample([1, 2], [3], ["a", "b"], ["c"], ["x", "y"])
    two = paired_sample(np.ones((3, 2)), np.zeros((3, 2)), list("abc"))
    with pytest.raises(InvalidData, match="ks needs one feature, got 2"):
        distance(two, "ks")
    assert defined(distance(two, "energy")) == pytest.approx(2 * np.sqrt(2))
    assert set(compare(two, np.random.default_rng(1), permutations=9)) == {"energy", "mmd"}
    with pytest.raises(InvalidData, match="got 'kl'"):
        distance(two, "kl")  # type: ignore[arg-type]
    with pytest.raises(InvalidData, match="got 'kl'"):
        compare(two, np.random.default_rng(1), ["kl"])  # type: ignore[list-item]
    with pytest.raises(InvalidData, match="permutation"):
        compare(two, np.random.default_rng(1), ["energy"], permutations=0)
    with pytest.raises(InvalidData, match="split"):
        compare(two, np.random.default_rng(1), ["energy"], splits=0)
    with pytest.raises(InvalidData, match="bandwidth"):
        measure(two, "mmd", bandwidth=0.0)
    with pytest.raises(InvalidData, match="level"):
        compare(two, np.random.default_rng(1), ["energy"], level=95)


def test_one_column_is_the_same_with_one_dimension_or_two() -> None:
    flat = paired_sample([1.0, 5, 3], [2.0, 2, 2], list("abc"))
    column = paired_sample([[1.0], [5], [3]], [2.0, 2, 2], list("abc"))
    for name in NAMES:
        assert distance(flat, name) == distance(column, name)


@pytest.mark.parametrize("pairs", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("one_person", [True, False])
def test_little_or_constant_data_is_undefined_with_a_reason_and_never_warns(
    pairs: int, constant: bool, one_person: bool
) -> None:
    human = np.zeros(pairs) if constant else np.arange(pairs, dtype=float) ** 2
    twin = human if constant else human[::-1] + 0.3
    person = ["a"] * pairs if one_person else people(pairs, "p")
    alone = ["b"] * pairs if one_person else people(pairs, "q")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for sample in (paired_sample(human, twin, person), grouped_sample(human, twin, person, alone)):
            found = compare(sample, np.random.default_rng(1), permutations=9, splits=5)
            assert set(found) == set(NAMES)
            for name, estimate in found.items():
                if pairs == 0 or (name in ("energy", "mmd") and (pairs == 1 or one_person)):
                    assert estimate.value is None and estimate.reason
                elif constant and name == "mmd":
                    assert "bandwidth" in str(estimate.reason)
                else:
                    assert estimate.value is not None and estimate.p_value is not None
                    assert estimate.low is not None or estimate.interval_reason
                    assert (estimate.extra["floor_mean"] is None) == ("floor_reason" in estimate.extra)
                    assert not constant or (estimate.value == 0.0 and estimate.p_value == 1.0)


def test_no_distance_gets_a_percentile_interval_and_few_people_get_none() -> None:
    human, twin, person = clustered(np.random.default_rng(1))
    found = compare(paired_sample(human, twin, person), np.random.default_rng(1), permutations=19)
    assert all("bootstrap of a distance never covers 0" in str(found[n].interval_reason) for n in ("ks", "wasserstein"))
    assert all(found[n].low is not None and "jackknife" in str(found[n].method) for n in ("energy", "mmd"))
    few = person < 4
    found = compare(paired_sample(human[few], twin[few], person[few]), np.random.default_rng(1), permutations=19)
    assert "4 people are too few" in str(found["energy"].interval_reason)
    assert found["energy"].extra["smallest_p"] == 0.125


def test_floor_needs_people_and_leaves_an_odd_one_out() -> None:
    sample = paired_sample([1.0, 2, 3, 4, 6], [2.0, 2, 3, 3, 5], list("abcde"))
    floor = human_floor(sample, "energy", np.random.default_rng(1), 20)
    assert not isinstance(floor, Undefined) and floor.persons == 2
    small = paired_sample([1.0, 2, 3], [2.0, 2, 3], list("abc"))
    assert isinstance(human_floor(small, "energy", np.random.default_rng(1)), Undefined)
    assert not isinstance(human_floor(small, "ks", np.random.default_rng(1)), Undefined)
