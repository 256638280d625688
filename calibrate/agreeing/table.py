"""A table of ratings as people have it, long or wide, turned into `Ratings` and the labels that go with them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from annotate.errors import InvalidData, nearest
from calibrate.stats.agreement.ratings import Level, Ratings, ratings_from_long

if TYPE_CHECKING:
    import pandas as pd

UNIT_NAMES = ("unit", "item", "id", "subject", "conversation", "conversation_id", "item_id", "unit_id", "question")
RATER_NAMES = ("rater", "annotator", "coder", "judge", "worker", "rater_id", "annotator_id", "worker_id")
VALUE_NAMES = ("value", "rating", "label", "score", "annotation", "code", "answer")
KIND_NAMES = ("kind", "rater_kind")
KINDS = {"people": "people", "human": "people", "person": "people", "models": "models", "model": "models"}
_NOT_GIVEN = "not given"
_BLANKS = {"", "nan", "NaN"}


@dataclass(frozen=True)
class RatedTable:
    """Ratings, and the names of what they number.

    unit_names, cluster, group: shape (unit,); rater_names, rater_kinds: shape (rater,). `group` is None where none was
    asked for; `cluster_of` says what a cluster is. `missing` counts entries without a value.
    """

    ratings: Ratings
    unit_names: NDArray[np.object_]
    rater_names: list[str]
    rater_kinds: list[str]
    cluster: NDArray[np.object_]
    cluster_of: str
    group: NDArray[np.object_] | None
    group_by: str | None
    missing: int
    missing_by_unit: NDArray[np.int64]
    notes: tuple[str, ...]


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


def read_frame(
    frame: pd.DataFrame,
    naming: Naming,
    *,
    level: Level,
    categories: Sequence[Any] | None,
    missing: Iterable[Hashable],
    not_applicable: Iterable[Hashable],
    state: str | None = None,
) -> RatedTable:
    """Return a frame's ratings, whatever its form.

    Long: one row a rating, with columns for unit, rater and value. Wide: one row a unit and one column a rater; then
    `naming.raters` names those columns, or all that are left are raters.

    Args:
        missing: values that mean that there is no rating; None, nan and blank text always do.
        not_applicable: values that mean "does not apply".
        state: a column that says `not_applicable` where the value is empty for that reason.

    Raises:
        InvalidData: a named column is not there, a unit is rated twice by one rater, or a value breaks the level's
            rules.
    """
    naming = _found(frame, naming)
    if naming.value is None:
        frame, naming = _melted(frame, naming)
    assert naming.unit is not None and naming.rater is not None and naming.value is not None
    frame = _rows_with_names(frame, naming)
    unit, unit_names = _numbered(frame[naming.unit])
    rater, rater_names = _numbered(frame[naming.rater])
    na, gone = _plain(not_applicable), _plain(missing)
    values = _values(frame[naming.value], level, na | gone)
    declared = _declared(frame[naming.value], level, categories, values, na | gone)
    if state is not None:
        values = [_NotApplicable if s == "not_applicable" else v for v, s in zip(values, frame[state], strict=True)]
    values = [None if _is(v, gone) else v for v in values]
    _check_twice(unit, rater, unit_names, rater_names)
    ratings = ratings_from_long(
        unit, rater, values, level=level, categories=declared,
        not_applicable={*na, _NotApplicable}, units=len(unit_names), raters=len(rater_names),
    )  # fmt: skip
    empty = np.array([v is None for v in values], dtype=bool)
    kinds = _kinds(frame, naming, rater, len(rater_names))
    cluster, cluster_of = (
        _per_unit(frame, naming.cluster or naming.unit, unit, len(unit_names)),
        naming.cluster or "unit",
    )
    group = None if naming.by is None else _per_unit(frame, naming.by, unit, len(unit_names))
    return RatedTable(
        ratings=ratings,
        unit_names=np.asarray(unit_names, dtype=object),
        rater_names=rater_names,
        rater_kinds=kinds,
        cluster=cluster,
        cluster_of=cluster_of,
        group=group,
        group_by=naming.by,
        missing=int(empty.sum()),
        missing_by_unit=np.bincount(unit[empty], minlength=len(unit_names)),
        notes=tuple(_notes(values, level)),
    )


class _NotApplicable:
    """What stands in for a value that does not apply."""


def _found(frame: pd.DataFrame, naming: Naming) -> Naming:
    """Return the naming with columns found by their names; a column that was named must be there."""
    if not len(frame.columns):
        raise InvalidData("the table has no columns: give one row a rating, or one row a unit and one column a rater.")
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
                f"there is no column {name!r}{nearest(str(name), columns)} The table has {', '.join(columns[:20])}"
                f"{' …' if len(columns) > 20 else ''}."
            )
    if (naming.rater or naming.value) and not long:
        lacking = "rater" if rater is None else "value"
        raise InvalidData(f"one row a rating needs a column for the {lacking}: name it ({lacking}=…).")
    unit = known_as(naming.unit, UNIT_NAMES)
    if long and unit is None:
        raise InvalidData("one row a rating needs a column that says which unit was rated: name it (unit=…).")
    kind = known_as(naming.kind, KIND_NAMES) if long else None
    return Naming(
        unit, rater if long else None, value if long else None, kind, naming.by, naming.cluster, naming.raters
    )


def _melted(frame: pd.DataFrame, naming: Naming) -> tuple[pd.DataFrame, Naming]:
    """Return a wide table as one row a rating."""
    kept = [name for name in (naming.unit, naming.by, naming.cluster) if name is not None]
    raters = list(naming.raters) or [column for column in frame.columns if column not in kept]
    if len(raters) < 2:
        raise InvalidData(
            "agreement needs two raters: give one row a rating (columns unit, rater, value), or one column a rater."
        )
    unit = naming.unit
    table = frame[list(dict.fromkeys([*kept, *raters]))].copy()
    if unit is None:
        unit = "unit"
        while unit in table.columns:
            unit += "_"
        table[unit] = np.arange(1, len(table) + 1).astype(str)
    elif table[unit].duplicated().any():
        first = table.loc[table[unit].duplicated(), unit].iloc[0]
        raise InvalidData(
            f"unit {first!r} has more than one row: where each row is one rating, name its columns (rater=…, value=…)."
        )
    ids = list(dict.fromkeys([unit, *kept]))
    rater_column, value_column = _free("rater", ids), _free("value", ids)
    long = table.melt(id_vars=ids, value_vars=raters, var_name=rater_column, value_name=value_column)
    return long, Naming(unit, rater_column, value_column, None, naming.by, naming.cluster, ())


def _free(name: str, taken: Sequence[Any]) -> str:
    while name in taken:
        name += "_"
    return name


def _rows_with_names(frame: pd.DataFrame, naming: Naming) -> pd.DataFrame:
    """Return the rows of the raters asked for; a row without unit or rater is an error."""
    for column in (naming.unit, naming.rater):
        blank = frame[column].isna()
        if blank.any():
            raise InvalidData(
                f"row {int(np.flatnonzero(blank.to_numpy())[0]) + 1} has no {column}: name it, or leave the row out."
            )
    if not naming.raters:
        return frame
    names = frame[naming.rater].astype(str)
    for wanted in naming.raters:
        if wanted not in set(names):
            raise InvalidData(f"there is no rater {wanted!r}{nearest(wanted, sorted(set(names))[:200])}")
    return frame[names.isin(naming.raters)]


def _numbered(column: pd.Series[Any]) -> tuple[NDArray[np.int64], list[str]]:
    """Return a number for each label, in sorted order of the labels' text, and the texts."""
    import pandas as pd

    codes, labels = pd.factorize(column.astype(str), sort=True)
    return codes.astype(np.int64), [str(label) for label in labels]


def _plain(values: Iterable[Hashable]) -> set[Hashable]:
    """Return values with their numbers as numbers too: what is typed as "9" also means 9."""
    found: set[Hashable] = set(values)
    for value in list(found):
        number = _number(value)
        if number is not None:
            found |= {number, str(value)}
    return found


def _is(value: Any, among: set[Hashable]) -> bool:
    return value is not None and value in among


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None


def _values(column: pd.Series[Any], level: Level, special: set[Hashable]) -> list[Any]:
    """Return plain values, None where there is none; texts that are all numbers become numbers."""
    import pandas as pd

    blank = column.isna().to_numpy()
    held = [None if gone else _simple(value) for value, gone in zip(column, blank, strict=True)]
    held = [None if isinstance(value, str) and value in _BLANKS else value for value in held]
    texts = {value for value in held if isinstance(value, str)} - special
    ordered = isinstance(column.dtype, pd.CategoricalDtype) and column.cat.ordered
    numbers = {text: _number(text) for text in texts}
    if texts and not ordered and all(number is not None for number in numbers.values()):
        return [numbers.get(value, value) if isinstance(value, str) else value for value in held]
    if level in ("interval", "ratio") and texts:
        strange = next(text for text in sorted(texts) if numbers[text] is None)
        raise InvalidData(
            f"level {level!r} needs numbers, got {strange!r}: correct it, declare it missing or not applicable, "
            "or choose another level."
        )
    return held


def _simple(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return value.strip() if isinstance(value, str) else value


def _declared(
    column: pd.Series[Any], level: Level, categories: Sequence[Any] | None, values: list[Any], special: set[Hashable]
) -> Sequence[Any] | None:
    """Return the declared categories in the values' own type; those of an ordered categorical count as declared."""
    import pandas as pd

    if categories is None:
        if level == "ordinal" and isinstance(column.dtype, pd.CategoricalDtype) and column.cat.ordered:
            return [_simple(name) for name in column.cat.categories if _simple(name) not in special]
        return None
    numeric = all(isinstance(value, int | float) for value in values if value is not None and value not in special)
    numbers = [_number(name) for name in categories]
    if numeric and all(number is not None for number in numbers):
        return numbers
    return [str(name) if numeric else name for name in categories]


def _check_twice(
    unit: NDArray[np.int64], rater: NDArray[np.int64], unit_names: list[str], rater_names: list[str]
) -> None:
    order = np.lexsort((rater, unit))
    twice = (np.diff(unit[order]) == 0) & (np.diff(rater[order]) == 0)
    if twice.any():
        at = order[1:][twice][0]
        raise InvalidData(
            f"rater {rater_names[rater[at]]!r} rates unit {unit_names[unit[at]]!r} more than once: keep one rating."
        )


def _kinds(frame: pd.DataFrame, naming: Naming, rater: NDArray[np.int64], raters: int) -> list[str]:
    if naming.kind is None:
        return ["raters"] * raters
    kinds = ["raters"] * raters
    for number, said in zip(rater, frame[naming.kind], strict=True):
        kinds[number] = KINDS.get(str(said).casefold(), str(said))
    return kinds


def _per_unit(frame: pd.DataFrame, column: str, unit: NDArray[np.int64], units: int) -> NDArray[np.object_]:
    """Return a column's value of each unit; a unit with two values is an error, one without is `not given`."""
    import pandas as pd

    texts = frame[column].astype(object).where(frame[column].notna(), _NOT_GIVEN).astype(str)
    pairs = pd.DataFrame({"unit": unit, "value": texts.to_numpy()}).drop_duplicates()
    known = pairs[pairs["value"] != _NOT_GIVEN]
    twice = known[known["unit"].duplicated()]
    if len(twice):
        raise InvalidData(
            f"column {column!r} says {twice['value'].iloc[0]!r} and another value of one unit: a group or cluster "
            "belongs to the unit, not to the rating; give each unit one value."
        )
    held = np.full(units, _NOT_GIVEN, dtype=object)
    held[known["unit"].to_numpy()] = known["value"].to_numpy()
    return held


def _notes(values: list[Any], level: Level) -> Iterable[str]:
    suspicious = {"na", "n/a", "none", "null", "skipped", "-"}
    texts = sorted({value for value in values if isinstance(value, str) and value.casefold() in suspicious})
    for text in texts:
        yield (
            f"{text!r} was taken as a label of the scale; declare it missing or not applicable where it means that "
            "(--missing, --na)"
        )
