"""Assistants, and the model that keeps the document beside the chat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from annotate.schema import Item, Turn
from simulate.asking import Voice, object_schema
from simulate.dialogue import Move
from simulate.llm import Reply
from simulate.prompts import Prompt
from simulate.task import Task
from simulate.transcripts import shorten, tokens
from simulate.users import fit_topic

_SHORT_TOKENS = 200
"""Below this many tokens a reply is asked to be short."""


@dataclass(frozen=True)
class SimulatedAssistant:
    """The assistant under test: it sees its instructions and the conversation, never profile or reference."""

    voice: Voice
    task: Task
    item: Item
    room: int | None = None
    replicate: int = 0

    def prompt(self, turns: Sequence[Turn]) -> Prompt:
        """Return its instructions followed by the conversation as chat messages."""
        system = self.task.prompts.render(
            "assistant",
            {"topic": fit_topic(self.task.topic(self.item), self.room), "short": self.voice.max_tokens < _SHORT_TOKENS},
        )
        chat = tuple({"role": turn.role, "content": turn.text} for turn in turns)
        if self.room is not None:
            chat = _last(chat, int(self.room * 0.7))
        return Prompt(system.name, system.version, system.hash, system.messages + chat)

    async def reply(self, turns: Sequence[Turn], document: str | None) -> Move:
        """Return the reply; raises `CallFailed`."""
        schema = object_schema({"reply": self.voice.text()}) if self.voice.local else None
        reply = await self.voice.insist(
            self.prompt(turns),
            schema,
            replicate=self.replicate,
            filled="reply",
            usable=lambda r: bool(_said(r).strip()),
        )
        return Move(_said(reply).strip(), calls=(reply.call,))


@dataclass(frozen=True)
class DocumentKeeper:
    """A (small) model that brings the document up to date after each reply."""

    voice: Voice
    task: Task
    item: Item
    room: int | None = None
    replicate: int = 0

    async def update(self, document: str, message: str, reply: str) -> Move:
        """Return the whole document after the reply; raises `CallFailed`."""
        shown = shorten(document, int(self.room * 0.4)) if self.room else document
        prompt = self.task.prompts.render(
            "update_document",
            {
                "topic": self.task.topic(self.item),
                "document": shown,
                "message": shorten(message, int(self.room * 0.2)) if self.room else message,
                "reply": shorten(reply, int(self.room * 0.2)) if self.room else reply,
                "short": self.voice.max_tokens < _SHORT_TOKENS,
            },
        )
        schema = object_schema(
            {"action": {"type": "string", "enum": ["keep", "append", "rewrite"]}, "text": self.voice.text()}
        )
        answer = await self.voice.insist(prompt, schema, replicate=self.replicate)
        said = answer.parsed or {}
        text = str(said.get("text", "")).strip()
        if said.get("action") == "rewrite" and text:
            document = text
        elif said.get("action") == "append" and text:
            document = f"{document}\n\n{text}" if document else text
        return Move(document, calls=(answer.call,))


def _said(reply: Reply) -> str:
    """An embedded model answers in a structure that bounds its length; others in plain text."""
    return reply.text if reply.parsed is None else str(reply.parsed.get("reply", ""))


def _last(chat: tuple[dict[str, str], ...], room: int) -> tuple[dict[str, str], ...]:
    """Return the last messages that fit, beginning with one of the user."""
    kept: list[dict[str, str]] = []
    for message in reversed(chat):
        message = {**message, "content": shorten(message["content"], max(room // 3, 20))}
        room -= tokens(message["content"])
        if room < 0 and kept:
            break
        kept.insert(0, message)
    while len(kept) > 1 and kept[0]["role"] != "user":
        kept.pop(0)
    return tuple(kept)
