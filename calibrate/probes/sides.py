"""A conversation as each side had it: what the user was seen to say, what it was told, and which tools it called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from annotate.schema import Conversation, Turn


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a probe found: where (a turn's position), and a short quote with identifiers blanked."""

    probe: str
    turn: int
    quote: str

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON-ready data."""
        return {"probe": self.probe, "turn": self.turn, "quote": self.quote}


@dataclass(frozen=True, slots=True)
class UserCall:
    """One call of a user's tool; `executed` says that a result came back, `error` that the result was an error."""

    turn: int
    name: str
    arguments: dict[str, Any] | str
    executed: bool
    error: bool

    @property
    def succeeded(self) -> bool:
        """Whether it ran and came back without an error."""
        return self.executed and not self.error


@dataclass(frozen=True)
class Sides:
    """The messages by side. `said` are the user's messages that the agent saw, `told` the agent's that the user saw."""

    user: tuple[Turn, ...]
    said: tuple[Turn, ...]
    told: tuple[Turn, ...]
    calls: tuple[UserCall, ...] = field(default_factory=tuple)


def sides(conversation: Conversation) -> Sides:
    """Split a conversation by side.

    A user's message with a tool call was never shown to the agent, nor was anything whose `seen_by` says so.
    """
    turns = conversation.turns
    user = tuple(turn for turn in turns if turn.role == "user")
    said = tuple(turn for turn in user if _shown(turn, "assistant") and not turn.tool_calls)
    told = tuple(turn for turn in turns if turn.role == "assistant" and _shown(turn, "user"))
    return Sides(user, said, told, tuple(_user_calls(turns)))


def _shown(turn: Turn, side: str) -> bool:
    return bool(turn.text.strip()) and turn.seen_by in ("both", side)


def _user_calls(turns: tuple[Turn, ...]) -> Iterator[UserCall]:
    """Yield the calls of user turns in order; each result answers one call, the next one of its id."""
    used: set[int] = set()
    for index, turn in enumerate(turns):
        if turn.role != "user":
            continue
        for call in turn.tool_calls:
            answer = next(
                (
                    k
                    for k in range(index + 1, len(turns))
                    if k not in used
                    and turns[k].role == "tool"
                    and turns[k].seen_by in ("both", "user")
                    and turns[k].answers == call.id
                ),
                None,
            )
            if answer is not None:
                used.add(answer)
            executed = answer is not None or call.result is not None
            yield UserCall(turn.position, call.name, call.arguments, executed, call.error)


LONGEST = 600
"""Characters of a sentence; the longest in practice has about 400. It keeps every pattern fast on any text."""

_SENTENCE = re.compile(r"(?<=[.!?])[\"”')*]*\s+|\n+|(?<=[.!?])(?=[A-Z])|(?<=[.!?])\",")
_BULLET = re.compile(r"^[ \t>*#•\-–]*(?:\d{1,2}[.)][ \t]+)?[ \t*_]*", re.MULTILINE)


def sentences(text: str) -> list[str]:
    """Return the sentences and list entries of a message, without bullets and markup.

    Some agents answer in JSON: a line break stands there as two characters. What goes on without an end is cut.
    """
    plain = _BULLET.sub("\n", text.replace("’", "'").replace("\\n", "\n"))
    parts = (part.replace("**", "").strip() for part in _SENTENCE.split(plain))
    return [part[k : k + LONGEST] for part in parts for k in range(0, len(part), LONGEST)]


_PERSONAL = re.compile(
    r"(?<![\w.+%\-])[\w.+%\-]{1,64}@[\w\-]{1,63}(?:\.[\w\-]{1,63}){1,8}|(?<!\w)\+?\(?\d[\d().\- ]{7,18}\d(?!\w)"
)


def quote(text: str, around: int = 0, length: int = 120) -> str:
    """Return at most `length` characters of `text` near position `around`, on one line, cut at words with `…`.

    E-mail addresses and telephone numbers are left out.
    """
    flat = re.sub(r"\s", " ", _PERSONAL.sub(lambda found: "…" * len(found.group()), text))
    start = max(0, min(around - length // 3, len(flat) - length))
    piece = flat[start : start + length]
    if start > 0:
        piece = "…" + piece.partition(" ")[2]
    if start + length < len(flat):
        piece = piece.rpartition(" ")[0] + "…"
    return re.sub(r"…+", "…", re.sub(r" {2,}", " ", piece)).strip()
