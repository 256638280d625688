"""Sentences made from intervals: they claim what the interval claims, and say so where it claims nothing."""

from __future__ import annotations

from dataclasses import dataclass

from calibrate.estimate import Estimate
from calibrate.report.aligning import Predictor, TaskAlignment
from calibrate.report.behaviour import gives_away
from calibrate.report.context import SHORT_EXERCISE
from calibrate.report.realism import TaskRealism, Told
from calibrate.report.wording import capital, counted, write

LITTLE = 0.3  # an interval wholly within ± this much is no sizeable relation
VAGUE = 0.5  # an interval wider than this says that there is a relation, not how close


@dataclass(frozen=True, slots=True)
class Finding:
    """What an interval says: in a few words, and as a claim with what follows after its number."""

    brief: str
    claim: str
    tail: str = ""

    @property
    def sentence(self) -> str:
        """The claim without its number."""
        return f"{capital(self.claim)}{self.tail}."

    def with_number(self, place: str, number: str) -> str:
        """The claim about a place with its number in brackets."""
        return f"{capital(place)}: {self.claim} ({number}){self.tail}."


def alignment_finding(estimate: Estimate, subject: str) -> Finding:
    """Say what an alignment shows about `subject` ("ratings of twins"), by its interval alone."""
    interval = estimate.interval
    if estimate.value is None:
        return Finding(f"cannot be computed: {estimate.reason}", "alignment cannot be computed", f": {estimate.reason}")
    if interval is None:
        brief, claim = "no interval: we cannot tell", f"nothing can be claimed about {subject}"
        return Finding(brief, claim, f": there is no interval, {estimate.interval_reason}")
    if interval.low <= 0 <= interval.high:
        if max(-interval.low, interval.high) <= LITTLE:
            return Finding("little or no relation", f"{subject} have little or no relation to people's ratings")
        few = f"{counted(estimate.n, 'conversation')} {'is' if estimate.n == 1 else 'are'} too few"
        return Finding("too few: we cannot tell", f"{few} to tell whether {subject} move with people's ratings")
    if interval.high < 0:
        return Finding("moves against people's ratings", f"{subject} move against people's ratings")
    tail = "; how closely is open" if interval.high - interval.low > VAGUE else ""
    return Finding(f"moves with people's ratings{tail}", f"{subject} move with people's ratings", tail)


def turing_finding(told: Told, tell: str, margin: float) -> Finding:
    """Say what a judge could tell; `tell` names what differs most, `margin` is in points."""
    estimate, interval = told.right, told.right.interval
    if estimate.value is None:
        brief = f"cannot be computed: {estimate.reason}"
        return Finding(brief, "how often the judge is right cannot be computed", f": {estimate.reason}")
    if interval is None:
        claim = "nothing can be claimed about what the judge can tell"
        return Finding("no interval: we cannot tell", claim, f": there is no interval, {estimate.interval_reason}")
    # With a handful of pairs the interval and the exact test can disagree: a claim needs both.
    settled = estimate.p_value is None or estimate.p_value < 1 - estimate.level
    if interval.low > 50 and settled:
        tail = f"; what gives it away: {tell}" if tell else ""
        return Finding(f"the judge can tell{tail}", "the judge can tell twins from people", tail)
    differs = f"; twins differ in {tell}" if tell else ""
    if interval.high < 50 and settled:
        brief = "the judge takes the twin for the person"
        return Finding(brief, "the judge takes twins for the people more often than guessing would", differs)
    if told.result.equivalent:
        brief = f"within {margin:g} points of guessing"
        return Finding(brief, f"the judge cannot tell twins from people, within {margin:g} points of guessing")
    few = f"{counted(estimate.n, 'pair')} {'is' if estimate.n == 1 else 'are'} too few"
    claim = f"{few} to tell whether the judge can tell twins from people"
    return Finding(f"too few: we cannot tell{differs}", claim, differs)


def realism_finding(part: TaskRealism, told: Told) -> Finding:
    """Return what a judge could tell, and what differs most between twins and people."""
    tell = gives_away(part.context, part.task, told.strategy)
    return turing_finding(told, tell, part.context.config.report.equivalence_margin_points)


def subject_of(predictor: Predictor, *, full: bool = True) -> str:
    """Return what a predictor's ratings are called in a sentence; `full` says whose they are."""
    if predictor.kind == "baseline":
        return "plain word counts of the assistant's messages"
    if predictor.kind == "judge":
        return f"{predictor.judge}'s ratings of people's own conversations"
    return f"ratings of twins ({predictor.strategy}, by {predictor.judge})" if full else "ratings of twins"


def alignment_sentence(part: TaskAlignment, place: str, *, qualify: bool) -> str:
    """Return the verdict on one scale of a task, with its number; `qualify` marks a pipeline exercise."""
    shown = part.shown
    found = alignment_finding(shown.main, subject_of(shown, full=False))
    return _qualified(found.with_number(place, _number(shown.main)), exercise=qualify and shown.exercise)


def realism_sentence(part: TaskRealism, place: str, *, qualify: bool) -> str:
    """Return the verdict on the realism of a task's twins, likewise; empty where no pair was judged."""
    told = part.shown
    if told is None:
        return ""
    found = realism_finding(part, told)
    return _qualified(found.with_number(place, _number(told.right, "right")), exercise=qualify and told.exercise)


def _number(estimate: Estimate, suffix: str = "") -> str:
    parts = write(estimate)
    head = " ".join(p for p in (parts.symbol, parts.value, suffix if parts.value else "", parts.interval) if p)
    return f"{head}, n = {estimate.n:,}" if parts.value else f"n = {estimate.n:,}"


def _qualified(sentence: str, *, exercise: bool) -> str:
    return f"{sentence} {SHORT_EXERCISE}." if exercise else sentence
