"""The shipped content keeps its own promises: counts, keys, answers, demo study, hashes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "data"
SCRIPT = ROOT / "scripts" / "data_hashes.py"
LEVELS = {"Level 3", "Level 4", "Level 5"}
SUBJECTS = {"Prealgebra", "Algebra", "Number Theory", "Counting & Probability", "Geometry", "Precalculus"}
DOCUMENT_TYPES = {"email or letter", "creative writing", "blog post"}
STYLE_COUNTS = {"base": (11, 10), "math_tutoring": (12, 17), "document_creation": (15, 13)}


def json_lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


PROBLEMS = json_lines("math_problems.jsonl")
TOPICS = json_lines("document_topics.jsonl")
DEMO = json_lines("demo/conversations.jsonl")
PROBLEM_OF = {problem["key"]: problem for problem in PROBLEMS}
TOPIC_OF = {topic["key"]: topic for topic in TOPICS}


def demo_of(*tasks: str) -> list[Any]:
    return [pytest.param(record, id=record["conversation"]) for record in DEMO if record["task"] in tasks]


SOLVED = [
    pytest.param(part, id=f"{problem['key']}-{name}")
    for problem in PROBLEMS
    for name, part in (("problem", problem), ("twin", problem["twin"]))
]


def same_number(sympy: Any, left: Any, right: Any) -> bool:
    return bool(sympy.simplify(sympy.sympify(left) - sympy.sympify(right)) == 0)


def from_latex(answer: str) -> str:
    """Turn the few LaTeX forms that answers use into an expression for sympy."""
    plain = re.sub(r"\\d?frac\{(.+?)\}\{(.+?)\}", r"(\1)/(\2)", answer)
    return re.sub(r"(?<=\d)\\pi", "*pi", plain).replace("\\pi", "pi")


@pytest.mark.parametrize("part", SOLVED)
def test_answer_is_found_again_without_the_solution(part: dict[str, Any]) -> None:
    sympy = pytest.importorskip("sympy")
    assert same_number(sympy, from_latex(part["answer"]), part["answer_sympy"])
    if part["check"] is not None:
        found = eval(part["check"], dict(vars(sympy)))
        assert same_number(sympy, found, part["answer_sympy"])


def test_an_answer_that_is_wrong_would_be_seen() -> None:
    sympy = pytest.importorskip("sympy")
    assert not same_number(sympy, eval(PROBLEMS[0]["check"], dict(vars(sympy))), "65")
    assert same_number(sympy, from_latex(r"\frac{3\pi}{2}"), "3*pi/2")


def test_problem_bank() -> None:
    assert len(PROBLEMS) >= 10 and len(PROBLEM_OF) == len(PROBLEMS)
    assert {problem["level"] for problem in PROBLEMS} == LEVELS
    assert {problem["subject"] for problem in PROBLEMS} <= SUBJECTS
    texts = [part["problem"] for problem in PROBLEMS for part in (problem, problem["twin"])]
    assert len(set(texts)) == len(texts)
    for problem in PROBLEMS:
        assert 3 <= len(problem["concepts"]) <= 5
        assert all(concept["name"] and concept["why"].endswith(".") for concept in problem["concepts"])
        for part in (problem, problem["twin"]):
            assert part["problem"].count("$") % 2 == 0 and part["solution"].count("$") % 2 == 0
            assert part["solution"] and part["answer"]


def test_topics_have_ten_different_questions() -> None:
    assert len(TOPICS) >= 6 and len(TOPIC_OF) == len(TOPICS)
    assert {topic["document_type"] for topic in TOPICS} == DOCUMENT_TYPES
    for topic in TOPICS:
        assert len(topic["questions"]) == 10 and len(set(topic["questions"])) == 10
        assert all(question.endswith("?") for question in topic["questions"])


@pytest.mark.parametrize(("name", "counts"), STYLE_COUNTS.items())
def test_style_attributes(name: str, counts: tuple[int, int]) -> None:
    tables = toml(DATA / "styles" / f"{name}.toml")
    assert (len(tables["writing"]), len(tables["interaction"])) == counts
    attributes = tables["writing"] + tables["interaction"]
    assert len({attribute["key"] for attribute in attributes}) == len(attributes)
    assert len({attribute["name"] for attribute in attributes}) == len(attributes)
    for attribute in attributes:
        assert set(attribute) == {"key", "name", "question", "values", "english_only", "instruct"}
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", attribute["key"])
        assert 2 <= len(set(attribute["values"])) == len(attribute["values"]) <= 6
        assert "unknown" not in attribute["values"] and isinstance(attribute["english_only"], bool)
        assert attribute["instruct"].count("{value}") == 1 and attribute["question"].endswith("?")
        assert attribute["instruct"].format(value="x").endswith(".")


def test_features_of_english_are_marked() -> None:
    marked: set[str] = set()
    for name in STYLE_COUNTS:
        tables = toml(DATA / "styles" / f"{name}.toml")
        marked |= {a["key"] for a in tables["writing"] + tables["interaction"] if a["english_only"]}
    assert marked == {"pronoun_i", "contractions", "articles"}


def test_preferences_for_each_document_type() -> None:
    files = {path.stem: path for path in (DATA / "preferences").glob("*.toml")}
    assert set(files) == {kind.replace(" ", "_") for kind in DOCUMENT_TYPES}
    for path in files.values():
        preferences = toml(path)["preference"]
        assert 6 <= len(preferences) <= 9
        assert len({preference["key"] for preference in preferences}) == len(preferences)
        assert all(set(preference) == {"key", "name", "question"} for preference in preferences)


def test_demo_study_has_the_announced_shape() -> None:
    assert len(DEMO) == 12 and len({record["conversation"] for record in DEMO}) == 12
    assert Counter(record["task"] for record in DEMO) == {"math_tutoring": 8, "document_creation": 4}
    people = Counter(record["person"] for record in DEMO)
    assert len(people) == 9 and sorted(people.values())[-3:] == [1, 2, 3]
    assert {record["assistant"] for record in DEMO} == {"assistant-a", "assistant-b"}
    assert (DATA / "demo" / "conversations.jsonl").stat().st_size < 45_000


def test_demo_study_forms_at_least_six_groups() -> None:
    stratum = {key: problem["level"] for key, problem in PROBLEM_OF.items()}
    stratum |= {key: topic["document_type"] for key, topic in TOPIC_OF.items()}
    groups = {(stratum[record["item"]], record["assistant"]) for record in DEMO}
    assert len(groups) >= 6
    assert {(level, a) for level, a in groups if level in LEVELS} == {
        (level, a) for level in LEVELS for a in ("assistant-a", "assistant-b")
    }


def test_demo_ratings_vary_and_some_answers_are_wrong() -> None:
    assert len({record["ratings"]["interaction"] for record in DEMO}) >= 6
    outcomes = Counter(record["outcome"]["correct"] for record in DEMO if "outcome" in record)
    assert outcomes[True] >= 2 and outcomes[False] >= 2


@pytest.mark.parametrize("record", demo_of("math_tutoring", "document_creation"))
def test_demo_turns_and_ratings(record: dict[str, Any]) -> None:
    roles = [turn["role"] for turn in record["turns"]]
    assert roles == ["user", "assistant"] * (len(roles) // 2)
    assert 3 <= roles.count("user") <= 6
    assert record["ended"] in {"user", "cap"} and (record["ended"] == "user" or roles.count("user") == 6)
    assert all(type(rating) is int and 1 <= rating <= 10 for rating in record["ratings"].values())
    assert set(record["survey"]) == {"strengths", "weaknesses", "why_stop"} and all(record["survey"].values())
    for turn in record["turns"]:
        words = len(turn["text"].split())
        assert 3 <= words <= 25 if turn["role"] == "user" else 20 <= words <= 70


@pytest.mark.parametrize("record", demo_of("math_tutoring"))
def test_demo_tutoring_outcome_agrees_with_the_bank(record: dict[str, Any]) -> None:
    sympy = pytest.importorskip("sympy")
    problem = PROBLEM_OF[record["item"]]
    assert set(record["ratings"]) == {"interaction"} and "documents" not in record
    assert record["background"]["math_expertise"] in {"9-12", "undergrad", "grad"}
    stated = record["outcome"]["final_answer"].removesuffix(" hours")
    assert same_number(sympy, stated, problem["answer_sympy"]) is record["outcome"]["correct"]


@pytest.mark.parametrize("record", demo_of("document_creation"))
def test_demo_document_versions(record: dict[str, Any]) -> None:
    topic = TOPIC_OF[record["item"]]
    assert set(record["ratings"]) == {"interaction", "document"} and "outcome" not in record
    places = [version["turn"] for version in record["documents"]]
    assert places == sorted(set(places)) and 2 <= len(places) <= 3
    assert all(record["turns"][place]["role"] == "assistant" for place in places)
    assert all(60 <= len(version["text"].split()) <= 140 for version in record["documents"])
    answered = [answer["question"] for answer in record["background"]["answers"]]
    assert len(set(answered)) == len(answered) >= 6 and set(answered) <= set(topic["questions"])
    assert all(len(answer["answer"].split()) >= 2 for answer in record["background"]["answers"])


def test_a_person_has_one_level_of_mathematics() -> None:
    stated = {(r["person"], r["background"]["math_expertise"]) for r in DEMO if r["task"] == "math_tutoring"}
    assert len(stated) == len({person for person, _ in stated})


def content() -> list[Path]:
    return sorted(path for path in DATA.rglob("*") if path.suffix in {".jsonl", ".toml", ".md"})


@pytest.mark.parametrize("path", content(), ids=lambda path: path.relative_to(DATA).as_posix())
def test_no_address_no_telephone_number_and_lf(path: Path) -> None:
    raw = path.read_bytes()
    assert b"\r" not in raw and raw.endswith(b"\n")
    text = re.sub(r"`[0-9a-f]{64}`", "", raw.decode("utf-8"))
    assert "@" not in text and "http" not in text
    assert not re.search(r"\+\d[\d ()/-]{6,}|\b\d{3}[ -]\d{3,4}[ -]?\d{2,}", text)


def test_readme_says_what_the_demo_is() -> None:
    readme = " ".join((DATA / "README.md").read_text(encoding="utf-8").split())
    assert "written by the authors of UserCal, not human data" in readme and "Apache-2.0" in readme


def run_script(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def test_hashes_in_the_readme_are_fresh() -> None:
    done = run_script("--check")
    assert done.returncode == 0, done.stderr


def test_a_changed_file_makes_the_table_stale_and_crlf_does_not(tmp_path: Path) -> None:
    copy = tmp_path / "data"
    shutil.copytree(DATA, copy, ignore=shutil.ignore_patterns("__pycache__"))
    changed = copy / "styles" / "base.toml"
    original = changed.read_bytes()
    changed.write_bytes(original.replace(b"\n", b"\r\n"))
    assert run_script("--check", "--data", str(copy)).returncode == 0
    changed.write_bytes(original + b"# more\n")
    stale = run_script("--check", "--data", str(copy))
    assert stale.returncode == 1 and "stale" in stale.stderr and "Traceback" not in stale.stderr
    assert run_script("--data", str(copy)).returncode == 0
    assert run_script("--check", "--data", str(copy)).returncode == 0


def test_a_readme_without_markers_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# no table\n", encoding="utf-8")
    refused = run_script("--data", str(tmp_path))
    assert refused.returncode == 1 and "markers" in refused.stderr and "Traceback" not in refused.stderr
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "# no table\n"
