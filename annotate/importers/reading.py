"""Read text, JSON and JSON Lines strictly: a fault of a file is one sentence with the place and the remedy."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Protocol, TextIO, TypeVar

from pydantic import BaseModel, ValidationError

from annotate.config import UNION_STEPS
from annotate.errors import InputError, nearest

Model = TypeVar("Model", bound=BaseModel)
FIRST_LINE = 1 << 22
"""How many bytes are read to see what the first line of a file is."""

_SPACE = " \t\r\n"
_CHUNK = 1 << 16
_WIDE = 1 << 22  # characters that are decoded from at once where a file is streamed for speed
_LARGE = 1 << 25  # bytes; a larger file is not read at once only to see what is wrong with it
_NEAR = 16  # a value that is cut off fails this near to the end of what was read, or is an open string
_BOMS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_DIGITS = 300  # a longer integer is no finite float
_DEEPEST = 100  # brackets in brackets; what is deeper no program writes, and a store could not read it back
_CUT = "It looks cut off: fetch or export it again."


def head(path: Path, size: int = _CHUNK) -> bytes:
    """Return the first bytes of a file."""
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: OSError) -> InputError:
    """Return the error for a file that the system does not give."""
    return InputError(f"{path}: cannot be read ({error.strerror}). Check the path and its permissions.")


def encoding_of(start: bytes) -> str:
    """Return the encoding that a byte order mark states, else UTF-8."""
    return next((name for mark, name in _BOMS if start.startswith(mark)), "utf-8")


def head_text(path: Path, size: int = _CHUNK) -> str:
    """Return the beginning of a file as text; empty where it is binary or of no known encoding."""
    start = head(path, size)
    try:
        # A cut in the middle of a character is no fault of the file.
        text = start.decode(encoding_of(start), "replace")
    except UnicodeError:
        return ""
    return "" if "\x00" in text else text.lstrip("\ufeff")


@contextmanager
def opened(path: Path, encoding: str | None = None, newline: str = "\n") -> Iterator[TextIO]:
    """Open a text file with the encoding of its byte order mark; bad bytes become an `InputError`."""
    name = encoding or encoding_of(head(path, 4))
    try:
        with path.open("r", encoding=name, newline=newline) as file:
            yield file
    except UnicodeError as error:
        place = f"byte {error.start}" if isinstance(error, UnicodeDecodeError) else "at its start"
        raise InputError(
            f"{path}: is not {name.upper().removesuffix('-SIG')} text ({place}). Save the file as UTF-8."
        ) from None
    except OSError as error:
        raise unreadable(path, error) from None


class Decoder:
    """A strict JSON decoder for one file: no NaN, no infinity, no repeated key, no number out of range."""

    def __init__(self, path: Path) -> None:
        self.where = str(path)
        self._json = json.JSONDecoder(
            object_pairs_hook=self._object, parse_constant=self._constant, parse_float=self._float, parse_int=self._int
        )

    def whole(self, text: str) -> Any:
        """Decode a text that holds one value and nothing else."""
        return self._guarded(lambda: self._json.decode(text), text)

    def next(self, text: str, start: int) -> tuple[Any, int]:
        """Decode the value at `start`; return it and the place after it; `JSONDecodeError` where it is not complete."""
        found: tuple[Any, int] = self._guarded(lambda: self._json.raw_decode(text, start), None)
        return found

    def fail(self, error: json.JSONDecodeError, cut: bool) -> NoReturn:
        """Raise the sentence for text that is no JSON."""
        place = self.where if error.lineno == 1 and "line" in self.where else f"{self.where}, line {error.lineno}"
        remedy = _CUT if cut else "Fix that place, or export the file again."
        raise InputError(f"{place}: not valid JSON: {error.msg.lower()} (column {error.colno}). {remedy}") from None

    def _guarded(self, decode: Any, text: str | None) -> Any:
        try:
            value = decode()
        except json.JSONDecodeError as error:
            if text is None:
                raise
            self.fail(error, _ends_early(text, error.pos, error.msg))
        except RecursionError:
            raise self._too_deep() from None
        if _deeper(value[0] if text is None else value, _DEEPEST):
            raise self._too_deep()
        return value

    def _too_deep(self) -> InputError:
        return InputError(
            f"{self.where}: is nested too deeply to be read (over {_DEEPEST} brackets in each other). Export it again."
        )

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise InputError(
                f"{self.where}: key {twice!r} stands twice in one object, so its value is not known. "
                "Remove one of the two."
            )
        return found

    def _constant(self, name: str) -> NoReturn:
        raise InputError(f"{self.where}: {name} is not a JSON value. Write null, or a number.")

    def _float(self, digits: str) -> float:
        value = float(digits)
        if not math.isfinite(value):
            raise InputError(f"{self.where}: the number {digits[:40]} is out of range. Write a smaller number.")
        return value

    def _int(self, digits: str) -> int:
        if len(digits) > _DIGITS:
            raise InputError(
                f"{self.where}: a number of {len(digits)} digits is out of range. Write a smaller number, or a text."
            )
        return int(digits)


class TolerantDecoder:
    """A fast JSON decoder for large files that programs wrote: nothing is called for an object or a number.

    NaN and Infinity become None and are counted in `unknown_numbers`; a number that is too large for a float becomes
    infinity, which whoever takes a number has to look for. Integers keep all their digits, lone surrogates stay, and
    of a key that stands twice in one object the last value counts, as in every reader that such files are made for.
    """

    def __init__(self, path: Path) -> None:
        self.where = str(path)
        self.unknown_numbers = 0
        self._json = json.JSONDecoder(parse_constant=self._constant)

    def next(self, text: str, start: int) -> tuple[Any, int]:
        """Decode the value at `start`; return it and the place after it; `JSONDecodeError` where it is not complete."""
        try:
            return self._json.raw_decode(text, start)
        except json.JSONDecodeError:
            raise
        except RecursionError:
            raise InputError(f"{self.where}: is nested too deeply to be read. Export it again.") from None
        except ValueError:  # Python turns no integer of more than some thousand digits into a number
            raise InputError(
                f"{self.where}: a number has too many digits. Write a smaller number, or a text."
            ) from None

    def _constant(self, name: str) -> None:
        self.unknown_numbers += 1


class _Decodes(Protocol):
    where: str

    def next(self, text: str, start: int) -> tuple[Any, int]: ...


def _deeper(value: Any, most: int) -> bool:
    """Whether lists and objects stand in each other more than `most` deep."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return most < 0 or any(isinstance(part, (dict, list)) and _deeper(part, most - 1) for part in parts)


def _ends_early(text: str, at: int, message: str) -> bool:
    """Whether the fault at a place looks like the end of a text that was cut off."""
    end = text.rstrip()
    return at >= len(end) or "nterminated" in message or (at > 0 and len(end) - at < _NEAR and end[-1] not in "]}")


def read_json(path: Path) -> Any:
    """Return the JSON value of a whole file."""
    with opened(path) as file:
        text = file.read()
    if not text.strip():
        raise InputError(f"{path}: is empty. Check the export that wrote it.")
    return Decoder(path).whole(text)


def stream_list(path: Path) -> Iterator[Any]:
    """Yield the elements of a file that holds one JSON list, one at a time: memory holds one element, not the file."""
    decoder = Decoder(path)
    with opened(path) as file:
        window = _Window(file)
        if window.skip() != "[":
            raise InputError(f"{path}: is no list of records. Give the file as it was released.")
        for piece in _elements(window, decoder, ""):
            yield piece.value


class Piece(NamedTuple):
    """A part of a file that is streamed: a member of the object that it holds, or an element of a list.

    `name` is the member's, empty where the file holds a list. `place` is the element's place in a list, `BEGIN` where
    a list that is streamed begins (it may be empty), None for a member that came whole.
    """

    name: str
    place: int | None
    value: Any


BEGIN = -1


def stream_pieces(
    path: Path,
    decoder: _Decodes,
    lists: Callable[[str], bool] | Collection[str] = (),
    *,
    on_read: Callable[[int], None] | None = None,
    chunk: int = _WIDE,
) -> Iterator[Piece]:
    """Yield the members of a file that holds one JSON object, or the elements of one list, in the file's order.

    Of the members that `lists` names, those that are lists come element by element, so that memory holds one element.
    `on_read` is told how many bytes were read so far. Raises `InputError` for a file that is cut off or no JSON, at
    the place where that is seen, and for a member of the object that stands twice.
    """
    streamed = lists if callable(lists) else lists.__contains__
    with opened(path) as file:
        window = _Window(file, chunk, on_read)
        mark = window.skip()
        if mark == "[":
            yield Piece("", BEGIN, None)
            yield from _elements(window, decoder, "")
        elif mark == "{":
            yield from _members(window, decoder, streamed)
        else:
            raise InputError(f"{path}: is neither a JSON object nor a list. Give the file as it was written.")
        if window.skip():
            window.complain(decoder, "something stands after the end")


def _members(window: _Window, decoder: _Decodes, streamed: Callable[[str], bool]) -> Iterator[Piece]:
    """Yield the members of the object that begins here."""
    seen: set[str] = set()
    window.place += 1
    if window.skip() == "}":
        window.place += 1
        return
    while True:
        if (mark := window.skip()) != '"':
            window.complain(decoder, f"a key is missing before {mark!r}" if mark else "it ends")
        name = str(window.value(decoder))
        if name in seen:
            raise InputError(
                f"{decoder.where}: key {name!r} stands twice in one object, so its value is not known. "
                "Remove one of the two."
            )
        seen.add(name)
        if (mark := window.skip()) != ":":
            window.complain(decoder, f"a colon is missing before {mark!r}" if mark else "it ends")
        window.place += 1
        if window.skip() == "[" and streamed(name):
            yield Piece(name, BEGIN, None)
            yield from _elements(window, decoder, name)
        else:
            yield Piece(name, None, window.value(decoder))
        if window.between(decoder, "}"):
            return


def _elements(window: _Window, decoder: _Decodes, name: str) -> Iterator[Piece]:
    """Yield the elements of the list that begins here."""
    window.place += 1
    if window.skip() == "]":
        window.place += 1
        return
    index = 0
    while True:
        yield Piece(name, index, window.value(decoder))
        index += 1
        if window.between(decoder, "]"):
            return


class _Window:
    """The part of a file that is being decoded."""

    def __init__(self, file: TextIO, chunk: int = _CHUNK, on_read: Callable[[int], None] | None = None) -> None:
        self._file, self._text, self.place, self._lines = file, "", 0, 1
        self._chunk, self._on_read = chunk, on_read

    def between(self, decoder: _Decodes, end: str) -> bool:
        """Go past the comma or the bracket that follows a value; return whether it was the bracket `end`."""
        mark = self.skip()
        self.place += 1
        if mark == end:
            return True
        if mark != ",":
            self.complain(decoder, f"a comma or a bracket is missing before {mark!r}" if mark else "it ends")
        self.skip()
        return False

    def skip(self) -> str:
        """Go to the next character that is no white space and return it; empty at the end."""
        while True:
            while self.place < len(self._text):
                if self._text[self.place] not in _SPACE + "\ufeff":
                    return self._text[self.place]
                self.place += 1
            if not self._more(self._chunk):
                return ""

    def value(self, decoder: _Decodes) -> Any:
        """Decode the value here; read on, twice as much each time, until it is complete."""
        size = self._chunk
        while True:
            try:
                value, end = decoder.next(self._text, self.place)
            except json.JSONDecodeError as error:
                near_end = len(self._text[error.pos :].strip(_SPACE)) < _NEAR or "Unterminated" in error.msg
                if not near_end or not self._more(size):
                    self.complain(decoder, error.msg.lower(), error.pos)
                size *= 2
                continue
            # A number at the very end of the window may go on.
            if end < len(self._text) or not self._more(self._chunk):
                self.place = end
                return value

    def complain(self, decoder: _Decodes, message: str, position: int | None = None) -> NoReturn:
        """Raise the sentence for text that is no JSON."""
        at = self.place if position is None else position
        line = self._lines + self._text.count("\n", 0, at)
        cut = _ends_early(self._text, at, message) and not self._more(1)
        remedy = _CUT if cut else "Fix that place, or export the file again."
        raise InputError(f"{decoder.where}, line {line}: not valid JSON: {message}. {remedy}")

    def _more(self, size: int) -> bool:
        read = self._file.read(size)
        if read:
            if self._on_read is not None:
                self._on_read(self._file.buffer.tell())
            self._lines += self._text.count("\n", 0, self.place)
            self._text, self.place = self._text[self.place :] + read, 0
        return bool(read)


def stream_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) of a JSON Lines file; blank lines are passed over."""
    with opened(path) as file:
        decoder = Decoder(path)
        # Only \n ends a line: a text may hold other line separators.
        for number, line in enumerate(file, 1):
            if not line.strip(_SPACE + "\ufeff"):
                continue
            decoder.where = f"{path}, line {number}"
            value = decoder.whole(line.strip(_SPACE + "\ufeff"))
            if not isinstance(value, dict):
                raise InputError(f"{path}, line {number}: is no JSON object. Write one object in each line.")
            yield number, value


def checked(kind: type[Model], raw: Any, where: str) -> Model:
    """Return `raw` as a model; the first fault becomes a sentence with the key and what is allowed."""
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        problems = sorted(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
        alike = [problem for problem in problems if problem["loc"][:-1] == problems[0]["loc"][:-1]]
        if len(alike) > 1 and all(UNION_STEPS.fullmatch(str(problem["loc"][-1])) for problem in alike):
            problems[0]["msg"] = "this kind of value is not allowed here"
        raise InputError(f"{where}: {_sentence(kind, problems[0])}") from None


def _sentence(kind: type[BaseModel], problem: Any) -> str:
    key = ".".join(str(step) for step in problem["loc"] if not UNION_STEPS.fullmatch(str(step)))
    if problem["type"] == "extra_forbidden":
        if len(problem["loc"]) > 1:
            return f"unknown key {key!r}. Remove it, or see docs/formats.md."
        allowed = sorted(kind.model_fields)
        return f"unknown key {key!r}{nearest(key, allowed)} Allowed here: {', '.join(allowed)}."
    if problem["type"] == "missing":
        return f"key {key!r} is required and missing. Add it."
    message = problem["msg"].removeprefix("Value error, ")
    shown = repr(problem["input"])
    value = f" (it is {shown if len(shown) <= 60 else shown[:57] + '...'})" if key else ""
    return f"{f'key {key!r}: ' if key else ''}{message[:1].lower() + message[1:]}{value}. Change it."


def check_json(path: Path) -> None:
    """Raise `InputError` if a file is neither one JSON value nor JSON Lines."""
    with opened(path) as file:
        first = file.readline()
    whole = first.strip(_SPACE + "\ufeff")
    if whole.startswith("{") and whole.endswith("}"):
        for _ in stream_lines(path):
            pass
        return
    if path.stat().st_size > _LARGE:
        for _ in stream_pieces(path, Decoder(path), lambda _: True):
            pass
        return
    read_json(path)
