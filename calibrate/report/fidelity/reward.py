"""Figure 2: the reward of one and the same agent, a row per domain, a point per proxy, a grey bar over their range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calibrate.estimate import Undefined
from calibrate.fidelity.results import FidelityAnalysis
from calibrate.report.document import Table
from calibrate.report.drawing import shortened
from calibrate.report.fidelity.amounts import drawn_scores, named, phrase, said, share
from calibrate.report.fidelity.looks import Chart, Look, halo, share_ticks
from calibrate.report.fidelity.rows import name_rows, rows_height
from calibrate.report.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Sheet

_LONGEST = 22  # signs of a name at the end of a bar


@dataclass(frozen=True, slots=True)
class RewardRow:
    """The rewards of one domain, from the smallest: (reward, proxy)."""

    domain: str
    values: tuple[tuple[float, str], ...]

    @property
    def spread(self) -> float:
        """Largest minus smallest reward."""
        return self.values[-1][0] - self.values[0][0]


def reward_rows(analysis: FidelityAnalysis) -> list[RewardRow]:
    """Return the domains in which at least one proxy has a mean reward."""
    rows = []
    for domain in analysis.domains:
        found = []
        for score in drawn_scores(analysis):
            estimate = score.reward_by_domain.get(domain)
            if estimate is not None and estimate.value is not None:
                found.append((estimate.value, score.proxy))
        if found:
            rows.append(RewardRow(domain, tuple(sorted(found))))
    return rows


def reward_chart(analysis: FidelityAnalysis) -> Chart | Undefined:
    """Return the chart of rewards, or why there is none."""
    rows = reward_rows(analysis)
    if not rows:
        return Undefined("no reward is known by domain")

    def paint(sheet: Sheet, look: Look) -> None:
        _paint(sheet.add_subplot(), look, rows)

    caption = (
        "Mean reward of the agent by domain. Each point is one proxy: filled the lowest and the highest, hollow those "
        "between; the grey bar spans from one to the other. Where the agent is the same throughout, only the simulated "
        "user differs. n of each point stands in the table."
    )
    alt = "Mean reward by domain. " + "; ".join(
        f"{phrase(row.domain)}: from {share(row.values[0][0])} ({named(row.values[0][1], 40)}) to "
        f"{share(row.values[-1][0])} ({named(row.values[-1][1], 40)}), {counted(len(row.values), 'proxy', 'proxies')}"
        for row in rows
    )
    return Chart(
        "reward", caption, f"{alt}.", paint, lambda look: rows_height(len(rows), look, 0.58) + 0.6, _table(analysis)
    )


def _paint(axes: Axes, look: Look, rows: Sequence[RewardRow]) -> None:
    for index, row in enumerate(rows):
        _row(axes, look, -index, row)
    low = min(row.values[0][0] for row in rows)
    high = max(row.values[-1][0] for row in rows)
    pad = max(0.06 * (high - low), 0.03)
    axes.set_xlim(*((low - pad, high + pad) if look.narrow else _room_for_names(axes, look, rows, low, high)))
    details = [_detail(row, look) for row in rows]
    name_rows(axes, [phrase(row.domain) for row in rows], details, look)
    axes.grid(visible=True, axis="x", color=look.grid, linewidth=0.7, zorder=0)
    axes.set_xlabel("Mean reward of the agent")
    axes.locator_params(axis="x", nbins=5 if look.narrow else 8)
    share_ticks(axes)


def _detail(row: RewardRow, look: Look) -> str:
    if len(row.values) == 1:
        return f"one proxy, {share(row.values[0][0])}"
    if not look.narrow:
        return f"spread {share(row.spread)}"
    (low, worst), (high, best) = row.values[0], row.values[-1]
    return f"{share(low)} {shortened(worst, False, 16)} – {share(high)} {shortened(best, False, 16)}"


def _row(axes: Axes, look: Look, y: float, row: RewardRow) -> None:
    values = [value for value, _ in row.values]
    axes.plot(
        [values[0], values[-1]], [y, y], color=look.shade, linewidth=look.mark * 1.5, solid_capstyle="round", zorder=1
    )
    axes.plot(
        values,
        [y] * len(values),
        linestyle="none",
        marker="o",
        markersize=look.mark,
        markerfacecolor="none",
        markeredgecolor=look.first,
        markeredgewidth=1.3,
        zorder=3,
    )
    for value in {values[0], values[-1]}:
        axes.plot(value, y, marker="o", markersize=look.mark, color=look.first, zorder=4)
    if look.narrow or len(row.values) < 2:
        return
    for (value, proxy), side in ((row.values[0], -1), (row.values[-1], 1)):
        axes.annotate(
            shortened(proxy, False, _LONGEST),
            (value, y),
            xytext=(side * look.mark * 1.2, 0),
            textcoords="offset points",
            ha="right" if side < 0 else "left",
            va="center",
            fontsize=look.small,
            color=look.ink,
            annotation_clip=False,
            zorder=5,
            bbox=halo(look),
        ).set_in_layout(False)


def _room_for_names(axes: Axes, look: Look, rows: Sequence[RewardRow], low: float, high: float) -> tuple[float, float]:
    """Return limits between which the names at both ends of every bar fit."""
    sheet = axes.get_figure(root=True)
    inches = (sheet.get_figwidth() if sheet is not None else 6.9) - 1.3
    sign = 0.6 * look.small / 72 / inches  # of the axis, for one sign
    left, right = low, high
    for _ in range(8):
        wide = max(right - left, 0.05)
        for row in rows:
            (first, worst), (last, best) = row.values[0], row.values[-1]
            left = min(left, first - (min(len(worst), _LONGEST) * sign + 0.03) * wide)
            right = max(right, last + (min(len(best), _LONGEST) * sign + 0.03) * wide)
    return left, right


def _table(analysis: FidelityAnalysis) -> Table:
    rows = [
        (phrase(domain), named(score.proxy), said(score.reward_by_domain[domain], brief=True))
        for domain in analysis.domains
        for score in drawn_scores(analysis)
        if domain in score.reward_by_domain
    ]
    return Table("Mean reward by domain and proxy", ("Domain", "Proxy", "Reward"), tuple(rows))
