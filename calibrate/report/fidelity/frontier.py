"""Figure 1: what a conversation costs against how faithful the proxy is, with the frontier of those not dominated.

The cost axis is logarithmic; a proxy that costs nothing and one whose price is unknown stand in lanes of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calibrate.estimate import Estimate, Undefined
from calibrate.fidelity.results import FidelityAnalysis, Frontier, ProxyScore, Question
from calibrate.report.document import Table
from calibrate.report.fidelity.amounts import (
    NO_BREAK,
    basis_words,
    cost_said,
    decided,
    money,
    named,
    percent,
    said,
    share,
    size,
    threshold,
)
from calibrate.report.fidelity.labels import Spot, label
from calibrate.report.fidelity.looks import Chart, Look, halo
from calibrate.report.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Sheet
    from matplotlib.text import Annotation

_STEPS = (1.0, 2.0, 5.0)
_NARROWEST_DECADES = 0.6
_Q_WIDTH = 0.16  # of the axis, for the name of q


@dataclass(frozen=True, slots=True)
class Point:
    """One proxy of the chart; `cost` is None where unknown."""

    proxy: str
    cost: float | None
    ufs: float
    low: float
    high: float
    dominated: bool
    chosen: bool


class CostScale:
    """Where a cost stands: log10 of dollars, a lane at the left for 0, and one at the right for the unknown."""

    def __init__(self, points: Sequence[Point]) -> None:
        known = [math.log10(point.cost) for point in points if point.cost]
        self.has_known = bool(known)
        middle = sum(known) / len(known) if known else 0.0
        span = max(max(known) - min(known), _NARROWEST_DECADES) if known else 1.0
        centre = (max(known) + min(known)) / 2 if known else middle
        pad = 0.12 * span
        self.low, self.high = centre - span / 2 - pad, centre + span / 2 + pad
        self.free = [point.proxy for point in points if point.cost == 0]
        self.unknown = [point.proxy for point in points if point.cost is None]
        self.lane = 0.24 * span
        self.has_room = self.has_known or not (self.free or self.unknown)

    @property
    def left(self) -> float:
        """The left end of the axis."""
        start = self.low if self.has_known else self.high
        return start - (self.lane if self.free else 0.0)

    @property
    def right(self) -> float:
        """The right end of the axis."""
        return self.high + (self.lane if self.unknown else 0.0)

    def at(self, point: Point) -> float:
        """Return the place of a point on the axis."""
        if point.cost is None:
            return self.high + self._share(self.unknown, point.proxy)
        if point.cost == 0:
            return self.left + self._share(self.free, point.proxy)
        return math.log10(point.cost)

    def _share(self, lane: Sequence[str], proxy: str) -> float:
        return self.lane * (lane.index(proxy) + 1) / (len(lane) + 1)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Return places and labels: round dollars, and the lanes."""
        marks: list[tuple[float, str]] = []
        if self.free:
            marks.append((self.left + self.lane / 2, "$0"))
        if self.has_known:
            marks += [(math.log10(value), _dollars(value)) for value in self._round_costs(most)]
        if self.unknown:
            marks.append((self.high + self.lane / 2, "unknown"))
        return marks

    def _round_costs(self, most: int) -> list[float]:
        decades = range(math.floor(self.low), math.ceil(self.high) + 1)
        for steps in (_STEPS, (1.0, 3.0), (1.0,)):
            found = [step * 10.0**decade for decade in decades for step in steps]
            found = [value for value in found if self.low <= math.log10(value) <= self.high]
            if len(found) <= most:
                return found
        return found[:: math.ceil(len(found) / most)]


def _dollars(value: float) -> str:
    if value >= 1:
        return f"${value:,.0f}"
    return f"${value:.2f}" if value >= 0.01 else f"${value:.10f}".rstrip("0")


def used_frontier(analysis: FidelityAnalysis) -> Frontier:
    """Return the frontier by the mean that the decision uses."""
    return analysis.frontier if analysis.decision.question.basis == "domains" else analysis.frontier_pooled


def points_of(analysis: FidelityAnalysis) -> list[Point]:
    """Return the proxies that have a UFS, by falling UFS."""
    basis, frontier = analysis.decision.question.basis, used_frontier(analysis)
    points = []
    for score in analysis.proxies:
        estimate = decided(score, basis)
        if estimate.value is None:
            continue
        interval = estimate.interval
        points.append(
            Point(
                score.proxy,
                score.cost.usd,
                estimate.value,
                interval.low if interval else estimate.value,
                interval.high if interval else estimate.value,
                score.proxy in frontier.strictly_dominated,
                score.proxy == analysis.decision.chosen,
            )
        )
    return points


def frontier_chart(analysis: FidelityAnalysis) -> Chart | Undefined:
    """Return the chart of cost and fidelity, or why there is none."""
    points = points_of(analysis)
    if not points:
        return Undefined("no proxy has a UFS")
    frontier, question = used_frontier(analysis), analysis.decision.question
    strict = [point for name in frontier.strict for point in points if point.proxy == name]

    def paint(sheet: Sheet, look: Look) -> None:
        _paint(sheet.add_subplot(), look, points, strict, question)

    def height(look: Look) -> float:
        return (3.7 + min(1.8, 0.06 * max(0, len(points) - 10))) * (0.8 + 0.2 * look.fit)

    sizes = {score.counts.scored for score in analysis.proxies}
    several = size(min(sizes)) + ("" if len(sizes) == 1 else f" to {max(sizes):,}")
    limit = threshold(question.q)
    caption = (
        f"What the user side of a conversation costs (logarithmic) against UFS ({basis_words(question.basis)}), with "
        f"{percent(_level(points, analysis))} intervals; {several} scored episodes a proxy. Dashed: the "
        "strict frontier, on which no proxy has another that is both cheaper and more faithful. Ringed: strictly "
        f"dominated. Bold: chosen at q{NO_BREAK}={NO_BREAK}{limit}. Names that find no room stand in the table only."
    )
    alt = f"Cost and fidelity of {counted(len(points), 'proxy', 'proxies')}. " + "; ".join(
        f"{named(point.proxy, 40)}: {_cost(point)}, UFS {share(point.ufs)}" for point in points
    )
    return Chart("frontier", caption, f"{alt}.", paint, height, _table(analysis))


def _level(points: Sequence[Point], analysis: FidelityAnalysis) -> float:
    return next((score.ufs.level for score in analysis.proxies if score.proxy == points[0].proxy), 0.95)


def _cost(point: Point) -> str:
    return "cost unknown" if point.cost is None else f"{money(point.cost)} a conversation"


def _paint(axes: Axes, look: Look, points: Sequence[Point], strict: Sequence[Point], question: Question) -> None:
    q = question.q
    scale = CostScale(points)
    note = _ground(axes, look, scale, points, q, basis_words(question.basis))
    known = [point for point in strict if point.cost is not None]
    xs, ys = [scale.at(point) for point in known], [point.ufs for point in known]
    axes.plot(xs, ys, color=look.muted, linewidth=1.1, linestyle=(0, (4, 3)), zorder=2)
    for point in points:
        _mark(axes, look, scale, point)
    first = sorted(points, key=lambda point: (not point.chosen, point.dominated))
    spots = [Spot(p.proxy, scale.at(p), p.ufs, p.low, p.high, p.chosen) for p in first]
    label(axes, spots, look, _along([*xs], [*ys]) + _along([scale.left, scale.right], [q, q]), [note])


def _ground(axes: Axes, look: Look, scale: CostScale, points: Sequence[Point], q: float, mean: str) -> Annotation:
    low, high = min(q, *(p.low for p in points)), max(q, *(p.high for p in points))
    pad = max(0.06 * (high - low), 0.02)
    axes.set_ylim(low - pad, high + pad)
    axes.set_xlim(scale.left, scale.right)
    axes.set_yticks(_shares(low - pad, high + pad))
    axes.set_yticklabels([share(tick, 2) for tick in axes.get_yticks()])
    axes.grid(visible=True, axis="y", color=look.grid, linewidth=0.7, zorder=0)
    ticks = scale.ticks(4 if look.narrow else 7)
    axes.set_xticks([place for place, _ in ticks], [text for _, text in ticks])
    for edge, there in ((scale.low, scale.free), (scale.high, scale.unknown)):
        if there and scale.has_known:
            axes.axvline(edge, color=look.grid, linewidth=1.2, zorder=0)
    axes.axhline(q, color=look.second, linewidth=1.2, zorder=1)
    left = _left_is_free(scale, points, q, high - low)
    note = axes.annotate(
        f"q = {threshold(q)}",
        (0 if left else 1, q),
        xycoords=("axes fraction", "data"),
        xytext=(3 if left else -3, 2),
        ha="left" if left else "right",
        textcoords="offset points",
        color=look.second,
        fontsize=look.small,
        va="bottom",
        zorder=6,
        bbox=halo(look),
    )
    note.set_in_layout(False)
    axes.set_xlabel("US dollars a conversation, user side")
    axes.set_ylabel(f"UFS ({mean})", y=0.5, va="bottom")
    return note


def _left_is_free(scale: CostScale, points: Sequence[Point], q: float, span: float) -> bool:
    """Return whether the name of q stands at the left: no interval crosses it there, or some cross it at both ends."""
    width = _Q_WIDTH * (scale.right - scale.left)
    crossing = [scale.at(point) for point in points if point.low <= q + 0.12 * span and point.high >= q]
    at_left = any(x < scale.left + width for x in crossing)
    return not at_left or any(x > scale.right - width for x in crossing)


def _shares(low: float, high: float) -> list[float]:
    step = next((step for step in (0.02, 0.05, 0.1, 0.2, 0.5) if (high - low) / step <= 6), 0.5)
    first = math.ceil(max(low, 0.0) / step)
    return [round(k * step, 4) for k in range(first, math.floor(min(high, 1.0) / step + 1e-9) + 1)]


def _mark(axes: Axes, look: Look, scale: CostScale, point: Point) -> None:
    x = scale.at(point)
    colour = look.muted if point.dominated else look.first
    axes.plot([x, x], [point.low, point.high], color=colour, linewidth=1.3, alpha=0.75, zorder=3)
    axes.plot(
        x,
        point.ufs,
        marker="o" if point.cost is not None else "D",
        markersize=look.mark * (1.25 if point.chosen else 0.72 if point.dominated else 0.95),
        color=colour,
        markerfacecolor=colour if point.cost is not None else look.paper,
        markeredgewidth=1.4,
        zorder=5,
    )
    if point.dominated:
        axes.plot(
            x,
            point.ufs,
            marker="o",
            markersize=look.mark * 1.55,
            markerfacecolor="none",
            markeredgecolor=look.muted,
            markeredgewidth=1.0,
            zorder=4,
        )


def _along(xs: Sequence[float], ys: Sequence[float]) -> list[tuple[float, float]]:
    """Return points along a line, close enough that no name fits between them."""
    found: list[tuple[float, float]] = []
    for k in range(len(xs) - 1):
        for step in np.linspace(0, 1, 60):
            found.append((xs[k] + step * (xs[k + 1] - xs[k]), ys[k] + step * (ys[k + 1] - ys[k])))
    return found


def standing(analysis: FidelityAnalysis, score: ProxyScore) -> str:
    """Return where a proxy stands: chosen, on the frontier, dominated by whom, or why it takes no part."""
    frontier = used_frontier(analysis)
    if score.proxy in frontier.excluded:
        return f"takes no part: {frontier.excluded[score.proxy]}"
    rivals = frontier.dominated_by.get(score.proxy, ())
    text = "on the frontier"
    if score.proxy in frontier.strictly_dominated:
        text = "strictly dominated" + (f" by {_first(rivals)}" if rivals else "")
    elif score.proxy in frontier.pareto_dominated:
        text = "on the strict frontier, but another is as good in one and better in the other"
    return f"chosen, {text}" if score.proxy == analysis.decision.chosen else text


def _first(rivals: Sequence[str]) -> str:
    shown = [named(rival, 40) for rival in rivals]
    return shown[0] if len(shown) == 1 else f"{shown[0]} and {len(shown) - 1} more"


def _table(analysis: FidelityAnalysis) -> Table:
    basis = analysis.decision.question.basis
    rows = tuple(
        (named(score.proxy), said(_ufs(score, basis == "domains")), cost_said(score.cost), standing(analysis, score))
        for score in analysis.proxies
    )
    columns = ("Proxy", f"UFS, {basis_words(basis)}", "Cost a conversation", "Standing")
    return Table("Fidelity and cost, by falling UFS", columns, rows)


def _ufs(score: ProxyScore, domains: bool) -> Estimate:
    return score.ufs if domains else score.pooled
