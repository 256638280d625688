"""Charts as files for print: PDF with embedded fonts, SVG and PNG, one or two columns wide, equal bytes every time."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

from calibrate.report.fidelity.looks import PRINT, Chart, Look

PrintFormat = Literal["pdf", "svg", "png"]
ONE_COLUMN_INCHES, TWO_COLUMN_INCHES = 3.3, 6.9
DOTS_PER_INCH = 300
_NO_METADATA: dict[PrintFormat, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "png": {"Software": None},
}


def printed(chart: Chart, forms: Sequence[PrintFormat], *, columns: Literal[1, 2] = 1) -> dict[PrintFormat, bytes]:
    """Return a chart as files for print, 3.3 inches wide in one column, 6.9 in two; fonts of a PDF are TrueType."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    look = replace(PRINT, narrow=columns == 1)
    width = ONE_COLUMN_INCHES if columns == 1 else TWO_COLUMN_INCHES
    files: dict[PrintFormat, bytes] = {}
    with _style(chart.name, look):
        sheet = Figure(figsize=(width, chart.height(look)), layout="constrained", dpi=DOTS_PER_INCH)
        FigureCanvasAgg(sheet)
        chart.paint(sheet, look)
        # The layout is settled before the first file: whatever is saved, and in which order, the same chart comes out.
        sheet.draw_without_rendering()
        sheet.set_layout_engine("none")
        for form in forms:
            target = io.BytesIO()
            sheet.savefig(target, format=form, dpi=DOTS_PER_INCH, metadata=_NO_METADATA[form])
            files[form] = target.getvalue()
    return files


@contextmanager
def _style(salt: str, look: Look) -> Iterator[None]:
    import matplotlib as mpl

    settings: Any = {
        "pdf.fonttype": 42,
        "svg.fonttype": "path",
        "svg.hashsalt": salt,
        "text.parse_math": False,
        "font.family": "DejaVu Sans",
        "font.size": look.size,
        "axes.labelsize": look.size,
        "xtick.labelsize": look.small,
        "ytick.labelsize": look.small,
        "text.color": look.ink,
        "axes.edgecolor": look.muted,
        "axes.labelcolor": look.ink,
        "axes.facecolor": look.paper,
        "figure.facecolor": look.paper,
        "savefig.facecolor": look.paper,
        "xtick.color": look.muted,
        "ytick.color": look.muted,
        "xtick.labelcolor": look.ink,
        "ytick.labelcolor": look.ink,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.spines.left": False,
        "axes.linewidth": 0.6,
        "xtick.bottom": False,
        "ytick.left": False,
    }
    with mpl.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r".*Glyph.*missing from font.*")
        warnings.filterwarnings("ignore", message=r".*constrained_layout not applied.*")
        yield
