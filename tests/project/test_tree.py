"""What no file of the project may hold: paths of one machine, addresses of registries, leftovers."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ITSELF = Path(__file__).resolve()
BINARY = {".gz", ".png", ".jpg", ".jpeg", ".parquet", ".pdf", ".ico", ".woff2"}
# `claude-…`, `"claude"` and `Claude 3` name models that studies use; that a model writes rubrics is their subject.
FORBIDDEN = {
    "a path of one machine": r"(?<![\w./-])/(work|root|home/\w+|Users/\w+|opt/(pypi|wheels))/",
    "the address of a package registry": r"pypi\.org|pythonhosted\.org|registry\.npmjs|conda\.anaconda\.org|/simple/",
    "who or what wrote it": r"\bclaude\b(?![-_/]|['\"]|\s+(\d|opus|sonnet|haiku))|anthropic\.com|co-authored-by|"
    r"\b(generated|written|made) (with|by) (copilot|chatgpt|gpt|ai)\b|\ban? (ai|llm) (wrote|made) this\b",
    "work left over": r"\b(TODO|FIXME|XXX|HACK)\b|^(<{7}|>{7}) ",
}


def texts() -> list[tuple[str, str]]:
    """Name and text of every file that is checked in, or would be with the next commit."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no git checkout: nobody knows which files belong to the project")
    paths = [ROOT / name for name in done.stdout.split("\0") if name]
    return [
        (path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
        for path in paths
        if path.is_file() and path != ITSELF and path.suffix not in BINARY
    ]


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_holds(what: str) -> None:
    pattern = re.compile(FORBIDDEN[what], re.MULTILINE | (0 if what == "work left over" else re.IGNORECASE))
    found = [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match.group(0)!r}"
        for name, text in texts()
        for match in pattern.finditer(text)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("what", "text", "caught"),
    [
        ("a path of one machine", "see /root/notes", True),
        ("a path of one machine", "https://example.org/work/list", False),
        ("a path of one machine", "/home/ann/study", True),
        ("who or what wrote it", 'litellm name anthropic/claude-3-5-sonnet, family "claude"', False),
        ("who or what wrote it", "Claude 3.5 Sonnet", False),
        ("who or what wrote it", "thanks to Claude for this", True),
        ("who or what wrote it", "Generated with AI", True),
        ("who or what wrote it", "a document written with an AI writing assistant", False),
        ("work left over", "# TODO later", True),
        ("work left over", "a todo list", False),
    ],
)
def test_the_patterns_catch_what_they_should(what: str, text: str, caught: bool) -> None:
    pattern = re.compile(FORBIDDEN[what], 0 if what == "work left over" else re.IGNORECASE)
    assert bool(pattern.search(text)) is caught


def test_no_folder_of_tests_is_a_package() -> None:
    """A package below tests/ would shadow the package of the same name."""
    assert sorted((ROOT / "tests").rglob("__init__.py")) == []


def test_the_files_of_tests_have_names_of_their_own() -> None:
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    rooms = ("annotate", "simulate", "calibrate", "apps", "scripts")
    names = {path.stem: path for room in rooms for path in (ROOT / room).rglob("*.py")}
    assert {"utils", "util", "common", "helpers", "helper", "manager", "misc"} & set(names) == set()


def test_every_text_ends_its_lines_with_lf() -> None:
    assert [name for name, _ in texts() if b"\r\n" in (ROOT / name).read_bytes()] == []
