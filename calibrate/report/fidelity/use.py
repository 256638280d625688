"""What a proxy may be used for: sentences that follow from its numbers by stated rules, never free text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from calibrate.estimate import Interval, Undefined
from calibrate.fidelity.results import FamilyCount, FidelityAnalysis, ProxyScore
from calibrate.report.fidelity.amounts import decided, limits, named, percent, phrase, said, share, size, threshold
from calibrate.report.fidelity.frontier import used_frontier
from calibrate.report.wording import counted

RARE, OFTEN = 0.05, 0.10
"""A habit is rare where the upper limit of its share is below the first, often where the lower is above the second."""
DOMAINS_NAMED = 3
RULES = (
    f"Use it for: UFS and the lower limit reach q; a family whose share of failing episodes is below {RARE:.0%} by the "
    "upper limit (Wilson). Do not use it: the upper limit of UFS is below q, over all or in a domain; a family whose "
    f"share is above {OFTEN:.0%} by the lower limit; another proxy is both cheaper and more faithful. Otherwise it is "
    "not settled."
).replace("%", "\u00a0%")
_TESTS = {
    "premature_disclosure": "how an agent gathers information",
    "groundedness": "how an agent acts on what the user reports",
    "goal_deviation": "whether an agent sees a task through to its end",
    "missed_information": "tasks in which the user must answer or act",
}
Kind = Literal["use", "avoid", "unknown"]


@dataclass(frozen=True, slots=True)
class Advice:
    """One piece of advice: `text` goes on from the words of its kind."""

    kind: Kind
    text: str

    @property
    def lead(self) -> str:
        """The words that the text goes on from."""
        return {"use": "Use it", "avoid": "Do not use it", "unknown": "Not settled"}[self.kind]


def advice(analysis: FidelityAnalysis, score: ProxyScore) -> tuple[Advice, ...]:
    """Return what the proxy may be used for and what not, the overall answer first."""
    found = [_overall(analysis, score)]
    if found[0].kind != "unknown" or decided(score, analysis.decision.question.basis).value is not None:
        found += [*_domains(analysis, score), *_dominated(analysis, score), *_families(analysis, score)]
    return tuple(sorted(found, key=lambda own: ("use", "avoid", "unknown").index(own.kind)))


def _overall(analysis: FidelityAnalysis, score: ProxyScore) -> Advice:
    question = analysis.decision.question
    estimate, q = decided(score, question.basis), threshold(question.q)
    if estimate.value is None:
        return Advice("unknown", f"nothing can be said: {estimate.reason}, {size(estimate.n)}.")
    text, interval = said(estimate), estimate.interval
    if interval is not None and interval.low >= question.q:
        return Advice("use", f"for runs that need UFS ≥ {q}: {text}.")
    if interval is not None and interval.high < question.q:
        return Advice("avoid", f"where UFS ≥ {q} is needed: {text}.")
    side = "reaches" if estimate.value >= question.q else "is below"
    also = ", and the interval holds it" if interval is not None else ""
    return Advice("unknown", f"whether UFS ≥ {q}: the value {side} it{also}, {text}.")


def _domains(analysis: FidelityAnalysis, score: ProxyScore) -> list[Advice]:
    q = analysis.decision.question.q
    low = [
        (estimate.value, domain, estimate)
        for domain, estimate in score.by_domain.items()
        if estimate.value is not None and estimate.high is not None and estimate.high < q
    ]
    if not low:
        return []
    low.sort(key=lambda found: (found[0], found[1]))
    parts = [f"{phrase(domain)} {share(value)} {limits(own)}, {size(own.n)}" for value, domain, own in low]
    more = f"; and {counted(len(parts) - DOMAINS_NAMED, 'more domain')}" if len(parts) > DOMAINS_NAMED else ""
    return [Advice("avoid", f"where UFS ≥ {threshold(q)} is needed in: {'; '.join(parts[:3])}{more}.")]


def _dominated(analysis: FidelityAnalysis, score: ProxyScore) -> list[Advice]:
    frontier = used_frontier(analysis)
    rivals = frontier.dominated_by.get(score.proxy, ()) if score.proxy in frontier.strictly_dominated else ()
    if not rivals:
        return []
    more = f" (and {len(rivals) - 1} more)" if len(rivals) > 1 else ""
    return [
        Advice(
            "avoid", f"where cost and fidelity decide: {named(rivals[0], 40)}{more} is both cheaper and more faithful."
        )
    ]


def _families(analysis: FidelityAnalysis, score: ProxyScore) -> list[Advice]:
    found = []
    for count in score.families:
        if count.mode is not None:
            continue
        limit = family_limits(count, score.counts.scored, analysis.decision.question.level)
        if isinstance(limit, Undefined):
            continue
        purpose = _TESTS.get(count.family, f"what {phrase(count.family)} would spoil")
        counts = (
            f"{phrase(count.family)} in {count.episodes:,} of {counted(score.counts.scored, 'episode')} "
            f"[{share(limit.low)},\u00a0{share(limit.high)}]"
        )
        if limit.low > OFTEN:
            found.append(Advice("avoid", f"to test {purpose}: {counts}."))
        elif limit.high < RARE:
            found.append(Advice("use", f"to test {purpose}: {counts}."))
    return found


def family_limits(count: FamilyCount, scored: int, level: float) -> Interval | Undefined:
    """Return Wilson's interval of the share of scored episodes in which a family failed."""
    from calibrate.stats.intervals import wilson

    return wilson(min(count.episodes, scored), scored, level)


def level_words(analysis: FidelityAnalysis) -> str:
    """Return the level of the intervals in words."""
    return f"{percent(analysis.decision.question.level)} intervals"
