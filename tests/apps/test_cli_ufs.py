"""`usercal ufs`: from results, verdicts and runs; before anybody judged, and after."""

from __future__ import annotations

import csv
import json
import os
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(os.environ.get("USERCAL_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
RUNS = SHARED / "data" / "tau"
PROXIES = {"careful": (0.96, 0.05), "cheap": (0.86, 0.01), "chatty": (0.55, 0.002)}
"""proxy → (the chance that a criterion is kept, US dollars a conversation)"""
FAMILIES = ("groundedness", "premature_disclosure", "goal_deviation")


def verdicts(path: Path, tasks: int = 40, *, seed: int = 1, kept: dict[str, float] | None = None) -> Path:
    """Write a table of made-up verdicts: three proxies on the same tasks of two domains."""
    draw = random.Random(seed)
    with path.open("w", encoding="utf-8", newline="") as file:
        write = csv.writer(file)
        write.writerow(["proxy", "domain", "task", "criterion", "family", "mode", "verdict", "reward", "cost_usd"])
        for domain in ("retail", "airline"):
            for task in range(tasks):
                for proxy, (chance, cost) in PROXIES.items():
                    reward = int(draw.random() < 0.7)
                    for number, family in enumerate(FAMILIES):
                        good = draw.random() < (kept or {}).get(proxy, chance)
                        said = "pass" if good else "fail"
                        write.writerow([proxy, domain, task, f"k{number}", family, "", said, reward, cost])
    return path


def used(prompt: int, completion: int) -> dict[str, Any]:
    return {"cost": 0.001, "usage": {"prompt_tokens": prompt, "completion_tokens": completion}}


def run_file(path: Path, proxy: str = "openai/parrot", tasks: int = 3, *, upfront: bool = False) -> Path:
    """Write a made-up run of tau2's first format."""
    opening = "Hi, Ada Byrne here, ada_byrne_4242, order #W1234567." if upfront else "Hello, my parcel is late."
    messages = [
        {"role": "assistant", "content": "How can I help?"},
        {"role": "user", "content": opening, **used(900, 20)},
        {"role": "assistant", "content": "Your user id, please?"},
        {"role": "user", "content": "ada_byrne_4242", **used(950, 9)},
        {"role": "assistant", "content": "It is on its way."},
        {"role": "user", "content": "###STOP###", **used(990, 3)},
    ]
    known = "You are Ada Byrne, user id ada_byrne_4242. Your order is #W1234567."
    content = {
        "timestamp": "2026-01-01T00:00:00",
        "info": {
            "num_trials": 1,
            "user_info": {"implementation": "user_simulator", "llm": proxy, "llm_args": {"temperature": 1.0}},
            "agent_info": {"implementation": "llm_agent", "llm": "openai/clerk", "llm_args": {}},
            "environment_info": {"domain_name": "retail"},
        },
        "tasks": [
            {
                "id": str(n),
                "user_scenario": {
                    "persona": None,
                    "instructions": {
                        "domain": "retail", "reason_for_call": f"Parcel {n} is late.", "known_info": known,
                        "unknown_info": None, "task_instructions": "Be brief.",
                    },
                },
                "evaluation_criteria": {"actions": []},
            }
            for n in range(tasks)
        ],
        "simulations": [
            {
                "id": f"{proxy}-{n}", "task_id": str(n), "trial": 0, "seed": 1, "termination_reason": "user_stop",
                "start_time": "2026-01-01T00:00:00", "end_time": "2026-01-01T00:01:00", "duration": 60.0,
                "agent_cost": 0.01, "user_cost": 0.003, "reward_info": {"reward": 1.0},
                "messages": [{**m, "turn_idx": i, "tool_calls": None} for i, m in enumerate(messages)],
            }
            for n in range(tasks)
        ],
    }  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")
    return path


def test_verdicts_give_the_cheapest_that_is_faithful_enough_and_every_file(call: Any, tmp_path: Path) -> None:
    said = call("ufs", verdicts(tmp_path / "v.csv"), "--q", ".75", "--rollouts", "8", "--prompts", "100", "--out", "o")
    assert said.code == 0, said.err
    assert "careful" in said.out and "cheap" in said.out and "judge-only" in said.out and "800" in said.out
    assert "Next:" in said.out and "Wrote" in said.out
    names = {path.name for path in (tmp_path / "o").iterdir()}
    assert {"ufs.html", "ufs.md", "ufs.json", "ufs.csv", "ufs.tex", "methods.txt", "refs.bib", "frontier.pdf"} <= names
    assert not [path for path in tmp_path.iterdir() if path.name not in ("v.csv", "o")]


def test_json_holds_the_whole_analysis(call: Any, tmp_path: Path) -> None:
    said = call("ufs", verdicts(tmp_path / "v.csv"), "--q", ".6", "--json")
    facts = json.loads(said.out)
    assert facts["analysis"] and facts["paths"]["ufs.json"] and facts["next"]
    again = json.loads(call("ufs", tmp_path / "v.csv", "--q", ".6", "--json").out)
    assert again == facts, "the same data and seed give the same numbers"


def test_runs_without_verdicts_show_probes_and_the_price_of_the_next_step(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_file(tmp_path / "a.json")
    run_file(tmp_path / "b.json", "openai/blurter", upfront=True)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path.parent))
    before = set(Path(tempfile.gettempdir()).glob("usercal-*"))
    said = call("ufs", "a.json", "b.json", "--judge", "openai/gpt-4o")
    assert said.code == 0, said.err
    assert "Probes, not UFS" in said.out and "no model was asked" in said.out
    assert "openai/blurter" in said.out and "3 of 3" in said.out
    assert "verdicts on 6 episodes" in said.out and "$" in said.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b.json"], "reading leaves nothing behind"
    assert set(Path(tempfile.gettempdir()).glob("usercal-*")) == before


def test_runs_and_somebodys_verdicts_are_joined(call: Any, tmp_path: Path) -> None:
    run_file(tmp_path / "a.json")
    rows = "proxy,domain,task,criterion,family,verdict\n" + "".join(
        f"openai/parrot,retail,{n},k1,groundedness,{'fail' if n == 0 else 'pass'}\n" for n in range(3)
    )
    (tmp_path / "v.csv").write_text(rows, "utf-8")
    facts = json.loads(call("ufs", "a.json", "--verdicts", "v.csv", "--json").out)
    text = json.dumps(facts)
    assert "0.6666666" in text and "0.003" in text, "2 of 3 are faithful, at the cost that the run was billed"
    said = call("ufs", "a.json", "--verdicts", "v.csv")
    assert "Use it" not in said.out or "openai/parrot" in said.out


def test_a_study_remembers_its_runs(call: Any, tmp_path: Path) -> None:
    run_file(tmp_path / "runs" / "a.json")
    assert call("import", "runs").code == 0
    said = call("ufs")
    assert said.code == 0 and "openai/parrot" in said.out
    assert "usercal ufs" in call("status").out
    assert "usercal ufs" in call("report").out
    pilot = call("ufs", "--commands", "a,b")
    assert "--agent-llm openai/clerk" in pilot.out, "the agent of the study is the agent of the pilot"


def test_later_runs_that_became_worse_are_announced(call: Any, tmp_path: Path) -> None:
    verdicts(tmp_path / "before.csv", seed=1)
    verdicts(tmp_path / "same.csv", seed=2)
    verdicts(tmp_path / "after.csv", seed=3, kept={"careful": 0.5})
    same = call("ufs", "same.csv", "--sample", "60", "--baseline", "before.csv")
    assert same.code == 0 and "No drift found" in same.out
    worse = call("ufs", "after.csv", "--sample", "60", "--baseline", "before.csv")
    assert worse.code == 1 and "has become worse for careful" in worse.out
    facts = json.loads(call("ufs", "after.csv", "--sample", "60", "--baseline", "before.csv", "--json").out)
    assert facts["drifted"] == ["careful"]


def test_later_runs_without_verdicts_are_compared_by_probes(call: Any, tmp_path: Path) -> None:
    run_file(tmp_path / "runs" / "a.json", tasks=30)
    call("import", "runs")
    run_file(tmp_path / "later.json", tasks=30, upfront=True)
    said = call("ufs", "later.json", "--sample", "25")
    assert said.code == 1 and "identifiers in the first turn" in said.out and "probes are compared, not UFS" in said.out


def test_runs_of_another_domain_are_no_later_runs(call: Any, tmp_path: Path) -> None:
    verdicts(tmp_path / "before.csv")
    text = (tmp_path / "before.csv").read_text("utf-8")
    (tmp_path / "after.csv").write_text(text.replace("retail", "bank").replace("airline", "telecom"), "utf-8")
    said = call("ufs", "after.csv", "--sample", "30", "--baseline", "before.csv")
    assert said.code == 2 and "nothing can be compared" in said.err


def test_the_same_runs_are_said_to_be_the_same(call: Any, tmp_path: Path) -> None:
    run_file(tmp_path / "a.json")
    said = call("ufs", "a.json", "--sample", "3", "--baseline", "a.json")
    assert "3 of the later episodes are among the earlier ones" in said.out


def test_only_the_domains_that_were_named(call: Any, tmp_path: Path) -> None:
    said = call("ufs", verdicts(tmp_path / "v.csv"), "--q", ".6", "--domains", "retail")
    assert said.code == 0 and "40 tasks in 1 domain" in said.out
    said = call("ufs", "v.csv", "--domains", "retial")
    assert said.code == 2 and "retail" in said.err


def test_verdicts_on_a_part_of_the_runs_give_a_score_of_that_part(call: Any, tmp_path: Path) -> None:
    run_file(tmp_path / "a.json", tasks=6)
    rows = "proxy,domain,task,criterion,family,verdict,rater,rater_kind\n" + "".join(
        f"openai/parrot,retail,{n},k1,groundedness,pass,ann,human\n" for n in range(4)
    )
    (tmp_path / "v.csv").write_text(rows, "utf-8")
    said = call("ufs", "a.json", "--verdicts", "v.csv", "--q", ".2")
    assert said.code == 0 and "2 episodes were never judged" in said.out
    facts = json.loads(call("ufs", "a.json", "--verdicts", "v.csv", "--q", ".2", "--json").out)["analysis"]
    assert facts["by_people"] is True and facts["raters"] == ["ann"]
    assert facts["proxies"][0]["counts"]["unscored"] == 2 and facts["proxies"][0]["counts"]["undefined"] == 0
    assert facts["decision"]["assured"] == "openai/parrot", "people judged: there is no judge to audit"


def test_a_table_of_verdicts_is_no_table_of_conversations(call: Any, tmp_path: Path) -> None:
    said = call("import", verdicts(tmp_path / "v.csv"))
    assert said.code == 2 and "usercal ufs --verdicts" in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["v.csv"]


def test_different_agents_are_called_unfair(call: Any, tmp_path: Path) -> None:
    rows = ["proxy,domain,task,criterion,family,verdict,agent"]
    rows += [f"{p},r,{n},k,groundedness,pass,{agent}" for p, agent in (("a", "x"), ("b", "y")) for n in range(9)]
    (tmp_path / "v.csv").write_text("\n".join(rows) + "\n", "utf-8")
    assert "Unfair" in call("ufs", "v.csv").out


def test_no_line_is_wider_than_the_screen_but_those_to_paste(call: Any, tmp_path: Path) -> None:
    run_file(tmp_path / "a.json")
    verdicts(tmp_path / "v.csv")
    for words in (("ufs", "a.json"), ("ufs", "v.csv", "--q", ".7", "--rollouts", "4", "--prompts", "9")):
        for line in call(*words).out.splitlines():
            assert len(line) <= 112 or line.startswith("Use it"), line


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("ufs",), "there is no study here"),
        (("ufs", "v.csv", "--sample", "5"), "--baseline PATH"),
        (("ufs", "nowhere.json"), "no such file"),
        (("ufs", "v.csv", "--rollouts", "3"), "Give both"),
        (("ufs", "v.csv", "--q", "84"), "--q"),
        (("ufs", "v.csv", "--verdicts", "v.csv"), "stands alone"),
        (("ufs", "--commands", ","), "no proxy is named"),
        (("ufs", "--commands", "a,b"), "Name it: --agent"),
        (("ufs", "--sample", "5"), "no study"),
        (("ufs", "v.csv", "--baseline", "v.csv"), "Give --sample N too"),
        (("ufs", "t.txt"), "holds no episode"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_2(call: Any, tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    verdicts(tmp_path / "v.csv", 3)
    (tmp_path / "t.txt").write_text("hello\n", "utf-8")
    said = call(*words)
    assert said.code == 2 and says in said.err and "Traceback" not in said.err, said.err


@pytest.mark.shared
@pytest.mark.skipif(not RUNS.is_dir(), reason="the real runs are not here")
def test_real_runs(call: Any) -> None:
    said = call("import", RUNS)
    assert said.code == 0 and "425 new" in said.out
    said = call("ufs")
    assert "375 episodes" in said.out and "50 repeat another file's" in said.out and "20 × solo" in said.out
