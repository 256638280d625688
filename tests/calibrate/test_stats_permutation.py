"""Permutation tests: against scipy's enumeration, their level under dependence, and what may not matter to them."""

from __future__ import annotations

import math
import warnings
from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate.errors import InvalidData
from calibrate.estimate import Undefined
from calibrate.stats.exchange import cluster_permutations, paired_swaps, permutation_p
from calibrate.stats.permutation import PermutationTest, paired_permutation, two_sample_permutation

value = st.integers(-5, 5)
sample = st.lists(value, min_size=2, max_size=4)  # scipy wants two


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_of(found: PermutationTest | Undefined) -> PermutationTest:
    assert isinstance(found, PermutationTest)
    return found


test_of.__test__ = False  # type: ignore[attr-defined]


def mean_gap(first: np.ndarray, second: np.ndarray) -> float:
    return float(first.mean() - second.mean())


# ------------------------------------------------------------------------------------------- second implementation


@settings(deadline=None, max_examples=40)
@given(sample, sample)
def test_all_arrangements_of_two_samples_are_scipys(first: list[int], second: list[int]) -> None:
    found = test_of(two_sample_permutation(first, second, rng()))
    for tail, name in (("greater", "greater"), ("less", "less")):
        oracle = scipy.stats.permutation_test(
            (first, second), lambda x, y: np.mean(x) - np.mean(y), alternative=name, n_resamples=np.inf
        )
        got = test_of(two_sample_permutation(first, second, rng(), tail=tail))  # type: ignore[arg-type]
        assert got.p == pytest.approx(oracle.pvalue)
    pooled, k = np.array(first + second, dtype=float), len(first)
    sizes = [
        abs(pooled[list(chosen)].mean() - np.delete(pooled, chosen).mean())
        for chosen in combinations(range(len(pooled)), k)
    ]
    assert found.exact
    assert found.permutations == len(sizes)
    assert found.p == pytest.approx(np.mean(np.array(sizes) >= abs(found.value) - 1e-9))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(value, value), min_size=2, max_size=7))
def test_all_sign_flips_of_pairs_are_scipys(pairs: list[tuple[int, int]]) -> None:
    first, second = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    found = paired_permutation(first, second, rng())
    if (first == second).all():
        assert isinstance(found, Undefined)
        return
    differences = first - second
    signs = np.array(np.meshgrid(*[[1, -1]] * len(first))).reshape(len(first), -1).T
    null = np.abs(signs @ differences) / len(first)
    assert test_of(found).p == pytest.approx(np.mean(null >= abs(differences.mean()) - 1e-9))
    upper = scipy.stats.permutation_test(
        (first, second),
        lambda x, y: np.mean(x) - np.mean(y),
        permutation_type="samples",
        alternative="greater",
        n_resamples=np.inf,
    )
    assert test_of(paired_permutation(first, second, rng(), tail="greater")).p == pytest.approx(upper.pvalue)


def test_random_arrangements_come_near_to_all_of_them() -> None:
    first, second = rng(2).normal(0.9, 1, 9), rng(3).normal(0, 1, 8)
    exact = test_of(two_sample_permutation(first, second, rng(), permutations=30_000))
    drawn = test_of(two_sample_permutation(first, second, rng(), permutations=9_999))
    assert exact.exact
    assert not drawn.exact
    assert abs(exact.p - drawn.p) < 4 * math.sqrt(exact.p * (1 - exact.p) / 9_999) + 1e-4


def test_a_statistic_that_is_given_is_treated_as_the_built_in_one() -> None:
    first, second = rng(4).normal(size=30), rng(5).normal(0.4, 1, size=25)
    who = rng(6).integers(0, 9, 30), rng(7).integers(10, 18, 25)
    for permutations in (99, 50_000):
        built_in, given_one = (
            two_sample_permutation(
                first,
                second,
                rng(),
                first_cluster=who[0],
                second_cluster=who[1],
                statistic=s,
                permutations=permutations,
            )
            for s in (None, mean_gap)
        )
        assert test_of(built_in).p == pytest.approx(test_of(given_one).p)
        pairs = [
            paired_permutation(first[:25], second, rng(), person=who[1], statistic=s, permutations=permutations)
            for s in (None, mean_gap)
        ]
        assert test_of(pairs[0]).p == pytest.approx(test_of(pairs[1]).p)


def test_strata_by_hand() -> None:
    """Stratum x holds 1 | 3, y holds 2, 4 | 9: of the 2 · 3 arrangements the observed one has the least difference."""
    found = test_of(
        two_sample_permutation(
            [1, 2, 4], [3, 9], rng(), first_stratum=["x", "y", "y"], second_stratum=["x", "y"], tail="less"
        )
    )
    assert (found.permutations, found.exact) == (6, True)
    assert found.p == pytest.approx(1 / 6)
    assert "within strata" in found.exchanged


# ------------------------------------------------------------------------------------------ what is moved together


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=20), st.integers(0, 99))
def test_a_persons_pairs_swap_together_or_not_at_all(person: list[int], seed: int) -> None:
    swaps = paired_swaps(person, rng(seed), 20)
    assert swaps.shape == (20, len(person))
    for who in set(person):
        own = swaps[:, np.array(person) == who]
        assert (own == own[:, :1]).all()


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(1, 3)), min_size=1, max_size=10), st.data())
def test_clusters_move_whole_and_within_their_stratum(kinds: list[tuple[int, int, int]], data: st.DataObject) -> None:
    rows = [(f"c{i}", label, stratum) for i, (label, stratum, size) in enumerate(kinds) for _ in range(size)]
    rows = data.draw(st.permutations(rows))
    cluster, label, stratum = (np.array(part) for part in zip(*rows, strict=True))
    moved = cluster_permutations(cluster, label, rng(), 15, stratum=stratum)
    for row in moved:
        pairs = set(zip(cluster.tolist(), row.tolist(), strict=True))
        assert len(pairs) == len(set(cluster))  # one label a cluster
        for s in set(stratum):
            here = {(c, r) for c, r in pairs if c in set(cluster[stratum == s])}
            ones = set(cluster[(stratum == s) & (label == 1)])
            assert sum(r for _, r in here) == len(ones)


def test_moving_rows_of_a_person_apart_claims_what_is_not_there() -> None:
    """Ten rows of each of eight persons, no difference between the samples: free rows reject far too often."""
    draws = rng(8)
    apart = together = 0
    who = np.repeat(np.arange(4), 10)
    for _ in range(200):
        first, second = (np.repeat(draws.normal(size=4), 10) + draws.normal(0, 0.3, 40) for _ in range(2))
        apart += test_of(two_sample_permutation(first, second, draws, permutations=99)).p <= 0.05
        kept = two_sample_permutation(first, second, draws, first_cluster=who, second_cluster=who + 4)
        together += test_of(kept).p <= 0.06  # of 70 arrangements
    assert apart / 200 > 0.4
    assert together / 200 < 0.13  # 99.9 % limit of 4/70


def test_paired_swaps_find_what_free_permutation_cannot() -> None:
    draws = rng(9)
    person = draws.normal(0, 5, 20)
    first, second = person + 0.5 + draws.normal(0, 0.3, 20), person + draws.normal(0, 0.3, 20)
    assert test_of(paired_permutation(first, second, draws)).p < 0.01
    assert test_of(two_sample_permutation(first, second, draws, permutations=999)).p > 0.3


# ----------------------------------------------------------------------------------------------------- invariances


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(value, value, st.integers(0, 5)), min_size=6, max_size=25), st.data())
def test_order_of_the_rows_and_names_of_persons_do_not_matter(
    rows: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(rows))
    results = []
    for version, rename in ((rows, str), (shuffled, lambda who: f"{9 - who}x")):
        first, second, who = (list(part) for part in zip(*version, strict=True))
        names = [rename(w) for w in who]
        paired = paired_permutation(first, second, rng(), person=names, permutations=20)
        apart = two_sample_permutation(
            first, second, rng(), first_cluster=names, second_cluster=[n + "'" for n in names], permutations=20
        )
        strata = two_sample_permutation(
            first, second, rng(), first_stratum=names, second_stratum=names, permutations=20
        )
        results.append([(t.p, t.value) if isinstance(t, PermutationTest) else t for t in (paired, apart, strata)])
    assert results[0] == results[1]


@settings(deadline=None, max_examples=40)
@given(sample, sample)
def test_exchanging_the_samples_turns_the_difference_and_keeps_p(first: list[int], second: list[int]) -> None:
    one, two = (test_of(two_sample_permutation(a, b, rng())) for a, b in ((first, second), (second, first)))
    assert one.value == pytest.approx(-two.value)
    assert one.p == pytest.approx(two.p)
    assert 1 / one.permutations - 1e-12 <= one.p <= 1


def test_the_signature_draws_the_same_again() -> None:
    first, second = rng(2).normal(size=30), rng(3).normal(0.5, 1, size=30)
    source = rng(5)
    source.normal(size=17)  # earlier draws do not matter
    one = test_of(two_sample_permutation(first, second, source, permutations=199))
    assert one.signature.resamples == 199
    assert one.signature.seed == 5
    assert one.p == test_of(two_sample_permutation(first, second, rng(5), permutations=199)).p
    exact = test_of(two_sample_permutation([1, 2], [3, 4], rng()))
    assert exact.signature.seed is None


# ---------------------------------------------------------------------------------------------------- hard cases


def test_p_is_never_0_and_ties_count() -> None:
    assert permutation_p(10.0, np.zeros(999)) == 1 / 1000
    assert permutation_p(0.3, [0.1 + 0.2] * 9) == 1.0  # equal but for the last bit
    assert permutation_p(1.0, [math.nan, 0.0]) == pytest.approx(2 / 3)
    far = test_of(two_sample_permutation(np.arange(50.0), np.arange(50.0) + 1e6, rng(), permutations=99))
    assert far.p == 0.01


def test_arrangements_without_a_value_count_against_the_claim() -> None:
    def spread(first: np.ndarray, second: np.ndarray) -> float | Undefined:
        return Undefined("constant") if np.ptp(second) == 0 else float(np.ptp(first) / np.ptp(second))

    found = test_of(two_sample_permutation([1, 9, 2], [2, 3], rng(), statistic=spread, tail="greater"))
    assert (found.permutations, found.undefined) == (10, 1)  # 2, 2 on the second side
    assert found.p == pytest.approx(3 / 10)  # 8 over 1 as observed, also with the other 2, and the undefined one
    first = two_sample_permutation([1, 9], [2, 2, 2], rng(), statistic=spread)
    assert first == Undefined("the statistic is undefined on the samples as they are")
    assert found.estimate("spread").extra == {"undefined_permutations": 1}


def test_nothing_to_exchange_is_undefined() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(two_sample_permutation([], [1, 2], rng()), Undefined)
        assert isinstance(paired_permutation([], [], rng()), Undefined)
        assert isinstance(paired_permutation([1, math.nan], [math.nan, 2], rng()), Undefined)
        assert isinstance(paired_permutation([1, 2], [1, 2], rng()), Undefined)
        alone = two_sample_permutation([1, 2], [3], rng(), first_stratum=["x", "x"], second_stratum=["y"])
        assert alone == Undefined("no stratum holds clusters of both samples: nothing can be exchanged")


def test_a_pair_without_one_member_is_left_out() -> None:
    found = test_of(paired_permutation([2, 4, 6, math.nan], [1, 2, 3, 9], rng(), person=["a", "b", "c", "c"]))
    assert (found.n, found.clusters, found.p) == (3, 3, 0.25)


def test_the_estimate_says_how_it_was_made() -> None:
    made = test_of(paired_permutation([2, 4, 6], [1, 2, 3], rng(), person=list("abc"))).estimate("gap", unit="points")
    assert (made.value, made.p_value, made.low) == (2.0, 0.25, None)
    assert made.method == (
        "permutation test (two-sided), members swapped within pairs, a person's pairs together, 8 all arrangements"
    )
    assert made.interval_reason == "a permutation test gives a p-value and no interval"


def test_bad_input_is_refused() -> None:
    with pytest.raises(InvalidData, match="cluster 'a' has more than one label"):
        two_sample_permutation([1, 2], [3], rng(), first_cluster=["a", "b"], second_cluster=["a"])
    with pytest.raises(InvalidData, match="more than one stratum"):
        cluster_permutations(["a", "a"], [1, 1], rng(), 3, stratum=["x", "y"])
    with pytest.raises(InvalidData, match="finite"):
        two_sample_permutation([1, math.nan], [3], rng())
    with pytest.raises(InvalidData, match="infinite"):
        paired_permutation([1, math.inf], [3, 2], rng())
    with pytest.raises(InvalidData, match="equal length"):
        paired_permutation([1, 2], [3], rng())
    with pytest.raises(InvalidData, match="give both or none"):
        two_sample_permutation([1, 2], [3], rng(), first_cluster=["a", "b"])
    with pytest.raises(InvalidData, match="a row is needed"):
        two_sample_permutation([1, 2], [3], rng(), first_cluster=["a"], second_cluster=["b"])
    with pytest.raises(InvalidData, match="permutations must be a whole number from 1"):
        paired_swaps(["a"], rng(), 0)
    with pytest.raises(InvalidData, match="permutations must be a whole number from 1"):
        two_sample_permutation([1, 2], [3, 4], rng(), permutations=0)
    with pytest.raises(InvalidData, match="at least one drawn value"):
        permutation_p(1.0, [])
    with pytest.raises(InvalidData, match="finite number"):
        permutation_p(math.nan, [1.0])
    with pytest.raises(InvalidData, match="a tail is"):
        permutation_p(1.0, [1.0], tail="upper")  # type: ignore[arg-type]
