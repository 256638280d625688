"""What an import will write: the batches held against what the store has already."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from annotate.errors import InputError
from annotate.import_checks import check_corrections, check_target, completed, differing, learns, storable
from annotate.importers.contract import Batch
from annotate.schema import (
    Annotation,
    ConsentScope,
    Conversation,
    Criterion,
    Item,
    Noun,
    Participant,
    Profile,
    Rater,
    Run,
    Scale,
)
from annotate.store import Store, Transaction
from annotate.store.tables import import_key

_CHUNK = 400


@dataclass(frozen=True)
class Added:
    """How many conversations of a batch the store lacked, and under which names all of them are stored."""

    new: int
    names: dict[str, str]
    """Conversation of the batch → the identity under which it is stored."""


class Plan:
    """Gathers what is new of several batches; `write` stores all of it in one transaction, or nothing.

    Batches of a source that is too large for memory are stored one by one by `flush`, in a transaction of the caller's.
    """

    def __init__(self, store: Store, counts: Counter[str] | None = None) -> None:
        self._store = store
        self.counts: Counter[str] = Counter() if counts is None else counts
        self._new: list[Noun] = []
        self._new_items: dict[str, Item] = {}
        self._completed: dict[str, Item] = {}
        self._turns: dict[str, int] = {}
        self._stated: dict[str, Participant] = {}
        self._items = {(item.task, item.key): item for item in store.iterate(Item)}
        self._participants = {person.id: person for person in store.iterate(Participant)}
        self._raters = {_rater_key(rater): rater.id for rater in store.iterate(Rater)}
        self._rater_ids = set(self._raters.values())
        self._scales = {scale.name: scale for scale in store.iterate(Scale)}
        self._criteria = store.ids(Criterion)
        self._conversations = store.ids(Conversation)
        self._imports = store.imports()
        self._annotations = store.ids(Annotation)
        self._profiles = store.ids(Profile)
        self._runs = store.ids(Run)
        self._runs_met: set[str | None] = set()
        self._changed: dict[str, Conversation | Run] = {}

    def add(self, batch: Batch) -> Added:
        """Hold one batch against the store and the batches before it; raises `InputError`."""
        with storable():
            return self._add(batch)

    def _add(self, batch: Batch) -> Added:
        items = {item.id: self._item(item, batch) for item in batch.items}
        for person in batch.participants:
            self._participant(person, batch)
        raters = {rater.id: self._rater(rater) for rater in batch.raters}
        for scale in batch.scales:
            self._scale(scale, batch)
        known_criteria = len(self._criteria)
        self._add_missing(batch.criteria, self._criteria)
        self.counts["criteria"] += len(self._criteria) - known_criteria
        names, known, added = self._add_conversations(batch, items)
        self._runs_met.update(one.run for one in added)
        self._add_runs(batch.runs)
        self._compare(batch, known)
        self._add_profiles(batch, names, known)
        self._add_annotations(batch, names, known, raters)
        return Added(len(added), names)

    def write(self) -> None:
        """Store everything in one transaction."""
        with self._store.begin() as transaction:
            self.flush(transaction)

    def flush(self, transaction: Transaction) -> None:
        """Store what was gathered since, and forget it; what is known of the store stays known."""
        self.counts["items completed"] += len(self._completed)
        with storable():
            transaction.put(self._completed.values())
            transaction.put(self._stated.values())
            transaction.put(self._changed.values())
            transaction.add([*self._new_items.values(), *self._new])
        for gathered in (self._completed, self._stated, self._changed, self._new_items):
            gathered.clear()
        self._new = []
        self._turns = {}

    def _item(self, item: Item, batch: Batch) -> str:
        """Return the id under which an item is stored; what the store lacks of it is filled in."""
        stored = self._items.get((item.task, item.key))
        if stored is None:
            self._items[item.task, item.key] = item
            self._new_items[item.id] = item
            return item.id
        parts = {
            name: {**getattr(item, name), **getattr(stored, name)}
            for name in ("inputs", "private", "reference", "tags")
        }
        if any(
            getattr(stored, name)[key] != value
            for name in parts
            for key, value in getattr(item, name).items()
            if key in getattr(stored, name)
        ):
            batch.notes.warn("items that the store describes differently: the stored ones stay")
        merged = stored.model_copy(update=parts)
        if merged != stored:
            self._items[item.task, item.key] = merged
            if merged.id in self._new_items:
                self._new_items[merged.id] = merged
            else:
                self._completed[merged.id] = merged
        return stored.id

    def _participant(self, person: Participant, batch: Batch) -> None:
        stored = self._participants.setdefault(person.id, person)
        if stored is person:
            self._new.append(person)
        elif not stored.scopes and not stored.scopes_basis and person.scopes:  # never stated until now
            self._state(stored, person.scopes, person.scopes_basis)
            batch.notes.repaired("people whose scopes were not stated before: they are now")
        elif (person.scopes or person.scopes_basis) and not set(stored.scopes) <= set(person.scopes):
            # Nothing that is exported may go beyond what a person consented to in either place.
            both = tuple(scope for scope in stored.scopes if scope in person.scopes)
            self._state(stored, both, person.scopes_basis or stored.scopes_basis)
            batch.notes.warn("people whose scopes the store holds otherwise: only what both allow is kept")
        elif set(stored.scopes) != set(person.scopes):
            batch.notes.warn("people whose scopes the store holds otherwise: the stored scopes stay")

    def _state(self, stored: Participant, scopes: tuple[ConsentScope, ...], basis: str | None) -> None:
        """Note what a person consented to, in place of what the store or an earlier batch says."""
        stated = stored.model_copy(update={"scopes": scopes, "scopes_basis": basis})
        self._participants[stored.id] = stated
        if any(noun is stored for noun in self._new):
            self._new = [stated if noun is stored else noun for noun in self._new]
        else:
            self._stated[stored.id] = stated

    def _rater(self, rater: Rater) -> str:
        known = self._raters.get(_rater_key(rater))
        if known is not None or rater.id in self._rater_ids:
            return known or rater.id
        self._raters[_rater_key(rater)] = rater.id
        self._rater_ids.add(rater.id)
        self._new.append(rater)
        return rater.id

    def _scale(self, scale: Scale, batch: Batch) -> None:
        stored = self._scales.setdefault(scale.name, scale)
        if stored is scale:
            self._new.append(scale)
        elif stored.model_copy(update={"question": scale.question}) != scale:
            batch.notes.warn(f"scale {scale.name}: the study's own definition counts")

    def _add_missing(self, nouns: Iterable[Any], known: set[str]) -> None:
        for noun in nouns:
            if noun.id not in known:
                known.add(noun.id)
                self._new.append(noun)

    def _add_runs(self, runs: Iterable[Run]) -> None:
        """Add runs of conversations that are new; one that is there gets the guidelines that were not known before."""
        for run in runs:
            if run.id not in self._runs:
                if run.id in self._runs_met:
                    self._runs.add(run.id)
                    self._new.append(run)
            elif (stored := self._store.get(Run, run.id)) is not None and learns(stored, run):
                self._changed[run.id] = stored.model_copy(update={"config": run.config})
                self.counts["completed"] += 1

    def _add_conversations(
        self, batch: Batch, items: dict[str, str]
    ) -> tuple[dict[str, str], dict[str, Conversation], list[Conversation]]:
        """Add new conversations; return id → stored id, stored id → conversation that was there, and the new ones."""
        names: dict[str, str] = {}
        known: dict[str, Conversation] = {}
        added: list[Conversation] = []
        for given in batch.conversations:
            item = items.get(given.item, given.item)
            conversation = given if item == given.item else given.model_copy(update={"item": item})
            key = import_key(conversation)
            stored = given.id if given.id in self._conversations else self._imports.get(key) if key else None
            names[given.id] = stored or given.id
            if stored is not None:
                known[stored] = conversation
                continue
            self._conversations.add(given.id)
            if key is not None:
                self._imports[key] = given.id
            added.append(conversation)
        added = [c.model_copy(update={"twin_of": names[c.twin_of]}) if c.twin_of in names else c for c in added]
        for twin in added:
            if twin.twin_of is not None and twin.twin_of not in self._conversations:
                raise InputError(
                    f"conversation {twin.id!r}: the conversation that it is a twin of, {twin.twin_of!r}, is neither in "
                    "the files nor in the store. Import it too."
                )
        self._new += added
        self.counts["new"] += len(added)
        self.counts["already there"] += len(known)
        return names, known, added

    def _compare(self, batch: Batch, known: dict[str, Conversation]) -> None:
        """Warn of conversations that are already there and that the file now tells differently."""
        for chunk in _chunks(list(known)):
            for stored in self._store.select(Conversation, id=chunk):
                if (improved := completed(stored, known[stored.id])) is not None:
                    self._improve(stored, improved)
                    continue
                for name in differing(stored, known[stored.id]):
                    batch.notes.warn(
                        f"conversations already there whose {name} differs in the file: the stored one stays"
                    )

    def _improve(self, stored: Conversation, improved: Conversation) -> None:
        """Put a conversation with what was not known of it before, unless that makes it one that is there already."""
        key = import_key(improved)
        if key in self._imports and self._imports[key] != stored.id:
            return
        old = import_key(stored)
        if old is not None:
            self._imports.pop(old, None)
        if key is not None:
            self._imports[key] = stored.id
        self._changed[stored.id] = improved
        self.counts["completed"] += 1

    def _add_profiles(self, batch: Batch, names: dict[str, str], known: dict[str, Conversation]) -> None:
        placed = [
            p.model_copy(update={"conversation": names.get(p.conversation, p.conversation)}) for p in batch.profiles
        ]
        fresh = set(names.values()) - set(known)
        there = self._profiles_of({profile.conversation for profile in placed} - fresh)
        for profile in placed:
            if profile.conversation not in self._conversations:
                raise InputError(
                    f"profile {profile.id!r}: its conversation {profile.conversation!r} is neither in the "
                    "files nor in the store. Import the conversations too."
                )
            others = there.get((profile.conversation, profile.extractor), [])
            if profile.id in self._profiles or any(_same_profile(profile, other) for other in others):
                continue
            if others:
                batch.notes.warn("profiles already there that differ in the file: the stored ones stay")
                continue
            self._profiles.add(profile.id)
            self._new.append(profile)
            self.counts["profiles"] += 1

    def _profiles_of(self, conversations: set[str]) -> dict[tuple[str, str], list[Profile]]:
        """Return the profiles of conversations that are there, by (conversation, extractor)."""
        found: dict[tuple[str, str], list[Profile]] = defaultdict(list)
        profiles = [noun for noun in self._new if isinstance(noun, Profile) and noun.conversation in conversations]
        for chunk in _chunks(sorted(conversations)):
            profiles += self._store.select(Profile, conversation=chunk)
        for profile in profiles:
            found[profile.conversation, profile.extractor].append(profile)
        return found

    def _add_annotations(
        self, batch: Batch, names: dict[str, str], known: dict[str, Conversation], raters: dict[str, str]
    ) -> None:
        given = [self._placed(annotation, names, raters) for annotation in batch.annotations]
        self._turns |= {names[c.id]: len(c.turns) for c in batch.conversations}
        check_corrections(given)
        corrected = {annotation.supersedes for annotation in given}
        fresh = {names[c.id] for c in batch.conversations} - set(known)
        touched = {a.target.conversation for a in given if a.target.conversation} - fresh
        current = self._current(touched)
        for annotation in given:
            self._check(annotation)
            if annotation.id in self._annotations:
                continue
            if annotation.target.conversation in touched and annotation.supersedes not in self._annotations:
                if annotation.id in corrected:
                    continue  # of a chain of corrections only the last says something that the store may lack
                told = current.get(_slot(annotation), [])
                if any(_same_value(annotation, other) for other in told):
                    continue
                if told:
                    annotation = annotation.model_copy(update={"supersedes": told[-1].id})
                    self.counts["corrections"] += 1
                current[_slot(annotation)] = [annotation]
            self._annotations.add(annotation.id)
            self._new.append(annotation)
            self.counts["annotations"] += 1

    def _placed(self, annotation: Annotation, names: dict[str, str], raters: dict[str, str]) -> Annotation:
        """Return an annotation that points at stored ids."""
        target = annotation.target
        moved = {
            side: names[name]
            for side in ("conversation", "other")
            if (name := getattr(target, side)) in names and names[name] != name
        }
        rater = raters.get(annotation.rater, annotation.rater)
        if not moved and rater == annotation.rater:
            return annotation
        return annotation.model_copy(update={"target": target.model_copy(update=moved), "rater": rater})

    def _current(self, conversations: set[str]) -> dict[tuple[Any, ...], list[Annotation]]:
        """Return what is said at present, by slot: who says it, on which scale, about what."""
        said: list[Annotation] = []
        for chunk in _chunks(sorted(conversations)):
            said += self._store.select(Annotation, conversation=chunk)
        said += [
            noun for noun in self._new if isinstance(noun, Annotation) and noun.target.conversation in conversations
        ]
        corrected = {annotation.supersedes for annotation in said}
        current: dict[tuple[Any, ...], list[Annotation]] = defaultdict(list)
        for annotation in said:
            if annotation.id not in corrected:
                current[_slot(annotation)].append(annotation)
        return current

    def _check(self, annotation: Annotation) -> None:
        """Raise where an annotation hangs in the air, or its value breaks the scale that counts."""
        name = f"annotation {annotation.id!r}"
        for conversation in (annotation.target.conversation, annotation.target.other):
            if conversation is not None and conversation not in self._conversations:
                raise InputError(
                    f"{name}: its conversation {conversation!r} is neither in the files nor in the store. "
                    "Import the conversations too."
                )
        if annotation.rater not in self._rater_ids:
            raise InputError(
                f"{name}: its rater {annotation.rater!r} is neither in the files nor in the store. "
                "Import raters.jsonl too."
            )
        scale = self._scales.get(annotation.scale)
        if scale is None:
            raise InputError(
                f"{name}: its scale {annotation.scale!r} is neither in the files nor in the store. "
                "Import scales.jsonl too."
            )
        if annotation.value is not None:
            scale.check(annotation.value)
        self._check_target(annotation, scale)

    def _check_target(self, annotation: Annotation, scale: Scale) -> None:
        target = annotation.target
        check_target(annotation, scale)
        if target.criterion is not None and target.criterion not in self._criteria:
            raise InputError(
                f"annotation {annotation.id!r}: its criterion {target.criterion!r} is neither in the files nor in the "
                "store. Import criteria.jsonl too."
            )
        turns = self._turns_of(str(target.conversation)) if target.turn is not None else 0
        if target.turn is not None and not 0 <= target.turn < turns:
            raise InputError(
                f"annotation {annotation.id!r}: rates turn {target.turn}, and its conversation has {turns} turns "
                "(the first is 0). Change it."
            )

    def _turns_of(self, conversation: str) -> int:
        if conversation not in self._turns:
            stored = self._store.get(Conversation, conversation)
            self._turns[conversation] = len(stored.turns) if stored else 0
        return self._turns[conversation]


def _rater_key(rater: Rater) -> tuple[Any, ...]:
    return rater.kind, rater.name, rater.model, rater.prompt_hash


def _slot(annotation: Annotation) -> tuple[Any, ...]:
    target, shown = annotation.target, annotation.presentation
    return (
        annotation.rater,
        annotation.scale,
        target.kind,
        target.conversation,
        target.other,
        target.turn,
        target.criterion,
        annotation.run,
        shown.position if shown else None,
        shown.order if shown else None,
    )


def _same_value(one: Annotation, other: Annotation) -> bool:
    same_kind = isinstance(one.value, bool) == isinstance(other.value, bool)
    return same_kind and one.value == other.value and one.missing == other.missing


def _same_profile(one: Profile, other: Profile) -> bool:
    return one == other.model_copy(update={"id": one.id, "created_at": one.created_at})


def _chunks(names: list[str]) -> Iterable[list[str]]:
    for start in range(0, len(names), _CHUNK):
        yield names[start : start + _CHUNK]
