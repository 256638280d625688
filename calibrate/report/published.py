"""Figures that others published, recomputed: the fidelity of user proxies as one card and one section of a report."""

from __future__ import annotations

from dataclasses import dataclass

from calibrate.fidelity.results import FidelityAnalysis, ProxyScore
from calibrate.report.document import Block, Card, Paragraph, Section, Table
from calibrate.report.fidelity.amounts import by_name, cost_said, decided, limits, named, said, share, size, threshold
from calibrate.report.fidelity.answering import settled_words, verdict
from calibrate.report.fidelity.figures import chart_blocks, charts

TITLE = "Which user proxy is the cheapest that is faithful enough?"
CANNOT = "Whether the judge was right, and how your own tasks, agent and prices would fare: usercal ufs PATH."


@dataclass(frozen=True, slots=True)
class Published:
    """An analysis of published totals, and the sentence that says whose they are."""

    analysis: FidelityAnalysis
    source: str

    @property
    def chosen(self) -> ProxyScore | None:
        """The cheapest proxy that is faithful enough, None where none is."""
        return by_name(self.analysis).get(self.analysis.decision.chosen or "")


def published_line(published: Published) -> str:
    """Return the answer on one line of a terminal."""
    analysis, chosen = published.analysis, published.chosen
    q = threshold(analysis.decision.question.q)
    if chosen is None:
        return f"cheapest at q = {q}   none: {analysis.decision.chosen_reason}"
    ufs = decided(chosen, analysis.decision.question.basis)
    parts = [
        f"cheapest at q = {q}   {named(chosen.proxy)}",
        f"UFS {share(ufs.value or 0.0)} {limits(ufs)} {size(ufs.n)}",
        cost_said(chosen.cost, " a conversation").split(" (")[0].split(",")[0],
    ]
    if chosen.support.meets is not None:
        parts.append(f"support(UFS ≥ {q}) = {share(chosen.support.meets, 2)}")
    return "   ".join(parts)


def published_card(published: Published) -> Card:
    """Return the answer as a card of the first screen, with its source."""
    analysis, chosen = published.analysis, published.chosen
    question = analysis.decision.question
    label = f"Fidelity of user proxies, cheapest at UFS ≥ {threshold(question.q)}"
    if chosen is None:
        return Card(label, "None", f"{analysis.decision.chosen_reason}. {published.source}", CANNOT, kind="published")
    sentence = (
        f"UFS {said(decided(chosen, question.basis))}, {cost_said(chosen.cost, ' a conversation')}. "
        f"In {share(chosen.support.meets or 0.0, 2)} of {question.resamples:,} resampled task sets it reaches "
        f"{threshold(question.q)}. {published.source}"
    )
    return Card(label, named(chosen.proxy), sentence, CANNOT, kind="published")


def published_section(published: Published) -> Section:
    """Return the frontier with its numbers, what is settled, and all proxies in a table."""
    analysis = published.analysis
    blocks: list[Block] = [Paragraph(published.source)]
    blocks += [Paragraph(text) for text in verdict(analysis)]
    blocks += chart_blocks(charts(analysis)["frontier"])
    settled = settled_words(analysis)
    if settled and not any(isinstance(block, Paragraph) and block.text == settled for block in blocks):
        blocks.append(Paragraph(settled))
    basis = analysis.decision.question.basis
    rows = tuple(
        (named(score.proxy), decided(score, basis), score.reward, cost_said(score.cost, ""))
        for score in analysis.proxies
    )
    blocks.append(Table("All proxies", ("Proxy", "UFS", "Reward of the agent", "Cost a conversation"), rows))
    return Section(TITLE, tuple(blocks))
