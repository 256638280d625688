"""Tables that fidelity is counted from without a store: verdicts by episode, or results by proxy and domain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from annotate import fidelity_results, fidelity_verdicts
from annotate.episodes import EpisodeFrames
from annotate.errors import InputError
from annotate.fidelity_columns import header_of, known_columns
from annotate.fidelity_results import read_results
from annotate.fidelity_verdicts import read_verdicts
from annotate.importers.reading import encoding_of, head

__all__ = ["TableKind", "check_readable", "looks_like", "read_results", "read_table", "read_verdicts"]

TableKind = Literal["verdicts", "results"]
_PACKED = {
    b"\x1f\x8b": "compressed (gzip). Unpack it first",
    b"PK\x03\x04": "an Excel or zip file. Save the sheet as CSV, or unpack it first",
    b"\xd0\xcf\x11\xe0": "an old Excel file. Save the sheet as CSV",
}
_RESULT_SIGNS = ("ufs", "faithful", "rewarded", "cost_usd")


def looks_like(path: Path) -> TableKind | None:
    """Return what a table holds by the names of its columns; None where it is no such table, or no file."""
    try:
        header = header_of(path) if path.is_file() else []
        verdicts = known_columns(path, header, fidelity_verdicts.NAMES)
        if all(name in verdicts for name in ("proxy", "criterion", "verdict")):
            return "verdicts"
        results = known_columns(path, header, fidelity_results.NAMES)
    except InputError:
        return None
    return "results" if "proxy" in results and any(name in results for name in _RESULT_SIGNS) else None


def check_readable(path: Path) -> None:
    """Raise `InputError` for what cannot be a table or a run whatever its content: missing, empty, packed, no text."""
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder. Check the path.")
    if path.is_dir():
        raise InputError(f"{path}: is a folder. Give the file.")
    start = head(path, 512)
    if not start:
        raise InputError(f"{path}: is empty. Check the export that wrote it.")
    for mark, what in _PACKED.items():
        if start.startswith(mark):
            raise InputError(f"{path}: is {what}.")
    if b"\x00" in start and encoding_of(start) == "utf-8" and not start.startswith(b"PAR1"):
        raise InputError(f"{path}: is no text file. Save it as CSV, JSON Lines or Parquet.")


def read_table(paths: Sequence[Path], *, rater: str | None = None) -> EpisodeFrames:
    """Read one table of verdicts, or one or more tables of results; `InputError` for anything else."""
    for path in paths:
        check_readable(path)
    kinds = {path: looks_like(path) for path in paths}
    for path, kind in kinds.items():
        if kind is None:
            header_of(path)  # where the file itself is at fault, that is told
            raise InputError(
                f"{path}: is no table of verdicts (proxy, domain, task, criterion, family, verdict) and none of "
                "results (proxy, domain, ufs, n). Check the names of its columns, or import it first."
            )
    if all(kind == "results" for kind in kinds.values()) and paths:
        return read_results(*paths)
    if len(paths) != 1:
        raise InputError("A table of verdicts stands alone. Give one such table, or only tables of results.")
    return read_verdicts(paths[0], rater=rater)
