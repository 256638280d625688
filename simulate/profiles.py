"""Profile extraction: what a person knows or wants, how they write and act, how long their messages are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotate.describe import length_range
from annotate.schema import Call, Conversation, Item, Knowledge, Preference, Profile, StyleValue, Turn
from simulate.asking import Voice, object_schema
from simulate.llm import CallFailed
from simulate.prompts import Prompt
from simulate.task import Attribute, Part, Task
from simulate.transcripts import Transcript, tokens, transcribe

STATES = {"k": "knows well", "p": "partial understanding", "s": "struggling", "n": "not introduced", "u": "unknown"}
_LETTERS = "abcdefghijklmnopqrst"
_TOKENS_PER_ANSWER = 9
"""A short key and a letter in JSON; what decides how many attributes go into one call."""


def first_part(conversation: Conversation) -> tuple[Turn, ...]:
    """Return the turns that belong to the item: of a math session the first problem only."""
    parts = {turn.part for turn in conversation.turns if turn.part}
    return conversation.messages("problem_1" if "problem_1" in parts else None)


def person_length_range(conversation: Conversation) -> tuple[int, int] | None:
    """Return the length range of the person of a conversation."""
    return length_range([t.words for t in first_part(conversation) if t.role == "user" and t.text.strip()])


@dataclass(frozen=True)
class Extractor:
    """Extracts profiles with one model."""

    voice: Voice
    task: Task
    room: int | None = None

    def prompts(self) -> dict[str, str]:
        """Return the hash of each prompt that is used."""
        return {
            name: self.task.prompts.hash(name) for name in ("extract_style", "extract_knowledge", "extract_preferences")
        }

    async def extract(self, identity: str, conversation: Conversation, item: Item, parts: Sequence[Part]) -> Profile:
        """Return the profile; a part whose reply could not be read is empty and stands in `problems`."""
        calls: list[Call] = []
        found: dict[str, Any] = {}
        problems: list[str] = []
        for part in parts:
            try:
                values, cut = await self._part(part, conversation, item, calls)
                found[part] = values
                if cut:
                    problems.append(f"{part}: the conversation was cut to fit")
            except CallFailed as failed:
                if failed.kind not in ("unparsable", "empty", "length", "filtered"):
                    raise
                found[part] = ()
                problems.append(f"{part}: {failed.kind}")
        return Profile(
            id=identity,
            task=conversation.task,
            conversation=conversation.id,
            participant=conversation.participant,
            length_range=person_length_range(conversation),
            extractor=self.voice.model.model,
            call_ids=tuple(c.id for c in calls),
            problems=tuple(problems),
            **found,
        )

    async def _part(
        self, part: Part, conversation: Conversation, item: Item, calls: list[Call]
    ) -> tuple[tuple[Any, ...], bool]:
        if part == "knowledge":
            return await self._knowledge(conversation, item, calls)
        if part == "preferences":
            return await self._preferences(conversation, item, calls)
        return await self._style(part, conversation, calls)

    async def _knowledge(
        self, conversation: Conversation, item: Item, calls: list[Call]
    ) -> tuple[tuple[Knowledge, ...], bool]:
        named = item.reference.get("concepts")
        concepts = [_concept(entry) for entry in named] if isinstance(named, list) else []
        if not concepts:
            return (), False
        keyed = {f"c{n}": name for n, name in enumerate(concepts, 1)}
        shown = self._transcript(conversation, sum(tokens(name) for name in concepts))
        prompt = self.task.prompts.render(
            "extract_knowledge",
            {
                "task": self.task.file,
                "topic": self.task.topic(item),
                "transcript": shown.text,
                "concepts": [{"key": key, "concept": name} for key, name in keyed.items()],
            },
        )
        said = await self._ask(
            prompt, object_schema({k: {"type": "string", "enum": list(STATES)} for k in keyed}), calls
        )
        return tuple(Knowledge(concept=name, state=STATES[said[key]]) for key, name in keyed.items()), shown.cut

    async def _preferences(
        self, conversation: Conversation, item: Item, calls: list[Call]
    ) -> tuple[tuple[Preference, ...], bool]:
        attributes = self.task.preferences(item)
        most = max((self.voice.max_tokens - 10) // 30, 1)
        found: list[Preference] = []
        cut = False
        for start in range(0, len(attributes), most):
            batch = attributes[start : start + most]
            shown = self._transcript(conversation, sum(tokens(a.question) for a in batch))
            prompt = self.task.prompts.render(
                "extract_preferences",
                {
                    "task": self.task.file,
                    "topic": self.task.topic(item),
                    "transcript": shown.text,
                    "attributes": [{"key": a.key, "question": a.question} for a in batch],
                },
            )
            said = await self._ask(prompt, object_schema({a.key: self.voice.text(50) for a in batch}), calls)
            found += [
                Preference(name=a.name, question=a.question, answer=str(said[a.key]).strip())
                for a in batch
                if str(said[a.key]).strip()
            ]
            cut = cut or shown.cut
        return tuple(found), cut

    async def _style(
        self, part: Part, conversation: Conversation, calls: list[Call]
    ) -> tuple[tuple[StyleValue, ...], bool]:
        found: list[StyleValue] = []
        cut = False
        for batch in self._batches(self.task.styles[part]):
            keyed = {f"p{n}": attribute for n, attribute in enumerate(batch, 1)}
            asked = [_asked(key, attribute, self.room is not None) for key, attribute in keyed.items()]
            shown = self._transcript(conversation, sum(tokens(str(entry)) for entry in asked))
            prompt = self.task.prompts.render(
                "extract_style", {"task": self.task.file, "transcript": shown.text, "attributes": asked}
            )
            schema = {k: {"type": "string", "enum": [*_LETTERS[: len(a.values)], "u"]} for k, a in keyed.items()}
            said = await self._ask(prompt, object_schema(schema), calls)
            found += [StyleValue(key=a.key, value=_value(a, said[key])) for key, a in keyed.items()]
            cut = cut or shown.cut
        return tuple(found), cut

    def _batches(self, attributes: Sequence[Attribute]) -> list[list[Attribute]]:
        """Split attributes so that the answers fit into a reply, and the questions into half of the room."""
        most = max((self.voice.max_tokens - 10) // _TOKENS_PER_ANSWER, 1)
        room = None if self.room is None else self.room // 2
        batches: list[list[Attribute]] = []
        used = 0
        for attribute in attributes:
            size = tokens(str(_asked("p10", attribute, room is not None)))
            if not batches or len(batches[-1]) >= most or (room is not None and used + size > room):
                batches.append([])
                used = 0
            batches[-1].append(attribute)
            used += size
        return batches

    def _transcript(self, conversation: Conversation, asked: int) -> Transcript:
        room = None if self.room is None else max(self.room - asked - 130, 100)
        only = (
            "user" if room is not None and room < 400 else None
        )  # with little room the person's own words matter most
        return transcribe(first_part(conversation), room=room, only=only)

    async def _ask(self, prompt: Prompt, schema: dict[str, Any], calls: list[Call]) -> dict[str, Any]:
        reply = await self.voice.insist(prompt, schema)
        calls.append(reply.call)
        return reply.parsed or {}


def _concept(entry: Any) -> str:
    return str(entry.get("name", entry)) if isinstance(entry, dict) else str(entry)


def _asked(key: str, attribute: Attribute, brief: bool) -> dict[str, str]:
    choices = " | ".join(f"{letter} {value}" for letter, value in zip(_LETTERS, attribute.values, strict=False))
    return {"key": key, "question": attribute.name if brief else attribute.question, "choices": choices}


def _value(attribute: Attribute, letter: str) -> str:
    return "unknown" if letter == "u" else attribute.values[_LETTERS.index(letter)]
