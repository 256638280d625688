"""The probes on 425 public episodes, against a reference implementation whose patterns differ from ours.

Columns that count must be equal; of those that rest on patterns, the known differences are pinned by episode. What
each of them is, and who is right, stands in docs/probes.md.
"""

from __future__ import annotations

import csv
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotate.imports import import_paths
from annotate.schema import Conversation, Item, Run
from annotate.store import Store
from calibrate.probes.probing import ProbeRow, probe, probe_table
from calibrate.probes.summary import PROBES, summarise

SHARED = Path(os.environ.get("USERCAL_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
REFERENCE = SHARED / "cases" / "tau_probes.csv"
FILES = SHARED / "data" / "tau"

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not REFERENCE.is_file(), reason=f"no reference cases at {REFERENCE}"),
]

KINDS = {
    "name": "full_name",
    "phone": "phone",
    "email": "email",
    "post_code": "zip",
    "birth_date": "dob",
    "user_id": "user_id",
    "order": "order_id",
    "reservation": "reservation_id",
    "payment": "payment_id",
}

STRUCTURAL = [
    "n_msgs",
    "n_gold_user",
    "n_gold_user_write",
    "n_user_calls",
    "n_user_writes",
    "n_user_call_err",
    "n_user_msgs",
    "n_user_displayed",
    "n_agent_msgs",
    "missed_tau2",
    "missed_strict",
    "missed_strict_names",
    "order_violation",
    "toggle_parity_bad",
    "action_check_agree",
    "content_plus_tool",
    "multi_call_msgs",
    "end_token",
    "end_glued",
    "user_prompt_tok",
    "user_completion_tok",
    "first_len_words",
]


def kinds_of(names: tuple[str, ...]) -> str:
    return "|".join(sorted(KINDS[name] for name in names))


def blank_or(value: bool | None) -> str:
    return "" if value is None else str(int(value))


def as_case_row(row: ProbeRow) -> dict[str, str]:
    """Return a row under the names, and in the spelling, of the reference's columns."""
    found: dict[str, Any] = {
        "reward": "" if row.reward is None else row.reward,
        "n_msgs": row.turns,
        "n_gold_user": row.gold_actions,
        "n_gold_user_write": row.gold_writes,
        "n_user_calls": row.user_calls,
        "n_user_writes": row.user_writes,
        "n_user_call_err": row.user_call_errors,
        "missed_tau2": row.missed_loosely,
        "missed_strict": len(row.missed),
        "missed_strict_names": "|".join(sorted(row.missed)),
        "missed_agent_mentioned": row.missed_mentioned,
        "missed_agent_instructed": row.missed_asked,
        "order_violation": blank_or(row.order_violation),
        "toggle_parity_bad": "|".join(row.odd_toggles),
        "action_check_agree": blank_or(row.checks_agree),
        "n_ids": row.identifiers,
        "id_types": kinds_of(row.identifier_kinds),
        "blueprint_upfront": int(row.ordered_up_front),
        "first_types": kinds_of(row.first_kinds),
        "first_unreq": kinds_of(row.first_unasked),
        "first_unreq_auth": int(row.disclosed_first_with_name or False),
        "first_unreq_auth_noname": int(row.disclosed_first or False),
        "first_dump2": int(len(row.first_unasked) >= 2),
        "any_unreq": kinds_of(row.ever_unasked),
        "any_unreq_flag": int(bool(row.ever_unasked)),
        "first_len_words": row.first_words,
        "n_user_msgs": row.user_turns,
        "n_user_displayed": row.user_said,
        "n_agent_msgs": row.agent_turns,
        "content_plus_tool": row.text_beside_call,
        "multi_call_msgs": row.several_calls,
        "end_token": row.end_token or "",
        "end_glued": int(row.end_glued),
        "stop_on_confirm_q": int(row.stop_on_confirmation),
        "think_leak": int(row.leaked_thought),
        "role_flip": int(row.role_flip),
        "claim_no_call": row.unexecuted_claims or 0,
        "user_prompt_tok": row.prompt_tokens or 0,
        "user_completion_tok": row.completion_tokens or 0,
    }
    return {name: str(value) for name, value in found.items()}


RETAIL1 = "tau1_retail_grok3_u-grok3_115.json"
RETAIL2 = "tau2_retail_gpt4.1_u-gpt4.1_40.json"
TELECOM = "tau2_telecom_gpt4.1_u-gpt4.1_40.json"
ADVERSARIAL = "tau2v1_telecom_e2e-adversarial_u-gpt4.1mini_1.json"
AIRLINE = ("tau2_airline_toolorchestra_50.json", "tau2_airline_toolorchestra_NO-termination_50.json")

NOT_ASKED = {(TELECOM, key) for key in ("75519eda", "deb27645", "b1cc4a79", "094e2a2f", "16b0aa76")}
NAMED_LATER = {(RETAIL1, "33:0"), (RETAIL1, "34:0"), (RETAIL2, "9063871b")}
KNOWN_DIFFERENCES: dict[str, set[tuple[str, str]]] = {
    "missed_agent_instructed": NOT_ASKED | {(ADVERSARIAL, "4fec9982")},
    "n_ids": NAMED_LATER,
    "id_types": NAMED_LATER,
    "first_types": {(RETAIL1, "34:0")},
    "first_unreq": {(RETAIL1, "34:0")},
    "first_unreq_auth": {(RETAIL1, "34:0")},
    "any_unreq": {(RETAIL1, "34:0")},
    "any_unreq_flag": {(RETAIL1, "34:0")},
    "stop_on_confirm_q": {(file, "3cfbd835") for file in AIRLINE},
    "role_flip": {(RETAIL1, "55:0")},
}
"""Column → (file, first eight characters of the simulation's id) where ours differs from the reference."""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[ProbeRow]]:
    url = f"sqlite:///{tmp_path_factory.mktemp('probes') / 'store.db'}"
    files = sorted(path for path in FILES.glob("*.json") if path.name != "telecom_user_tools.json")
    with Store.open(url) as store:
        import_paths(store, files, pseudonym=lambda name: f"p_{name}")
        items = {item.id: item for item in store.iterate(Item)}
        runs = {run.id: run.config for run in store.iterate(Run)}
        yield [probe(c, items.get(c.item), runs.get(c.run or "")) for c in store.iterate(Conversation)]


@pytest.fixture(scope="module")
def reference() -> dict[tuple[str, str], dict[str, str]]:
    with REFERENCE.open(newline="", encoding="utf-8") as file:
        return {(row["file"], row["sim_id"]): row for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def differences(
    rows: list[ProbeRow], reference: dict[tuple[str, str], dict[str, str]]
) -> dict[str, set[tuple[str, str]]]:
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for row in rows:
        expected = reference[row.file, row.simulation]
        for column, value in as_case_row(row).items():
            if value != expected[column]:
                found[column].add((row.file, row.simulation[:8]))
    return found


def test_every_episode_is_there_once(rows: list[ProbeRow], reference: dict[tuple[str, str], dict[str, str]]) -> None:
    assert len(rows) == len(reference) == 425
    assert {(row.file, row.simulation) for row in rows} == set(reference)


@pytest.mark.parametrize("column", STRUCTURAL)
def test_what_counts_equals_the_reference(column: str, differences: dict[str, set[tuple[str, str]]]) -> None:
    assert differences.get(column, set()) == set()


def test_what_rests_on_patterns_differs_where_it_is_known_to(differences: dict[str, set[tuple[str, str]]]) -> None:
    assert dict(differences) == KNOWN_DIFFERENCES


def test_costs_equal_the_reference_where_they_are_known(
    rows: list[ProbeRow], reference: dict[tuple[str, str], dict[str, str]]
) -> None:
    """What tau-bench 1 stores is the cost of the last call alone, and 0 is no price: both are unknown here."""
    known = 0
    for row in rows:
        told = reference[row.file, row.simulation]
        stored = float(told["user_cost"]) if told["user_cost"] else None
        if told["fmt"] == "tau1" or not stored:
            assert row.user_cost_usd is None
        else:
            known += 1
            assert row.user_cost_usd == pytest.approx(stored, abs=1e-6)
    assert known == 137


def test_the_summary_says_what_the_protocol_says_of_these_runs(rows: list[ProbeRow]) -> None:
    """One proxy discloses in 8 of 16 airline episodes, another in none; the table has all rows and columns."""
    summaries = {(one.proxy, one.domain): one for one in summarise(rows)}
    grok = summaries["xai/grok-4", "airline"]["first_turn_disclosure"]
    assert (grok.found, grok.share.n) == (8, 16)
    assert len(grok.examples) == 3
    telecom = summaries["gpt-4.1", "telecom"]
    assert telecom.gold_writes.writes == 121
    assert (telecom.gold_writes.missed, telecom.gold_writes.missed_asked) == (23, 2)
    assert all(set(PROBES) == {share.probe for share in one.shares} for one in summaries.values())
    assert len(probe_table(rows)) == 425
