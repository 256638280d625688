"""Which columns of a table of ratings say what, and wide tables made long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from annotate.errors import InvalidData, nearest
from calibrate.agreeing.values import plain_values
from calibrate.stats.agreement.ratings import Level

if TYPE_CHECKING:
    import pandas as pd

UNIT_NAMES = (
    "unit", "unit_id", "item", "item_id", "id", "subject", "conversation", "conversation_id", "question", "task_id",
    "example", "example_id", "sample", "document", "post", "episode", "case",
)  # fmt: skip
RATER_NAMES = ("rater", "rater_id", "annotator", "annotator_id", "coder", "judge", "worker", "worker_id")
VALUE_NAMES = ("value", "rating", "label", "score", "verdict", "annotation", "code", "answer", "category", "decision")
KIND_NAMES = ("kind", "rater_kind", "rater_type")
FEW_VALUES = 5  # fewer entries than that do not say what a column holds
ALIKE = 0.5  # of a rater's entries hold values that another rater uses too


@dataclass(frozen=True)
class Naming:
    """Which columns say what; None = found by its name, or the table is wide (one column a rater)."""

    unit: str | None = None
    rater: str | None = None
    value: str | None = None
    kind: str | None = None
    by: str | None = None
    cluster: str | None = None
    raters: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


def found(frame: pd.DataFrame, naming: Naming) -> Naming:
    """Return the naming with columns found by their names; a column that was named must be there."""
    if not hasattr(frame, "columns") or not hasattr(frame, "melt"):
        raise InvalidData(f"ratings need a pandas DataFrame, got {type(frame).__name__}: read the file with pandas.")
    if not len(frame.columns):
        raise InvalidData("the table has no columns: give one row a rating, or one row a unit and one column a rater.")
    if frame.columns.nlevels > 1:
        raise InvalidData(f"the columns have {frame.columns.nlevels} levels of names: join them to one name a column.")
    if frame.columns.isna().any():
        raise InvalidData("a column has no name (None or nan): name it, or leave it out.")
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise InvalidData(f"column {twice[0]!r} stands twice: rename one of the two.")
    known = {str(column).casefold(): column for column in frame.columns}

    def known_as(given: str | None, names: Sequence[str]) -> Any:
        return given if given is not None else next((known[name] for name in names if name in known), None)

    rater, value = known_as(naming.rater, RATER_NAMES), known_as(naming.value, VALUE_NAMES)
    are_columns = bool(naming.raters) and all(name in frame.columns for name in naming.raters)
    long = rater is not None and value is not None and not are_columns
    wanted = [naming.unit, naming.rater, naming.value, naming.kind, naming.by, naming.cluster]
    for name in (*wanted, *(() if long else naming.raters)):
        if name is not None and name not in frame.columns:
            columns = [str(column) for column in frame.columns]
            raise InvalidData(
                f"there is no column {name!r}{nearest(str(name), columns)} The table has {listed(columns)}."
            )
    if (naming.rater or naming.value) and not long:
        lacking = "rater" if rater is None else "value"
        raise InvalidData(f"one row a rating needs a column for the {lacking}: name it ({_option(lacking)}).")
    unit = known_as(naming.unit, UNIT_NAMES)
    if long and unit is None:
        raise InvalidData(
            f"one row a rating needs a column that says which unit was rated: name it ({_option('unit')}). "
            f"The table has {listed([str(column) for column in frame.columns])}."
        )
    kind = known_as(naming.kind, KIND_NAMES) if long else None
    return replace(naming, unit=unit, rater=rater if long else None, value=value if long else None, kind=kind)


def _option(name: str) -> str:
    """Return how a column is named, on the command line and in Python."""
    return f"--{name} COLUMN; in Python {name}=…"


def listed(names: Sequence[str], most: int = 20) -> str:
    return ", ".join(names[:most]) + (" …" if len(names) > most else "")


def melted(frame: pd.DataFrame, naming: Naming, level: Level) -> tuple[pd.DataFrame, Naming]:
    """Return a wide table as one row a rating; a column that is unlike the rest is no rater's."""
    kept = [name for name in (naming.unit, naming.by, naming.cluster) if name is not None]
    raters = list(naming.raters) or [column for column in frame.columns if column not in kept]
    if len(raters) < 2:
        raise InvalidData(
            "agreement needs two raters: give one row a rating (columns unit, rater, value), or one column a rater."
        )
    for option, name in (("--by", naming.by), ("--cluster", naming.cluster), ("--unit", naming.unit)):
        if name is not None and name in raters:
            raise InvalidData(f"column {name!r} is a rater's and cannot be {option} as well: name another column.")
    if not naming.raters and len(raters) > 2:
        _check_alike(frame, raters, level)
    unit = naming.unit
    table = frame[list(dict.fromkeys([*kept, *raters]))].copy()
    if unit is None:
        unit = _free("unit", list(table.columns))
        table[unit] = np.arange(1, len(table) + 1).astype(str)
    elif table[unit].duplicated().any():
        first = table.loc[table[unit].duplicated(), unit].iloc[0]
        raise InvalidData(
            f"unit {str(first)!r} has more than one row: where each row is one rating, name its columns "
            f"({_option('rater')}; {_option('value')})."
        )
    ids = list(dict.fromkeys([unit, *kept]))
    rater_column, value_column = _free("rater", ids), _free("value", ids)
    long = table.melt(id_vars=ids, value_vars=raters, var_name=rater_column, value_name=value_column)
    return long, replace(naming, unit=unit, rater=rater_column, value=value_column, kind=None, raters=())


def _check_alike(frame: pd.DataFrame, raters: Sequence[Any], level: Level) -> None:
    """Raise where a column that nobody named as a rater's holds other things than the rest."""
    held = {name: [v for v in plain_values(frame[name], "nominal", set()) if v is not None] for name in raters}
    for name, values in held.items():
        others = [value for other in raters if other != name for value in held[other]]
        if len(values) < FEW_VALUES or _alike(values, others, level):
            continue
        rest = ",".join(str(other) for other in raters if other != name)
        raise InvalidData(
            f"column {name!r} holds other values than the rest (such as {values[0]!r}), so it is no rater's: say what "
            f"it is (--unit, --by, --cluster), or which columns are raters (--raters {rest[:60]})."
        )


def _alike(values: list[Any], others: list[Any], level: Level) -> bool:
    numbers = [value for value in values if isinstance(value, int | float)]
    rest = [value for value in others if isinstance(value, int | float)]
    if level in ("interval", "ratio"):
        if not numbers or not rest:
            return False
        return bool(min(rest) <= np.median(numbers) <= max(rest) or min(numbers) <= np.median(rest) <= max(numbers))
    known = set(others)
    return sum(value in known for value in values) >= ALIKE * len(values)


def _free(name: str, taken: Sequence[Any]) -> str:
    while name in taken:
        name += "_"
    return name
