"""Which formats there are, and which one a path is of."""

from __future__ import annotations

from pathlib import Path

from annotate.errors import InputError, UnknownFormatError, nearest
from annotate.importers import reading
from annotate.importers.contract import Importer, StreamingImporter
from annotate.importers.jsonl import Jsonl
from annotate.importers.simulatorarena import SimulatorArena
from annotate.importers.table import Table
from annotate.importers.tau import Tau

REGISTRY: list[Importer | StreamingImporter] = [SimulatorArena(), Jsonl(), Tau(), Table()]
"""Asked in this order; the table importer takes what is left, so it stands last."""


def by_name(name: str) -> Importer | StreamingImporter:
    """Return the importer of a format; raises `InputError` that lists the formats."""
    for importer in REGISTRY:
        if importer.name == name:
            return importer
    names = [importer.name for importer in REGISTRY]
    raise InputError(f"format {name!r} is not known{nearest(name, names)} Known: {', '.join(names)}.")


def detect(path: Path) -> Importer | StreamingImporter:
    """Return the importer that recognises `path` by its content; raises `UnknownFormatError` that lists the formats."""
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder. Check the path.")
    if not path.is_file() and not path.is_dir():
        raise InputError(f"{path}: is neither a file nor a folder. Give one of the two.")
    if path.is_file() and path.stat().st_size == 0:
        raise UnknownFormatError(f"{path}: is empty. Check the export that wrote it.")
    for importer in REGISTRY:
        if importer.detects(path):
            return importer
    raise _unknown(path)


def _unknown(path: Path) -> InputError:
    known = "; ".join(f"{importer.name} ({importer.title})" for importer in REGISTRY)
    if path.is_dir():
        return UnknownFormatError(f"{path}: holds no file of a known format. Known: {known}.")
    text = reading.head_text(path)
    if not text:
        return UnknownFormatError(f"{path}: is no text file, and no format that is known. Known: {known}.")
    if text.lstrip(" \t\r\n")[:1] in ("{", "["):
        # A damaged file of a known format is better told by its damage.
        try:
            reading.check_json(path)
        except InputError as error:
            return error
    return UnknownFormatError(f"{path}: is of no known format. Known: {known}.")
