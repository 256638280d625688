"""Ask a model of the study: which model, with which limits, and what a structured reply looks like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from annotate.config import ModelConfig
from annotate.schema import Call
from simulate.llm import CallFailed, Gateway, Reply, Request
from simulate.prompts import Prompt

RETRYABLE_REPLIES = frozenset({"unparsable", "empty", "length", "filtered"})
_ATTEMPTS = 3
_MARGIN = 40
"""`max_tokens` exceeds every `maxLength` by this much, so that a reply always closes its JSON."""


class Stopped(Exception):
    """The run was asked to stop before this call was made."""


@dataclass(frozen=True)
class Voice:
    """A model in a part: who speaks, and how long a reply may be."""

    gateway: Gateway
    name: str
    model: ModelConfig
    max_tokens: int
    purpose: str
    stopped: Callable[[], bool] = lambda: False

    @property
    def local(self) -> bool:
        """Whether it is an embedded model, whose replies need hard limits."""
        return self.model.model.startswith("local/")

    def text(self, limit: int | None = None) -> dict[str, Any]:
        """Return the JSON schema of a text; an embedded model is held to what its `max_tokens` can close."""
        if not self.local:
            return {"type": "string"}
        most = max(self.max_tokens - _MARGIN, 20)
        return {"type": "string", "maxLength": min(limit, most) if limit else most}

    async def ask(self, prompt: Prompt, schema: dict[str, Any] | None, *, replicate: int = 0) -> Reply:
        """Ask once; raises `CallFailed`, or `Stopped` where the run was asked to stop."""
        if self.stopped():
            raise Stopped
        return await self.gateway.ask(
            Request(
                model_name=self.name,
                model=self.model,
                messages=prompt.messages,
                purpose=self.purpose,
                reply_schema=schema,
                max_tokens=self.max_tokens,
                replicate=replicate,
                prompt=prompt.name,
                prompt_hash=prompt.hash,
            )
        )

    async def insist(
        self,
        prompt: Prompt,
        schema: dict[str, Any] | None,
        *,
        replicate: int = 0,
        usable: Callable[[Reply], bool] = lambda reply: bool(reply.text.strip()),
        filled: str | None = None,
    ) -> Reply:
        """Ask; where the reply cannot be used ask again, up to three times in all, each as a replicate of its own.

        `filled` names the text that must not be empty: an embedded model, which likes to leave it so, is held to one
        from the second time on.
        """
        for attempt in range(_ATTEMPTS):
            held = _not_empty(schema, filled) if attempt and self.local and schema and filled else schema
            try:
                reply = await self.ask(prompt, held, replicate=replicate * _ATTEMPTS + attempt)
            except CallFailed as failed:
                if failed.kind not in RETRYABLE_REPLIES or attempt == _ATTEMPTS - 1:
                    raise
                continue
            if usable(reply):
                return reply
        raise CallFailed(
            "empty", f"{self.purpose}: {_ATTEMPTS} replies had no content", retryable=True, call=reply.call
        )


def _not_empty(schema: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the schema with one text that has at least two characters."""
    text = {**schema["properties"][name], "minLength": 2}
    return {**schema, "properties": {**schema["properties"], name: text}}


def object_schema(properties: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the JSON schema of an object whose properties are all required."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def cost_of(calls: list[Call]) -> float | None:
    """Return the sum of the calls' costs in US dollars; None (unknown) as soon as one is unknown."""
    costs = [call.cost_usd for call in calls]
    return None if any(cost is None for cost in costs) else sum(cost for cost in costs if cost is not None)
