"""Runs that are stopped, doubled, or lose their store: nothing is done twice, and the exit code says what happened."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are told otherwise there")
SECONDS = 0.15


def fill(schema: dict[str, Any], seed: int) -> Any:
    if "enum" in schema:
        return schema["enum"][seed % len(schema["enum"])]
    if schema.get("type") == "object":
        return {key: fill(part, seed + n) for n, (key, part) in enumerate(schema["properties"].items())}
    if schema.get("type") == "integer":
        return int(schema.get("minimum", 0)) + seed % 5
    return False if schema.get("type") == "boolean" else f"text {seed}"


class Server(ThreadingHTTPServer):
    """Answers slowly, and remembers what it was asked and what it answered."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = 0
        self.answered = 0
        self.lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.asked += 1
            number = self.server.asked
        time.sleep(SECONDS)
        form = (body.get("response_format") or {}).get("json_schema")
        content = json.dumps(fill(form["schema"], number)) if form else f"a reply {number}"
        reply = {
            "id": "x", "object": "chat.completion", "created": 1, "model": body["model"],
            "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 50, "completion_tokens": 10, "total_tokens": 60},
        }  # fmt: skip
        data = json.dumps(reply).encode()
        try:
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            return
        with self.server.lock:
            self.server.answered += 1

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield running
    running.shutdown()
    running.server_close()


@pytest.fixture
def study(tmp_path: Path, server: Server) -> Path:
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    (tmp_path / "study.toml").write_text(
        f"[study]\nname = 's'\n[models.m]\nmodel = 'openai/made-up'\napi_base = '{url}'\nstructured = 'schema'\n"
        "retries = 0\n[run]\nuser = 'm'\nassistant = 'm'\nextractor = 'm'\njudges = ['m']\nmax_user_turns = 2\n"
        "scales = ['interaction', 'turing']\nstrategies = ['zero_shot_cot']\nconcurrency = 4\n",
        "utf-8",
    )
    lines = [{"conversation": str(n), "task": "math_tutoring", "item": {"key": f"m{n}", "inputs": {"problem": f"{n}?"}},
              "person": f"p{n}", "assistant": "a", "ratings": {"interaction": 3 + n},
              "turns": [{"role": "user", "text": f"hi {n}"}, {"role": "assistant", "text": "hello"}]}
             for n in range(4)]  # fmt: skip
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    assert begin(tmp_path, "import", "c.jsonl").wait(timeout=60) == 0
    return tmp_path


def begin(folder: Path, *words: str) -> subprocess.Popen[str]:
    code = f"from apps.cli import main; main({list(words)!r})"
    environment = {**os.environ, "OPENAI_API_KEY": "sk-not-a-real-key-but-long-enough"}
    environment.pop("USERCAL_STORE", None)
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=folder, stdout=pipe, stderr=pipe, text=True, env=environment
    )


def wait_for(server: Server, calls: int) -> None:
    until = time.monotonic() + 60
    while server.asked < calls and time.monotonic() < until:
        time.sleep(0.02)


def counts(folder: Path) -> dict[str, int]:
    """What the store holds, and how much of it is there twice."""
    with sqlite3.connect(folder / "store.db") as raw:

        def one(query: str) -> int:
            return int(raw.execute(query).fetchone()[0])

        return {
            "twins": one("SELECT count(*) FROM conversation WHERE origin = 'simulated'"),
            "cells": one("SELECT count(DISTINCT cell) FROM conversation WHERE origin = 'simulated'"),
            "ratings": one("SELECT count(*) FROM annotation"),
            "calls": one('SELECT count(*) FROM "call" WHERE good'),
            "keys": one('SELECT count(DISTINCT key) FROM "call" WHERE good'),
        }  # fmt: skip


@pytest.mark.parametrize("asked_to_end", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_asked_to_end_loses_no_reply(study: Path, server: Server, asked_to_end: signal.Signals) -> None:
    running = begin(study, "run")
    wait_for(server, 6)
    running.send_signal(asked_to_end)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130 and "as asked" in out and "Traceback" not in err, (out, err)
    assert counts(study)["calls"] == server.asked == server.answered
    again = begin(study, "run")
    out, err = again.communicate(timeout=60)
    assert again.returncode == 0, (out, err)
    found = counts(study)
    assert found["calls"] == found["keys"] == server.asked and found["twins"] == found["cells"] == 4


def test_a_killed_run_goes_on(study: Path, server: Server) -> None:
    running = begin(study, "run")
    wait_for(server, 8)
    running.kill()
    running.communicate(timeout=60)
    kept = counts(study)["calls"]
    again = begin(study, "run")
    out, err = again.communicate(timeout=60)
    found = counts(study)
    assert again.returncode == 0, (out, err)
    assert found["calls"] == found["keys"] > kept > 0 and found["twins"] == found["cells"] == 4
    assert found["ratings"] == 4 + 4 * 2 + 4 * 2  # people's, interaction of both sides, turing in both orders


def test_two_runs_at_once_make_nothing_twice(study: Path, server: Server) -> None:
    running = [begin(study, "run") for _ in range(2)]
    said = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0, 0], said
    found = counts(study)
    assert found["twins"] == found["cells"] == 4 and found["ratings"] == 4 + 4 * 2 + 4 * 2


def test_a_run_whose_store_is_removed_says_so(study: Path, server: Server) -> None:
    running = begin(study, "run")
    wait_for(server, 4)
    for path in study.glob("store.db*"):
        path.unlink()
    out, err = running.communicate(timeout=60)
    assert running.returncode == 2 and "was removed or replaced" in err and "Traceback" not in err, (out, err)
