"""The cost of the user side: what was billed stays, list and own GPUs apart, and nothing unknown is ever zero."""

from __future__ import annotations

import socket
from typing import Any

import pandas as pd
import pytest

from annotate.config import PriceConfig
from annotate.episodes import EPISODE_COLUMNS, EpisodeFrames
from annotate.schema import Conversation, Item, ToolCall, Turn
from simulate import pricing
from simulate.llm import litellm_transport
from simulate.pricing import estimate_tokens, price_episodes, price_of, token_counter

BY_TOKEN = PriceConfig(input_usd_per_million=1.0, output_usd_per_million=10.0, as_of="2026-11-01")
BY_HOUR = PriceConfig(gpu_hour_usd=2.10, gpus=2, conversations_per_hour=5400, as_of="2026-11-01")
NAN = float("nan")


def episodes(*rows: dict[str, Any]) -> EpisodeFrames:
    blank = {
        **dict.fromkeys(EPISODE_COLUMNS), "cost_usd": NAN, "cost_basis": "unknown", "list_cost_usd": NAN,
        "prompt_tokens": 1e6, "completion_tokens": 1e5, "tokens_estimated": False,
    }  # fmt: skip
    frame = pd.DataFrame([{**blank, **row} for row in rows], columns=EPISODE_COLUMNS)
    return EpisodeFrames(episodes=frame, verdicts=pd.DataFrame(), notes=("before",))


def priced(frames: EpisodeFrames, prices: dict[str, PriceConfig]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    found = price_episodes(frames, prices)
    assert found.episodes is not None and found.verdicts is frames.verdicts and found.notes[0] == "before"
    return found.episodes, found.notes[1:]


def test_every_basis_in_one_frame() -> None:
    given = episodes(
        {"proxy": "x/a", "cost_usd": 5.0, "cost_basis": "billed"}, {"proxy": "x/a"},
        {"proxy": "x/a", "tokens_estimated": True}, {"proxy": "x/a", "prompt_tokens": NAN},
        {"proxy": "own", "prompt_tokens": NAN}, {"proxy": "nobody/knows-it"}, {"proxy": "unknown"},
        {"proxy": "solo", "status": "not_scorable"},
    )  # fmt: skip
    found, notes = priced(given, {"x/a": BY_TOKEN, "own": BY_HOUR})
    assert list(found["cost_basis"]) == [
        "billed", "list", "estimated", "unknown", "self_hosted", "unknown", "unknown", "unknown",
    ]  # fmt: skip
    assert list(found["cost_usd"].fillna(-1).round(6)) == [5.0, 2.0, 2.0, -1, 0.000778, -1, -1, -1]
    assert list(found["list_cost_usd"].fillna(-1)) == [2.0, 2.0, 2.0, -1, -1, -1, -1, -1]
    assert [note.split(":")[0] for note in notes] == [
        "cost of nobody/knows-it is unknown in 1 of 1 rows", "cost of unknown is unknown in 1 of 1 rows",
        "cost of x/a is unknown in 1 of 4 rows",
    ]  # fmt: skip
    assert given.episodes is not None and given.episodes["cost_usd"].isna().sum() == 7, "the frame given is kept"


def test_results_without_episodes_are_priced_too() -> None:
    rows = pd.DataFrame(
        {"proxy": ["x/a", "b"], "domain": "d", "cost_usd": [NAN, 0.5], "cost_basis": ["unknown", "billed"],
         "prompt_tokens": [1e6, NAN], "completion_tokens": [0.0, NAN]}
    )  # fmt: skip
    found = price_episodes(EpisodeFrames(results=rows), {"x/a": BY_TOKEN}).results
    assert found is not None and "list_cost_usd" not in found
    assert list(found["cost_usd"]) == [1.0, 0.5] and list(found["cost_basis"]) == ["list", "billed"]


@pytest.mark.parametrize("name", ["gpt-4.1-2025-04-14", "openai/gpt-4.1-mini", "gpt-4.1-mini"])
def test_a_name_that_litellm_knows_has_its_price(name: str) -> None:
    found = price_of(name, {})
    assert found.name == name and found.rates is not None and 0 < found.rates.input_usd < found.rates.output_usd


def test_a_name_is_tried_behind_the_providers_prefixes(monkeypatch: pytest.MonkeyPatch) -> None:
    def entry(dollars: float) -> dict[str, float]:
        return {"input_cost_per_token": dollars, "output_cost_per_token": dollars * 4}

    table = litellm_transport.load_litellm().model_cost
    for name, dollars in {"xai/made-up-1": 1e-6, "azure_ai/made-up-1": 1e-6, "xai/made-up-2": 1e-6,
                          "groq/made-up-2": 2e-6, "groq/made-up-3": 0.0}.items():  # fmt: skip
        monkeypatch.setitem(table, name, entry(dollars))
    alike = price_of("made-up-1", {})
    assert alike.name == "azure_ai/made-up-1" and alike.rates is not None and alike.rates.input_usd == 1e-6
    differing = price_of("made-up-2", {})
    assert differing.rates is None and "groq/made-up-2, xai/made-up-2 ask different prices" in str(differing.reason)
    assert price_of("made-up-3", {}).rates is None, "zero in the table says nothing"
    assert price_of("made-up", {}).rates is None, "a similar name is no price"
    assert price_of("groq/made-up-1", {}).rates is None, "another provider's price is none"


def test_the_studys_price_comes_first_also_behind_a_prefix() -> None:
    assert price_of("gpt-4.1", {"gpt-4.1": BY_TOKEN}).rates == price_of("gpt-4.1", {"openai/gpt-4.1": BY_TOKEN}).rates
    own = price_of("m", {"hosted_vllm/m": BY_HOUR})
    assert own.rates is None and own.usd_per_conversation == pytest.approx(0.00078, abs=5e-6)
    both = price_of("m", {"hosted_vllm/m": BY_HOUR, "openai/m": BY_TOKEN})
    assert both.rates is None and both.usd_per_conversation is None and "hosted_vllm/m and openai/m" in str(both.reason)


def test_a_proxy_of_another_name_or_implementation_is_priced_as_its_model() -> None:
    given = episodes({"proxy": "our user"}, {"proxy": "x/a (voice_user)"})
    found, notes = priced(given, {"x/a": BY_TOKEN})
    assert list(found["cost_usd"].fillna(-1)) == [-1, 2.0] and "the price of x/a is taken" in notes[1]
    found = price_episodes(given, {"x/a": BY_TOKEN}, models={"our user": "x/a"}).episodes
    assert found is not None and list(found["cost_usd"]) == [2.0, 2.0]


@pytest.mark.parametrize("name", ["local/smollm2", "unknown", "", "Gemma-31B"])
def test_no_price_is_unknown_with_a_reason_and_not_free(name: str) -> None:
    found = price_of(name, {})
    assert found.rates is None and found.usd_per_conversation is None and found.reason


# Tokens


def by_letters(model: str) -> tuple[Any, str]:
    return len, "letters"


ITEM = Item(id="i", task="t", key="k", private={"blueprint": {"text": "x" * 94}})  # "text: " before it: 100
CONFIG = {"user": {"model": "m"}, "guidelines": {"text": "g" * 99, "kind": "without_tools"}}


def talk(*turns: Turn) -> Conversation:
    return Conversation(
        id="c", task="t", item="i", participant="s", assistant="a", origin="simulated", turns=turns, tags={"proxy": "m"}
    )


def test_each_call_reads_what_the_user_saw_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pricing, "token_counter", by_letters)
    conversation = talk(
        Turn(position=0, role="system", text="y" * 5000, seen_by="assistant"),
        Turn(position=1, role="assistant", text="a" * 10),
        Turn(position=2, role="user", text="u" * 7),
        Turn(position=3, role="assistant", text="", tool_calls=(ToolCall(name="n" * 500),), seen_by="assistant"),
        Turn(position=4, role="tool", text="z" * 5000, seen_by="assistant"),
        Turn(position=5, role="assistant", text="b" * 20),
        Turn(position=6, role="user", text="", private="p" * 3, tool_calls=(ToolCall(name="call"),), seen_by="user"),
        Turn(position=7, role="tool", text="r" * 11, seen_by="user"),
        Turn(position=8, role="user", text="v" * 5),
    )
    standing = 99 + 1 + 100 + 4
    first = standing + 10 + 4
    second = first + 7 + 4 + 20 + 4
    wrote = len("ppp\ncall {}")
    third = second + wrote + 4 + 11 + 4
    assert estimate_tokens(conversation, ITEM, CONFIG) == (first + second + third, 7 + wrote + 5)


def test_what_is_mostly_unknown_is_not_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pricing, "token_counter", by_letters)
    hello, told = talk(Turn(position=0, role="user", text="hello")), {"text": "g" * 6, "kind": "with_tools"}
    assert estimate_tokens(hello, ITEM, {}) is None
    assert estimate_tokens(hello, ITEM, {"guidelines": {"text": None, "kind": "unknown"}}) is None
    assert estimate_tokens(hello, None, {"guidelines": told}) is None, "tools that it has and that are not known"
    assert estimate_tokens(hello, None, {"guidelines": told, "user_tools": ["name"]}) is None, "their names are not all"
    tools = [{"name": "t"}]
    assert estimate_tokens(hello, None, {"guidelines": told, "user_tools": tools}) == (6 + 1 + 15 + 4, 5)
    assert estimate_tokens(hello, None, {"guidelines": {**told, "kind": "without_tools"}}) == (10, 5)


@pytest.mark.parametrize(
    "model",
    ["gpt-4.1", "claude-opus-4-6", "meta-llama/llama-3.3-70b", "llama-2-7b", "xai/grok-4", "qwen3-32b", "unknown"],
)
def test_counting_never_reaches_for_the_network(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    token_counter.cache_clear()
    count, name = token_counter(model)
    assert 5 <= count("Hello there, how are you? <|endoftext|>") <= 30 and "litellm" in name
    assert count("lone \ud800") > 0


def test_without_a_tokenizer_bytes_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("CUSTOM_TIKTOKEN_CACHE_DIR", str(tmp_path))
    token_counter.cache_clear()
    count, name = token_counter("gpt-4.1")
    token_counter.cache_clear()
    assert name == "bytes / 3" and count("字字") == 2 and count("") == 0
