"""Which files of a path are runs, which belong to a run, and which are passed over."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from annotate.errors import InputError
from annotate.importers import reading
from annotate.importers.reading import TolerantDecoder, stream_pieces
from annotate.importers.tau.shapes import is_task, shape

_PARTS = "simulations"
_STUDY = ("study.toml", "study.key", "store.db", "store.db-wal", "store.db-shm")


@dataclass(frozen=True)
class RunFile:
    """One source: a file of results, with the files of single episodes that belong to it."""

    path: Path
    label: str
    parts: tuple[Path, ...] = ()

    @property
    def size(self) -> int:
        """Bytes to be read."""
        return sum(path.stat().st_size for path in (self.path, *self.parts))


@dataclass
class Found:
    """What a search found: runs, files that are none with the reason, and runs that cannot be read."""

    runs: list[RunFile] = field(default_factory=list)
    passed_over: list[tuple[Path, str]] = field(default_factory=list)
    broken: list[tuple[Path, str]] = field(default_factory=list)


def find(paths: list[Path]) -> Found:
    """Search files and folders for runs, each file once; a file that is named and is no run is broken."""
    found = Found()
    seen: set[str] = set()
    for path in paths:
        if path.is_dir():
            _search(path, found, seen)
            continue
        try:
            known = shape(path)
        except InputError as error:
            found.broken.append((path, str(error)))
            continue
        if known is None:
            found.broken.append((path, f"{path}: holds no episode of tau-bench or tau2. Give the file of results."))
        elif (real := os.path.realpath(path)) not in seen:
            seen.add(real)
            _add(path, found, seen)
    return found


def _search(folder: Path, found: Found, seen: set[str]) -> None:
    for place, folders, names in os.walk(folder):
        folders.sort()
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in sorted(names):
            path = Path(place) / name
            real = os.path.realpath(path)
            if name.startswith(".") or name in _STUDY or real in seen or not path.is_file():
                continue
            try:
                known = shape(path)
            except InputError as error:
                seen.add(real)
                found.broken.append((path, str(error)))
                continue
            seen.add(real)
            if known is None:
                found.passed_over.append((path, _what(path)))
            else:
                _add(path, found, seen)


def _add(path: Path, found: Found, seen: set[str]) -> None:
    """Add a run; the files of its episodes, which lie in a folder beside it, are read with it."""
    label = f"{path.resolve().parent.name}/{path.name}" if path.name == "results.json" else path.name
    folder = path.parent / _PARTS
    parts: list[Path] = []
    if path.name == "results.json" and folder.is_dir():
        for part in sorted(folder.glob("*.json")):
            seen.add(os.path.realpath(part))
            parts.append(part)
    found.runs.append(RunFile(path, label, tuple(parts)))


def _what(path: Path) -> str:
    """Say what a file that is no run is, as far as that can be seen."""
    start = reading.head_text(path, 4096).lstrip(" \t\r\n\ufeff")
    if not start:
        return "empty or no text"
    if start[0] not in "{[":
        return "no JSON"
    try:
        pieces = stream_pieces(path, TolerantDecoder(path), ("tasks",), chunk=1 << 18)
        first = next((value for _, index, value in pieces if index is not None and index >= 0), None)
    except InputError:
        return "not valid JSON"
    return "tasks: give them with --tasks" if is_task(first) else "no results"
