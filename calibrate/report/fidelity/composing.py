"""An analysis of fidelity in, one report out: the answer first, then the five questions, then what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from calibrate.estimate import installed_version
from calibrate.fidelity.results import Basis, FidelityAnalysis, ProxyScore
from calibrate.report.document import Block, Note, Paragraph, Report, Section, Table
from calibrate.report.fidelity.amounts import (
    basis_words,
    bounds_of,
    clause,
    left_without_ufs,
    named,
    phrase,
    scored,
    sentence,
    share,
    size,
)
from calibrate.report.fidelity.answering import NOT_SCORED, TOTALS_ONLY, audit_notice, cards, verdict
from calibrate.report.fidelity.choosing import benchmark_section, choice_section, domain_tables
from calibrate.report.fidelity.figures import charts
from calibrate.report.fidelity.methods import methods_texts
from calibrate.report.fidelity.probing import ProbeLine, probe_blocks
from calibrate.report.fidelity.screening import profile_section, reinforced_section, screening_section
from calibrate.report.wording import counted, listed

NOT_TOLD = (
    "A table of results does not tell which episodes were undefined, not scored, broken off by an infrastructure "
    "error or repeated."
)
TITLE = "Which simulated user is faithful enough?"


def compose_fidelity(
    analysis: FidelityAnalysis,
    *,
    title: str = TITLE,
    probes: Sequence[ProbeLine] = (),
    rubric: str | None = None,
    notices: Sequence[str] = (),
) -> Report:
    """Return the report of an analysis, the answer first.

    Args:
        probes: judge-free counts, shown under a band of their own and never part of the UFS.
        rubric: name or hash of the rubric set, None where none is known.
        notices: where the data come from; they stand on the first screen.
    """
    drawn = charts(analysis)
    sections = [
        choice_section(analysis, drawn),
        benchmark_section(analysis, drawn),
        screening_section(analysis, drawn),
        reinforced_section(analysis, drawn),
        profile_section(analysis),
    ]
    shown = probe_blocks(probes)
    if shown:
        sections.append(Section("What rules find without a judge", shown))
    question = analysis.decision.question
    return Report(
        title=title,
        subtitle=_subtitle(analysis),
        verdict=verdict(analysis),
        cards=cards(analysis),
        sections=(*sections, _missing(analysis)),
        methods=tuple(Paragraph(text) for text in methods_texts(analysis, rubric=rubric)),
        footer=f"UserCal {installed_version()}, seed {question.seed}, {question.resamples:,} resamples.",
        notices=_notices(analysis, notices),
    )


def _subtitle(analysis: FidelityAnalysis) -> str:
    if not analysis.proxies:
        return "No proxies yet."
    domains = f"{counted(len(analysis.domains), 'domain')} ({listed([phrase(d) for d in analysis.domains], 8)})"
    return (
        f"{counted(len(analysis.proxies), 'proxy', 'proxies')}, {counted(analysis.tasks, 'task')} in {domains}, "
        f"{counted(scored(analysis), 'scored episode')}; UFS as {basis_words(analysis.decision.question.basis)}."
    )


def _notices(analysis: FidelityAnalysis, given: Sequence[str]) -> tuple[str, ...]:
    own = [audit_notice(analysis)]
    if not scored(analysis):
        own = [NOT_SCORED]
    if not analysis.paired:
        own.append(TOTALS_ONLY)
    return (*given, *own)


def _missing(analysis: FidelityAnalysis) -> Section:
    """Return what is missing: episodes by what became of them, bounds, duplicates, remarks."""
    if not analysis.proxies:
        return Section("What is missing", (Paragraph("There are no episodes yet."),))
    rows = tuple(
        (
            named(score.proxy),
            *_became(score, analysis),
        )
        for score in analysis.proxies
    )
    columns = ("Proxy", "Scored", "Undefined", "Not scored", "Bounds by missing verdicts")
    blocks: list[Block] = [Table("Episodes by what became of them", columns, rows)]
    blocks.append(
        Paragraph(
            "Undefined: no criterion applied, so there is nothing to keep. Bounds: the UFS with every missing verdict "
            "failing and passing. A verdict that was never given or cannot be read is missing, neither pass nor fail."
        )
    )
    doubled = sum(score.counts.duplicates for score in analysis.proxies)
    items = [f"{counted(doubled, 'duplicate episode')} counted once."] if analysis.paired else [NOT_TOLD]
    items += [sentence(clause(note)) for note in analysis.notes]
    blocks.append(Note(tuple(items)))
    blocks += domain_tables(analysis, "Reward by domain", [score.reward_by_domain for score in analysis.proxies])
    return Section("What is missing", tuple(blocks))


def _became(score: ProxyScore, analysis: FidelityAnalysis) -> tuple[str, str, str, str]:
    """Return the scored, the undefined, the others and the bounds; a table of results tells the first only."""
    counts = score.counts
    if not analysis.paired:
        lost = left_without_ufs(score)
        others = f"{lost:,} with a reward and no UFS" if lost else "not told"
        return f"{counts.scored:,}", "not told", others, "not told"
    scored_of = f"{counts.scored:,} of {counts.total:,}"
    return scored_of, f"{counts.undefined:,}", _others(score), _bounds(score, analysis.decision.question.basis)


def _others(score: ProxyScore) -> str:
    counts = score.counts
    parts = {
        "a verdict missing": counts.unscored,
        "infrastructure error": counts.infra_errors,
        "not scorable": counts.not_scorable,
    }
    return ", ".join(f"{number:,} {word}" for word, number in parts.items() if number) or "none"


def _bounds(score: ProxyScore, basis: Basis) -> str:
    counts, bounds = score.counts, bounds_of(score, basis)
    if bounds is None:
        return "no verdict is missing" if not counts.missing_verdicts else "none"
    low, high = bounds
    missing = counted(counts.missing_verdicts, "verdict")
    return f"{share(low)} to {share(high)}, {size(counts.scored + counts.unscored)} ({missing} missing)"
