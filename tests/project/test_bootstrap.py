"""Setting up: once, again only when something changed, never silent, and one sentence where it cannot be done."""

from __future__ import annotations

import ast
import importlib.util
import io
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def bootstrap() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bootstrap", ROOT / "scripts" / "bootstrap.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with an environment whose Python is this one."""
    for name in ("pyproject.toml", "setup.py", "constraints.txt"):
        (tmp_path / name).write_text(name, "utf-8")
    return tmp_path


@pytest.fixture
def installed(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The extras of each installation, none of which really happens."""
    calls: list[list[str]] = []

    def make(folder: Path) -> None:
        folder.mkdir(exist_ok=True)

    monkeypatch.setattr(bootstrap, "install", lambda python, extras, root: calls.append(extras))
    monkeypatch.setattr(bootstrap, "make_environment", make)
    monkeypatch.setattr(bootstrap, "works", lambda python: python.parent.parent.exists())
    return calls


def test_it_installs_once_and_again_only_for_something_new(
    bootstrap: ModuleType, checkout: Path, installed: list[list[str]]
) -> None:
    ready: Callable[..., Path] = bootstrap.ready
    python = ready([], checkout)
    assert python.parent.parent == checkout / ".venv"
    ready([], checkout)
    assert installed == [[]]
    ready(["local", "apps"], checkout)
    ready(["apps"], checkout)
    ready([], checkout)
    assert installed == [[], ["apps", "local"]]
    (checkout / "constraints.txt").write_text("numpy==3", "utf-8")
    ready([], checkout)
    assert installed[2:] == [["apps", "local"]]  # what was there is brought up to date, not forgotten


def test_a_failed_installation_leaves_no_mark(
    bootstrap: ModuleType, checkout: Path, installed: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(python: Path, extras: list[str], root: Path) -> None:
        raise bootstrap.SetUpError("no network")

    with monkeypatch.context() as broken:
        broken.setattr(bootstrap, "install", fail)
        with pytest.raises(bootstrap.SetUpError):
            bootstrap.ready(["dev"], checkout)
    bootstrap.ready(["dev"], checkout)
    assert installed == [["dev"]]


def test_a_damaged_mark_means_installing_again(
    bootstrap: ModuleType, checkout: Path, installed: list[list[str]]
) -> None:
    bootstrap.ready([], checkout)
    (checkout / ".venv" / bootstrap.STAMP).write_text("[]", "utf-8")
    bootstrap.ready([], checkout)
    assert installed == [[], []]


def test_an_environment_whose_python_is_gone_does_not_work(bootstrap: ModuleType, tmp_path: Path) -> None:
    assert bootstrap.works(Path(sys.executable))
    assert not bootstrap.works(tmp_path / "python")
    broken = tmp_path / "broken"
    broken.write_text("no program", "utf-8")
    broken.chmod(0o755)
    assert not bootstrap.works(broken)


def test_pip_is_shown_as_dots_where_nobody_watches_and_its_lines_are_kept(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "BEAT_SECONDS", 0.01)

    def output() -> Iterator[str]:
        yield "Collecting numpy>=2\n"
        time.sleep(0.2)
        yield "Successfully installed numpy-2.4.6\n"

    screen = io.StringIO()
    lines = bootstrap.follow(output(), bootstrap.Beat(screen))
    assert lines == ["Collecting numpy>=2\n", "Successfully installed numpy-2.4.6\n"]
    assert screen.getvalue().count(".") >= 3
    assert screen.getvalue().endswith("\n")


def test_on_a_terminal_one_line_says_what_goes_on(bootstrap: ModuleType) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    beat = bootstrap.Beat(screen)
    beat.text = bootstrap.step("Collecting pyarrow>=17 (from usercal==0.1.0)")
    beat.show()
    beat.close()
    assert "Collecting pyarrow>=17" in screen.getvalue()
    assert "\n" not in screen.getvalue()


def test_it_beats_at_least_every_two_seconds(bootstrap: ModuleType) -> None:
    assert bootstrap.BEAT_SECONDS <= 2


def test_the_errors_of_pip_are_shown_from_the_first_on(bootstrap: ModuleType) -> None:
    lines = ["Collecting numpy\n", "ERROR: No matching distribution found for numpy==99\n", "hint\n"]
    assert bootstrap.error_lines(lines) == lines[1:]
    assert bootstrap.error_lines(["one\n"] * 20) == ["one\n"] * 10


def test_an_old_python_gets_one_sentence(
    bootstrap: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap.sys, "version_info", (3, 10, 4, "final", 0))
    with pytest.raises(bootstrap.SetUpError, match=r"needs Python 3\.11 or newer, and this is 3\.10\."):
        bootstrap.ready([], checkout)


def test_where_no_environment_can_be_made_the_remedy_is_named(
    bootstrap: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "has_module", lambda name: name == "venv")
    with pytest.raises(bootstrap.SetUpError, match=r"sudo apt install python3\.\d+-venv"):
        bootstrap.make_environment(tmp_path / ".venv")


def test_without_ensurepip_the_pip_of_this_python_is_used(
    bootstrap: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(bootstrap, "has_module", lambda name: name in ("venv", "pip"))
    monkeypatch.setattr(bootstrap, "run_quietly", lambda command, remedy: commands.append(command))
    bootstrap.make_environment(tmp_path / ".venv")
    assert "--without-pip" in commands[0]
    assert commands[1][1:4] == ["-m", "pip", "--python"]


def run_demo(version: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = f"import runpy, sys; sys.version_info = {version}; sys.argv = ['demo.py', *sys.argv[1:]]; "
    code += f"runpy.run_path({str(ROOT / 'demo.py')!r}, run_name='__main__')"
    command: list[Any] = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_demo_refuses_an_old_python_with_one_sentence() -> None:
    done = run_demo("(3, 9, 2, 'final', 0)")
    assert done.returncode == 1
    assert done.stderr.startswith("UserCal needs Python 3.11 or newer")
    assert len(done.stderr.splitlines()) == 1


def test_an_old_python_can_read_the_demo() -> None:
    source = (ROOT / "demo.py").read_text("utf-8")
    tree = ast.parse(source, feature_version=(3, 4))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr | ast.AnnAssign | ast.NamedExpr)]


def test_make_alone_prints_the_targets() -> None:
    try:
        done = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no make here")
    assert done.returncode == 0, done.stderr
    for target in ("demo", "test", "lint", "types", "contracts", "check", "bench", "coverage", "wheel", "clean"):
        assert f"\n  {target} " in done.stdout
