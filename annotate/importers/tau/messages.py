"""The messages of an episode as turns: who saw which, and what never reached the other side."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from typing import Any, NamedTuple

from annotate.errors import InputError
from annotate.importers.tau import values
from annotate.importers.tau.order import call_of, calls_of, id_of, in_order
from annotate.importers.tau.values import Cleaner
from annotate.schema import canonical_hash

ORDER_REPAIRED = "episodes whose messages stood in a wrong order (clock set back): put right"
ORDER_DOUBTFUL = (
    "episodes in which two messages of one side follow each other, or a result its call does not: order kept"
)
BESIDE_CALL = "messages of the user with text beside a tool call: the text was not shown, so it is not counted as said"
OTHER_FORM = "messages whose content is no text: kept as text"
OTHER_ROLE = "messages of a role that is neither side's nor a tool's: kept, seen by neither"
NOT_A_NUMBER = "numbers that are none (NaN, infinity, too large): unknown"


class Read(NamedTuple):
    """The turns as records to be checked; the messages behind them, in the same order; what was done to them."""

    turns: list[dict[str, Any]]
    messages: list[dict[str, Any]]
    notes: Counter[str]


def read_messages(raw: Any, where: str) -> Read:
    """Return the turns of an episode, one a message, in the order of the file where that is right."""
    notes: Counter[str] = Counter()
    messages, repaired, doubtful = in_order(_flat(raw, where))
    if repaired or doubtful:
        notes[ORDER_REPAIRED if repaired else ORDER_DOUBTFUL] += 1
    cleaner = Cleaner(where)
    failed = _failed(messages)
    turns = [_turn(position, message, failed, cleaner, notes) for position, message in enumerate(messages)]
    if cleaner.unknown_numbers:
        notes[NOT_A_NUMBER] += cleaner.unknown_numbers
    return Read(turns, messages, notes)


def said(turns: list[dict[str, Any]]) -> str:
    """Return the content hash of turns, as `annotate.schema.content_hash` gives it for the same turns."""
    return canonical_hash(
        [[t["role"], t["text"], [[c["name"], c["arguments"]] for c in t.get("tool_calls", ())]] for t in turns]
    )


def _flat(raw: Any, where: str) -> list[dict[str, Any]]:
    """Return the messages; several results in one message become one each."""
    if raw is None:
        return []
    if not isinstance(raw, list):
        raise InputError(f"{where}: its messages are no list. Give the file as it was written.")
    flat: list[dict[str, Any]] = []
    for place, message in enumerate(raw):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise InputError(f"{where}: message {place} has no role. Give the file as it was written.")
        inner = message.get("tool_messages")
        if isinstance(inner, list) and all(isinstance(one, dict) for one in inner):
            flat += [{"role": "tool", **one} for one in inner]
        else:
            flat.append(message)
    return flat


def _failed(messages: list[dict[str, Any]]) -> set[tuple[int, int]]:
    """Return the calls whose results are errors: the place of the message, and of the call in it."""
    pending: dict[Any, tuple[int, int]] = {}
    found: set[tuple[int, int]] = set()
    for position, message in enumerate(messages):
        if message["role"] == "tool":
            call = pending.get(call_of(message))
            if call is not None and _is_error(message):
                found.add(call)
        elif message.get("tool_calls"):
            for place, call_made in enumerate(calls_of(message)):
                pending[id_of(call_made)] = position, place
    return found


def _is_error(result: dict[str, Any]) -> bool:
    """Whether a result is an error; files that do not say so begin its text with that word."""
    told = result.get("error")
    if isinstance(told, bool):
        return told
    content = result.get("content")
    return isinstance(content, str) and content.startswith("Error:")


def _turn(
    position: int, message: dict[str, Any], failed: set[tuple[int, int]], cleaner: Cleaner, notes: Counter[str]
) -> dict[str, Any]:
    """Return one turn; keys that have nothing to say are left out."""
    text = message.get("content")
    if type(text) is not str:
        text, changed = values.text(text)
        if changed:
            notes[OTHER_FORM] += 1
    role: str = message["role"]
    turn: dict[str, Any] = {"position": position, "role": role, "text": text}
    if role == "tool":
        turn["seen_by"] = "user" if message.get("requestor") == "user" else "assistant"
        if (answers := call_of(message)) is not None:
            turn["answers"] = str(answers)
        return turn
    if role not in ("user", "assistant"):
        turn["seen_by"] = "assistant" if role == "system" else "neither"
        if role != "system":
            notes[OTHER_ROLE] += 1
            turn |= {"role": "system", "part": role}
        return turn
    if message.get("tool_calls") and (calls := _calls(position, message, failed, cleaner)):
        turn["tool_calls"] = calls
        turn["seen_by"] = role  # tau gives what stands beside a call to the tool, and to nobody else
        if role == "user" and text:
            notes[BESIDE_CALL] += 1
            turn |= {"private": text, "text": ""}
    if (stamp := message.get("timestamp")) is not None and (moment := _moment(stamp)) is not None:
        turn["created_at"] = moment
    if (seconds := message.get("generation_time_seconds")) is not None:
        turn["seconds"] = values.number(seconds)
    if (told := message.get("usage")) is not None:
        turn["usage"] = _usage(told)
    return turn


def _calls(
    position: int, message: dict[str, Any], failed: set[tuple[int, int]], cleaner: Cleaner
) -> list[dict[str, Any]]:
    found = []
    for place, raw in enumerate(calls_of(message)):
        inner = raw.get("function")
        told = inner if isinstance(inner, dict) else raw
        identity = id_of(raw)
        found.append(
            {
                "name": values.name(told.get("name")),
                "arguments": _arguments(told.get("arguments"), cleaner),
                "id": None if identity is None else str(identity),
                "error": (position, place) in failed,
            }
        )
    return found


def _arguments(told: Any, cleaner: Cleaner) -> dict[str, Any] | str:
    """Return the arguments as an object, or as the text that the model gave where that is none."""
    raw: Any = told
    if isinstance(told, str):
        try:
            raw = json.loads(told, parse_constant=lambda _: None) if told.strip() else {}
        except (ValueError, RecursionError):
            return told
        if not isinstance(raw, dict):
            return told
    if raw is None:
        return {}
    clean: Any = cleaner.clean(raw)
    if isinstance(clean, dict):
        found: dict[str, Any] = clean
        return found
    return json.dumps(clean, ensure_ascii=False)


def _moment(raw: Any) -> datetime | None:
    """Return when a message was made, where the file says in which zone; a time without one is not known."""
    if not isinstance(raw, str) or not (raw.endswith("Z") or raw[-6:-5] in ("+", "-")):
        return None
    try:
        moment = datetime.fromisoformat(raw)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def _usage(raw: Any) -> dict[str, int | None] | None:
    if not isinstance(raw, dict):
        return None
    prompt, completion = raw.get("prompt_tokens"), raw.get("completion_tokens")
    if type(prompt) is not int or type(completion) is not int or prompt < 0 or completion < 0:
        prompt, completion = values.count(prompt), values.count(completion)
        if prompt is None and completion is None:
            return None
    return {"prompt_tokens": prompt, "completion_tokens": completion}
