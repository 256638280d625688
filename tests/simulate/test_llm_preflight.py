"""Before anything is paid: one sentence for a model that cannot be used as configured, and silence for one that can."""

from __future__ import annotations

import re
from typing import Any

import pytest

from annotate.config import ModelConfig
from annotate.errors import ModelError
from annotate.schema import Call
from simulate.llm import CallFailed, as_model_error, preflight

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "AZURE_API_KEY", "AZURE_API_BASE",
        "AZURE_API_VERSION", "OLLAMA_API_BASE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in KEYS[:4]:
        monkeypatch.setenv(key, "a-key-for-tests-only")


def refused(**changes: Any) -> str:
    with pytest.raises(ModelError) as caught:
        preflight({"judge": ModelConfig(**changes)})
    return str(caught.value)


@pytest.mark.usefixtures("keys")
def test_the_sentence_for_a_refused_setting() -> None:
    assert refused(model="openai/gpt-5", temperature=0.0) == (
        "Model 'openai/gpt-5' refuses temperature 0.0: set temperature = \"default\" for it in study.toml "
        "([models.judge]), or choose another; nothing was sent or paid."
    )


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize(
    ("changes", "setting"),
    [
        ({"model": "openai/o3", "temperature": 0.0}, "temperature 0.0"),
        ({"model": "openai/gpt-5-mini", "top_p": 0.9}, "top_p 0.9"),
        ({"model": "anthropic/claude-sonnet-4-5", "seed": 3}, "seed 3"),
        ({"model": "anthropic/claude-opus-4-7", "temperature": 0.5}, "temperature 0.5"),
        ({"model": "openai/gpt-5.1", "temperature": 0.0, "params": {"reasoning_effort": "high"}}, "temperature 0.0"),
        ({"model": "anthropic/claude-opus-4-1-20250805", "temperature": 0.5, "top_p": 0.9}, "together with top_p 0.9"),
        ({"model": "openrouter/anthropic/claude-sonnet-4.5", "temperature": 0.5, "top_p": 0.9}, "together with top_p"),
        ({"model": "bedrock/anthropic.claude-haiku-4-5-20251001-v1:0", "temperature": 0, "top_p": 1}, "together with"),
    ],
)
def test_settings_that_models_refuse(changes: dict[str, Any], setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "a-key-for-tests-only")
    sentence = refused(**changes)
    assert setting in sentence and '"default"' in sentence and sentence.endswith("nothing was sent or paid.")
    assert "\n" not in sentence and "drop_params" not in sentence


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize(
    "changes",
    [
        {"model": "openai/gpt-5"},
        {"model": "openai/gpt-5", "temperature": 1},
        {"model": "openai/gpt-5.1", "temperature": 0.0},
        {"model": "openai/gpt-4o-mini", "temperature": 0.0, "top_p": 0.5, "seed": 1},
        {"model": "anthropic/claude-sonnet-4-20250514", "temperature": 0.5, "top_p": 0.9},
        {"model": "anthropic/claude-opus-4-20250514", "temperature": 0.5, "top_p": 0.9},
        {"model": "gemini/gemini-2.5-flash", "temperature": 0.0, "seed": 4},
        {"model": "bedrock/anthropic.claude-3-haiku-20240307-v1:0"},
    ],
)
def test_models_that_take_what_they_are_given(changes: dict[str, Any], capfd: pytest.CaptureFixture[str]) -> None:
    preflight({"judge": ModelConfig(**changes)})
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("model", "named"),
    [
        ("openai/gpt-4o", "OPENAI_API_KEY"),
        ("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("gemini/gemini-2.5-flash", "GOOGLE_API_KEY or GEMINI_API_KEY"),
        ("azure/my-deployment", "AZURE_API_BASE, AZURE_API_VERSION and AZURE_API_KEY"),
    ],
)
def test_a_missing_key_is_named(model: str, named: str) -> None:
    sentence = refused(model=model)
    assert f"needs {named} in the environment" in sentence and "[models.judge]" in sentence


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "local/smollm2", "temperature": 0.0, "seed": 1},
        {"model": "openai/own", "api_base": "http://127.0.0.1:8000/v1"},
        {"model": "hosted_vllm/Qwen/Qwen3-32B", "api_base": "http://127.0.0.1:8000/v1", "seed": 1},
        {"model": "ollama/llama3"},
    ],
)
def test_servers_of_ones_own_need_no_key(changes: dict[str, Any]) -> None:
    preflight({"user": ModelConfig(**changes)})


def test_an_unknown_provider_and_a_forbidden_parameter(capfd: pytest.CaptureFixture[str]) -> None:
    assert "names no provider" in refused(model="nonsense/foo")
    sentence = refused(model="openai/x", params={"drop_params": True})
    assert re.search(r"\[models\.judge\] params: 'drop_params'", sentence)
    assert capfd.readouterr().out == "", "litellm prints a list of providers"


def test_nothing_is_imported_for_an_embedded_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise AssertionError("litellm was imported")

    monkeypatch.setattr("simulate.llm.litellm_transport.load_litellm", fail)
    preflight({"user": ModelConfig(model="local/smollm2")})


@pytest.mark.parametrize(
    ("kind", "message", "words"),
    [
        ("refused_setting", "Unsupported value: 'temperature' does not support 0.3", "refuses temperature 0.3: set"),
        ("refused_setting", "this model does not support tools", "refuses tools"),
        ("authentication", "Incorrect API key", "check the key"),
        ("no_such_model", "The model does not exist.", "check the name in [models.judge]"),
        ("budget", "insufficient_quota", "top up the account"),
        ("timeout", "no reply", None),
        ("unparsable", "no JSON", None),
    ],
)
def test_failures_that_doom_every_further_call(kind: Any, message: str, words: str | None) -> None:
    call = Call(id="c", key="k", model="openai/m", purpose="p", request={})
    model = ModelConfig(model="openai/m", temperature=0.3)
    error = as_model_error(CallFailed(kind, message, False, call), "judge", model)
    assert error is None if words is None else words in str(error)
