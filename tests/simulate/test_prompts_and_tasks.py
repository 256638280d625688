"""Prompts and task folders: every shipped one is sound, and a broken one says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotate.bank import bank_items
from annotate.config import TaskConfig
from annotate.errors import ConfigError
from annotate.schema import Turn
from simulate.profiles import length_range
from simulate.prompts import SHARED, PromptBook
from simulate.task import SHIPPED, load_task, shipped
from simulate.transcripts import shorten, tokens, transcribe


def test_the_shipped_tasks_load() -> None:
    assert shipped() == ["document_creation", "math_tutoring"]
    for name in shipped():
        task = load_task(name, {}, Path())
        assert len(task.styles["writing"]) >= 11 and len(task.styles["interaction"]) >= 10
        assert set(task.file.run_scales) <= set(task.scales)
        assert all(task.preferences(item) for item in bank_items(name)) == (name == "document_creation")


@pytest.mark.parametrize("path", sorted([*SHARED.glob("*.md"), *SHIPPED.glob("*/prompts/*.md")]), ids=lambda p: p.stem)
def test_every_shipped_template_declares_what_it_uses(path: Path) -> None:
    from jinja2 import Environment, meta

    book = PromptBook(path.parent)
    if path.stem == "briefing":  # included by others
        assert path.read_text("utf-8").strip()
        return
    source = path.read_text("utf-8").split("+++\n", 2)[2]
    used = meta.find_undeclared_variables(Environment(autoescape=True).parse(source))
    with pytest.raises(ConfigError, match="variable '"):
        book.render(path.stem, {})
    front = path.read_text("utf-8").split("+++\n", 2)[1]
    assert all(f'"{name}"' in front for name in used)


def test_a_prompt_hash_covers_what_it_includes(tmp_path: Path) -> None:
    (tmp_path / "briefing.md").write_text("one", "utf-8")
    one = PromptBook(tmp_path).hash("user")
    other = tmp_path / "other"
    other.mkdir()
    (other / "briefing.md").write_text("two", "utf-8")
    assert PromptBook(other).hash("user") != one


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("no front matter", "lacks 'name'"),
        ('+++\nname = "x"\nversion = 1\nvariables = []\n+++\nhello', "has no message"),
        ('+++\nname = "y"\nversion = 1\nvariables = []\n+++\n=== user\nhi', "Write 'x'"),
        ('+++\nname = "x"\nversion = 1\nvariables = []\n+++\n=== user\n{{ nobody }}', "nobody"),
        ('+++\nname = "x"\nversion = 1\nvariables = []\n+++\n=== user\n{% if %}', "Fix the template"),
        ("+++\nname = x\n+++\n=== user\nhi", "not valid TOML"),
    ],
)
def test_a_broken_template_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "x.md").write_text(text, "utf-8")
    with pytest.raises(ConfigError) as caught:
        PromptBook(tmp_path).render("x", {})
    assert sentence in str(caught.value) and "\n" not in str(caught.value)


def test_a_task_anywhere_is_found_like_a_shipped_one(tmp_path: Path) -> None:
    folder = tmp_path / "travel"
    (folder / "prompts").mkdir(parents=True)
    (folder / "task.toml").write_text('name = "travel"\ntitle = "T"\nuser_role = "u"\nassistant_role = "a"\n', "utf-8")
    task = load_task("travel", {"travel": TaskConfig(path="travel")}, tmp_path)
    assert task.title == "T" if hasattr(task, "title") else task.file.title == "T"
    assert len(task.styles["writing"]) == 11


@pytest.mark.parametrize(
    ("name", "declared", "sentence"),
    [
        ("math_tutorin", {}, "did you mean 'math_tutoring'"),
        ("travel", {"travel": TaskConfig(path="nowhere")}, "no task.toml"),
    ],
)
def test_a_missing_task_is_one_sentence(
    name: str, declared: dict[str, TaskConfig], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        load_task(name, declared, tmp_path)


def test_length_range_rounds_outwards() -> None:
    assert length_range([3, 43, 12]) == (1, 45)
    assert length_range([5, 10]) == (5, 10)
    assert length_range([]) is None


def talk(count: int, words: int = 30) -> list[Turn]:
    return [
        Turn(position=n, role="user" if n % 2 == 0 else "assistant", text=f"m{n} " + "word " * words)
        for n in range(count)
    ]


@pytest.mark.parametrize("room", [60, 150, 400])
def test_a_transcript_keeps_to_its_room_and_says_what_is_left_out(room: int) -> None:
    shown = transcribe(talk(20), room=room)
    assert tokens(shown.text) <= room + 10 and shown.left_out > 0 and "messages left out]" in shown.text
    assert (shown.text.startswith("User: m0") and "m19" in shown.text) or room < 100


def test_a_short_transcript_is_whole() -> None:
    shown = transcribe(talk(4, 3), room=500)
    assert not shown.cut and [line.split(":")[0] for line in shown.text.splitlines()] == ["User", "Assistant"] * 2


def test_shorten_keeps_both_ends() -> None:
    text = shorten("start " + "x" * 1000 + " finish", 50)
    assert text.startswith("start") and text.endswith("finish") and "[…]" in text
