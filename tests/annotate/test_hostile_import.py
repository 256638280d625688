"""Files that are out to break an import: each is refused in one sentence and changes nothing, or is read whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotate.errors import ConfigError, InputError, StoreError
from annotate.export import export_study
from annotate.frames import read_frames
from annotate.import_summary import ImportSummary
from annotate.imports import import_paths
from annotate.schema import Annotation, Conversation, Participant
from annotate.store import Store

HALF = "a\ud800b"
MAP = """\
[columns]
conversation = "chat"
person = "who"
user = "q"
reply = "a"
[constants]
task = "math_tutoring"
item = "i"
assistant = "bot"
"""


def pseudonym(person: str) -> str:
    return "p_" + hashlib.sha256(person.encode("utf-8", "surrogatepass")).hexdigest()[:12]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


def line(**more: Any) -> dict[str, Any]:
    turns = [{"role": "user", "text": "hi"}, {"role": "assistant", "text": "hello"}]
    record = {"conversation": "one", "task": "math_tutoring", "item": "m1", "person": "anna", "assistant": "a"}
    return {**record, "turns": turns, "ratings": {"interaction": 5}, **more}


def write(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    return path


def run(store: Store, *paths: Path, **more: Any) -> ImportSummary:
    return import_paths(store, list(paths), pseudonym=pseudonym, **more)


def refused(store: Store, *paths: Path, says: str, **more: Any) -> None:
    before = (store.count(Conversation), store.count(Annotation))
    with pytest.raises((InputError, ConfigError), match=says) as error:
        run(store, *paths, **more)
    assert "\n" not in str(error.value) and str(error.value).rstrip().endswith(".")
    assert (store.count(Conversation), store.count(Annotation)) == before


@pytest.mark.parametrize("depth", [150, 300, 20_000])
def test_what_a_store_could_not_read_back_is_not_stored(store: Store, tmp_path: Path, depth: int) -> None:
    text = json.dumps(line(survey="@")).replace('"@"', '{"a":' * depth + "1" + "}" * depth)
    (tmp_path / "c.jsonl").write_text(text + "\n")
    refused(store, tmp_path / "c.jsonl", says="nested too deeply")


def test_brackets_within_reason_are_read_back(store: Store, tmp_path: Path) -> None:
    text = json.dumps(line(survey="@")).replace('"@"', '{"a":' * 90 + "1" + "}" * 90)
    (tmp_path / "c.jsonl").write_text(text + "\n")
    run(store, tmp_path / "c.jsonl")
    assert str(store.select(Conversation)[0].survey).count("{") == 90


@pytest.mark.parametrize("key", ["task", "item", "assistant", "strategy", "run", "cell"])
def test_half_a_character_in_a_name_is_refused(store: Store, tmp_path: Path, key: str) -> None:
    refused(store, write(tmp_path / "c.jsonl", line(**{key: HALF})), says=r"half a character.*\\ud800")


def test_half_a_character_in_a_target_is_refused_too(store: Store, tmp_path: Path) -> None:
    run(store, write(tmp_path / "c.jsonl", line()))
    rated = {"person": "anna", "scale": "interaction", "target": {"conversation": HALF}, "value": 3}
    refused(store, write(tmp_path / "annotations.jsonl", rated), says="half a character")


def test_half_characters_in_texts_tags_and_labels_reach_the_frames(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    write(folder / "scales.jsonl", {"name": "mood", "level": "nominal", "labels": [HALF, "b"]})
    turns = [{"role": "user", "text": HALF}, {"role": "assistant", "text": HALF}]
    write(folder / "conversations.jsonl", line(turns=turns, tags={HALF: HALF}, ratings={"mood": HALF}, ended=HALF))
    run(store, folder)
    frames = read_frames(store)
    assert list(frames.conversations["tags"][0].values()) == ["a?b"] and list(frames.ratings["value"]) == ["a?b"]


@pytest.mark.parametrize("key", ["conversation", "task", "item", "person", "assistant"])
def test_a_name_is_not_empty(store: Store, tmp_path: Path, key: str) -> None:
    refused(store, write(tmp_path / "c.jsonl", line(**{key: " "})), says=f"'{key}.*is empty")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"turns": []}, "has no turns"),
        ({"outcome": {"correct": "maybe"}}, "outcome.correct"),
        ({"outcome": {"correct": 1}}, "outcome.correct"),
        ({"background": {"answers": "long ago"}}, "background.answers"),
        ({"background": {"answers": [{"answer": "a"}]}}, "background.answers"),
        ({"ratings": {"interaction": []}}, "'ratings.interaction'.*not allowed here"),
        ({"twin_of": "nobody", "origin": "simulated"}, "twin of, 'nobody'"),
    ],
)
def test_what_would_be_lost_or_break_later_is_refused_at_once(
    store: Store, tmp_path: Path, more: dict[str, Any], says: str
) -> None:
    refused(store, write(tmp_path / "c.jsonl", line(**more)), says=says)


@pytest.mark.parametrize(
    ("target", "scale", "says"),
    [
        ({}, "interaction", "needs 'conversation'"),
        ({"kind": "turn", "conversation": "one", "turn": 0}, "interaction", "is for a conversation"),
        ({"conversation": "one", "turn": 2}, "thumb", "rates turn 2"),
        ({"conversation": "one", "turn": -1}, "thumb", "rates turn -1"),
        ({"conversation": "one"}, "thumb", "needs 'turn'"),
        ({"conversation": "one"}, "turing", "needs 'other'"),
        ({"conversation": "one", "other": "one"}, "turing", "with itself"),
        ({"conversation": "one", "other": "two"}, "interaction", "has 'other'"),
        ({"criterion": "zz"}, "rule", "criterion 'zz' is neither"),
    ],
)
def test_a_rating_of_something_else_is_refused(
    store: Store, tmp_path: Path, target: dict[str, Any], scale: str, says: str
) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    write(
        folder / "scales.jsonl",
        {"name": "turing", "level": "nominal", "target": "pair", "labels": ["first", "second"]},
        {"name": "rule", "level": "nominal", "target": "criterion", "labels": ["first", "up"]},
    )
    write(folder / "conversations.jsonl", line(), line(conversation="two", person="ben"))
    value = {"interaction": 3, "thumb": "up"}.get(scale, "first")
    write(folder / "annotations.jsonl", {"person": "anna", "scale": scale, "target": target, "value": value})
    refused(store, folder, says=says)


def test_the_kind_of_target_that_a_line_leaves_out_is_that_of_its_scale(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    write(folder / "conversations.jsonl", line(ratings={}))
    thumb = {"person": "anna", "scale": "thumb", "target": {"conversation": "one", "turn": 1}, "value": "up"}
    write(folder / "annotations.jsonl", thumb)
    run(store, folder)
    assert store.select(Annotation)[0].target.kind == "turn"


def test_annotations_that_correct_each_other_are_refused(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    write(folder / "conversations.jsonl", line(ratings={}))
    rated = {"person": "anna", "scale": "interaction", "target": {"conversation": "one"}, "value": 3}
    ring = [{**rated, "id": f"a_{n}", "supersedes": f"a_{(n + 1) % 3}"} for n in range(3)]
    write(folder / "annotations.jsonl", *ring)
    refused(store, folder, says="corrects itself")


@pytest.mark.parametrize("confidence", [-0.1, 5])
def test_a_confidence_is_a_share(store: Store, tmp_path: Path, confidence: float) -> None:
    run(store, write(tmp_path / "c.jsonl", line()))
    rated = {"person": "x", "scale": "interaction", "target": {"conversation": "one"}, "value": 3}
    refused(store, write(tmp_path / "a.jsonl", {**rated, "confidence": confidence}), says="'confidence'")


def test_one_file_by_two_paths_is_read_once(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "c.jsonl", line())
    (tmp_path / "link.jsonl").symlink_to(path)
    summary = run(store, path, Path("c.jsonl"), Path("./c.jsonl"), tmp_path / "link.jsonl")
    assert summary.new == 1


def test_a_named_format_finds_nothing_to_read(store: Store, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    write(tmp_path / "d" / "other.jsonl", line())
    refused(store, tmp_path / "d", says="holds no file of the format", format="jsonl")


def test_a_first_line_of_another_kind_is_not_called_cut_off(store: Store, tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text(json.dumps(line()) + "\na,b\n")
    with pytest.raises(InputError, match="Fix that place"):
        run(store, tmp_path / "c.jsonl")


# --- consent ---------------------------------------------------------------------------------------------------------


def exported(store: Store, folder: Path) -> str:
    export_study(store, "jsonl", folder)
    return "".join(path.read_text() for path in folder.glob("*.jsonl"))


def test_what_a_later_file_does_not_allow_is_not_exported(store: Store, tmp_path: Path) -> None:
    run(store, write(tmp_path / "a.jsonl", line(scopes=["take_part", "share_verbatim"])))
    turns = [{"role": "user", "text": "SECRET"}, {"role": "assistant", "text": "x"}]
    later = line(conversation="two", turns=turns, scopes=["take_part"])
    summary = run(store, write(tmp_path / "b.jsonl", later))
    assert any("only what both allow" in text for text in summary.sources[0].warnings)
    assert "SECRET" not in exported(store, tmp_path / "out")


def test_consent_can_be_taken_back_and_stays_so(store: Store, tmp_path: Path) -> None:
    first = write(tmp_path / "a.jsonl", line(scopes=["take_part", "share_verbatim"]))
    run(store, first)
    run(store, write(tmp_path / "participants.jsonl", {"person": "anna", "scopes": []}))
    assert store.select(Participant)[0].scopes == ()
    run(store, first)
    assert store.select(Participant)[0].scopes == () and "hello" not in exported(store, tmp_path / "out")


def test_a_file_that_says_nothing_of_consent_takes_none_back(store: Store, tmp_path: Path) -> None:
    run(store, write(tmp_path / "a.jsonl", line(scopes=["take_part", "share_verbatim"])))
    run(store, write(tmp_path / "b.jsonl", line()))
    assert "share_verbatim" in store.select(Participant)[0].scopes


def test_the_twin_of_somebody_unknown_is_not_shared(store: Store, tmp_path: Path) -> None:
    run(store, write(tmp_path / "a.jsonl", line(scopes=["share_verbatim"])))
    human = store.select(Conversation)[0]
    twin = human.model_copy(
        update={"id": "c_twin", "origin": "simulated", "twin_of": "c_gone", "provenance": None, "participant": "s_1"}
    )
    with store.begin() as transaction:
        transaction.add([twin])
    assert "c_twin" not in exported(store, tmp_path / "out")


# --- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('reply = "a"', 'reply = "q"'), "both 'q'"),
        (('item = "i"', 'item = ""'), "constants.item"),
        (('task = "math_tutoring"', 'task = ""'), "constants.task"),
        (("[constants]", '[scales.mood]\nname = "other"\nlevel = "text"\n[constants]'), r"\[scales.mood\] says name"),
        (("[constants]", "[scales.mood]\nlevel = 'ordinal'\nminimum = nan\n[constants]"), "a bound is a number"),
    ],
)
def test_a_mapping_that_cannot_be_meant_is_refused(
    store: Store, tmp_path: Path, change: tuple[str, str], says: str
) -> None:
    (tmp_path / "t.csv").write_text("chat,who,q,a\n1,bob,hi,yo\n")
    (tmp_path / "map.toml").write_text(MAP.replace(*change))
    refused(store, tmp_path / "t.csv", says=says, map_file=tmp_path / "map.toml")


def test_a_row_without_any_message_is_no_conversation(store: Store, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("chat,who,q,a\n1,bob,hi,yo\n2,bob,,\n")
    (tmp_path / "map.toml").write_text(MAP)
    refused(store, tmp_path / "t.csv", says="line 3.*no message", map_file=tmp_path / "map.toml")


def test_nan_in_a_table_is_nothing_and_never_a_number(store: Store, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = {"chat": ["1", "2"], "who": ["a", "b"], "q": ["hi", "ho"], "a": ["x", "y"], "stars": [float("nan"), 4.0]}
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    scale = "[scales.quality]\nlevel = 'ordinal'\nminimum = 1\nmaximum = 5\n"
    (tmp_path / "map.toml").write_text(f"{MAP}[ratings]\nstars = 'quality'\n{scale}")
    run(store, tmp_path / "t.parquet", map_file=tmp_path / "map.toml")
    assert [note.value for note in store.select(Annotation)] == [4]
    turned = MAP.replace("[constants]", 'turn = "stars"\n[constants]')
    (tmp_path / "map.toml").write_text(turned)
    refused(store, tmp_path / "t.parquet", says="no turn number", map_file=tmp_path / "map.toml")


# --- the store -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", ["{}", "no json", '{"id": 5}'])
def test_a_record_that_was_tampered_with_is_named(store: Store, tmp_path: Path, body: str) -> None:
    import sqlalchemy

    run(store, write(tmp_path / "a.jsonl", line()))
    with store.engine.begin() as connection:
        connection.execute(sqlalchemy.text("UPDATE conversation SET body = :body"), {"body": body})
    with pytest.raises(StoreError, match="record 1 of conversation cannot be read"):
        store.select(Conversation)


def test_a_store_that_was_removed_takes_no_more(store: Store, tmp_path: Path) -> None:
    for path in tmp_path.glob("store.db*"):
        path.unlink()
    with pytest.raises(StoreError, match="was removed or replaced"), store.begin() as transaction:
        transaction.add([Participant(id="p_1", kind="human")])


# --- a release whose fields are of other kinds -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value"), [("why_stop", {"a": 1}), ("user_queries", 1.5), ("ai_responses", {"a": 1}), ("workerId", [])]
)
def test_a_field_of_another_kind_is_told_with_its_record(
    store: Store, tmp_path: Path, field: str, value: object
) -> None:
    record = {
        "workerId": "w", "user_queries": ["how?"], "ai_responses": ["Try."], "problem_1_turns": -1, "problem_id": 3,
        "model": "m", "overall_rating": 8, "why_stop": "done",
    }  # fmt: skip
    (tmp_path / "math_tutoring_annotations.json").write_text(json.dumps([record, {**record, field: value}]))
    refused(store, tmp_path / "math_tutoring_annotations.json", says="record 2: .*as it was released")
