"""What charts with one row per name share: the names beside the rows, or above them where the sheet is narrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from calibrate.report.drawing import shortened
from calibrate.report.fidelity.looks import Look, halo

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def name_rows(axes: Axes, names: Sequence[str], details: Sequence[str], look: Look) -> None:
    """Name the rows at y = 0, −1, …: name and detail beside them, or on one line above each."""
    axes.set_ylim(-len(names) + 0.4, 0.75 if look.narrow else 0.6)
    axes.set_yticks([])
    if not look.narrow:
        texts = [
            f"{shortened(name, False, 30)}\n{detail}" if detail else shortened(name, False, 30)
            for name, detail in zip(names, details, strict=True)
        ]
        axes.set_yticks([-row for row in range(len(names))], texts)
        axes.tick_params(axis="y", labelcolor=look.ink, pad=6)
        return
    for row, (name, detail) in enumerate(zip(names, details, strict=True)):
        axes.annotate(
            f"{shortened(name, False, 24)}: {detail}" if detail else shortened(name, False, 40),
            (0, -row + 0.34),
            xycoords=("axes fraction", "data"),
            ha="left",
            va="bottom",
            fontsize=look.small,
            color=look.ink,
            annotation_clip=False,
            bbox=halo(look),
            zorder=6,
        ).set_in_layout(False)


def rows_height(count: int, look: Look, pitch: float = 0.5) -> float:
    """Return the inches that rows need."""
    return count * (pitch + (0.12 if look.narrow else 0.0)) * look.fit
