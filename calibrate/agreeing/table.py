"""A table of ratings as people have it, long or wide, turned into `Ratings` and the labels that go with them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from annotate.errors import InvalidData, nearest
from calibrate.agreeing.naming import Naming, found, listed, melted
from calibrate.agreeing.values import declared_values, plain, plain_values, stands_for, suspicious, written
from calibrate.stats.agreement.ratings import Level, Ratings, ratings_from_long
from calibrate.stats.labels import is_missing

if TYPE_CHECKING:
    import pandas as pd

KINDS = {
    **dict.fromkeys(("people", "person", "human", "humans", "annotator", "crowd", "expert"), "people"),
    **dict.fromkeys(("models", "model", "llm", "ai", "machine"), "models"),
}
UNKNOWN_KIND = "raters"
_NOT_GIVEN = "not given"


@dataclass(frozen=True)
class RatedTable:
    """Ratings, and the names of what they number.

    unit_names, cluster, group, blank_by_unit: shape (unit,); rater_names, rater_kinds: shape (rater,). `group` is None
    where none was asked for; `cluster_of` says what a cluster is; `blank_by_unit` counts entries without a value.
    """

    ratings: Ratings
    unit_names: NDArray[np.object_]
    rater_names: list[str]
    rater_kinds: list[str]
    cluster: NDArray[np.object_]
    cluster_of: str
    group: NDArray[np.object_] | None
    group_by: str | None
    blank_by_unit: NDArray[np.int64]
    notes: tuple[str, ...]

    @property
    def crossed(self) -> bool:
        """Whether every rater rated half of the units or more, so that an absent rating is a missing one."""
        said = np.bincount(self.ratings.rater, minlength=self.ratings.raters)
        said += np.bincount(self.ratings.na_rater, minlength=self.ratings.raters)
        return bool((2 * said[said > 0] >= self.ratings.units).all())

    def missing(self, part: Ratings, chosen: NDArray[np.bool_] | None = None) -> int:
        """Return how many ratings of a part's units are missing; blank entries only, where raters rated a few each."""
        if self.crossed:
            raters = len({*part.rater.tolist(), *part.na_rater.tolist()})
            return part.units * raters - part.n - len(part.na_unit)
        return int(self.blank_by_unit.sum() if chosen is None else self.blank_by_unit[chosen].sum())


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
    naming = found(frame, naming)
    if state is not None and state not in frame.columns:
        raise InvalidData(f"there is no column {state!r} for the state: name it (state=…), or leave it out.")
    if wide := naming.value is None:
        frame, naming = melted(frame, naming, level)
    assert naming.unit is not None and naming.rater is not None and naming.value is not None
    frame = _rows_with_names(frame, naming)
    unit, unit_names = _numbered(frame[naming.unit])
    rater, rater_names = _numbered(frame[naming.rater])
    na, gone = plain(not_applicable), plain(missing)
    values = plain_values(frame[naming.value], level, na | gone)
    _check_occur(values, not_applicable, missing)
    declared = declared_values(frame[naming.value], level, categories, values, na | gone)
    if state is not None:
        values = [_NotApplicable if s == "not_applicable" else v for v, s in zip(values, frame[state], strict=True)]
    values = [None if stands_for(v, gone) else v for v in values]
    places = _Places(unit, rater, unit_names, rater_names)
    _check_twice(places)
    _check_declared(places, values, declared, {*na, _NotApplicable})
    ratings = ratings_from_long(
        unit, rater, values, level=level, categories=declared,
        not_applicable={*na, _NotApplicable}, units=len(unit_names), raters=len(rater_names),
    )  # fmt: skip
    kinds, kind_notes = _kinds(frame, naming, rater, rater_names)
    cluster = _per_unit(frame, naming.cluster or naming.unit, unit, unit_names)
    lost = _unclustered(cluster, naming.cluster)
    empty = np.array([v is None for v in values], dtype=bool)
    return RatedTable(
        ratings=ratings,
        unit_names=np.asarray(unit_names, dtype=object),
        rater_names=rater_names,
        rater_kinds=kinds,
        cluster=cluster,
        cluster_of=naming.cluster or "unit",
        group=None if naming.by is None else _per_unit(frame, naming.by, unit, unit_names),
        group_by=naming.by,
        blank_by_unit=np.bincount(unit[empty], minlength=len(unit_names)),
        notes=(
            *_form(naming, wide, rater_names),
            *kind_notes,
            *lost,
            *suspicious(values),
        ),
    )


@dataclass(frozen=True)
class _Places:
    """Where each rating stands: numbers of its unit and its rater, and their names."""

    unit: NDArray[np.int64]
    rater: NDArray[np.int64]
    unit_names: list[str]
    rater_names: list[str]

    def of(self, row: int) -> str:
        """Return a rating's place as an error says it."""
        return f"unit {self.unit_names[self.unit[row]]!r}, rater {self.rater_names[self.rater[row]]!r}"


class _NotApplicable:
    """What stands in for a value that does not apply."""


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
            known = sorted(set(names))
            raise InvalidData(f"there is no rater {wanted!r}{nearest(wanted, known[:200])} Raters: {listed(known)}.")
    return frame[names.isin(naming.raters)]


def _numbered(column: pd.Series[Any]) -> tuple[NDArray[np.int64], list[str]]:
    """Return a number for each label, in sorted order of the labels' text, and the texts."""
    import pandas as pd

    codes, labels = pd.factorize(column.astype(str), sort=True)
    return codes.astype(np.int64), [str(label) for label in labels]


def _check_occur(values: list[Any], not_applicable: Iterable[Hashable], missing: Iterable[Hashable]) -> None:
    """Raise for a value that was declared to mean something and never occurs."""
    held = {value for value in values if value is not None}
    for option, declared in (("not applicable (--na)", not_applicable), ("missing (--missing)", missing)):
        for value in declared:
            if not is_missing(value) and not plain([value]) & held:
                known = sorted(map(written, held))
                raise InvalidData(
                    f"{value!r} was declared {option} and does not occur; the values are {listed(known)}."
                )


def _check_declared(places: _Places, values: list[Any], declared: Sequence[Any] | None, special: set[Any]) -> None:
    if declared is None:
        return
    known = set(declared) | special
    for row, value in enumerate(values):
        if value is not None and value not in known:
            raise InvalidData(
                f"{places.of(row)}: value {written(value)} is not among the declared categories "
                f"{listed([written(name) for name in declared])}: correct it, or declare it (1,2,3 and not 1-3)."
            )


def _check_twice(places: _Places) -> None:
    order = np.lexsort((places.rater, places.unit))
    twice = (np.diff(places.unit[order]) == 0) & (np.diff(places.rater[order]) == 0)
    if twice.any():
        at = order[1:][twice][0]
        raise InvalidData(
            f"rater {places.rater_names[places.rater[at]]!r} rates unit {places.unit_names[places.unit[at]]!r} "
            "more than once: keep one rating."
        )


def _kinds(
    frame: pd.DataFrame, naming: Naming, rater: NDArray[np.int64], names: list[str]
) -> tuple[list[str], list[str]]:
    """Return the kind of each rater, and what must be said about it."""
    if naming.models:
        for name in naming.models:
            if name not in names:
                raise InvalidData(f"there is no rater {name!r}{nearest(name, names[:200])} Raters: {listed(names)}.")
        return ["models" if name in naming.models else "people" for name in names], []
    if naming.kind is None:
        return [UNKNOWN_KIND] * len(names), []
    kinds = [UNKNOWN_KIND] * len(names)
    said = frame[naming.kind].astype(str).str.strip().str.casefold()
    strange = sorted(set(said) - set(KINDS))
    if strange:
        told = f"column {naming.kind!r} says {strange[0]!r}, which is no kind of rater (people or models)"
        return kinds, [f"{told}: raters are not told apart; --models A,B says who is a model"]
    for number, kind in zip(rater, said, strict=True):
        if kinds[number] not in (UNKNOWN_KIND, KINDS[kind]):
            told = f"column {naming.kind!r} says of rater {names[number]!r} both people and models"
            return [UNKNOWN_KIND] * len(names), [f"{told}: raters are not told apart; --models A,B says who is a model"]
        kinds[number] = KINDS[kind]
    return kinds, []


def _unclustered(cluster: NDArray[np.object_], column: str | None) -> Iterable[str]:
    lost = 0 if column is None else int((cluster == _NOT_GIVEN).sum())
    if lost:
        yield f"{lost:,} units have no value in {column!r} and are resampled together, as one cluster"


def _form(naming: Naming, wide: bool, raters: Sequence[str]) -> Iterable[str]:
    if wide:
        yield f"read as one row a unit and one column a rater: {listed(list(raters), 8)}"
    else:
        yield f"read as one row a rating: unit {naming.unit!r}, rater {naming.rater!r}, value {naming.value!r}"


def _per_unit(frame: pd.DataFrame, column: str, unit: NDArray[np.int64], unit_names: list[str]) -> NDArray[np.object_]:
    """Return a column's value of each unit; a unit with two values is an error, one without is `not given`."""
    import pandas as pd

    texts = frame[column].astype(object).where(frame[column].notna(), _NOT_GIVEN).astype(str)
    pairs = pd.DataFrame({"unit": unit, "value": texts.to_numpy()}).drop_duplicates()
    known = pairs[pairs["value"] != _NOT_GIVEN]
    twice = known[known["unit"].duplicated()]
    if len(twice):
        name, value = unit_names[int(twice["unit"].iloc[0])], twice["value"].iloc[0]
        raise InvalidData(
            f"unit {name!r} has {value!r} and another value in column {column!r}: a group or cluster belongs to the "
            "unit, not to the rating; give each unit one value."
        )
    held = np.full(len(unit_names), _NOT_GIVEN, dtype=object)
    held[known["unit"].to_numpy()] = known["value"].to_numpy()
    return held
