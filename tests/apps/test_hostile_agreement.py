"""Agreement on what people really have: odd files, odd frames, odd folders; one sentence, and nothing lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import usercal
from annotate.errors import InputError, InvalidData
from annotate.schema import Annotation, Conversation, Item, Participant, Rater, Scale, Target, Turn
from annotate.study import Study
from calibrate.report.agreement import writing

Call = Callable[..., Any]
NAMES = {"agreement.csv", "agreement.html", "agreement.json", "agreement.md", "agreement.tex"}


def file(folder: Path, text: str, name: str = "r.csv") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def wide(values: list[tuple[Any, Any]]) -> str:
    return "item,ann,bo\n" + "".join(f"u{n},{one},{other}\n" for n, (one, other) in enumerate(values))


def frame(ann: Any, bo: Any, **fields: Any) -> pd.DataFrame:
    return pd.DataFrame({"item": range(len(ann)), "ann": ann, "bo": bo}, **fields)


def refused(call: Call, *words: object) -> str:
    said = call("agreement", *words, "--json")
    assert said.code == 2 and said.err == ""
    (sentence,) = json.loads(said.out).values()
    assert len(sentence) < 400 and "Traceback" not in sentence
    return str(sentence)


# --- what a cell says ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_long_numbers_that_differ_in_their_last_digit_are_no_agreement(call: Call, tmp_path: Path, level: str) -> None:
    path = file(tmp_path, wide([(2**64 - 1, 2**64 - 2), (2**64 - 2, 2**64 - 1)] * 6))
    if level == "ordinal":
        assert "sixteenth digit" in refused(call, path, "--level", level)
        return
    (made,) = json.loads(call("agreement", path, "--level", level, "--json").out)["scales"]
    assert made["overall"]["estimates"]["raw_agreement"]["value"] == 0.0
    assert made["categories"] == [2**64 - 2, 2**64 - 1]


def test_labels_with_underscores_are_not_numbers(call: Call, tmp_path: Path) -> None:
    path = file(tmp_path, wide([("1_1", "11"), ("1_2", "12")] * 6))
    (made,) = json.loads(call("agreement", path, "--level", "nominal", "--json").out)["scales"]
    assert made["overall"]["estimates"]["raw_agreement"]["value"] == 0.0


@pytest.mark.parametrize(
    ("level", "value", "says"),
    [
        ("ordinal", "n/a", "numbers and the text 'n/a'"), ("interval", '"1,5"', "write a decimal point"),
        ("interval", "x" * 100_000, "needs numbers"), ("interval", "9" * 5000, "needs numbers"),
        ("ratio", "inf", "needs numbers"), ("ratio", "-1", "non-negative"),
    ],
)  # fmt: skip
def test_a_value_that_breaks_the_level_is_named_and_shortened(
    call: Call, tmp_path: Path, level: str, value: str, says: str
) -> None:
    path = file(tmp_path, wide([(1, 2), (2, value), (3, 3), (1, 1)]))
    assert says in refused(call, path, "--level", level)


def test_declared_categories_may_mix_numbers_and_texts_and_an_error_writes_whole_numbers(
    call: Call, tmp_path: Path
) -> None:
    path = file(tmp_path, wide([(1, 2), (2, 2), (3, 3)] * 4))
    said = call("agreement", path, "--level", "ordinal", "--categories", "1,2,3,refused", "--json")
    assert said.code == 0 and json.loads(said.out)["scales"][0]["categories"] == [1, 2, 3, "refused"]
    assert "value 1 is" in refused(call, path, "--level", "nominal", "--categories", "a,b")


# --- what a file is --------------------------------------------------------------------------------------------------


def test_a_saved_index_is_no_rater(call: Call, tmp_path: Path) -> None:
    table = pd.DataFrame({"ann": [1, 2, 3] * 4, "bo": [1, 2, 2] * 4}, index=list("abcdefghijkl"))
    table.to_parquet(tmp_path / "i.parquet")
    table.to_csv(tmp_path / "i.csv")
    for name in ("i.parquet", "i.csv"):
        (made,) = json.loads(call("agreement", tmp_path / name, "--level", "ordinal", "--json").out)["scales"]
        assert made["overall"]["raters"] == 2
        assert any("saved index" in note for note in made["notes"])


def test_a_guessed_encoding_is_told(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_bytes("item,ann,bø\n1,x,y\n2,x,x\n3,y,y\n".encode("latin-1"))
    (made,) = json.loads(call("agreement", path, "--level", "nominal", "--json").out)["scales"]
    assert any("Windows-1252" in note for note in made["notes"])


@pytest.mark.parametrize("text", ['[{"item": 1, "ann": 1, "bo": 2}]', '{"item": {"0": 1}, "ann": {"0": 1}}'])
def test_a_json_document_is_called_one(call: Call, tmp_path: Path, text: str) -> None:
    assert "JSON Lines" in refused(call, file(tmp_path, text, "r.json"), "--level", "nominal")


# --- what is written -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", ["file", "link"])
def test_a_place_that_is_no_folder_is_refused_before_anything_is_computed(
    call: Call, tmp_path: Path, make: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file(tmp_path, wide([(1, 2), (2, 2)] * 6))
    out = tmp_path / "out"
    out.write_text("keep", "utf-8") if make == "file" else out.symlink_to(tmp_path / "nowhere")
    monkeypatch.setattr("calibrate.agreement.agreement", None)
    assert "Name a folder" in refused(call, path, "--level", "ordinal", "--out", out)
    assert make == "link" or out.read_text("utf-8") == "keep"


def test_open_without_out_is_refused(call: Call, tmp_path: Path) -> None:
    assert "--out" in refused(call, file(tmp_path, wide([(1, 2)] * 6)), "--level", "ordinal", "--open")


def test_all_files_change_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = usercal.agreement(frame([1, 2, 3] * 4, [1, 2, 2] * 4), level="ordinal", resamples=100)
    second = usercal.agreement(frame([1, 2, 3] * 4, [3, 2, 1] * 4), level="ordinal", resamples=100)
    writing.write([first], tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(before) == NAMES
    real, written = Path.write_bytes, []

    def full(path: Path, data: bytes) -> int:
        written.append(path)
        if len(written) == 4:
            raise OSError(28, "No space left on device")
        return real(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left") as raised:
        writing.write([second], tmp_path)
    assert raised.value.filename == str(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_in_a_file_s_place_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    made = usercal.agreement(frame([1, 2, 3] * 4, [1, 2, 2] * 4), level="ordinal", resamples=100)
    (tmp_path / "agreement.csv").mkdir()
    with pytest.raises(InputError, match=r"agreement\.csv: is a folder"):
        writing.write([made], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["agreement.csv"]


def test_a_kill_leaves_whole_files(tmp_path: Path) -> None:
    path = file(tmp_path, wide([(1, 2), (2, 2), (3, 3), (3, 2)] * 5))
    words = ["agreement", str(path), "--level", "ordinal", "--resamples", "100", "--out", str(tmp_path / "out")]
    command = [sys.executable, "-c", f"from apps.cli import main; main({words!r})"]
    start = time.monotonic()
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    seconds = time.monotonic() - start
    whole = {name: (tmp_path / "out" / name).read_bytes() for name in NAMES}
    for share in (0.8, 0.95):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(seconds * share)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
        assert {name: (tmp_path / "out" / name).read_bytes() for name in NAMES} == whole


# --- frames ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ann", "bo"),
    [
        (pd.array([1, 2, None] * 4, dtype="Int64"), pd.array([1, 2, 2] * 4, dtype="Int64")),
        ([Decimal("1"), Decimal("2"), Decimal("NaN")] * 4, [Decimal("1"), Decimal("2"), Decimal("2")] * 4),
        ([np.int8(1), np.float32(2), None] * 4, ["1", 2, np.str_("2")] * 4),
        (pd.array(["1", "2", None] * 4, dtype="string"), ["1.0", "2", " 2 "] * 4),
    ],
)  # fmt: skip
def test_numbers_are_numbers_however_they_are_held(ann: Any, bo: Any) -> None:
    made = usercal.agreement(frame(ann, bo), level="ordinal", resamples=100)
    assert made.categories == (1, 2) and made.overall.missing == 4
    assert made.overall.estimates["raw_agreement"].value == 1.0


@pytest.mark.parametrize(
    ("table", "options", "says"),
    [
        (frame([[1]] * 6, [2] * 6), {}, "give plain values"), (frame([{}] * 6, [2] * 6), {}, "give plain values"),
        (pd.DataFrame({None: range(6), "a": [1] * 6, "b": [1] * 6}), {}, "has no name"),
        (pd.DataFrame([[1, 2]] * 6, columns=pd.MultiIndex.from_tuples([("x", "a"), ("x", "b")])), {}, "2 levels"),
        (frame([1] * 6, [2] * 6), {"seed": -1}, "whole number from 0"),
        (frame([1] * 6, [2] * 6), {"seed": "x"}, "whole number from 0"),
        (frame([1] * 6, [2] * 6), {"categories": "12"}, "list them"),
        (frame([1] * 6, [2] * 6), {"categories": [[1], [2]]}, "list them"),
        (frame([1] * 6, [2] * 6), {"state": "nope"}, "no column 'nope'"),
        (frame([1] * 6, [2] * 6), {"resamples": 2.5}, "whole number"),
        (frame([1] * 6, [2] * 6), {"confidence": 95}, "below 1"),
    ],
)  # fmt: skip
def test_a_frame_that_cannot_be_read_is_one_sentence(table: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidData, match=says) as raised:
        usercal.agreement(table, level="ordinal", **options)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 400


def test_units_without_a_cluster_are_told_and_a_rater_of_two_kinds_is_of_none() -> None:
    table = pd.DataFrame({"item": np.repeat(range(12), 2), "rater": ["a", "b"] * 12, "value": [1, 2, 3, 3] * 6})
    table["person"] = np.where(table["item"] < 8, table["item"].astype(str), None)
    table["kind"] = ["people", "models", "models", "models"] * 6
    made = usercal.agreement(table, level="ordinal", cluster="person", resamples=100)
    assert any("4 units have no value in 'person'" in note for note in made.notes)
    assert not made.kinds and any("both people and models" in note for note in made.notes)


# --- a study ---------------------------------------------------------------------------------------------------------


def test_a_tag_called_like_a_column_is_no_rating_and_an_unknown_rater_is_refused(call: Call, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    assert call("init", folder).code == 0
    raters = [Rater(id=f"h_{name}", kind="human", name=name) for name in ("ann", "bo")]
    nouns: list[Any] = [Scale(name="s", level="ordinal", minimum=1, maximum=5), *raters]
    nouns += [Participant(id="p", kind="human")]
    nouns += [Item(id="i", key="i", task="math_tutoring", inputs={}, tags={"value": "9", "rater": "x", "unit": "u"})]
    for n in range(6):
        turn = Turn(position=0, role="user", text="hi")
        nouns.append(
            Conversation(id=f"c{n}", task="math_tutoring", item="i", participant="p", assistant="a", origin="human",
                         turns=(turn,))
        )  # fmt: skip
        nouns += [
            Annotation(id=f"{r.id}{n}", rater=r.id, scale="s", target=Target(conversation=f"c{n}"), value=n % 5 + 1)
            for r in raters
        ]
    with Study.open(folder).open_store() as store, store.begin() as transaction:
        transaction.add(nouns)
    (made,) = json.loads(call("agreement", "--study", folder, "--json").out)["scales"]
    assert made["overall"]["units"] == 6 and made["overall"]["estimates"]["raw_agreement"]["value"] == 1.0
    assert [rater["rater"] for rater in made["raters"]] == ["ann", "bo"]
    assert "did you mean 'ann'" in refused(call, "--study", folder, "--raters", "anne")
    (only,) = json.loads(call("agreement", "--study", folder, "--only", "value=3", "--json").out)["scales"]
    assert only["overall"]["units"] == 1
