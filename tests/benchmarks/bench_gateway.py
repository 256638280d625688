"""What the gateway adds to bare litellm: `python tests/benchmarks/bench_gateway.py [calls] [at_once] [rounds]`.

A child process answers every request after 0.2 s. Bare `litellm.acompletion` and the gateway ask it in turns, in the
same process, so that both meet the same machine. The gateway's ledger writes every call down before the reply is seen:
once into a plain SQLite table, once into the store of a study. The figure is the ratio of the fastest rounds (whatever
else the machine does only adds to them); it must not exceed 1.3. Where it does, up to three times as many rounds are
run: on a machine that is busy with other work, seven may hold no undisturbed one.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from annotate.config import ModelConfig  # noqa: E402
from annotate.schema import Call  # noqa: E402
from simulate.llm import Gateway, Ledger, Request  # noqa: E402

LIMIT = 1.3
ROUNDS = 3  # times as many rounds, at most
SECONDS = 0.2
TEXT = "A student asks how to solve an equation, and the tutor answers step by step. " * 20


async def serve() -> None:
    """Answer every request after 0.2 s; print the port first, and stop when standard input closes."""
    choice = {"index": 0, "message": {"role": "assistant", "content": "It is seven."}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 400, "completion_tokens": 5, "total_tokens": 405}
    reply = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    body = json.dumps(reply).encode()
    whole = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(int(h[15:]) for h in head.lower().split(b"\r\n") if h.startswith(b"content-length:"))
                await reader.readexactly(length)
                await asyncio.sleep(SECONDS)
                writer.write(whole)
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.close()


class SqliteLedger:
    """A ledger as a store has it: a table with the key, one transaction for each call."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.execute("CREATE TABLE call (id TEXT PRIMARY KEY, key TEXT, failure TEXT, body TEXT)")
        self._database.execute("CREATE INDEX call_key ON call (key)")

    def find(self, key: str) -> Call | None:
        """Return the good call with this key, or None."""
        row = self._database.execute("SELECT body FROM call WHERE key = ? AND failure IS NULL", (key,)).fetchone()
        return Call.model_validate_json(row[0]) if row else None

    def record(self, call: Call) -> None:
        """Write a call down."""
        row = (call.id, call.key, call.failure, call.model_dump_json())
        self._database.execute("INSERT INTO call VALUES (?, ?, ?, ?)", row)

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def ledgers(folder: Path) -> Iterator[tuple[str, Ledger]]:
    """Yield each ledger with what it is, and close it."""
    plain = SqliteLedger(folder / "calls.db")
    yield "a plain table", plain
    plain.close()
    from annotate.store import Store
    from simulate.ledger import StoreLedger

    with Store.open(f"sqlite:///{folder / 'store.db'}") as store:
        yield "the store of a study", StoreLedger(store)


async def together(calls: int, at_once: int, ask: Callable[[int], Awaitable[object]]) -> tuple[float, float]:
    """Return the seconds that `calls` questions take, `at_once` at a time: on the clock, and of processor time."""
    slots = asyncio.Semaphore(at_once)

    async def one(number: int) -> None:
        async with slots:
            await ask(number)

    began, worked = time.perf_counter(), time.process_time()
    await asyncio.gather(*(one(number) for number in range(calls)))
    return time.perf_counter() - began, time.process_time() - worked


async def bare(base: str, calls: int, at_once: int, label: str) -> tuple[float, float]:
    """Time litellm alone."""
    import litellm

    async def ask(number: int) -> object:
        return await litellm.acompletion(
            model="openai/own",
            messages=[{"role": "user", "content": f"{label} {number} {TEXT}"}],
            api_base=base,
            api_key="none",
            max_tokens=64,
            temperature=0.0,
            timeout=60,
            max_retries=0,
            num_retries=0,
        )

    return await together(calls, at_once, ask)


async def through_gateway(gateway: Gateway, base: str, calls: int, at_once: int, label: str) -> tuple[float, float]:
    """Time the gateway, every question a new one."""
    model = ModelConfig(
        model="openai/own", api_base=base, max_tokens=64, temperature=0.0, timeout_seconds=60, concurrency=at_once
    )

    async def ask(number: int) -> object:
        messages = ({"role": "user", "content": f"{label} {number} {TEXT}"},)
        return await gateway.ask(Request("own", model, messages, purpose="benchmark"))

    return await together(calls, at_once, ask)


async def compare(base: str, ledger: Ledger, calls: int, at_once: int, rounds: int) -> float:
    """Print both times of every round, and return the ratio of the fastest."""
    alone: list[tuple[float, float]] = []
    ours: list[tuple[float, float]] = []
    async with Gateway(ledger, prices={}) as gateway:
        await through_gateway(gateway, base, at_once, at_once, "warm")
        await bare(base, at_once, at_once, "warm")
        for number in range(ROUNDS * rounds):
            if number and number % rounds == 0 and _ratio(ours, alone) <= LIMIT:
                break
            label = f"{type(ledger).__name__} {number}"
            if number % 2:
                ours.append(await through_gateway(gateway, base, calls, at_once, label))
                alone.append(await bare(base, calls, at_once, label))
            else:
                alone.append(await bare(base, calls, at_once, label))
                ours.append(await through_gateway(gateway, base, calls, at_once, label))
    for name, times in (("litellm alone", alone), ("gateway", ours)):
        shown = " ".join(f"{clock:.2f}" for clock, _ in times)
        print(f"  {name:14} {min(times)[0]:.2f} s   (rounds: {shown})")
    ratio = _ratio(ours, alone)
    medians = statistics.median(clock for clock, _ in ours) / statistics.median(clock for clock, _ in alone)
    worked = min(work for _, work in ours) / min(work for _, work in alone)
    print(f"  {'ratio':14} {ratio:.3f}   at most {LIMIT}   (medians {medians:.3f}, processor time {worked:.3f})")
    return ratio


def _ratio(ours: list[tuple[float, float]], alone: list[tuple[float, float]]) -> float:
    return min(ours)[0] / min(alone)[0]


def main(calls: int = 400, at_once: int = 200, rounds: int = 7) -> int:
    """Run the benchmark; the exit code is 1 where the gateway takes too long."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    pipe = subprocess.PIPE
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen([sys.executable, __file__, "serve"], stdin=pipe, stdout=pipe, text=True) as child,
    ):
        assert child.stdin is not None and child.stdout is not None
        base = f"http://127.0.0.1:{int(child.stdout.readline())}/v1"
        worst = 0.0
        try:
            for name, ledger in ledgers(Path(folder)):
                print(f"{calls} calls, {at_once} at once, a server that takes {SECONDS} s, written to {name}:")
                worst = max(worst, asyncio.run(compare(base, ledger, calls, at_once, rounds)))
        finally:
            child.stdin.close()
    return 1 if worst > LIMIT else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        asyncio.run(serve())
    else:
        sys.exit(main(*(int(number) for number in sys.argv[1:])))
