"""The columns of a table of verdicts or results, read in bulk as categories of text, whatever the file's format.

A column is known by its name or one of its other names, in any case and with spaces, dashes or underscores.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annotate.errors import InputError, nearest
from annotate.importers import reading
from annotate.importers.contract import Notes
from annotate.importers.sheets import Sheet, delimiter_of, looks_like_lines

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

_Line = tuple[int, dict[str, Any]]
_BLOCK = 1 << 24
_LINES = 50_000  # JSON rows that are held as objects at a time


def plain_name(column: str) -> str:
    """Return a column's name in small letters, with underscores for what is no letter or digit of any script."""
    return re.sub(r"[\W_]+", "_", column.casefold()).strip("_") or column


def known_columns(path: Path, header: Sequence[str], names: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return known name → the file's own name; `InputError` where two columns of the file are one known column."""
    known = {other: name for name, others in names.items() for other in (name, *others)}
    found: dict[str, str] = {}
    for column in header:
        name = known.get(plain_name(column))
        if name is None:
            continue
        if name in found:
            raise InputError(
                f"{path}: columns {found[name]!r} and {column!r} both say {name!r}. Remove or rename one of the two."
            )
        found[name] = column
    return found


def need(path: Path, header: Sequence[str], found: Mapping[str, str], names: Sequence[str]) -> None:
    """Raise `InputError` for the first of `names` that the file has no column for."""
    for name in names:
        if name not in found:
            unused = [column for column in header if column not in found.values()]
            raise InputError(
                f"{path}: has no column {name!r}{nearest(name, unused)} Add it, or rename the column that holds it; "
                f"the file has {', '.join(header)}."
            )


def header_of(path: Path) -> list[str]:
    """Return the names of a table's columns from the file's beginning; empty where the file is no table."""
    if reading.head(path, 4) == b"PAR1":
        return Sheet.open(path, None, Notes()).header
    if looks_like_lines(path):
        first = reading.head_text(path, reading.FIRST_LINE).lstrip(" \t\r\n").partition("\n")[0]
        return [str(name) for name in reading.Decoder(path).whole(first.strip())]
    delimiter = delimiter_of(path)
    if delimiter is None:
        return []
    line = reading.head_text(path).lstrip("\r\n").splitlines()[0]
    return [cell.strip().strip('"') for cell in line.split(delimiter)]


@dataclass
class Columns:
    """A table in bulk: known name → a categorical of stripped texts, without a value where the cell is blank."""

    path: Path
    cells: dict[str, pd.Categorical]
    rows: int
    unused: list[str]
    names: dict[str, str]
    notes: list[str] = field(default_factory=list)

    def place(self, row: int) -> str:
        """Return where a row stands in the file, as an error says it; reads the file again up to there."""
        for number, (where, _) in enumerate(Sheet.open(self.path, None, Notes()).rows()):
            if number == row:
                return where
        return f"{self.path}, row {row + 1}"

    def codes(self, name: str) -> NDArray[np.int64]:
        """Return the number of each row's category, -1 where the cell is blank."""
        import numpy as np

        return np.asarray(self.cells[name].codes, dtype=np.int64)

    def mapped(self, name: str, convert: Callable[[str], Any]) -> list[Any]:
        """Return `convert` of each category; its `ValueError` becomes an `InputError` with the first place."""
        values = []
        for number, text in enumerate(self.cells[name].categories):
            try:
                values.append(convert(str(text)))
            except ValueError as error:
                row = int((self.cells[name].codes == number).argmax())
                raise InputError(f"{self.place(row)}: column {self.names[name]!r}: {error}") from None
        return values

    def numbers(self, name: str, convert: Callable[[str], float]) -> NDArray[np.float64]:
        """Return the column as numbers, nan where the cell is blank."""
        import numpy as np

        values = np.asarray([*self.mapped(name, convert), np.nan], dtype=np.float64)
        return values[self.codes(name)]


def read_columns(path: Path, names: Mapping[str, tuple[str, ...]], required: Sequence[str]) -> Columns:
    """Read the known columns of a CSV, JSON Lines or Parquet file; `InputError` where a required one is missing."""
    notes = Notes()
    if reading.head(path, 4) != b"PAR1" and looks_like_lines(path):
        return _from_lines(path, names, required)
    sheet = Sheet.open(path, None, notes)
    found = known_columns(path, sheet.header, names)
    need(path, sheet.header, found, required)
    table = _parquet(sheet, list(found.values())) if sheet.kind == "parquet" else _csv(sheet, list(found.values()))
    return _from_table(path, table, sheet.header, names, required, [text for _, text in notes])


def _from_table(
    path: Path,
    table: Any,
    header: Sequence[str],
    names: Mapping[str, tuple[str, ...]],
    required: Sequence[str],
    notes: Sequence[str] = (),
) -> Columns:
    import pyarrow as pa

    found = known_columns(path, header, names)
    need(path, header, found, required)
    for column in found.values():
        if pa.types.is_nested(table.column(column).type):
            raise InputError(f"{path}: column {column!r} holds lists or objects, not one value each. Flatten it.")
    cells = {name: _categories(table.column(column)) for name, column in found.items()}
    unused = [column for column in header if column not in found.values()]
    return Columns(path, cells, table.num_rows, unused, found, list(notes))


def _csv(sheet: Sheet, wanted: list[str]) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    texts = pa.dictionary(pa.int32(), pa.string())
    try:
        return csv.read_csv(
            sheet.path,
            # Given the names, the reader takes the first line for data: it is skipped as a row, since it may be quoted.
            csv.ReadOptions(column_names=sheet.header, skip_rows_after_names=1, encoding=_codec(sheet.encoding)),
            csv.ParseOptions(delimiter=sheet.delimiter, newlines_in_values=True),
            csv.ConvertOptions(
                column_types=dict.fromkeys(wanted, texts), include_columns=wanted, strings_can_be_null=False,
                quoted_strings_can_be_null=False,
            ),
        )  # fmt: skip
    except (pa.ArrowException, UnicodeError, OSError) as error:
        for _ in sheet.rows():  # the strict reader says which line is wrong
            pass
        raise InputError(f"{sheet.path}: is no valid CSV ({_first(error)}). Export the table again.") from None


def _codec(encoding: str) -> str:
    return "utf-8" if encoding == "utf-8-sig" else encoding  # the reader passes over a byte order mark itself


def _parquet(sheet: Sheet, wanted: list[str]) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(sheet.path, columns=wanted)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{sheet.path}: cannot be read as Parquet ({_first(error)}). Export it again.") from None


def _first(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _categories(column: Any) -> pd.Categorical:
    """Return an arrow column as categories of stripped text; blank and null are no category."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), [])
    codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    texts = [cell_text(value).strip() for value in whole.dictionary.to_pylist()]
    return _merged(np.asarray(codes, dtype=np.int32), texts) if texts else pd.Categorical([None] * len(codes))


def _merged(codes: NDArray[np.int32], texts: list[str]) -> pd.Categorical:
    """Return categories in which each text stands once, and the empty one not at all."""
    import numpy as np
    import pandas as pd

    place = {text: number for number, text in enumerate(dict.fromkeys(text for text in texts if text))}
    moved = np.asarray([*(place.get(text, -1) for text in texts), -1], dtype=np.int32)
    return pd.Categorical.from_codes(moved[codes], categories=pd.Index(list(place), dtype=object))


def cell_text(value: Any) -> str:
    """Return what a cell of any format says, as text; `ValueError` for a list or an object."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, (dict, list, tuple)):
        raise ValueError("holds a list or an object, not one value; flatten it")
    return str(value).encode("utf-8", "replace").decode("utf-8")


def _from_lines(path: Path, names: Mapping[str, tuple[str, ...]], required: Sequence[str]) -> Columns:
    import numpy as np

    table = _plain_lines(path)
    if table is not None:
        return _from_table(path, table, table.column_names, names, required)
    texts: dict[str, dict[str, int]] = {}
    codes: dict[str, list[NDArray[np.int32]]] = {}
    rows = 0
    for chunk in _chunks(path):
        for column in dict.fromkeys(name for _, row in chunk for name in row):
            texts.setdefault(column, {})
            codes.setdefault(column, [np.full(rows, -1, dtype=np.int32)])
        for column, seen in texts.items():
            codes[column].append(np.asarray(_codes(path, seen, column, chunk), dtype=np.int32))
        rows += len(chunk)
    found = known_columns(path, list(texts), names)
    need(path, list(texts), found, required)
    cells = {
        name: _merged(np.concatenate(codes[column]), [cell_text(text).strip() for text in texts[column]])
        for name, column in found.items()
    }
    return Columns(path, cells, rows, [column for column in texts if column not in found.values()], found)


def _codes(path: Path, seen: dict[str, int], column: str, chunk: list[_Line]) -> list[int]:
    """Return the number of each row's text in `seen`, which grows, and -1 where there is none."""
    try:
        return [
            -1 if value is None else seen.setdefault(value if type(value) is str else cell_text(value), len(seen))
            for value in (row.get(column) for _, row in chunk)
        ]
    except ValueError as error:
        line = next(line for line, row in chunk if isinstance(row.get(column), (dict, list, tuple)))
        raise InputError(f"{path}, line {line}: column {column!r}: {error}.") from None


def _chunks(path: Path) -> Iterator[list[_Line]]:
    """Yield the objects of a file, with their lines, as the strict reader gives them."""
    chunk: list[_Line] = []
    for line in reading.stream_lines(path):
        chunk.append(line)
        if len(chunk) == _LINES:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _plain_lines(path: Path) -> Any:
    """Return a JSON Lines file as an arrow table, fast; None where that reader fails or would change a value."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import json

    try:
        table = json.read_json(path, json.ReadOptions(block_size=_BLOCK))
    except (pa.ArrowException, OSError):
        return None
    for column in table.columns:
        kind = column.type
        if not (pa.types.is_string(kind) or pa.types.is_boolean(kind) or pa.types.is_int64(kind)):
            if not (pa.types.is_float64(kind) or pa.types.is_null(kind)):
                return None  # a list or an object, which is refused; or a text that was taken for a time
            if pa.types.is_float64(kind) and pc.all(pc.less(pc.abs(column), 2.0**53)).as_py() is False:
                return None  # no number, or one that lost digits
    return table
