"""Thumbs on single replies: the key says where, the text says whether that is true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from annotate.importers.contract import Notes
from annotate.importers.simulatorarena.records import Builder, Exchanges, vote_key
from annotate.schema import Conversation

Place = Callable[[tuple[int, int]], tuple[int, int] | None]


class Votes:
    """Collects the votes of one record, then adds them to its conversation."""

    def __init__(self, exchanges: Exchanges, notes: Notes) -> None:
        self._exchanges = exchanges
        self._notes = notes
        self._votes: dict[int, tuple[bool, tuple[str, ...]]] = {}
        self.repairs: list[str] = []

    def read(self, field: str, votes: Any, place: Place) -> None:
        """Read one field of votes; `place` turns a key into (exchange, side), or None where it means nothing."""
        if votes is None:
            return
        if not isinstance(votes, dict):
            self._drop(field, "", "is no object")
            return
        for key, vote in votes.items():
            pair = vote_key(key)
            where = place(pair) if pair else None
            if where is None:
                self._drop(field, key, "means no turn")
            elif where[1] != 1:
                self._drop(field, key, "points at a user turn")
            elif (parsed := _parse(vote)) is None:
                self._drop(field, key, "holds no text and vote")
            else:
                self._place(field, key, where[0], *parsed)

    def add_to(self, conversation: Conversation, builder: Builder) -> None:
        """Add an annotation for every vote that was kept."""
        for turn, (liked, flags) in sorted(self._votes.items()):
            builder.vote(conversation, turn, liked, flags)

    def _place(self, field: str, key: str, exchange: int, text: str, liked: bool) -> None:
        reply = self._exchanges.turn(exchange)
        flags: tuple[str, ...] = (field,)
        if reply is None:
            self._drop(field, key, "points beyond the last reply")
            return
        if reply.text != text:
            if text and reply.text.startswith(text):
                self._notes.repaired("votes whose text is the beginning of the reply: accepted")
                flags += ("prefix",)
            else:
                moved = [t for t in self._exchanges.turns if t.role == "assistant" and text and t.text == text]
                if len(moved) != 1:
                    self._drop(field, key, "has a text that is not the reply's")
                    return
                reply, flags = moved[0], (*flags, "moved")
                self._notes.repaired("votes whose text is another reply of the conversation: put there")
                self.repairs.append(f"moved {field} {key} to turn {reply.position}")
        if field.startswith("problem_2") and reply.part == "problem_1":
            self._notes.warn("votes of the second problem on a reply of the first: kept at that reply")
        self._keep(reply.position, liked, flags)

    def _keep(self, position: int, liked: bool, flags: tuple[str, ...]) -> None:
        if position in self._votes:
            self._notes.dropped("second votes on one reply: the later one was taken")
        self._votes[position] = (liked, flags)

    def _drop(self, field: str, key: str, why: str) -> None:
        self._notes.dropped(f"votes in {field} whose key or value {why}")
        self.repairs.append(f"dropped {field} {key}: {why}")


def _parse(vote: Any) -> tuple[str, bool] | None:
    """Return text and vote of `[text, liked]` or `[[text], liked]`."""
    if not isinstance(vote, list) or len(vote) != 2 or not isinstance(vote[1], bool):
        return None
    text = vote[0][0] if isinstance(vote[0], list) and len(vote[0]) == 1 else vote[0]
    return (text, vote[1]) if isinstance(text, str) else None
