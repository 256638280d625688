"""Structured replies: by the best means a model has, and believed only after they parsed and fit their schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from typing import Any

from pydantic import BaseModel, ValidationError

from annotate.config import ModelConfig
from simulate.llm.request import Structured

ReplySchema = dict[str, Any] | type[BaseModel]

SELF_HOSTED = frozenset(
    {
        *("local", "hosted_vllm", "vllm", "lm_studio", "llamafile", "lemonade"),
        *("ollama", "ollama_chat", "custom_openai", "openai_like"),
    }
)
"""Providers whose servers run at the user's: they constrain the reply to a schema themselves."""

_TOOL = "reply"
_INSTRUCTION = "Reply with one JSON object that fits this JSON Schema, and with nothing else:\n"
_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_MOST_STARTS = 200


class Unparsable(ValueError):
    """A reply holds no JSON that fits the schema; the message says what is wrong with it."""


def schema_of(reply_schema: ReplySchema | None) -> dict[str, Any] | None:
    """Return the JSON schema of a reply, from a dict or a pydantic model."""
    if reply_schema is None or isinstance(reply_schema, dict):
        return reply_schema
    return _model_schema(reply_schema)


@lru_cache(maxsize=256)
def _model_schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


def self_hosted(model: ModelConfig) -> bool:
    """Whether a model runs on a server of the user's own that speaks OpenAI's language."""
    provider = model.model.partition("/")[0]
    return provider in SELF_HOSTED or (provider == "openai" and model.api_base is not None)


def best_means(model: ModelConfig) -> Structured:
    """Return how a model gives structured replies: as configured, by schema on one's own server, as litellm knows."""
    if model.structured != "auto":
        return model.structured
    if self_hosted(model):
        return "schema"
    from simulate.llm.litellm_transport import structured_support

    return structured_support(model.model)


def ask_for(payload: dict[str, Any], means: Structured, schema: dict[str, Any]) -> dict[str, Any]:
    """Add the schema to an OpenAI-shaped payload by the given means; returns what was added, for the record."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", str(schema.get("title") or _TOOL))[:64]
    added: dict[str, Any]
    if means == "schema":
        named: dict[str, Any] = {"name": name, "schema": schema}
        if _closed(schema):
            named["strict"] = True
        added = {"response_format": {"type": "json_schema", "json_schema": named}}
    elif means == "tool":
        function = {"name": _TOOL, "description": "Give the reply.", "parameters": schema}
        added = {
            "tools": [{"type": "function", "function": function}],
            "tool_choice": {"type": "function", "function": {"name": _TOOL}},
        }
    else:
        instruction = _INSTRUCTION + json.dumps(schema, ensure_ascii=False)
        payload["messages"] = _with_instruction(payload["messages"], instruction)
        return {"instruction": instruction}
    payload.update(added)
    return added


def _with_instruction(messages: list[dict[str, str]], instruction: str) -> list[dict[str, str]]:
    if not messages or messages[-1].get("role") != "user":
        return [*messages, {"role": "user", "content": instruction}]
    last = messages[-1]
    return [*messages[:-1], {**last, "content": f"{last.get('content', '')}\n\n{instruction}"}]


def _closed(schema: Any) -> bool:
    """Whether every object in a schema requires all its properties and admits no others: what `strict` asks for."""
    if isinstance(schema, list):
        return all(_closed(part) for part in schema)
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if isinstance(properties, dict):
        required = schema.get("required") or []
        if schema.get("additionalProperties") is not False or set(required) != set(properties):
            return False
    elif schema.get("type") == "object":
        return False
    return all(_closed(part) for part in schema.values())


def longest_text(schema: Any) -> int:
    """Return the greatest `maxLength` anywhere in a schema; 0 where there is none."""
    if isinstance(schema, dict):
        own = schema.get("maxLength")
        inner = max((longest_text(part) for part in schema.values()), default=0)
        return max(own, inner) if isinstance(own, int) else inner
    if isinstance(schema, list):
        return max((longest_text(part) for part in schema), default=0)
    return 0


def parse(text: str, reply_schema: ReplySchema) -> dict[str, Any]:
    """Return the JSON object in a reply that fits the schema; raises `Unparsable` where none does, or several do."""
    fitting: list[dict[str, Any]] = []
    problem = "it holds no JSON object"
    for candidate in _objects(_THOUGHT.sub(" ", text)):
        try:
            checked = _check(candidate, reply_schema)
        except Unparsable as error:
            problem = str(error)
            continue
        if checked not in fitting:
            fitting.append(checked)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        problem = f"it holds {len(fitting)} different JSON objects that fit"
    raise Unparsable(f"the reply does not give what was asked: {problem}")


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects in a text, wherever they stand: alone, fenced, or amid other words."""
    decoder = json.JSONDecoder(strict=False, parse_constant=_no_constant)
    position, starts = text.find("{"), 0
    while position >= 0 and starts < _MOST_STARTS:
        starts += 1
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
        else:
            yield value
        position = text.find("{", end)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _check(value: dict[str, Any], reply_schema: ReplySchema) -> dict[str, Any]:
    if isinstance(reply_schema, dict):
        _check_schema(value, reply_schema)
        return value
    try:
        checked: dict[str, Any] = reply_schema.model_validate(value).model_dump(mode="json")
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"]) or "reply"
        raise Unparsable(f"{where!r}: {first['msg'][:200]}") from None
    return checked


def _check_schema(value: dict[str, Any], schema: dict[str, Any]) -> None:
    error = next(_validator(json.dumps(schema, sort_keys=True)).iter_errors(value), None)
    if error is not None:
        where = ".".join(str(step) for step in error.absolute_path) or "reply"
        raise Unparsable(f"{where!r}: {error.message[:200]}")


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    return import_module("jsonschema").Draft202012Validator(json.loads(schema))
