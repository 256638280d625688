"""The first screen: which proxy is the cheapest that is faithful enough, or why none is; and what that rests on."""

from __future__ import annotations

import re

from calibrate.fidelity.results import FidelityAnalysis, ProxyScore
from calibrate.report.document import Card
from calibrate.report.fidelity.amounts import (
    basis_words,
    by_name,
    clause,
    cost_said,
    decided,
    limits,
    money,
    named,
    percent,
    phrase,
    said,
    scored,
    sentence,
    share,
    size,
    threshold,
)
from calibrate.report.fidelity.families import family_rows

NOT_AUDITED = (
    "Judge-only: no person has checked the judge. Its errors multiply over the criteria of an episode, so the UFS of "
    "every proxy may be off in the same direction, or in different ones."
)
AUDITED = "People have checked a sample of the judge's verdicts; the UFS is corrected by what they found."
NOT_SCORED = "No episode has been scored yet: nothing can be said of fidelity, only of rewards, costs and turns."
TOTALS_ONLY = (
    "Only totals by proxy and domain are known: resamples are drawn for each proxy and domain on its own, not paired "
    "by task, and nothing can be said of failure families or turns."
)


def verdict(analysis: FidelityAnalysis) -> tuple[str, ...]:
    """Return the answer in sentences: the choice, how well it is supported, and whether anybody checked the judge."""
    decision, question = analysis.decision, analysis.decision.question
    scores = by_name(analysis)
    q, lead = threshold(question.q), "" if analysis.audited or not scored(analysis) else "Judge-only: "
    if not scores:
        return ("There are no proxies to compare yet, so nothing can be said.",)
    if decision.chosen is None or decision.chosen not in scores:
        first = f"{lead}no proxy is chosen at UFS ≥ {q}: {clause(decision.chosen_reason)}{_nearest(analysis)}"
    else:
        chosen = scores[decision.chosen]
        first = (
            f"{lead}{named(chosen.proxy)} is the cheapest proxy that reaches UFS ≥ {q}: "
            f"{said(decided(chosen, question.basis))}, at {cost_said(chosen.cost, ' a conversation')}"
        )
    sentences = [sentence(first), _assured(analysis), settled_words(analysis, brief=True)]
    return tuple(text for text in sentences if text)


def _nearest(analysis: FidelityAnalysis) -> str:
    """Return the most faithful proxy with its n, after a semicolon; nothing where none has a UFS."""
    best = most_faithful(analysis)
    if best is None:
        return ""
    return f"; the most faithful is {named(best.proxy)}, {said(decided(best, analysis.decision.question.basis))}"


def most_faithful(analysis: FidelityAnalysis) -> ProxyScore | None:
    """Return the proxy with the largest UFS, None where none has one."""
    basis = analysis.decision.question.basis
    known = [score for score in analysis.proxies if decided(score, basis).value is not None]
    return max(known, key=lambda score: decided(score, basis).value or 0.0) if known else None


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
    reason = re.sub(r"\s*\([^()]*\)", "", reason) if brief else reason
    if decision.settled:
        return sentence(reason if reason.startswith("settled") else f"settled: {reason or 'one side of q'}")
    there = f"; {size(analysis.tasks)} tasks now"
    text = sentence(f"Not settled: {reason}{there}" if reason else "Not settled")
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
    cannot = "Whether the judge is right: nobody has checked it." if not analysis.audited else "How new domains go."
    chosen = by_name(analysis).get(decision.chosen) if decision.chosen is not None else None
    if chosen is None:
        return Card(label, "No proxy", sentence(clause(decision.chosen_reason)), cannot)
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
    mark = "" if analysis.audited else " (unaudited)"
    return f"It {', '.join(parts)} of {question.resamples:,} resampled task sets{mark}."


def _best(analysis: FidelityAnalysis) -> Card | None:
    basis = analysis.decision.question.basis
    best = most_faithful(analysis)
    if best is None:
        return Card("Most faithful", "No proxy", "No proxy has a UFS.", "Anything about fidelity.")
    estimate = decided(best, basis)
    price = "its cost is unknown" if best.cost.usd is None else cost_said(best.cost, " a conversation")
    return Card(
        f"Most faithful, {basis_words(basis)}",
        f"{share(estimate.value or 0.0)} {limits(estimate)}".strip(),
        f"{named(best.proxy)}, {size(estimate.n)} episodes; {price}. In brackets: {percent(estimate.level)} interval.",
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
        f"({named(high[1])}), over {len(means)} proxies, {size(spread.n)}.",
        "Which of the rewards is right, and whether the agent was the same in all episodes.",
    )


def _habit(analysis: FidelityAnalysis) -> Card | None:
    rows = [row for row in family_rows(analysis) if row.episodes]
    if not rows:
        return None
    worst = rows[0]
    seen = ""
    if worst.mean is not None:
        seen = f" Reward with it minus without, mean over {len(worst.cells):,} cells: {said(worst.mean)}."
    return Card(
        "Worst habit",
        phrase(worst.family).capitalize(),
        f"{worst.episodes:,} failing episodes, {size(scored(analysis))} scored episodes of all proxies.{seen}",
        "Whether the reward would have shown it: the tasks with and without the failure differ.",
    )
