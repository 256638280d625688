"""Figure 4: how many turns the agent takes with each proxy, against UFS and against reward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calibrate.estimate import Estimate, Undefined
from calibrate.fidelity.results import FidelityAnalysis
from calibrate.report.document import Table
from calibrate.report.fidelity.amounts import counted_out, decided, drawn_scores, limits, named, said, share
from calibrate.report.fidelity.labels import Spot, label
from calibrate.report.fidelity.looks import Chart, Look, share_ticks
from calibrate.report.wording import counted, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Sheet


@dataclass(frozen=True, slots=True)
class _Panel:
    x_label: str
    spots: tuple[tuple[str, float, float], ...]
    strength: Estimate | Undefined


def turns_chart(analysis: FidelityAnalysis) -> Chart | Undefined:
    """Return the chart of turns, or why there is none."""
    basis = analysis.decision.question.basis
    ufs, reward = [], []
    for score in drawn_scores(analysis):
        turns = score.agent_turns
        if turns is None or turns.value is None:
            continue
        kept = decided(score, basis).value
        if kept is not None:
            ufs.append((score.proxy, kept, turns.value))
        if score.reward.value is not None:
            reward.append((score.proxy, score.reward.value, turns.value))
    if not ufs:
        return Undefined("the agent's turns are not known, or no task was completed by every proxy")
    panels = (
        _Panel("UFS", tuple(ufs), analysis.turns_against_ufs),
        _Panel("Mean reward", tuple(reward), analysis.turns_against_reward),
    )

    def paint(sheet: Sheet, look: Look) -> None:
        axes = sheet.subplots(2, 1) if look.narrow else sheet.subplots(1, 2, sharey=True)
        for own, panel in zip(axes, panels, strict=True):
            _paint(own, look, panel, first=panel is panels[0])

    def height(look: Look) -> float:
        return (5.6 if look.narrow else 3.1) * (0.8 + 0.2 * look.fit)

    caption = (
        f"Mean turns of the agent with each proxy, on the {counted(analysis.common_tasks, 'task')} that every proxy "
        "completed, against UFS and against reward. r is Pearson's correlation over proxies; with so few its interval "
        "is wide. n of each point stands in the table."
    )
    strengths = f"UFS: r {said(analysis.turns_against_ufs)}; with reward: r {said(analysis.turns_against_reward)}"
    points = "; ".join(f"{named(name, 40)}: UFS {share(x)}, {number(y, 1)} turns" for name, x, y in ufs)
    alt = f"Turns of the agent. Correlation of the agent's turns with {strengths}. {points}"
    return Chart("turns", caption, f"{alt}.", paint, height, _table(analysis))


def _paint(axes: Axes, look: Look, panel: _Panel, *, first: bool) -> None:
    axes.set_title(_title(panel.strength), loc="left", fontsize=look.small, color=look.ink)
    axes.set_xlabel(panel.x_label)
    if first or look.narrow:
        axes.set_ylabel("Mean turns of the agent")
    if not panel.spots:
        axes.annotate("no reward is known", (0.5, 0.5), xycoords="axes fraction", ha="center", color=look.muted)
        axes.set_xticks([])
        return
    xs, ys = [x for _, x, _ in panel.spots], [y for _, _, y in panel.spots]
    axes.plot(xs, ys, linestyle="none", marker="o", markersize=look.mark, color=look.first, zorder=3)
    axes.set_xlim(*_padded(xs, 0.01))
    axes.set_ylim(*_padded(ys, 0.2))
    axes.grid(visible=True, color=look.grid, linewidth=0.7, zorder=0)
    axes.locator_params(nbins=5)
    share_ticks(axes)
    label(axes, [Spot(name, x, y, y, y) for name, x, y in panel.spots], look)


def _padded(values: Sequence[float], least: float) -> tuple[float, float]:
    pad = max(0.16 * (max(values) - min(values)), least)
    return min(values) - pad, max(values) + pad


def _title(strength: Estimate | Undefined) -> str:
    if isinstance(strength, Undefined) or strength.value is None:
        return "r of the agent's turns: no value"
    interval = limits(strength) or "no interval"
    return f"agent's turns: r = {share(strength.value)} {interval}, n = {strength.n}"


def _table(analysis: FidelityAnalysis) -> Table:
    basis = analysis.decision.question.basis
    rows = tuple(
        (
            named(score.proxy),
            said(counted_out(score.agent_turns)),
            said(decided(score, basis), brief=True),
            said(score.reward, brief=True),
        )
        for score in drawn_scores(analysis)
    )
    return Table("Turns of the agent, UFS and reward by proxy", ("Proxy", "Turns", "UFS", "Mean reward"), rows)
