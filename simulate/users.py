"""Simulated users: a strategy, a profile and an item become the next message of a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotate.config import StrategyConfig
from annotate.schema import Conversation, Item, Profile, StyleValue, Turn
from simulate.asking import Voice, object_schema
from simulate.dialogue import Move
from simulate.llm import Reply
from simulate.prompts import Prompt
from simulate.task import Task
from simulate.transcripts import shorten, transcribe

STRATEGIES: dict[str, StrategyConfig] = {
    "zero_shot": StrategyConfig(think=False),
    "zero_shot_length": StrategyConfig(think=False, length_range=True),
    "zero_shot_cot": StrategyConfig(),
    "zero_shot_cot_length": StrategyConfig(length_range=True),
    "profile": StrategyConfig(parts=("knowledge", "preferences", "writing", "interaction")),
    "profile_length": StrategyConfig(parts=("knowledge", "preferences", "writing", "interaction"), length_range=True),
    "profile_knowledge": StrategyConfig(parts=("knowledge", "preferences")),
    "profile_writing": StrategyConfig(parts=("writing",)),
    "profile_interaction": StrategyConfig(parts=("interaction",)),
    "profile_interaction_length": StrategyConfig(parts=("interaction",), length_range=True),
}
"""The strategies that need no declaration; `[strategies.NAME]` adds others or replaces these."""


def own_facts(conversation: Conversation, item: Item) -> list[str]:
    """Return what the person brought along: the item's private facts, and answers given before the conversation."""
    facts = [f"{name}: {text}" for name, text in item.private.items()]
    if level := conversation.survey.get("math_expertise"):
        facts.append(f"your schooling in mathematics: {level}")
    answers = conversation.survey.get("prewriting") or []
    return facts + [f"{a['question']} {a['answer']}" for a in answers if a.get("answer")]


@dataclass(frozen=True)
class SimulatedUser:
    """A twin of one person on one item."""

    voice: Voice
    task: Task
    item: Item
    strategy: StrategyConfig
    profile: Profile | None
    own: tuple[str, ...]
    length_range: tuple[int, int] | None
    room: int | None = None
    replicate: int = 0

    def prompt(self, turns: Sequence[Turn], document: str | None) -> Prompt:
        """Return the prompt for the next message."""
        room = self.room
        shown = transcribe(
            turns,
            room=None if room is None else int(room * 0.4),
            user="You",
            assistant=self.task.file.assistant_role.capitalize(),
        )
        profile, parts = self.profile, self.strategy.parts
        own = list(self.own)
        if room is not None:
            own = _within(own, int(room * 0.2))
        return self.task.prompts.render(
            "user",
            {
                "task": self.task.file,
                "topic": fit_topic(self.task.topic(self.item), room),
                "own": own,
                "knowledge": [k for k in (profile.knowledge or ()) if k.state != "unknown"]
                if profile and "knowledge" in parts
                else [],
                "preferences": (profile.preferences or ())[:8] if profile and "preferences" in parts else [],
                "style": self._style(int(room * 0.25) if room else None),
                "length_range": self.length_range if self.strategy.length_range else None,
                "think": self.strategy.think,
                "transcript": shown.text,
                "first": not turns,
                "document": shorten(document, int(room * 0.15)) if document and room else document,
            },
        )

    def _style(self, room: int | None) -> list[str]:
        lines: list[str] = []
        for part in ("writing", "interaction"):
            values: tuple[StyleValue, ...] | None = getattr(self.profile, part) if self.profile else None
            if values and part in self.strategy.parts:
                attributes = {a.key: a for a in self.task.styles[part]}
                lines += [
                    attributes[v.key].instruct.format(value=v.value)
                    for v in values
                    if v.value != "unknown" and v.key in attributes
                ]
        return lines if room is None else _within(lines, room)

    def schema(self, first: bool) -> dict[str, Any]:
        """Return the schema of the reply: the thought first, then the decision, then the message."""
        fields: dict[str, dict[str, Any]] = {}
        if self.strategy.think:
            fields["thought"] = self.voice.text(80)
        if not first:
            fields["done"] = {"type": "boolean"}
        return object_schema({**fields, "message": self.voice.text()})

    async def next(self, turns: Sequence[Turn], document: str | None) -> Move:
        """Return the next message, or the wish to stop; raises `CallFailed`."""
        reply = await self.voice.insist(
            self.prompt(turns, document),
            self.schema(not turns),
            replicate=self.replicate,
            filled="message",
            usable=lambda r: bool(_said(r, "message").strip()) or _done(r),
        )
        return Move(
            _said(reply, "message").strip(),
            private=_said(reply, "thought") or None,
            done=_done(reply),
            calls=(reply.call,),
        )


def _said(reply: Reply, name: str) -> str:
    return str((reply.parsed or {}).get(name, ""))


def _done(reply: Reply) -> bool:
    return bool((reply.parsed or {}).get("done", False))


def fit_topic(topic: dict[str, str], room: int | None) -> dict[str, str]:
    """Return the topic with long entries shortened to a third of the room."""
    return topic if room is None else {label: shorten(text, room // 3) for label, text in topic.items()}


def _within(lines: list[str], room: int) -> list[str]:
    """Return as many of the first lines as fit into the room."""
    kept: list[str] = []
    for line in lines:
        room -= len(line) // 3 + 2
        if room < 0:
            break
        kept.append(line)
    return kept
