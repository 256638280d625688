"""Gold user writes against what the user did: which of a task's expected changes never came about.

A miss says first of all what the agent did: it counts against the proxy only where the agent asked for the action.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from annotate.schema import Conversation, Item
from calibrate.probes.requests import mention, request
from calibrate.probes.sides import Finding, Sides, UserCall, quote
from calibrate.probes.tools import TOGGLES, Kind, writes


@dataclass(frozen=True, slots=True)
class GoldAction:
    """One action that a task expects of the user; `compare_args` names the arguments that matter, None for all."""

    name: str
    arguments: dict[str, Any]
    compare_args: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class GoldWrites:
    """What became of a task's gold user writes.

    `missed` are those without a call of their own that ran without error and with equal arguments, in gold order;
    `missed_mentioned` those of them whose subject the agent named, `missed_asked` those it told the user to do;
    `missed_loosely` counts misses as tau2 matches (failed calls count, one call may serve twice).
    `order_violation` is None where the task has no gold write, `checks_agree` None where no check was stored.
    `odd_toggles` are settings that were flipped an odd number of times more or less often than the task wants.
    """

    actions: int
    writes: int
    missed_loosely: int
    missed: tuple[str, ...]
    missed_mentioned: int
    missed_asked: int
    order_violation: bool | None
    odd_toggles: tuple[str, ...]
    checks_agree: bool | None
    findings: tuple[Finding, ...] = ()


def gold_user_actions(conversation: Conversation, item: Item | None) -> list[GoldAction]:
    """Return the user's actions of the task; where the task is not known, those of the stored checks."""
    actions = item.reference.get("actions") if item is not None else None
    if not actions:
        actions = conversation.outcome.get("action_checks")
    return [_gold(action) for action in actions or () if action.get("requestor") == "user"]


def _gold(action: Mapping[str, Any]) -> GoldAction:
    compare = action.get("compare_args")
    names = tuple(str(name) for name in compare) if compare is not None else None
    return GoldAction(str(action.get("name")), dict(action.get("arguments") or {}), names)


def normalised(value: Any) -> Any:
    """Return a value in one form: texts stripped, JSON texts parsed, numbers and truth values as texts.

    `{"n": 2}` and `'{"n": "2"}'` come out equal, and so do 2 and 2.0.
    """
    if isinstance(value, str):
        text = value.strip()
        parsed = _parsed(text)
        return text if parsed is None else normalised(parsed)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): normalised(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [normalised(entry) for entry in value]
    return value


def _parsed(text: str) -> Any:
    """Return what a JSON text holds if that is an object, a list, a number or a truth value; else None."""
    if not text or text[0] not in '{[-0123456789tf"':
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    # "00123" is no JSON; "1e999" would become infinite and "123456789012345678901" stays exact.
    return value if not isinstance(value, float) or abs(value) < 1e300 else None


def fulfils(call: UserCall, gold: GoldAction) -> bool:
    """Whether a call has the name and the (compared) arguments of a gold action, both normalised."""
    if call.name != gold.name:
        return False
    given, wanted = normalised(call.arguments or {}), normalised(gold.arguments)
    if gold.compare_args is None or not isinstance(given, dict):
        return bool(given == wanted)
    names = gold.compare_args
    return {k: v for k, v in given.items() if k in names} == {k: v for k, v in wanted.items() if k in names}


def fulfils_loosely(call: UserCall, gold: GoldAction) -> bool:
    """Whether tau2 would count a call as the gold action: without `compare_args` only what the call gives counts."""
    if call.name != gold.name or not isinstance(call.arguments, dict):
        return call.name == gold.name and call.arguments == gold.arguments
    names = tuple(call.arguments) if gold.compare_args is None else gold.compare_args
    given = {k: v for k, v in call.arguments.items() if k in names}
    return given == {k: v for k, v in gold.arguments.items() if k in names}


def match_writes(golds: Sequence[GoldAction], calls: Sequence[UserCall]) -> list[int | None]:
    """Return for each gold write the index of the call that fulfils it, None for a miss; a call serves one gold write.

    In gold order, each takes the first call still free; calls that failed or never ran serve none.
    """
    free = [index for index, call in enumerate(calls) if call.succeeded]
    matched: list[int | None] = []
    for gold in golds:
        found = next((index for index in free if fulfils(calls[index], gold)), None)
        if found is not None:
            free.remove(found)
        matched.append(found)
    return matched


def probe_gold_writes(
    conversation: Conversation, item: Item | None, both: Sides, kinds: Mapping[str, Kind] | None = None
) -> GoldWrites:
    """Compare a task's gold user writes with the user's calls."""
    actions = gold_user_actions(conversation, item)
    golds = [gold for gold in actions if writes(gold.name, kinds)]
    matched = match_writes(golds, both.calls)
    missed = [gold for gold, index in zip(golds, matched, strict=True) if index is None]
    violation = _out_of_order(golds, matched, both.calls)
    asked = [(gold, request(gold.name, gold.arguments, both.told)) for gold in missed]
    findings = [
        Finding("gold_write_missed_asked", turn.position, f"{gold.name}: {quote(sentence)}")
        for gold, found in asked
        if found is not None
        for turn, sentence in (found,)
    ]
    last = conversation.turns[-1].position if conversation.turns else 0
    findings += [
        Finding("gold_write_missed", last, f"{gold.name}({_written(gold.arguments)}) never done") for gold in missed
    ]
    findings += [violation] if violation is not None else []
    return GoldWrites(
        actions=len(actions),
        writes=len(golds),
        missed_loosely=sum(not any(fulfils_loosely(call, gold) for call in both.calls) for gold in golds),
        missed=tuple(gold.name for gold in missed),
        missed_mentioned=sum(mention(gold.name, both.told) is not None for gold in missed),
        missed_asked=sum(found is not None for _, found in asked),
        order_violation=violation is not None if golds else None,
        odd_toggles=_odd_toggles(golds, both.calls),
        checks_agree=_checks_agree(conversation, both),
        findings=tuple(findings) if both.user else (),
    )


def _out_of_order(
    golds: Sequence[GoldAction], matched: Sequence[int | None], calls: Sequence[UserCall]
) -> Finding | None:
    """Return the first fulfilled gold write that was done before one that the task lists earlier."""
    pairs = [(index, gold.name) for index, gold in zip(matched, golds, strict=True) if index is not None]
    for (before, first), (after, second) in pairwise(pairs):
        if after < before:
            return Finding("order_violation", calls[after].turn, f"{second} before {first}")
    return None


def _written(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in arguments.items())


def _odd_toggles(golds: Sequence[GoldAction], calls: Sequence[UserCall]) -> tuple[str, ...]:
    wanted = Counter(gold.name for gold in golds if gold.name in TOGGLES)
    made = Counter(call.name for call in calls if call.succeeded)
    return tuple(sorted(name for name, count in wanted.items() if made[name] and (made[name] - count) % 2))


def _checks_agree(conversation: Conversation, both: Sides) -> bool | None:
    """Return whether every stored check of a user's action says what tau2's matching says here."""
    checks = [check for check in conversation.outcome.get("action_checks") or () if check.get("requestor") == "user"]
    checks = [check for check in checks if isinstance(check.get("match"), bool)]
    if not checks or not both.user:
        return None
    return all(any(fulfils_loosely(call, _gold(check)) for call in both.calls) == check["match"] for check in checks)
