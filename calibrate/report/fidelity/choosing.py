"""Questions 1 and 2: which proxy is the cheapest that is faithful enough, and how far the proxy moves the benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from calibrate.estimate import Estimate, Undefined
from calibrate.fidelity.results import Difference, FidelityAnalysis, ProxyScore
from calibrate.report.document import Block, Details, Heading, Note, Paragraph, Section, Table
from calibrate.report.fidelity.amounts import (
    basis_words,
    checked,
    cost_said,
    decided,
    money,
    named,
    phrase,
    said,
    sentence,
    share,
    size,
    threshold,
)
from calibrate.report.fidelity.answering import not_chosen, settled_words
from calibrate.report.fidelity.figures import chart_blocks
from calibrate.report.fidelity.frontier import used_frontier
from calibrate.report.fidelity.looks import Chart
from calibrate.report.wording import counted, listed, p_value

Charts = dict[str, Chart | Undefined]
DOMAINS_A_TABLE = 3


def choice_section(analysis: FidelityAnalysis, drawn: Charts) -> Section:
    """Return question 1: frontier, support, costs, the two means and the differences."""
    blocks: list[Block] = [*chart_blocks(drawn["frontier"], folded=False)]
    if any(decided(score, analysis.decision.question.basis).defined for score in analysis.proxies):
        blocks.append(_support(analysis))
        if analysis.decision.chosen is None:
            blocks.append(Paragraph(sentence(f"No proxy is chosen: {not_chosen(analysis)}")))
        blocks.append(Paragraph(settled_words(analysis)))
    blocks.append(_costs(analysis))
    blocks += _frontiers(analysis)
    blocks.append(Details("Mean over domains and mean over episodes", (_means(analysis),)))
    blocks += domain_tables(analysis, "UFS by domain", [score.by_domain for score in analysis.proxies])
    blocks += _power(analysis)
    blocks += _differences(analysis)
    return Section("1. Which proxy is the cheapest that is faithful enough?", tuple(blocks))


def _support(analysis: FidelityAnalysis) -> Table:
    question = analysis.decision.question
    margin = question.margin > 0
    caption = (
        f"Support: the share of {question.resamples:,} resampled task sets in which it holds"
        f"{'' if checked(analysis) else ' (unaudited)'}. It is not the probability that it is true"
    )
    columns = ["Proxy", "n", f"UFS ≥ {threshold(question.q)}"]
    columns += [f"UFS ≥ {threshold(question.q - question.margin)}"] if margin else []
    columns += ["Chosen", "On the frontier", "Joint lower limit"]
    rows = []
    for score in analysis.proxies:
        support, absent = score.support, _why_no_part(analysis, score)
        unmet = _why_no_part(analysis, score, of_cost=False)
        cells = [named(score.proxy), f"{decided(score, question.basis).n:,}", _part(support.meets, unmet)]
        cells += [_part(support.meets_with_margin, unmet)] if margin else []
        cells += [_part(support.chosen, absent), _part(support.frontier, absent)]
        cells.append("none" if score.lower is None else share(score.lower))
        rows.append(tuple(cells))
    return Table(caption, tuple(columns), tuple(rows))


def _why_no_part(analysis: FidelityAnalysis, score: ProxyScore, *, of_cost: bool = True) -> str:
    """Return why a support is not told: no UFS, no cost, a constraint, or too few resamples with a value."""
    if decided(score, analysis.decision.question.basis).value is None:
        return "no UFS"
    if of_cost and score.cost.usd is None:
        return "cost unknown"
    if of_cost and score.proxy in used_frontier(analysis).excluded:
        return used_frontier(analysis).excluded[score.proxy]
    return "too many resamples leave a UFS undefined"


def _part(value: float | None, reason: str) -> str:
    return f"not asked: {reason}" if value is None else share(value, 2)


def _costs(analysis: FidelityAnalysis) -> Table:
    question = analysis.decision.question
    with_epoch = question.rollouts is not None and question.prompts is not None
    columns = ["Proxy", "Cost that decides", "At list price"]
    columns += [f"{(question.rollouts or 0) * (question.prompts or 0):,} conversations"] if with_epoch else []
    rows = []
    for score in analysis.proxies:
        cost = score.cost
        cells = [named(score.proxy), cost_said(cost)]
        listed_usd = cost.usd if cost.list_usd is None and cost.basis == "list" else cost.list_usd
        cells.append("not known" if listed_usd is None else f"{money(listed_usd)}, {size(cost.n)}")
        cells += [f"{money(cost.epoch_usd)}" + _by(cost.epoch_usd, cost.n)] if with_epoch else []
        rows.append(tuple(cells))
    caption = "US dollars of the user side per conversation; an unknown cost is never the smallest"
    return Table(caption, tuple(columns), tuple(rows))


def _by(value: float | None, n: int) -> str:
    return "" if value is None else f", from {size(n)}"


def _means(analysis: FidelityAnalysis) -> Table:
    rows = tuple(
        (named(score.proxy), said(score.ufs, brief=True), said(score.pooled, brief=True)) for score in analysis.proxies
    )
    used = basis_words(analysis.decision.question.basis)
    return Table(
        f"The two means of UFS; decisions here use the {used}",
        ("Proxy", "Mean over domains", "Mean over episodes"),
        rows,
    )


def _frontiers(analysis: FidelityAnalysis) -> list[Block]:
    one, other = analysis.frontier, analysis.frontier_pooled
    items = [
        f"Strictly dominated, mean over domains: {_names(one.strictly_dominated)}. Mean over episodes: "
        f"{_names(other.strictly_dominated)}.",
        f"Dominated in Pareto's sense, mean over domains: {_names(one.pareto_dominated)}. Mean over episodes: "
        f"{_names(other.pareto_dominated)}.",
    ]
    items += [f"{named(proxy)} takes no part: {reason}." for proxy, reason in one.excluded.items()]
    return [Note(tuple(items))]


def _names(names: Sequence[str]) -> str:
    return listed([named(name, 40) for name in names], 12) if names else "none"


def domain_tables(analysis: FidelityAnalysis, caption: str, values: Sequence[dict[str, Estimate]]) -> list[Block]:
    """Return values by proxy and domain, three domains a table, folded away; nothing where there are no domains."""
    domains = [domain for domain in analysis.domains if any(domain in own for own in values)]
    if not domains:
        return []
    tables: list[Block] = []
    parts = -(-len(domains) // DOMAINS_A_TABLE)
    for start in range(0, len(domains), DOMAINS_A_TABLE):
        title = f"Part {start // DOMAINS_A_TABLE + 1} of {parts}" if parts > 1 else _with_n(caption)
        part = domains[start : start + DOMAINS_A_TABLE]
        rows = tuple(
            (named(score.proxy), *(said(own.get(domain), brief=True) for domain in part))
            for score, own in zip(analysis.proxies, values, strict=True)
        )
        tables.append(Table(title, ("Proxy", *(phrase(domain) for domain in part)), rows))
    return [Details(caption, tuple(tables))]


def _with_n(caption: str) -> str:
    return f"{caption}, with interval and n"


def _power(analysis: FidelityAnalysis) -> list[Block]:
    steps = sorted({k for score in analysis.proxies for k in score.power if k > 1})
    if not steps:
        return []
    rows = tuple(
        (named(score.proxy), *(said(score.power.get(k), brief=True) for k in steps[:3])) for score in analysis.proxies
    )
    columns = ("Proxy", *(f"UFS^{k}" for k in steps[:3]))
    text = "UFS^k: the chance that k of k rollouts of a task are all faithful"
    return [Details("Several rollouts of a task", (Table(text, columns, rows),))]


def _differences(analysis: FidelityAnalysis) -> list[Block]:
    if not analysis.differences:
        return []
    rows = tuple(
        (
            f"{named(pair.first, 40)} minus {named(pair.second, 40)}",
            said(pair.estimate.model_copy(update={"p_value": None})),
            p_value(pair.p_holm) or "not tested",
        )
        for pair in ordered_pairs(analysis)
    )
    how = "paired; n is the tasks that both completed" if analysis.paired else "not paired: only totals are known"
    columns = ("Pair, the more faithful first", "Difference", "p after Holm")
    table = Table(f"Differences of UFS, {how}", columns, rows)
    return [Details(f"Differences between proxies ({counted(len(rows), 'pair')})", (table,))]


def ordered_pairs(analysis: FidelityAnalysis) -> list[Difference]:
    """Return the pairs by falling UFS of the first and then of the second, each turned so that the first has more."""
    place = {score.proxy: at for at, score in enumerate(analysis.proxies)}

    def at(proxy: str) -> int:
        return place.get(proxy, len(place))

    pairs = [
        pair
        if at(pair.first) <= at(pair.second)
        else replace(pair, first=pair.second, second=pair.first, estimate=turned(pair.estimate))
        for pair in analysis.differences
    ]
    return sorted(pairs, key=lambda pair: (at(pair.first), at(pair.second)))


def turned(difference: Estimate) -> Estimate:
    """Return a difference the other way round: value and limits change their sign."""
    flipped = {
        "value": None if difference.value is None else -difference.value,
        "low": None if difference.high is None else -difference.high,
        "high": None if difference.low is None else -difference.low,
    }
    return difference.model_copy(update=flipped)


def benchmark_section(analysis: FidelityAnalysis, drawn: Charts) -> Section:
    """Return question 2: reward by proxy and domain, its spread, and successes that fail UFS."""
    spread = f"Largest minus smallest mean reward over proxies: {said(analysis.reward_spread)}."
    blocks: list[Block] = [Paragraph(spread)]
    blocks += chart_blocks(drawn["reward"])
    rows = tuple((named(score.proxy), said(score.reward), said(score.pass_and_fail)) for score in analysis.proxies)
    blocks.append(
        Table(
            "Reward of the agent with each proxy, and the share of successful episodes that fail UFS",
            ("Proxy", "Mean reward", "Successes that fail UFS"),
            rows,
        )
    )
    blocks += _expected(analysis)
    return Section("2. How much does the proxy move the benchmark?", tuple(blocks))


def _expected(analysis: FidelityAnalysis) -> list[Block]:
    if not analysis.expected_failures:
        return []
    mean = [score.applicable for score in analysis.proxies if score.applicable is not None]
    proxies = counted(len(mean), "proxy", "proxies")
    basis = f" (computed from the applicable criteria of {proxies}, no sample of its own)" if mean else ""
    parts = ", ".join(f"{share(value)} at {rate}" for rate, value in analysis.expected_failures.items())
    who = "the rater" if analysis.by_people else "the judge"
    text = f"A perfect proxy would fail this share of episodes if {who} failed kept criteria by mistake: {parts}"
    return [Heading("What a perfect proxy would show"), Paragraph(f"{text}{basis}.")]
