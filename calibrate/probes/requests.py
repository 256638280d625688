"""What the agent told the user to do: whether it named an action, and whether it asked for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from annotate.schema import Turn
from calibrate.probes.sides import LONGEST, sentences
from calibrate.probes.tools import noun_pattern
from calibrate.probes.wording import either

_VERBS = (
    r"turn|toggle|switch|flip|enable|disable|activate|deactivate|re-?start|re-?boot|reset|re-?seat|re-?insert|remove"
    r"|insert|take|grant|allow|give|set|change|update|adjust|disconnect|connect|pay|make|ensure|power|submit|apply"
    r"|approve|accept|dismiss|put|perform|do|complete"
)
_VERB = re.compile(rf"\b(?:{_VERBS}|try (?=(?:that|this|it)\b))\b", re.IGNORECASE)
_ENSURE = re.compile(r"\b(?:ensure|make sure|be sure)\b", re.IGNORECASE)
# "Once you've granted the permission, try again" takes for granted that it is to be done.
_ONCE_DONE = re.compile(
    r"\bonce you(?:'ve| have) (?:turned|toggled|switched|enabled|disabled|re-?started|re-?booted|reset|re-?seated"
    r"|re-?inserted|removed|granted|allowed|changed|set|disconnected|connected|paid|completed|made|accepted|approved)\b",
    re.IGNORECASE,
)
# What may stand before a verb that tells somebody to do something.
_BEFORE = either(
    r"(?:^|[,;:>—–\-(\"“/])\s*$",
    r"\b(?:please|then|and|or|now|first|next|just|also|let's|simply|finally|again|instead|try|kindly|manually)\s*$",
    r"\b(?:temporarily|briefly|go ahead and|you|you (?:can|could|should|may|might|must|will)|you'll)\s*$",
)
_BEFORE_TO = either(
    r"^to\s*$|\byou(?:'ll|'d| will| may| should| might| also| just)* (?:need|want|have|like|try|wish) to\s*$",
    r"\b(?:like|want|ask|need) you to\s*$",
    r"\b(?:try|remember|sure|proceed|recommend(?:ed)?|step would be|be best|is|how|instructions?|steps|ready) to\s*$",
)
_DONE_ALREADY = re.compile(r"\b(?:you've|you have|you had|you were|having|been)\b[^,;]*$", re.IGNORECASE)
_DOING = re.compile(
    r"\b(?:try|recommend|suggest|advise|consider|by|with|step is|next is|start)\s+(?:first\s+)?"
    r"(?P<verb>(?:turn|toggl|switch|enabl|disabl|activat|re-?start|re-?boot|resett|re-?seat|re-?insert|remov|insert|tak"
    r"|grant|allow|giv|sett|chang|updat|disconnect|connect|pay|mak|power|perform|do)ing)\b"
    r"|^(?P<first>[a-z-]+ing)\b(?=.*\bis (?:the )?(?:next|best|recommended))",
    re.IGNORECASE,
)
_AGENT_DOES = re.compile(
    r"\bI(?:'ve| have|'ll| will|'m| am| can| could| would|'d| need to| was| just)\b"
    r"(?! (?:need|like|want|ask|recommend|suggest|advise)\b)(?=[^,;]*$)|\b(?:let me|shall I|should I|me to)\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"\b(?:it|this|that|these|them|those|both)\b", re.IGNORECASE)
_CLAUSE_END = re.compile(
    r"[.;:!?]|, (?:but|so|which|since|because|then|try|check|let)\b|\b(?:before|after|once|until|because|while)\b"
)

# A permission is one of several: asking for one does not ask for another.
_PERMISSIONS: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "sms": r"\bsms\b|\btext(?:s| messag\w+)?\b|\bsend messages\b",
        "storage": r"\bstorage\b|\bphotos?\b|\bfiles?\b|\bmedia\b|\bgallery\b",
        "phone": r"\bphone permission\b|\bphone calls\b",
        "camera": r"\bcamera\b",
        "contacts": r"\bcontacts?\b",
        "location": r"\blocation\b",
    }.items()
}


def mention(name: str, told: Iterable[Turn]) -> Turn | None:
    """Return the first message to the user that names what a tool acts on; None where none does."""
    pattern = noun_pattern(name)
    return next((turn for turn in told if pattern is not None and pattern.search(turn.text)), None)


def request(name: str, arguments: Mapping[str, Any], told: Iterable[Turn]) -> tuple[Turn, str] | None:
    """Return where the agent told the user to do an action: the message and the sentence; None where it never did.

    A sentence asks for a change that tells to make it ("please turn off roaming", "make sure the app has the
    permission"), or that points back to the sentence before ("if it is on, switch it off"). To ask for a look at a
    setting is no such request, nor is what the agent did itself, nor what is said to have been done.
    """
    pattern = noun_pattern(name)
    if pattern is None:
        return None
    for turn in told:
        before = ""
        for sentence in sentences(turn.text):
            if _tells(sentence, before, pattern) and _names_permission(arguments, f"{before} {sentence}"):
                return turn, sentence
            # "Is Wi-Fi calling on? This can interfere. If it is, turn it off.": the subject carries over.
            carried = _PRONOUN.search(sentence) and not pattern.search(sentence)
            before = f"{before} {sentence}"[-2 * LONGEST :] if carried else sentence
    return None


def _tells(sentence: str, before: str, pattern: re.Pattern[str]) -> bool:
    """Whether a sentence tells somebody to change what `pattern` names, or what the sentence before named."""
    for start, verb_end in _told_verbs(sentence):
        rest = sentence[start:]
        end = _CLAUSE_END.search(rest, verb_end - start)
        clause = rest[: min(end.start() if end else len(rest), 90)]
        if pattern.search(clause) or (_ENSURE.match(clause) and pattern.search(sentence[:start])):
            return True
        if _PRONOUN.search(clause) and (pattern.search(sentence[:start]) or pattern.search(before)):
            return True
    return False


def _told_verbs(sentence: str) -> Iterable[tuple[int, int]]:
    """Yield where a verb of change stands that tells somebody to do it: (start, end)."""
    for match in _VERB.finditer(sentence):
        before = sentence[: match.start()]
        if _AGENT_DOES.search(before):
            continue
        if _BEFORE_TO.search(before) or (_BEFORE.search(before) and not _DONE_ALREADY.search(before)):
            yield match.span()
    for match in _ONCE_DONE.finditer(sentence):
        yield match.span()
    for match in _DOING.finditer(sentence):
        if _AGENT_DOES.search(sentence[: match.start()]):
            continue
        group = "verb" if match.group("verb") else "first"
        yield match.span(group)


def _names_permission(arguments: Mapping[str, Any], text: str) -> bool:
    """Whether a text asks for the permission that an action grants, or for permissions without naming any."""
    wanted = _PERMISSIONS.get(str(arguments.get("permission", "")).lower())
    if wanted is None:
        return True
    return bool(wanted.search(text)) or not any(other.search(text) for other in _PERMISSIONS.values())
