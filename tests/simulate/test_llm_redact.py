"""Secrets: hidden by value where the environment names them, by shape everywhere else, and only there."""

from __future__ import annotations

import pytest

from simulate.llm.faults import short
from simulate.llm.redact import HIDDEN, environment_secrets, redact, redact_tree


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcDEF1234567890", "sk-ant-api03-AAAA_bbbb-CCCC", "sk-ab**********cd", "gsk_0123456789abcdefABCDEF",
        "hf_abcdefghijklmnopqrst", "AIzaSyA1234567890abcdefghijklmnop", "AKIAIOSFODNN7EXAMPLE",
        "xai-0123456789abcdefghij",
        "ghp_0123456789abcdefghij0123", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc",
    ],
)
def test_what_looks_like_a_key_is_hidden(secret: str) -> None:
    message = f"Incorrect API key provided: {secret}. You can find it in the console."
    assert secret not in redact(message) and HIDDEN in redact(message)


@pytest.mark.parametrize(
    "message",
    [
        "Authorization: Bearer 0a1b2c3d4e5f6a7b", "api_key=0a1b2c3d4e5f", 'headers {"api-key": "0a1b2c3d4e5f"}',
        "connect to https://user:0a1b2c3d4e5f@example.org/v1 failed", "password = 0a1b2c3d4e5f",
    ],
)
def test_what_is_named_a_secret_is_hidden(message: str) -> None:
    assert "0a1b2c3d4e5f" not in redact(message)


def test_values_of_secret_variables_are_hidden_whatever_they_look_like(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_PROVIDER_API_KEY", "plain words as a key")
    monkeypatch.setenv("MONKEY_BUSINESS", "bananas for everybody")
    monkeypatch.setenv("SHORT_TOKEN", "abc")
    assert "plain words as a key" in environment_secrets() and "abc" not in environment_secrets()
    hidden = redact("the key plain words as a key is wrong, bananas for everybody, abc")
    assert hidden == f"the key {HIDDEN} is wrong, bananas for everybody, abc"


@pytest.mark.parametrize(
    "harmless",
    [
        "Unsupported value: 'temperature' does not support 0.0 with this model.",
        "basic algebra and token counts",
        "max_tokens: 4096 > 2048", "the secret of success is practice", "risk-free and task-oriented",
    ],
)
def test_ordinary_sentences_stay(harmless: str) -> None:
    assert redact(harmless) == harmless


def test_settings_are_hidden_by_field_and_by_shape() -> None:
    tree = {"extra_headers": {"Authorization": "x", "X-Team": "a"}, "list": ["sk-abcdefgh1234"], "top_k": 4}
    assert redact_tree(tree, []) == {
        "extra_headers": {"Authorization": HIDDEN, "X-Team": "a"}, "list": [HIDDEN], "top_k": 4
    }


def test_messages_for_records_are_one_short_line() -> None:
    assert short("a\n  b\tc") == "a b c"
    assert len(short("x" * 5000)) == 500
