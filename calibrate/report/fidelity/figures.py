"""The four charts of an analysis: cost and fidelity, reward by domain, failure families, turns of the agent."""

from __future__ import annotations

from calibrate.estimate import Undefined
from calibrate.fidelity.results import FidelityAnalysis
from calibrate.report.document import Block, Details, Paragraph
from calibrate.report.fidelity.amounts import sentence
from calibrate.report.fidelity.families import families_chart
from calibrate.report.fidelity.frontier import frontier_chart
from calibrate.report.fidelity.looks import Chart, on_page
from calibrate.report.fidelity.reward import reward_chart
from calibrate.report.fidelity.turns import turns_chart

FIGURES = ("frontier", "reward", "families", "turns")
_MAKERS = {
    "frontier": frontier_chart,
    "reward": reward_chart,
    "families": families_chart,
    "turns": turns_chart,
}


def charts(analysis: FidelityAnalysis) -> dict[str, Chart | Undefined]:
    """Return each chart by name, or why it cannot be drawn."""
    return {name: _MAKERS[name](analysis) for name in FIGURES}


def chart_blocks(chart: Chart | Undefined, *, folded: bool = True) -> tuple[Block, ...]:
    """Return a chart with its numbers in a table beside it, folded away or open; or why there is none."""
    if isinstance(chart, Undefined):
        return (Paragraph(sentence(f"No figure: {chart.reason}")),)
    table: Block = Details("The numbers of this figure", (chart.table,)) if folded else chart.table
    return (on_page(chart), table)
