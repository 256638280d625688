"""What tau-bench and tau2 files look like: told by content, never by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from annotate.errors import InputError
from annotate.importers import reading
from annotate.importers.reading import BEGIN, Piece, TolerantDecoder, stream_pieces

Shape = Literal["results", "list", "simulation"]

_INFO = ("user_info", "agent_info", "environment_info")
_TOLD = ("reward_info", "termination_reason")
_MARKS = ('"simulations"', '"traj"', '"reward_info"', '"termination_reason"')
_MOST = 1 << 26
"""So many bytes without a sign of a run: the file is something else."""


def is_episode(value: Any) -> bool:
    """Whether a JSON value is one episode, of either benchmark."""
    if not isinstance(value, dict):
        return False
    if "traj" in value:
        return "task_id" in value or "reward" in value
    if "messages" not in value and "ticks" not in value:
        return False
    return any(key in value for key in _TOLD) or ("task_id" in value and ("trial" in value or "start_time" in value))


def is_info(value: Any) -> bool:
    """Whether a JSON value says how a tau2 run was made."""
    return isinstance(value, dict) and any(isinstance(value.get(key), dict) for key in _INFO)


def is_task(value: Any) -> bool:
    """Whether a JSON value is a task of tau2."""
    return isinstance(value, dict) and "id" in value and "user_scenario" in value


def shape(path: Path) -> Shape | None:
    """Return what a file holds, or None for what is no run; reads up to the first sign.

    Raises `InputError` for a file that shows signs of a run and cannot be read.
    """
    start = reading.head_text(path)
    first = start.lstrip(" \t\r\n\ufeff")[:1]
    if first not in ("{", "["):
        return None
    try:
        return _shape(path, first)
    except InputError:
        if any(mark in start for mark in _MARKS):
            raise
        return None


def _shape(path: Path, first: str) -> Shape | None:
    read = 0

    def count(read_now: int) -> None:
        nonlocal read
        read = read_now

    pieces = stream_pieces(path, TolerantDecoder(path), lambda _: True, on_read=count, chunk=1 << 18)
    if first == "[":
        next(pieces)
        piece = next(pieces, None)
        return "list" if piece is not None and is_episode(piece.value) else None
    return _shape_of_object(pieces, lambda: read > _MOST)


def _shape_of_object(pieces: Iterator[Piece], too_far: Any) -> Shape | None:
    members: dict[str, Any] = {}
    for name, index, value in pieces:
        if index is None:
            if (name == "info" and is_info(value)) or is_episode(value):
                return "results"
            members[name] = value
        elif index == BEGIN:
            members[name] = []
        elif index == 0 and (is_episode(value) or (name == "tasks" and is_task(value))):
            # An episode of its own has its messages in a list; tasks beside other members belong to a run.
            return "results"
        if too_far():
            return None
    return "simulation" if is_episode(members) else None
