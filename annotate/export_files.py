"""The files of an export: JSON Lines as it is, CSV and Parquet as flat tables."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Protocol, TextIO

Line = dict[str, Any]
CellType = Literal["text", "integer", "number", "boolean", "json"]

_SURROGATE = re.compile("[\ud800-\udfff]")
_ROWS = 1000


class Writer(Protocol):
    """Writes lines of every kind below one folder."""

    replaced: Counter[str]
    """What a format cannot hold and was replaced: characters (by U+FFFD) and numbers (by nothing)."""

    def write(self, kind: str, line: Line) -> None:
        """Write one record."""

    def close(self) -> dict[str, int]:
        """Finish all files; return file name → number of records."""


class JsonlWriter:
    """One JSON Lines file for each kind; ASCII only, so that any text survives."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, TextIO] = {}
        self._counts: dict[str, int] = {}
        self.replaced: Counter[str] = Counter()

    def write(self, kind: str, line: Line) -> None:
        """Write one record."""
        name = f"{kind}.jsonl"
        if name not in self._files:
            self._files[name] = (self._folder / name).open("w", encoding="ascii", newline="\n")
            self._counts[name] = 0
        self._files[name].write(self._text(line) + "\n")
        self._counts[name] += 1

    def _text(self, line: Line) -> str:
        try:
            return json.dumps(line, ensure_ascii=True, allow_nan=False)
        except ValueError:  # JSON has no NaN and no infinity
            return json.dumps(self._finite(line), ensure_ascii=True)

    def _finite(self, value: Any) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            self.replaced["numbers"] += 1
            return None
        if isinstance(value, dict):
            return {name: self._finite(part) for name, part in value.items()}
        return [self._finite(part) for part in value] if isinstance(value, (list, tuple)) else value

    def close(self) -> dict[str, int]:
        """Finish all files."""
        for file in self._files.values():
            file.close()
        return self._counts


COLUMNS: dict[str, dict[str, CellType]] = {
    "participants": {"id": "text", "kind": "text", "scopes": "json", "scopes_basis": "text", "background": "json"},
    "raters": {"id": "text", "kind": "text", "name": "text", "model": "text", "prompt_hash": "text"},
    "scales": {
        "name": "text",
        "level": "text",
        "target": "text",
        "minimum": "number",
        "maximum": "number",
        "labels": "json",
        "question": "text",
    },
    "criteria": {"id": "text", "family": "text", "mode": "text", "text": "text", "source": "text", "span": "text"},
    "items": {
        "id": "text",
        "task": "text",
        "key": "text",
        "inputs": "json",
        "private": "json",
        "reference": "json",
        "tags": "json",
    },
    "conversations": {
        "id": "text",
        "task": "text",
        "item": "text",
        "item_id": "text",
        "participant": "text",
        "assistant": "text",
        "origin": "text",
        "scopes": "json",
        "turns": "integer",
        "documents": "integer",
        "ended": "text",
        "outcome": "json",
        "survey": "json",
        "cost_usd": "number",
        "run": "text",
        "cell": "text",
        "strategy": "text",
        "profile": "text",
        "twin_of": "text",
        "tags": "json",
        "provenance": "json",
        "content_hash": "text",
        "created_at": "text",
        "withheld": "boolean",
    },
    "turns": {
        "conversation": "text",
        "position": "integer",
        "role": "text",
        "text": "text",
        "display": "text",
        "private": "text",
        "tool_calls": "json",
        "attachments": "json",
        "missing": "boolean",
        "part": "text",
        "words": "integer",
        "created_at": "text",
        "seconds": "number",
        "usage": "json",
        "call_ids": "json",
    },
    "documents": {
        "conversation": "text",
        "version": "integer",
        "turn": "integer",
        "text": "text",
        "author": "text",
        "changed": "boolean",
    },
    "profiles": {
        "id": "text",
        "task": "text",
        "conversation": "text",
        "participant": "text",
        "extractor": "text",
        "length_range": "json",
        "knowledge": "json",
        "preferences": "json",
        "writing": "json",
        "interaction": "json",
        "call_ids": "json",
        "problems": "json",
        "created_at": "text",
    },
    "annotations": {
        "id": "text",
        "rater": "text",
        "scale": "text",
        "target": "text",
        "conversation": "text",
        "other": "text",
        "turn": "integer",
        "criterion": "text",
        "value": "text",
        "number": "number",
        "missing": "text",
        "confidence": "number",
        "evidence_turn": "integer",
        "quote": "text",
        "quote_found": "boolean",
        "position": "integer",
        "order": "integer",
        "flags": "json",
        "seconds": "number",
        "comment": "text",
        "call_id": "text",
        "run": "text",
        "supersedes": "text",
        "created_at": "text",
        "withheld": "boolean",
    },
}
"""The tables of a CSV or Parquet export; `json` columns hold JSON text, empty where there is nothing."""


def tables(kind: str, line: Line) -> Iterator[tuple[str, Line]]:
    """Yield (table, row) for one record: a conversation makes rows of three tables."""
    if kind == "conversations":
        turns, documents = line["turns"], line.get("documents", [])
        yield kind, {**line, "turns": len(turns), "documents": len(documents), "withheld": line.get("withheld", False)}
        for position, turn in enumerate(turns):
            words = None if turn["text"] is None else len(turn["text"].split())
            yield "turns", {"missing": False, **turn, "conversation": line["id"], "position": position, "words": words}
        for version in documents:
            yield "documents", {"author": "model", "changed": True, **version, "conversation": line["id"]}
    elif kind == "annotations":
        yield kind, _annotation(line)
    elif kind == "scales":
        yield kind, {"target": "conversation", **line}
    else:
        yield kind, line


def _annotation(line: Line) -> Line:
    target, evidence = line["target"], line.get("evidence") or {}
    value = line.get("value")
    number = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    return {
        **line,
        **{name: target.get(name) for name in ("conversation", "other", "turn", "criterion")},
        "target": target.get("kind", "conversation"),
        "number": number,
        "value": json.dumps(value) if isinstance(value, bool) else None if value is None else str(value),
        "evidence_turn": evidence.get("turn"),
        "quote": evidence.get("quote"),
        "quote_found": evidence.get("found"),
        **(line.get("presentation") or {}),
        "withheld": line.get("withheld", False),
    }


class _TableWriter(ABC):
    """What CSV and Parquet share: rows with the columns of their table, texts without lone surrogates."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._counts: dict[str, int] = {}
        self.replaced: Counter[str] = Counter()

    def write(self, kind: str, line: Line) -> None:
        """Write one record into its tables."""
        for table, row in tables(kind, line):
            self._counts[table] = self._counts.get(table, 0) + 1
            self._put(table, [self._cell(row.get(name), form) for name, form in COLUMNS[table].items()])

    def _cell(self, value: Any, form: CellType) -> Any:
        if value is None:
            return None
        if form == "json":
            value = json.dumps(value, ensure_ascii=False)
        if form in ("json", "text"):
            value, count = _SURROGATE.subn("\ufffd", str(value))
            self.replaced["characters"] += count
        return float(value) if form == "number" else value

    @abstractmethod
    def _put(self, table: str, cells: list[Any]) -> None:
        """Write one row of a table."""


class CsvWriter(_TableWriter):
    """One CSV for each table, UTF-8; texts are as they were written, also where a spreadsheet would see a formula."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._files: dict[str, TextIO] = {}
        self._writers: dict[str, Any] = {}

    def _put(self, table: str, cells: list[Any]) -> None:
        if table not in self._writers:
            self._files[table] = (self._folder / f"{table}.csv").open("w", encoding="utf-8", newline="")
            self._writers[table] = csv.writer(self._files[table], lineterminator="\n")
            self._writers[table].writerow(COLUMNS[table])
        self._writers[table].writerow([str(cell).lower() if isinstance(cell, bool) else cell for cell in cells])

    def close(self) -> dict[str, int]:
        """Finish all files."""
        for file in self._files.values():
            file.close()
        return {f"{table}.csv": count for table, count in self._counts.items()}


class ParquetWriter(_TableWriter):
    """One Parquet file for each table, a thousand rows at a time."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._rows: dict[str, list[list[Any]]] = {}
        self._writers: dict[str, Any] = {}

    def _put(self, table: str, cells: list[Any]) -> None:
        rows = self._rows.setdefault(table, [])
        rows.append(cells)
        if len(rows) == _ROWS:
            self._flush(table)

    def _flush(self, table: str) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        types = {
            "text": pa.string(),
            "json": pa.string(),
            "integer": pa.int64(),
            "number": pa.float64(),
            "boolean": pa.bool_(),
        }
        schema = pa.schema([(name, types[form]) for name, form in COLUMNS[table].items()])
        if table not in self._writers:
            self._writers[table] = pq.ParquetWriter(self._folder / f"{table}.parquet", schema)
        columns = list(zip(*self._rows[table], strict=True))
        arrays = [pa.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)]
        self._writers[table].write_table(pa.Table.from_arrays(arrays, schema=schema))
        self._rows[table] = []

    def close(self) -> dict[str, int]:
        """Finish all files."""
        for table, rows in self._rows.items():
            if rows:
                self._flush(table)
        for writer in self._writers.values():
            writer.close()
        return {f"{table}.parquet": count for table, count in self._counts.items()}


WRITERS: dict[str, type[JsonlWriter] | type[CsvWriter] | type[ParquetWriter]] = {
    "jsonl": JsonlWriter,
    "csv": CsvWriter,
    "parquet": ParquetWriter,
}


def facts_of(path: Path, records: int) -> dict[str, Any]:
    """Return what a manifest says of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"records": records, "bytes": path.stat().st_size, "sha256": digest}
