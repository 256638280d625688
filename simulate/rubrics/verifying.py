"""Criteria reviewed before anybody is judged by them: by code first, then by a model that did not write them.

A criterion that is rejected is kept with the check that it failed and the reason. One that the reviewer says nothing
readable about is undecided, and never accepted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotate.errors import ModelError
from annotate.rubrics.contract import Contract
from annotate.rubrics.grounding import fault_of, normalised
from annotate.schema import Annotation, Criterion, Rater, Scale, Target
from annotate.taxonomy import Taxonomy
from simulate.asking import Voice, object_schema
from simulate.llm import CallFailed
from simulate.llm.structured import Unparsable, parse
from simulate.prompts import Prompt, PromptBook
from simulate.raters import UNREADABLE

SCALE = Scale(
    name="criterion_review",
    level="nominal",
    target="criterion",
    labels=("accept", "reject"),
    question="May users be judged by this rule?",
)
CHECKS = {
    "grounding": "Do the quoted words stand in the source, and do they carry the rule?",
    "authority": "Does the rule come from brief, guidelines or tools, and not from how one conversation went?",
    "falsifiability": "Could a conversation show that the rule was broken?",
    "attribution": "Is it the USER's doing, and not the AGENT's or the system's?",
    "scope": "Does the rule ask for no more than the words that it rests on?",
    "achievability": "Could a USER with this brief and these tools keep it?",
    "atomicity": "Is it one rule, and not two?",
    "taxonomy": "Does its family and mode fit what it asks?",
    "redundancy": "Does no other rule of the list ask the same?",
}
PROMPT = "verify_rubric"
PROMPTS = PromptBook(Path(__file__).parent / "prompts")
ALIKE = 0.8  # of the words of both rules are the same: they ask the same
DISCLOSURE = "premature_disclosure"
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Decision:
    """What became of one criterion: `accepted` is None where the reviewer said nothing readable about it."""

    criterion: str
    accepted: bool | None
    check: str | None
    reason: str
    by_code: bool = False

    def annotation(self, identity: str, rater: Rater, call_id: str | None = None) -> Annotation:
        """Return the decision as a record."""
        value = None if self.accepted is None else "accept" if self.accepted else "reject"
        return Annotation(
            id=identity,
            rater=rater.id,
            scale=SCALE.name,
            target=Target(kind="criterion", criterion=self.criterion),
            value=value,
            missing="unparsable" if value is None else None,
            flags=(self.check,) if self.check else (),
            comment=self.reason or None,
            call_id=call_id,
        )


def check_independent(writer: str, verifier: str, *, forced: bool = False) -> None:
    """Raise `ModelError` where the reviewer is the model that wrote, unless that was forced (and is then recorded)."""
    if writer == verifier and not forced:
        raise ModelError(
            f"model {verifier!r} wrote these criteria and cannot review them: name another one, or force it and have "
            "that recorded."
        )


def decide_by_code(criteria: Sequence[Criterion], contract: Contract, taxonomy: Taxonomy) -> list[Decision]:
    """Return the rejections that need no model: no ground, wrong taxonomy, the same rule again, an inverted order.

    Of rules that ask the same the first one stands. Where a blueprint orders all details at once, a rule against
    giving them asks for the opposite of the contract.
    """
    found: list[Decision] = []
    standing: list[Criterion] = []
    for criterion in criteria:
        check, reason = _fault(criterion, standing, contract, taxonomy)
        if check is None:
            standing.append(criterion)
        else:
            found.append(Decision(criterion.id, False, check, reason, by_code=True))
    return found


def _fault(
    criterion: Criterion, standing: Sequence[Criterion], contract: Contract, taxonomy: Taxonomy
) -> tuple[str | None, str]:
    fault = fault_of(criterion, contract, taxonomy)
    if fault is not None:
        return ("taxonomy" if "taxonomy" in fault or "family" in fault else "grounding"), fault
    if criterion.family == DISCLOSURE and contract.upfront:
        return "achievability", "the blueprint orders all details at once, so that giving them breaks no rule"
    for other in standing:
        if similarity(criterion.text, other.text) >= ALIKE:
            return "redundancy", f"it asks what {other.id} asks"
    return None, ""


def similarity(first: str, second: str) -> float:
    """Return the share of words that two texts have in common, of all words of both (Jaccard); 0 where both are empty.

    >>> similarity("The user waits.", "the user waits"), similarity("a b", "b c")
    (1.0, 0.3333333333333333)
    """
    one, two = (set(_WORD.findall(normalised(text).casefold())) for text in (first, second))
    return len(one & two) / len(one | two) if one | two else 0.0


def verify_prompt(contract: Contract, criteria: Sequence[Criterion]) -> Prompt:
    """Return what the reviewer is asked of a task's criteria."""
    return PROMPTS.render(
        PROMPT,
        {
            "blueprint": contract.blueprint,
            "guidelines": contract.guidelines or "",
            "tools": contract.text("tools"),
            "criteria": list(criteria),
            "checks": list(CHECKS.items()),
        },
    )


def review_schema(text: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the JSON schema of a review."""
    one = object_schema(
        {
            "rule": {"type": "integer"},
            "accept": {"type": "boolean"},
            "fails": {"type": "string", "enum": [*CHECKS, "none"]},
            "reason": text or {"type": "string"},
        }
    )
    return object_schema({"rules": {"type": "array", "items": one}})


def read_review(reply: str, criteria: Sequence[Criterion]) -> list[Decision]:
    """Return a decision for each criterion, in order; undecided where the reply does not say one thing of it, once.

    A rule that is accepted and fails a check, or is rejected and fails none, is undecided: that contradicts itself.
    """
    try:
        said = parse(reply, review_schema())["rules"]
    except Unparsable as error:
        return [Decision(criterion.id, None, None, str(error)) for criterion in criteria]
    return [_decision(criterion, [one for one in said if one["rule"] == n]) for n, criterion in enumerate(criteria, 1)]


def _decision(criterion: Criterion, said: Sequence[dict[str, Any]]) -> Decision:
    if len(said) != 1:
        return Decision(criterion.id, None, None, f"the review speaks of it {len(said)} times")
    (one,) = said
    check = None if one["fails"] == "none" else str(one["fails"])
    if one["accept"] == (check is not None):
        return Decision(criterion.id, None, check, f"the review contradicts itself: {one['reason']}".strip())
    return Decision(criterion.id, bool(one["accept"]), check, str(one["reason"]).strip())


async def verify(
    voice: Voice, criteria: Sequence[Criterion], contract: Contract, taxonomy: Taxonomy
) -> tuple[list[Decision], str | None]:
    """Return a decision for each criterion, in order, and the id of the call; what code rejects is not asked about.

    Raises:
        CallFailed: the model could not be reached, or refused.
    """
    by_code = {decision.criterion: decision for decision in decide_by_code(criteria, contract, taxonomy)}
    left = [criterion for criterion in criteria if criterion.id not in by_code]
    if not left:
        return [by_code[criterion.id] for criterion in criteria], None
    try:
        reply = await voice.insist(verify_prompt(contract, left), review_schema(voice.text(120)))
    except CallFailed as failed:
        if failed.kind not in UNREADABLE:
            raise
        read = [Decision(criterion.id, None, None, str(failed)) for criterion in left]
        call_id = failed.call.id if failed.call else None
    else:
        read = read_review(reply.text if reply.parsed is None else json.dumps(reply.parsed), left)
        call_id = reply.call.id
    decided = by_code | {decision.criterion: decision for decision in read}
    return [decided[criterion.id] for criterion in criteria], call_id
