"""Conversations as text for prompts: labelled, cut to a room of tokens where one is set, and the cut is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from annotate.schema import Turn

CHARACTERS_PER_TOKEN = 3.0
"""A careful guess: English prose has about 4 characters a token, mathematics in LaTeX about 2.5."""
_KEEP_FIRST = 1


@dataclass(frozen=True)
class Transcript:
    """Text of a conversation; `left_out` counts the messages and `shortened` the messages that were cut."""

    text: str
    left_out: int = 0
    shortened: int = 0

    @property
    def cut(self) -> bool:
        """Whether anything is missing."""
        return bool(self.left_out or self.shortened)


def tokens(text: str) -> int:
    """Estimate the tokens of a text."""
    return int(len(text) / CHARACTERS_PER_TOKEN) + 1


def shorten(text: str, room: int) -> str:
    """Return the text, or its beginning and end with `[…]` between, within `room` tokens."""
    limit = int(room * CHARACTERS_PER_TOKEN)
    if len(text) <= limit:
        return text
    half = max((limit - 5) // 2, 10)
    return f"{text[:half].rstrip()} […] {text[-half:].lstrip()}"


def transcribe(
    turns: Sequence[Turn],
    *,
    room: int | None = None,
    user: str = "User",
    assistant: str = "Assistant",
    only: str | None = None,
) -> Transcript:
    """Write turns as labelled lines.

    With `room` tokens, the first message and as many of the last as fit stay; long messages are shortened to a third
    of the room. `only` keeps the messages of one role.
    """
    shown = [t for t in turns if t.role in ("user", "assistant") and (only is None or t.role == only)]
    lines, shortened = [], 0
    for turn in shown:
        text = turn.shown if turn.shown.strip() else _empty(turn)
        cut = text if room is None else shorten(text, max(room // 3, 20))
        shortened += cut != text
        lines.append(f"{user if turn.role == 'user' else assistant}: {cut}")
    if room is None or sum(tokens(line) for line in lines) <= room:
        return Transcript("\n".join(lines), 0, shortened)
    head = lines[:_KEEP_FIRST]
    left = room - sum(tokens(line) for line in head) - 8
    tail: list[str] = []
    for line in reversed(lines[_KEEP_FIRST:]):
        if tokens(line) > left:
            break
        tail.insert(0, line)
        left -= tokens(line)
    out = len(lines) - len(head) - len(tail)
    return Transcript("\n".join([*head, f"[{out} messages left out]", *tail]), out, shortened)


def _empty(turn: Turn) -> str:
    if turn.attachments:
        return "(an image)"
    return "(no reply)" if turn.missing else "(an empty message)"
