"""Asking again: an embedded model that left its text empty is held to one; others are asked as before."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from annotate.config import ModelConfig
from annotate.schema import Call
from simulate.asking import Voice, object_schema
from simulate.llm import CallFailed, Reply, Request
from simulate.prompts import Prompt

PROMPT = Prompt("x", 1, "h", ({"role": "user", "content": "hi"},))
CALL = Call(id="k", key="k", model="m", purpose="user", request={})


class Asked:
    """A gateway that answers with empty texts so many times."""

    def __init__(self, empty: int) -> None:
        self.requests: list[Request] = []
        self.empty = empty

    async def ask(self, request: Request) -> Reply:
        self.requests.append(request)
        text = "" if len(self.requests) <= self.empty else "words"
        return Reply("{}", {"reply": text}, CALL, from_cache=False)


def insist(empty: int, model: str) -> tuple[Asked, Any]:
    gateway = Asked(empty)
    voice = Voice(gateway, "m", ModelConfig(model=model), 100, "user")  # type: ignore[arg-type]
    schema = object_schema({"reply": voice.text()})
    asked = voice.insist(PROMPT, schema, filled="reply", usable=lambda r: bool((r.parsed or {})["reply"]))
    try:
        return gateway, asyncio.run(asked)
    except CallFailed as failed:
        return gateway, failed


@pytest.mark.parametrize(("model", "lengths"), [("local/smollm2", [None, 2]), ("openai/x", [None, None])])
def test_only_an_embedded_model_is_held_to_a_text_and_only_after_an_empty_one(model: str, lengths: list[Any]) -> None:
    gateway, reply = insist(1, model)
    assert isinstance(reply, Reply)
    schemas = [r.reply_schema for r in gateway.requests]
    assert [s["properties"]["reply"].get("minLength") for s in schemas if isinstance(s, dict)] == lengths
    assert [r.replicate for r in gateway.requests] == [0, 1]


def test_three_empty_texts_are_a_failure() -> None:
    gateway, failed = insist(9, "local/smollm2")
    assert isinstance(failed, CallFailed) and failed.kind == "empty" and len(gateway.requests) == 3
