"""Runs of tau that are out to break an import: refused in one sentence, or read, and free of secrets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotate.errors import InputError
from annotate.importers.tau.redaction import Redactor
from annotate.imports import import_paths
from annotate.schema import Conversation
from annotate.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


def episode(**more: Any) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "My parcel is late."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "t1", "name": "find", "arguments": {}}]},
        {"role": "tool", "id": "t1", "content": "ok"},
        {"role": "user", "content": "###STOP###"},
    ]
    return {"id": "s", "task_id": "0", "trial": 0, "reward_info": {"reward": 1.0}, "messages": messages, **more}


def run(path: Path, *, tools: Any = None, actions: Any = None, **more: Any) -> Path:
    scenario = {"persona": None, "instructions": {"domain": "retail", "reason_for_call": "Late."}}
    task = {"id": "0", "user_scenario": scenario, "evaluation_criteria": {"actions": actions}}
    info = {
        "user_info": {"llm": "parrot", "tools": tools},
        "agent_info": {"llm": "clerk"},
        "environment_info": {"domain_name": "retail"},
    }
    path.write_text(json.dumps({"info": info, "tasks": [task], "simulations": [episode(**more)]}), "utf-8")
    return path


def load(store: Store, path: Path) -> list[Conversation]:
    import_paths(store, [path], format="tau", pseudonym=lambda name: f"p_{name}")
    return list(store.select(Conversation))


@pytest.mark.parametrize("odd", [True, 7, "x", 0.5])
def test_what_should_be_a_list_of_tools_or_actions_and_is_none_says_nothing(
    store: Store, tmp_path: Path, odd: Any
) -> None:
    assert len(load(store, run(tmp_path / "a.json", tools=odd, actions=odd))) == 1


@pytest.mark.parametrize("odd", [True, 7, "x"])
def test_messages_that_are_no_list_are_refused_in_one_sentence(store: Store, tmp_path: Path, odd: Any) -> None:
    with pytest.raises(InputError, match="messages are no list") as error:
        load(store, run(tmp_path / "a.json", messages=odd))
    assert "\n" not in str(error.value) and store.count(Conversation) == 0


@pytest.mark.parametrize("odd", [[], ["t1"], {"n": 1}])
def test_an_id_of_a_call_that_is_a_list_or_an_object_still_joins_its_result(
    store: Store, tmp_path: Path, odd: Any
) -> None:
    messages = episode()["messages"]
    messages[1]["tool_calls"][0]["id"] = odd
    messages[2] |= {"id": odd, "error": True}
    (found,) = load(store, run(tmp_path / "a.json", messages=messages))
    assert found.turns[1].tool_calls[0].error


def test_actions_of_tau_bench_that_are_no_list_say_nothing(store: Store, tmp_path: Path) -> None:
    task = {"instruction": "You are late.", "actions": True}
    record = {"task_id": 1, "reward": 1.0, "info": {"task": task}, "traj": [{"role": "user", "content": "hi"}]}
    (tmp_path / "a.json").write_text(json.dumps([record]))
    assert len(load(store, tmp_path / "a.json")) == 1


SECRETS = (
    "gsk_" + "a" * 20,
    *(
        f"{maker}{mark}" + "a" * 24
        for maker in ("hf", "xai", "tgp", "r8", "pplx", "csk", "fw", "dop", "lsv2")
        for mark in "_-"
    ),
    *(f"gh{kind}_" + "a" * 24 for kind in "pour"),
    *("github_pat_" + "a" * 24, "sk-" + "a" * 16, "sk_test_" + "a" * 12, "sk-proj-" + "a" * 16),
    *("AIza" + "a" * 24, "AKIA" + "A" * 16, "eyJ" + "a" * 12 + "." + "b" * 12, "Bearer " + "a" * 20),
    "xoxp-" + "a" * 12,
    "nvapi-" + "a" * 20,
    "ghs_" + "a" * 24,
    "ASIA" + "A" * 16,
    "pk-" + "a" * 16,
    "rk_live_" + "a" * 12,
    "glpat-" + "a" * 20,
    "https://host/v1?token=" + "a" * 10,
    "postgres://bob:" + "a" * 10 + "@db/x",
    "BEARER " + "a" * 20,
    "Authorization: Basic " + "a" * 20,
)


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_of_any_maker_in_a_message_is_in_no_byte_of_the_store(tmp_path: Path, secret: str) -> None:
    assert Redactor().may_hold(f"see {secret} here")
    messages = episode()["messages"]
    messages[0]["content"] = f"see {secret} here"
    with Store.open(f"sqlite:///{tmp_path / 'store.db'}") as store:
        (found,) = load(store, run(tmp_path / "a.json", messages=messages))
        assert "[secret removed]" in found.turns[0].text
    planted = secret[-8:].encode()
    assert not [path for path in tmp_path.glob("store.db*") if planted in path.read_bytes()]
