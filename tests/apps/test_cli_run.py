"""Runs from the command line against a loopback server: exit codes, budget, failures, resuming, a full disk."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from apps.cli import main

PRICE = "input_usd_per_million = 100.0\noutput_usd_per_million = 100.0\nas_of = '2026-11-01'\n"


def fill(schema: dict[str, Any], seed: int, name: str = "text") -> Any:
    """Return a value that fits a simple schema."""
    if "enum" in schema:
        return schema["enum"][seed % len(schema["enum"])]
    if schema.get("type") == "object":
        return {key: fill(part, seed + n, key) for n, (key, part) in enumerate(schema["properties"].items())}
    if schema.get("type") == "integer":
        return int(schema.get("minimum", 0)) + seed % 5
    return False if schema.get("type") == "boolean" else f"some {name} number {seed}"


class Server(ThreadingHTTPServer):
    """An OpenAI-shaped server on loopback that counts, and can be made to fail."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.status = 200

    @property
    def url(self) -> str:
        """The base address."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    """Answers chat completions."""

    server: Server

    def do_POST(self) -> None:
        """Answer with what the schema wants."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        form = body.get("response_format") or {}
        schema = form.get("json_schema", {}).get("schema")
        number = len(self.server.asked)
        content = json.dumps(fill(schema, number)) if schema else f"a reply, number {number}"
        reply: dict[str, Any] = {
            "id": "x", "object": "chat.completion", "created": 1, "model": body["model"],
            "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 50, "completion_tokens": 10, "total_tokens": 60},
        }  # fmt: skip
        if self.server.status != 200:
            reply = {"error": {"message": "the server is resting", "type": "server_error"}}
        data = json.dumps(reply).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    """Serve for one test."""
    running = Server()
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield running
    running.shutdown()
    running.server_close()


@pytest.fixture
def study(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study with three conversations and a model on the loopback server."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key-but-long-enough")
    monkeypatch.delenv("USERCAL_STORE", raising=False)
    (tmp_path / "study.toml").write_text(
        f"[study]\nname = 's'\n[models.m]\nmodel = 'openai/made-up'\napi_base = '{server.url}'\nstructured = 'schema'\n"
        f"retries = 0\n[prices.'openai/made-up']\n{PRICE}"
        "[run]\nuser = 'm'\nassistant = 'm'\nextractor = 'm'\njudges = ['m']\nmax_user_turns = 2\n"
        "scales = ['interaction', 'turing']\n",
        "utf-8",
    )
    lines = [{"conversation": str(n), "task": "math_tutoring", "item": f"m{n}", "person": f"p{n}", "assistant": "a",
              "turns": [{"role": "user", "text": f"hi {n}"}, {"role": "assistant", "text": "hello"}],
              "ratings": {"interaction": 3 + n}} for n in range(3)]  # fmt: skip
    (tmp_path / "chats.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    assert call("import", "chats.jsonl") == 0
    return tmp_path


def call(*words: str) -> int:
    """Run a command in this process and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    return int(ended.value.code or 0)


def test_a_run_reports_costs_and_is_done_once(study: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert call("run", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["failed"] == 0 and facts["paid_calls"] == len(server.asked) > 30
    assert facts["spent_usd"] == pytest.approx(len(server.asked) * 60 * 100 / 1e6)
    assert call("run", "--json") == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["done"], again["paid_calls"]) == (0, 0)
    assert call("report", "--resamples", "100") == 0
    assert "realism" in capsys.readouterr().out


def test_the_budget_is_exit_code_3_and_is_kept(study: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert call("run", "--budget", "0.2", "--json") == 3
    facts = json.loads(capsys.readouterr().out)
    assert facts["spent_usd"] <= 0.2 and facts["budget"]
    first = len(server.asked)
    assert call("run", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["paid_calls"] == len(server.asked) - first


def test_a_server_that_is_down_is_exit_code_1_and_the_same_command_mends_it(
    study: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    server.status = 503
    capsys.readouterr()
    assert call("run") == 1
    said = capsys.readouterr()
    assert "server" in said.out and "tries them again" in said.out and "Traceback" not in said.out + said.err
    server.status = 200
    assert call("run") == 0


def test_a_key_that_is_turned_down_ends_the_run_with_one_sentence(
    study: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    server.status = 401
    capsys.readouterr()
    assert call("run") == 2
    said = capsys.readouterr()
    assert "turned the key down" in said.err.splitlines()[-1] and "Traceback" not in said.err and len(server.asked) < 20
    server.status = 200
    assert call("run") == 0


def test_the_key_is_nowhere(study: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    call("run", "--calls", "5")
    call("export", "jsonl", "out")
    said = capsys.readouterr()
    stored = b"".join(path.read_bytes() for path in study.rglob("*") if path.is_file())
    assert b"sk-not-a-real" not in stored and "sk-not-a-real" not in said.out + said.err


def test_judge_and_run_share_their_ratings(study: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("run") == 0
    before = len(server.asked)
    capsys.readouterr()
    assert call("judge", "--scale", "interaction", "--model", "m", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["done"], len(server.asked)) == (0, before)
    assert call("judge", "--scale", "likert_writing", "--json") == 0
    assert json.loads(capsys.readouterr().out)["done"] == 3 + 6


def test_profiles_are_extracted_once_and_shown(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("profiles", "extract", "--limit", "2") == 0
    capsys.readouterr()
    assert call("profiles", "show") == 0
    assert "2 in the store" in capsys.readouterr().out


@pytest.mark.skipif(sys.platform != "linux", reason="the file-size limit is a Linux one")
def test_a_full_disk_is_one_sentence_and_nothing_half_written(study: Path) -> None:
    line = {"task": "math_tutoring", "item": "m1", "assistant": "a",
            "turns": [{"role": "user", "text": "x" * 4000}, {"role": "assistant", "text": "y"}]}  # fmt: skip
    text = "".join(json.dumps({"conversation": f"n{n}", "person": f"q{n}", **line}) + "\n" for n in range(800))
    (study / "big.jsonl").write_text(text, "utf-8")
    code = ("import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
            "from apps.cli import main; main(['import', 'big.jsonl'])")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], cwd=study, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == "", done.stdout
    assert done.stderr.count("\n") == 1 and "Free some space" in done.stderr, done.stderr
    with sqlite3.connect(study / "store.db") as raw:
        assert raw.execute("SELECT count(*) FROM conversation").fetchone() == (3,)
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
