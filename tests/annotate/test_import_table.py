"""Tables: CSV, JSON Lines and Parquet through a mapping file; encodings, roles, ratings, faults by their row."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

from annotate.errors import ConfigError, InputError
from annotate.importers import Batch, NeedsMap, Options, by_name, detect
from annotate.importers.mapping import check_columns, load_map

LONG = """
[columns]
conversation = "chat"
person = "who"
assistant = "model"
turn = "n"
role = "speaker"
text = "said"
[constants]
task = "support"
item = "refund"
[roles]
Kunde = "user"
[ratings]
score = "quality"
liked = "thumb"
[scales.quality]
level = "ordinal"
minimum = 1
maximum = 5
[scales.thumb]
level = "nominal"
target = "turn"
labels = ["up", "down"]
[tags]
region = "land"
"""
HEADER = ["chat", "who", "model", "n", "speaker", "said", "score", "liked", "land"]
ROWS: list[list[Any]] = [
    ["c1", "anna", "a", 2, "BOT", "Grüße, wie geht’s?", "", "up", "de"],
    ["c1", "anna", "a", 1, "Kunde", 'Hallo, "ja"\nzweite Zeile', 4, "", "de"],
    ["c2", "ben", "b", 1, "user", "=SUM(A1)", 2, "", "fr"],
    ["c1", "anna", "a", 10, "Kunde", "danke", 4, "", "de"],
    ["c2", "ben", "b", 2, "assistant", "", 2, "down", "fr"],
]


def pseudonym(person: str) -> str:
    return "p_" + hashlib.sha256(person.encode()).hexdigest()[:12]


def as_csv(rows: list[list[Any]], header: list[str] = HEADER, delimiter: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows([header, *rows])
    return text.getvalue()


def read(path: Path, mapping: str | None = LONG, name: str = "table") -> Batch:
    importer = detect(path)
    assert importer.name == name
    map_file = None
    if mapping is not None:
        map_file = path.with_name("map.toml")
        map_file.write_text(mapping, "utf-8")
    return importer.read([path], pseudonym, Options(map_file=map_file))


def told(batch: Batch) -> list[Any]:
    return [
        (c.assistant, c.tags, [(t.position, t.role, t.text, t.missing) for t in c.turns]) for c in batch.conversations
    ]


EXPECTED = [
    (
        "a",
        {"region": "de"},
        [
            (0, "user", 'Hallo, "ja"\nzweite Zeile', False),
            (1, "assistant", "Grüße, wie geht’s?", False),
            (2, "user", "danke", False),
        ],
    ),
    ("b", {"region": "fr"}, [(0, "user", "=SUM(A1)", False), (1, "assistant", "", False)]),
]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_long_csv_in_every_encoding(tmp_path: Path, encoding: str, delimiter: str) -> None:
    path = tmp_path / "chats.csv"
    path.write_bytes(as_csv(ROWS, delimiter=delimiter).encode(encoding))
    batch = read(path)
    assert told(batch) == EXPECTED
    warned = [text for (kind, text) in batch.notes if kind == "warning"]
    assert any("Windows-1252" in text for text in warned) == (encoding == "cp1252")
    assert [(a.scale, a.value, a.target.turn) for a in batch.annotations] == [
        ("quality", 4, None),
        ("thumb", "up", 1),
        ("quality", 2, None),
        ("thumb", "down", 1),
    ]
    assert {p.id for p in batch.participants} == {pseudonym("anna"), pseudonym("ben")} and "anna" not in repr(batch)
    assert {(i.task, i.key) for i in batch.items} == {("support", "refund")}


def test_a_delimiter_that_no_first_line_tells_stands_in_the_map(tmp_path: Path) -> None:
    path = tmp_path / "chats.csv"
    path.write_text(as_csv(ROWS, [*HEADER[:-1], "land,code"], delimiter="^"))
    mapping = 'delimiter = "^"\n' + LONG.replace('"land"', '"land,code"')
    path.with_name("map.toml").write_text(mapping)
    batch = by_name("table").read([path], pseudonym, Options(map_file=path.with_name("map.toml")))
    assert told(batch) == EXPECTED


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_long_jsonl_and_parquet(tmp_path: Path, form: str) -> None:
    rows = [{name: None if value == "" else value for name, value in zip(HEADER, row, strict=True)} for row in ROWS]
    path = tmp_path / f"chats.{form}"
    if form == "jsonl":
        path.write_text("\n".join(json.dumps(row) for row in rows))
    else:
        import pandas as pd

        pd.DataFrame(rows).to_parquet(path)
    batch = read(path)
    expected = [EXPECTED[0], ("b", {"region": "fr"}, [EXPECTED[1][2][0], (1, "assistant", "", True)])]
    assert told(batch) == expected
    assert batch.notes["repaired", "empty replies or texts: kept as turns that are missing"] == 1


WIDE = """
columns = {conversation = "id", person = "id", item = "topic", user = "q", reply = "a"}
constants = {task = "t", assistant = "bot"}
"""


def test_wide_rows_are_a_message_and_its_reply(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text(
        as_csv(
            [["1", "x", "hi", "hello"], ["1", "x", "more", ""], ["2", "y", "", "welcome"], ["2", "y", "", ""]],
            ["id", "topic", "q", "a"],
        )
    )
    assert told(read(path, WIDE)) == [
        (
            "bot",
            {},
            [
                (0, "user", "hi", False),
                (1, "assistant", "hello", False),
                (2, "user", "more", False),
                (3, "assistant", "", True),
            ],
        ),
        ("bot", {}, [(0, "assistant", "welcome", False)]),
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({6: 7}, r"line 6: scale 'quality': value 7 is above 5. Fix the export, or widen the scale"),
        ({6: "good"}, r"line 6: scale 'quality': 'good' is not a number"),
        ({6: 1}, r"line 6: 'quality' is 1 here and 4 in an earlier row"),
        ({4: "Agent 7"}, r"line 6: role 'Agent 7' is none of user, assistant, system, tool. Say in \[roles\]"),
        ({1: "ben"}, r"line 6: conversation 'c1' has person 'ben' here and 'anna' in line 2"),
        ({0: " "}, r"line 6: column 'chat' \(conversation\) is empty"),
        ({3: ""}, r"has no turn number"),
        ({7: "up"}, r"line 6: scale 'thumb' rates a turn, and this row has no reply"),
        ({8: "us"}, r"line 6: 'region' is 'us' here and 'de'"),
    ],
)
def test_what_is_wrong_is_told_by_its_row(tmp_path: Path, row: dict[int, Any], message: str) -> None:
    rows = [
        ["c1", "anna", "a", 2, "bot", "x", "", "", "de"],
        ["c1", "anna", "a", 1, "Kunde", "y\nz", 4, "", "de"],
        ["c1", "anna", "a", 3, "Kunde", "w", "", "", "de"],
    ]
    for place, value in row.items():
        rows[2][place] = value
    path = tmp_path / "chats.csv"
    # The second record spans two lines, and a blank line is no row: the third is on line 6.
    path.write_text(as_csv(rows[:2]) + "\n" + as_csv([], [str(cell) for cell in rows[2]]))
    with pytest.raises(InputError, match=message) as error:
        read(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3,4,5\n", r"line 3: has 3 cells, the first line has 2"),
        ('a,b\n1,2\n"3,4\n', r"line 3: is no valid CSV"),
        ("a,a\n1,2\n", r"column 'a' stands twice"),
    ],
)
def test_a_broken_csv_is_told_by_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    mapping = (
        'columns = {conversation = "a", user = "a", reply = "b"}\n'
        'constants = {task = "t", person = "p", item = "i", assistant = "s"}'
    )
    with pytest.raises(InputError, match=message):
        read(path, mapping)


def test_a_broken_parquet_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1 and then nothing of the kind PAR1")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read(path)


def test_long_texts_and_numbers_as_texts(tmp_path: Path) -> None:
    rows = [
        ["c1", "anna", "a", "10", "user", "x" * 400_000, " 4.0 ", "", "de"],
        ["c1", "anna", "a", "9", "user", "first", "", "", "de"],
    ]
    path = tmp_path / "chats.csv"
    path.write_text(as_csv(rows))
    batch = read(path)
    assert [t.words for t in batch.conversations[0].turns] == [1, 1] and batch.conversations[0].turns[0].text == "first"
    assert [a.value for a in batch.annotations] == [4]


# --- the guess and the mapping file ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [
        ["chat_id", "worker_id", "task_id", "model", "turn", "role", "content", "rating"],
        ["Conversation ID", "User ID", "Topic", "Model Name", "Turn Index", "Speaker", "Message", "overall score"],
    ],
)
def test_without_a_map_a_guess_is_given_that_works(tmp_path: Path, header: list[str]) -> None:
    path = tmp_path / "chats.csv"
    path.write_text(
        as_csv([["1", "w", "t", "m", 1, "user", "hi", 3], ["1", "w", "t", "m", 2, "assistant", "yo", 3]], header)
    )
    with pytest.raises(NeedsMap) as error:
        read(path, None)
    assert "--map" in str(error.value) and "[columns]" in error.value.guess and error.value.guess in str(error.value)
    batch = read(path, error.value.guess)
    assert [t.text for t in batch.conversations[0].turns] == ["hi", "yo"]
    assert [(a.scale, a.value) for a in batch.annotations] == [(header[-1], 3)]
    assert [(s.minimum, s.maximum) for s in batch.scales] == [(1, 3)]


def test_the_guess_for_a_wide_table_says_what_it_does_not_know(tmp_path: Path) -> None:
    path = tmp_path / "chats.csv"
    path.write_text(as_csv([["hi", "hello", "b"]], ["prompt", "response", 'odd "name"']))
    with pytest.raises(NeedsMap) as error:
        read(path, None)
    guess = error.value.guess
    assert 'user = "prompt"' in guess and 'reply = "response"' in guess and 'conversation = "?"' in guess
    map_file = tmp_path / "map.toml"
    map_file.write_text(guess)
    with pytest.raises(ConfigError, match=r"has no column '\?'"):
        check_columns(load_map(map_file), ["prompt", "response", 'odd "name"'], map_file)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("[columns]\nconversation = 'chat'\nrole = 'speaker'\n", "Give one of the two pairs"),
        ("[columns]\nconversation = 'chat'\nuser = 'said'\n", "needs both 'user' and 'reply'"),
        (LONG.replace('person = "who"', ""), "'person' is needed once"),
        (LONG.replace('task = "support"', 'task = "support"\nperson = "x"'), "'person' is needed once"),
        (LONG.replace('"speaker"', '"speker"'), "no column 'speker'; did you mean 'speaker'"),
        (LONG.replace("[columns]", "[colums]"), "unknown key 'colums'; did you mean 'columns'"),
        (LONG.replace('Kunde = "user"', 'Kunde = "client"'), "roles.Kunde"),
        (LONG.replace("[scales.quality]", "[scales.other]"), "rates on 'quality', which is not declared"),
        ("[columns\n", "not valid TOML"),
    ],
)
def test_a_wrong_mapping_file_is_told_by_its_key(tmp_path: Path, mapping: str, message: str) -> None:
    path = tmp_path / "chats.csv"
    path.write_text(as_csv(ROWS))
    with pytest.raises((ConfigError, InputError), match=message):
        read(path, mapping)
