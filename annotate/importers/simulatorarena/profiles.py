"""The released profiles, concepts and backgrounds, joined to the conversations they were made from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from annotate.describe import length_range
from annotate.errors import InputError
from annotate.importers import reading
from annotate.importers.contract import Batch
from annotate.importers.simulatorarena.records import ALIASES, Raw
from annotate.schema import Conversation, Knowledge, Preference, Profile, StyleValue, new_id

EXTRACTOR = "released"

_STATES = ("knows well", "partial understanding", "struggling", "not introduced")
_MATH, _DOCUMENTS = "math_tutoring", "document_creation"
_BACKGROUND = "document_creation_user_simulator_background.json"
_NAME_WORDS, _VALUE_WORDS = ("name", "attribute", "key", "style"), ("value", "answer", "description", "text", "level")

Keys = dict[str, bool]
"""The keys to look for, in order; the value says whether it is the key of the assistant's other name."""


class Released:
    """The files beside the annotations; each is read when it is first asked for."""

    def __init__(self, root: Path, batch: Batch) -> None:
        self._root = root
        self._batch = batch
        self._notes = batch.notes
        self._files: dict[str, Raw | None] = {}
        self._joined: dict[str, list[int]] = {}

    def concepts(self, problem: Any) -> list[dict[str, str]] | None:
        """Return the concepts of a problem, or None where the release has none."""
        entry = (self._file("math_tutoring_problems_extracted_concepts.json") or {}).get(str(problem))
        found = entry.get("extracted_concepts") if isinstance(entry, dict) else None
        if not isinstance(found, list):
            return None
        return [
            {"name": str(c.get("Concept Name", "")), "explanation": str(c.get("Concept Explanation", ""))}
            for c in found
            if isinstance(c, dict)
        ]

    def background(self, record: Raw) -> list[dict[str, str]]:
        """Return the released questions and answers of a document record; empty where there are none."""
        entry = self._find(_BACKGROUND, _document_keys(record))
        if not isinstance(entry, list):
            return []
        self._notes.repaired("pre-writing answers taken from the released background")
        return [
            {"question": _plain(pair.get("question")), "answer": _plain(pair.get("answer"))}
            for pair in entry
            if isinstance(pair, dict)
        ]

    def count_unused_background(self, record: Raw) -> None:
        """Count a released background that is not used because the record holds the person's own answers."""
        if self._find(_BACKGROUND, _document_keys(record)) is not None:
            self._notes.dropped("released backgrounds: the person's own pre-writing answers were taken")

    def join_math(self, record: Raw, conversation: Conversation) -> None:
        """Add the profile of a math conversation, if the release has one."""
        keys = {
            str((problem, record["workerId"], model)): aliased
            for model, aliased in _models(record)
            for problem in _spellings(record["problem_id"])
        }
        problems: list[str] = []
        known = self._knowledge(self._entry(_MATH, "knowledge_state", keys), problems)
        self._add(conversation, keys, problems, knowledge=known)

    def join_document(self, record: Raw, conversation: Conversation) -> None:
        """Add the profile of a document conversation, if the release has one."""
        keys = _document_keys(record)
        problems: list[str] = []
        wanted = self._preferences(self._entry(_DOCUMENTS, "preferences", keys), problems)
        self._add(conversation, keys, problems, preferences=wanted)

    def report(self) -> None:
        """State how many conversations found their profile."""
        for task, (joined, asked) in self._joined.items():
            before = str(self._batch.facts.get(f"profiles {task}", "0 of 0")).split(" of ")
            self._batch.facts[f"profiles {task}"] = f"{joined + int(before[0])} of {asked + int(before[1])}"

    def _add(self, conversation: Conversation, keys: Keys, problems: list[str], **parts: Any) -> None:
        writing = self._style(conversation.task, "writing_style", keys, problems)
        interaction = self._style(conversation.task, "interaction_style", keys, problems)
        counts = self._joined.setdefault(conversation.task, [0, 0])
        counts[1] += 1
        parts = {**parts, "writing": writing, "interaction": interaction}
        if all(part is None for part in parts.values()):
            return
        counts[0] += 1
        self._batch.profiles.append(
            Profile(
                id=new_id("f"),
                task=conversation.task,
                conversation=conversation.id,
                participant=conversation.participant,
                length_range=_length_range(conversation),
                extractor=EXTRACTOR,
                problems=tuple(problems),
                **parts,
            )
        )

    def _entry(self, task: str, name: str, keys: Keys) -> Any:
        return self._find(f"user_simulator_profiles/{task}/{name}.json", keys)

    def _find(self, name: str, keys: Keys) -> Any:
        entries = self._file(name) or {}
        key = next((key for key in keys if key in entries), None)
        if key is None:
            return None
        if keys[key]:
            self._notes.repaired(f"entries of {Path(name).name} under the assistant's other name: joined")
        return entries[key]

    def _knowledge(self, entry: Any, problems: list[str]) -> tuple[Knowledge, ...] | None:
        if entry is None:
            return None
        concepts = entry.get("concepts") if isinstance(entry, dict) else None
        if not isinstance(concepts, list):
            self._notes.dropped("knowledge states of an unknown shape")
            return None
        if entry.get("response"):
            self._notes.dropped("the reasoning beside a released knowledge state")
        found = []
        for concept in concepts:
            name, status = (
                _plain(concept.get(key)) if isinstance(concept, dict) else "" for key in ("Concept Name", "Status")
            )
            state = " ".join(status.lower().split())
            if state not in _STATES:
                state = "unknown"
                problems.append(f"concept {name!r} has the unknown state {status!r}")
                self._notes.repaired("states of knowledge that are none of the four: kept as unknown")
            found.append(Knowledge.model_validate({"concept": name, "state": state}))
        return tuple(found)

    def _preferences(self, entry: Any, problems: list[str]) -> tuple[Preference, ...] | None:
        if entry is None:
            return None
        if not isinstance(entry, list):
            self._notes.dropped("preferences of an unknown shape")
            return None
        keys = ("Preference Name", "Preference Question", "Preference Question Answer")
        found = []
        for wish in entry:
            name, question, answer = (_plain(wish.get(key)) if isinstance(wish, dict) else "" for key in keys)
            if not name or not answer:
                problems.append("a preference without a name or an answer was left out")
                self._notes.dropped("preferences without a name or an answer")
                continue
            found.append(Preference(name=name, question=question, answer=answer))
        return tuple(found)

    def _style(self, task: str, name: str, keys: Keys, problems: list[str]) -> tuple[StyleValue, ...] | None:
        """Return the values of a style; the release's shape is not fixed, so a mapping, a list and a text are read."""
        entry = self._entry(task, name, keys)
        if entry is None:
            return None
        values = _style_values(entry)
        if values is None:
            problems.append(f"the released {name} has an unknown shape")
            self._notes.dropped(f"released {name} of an unknown shape")
        return values

    def _file(self, name: str) -> Raw | None:
        if name not in self._files:
            path = self._root / name
            value = reading.read_json(path) if path.is_file() else None
            if value is not None:
                if not isinstance(value, dict):
                    raise InputError(
                        f"{path}: is no object with an entry for each key. Give the file as it was released."
                    )
                self._batch.files.append(path)
            self._files[name] = value
        return self._files[name]


def _length_range(conversation: Conversation) -> tuple[int, int] | None:
    """Return the range over the person's messages, in math those of the first problem."""
    part = "problem_1" if conversation.task == _MATH else None
    return length_range(
        [
            t.words
            for t in conversation.messages(part)
            if t.role == "user" and not t.missing and (t.text or not t.attachments)
        ]
    )


def _models(record: Raw) -> list[tuple[str, bool]]:
    """Return the names to look for, each with whether it is the assistant's other name."""
    model = str(record["model"])
    return [(model, False), (ALIASES[model], True)] if model in ALIASES else [(model, False)]


def _spellings(problem: Any) -> list[Any]:
    text = str(problem)
    return [int(text), text] if text.isascii() and text.isdigit() and len(text) < 18 else [problem]


def _document_keys(record: Raw) -> Keys:
    return {
        f"{model}_{record['workerId']}_{record['document_type']}_{record['intent']}": aliased
        for model, aliased in _models(record)
    }


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return "; ".join(str(part) for part in value)
    return "" if value is None else str(value)


def _style_values(entry: Any) -> tuple[StyleValue, ...] | None:
    if isinstance(entry, str):
        return (StyleValue(key="description", value=entry),) if entry.strip() else ()
    if isinstance(entry, dict):
        return tuple(
            StyleValue(key=str(key), value=value if isinstance(value, str) else json.dumps(value))
            for key, value in entry.items()
            if key != "response"
        )
    if not isinstance(entry, list):
        return None
    found = []
    for one in entry:
        name, value = (_worded(one, words) for words in (_NAME_WORDS, _VALUE_WORDS))
        if name is None or value is None:
            return None
        found.append(StyleValue(key=name, value=value))
    return tuple(found)


def _worded(entry: Any, words: tuple[str, ...]) -> str | None:
    """Return the text under the first key that holds one of the words."""
    for word in words:
        for key, value in entry.items() if isinstance(entry, dict) else ():
            if word in str(key).lower() and isinstance(value, str):
                return value
    return None
