"""Every rating on a scale as one table, whoever gave it and whatever it is for: what agreement is counted from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annotate.errors import InputError, nearest
from annotate.frames import judge_names
from annotate.schema import Annotation, Conversation, Item, Rater, Scale

if TYPE_CHECKING:
    import pandas as pd

    from annotate.store import Store

COLUMNS = ("unit", "rater", "kind", "value", "missing", "target", "conversation")
ABOUT = ("participant", "task", "item", "origin", "assistant", "strategy", "run", "source")
PAIR_VALUES = ("right", "wrong")
_SIDES = {"first": 1, "second": 2}


@dataclass(frozen=True)
class ScaleRatings:
    """The ratings on one scale: one row a unit and rater.

    frame: `COLUMNS`, what is known of the conversation (`ABOUT`), `criterion`, and one column a tag of its item;
        `kind` is people or models; `missing` says why there is no value.
    repeats: rows that were left out because the same rater rated the same unit again later.
    """

    scale: Scale
    frame: pd.DataFrame
    repeats: int = 0
    notes: tuple[str, ...] = ()


@dataclass
class _Rows:
    """Rows of one scale as they are read: (unit, rater) → row; pairs keep both of their runs."""

    rows: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    runs: dict[tuple[str, str], list[tuple[bool | None, float | None, int | None]]] = field(default_factory=dict)
    repeats: int = 0


def read_rating_rows(store: Store, scales: Iterable[str] | None = None) -> dict[str, ScaleRatings]:
    """Return the standing ratings (not superseded) by scale, for the named scales or for all that are no free text.

    A pair that a rater saw twice, in both orders, is one rating: which side was taken for the human one, `right` or
    `wrong`; where the two runs differ the surer one counts, and where neither is surer it is missing (`tie`).

    Raises:
        InputError: a named scale is not in the store, or holds free text.
    """
    known = {scale.name: scale for scale in store.iterate(Scale)}
    wanted = _wanted(known, scales)
    raters = {rater.id: rater for rater in store.iterate(Rater)}
    superseded = {identity for identity in store.column(Annotation, "supersedes") if identity}
    held = {name: _Rows() for name in wanted}
    for note in store.iterate(Annotation, chunk=5000):
        if note.scale in held and note.id not in superseded:
            _add(held[note.scale], note, raters[note.rater])
    about = _about(store, {str(row["conversation"]) for rows in held.values() for row in rows.rows.values()})
    return {name: _finished(known[name], rows, about, raters) for name, rows in held.items()}


def _wanted(known: Mapping[str, Scale], scales: Iterable[str] | None) -> list[str]:
    if scales is None:
        return [name for name, scale in known.items() if scale.level != "text"]
    for name in (wanted := list(scales)):
        if name not in known:
            raise InputError(
                f"there is no scale {name!r} in the store{nearest(name, known)} Scales: {', '.join(sorted(known))}."
            )
        if known[name].level == "text":
            raise InputError(f"scale {name!r} holds free text, which has no agreement. Name another scale.")
    return wanted


def _rater_names(raters: Mapping[str, Rater], scale: str, used: Iterable[str]) -> dict[str, str]:
    """Return a name for each rater of a scale, so that no two are counted as one.

    A model is called by its own name, with its prompt's behind it where the scale was judged with several; people by
    their pseudonym, with the id behind it where two share one.
    """
    chosen = {identity: raters[identity] for identity in used}
    judges = judge_names(chosen, {(None, scale, identity) for identity in chosen})
    first = {identity: judges[identity] or rater.name for identity, rater in chosen.items()}
    listed = list(first.values())
    return {identity: name if listed.count(name) == 1 else f"{name} ({identity})" for identity, name in first.items()}


def _add(held: _Rows, note: Annotation, rater: Rater) -> None:
    target = note.target
    parts = (target.conversation, target.other, target.turn, target.criterion)
    unit = " / ".join(str(part) for part in parts if part is not None)
    key = (unit, rater.id)
    if key in held.rows and target.kind != "pair":
        held.repeats += 1
    held.rows[key] = {
        "unit": unit,
        "rater": rater.id,
        "kind": "models" if rater.kind == "model" else "people",
        "value": note.value,
        "missing": note.missing,
        "target": target.kind,
        "conversation": target.conversation,
        "criterion": target.criterion,
    }
    if target.kind == "pair":
        place = note.presentation.position if note.presentation else None
        picked = _SIDES.get(str(note.value))
        right = None if place is None or picked is None else picked == place
        held.runs.setdefault(key, []).append((right, note.confidence, place))


def _verdict(runs: list[tuple[bool | None, float | None, int | None]]) -> tuple[str | None, str | None]:
    """Return value and missing of a pair from its runs, the last one of each order."""
    last = {place: (right, sure) for right, sure, place in runs}
    seen = [(right, sure) for right, sure in last.values() if right is not None]
    if not seen:
        return None, "unparsable"
    if len({right for right, _ in seen}) == 1:
        return PAIR_VALUES[0 if seen[0][0] else 1], None
    (one, sure_one), (_, sure_other) = seen[:2]
    if sure_one is None or sure_other is None or sure_one == sure_other:
        return None, "tie"
    return PAIR_VALUES[0 if one == (sure_one > sure_other) else 1], None


def _about(store: Store, conversations: set[str]) -> dict[str, dict[str, Any]]:
    """Return what is known of each rated conversation: columns and tags."""
    items = {item.id: item.tags for item in store.iterate(Item)}
    known: dict[str, dict[str, Any]] = {}
    for talk in store.iterate(Conversation):
        if talk.id not in conversations:
            continue
        told = {name: getattr(talk, name, None) for name in ABOUT if name != "source"}
        told["source"] = talk.provenance.format if talk.provenance else None
        tags = {**items.get(talk.item, {}), **talk.tags}
        taken = {*told, *COLUMNS, "criterion"}  # a tag called value is no rating
        known[talk.id] = told | {str(tag): value for tag, value in tags.items() if str(tag) not in taken}
    return known


def _finished(
    scale: Scale, held: _Rows, about: Mapping[str, dict[str, Any]], raters: Mapping[str, Rater]
) -> ScaleRatings:
    import pandas as pd

    for key, runs in held.runs.items():
        if scale.labels and not set(scale.labels) <= {*_SIDES, "tie"}:
            continue
        held.rows[key]["value"], held.rows[key]["missing"] = _verdict(runs)
    names = _rater_names(raters, scale.name, dict.fromkeys(rater for _, rater in held.rows))
    rows = [
        row | about.get(str(row["conversation"]), {}) | {"rater": names[str(row["rater"])]}
        for row in held.rows.values()
    ]
    frame = pd.DataFrame(rows, columns=None if rows else [*COLUMNS, "criterion", *ABOUT], dtype=object)
    return ScaleRatings(_scale(scale, bool(held.runs)), frame, held.repeats)


def _scale(scale: Scale, pairs: bool) -> Scale:
    if pairs and set(scale.labels) <= {*_SIDES, "tie"}:
        return scale.model_copy(update={"level": "nominal", "labels": PAIR_VALUES, "minimum": None, "maximum": None})
    return scale


def scale_categories(scale: Scale, values: Iterable[Any]) -> list[Any] | None:
    """Return the categories that a scale declares: its labels, or its whole numbers; None where it declares none.

    A scale of whole numbers between bounds declares each of them as long as nobody gave a half.
    """
    if scale.labels:
        return list(scale.labels)
    low, high = scale.minimum, scale.maximum
    if scale.level in ("nominal", "ordinal") and low is not None and high is not None and high - low <= 100:
        whole = low == int(low) and all(value is None or float(value) == int(value) for value in values)
        if whole:
            return list(range(int(low), int(high) + 1))
    return None


_DOCUMENT = re.compile(r"\s*[\[{]\s*[\[{\"]")  # of lists or objects, where a CSV has the names of its columns
_INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls the columns of an index without a name


def read_rating_table(path: Path, notes: list[str] | None = None) -> pd.DataFrame:
    """Read all columns of a CSV, TSV, JSON Lines or Parquet file as texts; a blank cell is None.

    A column without a name is a saved index and is left out. What was left out or guessed is added to `notes`.

    Raises:
        InputError: there is no such file, or it is no table.
    """
    import pandas as pd

    from annotate.fidelity_columns import plain_name, read_columns
    from annotate.fidelity_tables import check_readable
    from annotate.importers.contract import Notes
    from annotate.importers.reading import head_text
    from annotate.importers.sheets import Sheet

    check_readable(path)
    sheet = Sheet.open(path, None, Notes())
    if sheet.kind == "csv" and _DOCUMENT.match(head_text(path)):
        raise InputError(f"{path}: is a JSON document. Write one object a line (JSON Lines), or save it as CSV.")
    header = [name for name in sheet.header if name and not _INDEX.fullmatch(name)]
    if not header:
        raise InputError(f"{path}: is no table. Give a CSV, JSON Lines or Parquet file with a line of column names.")
    columns = read_columns(path, {name: (plain_name(name),) for name in header}, ())
    if not columns.rows:
        raise InputError(f"{path}: has column names and no rows. Check the export that wrote it.")
    if notes is not None:
        notes += columns.notes
        if len(header) < len(sheet.header):
            notes.append("a column without a name (a saved index) was left out; name it where it holds ratings")
    return pd.DataFrame({name: pd.Series(cells) for name, cells in columns.cells.items()})
