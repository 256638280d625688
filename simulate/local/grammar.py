"""Hold an embedded model's reply to a JSON schema more tightly than `response_format` does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from annotate.errors import ModelError

_SCHEMA = frozenset({"items", "additionalProperties"})
_SCHEMAS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_NAMED_SCHEMAS = frozenset({"properties", "patternProperties", "$defs", "definitions"})
_HELD = frozenset(
    {
        *("type", "enum", "const", "$ref", "required", "minProperties", "maxProperties", "minItems", "maxItems"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "pattern", "format"),
    }
)
_TOLD = frozenset(
    {
        *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"),
        *("$schema", "$id", "$comment", "discriminator"),
    }
)
_FORMATS = frozenset({"date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_ALL = _SCHEMA | _SCHEMAS | _NAMED_SCHEMAS | _HELD | _TOLD


def json_grammar(schema: Mapping[str, Any]) -> str:
    """Return the `grammar` of a request that holds a reply to a JSON schema, without a byte of white space to spare.

    To be sent as `grammar` instead of `response_format`, which lets a model spend its `max_tokens` on white space,
    and which ignores bounds of numbers, `multipleOf` and `allOf`. Raises `ModelError` for what the server would drop
    in silence, and with it the whole schema: a keyword or a format that is not known, and a `$ref` into nothing.
    """
    _check(schema, schema, "$")
    guidance = {"whitespace_flexible": False, "coerce_one_of": True}
    return "%llguidance {}\nstart: %json " + json.dumps({**schema, "x-guidance": guidance}, ensure_ascii=False)


def _check(schema: Any, root: Mapping[str, Any], where: str) -> None:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        raise _refused(where, f"{schema!r} is no schema")
    for key, value in schema.items():
        here = f"{where}.{key}"
        if key not in _ALL:
            raise _refused(where, f"the keyword {key!r} is not held")
        if key in _SCHEMA:
            _check(value, root, here)
        elif key in _SCHEMAS:
            for position, part in enumerate(value):
                _check(part, root, f"{here}[{position}]")
        elif key in _NAMED_SCHEMAS:
            for name, part in value.items():
                _check(part, root, f"{here}.{name}")
    _check_format(schema, where)
    _check_bounds(schema, where)
    if "$ref" in schema and not _leads_somewhere(str(schema["$ref"]), root):
        raise _refused(where, f"$ref {schema['$ref']!r} leads nowhere")


def _check_format(schema: Mapping[str, Any], where: str) -> None:
    if schema.get("format", "date") not in _FORMATS:
        raise _refused(where, f"the format {schema['format']!r} is not held")


def _check_bounds(schema: Mapping[str, Any], where: str) -> None:
    pairs = (("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems"))
    for least, most in pairs:
        if least in schema and most in schema and schema[least] > schema[most]:
            raise _refused(where, f"{least} {schema[least]} is above {most} {schema[most]}")


def _leads_somewhere(reference: str, root: Mapping[str, Any]) -> bool:
    if not reference.startswith("#"):
        return False
    found: Any = root
    for step in reference.removeprefix("#").split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and step in found:
            found = found[step]
        elif isinstance(found, Sequence) and step.isdigit() and int(step) < len(found):
            found = found[int(step)]
        else:
            return False
    return True


def _refused(where: str, why: str) -> ModelError:
    return ModelError(
        f"An embedded model cannot be held to the schema at {where}: {why}; simplify the schema, or ask a hosted model."
    )
