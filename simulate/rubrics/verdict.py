"""What a judge's reply says of one criterion: a verdict that the reply holds, its evidence checked, and what looks odd.

A reply that does not hold exactly one verdict is missing, never a pass or a fail. A verdict whose quote does not stand
in the turn it names, or whose reason says the opposite, is kept and flagged: flagged verdicts are audited first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from annotate.rubrics.grounding import normalised
from annotate.schema import Conversation, Criterion, Evidence, Missing
from simulate.asking import object_schema
from simulate.llm.structured import Unparsable, parse
from simulate.rubrics.trajectory import evidence_of

VERDICTS = ("pass", "fail", "not_applicable")
QUOTE_NOT_FOUND = "quote_not_found"
NO_EVIDENCE = "no_evidence"
CONTRADICTS = "reason_contradicts"
ECHOES = "echoes_prompt"
FEW_WORDS = 4  # a shorter quote can stand in a criterion by chance

_SAID = re.compile(
    r"\b(?:verdict|answer|conclusion|grade|result|judg(?:e)?ment)\b\W{0,3}(?:is|should be|must be|would be)?\W{0,3}"
    r"(?:a |an )?(pass|fail|not[ _]applicable|n/?a)\b",
    re.IGNORECASE,
)
_NOT_BROKEN = re.compile(
    r"\b(?:not|never|n't|without|no)\b[^.;!?]{0,25}\b(?:violat\w*|break\w*|broke\w*|breach\w*|fail\w*)", re.IGNORECASE
)
_NOT_KEPT = re.compile(
    r"\b(?:not|never|n't)\b[^.;!?]{0,15}\b(?:keep|kept|comply|complied|satisf\w*|met|meet|follow\w*)\b", re.IGNORECASE
)
_BROKEN = re.compile(
    r"\bthe (?:user|criterion|rule)\b[^.;!?]{0,40}\b(?:violat\w*|broke\w*|breaks|breach\w*|fails|failed)\b", re.I
)
_KEPT = re.compile(
    r"\bthe (?:user|criterion|rule)\b[^.;!?]{0,40}\b(?:kept|keeps|complie[sd]|satisfie[sd]|is met|was met)\b", re.I
)


@dataclass(frozen=True)
class Verdict:
    """One criterion judged: exactly one of `value` (pass or fail) and `missing` is given."""

    value: str | None
    missing: Missing | None
    evidence: Evidence | None
    reason: str
    flags: tuple[str, ...] = ()


def verdict_schema(text: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the JSON schema of a verdict: the verdict first, then where it shows; `text` limits the texts."""
    words = text or {"type": "string"}
    return object_schema(
        {
            "verdict": {"type": "string", "enum": list(VERDICTS)},
            "turn": {"type": ["integer", "null"]},
            "quote": words,
            "reason": words,
        }
    )


def read_verdict(reply: str, conversation: Conversation, criterion: Criterion, names: Iterable[str] = ()) -> Verdict:
    """Return what a reply says of a criterion on a trajectory.

    Args:
        reply: the judge's whole reply; one JSON object of `verdict_schema` somewhere in it.
        names: further names that were masked in what the judge read (see `blind`).
    """
    try:
        said = parse(reply, verdict_schema())
    except Unparsable as error:
        return Verdict(None, "unparsable", None, str(error))
    reason, quote, turn = str(said["reason"]), str(said["quote"]), said["turn"]
    if said["verdict"] == "not_applicable":
        flags = (CONTRADICTS,) if _concluded(reason) in ("pass", "fail") else ()
        return Verdict(None, "not_applicable", None, reason, flags)
    value = str(said["verdict"])
    evidence = evidence_of(conversation, turn, quote, names) if turn is not None or quote.strip() else None
    return Verdict(value, None, evidence, reason, tuple(_flags(value, evidence, quote, reason, criterion)))


def _flags(value: str, evidence: Evidence | None, quote: str, reason: str, criterion: Criterion) -> Iterable[str]:
    if not quote.strip():
        if value == "fail":  # a rule that was kept may show nowhere, a broken one shows somewhere
            yield NO_EVIDENCE
    elif evidence is None or not evidence.found:
        yield QUOTE_NOT_FOUND
        told = normalised(f"{criterion.text} {criterion.applies} {criterion.span}").casefold()
        if len(quote.split()) >= FEW_WORDS and normalised(quote).casefold() in told:
            yield ECHOES
    if _concluded(reason) not in (None, value):
        yield CONTRADICTS


def _concluded(reason: str) -> str | None:
    """Return the verdict that a reason states in words; None where it states none, or more than one."""
    stated = {match.casefold().replace(" ", "_") for match in _SAID.findall(reason)}
    stated = {"not_applicable" if name in ("n/a", "na") else name for name in stated}
    if not stated:
        kept = bool(_NOT_BROKEN.search(reason))
        broken = bool(_NOT_KEPT.search(reason))
        plain = _NOT_KEPT.sub(" ", _NOT_BROKEN.sub(" ", reason))
        kept, broken = kept or bool(_KEPT.search(plain)), broken or bool(_BROKEN.search(plain))
        stated = {name for name, found in (("pass", kept), ("fail", broken)) if found}
    return stated.pop() if len(stated) == 1 else None
