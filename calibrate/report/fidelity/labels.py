"""Names beside their points: no name lies on another, on a point or on an interval; what finds no room is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from calibrate.report.drawing import shortened
from calibrate.report.fidelity.looks import Look, halo

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation, Text

Box = tuple[float, float, float, float]
"""left, bottom, right, top in points"""


@dataclass(frozen=True, slots=True)
class Spot:
    """A named point, with the interval that is drawn through it; `bold` for the one that is chosen."""

    name: str
    x: float
    y: float
    low: float
    high: float
    bold: bool = False


_Side = tuple[float, float, Literal["left", "right", "center"], Literal["bottom", "top", "center"]]
_SIDES: tuple[_Side, ...] = (
    (1, 0, "left", "center"),
    (-1, 0, "right", "center"),
    (0.8, 0.8, "left", "bottom"),
    (-0.8, 0.8, "right", "bottom"),
    (0.8, -0.8, "left", "top"),
    (-0.8, -0.8, "right", "top"),
    (0, 1, "center", "bottom"),
    (0, -1, "center", "top"),
)
_REACHES = (7.0, 12.0, 20.0, 30.0)
_LED_FROM = 15.0  # points: farther names get a line to their point


def label(
    axes: Axes,
    spots: Sequence[Spot],
    look: Look,
    lines: Sequence[tuple[float, float]] = (),
    notes: Sequence[Text] = (),
) -> list[str]:
    """Write the names, the first spots first, and return those that found no room.

    Args:
        spots: in data coordinates, the most important first.
        lines: further points (data coordinates) on which no name may lie, such as those of a line.
        notes: texts that are there already.
    """
    sheet = axes.get_figure(root=True)
    if sheet is None:
        raise RuntimeError("the axes that are to be labelled stand in no figure")
    sheet.draw_without_rendering()
    scale = 72 / sheet.dpi
    frame = _scaled(sheet.bbox.extents, scale)
    room = _scaled(axes.get_window_extent().extents, scale)
    room = (max(room[0] - 2, frame[0]), room[1], min(room[2] + 6, frame[2] - 2), min(room[3] + 6, frame[3]))
    taken = [box for spot in spots for box in _boxes(axes, spot, scale, look)]
    taken += [_around(_at(axes, x, y, scale), 1.0) for x, y in lines]
    taken += [_scaled(note.get_window_extent().extents, scale) for note in notes]
    left_out = []
    for spot in spots:
        box = _write(axes, spot, look, room, taken)
        if box is None:
            left_out.append(spot.name)
        else:
            taken.append(box)
    return left_out


def _write(axes: Axes, spot: Spot, look: Look, room: Box, taken: Sequence[Box]) -> Box | None:
    """Write one name at the first free place around its point; None where there is none."""
    note = axes.annotate(
        shortened(spot.name, False, 20 if look.narrow else 28),
        (spot.x, spot.y),
        xytext=(0, 0),
        textcoords="offset points",
        fontsize=look.small,
        fontweight="bold" if spot.bold else "normal",
        color=look.ink,
        annotation_clip=False,
        zorder=6,
        bbox=halo(look),
    )
    note.set_in_layout(False)
    sheet = axes.get_figure(root=True)
    scale = 72 / sheet.dpi if sheet is not None else 1.0
    drawn = _scaled(note.get_window_extent().extents, scale)
    size = drawn[2] - drawn[0], drawn[3] - drawn[1]
    centre = _at(axes, spot.x, spot.y, scale)
    for reach in _REACHES:
        for side in _SIDES:
            box = _placed(centre, size, side, reach)
            if _within(box, room) and not any(_meet(box, other) for other in taken):
                note.set_position((side[0] * reach, side[1] * reach))
                note.set_horizontalalignment(side[2])
                note.set_verticalalignment(side[3])
                if reach > _LED_FROM:
                    _lead(axes, spot, note, look)
                return box
    note.remove()
    return None


def _placed(centre: tuple[float, float], size: tuple[float, float], side: _Side, reach: float) -> Box:
    """Return the box of a name that stands at one side of a point."""
    x, y = centre[0] + side[0] * reach, centre[1] + side[1] * reach
    left = x - {"left": 0.0, "center": 0.5, "right": 1.0}[side[2]] * size[0]
    bottom = y - {"bottom": 0.0, "center": 0.5, "top": 1.0}[side[3]] * size[1]
    return left, bottom, left + size[0], bottom + size[1]


def _lead(axes: Axes, spot: Spot, note: Annotation, look: Look) -> None:
    line = axes.annotate(
        "",
        (spot.x, spot.y),
        xytext=note.get_position(),
        textcoords="offset points",
        arrowprops={"arrowstyle": "-", "color": look.muted, "linewidth": 0.6, "shrinkB": 4},
        annotation_clip=False,
        zorder=4,
    )
    line.set_in_layout(False)


def _boxes(axes: Axes, spot: Spot, scale: float, look: Look) -> list[Box]:
    """Return what a spot covers: its mark and its interval."""
    x, y = _at(axes, spot.x, spot.y, scale)
    low, high = _at(axes, spot.x, spot.low, scale)[1], _at(axes, spot.x, spot.high, scale)[1]
    return [_around((x, y), look.mark * 0.7), (x - 1.2, low, x + 1.2, high)]


def _at(axes: Axes, x: float, y: float, scale: float) -> tuple[float, float]:
    across, up = axes.transData.transform((x, y))
    return float(across) * scale, float(up) * scale


def _around(point: tuple[float, float], reach: float) -> Box:
    return point[0] - reach, point[1] - reach, point[0] + reach, point[1] + reach


def _scaled(extents: Sequence[float], scale: float) -> Box:
    left, bottom, right, top = (float(value) * scale for value in extents)
    return left, bottom, right, top


def _within(box: Box, room: Box) -> bool:
    return box[0] >= room[0] and box[1] >= room[1] and box[2] <= room[2] and box[3] <= room[3]


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
