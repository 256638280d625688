from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from annotate.errors import InputError
from calibrate.alignment import TARGETS, Cell, align
from calibrate.stats.grouped import Rows, resampled_z
from calibrate.stats.normalise import fit_scales, zscore_by_annotator


def made_up(
    rng: np.random.Generator, conversations: int = 427, people: int = 107, assistants: int = 9, noise: float = 1.5
) -> pd.DataFrame:
    """Ratings of assistants that differ, by people who differ, beside simulated ratings that follow the assistants."""
    rows = np.arange(conversations)
    person = np.concatenate([np.arange(people), rng.integers(0, people, conversations - people)])
    assistant = rng.permutation(rows % assistants)
    quality = np.linspace(-1.2, 1.2, assistants)[assistant]
    strictness = rng.normal(0, 0.8, people)[person]
    return pd.DataFrame(
        {
            "conversation": [f"c{row}" for row in rows],
            "annotator": [f"p{one}" for one in person],
            "assistant": [f"a{one}" for one in assistant],
            "group": np.array(["Level 1", "Level 2", "Level 3"])[rng.integers(0, 3, conversations)],
            "human": np.clip(np.round(7 + quality + strictness + rng.normal(0, noise, conversations)), 1, 10),
            "simulated": np.clip(np.round(7 + quality + rng.normal(0, 1, conversations)), 1, 10),
        }
    )


@pytest.fixture
def frame() -> pd.DataFrame:
    return made_up(np.random.default_rng(0))


def test_a_thousand_resamples_of_427_conversations_take_well_under_three_seconds(frame: pd.DataFrame) -> None:
    align(frame, rng=np.random.default_rng(1), resamples=5)  # imports
    start = time.process_time()
    align(frame, rng=np.random.default_rng(1), resamples=1000)
    assert time.process_time() - start < 3.0


def test_the_interval_is_the_formula_on_a_bootstrap_done_the_long_way(frame: pd.DataFrame) -> None:
    """Persons drawn one by one into a new frame, copies as new persons, everything recomputed by pandas and scipy."""
    small = frame.head(70)
    made = align(small, rng=np.random.default_rng(5), resamples=12).get()
    people = align(small).scales.annotators
    counts = made.signature.generator().multinomial(len(people), np.full(len(people), 1 / len(people)), size=12)
    draws = []
    for row in counts:
        parts = [
            small[small["annotator"] == who].assign(annotator=f"{who}/{copy}")
            for who, times in zip(people, row, strict=True)
            for copy in range(times)
        ]
        drawn = pd.concat(parts)
        drawn["z"] = zscore_by_annotator(drawn["annotator"].to_numpy(), drawn["human"].to_numpy())
        means = drawn.groupby(["assistant", "group"])[["z", "simulated"]].mean().round(10)
        draws.append(scipy.stats.spearmanr(means["z"], means["simulated"]).statistic)
    reach = 1.959963984540054 * 1.15 * np.std(np.arctanh(draws), ddof=1)
    assert made.value is not None
    assert made.low == pytest.approx(np.tanh(np.arctanh(made.value) - reach), abs=1e-9)
    assert made.high == pytest.approx(np.tanh(np.arctanh(made.value) + reach), abs=1e-9)


def test_each_target_is_named_and_has_its_own_interval(frame: pd.DataFrame) -> None:
    got = align(frame, rng=np.random.default_rng(1), resamples=300)
    fresh, noise_free, new = (got.get(target=target) for target in TARGETS)
    assert [made.target for made in (fresh, noise_free, new)] == list(TARGETS.values())
    assert fresh.value == new.value
    assert noise_free.value is not None
    assert fresh.value is not None
    assert noise_free.value > fresh.value  # noise pulls towards 0
    assert noise_free.extra["value_before_cut_at_1"] == pytest.approx(
        fresh.value
        / np.sqrt(
            float(noise_free.extra["reliability_human"] or 0) * float(noise_free.extra["reliability_simulated"] or 0)
        )
    )
    assert (fresh.n, fresh.extra["groups"], fresh.clusters) == (427, 27, 107)
    assert (new.clusters, new.signature.seed) == (9, None)
    assert fresh.format().startswith("ρ 0.")
    assert fresh.format().endswith("n = 427, 27 groups")


def test_the_new_assistants_interval_is_the_jackknife(frame: pd.DataFrame) -> None:
    got = align(frame)
    table = got.group_means
    theta = []
    for assistant in sorted(set(table["assistant"])):
        kept = table[table["assistant"] != assistant]
        theta.append(
            np.arctanh(scipy.stats.spearmanr(kept["human_z"].round(10), kept["simulated"].round(10)).statistic)
        )
    se = np.sqrt(8 / 9 * ((np.array(theta) - np.mean(theta)) ** 2).sum())
    made = got.get(target="new_assistants")
    centre = np.arctanh(made.value)
    assert made.high == pytest.approx(np.tanh(centre + scipy.stats.t.ppf(0.975, 8) * se))


def test_order_of_rows_labels_and_earlier_draws_change_nothing(frame: pd.DataFrame) -> None:
    first = align(frame, rng=np.random.default_rng(1), resamples=50)
    used = np.random.default_rng(1)
    used.random(1000)
    assert align(frame, rng=used, resamples=50).estimates == first.estimates
    order = np.random.default_rng(3).permutation(len(frame))
    renamed = frame.assign(
        annotator=frame["annotator"].map(lambda name: f"{int(name[1:]) * 7919 % 10007}"),
        conversation=np.arange(len(frame)),
    )
    for other in (frame.iloc[order], renamed, renamed.iloc[order]):
        assert align(other, rng=np.random.default_rng(1), resamples=50).estimates == first.estimates
    shuffled = align(frame.iloc[order])
    assert shuffled.human_z == pytest.approx(align(frame).human_z[order], abs=0)


def test_missing_ratings_are_dropped_and_counted_but_still_scale_their_annotator() -> None:
    frame = made_up(np.random.default_rng(2), 60, 12, 4)
    full = align(frame)
    lacking = frame.astype({"simulated": object})
    lacking.loc[:9, "simulated"] = None
    lacking.loc[5:6, "human"] = np.nan
    got = align(lacking)
    assert got.dropped == {"human": 2, "simulated": 10}
    assert got.rows_dropped == 10
    assert got.get().n == 50
    whole = lacking.dropna(subset=["human"])
    z = zscore_by_annotator(whole["annotator"].to_numpy(), whole["human"].to_numpy())
    assert got.human_z == pytest.approx(z[8:])
    assert full.rows_dropped == 0


def test_all_ratings_give_the_scale_where_they_are_passed() -> None:
    frame = made_up(np.random.default_rng(3), 60, 12, 4)
    got = align(frame.tail(20), all_ratings=frame[["annotator", "human"]])
    z = zscore_by_annotator(frame["annotator"].to_numpy(), frame["human"].to_numpy())
    assert got.human_z == pytest.approx(z[-20:])
    with pytest.raises(InputError, match="all_ratings"):
        align(frame, all_ratings=frame[frame["annotator"] != "p3"])


def test_a_ratings_file_that_cannot_be_read_is_refused_in_one_sentence(frame: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="column 'group' is missing"):
        align(frame.drop(columns="group"))
    with pytest.raises(InputError, match="human rating 'good' is not a number"):
        align(frame.astype({"human": object}).replace({"human": {7.0: "good"}}))
    with pytest.raises(InputError, match="more than once"):
        align(pd.concat([frame, frame.head(1)]))
    with pytest.raises(InputError, match="inf"):
        align(frame.assign(simulated=np.inf))


def test_several_group_columns_or_none(frame: pd.DataFrame) -> None:
    two = align(frame.assign(subject=np.where(frame.index % 2, "algebra", "geometry")), groups=("group", "subject"))
    assert two.get().extra["groups"] == 54
    none = align(frame.drop(columns="group"), groups=())
    assert none.get().value == none.get("system").value


def test_two_groups_are_undefined_and_three_have_no_interval() -> None:
    frame = made_up(np.random.default_rng(4), 40, 10, 3)
    two = align(frame[frame["assistant"] != "a2"], rng=np.random.default_rng(0), resamples=50)
    assert two.get("system").reason == "fewer than three groups"
    assert two.get("system", target="new_assistants").value is None
    three = align(frame, rng=np.random.default_rng(0), resamples=50).get("system")
    assert three.value is not None
    assert three.interval_reason == "fewer than 4 pairs"


def test_too_few_people_or_assistants_or_ratings_give_a_reason_not_a_number() -> None:
    frame = made_up(np.random.default_rng(5), 60, 12, 3)
    few = align(frame.assign(annotator=[f"p{row % 4}" for row in range(60)]), rng=np.random.default_rng(0))
    assert few.get().interval_reason == "4 clusters are too few for a bootstrap (at least 5)"
    assert few.get(target="new_assistants").interval_reason == "3 assistants are too few (at least 4)"
    assert few.get("instance", target="noise_free").reason is not None
    assert few.get(coefficient="kendall", target="noise_free").reason is not None
    single = frame.drop_duplicates(["assistant", "group"])
    assert "no group has two ratings" in (align(single).get(target="noise_free").reason or "")


def test_a_simulator_that_always_says_the_same_is_undefined(frame: pd.DataFrame) -> None:
    got = align(frame.assign(simulated=8), rng=np.random.default_rng(0), resamples=20)
    assert {made.reason for made in got.estimates.values()} == {"the simulated side is constant"}


def test_no_rows_at_all(frame: pd.DataFrame) -> None:
    for empty in (frame.head(0), frame.assign(simulated=None)):
        got = align(empty, rng=np.random.default_rng(0))
        assert got.get().reason == "fewer than three groups"
        assert got.get("instance").reason == "fewer than three conversations"
    assert got.rows_dropped == 427


def test_every_figure_is_there_and_carries_its_name(frame: pd.DataFrame) -> None:
    got = align(frame)
    assert len(got.estimates) == 3 * 3 * 2 * 3
    assert all(made.name == cell.name for cell, made in got.estimates.items())
    assert Cell("system", "pearson", "raw", "noise_free").name == "alignment.system.pearson.raw.noise_free"


def test_resampling_changes_only_the_shared_scale() -> None:
    who = np.array(["a"] * 3 + ["b", "c", "c"])
    human = np.array([6.0, 8, 10, 5, 7, 9])
    scales = fit_scales(who, human)
    person, zeros = scales.codes(who), np.zeros(6, dtype=np.int64)
    rows = Rows(person, zeros, zeros, human, scales.z(who, human), human, person, human, scales)
    z = resampled_z(rows, np.array([[1, 1, 1], [1, 2, 0], [0, 0, 3], [3, 0, 0]]))
    assert z[0] == pytest.approx(scales.z(who, human))
    assert z[:, :3] == pytest.approx(np.tile([-1.0, 0, 1], (4, 1)))
    assert z[1, 3:] == pytest.approx([0, 0, 0])  # b twice: 5, 5 have no spread
    assert z[2, 4:] == pytest.approx(np.array([-1, 1]) / np.std([7, 7, 7, 9, 9, 9], ddof=1))
    assert z[3, 3:] == pytest.approx([0, 0, 0])  # nobody drawn into the pool
