"""The report on user proxies: page, Markdown, tables, LaTeX, figures for print, cards and the lines of the terminal.

compose_fidelity(analysis, title=…), write_fidelity(analysis, folder), terminal_lines(analysis)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrate.report.fidelity.composing import compose_fidelity
    from calibrate.report.fidelity.probing import ProbeLine
    from calibrate.report.fidelity.terminal import terminal_lines
    from calibrate.report.fidelity.writing import write_fidelity

__all__ = ["ProbeLine", "compose_fidelity", "terminal_lines", "write_fidelity"]

_WHERE = {
    "ProbeLine": "probing",
    "compose_fidelity": "composing",
    "terminal_lines": "terminal",
    "write_fidelity": "writing",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = found
    return found
