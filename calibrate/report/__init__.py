"""One report of a study, the answer first: composed once, written as HTML, Markdown and JSON.

report = compose(frames, config, seed=7, resamples=2000, title="…", recorded=False, demo=False, group_by={…})
to_html(report), to_markdown(report), to_json(report), headline(report)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrate.report.composing import Line, compose, headline
    from calibrate.report.document import Report, to_json
    from calibrate.report.html import to_html
    from calibrate.report.markdown import to_markdown

__all__ = ["Line", "Report", "compose", "headline", "to_html", "to_json", "to_markdown"]

_WHERE = {
    "Line": "composing",
    "Report": "document",
    "compose": "composing",
    "headline": "composing",
    "to_html": "html",
    "to_json": "document",
    "to_markdown": "markdown",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = found  # the function, also where a module of the same name was bound by its import
    return found
