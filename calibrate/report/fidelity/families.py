"""Figure 3: how often each failure family is met, and what the agent's reward is with it minus without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calibrate.estimate import Estimate, Undefined
from calibrate.fidelity.results import FidelityAnalysis
from calibrate.report.document import Table
from calibrate.report.fidelity.amounts import NO_BREAK, phrase, said, scored, share
from calibrate.report.fidelity.looks import Chart, Look, halo, share_ticks
from calibrate.report.fidelity.rows import name_rows, rows_height
from calibrate.report.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Sheet

FEWEST_A_SIDE = 5


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """A family: failing episodes and verdicts over all proxies, and reward differences by proxy × domain."""

    family: str
    episodes: int
    verdicts: int
    applicable: int
    cells: tuple[float, ...]
    mean: Estimate | None


def family_rows(analysis: FidelityAnalysis) -> list[FamilyRow]:
    """Return the families, the most frequent first."""
    names = dict.fromkeys(count.family for score in analysis.proxies for count in score.families)
    names.update(dict.fromkeys(effect.family for effect in analysis.effects))
    effects = {effect.family: effect for effect in analysis.effects}
    rows = []
    for name in names:
        own = [c for score in analysis.proxies for c in score.families if c.family == name and c.mode is None]
        effect = effects.get(name)
        rows.append(
            FamilyRow(
                name,
                sum(count.episodes for count in own),
                sum(count.verdicts for count in own),
                sum(count.applicable for count in own),
                tuple(cell[4] for cell in effect.cells) if effect else (),
                effect.cell_mean if effect else None,
            )
        )
    return sorted(rows, key=lambda row: (-row.episodes, row.family))


def families_chart(analysis: FidelityAnalysis) -> Chart | Undefined:
    """Return the chart of failure families, or why there is none."""
    rows = family_rows(analysis)
    if not rows:
        return Undefined("no verdicts by failure family are known")

    compared = any(row.cells for row in rows)

    def paint(sheet: Sheet, look: Look) -> None:
        if not compared:
            _counts(sheet.add_subplot(), look, rows)
            return
        left, right = sheet.subplots(2, 1) if look.narrow else sheet.subplots(1, 2)
        _counts(left, look, rows)
        _effects(right, look, rows)

    def height(look: Look) -> float:
        one = rows_height(len(rows), look, 0.5) + 0.75
        return 2 * one if look.narrow and compared else one

    total = scored(analysis)
    counts = f"episodes in which a criterion of the family failed, over all proxies (n = {total:,} scored episodes)."
    caption = (
        f"First panel: {counts} Second panel: mean reward with the family minus without it, a dot per "
        f"proxy and domain with at least {FEWEST_A_SIDE} episodes on both sides; the upright line is the mean of the "
        "dots. An association, not an effect: tasks differ between the two sides."
    )
    if not compared:
        caption = (
            f"{counts[:1].upper()}{counts[1:]} Reward with and without a family is not compared: no proxy and domain "
            f"has at least {FEWEST_A_SIDE} episodes on both sides."
        )
    alt = "Failure families. " + "; ".join(_alt(row) for row in rows)
    return Chart("families", caption, f"{alt}.", paint, height, _table(rows, total))


def _alt(row: FamilyRow) -> str:
    mean = "not compared" if row.mean is None or row.mean.value is None else share(row.mean.value)
    cells, episodes = counted(len(row.cells), "cell"), counted(row.episodes, "episode")
    return f"{phrase(row.family)}: {episodes}, mean reward difference {mean} over {cells}"


def _counts(axes: Axes, look: Look, rows: Sequence[FamilyRow]) -> None:
    most = max((row.episodes for row in rows), default=0) or 1
    for index, row in enumerate(rows):
        axes.barh(-index, row.episodes, height=0.42, color=look.first, zorder=2)
        axes.annotate(
            f"{row.episodes:,}",
            (row.episodes, -index),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=look.small,
            color=look.ink,
            bbox=halo(look),
        )
    axes.set_xlim(0, most * 1.16)
    name_rows(axes, [phrase(row.family) for row in rows], [""] * len(rows), look)
    axes.set_xlabel("Episodes with the failure")
    axes.locator_params(axis="x", nbins=4, integer=True)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def _effects(axes: Axes, look: Look, rows: Sequence[FamilyRow]) -> None:
    axes.axvline(0, color=look.muted, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    for index, row in enumerate(rows):
        _effect_row(axes, look, -index, row)
    reach = max([0.1, *(abs(value) for row in rows for value in row.cells)]) * 1.12
    axes.set_xlim(-reach, reach)
    names = [phrase(row.family) if look.narrow else "" for row in rows]
    name_rows(axes, names, [_mean_words(row) if look.narrow else "" for row in rows], look)
    axes.set_xlabel("Reward with it minus without")
    axes.locator_params(axis="x", nbins=5)
    share_ticks(axes)


def _effect_row(axes: Axes, look: Look, y: float, row: FamilyRow) -> None:
    if not row.cells:
        text = f"no cell with {FEWEST_A_SIDE} on both sides"
        note = axes.annotate(text, (0, y), xytext=(4, 0), textcoords="offset points", va="center")
        note.set(fontsize=look.small, color=look.muted, bbox=halo(look))
        return
    offsets = np.resize(np.array([0.0, 0.1, -0.1, 0.05, -0.05]), len(row.cells))
    axes.scatter(
        sorted(row.cells),
        y + offsets,
        s=look.mark**2 * 0.5,
        facecolor="none",
        edgecolor=look.second,
        linewidth=1.1,
        zorder=3,
    )
    mean = row.mean.value if row.mean is not None else None
    if mean is None:
        return
    axes.plot([mean, mean], [y - 0.26, y + 0.26], color=look.ink, linewidth=2.2, solid_capstyle="butt", zorder=4)
    if look.narrow:
        return
    note = axes.annotate(share(mean, 2), (mean, y - 0.26), xytext=(0, -1), textcoords="offset points", zorder=5)
    note.set(ha="center", va="top", fontsize=look.small, color=look.ink, bbox=halo(look))


def _mean_words(row: FamilyRow) -> str:
    if row.mean is None or row.mean.value is None or not row.cells:
        return ""
    return f"mean {share(row.mean.value, 2)}, {counted(len(row.cells), 'cell')}"


def _table(rows: Sequence[FamilyRow], total: int) -> Table:
    cells = tuple(
        (
            phrase(row.family),
            f"{row.episodes:,} of {total:,} episodes",
            f"{row.verdicts:,} of {row.applicable:,} verdicts",
            said(row.mean) + (f" ({counted(len(row.cells), 'cell').replace(' ', NO_BREAK)})" if row.cells else ""),
        )
        for row in rows
    )
    columns = ("Family", "Failing episodes", "Failing verdicts", "Reward difference, mean over cells")
    return Table("Failure families, over all proxies", columns, cells)
