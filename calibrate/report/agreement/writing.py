"""The files of an agreement, each put in its place whole: page, Markdown, CSV, LaTeX, JSON."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from annotate.errors import InputError
from calibrate.agreement import Agreement
from calibrate.report.agreement.composing import compose_agreement
from calibrate.report.agreement.latex import to_latex
from calibrate.report.agreement.tables import as_dict, to_csv, to_json
from calibrate.report.document import Report
from calibrate.report.html import to_html
from calibrate.report.markdown import to_markdown
from calibrate.report.wording import encodable

__all__ = ["as_dict", "write"]

STEM = "agreement"
_BESIDE = ("csv", "json", "tex", "md")
_STYLE = """
td.number .counts, .dense td .interval { display: inline; }
@media (min-width: 40.01rem) {
  section { margin-top: 2.4rem; }
  h3.part { margin-top: 1.5rem; }
  .table { margin: 0.9rem 0 1.2rem; }
  figure { margin: 1rem 0 1.2rem; }
  th, td { padding: 0.26rem 0.9rem 0.26rem 0; }
  .note li { margin-bottom: 0.2rem; }
  details { margin: 0.8rem 0; }
  td.number .estimate:not(.bare):not(:has(.reason)) { white-space: nowrap; }
  table.dense { table-layout: auto; }
  .dense th:first-child { width: auto; }
}
"""
_INTERVAL = re.compile(r"(\[[−\d.,% ]+)\\\]")


def write(agreements: Sequence[Agreement], folder: Path, *, title: str = "") -> dict[str, Path]:
    """Write agreement.html, .md, .csv, .tex and .json into `folder` and return ending → path.

    All are written beside their places and then put there, so that a reader never meets half a file, and a disk that
    fills up leaves what was there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    beside = [(f"{STEM}.{ending}", f"{STEM}.{ending}") for ending in _BESIDE]
    report = compose_agreement(agreements, title=title, files=beside)
    texts = {
        "html": _page(report),
        "md": _markdown(report),
        "csv": to_csv(agreements),
        "tex": to_latex(agreements),
        "json": to_json(agreements),
    }
    return _put({ending: folder / f"{STEM}.{ending}" for ending in texts}, texts)


def _page(report: Report) -> str:
    """Return the page; where there is room, value, interval and n of a cell stand on one line."""
    return to_html(report).replace("</style>", f"{_STYLE}</style>", 1)


def _markdown(report: Report) -> str:
    """Return the Markdown; the bracket that ends an interval is no markup, whatever stands behind it."""
    return _INTERVAL.sub(r"\1]", to_markdown(report))


def _put(places: Mapping[str, Path], texts: Mapping[str, str]) -> dict[str, Path]:
    """Write files beside their places and then put all of them there."""
    taken = next((path for path in places.values() if path.is_dir()), None)
    if taken is not None:
        raise InputError(f"{taken}: is a folder, where a file is to be written. Move it, or name another folder.")
    partial = {ending: path.with_name(f".{path.name}.{os.getpid()}.partial") for ending, path in places.items()}
    try:
        for ending, text in texts.items():
            partial[ending].write_bytes(encodable(text).encode("utf-8"))
        for ending, path in places.items():
            partial[ending].replace(path)
    except OSError as error:
        error.filename = error.filename or str(places["html"].parent)  # a full disk does not say where it is
        raise
    finally:
        for left in partial.values():
            with suppress(OSError):
                left.unlink(missing_ok=True)
    return dict(places)
