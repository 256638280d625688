"""Criteria that a model writes: what the reply holds and nothing else, and what the writer may see."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from annotate.config import ModelConfig
from annotate.rubrics.contract import Contract, Tool
from annotate.schema import Call, Conversation, Turn
from annotate.taxonomy import load_taxonomy
from simulate.asking import Voice
from simulate.llm import Reply, Request
from simulate.rubrics.verifying import decide_by_code
from simulate.rubrics.writing import LEAST, MOST, read_rubric, rubric_schema, write, write_prompt

TAXONOMY = load_taxonomy()
CONTRACT = Contract(  # made up
    item="i_1",
    domain="internet",
    parts={"reason_for_call": "Your internet is slow.", "known_info": "You are Mira Oduya. Your number is 77-12."},
    guidelines="Say ###STOP### when you are done.",
    tools=(Tool("restart_router", "write"),),
)
SAMPLE = Conversation(
    id="CANARYID", task="tau_internet", item="i_1", participant="p", assistant="a", origin="simulated",
    tags={"proxy": "acme/zorblax-7b", "file": "CANARYFILE"},
    turns=(Turn(position=0, role="user", text="I am Zorblax.\n# Rules that were rejected"),),
)  # fmt: skip


def rule(**change: Any) -> dict[str, Any]:
    return {
        "family": "premature_disclosure", "mode": "volunteers_unasked_info", "rule": "It waits with its number.",
        "applies": "", "source": "blueprint", "words": "Your number is 77-12.", **change,
    }  # fmt: skip


def reply(*rules: dict[str, Any]) -> str:
    return json.dumps({"rules": list(rules)})


def test_a_reply_becomes_criteria_of_its_task_each_once() -> None:
    made = read_rubric(
        reply(rule(), rule(words="Your  number is 77-12."), rule(rule="It waits with its name.")), CONTRACT, TAXONOMY
    )
    assert made.fault is None and [one.text for one in made.criteria] == [
        "It waits with its number.", "It waits with its name.",
    ]  # fmt: skip
    assert {one.item for one in made.criteria} == {"i_1"}
    assert read_rubric(reply(rule()), CONTRACT, TAXONOMY).criteria[0].id == made.criteria[0].id


def test_what_is_written_badly_is_kept_and_rejected_by_code() -> None:
    bad = rule(words="Your number is 99.", rule="It keeps quiet.")
    criteria = read_rubric(reply(rule(), bad), CONTRACT, TAXONOMY).criteria
    assert len(criteria) == 2
    (decision,) = decide_by_code(criteria, CONTRACT, TAXONOMY)
    assert (decision.criterion, decision.check) == (criteria[1].id, "grounding")


@pytest.mark.parametrize(
    "text",
    [
        "", "{}", "no rules", reply(), reply(rule(family="manners")), reply(rule(mode="sneezes")),
        reply(rule(source="sample")), reply(rule(rule=None)), reply({"rule": "x"}), reply(*[rule()] * (MOST + 1)),
        json.dumps({"rules": rule()}), reply(rule()) + reply(rule(rule="Another.")), reply({**rule(), "score": 1}),
    ],
)  # fmt: skip
def test_a_reply_that_cannot_be_read_holds_no_criteria_and_says_why(text: str) -> None:
    made = read_rubric(text, CONTRACT, TAXONOMY)
    assert made.criteria == () and made.fault


def test_the_writer_sees_contract_taxonomy_and_a_blind_sample() -> None:
    system, user = (message["content"] for message in write_prompt(CONTRACT, TAXONOMY, SAMPLE).messages)
    assert f"{LEAST} to {MOST} rules" in system and all(f"- {mode.name}: " in system for mode in TAXONOMY.mode)
    assert all(part in user for part in (*CONTRACT.parts.values(), "restart_router()", "###STOP###"))
    assert re.findall("zorblax|acme|canary", system + user, re.IGNORECASE) == []
    assert "  | # Rules that were rejected" in user and "\n# Rules that were rejected" not in user


def test_a_revision_is_told_what_was_rejected_and_why() -> None:
    (criterion,) = read_rubric(reply(rule()), CONTRACT, TAXONOMY).criteria
    user = write_prompt(CONTRACT, TAXONOMY, rejected=[(criterion, "it asks for more")]).messages[1]["content"]
    assert "# Rules that were rejected" in user and "- It waits with its number. (it asks for more)" in user


def test_nothing_is_said_of_sources_that_are_not_known() -> None:
    bare = Contract("i", "internet", {"text": "You want a loan."})
    user = write_prompt(bare, TAXONOMY).messages[1]["content"]
    assert user.count("rest no rule on them") == 2 and "sample conversation" not in user


def test_asking_a_model() -> None:
    asked: list[Request] = []

    class Gateway:
        async def ask(self, request: Request) -> Reply:
            asked.append(request)
            return Reply(reply(rule()), None, Call(id="k", key="k", model="m", purpose="write", request={}), False)

    voice = Voice(Gateway(), "w", ModelConfig(model="openai/w"), 900, "write")  # type: ignore[arg-type]
    made = asyncio.run(write(voice, CONTRACT, TAXONOMY, SAMPLE))
    assert len(made.criteria) == 1 and asked[0].prompt == "write_rubric"
    assert asked[0].reply_schema == rubric_schema(TAXONOMY)
