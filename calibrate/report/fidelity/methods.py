"""The methods paragraph, filled with the figures of this analysis: unit of resampling, seed, n, intervals, versions."""

from __future__ import annotations

import platform
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from calibrate.estimate import Estimate, installed_version
from calibrate.fidelity.results import FidelityAnalysis
from calibrate.report.fidelity.amounts import (
    basis_words,
    clause,
    left_without_ufs,
    percent,
    rater_names,
    scored,
    sentence,
    threshold,
)
from calibrate.report.fidelity.families import FEWEST_A_SIDE
from calibrate.report.fidelity.references import in_words
from calibrate.report.wording import counted, listed

_COST_SOURCES = {
    "billed": "billed costs",
    "list": "list prices",
    "self_hosted": "costs of own servers",
    "estimated": "estimates",
    "unknown": "no known cost",
}


def methods_texts(analysis: FidelityAnalysis, *, rubric: str | None = None) -> list[str]:
    """Return the paragraphs with authors and years in brackets, for the page."""
    return [in_words(text) for text in methods_source(analysis, rubric=rubric)]


def methods_source(analysis: FidelityAnalysis, *, rubric: str | None = None) -> list[str]:
    r"""Return the paragraphs with `\cite{…}`, of which each key stands in the bibliography."""
    texts = [_score(analysis, rubric), _decision(analysis)]
    if analysis.differences or analysis.effects or analysis.reinforced:
        texts.append(_comparisons(analysis))
    texts.append(_repeat(analysis))
    return texts


def _score(analysis: FidelityAnalysis, rubric: str | None) -> str:
    rules = "" if rubric is None else f" The rubric set is {rubric}."
    tasks = f"{counted(analysis.tasks, 'task')} in {counted(len(analysis.domains), 'domain')}"
    episodes = f"{counted(scored(analysis), 'scored episode')} of {counted(len(analysis.proxies), 'proxy', 'proxies')}"
    given = f"{_kept(analysis, episodes, tasks)}{rules} {_judged(analysis)}{_agents(analysis)}"
    return (
        r"The User Fidelity Score \cite{userproxybench}, first asked of the τ-bench family "
        r"\cite{yao2025tau,barres2025tau2}, is the share of scored episodes in which a simulated user kept every "
        "criterion that applied to it; it measures adherence to the user's instructions, not likeness to people. "
        f"{given} Two means are reported, over domains and over episodes; decisions use the "
        f"{basis_words(analysis.decision.question.basis)}."
    )


def _kept(analysis: FidelityAnalysis, episodes: str, tasks: str) -> str:
    """Return how many episodes count and what became of the others, as far as it is known."""
    if not analysis.paired:
        lost = sum(left_without_ufs(score) for score in analysis.proxies)
        have = "has" if lost == 1 else "have"
        more = f" {counted(lost, 'further episode')} {have} a reward and no score." if lost else ""
        return (
            f"The table of results gives {episodes} on {tasks}.{more} It does not tell which episodes were undefined, "
            "not scored, broken off by an infrastructure error or repeated."
        )
    told = [score.counts for score in analysis.proxies]
    out = {
        "without an applicable criterion": sum(own.undefined for own in told),
        "with a missing verdict that decides": sum(own.unscored for own in told),
        "with an infrastructure error": sum(own.infra_errors for own in told),
        "that cannot be scored": sum(own.not_scorable for own in told),
    }
    parts = [f"{why} ({count:,})" for why, count in out.items() if count]
    left = f" Left out of the score are episodes {listed(parts)}." if parts else ""
    doubled = sum(own.duplicates for own in told)
    twice = f" {counted(doubled, 'repeated episode')} counted once." if doubled else ""
    return f"There are {episodes} on {tasks}.{left}{twice}"


def _judged(analysis: FidelityAnalysis) -> str:
    raters = rater_names(analysis)
    by = f", by {raters}" if raters else ""
    if analysis.by_people:
        return f"All verdicts were given by people{by}."
    if analysis.audited:
        return f"The verdicts are a judge's{by}; people have checked a sample of them."
    return f"The verdicts are a judge's{by}; no person has checked them."


def _agents(analysis: FidelityAnalysis) -> str:
    told = [note for note in analysis.notes if note.startswith("the agent")]
    return "".join(f" {sentence(clause(note))}" for note in told)


def _decision(analysis: FidelityAnalysis) -> str:
    question = analysis.decision.question
    unit = (
        "tasks within domains, paired across proxies" if analysis.paired else "episodes by proxy and domain, unpaired"
    )
    return (
        f"The chosen proxy is the cheapest with UFS ≥ {threshold(question.q)} (ties: larger UFS, then name); proxies "
        f"of unknown cost take no part. {_costs(analysis)}A proxy is strictly dominated where another is both cheaper "
        f"and more faithful. Support is the share of {question.resamples:,} bootstrap resamples \\cite{{efron1979}} of "
        f"{unit}, in which a statement holds, smoothed by one added task of fidelity one half and half an episode of "
        f"uniform noise; it is not a probability that the statement is true. {_intervals(analysis)} The assured choice "
        "is the cheapest proxy whose simultaneous (max-t) lower bound reaches the limit."
    )


def _costs(analysis: FidelityAnalysis) -> str:
    """Return where the costs come from, with a space at the end."""
    found = Counter(score.cost.basis for score in analysis.proxies)
    parts = [f"{_COST_SOURCES[basis]} for {counted(n, 'proxy', 'proxies')}" for basis, n in found.items()]
    return f"Costs are those of the user side per conversation: {listed(parts)}. " if parts else ""


def _intervals(analysis: FidelityAnalysis) -> str:
    level = percent(analysis.decision.question.level)
    means = _methods(_scores(analysis))
    shares = _methods(e for score in analysis.proxies for e in score.by_domain.values())
    texts = []
    for what, methods in (("the mean UFS", means), ("UFS by domain", shares)):
        words = list(dict.fromkeys(_interval_words(method) for method in methods))
        texts += [f"{what} are {listed(words)}"] if words else []
    if not texts:
        return f"No {level} interval can be given."
    cite = r" \cite{wilson1927}" if "Wilson" in " ".join(texts) else ""
    return f"The {level} intervals of {'; those of '.join(texts)}{cite}."


def _interval_words(method: str) -> str:
    if not method.startswith("Wilson"):
        return f"by {method.replace('; ', ', ')}"
    words = "Wilson's"
    if "effective n" in method:
        words += " at the effective number of episodes" + (", with tasks as clusters" if "by task" in method else "")
    return words


def _comparisons(analysis: FidelityAnalysis) -> str:
    parts = [_pairs(analysis)] if analysis.differences else []
    if analysis.effects:
        within = " ".join(_methods(effect.within_task for effect in analysis.effects))
        limits = r", with score limits on the larger of Sato's variance \cite{sato1989} and the sandwich by task"
        parts.append(
            "Reward with a failure family minus without is the Mantel–Haenszel difference of risks of full reward by "
            rf"task across proxies \cite{{mantel1959,greenland1985}}{limits if 'Sato' in within else ''}; and, as in "
            f"the original, a mean over cells (proxy and domain) with at least {FEWEST_A_SIDE} episodes on both sides. "
            "Both are associations."
        )
    if analysis.reinforced:
        parts.append("Calls and questions of the agent are compared on successful episodes only, within each proxy.")
    return " ".join(parts)


def _pairs(analysis: FidelityAnalysis) -> str:
    """Return how differences of UFS got their intervals and p values."""
    how = _methods(pair.estimate for pair in analysis.differences)
    joined, tests = " ".join(how), _tests(how)
    text = f"Differences of UFS ({counted(len(analysis.differences), 'pair')}) are "
    text += "paired by task" if analysis.paired else "not paired"
    if "Agresti and Min" in joined:
        text += r"; their limits add half a task to each cell of a domain's table of two by two \cite{agresti2005}"
    elif "ewcombe" in joined:
        text += r"; their limits are Newcombe's \cite{newcombe1998}, from the limits of both proxies"
    text += f"; p values are those of {listed(tests)}" if tests else ""
    return rf"{text}, adjusted by Holm's method over all pairs \cite{{holm1979}}."


def _tests(methods: Sequence[str]) -> list[str]:
    found = []
    for method in methods:
        test = method.rpartition("p: ")[2] if "p: " in method else ""
        draws = re.search(r"(\d+) draws", test)
        if "McNemar" in test:
            found.append("McNemar's exact test")
        elif draws:
            found.append(f"a sign-flip permutation test by task ({int(draws[1]):,} draws)")
        elif "sign-flip" in test:
            found.append("an exact sign-flip permutation test by task")
        elif "z test" in method:
            found.append("z tests")
    return list(dict.fromkeys(found))


def _repeat(analysis: FidelityAnalysis) -> str:
    question = analysis.decision.question
    return (
        f"Computed with UserCal {installed_version()} and Python {platform.python_version()}, seed {question.seed}, "
        f"{question.resamples:,} resamples; ufs.json holds every estimate with its method, target, n and seed."
    )


def _scores(analysis: FidelityAnalysis) -> Iterable[Estimate]:
    basis = analysis.decision.question.basis
    return (score.ufs if basis == "domains" else score.pooled for score in analysis.proxies)


def _methods(estimates: Iterable[Estimate]) -> list[str]:
    return list(dict.fromkeys(e.method for e in estimates if e.method is not None and e.value is not None))
