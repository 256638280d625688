"""Make a request definite: the settings that are really sent, the key of its answer, the payload for a transport."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from annotate.config import ModelConfig
from annotate.errors import ModelError
from annotate.schema import canonical_hash
from simulate.llm.redact import redact_tree
from simulate.llm.request import Request, Structured
from simulate.llm.structured import ask_for, longest_text, schema_of

_CONTROL = re.compile(r"<\|\s*(\w+)\s*\|>")

LOCAL_MARGIN_TOKENS = 40
"""By how much `max_tokens` of the embedded model exceeds every `maxLength`, so that a reply can close its JSON."""

OWN_KEYS = frozenset(
    {
        *("model", "messages", "temperature", "top_p", "seed", "n", "max_tokens", "max_completion_tokens", "timeout"),
        *("stream", "stream_options", "response_format", "tools", "tool_choice", "functions", "function_call"),
        *("drop_params", "num_retries", "max_retries", "fallbacks", "mock_response", "caching", "cache"),
        *("api_base", "base_url", "api_key"),
    }
)
"""What `params` may not hold, because the gateway itself decides it."""


@dataclass(frozen=True)
class Asked:
    """A request made definite; equal keys get one answer."""

    request: Request
    key: str
    messages: list[dict[str, str]]
    settings: dict[str, Any]
    max_tokens: int
    schema: dict[str, Any] | None


@dataclass(frozen=True)
class Route:
    """Where a payload goes: litellm's name of the model, and the server where it is one's own."""

    model: str
    api_base: str | None = None
    api_key: str | None = None


def is_local(model: ModelConfig) -> bool:
    """Whether this is an embedded model, run by UserCal itself."""
    return model.model.startswith("local/")


def clean_text(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates by U+FFFD: no provider, and no database, takes them."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def settings_of(name: str, model: ModelConfig) -> dict[str, Any]:
    """Return the sampling settings that are sent (`"default"` is not), with `params`; raises `ModelError`."""
    forbidden = sorted(OWN_KEYS & model.params.keys())
    if forbidden:
        raise ModelError(
            f"[models.{name}] params: {forbidden[0]!r} is not allowed there, since the gateway decides it; "
            "remove it, or use the key of that name in the section itself."
        )
    sampling = {"temperature": model.temperature, "top_p": model.top_p, "seed": model.seed}
    return {**{key: value for key, value in sampling.items() if value != "default"}, **model.params}


def prepare(request: Request) -> Asked:
    """Make a request definite. The key covers what shapes the answer, not how it is fetched, nor what it is for."""
    model = request.model
    messages = [{key: clean_text(value) for key, value in message.items()} for message in request.messages]
    settings = settings_of(request.model_name, model)
    if isinstance(settings.get("seed"), int):  # a replicate with the same seed would be the same reply again
        settings["seed"] += request.replicate
    schema = schema_of(request.reply_schema)
    max_tokens = request.max_tokens or model.max_tokens
    if is_local(model) and schema is not None:
        max_tokens = max(max_tokens, longest_text(schema) + LOCAL_MARGIN_TOKENS)
    key = canonical_hash(
        {
            "model": model.model,
            "api_base": model.api_base,
            "messages": messages,
            "settings": settings,
            "max_tokens": max_tokens,
            "schema": schema,
            "structured": model.structured if schema is not None else None,
            "replicate": request.replicate,
        }
    )
    return Asked(request, key, messages, settings, max_tokens, schema)


def _without_control(message: dict[str, str]) -> dict[str, str]:
    """Keep what people write from becoming control tokens of an embedded model: `<|im_end|>` would end their turn."""
    return {name: _CONTROL.sub(r"<| \1 |>", text) if name == "content" else text for name, text in message.items()}


def _held(payload: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Hold an embedded model to a schema by a grammar: tighter than `response_format`, at fewer tokens."""
    from simulate.local import json_grammar

    payload["grammar"] = json_grammar(schema)
    return {"grammar": "of the schema"}


def build(
    asked: Asked, route: Route, means: Structured | None, secrets: list[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the payload for the transport, and the same without messages, timeout and key, for the record."""
    local = is_local(asked.request.model)
    payload: dict[str, Any] = {
        "model": route.model,
        "messages": [_without_control(m) for m in asked.messages] if local else asked.messages,
        **asked.settings,
        "max_tokens": asked.max_tokens,
        "timeout": asked.request.model.timeout_seconds,
    }
    sent = {"model": route.model, **redact_tree(asked.settings, secrets), "max_tokens": asked.max_tokens}
    if route.api_base is not None:
        payload["api_base"] = route.api_base
        sent["api_base"] = redact_tree(route.api_base, secrets)
    if route.api_key is not None:
        payload["api_key"] = route.api_key
    if means is not None and asked.schema is not None:
        held = local and means == "schema"
        sent.update(_held(payload, asked.schema) if held else ask_for(payload, means, asked.schema))
    return payload, sent
