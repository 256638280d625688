"""The look of a chart: colours, sizes and room; the same painter draws for the page and for print."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from calibrate.report import drawing
from calibrate.report.document import Figure, Table
from calibrate.report.fidelity.amounts import share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Sheet


@dataclass(frozen=True, slots=True)
class Look:
    """Colours, and sizes in points; `narrow` puts panels below each other and names above their rows."""

    ink: str
    muted: str
    grid: str
    paper: str
    first: str
    second: str
    shade: str
    narrow: bool
    size: float
    small: float
    mark: float

    @property
    def fit(self) -> float:
        """Inches of a row relative to the page's, by size of type."""
        return self.size / drawing.FONT_POINTS


SCREEN = Look(
    ink=drawing.INK,
    muted=drawing.MUTED,
    grid=drawing.GRID,
    paper=drawing.PAPER,
    first=drawing.HUMAN,
    second=drawing.SIMULATED,
    shade=drawing.SHADE,
    narrow=False,
    size=drawing.FONT_POINTS,
    small=8.8,
    mark=7.0,
)
PRINT = Look(
    ink="#111417",
    muted="#4a525a",
    grid="#dadfe4",
    paper="#ffffff",
    first="#1f5fa8",
    second="#b6530f",
    shade="#dde2e7",
    narrow=False,
    size=8.0,
    small=7.5,
    mark=5.0,
)


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure before it is drawn: `paint` fills a sheet, `height` is its inches, `table` holds its numbers."""

    name: str
    caption: str
    alt: str
    paint: Callable[[Sheet, Look], None]
    height: Callable[[Look], float]
    table: Table


def halo(look: Look) -> dict[str, Any]:
    """Return the thin ground, coloured as the paper, that keeps lines and bars from striking through a text.

    A box and no outline of the letters: texts of a page stay texts.
    """
    return {"facecolor": look.paper, "edgecolor": "none", "pad": 0.5}


def share_ticks(axes: Axes) -> None:
    """Write the ticks of the x axis as shares, with as many decimals as keep neighbours apart."""
    ticks = [float(tick) for tick in axes.get_xticks()]
    steps = [after - before for before, after in pairwise(ticks) if after > before]
    step = min(steps, default=1.0)
    places = next((k for k in (2, 3, 4) if abs(round(step, k) - step) < 1e-9), 4)
    axes.xaxis.set_major_formatter(lambda value, _: share(value, places))


def on_page(chart: Chart) -> Figure:
    """Return the chart as SVG for wide and for narrow screens, coloured by the page."""

    def paint(axes: Axes, narrow: bool) -> None:
        sheet = axes.get_figure(root=True)
        if sheet is None:
            raise RuntimeError("the axes that are to be painted stand in no figure")
        axes.remove()
        chart.paint(sheet, replace(SCREEN, narrow=narrow))

    def height(narrow: bool) -> float:
        return chart.height(replace(SCREEN, narrow=narrow))

    svg, narrow = drawing.draw(paint, key=f"ufs-{chart.name}", height=height)
    return Figure(svg, chart.caption, chart.alt, narrow)
