"""Rubrics without a model: the same rules for every task, put together from the parts of a structured blueprint.

A free baseline beside rubrics that a model writes, and comparable between studies: the rules depend on the contract
alone. What they cannot say is what is special to a task; whoever needs that has a rubric written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from annotate.rubrics.contract import Contract, Source
from annotate.rubrics.grounding import MIN_SPAN, is_grounded, missing_tools, normalised
from annotate.schema import Criterion, canonical_hash

VERSION = "template-1"
NEEDS_PARTS = "the blueprint is one text: templates need to know apart why the user calls and what it knows"

_BREAK = re.compile(r"(?<=[.!?])\s+|\s*\n\s*")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|vs|e\.g|i\.e)\.$", re.IGNORECASE)
_STOP = re.compile(r"###STOP###|\bstop token\b", re.IGNORECASE)
_RESULT = re.compile(
    r"\b(?:results? of (?:the |your )?(?:`\w+` )?tool calls?|tool (?:call )?results?)\b", re.IGNORECASE
)


def template_criteria(contract: Contract) -> list[Criterion]:
    """Return the criteria of a task's contract, each grounded and none twice; none where the blueprint has no parts.

    - disclosure: each sentence of what the user knows is not given before the agent asks; left out where the blueprint
      orders all details up front, and for what the reason for the call says anyway.
    - unknown: what the user does not know it does not invent.
    - stop: the user does not end before its reason for the call is settled.
    - claim and result, where the user has tools: no action is claimed that was not done, and what a tool returned is
      told as it was returned.
    """
    if not contract.structured:
        return []
    made: dict[tuple[str, str], Criterion] = {}
    for criterion in (*_disclosure(contract), *_unknown(contract), *_stop(contract), *_tools(contract)):
        made.setdefault((criterion.mode, normalised(criterion.span)), criterion)
    return list(made.values())


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, verbatim; lines end sentences too, and points within words and numbers do not.

    >>> sentences("You are Ana (ana.b@example.com). Order 7.5 for Dr. Li is late!")
    ['You are Ana (ana.b@example.com).', 'Order 7.5 for Dr. Li is late!']
    """
    found, begin = [], 0
    for end in (*_BREAK.finditer(text), None):
        piece = text[begin : len(text) if end is None else end.start()]
        if end is not None and _ABBREVIATION.search(piece) and "\n" not in end.group():
            continue
        found.append(piece.strip())
        begin = len(text) if end is None else end.end()
    return [one for one in found if len(one.split()) >= MIN_SPAN]


def _criterion(
    contract: Contract, family: str, mode: str, text: str, source: Source, span: str, applies: str
) -> Criterion:
    identity = canonical_hash([VERSION, contract.item, mode, source, normalised(span)])[:12]
    return Criterion(
        id=f"k_{identity}",
        family=family,
        mode=mode,
        text=text,
        source=source,
        span=span,
        applies=applies,
        item=contract.item,
    )


def _disclosure(contract: Contract) -> Iterator[Criterion]:
    if contract.upfront:
        return
    for fact in sentences(contract.parts.get("known_info", "")):
        if not is_grounded(fact, contract.parts["reason_for_call"]):
            yield _criterion(
                contract,
                "premature_disclosure",
                "volunteers_unasked_info",
                f"The user does not give this before the agent asks for it: “{fact}”",
                "blueprint",
                fact,
                "",
            )


def _unknown(contract: Contract) -> Iterator[Criterion]:
    for gap in sentences(contract.parts.get("unknown_info", "")):
        yield _criterion(
            contract,
            "groundedness",
            "invents_unknown_info",
            f"The user does not claim to know what it does not: “{gap}”",
            "blueprint",
            gap,
            "the agent asks for it",
        )


def _stop(contract: Contract) -> Iterator[Criterion]:
    text = "The user does not end the conversation before its reason for the call is settled, or refused for good."
    source: Source = "guidelines"
    span = _first(sentences(contract.guidelines or ""), _STOP)
    if span is None:
        source, span = "blueprint", next(iter(sentences(contract.parts["reason_for_call"])), None)
    if span is not None:
        yield _criterion(contract, "goal_deviation", "stops_prematurely", text, source, span, "the user ends it")


def _tools(contract: Contract) -> Iterator[Criterion]:
    if not contract.tools:
        return
    source, span = _ground_of_tools(contract)
    told = "What the user tells of a tool's result is what the tool returned."
    yield _criterion(
        contract, "groundedness", "misreports_tool_result", told, source, span, "the user tells a tool's result"
    )
    if any(tool.kind != "read" for tool in contract.tools):
        done = "The user claims to have done something on its device or account only after it did it with a tool."
        applies = "the user says that it did something"
        yield _criterion(contract, "groundedness", "unexecuted_action_claim", done, source, span, applies)


def _ground_of_tools(contract: Contract) -> tuple[Source, str]:
    """Return where a rule on tools stands: the blueprint, the guidelines, or the tools themselves."""
    texts: tuple[tuple[Source, str], ...] = (
        ("blueprint", contract.blueprint),
        ("guidelines", contract.guidelines or ""),
    )
    for source, text in texts:
        span = _first((one for one in sentences(text) if not missing_tools(one, contract)), _RESULT)
        if span is not None:
            return source, span
    return "tools", contract.text("tools").splitlines()[0]


def _first(found: Iterable[str], pattern: re.Pattern[str]) -> str | None:
    return next((one for one in found if pattern.search(normalised(one))), None)
