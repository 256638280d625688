"""Premature disclosure: identifiers of the blueprint that the user gives before anybody asked for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from annotate.schema import Item, Turn
from calibrate.probes.identifiers import KINDS, PERSONAL, Identifier, blanked, identifiers_in, known_text, span_in
from calibrate.probes.sides import Finding, Sides, quote, sentences
from calibrate.probes.wording import either

Applies = Literal["yes", "no blueprint", "no identifiers", "ordered up front", "no user turn"]


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What the first message of the user gives away; kinds are those of `identifiers.KINDS`.

    `applies` says whether the first turn can be held against the proxy. `first` are all kinds it gives,
    `first_unasked` those that were neither asked for, nor part of the reason for the call, nor ordered up front;
    `ever_unasked` the same over all turns (finds more, and more wrongly).
    """

    applies: Applies
    identifiers: int
    kinds: tuple[str, ...]
    ordered_up_front: bool
    first: tuple[str, ...]
    first_unasked: tuple[str, ...]
    ever_unasked: tuple[str, ...]
    first_words: int
    findings: tuple[Finding, ...] = ()

    @property
    def headline(self) -> bool | None:
        """Whether the first turn tells who one is, unasked, by more than a name; None where it does not apply."""
        return None if self.applies != "yes" else bool(set(self.first_unasked) & (PERSONAL - {"name"}))

    @property
    def with_name(self) -> bool | None:
        """The same with names counted."""
        return None if self.applies != "yes" else bool(set(self.first_unasked) & PERSONAL)


_REQUEST = re.compile(
    r"\?|\b(?:please|provide|share|give|tell|send|enter|state|confirm|verify|specify|supply|need|require|may I|can I"
    r"|could I|let me know|what(?:'s| is)|which|would you)\b",
    re.IGNORECASE,
)
_ASKS: dict[str, re.Pattern[str]] = {
    kind: re.compile(pattern, re.IGNORECASE)
    for kind, pattern in {
        "name": r"\bnames?\b",
        "phone": r"\b(?:tele)?phone\b|\b(?:mobile|contact|cell) number|\bnumber (?:on|linked|associated|registered)",
        "email": r"\be-?mails?\b",
        "post_code": r"\bzip\b|\bpost(?:al|[ -]?code)|\baddress\b",
        "birth_date": r"\bbirth|\bdob\b|\bborn\b",
        "user_id": r"\b(?:user|customer|member|account|profile)[ -]?(?:id|name|number)|\bprofile\b|\bids?\b",
        "order": r"\border",
        "reservation": r"\breservation|\bbooking|\bconfirmation (?:number|code)|\btrips?\b|\bflights?\b",
        "payment": r"\bpayment|\bcards?\b|\brefund|\bcertificate|\bpay\b|\bpaypal",
    }.items()
}
_WHO_ARE_YOU = either(
    r"\bverif|\bidentif|\bidentity\b|\bauthenticat",
    r"\b(?:account|personal|contact) (?:info|detail|information)|\byour (?:information|details)\b",
    r"\blook(?:ing)? (?:you|up your|up the)\b",
    r"\b(?:locate|find|pull up|access) (?:your|the) (?:account|information|profile|details)\b",
)
_ALL = r"\b(?:all|everything|every detail|full details)\b"
_NOW = (
    r"(?:\bat once\b|\bright away\b|\bimmediately\b|\bstraight away\b|\bfrom the (?:start|beginning)\b"
    r"|\b(?:in|with) (?:one|a single|your (?:very )?first|the first) (?:message|go|turn|sentence)\b)"
)
_UP_FRONT = re.compile(
    r"\bup-?\s?front\b"
    rf"|\b(?:provide|give|share|state|include|mention|tell|reveal|disclose)\b[^.]{{0,40}}{_ALL}[^.]{{0,40}}{_NOW}"
    rf"|\b(?:provide|give|share|state|reveal|disclose)\b[^.]{{0,60}}{_NOW}[^.]{{0,20}}{_ALL}",
    re.IGNORECASE,
)
_NOT_UP_FRONT = re.compile(r"\b(?:not|never|n't|avoid|without)\b[^.]{0,60}$", re.IGNORECASE)


def orders_up_front(blueprint: Mapping[str, Any]) -> bool:
    """Whether a blueprint tells its user to give everything at the start; a "do not … upfront" is no such order."""
    for value in blueprint.values():
        for match in _UP_FRONT.finditer(str(value or "")):
            if not _NOT_UP_FRONT.search(str(value)[: match.start()]) and not re.search(
                r"\b(?:not|never|n't)\b", match.group(), re.IGNORECASE
            ):
                return True
    return False


def asked_for(kind: str, messages: Iterable[Turn]) -> bool:
    """Whether a message to the user asked for a kind of identifier, or who the user is.

    A list that follows a request ("please give me the following:") is asked for as well.
    """
    for message in messages:
        listing = False
        for sentence in sentences(message.text):
            asks = bool(_REQUEST.search(sentence))
            if (asks or listing) and _ASKS[kind].search(sentence):
                return True
            listing = listing or (asks and sentence.endswith(":"))
        if kind in PERSONAL and _WHO_ARE_YOU.search(message.text):
            return True
    return False


def probe_disclosure(item: Item | None, both: Sides) -> Disclosure:
    """Hold the user's messages against the identifiers of its blueprint."""
    blueprint: Mapping[str, Any] = (item.private.get("blueprint") if item is not None else None) or {}
    known = identifiers_in(known_text(blueprint))
    exempt = {entry for entry in known if span_in(entry, str(blueprint.get("reason_for_call") or "")) is not None}
    up_front = orders_up_front(blueprint)
    first = both.said[0] if both.said else None
    given = [entry for entry in known if first is not None and span_in(entry, first.text) is not None]
    held = [] if up_front else [entry for entry in known if entry not in exempt]
    unasked = {turn.position: _unasked(held, both, turn) for turn in both.said}
    first_unasked = unasked.get(first.position, []) if first is not None else []
    return Disclosure(
        applies=_applies(blueprint, known, up_front, first),
        identifiers=len(known),
        kinds=_kinds(known),
        ordered_up_front=up_front,
        first=_kinds(given),
        first_unasked=_kinds(first_unasked),
        ever_unasked=_kinds(_first_times(unasked, known, both)),
        first_words=first.words if first is not None else 0,
        findings=tuple(_findings(first, first_unasked, known)),
    )


def _applies(blueprint: Mapping[str, Any], known: list[Identifier], up_front: bool, first: Turn | None) -> Applies:
    if not blueprint:
        return "no blueprint"
    if not known:
        return "no identifiers"
    if up_front:
        return "ordered up front"
    return "yes" if first is not None else "no user turn"


def _unasked(held: list[Identifier], both: Sides, turn: Turn) -> list[Identifier]:
    earlier = [message for message in both.told if message.position < turn.position]
    return [entry for entry in held if span_in(entry, turn.text) is not None and not asked_for(entry.kind, earlier)]


def _first_times(unasked: Mapping[int, list[Identifier]], known: list[Identifier], both: Sides) -> list[Identifier]:
    """Return the identifiers that were unasked when they were said for the first time."""
    found = []
    for entry in known:
        first = next((turn.position for turn in both.said if span_in(entry, turn.text) is not None), None)
        if first is not None and entry in unasked[first]:
            found.append(entry)
    return found


def _kinds(entries: Iterable[Identifier]) -> tuple[str, ...]:
    present = {entry.kind for entry in entries}
    return tuple(kind for kind in KINDS if kind in present)


def _findings(first: Turn | None, unasked: list[Identifier], known: list[Identifier]) -> Iterable[Finding]:
    if first is None or not unasked:
        return
    blank = blanked(first.text, known)
    around = blank.find("[" + unasked[0].kind + "]")
    kinds = {entry.kind for entry in unasked}
    probe = (
        "first_turn_disclosure"
        if kinds & (PERSONAL - {"name"})
        else "first_turn_name"
        if "name" in kinds
        else "first_turn_reference"
    )
    yield Finding(probe, first.position, quote(blank, around))
