"""The probes on hand-made conversations: the hard cases of each."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest

from annotate.schema import Conversation, Item, ToolCall, Turn, Usage
from calibrate.probes.claims import claims_in
from calibrate.probes.disclosure import orders_up_front
from calibrate.probes.gold_writes import normalised
from calibrate.probes.identifiers import Identifier, blanked, dates, identifiers_in, span_in
from calibrate.probes.mechanics import asks_to_confirm, end_token
from calibrate.probes.probing import LABEL, ProbeRow, probe, probe_table
from calibrate.probes.requests import request
from calibrate.probes.sides import quote, sentences
from calibrate.probes.summary import PROBES, summarise, without
from calibrate.probes.tools import USER_TOOLS, writes

Message = Turn


def agent(text: str, seen_by: str = "both") -> dict[str, Any]:
    return {"role": "assistant", "text": text, "seen_by": seen_by}


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "text": text, **more}


def calling(*calls: ToolCall, beside: str | None = None) -> dict[str, Any]:
    return {"role": "user", "text": "", "private": beside, "tool_calls": calls, "seen_by": "user"}


def result(call: str, text: str = "done") -> dict[str, Any]:
    return {"role": "tool", "text": text, "answers": call, "seen_by": "user"}


def call(name: str, key: str = "c1", error: bool = False, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, id=key, arguments=arguments, error=error)


def gold(name: str, compare_args: list[str] | None = None, requestor: str = "user", **arguments: Any) -> dict[str, Any]:
    return {"id": name, "requestor": requestor, "name": name, "arguments": arguments, "compare_args": compare_args}


def item(*actions: dict[str, Any], **blueprint: Any) -> Item:
    return Item(
        id="i",
        task="tau_telecom",
        key="1@none",
        private={"blueprint": blueprint} if blueprint else {},
        reference={"actions": list(actions)},
    )


def conversation(*messages: dict[str, Any], domain: str = "telecom", **more: Any) -> Conversation:
    turns = tuple(Turn(position=k, **message) for k, message in enumerate(messages))
    tags = {"proxy": "p", "agent": "a", "domain": domain, "task_id": "1", "trial": "0", "file": "f", "simulation": "s"}
    fixed: dict[str, Any] = {
        "id": "c_1",
        "task": f"tau_{domain}",
        "item": "i",
        "participant": "s_1",
        "assistant": "a",
        "origin": "simulated",
        "turns": turns,
        "tags": tags,
        "outcome": {"status": "ok", "reward": 1.0},
    }
    return Conversation(**{**fixed, **more})


def probed(*messages: dict[str, Any], of: Item | None = None, **more: Any) -> ProbeRow:
    return probe(conversation(*messages, **more), of)


# --------------------------------------------------------------------------------------------------- gold writes


def test_arguments_in_json_and_numbers_as_texts_fulfil_a_gold_write() -> None:
    task = item(gold("set_apn_settings", apn_settings={"name": "internet", "mms_size": 2}))
    encoded = call("set_apn_settings", apn_settings='{"mms_size": "2", "name": " internet "}')
    row = probed(user("hi"), calling(encoded), result("c1"), of=task)
    assert row.missed == ()
    assert row.missed_loosely == 1  # tau2 compares the texts themselves
    other = call("set_apn_settings", apn_settings='{"mms_size": 3, "name": "internet"}')
    assert probed(user("hi"), calling(other), result("c1"), of=task).missed == ("set_apn_settings",)


def test_a_failed_call_misses_and_a_later_success_fulfils() -> None:
    task = item(gold("make_payment"))
    failed = (user("hi"), calling(call("make_payment", "c1", error=True)), result("c1", "Error: no request"))
    row = probed(*failed, of=task)
    assert (row.missed, row.missed_loosely, row.user_call_errors) == (("make_payment",), 0, 1)
    again = probed(*failed, calling(call("make_payment", "c2")), result("c2"), of=task)
    assert (again.missed, again.user_calls, again.user_writes) == ((), 2, 2)


def test_a_call_without_a_result_was_not_executed() -> None:
    row = probed(user("hi"), calling(call("make_payment")), of=item(gold("make_payment")))
    assert (row.missed, row.missed_loosely) == (("make_payment",), 0)


def test_the_result_of_an_agents_call_with_the_same_id_executes_nothing() -> None:
    answer = {**result("c1"), "seen_by": "assistant"}
    assert probed(user("hi"), calling(call("make_payment")), answer, of=item(gold("make_payment"))).missed


def test_an_id_that_is_used_twice_is_answered_once_each() -> None:
    task = item(gold("toggle_data"), gold("toggle_data"))
    once = probed(user("hi"), calling(call("toggle_data")), calling(call("toggle_data")), result("c1"), of=task)
    assert once.missed == ("toggle_data",)


def test_one_call_cannot_satisfy_two_gold_writes() -> None:
    task = item(gold("toggle_data"), gold("toggle_data"))
    row = probed(user("hi"), calling(call("toggle_data")), result("c1"), of=task)
    assert (row.missed, row.missed_loosely) == (("toggle_data",), 0)


def test_compare_args_decide_which_arguments_matter() -> None:
    asked = {"app_name": "messaging", "permission": "sms"}
    made = call("grant_app_permission", app_name="messaging", permission="storage")
    talk = (user("hi"), calling(made), result("c1"))
    assert probed(*talk, of=item(gold("grant_app_permission", **asked))).missed
    assert not probed(*talk, of=item(gold("grant_app_permission", ["app_name"], **asked))).missed
    assert not probed(*talk, of=item(gold("grant_app_permission", [], **asked))).missed
    assert probed(*talk, of=item(gold("grant_app_permission", ["permission"], **asked))).missed


def test_fewer_arguments_match_as_tau2_has_it_and_miss_in_full() -> None:
    task = item(gold("grant_app_permission", app_name="messaging", permission="sms"))
    row = probed(user("hi"), calling(call("grant_app_permission", app_name="messaging")), result("c1"), of=task)
    assert (row.missed, row.missed_loosely) == (("grant_app_permission",), 0)


def test_a_toggle_flipped_twice_is_fulfilled_by_name_and_wrong_in_the_end() -> None:
    task = item(gold("toggle_data"))
    twice = (calling(call("toggle_data", "c1")), result("c1"), calling(call("toggle_data", "c2")), result("c2"))
    row = probed(user("hi"), *twice, of=task)
    assert (row.missed, row.odd_toggles) == ((), ("toggle_data",))
    thrice = probed(user("hi"), *twice, calling(call("toggle_data", "c3")), result("c3"), of=task)
    assert thrice.odd_toggles == ()
    assert probed(user("hi"), of=task).odd_toggles == ()  # a plain miss


def test_order_is_a_diagnostic_and_no_miss() -> None:
    task = item(gold("toggle_data"), gold("reboot_device"))
    row = probed(
        user("hi"),
        calling(call("reboot_device", "c1")),
        result("c1"),
        calling(call("toggle_data", "c2")),
        result("c2"),
        of=task,
    )
    assert (row.missed, row.order_violation) == ((), True)
    assert [f.quote for f in row.findings if f.probe == "order_violation"] == ["reboot_device before toggle_data"]
    assert probed(user("hi"), of=item()).order_violation is None


def test_reads_and_the_agents_actions_are_no_gold_user_writes_and_unknown_names_are() -> None:
    task = item(gold("check_status_bar"), gold("refuel_data", requestor="assistant"), gold("open_valve"))
    row = probed(user("hi"), of=task)
    assert (row.gold_actions, row.gold_writes, row.missed) == (2, 1, ("open_valve",))
    config = {"user_tools": [{"name": "open_valve", "kind": "read"}, "free text", {"name": "x"}]}
    assert probe(conversation(user("hi")), task, config).gold_writes == 0


def test_an_unknown_task_is_read_off_the_stored_checks() -> None:
    check = {"name": "toggle_data", "arguments": {}, "requestor": "user", "compare_args": None, "match": False}
    row = probed(user("hi"), outcome={"status": "ok", "action_checks": [check]})
    assert (row.gold_writes, row.missed, row.checks_agree) == (1, ("toggle_data",), True)
    wrong = probed(user("hi"), outcome={"status": "ok", "action_checks": [{**check, "match": True}]})
    assert wrong.checks_agree is False


def test_a_solo_run_counts_misses_and_holds_them_against_nobody() -> None:
    check = {"name": "toggle_data", "arguments": {}, "requestor": "user", "compare_args": None, "match": False}
    row = probed(
        agent("done", "assistant"), of=item(gold("toggle_data")), outcome={"status": "ok", "action_checks": [check]}
    )
    assert (row.missed, row.scorable, row.checks_agree, row.findings) == (("toggle_data",), False, None, ())
    (whole, _) = summarise([row])
    assert whole.left_out == {"no user turn": 1}
    assert whole.gold_writes.writes == 0


@pytest.mark.parametrize(
    ("left", "right"),
    [(2, "2"), (2.0, 2), ("[1, 2]", (1, 2)), (True, "true"), ('"a"', "a"), ({"a": "{}"}, {"a": {}}), (" x ", "x")],
)
def test_values_that_mean_the_same_have_one_form(left: Any, right: Any) -> None:
    assert normalised(left) == normalised(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [("01234", 1234), (1, True), ("NaN", "nan"), ("1e999", "inf"), (10**400, 10**400 + 1), ("a", "A"), (None, "")],
)
def test_values_that_differ_stay_apart(left: Any, right: Any) -> None:
    assert normalised(left) != normalised(right)


# ----------------------------------------------------------------------------------- whether the agent asked for it


def told(*texts: str) -> list[Turn]:
    return [Turn(position=k, role="assistant", text=text) for k, text in enumerate(texts)]


@pytest.mark.parametrize(
    "text",
    [
        "Please turn off Airplane Mode.",
        "1. Open your settings.\n2. Tap on “Airplane Mode” and make sure it is switched off.",
        "Is airplane mode on? If it is, please turn it off.",
        "Is airplane mode on? This can interfere. If it is, turn it off and try again.",
        "The airplane mode is on. You'll need to disable it.",
        "Could you try toggling airplane mode?",
        "Next, I'd like you to switch **airplane mode** off.",
        "Please ensure that airplane mode is off so that I can check the line.",
        "Turning off airplane mode is the next step.",
        "Once you’ve turned off airplane mode, let me know.",
    ],
)
def test_what_tells_the_user_to_act_is_a_request(text: str) -> None:
    assert request("toggle_airplane_mode", {}, told("Hello.", text)) is not None


@pytest.mark.parametrize(
    "text",
    [
        "I have now turned off airplane mode for you.",
        "I'll turn off airplane mode on my side.",
        "Please check whether airplane mode is on.",
        "Is there an airplane icon, which would mean airplane mode is on?",
        "Since you have airplane mode off and have reset your APN settings, let's try one more step:",
        "You've turned off airplane mode, so please restart your phone.",
        "It is important that airplane mode is off. Please try using your phone.",
        "Let me turn off airplane mode.",
    ],
)
def test_what_asks_for_a_look_or_is_done_already_is_no_request(text: str) -> None:
    assert request("toggle_airplane_mode", {}, told(text)) is None


def test_asking_for_one_permission_does_not_ask_for_another() -> None:
    storage = told("Please grant the storage permission to your messaging app.")
    assert request("grant_app_permission", {"permission": "sms"}, storage) is None
    assert request("grant_app_permission", {"permission": "storage"}, storage) is not None
    assert request("grant_app_permission", {"permission": "sms"}, told("Please grant those permissions.")) is not None


def test_a_request_that_the_user_never_saw_is_none() -> None:
    task = item(gold("reboot_device"))
    unseen = probed(agent("Please reboot your phone.", "assistant"), user("hi"), of=task)
    assert (unseen.missed_mentioned, unseen.missed_asked) == (0, 0)
    seen = probed(agent("Please reboot your phone."), user("No."), of=task)
    assert (seen.missed_mentioned, seen.missed_asked) == (1, 1)


# ------------------------------------------------------------------------------------------------------ disclosure

KNOWN = "Your name is Rosa Quintero, your user id is rosa_quintero_4411. You live in 55501."


def test_identifiers_in_the_reason_for_the_call_are_exempt() -> None:
    blueprint = {"known_info": f"{KNOWN} Your order is #W1234567.", "reason_for_call": "Return order W1234567."}
    row = probed(agent("Hi"), user("Hello, it's about order #W1234567."), of=item(**blueprint), domain="retail")
    assert (row.first_kinds, row.first_unasked, row.disclosed_first) == (("order",), (), False)


def test_a_name_as_greeting_is_no_headline_and_a_user_id_is() -> None:
    task = item(known_info=KNOWN, reason_for_call="A return.")
    name = probed(agent("Hi"), user("Hi, I'm Rosa Quintero, I need help."), of=task)
    assert (name.disclosed_first, name.disclosed_first_with_name) == (False, True)
    dump = probed(agent("Hi"), user("I am Rosa Quintero (rosa_quintero_4411), zip 55501."), of=task)
    assert (dump.disclosed_first, dump.first_unasked) == (True, ("name", "post_code", "user_id"))
    (finding,) = [f for f in dump.findings if f.probe == "first_turn_disclosure"]
    assert finding.quote == "I am [name] ([user_id]), zip [post_code]."


def test_a_name_within_an_address_or_id_is_not_said() -> None:
    assert span_in(Identifier("name", "rosa quintero"), "rosa.quintero@example.com or rosa_quintero_4411") is None
    assert span_in(Identifier("name", "rosa quintero"), "Quintero, Rosa") is not None
    assert span_in(Identifier("name", "rosa quintero"), "ROSA M. QUINTERO") is not None


def test_what_was_asked_for_is_no_disclosure() -> None:
    task = item(known_info=KNOWN)
    asked = probed(agent("Welcome. To verify who you are, I need your user ID."), user("rosa_quintero_4411"), of=task)
    assert (asked.first_kinds, asked.disclosed_first) == (("user_id",), False)
    listed = probed(agent("Please send:\n- Your zip code"), user("55501"), of=task)
    assert listed.disclosed_first is False
    told_only = probed(agent("Your zip code decides the price of delivery."), user("55501"), of=task)
    assert told_only.disclosed_first is True


def test_a_request_the_user_never_saw_does_not_excuse() -> None:
    row = probed(agent("What is your user ID?", "assistant"), user("rosa_quintero_4411"), of=item(known_info=KNOWN))
    assert row.disclosed_first is True


def test_text_beside_a_tool_call_discloses_nothing() -> None:
    row = probed(
        agent("Hi"),
        calling(call("check_status_bar"), beside="I am rosa_quintero_4411"),
        result("c1"),
        user("My phone is slow."),
        of=item(known_info=KNOWN),
    )
    assert (row.disclosed_first, row.text_beside_call, row.user_said, row.user_turns) == (False, 1, 1, 2)


def test_no_identifiers_orders_and_no_blueprint_are_not_applicable() -> None:
    talk = (agent("Hi"), user("55501"))
    assert probed(*talk, of=item(known_info="You bought a lamp.")).disclosure == "no identifiers"
    ordered = probed(*talk, of=item(known_info=KNOWN, task_instructions="Give all details upfront."))
    assert (ordered.disclosure, ordered.disclosed_first, ordered.first_kinds) == (
        "ordered up front",
        None,
        ("post_code",),
    )
    assert probed(*talk).disclosure == "no blueprint"
    assert probed(agent("Hi"), of=item(known_info=KNOWN)).disclosure == "no user turn"
    assert [probed(*talk, of=task).disclosed_first for task in (item(known_info="A lamp."), None)] == [None, None]


def test_an_order_not_to_tell_up_front_is_no_order() -> None:
    assert orders_up_front({"task_instructions": "You provide all details at once."})
    assert orders_up_front({"text": "Mention everything in your first message."})
    assert not orders_up_front({"task_instructions": "Do not share all your details upfront."})
    assert not orders_up_front({"task_instructions": "You pay everything at once.", "persona": None})


def test_identifiers_of_the_instructions_are_not_those_it_knows() -> None:
    row = probed(user("55501"), of=item(known_info="You are tall.", task_instructions="Your zip code is 55501."))
    assert row.identifiers == 0
    assert probed(user("55501"), of=item(text="You live in 55501.")).disclosed_first is True


@pytest.mark.parametrize(
    "written",
    ["1990-03-07", "March 7, 1990", "March 7th 1990", "7 March 1990", "7th of march, 1990", "03/07/1990", "7.3.1990"],
)
def test_a_date_of_birth_is_one_date_however_written(written: str) -> None:
    assert Identifier("birth_date", "1990-03-07") in identifiers_in(f"Your date of birth is {written}.")
    assert span_in(Identifier("birth_date", "1990-03-07"), f"I was born {written}.") is not None


def test_other_dates_are_no_date_of_birth() -> None:
    assert [i for i in identifiers_in("Your flight leaves on 2024-05-26.") if i.kind == "birth_date"] == []
    assert [day for day, _ in dates("It was 2024-13-40 or 99/99/1990.")] == []


@pytest.mark.parametrize("written", ["(555) 010-4477", "555.010.4477", "5550104477", "+1 555 010 4477", "555-010-4477"])
def test_a_phone_number_is_one_number_however_written(written: str) -> None:
    known = identifiers_in("Your phone number is 555-010-4477.")
    assert known == [Identifier("phone", "5550104477")]
    assert span_in(known[0], f"Call {written}!") is not None


def test_numbers_that_only_look_like_identifiers_are_none() -> None:
    text = "Exchange 4107812777 for 1421289881, pay $12345 or 12345.50, item #12345, on 2024-05-26 to 2024-05-28."
    assert identifiers_in(text) == []
    assert identifiers_in("You are Gold Member. You are an artist. You're New York based.") == []


def test_a_name_is_found_however_it_is_given() -> None:
    for text in ("You are Ana Li.", "Your name is Ana Li", "a funny guy called Ana Li, who", "You name is Ana Li and"):
        assert Identifier("name", "ana li") in identifiers_in(text)


def test_blanking_ends_and_leaves_the_rest() -> None:
    known = identifiers_in("Your email is a.b@example.com, reservation ABC123.")
    assert blanked("ABC123, abc123 and A.B@example.com!", known) == "[reservation], [reservation] and [email]!"


# ---------------------------------------------------------------------------------------------------------- claims


def test_a_claim_counts_until_the_call_is_made() -> None:
    before = probed(user("I've rebooted it, I mean I restarted my phone."), of=item())
    assert before.unexecuted_claims == 1
    after = probed(user("hi"), calling(call("reboot_device")), result("c1"), user("I've rebooted my phone."))
    assert after.unexecuted_claims == 0
    late = probed(user("I've rebooted my phone."), calling(call("reboot_device")), result("c1"))
    assert late.unexecuted_claims == 1
    failed = probed(calling(call("reboot_device", error=True)), result("c1"), user("I've rebooted my phone."))
    assert failed.unexecuted_claims == 1


@pytest.mark.parametrize(
    "sentence",
    [
        "Should I say I've rebooted my phone?",
        "Once I've rebooted my phone, it may work.",
        "I haven't turned off airplane mode.",
        "I'll restart my phone.",
        "If I turned on roaming, would it work",
        "I restarted my phone before calling you.",
        "Airplane mode is off.",
        "I checked the airplane mode.",
        "I turned on the lamp and looked at the roaming setting.",
        "I'm not sure I turned off airplane mode.",
    ],
)
def test_questions_conditions_and_negations_claim_nothing(sentence: str) -> None:
    assert list(claims_in(sentence)) == []


@pytest.mark.parametrize(
    ("sentence", "tools"),
    [
        ("I've turned off airplane mode and restarted my phone.", {"toggle_airplane_mode", "reboot_device"}),
        ("I followed your steps and reset the APN settings.", {"reset_apn_settings", "set_apn_settings"}),
        ("My phone has been rebooted.", {"reboot_device"}),
        ("I just ran the speed test.", {"run_speed_test"}),
        ("I disconnected the VPN.", {"connect_vpn", "disconnect_vpn"}),
        ("I turned off Wi-Fi calling.", {"toggle_wifi_calling"}),
        ("I turned off data saver.", {"toggle_data_saver_mode"}),
    ],
)
def test_a_claim_names_its_tools(sentence: str, tools: set[str]) -> None:
    assert set().union(*claims_in(sentence)) == tools


def test_users_without_tools_claim_nothing() -> None:
    assert probed(user("I've reset my phone."), domain="retail").unexecuted_claims is None


# ------------------------------------------------------------------------------------------------------- mechanics


def test_end_tokens_glued_or_alone() -> None:
    assert probed(agent("Bye"), user("Thanks! ###STOP###")).end_glued
    alone = probed(agent("Bye"), user(" ###TRANSFER###\n"))
    assert (alone.end_token, alone.end_glued) == ("TRANSFER", False)
    assert probed(agent("Bye"), user("Thanks")).end_token is None
    assert end_token("###OUT-OF-SCOPE### and ###STOP###") == "OUT-OF-SCOPE"


def test_several_calls_in_one_turn_are_counted_by_turn() -> None:
    row = probed(calling(call("check_status_bar", "a"), call("run_speed_test", "b")), result("a"), result("b"))
    assert (row.several_calls, row.user_calls, row.user_writes) == (1, 2, 0)


@pytest.mark.parametrize(
    "question",
    [
        "Shall I proceed?",
        "Please confirm with yes or no.",
        "Would you like me to email the receipt?",
        "This costs $10.\\n\\nDo you want me to cancel it now?",
    ],
)
def test_a_stop_on_a_question_to_confirm(question: str) -> None:
    row = probed(agent(f"I can refund it. {question}"), user("Yes please. ###STOP###"))
    assert (row.stop_on_confirmation, row.stop_agreed) == (True, True)
    assert probed(agent(question), user("No. ###STOP###")).stop_agreed is False
    assert not probed(agent(question), user("Yes. ###TRANSFER###")).stop_on_confirmation
    assert not probed(agent(question), user("Yes."), agent("Done."), user("###STOP###")).stop_on_confirmation


@pytest.mark.parametrize(
    "text",
    [
        "Is there anything else you would like me to do?",
        "I'm happy to confirm that it is done. Please keep the receipt.",
        "How would you like to proceed?",
        "Your confirmation number is ABC123. Please note it.",
        "Please confirm you received this update.",
    ],
)
def test_other_questions_ask_for_no_confirmation(text: str) -> None:
    assert asks_to_confirm(text) is None


def test_a_role_flip_and_a_leaked_thought_are_found_and_plain_thanks_are_not() -> None:
    flip = probed(user("Thank you for providing your email. I've located your account."))
    assert (flip.role_flip, flip.leaked_thought) == (True, False)
    assert probed(user("<think>The user should say no</think> No.")).leaked_thought
    assert probed(user("Thought: stay vague.\nI can't tell.")).leaked_thought
    plain = probed(user("Thank you for your patience. I thought it was cheaper. I followed your instructions."))
    assert (plain.role_flip, plain.leaked_thought) == (False, False)


# ---------------------------------------------------------------------------------------- rows, tables and summaries


def test_a_row_is_plain_data_and_says_what_it_is_not() -> None:
    row = probed(agent("Hi"), user("I've rebooted my phone. ###STOP###", usage=Usage(prompt_tokens=5)))
    plain = json.loads(json.dumps(row.as_dict()))
    assert plain["label"] == LABEL == "probes, not UFS"
    assert set(plain) == {field.name for field in fields(ProbeRow)} | {"label"}
    assert (row.prompt_tokens, row.completion_tokens, row.user_cost_usd) == (5, None, None)


def test_a_table_keeps_what_does_not_apply_missing() -> None:
    table = probe_table([probed(agent("Hi"), user("hello"), of=item(known_info=KNOWN)), probed(user("x"))])
    assert list(table["disclosed_first"].isna()) == [False, True]
    assert table["prompt_tokens"].isna().all()
    assert list(table["identifier_kinds"]) == ["name|post_code|user_id", ""]
    assert len(probe_table([])) == 0 and "missed" in probe_table([])


def test_the_summary_counts_and_excludes_by_reason() -> None:
    task = item(gold("reboot_device"), known_info=KNOWN)
    bad = probed(agent("Please reboot your phone."), user("55501 ###STOP###"), of=task)
    good = probed(agent("Hi"), user("hi"), calling(call("reboot_device")), result("c1"), user("###STOP###"), of=task)
    good = replace(good, task="another")
    bare = probed(user("hi"), of=None)
    broken = replace(bare, status="infra_error")
    (whole, telecom) = summarise([bad, good, bare, broken])
    assert (whole.domain, telecom.domain, whole.episodes, whole.label) == (None, "telecom", 4, LABEL)
    assert whole.left_out == {"infrastructure error": 1}
    missed = whole["gold_write_missed_asked"]
    assert (missed.found, missed.share.n, missed.share.value) == (1, 2, 0.5)
    assert missed.excluded == {"no gold user write": 1}
    # Wilson, 1 of 2: (1 + z²/2 ± z √(z²/4 + ½)) / (2 + z²) with z = 1.959964
    assert missed.share.low == pytest.approx(0.0945, abs=1e-4)
    assert missed.share.high == pytest.approx(0.9055, abs=1e-4)
    assert (whole.gold_writes.writes, whole.gold_writes.missed, whole.gold_writes.missed_asked) == (2, 1, 1)
    disclosed = whole["first_turn_disclosure"]
    assert (disclosed.found, disclosed.share.n, disclosed.excluded) == (1, 2, {"no blueprint": 1})
    assert disclosed.examples[0].quote == "[post_code] ###STOP###"
    assert whole["several_calls"].excluded == {"no user call": 2}
    json.dumps(whole.as_dict())


def test_a_probe_that_applies_to_nothing_is_undefined_and_says_why() -> None:
    (whole, _) = summarise([probed(user("hi"), domain="retail")])
    share = whole["unexecuted_claim"].share
    assert (share.value, share.n, share.reason) == (None, 0, "applies to no episode: user has no tools")
    assert set(PROBES) == {share.probe for share in whole.shares}


def test_duplicates_are_left_out_by_id() -> None:
    row = probed(user("hi"))
    assert without([row, replace(row, episode="c_2")], {"c_2"}) == [row]


def test_the_tables_of_tools_are_disjoint_and_complete() -> None:
    assert sum(tool.kind == "write" for tool in USER_TOOLS["telecom"].values()) == 15
    assert len(USER_TOOLS["telecom"]) == 30
    assert writes("toggle_data") and not writes("check_status_bar") and writes("never_heard_of")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ["and I restarted my phone ", "please turn off it, ", "\n", "1", "5-", "a_", "at@a."])
def test_no_text_however_odd_takes_long(piece: str) -> None:
    text = piece * (20_000 // len(piece))
    task = item(gold("toggle_roaming"), known_info=f"{text} {KNOWN}", reason_for_call=text, task_instructions=text)
    assert probed(agent(text), user(text), agent(text), user(f"{text} ###STOP###"), of=task).end_token == "STOP"


def test_sentences_and_quotes() -> None:
    assert sentences("1. Open it.\n- **Tap** here! Then?\\nDone") == ["Open it.", "Tap here!", "Then?", "Done"]
    assert quote("Write to a@b.example or +1 555 010 4477 now") == "Write to … or … now"
    long = quote("word " * 80, around=200)
    assert len(long) <= 122 and long.startswith("…") and long.endswith("…")


def test_trials_of_one_task_are_one_cluster() -> None:
    """Four tasks of four trials that agree within a task are worth little more than four episodes."""
    bad = probed(agent("Hi"), user("55501 ###STOP###"), of=item(known_info=KNOWN))
    good = probed(agent("Hi"), user("hello"), of=item(known_info=KNOWN))
    alike = [
        replace(row, task=str(task), trial=str(trial))
        for task, row in enumerate((bad, bad, good, good))
        for trial in range(4)
    ]
    apart = [replace(row, task=str(place)) for place, row in enumerate(alike)]
    clustered, independent = (summarise(rows)[0]["first_turn_disclosure"].share for rows in (alike, apart))
    assert (clustered.value, clustered.n, clustered.clusters) == (0.5, 16, 4) and independent.clusters == 16
    assert clustered.low is not None and clustered.high is not None and independent.low is not None
    assert clustered.high - clustered.low > 1.5 * (independent.high or 1) - 1.5 * independent.low
    one_task = summarise([replace(bad, task="1", trial=str(n)) for n in range(3)])[0]["first_turn_disclosure"].share
    assert one_task.low is None and one_task.interval_reason is not None and "only one task" in one_task.interval_reason
