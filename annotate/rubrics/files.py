"""Criteria in files that people read and edit: JSON Lines or CSV, one criterion a line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from annotate.errors import InputError
from annotate.importers.contract import Notes
from annotate.importers.reading import checked
from annotate.importers.sheets import Sheet
from annotate.rubrics.grounding import normalised
from annotate.schema import Criterion, canonical_hash

COLUMNS = ("id", "item", "family", "mode", "text", "applies", "source", "span")
_NEEDED = ("family", "mode", "text", "source", "span")
_FORMULA = ("=", "+", "-", "@")


def criteria_text(criteria: Sequence[Criterion], ending: str) -> str:
    """Return criteria as a file's content: CSV for `.csv`, JSON Lines for anything else.

    A cell of a CSV that a spreadsheet would run as a formula begins with an apostrophe, which reading takes off again.
    """
    if ending.lower() != ".csv":
        return "".join(f"{one.model_dump_json()}\n" for one in criteria)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in criteria:
        writer.writerow([_safe(getattr(one, name)) for name in COLUMNS])
    return out.getvalue()


def _safe(value: Any) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith((*_FORMULA, "'")) else text


def read_criteria(path: Path) -> list[Criterion]:
    """Read criteria from JSON Lines, CSV or Parquet with the columns of `COLUMNS`; a line without an id gets its own.

    An id that is made here depends on what the criterion says, so that reading a file twice gives the same.

    Raises:
        InputError: a column is missing, a line breaks a rule of `Criterion`, or an id stands twice for two rules.
    """
    from annotate.fidelity_tables import check_readable

    check_readable(path)
    sheet = Sheet.open(path, None, Notes())
    lacking = [name for name in _NEEDED if name not in sheet.header]
    if lacking:
        raise InputError(
            f"{path}: has no column {lacking[0]!r}. Criteria need {', '.join(_NEEDED)}, and may have id, item, applies."
        )
    found: dict[str, Criterion] = {}
    for where, row in sheet.rows():
        criterion = _criterion(row, where, quoted=sheet.kind == "csv")
        other = found.setdefault(criterion.id, criterion)
        if other != criterion:
            raise InputError(f"{where}: the id {criterion.id!r} stands for another criterion above. Give it its own.")
    if not found:
        raise InputError(f"{path}: holds no criterion. Check the export that wrote it.")
    return list(found.values())


def _criterion(row: Mapping[str, Any], where: str, *, quoted: bool) -> Criterion:
    raw: dict[str, Any] = {name: _cell(row.get(name), quoted) for name in COLUMNS}
    raw["item"] = raw["item"] or None
    if not raw["id"]:
        said = [normalised(str(raw[name] or "")) for name in COLUMNS[1:]]
        raw["id"] = f"k_{canonical_hash(said)[:12]}"
    return checked(Criterion, raw, where)


def _cell(value: Any, quoted: bool) -> str:
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if quoted and text.startswith("'") and text[1:].startswith((*_FORMULA, "'")):
        text = text[1:]
    return text.strip()
