"""The files of an agreement, each put in its place whole: page, Markdown, CSV, LaTeX, JSON."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from calibrate.agreement import Agreement
from calibrate.report.agreement.composing import compose_agreement
from calibrate.report.agreement.latex import to_latex
from calibrate.report.agreement.tables import as_dict, to_csv, to_json
from calibrate.report.html import to_html
from calibrate.report.markdown import to_markdown
from calibrate.report.wording import encodable

__all__ = ["as_dict", "write"]

STEM = "agreement"
_BESIDE = ("csv", "json", "tex", "md")


def write(agreements: Sequence[Agreement], folder: Path, *, title: str = "") -> dict[str, Path]:
    """Write agreement.html, .md, .csv, .tex and .json into `folder` and return ending → path.

    Each file is written beside its place and then put there, so a reader never meets half a file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    beside = [(f"{STEM}.{ending}", f"{STEM}.{ending}") for ending in _BESIDE]
    report = compose_agreement(agreements, title=title, files=beside)
    texts = {
        "html": to_html(report),
        "md": to_markdown(report),
        "csv": to_csv(agreements),
        "tex": to_latex(agreements),
        "json": to_json(agreements),
    }
    return {ending: _put(folder / f"{STEM}.{ending}", text) for ending, text in texts.items()}


def _put(path: Path, text: str) -> Path:
    """Write a file beside its place and then put it there; a disk that fills up leaves what was there."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(encodable(text).encode("utf-8"))
        partial.replace(path)
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    return path
