"""Find the files of a release by what is in them, and its licence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotate.errors import InputError
from annotate.importers import reading
from annotate.schema import ConsentScope

_MARKS = ('"user_queries"', '"ai_responses"', '"workerId"')
_TASK_MARKS = {"math_tutoring": '"problem_id"', "document_creation": '"document_history"'}
_HEAD = 1 << 20

_LICENCES = (
    ("MIT", ("permission is hereby granted, free of charge",)),
    ("Apache-2.0", ("apache license", "version 2.0")),
    ("CC0-1.0", ("cc0 1.0",)),
    ("CC-BY-SA-4.0", ("attribution-sharealike 4.0",)),
    ("CC-BY-4.0", ("attribution 4.0",)),
    ("BSD", ("redistribution and use in source and binary forms",)),
    ("CDLA-Permissive-2.0", ("community data license agreement", "permissive")),
)


@dataclass(frozen=True)
class AnnotationFile:
    """One file of annotated conversations."""

    path: Path
    task: str

    def records(self) -> Iterator[Any]:
        """Yield the records one at a time."""
        yield from reading.stream_list(self.path)


@dataclass(frozen=True)
class Source:
    """One folder of a release, with the files to read from it."""

    root: Path
    files: tuple[AnnotationFile, ...]


def is_source(path: Path) -> bool:
    """Whether a file holds annotated conversations, or a folder such a file."""
    if path.is_dir():
        return any(True for _ in _folder(path))
    return _task(path) is not None


def find(path: Path) -> list[Source]:
    """Return what to read for a path; a checkout stands for its `data` folder."""
    if path.is_file():
        task = _task(path)
        if task is None:
            raise InputError(
                f"{path}: holds no records with workerId, user_queries and ai_responses. "
                "Give an annotation file of the release, or its data folder."
            )
        return [Source(path.parent, (AnnotationFile(path, task),))]
    files = list(_folder(path))
    if not files:
        raise InputError(f"{path}: holds no annotation file of the release. Give its data folder.")
    roots = {file.path.parent for file in files}
    return [
        Source(root, tuple(sorted((f for f in files if f.path.parent == root), key=_rank))) for root in sorted(roots)
    ]


def _folder(path: Path) -> Iterator[AnnotationFile]:
    try:
        for folder in (path, path / "data"):
            for file in sorted(folder.glob("*.json")):
                if file.is_file() and (task := _task(file)):
                    yield AnnotationFile(file, task)
    except OSError as error:
        raise reading.unreadable(path, error) from None


def _rank(file: AnnotationFile) -> tuple[str, bool, bool, str]:
    # The complete file first: what a subset repeats is then taken once, from the file that says most.
    name = file.path.name
    return file.task, "benchmarking" in name, "redacted" in name, name


def _task(path: Path) -> str | None:
    text = reading.head_text(path, 4096).lstrip()
    if not text.startswith("["):
        return None
    text = reading.head_text(path, _HEAD)
    if not all(mark in text for mark in _MARKS):
        return None
    return next((task for task, mark in _TASK_MARKS.items() if mark in text), None)


def licence_of(root: Path) -> str | None:
    """Return the name of the licence that lies beside the data or in the folder above; None where there is none."""
    for folder in (root, root.parent):
        for path in sorted(folder.glob("LICEN[CS]E*")):
            if path.is_file():
                return _licence_name(reading.head_text(path))
    return None


def _licence_name(text: str) -> str:
    plain = " ".join(text.lower().split())
    known = next((name for name, marks in _LICENCES if all(mark in plain for mark in marks)), None)
    if known is not None:
        return known
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return f"unrecognised ({first[:60]})"


def scopes_of(licence: str | None) -> tuple[ConsentScope, ...]:
    """Return what a public release under a licence allows: everything under one that is known, else no sharing."""
    if licence in {name for name, _ in _LICENCES}:
        return ("take_part", "share_deidentified", "share_verbatim")
    return ("take_part",)
