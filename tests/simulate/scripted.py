"""A transport that answers by rule: JSON that fits the schema, plain text else; it can fail, count, and be slow."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any


def fill(schema: dict[str, Any], seed: int, name: str = "text") -> Any:
    """Return a value that fits a (simple) schema, chosen by the seed."""
    if "enum" in schema:
        return schema["enum"][seed % len(schema["enum"])]
    kind = schema.get("type")
    if kind == "object":
        return {name: fill(part, seed + n, name) for n, (name, part) in enumerate(schema["properties"].items())}
    if kind == "integer":
        low, high = int(schema.get("minimum", 0)), int(schema.get("maximum", 10))
        return low + seed % (high - low + 1)
    if kind == "boolean":
        return False
    return f"some {name} number {seed}"[: schema.get("maxLength", 1000)]


class ScriptedTransport:
    """Answers every payload; `reply` may replace the content, or raise."""

    def __init__(self, reply: Callable[[dict[str, Any], int], str | None] | None = None, seconds: float = 0.0) -> None:
        self.payloads: list[dict[str, Any]] = []
        self._reply = reply
        self._seconds = seconds

    async def send(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Return an OpenAI-shaped reply."""
        number = len(self.payloads)
        self.payloads.append(payload)
        await asyncio.sleep(self._seconds)
        content = self._reply(payload, number) if self._reply else None
        if content is None:
            form = payload.get("response_format")
            content = json.dumps(fill(form["json_schema"]["schema"], number)) if form else f"a reply, number {number}"
        return {
            "choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10},
            "model": "scripted",
        }
