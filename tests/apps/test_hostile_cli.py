"""People in a hurry, odd folders and other processes: one sentence, the right exit code, and nothing lost."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from annotate.errors import ConfigError, StudyError
from annotate.study import KEY, Study
from apps.cli.options import printable

URL = "http://127.0.0.1:9/v1"
MODEL = f"[models.m]\nmodel = 'openai/made-up'\napi_base = '{URL}'\n"
RUN = "[run]\nuser = 'm'\nassistant = 'm'\nextractor = 'm'\njudges = ['m']\n"


def chats(path: Path, count: int = 3, **changes: object) -> Path:
    lines = [{"conversation": str(n), "task": "math_tutoring", "item": "m1", "person": f"p{n}", "assistant": "a",
        "turns": [{"role": "user", "text": f"hi {n}"}, {"role": "assistant", "text": "hello"}],
        "ratings": {"interaction": 3 + n % 7}, **changes} for n in range(count)]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def study(folder: Path, more: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.toml").write_text(f"[study]\nname = 's'\n{more}", "utf-8")
    return folder


def program(*words: str, cwd: Path) -> subprocess.Popen[str]:
    code = f"from apps.cli import main; main({list(words)!r})"
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", code], cwd=cwd, stdout=pipe, stderr=pipe, text=True)


# --- imports at once -------------------------------------------------------------------------------------------------


def test_imports_at_once_into_an_empty_folder_lose_nothing(tmp_path: Path) -> None:
    chats(tmp_path / "c.jsonl", 400)
    running = [program("import", "c.jsonl", cwd=tmp_path) for _ in range(3)]
    said = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], said
    assert sorted("400 new" in out for out, _ in said) == [False, False, True]
    with sqlite3.connect(tmp_path / "store.db") as raw:
        assert raw.execute("SELECT count(*) FROM conversation").fetchone() == (400,)
    assert (tmp_path / "study.toml").is_file()


def test_an_import_that_is_interrupted_leaves_no_study_behind(call, tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    chats(tmp_path / "c.jsonl")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("annotate.imports.import_paths", interrupted)
    assert call("import", "c.jsonl").code == 130
    assert [path.name for path in tmp_path.iterdir()] == ["c.jsonl"]


# --- folders, keys, stores -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["what?", "100%25", "50%", "a#b", "sp ace", "é😀", 'it\'s "q"'])
def test_a_folder_may_have_any_name(call, tmp_path: Path, name: str) -> None:  # type: ignore[no-untyped-def]
    assert call("init", name).code == 0
    chats(tmp_path / "c.jsonl")
    assert "3 new" in call("import", "c.jsonl", "--study", name).out
    assert (tmp_path / name / "store.db").is_file()
    assert "3 new" in call("import", "c.jsonl", "--study", name, "--store", "another?%41.db").out
    assert (tmp_path / name / "another?%41.db").is_file()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not allow such a name")
def test_a_folder_whose_name_is_no_text(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    said = call("init", os.fsdecode(b"bad\xff"))
    assert said.code == 2 and "is no text" in said.err and list(tmp_path.iterdir()) == []
    study(tmp_path / os.fsdecode(b"bad\xff"))
    said = call("status", "--study", os.fsdecode(b"bad\xff"))
    assert said.code == 2 and "is no text" in said.err
    assert call("init", "odd\x7f").code == 0 and call("status", "--study", "odd\x7f").code == 0


@pytest.mark.parametrize("key", ["", "00", "00" * 31, "00" * 33, "zz", "é"])
def test_a_key_that_anybody_could_make_is_refused(call, tmp_path: Path, key: str) -> None:  # type: ignore[no-untyped-def]
    study(tmp_path)
    (tmp_path / KEY).write_text(key, "utf-8")
    said = call("import", str(chats(tmp_path / "c.jsonl")))
    assert said.code == 2 and "cannot be read as a key" in said.err


def test_a_lost_key_is_missed_and_not_made_anew(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    study(tmp_path)
    assert call("import", str(chats(tmp_path / "c.jsonl"))).code == 0
    (tmp_path / KEY).unlink()
    said = call("status")
    assert said.code == 2 and "is missing" in said.err and not (tmp_path / KEY).exists()


@pytest.mark.parametrize("store", [":memory:", "sqlite://", "sqlite:///", "sqlite:///:memory:"])
def test_a_store_that_would_be_lost_is_refused(call, tmp_path: Path, store: str) -> None:  # type: ignore[no-untyped-def]
    study(tmp_path)
    said = call("import", str(chats(tmp_path / "c.jsonl")), "--store", store)
    assert said.code == 2 and "would be lost" in said.err


@pytest.mark.parametrize(
    "store", ["http://u:hunter2@h", "mysql://u:hunter2@h/d", "postgresql+psycopg://u:hunter2@[h/d"]
)
def test_a_password_is_not_repeated(call, tmp_path: Path, store: str) -> None:  # type: ignore[no-untyped-def]
    study(tmp_path)
    said = call("status", "--store", store)
    assert said.code == 2 and "hunter2" not in said.out + said.err


def test_another_database_is_refused_before_its_driver_is_asked_for(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    study(tmp_path)
    assert "'mysql' is not supported" in call("status", "--store", "mysql://h/d").err


LONG = "x" * 300


@pytest.mark.parametrize(
    "words",
    [
        ("import", LONG), ("status", "--study", LONG), ("status", "--store", LONG), ("run", LONG), ("init", LONG),
        ("demo", "--out", LONG), ("report", "--resamples", "100", "--out", LONG), ("export", "jsonl", LONG),
    ],
)  # fmt: skip
def test_a_path_that_no_system_takes_is_one_sentence(call, tmp_path: Path, words: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    study(tmp_path)
    call("import", str(chats(tmp_path / "c.jsonl")))
    said = call(*words)
    assert said.code == 2 and said.err.count("\n") == 1 and "too long" in said.err


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (MODEL + "temperature = nan\n", "temperature"),
        (MODEL + "top_p = true\n", "top_p"),
        (MODEL + "timeout_seconds = inf\n", "timeout_seconds"),
        (MODEL + "params = {x = 2026-01-01}\n", "cannot be sent"),
        (MODEL.replace(URL, ""), "api_base"),
        (MODEL.replace(URL, "ftp://x"), "api_base"),
        ("[run]\ntrials = 100000000\n", "trials"),
        ("[run]\nbudget_usd = inf\n", "budget_usd"),
        ("[run]\nconversations = true\n", "conversations"),
        ("[run]\nper_task = {math_tutoring = -1}\n", "per_task.math_tutoring"),
        ("[report]\nresamples = 1000000000\n", "resamples"),
        ("[scales.q]\nlevel = 'nominal'\nlabels = ['a', 'a']\n", "stands twice"),
        ("[scales.q]\nname = 'other'\nlevel = 'text'\n", "says name"),
        ("x = " + "[" * 5000, "nested too deeply"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused(tmp_path: Path, text: str, says: str) -> None:
    study(tmp_path, text)
    with pytest.raises(ConfigError, match=says) as error:
        Study.open(tmp_path)
    assert "\n" not in str(error.value)


def test_a_secret_in_the_settings_is_not_repeated(tmp_path: Path) -> None:
    for secret in (MODEL + "params = {api_key = 'hunter2'}\n", MODEL.replace("127", "u:hunter2@127")):
        study(tmp_path, secret)
        with pytest.raises(ConfigError, match="secret") as error:
            Study.open(tmp_path)
        assert "hunter2" not in str(error.value)


def test_a_date_may_be_written_as_a_date(tmp_path: Path) -> None:
    price = "[prices.x]\ninput_usd_per_million = 1\noutput_usd_per_million = 1\nas_of = 2026-11-01\n"
    assert Study.open(study(tmp_path, price)).config.prices["x"].as_of == "2026-11-01"


@pytest.mark.parametrize("amount", ["nan", "inf", "1e400", "-1"])
def test_a_budget_is_an_amount(call, tmp_path: Path, amount: str) -> None:  # type: ignore[no-untyped-def]
    study(tmp_path, MODEL + RUN)
    said = call("run", "--budget", amount)
    assert said.code == 2 and "--budget" in said.err


def test_what_is_named_twice_is_planned_once_and_what_is_nowhere_is_told(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    more = RUN.replace("['m']", "['m', 'm']") + "[run.assistants]\nnobody = 'm'\n"
    study(tmp_path, MODEL + more)
    call("import", str(chats(tmp_path / "c.jsonl")))
    facts = json.loads(call("plan", "--json").out)
    study(tmp_path, MODEL + RUN)
    once = json.loads(call("plan", "--json").out)
    assert facts["cells"] == once["cells"]
    assert any("named twice" in note for note in facts["notes"]) and any("'nobody'" in note for note in facts["notes"])
    study(tmp_path, MODEL + RUN + "per_task = {nope = 2}\n")
    assert "per_task: 'nope' is not declared" in call("plan").err


@pytest.mark.parametrize("text", ["run = 5\n", "[[run]]\n", "run = 'x'\n"])
def test_a_run_file_whose_run_is_no_section_is_refused(call, tmp_path: Path, text: str) -> None:  # type: ignore[no-untyped-def]
    study(tmp_path, MODEL + RUN)
    (tmp_path / "r.toml").write_text(text)
    said = call("plan", "r.toml")
    assert said.code == 2 and "no section" in said.err and said.err.count("\n") == 1


def test_nothing_to_do_is_said(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    study(tmp_path, MODEL + RUN + "per_task = {math_tutoring = 0}\n")
    call("import", str(chats(tmp_path / "c.jsonl")))
    assert "nothing:" in call("plan").out


# --- the way out -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe that is closed is told otherwise there")
def test_a_reader_that_goes_away_is_no_failure(tmp_path: Path) -> None:
    study(tmp_path)
    code = "from apps.cli import main; main(['status', '--help'])"
    done = subprocess.run(
        ["sh", "-c", f'{{ "{sys.executable}" -c "{code}"; echo $? >&2; }} | true'],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr.strip() == "0", done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("words", [("status",), ("status", "--json"), ("--help",)])
def test_an_answer_that_cannot_be_written_is_exit_code_2(tmp_path: Path, words: tuple[str, ...]) -> None:
    study(tmp_path)
    code = f"from apps.cli import main; main({list(words)!r})"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2 and "No space left" in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_names_do_not_command_the_terminal(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    study(tmp_path)
    call("import", str(chats(tmp_path / "c.jsonl", task="a\x1b[31mred\u202e")))
    assert "\x1b" not in call("status").out and printable("a\tb\nρ") == "a\tb\nρ"


# --- exports, demos, reports -----------------------------------------------------------------------------------------


def test_an_export_through_a_link_keeps_the_link(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    study(tmp_path)
    call("import", str(chats(tmp_path / "c.jsonl")))
    (tmp_path / "link").symlink_to("real")
    for _ in range(2):
        assert call("export", "jsonl", "link").code == 0
        assert (tmp_path / "link").is_symlink() and (tmp_path / "real" / "manifest.json").is_file()
    assert not [path.name for path in tmp_path.iterdir() if path.name.endswith((".old", ".partial"))]


def test_replaced_characters_are_not_called_withheld(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    study(tmp_path, "scopes = ['share_verbatim']\n")
    call("import", str(chats(tmp_path / "c.jsonl", ended="a\ud800b")))
    said = call("export", "csv", "out")
    assert "consent" not in said.out and "3 characters, which csv cannot hold" in said.out


def test_a_demo_removes_only_what_a_demo_made(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    from apps.cli.demo import make_study

    make_study(tmp_path / "d", live=False)
    make_study(tmp_path / "d", live=False)
    (tmp_path / "d" / "notes.txt").write_text("mine")
    with pytest.raises(StudyError, match=r"notes\.txt"):
        make_study(tmp_path / "d", live=False)
    assert (tmp_path / "d" / "notes.txt").read_text() == "mine"
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StudyError, match="is a file"):
        make_study(tmp_path / "file", live=False)


def test_people_alone_are_reported_of_any_task(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    study(tmp_path)
    call("import", str(chats(tmp_path / "c.jsonl", task="../../my_task")))
    assert call("report", "--resamples", "100").code == 0
    assert "is not known" in call("plan").err


def test_a_report_that_cannot_be_written_leaves_nothing_half(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    from apps.cli.report import _put

    (tmp_path / "report.html").mkdir()
    with pytest.raises(OSError, match="directory"):
        _put(tmp_path / "report.html", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    shutil.rmtree(tmp_path / "report.html")


def test_a_lock_is_waited_for_and_then_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import annotate.study

    monkeypatch.setattr(annotate.study, "_BUSY_SECONDS", 0.2)
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with annotate.study.alone(tmp_path):
            entered.set()
            leave.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait(20)
    with pytest.raises(StudyError, match="Try again"), annotate.study.alone(tmp_path):
        pass
    leave.set()
    thread.join()
    with annotate.study.alone(tmp_path):
        pass
