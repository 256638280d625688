"""Ledgers: only good calls are found, recordings are read and never written, a recorded hit lands in the store."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path
from typing import Any

import pytest

from annotate.config import ModelConfig
from annotate.errors import InputError, StoreError
from annotate.schema import Call
from simulate.llm import Gateway, LayeredLedger, MemoryLedger, RecordedLedger, Reply, Request, write_recording


def call(key: str = "k1", **changes: Any) -> Call:
    values: dict[str, Any] = {
        "id": f"call_{key}", "key": key, "model": "local/smollm2", "purpose": "user", "request": {}, "reply": "hello",
        "cost_usd": 0.25, "cost_basis": "study", **changes,
    }
    return Call(**values)


def test_a_failed_call_is_kept_and_not_found() -> None:
    ledger = MemoryLedger()
    ledger.record(call(failure="length"))
    assert ledger.find("k1") is None and len(ledger.calls) == 1
    ledger.record(call(reply="good"))
    ledger.record(call(failure="timeout"))
    found = ledger.find("k1")
    assert found is not None and found.reply == "good", "a later failure does not hide a good call"


@pytest.mark.parametrize("name", ["calls.jsonl", "calls.jsonl.gz"])
def test_a_recording_round_trip(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    assert write_recording([call(), call("k2", failure="empty"), call("k3", reply="é 字 😀")], path) == 3
    ledger = RecordedLedger(path)
    found = ledger.find("k3")
    assert found is not None and (found.reply, found.recorded) == ("é 字 😀", True)
    assert ledger.find("k2") is None and ledger.find("other") is None
    assert _body(path).count(b"\n") == 3 and b"messages" not in _body(path)


def _body(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def test_equal_calls_give_equal_bytes(tmp_path: Path) -> None:
    calls = [call(), call("k2")]
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        write_recording(calls, tmp_path / name)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


def test_a_recording_is_not_written_to_and_not_read_before_it_is_needed(tmp_path: Path) -> None:
    ledger = RecordedLedger(tmp_path / "missing.jsonl")
    with pytest.raises(StoreError, match="not written to"):
        ledger.record(call())
    with pytest.raises(InputError, match="cannot be read"):
        ledger.find("k1")


@pytest.mark.parametrize("content", [b"{}\n", b"not json\n", b'\n\n{"id": 1}\n', b"\xff\xfe\n"])
def test_a_broken_recording_is_named_with_its_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"recorded call|cannot be read"):
        RecordedLedger(path).find("k1")
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(b"{}\n" * 1000)[:-20])
    with pytest.raises(InputError):
        RecordedLedger(tmp_path / "cut.jsonl.gz").find("k1")


def test_a_recorded_reply_costs_nothing_and_lands_in_the_store_once(tmp_path: Path) -> None:
    class NoNetwork:
        async def send(self, payload: dict[str, Any]) -> dict[str, Any]:
            raise AssertionError("asked")

    async def ask(ledger: Any, **options: Any) -> tuple[Reply, Gateway]:
        model = ModelConfig(model="local/smollm2")
        request = Request("user", model, ({"role": "user", "content": "hi"},), purpose="user")
        async with Gateway(ledger, prices={}, transport=NoNetwork(), budget_usd=0.0, **options) as gateway:
            return await gateway.ask(request), gateway

    key = _key_of_local_question()
    path = tmp_path / "demo.jsonl.gz"
    write_recording([call(key)], path)
    store = MemoryLedger()
    layered = LayeredLedger(RecordedLedger(path), store)
    for _ in range(2):
        reply, gateway = asyncio.run(ask(layered, offline=True))
        assert reply.text == "hello" and reply.from_cache and reply.call.recorded
        assert (gateway.spent_usd, gateway.paid_calls, gateway.cached_calls) == (0.0, 0, 1)
    assert [kept.id for kept in store.calls] == [reply.call.id]
    layered.record(call("new"))
    assert store.find("new") is not None


def _key_of_local_question() -> str:
    from simulate.llm.payload import prepare

    model = ModelConfig(model="local/smollm2")
    return prepare(Request("user", model, ({"role": "user", "content": "hi"},), purpose="user")).key


def test_a_replay_fails_where_the_recording_failed(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    write_recording([call("k1", failure="length"), call("k2", failure="empty"), call("k2")], path)
    store = MemoryLedger()
    ledger = LayeredLedger(RecordedLedger(path), store)
    assert ledger.find("k1") is None and ledger.find("k2") is not None
    failed = ledger.find_failure("k1")
    assert failed is not None and failed.failure == "length"
    assert ledger.find_failure("k2") is None and ledger.find_failure("k9") is None
    assert [c.failure for c in store.calls] == [None, "length"]
