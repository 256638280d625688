"""The gateway through litellm against a server on this machine: what goes over the wire, and how faults come back."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from annotate.config import ModelConfig
from simulate.llm import CallFailed, Gateway, MemoryLedger, Request
from simulate.llm.litellm_transport import load_litellm

pytestmark = pytest.mark.filterwarnings("ignore:.*ReadOnly", "ignore:Accessing the 'model_")
CANARY = "canary-Zq7XvT9pLm3KdW5s"
ROOT = Path(__file__).resolve().parents[2]


class Server:
    """An OpenAI-shaped server that does what the last message says."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[str] = []
        self.faults_left = 0
        self.connections = 0
        self.port = 0

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = next(
                    int(h.split(":")[1]) for h in head.split("\r\n") if h.lower().startswith("content-length:")
                )
                body = json.loads(await reader.readexactly(length))
                self.requests.append(body)
                self.headers.append(head.lower())
                await self.answer(writer, body)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.connections -= 1
            writer.close()

    async def answer(self, writer: asyncio.StreamWriter, body: dict[str, Any]) -> None:
        word = body["messages"][-1]["content"].split()[0]
        if word == "slow":
            await asyncio.sleep(5)
        if word == "hang-up":
            writer.close()
            return
        if body.get("stream"):
            await self.stream(writer, with_usage=word == "counted")
            return
        status, extra, reply = 200, "", _reply(word)
        if word.isdigit() and self.faults_left:
            self.faults_left -= 1
            status, extra = int(word), "Retry-After: 0\r\n"
            reply = {"error": {"message": f"fault {word}, key {CANARY}", "type": "fault", "code": word}}
        elif word == "temperature":
            status = 400
            reply = {"error": {"message": "Unsupported value: 'temperature' does not support 0.3 with this model."}}
        data = b"<html>busy</html>" if word == "html" else json.dumps(reply).encode()
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{extra}Content-Length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)
        await writer.drain()

    async def stream(self, writer: asyncio.StreamWriter, with_usage: bool) -> None:
        writer.write(b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        base = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        for delta, reason in (({"content": "he"}, None), ({"content": "llo"}, None), ({}, "stop")):
            chunk = {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
            writer.write(f"data: {json.dumps(chunk)}\n\n".encode())
        if with_usage:
            usage = {"prompt_tokens": 77, "completion_tokens": 2, "total_tokens": 79}
            writer.write(f"data: {json.dumps({**base, 'choices': [], 'usage': usage})}\n\n".encode())
        writer.write(b"data: [DONE]\n\n")
        await writer.drain()
        writer.close()


def _reply(word: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": "hello"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 10,
        "total_tokens": 1010,
        "prompt_tokens_details": {"cached_tokens": 400},
    }
    reply = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    if word == "uncounted":
        del reply["usage"]
    elif word == "filtered":
        message["content"], choice["finish_reason"] = "", "content_filter"
    elif word == "cut":
        choice["finish_reason"] = "length"
    elif word == "empty":
        message["content"] = ""
    elif word == "json":
        message["content"] = '{"n": 7}'
    elif word == "call":
        function = {"name": "reply", "arguments": '{"n": 7}'}
        message.update(content=None, tool_calls=[{"id": "t", "type": "function", "function": function}])
        choice["finish_reason"] = "tool_calls"
    return reply


@asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    server = Server()
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()


def question(server: Server, text: str, **changes: Any) -> Request:
    fields = {k: changes.pop(k) for k in ("reply_schema", "max_tokens") if k in changes}
    model = ModelConfig(
        **{"model": "openai/own-model", "api_base": server.base, "retries": 1, "timeout_seconds": 20, **changes}
    )
    return Request("own", model, ({"role": "user", "content": text},), purpose="test", **fields)


def run(body: Callable[[Server, Gateway], Any]) -> Any:
    async def inside() -> Any:
        async with serving() as server, Gateway(MemoryLedger(), prices={}, backoff_seconds=0.001) as gateway:
            return await body(server, gateway)

    return asyncio.run(inside())


async def failed(gateway: Gateway, request: Request) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        await gateway.ask(request)
    return caught.value


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_what_goes_over_the_wire() -> None:
    async def body(server: Server, gateway: Gateway) -> None:
        reply = await gateway.ask(question(server, "hi", temperature=0.3, seed=5, max_tokens=17))
        assert reply.text == "hello"
        sent = {"model": "own-model", "messages": [{"role": "user", "content": "hi"}], "temperature": 0.3, "seed": 5}
        assert server.requests == [{**sent, "max_tokens": 17}]
        usage = reply.call.usage
        assert usage is not None and (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens) == (
            1000,
            400,
            10,
        )

    run(body)


def test_structured_replies_by_each_means() -> None:
    async def body(server: Server, gateway: Gateway) -> None:
        for word, structured, means in (("json", "auto", "schema"), ("call", "tool", "tool"), ("json", "text", "text")):
            reply = await gateway.ask(question(server, word, structured=structured, reply_schema=SCHEMA))
            assert (reply.parsed, reply.call.structured_by) == ({"n": 7}, means)
        by_schema, by_tool, by_text = server.requests
        assert by_schema["response_format"]["json_schema"] == {"name": "reply", "schema": SCHEMA, "strict": True}
        assert by_tool["tools"][0]["function"]["parameters"] == SCHEMA and "response_format" not in by_tool
        assert json.dumps(SCHEMA) in by_text["messages"][0]["content"] and "tools" not in by_text

    run(body)


@pytest.mark.parametrize(
    ("word", "kind", "sends"),
    [
        ("400", "refused", 1),
        ("401", "authentication", 1),
        ("403", "authentication", 1),
        ("404", "no_such_model", 1),
        ("408", "timeout", 2),
        ("429", "rate_limit", 2),
        ("500", "server", 2),
        ("503", "server", 2),
        ("html", "server", 2),
        ("hang-up", "connection", 2),
        ("temperature", "refused_setting", 1),
        ("filtered", "filtered", 1),
        ("cut", "length", 1),
        ("empty", "empty", 1),
    ],
)
def test_faults_by_kind_and_how_often_they_are_sent(word: str, kind: str, sends: int) -> None:
    async def body(server: Server, gateway: Gateway) -> None:
        server.faults_left = 9
        error = await failed(gateway, question(server, word, temperature=0.3))
        assert (error.kind, error.call.attempts, len(server.requests)) == (kind, sends, sends)
        assert error.call.failure == kind

    run(body)


def test_a_passing_fault_is_mended_by_a_second_attempt() -> None:
    async def body(server: Server, gateway: Gateway) -> None:
        server.faults_left = 1
        reply = await gateway.ask(question(server, "429"))
        assert (reply.text, reply.call.attempts, len(server.requests)) == ("hello", 2, 2)

    run(body)


def test_a_slow_server_times_out_and_a_closed_port_is_no_connection() -> None:
    async def body(server: Server, gateway: Gateway) -> None:
        slow = await failed(gateway, question(server, "slow", timeout_seconds=0.3, retries=0))
        assert slow.kind == "timeout"
        closed = await failed(gateway, question(server, "hi", api_base="http://127.0.0.1:9/v1", retries=0))
        assert closed.kind == "connection"

    run(body)


def test_missing_token_counts_stay_missing_also_when_streamed() -> None:
    async def body(server: Server, gateway: Gateway) -> None:
        told: list[str] = []
        assert (await gateway.ask(question(server, "uncounted"))).call.usage is None
        assert (await gateway.ask(question(server, "streamed"), told.append)).call.usage is None
        counted = (await gateway.ask(question(server, "counted"), told.append)).call.usage
        assert counted is not None and counted.prompt_tokens == 77
        assert told == ["he", "llo", "he", "llo"]

    run(body)


def test_a_second_gateway_works_after_the_first_was_closed() -> None:
    async def inside() -> None:
        async with serving() as server:
            for text in ("one", "two"):
                async with Gateway(MemoryLedger(), prices={}) as gateway:
                    assert (await gateway.ask(question(server, text))).text == "hello"
                    assert server.connections == 1
                for _ in range(100):
                    await asyncio.sleep(0.02 if server.connections else 0)
                assert server.connections == 0

    asyncio.run(inside())


def test_the_event_loop_goes_on_while_litellm_is_imported(tmp_path: Path) -> None:
    """A worker that beats every second must not miss a beat because the first call imports litellm."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(f"""
        import asyncio, importlib.util, sys, time
        spec = importlib.util.spec_from_file_location("served", {str(Path(__file__))!r})
        served = importlib.util.module_from_spec(spec); sys.modules["served"] = served; spec.loader.exec_module(served)
        from simulate.llm.litellm_transport import litellm_is_loaded
        assert "litellm" not in sys.modules
        beats = []

        async def beat():
            while not litellm_is_loaded():
                beats.append(time.monotonic())
                await asyncio.sleep(0.01)

        async def body(server, gateway):
            beating = asyncio.create_task(beat())
            await asyncio.gather(*(gateway.ask(served.question(server, f"hi {{i}}")) for i in range(20)))
            await beating

        served.run(body)
        print(len(beats))
    """))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 20, "seconds of import, and hardly a beat"


def test_the_key_from_the_environment_reaches_the_server_and_no_record(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    caplog.set_level(logging.DEBUG)

    async def body(server: Server, gateway: Gateway) -> None:
        server.faults_left = 99
        for word in ("hi", "400", "401", "429", "500"):
            result = (await asyncio.gather(gateway.ask(question(server, word)), return_exceptions=True))[0]
            assert CANARY not in repr(result) and CANARY not in str(result)
        assert CANARY.lower() in server.headers[0]
        ledger = gateway.ledger
        assert isinstance(ledger, MemoryLedger) and len(ledger.calls) == 5
        assert CANARY not in "".join(call.model_dump_json() for call in ledger.calls)
        assert "[redacted]" in (ledger.calls[1].failure_message or "")

    run(body)
    ours = [r for r in caplog.records if r.name.startswith(("simulate", "annotate", "usercal"))]
    assert CANARY not in "".join(record.getMessage() for record in ours)
    out, err = capfd.readouterr()
    assert CANARY not in out + err


def test_no_global_setting_of_litellm_is_touched() -> None:
    litellm = load_litellm()
    names = [
        "drop_params",
        "modify_params",
        "num_retries",
        "suppress_debug_info",
        "set_verbose",
        "callbacks",
        "success_callback",
        "failure_callback",
        "cache",
        "api_key",
        "openai_key",
        "api_base",
        "request_timeout",
        "turn_off_message_logging",
    ]
    before = {name: repr(getattr(litellm, name, None)) for name in names}

    async def body(server: Server, gateway: Gateway) -> None:
        server.faults_left = 9
        await gateway.ask(question(server, "hi"))
        await failed(gateway, question(server, "400"))

    run(body)
    assert {name: repr(getattr(litellm, name, None)) for name in names} == before


def test_a_whole_process_prints_nothing_of_its_own_and_leaves_nothing_open(tmp_path: Path) -> None:
    """Failing, streamed, cancelled and closed calls: no word on either stream, no warning of unclosed sessions."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(f"""
        import asyncio, importlib.util, sys
        spec = importlib.util.spec_from_file_location("served", {str(Path(__file__))!r})
        served = importlib.util.module_from_spec(spec); sys.modules["served"] = served; spec.loader.exec_module(served)

        async def body(server, gateway):
            server.faults_left = 9
            for word in ("400", "500", "404"):
                await served.failed(gateway, served.question(server, word))
            await gateway.ask(served.question(server, "streamed"), lambda text: None)
            tasks = [asyncio.create_task(gateway.ask(served.question(server, f"slow {{i}}"))) for i in range(40)]
            await asyncio.sleep(0.02)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            print("mine")

        served.run(body)
    """)
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "default::ResourceWarning"}
    environment.pop("OPENAI_API_KEY", None)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "mine\n"
    noise = [
        line for line in done.stderr.splitlines() if "nclosed" in line or "never awaited" in line or "LiteLLM" in line
    ]
    assert not noise, done.stderr
