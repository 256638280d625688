"""A trajectory as a judge reads it: what each side saw, turn by turn, and nothing that gives the proxy away.

A judge must not know which proxy it judges. Names of the proxy and its model, of files and runs, are not written; where
the proxy names itself in what it says, the name is masked. What cannot be removed is its style.

Every line of a message is marked, so that no message can pass for another one or for an instruction to the judge.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from annotate.rubrics.grounding import normalised
from annotate.schema import Conversation, Evidence, ToolCall, Turn

MASK = "[name of a model]"
MARK = "  | "
_SPLIT = re.compile(r"[^0-9A-Za-z.]+")
_LETTERS = re.compile(r"[A-Za-z]{3,}")
# Parts of models' names that are words of their own: a proxy that says "a mini router" says nothing of itself.
_WORDS = frozenset(
    re.findall(
        r"\w+",
        "base beta chat code coder exp fast flash free instruct large latest lite max medium mini model nano preview "
        "pro reasoning small thinking tiny turbo ultra user proxy simulator baseline the and with without",
    )
)
_TAGS = ("proxy", "user_model")


@dataclass(frozen=True)
class Trajectory:
    """What a judge reads; `masked` counts the names that were taken out of what was said."""

    text: str
    masked: int


def names_of_proxy(conversation: Conversation, more: Iterable[str] = ()) -> tuple[str, ...]:
    """Return every name that gives the proxy away: its own, its model's with and without provider, and their words.

    `more` are further names, such as the model of its run or what a study calls it.
    """
    whole = [conversation.tags.get(tag) for tag in _TAGS] + list(more)
    found: dict[str, None] = {}
    for name in (text.strip() for text in whole if text):
        for form in (name, name.rpartition("/")[2], *name.split("/")):
            if len(form) >= 3:
                found[form] = None
        for word in _LETTERS.findall(" ".join(_SPLIT.split(name))):
            if word.casefold() not in _WORDS:
                found[word] = None
    return tuple(sorted(found, key=len, reverse=True))


def blind(conversation: Conversation, names: Iterable[str] = ()) -> Trajectory:
    """Return the trajectory as a judge reads it, without the names of its proxy (and `names`).

    Numbers are the turns' positions, which evidence points at. Each piece says who saw it: a user's private text and
    calls of tools are not the agent's to see, nor the other way round.
    """
    mask = _mask(names_of_proxy(conversation, names))
    pieces, masked = [], 0
    for turn in conversation.turns:
        for head, text in _pieces(turn):
            shown, count = mask(text)
            masked += count
            lines = "\n".join(f"{MARK}{line}" for line in shown.splitlines()) or f"{MARK}(nothing)"
            pieces.append(f"[{turn.position}] {head}\n{lines}")
    return Trajectory("\n".join(pieces), masked)


def evidence_of(conversation: Conversation, turn: int | None, quote: str | None, names: Iterable[str] = ()) -> Evidence:
    """Return what a judge pointed at, and whether the quote stands in that turn as the judge read it.

    White space and the form of quotation marks do not count; an empty quote is not found.
    """
    mask = _mask(names_of_proxy(conversation, names))
    told = [mask(text)[0] for one in conversation.turns if one.position == turn for _, text in _pieces(one)]
    wanted = normalised(quote or "")
    return Evidence(turn=turn, quote=quote, found=bool(wanted) and any(wanted in normalised(text) for text in told))


def _pieces(turn: Turn) -> list[tuple[str, str]]:
    """Return what a turn holds as (who to whom, text)."""
    if turn.role == "tool":
        whose = {"user": "the USER", "assistant": "the AGENT"}.get(turn.seen_by, "nobody")
        return [(f"RESULT of a tool, seen by {whose} only", turn.text)]
    if turn.role == "system":
        return []
    own, other = ("USER", "AGENT") if turn.role == "user" else ("AGENT", "USER")
    found = []
    if turn.private:
        found.append((f"{own}, not shown to the {other}", turn.private))
    if turn.text.strip():
        said = f"{own} to {other}" if turn.seen_by == "both" else f"{own}, not shown to the {other}"
        found.append((said, turn.text))
    for call in turn.tool_calls:
        found.append((f"{own} calls a tool, which the {other} does not see", _call(call)))
        if call.result is not None:
            found.append((f"RESULT of a tool, seen by the {own} only", call.result))
    return found or [(f"{own} to {other}", "(no message)" if turn.missing else "(an empty message)")]


def _call(call: ToolCall) -> str:
    given = call.arguments
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, sort_keys=True)
    return f"{call.name}({text})"


def _mask(names: Iterable[str]) -> Callable[[str], tuple[str, int]]:
    """Return what replaces names by a mask, whole words in any case, and counts them."""
    forms = sorted({name for name in names if name}, key=len, reverse=True)
    if not forms:
        return lambda text: (text, 0)
    joined = "|".join(re.escape(form) for form in forms)
    pattern = re.compile(rf"(?<![0-9A-Za-z])(?:{joined})(?![A-Za-z])", re.IGNORECASE)
    return lambda text: pattern.subn(MASK, text)
