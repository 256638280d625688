"""Whether messages stand in the order in which they were said.

tau2 sorts them by local time without a zone before it numbers them, so that a clock that was set back, or two machines
with different clocks, mix them up. Whoever speaks next is known: a call is answered by its result, a result by the
side that called, a text by the other side.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

_MOST = 400
"""Longer episodes are not turned round: every place would be tried."""


class Ordered(NamedTuple):
    """Messages in their order; `repaired` where they were moved, `doubtful` where they stand wrong and stay so."""

    messages: list[dict[str, Any]]
    repaired: bool = False
    doubtful: bool = False


def calls_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the tool calls of a message."""
    calls = message.get("tool_calls")
    if not calls:
        return []
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def call_of(result: dict[str, Any]) -> Any:
    """Return the id of the call that a result of a tool answers."""
    told = result.get("tool_call_id", result.get("id"))
    return json.dumps(told, sort_keys=True) if isinstance(told, (dict, list)) else told


def id_of(call: dict[str, Any]) -> Any:
    """Return the id of a call; one that is a list or an object is compared by its text."""
    told = call.get("id")
    return json.dumps(told, sort_keys=True) if isinstance(told, (dict, list)) else told


def faults(messages: list[dict[str, Any]]) -> int:
    """Count the messages that cannot follow the one before them."""
    pending: list[Any] = []
    caller = speaker = None
    found = 0
    over = False
    for message in messages:
        role = message.get("role")
        found += over
        over = role == "user" and ends(message) and not message.get("tool_calls")
        if role == "tool":
            answered = call_of(message)
            if pending and pending[0] == answered:  # the rule
                del pending[0]
            elif answered in pending:
                pending.remove(answered)
            else:
                found += 1
            continue
        if role not in ("user", "assistant"):
            continue
        if pending or (caller is not None and role != caller) or (caller is None and role == speaker):
            found += 1
        calls = calls_of(message)
        pending = [id_of(call) for call in calls]
        caller = role if calls else None
        speaker = role
    return found


def in_order(messages: list[dict[str, Any]]) -> Ordered:
    """Return the messages in the order in which they were said, where that is certain.

    It is certain where exactly one other order has no fault: that of `turn_idx`, with every result behind its call, or
    with what the clock put first moved to the end. Where none or several do, the messages stay as they are.
    """
    if not faults(messages):
        return Ordered(messages)
    sound: list[list[dict[str, Any]]] = []
    for candidate in _candidates(messages):
        if not faults(candidate) and not any(_same(candidate, other) for other in sound):
            sound.append(candidate)
    if len(sound) == 1:
        return Ordered(sound[0], repaired=True)
    return Ordered(messages, doubtful=True)


def _same(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> bool:
    return all(a is b for a, b in zip(one, other, strict=True))


def _candidates(messages: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    found = []
    numbers = [message.get("turn_idx") for message in messages]
    if all(isinstance(number, int) for number in numbers) and len(set(numbers)) == len(numbers):
        found.append([messages[place] for place in sorted(range(len(messages)), key=lambda at: numbers[at] or 0)])
    behind = _results_behind_calls(messages)
    if behind is not None:
        found.append(behind)
    head = 1 if messages and messages[0].get("role") == "system" else 0
    if len(messages) <= _MOST:
        for at in range(head + 1, len(messages)):
            if _set_back(messages, at):
                found.append([*messages[:head], *messages[at:], *messages[head:at]])
    return found


def _set_back(messages: list[dict[str, Any]], at: int) -> bool:
    """Whether the later half may be the earlier one: an episode does not begin with an end, nor with a result."""
    first = messages[at]
    return first.get("role") in ("user", "assistant") and not ends(messages[-1]) and ends(messages[at - 1])


def ends(message: dict[str, Any]) -> bool:
    """Whether a message ends an episode: it holds one of the tokens by which users, or agents alone, stop."""
    content = message.get("content")
    return isinstance(content, str) and "###" in content and any(token in content for token in TOKENS)


TOKENS = {
    "###STOP###": "user_stop",
    "###TRANSFER###": "user_transfer",
    "###OUT-OF-SCOPE###": "user_out_of_scope",
}
"""What a user says to end an episode, and what it means."""


def _results_behind_calls(messages: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """Return the messages with every result directly behind the message that calls; None where ids do not tell."""
    results = {call_of(message): message for message in messages if message.get("role") == "tool"}
    if None in results or len(results) != sum(message.get("role") == "tool" for message in messages):
        return None
    placed: list[dict[str, Any]] = []
    for message in messages:
        if message.get("role") == "tool":
            continue
        placed.append(message)
        placed += [results.pop(id_of(call)) for call in calls_of(message) if id_of(call) in results]
    return placed if not results else None
