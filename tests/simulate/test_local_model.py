"""The embedded model itself: what the server counts, holds, repeats and keeps to itself."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from annotate.errors import ModelError
from simulate.local import MODEL, LocalServer, json_grammar, measure, pull

pytestmark = pytest.mark.local_model


@pytest.fixture(scope="module")
def smollm() -> Iterator[LocalServer]:
    """The embedded model, served; weights are pulled where they are not here."""
    pytest.importorskip("xllamacpp", reason="the extra 'local' is not installed")
    try:
        pull(MODEL.name)
    except ModelError as error:
        pytest.skip(str(error))
    with LocalServer.start(MODEL.name, threads=1) as running:
        yield running


def user(text: str) -> list[dict[str, str]]:
    """A prompt of one message, with a system message."""
    return [{"role": "system", "content": "You are a student."}, {"role": "user", "content": text}]


def ask(running: LocalServer, messages: list[dict[str, str]], **settings: Any) -> dict[str, Any]:
    """Ask for a short reply at temperature 0."""
    return running.post("/chat/completions", {"messages": messages, "max_tokens": 12, "temperature": 0, **settings})


def text_of(reply: dict[str, Any]) -> str:
    """Return the text of a reply."""
    return str(reply["choices"][0]["message"]["content"])


def test_prompts_are_counted_as_the_server_bills_them(smollm: LocalServer) -> None:
    prompts = (user("What is 3/4?"), [*user("é" * 40), *user("again")], [{"role": "user", "content": "no system"}])
    for messages in prompts:
        counted = smollm.count_prompt_tokens(messages)
        assert counted == ask(smollm, messages, max_tokens=1)["usage"]["prompt_tokens"]
    assert smollm.count_prompt_tokens(user("word " * 9000)) > MODEL.n_ctx
    with pytest.raises(ModelError, match="exceeds the available context size"):
        ask(smollm, user("word " * 9000))


def test_the_chat_template_keeps_roles_apart(smollm: LocalServer) -> None:
    def prompt(messages: list[dict[str, str]]) -> str:
        root = smollm.base_url.removesuffix("/v1").removeprefix("http://")
        connection = http.client.HTTPConnection(root)
        headers = {"Authorization": f"Bearer {smollm.api_key}", "Content-Type": "application/json"}
        connection.request("POST", "/apply-template", json.dumps({"messages": messages}), headers)
        return str(json.load(connection.getresponse())["prompt"])

    turn = "<|im_start|>{}\n{}<|im_end|>\n".format
    ready = "<|im_start|>assistant\n"
    assert prompt(user("a")) == turn("system", "You are a student.") + turn("user", "a") + ready
    twice = prompt([*user("a"), {"role": "user", "content": "b"}])
    assert twice.endswith(turn("user", "a") + turn("user", "b") + ready)
    last = prompt([*user("a"), {"role": "assistant", "content": "b"}])
    assert last.endswith(ready + "b"), "a last reply is continued"
    assert "named SmolLM" in prompt([{"role": "user", "content": "a"}]), "its own system message where none is given"


def test_a_grammar_holds_what_response_format_does_not(smollm: LocalServer) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "share": {"type": "number", "minimum": 0, "maximum": 1},
            "tens": {"type": "integer", "minimum": 20, "maximum": 90, "multipleOf": 10},
            "level": {"enum": ["low", "high"]},
            "why": {"type": "string", "minLength": 5, "maxLength": 20},
            "who": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/who"}]},
        },
        "required": ["share", "tens", "level", "why", "who"],
        "additionalProperties": False,
        "$defs": {"who": {"type": "array", "items": {"const": "me"}, "minItems": 1, "maxItems": 2}},
    }
    for seed in range(4):
        reply = ask(smollm, user("Rate it."), grammar=json_grammar(schema), temperature=1.2, seed=seed, max_tokens=80)
        value = json.loads(text_of(reply))
        assert list(value) == list(schema["properties"]), "all of it, in order"
        assert 0 <= value["share"] <= 1
        assert value["tens"] % 10 == 0 and 20 <= value["tens"] <= 90
        assert value["level"] in ("low", "high") and 5 <= len(value["why"]) <= 20
        assert value["who"] in (None, ["me"], ["me", "me"])
        assert reply["choices"][0]["finish_reason"] == "stop"
        assert "\n" not in text_of(reply)


def test_a_reply_that_is_cut_off_says_so_and_logprobs_come_along(smollm: LocalServer) -> None:
    reply = ask(smollm, user("Tell me a long story."), max_tokens=4, logprobs=True, top_logprobs=2)["choices"][0]
    assert reply["finish_reason"] == "length"
    assert len(reply["logprobs"]["content"]) == 4
    assert all(len(token["top_logprobs"]) == 2 and token["logprob"] <= 0 for token in reply["logprobs"]["content"])


def test_a_streamed_reply_is_the_whole_reply_with_its_usage(smollm: LocalServer) -> None:
    messages = user("Why is the sky blue?")
    settings = {"max_tokens": 12, "temperature": 0, "cache_prompt": False}
    body = {"messages": messages, "stream": True, "stream_options": {"include_usage": True}, **settings}
    connection = http.client.HTTPConnection(smollm.base_url.split("/")[2])
    headers = {"Authorization": f"Bearer {smollm.api_key}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
    lines = connection.getresponse().read().decode().split("\n\n")
    assert lines[-2] == "data: [DONE]"
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]
    streamed = "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])
    whole = ask(smollm, messages, cache_prompt=False)
    assert streamed == text_of(whole)
    assert chunks[-1]["usage"]["completion_tokens"] == whole["usage"]["completion_tokens"] == 12


def test_replies_repeat_on_another_server_with_other_threads_and_neighbours(smollm: LocalServer) -> None:
    """With `cache_prompt` off, log probabilities are equal to the last bit; flash attention shows above 512 tokens."""
    prompts = [user("Why is the sky blue?"), user("Which numbers are odd? " + " ".join(map(str, range(143))))]
    settings = {"cache_prompt": False, "temperature": 0.8, "seed": 5, "logprobs": True, "max_tokens": 6}
    before = [ask(smollm, prompt, **settings)["choices"] for prompt in prompts]
    after: dict[int, Any] = {}
    with LocalServer.start(MODEL.name, slots=2, threads=2) as other:

        def work(number: int) -> None:
            after[number] = ask(other, prompts[number], **settings)["choices"]

        threads = [threading.Thread(target=work, args=(number,)) for number in (1, 0)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [after[0], after[1]] == before
    assert ask(smollm, prompts[0], **{**settings, "seed": 6})["choices"] != before[0], "the seed matters"


def test_nothing_is_told_without_the_key(smollm: LocalServer) -> None:
    for path in ("/v1/models", "/props", "/slots", "/metrics"):
        connection = http.client.HTTPConnection(smollm.base_url.split("/")[2])
        connection.request("GET", path)
        assert connection.getresponse().status == 401, path


def test_the_speed_is_measured_on_what_was_really_read(smollm: LocalServer) -> None:
    for _ in range(2):
        speed = measure(smollm, prompt_tokens=60, reply_tokens=8)
        assert abs(speed.prompt_tokens - 60) <= 5, "nothing from the cache"
        assert speed.reply_tokens == 8
        assert speed.read_tokens_per_second > 1 and speed.write_tokens_per_second > 1
