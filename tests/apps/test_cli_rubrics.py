"""`usercal rubrics template`: criteria from the blueprints of a study, by code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from annotate.schema import Conversation, Criterion, Item, Participant, Run, Turn
from annotate.study import Study

Call = Callable[..., Any]
PARTS = {  # made up
    "reason_for_call": "Your internet is slow.",
    "known_info": "You are Mira Oduya. Your customer number is 77-12.",
    "unknown_info": None,
    "task_instructions": "Be brief.",
}
TOOLS = {"domain": "internet", "tools": [{"name": "restart_router", "kind": "write", "arguments": []}]}


@pytest.fixture
def study(call: Call, tmp_path: Path) -> Path:
    assert call("init", tmp_path / "s").code == 0
    return tmp_path / "s"


def store_tasks(study: Path, *blueprints: Any) -> None:
    nouns: list[Any] = [
        Participant(id="p", kind="simulator"),
        Run(id="r", name="r", config={"guidelines": {"text": "Say ###STOP### when you are done."}}),
    ]
    for number, blueprint in enumerate(blueprints):
        tags = {"domain": "internet", "task_id": str(number)}
        private = {} if blueprint is None else {"blueprint": blueprint}
        nouns.append(Item(id=f"i{number}", key=str(number), task="tau_internet", inputs={}, private=private, tags=tags))
    nouns.append(
        Conversation(
            id="c", task="tau_internet", item="i0", participant="p", assistant="a", origin="simulated", run="r",
            turns=(Turn(position=0, role="user", text="hi"),),
        )
    )  # fmt: skip
    with Study.open(study).open_store() as store, store.begin() as transaction:
        transaction.add(nouns)


def test_criteria_of_all_tasks_with_what_was_left_out(call: Call, study: Path, tmp_path: Path) -> None:
    store_tasks(study, PARTS, {"text": "You want a new router."}, None)
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS), "utf-8")
    out = tmp_path / "made" / "criteria.jsonl"
    said = call("rubrics", "template", "--study", study, "--tools", "tools.json", "--out", out, "--json")
    assert said.code == 0, said.err
    facts = json.loads(said.out)
    assert (facts["tasks"], facts["without_parts"], facts["criteria"]) == (2, 1, 5)
    assert facts["families"]["internet"] == {"goal_deviation": 1, "groundedness": 2, "premature_disclosure": 2}
    made = [Criterion.model_validate_json(line) for line in out.read_text("utf-8").splitlines()]
    assert len(made) == 5 and {one.item for one in made} == {"i0"}
    assert {one.span for one in made if one.source == "guidelines"} == {"Say ###STOP### when you are done."}


def test_the_screen_says_the_number_first_and_the_next_command_last(call: Call, study: Path) -> None:
    store_tasks(study, PARTS)
    lines = call("rubrics", "template", "--study", study).out.splitlines()
    assert lines[0].startswith("3 criteria on 1 task, by code")
    assert lines[-1].startswith("Next:") and "--out" in lines[-1]


def test_what_was_written_can_be_imported(call: Call, study: Path, tmp_path: Path) -> None:
    store_tasks(study, PARTS)
    assert call("rubrics", "template", "--study", study, "--out", tmp_path / "k.jsonl").code == 0
    said = call("import", "--study", study, tmp_path / "k.jsonl")
    assert said.code == 0 and "3 criteria added" in said.out
    assert "added" not in call("import", "--study", study, tmp_path / "k.jsonl").out
    with Study.open(study).open_store() as store:
        assert store.count(Criterion) == 3


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_what_was_edited_is_taken_in_where_it_stands(call: Call, study: Path, tmp_path: Path, ending: str) -> None:
    store_tasks(study, PARTS)
    path = tmp_path / f"k.{ending}"
    assert call("rubrics", "template", "--study", study, "--out", path).code == 0
    text = path.read_text("utf-8")
    assert "Your customer number is 77-12." in text
    path.write_text(text.replace("k_", "own_").replace("You are Mira Oduya.", "You are somebody else."), "utf-8")
    said = call("rubrics", "import", path, "--study", study, "--json")
    assert said.code == 0, said.err
    facts = json.loads(said.out)
    assert (facts["new"], facts["already_there"], len(facts["left_out"])) == (2, 0, 1)
    assert "does not stand in the blueprint" in next(iter(facts["left_out"].values()))
    again = json.loads(call("rubrics", "import", path, "--study", study, "--json").out)
    assert (again["new"], again["already_there"]) == (0, 2)


def test_criteria_of_tasks_that_are_not_there_are_left_out(call: Call, study: Path, tmp_path: Path) -> None:
    store_tasks(study, PARTS)
    path = tmp_path / "k.csv"
    path.write_text("family,mode,text,source,span,item\ngroundedness,self_contradiction,a,blueprint,b c,zz\n", "utf-8")
    said = call("rubrics", "import", path, "--study", study)
    assert said.code == 1 and "its task is not in the study" in said.out


def test_a_study_without_proxies_says_what_comes_first(call: Call, study: Path) -> None:
    with Study.open(study).open_store():
        pass
    said = call("rubrics", "template", "--study", study)
    assert said.code == 0 and "nothing to make rules from" in said.out and "usercal import" in said.out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{}", "no list of tools"),
        ('{"tools": [{"kind": "read"}]}', "is no tool"),
        ('{"tools": [{"name": "x", "kind": "think"}]}', "kind 'think'"),
        ('{"tools": [{"name": "x", "arguments": [1]}]}', "no list of names"),
        ("{", "JSON"),
    ],
)
def test_a_file_of_tools_that_is_none_is_one_sentence(
    call: Call, study: Path, tmp_path: Path, content: str, said: str
) -> None:
    (tmp_path / "tools.json").write_text(content, "utf-8")
    answer = call("rubrics", "template", "--study", study, "--tools", "tools.json")
    assert answer.code == 2 and said in answer.err and answer.err.count("\n") == 1
