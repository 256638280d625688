"""The recorded demo: whole, labelled, quick to say when the recording no longer fits."""

from __future__ import annotations

import gzip
import json
from importlib.resources import files
from pathlib import Path

import pytest

from annotate.schema import Annotation, Call, Conversation
from annotate.store import Store
from apps.cli import main
from apps.cli.demo import RECORDING


def call(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(words)
    return int(ended.value.code or 0)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("USERCAL_STORE", raising=False)
    return tmp_path


def test_the_recorded_demo_runs_whole_and_says_what_it_is(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("demo", "--no-open") == 0
    said = capsys.readouterr().out
    for words in ("written by us (not human data)", "recorded from local/smollm2", "12 conversations, 9 people",
                  "alignment",
                 
                  "Spearman ρ", "n = ", "realism", "Turing", "report", "Next:"):  # fmt: skip
        assert words in said, said
    assert (here / "usercal-demo" / "report.html").stat().st_size > 50_000
    html = (here / "usercal-demo" / "report.html").read_text("utf-8")
    for words in ("pipeline exercise, not evidence", "not human data", "recorded"):
        assert words in html.lower(), words
    with Store.open(f"sqlite:///{here / 'usercal-demo' / 'store.db'}") as store:
        calls = store.select(Call)
        assert calls and all(c.recorded and c.model == "local/smollm2" and c.seconds for c in calls)
        twins = store.select(Conversation, origin="simulated")
        assert len(twins) == 24 and {t.strategy for t in twins} == {"zero_shot_cot", "profile_length"}
        assert any(a.value is not None for a in store.select(Annotation, scale="turing"))


def test_a_second_demo_replaces_the_first_and_nothing_else(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("demo", "--no-open", "--json") == 0
    first = json.loads(capsys.readouterr().out)
    assert call("demo", "--no-open", "--json") == 0
    assert json.loads(capsys.readouterr().out)["lines"] == first["lines"]
    (here / "mine").mkdir()
    (here / "mine" / "thesis.txt").write_text("years of work")
    assert call("demo", "--out", "mine") == 2
    assert (here / "mine" / "thesis.txt").read_text() == "years of work"


def test_a_changed_prompt_makes_the_recording_stale_and_says_so(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from simulate.prompts import PromptBook

    render = PromptBook.render

    def changed(self: PromptBook, name: str, values: dict[str, object]):  # type: ignore[no-untyped-def]
        prompt = render(self, name, values)
        messages = tuple({**m, "content": m["content"] + " Please."} for m in prompt.messages)
        return type(prompt)(prompt.name, prompt.version, prompt.hash, messages)

    monkeypatch.setattr(PromptBook, "render", changed)
    assert call("demo", "--no-open") == 2
    said = capsys.readouterr()
    assert "no recorded reply fits" in said.err and said.err.count("\n") == 1


def test_the_recording_is_of_the_embedded_model_and_holds_no_secret() -> None:
    source = files("usercal_data") / "demo" / RECORDING
    lines = gzip.decompress(source.read_bytes()).decode().splitlines()
    calls = [json.loads(line) for line in lines]
    assert len(calls) > 300 and {c["model"] for c in calls} == {"local/smollm2"}
    assert all(c["usage"]["completion_tokens"] > 0 for c in calls if c["failure"] is None)
    assert len({c["key"] for c in calls}) == len(calls)
    assert "127.0.0.1" not in "".join(lines) and "/" + "tmp" not in "".join(lines)
