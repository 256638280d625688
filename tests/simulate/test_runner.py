"""Runs: what is planned is done, once; what failed is a record and is tried again; nothing is paid twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import MODEL, PRICE, config, run_section
from scripted import ScriptedTransport

from annotate.errors import ConfigError
from annotate.schema import Annotation, Call, Conversation, Failure, Profile
from annotate.store import Store
from simulate.cells import Plan
from simulate.engine import Progress, Summary
from simulate.ledger import StoreLedger
from simulate.llm import Gateway
from simulate.plan import Planner, check_scales
from simulate.price import estimate_run
from simulate.runner import Runner
from simulate.task import load_tasks


def planner(store: Store, **changes: object) -> Planner:
    run = run_section(**changes)
    return Planner(config(run), run, load_tasks(["math_tutoring", "document_creation"], {}, Path()), store)


def execute(
    made: Planner,
    transport: ScriptedTransport,
    plan: Plan | None = None,
    observe: Callable[[Progress], None] = lambda _: None,
    stop_after: int | None = None,
    **limits: Any,
) -> Summary:
    async def work() -> Summary:
        gateway = Gateway(StoreLedger(made.store), prices={MODEL.model: PRICE}, transport=transport, **limits)
        async with gateway:
            runner = Runner(made, plan or made.plan(), gateway)

            def watch(progress: Progress) -> None:
                observe(progress)
                if stop_after is not None and progress.done >= stop_after:
                    runner.stop.set()

            runner.observe = watch
            return await runner.execute()

    return asyncio.run(work())


def test_a_run_does_what_was_planned(store: Store) -> None:
    made = planner(store)
    plan = made.plan()
    # math, twice: interaction 3, likert 2 x 3, turing 2 x 2, answer 2; document, once: three of the document
    assert [plan.count(kind)[1] for kind in ("profile", "conversation", "annotation")] == [3, 6, 2 * 15 + 16]
    summary = execute(made, ScriptedTransport(), plan)
    assert (summary.failed, summary.blocked, summary.unreadable) == (0, 0, 0)
    assert summary.done == len(plan.cells)
    twins = store.select(Conversation, origin="simulated")
    assert len(twins) == 6 and {t.strategy for t in twins} == {"zero_shot_cot", "profile_length"}
    assert store.count(Profile) == 3
    # the final answer is two annotations: the text, and whether it is right
    assert store.count(Annotation) == 46 + 4


def test_twins_alternate_and_keep_thoughts_to_themselves(store: Store) -> None:
    transport = ScriptedTransport()
    execute(planner(store), transport)
    for twin in store.select(Conversation, origin="simulated"):
        assert [t.role for t in twin.turns] == ["user", "assistant"] * 2 and twin.ended == "cap"
        assert all(t.private for t in twin.turns if t.role == "user")
        assert (twin.document is not None) == (twin.task == "document_creation")
        assert twin.cost_usd == pytest.approx(len([c for t in twin.turns for c in t.call_ids]) * 2e-4, rel=0.6)
    thoughts = {t.private for twin in store.select(Conversation, origin="simulated") for t in twin.turns if t.private}
    chats = [
        p["messages"] for p in transport.payloads if p["messages"][-1]["role"] == "user" and len(p["messages"]) > 1
    ]
    shown = json.dumps([m for chat in chats for m in chat if m["role"] != "system"])
    assert thoughts and not any(thought in shown for thought in thoughts)


def test_the_reference_solution_never_reaches_user_or_assistant(store: Store) -> None:
    transport = ScriptedTransport()
    execute(planner(store, scales=("interaction",)), transport)
    from annotate.schema import Item

    solutions = [i.reference["solution"][:40] for i in store.select(Item, task="math_tutoring")]
    sent = json.dumps([p["messages"] for p in transport.payloads])
    assert not any(json.dumps(solution)[1:-1] in sent for solution in solutions)


def test_the_profile_reaches_the_user_and_not_the_assistant(store: Store) -> None:
    transport = ScriptedTransport()
    execute(planner(store, strategies=("profile_length",), scales=("interaction",)), transport)
    users = [p for p in transport.payloads if "You play a student" in p["messages"][0]["content"]]
    assistants = [p for p in transport.payloads if "patient math tutor" in p["messages"][0]["content"]]
    assert users and assistants
    assert all("Each of your messages has between 1 and 5 words." in p["messages"][0]["content"] for p in users)
    assert all("How you write and act" in p["messages"][0]["content"] for p in users)
    assert not any("How you write" in str(p["messages"]) or "between 1 and" in str(p["messages"]) for p in assistants)


def test_the_same_command_again_does_nothing(store: Store) -> None:
    execute(planner(store), ScriptedTransport())
    again = ScriptedTransport()
    summary = execute(planner(store), again)
    assert (summary.done, len(again.payloads)) == (0, 0) and summary.already > 0


def test_a_stopped_run_goes_on_and_pays_nothing_twice(store: Store) -> None:
    first, second = ScriptedTransport(), ScriptedTransport()
    stopped = execute(planner(store, concurrency=1), first, stop_after=4)
    assert stopped.stopped and stopped.done < 10
    finished = execute(planner(store, concurrency=1), second)
    plan = planner(store).plan()
    assert finished.failed == 0 and plan.open() == []
    assert store.count(Conversation, origin="simulated") == 6
    keys = store.column(Call, "key", good=True)
    assert len(keys) == len(set(keys)) == len(first.payloads) + len(second.payloads)


def test_a_failed_cell_is_a_record_and_is_tried_again(store: Store) -> None:
    class Broken(RuntimeError):
        status_code = 500

    def fail(payload: dict[str, Any], number: int) -> str | None:
        if "writing assistant" in payload["messages"][0]["content"] and "You play" in payload["messages"][0]["content"]:
            raise Broken("the server is down")
        return None

    made = planner(store)
    made.config.models["m"] = MODEL.model_copy(update={"retries": 0})
    summary = execute(made, ScriptedTransport(fail))
    assert summary.failed == 2 and summary.blocked > 0
    assert {f.kind for f in store.select(Failure)} == {"server"}
    assert store.count(Conversation, task="document_creation", origin="simulated") == 0
    assert execute(planner(store), ScriptedTransport()).failed == 0
    assert store.count(Conversation, task="document_creation", origin="simulated") == 2


def test_an_unreadable_verdict_is_missing_and_never_a_value(store: Store) -> None:
    def garbage(payload: dict[str, Any], number: int) -> str | None:
        return "no idea" if "You judge" in payload["messages"][0]["content"] else None

    summary = execute(planner(store, scales=("interaction",)), ScriptedTransport(garbage))
    notes = store.select(Annotation)
    assert summary.failed == 0 and summary.unreadable == len(notes) == 9
    assert all(n.missing == "unparsable" and n.value is None for n in notes)


def test_an_empty_message_is_asked_for_again_and_never_stored(store: Store) -> None:
    def empty(payload: dict[str, Any], number: int) -> str | None:
        if "You play" in payload["messages"][0]["content"] and number % 2 == 0:
            return json.dumps({"thought": "hm", "message": " ", "done": False})
        return None

    execute(planner(store, concurrency=1), ScriptedTransport(empty))
    texts = [t.text for c in store.select(Conversation, origin="simulated") for t in c.turns]
    assert texts and all(text.strip() for text in texts)


def test_done_ends_the_conversation_without_a_message(store: Store) -> None:
    def done(payload: dict[str, Any], number: int) -> str | None:
        if (
            "The conversation so far" in payload["messages"][-1]["content"]
            and "You play" in payload["messages"][0]["content"]
        ):
            return json.dumps({"thought": "got it", "done": True, "message": ""})
        return None

    execute(planner(store, scales=("interaction",)), ScriptedTransport(done))
    twins = store.select(Conversation, origin="simulated")
    assert twins and all(t.ended == "user" and len(t.turns) == 2 for t in twins)


def test_the_budget_ends_a_run_with_everything_finished_stored(store: Store) -> None:
    summary = execute(planner(store), ScriptedTransport(), max_calls=7)
    assert summary.budget is not None and store.count(Call, good=True) == 7
    assert execute(planner(store), ScriptedTransport()).budget is None
    assert planner(store).plan().open() == []


def test_planning_spends_nothing_and_prices_what_is_open(store: Store) -> None:
    made = planner(store)
    price = estimate_run(made, made.plan())
    load = price.models[MODEL.model]
    assert load.calls > 50 and price.cost_usd is not None and price.cost_usd > 0
    assert store.count(Call) == 0
    execute(made, ScriptedTransport())
    assert estimate_run(made, made.plan()).models == {}


def test_an_unknown_price_is_unknown(store: Store) -> None:
    made = planner(store)
    made.config.prices.clear()
    assert estimate_run(made, made.plan()).cost_usd is None


def test_a_changed_setting_is_another_cell(store: Store) -> None:
    same, other = planner(store).plan(), planner(store, max_user_turns=3).plan()
    assert {c.id for c in same.cells} == {c.id for c in planner(store).plan().cells}
    assert not {c.id for c in same.cells if c.kind == "conversation"} & {c.id for c in other.cells}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"user": None}, "user: no model is named"),
        ({"user": "smal"}, "'smal' is not declared"),
        ({"extractor": None}, "extractor: no model is named"),
        ({"strategies": ("zero_shot_cto",)}, "did you mean 'zero_shot_cot'"),
    ],
)
def test_a_wrong_run_is_one_sentence(store: Store, changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as caught:
        planner(store, **changes).plan()
    assert "\n" not in str(caught.value)


def test_an_unknown_scale_is_named_with_the_nearest(store: Store) -> None:
    made = planner(store)
    with pytest.raises(ConfigError, match="did you mean 'turing'"):
        check_scales(made.tasks.values(), made.config, ["turning"])


def test_both_orders_of_a_pair_are_shown_and_stored(store: Store) -> None:
    transport = ScriptedTransport()
    execute(
        planner(store, strategies=("zero_shot_cot",), scales=("turing",), per_task={"document_creation": 1}), transport
    )
    notes = store.select(Annotation, scale="turing")
    places = sorted((n.target.conversation, n.presentation.position) for n in notes if n.presentation)
    assert places == [(f"c_{n}", p) for n in (1, 2, 3) for p in (1, 2)]
    shown = [
        p["messages"][-1]["content"] for p in transport.payloads if "two conversations" in p["messages"][0]["content"]
    ]
    first = [text.split("Second conversation:")[0] for text in shown]
    assert sum("human text" in text for text in first) == 3 and len(shown) == 6
