"""UserCal's own format: hand-written lines get what they leave out, faults are named by line, key and nearest match."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from annotate.errors import InputError
from annotate.importers import Batch, Options, detect
from annotate.schema import Scale


def pseudonym(person: str) -> str:
    return "p_" + hashlib.sha256(person.encode()).hexdigest()[:12]


def line(**more: Any) -> dict[str, Any]:
    record = {
        "conversation": "one",
        "task": "math_tutoring",
        "item": "m1",
        "person": "anna",
        "assistant": "a",
        "turns": [{"role": "user", "text": "hi"}, {"role": "assistant", "text": "hello"}],
    }
    return {name: value for name, value in {**record, **more}.items() if value is not ...}


def write(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return path


def read(path: Path, **options: Any) -> Batch:
    importer = detect(path)
    assert importer.name == "jsonl"
    return importer.read([path], pseudonym, Options(**options))


def test_a_hand_written_line_becomes_a_conversation_with_its_annotations(tmp_path: Path) -> None:
    batch = read(
        write(
            tmp_path / "conversations.jsonl",
            line(
                documents=[{"turn": 1, "text": "Dear"}, {"turn": 1, "text": "Dear"}],
                ended="user",
                outcome={"correct": True},
                ratings={"interaction": 8, "document": None},
                background={"answers": [{"question": "Who?", "answer": "me"}], "math_expertise": "grad"},
                survey={"strengths": "quick", "weaknesses": " ", "mood": "fine"},
                turns=[
                    {"role": "user", "text": "hi"},
                    {"role": "assistant", "text": None},
                    {"role": "user", "text": "so?"},
                    {"role": "assistant", "text": "yes", "ratings": {"thumb": "up"}},
                ],
            ),
        )
    )
    conversation = batch.conversations[0]
    assert conversation.participant == pseudonym("anna") and "anna" not in repr(batch)
    assert conversation.survey == {
        "prewriting": [{"question": "Who?", "answer": "me"}],
        "math_expertise": "grad",
        "mood": "fine",
    }
    assert [(v.version, v.turn, v.changed) for v in conversation.documents] == [(0, 1, True), (1, 1, False)]
    assert [(t.position, t.text, t.missing) for t in conversation.turns] == [
        (0, "hi", False),
        (1, "", True),
        (2, "so?", False),
        (3, "yes", False),
    ]
    assert [(a.scale, a.value, a.missing, a.target.turn) for a in batch.annotations] == [
        ("interaction", 8, None, None),
        ("document", None, "skipped", None),
        ("thumb", "up", None, 3),
        ("strengths", "quick", None, None),
    ]
    assert conversation.content_hash and conversation.provenance and conversation.provenance.record == "one"
    assert batch.notes["repaired", "null texts: kept as turns that are missing"] == 1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"rating": {}}, r"line 2: unknown key 'rating'; did you mean 'ratings'\? Allowed here: .*assistant"),
        ({"turns": [{"role": "user", "txt": "hi"}]}, r"turn 1: unknown key 'txt'; did you mean 'text'"),
        ({"turns": [{"role": "human", "text": "hi"}]}, r"turn 1: key 'role': .*'user'"),
        ({"turns": [{"role": "user"}]}, r"turn 1: key 'text' is required and missing"),
        ({"task": ...}, r"key 'task' is required and missing"),
        ({"person": ...}, r"needs either 'person'.* or 'participant'"),
        ({"participant": "p_0123456789ab"}, r"needs either 'person'"),
        ({"person": ..., "participant": "Anna Meyer"}, r"'Anna Meyer' is no pseudonym"),
        ({"conversation": "one"}, r"conversation 'one' stands twice"),
        ({"conversation": ...}, r"has no 'conversation'"),
        ({"ratings": {"interaction": 11}}, r"line 2: scale 'interaction': value 11 is above 10. Fix the export"),
        ({"ratings": {"interactoin": 1}}, r"scale 'interactoin' is not declared; did you mean 'interaction'"),
        ({"ratings": {"thumb": "up"}}, r"scale 'thumb' is for a turn"),
        ({"documents": [{"turn": 9, "text": "x"}]}, r"follows turn 9, but the last turn is 1"),
        ({"scopes": ["share"]}, r"key 'scopes.0'"),
        ({"created_at": "yesterday"}, r"key 'created_at'"),
    ],
)
def test_a_fault_is_one_sentence_with_line_and_key(tmp_path: Path, more: dict[str, Any], message: str) -> None:
    path = write(tmp_path / "c.jsonl", line(), line(**{"conversation": "two", **more}))
    with pytest.raises(InputError, match=message) as error:
        read(path)
    assert "\n" not in str(error.value) and "c.jsonl, line 2" in str(error.value)


def test_scopes_are_only_what_all_lines_of_a_person_allow(tmp_path: Path) -> None:
    both = ["take_part", "share_deidentified", "share_verbatim"]
    batch = read(
        write(
            tmp_path / "c.jsonl",
            line(scopes=both),
            line(conversation="two", scopes=both[:2]),
            line(conversation="three", person="ben"),
        ),
        scopes=("take_part",),
        scopes_basis="form",
    )
    scopes = {person.id: person.scopes for person in batch.participants}
    assert scopes == {pseudonym("anna"): ("take_part", "share_deidentified"), pseudonym("ben"): ("take_part",)}
    assert sum(batch.notes.values()) >= 1


def test_the_files_of_a_folder_name_each_other(tmp_path: Path) -> None:
    write(tmp_path / "items.jsonl", {"task": "math_tutoring", "key": "m1", "inputs": {"problem": "1+1"}})
    write(tmp_path / "scales.jsonl", {"name": "warmth", "level": "ordinal", "minimum": 1, "maximum": 5})
    write(tmp_path / "participants.jsonl", {"person": "anna", "scopes": ["take_part", "share_verbatim"]})
    write(tmp_path / "raters.jsonl", {"id": "judge", "kind": "model", "name": "judge", "model": "m"})
    write(
        tmp_path / "conversations.jsonl",
        line(origin="simulated", conversation="twin", person="sim", twin_of="one"),
        line(ratings={"warmth": 4}),
    )
    write(tmp_path / "profiles.jsonl", {"conversation": "one", "extractor": "hand", "length_range": [1, 20]})
    write(
        tmp_path / "annotations.jsonl",
        {"rater": "judge", "scale": "warmth", "target": {"conversation": "one"}, "value": 2},
        {"person": "anna", "scale": "warmth", "target": {"conversation": "twin"}, "value": 1},
    )
    (tmp_path / "notes.jsonl").write_text('{"x": 1}\n')
    batch = read(tmp_path)
    twin, human = batch.conversations
    assert twin.twin_of == human.id and twin.item == human.item == batch.items[0].id
    assert batch.items[0].inputs == {"problem": "1+1"} and batch.profiles[0].conversation == human.id
    assert batch.profiles[0].participant == human.participant and batch.profiles[0].length_range == (1, 20)
    assert {(a.target.conversation, a.value) for a in batch.annotations} == {(human.id, 4), (human.id, 2), (twin.id, 1)}
    kinds = {person.id: (person.kind, person.scopes) for person in batch.participants}
    assert (
        kinds[human.participant] == ("human", ("take_part", "share_verbatim"))
        and kinds[twin.participant][0] == "simulator"
    )
    assert batch.notes["warning", "file notes.jsonl: no part of the format, not read"] == 1


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("items", {"task": "t", "key": "k"}),
        ("scales", {"name": "s", "level": "interval"}),
        ("raters", {"id": "r", "kind": "model", "name": "m"}),
        ("participants", {"id": "p_0123456789ab", "kind": "human"}),
        ("criteria", {"id": "k", "family": "f", "mode": "m", "text": "t", "source": "tools", "span": "s"}),
    ],
)
def test_any_single_file_is_known_by_its_content(tmp_path: Path, name: str, record: dict[str, Any]) -> None:
    batch = read(write(tmp_path / "anything.jsonl", record))
    assert len(getattr(batch, name)) == 1


def test_lines_of_another_file_are_sent_to_it(tmp_path: Path) -> None:
    write(tmp_path / "conversations.jsonl", line())
    write(tmp_path / "items.jsonl", {"name": "s", "level": "interval"})
    with pytest.raises(InputError, match=r"items.jsonl, line 1: is a line of scales.jsonl"):
        read(tmp_path)


def test_a_raw_name_is_no_participant_id(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no pseudonym"):
        read(write(tmp_path / "participants.jsonl", {"id": "anna", "kind": "human"}))


def test_scales_of_the_study_are_known(tmp_path: Path) -> None:
    scale = Scale(name="trust", level="ordinal", minimum=1, maximum=3)
    batch = read(write(tmp_path / "c.jsonl", line(ratings={"trust": 3})), scales={"trust": scale})
    assert batch.scales == [scale]


def test_an_item_may_be_written_on_the_line(tmp_path: Path) -> None:
    batch = read(
        write(
            tmp_path / "c.jsonl",
            line(item={"key": "m1", "inputs": {"problem": "1+1"}, "tags": {"level": "2"}}),
            line(conversation="two", item="m1"),
        )
    )
    assert len(batch.items) == 1 and batch.items[0].tags == {"level": "2"}
    assert {c.item for c in batch.conversations} == {batch.items[0].id}


def test_equal_conversations_are_trials_unless_the_file_says_which(tmp_path: Path) -> None:
    batch = read(write(tmp_path / "c.jsonl", line(), line(conversation="two"), line(conversation="three", trial=7)))
    assert [c.provenance.trial for c in batch.conversations if c.provenance] == ["0", "1", "7"]


@pytest.mark.parametrize("change", ["cut", "missing"])
def test_a_folder_that_is_not_as_exported_is_refused(tmp_path: Path, change: str) -> None:
    path = write(tmp_path / "conversations.jsonl", line(), line(conversation="two"))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    files = {path.name: {"records": 2, "sha256": digest}}
    if change == "missing":
        files["items.jsonl"] = {"records": 1, "sha256": digest}
    else:
        write(path, line())
    (tmp_path / "manifest.json").write_text(json.dumps({"format": "usercal-export/1", "files": files}))
    with pytest.raises(InputError, match=r"sha256 differs|is named in manifest.json and missing"):
        read(tmp_path)
