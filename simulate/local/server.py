"""A server of an embedded model: a process of its own on this machine, which ends with the one that started it."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import queue
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from annotate.errors import MissingExtraError, ModelError
from simulate.local.weights import LocalModel, cache_folder, model_named, pulled

START_SECONDS = 60.0
"""How long a server may take until it answers; measured: about one second."""

_CACHE_MIB = 512
_CLOSE_SECONDS = 2.0
_REQUEST_SECONDS = 600.0
_LOG_DAYS = 7
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class LocalServer:
    """A running server. Closed by `close`, by `with`, or with the process that started it, however that ends."""

    def __init__(self, model: LocalModel, process: subprocess.Popen[bytes], url: str, api_key: str, log: Path) -> None:
        self.model = model
        self.base_url = f"{url}/v1"
        self.api_key = api_key
        self.model_id = model.alias
        self.context_tokens = model.n_ctx
        self._process = process
        self._owner = os.getpid()
        self._log = log

    @classmethod
    def start(cls, name: str, slots: int = 2, threads: int | None = None) -> Self:
        """Start a server and return it when it answers.

        `slots` requests are answered at a time, each with the model's whole context. `threads` is
        USERCAL_LOCAL_THREADS where None, else two at most. Raises `MissingExtraError`, or `ModelError` where the
        weights are not here or the server does not start.
        """
        model = model_named(name)
        if importlib.util.find_spec("xllamacpp") is None:
            raise MissingExtraError("local", f"the embedded model {name!r}")
        weights = pulled(name)
        if weights is None:
            raise ModelError(f"The weights of {name!r} are not on this machine: run `usercal model pull {name}` first.")
        api_key = secrets.token_urlsafe(24)
        settings = {
            "weights": str(weights), "alias": model.alias, "api_key": api_key, "slots": slots, "n_ctx": model.n_ctx,
            "threads": threads or default_threads(), "cache_mib": _CACHE_MIB,
        }  # fmt: skip
        log = _new_log(model)
        process = _start_process(log)
        try:
            url = _tell(process, settings, model, log)
            server = cls(model, process, url, api_key, log)
            server._wait_until_healthy()
        except BaseException:
            _end(process)
            raise
        return server

    @property
    def alive(self) -> bool:
        """Return whether the process of the server runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Return the id of the process of the server."""
        return self._process.pid

    def count_prompt_tokens(self, messages: Sequence[Mapping[str, Any]]) -> int:
        """Return how many tokens a prompt has, chat template included: exactly what `usage.prompt_tokens` would say."""
        counted = self.post("/chat/completions/input_tokens", {"messages": [dict(message) for message in messages]})
        return int(counted["input_tokens"])

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request below `base_url`, and return the reply; raises `ModelError`."""
        request = urllib.request.Request(
            self.base_url + path,
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {self.api_key}"},
        )
        try:
            with _opener.open(request, timeout=_REQUEST_SECONDS) as reply:
                answer: dict[str, Any] = json.load(reply)
                return answer
        except urllib.error.HTTPError as error:
            raise ModelError(
                f"The server of {self.model.name!r} refused a request ({_reason(error)}): change the request."
            ) from None
        except OSError as error:
            raise ModelError(
                f"The server of {self.model.name!r} does not answer ({error}); its log is {str(self._log)!r}: "
                "start it again."
            ) from None

    def close(self) -> None:
        """End the server; nothing happens where it has ended, or in a process that was forked off the starting one."""
        if os.getpid() == self._owner and self.alive:
            _end(self._process)
            self._log.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _wait_until_healthy(self) -> None:
        health = self.base_url.removesuffix("/v1") + "/health"
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                with _opener.open(health, timeout=5):
                    return
            except OSError as error:
                if not self.alive or time.monotonic() > until:
                    raise _not_started(self.model, str(error), self._log) from None
            time.sleep(0.05)


def get_server(name: str) -> LocalServer:
    """Return the one server of a model in this process, started where none runs, and ended with the process."""
    key = (os.getpid(), name)
    with _lock:
        server = _servers.get(key)
        if server is None or not server.alive:
            server = _servers[key] = LocalServer.start(name)
            atexit.register(server.close)
        return server


_servers: dict[tuple[int, str], LocalServer] = {}
_lock = threading.Lock()


def _renew_lock() -> None:
    """Give a forked process a lock that no thread of its parent holds."""
    global _lock  # noqa: PLW0603
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def default_threads() -> int:
    """Return USERCAL_LOCAL_THREADS, else two or what the machine has: more gain nothing on so small a model."""
    own = os.environ.get("USERCAL_LOCAL_THREADS", "")
    if not own:
        return min(2, os.cpu_count() or 1)
    if not own.isdecimal() or int(own) < 1:
        raise ModelError(f"USERCAL_LOCAL_THREADS is {own!r}, not a whole number from 1: set it to one, or unset it.")
    return int(own)


def _start_process(log: Path) -> subprocess.Popen[bytes]:
    """Start the process apart from the terminal, so that Ctrl-C reaches the parent alone."""
    # Threads that wait for each other by spinning starve where they share the cores: measured 3 tokens/s, not 43.
    environment = {"OMP_WAIT_POLICY": "passive", **os.environ}
    program = Path(__file__).with_name("process.py")
    apart: dict[str, Any] = {"start_new_session": True} if os.name == "posix" else {"creationflags": 0x200}
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-P", str(program)],
            bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, env=environment, **apart,
        )  # fmt: skip


def _tell(process: subprocess.Popen[bytes], settings: Mapping[str, Any], model: LocalModel, log: Path) -> str:
    """Give the process its settings, on a pipe, where nobody else can read the key; returns where it listens."""
    assert process.stdin is not None and process.stdout is not None
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read_line, args=(process.stdout, lines), daemon=True).start()
    try:
        process.stdin.write(json.dumps(settings).encode() + b"\n")
        line = lines.get(timeout=START_SECONDS)
    except (OSError, queue.Empty):
        raise _not_started(model, f"no word from it in {START_SECONDS:.0f} seconds", log) from None
    if not line:
        raise _not_started(model, f"it ended with {process.wait()}", log)
    said = json.loads(line)
    if "error" in said:
        raise _not_started(model, said["error"], log)
    return str(said["url"])


def _read_line(stream: IO[bytes], lines: queue.SimpleQueue[bytes]) -> None:
    lines.put(stream.readline())


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process by closing its standard input; by force where a forked process still holds that open."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(_CLOSE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _new_log(model: LocalModel) -> Path:
    """Return a new log file in the cache folder, or where temporary files are; a week later it is removed."""
    folder = cache_folder() / "logs"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, path = tempfile.mkstemp(prefix=f"{model.alias}-", suffix=".log", dir=folder)
    except OSError:
        handle, path = tempfile.mkstemp(prefix=f"{model.alias}-", suffix=".log")
    for old in folder.glob("*.log"):
        with contextlib.suppress(OSError):
            if old.stat().st_mtime < time.time() - _LOG_DAYS * 86400:
                old.unlink()
    os.close(handle)
    return Path(path)


def _not_started(model: LocalModel, why: str, log: Path) -> ModelError:
    remedy = "reinstall the extra: pip install 'usercal[local]'" if "ImportError" in why else f"see {str(log)!r}"
    if "RuntimeError" in why:
        remedy += f", and run `usercal model pull {model.name} --verify`"
    if "libgomp" in why:
        remedy = "install libgomp (Debian, Ubuntu: apt install libgomp1)"
    return ModelError(f"The server of {model.name!r} does not start ({why}): {remedy}.")


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.load(error)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"status {error.code}"
