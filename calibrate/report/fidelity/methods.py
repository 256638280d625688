"""The methods paragraph, filled with the figures of this analysis: unit of resampling, seed, n, intervals, versions."""

from __future__ import annotations

import platform
from collections.abc import Iterable

from calibrate.estimate import Estimate, installed_version
from calibrate.fidelity.results import FidelityAnalysis
from calibrate.report.fidelity.amounts import audit_words, basis_words, percent, scored, sentence, threshold
from calibrate.report.fidelity.families import FEWEST_A_SIDE
from calibrate.report.fidelity.references import in_words
from calibrate.report.wording import counted, listed


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
    lost = sum(score.counts.undefined for score in analysis.proxies)
    errors = sum(score.counts.infra_errors for score in analysis.proxies)
    unscored = sum(score.counts.unscored for score in analysis.proxies)
    doubled = sum(score.counts.duplicates for score in analysis.proxies)
    rules = "" if rubric is None else f" The rubric set is {rubric}."
    return (
        r"The User Fidelity Score \cite{userproxybench}, first asked of the τ-bench family "
        r"\cite{yao2025tau,barres2025tau2}, is the share of scored episodes in which a simulated user kept every "
        "criterion that applied to it; it measures adherence to the user's instructions, not likeness to people. "
        f"We scored {counted(scored(analysis), 'episode')} of {counted(len(analysis.proxies), 'proxy', 'proxies')} on "
        f"{counted(analysis.tasks, 'task')} in {counted(len(analysis.domains), 'domain')}. Episodes without an "
        f"applicable criterion ({lost:,}), with a missing verdict that decides ({unscored:,}) and with an "
        f"infrastructure error ({errors:,}) are left out and counted; repeated episodes ({doubled:,}) are counted "
        f"once.{rules} "
        f"{sentence('The verdicts are ' + audit_words(analysis))} Two means are reported; decisions use the "
        f"{basis_words(analysis.decision.question.basis)}."
    )


def _decision(analysis: FidelityAnalysis) -> str:
    question = analysis.decision.question
    unit = (
        "tasks within domains, paired across proxies" if analysis.paired else "episodes by proxy and domain, unpaired"
    )
    how = listed(_methods(_scores(analysis)), 6) or "none"
    shares = listed(_methods(e for score in analysis.proxies for e in score.by_domain.values()), 6) or "none"
    return (
        f"The chosen proxy is the cheapest with UFS ≥ {threshold(question.q)} (ties: larger UFS, then name); proxies "
        "of unknown cost take no part. A proxy is strictly dominated where another is both cheaper and more faithful. "
        f"Support is the share of {question.resamples:,} bootstrap resamples \\cite{{efron1979}} of {unit}, in which a "
        "statement holds, smoothed by one added task of fidelity one half and half an episode of uniform noise; it is "
        f"not a probability that the statement is true. Intervals are {percent(question.level)} "
        f"intervals; of the mean UFS by: {how}; of UFS by domain by: {shares}."
        + (r" Wilson's interval is from \cite{wilson1927}." if "ilson" in f"{how} {shares}" else "")
        + " The assured choice is the cheapest proxy whose simultaneous (max-t) lower bound reaches the limit."
    )


def _comparisons(analysis: FidelityAnalysis) -> str:
    parts = []
    if analysis.differences:
        how = listed(_methods(pair.estimate for pair in analysis.differences), 4) or "no stated method"
        pairs = counted(len(analysis.differences), "pair")
        text = f"Differences of UFS ({pairs}) by: {how}; p values are adjusted over all pairs \\cite{{holm1979}}."
        parts.append(text + (r" Newcombe's interval is from \cite{newcombe1998}." if "ewcombe" in how else ""))
        if "Agresti and Min" in how:
            parts.append(r"The added half tasks are those of \cite{agresti2005}.")
    if analysis.effects:
        within = listed(_methods(effect.within_task for effect in analysis.effects), 4) or "no stated method"
        parts.append(
            "Reward with a failure family minus without is a difference of risks by task across proxies "
            rf"\cite{{mantel1959,greenland1985}} (by: {within}), and, as in the original, a mean over cells (proxy and "
            f"domain) with at least {FEWEST_A_SIDE} episodes on both sides; both are associations."
            + (r" Sato's variance is from \cite{sato1989}." if "Sato" in within else "")
        )
    if analysis.reinforced:
        parts.append("Calls and questions of the agent are compared on successful episodes only, within each proxy.")
    return " ".join(parts)


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
