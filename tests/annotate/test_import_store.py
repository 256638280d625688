"""Importing into a store: twice is once, differing ratings become corrections, an error writes nothing."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotate.errors import InputError, StoreError
from annotate.export import export_study
from annotate.import_summary import ImportSummary
from annotate.imports import import_paths
from annotate.schema import Annotation, Conversation, Item, Noun, Participant, Profile, Rater, Scale
from annotate.store import Store

SHARED = Path(os.environ.get("USERCAL_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
KINDS: tuple[type[Noun], ...] = (Item, Participant, Conversation, Profile, Scale, Rater, Annotation)
KNOWLEDGE = "user_simulator_profiles/math_tutoring/knowledge_state.json"


def pseudonym(person: str) -> str:
    return "p_" + hashlib.sha256(person.encode("utf-8", "surrogatepass")).hexdigest()[:12]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


def run(store: Store, *paths: Path, **more: Any) -> ImportSummary:
    return import_paths(store, list(paths), pseudonym=pseudonym, **more)


def everything(store: Store) -> dict[str, list[Noun]]:
    return {kind.__name__: store.select(kind) for kind in KINDS}


def record(worker: str = "w1", **more: Any) -> dict[str, Any]:
    return {
        "workerId": worker,
        "user_queries": ["how?"],
        "ai_responses": ["Try."],
        "problem_1_turns": -1,
        "problem_id": 3,
        "model": "m",
        "overall_rating": 8,
        "why_stop": "done",
        "problem_1_correctness": "correct",
        "level": "Level 3",
        "turn_level_vote": {"[0, 1]": ["Try.", True]},
        **more,
    }


def release(folder: Path, *records: dict[str, Any], profiles: bool = True) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "math_tutoring_annotations_redacted.json").write_text(json.dumps(records))
    (folder / "LICENSE").write_text("Permission is hereby granted, free of charge")
    if profiles:
        entries = {str((r["problem_id"], r["workerId"], r["model"])): {"concepts": []} for r in records}
        (folder / KNOWLEDGE).parent.mkdir(parents=True, exist_ok=True)
        (folder / KNOWLEDGE).write_text(json.dumps(entries))
    return folder


def test_twice_gives_the_same_store_and_says_so(store: Store, tmp_path: Path) -> None:
    data = release(tmp_path / "data", record(), record("w2"), record("w2"))
    first = run(store, data)
    before = everything(store)
    second = run(store, data)
    assert everything(store) == before
    assert (first.new, first.already_there, first.profiles) == (3, 0, 3)
    assert (second.new, second.already_there, second.annotations, second.corrections, second.profiles) == (
        0,
        3,
        0,
        0,
        0,
    )
    assert first.lines()[0].split(maxsplit=1) == ["stored", "3 new, 0 already there"]
    assert second.lines()[0].split(maxsplit=1) == ["stored", "0 new, 3 already there"]


def test_a_path_given_in_two_ways_is_one_source(store: Store, tmp_path: Path) -> None:
    data = release(tmp_path / "data", record())
    summary = run(store, data, data / "math_tutoring_annotations_redacted.json", tmp_path)
    assert summary.new == 1 and store.count(Conversation) == 1 == store.count(Profile)


def test_a_release_and_its_own_export_at_once_are_one_source(store: Store, tmp_path: Path) -> None:
    data = release(tmp_path / "data", record())
    with Store.open(f"sqlite:///{tmp_path / 'other.db'}") as other:
        run(other, data)
        export_study(other, "jsonl", tmp_path / "out")
    summary = run(store, data, tmp_path / "out")
    assert (summary.new, summary.already_there, summary.corrections, summary.profiles) == (1, 1, 0, 1)
    counts = {kind: store.count(kind) for kind in KINDS}
    assert counts[Conversation] == counts[Profile] == counts[Participant] == counts[Rater] == 1
    assert counts[Annotation] == 3 and run(store, tmp_path / "out", data).annotations == 0


def test_a_rating_that_differs_becomes_a_correction_and_the_old_one_stays(store: Store, tmp_path: Path) -> None:
    run(store, release(tmp_path / "data", record(), record("w2")))
    changed = release(
        tmp_path / "data", record(overall_rating=5, turn_level_vote={"[0, 1]": ["Try.", False]}), record("w2")
    )
    summary = run(store, changed)
    assert (summary.new, summary.already_there, summary.corrections) == (0, 2, 2)
    assert "2 ratings differed and were corrected" in summary.lines()[0]
    ratings = store.select(Annotation, scale="interaction")
    assert [a.value for a in ratings] == [8, 8, 5] and ratings[2].supersedes == ratings[0].id
    assert run(store, changed).corrections == 0
    again = run(store, release(tmp_path / "data", record(overall_rating=8), record("w2")))
    assert again.corrections == 2
    last = store.select(Annotation, scale="interaction")[-1]
    assert last.value == 8 and last.supersedes == ratings[2].id


def test_ratings_and_profiles_that_come_later_are_added(store: Store, tmp_path: Path) -> None:
    run(store, release(tmp_path / "data", record(overall_rating=None), profiles=False))
    summary = run(store, release(tmp_path / "data", record()))
    assert (summary.new, summary.profiles, summary.corrections, summary.annotations) == (0, 1, 0, 1)
    assert "1 annotation added" in summary.lines()[0]
    assert [a.value for a in store.select(Annotation, scale="interaction")] == [8]


def test_what_a_known_conversation_says_otherwise_is_told_and_stays(store: Store, tmp_path: Path) -> None:
    run(store, release(tmp_path / "data", record()))
    summary = run(store, release(tmp_path / "data", record(problem_1_correctness="incorrect")))
    assert any("whose outcome differs" in text for text in summary.sources[0].warnings)
    assert store.select(Conversation)[0].outcome["correct"] is True


def test_an_item_gets_what_it_lacked(store: Store, tmp_path: Path) -> None:
    run(store, release(tmp_path / "data", record()))
    summary = run(store, release(tmp_path / "data", record("w2", question="What is 1+1?")))
    item = store.select(Item)[0]
    assert item.inputs["problem"] == "What is 1+1?" and store.count(Item) == 1
    assert summary.items_completed == 1 and store.select(Conversation)[1].item == item.id


def test_items_that_are_there_under_another_id_are_used(store: Store, tmp_path: Path) -> None:
    with store.begin() as transaction:
        transaction.add([Item(id="i_bank", task="math_tutoring", key="3", inputs={"problem": "ours"})])
    data = release(tmp_path / "data", record())
    run(store, data)
    assert store.select(Conversation)[0].item == "i_bank" and store.count(Item) == 1
    assert run(store, data).already_there == 1


def test_scopes_that_a_person_withdrew_stay_withdrawn(store: Store, tmp_path: Path) -> None:
    data = release(tmp_path / "data", record())
    run(store, data)
    person = store.select(Participant)[0]
    with store.begin() as transaction:
        transaction.put([person.model_copy(update={"scopes": ("take_part",)})])
    summary = run(store, data)
    assert store.select(Participant)[0].scopes == ("take_part",)
    assert any("stored scopes stay" in text for text in summary.sources[0].warnings)


def test_the_studys_own_scale_counts(store: Store, tmp_path: Path) -> None:
    with store.begin() as transaction:
        transaction.add([Scale(name="interaction", level="ordinal", minimum=1, maximum=7)])
    data = release(tmp_path / "data", record(overall_rating=8))
    with pytest.raises(InputError, match="value 8 is above 7"):
        run(store, data)
    assert store.count(Conversation) == 0
    summary = run(store, release(tmp_path / "data", record(overall_rating=7)))
    assert any("own definition counts" in text for text in summary.sources[0].warnings)
    assert store.get(Scale, "interaction").maximum == 7  # type: ignore[union-attr]


def test_nothing_is_written_when_any_source_is_faulty(store: Store, tmp_path: Path) -> None:
    good = release(tmp_path / "data", record())
    bad = tmp_path / "conversations.jsonl"
    bad.write_text('{"conversation": "c"')
    with pytest.raises(InputError):
        run(store, good, bad)
    bad.write_text(
        json.dumps({"rater": "nobody", "scale": "interaction", "target": {"conversation": "c_x"}, "value": 1})
    )
    with pytest.raises(InputError, match="neither in the files nor in the store"):
        run(store, good, bad)
    assert all(not nouns for nouns in everything(store).values())


def test_nothing_is_written_when_the_store_fails_half_way(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from annotate.store import Transaction

    add = Transaction.add

    def failing(self: Transaction, nouns: Any) -> None:
        given = list(nouns)
        add(self, given[: len(given) // 2])
        add(self, given[:1])  # the same identity again

    monkeypatch.setattr(Transaction, "add", failing)
    with pytest.raises(StoreError, match="same identity"):
        run(store, release(tmp_path / "data", record(), record("w2")))
    monkeypatch.undo()
    assert all(not nouns for nouns in everything(store).values())


def test_half_characters_survive_in_texts_and_are_refused_in_names(store: Store, tmp_path: Path) -> None:
    run(store, release(tmp_path / "data", record(user_queries=["odd \ud83d half"], level="\ud800")))
    assert store.select(Conversation)[0].turns[0].text == "odd \ud83d half"
    assert store.select(Item)[0].tags["level"] == "\ud800"
    with pytest.raises(InputError, match="cannot be stored"):
        run(store, release(tmp_path / "data", record("w2", model="\ud800")))
    assert (
        run(store, release(tmp_path / "data", record(user_queries=["odd \ud83d half"], level="\ud800"))).already_there
        == 1
    )


def test_annotations_alone_find_their_conversations(store: Store, tmp_path: Path) -> None:
    run(store, release(tmp_path / "data", record()))
    conversation, rater = store.select(Conversation)[0], store.select(Rater)[0]
    path = tmp_path / "more.jsonl"
    given = {"rater": rater.id, "scale": "interaction", "target": {"conversation": conversation.id}, "value": 3}
    path.write_text(json.dumps(given))
    summary = run(store, path)
    assert summary.corrections == 1 and run(store, path).annotations == 0
    for broken, message in (
        ({"scale": "x"}, "'x' is not declared"),
        ({"rater": "x"}, "its rater 'x' is neither"),
        ({"value": 99}, "above 10"),
        ({"target": {"conversation": "c_none"}}, "'c_none' is neither"),
    ):
        path.write_text(json.dumps({**given, **broken}))
        with pytest.raises(InputError, match=message):
            run(store, path)


def test_a_format_may_be_named_and_unknown_ones_are_refused(store: Store, tmp_path: Path) -> None:
    data = release(tmp_path / "data", record())
    assert run(store, data, format="simulatorarena").new == 1
    with pytest.raises(InputError, match="format 'simulatorarean' is not known; did you mean 'simulatorarena'"):
        run(store, data, format="simulatorarean")
    with pytest.raises(InputError, match="no path was given"):
        run(store)
    with pytest.raises(InputError, match="holds no"):
        run(store, data / KNOWLEDGE, format="simulatorarena")


def test_the_summary_says_everything_with_its_n(store: Store, tmp_path: Path) -> None:
    summary = run(store, release(tmp_path / "data", record(user_id="u"), record("w2", overall_rating=4, model="n")))
    text = "\n".join(summary.lines())
    for words in (
        "math_tutoring 2",
        "people      2     assistants 2     items 1",
        "interaction mean 6.00, 4 to 8, n = 2",
        "thumb up 2, n = 2",
        "math_tutoring 2 of 2",
        "dropped     1 × field 'user_id'",
        "licence     MIT",
    ):
        assert words in text
    facts = json.loads(json.dumps(summary.to_dict()))
    assert facts["new"] == 2 and facts["sources"][0]["ratings"]["interaction"] == {
        "n": 2,
        "mean": 6.0,
        "min": 4,
        "max": 8,
    }
    assert facts["next_command"] == "usercal plan"


def test_ten_thousand_rows_take_seconds(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "chats.csv"
    rows = [
        f"c{i // 4},p{i % 97},bot,{'user' if i % 2 == 0 else 'assistant'},text {i},{i // 4 % 5 + 1}"
        for i in range(10_000)
    ]
    rows = [row.replace(f"p{i % 97}", f"p{i // 4 % 97}", 1) for i, row in enumerate(rows)]
    path.write_text("chat,person,model,role,text,rating\n" + "\n".join(rows))
    map_file = tmp_path / "map.toml"
    map_file.write_text(
        'columns = {conversation = "chat", person = "person", assistant = "model", role = "role", text = "text"}\n'
        'constants = {task = "t", item = "i"}\nratings = {rating = "stars"}\n'
        "[scales.stars]\nlevel = 'ordinal'\nminimum = 1\nmaximum = 5\n"
    )
    start = time.perf_counter()
    assert run(store, path, map_file=map_file).new == 2500
    assert run(store, path, map_file=map_file).already_there == 2500
    assert time.perf_counter() - start < 60


@pytest.mark.shared
def test_the_public_subset_twice(store: Store) -> None:
    folder = SHARED / "data" / "simulatorarena"
    if not folder.is_dir():
        pytest.skip("the public subset is not part of the project")
    assert run(store, folder).lines()[0].endswith("101 new, 0 already there")
    before = everything(store)
    assert run(store, folder).lines()[0].endswith("0 new, 101 already there")
    assert everything(store) == before
