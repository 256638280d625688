"""The first full chain on real conversations, with the embedded model, killed half way and resumed."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from annotate.schema import Annotation, Call, Cell, Conversation, Failure, Profile
from annotate.store import Store
from simulate.local import pulled

SHARED = Path(os.environ.get("USERCAL_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
RELEASE = SHARED / "data" / "simulatorarena"
EACH = int(os.environ.get("USERCAL_REAL_CONVERSATIONS", "1"))
"""How many conversations of each task: 1 in CI, 5 for the whole exercise."""

pytestmark = [
    pytest.mark.shared,
    pytest.mark.local_model,
    pytest.mark.skipif(not RELEASE.is_dir(), reason="the public release is not on this machine"),
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="the extra 'local' is not installed"),
    pytest.mark.skipif(pulled("local/smollm2") is None, reason="the weights are not here: usercal model pull"),
    pytest.mark.timeout(3600),
]

STUDY = f"""
[study]
name = "real"

[models.small]
model = "local/smollm2"
temperature = 0.7
seed = 3
concurrency = 2

[run]
per_task = {{ math_tutoring = {EACH}, document_creation = {EACH} }}
strategies = ["zero_shot_cot", "profile_length"]
user = "small"
assistant = "small"
document = "small"
extractor = "small"
judges = ["small"]
scales = ["interaction", "document", "likert_writing", "turing"]
max_user_turns = 3
user_max_tokens = 104      # a message has at most 64 characters, so at most 64 tokens
assistant_max_tokens = 140
prompt_tokens = 900
"""


def usercal(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", "from apps.cli import main; main()", *words],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=3000)
    assert process.returncode == 0, out + err
    return out


def calls_so_far(folder: Path) -> int:
    with Store.open(f"sqlite:///{folder / 'store.db'}", create=False) as store:
        return store.count(Call)


def test_profiles_twins_ratings_and_report_survive_a_kill(tmp_path: Path) -> None:
    finish(usercal(tmp_path, "init", ".", "--name", "real"))
    (tmp_path / "study.toml").write_text(STUDY, "utf-8")
    assert "101 new" in finish(usercal(tmp_path, "import", "simulatorarena", str(RELEASE)))
    planned = json.loads(finish(usercal(tmp_path, "plan", "--json")))["cells"]
    assert planned["twins"]["planned"] == 4 * EACH and planned["profiles"]["planned"] == 2 * EACH
    running = usercal(tmp_path, "run")
    deadline = time.monotonic() + 1500
    while calls_so_far(tmp_path) < 15 * EACH and time.monotonic() < deadline:
        assert running.poll() is None, running.communicate()
        time.sleep(0.5)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    with Store.open(f"sqlite:///{tmp_path / 'store.db'}") as store:
        before = {call.id: call for call in store.select(Call)}
        cells_before = store.ids(Annotation) | store.ids(Profile)
    assert len(before) >= 15 * EACH
    finish(usercal(tmp_path, "run"))
    check_store(tmp_path, before, cells_before, planned)
    said = finish(usercal(tmp_path, "report", "--resamples", "200"))
    assert "report" in said
    html = (tmp_path / "reports" / "report.html").read_text("utf-8")
    assert "pipeline exercise, not evidence" in html.lower()
    again = json.loads(finish(usercal(tmp_path, "run", "--json")))
    assert again["done"] == 0 and again["paid_calls"] == 0


def check_store(
    folder: Path, before: dict[str, Call], cells_before: set[str], planned: dict[str, dict[str, int]]
) -> None:
    """No cell lost, none doubled, no call paid twice; whatever was there before the kill is there still."""
    with Store.open(f"sqlite:///{folder / 'store.db'}") as store:
        calls = store.select(Call)
        assert before.items() <= {call.id: call for call in calls}.items()
        good = Counter(call.key for call in calls if call.failure is None)
        assert max(good.values()) == 1
        twins = store.select(Conversation, origin="simulated")
        assert len(twins) == len({t.cell for t in twins}) == planned["twins"]["planned"]
        assert store.count(Profile, extractor="local/smollm2") == planned["profiles"]["planned"]
        ratings = [a for a in store.iterate(Annotation) if a.run]
        assert len(ratings) == planned["ratings"]["planned"] and cells_before <= store.ids(Annotation) | store.ids(
            Profile
        )
        assert store.count(Failure) == 0, store.select(Failure)
        assert store.count(Cell) == sum(part["planned"] for part in planned.values())
        for twin in twins:
            assert [t.role for t in twin.turns] == ["user", "assistant"] * (len(twin.turns) // 2)
            assert 1 <= len(twin.turns) // 2 <= 3 and all(t.text.strip() for t in twin.turns)
            assert all(len(t.text) <= 64 for t in twin.turns if t.role == "user")
            assert twin.cost_usd == 0
