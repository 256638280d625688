"""The first screen: which proxy is the cheapest that is faithful enough, or why none is; and what that rests on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from calibrate.fidelity.results import Basis, FidelityAnalysis, ProxyScore
from calibrate.report.document import Card
from calibrate.report.fidelity.amounts import (
    NO_BREAK,
    basis_words,
    by_name,
    checked,
    clause,
    cost_said,
    decided,
    limits,
    money,
    named,
    percent,
    phrase,
    rater_names,
    said,
    scored,
    sentence,
    share,
    size,
    threshold,
)
from calibrate.report.fidelity.families import family_rows
from calibrate.report.fidelity.frontier import used_frontier
from calibrate.report.wording import counted, listed

_IN_BRACKETS = re.compile(r"\s*\((?:the one-sided|every simultaneous|its simultaneous)[^()]*\)")

NOT_AUDITED = (
    "Judge-only: no person has checked the judge{names}. Its errors multiply over the criteria of an episode, so the "
    "UFS of every proxy may be off in the same direction, or in different ones."
)
BY_PEOPLE = (
    "Judged by people{names}. One person's errors multiply over the criteria of an episode too; how large they are "
    "only a second person's verdicts on the same episodes would show."
)
AUDITED = "People have checked a sample of the judge's verdicts; the UFS is corrected by what they found."
AUDITED_BY = " The verdicts are by {names}."
NOT_SCORED = "No episode has been scored yet: nothing can be said of fidelity, only of rewards, costs and turns."
TOTALS_ONLY = (
    "Only totals by proxy and domain are known: resamples are drawn for each proxy and domain on its own, not paired "
    "by task, and nothing can be said of failure families or turns."
)


def audit_notice(analysis: FidelityAnalysis) -> str:
    """Return who judged, whether people checked that, and what their errors do."""
    raters = rater_names(analysis)
    if analysis.by_people:
        return BY_PEOPLE.format(names=f" ({raters})" if raters else "")
    if analysis.audited:
        return AUDITED + (AUDITED_BY.format(names=raters) if raters else "")
    return NOT_AUDITED.format(names=f" (verdicts by {raters})" if raters else "")


def verdict(analysis: FidelityAnalysis) -> tuple[str, ...]:
    """Return the answer in sentences: the choice, how well it is supported, and whether anybody checked the judge."""
    decision, question = analysis.decision, analysis.decision.question
    scores = by_name(analysis)
    q, lead = threshold(question.q), "" if checked(analysis) or not scored(analysis) else "Judge-only: "
    if not scores:
        return ("There are no proxies to compare yet, so nothing can be said.",)
    if decision.chosen is None or decision.chosen not in scores:
        first = f"{lead}no proxy is chosen at UFS ≥ {q}: {not_chosen(analysis)}"
    else:
        chosen = scores[decision.chosen]
        first = (
            f"{lead}{named(chosen.proxy)} is the cheapest proxy that reaches UFS ≥ {q}: "
            f"{said(decided(chosen, question.basis))}, at {cost_said(chosen.cost, ' a conversation')}"
        )
    sentences = [sentence(first), _assured(analysis), settled_words(analysis, brief=True)]
    return tuple(text for text in sentences if text)


def not_chosen(analysis: FidelityAnalysis) -> str:
    """Return why no proxy is chosen, with the most faithful one, or those that tie for it, named once."""
    decision, basis = analysis.decision, analysis.decision.question.basis
    reason = clause(decision.chosen_reason)
    if reason.startswith("none reaches"):
        excluded = used_frontier(analysis).excluded
        able = [score for score in analysis.proxies if score.proxy not in excluded and score.cost.usd is not None]
        best, rest = _tied(able, basis), reason.partition("; ")[2]
        more = f"; {rest}" if "cannot be chosen" in rest else ""
        q = threshold(decision.question.q)
        return f"none reaches {q}: {_best_words(best, basis)}{more}" if best else reason
    best = _tied(analysis.proxies, basis)
    return f"{reason}; {_best_words(best, basis)}" if best else reason


def _tied(scores: Sequence[ProxyScore], basis: Basis) -> list[ProxyScore]:
    """Return the proxies with the largest UFS, more than one where they tie."""
    known = [(decided(score, basis).value, score) for score in scores]
    top = max((value for value, _ in known if value is not None), default=None)
    return [score for value, score in known if top is not None and value is not None and value >= top - 1e-12]


def _best_words(best: Sequence[ProxyScore], basis: Basis) -> str:
    names = listed([named(score.proxy, 40) for score in best], 4)
    value = said(decided(best[0], basis))
    if len(best) > 1:
        return f"{names} tie for the most faithful: {value}"
    return f"the most faithful, {names}, has {value}"


def most_faithful(analysis: FidelityAnalysis) -> ProxyScore | None:
    """Return the proxy with the largest UFS, None where none has one."""
    basis = analysis.decision.question.basis
    return next(iter(_tied(analysis.proxies, basis)), None)


def _assured(analysis: FidelityAnalysis) -> str:
    decision = analysis.decision
    if decision.assured is None:
        return sentence(f"Assured choice: none ({clause(decision.assured_reason)})")
    score = by_name(analysis).get(decision.assured)
    bound = "" if score is None or score.lower is None else f", simultaneous lower bound {share(score.lower)}"
    counts = "" if score is None else f", {size(decided(score, decision.question.basis).n)}"
    return sentence(f"Assured choice: {named(decision.assured)}{bound}{counts} ({clause(decision.assured_reason)})")


def settled_words(analysis: FidelityAnalysis, *, brief: bool = False) -> str:
    """Return whether the tasks settle on which side of q the answer lies, and how many would.

    `brief` leaves out what the reason holds in round brackets.
    """
    decision, question = analysis.decision, analysis.decision.question
    reason = clause(decision.needed_reason)
    reason = _IN_BRACKETS.sub("", reason) if brief else reason
    reason = reason.replace("n = ", f"n{NO_BREAK}={NO_BREAK}")
    if decision.settled:
        return sentence(reason if reason.startswith("settled") else f"settled: {reason or 'one side of q'}")
    if reason.startswith("as far as"):
        text = sentence(reason)
    else:
        text = sentence(f"Not settled: {reason}" if reason else "Not settled")
    if question.margin > 0 and decision.margin_support is not None:
        enough = threshold(question.q - question.margin)
        text += (
            f" With the margin {threshold(question.margin)} (at least {enough}) the support is "
            f"{share(decision.margin_support, 2)} of {question.resamples:,} resampled task sets."
        )
    return text


def cards(analysis: FidelityAnalysis) -> tuple[Card, ...]:
    """Return the cards: choice, most faithful proxy, what the proxy does to the reward, and the worst habit."""
    if not analysis.proxies:
        return ()
    found = [_choice(analysis), _best(analysis), _benchmark(analysis), _habit(analysis)]
    return tuple(card for card in found if card is not None)


def _choice(analysis: FidelityAnalysis) -> Card:
    decision, question = analysis.decision, analysis.decision.question
    label = f"Cheapest at UFS ≥ {threshold(question.q)}, {basis_words(question.basis)}"
    cannot = "How new domains go." if checked(analysis) else "Whether the judge is right: nobody has checked it."
    chosen = by_name(analysis).get(decision.chosen) if decision.chosen is not None else None
    if chosen is None:
        return Card(label, "No proxy", sentence(not_chosen(analysis)), cannot)
    estimate = decided(chosen, question.basis)
    text = (
        f"UFS {said(estimate)}; {cost_said(chosen.cost, ' a conversation')}"
        f"{_epoch(analysis, chosen)}. {support_words(analysis, chosen)}"
    )
    return Card(label, named(chosen.proxy), text.strip(), cannot)


def _epoch(analysis: FidelityAnalysis, score: ProxyScore) -> str:
    question = analysis.decision.question
    if score.cost.epoch_usd is None or question.rollouts is None or question.prompts is None:
        return ""
    return f", {money(score.cost.epoch_usd)} for {question.rollouts * question.prompts:,} conversations"


def support_words(analysis: FidelityAnalysis, score: ProxyScore) -> str:
    """Return in how many resampled task sets the proxy meets q and is chosen."""
    question, support = analysis.decision.question, score.support
    parts = []
    if support.meets is not None:
        parts.append(f"meets {threshold(question.q)} in {share(support.meets, 2)}")
    if support.chosen is not None:
        parts.append(f"is chosen in {share(support.chosen, 2)}")
    if support.frontier is not None:
        parts.append(f"is on the frontier in {share(support.frontier, 2)}")
    if not parts:
        return ""
    mark = "" if checked(analysis) else " (unaudited)"
    return f"It {', '.join(parts)} of {question.resamples:,} resampled task sets{mark}."


def _best(analysis: FidelityAnalysis) -> Card | None:
    basis = analysis.decision.question.basis
    best = most_faithful(analysis)
    if best is None:
        return Card("Most faithful", "No proxy", "No proxy has a UFS.", "Anything about fidelity.")
    estimate = decided(best, basis)
    price = "its cost is unknown" if best.cost.usd is None else cost_said(best.cost, " a conversation")
    tied = _tied(analysis.proxies, basis)[1:]
    also = f" (tied with {listed([named(score.proxy, 40) for score in tied], 3)})" if tied else ""
    return Card(
        f"Most faithful, {basis_words(basis)}",
        f"{share(estimate.value or 0.0)} {limits(estimate)}".strip(),
        f"{named(best.proxy)}{also}, {size(estimate.n)} episodes; {price}. "
        f"In brackets: {percent(estimate.level)} interval.",
        "How much it is like a person: UFS measures whether a proxy kept to its own instructions.",
    )


def _benchmark(analysis: FidelityAnalysis) -> Card | None:
    spread = analysis.reward_spread
    if spread.value is None:
        return None
    means = [(score.reward.value, score.proxy) for score in analysis.proxies if score.reward.value is not None]
    if len(means) < 2:
        return None
    low, high = min(means), max(means)
    return Card(
        "Reward between proxies",
        f"{share(spread.value)} {limits(spread)}".strip(),
        f"Largest minus smallest mean reward, from {share(low[0])} ({named(low[1])}) to {share(high[0])} "
        f"({named(high[1])}), over {counted(len(means), 'proxy', 'proxies')}, {size(spread.n)}.",
        "Which of the rewards is right, and whether the agent was the same in all episodes.",
    )


def _habit(analysis: FidelityAnalysis) -> Card | None:
    rows = [row for row in family_rows(analysis) if row.episodes]
    if not rows:
        return None
    worst = rows[0]
    seen = ""
    if worst.mean is not None:
        seen = f" Reward with it minus without, mean over {counted(len(worst.cells), 'cell')}: {said(worst.mean)}."
    return Card(
        "Worst habit",
        phrase(worst.family).capitalize(),
        f"{counted(worst.episodes, 'failing episode')}, {size(scored(analysis))} scored episodes of all proxies.{seen}",
        "Whether the reward would have shown it: the tasks with and without the failure differ.",
    )
