"""A table as a file holds it: CSV, JSON Lines or Parquet, with its columns and its rows in order."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotate.errors import InputError
from annotate.importers import reading
from annotate.importers.contract import Notes
from annotate.importers.mapping import Row

_DELIMITERS = ",;\t|"
_FIELD = 2**31 - 1  # the standard limit of a CSV cell is shorter than a document


@dataclass
class Sheet:
    """A table: its columns, and its rows with their numbers."""

    path: Path
    header: list[str]
    kind: str
    encoding: str = "utf-8"
    delimiter: str = ","

    @classmethod
    def open(cls, path: Path, delimiter: str | None, notes: Notes) -> Sheet:
        """Find out kind, encoding and columns of a file."""
        if reading.head(path, 4) == b"PAR1":
            return cls(path, _parquet(path).schema_arrow.names, "parquet")
        if looks_like_lines(path):
            names: dict[str, None] = {}
            for _, row in reading.stream_lines(path):
                names.update(dict.fromkeys(row))
            return cls(path, list(names), "jsonl")
        encoding = _encoding(path, notes)
        separator = delimiter or delimiter_of(path) or ","
        sheet = cls(path, [], "csv", encoding, separator)
        first = next(sheet._records(), None)
        if first is None:
            raise InputError(f"{path}: is empty. Check the export that wrote it.")
        sheet.header = [name.strip() for name in first[1]]
        twice = {name for name in sheet.header if sheet.header.count(name) > 1}
        if twice:
            raise InputError(f"{path}: column {min(twice)!r} stands twice. Rename one of the two.")
        return sheet

    def rows(self) -> Iterator[tuple[str, Row]]:
        """Yield (place, row) in the order of the file."""
        if self.kind == "parquet":
            yield from self._parquet_rows()
        elif self.kind == "jsonl":
            for number, row in reading.stream_lines(self.path):
                yield f"{self.path}, line {number}", row
        else:
            records = self._records()
            next(records, None)
            for number, cells in records:
                if len(cells) != len(self.header):
                    raise InputError(
                        f"{self.path}, line {number}: has {len(cells)} cells, the first line has "
                        f"{len(self.header)}. Fix that line, or give 'delimiter' in the mapping file."
                    )
                yield f"{self.path}, line {number}", dict(zip(self.header, cells, strict=True))

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        csv.field_size_limit(_FIELD)
        with reading.opened(self.path, self.encoding, newline="") as file:
            reader = csv.reader(file, delimiter=self.delimiter, strict=True)
            try:
                for cells in reader:
                    if cells:
                        yield reader.line_num, cells
            except csv.Error as error:
                raise InputError(
                    f"{self.path}, line {reader.line_num}: is no valid CSV ({error}). "
                    "Fix the quotes there, or export the table again."
                ) from None

    def _parquet_rows(self) -> Iterator[tuple[str, Row]]:
        import pyarrow as pa

        number = 0
        try:
            for batch in _parquet(self.path).iter_batches(batch_size=1000):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{self.path}, row {number}", row
        except (pa.ArrowException, OSError) as error:
            raise InputError(
                f"{self.path}: cannot be read as Parquet ({str(error).splitlines()[0]}). Export it again."
            ) from None


def _parquet(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"{path}: cannot be read as Parquet ({str(error).splitlines()[0]}). Export it again."
        ) from None


def looks_like_lines(path: Path) -> bool:
    """Whether a file is JSON Lines whose first object has at least two plain values, as a row has."""
    first, _, rest = reading.head_text(path, reading.FIRST_LINE).lstrip(" \t\r\n").partition("\n")
    if not first.startswith("{"):
        return False
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return False
    plain = sum(value is None or isinstance(value, (str, int, float, bool)) for value in row.values())
    return plain >= 2 and (bool(rest.strip()) or path.suffix != ".json")


def delimiter_of(path: Path) -> str | None:
    """Return what parts the cells of the first line, if the second has as many; None where it is no table."""
    text = reading.head_text(path, reading.FIRST_LINE)
    if not text or text.lstrip()[:1] in ("{", "[", "<", "%"):
        return None
    csv.field_size_limit(_FIELD)
    found: list[tuple[int, str]] = []
    for mark in _DELIMITERS:
        try:
            rows = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
            lines = [cells for cells, _ in zip(filter(None, rows), range(2), strict=False)]
        except csv.Error:
            continue
        alone = len(lines) == 1 and path.suffix.lower() in (".csv", ".tsv")
        if (alone or (len(lines) == 2 and len(lines[0]) == len(lines[1]))) and len(lines[0]) > 1:
            found.append((len(lines[0]), mark))
    return max(found)[1] if found else None


def _encoding(path: Path, notes: Notes) -> str:
    """Return the encoding of a CSV: its byte order mark's, UTF-8, or else Windows-1252, which is reported."""
    stated = reading.encoding_of(reading.head(path, 4))
    if stated != "utf-8":
        return stated
    try:
        with reading.opened(path) as file:
            while file.read(1 << 20):
                pass
    except InputError as error:
        if "is not UTF-8" not in str(error):
            raise
        notes.warn(f"file {path.name}: not UTF-8, read as Windows-1252; check the accents")
        return "cp1252"
    return "utf-8"
