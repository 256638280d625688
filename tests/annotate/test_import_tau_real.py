"""The public runs of tau-bench and tau2: what an import of all of them says and stores."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotate.import_summary import ImportSummary
from annotate.imports import import_paths
from annotate.schema import Conversation, Item, Run
from annotate.store import Store

SHARED = Path(os.environ.get("USERCAL_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
RUNS = SHARED / "data" / "tau"
PROBES = SHARED / "cases" / "tau_probes.csv"
EPISODES = {
    "blake_airline_grok4_u-grok4_16.json": 16,
    "blake_telecom_grok3_u-grok3_5.json": 5,
    "tau1_retail_grok3_u-grok3_115.json": 115,
    "tau2_airline_gpt4.1_u-gpt4.1_20.json": 20,
    "tau2_airline_toolorchestra_50.json": 50,
    "tau2_airline_toolorchestra_NO-termination_50.json": 50,
    "tau2_retail_gpt4.1_u-gpt4.1_40.json": 40,
    "tau2_telecom-solo_gpt4.1_dummyuser_20x.json": 20,
    "tau2_telecom_EMPTY_simulations.json": 0,
    "tau2_telecom_gpt4.1_u-gpt4.1_40.json": 40,
    "tau2v1_airline_BARELIST_opus4.6_50.json": 50,
    "tau2v1_airline_e2e-baseline_u-gpt4.1mini_1.json": 1,
    "tau2v1_telecom_e2e-adversarial_u-gpt4.1mini_1.json": 1,
    "tau2v1_telecom_e2e-baseline_u-gpt4.1mini_1.json": 1,
    "yohei_airline_gpt4.1mini_u-gpt4.1mini_5.json": 5,
    "yohei_mock_gpt4.1mini_u-gpt4.1mini_10.json": 10,
    "yohei_telecom_gpt4.1mini_u-gpt4.1mini_1.json": 1,
}
STRIPPED = "tau2_airline_toolorchestra_NO-termination_50.json"

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not RUNS.is_dir(), reason="the public runs are not on this machine"),
]


def pseudonym(person: str) -> str:
    return "p_" + hashlib.sha256(person.encode()).hexdigest()[:12]


def run(store: Store, *paths: Path, **more: Any) -> ImportSummary:
    return import_paths(store, list(paths), pseudonym=pseudonym, **more)


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, ImportSummary]]:
    with Store.open(f"sqlite:///{tmp_path_factory.mktemp('tau') / 'store.db'}") as store:
        yield store, run(store, RUNS)


@pytest.fixture(scope="module")
def said(imported: tuple[Store, ImportSummary]) -> dict[str, list[Conversation]]:
    found: dict[str, list[Conversation]] = {name: [] for name in EPISODES}
    for one in imported[0].select(Conversation):
        found[one.tags["file"]].append(one)
    return found


def test_all_episodes_are_read_and_none_is_read_twice(imported: tuple[Store, ImportSummary]) -> None:
    store, summary = imported
    told = summary.to_dict()["streams"][0]
    assert {file["file"]: file["episodes"] for file in told["files"]} == EPISODES
    assert told["episodes"] == summary.new == store.count(Conversation) == 425
    assert {entry["file"] for entry in told["passed_over"]} == {
        "README.md", "simulation_guidelines.md", "simulation_guidelines_tools.md", "telecom_user_tools.json"
    }  # fmt: skip
    again = run(store, RUNS)
    assert (again.new, again.already_there, again.completed) == (0, 425, 0) and not again.failures
    assert json.loads(json.dumps(again.to_dict()))["streams"][0]["episodes"] == 425


def test_the_fifty_that_repeat_are_those_without_tasks(imported: tuple[Store, ImportSummary]) -> None:
    told = imported[1].to_dict()["streams"][0]
    assert {file["file"]: file["repeats"] for file in told["files"] if file["repeats"]} == {STRIPPED: 50}


def test_the_choice_of_what_counts_does_not_hang_on_the_order(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path / 'store.db'}") as store:
        run(store, RUNS / STRIPPED)
        told = run(store, RUNS / "tau2_airline_toolorchestra_50.json").to_dict()["streams"][0]
        assert [file["repeats"] for file in told["files"]] == [0]
        told = run(store, RUNS / STRIPPED).to_dict()["streams"][0]
        assert [file["repeats"] for file in told["files"]] == [50]
        assert len({one.content_hash for one in store.select(Conversation)}) == 50 < store.count(Conversation) == 100


def test_solo_runs_cannot_be_scored(said: dict[str, list[Conversation]]) -> None:
    statuses = Counter((one.outcome["status"], one.outcome["status_reason"]) for ones in said.values() for one in ones)
    assert statuses == {("ok", None): 405, ("not_scorable", "solo: no user took part"): 20}


def test_no_order_is_doubted(imported: tuple[Store, ImportSummary]) -> None:
    repairs = {
        text for one in imported[0].select(Conversation) for text in (one.provenance.repairs if one.provenance else ())
    }
    assert repairs == {
        "messages of the user with text beside a tool call: the text was not shown, so it is not counted as said"
    }


def test_text_beside_a_call_is_private(said: dict[str, list[Conversation]]) -> None:
    private = {name: sum(turn.private is not None for one in ones for turn in one.turns) for name, ones in said.items()}
    assert {name: count for name, count in private.items() if count} == {
        "tau2v1_telecom_e2e-baseline_u-gpt4.1mini_1.json": 2, "yohei_telecom_gpt4.1mini_u-gpt4.1mini_1.json": 3
    }  # fmt: skip


def test_proxies_agents_and_domains(said: dict[str, list[Conversation]]) -> None:
    bare = said["tau2v1_airline_BARELIST_opus4.6_50.json"]
    assert Counter(one.tags["proxy"] for one in bare) == {"claude-opus-4-6": 49, "claude-sonnet-4-6": 1}
    assert {one.tags["domain"] for one in bare} == {"airline"}
    assert {one.cost_usd for one in bare} == {None}, "zero is what an unpriced model is given"
    old = said["tau1_retail_grok3_u-grok3_115.json"]
    assert {(one.tags["proxy"], one.assistant, one.tags["domain"]) for one in old} == {("unknown", "unknown", "retail")}
    assert Counter(one.ended for one in old) == {"user_stop": 98, "terminate_tool": 17}
    telecom = said["tau2_telecom_gpt4.1_u-gpt4.1_40.json"]
    assert Counter(one.ended for one in telecom) == {"user_transfer": 30, "user_stop": 10}
    assert all(one.cost_usd for one in telecom)


def test_guidelines_are_corrected_where_the_user_has_tools(
    imported: tuple[Store, ImportSummary], tmp_path: Path
) -> None:
    runs = {one.name: one.config for one in imported[0].select(Run)}
    corrected = {name for name, config in runs.items() if config["guidelines"]["corrected"]}
    assert corrected == {name for name in EPISODES if "telecom" in name or "mock" in name} - {
        "tau2_telecom-solo_gpt4.1_dummyuser_20x.json", "tau2_telecom_EMPTY_simulations.json"
    }  # fmt: skip
    assert all(runs[name]["guidelines"]["text"] is None for name in corrected)
    airline = runs["tau2_airline_gpt4.1_u-gpt4.1_20.json"]["guidelines"]
    assert airline["kind"] == "without_tools" and airline["text"].startswith("# User Simulation Guidelines")
    with Store.open(f"sqlite:///{tmp_path / 'store.db'}") as store:
        text = RUNS / "simulation_guidelines_tools.md"
        run(store, RUNS / "tau2_telecom_gpt4.1_u-gpt4.1_40.json", guidelines=text)
        told = store.select(Run)[0].config["guidelines"]
        assert told["text"] == text.read_text("utf-8") and told["kind"] == "with_tools" and told["corrected"]


def test_the_warning_of_blueprints_that_order_everything_at_once(imported: tuple[Store, ImportSummary]) -> None:
    lines = imported[1].lines()
    assert any("retail tasks 60, 61 order" in line for line in lines)
    assert any("airline task 17 orders" in line for line in lines)


@pytest.mark.skipif(not PROBES.is_file(), reason="the reference values are not on this machine")
def test_counts_are_those_of_the_reference_values(said: dict[str, list[Conversation]], imported: Any) -> None:
    with PROBES.open(encoding="utf-8", newline="") as file:
        rows = {(row["file"], row["sim_id"]): row for row in csv.DictReader(file)}
    upfront = {item.id: item for item in imported[0].select(Item)}
    assert len(rows) == 425
    tokens = {"STOP": "user_stop", "TRANSFER": "user_transfer", "OUT-OF-SCOPE": "user_out_of_scope"}
    for name, ones in said.items():
        for one in ones:
            row = rows[name, one.tags["simulation"]]
            users = [turn for turn in one.turns if turn.role == "user"]
            assert int(row["n_msgs"]) == len(one.turns) and int(row["n_user_msgs"]) == len(users)
            assert int(row["n_agent_msgs"]) == sum(turn.role == "assistant" for turn in one.turns)
            assert int(row["n_user_calls"]) == sum(len(turn.tool_calls) for turn in users)
            assert int(row["n_user_call_err"]) == sum(call.error for turn in users for call in turn.tool_calls)
            assert int(row["content_plus_tool"]) == sum(turn.private is not None for turn in users)
            usage = [turn.usage for turn in users if turn.usage is not None]
            assert int(row["user_prompt_tok"]) == sum(told.prompt_tokens or 0 for told in usage)
            assert int(row["user_completion_tok"]) == sum(told.completion_tokens or 0 for told in usage)
            if row["termination"] in ("user_stop", "") and row["end_token"]:
                assert one.ended == tokens[row["end_token"]]
            elif row["termination"]:
                assert one.ended == row["termination"]
            assert one.tags["trial"] == (row["trial"] or "0")
            assert float(row["reward"]) == one.outcome["reward"]
            gold = [a for a in upfront[one.item].reference.get("actions", []) if a["requestor"] == "user"]
            checks = [c for c in one.outcome.get("action_checks", []) if c["requestor"] == "user"]
            assert int(row["n_gold_user"]) == len(gold or checks)
