"""`usercal import` of tau files: one screen, the next command, exit codes, nothing half stored."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from apps.cli import main
from apps.cli.importing import ReadMeter

SHARED = Path(os.environ.get("USERCAL_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
RUNS = SHARED / "data" / "tau"


class Said(NamedTuple):
    """What a command said and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call the command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("USERCAL_STORE", raising=False)

    def run(*words: str) -> Said:
        with pytest.raises(SystemExit) as ended:
            main(words)
        said = capsys.readouterr()
        return Said(int(ended.value.code or 0), said.out, said.err)

    return run


def episodes(proxy: str, tasks: int = 2, **changes: Any) -> dict[str, Any]:
    messages = [
        {"role": "assistant", "content": "Hi!"},
        {"role": "user", "content": f"I am with {proxy}. ###STOP###", "tool_calls": None},
    ]
    simulations = [
        {"id": f"{proxy}{n}", "task_id": str(n), "trial": 0, "termination_reason": "user_stop", "user_cost": 0.01,
         "reward_info": {"reward": 1.0}, "messages": messages} for n in range(tasks)
    ]  # fmt: skip
    told = {"user_info": {"llm": proxy}, "agent_info": {"llm": "a"}, "environment_info": {"domain_name": "retail"}}
    return {"info": told, "tasks": [], "simulations": simulations, **changes}


def write(path: Path, value: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")
    return str(path)


def test_a_folder_is_imported_on_one_screen_and_twice_is_once(call: Any, tmp_path: Path) -> None:
    for name in ("p", "q", "r"):
        write(tmp_path / "runs" / f"{name}.json", episodes(name))
    first = call("import", "runs")
    assert first.code == 0 and len(first.out.splitlines()) <= 20
    assert "3 files, 6 conversations, 2 tasks × 3 proxies × 1 trial, domain retail" in first.out
    assert "(one: comparison is fair)" in first.out and "2 tasks have all 3 proxies" in first.out
    assert "6 new, 0 already there" in first.out and "Next:  usercal ufs" in first.out
    assert "0 new, 6 already there" in call("import", "tau", "runs").out


def test_json_carries_everything(call: Any, tmp_path: Path) -> None:
    write(tmp_path / "runs" / "p.json", episodes("p"))
    write(tmp_path / "runs" / "note.json", {"x": 1})
    told = json.loads(call("import", "runs", "--json").out)
    stream = told["streams"][0]
    assert told["new"] == 2 and told["next"] == ["usercal ufs"] and stream["design"]["domains"][0]["tasks"] == 2
    file = stream["files"][0]
    assert file["proxies"] == {"p": 2} and file["reward"] == 1.0 and file["costs"] == {"p": {"known": 2}}
    assert stream["passed_over"] == [{"file": "note.json", "why": "no results"}]


def test_exit_codes_say_whether_all_some_or_none_was_imported(call: Any, tmp_path: Path) -> None:
    good = write(tmp_path / "good.json", episodes("p"))
    (tmp_path / "cut.json").write_text(json.dumps(episodes("q"))[:-20])
    (tmp_path / "other.json").write_text('{"x": 1}')
    said = call("import", "cut.json", "other.json")
    assert said.code == 2 and "cut.json" in said.err and not (tmp_path / "store.db").exists()
    said = call("import", "cut.json", good, "other.json")
    assert said.code == 1 and "2 new" in said.out and "cut off" in said.out and "other.json" in said.out
    assert call("import", good).code == 0


def test_an_interruption_keeps_the_files_that_were_stored(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = write(tmp_path / "1.json", episodes("p")), write(tmp_path / "2.json", episodes("q"))
    whole = ReadMeter.show

    def interrupt(self: ReadMeter, label: str, read: int, size: int) -> None:
        whole(self, label, read, size)
        if size and label == "2.json":
            raise KeyboardInterrupt

    monkeypatch.setattr(ReadMeter, "show", interrupt)
    assert call("import", first, second).code == 130
    monkeypatch.setattr(ReadMeter, "show", whole)
    assert "2 new, 2 already there" in call("import", first, second).out
    other = tmp_path / "fresh"
    other.mkdir()
    monkeypatch.chdir(other)
    monkeypatch.setattr(ReadMeter, "show", interrupt)
    assert call("import", second).code == 130 and list(other.iterdir()) == []


def test_a_long_import_says_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    meter = ReadMeter(every=0.0)
    meter.show("big.json", 0, 0)
    assert meter.stored
    meter.show("big.json", 300_000_000, 600_000_000)
    meter.close()
    assert "50%" in capsys.readouterr().err


@pytest.mark.shared
@pytest.mark.skipif(not RUNS.is_dir(), reason="the public runs are not on this machine")
def test_all_public_runs_are_imported_by_one_command(call: Any) -> None:
    said = call("import", str(RUNS), "--guidelines", str(RUNS / "simulation_guidelines_tools.md"))
    assert said.code == 0 and "425 new, 0 already there" in said.out
    lines = said.out.splitlines()
    assert len(lines) <= 48 and max(map(len, lines)) <= 110, "one screen, for seventeen files that do not match"
    assert "0 new, 425 already there" in call("import", str(RUNS)).out
