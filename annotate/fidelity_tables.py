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

__all__ = ["TableKind", "looks_like", "read_results", "read_table", "read_verdicts"]

TableKind = Literal["verdicts", "results"]
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


def read_table(paths: Sequence[Path], *, rater: str | None = None) -> EpisodeFrames:
    """Read one table of verdicts, or one or more tables of results; `InputError` for anything else."""
    kinds = {path: looks_like(path) for path in paths}
    for path, kind in kinds.items():
        if kind is None:
            raise InputError(
                f"{path}: is no table of verdicts (proxy, domain, task, criterion, family, verdict) and none of "
                "results (proxy, domain, ufs, n). Check the names of its columns, or import it first."
            )
    if all(kind == "results" for kind in kinds.values()) and paths:
        return read_results(*paths)
    if len(paths) != 1:
        raise InputError("A table of verdicts stands alone. Give one such table, or only tables of results.")
    return read_verdicts(paths[0], rater=rater)
