"""A card for each proxy, one page of A4: how faithful it is, how it fails, what it costs, and what to use it for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from calibrate.estimate import Undefined, installed_version
from calibrate.fidelity.results import FamilyCount, FidelityAnalysis, ProxyScore
from calibrate.report.drawing import shortened
from calibrate.report.fidelity.amounts import (
    bare,
    basis_words,
    bounds_of,
    cost_said,
    counted_out,
    decided,
    left_without_ufs,
    limits,
    money,
    named,
    phrase,
    said,
    sentence,
    share,
    size,
    threshold,
)
from calibrate.report.fidelity.answering import audit_notice
from calibrate.report.fidelity.frontier import standing
from calibrate.report.fidelity.screening import worst_modes
from calibrate.report.fidelity.use import RULES, Advice, advice, family_limits, level_words
from calibrate.report.markdown import escape
from calibrate.report.wording import counted, encodable

if TYPE_CHECKING:
    from jinja2 import Template

FAMILIES_SHOWN, MODES_SHOWN, DOMAINS_SHOWN, ADVICE_SHOWN = 5, 4, 5, 5
LONGEST_QUOTE = 120


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the card's head: what it is, the number, and what stands below it."""

    label: str
    value: str
    detail: str


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of a profile: a share of 0 to 1 with its words, its limits, and a mark such as q where there is one."""

    label: str
    share: float
    text: str
    low: float | None = None
    high: float | None = None
    mark: float | None = None


@dataclass(frozen=True, slots=True)
class Failing:
    """A way of failing with one quote, empty where none is known."""

    label: str
    text: str
    quote: str


@dataclass(frozen=True, slots=True)
class ProxyCard:
    """Everything that stands on the card of one proxy."""

    name: str
    subtitle: str
    advice: tuple[Advice, ...]
    figures: tuple[Figure, ...]
    families: tuple[Bar, ...]
    domains: tuple[Bar, ...]
    failures: tuple[Failing, ...]
    remarks: tuple[str, ...]
    footer: str


def proxy_card(analysis: FidelityAnalysis, proxy: str, *, rubric: str | None = None) -> ProxyCard:
    """Return the card of one proxy.

    Raises:
        KeyError: the analysis does not know the proxy.
    """
    score = next((score for score in analysis.proxies if score.proxy == proxy), None)
    if score is None:
        raise KeyError(proxy)
    question = analysis.decision.question
    return ProxyCard(
        name=named(proxy, 60),
        subtitle=f"Simulated user, {_episodes(analysis, score)} in "
        f"{counted(len(score.by_domain), 'domain')}; {standing(analysis, score)}.",
        advice=advice(analysis, score)[:ADVICE_SHOWN],
        figures=_figures(analysis, score),
        families=_families(analysis, score),
        domains=_domains(analysis, score),
        failures=_failures(score),
        remarks=_remarks(analysis, score, rubric),
        footer=f"UserCal {installed_version()}, seed {question.seed}, {question.resamples:,} resamples.",
    )


def _episodes(analysis: FidelityAnalysis, score: ProxyScore) -> str:
    counts = score.counts
    if not analysis.paired:
        return f"{size(counts.scored)} scored {'episode' if counts.scored == 1 else 'episodes'}"
    return f"{size(counts.scored)} scored of {counted(counts.total, 'episode')}"


def _not_told(score: ProxyScore) -> str:
    """Return what a table of results leaves open of a proxy's episodes."""
    lost = left_without_ufs(score)
    more = f"{counted(lost, 'episode')} with a reward {'has' if lost == 1 else 'have'} no UFS. " if lost else ""
    return f"{more}A table of results does not tell which episodes were undefined, unscored, broken off or repeated."


def _figures(analysis: FidelityAnalysis, score: ProxyScore) -> tuple[Figure, ...]:
    basis = analysis.decision.question.basis
    estimate, cost = decided(score, basis), score.cost
    if estimate.value is None:
        head = Figure(f"UFS, {basis_words(basis)}", "undefined", f"{estimate.reason}, {size(estimate.n)}")
    else:
        below = f"{limits(estimate) or f'no interval: {estimate.interval_reason}'}, {size(estimate.n)}"
        head = Figure(f"UFS, {basis_words(basis)}", share(estimate.value), below)
    price = cost_said(cost).removeprefix(money(cost.usd)).strip(" ()") if cost.usd is not None else cost.reason or ""
    found = [head, Figure("Cost a conversation", money(cost.usd), price)]
    for label, own in (
        ("Reward of the agent", score.reward),
        ("Seconds an episode", score.seconds),
        ("Turns of the user", counted_out(score.turns)),
    ):
        if own is not None and own.value is not None:
            found.append(Figure(label, bare(own).split("\u00a0")[0], f"{limits(own)}, {size(own.n)}".strip(", ")))
    return tuple(found)


def _families(analysis: FidelityAnalysis, score: ProxyScore) -> tuple[Bar, ...]:
    rows = [count for count in score.families if count.mode is None]
    rows.sort(key=lambda count: (-count.episodes, count.family))
    scored = score.counts.scored
    bars = []
    for count in rows[:FAMILIES_SHOWN]:
        limit = family_limits(count, scored, analysis.decision.question.level)
        text = f"{count.episodes:,} of {scored:,}"
        ends: tuple[float, float] | tuple[None, None] = (None, None)
        if not isinstance(limit, Undefined):
            text = f"{share(count.episodes / scored)} [{share(limit.low)},\u00a0{share(limit.high)}], {text}"
            ends = (limit.low, limit.high)
        bars.append(Bar(phrase(count.family), count.episodes / scored if scored else 0.0, text, *ends))
    return tuple(bars)


def _domains(analysis: FidelityAnalysis, score: ProxyScore) -> tuple[Bar, ...]:
    known = [(domain, score.by_domain[domain]) for domain in analysis.domains if domain in score.by_domain]
    q = analysis.decision.question.q
    bars = [Bar(phrase(domain), own.value or 0.0, said(own, brief=True), own.low, own.high, q) for domain, own in known]
    return tuple(sorted(bars, key=lambda bar: bar.share)[:DOMAINS_SHOWN])


def _failures(score: ProxyScore) -> tuple[Failing, ...]:
    found = worst_modes(score.families, MODES_SHOWN)
    if not found:
        found = sorted(
            (count for count in score.families if count.quotes and count.episodes), key=lambda count: -count.episodes
        )[:MODES_SHOWN]
    return tuple(_failing(count, score.counts.scored) for count in found)


def _failing(count: FamilyCount, scored: int) -> Failing:
    label = phrase(count.mode or count.family)
    quote = shortened(count.quotes[0], False, LONGEST_QUOTE) if count.quotes else ""
    return Failing(label, f"{count.episodes:,} of {counted(scored, 'episode')}", quote)


def _remarks(analysis: FidelityAnalysis, score: ProxyScore, rubric: str | None) -> tuple[str, ...]:
    counts = score.counts
    found = [audit_notice(analysis)]
    if not analysis.paired:
        found.append(_not_told(score))
    left = counts.undefined + counts.unscored + counts.infra_errors + counts.not_scorable
    if analysis.paired and (left or counts.missing_verdicts):
        limits_of = bounds_of(score, analysis.decision.question.basis)
        bounds = "" if limits_of is None else f"; bounds {share(limits_of[0])} to {share(limits_of[1])}"
        found.append(
            f"Not in the UFS: {counts.undefined:,} undefined, {counts.unscored:,} with a missing verdict, "
            f"{counts.infra_errors:,} infrastructure errors, {counts.not_scorable:,} not scorable, of {counts.total:,} "
            f"episodes{bounds}."
        )
    found += _left_out(analysis, score)
    words = level_words(analysis)
    found.append(
        f"Square brackets hold {words} (families: Wilson); the line through a bar is its "
        f"interval, the upright mark q = {threshold(analysis.decision.question.q)}."
    )
    if rubric is not None:
        found.append(sentence(f"Rubric set {rubric}: only numbers of the same set are comparable"))
    found.append("UFS measures whether a proxy kept to its own instructions, not how much it is like a person.")
    return (*found, f"Rules. {RULES}")


def _left_out(analysis: FidelityAnalysis, score: ProxyScore) -> list[str]:
    """Return what the card has no room for."""
    families = sum(count.mode is None for count in score.families)
    domains = sum(domain in score.by_domain for domain in analysis.domains)
    parts = [
        f"{shown:,} of {there:,} {what}"
        for there, shown, what in (
            (len(advice(analysis, score)), ADVICE_SHOWN, "pieces of advice"),
            (families, FAMILIES_SHOWN, "families"),
            (domains, DOMAINS_SHOWN, "domains"),
        )
        if there > shown
    ]
    return [f"Shown here: {', '.join(parts)}; the rest stands in the report."] if parts else []


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    here = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader([here, here.parent]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("card.html.j2")


def card_to_html(card: ProxyCard) -> str:
    """Return the card as one self-contained page that prints on one sheet of A4."""
    return encodable(_template().render(card=card))


def card_to_markdown(card: ProxyCard) -> str:
    """Return the card as Markdown, names escaped."""
    lines = [f"# {escape(card.name)}", "", escape(card.subtitle), "", "## What to use it for", ""]
    lines += [f"- **{own.lead}** {escape(own.text)}" for own in card.advice]
    lines += ["", "| What | Value | |", "|---|---|---|"]
    lines += [f"| {escape(f.label)} | {escape(f.value)} | {escape(f.detail)} |" for f in card.figures]
    for title, bars in (("Failure families", card.families), ("UFS by domain", card.domains)):
        if bars:
            lines += ["", f"## {title}", "", "| | |", "|---|---|"]
            lines += [f"| {escape(bar.label)} | {escape(bar.text)} |" for bar in bars]
    if card.failures:
        lines += ["", "## Typical failures", ""]
        lines += [f"- {escape(f'{own.label} ({own.text})')}{_quoted(own.quote)}" for own in card.failures]
    lines += ["", "## Remarks", "", *(f"- {escape(text)}" for text in card.remarks), "", escape(card.footer)]
    return encodable("\n".join(lines)) + "\n"


def _quoted(quote: str) -> str:
    return f": “{escape(quote)}”" if quote else ""
