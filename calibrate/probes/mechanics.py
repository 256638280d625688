"""How a proxy handles the protocol itself: end tokens, tool calls beside text, roles, and leaked reasoning."""

from __future__ import annotations

import re
from dataclasses import dataclass

from annotate.schema import Turn
from calibrate.probes.sides import Finding, Sides, quote, sentences
from calibrate.probes.wording import either

END_TOKENS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")


@dataclass(frozen=True, slots=True)
class Mechanics:
    """What a proxy did with its turns.

    `end_token` is the token of its last shown message (`STOP`, `TRANSFER`, `OUT-OF-SCOPE`), None for none;
    `end_glued` says that other text stands in that message; `text_beside_call` and `several_calls` count user turns;
    `stop_on_confirmation` says that the user stopped on a question that asked to confirm, `stop_agreed` that it
    agreed in the same breath, so that what it wanted can no longer happen; the last two that it spoke as the agent,
    or showed its reasoning.
    """

    end_token: str | None
    end_glued: bool
    text_beside_call: int
    several_calls: int
    stop_on_confirmation: bool
    stop_agreed: bool
    role_flip: bool
    leaked_thought: bool
    findings: tuple[Finding, ...] = ()


def end_token(text: str) -> str | None:
    """Return the first end token of a message without its marks, None where it has none."""
    places = [(text.find(token), token) for token in END_TOKENS if token in text]
    return min(places)[1].strip("#") if places else None


def without_tokens(text: str) -> str:
    """Return a message without end tokens."""
    for token in END_TOKENS:
        text = text.replace(token, " ")
    return text.strip()


# ---------------------------------------------------------------------------------------------- asked to confirm

_DEED = r"(?:go ahead|proceed|continue|process|book|cancel|submit|complete|make|update|change|send|email|add|apply)"
_CONFIRM = either(
    r"\bconfirm\b",
    rf"\b(?:shall|should|may|can) I {_DEED}\b",
    r"\b(?:like|want|wish|okay|ok|happy|ready) (?:us |for me )?to "
    r"(?:go ahead|proceed|continue with|book|cancel|process|submit|complete|make (?:this|these|the))\b",
    r"\b(?:like|want) me to\b",
    r"\bdo you (?:agree|approve|accept)\b",
    r"\byes\"? ?(?:/|or) ?\"?no\b|\breply (?:with )?[\"'“]?yes\b",
    r"\bis (?:this|that|everything) (?:correct|right|okay|ok|acceptable)\b",
    r"\b(?:proceed|go ahead) with (?:this|these|the)\b[^.!?\n]*\?",
)
_ASKING = either(r"\?|\b(?:please|kindly|reply|respond|let me know|need you(?:r)?)\b")
_OTHER_QUESTION = either(
    r"\b(?:anything|something|any other|else|further)\b",
    r"\bhow(?:'d| would)? you(?:'d)? (?:like|want|wish) to\b|\bhow to proceed\b",
    r"\b(?:pleased|happy|glad|able|can|would like|want) to confirm\b|\bI (?:can |hereby )?confirm\b",
    r"\bconfirm (?:that )?(?:you(?:'ve| have)? (?:received|got)|(?:the )?receipt)\b",
    r"\bto (?:leave|keep)\b[^?]*\b(?:as[ -]is|as it is|as they are|unchanged)\b",
)
_AGREES = either(
    r"\b(?:yes|yeah|yep|sure|okay|ok|absolutely|certainly)\b",
    r"\bplease (?:go ahead|proceed|do|book|cancel|send|e-?mail|process|submit|make|update|add|change)\b",
    r"\bI (?:confirm|agree|approve|accept)\b|\bgo ahead\b|\bconfirmed\b|\bthat works\b",
)


def asks_to_confirm(text: str) -> str | None:
    """Return the sentence of an agent's message that asks to confirm an action, None where none does.

    "Is there anything else?" and "How would you like to proceed?" are no such questions, nor is a report that
    something is confirmed.
    """
    for sentence in sentences(text):
        if _CONFIRM.search(sentence) and _ASKING.search(sentence) and not _OTHER_QUESTION.search(sentence):
            return sentence
    return None


def _question_before_stop(both: Sides) -> str | None:
    """Return the question to confirm that the user answered with a stop; another token is no such stop."""
    last = both.said[-1] if both.said else None
    if last is None or "###STOP###" not in last.text:
        return None
    before = [turn for turn in both.told if turn.position < last.position]
    if not before or any(turn.position > before[-1].position for turn in both.said[:-1]):
        return None
    return asks_to_confirm(before[-1].text)


# -------------------------------------------------------------------------------------- roles and leaked thoughts

_WHO = r"(?:full name|name|e-?mail|phone|zip|user id|order|date of birth|reservation)"
_AGENT_TALK = either(
    r"\bhow (?:can|may) I (?:help|assist) you\b|\b(?:anything|something) else I can (?:help|assist|do)\b",
    r"\bthank you for (?:contacting|calling|reaching out|choosing)\b",
    rf"\bthank you for (?:providing|sharing|giving me) (?:your|that|the) {_WHO}\b",
    r"\bI(?:'ve| have) (?:processed|updated|cancell?ed|issued|refunded|booked|credited|escalated|located|found) your\b",
    r"\byour (?:refund|order|reservation|booking|exchange|return|request|account|flight) has been "
    r"(?:processed|updated|cancell?ed|issued|booked|changed|submitted)\b",
    rf"\b(?:could|can|may) (?:you|I) (?:please )?(?:provide|have|verify) (?:me with )?your {_WHO}\b",
    r"\bI(?:'d| would| will|'ll) be (?:happy|glad) to (?:help|assist) you\b",
    r"\bI can (?:help|assist) you with (?:that|this|your)\b|\blet me (?:look up|pull up|check) your\b",
    r"\btransferring you to\b|\bI(?:'ll| will) (?:now )?transfer you\b",
)
_THOUGHT = either(
    r"</?(?:think|thinking|thought|reasoning|scratchpad|reflection|analysis)>|<\|[a-z_]+\|>",
    r"^[ \t]*(?:\*\*)?(?:thoughts?|reasoning|internal(?: monologue| note)?|analysis|reflection)(?:\*\*)?\s*:",
    r"\b(?:user|customer) response\s*:",
    r"\bas an? (?:AI|(?:large )?language model)\b|\b(?:simulated (?:user|customer)|user simulator)\b",
    r"\b(?:my|the|these) (?:scenario|task|system|role-?play) (?:instructions?|guidelines|prompt)\b",
    r"\baccording to (?:my|the) instructions\b|\b(?:stay|remain)(?:ing)? in character\b",
    r"\bthe (?:user|customer) (?:should|would|wants to|needs to) (?:say|respond|reply|now)\b",
    r"\bI (?:should|need to|must) (?:respond|reply|act|answer) as (?:the|a) (?:user|customer)\b",
    r"\b(?:generate|output|emit|send) (?:the )?(?:stop|transfer|end) token\b",
    flags=re.IGNORECASE | re.MULTILINE,
)


def _first(probe: str, pattern: re.Pattern[str], turns: tuple[Turn, ...]) -> Finding | None:
    for turn in turns:
        text = turn.text.replace("’", "'")
        match = pattern.search(text)
        if match is not None:
            return Finding(probe, turn.position, quote(text, match.start()))
    return None


def probe_mechanics(both: Sides) -> Mechanics:
    """Return how the user handled end tokens, calls and its role."""
    last = both.said[-1] if both.said else None
    token = end_token(last.text) if last is not None else None
    glued = last is not None and token is not None and bool(without_tokens(last.text))
    beside = [turn for turn in both.user if turn.tool_calls and ((turn.private or "") + turn.text).strip()]
    several = [turn for turn in both.user if len(turn.tool_calls) > 1]
    question = _question_before_stop(both)
    stop = None
    if question is not None and last is not None:
        stop = Finding("stop_on_confirmation", last.position, quote(question))
    flip = _first("role_flip", _AGENT_TALK, both.said)
    thought = _first("leaked_thought", _THOUGHT, both.said)
    findings = [
        *([Finding("glued_token", last.position, quote(last.text))] if glued and last is not None else ()),
        *(Finding("text_beside_call", turn.position, quote(turn.private or turn.text)) for turn in beside),
        *(
            Finding("several_calls", turn.position, quote(", ".join(call.name for call in turn.tool_calls)))
            for turn in several
        ),
        *(found for found in (stop, flip, thought) if found is not None),
    ]
    return Mechanics(
        end_token=token,
        end_glued=glued,
        text_beside_call=len(beside),
        several_calls=len(several),
        stop_on_confirmation=stop is not None,
        stop_agreed=stop is not None and last is not None and bool(_AGREES.search(without_tokens(last.text))),
        role_flip=flip is not None,
        leaked_thought=thought is not None,
        findings=tuple(findings),
    )
