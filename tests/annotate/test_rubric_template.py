"""Criteria that code makes from a contract: grounded, none twice, and what a blueprint's defects do to them."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.importers.tau.blueprints import of_tau2
from annotate.rubrics.contract import Contract, Tool, contract_of
from annotate.rubrics.grounding import fault_of, is_grounded, missing_tools
from annotate.rubrics.template import sentences, template_criteria
from annotate.schema import Criterion, Item
from annotate.taxonomy import load_taxonomy

SHARED = Path(os.environ.get("USERCAL_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
TAU = SHARED / "data" / "tau"
TAXONOMY = load_taxonomy()
TOOLS = (Tool("check_router", "read"), Tool("restart_router", "write"))
CONTRACT = Contract(  # made up
    item="i_1",
    domain="internet",
    parts={
        "persona": "A patient retired teacher.",
        "reason_for_call": "Your internet is slow. You want it fast again.",
        "known_info": "You are Mira Oduya. Your customer number is 77-12.",
        "unknown_info": "You do not know your router's password.",
        "task_instructions": "Ground what you say on the results of tool calls. Ask where you are unsure.",
    },
    guidelines="Answer briefly.\nWhen the goal is met, write ###STOP### to end.",
    tools=TOOLS,
)


def modes(contract: Contract) -> Counter[str]:
    return Counter(criterion.mode for criterion in template_criteria(contract))


def test_each_rule_stands_on_its_words() -> None:
    made = {criterion.mode: criterion for criterion in template_criteria(CONTRACT)}
    assert modes(CONTRACT) == {
        "volunteers_unasked_info": 2, "invents_unknown_info": 1, "stops_prematurely": 1, "misreports_tool_result": 1,
        "unexecuted_action_claim": 1,
    }  # fmt: skip
    assert made["stops_prematurely"].source == "guidelines" and "###STOP###" in made["stops_prematurely"].span
    assert made["misreports_tool_result"].span == "Ground what you say on the results of tool calls."
    assert all(fault_of(criterion, CONTRACT, TAXONOMY) is None for criterion in made.values())
    assert all(criterion.item == "i_1" for criterion in made.values())


def test_the_same_contract_gives_the_same_criteria_however_it_is_spaced() -> None:
    spaced = replace(CONTRACT, parts={name: text.replace(" ", "  ") for name, text in CONTRACT.parts.items()})
    assert [one.id for one in template_criteria(spaced)] == [one.id for one in template_criteria(CONTRACT)]
    assert spaced.blueprint_hash == CONTRACT.blueprint_hash
    assert replace(CONTRACT, tools=TOOLS[::-1]).tools_hash == CONTRACT.tools_hash


def test_an_order_to_give_all_at_once_takes_away_the_rule_of_disclosure() -> None:
    told = {**CONTRACT.parts, "task_instructions": "Provide all details upfront in your first message."}
    assert "volunteers_unasked_info" not in modes(replace(CONTRACT, parts=told))


def test_a_blueprint_of_one_text_has_no_templates() -> None:
    item = Item(id="i", key="k", task="tau_bank", inputs={}, private={"blueprint": {"text": "You want a loan. Ask."}})
    contract = contract_of(item)
    assert contract is not None and not contract.structured and template_criteria(contract) == []
    assert contract_of(Item(id="i", key="k", task="tau_bank", inputs={})) is None


def test_what_is_unknown_may_be_null() -> None:
    raw = {"id": 1, "user_scenario": {"persona": None, "instructions": {**CONTRACT.parts, "unknown_info": None}}}
    contract = contract_of(of_tau2(raw).item("internet"))
    assert contract is not None and "unknown_info" not in contract.parts
    assert "invents_unknown_info" not in modes(contract)


def test_a_tool_that_does_not_exist_grounds_nothing() -> None:
    wrong = "Ground what you say on the result of the `get_router` tool call."
    contract = replace(CONTRACT, parts={**CONTRACT.parts, "task_instructions": wrong})
    assert missing_tools(wrong, contract) == ["get_router"]
    made = {criterion.mode: criterion for criterion in template_criteria(contract)}
    assert made["misreports_tool_result"].source == "tools"
    assert made["misreports_tool_result"].span == "check_router()"
    named = made["misreports_tool_result"].model_copy(update={"source": "blueprint", "span": wrong})
    assert "does not exist: get_router" in str(fault_of(named, contract, TAXONOMY))


def test_what_reads_only_can_claim_no_action() -> None:
    assert "unexecuted_action_claim" not in modes(replace(CONTRACT, tools=TOOLS[:1]))
    assert "misreports_tool_result" not in modes(replace(CONTRACT, tools=()))


def test_what_the_reason_says_anyway_is_no_secret() -> None:
    parts = {**CONTRACT.parts, "reason_for_call": "You are Mira Oduya. Your internet is slow."}
    assert modes(replace(CONTRACT, parts=parts))["volunteers_unasked_info"] == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"span": "Your customer number is 99."}, "does not stand in the blueprint"),
        ({"span": "   "}, "no span"),
        ({"span": "Mira"}, "grounds nothing"),
        ({"text": " "}, "statement is empty"),
        ({"family": "manners"}, "not in the taxonomy"),
        ({"mode": "stops_prematurely"}, "of family 'goal_deviation'"),
        ({"mode": "sneezes"}, "not in the taxonomy"),
        ({"source": "guidelines"}, "does not stand in the guidelines"),
    ],
)
def test_code_sees_a_fault(change: dict[str, Any], said: str) -> None:
    good = next(one for one in template_criteria(CONTRACT) if one.mode == "volunteers_unasked_info")
    fault = fault_of(Criterion(**{**good.model_dump(), **change}), CONTRACT, TAXONOMY)
    assert fault is not None and said in fault


def test_a_source_that_is_not_known_grounds_nothing() -> None:
    stop = next(one for one in template_criteria(CONTRACT) if one.mode == "stops_prematurely")
    assert fault_of(stop, replace(CONTRACT, guidelines=None), TAXONOMY) == "there are no guidelines to quote"


@given(st.text(alphabet="ab .!?\n'“’0", max_size=60))
def test_every_sentence_stands_in_its_text(text: str) -> None:
    assert all(is_grounded(one, text) and one in text for one in sentences(text))


@pytest.mark.shared
@pytest.mark.skipif(not TAU.is_dir(), reason="the real runs are not part of the project")
def test_all_structured_blueprints_of_the_real_runs() -> None:
    """147 tasks: every criterion grounded, none twice; how many there are of each family."""
    surface = json.loads((TAU / "telecom_user_tools.json").read_text("utf-8"))["tools"]
    tools = tuple(Tool(tool["name"], tool["kind"], tuple(tool["arguments"])) for tool in surface)
    families: Counter[str] = Counter()
    tasks, identities = 0, set()
    for path in sorted(TAU.glob("*.json")):
        raw = json.loads(path.read_text("utf-8"))
        if not isinstance(raw, dict) or not raw.get("tasks"):
            continue
        shown = (raw.get("info") or {}).get("user_info", {}).get("global_simulation_guidelines")
        for task in raw["tasks"]:
            blueprint = of_tau2(task)
            item = blueprint.item(blueprint.domain or "mock")
            phone = blueprint.domain == "telecom"
            contract = contract_of(item, guidelines=None if phone else shown, tools=tools if phone else ())
            if contract is None or not contract.structured or item.id in identities:
                continue
            identities.add(item.id)
            tasks += 1
            made = template_criteria(contract)
            assert made and len({one.id for one in made}) == len(made)
            assert len({(one.mode, " ".join(one.span.split())) for one in made}) == len(made)
            assert [fault_of(one, contract, TAXONOMY) for one in made] == [None] * len(made)
            families.update(one.family for one in made)
    assert tasks > 100
    assert set(families) == {"premature_disclosure", "groundedness", "goal_deviation"}
    assert min(families.values()) > 100
