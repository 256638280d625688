"""Agreement as data: tidy CSV, one row per coefficient and part or pair, and JSON in full."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from calibrate.agreement import Agreement, GroupAgreement
from calibrate.estimate import Estimate, installed_version
from calibrate.report.agreement.fragment import to_fragment
from calibrate.report.agreement.quoting import summary
from calibrate.report.wording import encodable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["COLUMNS", "as_dict", "summary", "to_csv", "to_fragment", "to_frame", "to_json"]

COLUMNS = (
    "scale", "level", "group_by", "group", "rater_1", "rater_2", "coefficient", "value", "low", "high",
    "level_of_interval", "n", "clusters", "unit", "undefined_reason", "interval_reason", "p_value", "method", "target",
    "seed", "spawn_key", "resamples", "version",
)  # fmt: skip
ALL = "all"
_NUMBERS = ("value", "low", "high", "level_of_interval", "p_value")
_COUNTS = ("clusters", "resamples")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_csv(agreements: Sequence[Agreement]) -> str:
    """Return one row per coefficient of all ratings, of each kind, group and pair of raters.

    Numbers have all their digits. An empty value has its reason; a value without limits says why. A name that a
    spreadsheet would run as a formula begins with an apostrophe.
    """
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(COLUMNS)
    for agreement in agreements:
        writer.writerows([_cell(value) for value in row] for row in _rows(agreement))
    return encodable(target.getvalue())


def to_frame(agreements: Agreement | Sequence[Agreement]) -> pd.DataFrame:
    """Return the rows of the CSV as a pandas frame, numbers as numbers: one row a coefficient of each part and pair.

    What is unknown is missing; names stand as they are, and seeds, which may be longer than a number holds, as text.
    """
    import pandas as pd

    held = [agreements] if isinstance(agreements, Agreement) else list(agreements)
    rows = [[encodable(v) if isinstance(v, str) else v for v in row] for own in held for row in _rows(own)]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    frame[list(_NUMBERS)] = frame[list(_NUMBERS)].astype("float64")
    frame["n"] = frame["n"].astype("int64")
    frame["seed"] = [None if seed is None else str(seed) for seed in (row[COLUMNS.index("seed")] for row in rows)]
    frame[list(_COUNTS)] = frame[list(_COUNTS)].astype("Int64")
    return frame


def _rows(agreement: Agreement) -> Iterator[list[Any]]:
    head = [agreement.scale, agreement.level]
    parts: list[tuple[str, GroupAgreement]] = [(ALL, agreement.overall)]
    parts += [("kind", part) for part in agreement.kinds]
    parts += [(agreement.group_by or "group", part) for part in agreement.groups]
    for by, part in parts:
        name = ALL if part is agreement.overall else part.name
        for key, estimate in part.estimates.items():
            yield [*head, by, name, "", "", key, *_fields(estimate)]
    for pair in agreement.pairs:
        for estimate in (pair.raw, pair.kappa):
            yield [*head, "pair", ALL, pair.first, pair.second, estimate.name, *_fields(estimate)]


def _fields(e: Estimate) -> list[Any]:
    sign = e.signature
    seed = sign.seed if isinstance(sign.seed, int | None) else " ".join(map(str, sign.seed))
    drawn = " ".join(map(str, sign.spawn_key))
    return [
        e.value, e.low, e.high, e.level, e.n, e.clusters, e.unit, e.reason, e.interval_reason, e.p_value,
        e.method, e.target, seed, drawn, sign.resamples, sign.version,
    ]  # fmt: skip


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        text = value.replace("\x00", "").replace("\r\n", "\n").replace("\r", "\n")
        return f"'{text}" if text.startswith(_FORMULA) else text
    return value


def as_dict(agreement: Agreement) -> dict[str, Any]:
    """Return plain JSON-ready data of an agreement: every estimate in full, no nan, and what is unknown is null."""
    return {**_plain(agreement), "version": installed_version()}


def to_json(agreements: Sequence[Agreement]) -> str:
    """Return agreements as JSON."""
    content = {"version": installed_version(), "scales": [as_dict(agreement) for agreement in agreements]}
    return encodable(json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Estimate):
        return value.as_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
