"""Claims to have used a tool that was never used: "I've rebooted it" with no such call before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from calibrate.probes.sides import Finding, Sides, UserCall, quote, sentences
from calibrate.probes.tools import USER_TOOLS, UserTool, noun_pattern
from calibrate.probes.wording import either

_DONE = (
    r"turned|toggled|switched|flipped|disabled|enabled|activated|deactivated|reset|restarted|rebooted|re-?inserted"
    r"|re-?seated|removed|inserted|took|taken|popped|granted|allowed|gave|given|connected|disconnected|changed|set|made"
    r"|paid|completed|powered|approved|authori[sz]ed|accepted|submitted|applied|dismissed|did|done|updated"
)
_FILLER = (
    r"(?:just|now|already|successfully|also|manually|finally|actually|then|went ahead and|gone ahead and|finished|both)"
)
_CLAIM = either(
    rf"(?:\bI(?:'ve| have)?|\b(?:and|then)(?: then)?(?: I)?(?:'ve| have)?) (?:{_FILLER} )*(?:{_DONE})\b",
)
_COORDINATED = either(r"(?:and|then)\b")
_BY_ME = either(r"\bI(?:'ve| have)?\b")
_ITSELF = either(
    r"\b(?:my|the) (?:phone|device) (?:has |is )?(?:just |now |been |finished )*re-?(?:start|boot)(?:ed|ing)\b",
    r"\b(?:restart|reboot)(?:ing)? is (?:now )?(?:done|complete|completed|finished)\b",
    r"\bI(?:'ve| have)? followed (?:your|the|all the|those) (?:instructions|steps|directions) (?:to|and)\b",
)
_MEASURED = either(
    rf"\bI(?:'ve| have)? (?:{_FILLER} )*(?:ran|run|did|done|performed|completed|re-?ran|took|tried)\b",
    r"\bspeed ?test (?:results? )?(?:still |just |now |again )*"
    r"(?:shows?|showed|says?|said|gave|gives|failed|fails|was|came)\b",
)
_NOT_SAID = either(
    r"\b(?:if|once|after|when|until|unless|before|should|whether|would|could|as soon as|in case|assuming)\b[^,;]*$",
    r"\b(?:not sure|don't know|can't tell|wasn't|not certain)\b[^.;]*$",
)
_LONG_AGO = either(
    r"\bbefore (?:I )?(?:call|contact|reach|this|we)\w*",
    r"\bearlier (?:today|this)|\byesterday|\blast (?:week|month|night|year)",
    r"\b(?:days?|weeks?|months?|hours?) ago\b|\bpreviously\b|\bin the past\b",
)
_CLAUSE_ENDS = either(
    r"[;:]|,? (?:but|so|because|since|when|while)\b|, (?:it|the|my|now)\b",
    r",? and (?:it|the|my|I|now|there|still|checked|tried|looked|saw|see|tested|opened|ran|found|noticed)\b",
)


@cache
def claimable_tools() -> tuple[tuple[re.Pattern[str], frozenset[str], bool], ...]:
    """Return what a claim can be about: (noun, tools any of whose calls backs it, whether it is a measurement)."""
    tools: dict[str, list[UserTool]] = {}
    for entry in (tool for domain in USER_TOOLS.values() for tool in domain.values()):
        if entry.noun and entry.domain == "telecom":
            tools.setdefault(entry.noun, []).append(entry)
    return tuple(
        (pattern, frozenset(tool.name for tool in group), all(tool.kind == "read" for tool in group))
        for group in tools.values()
        if (pattern := noun_pattern(group[0].name)) is not None
    )


def claims_in(sentence: str) -> Iterator[frozenset[str]]:
    """Yield, for each thing that a sentence claims to have done, the tools any of which would have done it.

    Questions, conditions, negations and what was done before the conversation are no claims.
    """
    if sentence.rstrip(" \"')*").endswith("?") or _LONG_AGO.search(sentence):
        return
    for pattern, tools, measurement in claimable_tools():
        if any(pattern.search(clause) for clause in _clauses(sentence, measurement)):
            yield tools


def _clauses(sentence: str, measurement: bool) -> Iterator[str]:
    """Yield the parts of a sentence that say what was done, from the verb to the end of its clause."""
    for pattern in (_MEASURED,) if measurement else (_CLAIM, _ITSELF):
        for match in pattern.finditer(sentence):
            before = sentence[: match.start()]
            dangling = _COORDINATED.match(match.group()) and not _BY_ME.search(before)
            if dangling or _NOT_SAID.search(before):
                continue
            rest = sentence[match.start() :]
            end = _CLAUSE_ENDS.search(rest, match.end() - match.start())
            yield rest[: end.start()] if end else rest


def probe_claims(both: Sides, domain: str) -> tuple[Finding, ...] | None:
    """Return the claims of a telecom user that no earlier call backs; a call that failed backs none.

    Each tool is reported once, at the first claim. None where the user has no such tools, or there is no user: then
    nothing can be claimed.
    """
    if not both.user or (domain != "telecom" and not any(_is_telecom(call) for call in both.calls)):
        return None
    found: dict[frozenset[str], Finding] = {}
    for turn in both.said:
        done = {call.name for call in both.calls if call.turn < turn.position and call.succeeded}
        for sentence in sentences(turn.text):
            for tools in claims_in(sentence):
                if not tools & done and tools not in found:
                    name = "|".join(sorted(tools))
                    found[tools] = Finding("unexecuted_claim", turn.position, f"{name}: {quote(sentence)}")
    return tuple(found.values())


def _is_telecom(call: UserCall) -> bool:
    return call.name in USER_TOOLS["telecom"]
