"""Agreement of a table of ratings: its forms, what it counts, who disagrees, and what it says."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import usercal
from annotate.errors import InvalidData
from calibrate.agreeing.disagreeing import unit_disagreement
from calibrate.agreement import Agreement, agreement
from calibrate.stats.agreement.ratings import ratings_of

PASS, FAIL = "pass", "fail"


def scored(units: int = 40, seed: int = 0, **extra: Any) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, units)
    raters = {name: np.clip(truth + rng.integers(-1, 2, units), 1, 5) for name in ("ann", "bo", "cy")}
    return pd.DataFrame({"item": [f"i{n}" for n in range(units)], **raters, **extra})


def long(frame: pd.DataFrame, **columns: Any) -> pd.DataFrame:
    return frame.melt(id_vars=["item"], var_name="rater", value_name="value").assign(**columns)


def numbers(made: Agreement) -> dict[str, tuple[float | None, ...]]:
    return {name: (e.value, e.low, e.high, e.n) for name, e in made.overall.estimates.items()}


def test_the_order_of_rows_and_columns_and_the_form_change_nothing() -> None:
    frame = scored()
    wide = agreement(frame, level="ordinal", resamples=200)
    turned = agreement(
        frame[["cy", "item", "ann", "bo"]].sample(frac=1, random_state=1), level="ordinal", resamples=200
    )
    rows = agreement(long(frame).sample(frac=1, random_state=2), level="ordinal", resamples=200)
    assert numbers(wide) == numbers(turned) == numbers(rows)


def test_missing_blank_and_absent_are_one_thing_and_not_applicable_another() -> None:
    frame = scored().astype({"ann": object})
    frame.loc[:4, "ann"] = None
    absent = long(frame).dropna()
    blank = long(frame).assign(value=lambda t: t["value"].map(lambda v: "  " if pd.isna(v) else str(v)))
    marked = long(frame).assign(value=lambda t: t["value"].fillna(99))
    results = [
        agreement(absent, level="ordinal", resamples=200),
        agreement(blank, level="ordinal", resamples=200),
        agreement(marked, level="ordinal", missing=[99], resamples=200),
        agreement(marked, level="ordinal", not_applicable=["99"], resamples=200),
    ]
    assert all(numbers(made) == numbers(results[0]) for made in results)
    assert [made.overall.missing for made in results] == [5, 5, 5, 0]
    assert [made.overall.not_applicable for made in results] == [0, 0, 0, 5]


def test_groups_are_what_each_part_gives_alone() -> None:
    frame = scored(topic=["x", "y"] * 20)
    made = agreement(frame, level="ordinal", by="topic", resamples=200)
    for group in made.groups:
        alone = agreement(frame[frame["topic"] == group.name], level="ordinal", by="topic", resamples=200).groups[0]
        for name, estimate in group.estimates.items():
            if "ac" in name or "prediger" in name:
                continue  # they know the categories of the whole table
            assert estimate.value == pytest.approx(alone.estimates[name].value, abs=1e-12), name
    assert [group.units for group in made.groups] == [20, 20]


def test_people_and_models_are_told_apart_and_paired() -> None:
    kinds = {"ann": "human", "bo": "human", "cy": "model"}
    frame = long(scored())
    made = agreement(frame.assign(kind=frame["rater"].map(kinds)), level="ordinal", resamples=200)
    people, mixed = made.kinds
    assert (people.name, mixed.name) == ("people", "people and models")
    assert people.paired_units == 40 and mixed.paired_units == 80
    assert any(note.startswith("models rate") and "n = 80 pairs" in note for note in made.notes)
    alone = agreement(scored()[["item", "ann", "bo"]], level="ordinal", resamples=200)
    assert people.estimates["cohen_kappa_quadratic"].value == alone.overall.estimates["cohen_kappa_quadratic"].value
    wide = scored()
    hits = [(wide[name] == wide["cy"]).mean() for name in ("ann", "bo")]
    assert mixed.estimates["raw_agreement"].value == pytest.approx(np.mean(hits))
    assert mixed.estimates["raw_agreement"].clusters == 40  # pairs of one unit stay together


def test_a_cluster_widens_the_interval_of_units_that_depend_on_each_other() -> None:
    rng = np.random.default_rng(3)
    hard = np.repeat(rng.random(12) < 0.5, 10)
    first = rng.integers(0, 2, 120)
    second = np.where(hard, rng.integers(0, 2, 120), first)
    frame = pd.DataFrame({"a": first, "b": second, "person": np.repeat([f"p{n}" for n in range(12)], 10)})
    free = agreement(frame, level="nominal", raters=["a", "b"], resamples=400).overall.estimates
    held = agreement(frame, level="nominal", raters=["a", "b"], cluster="person", resamples=400).overall.estimates
    for name in ("raw_agreement", "alpha_nominal", "gwet_ac1"):
        assert held[name].value == free[name].value
        assert held[name].high - held[name].low > 1.3 * (free[name].high - free[name].low)
        assert held[name].clusters == 12


def test_a_class_that_nearly_always_occurs_gets_its_sentence() -> None:
    values = [(PASS, PASS)] * 90 + [(FAIL, PASS)] * 4 + [(PASS, FAIL)] * 4 + [(FAIL, FAIL)]
    made = agreement(pd.DataFrame(values, columns=["a", "b"]), level="nominal", resamples=200)
    assert made.overall.remark is not None and "'pass'" in made.overall.remark
    assert "says little" in made.sentence
    assert made.overall.estimates["gwet_ac1"].value > 0.8
    assert made.overall.estimates["alpha_nominal"].value < 0.3
    assert made.overall.marginals == pytest.approx({PASS: 188 / 198, FAIL: 10 / 198})


def test_who_disagrees_with_whom_on_what() -> None:
    frame = pd.DataFrame({"a": [1, 1, 1, 2, 3], "b": [1, 2, 2, 2, 1]})
    made = agreement(frame, level="ordinal", resamples=100)
    first = made.confusions[0]
    assert (first.first, first.second, first.first_value, first.second_value, first.n, first.of) == (
        "a",
        "b",
        1,
        2,
        2,
        5,
    )
    assert [(unit.unit, unit.disagreement) for unit in made.split][:2] == [("5", 1.0), ("2", 0.5)]
    assert made.split[0].values == {"a": 3, "b": 1}


@given(
    st.lists(st.lists(st.sampled_from([None, 1, 2, 5]), min_size=3, max_size=3), min_size=1, max_size=8),
    st.sampled_from(["nominal", "interval"]),
)
@settings(deadline=None, max_examples=60)
def test_the_distance_within_a_unit_is_that_of_its_pairs(table: list[list[int | None]], level: Any) -> None:
    ratings = ratings_of(table, level=level, categories=[1, 2, 5])

    def apart(values: Sequence[int]) -> float:
        pairs = list(combinations(values, 2))
        return float(np.mean([a != b if level == "nominal" else abs(a - b) for a, b in pairs]))

    for row, found in zip(table, unit_disagreement(ratings), strict=True):
        held = [value for value in row if value is not None]
        if len(held) < 2:
            assert np.isnan(found)
        else:
            most = max(apart(other) for other in product([1, 2, 5], repeat=len(held)))
            assert found == pytest.approx(apart(held) / most)


@pytest.mark.parametrize(
    ("frame", "options", "said"),
    [
        (pd.DataFrame(), {}, "no columns"),
        (pd.DataFrame({"item": [1, 2], "ann": [1, 2]}), {}, "two raters"),
        (pd.DataFrame({"rater": ["a"], "value": [1]}), {}, "which unit"),
        (pd.DataFrame({"item": [1, 1], "rater": ["a", "a"], "value": [1, 2]}), {}, "more than once"),
        (pd.DataFrame({"item": [1, None], "rater": ["a", "b"], "value": [1, 2]}), {}, "row 2 has no item"),
        (pd.DataFrame({"a": [1, 2], "b": [1, np.inf]}), {}, "infinite"),
        (pd.DataFrame({"a": [1, 2], "b": [1, -1]}), {"level": "ratio"}, "non-negative"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), {"level": "interval"}, "needs numbers"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), {}, "declare the categories"),
        (pd.DataFrame({"a": [1], "b": [1]}), {"level": "metric"}, "must be one of"),
        (pd.DataFrame({"a": [1], "b": [1]}), {"raters": ["a", "c"]}, "'c'"),
        (pd.DataFrame({"a": [None], "b": [None]}), {}, "nobody rated"),
        (pd.DataFrame({"a": [1, 2], "b": [None, None]}), {}, "one rated"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), {}, "stands twice"),
        (scored(note=["x", "y"] * 20), {}, "'note' holds other values"),
        (scored(seconds=np.arange(40) + 60.0), {"level": "interval"}, "'seconds' holds other values"),
        (scored(), {"missing": [99]}, "does not occur; the values are 1, 2, 3, 4, 5"),
        (scored(), {"not_applicable": "n.a."}, "'n.a.' was declared"),
        (scored(), {"categories": [1, 2, 3, 4]}, "unit 'i"),
        (scored(), {"by": "ann", "raters": ["ann", "bo"]}, "is a rater's"),
        (scored(), {"models": ["zoe"]}, "'zoe'"),
        ("ratings.csv", {}, "need a pandas DataFrame"),
        (
            pd.DataFrame({"item": [1, 1], "rater": ["a", "b"], "value": [1, 2], "age": [30, 40]}),
            {"by": "age"},
            "belongs to the unit",
        ),
    ],
)
def test_a_mistake_is_one_sentence(frame: pd.DataFrame, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidData, match=said):
        agreement(frame, **{"level": "ordinal", "resamples": 100, **options})


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@pytest.mark.parametrize(
    "table",
    [
        {"a": [1], "b": [2]},
        {"a": [1, 1, 1], "b": [1, 1, 1]},
        {"a": [0, 0], "b": [0, 0]},
        {"a": [1, None, 3], "b": [None, 2, None]},
        {"a": [1, 2, 3, 4, 5, 6], "b": [1, 2, 3, 4, 5, 6]},
        {"a": [1, 2, 3, 4, 5, 6], "b": [6, 5, 4, 3, 2, 1], "c": [None, None, None, None, None, 1]},
    ],
)
def test_little_and_degenerate_data_are_undefined_with_a_reason_and_never_nan(
    table: dict[str, Any], level: Any
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = agreement(pd.DataFrame(table), level=level, resamples=100)
        text = str(made)
    assert not re.search(r"\b(nan|inf)\b", text.lower())
    for estimate in made.overall.estimates.values():
        assert estimate.value is not None or estimate.reason
        assert estimate.value is None or estimate.low is not None or estimate.interval_reason


def test_conger_is_given_where_raters_share_units_and_not_where_each_rated_a_few() -> None:
    shared = agreement(scored(), level="nominal", resamples=100).overall.estimates
    assert shared["conger_kappa"].value == pytest.approx(shared["fleiss_kappa"].value, abs=0.02)
    rows = [(f"i{n}", f"p{n // 2}", 1 + n % 3) for n in range(30)] + [(f"i{n}", "judge", 1 + n % 2) for n in range(30)]
    crowd = agreement(pd.DataFrame(rows, columns=["item", "rater", "value"]), level="nominal", resamples=100)
    assert "conger_kappa" not in crowd.overall.estimates and "fleiss_kappa" in crowd.overall.estimates


def test_people_and_models_of_a_wide_table_are_told_by_name() -> None:
    made = agreement(scored(), level="ordinal", models=["cy"], resamples=100)
    assert [kind.name for kind in made.kinds] == ["people", "people and models"]
    assert {rater.rater: rater.kind for rater in made.raters} == {"ann": "people", "bo": "people", "cy": "models"}


def test_a_column_of_kinds_that_is_not_understood_is_told() -> None:
    odd = long(scored()).assign(kind="thing")
    assert any("'thing'" in note for note in agreement(odd, level="ordinal", resamples=100).notes)
    known = long(scored()).assign(kind=lambda t: t["rater"].map({"ann": "LLM", "bo": "Annotator", "cy": "crowd"}))
    assert len(agreement(known, level="ordinal", resamples=100).kinds) == 2


def test_it_says_how_the_table_was_read_and_what_looks_odd() -> None:
    notes = " ".join(agreement(scored(), level="ordinal", resamples=100).notes)
    assert "one column a rater: ann, bo, cy" in notes
    frame = pd.DataFrame({"a": ["Pass", "pass", "n.a.", "pass"], "b": ["pass", "pass", "n.a.", "Pass"]})
    notes = " ".join(agreement(frame, level="nominal", resamples=100).notes)
    assert "'Pass' and 'pass' differ only in capital letters" in notes and "'n.a.' was taken as a label" in notes


def test_labels_of_any_kind() -> None:
    frame = pd.DataFrame({"a": [True, False, True], "b": [True, True, True]})
    assert agreement(frame, level="nominal", resamples=100).categories == (False, True)
    odd = pd.DataFrame({"a": ["ja 🙂", "<b>", "ja 🙂"], "b": ["ja 🙂", "<b>", "\u202enein"]})
    assert "<b>" in agreement(odd, level="nominal", resamples=100).categories
    order = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    ranked = pd.DataFrame({"item": [1, 1, 2, 2], "rater": ["a", "b"] * 2, "value": ["low", "low", "high", "mid"]})
    made = agreement(ranked.astype({"value": order}), level="ordinal", resamples=100)
    assert made.categories == ("low", "mid", "high") and made.declared


def test_many_distinct_values_need_no_table_of_them() -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(size=3000)
    frame = pd.DataFrame({"a": truth + 0.1 * rng.normal(size=3000), "b": truth})
    made = agreement(frame, level="interval", resamples=100)
    assert made.overall.estimates["alpha_interval"].value > 0.98
    assert made.overall.estimates["icc_2_1"].value > 0.98
    assert made.confusions == [] and made.overall.marginals == {}


def test_the_result_has_a_face(tmp_path: Path) -> None:
    made = agreement(scored(), level="ordinal", by=None, resamples=100)
    frame = made.to_frame()
    alpha = frame[(frame["coefficient"] == "alpha_ordinal") & (frame["group"] == "all")]
    assert alpha["value"].iloc[0] == pytest.approx(made.overall.estimates["alpha_ordinal"].value)
    assert made._repr_html_().lstrip().startswith("<") and "α" in made.summary()
    assert set(made.write(tmp_path / "out")) == {"html", "md", "csv", "tex", "json"}
    assert len(repr(made)) < 400


def test_the_only_pair_says_what_the_table_says() -> None:
    made = agreement(scored()[["item", "ann", "bo"]], level="ordinal", resamples=100)
    assert made.pairs[0].kappa == made.overall.estimates["cohen_kappa_quadratic"]
    assert made.pairs[0].raw == made.overall.estimates["raw_agreement"]


def test_the_same_function_is_the_library() -> None:
    assert usercal.agreement is agreement
    made = usercal.agreement(scored(), level="ordinal", resamples=100)
    assert str(made).splitlines()[0].startswith("3 raters of 40 units give the same rating in")
