"""What both tasks of the release have in common: the record's border check, the turns, people, ratings, votes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from annotate.errors import InputError
from annotate.importers.contract import Batch, Options, Pseudonym, item_id, person_rater
from annotate.importers.scales import SCALES, THUMB
from annotate.importers.simulatorarena.sources import AnnotationFile, Source, licence_of, scopes_of
from annotate.schema import (
    Annotation,
    ConsentScope,
    Conversation,
    Item,
    Participant,
    Provenance,
    Scale,
    Target,
    Turn,
    new_id,
)

_DELIMITER = re.compile(r"(?<!\\)\\\\(?=[()\[\]])(?!\[\d+(?:\.\d+)?(?:pt|em|ex|mm|cm)\])")
_DOUBLED_COMMAND = re.compile(r"(?<!\\)\\\\(?=[a-zA-Z])")
_SINGLE_COMMAND = re.compile(r"(?<!\\)\\(?=[a-zA-Z])")

ALIASES = {"mistral-large-latest": "mistral-large-2407", "mistral-large-2407": "mistral-large-latest"}
"""One assistant that stands under two names in the release."""

Raw = dict[str, Any]


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:120]


def normalise_latex(text: str) -> str:
    r"""Return the text with doubled backslashes halved where they can only be a doubled delimiter or command.

    Delimiters are `\(`, `\)`, `\[` and `\]`. A double backslash before a letter is a line break where the same text
    holds single commands, and stays.
    """
    shown = _DELIMITER.sub(r"\\", text)
    if _DOUBLED_COMMAND.search(shown) and not _SINGLE_COMMAND.search(shown):
        shown = text.replace("\\\\", "\\")
    return shown


class Exchanges:
    """The turns of one record, and where the reply or message of an exchange ended up."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self._at: dict[tuple[int, int], int] = {}

    def add(self, exchange: int, side: int, **fields: Any) -> None:
        """Append the message (`side` 0) or the reply (`side` 1) of an exchange."""
        position = len(self.turns)
        self._at[exchange, side] = position
        self.turns.append(Turn(position=position, role="assistant" if side else "user", **fields))

    def position(self, exchange: int, side: int = 1) -> int | None:
        """Return the position of that turn, or None where there is none."""
        return self._at.get((exchange, side))

    def turn(self, exchange: int, side: int = 1) -> Turn | None:
        """Return that turn, or None."""
        position = self.position(exchange, side)
        return None if position is None else self.turns[position]

    def last_of(self, exchange: int) -> int:
        """Return the position of the last turn of an exchange, or of the conversation."""
        found = [self._at[key] for key in ((exchange, 1), (exchange, 0)) if key in self._at]
        return found[0] if found else len(self.turns) - 1


class Builder:
    """Puts records into a batch; knows the file and the record that are being read."""

    def __init__(self, batch: Batch, pseudonym: Pseudonym, options: Options) -> None:
        self.batch = batch
        self.notes = batch.notes
        self._pseudonym = pseudonym
        self._options = options
        self._licence: str | None = None
        self._scopes: tuple[ConsentScope, ...] = ()
        self._basis = ""
        self._file: AnnotationFile | None = None
        self._number = -1
        self._people: dict[str, Participant] = {}
        self._items: dict[str, Item] = {}
        self._scales: set[str] = set()
        self._trials: Counter[tuple[str, str, str]] = Counter()
        self._read: set[Path] = set()
        self._seen: dict[tuple[str, str, str, str], Path] = {}

    @property
    def where(self) -> str:
        """The place that is being read, for messages."""
        path = self._file.path if self._file else ""
        return f"{path}, record {self._number + 1}"

    def licence(self, source: Source) -> None:
        """Take the licence of a source; without one nothing of it may be shared."""
        self._licence = self._options.licence or licence_of(source.root)
        self._scopes = scopes_of(self._licence)
        self._basis = f"public release, {self._licence or 'licence not stated'}"
        if "share_deidentified" not in self._scopes and self._options.scopes:
            self._scopes, self._basis = self._options.scopes, self._options.scopes_basis or self._basis
        if not {"share_deidentified", "share_verbatim"} & set(self._scopes):
            self.notes.warn("sources without a known licence: exports leave their conversations out")
        self.batch.facts["licence"] = self._licence or "none found"

    def start_file(self, file: AnnotationFile) -> bool:
        """Begin a file; False if it was read before."""
        if file.path.resolve() in self._read:
            return False
        self._read.add(file.path.resolve())
        self._file, self._number = file, -1
        self.batch.files.append(file.path)
        self._trials.clear()
        return True

    def start_record(self, record: Any) -> None:
        """Begin a record."""
        self._number += 1
        if not isinstance(record, dict):
            raise InputError(f"{self.where}: is no object. Give the file as it was released.")

    @contextmanager
    def shaped(self) -> Iterator[None]:
        """Say of a record whose fields are of other kinds than those of the release which one is and where."""
        try:
            yield
        except ValidationError as error:
            problem = error.errors()[0]
            key, fault = ".".join(map(str, problem["loc"])) or "record", problem["msg"]
            raise InputError(
                f"{self.where}: {key}: {fault[:1].lower()}{fault[1:]}. Give the file as it was released."
            ) from None
        except (TypeError, ValueError, AttributeError, LookupError) as error:
            raise InputError(
                f"{self.where}: a field is of another kind than in the release ({_line(error)}). "
                "Give the file as it was released."
            ) from None

    def require(self, record: Raw, *names: str) -> None:
        """Raise unless the fields without which nothing can be stored are there."""
        for name in names:
            if record.get(name) is None:
                raise InputError(f"{self.where}: field {name!r} is missing. Give the file as it was released.")

    def leave_out(self, record: Raw, known: Collection[str]) -> None:
        """Count the fields that are not kept because nobody knows them."""
        for name in record:
            if name not in known:
                self.notes.dropped(f"field {name!r}: not known")

    def person(self, record: Raw) -> str:
        """Return the pseudonym of the record's `workerId`."""
        worker = record["workerId"]
        if not isinstance(worker, (str, int)) or isinstance(worker, bool) or not str(worker).strip():
            raise InputError(f"{self.where}: workerId {worker!r} names nobody. Give the file as it was released.")
        name = self._pseudonym(str(worker))
        if name not in self._people:
            self._people[name] = Participant(id=name, kind="human", scopes=self._scopes, scopes_basis=self._basis)
            self.batch.participants.append(self._people[name])
            self.batch.raters.append(person_rater(name))
        return name

    def item(self, task: str, key: str, **facts: Raw) -> str:
        """Add an item once; return its id."""
        identity = item_id(task, key)
        item = Item(id=identity, task=task, key=key, **facts)
        known = self._items.setdefault(identity, item)
        if known is not item and known != item:
            self.notes.warn("two records describe one item differently: the first was taken")
        return identity

    def exchanges(self, record: Raw, part_of: Any, latex: bool) -> Exchanges:
        """Return the turns of `user_queries` and `ai_responses`."""
        queries, replies = (self._list(record, name) for name in ("user_queries", "ai_responses"))
        if len(queries) != len(replies):
            self.notes.warn("a record has not as many replies as messages: the turns that are there were taken")
        found = Exchanges()
        for exchange in range(max(len(queries), len(replies))):
            part = part_of(exchange)
            if exchange < len(queries):
                found.add(exchange, 0, part=part, **self._message(queries[exchange]))
            if exchange < len(replies):
                found.add(exchange, 1, part=part, **self._reply(replies[exchange], latex))
        return found

    def _list(self, record: Raw, name: str) -> list[Any]:
        value = record[name]
        if not isinstance(value, list):
            raise InputError(f"{self.where}: field {name!r} is no list. Give the file as it was released.")
        return value

    def _message(self, value: Any) -> Raw:
        if isinstance(value, str):
            if not value.strip():
                self.notes.warn("empty messages: kept as they are")
            return {"text": value}
        if value is None:
            self.notes.repaired("null messages: kept as turns that are missing")
            return {"text": "", "missing": True}
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            self.notes.repaired("messages that are a list of files: kept as attachments, with no text")
            return {"text": "", "attachments": tuple(value)}
        raise InputError(
            f"{self.where}: a message is neither a text nor a list of files. Give the file as it was released."
        )

    def _reply(self, value: Any, latex: bool) -> Raw:
        if value is None:
            self.notes.repaired("null replies: kept as turns that are missing, never as empty text")
            return {"text": "", "missing": True}
        if not isinstance(value, str):
            raise InputError(f"{self.where}: a reply is no text. Give the file as it was released.")
        shown = normalise_latex(value) if latex else value
        if shown == value:
            return {"text": value}
        self.notes.repaired("replies with doubled backslashes: the original is kept, a normalised text is displayed")
        return {"text": value, "display": shown}

    def store(self, conversation: Conversation) -> Conversation | None:
        """Add a finished conversation with its provenance; None if another file of the release held it already."""
        done = conversation.completed()
        key = (done.item, done.participant, str(done.content_hash))
        trial = str(self._trials[key])
        self._trials[key] += 1
        path = self._file.path if self._file else Path()
        first = self._seen.setdefault((*key, trial), path)
        if first != path:
            self.notes.warn(f"conversations of {path.name} that {first.name} holds too: taken once, from {first.name}")
            return None
        source = done.provenance
        provenance = Provenance(
            format=self.batch.format,
            file=path.name,
            record=str(self._number),
            licence=self._licence,
            trial=trial,
            repairs=source.repairs if source else (),
        )
        done = done.model_copy(update={"provenance": provenance})
        self.batch.conversations.append(done)
        return done

    def rate(self, conversation: Conversation, scale: Scale, value: Any) -> None:
        """Add the person's number on a scale, if they gave one."""
        if value is None:
            return
        number = self._number_of(value, scale)
        try:
            scale.check(number)
        except InputError as error:
            raise InputError(f"{self.where}: {error}") from None
        self.annotate(conversation, scale, number)

    def _number_of(self, value: Any, scale: Scale) -> int | float:
        if isinstance(value, str) and re.fullmatch(r"\s*\d{1,3}(\.0*)?\s*", value):
            self.notes.repaired(f"ratings on {scale.name} that were texts: read as numbers")
            return int(float(value))
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InputError(f"{self.where}: scale {scale.name!r}: {value!r} is not a number. Fix the export.")
        return value

    def say(self, conversation: Conversation, scale: Scale, text: Any) -> None:
        """Add the person's words on a scale of level text, if they wrote any."""
        if isinstance(text, str) and text.strip():
            self.annotate(conversation, scale, text)

    def annotate(
        self, conversation: Conversation, scale: Scale, value: Any, turn: int | None = None, flags: tuple[str, ...] = ()
    ) -> None:
        """Add one annotation of the conversation's person."""
        if scale.name not in self._scales:
            self._scales.add(scale.name)
            self.batch.scales.append(SCALES[scale.name])
        target = Target(kind=scale.target, conversation=conversation.id, turn=turn)
        self.batch.annotations.append(
            Annotation(
                id=new_id("a"),
                rater=person_rater(conversation.participant).id,
                scale=scale.name,
                target=target,
                value=value,
                flags=flags,
            )
        )

    def vote(self, conversation: Conversation, turn: int, liked: bool, flags: tuple[str, ...]) -> None:
        """Add a thumb on a reply."""
        self.annotate(conversation, THUMB, "up" if liked else "down", turn, flags)

    def finish(self) -> None:
        """Complete the batch: items in use, and what holds for the whole of it."""
        used = {conversation.item for conversation in self.batch.conversations}
        self.batch.items = [item for identity, item in self._items.items() if identity in used]
        people = {conversation.participant for conversation in self.batch.conversations}
        self.batch.participants = [p for p in self.batch.participants if p.id in people]
        names = {conversation.assistant for conversation in self.batch.conversations}
        for name in sorted(names & set(ALIASES)):
            if name < ALIASES[name] and ALIASES[name] in names:
                self.notes.warn(f"{name} and {ALIASES[name]} are one assistant under two names: kept as given")


def known(record: Mapping[str, Any], names: Mapping[str, str]) -> Raw:
    """Return the fields of `names` that hold something, under their new names."""
    return {new: record[old] for old, new in names.items() if record.get(old) not in (None, "")}


def vote_key(key: str) -> tuple[int, int] | None:
    """Return the two numbers of a vote's key such as `"[3, 1]"`, or None."""
    try:
        pair = json.loads(key)
    except ValueError:
        return None
    if isinstance(pair, list) and len(pair) == 2 and all(isinstance(n, int) and not isinstance(n, bool) for n in pair):
        return pair[0], pair[1]
    return None
