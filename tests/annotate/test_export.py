"""The export: what comes back is what went out, consent is obeyed, and nothing else in a folder is touched."""

from __future__ import annotations

import csv
import hashlib
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotate.errors import InputError, StoreError
from annotate.export import export_study
from annotate.imports import import_paths
from annotate.schema import (
    Annotation,
    Conversation,
    Criterion,
    DocumentVersion,
    Evidence,
    Item,
    Knowledge,
    Noun,
    Participant,
    Presentation,
    Profile,
    Provenance,
    Rater,
    Scale,
    StyleValue,
    Target,
    ToolCall,
    Turn,
    Usage,
)
from annotate.store import Store

KINDS: tuple[type[Noun], ...] = (Item, Participant, Conversation, Profile, Scale, Rater, Annotation, Criterion)
ALL = ("take_part", "share_deidentified", "share_verbatim")
SECRET = "zebra"  # stands in every text that a person wrote, and nowhere else


def pseudonym(person: str) -> str:
    return "p_" + hashlib.sha256(person.encode()).hexdigest()[:12]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


def everything(store: Store) -> dict[str, dict[str, Noun]]:
    return {
        kind.__name__: {
            str(getattr(noun, "id", None) or getattr(noun, "name", "")): noun for noun in store.select(kind)
        }
        for kind in KINDS
    }


def back(folder: Path, tmp_path: Path, name: str = "back.db") -> dict[str, dict[str, Noun]]:
    with Store.open(f"sqlite:///{tmp_path / name}") as fresh:
        import_paths(fresh, [folder], pseudonym=pseudonym)
        return everything(fresh)


def person(name: str, scopes: tuple[Any, ...]) -> Participant:
    return Participant(
        id=pseudonym(name), kind="human", scopes=scopes, scopes_basis="form", background={"note": SECRET, "years": 3}
    )


def talk(identity: str, name: str, **more: Any) -> Conversation:
    turns = (
        Turn(position=0, role="user", text=f"my {SECRET}"),
        Turn(
            position=1,
            role="assistant",
            text=f"your {SECRET}",
            display=SECRET,
            private=SECRET,
            part="problem_1",
            tool_calls=(ToolCall(name="find", arguments={"q": SECRET}),),
            attachments=(SECRET,),
        ),
    )
    facts: dict[str, Any] = {
        "id": identity,
        "task": "math_tutoring",
        "item": "i_1",
        "participant": pseudonym(name),
        "assistant": "a",
        "origin": "human",
        "turns": turns,
        "documents": (DocumentVersion(version=0, turn=1, text=f"The {SECRET}"),),
        "ended": f"because of the {SECRET}",
        "outcome": {"correct": True, "final_answer": SECRET},
        "survey": {"prewriting": [{"question": "Who?", "answer": SECRET}], "age": 7},
        "tags": {"own_topic": "no"},
        "provenance": Provenance(format="jsonl", file="f", record=identity, trial=identity),
    }
    return Conversation(**{**facts, **more}).completed()


def fill(store: Store, scopes: tuple[Any, ...]) -> None:
    """Store two people: one who shares all, one with the scopes given; each with a twin, ratings and a profile."""
    nouns: list[Noun] = [
        Item(id="i_1", task="math_tutoring", key="m1", inputs={"problem": "1+1"}),
        Item(id="i_own", task="math_tutoring", key="own", inputs={"topic": SECRET}),
        Participant(id="s_1", kind="simulator"),
        person("open", ALL),
        person("other", scopes),
        Rater(id="r_open", kind="human", name=pseudonym("open")),
        Rater(id="r_other", kind="human", name=pseudonym("other")),
        Rater(id="r_model", kind="model", name="judge", model="m"),
        Scale(name="interaction", level="ordinal", minimum=1, maximum=10),
        Scale(name="strengths", level="text"),
        Scale(name="turing", level="nominal", labels=("first", "second"), target="pair"),
    ]
    for name in ("open", "other"):
        nouns += [
            talk(f"c_{name}", name, **({} if name == "open" else {"item": "i_own", "tags": {"own_topic": "yes"}})),
            talk(f"t_{name}", name, origin="simulated", participant="s_1", twin_of=f"c_{name}", strategy="profile"),
            Profile(
                id=f"f_{name}",
                task="math_tutoring",
                conversation=f"c_{name}",
                participant=pseudonym(name),
                knowledge=(Knowledge(concept="sums", state="struggling", turn=0, quote=SECRET),),
                writing=(StyleValue(key="tone", value="dry", quote=SECRET),),
                length_range=(1, 5),
                extractor="x",
            ),
        ]
        for place, (scale, value) in enumerate((("interaction", 8), ("strengths", SECRET))):
            nouns.append(
                Annotation(
                    id=f"a_{name}_{place}",
                    rater=f"r_{name}",
                    scale=scale,
                    value=value,
                    comment=SECRET,
                    target=Target(conversation=f"c_{name}"),
                    evidence=Evidence(turn=0, quote=SECRET),
                )
            )
    nouns.append(
        Annotation(
            id="a_pair",
            rater="r_model",
            scale="turing",
            value="first",
            target=Target(kind="pair", conversation="c_open", other="t_other"),
        )
    )
    with store.begin() as transaction:
        transaction.add(nouns)


def test_a_study_comes_back_as_it_was(store: Store, tmp_path: Path) -> None:
    fill(store, ALL)
    manifest = export_study(store, "jsonl", tmp_path / "out")
    assert back(tmp_path / "out", tmp_path) == everything(store)
    assert manifest["withheld"] == {} and manifest["conversations"] == {"verbatim": 4, "without_text": 0, "left_out": 0}
    for name, facts in manifest["files"].items():
        content = (tmp_path / "out" / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == facts["sha256"] and content.count(b"\n") == facts["records"]
    assert json.loads((tmp_path / "out" / "manifest.json").read_text()) == manifest


def test_an_export_imported_into_its_own_store_is_already_there(store: Store, tmp_path: Path) -> None:
    fill(store, ALL)
    export_study(store, "jsonl", tmp_path / "out")
    before = everything(store)
    summary = import_paths(store, [tmp_path / "out"], pseudonym=pseudonym)
    assert (summary.new, summary.already_there, summary.annotations) == (0, 4, 0) and everything(store) == before


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_without_the_scope_for_words_none_goes_out(store: Store, tmp_path: Path, format: str) -> None:
    fill(store, ("take_part", "share_deidentified"))
    with store.begin() as transaction:  # of the person who shares everything, nothing may hide the other's words
        transaction.put(
            [
                talk("c_open", "open", turns=(), documents=(), ended="user", outcome={}, survey={}),
                talk(
                    "t_open",
                    "open",
                    turns=(),
                    documents=(),
                    ended=None,
                    outcome={},
                    survey={},
                    origin="simulated",
                    participant="s_1",
                    twin_of="c_open",
                ),
                Participant(id=pseudonym("open"), kind="human", scopes=ALL),
                *(
                    a.model_copy(
                        update={"comment": None, "evidence": None, "value": 1 if a.scale != "strengths" else "y"}
                    )
                    for a in store.select(Annotation)
                    if "open" in a.id
                ),
                store.get(Profile, "f_open").model_copy(update={"knowledge": None, "writing": None}),
            ]
        )  # type: ignore[union-attr]
    manifest = export_study(store, format, tmp_path / "out")
    texts = "".join(path.read_text() for path in (tmp_path / "out").iterdir())
    assert SECRET not in texts
    assert manifest["conversations"] == {"verbatim": 2, "without_text": 2, "left_out": 0}
    assert manifest["withheld"]["texts"] > 10
    if format == "jsonl":
        lines = [json.loads(line) for line in (tmp_path / "out" / "conversations.jsonl").read_text().splitlines()]
        hidden = next(line for line in lines if line["id"] == "c_other")
        assert hidden["withheld"] and [turn["text"] for turn in hidden["turns"]] == [None, None]
        assert hidden["outcome"] == {"correct": True, "final_answer": None} and hidden["survey"]["age"] == 7
        assert "content_hash" not in hidden and "provenance" not in hidden
        ratings = [json.loads(line) for line in (tmp_path / "out" / "annotations.jsonl").read_text().splitlines()]
        assert {a["id"]: a.get("value") for a in ratings}["a_other_0"] == 8


def test_what_was_withheld_comes_back_as_missing_turns(store: Store, tmp_path: Path) -> None:
    fill(store, ("take_part", "share_deidentified"))
    export_study(store, "jsonl", tmp_path / "out")
    found = back(tmp_path / "out", tmp_path)
    hidden = found["Conversation"]["c_other"]
    assert isinstance(hidden, Conversation)
    assert [(t.text, t.missing) for t in hidden.turns] == [("", True)] * 2 and hidden.documents == ()
    assert "a_other_0" in found["Annotation"] and "a_other_1" not in found["Annotation"]
    with Store.open(f"sqlite:///{tmp_path / 'back.db'}") as fresh:
        assert import_paths(fresh, [tmp_path / "out"], pseudonym=pseudonym).already_there == 4


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_with_neither_scope_a_person_is_left_out_and_counted(store: Store, tmp_path: Path, format: str) -> None:
    fill(store, ("take_part",))
    manifest = export_study(store, format, tmp_path / "out")
    assert manifest["conversations"] == {"verbatim": 2, "without_text": 0, "left_out": 2}
    assert manifest["withheld"] == {
        "participants_left_out": 1,
        "raters_left_out": 1,
        "items_left_out": 1,
        "conversations_left_out": 2,
        "profiles_left_out": 1,
        "annotations_left_out": 3,
    }
    content = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    assert pseudonym("other").encode() not in content and b"c_other" not in content
    if format == "jsonl":
        assert set(back(tmp_path / "out", tmp_path)["Conversation"]) == {"c_open", "t_open"}


def test_all_texts_can_be_withheld_on_request(store: Store, tmp_path: Path) -> None:
    fill(store, ALL)
    manifest = export_study(store, "jsonl", tmp_path / "out", share="deidentified")
    assert manifest["conversations"] == {"verbatim": 0, "without_text": 4, "left_out": 0}
    assert SECRET not in "".join(path.read_text() for path in (tmp_path / "out").iterdir())


def test_a_topic_that_is_also_in_the_bank_is_no_secret(store: Store, tmp_path: Path) -> None:
    fill(store, ("take_part",))
    with store.begin() as transaction:
        transaction.add([talk("c_bank", "open", item="i_own")])
    assert "items_left_out" not in export_study(store, "jsonl", tmp_path / "out")["withheld"]


# --- tables ----------------------------------------------------------------------------------------------------------


def test_csv_keeps_texts_intact_and_replaces_half_characters(store: Store, tmp_path: Path) -> None:
    fill(store, ALL)
    text = '=HYPERLINK("x"),\r\n"quoted"\n\ttab \ud800 half'
    with store.begin() as transaction:
        transaction.add([talk("c_odd", "open", turns=(Turn(position=0, role="user", text=text),))])
    manifest = export_study(store, "csv", tmp_path / "out")
    with (tmp_path / "out" / "turns.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["conversation"] == "c_odd"]
    assert [row["text"] for row in rows] == [text.replace("\ud800", "\ufffd")] and rows[0]["missing"] == "false"
    assert manifest["withheld"] == {"characters_replaced": 1}
    assert manifest["files"]["turns.csv"]["records"] == 9


def test_parquet_has_typed_columns(store: Store, tmp_path: Path) -> None:
    import pandas as pd

    fill(store, ALL)
    export_study(store, "parquet", tmp_path / "out")
    ratings = pd.read_parquet(tmp_path / "out" / "annotations.parquet")
    assert ratings.loc[ratings["scale"] == "interaction", "number"].tolist() == [8.0, 8.0]
    turns = pd.read_parquet(tmp_path / "out" / "turns.parquet")
    assert turns["position"].dtype == "int64" and turns["missing"].dtype == bool and turns["words"].tolist() == [2] * 8


def test_csv_and_jsonl_hold_the_same_records(store: Store, tmp_path: Path) -> None:
    fill(store, ALL)
    lines, rows = (export_study(store, form, tmp_path / form)["files"] for form in ("jsonl", "csv"))
    for name, facts in lines.items():
        assert rows[name.replace(".jsonl", ".csv")]["records"] == facts["records"]


# --- the folder ------------------------------------------------------------------------------------------------------


def test_a_folder_with_something_else_in_it_is_refused_and_left_alone(store: Store, tmp_path: Path) -> None:
    fill(store, ALL)
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("ten years")
    (out / "items.jsonl").write_text("old")
    with pytest.raises(InputError, match="is not empty and no earlier export"):
        export_study(store, "jsonl", out)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["out"]
    export_study(store, "jsonl", out, force=True)
    assert (out / "thesis.txt").read_text() == "ten years" and (out / "items.jsonl").read_text() != "old"
    export_study(store, "csv", out)  # an earlier export is replaced, the rest stays
    assert not (out / "items.jsonl").exists() and (out / "thesis.txt").exists() and (out / "items.csv").exists()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file"):
        export_study(store, "jsonl", tmp_path / "file")


def test_an_earlier_export_is_replaced_whole(store: Store, tmp_path: Path) -> None:
    fill(store, ALL)
    (tmp_path / "deep").mkdir()
    for format in ("csv", "jsonl"):
        export_study(store, format, tmp_path / "deep" / "new" / "out")
    assert all(path.suffix in (".jsonl", ".json") for path in (tmp_path / "deep" / "new" / "out").iterdir())
    assert [path.name for path in (tmp_path / "deep" / "new").iterdir()] == ["out"]


def test_a_failure_half_way_leaves_nothing(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store, ALL)
    from annotate.export_files import JsonlWriter

    def full(self: JsonlWriter, kind: str, line: dict[str, Any]) -> None:
        if kind == "conversations":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(JsonlWriter, "write", full)
    with pytest.raises(InputError, match=r"No space left on device.*nothing was left"):
        export_study(store, "jsonl", tmp_path / "out")
    assert not (tmp_path / "out").exists() and not list(tmp_path.glob(".out*"))


def test_counts_that_do_not_add_up_stop_the_export(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store, ALL)
    count = store.count
    monkeypatch.setattr(store, "count", lambda kind, **f: count(kind, **f) + (kind is Annotation))
    with pytest.raises(StoreError, match="holds 6 annotations, and 5 were read"):
        export_study(store, "jsonl", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_unknown_format_is_refused(store: Store, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'parket' cannot be exported; did you mean 'parquet'"):
        export_study(store, "parket", tmp_path / "out")


# --- any study -------------------------------------------------------------------------------------------------------

TEXT = st.text(st.characters(codec=None), max_size=12)  # lone surrogates too
NAME = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=8).filter(str.strip)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
MOMENT = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
ROLE = st.sampled_from(["user", "assistant", "system", "tool"])


@st.composite
def turns(draw: st.DrawFn) -> tuple[Turn, ...]:
    return tuple(
        Turn(
            position=position,
            role=draw(ROLE),
            text=draw(TEXT),
            display=draw(st.none() | TEXT),
            missing=draw(st.booleans()),
            part=draw(st.none() | NAME),
            attachments=tuple(draw(st.lists(TEXT, max_size=1))),
            seconds=draw(st.none() | st.just(1.5)),
            tool_calls=tuple(
                draw(
                    st.lists(
                        st.builds(ToolCall, name=NAME, arguments=st.dictionaries(NAME, JSON, max_size=2)), max_size=1
                    )
                )
            ),
            usage=draw(st.none() | st.builds(Usage, prompt_tokens=st.integers(0, 9))),
            created_at=draw(st.none() | MOMENT),
        )
        for position in range(draw(st.integers(0, 4)))
    )


@st.composite
def studies(draw: st.DrawFn) -> list[Noun]:
    nouns: list[Noun] = [
        Item(id="i_1", task="t", key=draw(NAME), inputs=draw(st.dictionaries(TEXT, JSON, max_size=2))),
        Participant(id="p_0123456789ab", kind="human", scopes=ALL),
        Participant(id="s", kind="simulator"),
        Rater(id="r", kind="human", name="p_0123456789ab"),
        Scale(name="n", level="interval"),
        Scale(name="w", level="text"),
        Criterion(id="k", family="f", mode="m", text=draw(TEXT), source="tools", span=""),
    ]
    for number in range(draw(st.integers(0, 3))):
        human = draw(st.booleans())
        said = draw(turns())
        facts: dict[str, Any] = {
            "participant": "p_0123456789ab" if human else "s",
            "origin": "human" if human else "simulated",
        }
        nouns.append(
            Conversation(
                id=f"c{number}",
                task="t",
                item="i_1",
                assistant=draw(NAME),
                turns=said,
                ended=draw(st.none() | TEXT),
                outcome=draw(st.dictionaries(TEXT, JSON, max_size=2)),
                survey=draw(st.dictionaries(TEXT, JSON, max_size=2)),
                documents=tuple(
                    DocumentVersion(version=i, turn=i - 1, text=draw(TEXT), changed=draw(st.booleans()))
                    for i in range(draw(st.integers(0, len(said))))
                ),
                provenance=draw(
                    st.none()
                    | st.builds(Provenance, format=st.just("x"), file=TEXT, record=TEXT, trial=st.just(str(number)))
                ),
                content_hash=draw(st.none() | st.just(f"h{number}")),
                created_at=draw(MOMENT),
                cost_usd=draw(st.none() | st.just(0.25)),
                **facts,
            )
        )
        for place, (scale, value) in enumerate(
            draw(
                st.lists(
                    st.tuples(
                        st.just("n"),
                        st.integers().filter(lambda n: abs(n) < 10**200)
                        | st.floats(allow_nan=False, allow_infinity=False),
                    )
                    | st.tuples(st.just("w"), TEXT),
                    max_size=3,
                )
            )
        ):
            nouns.append(
                Annotation(
                    id=f"a{number}{place}",
                    rater="r",
                    scale=scale,
                    value=value,
                    comment=draw(st.none() | TEXT),
                    target=Target(conversation=f"c{number}"),
                    created_at=draw(MOMENT),
                    presentation=draw(st.none() | st.just(Presentation(position=2))),
                    supersedes=f"a{number}{place - 1}" if place and draw(st.booleans()) else None,
                )
            )
    return nouns


def test_what_is_at_its_default_comes_back_at_its_default(store: Store, tmp_path: Path) -> None:
    fill(store, ALL)
    versions = tuple(DocumentVersion(version=i, turn=1, text="") for i in range(2))  # changed, though it says the same
    profile = store.select(Profile)[0]
    with store.begin() as transaction:
        transaction.add(
            [talk("c_same", "open", documents=versions), profile.model_copy(update={"id": "f_again", "writing": None})]
        )
    export_study(store, "jsonl", tmp_path / "out")
    assert back(tmp_path / "out", tmp_path) == everything(store)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(nouns=studies())
def test_any_study_comes_back_equal(tmp_path_factory: pytest.TempPathFactory, nouns: list[Noun]) -> None:
    folder = tmp_path_factory.mktemp("study")
    with Store.open(f"sqlite:///{folder / 'store.db'}") as store:
        with store.begin() as transaction:
            transaction.add(nouns)
        export_study(store, "jsonl", folder / "out")
        assert back(folder / "out", folder) == everything(store)


def test_a_large_study_is_written_in_seconds_with_little_memory(store: Store, tmp_path: Path) -> None:
    import tracemalloc

    chance = random.Random(3)
    words = ["plan", "table", "river", "seven"]
    nouns: list[Noun] = [
        Item(id="i_1", task="math_tutoring", key="m1"),
        person("open", ALL),
        Participant(id="s_1", kind="simulator"),
    ]
    for number in range(3000):
        said = tuple(Turn(position=i, role="user", text=" ".join(chance.choices(words, k=100))) for i in range(10))
        nouns.append(talk(f"c_{number}", "open", turns=said))
    with store.begin() as transaction:
        transaction.add(nouns)
    del nouns
    tracemalloc.start()
    manifest = export_study(store, "jsonl", tmp_path / "out")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    size = manifest["files"]["conversations.jsonl"]["bytes"]
    assert size > 15_000_000 and peak < size
