"""Keep a library's own prints off standard output, for the tasks that ask for it and for no others."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO

_muted: ContextVar[bool] = ContextVar("muted", default=False)
_lock = threading.Lock()
_users: list[object] = []


class _Gate:
    """Stands before a stream: drops what a muted context writes, passes on everything else."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return len(text) if _muted.get() else self.stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def quiet_output() -> Iterator[None]:
    """Drop what this task, and only this task, prints to standard output while the block runs."""
    user = object()
    with _lock:
        _users.append(user)
        if not isinstance(sys.stdout, _Gate):
            sys.stdout = _Gate(sys.stdout)
    token = _muted.set(True)
    try:
        yield
    finally:
        _muted.reset(token)
        with _lock:
            _users.remove(user)
            if not _users and isinstance(sys.stdout, _Gate):
                sys.stdout = sys.stdout.stream
