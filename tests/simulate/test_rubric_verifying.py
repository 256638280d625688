"""Criteria reviewed by code and by another model: what is rejected says why, and silence accepts nothing."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from annotate.config import ModelConfig
from annotate.errors import ModelError
from annotate.rubrics.contract import Contract, Tool
from annotate.rubrics.template import template_criteria
from annotate.schema import Call, Criterion, Rater
from annotate.taxonomy import load_taxonomy
from simulate.asking import Voice
from simulate.llm import CallFailed, Reply, Request
from simulate.rubrics.verifying import (
    CHECKS,
    Decision,
    check_independent,
    decide_by_code,
    read_review,
    verify,
    verify_prompt,
)

TAXONOMY = load_taxonomy()
CONTRACT = Contract(  # made up
    item="i_1",
    domain="internet",
    parts={
        "reason_for_call": "Your internet is slow. You want it fast again.",
        "known_info": "You are Mira Oduya. Your customer number is 77-12.",
        "task_instructions": "Ground what you say on the results of tool calls.",
    },
    guidelines="Say ###STOP### when you are done.",
    tools=(Tool("check_router", "read"), Tool("restart_router", "write")),
)
CRITERIA = template_criteria(CONTRACT)
CALL = Call(id="k", key="k", model="m", purpose="verify", request={})


class Scripted:
    def __init__(self, *answers: Any) -> None:
        self.answers, self.requests = list(answers), []

    async def ask(self, request: Request) -> Reply:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, str):
            raise CallFailed(answer, "scripted", retryable=False, call=CALL)  # type: ignore[arg-type]
        return Reply(json.dumps(answer), answer, CALL, from_cache=False)


def reviewed(criteria: list[Criterion], contract: Contract, *answers: Any) -> tuple[list[Decision], Scripted]:
    gateway = Scripted(*answers)
    voice = Voice(gateway, "careful", ModelConfig(model="openai/v"), 900, "verify")  # type: ignore[arg-type]
    return asyncio.run(verify(voice, criteria, contract, TAXONOMY))[0], gateway


def rule(number: int, accept: bool = True, fails: str = "none", reason: str = "") -> dict[str, Any]:
    return {"rule": number, "accept": accept, "fails": fails, "reason": reason}


def made(**change: Any) -> Criterion:
    return Criterion(**{**CRITERIA[0].model_dump(), "id": "k_own", **change})


def test_a_review_decides_each_rule_once_and_in_order() -> None:
    answers = [rule(n) for n in range(len(CRITERIA), 0, -1)]
    answers[-1] = rule(1, False, "scope", "It asks for more.")
    decisions, gateway = reviewed(CRITERIA, CONTRACT, {"rules": answers})
    assert [one.criterion for one in decisions] == [one.id for one in CRITERIA]
    assert [one.accepted for one in decisions] == [False, *[True] * (len(CRITERIA) - 1)]
    assert (decisions[0].check, decisions[0].reason) == ("scope", "It asks for more.")
    assert len(gateway.requests) == 1


# ------------------------------------------------------------------------ the defects that blueprints are known to have


def test_a_tool_that_does_not_exist() -> None:
    wrong = "Ground what the status bar shows on the `get_status_bar` tool call."
    contract = replace(CONTRACT, parts={**CONTRACT.parts, "task_instructions": wrong})
    written = made(family="groundedness", mode="misreports_tool_result", text="It tells the bar truly.", span=wrong)
    decisions, gateway = reviewed([written], contract)
    assert decisions == [
        Decision("k_own", False, "grounding", "the span names a tool that does not exist: get_status_bar", by_code=True)
    ]
    assert gateway.requests == []  # nothing is left that a model would have to look at


def test_an_order_to_tell_all_at_once_turns_the_rule_of_disclosure_round() -> None:
    contract = replace(CONTRACT, parts={**CONTRACT.parts, "task_instructions": "Provide all details upfront."})
    (decision,) = decide_by_code([made()], contract, TAXONOMY)
    assert (decision.accepted, decision.check) == (False, "achievability") and "all details at once" in decision.reason


def test_a_blueprint_of_one_text_can_be_quoted_like_any_other() -> None:
    contract = replace(CONTRACT, parts={"text": "You are Mira Oduya and want a loan. Your limit is 500."})
    good, bad = made(span="Your limit is 500."), made(id="k_bad", text="Another rule.", span="Your limit is 900.")
    decisions, gateway = reviewed([good, bad], contract, {"rules": [rule(1)]})
    assert [(one.accepted, one.by_code) for one in decisions] == [(True, False), (False, True)]
    assert "1. [" in gateway.requests[0].messages[1]["content"] and "Another rule." not in str(
        gateway.requests[0].messages
    )


def test_what_is_unknown_may_be_null_and_then_cannot_be_quoted() -> None:
    invented = made(mode="invents_unknown_info", family="groundedness", span="You do not know your password.")
    (decision,) = decide_by_code([invented], CONTRACT, TAXONOMY)
    assert decision.check == "grounding" and "does not stand in the blueprint" in decision.reason


# ---------------------------------------------------------------------------------------------------------------- code


def test_the_same_rule_again_is_redundant_and_the_first_one_stands() -> None:
    again = made(text=f"{CRITERIA[0].text} ")
    decisions = decide_by_code([CRITERIA[0], again], CONTRACT, TAXONOMY)
    assert [(one.criterion, one.check) for one in decisions] == [("k_own", "redundancy")]
    assert CRITERIA[0].id in decisions[0].reason


def test_a_mode_of_another_family_does_not_fit() -> None:
    (decision,) = decide_by_code([made(mode="stops_prematurely")], CONTRACT, TAXONOMY)
    assert decision.check == "taxonomy"


def test_template_rules_pass_what_code_can_check() -> None:
    assert decide_by_code(CRITERIA, CONTRACT, TAXONOMY) == []


# -------------------------------------------------------------------------------------------------------------- replies


@pytest.mark.parametrize(
    "reply",
    [
        "", "accept all", "{}", '{"rules": []}', '{"rules": {}}', '{"rules": [{"rule": 1}]}',
        json.dumps({"rules": [rule(2)]}),
        json.dumps({"rules": [rule(1), rule(1)]}),
        json.dumps({"rules": [rule(1), rule(1, False, "scope")]}),
        json.dumps({"rules": [rule(1, True, "scope")]}),
        json.dumps({"rules": [rule(1, False, "none")]}),
        json.dumps({"rules": [rule(1, False, "manners")]}),
        json.dumps({"rules": [{**rule(1), "accept": "yes"}]}),
        json.dumps({"rules": [{**rule(1), "rule": "1"}]}),
        json.dumps({"rules": [rule(0)]}),
    ],
)  # fmt: skip
def test_a_reply_that_does_not_say_one_thing_accepts_nothing(reply: str) -> None:
    (decision,) = read_review(reply, CRITERIA[:1])
    assert decision.accepted is None and decision.reason


def test_an_unreadable_review_leaves_all_undecided_and_a_failed_call_is_no_review() -> None:
    decisions, _ = reviewed(CRITERIA, CONTRACT, "unparsable", "empty", "length")
    assert {one.accepted for one in decisions} == {None}
    with pytest.raises(CallFailed):
        reviewed(CRITERIA, CONTRACT, "authentication")


def test_a_decision_is_a_record() -> None:
    rater = Rater(id="m_1", kind="model", name="careful", model="openai/v")
    notes = [Decision("k", accepted, "scope", "why").annotation("a", rater) for accepted in (True, False, None)]
    assert [(note.value, note.missing) for note in notes] == [("accept", None), ("reject", None), (None, "unparsable")]
    assert {note.target.criterion for note in notes} == {"k"} and notes[1].flags == ("scope",)


def test_who_wrote_does_not_review_unless_forced() -> None:
    with pytest.raises(ModelError, match="cannot review"):
        check_independent("openai/a", "openai/a")
    check_independent("openai/a", "openai/b")
    check_independent("openai/a", "openai/a", forced=True)


def test_the_reviewer_is_told_all_nine_checks_and_every_rule() -> None:
    system, user = (message["content"] for message in verify_prompt(CONTRACT, CRITERIA).messages)
    assert len(CHECKS) == 9 and all(f"- {name}: " in system for name in CHECKS)
    assert all(f"{n}. [" in user and one.span in user for n, one in enumerate(CRITERIA, 1))
