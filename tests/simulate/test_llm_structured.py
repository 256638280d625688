"""Structured replies: JSON is found wherever it stands, and believed only where exactly one object fits the schema."""

from __future__ import annotations

import json
import time
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from annotate.config import ModelConfig
from simulate.llm.structured import Unparsable, ask_for, best_means, longest_text, parse, schema_of

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"verdict": {"enum": ["met", "not_met"]}, "quote": {"type": "string"}},
    "required": ["verdict", "quote"],
    "additionalProperties": False,
}
GOOD = {"verdict": "met", "quote": 'he said "{x} \\ }" and ```left``` {'}


@pytest.mark.parametrize(
    "text",
    [
        "JSON",
        "  JSON\n",
        "```json\nJSON\n```",
        "```\nJSON\n```\nThat is my verdict.",
        "Here it is: JSON - I hope {this} helps.",
        "Set {a, b} first.\nJSON",
        '<think>Perhaps {"verdict": "not_met", "quote": ""}? No.</think>JSON',
        "JSON\n\nAgain: JSON",
        "[JSON]",
    ],
)
def test_json_survives_what_models_put_around_it(text: str) -> None:
    assert parse(text.replace("JSON", json.dumps(GOOD)), SCHEMA) == GOOD


def test_raw_line_breaks_inside_strings_are_accepted() -> None:
    assert parse('{"verdict": "met", "quote": "two\nlines"}', SCHEMA)["quote"] == "two\nlines"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("met", "no JSON object"),
        ("", "no JSON object"),
        ('{"verdict": "met", "quote": "x"', "no JSON object"),
        ("{'verdict': 'met', 'quote': 'x'}", "no JSON object"),
        ('{"verdict": "perhaps", "quote": "x"}', "'verdict'"),
        ('{"verdict": "met"}', "'quote' is a required property"),
        ('{"result": {"verdict": "met", "quote": "x"}}', "Additional properties"),
        ('{"verdict": "met", "quote": NaN}', "no JSON object"),
        ('{"verdict": "met", "quote": "x"} or {"verdict": "not_met", "quote": "x"}', "2 different"),
        ('"{\\"verdict\\": \\"met\\"}"', "no JSON object"),
    ],
)
def test_what_does_not_give_one_fitting_object_is_unparsable(text: str, why: str) -> None:
    with pytest.raises(Unparsable, match=why):
        parse(text, SCHEMA)


@pytest.mark.parametrize(
    "text", ["{" * 50_000, '{"a":' * 50_000, "[" * 100_000, '{"n": ' + "9" * 10_000 + "}", '{"' * 50_000]
)
def test_hostile_texts_end_soon(text: str) -> None:
    began = time.perf_counter()
    with pytest.raises(Unparsable):
        parse(text, SCHEMA)
    assert time.perf_counter() - began < 5


VALUES = st.one_of(st.text(max_size=30), st.integers(), st.lists(st.text(max_size=5)))


@given(st.dictionaries(st.text(max_size=8), VALUES, max_size=5))
def test_every_object_is_found_again_amid_words(value: dict[str, Any]) -> None:
    assert parse("Well, } here: " + json.dumps(value) + " } done", {"type": "object"}) == value


class Verdict(BaseModel):
    """A reply as a pydantic model, with a default."""

    model_config = ConfigDict(extra="forbid")
    verdict: Literal["met", "not_met"]
    turn: int | None = None


def test_a_pydantic_model_checks_and_completes() -> None:
    assert parse('{"verdict": "met"}', Verdict) == {"verdict": "met", "turn": None}
    with pytest.raises(Unparsable, match="'turn'"):
        parse('{"verdict": "met", "turn": "first"}', Verdict)
    assert schema_of(Verdict) == Verdict.model_json_schema()


def test_strict_is_asked_for_only_where_a_schema_allows_it() -> None:
    payload: dict[str, Any] = {"messages": []}
    assert ask_for(payload, "schema", SCHEMA)["response_format"]["json_schema"]["strict"] is True
    open_schema = {**SCHEMA, "required": ["verdict"]}
    assert "strict" not in ask_for(payload, "schema", open_schema)["response_format"]["json_schema"]
    nested = {**SCHEMA, "properties": {"inner": {"type": "object"}}, "required": ["inner"]}
    assert "strict" not in ask_for(payload, "schema", nested)["response_format"]["json_schema"]


def test_the_instruction_goes_to_the_last_user_message_or_into_one_of_its_own() -> None:
    messages = [{"role": "system", "content": "judge"}, {"role": "user", "content": "this"}]
    payload: dict[str, Any] = {"messages": messages}
    instruction = ask_for(payload, "text", SCHEMA)["instruction"]
    assert payload["messages"][-1] == {"role": "user", "content": f"this\n\n{instruction}"}
    assert messages[-1]["content"] == "this", "the caller's messages stay as they are"
    payload = {"messages": messages[:1]}
    ask_for(payload, "text", SCHEMA)
    assert [m["role"] for m in payload["messages"]] == ["system", "user"]


def test_longest_text_looks_everywhere() -> None:
    schema = {"properties": {"a": {"type": "string", "maxLength": 30}, "maxLength": {"type": "integer"}},
              "anyOf": [{"items": {"maxLength": 200}}]}
    assert longest_text(schema) == 200
    assert longest_text({"type": "object"}) == 0


@pytest.mark.parametrize(
    ("changes", "means"),
    [
        ({"model": "local/smollm2"}, "schema"),
        ({"model": "openai/own", "api_base": "http://127.0.0.1:1/v1"}, "schema"),
        ({"model": "hosted_vllm/own"}, "schema"),
        ({"model": "openai/gpt-4o-mini"}, "schema"),
        ({"model": "openai/gpt-4o-mini", "structured": "tool"}, "tool"),
        ({"model": "openai/gpt-3.5-turbo"}, "tool"),
        ({"model": "together_ai/nobody/knows-it"}, "text"),
    ],
)
def test_the_best_means_of_a_model(changes: dict[str, Any], means: str) -> None:
    assert best_means(ModelConfig(**changes)) == means
