"""Questions 3, 4 and 5: whether reward screens proxies, what changes in what is reinforced, and how proxies fail."""

from __future__ import annotations

from collections.abc import Sequence

from calibrate.estimate import Estimate
from calibrate.fidelity.results import Effect, FamilyCount, FidelityAnalysis, ProxyScore
from calibrate.report.document import Block, Details, Heading, Note, Paragraph, Section, Table
from calibrate.report.fidelity.amounts import by_name, counted_out, decided, named, phrase, said, share, size
from calibrate.report.fidelity.choosing import Charts
from calibrate.report.fidelity.families import FEWEST_A_SIDE
from calibrate.report.fidelity.figures import chart_blocks
from calibrate.report.wording import counted

FAMILIES_A_TABLE = 4
MODES_SHOWN = 12
QUOTES_SHOWN = 3


def screening_section(analysis: FidelityAnalysis, drawn: Charts) -> Section:
    """Return question 3: reward with a failure family minus without, within tasks first, then by cell."""
    title = "3. Can reward screen proxies?"
    blocks: list[Block] = [*chart_blocks(drawn["families"])]
    if not analysis.effects:
        reason = "only totals are known" if not analysis.paired else "no failure family has episodes on both sides"
        return Section(title, (*blocks, Paragraph(f"No comparison of reward with and without a failure: {reason}.")))
    rows = tuple(
        (phrase(effect.family), said(effect.within_task), said(effect.cell_mean), _signs(effect))
        for effect in analysis.effects
    )
    columns = ("Family", "Within tasks", "Mean over cells", "Median of cells; cells below, at, above 0")
    blocks.append(Table("Reward of episodes with the failure minus without it", columns, rows))
    blocks.append(
        Paragraph(
            "Within tasks: Mantel–Haenszel by task across proxies, so that easy and hard tasks do not stand on "
            f"different sides. Cells: proxy × domain with at least {FEWEST_A_SIDE} episodes on both sides. Both are "
            "associations."
        )
    )
    blocks += [block for effect in analysis.effects if effect.cells for block in _cells(effect)]
    blocks.append(Paragraph(f"UFS against reward over proxies: r {said(analysis.ufs_against_reward)}."))
    return Section(title, tuple(blocks))


def _signs(effect: Effect) -> str:
    below, at, above = effect.signs
    median = "no median" if effect.cell_median is None else share(effect.cell_median)
    return f"{median}; {below}, {at}, {above} ({size(len(effect.cells))})"


def _cells(effect: Effect) -> list[Block]:
    rows = tuple(
        (named(proxy, 40), phrase(domain), f"{size(with_it)} with, {without:,} without", share(value))
        for proxy, domain, with_it, without, value in effect.cells
    )
    columns = ("Proxy", "Domain", "Episodes", "Reward difference")
    return [Details(f"Cells: {phrase(effect.family)}", (Table(phrase(effect.family), columns, rows),))]


def reinforced_section(analysis: FidelityAnalysis, drawn: Charts) -> Section:
    """Return question 4: what over-disclosing does to successful episodes, and turns against UFS and reward."""
    blocks: list[Block] = []
    if analysis.reinforced:
        rows = tuple(
            (named(own.proxy), said(counted_out(own.tool_calls)), said(counted_out(own.questions)))
            for own in analysis.reinforced
        )
        caption = "Successful episodes: over-disclosing minus not, per episode"
        blocks.append(Table(caption, ("Proxy", "Tool calls of the agent", "Questions of the agent"), rows))
    else:
        blocks.append(Paragraph("What is reinforced cannot be compared: no episodes with both kinds are known."))
    blocks += chart_blocks(drawn["turns"])
    tasks = counted(analysis.common_tasks, "task")
    blocks.append(
        Paragraph(
            f"Turns of the agent over {tasks} that every proxy completed. Against UFS: r "
            f"{said(analysis.turns_against_ufs)}. Against reward: r {said(analysis.turns_against_reward)}."
        )
    )
    return Section("4. What changes in what is reinforced?", tuple(blocks))


def profile_section(analysis: FidelityAnalysis) -> Section:
    """Return question 5: families and modes per proxy, UFS without a family and how ranks move."""
    blocks: list[Block] = [*_families(analysis), *_modes(analysis), *_quotes(analysis), *_without(analysis)]
    rows = tuple(
        (named(score.proxy), said(counted_out(score.applicable), brief=True), said(score.common, brief=True))
        for score in analysis.proxies
        if score.applicable is not None or score.common is not None
    )
    if rows:
        columns = ("Proxy", "Applicable criteria an episode", "UFS on criteria common to all")
        caption = "A criterion whose condition never arose counts as kept, so a proxy that stops early faces fewer"
        blocks.append(Table(caption, columns, rows))
    if not blocks:
        blocks.append(Paragraph("No profile: verdicts by failure family are not known."))
    return Section("5. How do the proxies fail?", tuple(blocks))


def _families(analysis: FidelityAnalysis) -> list[Block]:
    names = list(dict.fromkeys(c.family for score in analysis.proxies for c in score.families))
    blocks: list[Block] = []
    for start in range(0, len(names), FAMILIES_A_TABLE):
        part = names[start : start + FAMILIES_A_TABLE]
        rows = tuple(
            (named(score.proxy), *(_met(score, family) for family in part))
            for score in analysis.proxies
            if score.families
        )
        columns = ("Proxy", *(phrase(family) for family in part))
        blocks.append(Table("Episodes in which a criterion of the family failed, of those scored", columns, rows))
    return blocks


def _met(score: ProxyScore, family: str) -> str:
    found = next((c for c in score.families if c.family == family and c.mode is None), None)
    if found is None:
        return f"0 of {score.counts.scored:,}"
    return f"{found.episodes:,} of {score.counts.scored:,}"


def _modes(analysis: FidelityAnalysis) -> list[Block]:
    blocks: list[Block] = []
    for score in analysis.proxies:
        modes = worst_modes(score.families, MODES_SHOWN)
        if modes:
            rows = tuple(
                (
                    phrase(count.mode or ""),
                    phrase(count.family),
                    f"{count.episodes:,} of {score.counts.scored:,}",
                    f"{count.verdicts:,} of {count.applicable:,}",
                )
                for count in modes
            )
            columns = ("Mode", "Family", "Failing episodes", "Failing of applicable verdicts")
            blocks.append(Table(named(score.proxy), columns, rows))
    return [Details("Failure modes by proxy", tuple(blocks))] if blocks else []


def worst_modes(families: Sequence[FamilyCount], most: int) -> list[FamilyCount]:
    """Return the modes that were met, the most frequent first."""
    met = [count for count in families if count.mode is not None and count.episodes]
    return sorted(met, key=lambda count: (-count.episodes, count.family, count.mode or ""))[:most]


def _quotes(analysis: FidelityAnalysis) -> list[Block]:
    blocks: list[Block] = []
    for score in analysis.proxies:
        items = [
            f"{phrase(count.mode or count.family)}: “{quote}”"
            for count in worst_modes(score.families, MODES_SHOWN)
            for quote in count.quotes[:QUOTES_SHOWN]
        ]
        if items:
            blocks += [Heading(named(score.proxy)), Note(tuple(items))]
    return [Details("What they said", tuple(blocks))] if blocks else []


def _without(analysis: FidelityAnalysis) -> list[Block]:
    names = list(dict.fromkeys(family for score in analysis.proxies for family in score.without))
    basis = analysis.decision.question.basis
    blocks: list[Block] = []
    whole = ranks({score.proxy: decided(score, basis) for score in analysis.proxies})
    for family in names:
        others = {score.proxy: score.without[family] for score in analysis.proxies if family in score.without}
        moved = ranks(others)
        rows = tuple(
            (
                named(proxy),
                said(decided(by_name(analysis)[proxy], basis), brief=True),
                said(estimate, brief=True),
                f"{whole.get(proxy, 'none')} → {moved.get(proxy, 'none')}",
            )
            for proxy, estimate in others.items()
        )
        caption = f"UFS without the criteria of {phrase(family)}, and how the ranks move"
        blocks.append(Table(caption, ("Proxy", "UFS", f"Without {phrase(family)}", "Rank"), rows))
    return [Details(f"UFS without a family ({len(names)})", tuple(blocks))] if len(blocks) > 1 else blocks


def ranks(values: dict[str, Estimate]) -> dict[str, int]:
    """Return ranks from 1 for the largest; equal values share the smaller rank; the undefined have none."""
    known = {proxy: estimate.value for proxy, estimate in values.items() if estimate.value is not None}
    return {proxy: 1 + sum(other > value for other in known.values()) for proxy, value in known.items()}
