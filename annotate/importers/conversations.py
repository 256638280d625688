"""Read lines of `conversations.jsonl`: an export's as they are, hand-written ones with what they leave out."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from types import NoneType
from typing import Any

from annotate.errors import InputError, nearest
from annotate.importers import reading
from annotate.importers.contract import Batch, Options, Pseudonym, item_id, person_rater
from annotate.long_format import ConversationLine, ItemLine
from annotate.schema import (
    Annotation,
    ConsentScope,
    Conversation,
    DocumentVersion,
    Item,
    Participant,
    Provenance,
    Rater,
    Scale,
    Target,
    Turn,
    Value,
    canonical_hash,
    new_id,
    now,
)

NO_CONSENT = "stated: no scope"
"""The basis of no scope at all where a file says so; without a basis, no scope is one that was not stated."""
_ORDER: tuple[ConsentScope, ...] = ("take_part", "share_deidentified", "share_verbatim")


class People:
    """The participants and raters of a batch, with the scopes that the files or the caller state."""

    def __init__(self, batch: Batch, pseudonym: Pseudonym, options: Options) -> None:
        self._batch = batch
        self._pseudonym = pseudonym
        self._options = options
        self._declared: dict[str, Participant] = {}
        self._met: dict[str, Participant] = {}
        self.raters: dict[str, Rater] = {}

    def declare(self, participant: Participant, where: str) -> None:
        """Add a participant as a file describes them."""
        if participant.kind == "human":
            _check_pseudonym(participant.id, where)
        self._declared[participant.id] = participant

    def meet(self, line: ConversationLine, where: str) -> str:
        """Return the id of a line's participant, and note the scopes it states."""
        if (line.person is None) == (line.participant is None):
            raise InputError(
                f"{where}: needs either 'person' (a name, which is stored as a pseudonym) or "
                "'participant' (a pseudonym of this study). Give one of the two."
            )
        human = line.origin == "human"
        if line.participant is not None:
            identity = line.participant
            if human:
                _check_pseudonym(identity, where)
        elif human:
            identity = self._pseudonym(str(line.person))
        else:
            identity = "s_" + canonical_hash(line.person)[:12]
        scopes = line.scopes if line.scopes is not None else self._options.scopes if human else ()
        basis = line.scopes_basis if line.scopes is not None else self._options.scopes_basis if human else None
        basis = basis or (NO_CONSENT if line.scopes == () else None)
        person = Participant(
            id=identity,
            kind="human" if human else "simulator",
            scopes=scopes,
            scopes_basis=basis,
            background={} if human or line.person is None else {"name": line.person},
        )
        known = self._met.setdefault(identity, person)
        if set(known.scopes) != set(person.scopes):
            self._batch.notes.warn("people whose lines state different scopes: only what all of them allow was taken")
            shared = tuple(s for s in _ORDER if s in known.scopes and s in person.scopes)
            self._met[identity] = known.model_copy(update={"scopes": shared})
        return identity

    def rater(self, participant: str) -> str:
        """Return the id of the rater that a person is."""
        rater = person_rater(participant)
        return self.raters.setdefault(rater.id, rater).id

    def finish(self) -> None:
        """Put them into the batch; what `participants.jsonl` says of a person counts."""
        self._batch.participants = list({**self._met, **self._declared}.values())
        self._batch.raters = list(self.raters.values())


class ConversationReader:
    """Turns lines into conversations, and their ratings and survey texts into annotations."""

    def __init__(self, batch: Batch, people: People, options: Options, scales: dict[str, Scale]) -> None:
        self._batch = batch
        self._people = people
        self._options = options
        self._scales = scales
        self._by_key: dict[tuple[str, str], Item] = {}
        self.items: dict[str, Item] = {}
        self._trials: Counter[tuple[str, str, str]] = Counter()
        self._used: set[str] = set()
        self.by_name: dict[str, Conversation] = {}

    def read(self, raw: dict[str, Any], where: str, file: Path) -> None:
        """Read one line."""
        line = reading.checked(ConversationLine, raw, where)
        name = line.conversation or line.id
        if name is None:
            raise InputError(f"{where}: has no 'conversation', a name for the conversation. Add it.")
        if name in self.by_name:
            raise InputError(f"{where}: conversation {name!r} stands twice. Give each its own name.")
        if not line.turns and line.id is None:  # an export may hold one that was only just begun
            raise InputError(f"{where}: conversation {name!r} has no turns. Add what was said, or remove the line.")
        _check_answers({**line.survey, **line.background}, where)
        if not isinstance(correct := line.outcome.get("correct"), (bool, NoneType)):
            raise InputError(f"{where}: key 'outcome.correct' is true, false or null (it is {correct!r}). Change it.")
        participant = self._people.meet(line, where)
        turns, thumbs = self._turns(line, where)
        conversation = Conversation(
            id=line.id or new_id("c"),
            task=line.task,
            item=self._item(line),
            participant=participant,
            assistant=line.assistant,
            origin=line.origin,
            turns=turns,
            documents=self._documents(line, where),
            ended=line.ended,
            outcome=line.outcome,
            survey=line.survey,
            tags=line.tags,
            cost_usd=line.cost_usd,
            run=line.run,
            cell=line.cell,
            strategy=line.strategy,
            profile=line.profile,
            provenance=line.provenance,
            twin_of=line.twin_of,
            content_hash=line.content_hash,
            created_at=line.created_at or now(),
        )
        if line.id is None:
            conversation = self._foreign(conversation, line, name, file)
        self.by_name[name] = conversation
        self._batch.conversations.append(conversation)
        self._say(conversation, line, thumbs, where)

    def identity(self, name: Any) -> Any:
        """Return the id of a conversation that a file names; what it does not name is taken for an id."""
        known = self.by_name.get(name) if isinstance(name, str) else None
        return known.id if known else name

    def check_value(self, annotation: Annotation, where: str) -> None:
        """Raise where the scale of an annotation does not allow its value."""
        scale = self._scale(annotation.scale, where)
        if annotation.value is not None:
            _check(scale, annotation.value, where)
        self._use(scale)

    def finish(self) -> None:
        """Let twins point at the conversations that they name, wherever these stand."""
        self._batch.conversations = [
            c.model_copy(update={"twin_of": self.identity(c.twin_of)}) if c.twin_of in self.by_name else c
            for c in self._batch.conversations
        ]

    def _foreign(self, conversation: Conversation, line: ConversationLine, name: str, file: Path) -> Conversation:
        done = conversation.completed()
        key = (str(done.content_hash), done.item, done.participant)
        trial = str(self._trials[key]) if line.trial is None else str(line.trial)
        self._trials[key] += 1
        source = Provenance(
            format=self._batch.format,
            file=file.name,
            record=name,
            licence=line.licence or self._options.licence,
            trial=trial,
        )
        texts = {key for key, value in line.survey.items() if self._is_text(key, value)}
        survey = {key: value for key, value in line.survey.items() if key not in texts}
        before = {("prewriting" if key == "answers" else key): value for key, value in line.background.items()}
        return done.model_copy(update={"provenance": source, "survey": {**before, **survey}})

    def _is_text(self, name: str, value: Any) -> bool:
        scale = self._scales.get(name)
        return isinstance(value, str) and scale is not None and scale.level == "text"

    def add_item(self, item: Item) -> None:
        """Add an item that conversations may name by its key or id."""
        self.items[item.id] = item
        self._by_key.setdefault((item.task, item.key), item)

    def _item(self, line: ConversationLine) -> str:
        key = line.item if isinstance(line.item, str) else line.item.key
        known = self.items.get(line.item_id) if line.item_id else self._by_key.get((line.task, key))
        if known is not None:
            if isinstance(line.item, ItemLine) and line.item.model_dump() != known.model_dump(exclude={"id", "task"}):
                self._batch.notes.warn("lines that describe one item differently: the first was taken")
            return known.id
        facts = {} if isinstance(line.item, str) else line.item.model_dump(exclude={"key"})
        item = Item(id=line.item_id or item_id(line.task, key), task=line.task, key=key, **facts)
        self.add_item(item)
        return item.id

    def _turns(self, line: ConversationLine, where: str) -> tuple[tuple[Turn, ...], list[tuple[int, str, Value]]]:
        turns, said = [], []
        for position, raw in enumerate(line.turns):
            place = f"{where}, turn {position + 1}"
            fields = dict(raw)
            ratings = fields.pop("ratings", {})
            if not isinstance(ratings, dict):
                raise InputError(f"{place}: key 'ratings' is no object of scale and value. Change it.")
            said += [(position, name, value) for name, value in ratings.items()]
            if fields.get("text", "") is None:
                self._missing_text(line)
                fields.update(text="", missing=True)
            turns.append(reading.checked(Turn, {**fields, "position": position}, place))
        return tuple(turns), said

    def _missing_text(self, line: ConversationLine) -> None:
        if line.withheld:
            self._batch.notes.dropped("texts that the export withheld")
        else:
            self._batch.notes.repaired("null texts: kept as turns that are missing")

    def _documents(self, line: ConversationLine, where: str) -> tuple[DocumentVersion, ...]:
        versions: list[DocumentVersion] = []
        before = ""
        for raw in line.documents:
            if raw.get("text", "") is None:
                self._missing_text(line)
                continue
            default = {"version": len(versions), "changed": raw.get("text") != before} if line.id is None else {}
            version = reading.checked(DocumentVersion, {**default, **raw}, f"{where}, document {len(versions) + 1}")
            if version.turn >= len(line.turns):
                raise InputError(
                    f"{where}: a document follows turn {version.turn}, but the last turn is "
                    f"{len(line.turns) - 1} (the first is 0). Change it."
                )
            versions.append(version)
            before = version.text
        return tuple(versions)

    def _say(
        self, conversation: Conversation, line: ConversationLine, thumbs: list[tuple[int, str, Value]], where: str
    ) -> None:
        """Add the person's ratings and texts as annotations."""
        said: list[tuple[int | None, str, Value | None]] = [(None, name, value) for name, value in line.ratings.items()]
        said += thumbs
        if line.id is None:
            said += [
                (None, name, text) for name, text in line.survey.items() if self._is_text(name, text) and text.strip()
            ]
        for turn, name, value in said:
            scale = self._scale(name, where)
            if (turn is None) != (scale.target == "conversation") or scale.target not in ("conversation", "turn"):
                raise InputError(
                    f"{where}: scale {name!r} is for a {scale.target}. Put its ratings there, "
                    "or into annotations.jsonl."
                )
            if value is not None:
                _check(scale, value, where)
            self._use(scale)
            target = Target(kind=scale.target, conversation=conversation.id, turn=turn)
            self._batch.annotations.append(
                Annotation(
                    id=new_id("a"),
                    rater=self._people.rater(conversation.participant),
                    scale=name,
                    target=target,
                    value=value,
                    missing="skipped" if value is None else None,
                )
            )

    def _use(self, scale: Scale) -> None:
        if scale.name not in self._used and scale not in self._batch.scales:
            self._batch.scales.append(scale)
        self._used.add(scale.name)

    def _scale(self, name: str, where: str) -> Scale:
        if name not in self._scales:
            raise InputError(
                f"{where}: scale {name!r} is not declared{nearest(name, self._scales)} "
                "Declare it in scales.jsonl, or in study.toml."
            )
        return self._scales[name]


def _check_answers(said: dict[str, Any], where: str) -> None:
    """Raise where the answers given before a conversation are not what a twin is told of them."""
    answers = said.get("answers", said.get("prewriting"))
    form = {"question", "answer"}
    if answers is not None and not (
        isinstance(answers, list) and all(isinstance(one, dict) and form <= one.keys() for one in answers)
    ):
        raise InputError(
            f"{where}: key 'background.answers' is a list of objects with 'question' and 'answer'. Change it."
        )


def _check_pseudonym(identity: str, where: str) -> None:
    """Raise where a person would be stored under what may be their name."""
    if not re.fullmatch(r"p_[0-9a-f]{8,}", identity):
        raise InputError(f"{where}: {identity!r} is no pseudonym. Write 'person' instead, and it is stored as one.")


def _check(scale: Scale, value: Value, where: str) -> None:
    try:
        scale.check(value)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
