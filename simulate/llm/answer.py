"""Read a provider's reply: its text, why it ended, what it used, and whether it can be used at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotate.schema import Usage
from simulate.llm.cost import read_usage
from simulate.llm.payload import clean_text
from simulate.llm.request import FailureKind, Structured


@dataclass(frozen=True)
class Answer:
    """A reply as it came; `problem` is the kind of failure and a sentence, or None for a usable one."""

    text: str
    finish_reason: str | None
    usage: Usage | None
    problem: tuple[FailureKind, str] | None


def read_answer(raw: Mapping[str, Any], means: Structured | None) -> Answer:
    """Read an OpenAI-shaped reply; a cut, filtered or empty one has a problem, and its usage all the same."""
    usage = read_usage(raw.get("usage"))
    choices = raw.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else None
    if choice is None:
        return Answer("", None, usage, ("empty", "the provider sent a reply without any choice"))
    message = choice.get("message")
    message = message if isinstance(message, Mapping) else {}
    reason = choice.get("finish_reason")
    reason = reason if isinstance(reason, str) else None
    content, called = _content(message), _tool_text(message) if means is not None else ""
    text = clean_text(called or content if means == "tool" else content or called)
    return Answer(text, reason, usage, _problem(text, reason, message))


def _problem(text: str, reason: str | None, message: Mapping[str, Any]) -> tuple[FailureKind, str] | None:
    if reason in ("content_filter", "safety", "refusal"):
        return "filtered", f"the provider withheld the reply (finish_reason {reason!r})"
    if message.get("refusal") and not text.strip():
        return "filtered", "the model declined to answer"
    if reason in ("length", "max_tokens"):
        return "length", "the reply was cut at max_tokens; raise max_tokens, or ask for less"
    if not text.strip():
        return "empty", "the reply is empty"
    return None


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, Mapping) and part.get("type", "text") == "text"]
        return "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    return ""


def _tool_text(message: Mapping[str, Any]) -> str:
    """Return the arguments of the first tool call as JSON text; empty where the model called none."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not calls or not isinstance(calls[0], Mapping):
        return ""
    function = calls[0].get("function")
    arguments = function.get("arguments") if isinstance(function, Mapping) else None
    if isinstance(arguments, Mapping):
        return json.dumps(arguments, ensure_ascii=False)
    return arguments if isinstance(arguments, str) else ""
