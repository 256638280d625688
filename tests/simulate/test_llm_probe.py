"""The probe: at most four calls, whatever the model can do, and a section of TOML that says so."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Callable
from typing import Any

import pytest

from annotate.config import ModelConfig
from simulate.llm import ProbeResult, probe

JSON = '{"word": "yes", "number": 7}'
OWN = {"model": "openai/own", "api_base": "http://127.0.0.1:1/v1"}


class HttpError(Exception):
    def __init__(self, message: str, status_code: int = 400) -> None:
        super().__init__(message)
        self.status_code = status_code


class Model:
    """A model behind a transport: `refuses` names parts of a payload that it turns down."""

    def __init__(
        self, refuses: tuple[str, ...] = (), text: str = JSON, usage: bool = True, streams: bool = True
    ) -> None:
        self.refuses, self.text, self.usage, self.streams = refuses, text, usage, streams
        self.sent: list[dict[str, Any]] = []

    async def send(self, payload: dict[str, Any]) -> dict[str, Any]:
        self.sent.append(payload)
        for name in self.refuses:
            if name in payload:
                raise HttpError(f"Unsupported parameter: '{name}' is not supported with this model.")
        message: dict[str, Any] = {"content": self.text}
        if "tools" in payload:
            message = {"content": None, "tool_calls": [{"function": {"name": "reply", "arguments": JSON}}]}
        elif "response_format" in payload:
            message = {"content": JSON}
        usage = {"prompt_tokens": 9, "completion_tokens": 9} if self.usage else None
        return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}

    async def stream(self, payload: dict[str, Any]) -> Any:
        self.sent.append(payload)
        if not self.streams:
            raise HttpError("streaming is not supported", 400)
        yield {"choices": [{"delta": {"content": "yes"}, "finish_reason": "stop"}]}


def run(model: Model, **changes: Any) -> ProbeResult:
    result = asyncio.run(probe("judge", ModelConfig(**{**OWN, **changes}), model))
    assert len(model.sent) <= 4
    assert len({step.call.id for step in result.steps if step.call is not None}) <= len(model.sent)
    return result


def section(result: ProbeResult) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(result.toml)["models"][result.model_name]
    assert ModelConfig(**found) == result.model, "what is pasted is what was tried"
    return found


def test_a_model_that_can_everything_takes_three_calls() -> None:
    model = Model()
    result = run(model, temperature=0.0)
    assert (result.answers, result.structured, result.streams, result.counts_tokens) == (True, "schema", True, True)
    assert len(model.sent) == 3 and all(step.works for step in result.steps)
    assert section(result) == {**OWN, "temperature": 0.0, "structured": "schema"}


@pytest.mark.parametrize(
    ("model", "structured", "streams", "calls"),
    [
        (Model(refuses=("response_format",)), "tool", True, 4),
        (Model(refuses=("response_format", "tools")), "text", True, 4),
        (Model(refuses=("response_format", "tools"), text="Yes, seven!"), None, True, 4),
        (Model(streams=False), "schema", False, 3),
    ],
)
def test_what_is_missing_falls_back(model: Model, structured: str | None, streams: bool, calls: int) -> None:
    result = run(model)
    assert (result.structured, result.streams, len(model.sent)) == (structured, streams, calls)
    assert section(result).get("structured") == structured


def test_a_refused_setting_is_left_out_and_advised() -> None:
    result = run(Model(refuses=("temperature",)), temperature=0.0, seed=4)
    assert result.refused == ("temperature",) and result.answers and result.structured == "schema"
    assert section(result) == {**OWN, "seed": 4, "structured": "schema"}, "the default is not written"


def test_missing_token_counts_are_said() -> None:
    result = run(Model(usage=False))
    step = next(step for step in result.steps if step.name == "token counts")
    assert not result.counts_tokens and not step.works and "unknown" in step.detail
    assert result.cost_usd is None


@pytest.mark.parametrize("status", [401, 404, 500])
def test_a_model_that_does_not_answer_is_asked_once(status: int) -> None:
    class Dead(Model):
        async def send(self, payload: dict[str, Any]) -> dict[str, Any]:
            self.sent.append(payload)
            raise HttpError("no", status)

    model = Dead()
    result = run(model)
    assert not result.answers and len(model.sent) == 1
    assert [step.works for step in result.steps] == [False]


def test_a_transport_that_cannot_stream_is_not_tried() -> None:
    class Plain:
        send: Callable[..., Any] = Model().send

    result = asyncio.run(probe("judge", ModelConfig(**OWN), Plain()))
    assert not result.streams and result.steps[-2].detail == "not tried"


def test_awkward_values_survive_the_toml() -> None:
    params = {"extra_body": {"top_k": 4, "a b": [1.5, True, 'q"\\'], "é": "😀\x7f\n"}}
    result = run(Model(), params=params, timeout_seconds=5.5)
    assert section(result)["params"] == params
    odd = asyncio.run(probe("my.judge", ModelConfig(**OWN), Model()))
    assert "my.judge" in tomllib.loads(odd.toml)["models"]
