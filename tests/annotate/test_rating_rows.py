"""Ratings of a scale as one table: from the store with what is known of each unit, and from a file as it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from annotate.errors import InputError
from annotate.rating_rows import read_rating_rows, read_rating_table, scale_categories
from annotate.schema import Annotation, Conversation, Item, Noun, Participant, Presentation, Rater, Scale, Target, Turn
from annotate.store import Store

SCALES = (
    Scale(name="helpful", level="ordinal", minimum=1, maximum=5),
    Scale(name="turing", level="nominal", target="pair", labels=("first", "second")),
    Scale(name="verdict", level="nominal", target="verdict", labels=("pass", "fail")),
    Scale(name="why", level="text"),
)
ANN, BO = (Rater(id=f"h_{name}", kind="human", name=name) for name in ("ann", "bo"))
MODEL = Rater(id="m_1", kind="model", name="strict", model="openai/m")


def chat(name: str, **fields: Any) -> Conversation:
    defaults: dict[str, Any] = {
        "task": "math", "item": "i", "participant": "p_ann", "assistant": "a", "origin": "human",
        "turns": (Turn(position=0, role="user", text="hello"),),
    }  # fmt: skip
    return Conversation(id=name, **{**defaults, **fields})


def note(rater: Rater, scale: str, value: Any = None, **fields: Any) -> Annotation:
    target = fields.pop("target", Target(conversation="c"))
    identity = f"{rater.id} {scale} {target.kind} {target.criterion} {fields} {value}"
    return Annotation(id=identity, rater=rater.id, scale=scale, target=target, value=value, **fields)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


def read(store: Store, *nouns: Noun, scales: list[str] | None = None) -> Any:
    people = Participant(id="p_ann", kind="human")
    item = Item(id="i", key="i", task="math", inputs={}, tags={"level": "easy"})
    with store.begin() as transaction:
        transaction.add([people, item, *SCALES, ANN, BO, MODEL, chat("c"), chat("t", origin="simulated"), *nouns])
    return read_rating_rows(store, scales)


def test_people_and_models_stand_in_one_table_with_what_is_known_of_the_unit(store: Store) -> None:
    rated = read(store, note(ANN, "helpful", 4), note(MODEL, "helpful", 5))["helpful"]
    assert sorted(zip(rated.frame["rater"], rated.frame["kind"], rated.frame["value"], strict=True)) == [
        ("ann", "people", 4), ("openai/m", "models", 5),
    ]  # fmt: skip
    assert set(rated.frame["level"]) == {"easy"} and set(rated.frame["participant"]) == {"p_ann"}


def test_a_corrected_rating_counts_once_and_a_repeat_is_told(store: Store) -> None:
    first = note(ANN, "helpful", 2)
    rated = read(store, first, note(ANN, "helpful", 3, supersedes=first.id), note(ANN, "helpful", 4))["helpful"]
    assert list(rated.frame["value"]) == [4]
    assert rated.repeats == 1


def test_not_applicable_keeps_its_name(store: Store) -> None:
    target = Target(kind="verdict", conversation="c", criterion="k1")
    rated = read(
        store, note(ANN, "verdict", missing="not_applicable", target=target), note(BO, "verdict", "fail", target=target)
    )["verdict"]
    assert set(zip(rated.frame["value"], rated.frame["missing"], strict=True)) == {
        (None, "not_applicable"), ("fail", None),
    }  # fmt: skip
    assert set(rated.frame["unit"]) == {"c / k1"}


@pytest.mark.parametrize(
    ("runs", "value", "missing"),
    [
        ([("first", 1, None), ("second", 2, None)], "right", None),
        ([("second", 1, None), ("first", 2, None)], "wrong", None),
        ([("first", 1, 0.9), ("first", 2, 0.6)], "right", None),
        ([("first", 1, 0.6), ("first", 2, 0.9)], "wrong", None),
        ([("first", 1, 0.6), ("first", 2, 0.6)], None, "tie"),
        ([("first", 1, None), ("first", 2, 0.9)], None, "tie"),
        ([("first", 2, 0.9)], "wrong", None),
    ],
)
def test_both_runs_of_a_pair_are_one_rating(
    store: Store, runs: list[tuple[str, int, float | None]], value: str | None, missing: str | None
) -> None:
    target = Target(kind="pair", conversation="c", other="t")
    shown = [
        note(MODEL, "turing", side, confidence=sure, target=target, presentation=Presentation(position=place))
        for side, place, sure in runs
    ]
    rated = read(store, *shown)["turing"]
    assert list(zip(rated.frame["value"], rated.frame["missing"], strict=True)) == [(value, missing)]
    assert rated.scale.labels == ("right", "wrong")


def test_two_people_of_one_name_are_two_raters(store: Store) -> None:
    twin = Rater(id="h_other", kind="human", name="ann")
    rated = read(store, twin, note(ANN, "helpful", 1), note(twin, "helpful", 2))["helpful"]
    assert sorted(rated.frame["rater"]) == ["ann (h_ann)", "ann (h_other)"]


def test_free_text_is_left_out_and_refused_by_name(store: Store) -> None:
    assert "why" not in read(store, note(ANN, "why", "because"))
    with pytest.raises(InputError, match="free text"):
        read_rating_rows(store, ["why"])
    with pytest.raises(InputError, match="did you mean 'helpful'"):
        read_rating_rows(store, ["helpfull"])


def test_a_scale_of_whole_numbers_declares_them_until_somebody_gives_a_half() -> None:
    assert scale_categories(SCALES[0], [1, 5.0, None]) == [1, 2, 3, 4, 5]
    assert scale_categories(SCALES[0], [1.5]) is None
    assert scale_categories(SCALES[2], []) == ["pass", "fail"]


# ------------------------------------------------------------------------------------------------------------ files


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_every_format_gives_the_same_columns(tmp_path: Path, ending: str) -> None:
    frame = pd.DataFrame({"item": ["1", "1", "2"], "评分者": ["a", "b", "a"], "rating": ["5", None, "4"]})
    path = tmp_path / f"ratings.{ending}"
    if ending in ("csv", "tsv"):
        frame.to_csv(path, index=False, sep="," if ending == "csv" else "\t")
    elif ending == "jsonl":
        frame.to_json(path, orient="records", lines=True, force_ascii=False)
    else:
        frame.to_parquet(path)
    read_back = read_rating_table(path)
    assert list(read_back.columns) == ["item", "评分者", "rating"]
    assert [None if pd.isna(v) else v for v in read_back["rating"]] == ["5", None, "4"]


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "is empty"), (b"item,rater\n", "no rows"), (b"\x89PNG\r\n\x1a\n\x00\x00", "no text file"),
     (b"a,a\n1,2\n", "stands twice")],
)  # fmt: skip
def test_what_is_no_table_is_one_sentence(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "ratings.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_rating_table(path)
