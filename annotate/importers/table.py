"""Tables of chats: CSV, JSON Lines or Parquet, with a mapping file that says which column is what."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

from annotate.errors import InputError
from annotate.importers import reading
from annotate.importers.contract import Batch, Options, Pseudonym, item_id, person_rater
from annotate.importers.mapping import ROLES, NeedsMap, Row, TableMap, as_number, check_columns, guess_map, load_map
from annotate.importers.sheets import Sheet, delimiter_of, looks_like_lines
from annotate.schema import (
    Annotation,
    Conversation,
    Item,
    Participant,
    Provenance,
    Role,
    Scale,
    Target,
    Turn,
    Value,
    new_id,
)

__all__ = ["NeedsMap", "Table"]


class Table:
    """Reads any table once a mapping file says what its columns are."""

    name = "table"
    title = "a CSV, JSON Lines or Parquet table with --map"

    def detects(self, path: Path) -> bool:
        """Whether the file is Parquet, or text whose first lines make a table."""
        if path.is_dir():
            return False
        if reading.head(path, 4) == b"PAR1":
            return True
        return looks_like_lines(path) or delimiter_of(path) is not None

    def read(self, paths: Sequence[Path], pseudonym: Pseudonym, options: Options) -> Batch:
        """Read all rows; raises `NeedsMap` without a mapping file, `InputError` with the row's number otherwise."""
        batch = Batch(self.name)
        reader: _Reader | None = None
        for path in paths:
            if path.is_dir():
                raise InputError(f"{path}: is a folder, and a table is one file. Give the file.")
            if options.map_file is None:
                sheet = Sheet.open(path, None, batch.notes)
                raise NeedsMap(path, guess_map(path, sheet.header, (row for _, row in sheet.rows())))
            mapping = load_map(options.map_file)
            sheet = Sheet.open(path, mapping.delimiter, batch.notes)
            check_columns(mapping, sheet.header, options.map_file)
            batch.files.append(path)
            reader = reader or _Reader(batch, pseudonym, options, mapping)
            reader.read(sheet)
        return batch


@dataclass
class _Chat:
    """The rows of one conversation so far."""

    facts: dict[str, str]
    where: str
    turns: list[tuple[Any, Role, str | None, list[tuple[str, Value, str]]]] = field(default_factory=list)
    ratings: dict[str, Value] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)


class _Reader:
    """Gathers rows into conversations."""

    def __init__(self, batch: Batch, pseudonym: Pseudonym, options: Options, mapping: TableMap) -> None:
        self._batch = batch
        self._pseudonym = pseudonym
        self._options = options
        self._map = mapping
        self._path = Path()
        self._chats: dict[str, _Chat] = {}
        self._items: dict[str, Item] = {}
        self._people: set[str] = set()
        self._trials: Counter[tuple[str, str, str]] = Counter()
        self._scales = {**options.scales, **mapping.scales}
        self._roles: dict[str, Role] = {**ROLES, **{name.lower(): role for name, role in mapping.roles.items()}}

    def read(self, sheet: Sheet) -> None:
        """Read all rows of a table, then build its conversations in the order in which they begin."""
        self._path, self._chats = sheet.path, {}
        for column, scale in self._map.ratings.items():
            if scale not in self._scales:
                raise InputError(
                    f"{self._options.map_file}: column {column!r} rates on {scale!r}, which is not "
                    f"declared. Add [scales.{scale}] with its level and bounds."
                )
        for where, row in sheet.rows():
            self._row(row, where)
        if not self._chats:
            raise InputError(f"{self._path}: holds no rows. Check the export that wrote it.")
        for name, chat in self._chats.items():
            self._build(name, chat)
        self._batch.scales += [
            self._scales[name]
            for name in dict.fromkeys(self._map.ratings.values())
            if self._scales[name] not in self._batch.scales
        ]

    def _row(self, row: Row, where: str) -> None:
        columns = self._map.columns
        name = self._needed(row, "conversation", where)
        facts = {key: self._needed(row, key, where) for key in ("person", "item", "assistant", "task")}
        chat = self._chats.setdefault(name, _Chat(facts, where))
        for key, value in facts.items():
            if chat.facts[key] != value:
                before = f"{chat.facts[key]!r} in {chat.where.rsplit(', ', 1)[-1]}"
                raise InputError(
                    f"{where}: conversation {name!r} has {key} {value!r} here and {before}. "
                    "Fix the table, or map another conversation column."
                )
        thumbs = self._ratings(row, chat, where)
        order = row.get(columns.turn) if columns.turn else None
        for role, text in self._messages(row, where):
            chat.turns.append((order, role, text, thumbs if role == "assistant" else []))
            thumbs = [] if role == "assistant" else thumbs
        if thumbs:
            raise InputError(
                f"{where}: scale {thumbs[0][0]!r} rates a turn, and this row has no reply. Leave that cell empty."
            )
        for tag, column in self._map.tags.items():
            self._agree(chat.tags, tag, _text(row.get(column)) or "", where)

    def _needed(self, row: Row, key: str, where: str) -> str:
        column = getattr(self._map.columns, key)
        if column is None:
            return str(getattr(self._map.constants, key))
        text = _text(row.get(column))
        if text is None or not text.strip():
            raise InputError(f"{where}: column {column!r} ({key}) is empty. Fill it, or remove the row.")
        return text.strip()

    def _messages(self, row: Row, where: str) -> list[tuple[Role, str | None]]:
        columns = self._map.columns
        if columns.role is not None and columns.text is not None:
            said = _text(row.get(columns.role)) or ""
            role = self._roles.get(said.strip().lower())
            if role is None:
                raise InputError(
                    f"{where}: role {said!r} is none of user, assistant, system, tool. "
                    "Say in [roles] of the mapping file which one it is."
                )
            return [(role, _text(row.get(columns.text)))]
        user, reply = (_text(row.get(str(column))) for column in (columns.user, columns.reply))
        if not user and not reply:
            return []
        # A table has no way to say that a reply is missing but an empty cell.
        found: list[tuple[Role, str | None]] = [("user", user)] if user else []
        return [*found, ("assistant", reply or None)]

    def _ratings(self, row: Row, chat: _Chat, where: str) -> list[tuple[str, Value, str]]:
        """Take the ratings of the conversation; return those of this row's turn."""
        thumbs = []
        for column, name in self._map.ratings.items():
            value = row.get(column)
            if _text(value) in (None, ""):
                continue
            scale = self._scales[name]
            parsed = _parse(value, scale, where)
            if scale.target == "turn":
                thumbs.append((name, parsed, where))
            else:
                self._agree(chat.ratings, name, parsed, where)
        return thumbs

    @staticmethod
    def _agree(known: dict[str, Any], name: str, value: Any, where: str) -> None:
        if known.setdefault(name, value) != value:
            raise InputError(
                f"{where}: {name!r} is {value!r} here and {known[name]!r} in an earlier row of the same "
                "conversation. Make them equal, or leave the other cells empty."
            )

    def _build(self, name: str, chat: _Chat) -> None:
        batch = self._batch
        turns, thumbs = self._turns(chat)
        if not turns:
            raise InputError(
                f"{chat.where}: conversation {name!r} has no message in any row. Fill its cells, or remove its rows."
            )
        task, key = chat.facts["task"], chat.facts["item"]
        person = self._person(chat.facts["person"])
        item = Item(id=item_id(task, key), task=task, key=key)
        if item.id not in self._items:
            self._items[item.id] = item
            batch.items.append(item)
        conversation = Conversation(
            id=new_id("c"),
            task=task,
            item=item.id,
            participant=person,
            assistant=chat.facts["assistant"],
            origin="human",
            turns=turns,
            tags={tag: value for tag, value in chat.tags.items() if value},
        ).completed()
        same = (item.id, person, str(conversation.content_hash))
        trial = self._trials[same]
        self._trials[same] += 1
        source = Provenance(
            format=batch.format, file=self._path.name, record=name, licence=self._options.licence, trial=str(trial)
        )
        conversation = conversation.model_copy(update={"provenance": source})
        batch.conversations.append(conversation)
        rater = person_rater(person).id
        said = [(None, scale, value) for scale, value in chat.ratings.items()] + thumbs
        for turn, scale, value in said:
            target = Target(kind=self._scales[scale].target, conversation=conversation.id, turn=turn)
            batch.annotations.append(Annotation(id=new_id("a"), rater=rater, scale=scale, target=target, value=value))

    def _person(self, name: str) -> str:
        identity = self._pseudonym(name)
        if identity not in self._people:
            self._people.add(identity)
            self._batch.raters.append(person_rater(identity))
            self._batch.participants.append(
                Participant(
                    id=identity, kind="human", scopes=self._options.scopes, scopes_basis=self._options.scopes_basis
                )
            )
        return identity

    def _turns(self, chat: _Chat) -> tuple[tuple[Turn, ...], list[tuple[int | None, str, Value]]]:
        rows = chat.turns
        if self._map.columns.turn is not None:
            rows = sorted(rows, key=lambda row: _order(row[0], chat.where))
        turns: list[Turn] = []
        thumbs: list[tuple[int | None, str, Value]] = []
        for position, (_, role, text, said) in enumerate(rows):
            if text is None:
                self._batch.notes.repaired("empty replies or texts: kept as turns that are missing")
            turns.append(Turn(position=position, role=role, text=text or "", missing=text is None))
            thumbs += [(position, scale, value) for scale, value, _ in said]
        return tuple(turns), thumbs


def _text(value: Any) -> str | None:
    """Return a cell as text; None where it holds nothing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _order(value: Any, where: str) -> tuple[int, float, str]:
    number = as_number(value)
    if number is not None:
        return 0, number, ""
    text = _text(value)
    if text is None or not text.strip():
        raise InputError(
            f"{where}: a row of this conversation has no turn number. Fill it, or leave 'turn' out of the "
            "mapping file to keep the order of the file."
        )
    return 1, 0, text


def _parse(value: Any, scale: Scale, where: str) -> Value:
    number = as_number(value) if scale.numeric or not isinstance(value, str) else None
    parsed: Value = number if number is not None and scale.numeric else _text(value) or ""
    if isinstance(value, bool) and scale.labels:
        parsed = str(value).lower()
    try:
        return scale.check(parsed)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
