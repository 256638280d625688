"""The one loop in which a user and an assistant talk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from annotate.schema import Call, DocumentVersion, Turn, now


@dataclass(frozen=True)
class Move:
    """What one side does next: a message, what it keeps to itself, and whether it is done."""

    text: str
    private: str | None = None
    done: bool = False
    calls: tuple[Call, ...] = ()


class User(Protocol):
    """Whoever plays the user."""

    async def next(self, turns: Sequence[Turn], document: str | None) -> Move:
        """Return the next message, or `done`."""


class Assistant(Protocol):
    """Whoever answers."""

    async def reply(self, turns: Sequence[Turn], document: str | None) -> Move:
        """Return the reply to the last message."""


class Canvas(Protocol):
    """Whoever keeps the document."""

    async def update(self, document: str, message: str, reply: str) -> Move:
        """Return the document as it is after a reply (all of it)."""


@dataclass
class Dialogue:
    """A conversation as it comes about; `ended` is `user` (its own wish) or `cap`."""

    turns: list[Turn] = field(default_factory=list)
    documents: list[DocumentVersion] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    ended: str | None = None

    @property
    def document(self) -> str | None:
        """The document as it stands."""
        return self.documents[-1].text if self.documents else None


async def converse(
    user: User,
    assistant: Assistant,
    *,
    max_user_turns: int,
    canvas: Canvas | None = None,
    on_turn: Callable[[Dialogue], None] | None = None,
) -> Dialogue:
    """Let them talk until the user is done or has had `max_user_turns` messages; the user begins.

    Roles alternate strictly, each side sees all of its own messages, and a thought is never shown to the other side.
    Whatever the two raise ends the loop; nothing is invented in its place.
    """
    talk = Dialogue()
    for _ in range(max_user_turns):
        move = await user.next(talk.turns, talk.document)
        talk.calls += move.calls
        if move.done and talk.turns:
            talk.ended = "user"
            return talk
        _add(talk, "user", move)
        answer = await assistant.reply(talk.turns, talk.document)
        _add(talk, "assistant", answer)
        talk.calls += answer.calls
        if canvas is not None:
            await _update(talk, canvas, move.text, answer.text)
        if on_turn is not None:
            on_turn(talk)
    talk.ended = "cap"
    return talk


def _add(talk: Dialogue, role: str, move: Move) -> None:
    usage = move.calls[-1].usage if move.calls else None
    seconds = sum(call.seconds or 0.0 for call in move.calls) if move.calls else None
    talk.turns.append(
        Turn(
            position=len(talk.turns),
            role="user" if role == "user" else "assistant",
            text=move.text,
            private=move.private,
            created_at=now(),
            usage=usage,
            seconds=seconds,
            call_ids=tuple(call.id for call in move.calls),
        )
    )


async def _update(talk: Dialogue, canvas: Canvas, message: str, reply: str) -> None:
    before = talk.document or ""
    change = await canvas.update(before, message, reply)
    talk.calls += change.calls
    talk.documents.append(
        DocumentVersion(
            version=len(talk.documents),
            turn=len(talk.turns) - 1,
            text=change.text,
            author="model",
            changed=change.text != before,
        )
    )
