"""Damaged and odd files: each works, or is refused in one sentence that names the file and the remedy."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from annotate.errors import InputError, UnknownFormatError
from annotate.importers import detect
from annotate.importers.reading import Decoder, read_json, stream_lines, stream_list


def listed(path: Path) -> list[Any]:
    return list(stream_list(path))


def one_sentence(error: pytest.ExceptionInfo[InputError], path: Path) -> str:
    text = str(error.value)
    assert str(path) in text and "\n" not in text and text.rstrip().endswith(".")
    return text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_list_is_read_in_every_unicode_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(json.dumps([{"a": "é😀"}, {"b": [1.5, None, True]}], ensure_ascii=False).encode(encoding))
    assert listed(path) == [{"a": "é😀"}, {"b": [1.5, None, True]}] == read_json(path)


def test_streaming_gives_what_json_gives_across_windows(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    records = [
        {"text": "x" * size, "n": size, "deep": [[{"k": '\\" ]},['}]]} for size in (0, 1, 65_500, 65_536, 200_000)
    ]
    for indent in (None, 2):
        path.write_text(json.dumps(records, indent=indent))
        assert listed(path) == records


@pytest.mark.parametrize("size", range(65_525, 65_540))
def test_a_number_at_the_edge_of_a_window_is_not_cut(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.json"
    path.write_text("[" + " " * size + "12345, 67]")
    assert listed(path) == [12345, 67]


@pytest.mark.parametrize("size", [0, 65_530, 140_000])
def test_every_cut_of_a_file_is_refused_with_its_line(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.json"
    whole = '[\n {"a": "' + "x" * size + '", "b": [1, 2.5, true]},\n {"c": "\\u00e9"}\n]'
    for end in [*range(len(whole) - 45, len(whole))]:
        path.write_text(whole[:end])
        if not whole[:end].strip():
            continue
        with pytest.raises(InputError, match="cut off") as error:
            listed(path)
        assert "line" in one_sentence(error, path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a": NaN}]', "NaN is not a JSON value"),
        ('[{"a": -Infinity}]', "-Infinity is not a JSON value"),
        ('[{"a": 1e999}]', "1e999 is out of range"),
        ('[{"a": ' + "9" * 5000 + "}]", "5000 digits"),
        ('[{"a": 1, "b": 2, "a": 3}]', "key 'a' stands twice"),
        ('[{"a": 1} {"b": 2}]', "a comma or a bracket is missing"),
        ('[{"a": 1},]', "not valid JSON"),
        ('[{"a": tru3, "b": "' + "x" * 100 + '"}]', "Fix that place"),
        ("[" * 100_000, "nested too deeply|not valid JSON"),
        ('{"a": 1}', "is no list of records"),
    ],
)
def test_what_is_no_strict_json_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as error:
        listed(path)
    one_sentence(error, path)


def test_integers_beyond_64_bits_and_lone_surrogates_survive(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"a": 99999999999999999999999, "b": "\\ud800x"}]')
    assert listed(path) == [{"a": 99999999999999999999999, "b": "\ud800x"}]


def test_bytes_that_are_no_utf8_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'[{"a": "caf\xe9"}]')
    with pytest.raises(InputError, match=r"is not UTF-8 text .* Save the file as UTF-8"):
        listed(path)


def test_lines_end_at_line_feeds_only(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes('\ufeff{"a": "x\u2028y\x85z"}\r\n\n{"a": "w"}'.encode())
    assert list(stream_lines(path)) == [(1, {"a": "x\u2028y\x85z"}), (3, {"a": "w"})]


def test_a_damaged_line_is_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a": \n')
    with pytest.raises(InputError, match=r"a\.jsonl, line 2: not valid JSON") as error:
        list(stream_lines(path))
    assert "line 1" not in str(error.value)
    path.write_text('{"a": 1}\n[1]\n')
    with pytest.raises(InputError, match=r"line 2: is no JSON object"):
        list(stream_lines(path))


def test_the_decoder_refuses_what_stands_behind_a_value() -> None:
    with pytest.raises(InputError, match="extra data"):
        Decoder(Path("a.json")).whole('{"a": 1} {"b": 2}')


# --- which format a path is of ---------------------------------------------------------------------------------------


def test_unknown_things_are_refused_with_the_formats(tmp_path: Path) -> None:
    (tmp_path / "binary.bin").write_bytes(os.urandom(64) + b"\x00\x01")
    (tmp_path / "other.json").write_text('{"info": {"agent": "x"}, "simulations": []}')
    (tmp_path / "list.json").write_text('[{"info": 1}]')
    (tmp_path / "note.txt").write_text("Dear reader,\nthis is a letter.\n")
    (tmp_path / "page.html").write_text("<html><body>a,b\nc,d</body></html>")
    (tmp_path / "folder").mkdir()
    for name in ("binary.bin", "other.json", "list.json", "note.txt", "page.html", "folder"):
        with pytest.raises(UnknownFormatError, match="Known: simulatorarena") as error:
            detect(tmp_path / name)
        assert "jsonl" in one_sentence(error, tmp_path / name)


def test_empty_and_absent_and_special_files(tmp_path: Path) -> None:
    (tmp_path / "empty.json").touch()
    with pytest.raises(UnknownFormatError, match="is empty"):
        detect(tmp_path / "empty.json")
    with pytest.raises(InputError, match="there is no such file"):
        detect(tmp_path / "absent.json")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="neither a file nor a folder"):
        detect(tmp_path / "pipe")


def test_a_damaged_file_is_told_by_its_damage_not_as_unknown(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    path.write_text('[{"workerId": "w", "user_que')
    with pytest.raises(InputError, match=r"not valid JSON.*cut off"):
        detect(path)
    lines = tmp_path / "cut.jsonl"
    lines.write_text('{"conversation": "a", "task": "t", "turns": [{"ro\n')
    with pytest.raises(InputError, match="not valid JSON"):
        detect(lines)
