"""`usercal ufs` with input that is out to break it: one sentence, or a right answer; nothing unsafe to paste."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from apps.cli import main

HEADER = "proxy,domain,task,criterion,family,verdict,cost_usd\n"


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Call the command line in an empty folder; return exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("USERCAL_STORE", raising=False)

    def run(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


@pytest.mark.parametrize("agent", ["clerk\ntouch x", "clerk\rtouch x", "-rf", "a\x1b[31mb"])
def test_a_name_that_would_become_a_command_of_its_own_is_refused(call, agent: str) -> None:  # type: ignore[no-untyped-def]
    code, out, err = call("ufs", "--commands", "parrot", "--agent", agent)
    assert code == 2 and not out and "not safe to paste" in err and err.count("\n") == 1


@pytest.mark.parametrize("agent", ["$(touch x)", "`touch x`", "a'b", "a;touch x", "a b"])
def test_a_shell_that_knows_no_comments_runs_nothing_of_a_name(call, agent: str) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = call("ufs", "--commands", "parrot", "--agent", agent, "--domains", "retail")
    about, line = out.splitlines()[:2]
    assert code == 0 and shlex.split(about)[-1] == agent
    assert shlex.split(line)[shlex.split(line).index("--agent-llm") + 1] == agent


@pytest.mark.parametrize("cost", ["nan", "inf", "-1", "x", "5%", "9" * 400])
def test_a_cost_that_is_none_is_refused_in_one_short_sentence(call, tmp_path: Path, cost: str) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "v.csv").write_text(f"{HEADER}a,retail,0,c1,groundedness,pass,{cost}\n")
    code, _, err = call("ufs", "v.csv")
    assert code == 2 and err.endswith("not known.\n") and len(err) < 200 and "line 2" in err


def test_blank_lines_between_the_rows_of_a_table_are_no_rows(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    rows = [f"a,retail,{task},c1,groundedness,pass,0.01" for task in range(3)]
    (tmp_path / "v.csv").write_text("\n\n".join([HEADER.strip(), *rows]) + "\n")
    code, out, err = call("ufs", "v.csv", "--resamples", "100")
    assert code == 0 and "3 tasks in 1 domain" in out and not err


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", b"", "is empty"),
        ("a.jsonl", b"", "is empty"),
        ("a.csv", b"\x1f\x8b\x08\x00abc", "compressed"),
        ("v.csv.gz", b"\x1f\x8b\x08\x00abc", "compressed"),
        ("v.xlsx", b"PK\x03\x04abc", "Excel"),
        ("a.csv", b"proxy,domain\x00,task\n", "no text file"),
        ("a.jsonl", b'{"proxy": "a", "domain": "r", "task": 1, "criterion": "c", "verdict": NaN}\n', "NaN"),
        ("a.csv", b"proxy,domain,ufs,n,cost_usd\na,r,0.5,0,0.1\n", "n = 0"),
    ],
)
def test_the_fault_of_a_file_is_the_fault_that_is_told(  # type: ignore[no-untyped-def]
    call, tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    (tmp_path / name).write_bytes(content)
    code, _, err = call("ufs", name)
    assert code == 2 and says in err and err.count("\n") == 1 and ".." not in err, err
    if b"ufs,n" not in content:
        (tmp_path / "ok.csv").write_text(HEADER + "a,r,1,c,groundedness,pass,0.1\n")
        code, _, err = call("ufs", "ok.csv", "--verdicts", name)
        assert code == 2 and err.count("\n") == 1, err


def test_a_place_that_is_a_file_is_told_before_anything_is_computed(call, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "v.csv").write_text(HEADER + "a,r,1,c,groundedness,pass,0.1\n")
    for place in ("v.csv", "v.csv/below"):
        code, _, err = call("ufs", "v.csv", "--out", place)
        assert code == 2 and "Give a folder" in err
