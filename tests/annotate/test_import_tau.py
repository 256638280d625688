"""Importing results of tau-bench and tau2: every format, every trap that real files hold."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotate.errors import InputError
from annotate.export import export_study
from annotate.import_summary import ImportSummary
from annotate.importers.tau.guidelines import text_hash
from annotate.importers.tau.redaction import REMOVED
from annotate.imports import import_paths
from annotate.schema import Conversation, Item, Participant, Run, content_hash
from annotate.store import Store

WITHOUT_TOOLS = "# Guidelines\nDisclose information  step by step."
WITH_TOOLS = "# Guidelines\nYou have some tools.\nDisclose information step by step."


def pseudonym(person: str) -> str:
    return "p_" + hashlib.sha256(person.encode("utf-8", "surrogatepass")).hexdigest()[:12]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


def run(store: Store, *paths: Path, **more: Any) -> ImportSummary:
    return import_paths(store, list(paths), pseudonym=pseudonym, **more)


def agent(text: str | None, *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "tool_calls": list(calls) or None, **more}


def user(text: str | None, *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, "tool_calls": list(calls) or None, **more}


def call(identity: str, name: str, requestor: str = "assistant", **arguments: Any) -> dict[str, Any]:
    return {"id": identity, "name": name, "arguments": arguments, "requestor": requestor}


def result(identity: str, text: str, requestor: str = "assistant", error: bool = False) -> dict[str, Any]:
    return {"id": identity, "role": "tool", "content": text, "requestor": requestor, "error": error}


def dialogue(end: str = "Thanks. ###STOP###") -> list[dict[str, Any]]:
    return [
        agent("Hi! How can I help you today?"),
        user("My data is off.", usage={"prompt_tokens": 900, "completion_tokens": 12}, cost=0.002),
        agent("Please look at the status bar."),
        user(None, call("u1", "check_status_bar", "user")),
        result("u1", "Airplane mode", "user"),
        user("It says airplane mode."),
        agent(None, call("a1", "get_line", line="L1")),
        result("a1", "Error: no such line", error=True),
        agent("Turn it off, please."),
        user(end),
    ]


def task(identity: Any = "t1", reason: str = "Data is off.", acts: bool = True) -> dict[str, Any]:
    actions = [{"action_id": "x0", "requestor": "user", "name": "toggle_data", "arguments": {}, "compare_args": None}]
    return {
        "id": identity,
        "user_scenario": {
            "persona": "brief",
            "instructions": {
                "domain": "telecom", "reason_for_call": reason, "known_info": "You are Jo Doe.", "unknown_info": None,
                "task_instructions": "Be brief.",
            },
        },
        "evaluation_criteria": {
            "actions": actions if acts else None,
            "env_assertions": [{"env_type": "user", "func_name": "assert_on", "arguments": {}, "assert_value": True}],
        },
    }  # fmt: skip


def simulation(identity: str = "s1", **changes: Any) -> dict[str, Any]:
    return {
        "id": identity, "task_id": "t1", "termination_reason": "user_stop", "trial": 0, "user_cost": 0.01,
        "agent_cost": 0.02, "duration": 12.5, "messages": dialogue(),
        "reward_info": {"reward": 1.0, "action_checks": [{
            "action": {"action_id": "x0", "requestor": "user", "name": "toggle_data", "arguments": {},
                       "compare_args": None}, "action_match": False, "action_reward": 0.0}]},
        **changes,
    }  # fmt: skip


def info(model: str | None = "gpt-x", domain: str = "telecom", **user_changes: Any) -> dict[str, Any]:
    return {
        "git_commit": "abc", "num_trials": 1, "max_steps": 100,
        "user_info": {"implementation": "user_simulator", "llm": model, "llm_args": {"temperature": 0.0},
                      "global_simulation_guidelines": WITHOUT_TOOLS, **user_changes},
        "agent_info": {"implementation": "llm_agent", "llm": "agent-x", "llm_args": {"temperature": 0.0}},
        "environment_info": {"domain_name": domain, "policy": "# Telecom Agent Policy", "tool_defs": None},
    }  # fmt: skip


def results(*simulations: dict[str, Any], **changes: Any) -> dict[str, Any]:
    told = {"timestamp": "2025-01-01T00:00:00", "info": info(), "tasks": [task()], "simulations": list(simulations)}
    return {**told, **changes}


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")
    return path


def old(identity: int = 0, trial: int = 0, **changes: Any) -> dict[str, Any]:
    traj = [
        {"role": "system", "content": "# Retail agent policy\nBe polite."},
        {"role": "user", "content": "I want to return it."},
        {"role": "assistant", "content": "Let me look.", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"zip": "19122"}'}}]},
        {"role": "tool", "tool_call_id": "c1", "name": "find", "content": "Error: not found"},
        {"role": "assistant", "content": "Who are you?", "tool_calls": None},
        {"role": "user", "content": "Never mind. ###STOP###"},
    ]  # fmt: skip
    return {
        "task_id": identity, "reward": 1.0, "trial": trial, "traj": traj,
        "info": {"task": {"user_id": "jo_1", "instruction": f"You are Jo {identity}.", "actions": [
            {"name": "find", "kwargs": {"zip": "19122"}}], "outputs": []}, "user_cost": 0.5, "reward_info": {}},
        **changes,
    }  # fmt: skip


# --- formats ---------------------------------------------------------------------------------------------------------


def test_results_of_tau2_become_conversations_in_the_nouns(store: Store, tmp_path: Path) -> None:
    run(store, write(tmp_path / "any.name", results(simulation())))
    said, item, person = store.select(Conversation)[0], store.select(Item)[0], store.select(Participant)[0]
    assert (said.task, item.task, item.key.split("@")[0]) == ("tau_telecom", "tau_telecom", "t1")
    assert len(item.key.split("@")[1]) == 8 and item.tags == {"domain": "telecom", "task_id": "t1"}
    assert item.private["blueprint"] == {
        "persona": "brief", "reason_for_call": "Data is off.", "known_info": "You are Jo Doe.", "unknown_info": None,
        "task_instructions": "Be brief.",
    }  # fmt: skip
    assert item.reference["actions"] == [
        {"id": "x0", "requestor": "user", "name": "toggle_data", "arguments": {}, "compare_args": None}
    ]
    assert item.reference["env_assertions"][0]["env_type"] == "user"
    assert person.kind == "simulator" and person.id.startswith("s_") and said.participant == person.id
    assert person.background == {"model": "gpt-x", "implementation": "user_simulator"}
    assert (said.origin, said.assistant, said.ended, said.cost_usd) == ("simulated", "agent-x", "user_stop", 0.01)
    assert {key: said.tags[key] for key in ("proxy", "agent", "domain", "task_id", "trial", "file", "simulation")} == {
        "proxy": "gpt-x", "agent": "agent-x", "domain": "telecom", "task_id": "t1", "trial": "0", "file": "any.name",
        "simulation": "s1",
    }  # fmt: skip
    assert said.outcome["reward"] == 1.0 and said.outcome["status"] == "ok" and said.outcome["seconds"] == 12.5
    assert said.outcome["action_checks"] == [
        {"name": "toggle_data", "arguments": {}, "requestor": "user", "compare_args": None, "match": False}
    ]
    assert (
        said.provenance is not None and said.provenance.trial == "0" and said.content_hash == content_hash(said.turns)
    )


def test_every_message_is_a_turn_in_its_place_and_says_who_saw_it(store: Store, tmp_path: Path) -> None:
    run(store, write(tmp_path / "r.json", results(simulation())))
    turns = store.select(Conversation)[0].turns
    assert [turn.position for turn in turns] == list(range(10))
    assert [turn.role for turn in turns] == [message["role"] for message in dialogue()]
    assert [turn.seen_by for turn in turns] == [
        "both", "both", "both", "user", "user", "both", "assistant", "assistant", "both", "both"
    ]  # fmt: skip
    assert turns[4].answers == "u1" == turns[3].tool_calls[0].id and turns[4].text == "Airplane mode"
    assert turns[6].tool_calls[0].error and not turns[3].tool_calls[0].error
    assert turns[6].tool_calls[0].arguments == {"line": "L1"} and turns[6].tool_calls[0].result is None
    assert turns[1].usage is not None and turns[1].usage.prompt_tokens == 900
    assert turns[9].text == "Thanks. ###STOP###"


def test_tau_bench_1_has_one_text_and_no_names(store: Store, tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", [old(0), old(1, info={"error": "TimeoutError: x", "traceback": "…"}, traj=[])])
    summary = run(store, path)
    first, second = store.select(Conversation)
    assert first.tags["proxy"] == first.assistant == "unknown" and first.tags["domain"] == "retail"
    assert store.select(Item)[0].private == {"blueprint": {"text": "You are Jo 0."}}
    assert first.cost_usd is None, "the file's user_cost is that of the last call only"
    assert first.turns[2].seen_by == "assistant" and first.turns[2].tool_calls[0].arguments == {"zip": "19122"}
    assert first.turns[2].tool_calls[0].error and first.turns[3].answers == "c1" and first.ended == "user_stop"
    assert first.turns[0].role == "system" and first.turns[0].seen_by == "assistant"
    assert second.outcome["status"] == "infra_error" and second.outcome["reward"] is None
    assert any("--user-model" in line for line in summary.lines())
    assert any(line.startswith("errors") and "TimeoutError" in line for line in summary.lines())


def test_a_user_model_given_later_completes_what_is_stored(store: Store, tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", [old(0), old(1)])
    run(store, path)
    summary = run(store, path, user_model="grok")
    assert store.count(Conversation) == 2 and summary.completed == 2
    assert {said.tags["proxy"] for said in store.select(Conversation)} == {"grok"}
    assert run(store, path, user_model="grok").completed == 0 and run(store, path).completed == 0
    assert {said.tags["proxy"] for said in store.select(Conversation)} == {"grok"}


def test_a_proxy_may_be_named_otherwise_than_by_its_model(store: Store, tmp_path: Path) -> None:
    run(store, write(tmp_path / "r.json", results(simulation())), proxy="careful", user_model="not this")
    assert store.select(Conversation)[0].tags["proxy"] == "careful"
    assert store.select(Participant)[0].background["model"] == "gpt-x"


def test_a_name_given_later_counts_from_then_on(store: Store, tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", results(simulation()))
    run(store, path)
    other = run(store, write(tmp_path / "r2" / "r.json", results(simulation())), proxy="careful")
    assert other.completed == 1 and store.count(Conversation) == 1
    assert store.select(Conversation)[0].tags["proxy"] == "careful"
    again = run(store, path)
    assert (again.new, again.completed, store.select(Conversation)[0].tags["proxy"]) == (0, 0, "careful")
    assert not again.streams[0].to_dict()["files"][0]["warnings"]


def test_a_wrong_model_given_later_is_told_and_changes_nothing(store: Store, tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", [old()])
    run(store, path, user_model="one")
    summary = run(store, path, user_model="other")
    assert any("proxy differs" in line for line in summary.lines())
    assert store.select(Conversation)[0].tags["proxy"] == "one"


def test_settings_that_differ_under_one_name_are_told(store: Store, tmp_path: Path) -> None:
    write(tmp_path / "d" / "a.json", results(simulation()))
    write(tmp_path / "d" / "b.json", results(simulation(trial=1), info=info(llm_args={"temperature": 1.0})))
    assert any("gpt-x: settings" in line and "--proxy" in line for line in run(store, tmp_path / "d").lines())


def test_stripped_simulations_are_episodes_of_an_unknown_task(store: Store, tmp_path: Path) -> None:
    bare = {key: value for key, value in simulation().items() if key in ("id", "reward_info", "messages")}
    run(store, write(tmp_path / "r.json", results(bare)))
    said = store.select(Conversation)[0]
    assert said.tags["task_id"] == "unknown" and said.tags["trial"] == "0" and said.ended == "user_stop"
    assert store.select(Item)[0].key == "unknown@none" and said.cost_usd is None


def test_a_bare_list_takes_models_from_the_messages_and_tasks_from_the_caller(store: Store, tmp_path: Path) -> None:
    def spoken(model: str) -> list[dict[str, Any]]:
        return [{**m, "raw_data": {"model": model if m["role"] == "user" else "agent-z"}} for m in dialogue()]

    episodes = [simulation(f"s{n}", trial=n, messages=spoken(f"m{n}"), mode="half_duplex",
                           policy="# Telecom Agent Policy") for n in range(2)]  # fmt: skip
    path = write(tmp_path / "list.json", episodes)
    summary = run(store, path)
    assert [said.tags["proxy"] for said in store.select(Conversation)] == ["m0", "m1"]
    assert {said.assistant for said in store.select(Conversation)} == {"agent-z"}
    assert {said.tags["domain"] for said in store.select(Conversation)} == {"telecom"}
    assert store.select(Item)[0].key == "t1@none" and summary.streams[0].to_dict()["files"][0]["format"] == "tau2 1.0"
    told = run(store, path, tasks=write(tmp_path / "tasks.json", [task()]))
    assert told.completed == 2 and store.count(Conversation) == 2
    keys = {item.id: item.key for item in store.select(Item)}
    assert all(keys[said.item].endswith("@" + keys[said.item][-8:]) and not keys[said.item].endswith("@none")
               for said in store.select(Conversation))  # fmt: skip


def test_a_custom_dictionary_and_a_single_episode_are_read(store: Store, tmp_path: Path) -> None:
    run(store, write(tmp_path / "custom.json", {"note": "ours", "simulations": [simulation("s1")]}))
    run(store, write(tmp_path / "single.json", simulation("s2", trial=1)))
    run(store, write(tmp_path / "other.json", {"extra": [1, 2], "runs": [simulation("s3", trial=2)]}))
    assert [said.tags["simulation"] for said in store.select(Conversation)] == ["s1", "s2", "s3"]


def test_a_folder_of_results_and_single_episodes_is_one_source(store: Store, tmp_path: Path) -> None:
    head = results()
    del head["simulations"]
    write(tmp_path / "exp" / "results.json", {**head, "simulation_index": [{"id": "s1"}, {"id": "s2"}]})
    write(tmp_path / "exp" / "simulations" / "s1.json", simulation("s1"))
    voice = {**simulation("s2", trial=1), "messages": None, "ticks": [{"audio": "x"}]}
    write(tmp_path / "exp" / "simulations" / "s2.json", voice)
    summary = run(store, tmp_path / "exp")
    assert [said.tags["proxy"] for said in store.select(Conversation)] == ["gpt-x", "gpt-x"]
    assert {said.tags["file"] for said in store.select(Conversation)} == {"exp/results.json"}
    said = store.select(Conversation)[1]
    assert said.outcome["status"] == "not_scorable" and "voice" in said.outcome["status_reason"]
    assert any("voice" in line and "not scored" in line for line in summary.lines())
    assert store.count(Run) == 1 and summary.new == 2


def test_a_run_that_has_just_begun_is_valid(store: Store, tmp_path: Path) -> None:
    summary = run(store, write(tmp_path / "r.json", results()))
    assert summary.new == 0 and not summary.failures and "no episodes" in "\n".join(summary.lines())


def test_files_that_are_no_runs_are_passed_over_and_named(store: Store, tmp_path: Path) -> None:
    write(tmp_path / "d" / "deep" / "r.json", results(simulation()))
    write(tmp_path / "d" / "tools.json", {"domain": "telecom", "tools": []})
    write(tmp_path / "d" / "tasks.json", [task()])
    (tmp_path / "d" / "guidelines.md").write_text("# Guidelines")
    summary = run(store, tmp_path / "d")
    passed = {entry["file"]: entry["why"] for entry in summary.streams[0].to_dict()["passed_over"]}
    assert set(passed) == {"tools.json", "tasks.json", "guidelines.md"} and "--tasks" in passed["tasks.json"]
    assert summary.new == 1 and not summary.failures


def test_chats_and_other_json_are_no_runs(store: Store, tmp_path: Path) -> None:
    for name, value in (("a", [{"messages": [user("hi")], "id": 1}]), ("b", {"simulations": "none"}), ("c", [[1]])):
        with pytest.raises(InputError, match="no known format"):
            run(store, write(tmp_path / name, value))


def test_a_folder_without_runs_is_told(store: Store, tmp_path: Path) -> None:
    write(tmp_path / "d" / "x.json", {"x": 1})
    with pytest.raises(InputError, match="holds no results of tau-bench or tau2"):
        run(store, tmp_path / "d", format="tau")
    with pytest.raises(InputError, match="no episode of tau-bench or tau2"):
        run(store, tmp_path / "d" / "x.json", format="tau")


# --- trap 1: guidelines ----------------------------------------------------------------------------------------------


def guidelines(store: Store) -> dict[str, Any]:
    return dict(store.select(Run)[0].config["guidelines"])


def test_guidelines_of_users_with_tools_are_not_those_of_the_file(store: Store, tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", results(simulation()))
    summary = run(store, path)
    assert guidelines(store) == {"text": None, "hash": None, "kind": "with_tools", "corrected": True}
    assert any("--guidelines" in line for line in summary.lines())
    right = tmp_path / "right.md"
    right.write_text(WITH_TOOLS)
    again = run(store, path, guidelines=right)
    assert again.completed == 1 and again.new == 0 and not any("--guidelines" in line for line in again.lines())
    assert guidelines(store) == {
        "text": WITH_TOOLS, "hash": text_hash(WITH_TOOLS), "kind": "with_tools", "corrected": True
    }  # fmt: skip


def test_guidelines_of_users_without_tools_are_those_of_the_file(store: Store, tmp_path: Path) -> None:
    talk = [agent("Hi"), user("Hello ###STOP###")]
    told = results(simulation(messages=talk), info=info(domain="retail"), tasks=[task(acts=False)])
    other = tmp_path / "other.md"
    other.write_text(WITH_TOOLS)
    run(store, write(tmp_path / "r.json", told), guidelines=other)
    assert guidelines(store)["text"] == WITHOUT_TOOLS and guidelines(store)["kind"] == "without_tools"


def test_the_hash_of_guidelines_does_not_see_white_space() -> None:
    assert text_hash("a  b\n c ") == text_hash("a b c") != text_hash("a bc")


def test_the_wrong_text_given_as_the_right_one_stays_wrong(store: Store, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.md"
    wrong.write_text(WITHOUT_TOOLS.replace("  ", " ") + "\n")
    run(store, write(tmp_path / "r.json", results(simulation())), guidelines=wrong)
    assert guidelines(store)["text"] is None


# --- trap 2: order ---------------------------------------------------------------------------------------------------


def numbered(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**message, "turn_idx": place} for place, message in enumerate(messages)]


def test_a_clock_that_was_set_back_is_put_right(store: Store, tmp_path: Path) -> None:
    said = dialogue()
    mixed = numbered(said[5:] + said[:5])
    summary = run(store, write(tmp_path / "r.json", results(simulation(messages=mixed))))
    stored = store.select(Conversation)[0]
    assert [turn.text for turn in stored.turns] == [message["content"] or "" for message in said]
    assert stored.ended == "user_stop" and stored.provenance is not None and stored.provenance.repairs
    assert any("put right" in line for line in summary.lines() if line.startswith("repaired"))


def test_a_result_before_its_call_is_put_behind_it(store: Store, tmp_path: Path) -> None:
    said = dialogue()
    said[3], said[4] = said[4], said[3]
    run(store, write(tmp_path / "r.json", results(simulation(messages=said))))
    assert [turn.role for turn in store.select(Conversation)[0].turns][3:5] == ["user", "tool"]


def test_an_order_that_is_not_certain_stays_and_is_told(store: Store, tmp_path: Path) -> None:
    said = [agent("a"), user("b"), user("c"), agent("d"), user("e ###STOP###")]
    summary = run(store, write(tmp_path / "r.json", results(simulation(messages=said))))
    assert [turn.text for turn in store.select(Conversation)[0].turns] == ["a", "b", "c", "d", "e ###STOP###"]
    assert "order kept" in " ".join(" ".join(summary.lines()).split())


# --- trap 3: endings -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason", "ended"),
    [
        ("Bye ###STOP###", "user_stop", "user_stop"),
        ("###TRANSFER###", "user_stop", "user_transfer"),
        ("I do not know. ###OUT-OF-SCOPE###", "user_stop", "user_out_of_scope"),
        ("###TRANSFER### ###STOP###", "user_stop", "user_stop"),
        ("no token", "user_stop", "user_stop"),
        ("Bye ###STOP###", None, "user_stop"),
        ("no token", None, "unknown"),
        ("Bye ###STOP###", "max_steps", "max_steps"),
        ("x", "too_many_errors", "too_many_errors"),
        ("x", "agent_error", "agent_error"),
    ],
)
def test_the_token_tells_how_it_ended(store: Store, tmp_path: Path, text: str, reason: Any, ended: str) -> None:
    told = simulation(messages=dialogue(text), termination_reason=reason)
    run(store, write(tmp_path / "r.json", results(told)))
    assert store.select(Conversation)[0].ended == ended


def test_errors_of_the_machinery_and_solo_runs_are_kept_and_not_scored(store: Store, tmp_path: Path) -> None:
    broken = simulation("s1", termination_reason="infrastructure_error", messages=[], reward_info=None)
    run(store, write(tmp_path / "r.json", results(broken)))
    alone = simulation("s2", messages=[agent("x"), agent("###STOP###")], termination_reason="agent_stop", user_cost=0.0)
    run(store, write(tmp_path / "solo.json", results(alone, info=info(implementation="dummy_user"))))
    first, second = store.select(Conversation)
    assert first.outcome["status"] == "infra_error" and first.outcome["reward"] is None
    assert second.outcome["status"] == "not_scorable" and "solo" in second.outcome["status_reason"]
    assert second.tags["proxy"] == "gpt-x (dummy_user)" and second.cost_usd is None


# --- trap 4: text beside a call --------------------------------------------------------------------------------------


def test_text_beside_a_call_of_the_user_is_private(store: Store, tmp_path: Path) -> None:
    said = dialogue()
    said[3] = user("I am looking now.", call("u1", "check_status_bar", "user"))
    summary = run(store, write(tmp_path / "r.json", results(simulation(messages=said))))
    turn = store.select(Conversation)[0].turns[3]
    assert (turn.text, turn.private, turn.seen_by) == ("", "I am looking now.", "user")
    assert any("text beside a tool call" in line for line in summary.lines())


def test_text_beside_a_call_of_the_agent_stays_and_the_user_did_not_see_it(store: Store, tmp_path: Path) -> None:
    said = dialogue()
    said[6] = agent("I am checking.", call("a1", "get_line", line="L1"))
    run(store, write(tmp_path / "r.json", results(simulation(messages=said))))
    turn = store.select(Conversation)[0].turns[6]
    assert (turn.text, turn.private, turn.seen_by) == ("I am checking.", None, "assistant")


# --- trap 5: unknown stays unknown -----------------------------------------------------------------------------------


@pytest.mark.parametrize("reward", [None, False, "1.0", float("nan"), float("inf")])
def test_a_reward_that_is_none_is_unknown(store: Store, tmp_path: Path, reward: Any) -> None:
    run(store, write(tmp_path / "r.json", results(simulation(reward_info={"reward": reward}))))
    assert store.select(Conversation)[0].outcome["reward"] is None


@pytest.mark.parametrize(
    ("told", "cost"), [(0.0, None), (0, None), (None, None), (False, None), (-1, None), (0.5, 0.5)]
)
def test_a_cost_of_zero_is_an_unknown_price(store: Store, tmp_path: Path, told: Any, cost: float | None) -> None:
    summary = run(store, write(tmp_path / "r.json", results(simulation(user_cost=told, agent_cost=told))))
    said = store.select(Conversation)[0]
    assert said.cost_usd == cost == said.outcome["agent_cost_usd"]
    costs = next(line for line in summary.lines() if line.startswith("costs"))
    assert ("billed: gpt-x" in costs) == (cost is not None) and ("[prices]" in costs) == (cost is None)


def test_names_may_be_missing_and_numbers(store: Store, tmp_path: Path) -> None:
    told = results(simulation(task_id=7, trial=None), tasks=[task(7)], info=info(None))
    run(store, write(tmp_path / "r.json", told))
    said = store.select(Conversation)[0]
    assert (said.tags["task_id"], said.tags["trial"], said.tags["proxy"]) == ("7", "0", "unknown")
    assert store.select(Item)[0].private["blueprint"]["reason_for_call"] == "Data is off."


# --- trap 6: secrets -------------------------------------------------------------------------------------------------

PLANTED = ("sk-" + "proj-4f8a9b2c1d", "hunter2hunter2", "AKIA" + "IOSFODNN7EXAMPLE", "tok-zzzz-1234567890",
           "hf_" + "aBcDeFgHiJkLmNoPqRsT")  # fmt: skip


def test_no_secret_gets_into_the_store_or_the_summary(tmp_path: Path) -> None:
    arguments = {
        "temperature": 0.0, "max_tokens": 100, "api_key": PLANTED[0], "extra_headers": {"X-Auth-Token": PLANTED[3]},
        "deep": [{"awsSecretAccessKey": PLANTED[1], "region": "eu"}, {"model_id": PLANTED[2]}],
        "api_base": f"https://me:{PLANTED[1]}@host/v1",
    }  # fmt: skip
    told = results(simulation(), info=info(llm_args=arguments))
    told["info"]["agent_info"]["llm_args"] = {"token": PLANTED[4], "seed": 3}
    told["info"]["environment_info"]["policy"] = f"# Telecom Agent Policy\nUse {PLANTED[0]} to call."
    said = dialogue()
    said[7] = result("a1", f"Error: invalid key {PLANTED[0]}", error=True)
    said[6] = agent(None, call("a1", "get_line", line=PLANTED[1]))
    said[1]["raw_data"] = {"key": PLANTED[3]}
    told["simulations"] = [simulation(messages=said)]
    path = write(tmp_path / "r.json", told)
    with Store.open(f"sqlite:///{tmp_path / 'store.db'}") as store:
        summary = run(store, path)
        kept = store.select(Run)[0].config["user"]["llm_args"]
        assert kept == {"temperature": 0.0, "max_tokens": 100, "deep": [{"region": "eu"}, {}]}
        assert store.select(Run)[0].config["agent"]["llm_args"] == {"seed": 3}
        assert REMOVED in store.select(Conversation)[0].turns[7].text
        export_study(store, "jsonl", tmp_path / "out")
    written = [*tmp_path.glob("store.db*"), *(file for file in (tmp_path / "out").rglob("*") if file.is_file())]
    everything = b"".join(file.read_bytes() for file in written)
    assert b"no such line" not in everything and b"It says airplane mode" in everything
    answer = json.dumps(summary.to_dict()) + "\n".join(summary.lines())
    for secret in PLANTED:
        assert secret.encode() not in everything and secret not in answer
    assert summary.streams[0].to_dict()["files"][0]["secrets_removed"] >= 8
    assert any("secrets:" in line for line in summary.lines())


def test_words_that_resemble_secrets_stay(store: Store, tmp_path: Path) -> None:
    text = "The task-list for desk-12 is at https://host/v1?page=2, token count 3, risk-free."
    run(store, write(tmp_path / "r.json", results(simulation(messages=[agent(text), user("ok ###STOP###")]))))
    assert store.select(Conversation)[0].turns[0].text == text


# --- trap 7: repeats -------------------------------------------------------------------------------------------------


def test_a_file_that_repeats_another_is_stored_and_linked_whatever_comes_first(tmp_path: Path) -> None:
    full = write(tmp_path / "full.json", results(*(simulation(f"s{n}", trial=n, messages=dialogue(f"{n} ###STOP###"))
                                                   for n in range(3))))  # fmt: skip
    bare = [{"id": f"s{n}", "reward_info": {"reward": 1.0}, "messages": dialogue(f"{n} ###STOP###")} for n in range(3)]
    stripped = write(tmp_path / "stripped.json", results(*bare))
    linked = []
    for name, paths in (("a", (full, stripped)), ("b", (stripped, full))):
        with Store.open(f"sqlite:///{tmp_path / name}.db") as store:
            told = run(store, *paths).streams[0].to_dict()
            assert store.count(Conversation) == 6
            linked.append({file["file"]: file["repeats"] for file in told["files"]})
            later = run(store, *paths)
            assert later.lines()[-1].split(maxsplit=1)[1].startswith("0 new, 6 already there; 3 of them repeat")
    assert linked[0] == linked[1] == {"full.json": 0, "stripped.json": 3}


def test_the_same_words_about_another_task_are_no_repeat(store: Store, tmp_path: Path) -> None:
    told = results(simulation("s1"), simulation("s2", task_id="t2"), tasks=[task(), task("t2")])
    summary = run(store, write(tmp_path / "r.json", told))
    assert summary.new == 2 and summary.streams[0].to_dict()["files"][0]["repeats"] == 0


def test_an_episode_that_stands_twice_in_a_file_is_stored_once_and_told(store: Store, tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", results(simulation("s1"), simulation("s2")))
    summary = run(store, path)
    told = summary.streams[0].to_dict()["files"][0]
    assert (told["new"], told["already_there"], store.count(Conversation)) == (1, 0, 1)
    assert any("stand twice" in line for line in summary.lines())


def test_several_episodes_of_one_trial_are_told(store: Store, tmp_path: Path) -> None:
    told = results(*(simulation(f"s{n}", trial=None, messages=dialogue(f"{n} ###STOP###")) for n in range(2)))
    summary = run(store, write(tmp_path / "r.json", told))
    assert summary.new == 2 and any("same trial number (t1)" in line for line in summary.lines())


def test_a_file_under_another_name_adds_nothing_and_says_nothing_new(store: Store, tmp_path: Path) -> None:
    run(store, write(tmp_path / "a.json", results(simulation())))
    summary = run(store, write(tmp_path / "b.json", results(simulation())))
    assert (summary.new, summary.already_there, store.count(Conversation), store.count(Run)) == (0, 1, 1, 1)
    assert not summary.streams[0].to_dict()["files"][0]["warnings"]
    changed = simulation(reward_info={"reward": 0.0})
    summary = run(store, write(tmp_path / "b.json", results(changed)))
    assert any("whose outcome differs" in line for line in summary.lines())


# --- the second time, growth, failure --------------------------------------------------------------------------------


def test_twice_is_once_and_a_grown_file_adds_what_is_new(store: Store, tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", results(*(simulation(f"s{n}", trial=n) for n in range(250))))
    assert run(store, path).new == 250
    before = [store.select(kind) for kind in (Conversation, Item, Participant, Run)]
    summary = run(store, path)
    assert (summary.new, summary.already_there) == (0, 250)
    assert [store.select(kind) for kind in (Conversation, Item, Participant, Run)] == before
    write(path, results(*(simulation(f"s{n}", trial=n) for n in range(260))))
    summary = run(store, path)
    assert (summary.new, summary.already_there, store.count(Run)) == (10, 250, 1)


def test_of_several_files_a_broken_one_is_named_and_leaves_nothing(store: Store, tmp_path: Path) -> None:
    good = write(tmp_path / "good.json", results(simulation("g")))
    text = json.dumps(results(*(simulation(f"s{n}", trial=n) for n in range(300)), info=info("broken-model")))
    (tmp_path / "cut.json").write_text(text[: int(len(text) * 0.95)])
    (tmp_path / "what.txt").write_text("not a run")
    last = write(tmp_path / "last.json", results(simulation("l", trial=5)))
    summary = run(store, good, tmp_path / "cut.json", tmp_path / "what.txt", last)
    assert summary.new == 2 and {said.tags["simulation"] for said in store.select(Conversation)} == {"g", "l"}
    assert {Path(failure.source).name for failure in summary.failures} == {"cut.json", "what.txt"}
    cut = next(failure.sentence for failure in summary.failures if "cut" in failure.source)
    assert "cut off" in cut and cut.count(". ") <= 1
    assert store.count(Run) == 2 and store.count(Participant) == 1
    with pytest.raises(InputError, match="cut off"):
        run(store, tmp_path / "cut.json")


def test_an_interruption_leaves_nothing_of_the_file(store: Store, tmp_path: Path) -> None:
    def interrupt(label: str, read: int, size: int) -> None:
        if size and label == "second.json":
            raise KeyboardInterrupt

    first = write(tmp_path / "first.json", results(simulation("a")))
    second = write(tmp_path / "second.json", results(*(simulation(f"s{n}", trial=n + 1) for n in range(450))))
    with pytest.raises(KeyboardInterrupt):
        run(store, first, second, on_progress=interrupt)
    assert [said.tags["simulation"] for said in store.select(Conversation)] == ["a"]


# --- how files are written -------------------------------------------------------------------------------------------


def test_members_may_come_in_any_order(tmp_path: Path) -> None:
    told = {**results(*(simulation(f"s{n}", trial=n) for n in range(3))), "simulation_index": None, "own": [[1], {}]}
    stored = []
    for seed in range(6):
        names = list(told)
        random.Random(seed).shuffle(names)
        with Store.open(f"sqlite:///{tmp_path / str(seed)}.db") as store:
            run(store, write(tmp_path / "r.json", {name: told[name] for name in names}))
            skipped = {"created_at"}
            stored.append([
                [noun.model_dump(exclude=skipped) for noun in store.select(kind)]
                for kind in (Conversation, Item, Participant, Run)
            ])  # fmt: skip
    for one in stored:
        assert one == stored[0]


def test_numbers_that_are_none_are_unknown_and_counted(store: Store, tmp_path: Path) -> None:
    text = json.dumps(results(simulation(duration="NAN", user_cost="INF")))
    text = text.replace('"NAN"', "NaN").replace('"INF"', "-Infinity").replace('"line": "L1"', '"line": 1e999')
    (tmp_path / "r.json").write_text(text)
    summary = run(store, tmp_path / "r.json")
    said = store.select(Conversation)[0]
    assert said.outcome["seconds"] is None is said.cost_usd and said.turns[6].tool_calls[0].arguments == {"line": None}
    assert any("3 numbers that are none" in line for line in summary.lines() if line.startswith("repaired"))


def test_whole_numbers_keep_their_digits_and_texts_their_half_characters(store: Store, tmp_path: Path) -> None:
    said = dialogue()
    said[1]["content"] = "half \ud83d and whole \U0001f600"
    said[6] = agent(None, call("a1", "get_line", line=2**70, half="\udc00"))
    path = write(tmp_path / "r.json", results(simulation(messages=said)))
    run(store, path)
    turns = store.select(Conversation)[0].turns
    assert turns[1].text == "half \ud83d and whole \U0001f600"
    assert turns[6].tool_calls[0].arguments == {"line": 2**70, "half": "\udc00"}
    assert run(store, path).new == 0
    path.write_text(path.read_text().replace(str(2**70), "9" * 5000))
    with pytest.raises(InputError, match="too many digits"):
        run(store, path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_no_hindrance(store: Store, tmp_path: Path, encoding: str) -> None:
    (tmp_path / "r.json").write_text(json.dumps(results(simulation())), encoding)
    assert run(store, tmp_path / "r.json").new == 1


def test_of_a_key_that_stands_twice_the_last_counts_but_not_outside_of_episodes(store: Store, tmp_path: Path) -> None:
    text = json.dumps(results(simulation()))
    (tmp_path / "r.json").write_text(text.replace('"duration": 12.5', '"duration": 1, "duration": 12.5'))
    run(store, tmp_path / "r.json")
    assert store.select(Conversation)[0].outcome["seconds"] == 12.5
    (tmp_path / "twice.json").write_text(text[:-1] + ', "simulations": []}')
    with pytest.raises(InputError, match="'simulations' stands twice"):
        run(store, tmp_path / "twice.json")


def test_what_is_nested_too_deeply_for_a_store_is_refused(store: Store, tmp_path: Path) -> None:
    deep: Any = "x"
    for _ in range(150):
        deep = [deep]
    said = dialogue()
    said[6] = agent(None, call("a1", "get_line", line=deep))
    with pytest.raises(InputError, match="nested too deeply"):
        run(store, write(tmp_path / "r.json", results(simulation(messages=said))))


@pytest.mark.parametrize(
    ("messages", "said"),
    [("none", "no list"), ([{"content": "x"}], "no role"), (["x"], "no role")],
)
def test_messages_that_are_none_are_refused_with_their_place(
    store: Store, tmp_path: Path, messages: Any, said: str
) -> None:
    with pytest.raises(InputError, match=f"r.json, episode 0.*{said}"):
        run(store, write(tmp_path / "r.json", results(simulation(messages=messages))))


def test_a_window_may_end_anywhere(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from annotate.importers import reading

    path = write(tmp_path / "r.json", results(simulation(messages=[agent('é😀\\"' * 9), user("ok ###STOP###")])))
    told = list(reading.stream_pieces(path, reading.TolerantDecoder(path), lambda _: True))
    for chunk in range(1, 40):
        pieces = reading.stream_pieces(path, reading.TolerantDecoder(path), lambda _: True, chunk=chunk)
        assert list(pieces) == told


def test_what_follows_the_end_and_what_is_missing_are_told(tmp_path: Path) -> None:
    from annotate.importers import reading

    for text, said in (("{} x", "after the end"), ('{"a" 1}', "colon"), ('{"a": 1,}', "key is missing"),
                       ('{"a": [1 2]}', "comma or a bracket"), ('{"a": 1', "cut off"), ("3", "neither")):  # fmt: skip
        path = tmp_path / "x.json"
        path.write_text(text)
        with pytest.raises(InputError, match=said):
            list(reading.stream_pieces(path, reading.TolerantDecoder(path), lambda _: True))
