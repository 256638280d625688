"""The charts of a report. Each gives SVG for wide and narrow screens; no meaning hangs on hue alone.

People are filled and simulated users hollow; assistants differ by the shape of their mark; limits are lines,
and references dashed. What cannot be drawn is written where it would stand. `place`, the task and scale,
begins the description of a figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calibrate.estimate import Estimate
from calibrate.report.document import Figure
from calibrate.report.drawing import GRID, HUMAN, INK, MUTED, PAPER, SHADE, SIMULATED, THIRD, draw, shortened
from calibrate.report.wording import capital, counted, listed, number, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*")
_FEW_DOTS = 60


@dataclass(frozen=True, slots=True)
class Dot:
    """One assistant × group: its mean human and mean simulated rating over `n` conversations."""

    assistant: str
    group: str
    human: float
    simulated: float
    n: int


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a forest plot."""

    label: str
    estimate: Estimate
    simulated: bool = True
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Spread:
    """One row of a strip plot: the values of one kind of conversation."""

    label: str
    values: tuple[float, ...]
    simulated: bool


@dataclass(frozen=True, slots=True)
class Ratings:
    """How often each value was given to an assistant, and the mean."""

    label: str
    counts: dict[float, int]
    mean: Estimate


def scatter(key: str, dots: Sequence[Dot], *, x_label: str, y_label: str, caption: str, place: str) -> Figure:
    """Draw mean human against mean simulated ratings, a mark per assistant × group, a shape per assistant."""
    assistants = list(dict.fromkeys(dot.assistant for dot in dots))

    def paint(axes: Axes, narrow: bool) -> None:
        _marks(axes, dots, assistants)
        axes.grid(visible=True, color=GRID, linewidth=0.7, zorder=0)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.margins(0.09)
        _few_ticks(axes, narrow)
        columns = 1 if narrow else min(len(assistants), 4)
        axes.figure.legend(
            loc="outside upper left",
            ncols=columns,
            handletextpad=0.3,
            columnspacing=1.6,
            fontsize=9,
            labelcolor=INK,
        )

    rows = len(assistants)
    svg, narrow = draw(
        paint, key=key, height=lambda small: (3.1 + 0.19 * rows) if small else 3.6 + 0.2 * -(-rows // 4)
    )
    alt = (
        f"{capital(place)}. Scatter plot of {counted(len(dots), 'group')} of {listed(assistants)}: {y_label} "
        f"from {number(min(d.human for d in dots))} to {number(max(d.human for d in dots))}, {x_label} from "
        f"{number(min(d.simulated for d in dots))} to {number(max(d.simulated for d in dots))}."
    )
    return Figure(svg, caption, alt, narrow)


def _marks(axes: Axes, dots: Sequence[Dot], assistants: Sequence[str]) -> None:
    """Draw the dots: the shape is the assistant's, hue and filling vary with it."""
    for index, assistant in enumerate(assistants):
        own = [dot for dot in dots if dot.assistant == assistant]
        shade = (HUMAN, SIMULATED, THIRD)[index % 3]
        axes.scatter(
            [dot.simulated for dot in own],
            [dot.human for dot in own],
            s=46,
            marker=_MARKS[index % len(_MARKS)],
            facecolor=shade if index // 3 % 2 == 0 else PAPER,
            edgecolor=shade,
            linewidth=1.4,
            label=shortened(assistant, False),
            zorder=3,
        )


def forest(
    key: str,
    rows: Sequence[Row],
    *,
    x_label: str,
    caption: str,
    place: str,
    limits: tuple[float, float],
    reference: float,
    reference_label: str,
    margin: float | None = None,
) -> Figure:
    """Draw estimates with intervals, one row each, against a dashed reference (and a band of ± `margin`)."""

    def paint(axes: Axes, narrow: bool) -> None:
        if margin is not None:
            axes.axvspan(reference - margin, reference + margin, color=SHADE, linewidth=0, zorder=0)
        axes.axvline(reference, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        for index, row in enumerate(rows):
            _forest_row(axes, -index, row)
        axes.set_xlim(limits)
        axes.set_ylim(-len(rows) + 0.4, 0.62)
        _row_labels(axes, [(row.label, row.detail) for row in rows], narrow)
        _above(axes, reference, reference_label)
        axes.set_xlabel(x_label)
        _few_ticks(axes, narrow)

    pitch = 0.5 if any(row.detail for row in rows) else 0.42
    svg, narrow = draw(paint, key=key, height=lambda small: _row_height(len(rows), small, pitch) + 0.82)
    names = [", ".join(part for part in (row.label, row.detail) if part) for row in rows]
    said = "; ".join(f"{name}: {write(row.estimate).line}" for name, row in zip(names, rows, strict=True))
    return Figure(svg, caption, f"{capital(place)}. {x_label}, with 95 % intervals. {said}.", narrow)


def _above(axes: Axes, x: float, label: str) -> None:
    """Write what a reference line is, above the rows."""
    axes.annotate(
        label,
        (x, 0.62),
        xytext=(3, 2),
        textcoords="offset points",
        color=MUTED,
        fontsize=8.5,
        va="bottom",
        ha="left",
        annotation_clip=False,
    )


def _forest_row(axes: Axes, y: float, row: Row) -> None:
    estimate = row.estimate
    colour = SIMULATED if row.simulated else HUMAN
    if estimate.value is None:
        note = shortened(write(estimate).note, False, 58)
        axes.annotate(
            note, (0.01, y), xycoords=("axes fraction", "data"), color=MUTED, fontsize=8.5, va="center"
        )
        return
    interval = estimate.interval
    if interval is not None:
        axes.plot(
            [interval.low, interval.high],
            [y, y],
            color=colour,
            linewidth=2.2,
            solid_capstyle="butt",
            zorder=2,
        )
        for end in (interval.low, interval.high):
            axes.plot([end, end], [y - 0.1, y + 0.1], color=colour, linewidth=1.4, zorder=2)
    axes.plot(
        estimate.value,
        y,
        marker="o",
        color=colour,
        markersize=7.5,
        markeredgewidth=1.8,
        markeredgecolor=colour,
        zorder=3,
        markerfacecolor=PAPER if row.simulated else colour,
        clip_on=False,
    )


def strips(key: str, rows: Sequence[Spread], *, x_label: str, caption: str, place: str) -> Figure:
    """Draw the values of each kind of conversation: dots where few, middle half and median always."""

    def paint(axes: Axes, narrow: bool) -> None:
        for index, row in enumerate(rows):
            _strip(axes, -index, row)
        axes.set_ylim(-len(rows) + 0.35, 0.55)
        high = max(max(row.values) for row in rows)
        axes.set_xlim(0, high * 1.06 or 1)
        _row_labels(axes, [(row.label, "") for row in rows], narrow)
        axes.set_xlabel(x_label)
        _few_ticks(axes, narrow)

    svg, narrow = draw(paint, key=key, height=lambda small: _row_height(len(rows), small, 0.55) + 0.7)
    said = "; ".join(
        f"{row.label}: median {number(float(np.median(row.values)), 1)}, middle half "
        f"{number(float(np.quantile(row.values, 0.25)), 1)} to "
        f"{number(float(np.quantile(row.values, 0.75)), 1)}, n = {len(row.values)}"
        for row in rows
    )
    return Figure(svg, caption, f"{capital(place)}. {x_label}. {said}.", narrow)


def _strip(axes: Axes, y: float, row: Spread) -> None:
    colour = SIMULATED if row.simulated else HUMAN
    face = PAPER if row.simulated else colour
    values = np.sort(np.array(row.values))
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    if len(values) > _FEW_DOTS:
        outer = np.quantile(values, [0.05, 0.95])
        axes.plot(outer, [y, y], color=colour, linewidth=1.2, zorder=2)
    else:
        # A fixed zigzag keeps equal values apart without chance.
        offsets = np.resize(np.array([0.0, 0.12, -0.12, 0.06, -0.06]), len(values))
        axes.scatter(values, y + offsets, s=20, facecolor=face, edgecolor=colour, linewidth=1.1, zorder=3)
    axes.fill_between([low, high], y - 0.26, y + 0.26, color=SHADE, linewidth=0, zorder=1)
    axes.plot(
        [middle, middle], [y - 0.32, y + 0.32], color=INK, linewidth=2.2, solid_capstyle="butt", zorder=4
    )
    axes.annotate(
        number(float(middle), 0 if middle >= 20 else 1),
        (middle, y + 0.32),
        xytext=(0, 1.5),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=8.5,
        color=INK,
    )


def ratings(
    key: str, rows: Sequence[Ratings], *, x_label: str, caption: str, place: str, limits: tuple[float, float]
) -> Figure:
    """Draw how often each rating was given (area of the disc), and below it the mean with its interval."""
    most = max(max(row.counts.values()) for row in rows)

    def paint(axes: Axes, narrow: bool) -> None:
        largest = 130 if narrow else 230
        for index, row in enumerate(rows):
            values, counts = np.array(list(row.counts)), np.array(list(row.counts.values()))
            axes.scatter(
                values,
                np.full(len(values), -index + 0.14),
                s=np.maximum(largest * counts / most, 3),
                facecolor=SHADE,
                edgecolor=HUMAN,
                linewidth=1.1,
                zorder=2,
            )
            _forest_row(axes, -index - 0.28, Row(row.label, row.mean, simulated=False))
        axes.set_xlim(limits[0] - 0.6, limits[1] + 0.6)
        axes.set_ylim(-len(rows) + 0.45, 0.62)
        _row_labels(axes, [(row.label, "") for row in rows], narrow)
        axes.set_xlabel(x_label)
        _few_ticks(axes, narrow, whole=True)

    svg, narrow = draw(paint, key=key, height=lambda small: _row_height(len(rows), small, 0.66) + 0.6)
    said = "; ".join(f"{row.label}: mean {write(row.mean).line}" for row in rows)
    return Figure(svg, caption, f"{capital(place)}. {x_label} by assistant. {said}.", narrow)


def _row_height(rows: int, narrow: bool, pitch: float) -> float:
    return rows * (pitch + 0.2 if narrow else pitch)


def _row_labels(axes: Axes, labels: Sequence[tuple[str, str]], narrow: bool) -> None:
    """Name the rows: beside the axis where there is room, above each row where there is not."""
    axes.set_yticks([])
    if not narrow:
        axes.set_yticks([-index for index in range(len(labels))], [_two_lines(*label) for label in labels])
        axes.tick_params(axis="y", labelcolor=INK, pad=8)
        return
    for index, (label, detail) in enumerate(labels):
        name = shortened(f"{label}, {detail}" if detail else label, False, 48)
        axes.annotate(
            name,
            (0, -index + 0.36),
            xycoords=("axes fraction", "data"),
            ha="left",
            va="bottom",
            fontsize=9,
            color=INK,
            annotation_clip=False,
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.8},
            zorder=5,
        )


def _two_lines(label: str, detail: str) -> str:
    first = shortened(label, False)
    return f"{first}\n{shortened(detail, False)}" if detail else first


def _few_ticks(axes: Axes, narrow: bool, *, whole: bool = False) -> None:
    from matplotlib.ticker import MaxNLocator

    steps = [1, 2, 5, 10] if whole else [1, 2, 2.5, 5, 10]
    axes.xaxis.set_major_locator(MaxNLocator(6 if narrow else 10 if whole else 8, steps=steps, integer=whole))
