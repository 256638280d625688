"""The command line: quick, plain, one sentence for a mistake, exit codes that can be relied on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from apps.cli import VERBS

SHARED = Path(os.environ.get("USERCAL_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
CHAT = {
    "conversation": "one", "task": "math_tutoring", "item": "m01", "person": "ann", "assistant": "a1",
    "turns": [{"role": "user", "text": "hi"}, {"role": "assistant", "text": "hello, what is it?"}], "ended": "user",
    "ratings": {"interaction": 7},
}  # fmt: skip


def chats(path: Path, count: int = 4, **changes: object) -> Path:
    lines = [{**CHAT, "conversation": str(n), "person": f"person {n}", "turns": [
        {"role": "user", "text": f"hi {n}"}, {"role": "assistant", "text": "word " * (n + 2)}],
        "ratings": {"interaction": 3 + n}, **changes} for n in range(count)]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def one_sentence(said: Any, *words: str) -> None:
    assert said.code == 2 and said.out == "", said.out
    complaint = said.err.strip().splitlines()
    assert len([line for line in complaint if not line.startswith("Help:")]) == 1, said.err
    assert "Traceback" not in said.err
    for word in words:
        assert word in said.err, said.err


def test_help_needs_no_optional_or_heavy_module() -> None:
    code = (
        "import sys\nfrom apps.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = set('pandas numpy scipy litellm sqlmodel sqlalchemy streamlit torch pydantic matplotlib'.split())\n"
        "found = heavy & set(sys.modules)\nprint(sorted(found), file=sys.stderr)\nsys.exit(bool(found))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(verb in done.stdout for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(call, verb: str) -> None:  # type: ignore[no-untyped-def]
    said = call(verb, "--help")
    assert said.code == 0 and f"usercal {verb}" in said.out and "Example" in said.out


def test_an_unknown_verb_names_the_nearest(call) -> None:  # type: ignore[no-untyped-def]
    one_sentence(call("improt"), "did you mean 'import'")


def test_a_study_from_nothing_to_a_report(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    chats(tmp_path / "chats.jsonl", 8, scopes=["take_part", "share_deidentified", "share_verbatim"])
    assert call("init", "s").code == 0
    said = call("import", "chats.jsonl", "--study", "s")
    assert said.code == 0 and "8 new, 0 already there" in said.out and "Next:" in said.out
    said = call("import", "chats.jsonl", "--study", "s")
    assert "0 new, 8 already there" in said.out
    said = call("report", "--study", "s", "--resamples", "100")
    assert said.code == 0 and "n = 8" in said.out
    assert {p.name for p in (tmp_path / "s" / "reports").iterdir()} == {"report.html", "report.md", "report.json"}
    said = call("export", "jsonl", "out", "--study", "s")
    assert said.code == 0 and (tmp_path / "out" / "conversations.jsonl").is_file()
    assert json.loads(call("status", "--study", "s", "--json").out)["human_conversations"] == 8


def test_a_table_without_a_mapping_prints_a_guess_and_writes_nothing(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "chats.csv").write_text(
        "person,item,assistant,role,text,score\nann,1,a,user,hi,3\nann,1,a,assistant,yo,3\n"
    )
    (tmp_path / ".gitignore").write_text("mine\n")
    said = call("import", "chats.csv")
    assert said.code == 2 and said.err.count("\n") == 1 and "--map map.toml" in said.err
    assert said.out.startswith("# A guess") and 'person = "person"' in said.out
    assert {p.name for p in tmp_path.iterdir()} == {"chats.csv", ".gitignore"}
    assert (tmp_path / ".gitignore").read_text() == "mine\n"


def test_init_leaves_an_existing_gitignore_and_adds_to_it(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / ".gitignore").write_text("mine")
    call("init")
    assert (tmp_path / ".gitignore").read_text().splitlines() == ["mine", "study.key", "store.db*"]


def test_an_export_without_consent_says_what_it_holds_back(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    chats(tmp_path / "chats.jsonl", 3)
    call("import", "chats.jsonl")
    said = call("export", "jsonl", "out")
    assert said.code == 0 and "no consent" in said.out and "3" in said.out
    assert "hi 1" not in "".join(p.read_text("utf-8") for p in (tmp_path / "out").iterdir())
    toml = (tmp_path / "study.toml").read_text()
    stated = '[study]\nscopes = ["take_part", "share_verbatim"]\nscopes_basis = "form 1"'
    (tmp_path / "study.toml").write_text(toml.replace("[study]", stated, 1))
    assert "consent " not in call("import", "chats.jsonl").out
    assert "3 conversations" in call("export", "jsonl", "out", "--force").out


def test_import_makes_a_study_where_there_is_none_and_takes_it_back_when_it_fails(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    bad = chats(tmp_path / "chats.jsonl", ratings={"interaction": 70})
    one_sentence(call("import", str(bad)), "value 70 is above 10")
    assert [p.name for p in tmp_path.iterdir()] == ["chats.jsonl"]
    chats(bad)
    said = call("import", str(bad))
    assert said.code == 0 and "made ./study.toml" in said.out


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'[{"conversation": "x", ', ()),
        (b"", ("empty",)),
        (b"\x00\x01\x02\x03" * 200, ()),
        (b"just some words\nand more\n", ()),
        (b'{"songs": [{"title": "x"}]}', ()),
    ],
    ids=["truncated", "empty", "binary", "prose", "other tool"],
)
def test_a_bad_file_is_one_sentence_and_writes_nothing(
    call, tmp_path: Path, content: bytes, words: tuple[str, ...]
) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "bad.json").write_bytes(content)
    one_sentence(call("import", "bad.json"), "bad.json", *words)
    assert [p.name for p in tmp_path.iterdir()] == ["bad.json"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[modles.x]\nmodel = 'y'", ("modles", "did you mean 'models'", "Allowed here")),
        ("[run]\nstrategeis = []", ("run.strategeis", "did you mean 'strategies'")),
        ("[run]\nuser = 'nobody'", ("'nobody' is not declared",)),
        ("[models.x]\nmodel = 'y'\n[models.x.params]\napi_key = 'sk'", ("secret",)),
        ("[study", ("not valid TOML",)),
    ],
)
def test_a_wrong_config_is_one_sentence(call, tmp_path: Path, line: str, words: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    call("init", "s")
    chats(tmp_path / "chats.jsonl")
    call("import", "chats.jsonl", "--study", "s")
    head = '[study]\nname = "t"\n' if not line.startswith("[study") else ""
    (tmp_path / "s" / "study.toml").write_text(head + line + "\n", "utf-8")
    one_sentence(call("plan", "--study", "s"), "study.toml" if "nobody" not in line else "user", *words)


def test_a_model_that_is_not_there_is_one_sentence_and_costs_nothing(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    chats(tmp_path / "chats.jsonl")
    call("import", "chats.jsonl")
    said = call("judge", "--scale", "interaction", "--model", "smal")
    one_sentence(said, "'smal' is not declared", "did you mean 'small'")
    one_sentence(call("judge", "--scale", "interaction", "--model", "nosuchprovider/x"), "nosuchprovider/x")
    one_sentence(call("judge", "--scale", "interactoin", "--model", "small"), "did you mean 'interaction'")


def test_a_newer_store_is_one_sentence(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    import sqlite3

    call("init", "s")
    with sqlite3.connect(tmp_path / "s" / "store.db") as raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
    one_sentence(call("status", "--study", "s"), "newer version of UserCal")


def test_another_key_is_refused(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    call("init", "s")
    (tmp_path / "s" / "study.key").write_text("00" * 32)
    one_sentence(call("status", "--study", "s"), "study.key", "Put the old key back")


def test_no_study_here_is_one_sentence(call) -> None:  # type: ignore[no-untyped-def]
    one_sentence(call("status"), "usercal init")
    one_sentence(call("report", "--study", "nowhere"), "nowhere")


def test_plan_counts_and_prices_and_spends_nothing(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    chats(tmp_path / "chats.jsonl", 3)
    call("import", "chats.jsonl")
    plan = json.loads(call("plan", "--json").out)
    assert plan["cells"]["twins"] == {"done": 0, "planned": 6} and plan["estimated_cost_usd"] == 0
    assert json.loads(call("status", "--json").out)["calls"] == 0


def test_errors_are_json_where_json_was_asked_for(call) -> None:  # type: ignore[no-untyped-def]
    said = call("status", "--json")
    assert said.code == 2 and "usercal init" in json.loads(said.out)["error"]


@pytest.mark.shared
@pytest.mark.skipif(
    not (SHARED / "data" / "simulatorarena").is_dir(), reason="the public release is not on this machine"
)
def test_the_public_release_imports_and_reports(call) -> None:  # type: ignore[no-untyped-def]
    said = call("import", "simulatorarena", str(SHARED / "data" / "simulatorarena"))
    assert said.code == 0
    for words in ("101 new, 0 already there", "math_tutoring 50 of 50", "220 × replies with doubled backslashes"):
        assert words in said.out
    assert "0 new, 101 already there" in call("import", str(SHARED / "data" / "simulatorarena")).out
    report = json.loads(call("report", "--resamples", "100", "--json").out)
    assert Path(report["paths"]["html"]).stat().st_size > 10_000
