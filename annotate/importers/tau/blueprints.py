"""Tasks: what the user was given (the blueprint), and what was to be done."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from annotate.errors import InputError
from annotate.importers.contract import item_id
from annotate.importers.reading import TolerantDecoder, stream_pieces
from annotate.importers.tau import values
from annotate.importers.tau.redaction import Redactor
from annotate.importers.tau.shapes import is_task
from annotate.schema import Item, canonical_hash

_PARTS = ("reason_for_call", "known_info", "unknown_info", "task_instructions")
_ACTION = ("requestor", "name", "arguments", "compare_args")
_UPFRONT = re.compile(
    r"\bup[- ]?front\b"
    r"|\b(?:give|list|mention|name|provide|say|share|state|tell|include)\b[^.\n]{0,60}\b(?:all|everything|every)\b"
    r"[^.\n]{0,60}\b(?:at once|at the same time|immediately|right away|straight away"
    r"|in (?:the|your|one)(?: very)?(?: first| single)? (?:message|turn|go))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Blueprint:
    """One task: its name, domain, blueprint and reference; `parts` is None where the blueprint is not known."""

    task_id: str
    domain: str | None = None
    parts: dict[str, Any] | None = None
    reference: dict[str, Any] = field(default_factory=dict)
    user_tools: tuple[str, ...] = ()
    user_acts: bool = False

    @cached_property
    def upfront(self) -> bool:
        """Whether the blueprint orders the user to give all details at once."""
        return any(isinstance(part, str) and _UPFRONT.search(part) for part in (self.parts or {}).values())

    @cached_property
    def _items(self) -> dict[str, Item]:
        return {}

    def item(self, domain: str) -> Item:
        """Return the item of this task: the same task with the same blueprint is the same item in every study."""
        if domain not in self._items:
            self._items[domain] = self._item(domain)
        return self._items[domain]

    def _item(self, domain: str) -> Item:
        task = f"tau_{domain}"
        key = f"{self.task_id}@{canonical_hash(self.parts)[:8] if self.parts is not None else 'none'}"
        return Item(
            id=item_id(task, key),
            task=task,
            key=key,
            private={} if self.parts is None else {"blueprint": self.parts},
            reference=self.reference,
            tags={"domain": domain, "task_id": self.task_id},
        )


def of_tau2(raw: dict[str, Any]) -> Blueprint:
    """Return a task of tau2: instructions in parts, or one text."""
    scenario = raw.get("user_scenario")
    scenario = scenario if isinstance(scenario, dict) else {"instructions": scenario}
    instructions = scenario.get("instructions")
    parts: dict[str, Any] | None = None
    domain = None
    if isinstance(instructions, dict):
        parts = {"persona": scenario.get("persona"), **{name: instructions.get(name) for name in _PARTS}}
        domain = instructions.get("domain") if isinstance(instructions.get("domain"), str) else None
    elif instructions is not None:
        parts = {"persona": scenario.get("persona"), "text": values.text(instructions)[0]}
    criteria = raw.get("evaluation_criteria")
    criteria = criteria if isinstance(criteria, dict) else {}
    actions = [action(one) for one in values.listed(criteria.get("actions")) if isinstance(one, dict)]
    assertions = criteria.get("env_assertions")
    tools = raw.get("user_tools")
    return Blueprint(
        values.name(raw.get("id")),
        domain,
        parts,
        {"actions": actions, "env_assertions": assertions if isinstance(assertions, list) else []},
        tuple(map(values.name, tools)) if isinstance(tools, list) else (),
        any(one["requestor"] == "user" for one in actions),
    )


def of_tau1(task_id: str, raw: Any) -> Blueprint:
    """Return a task of tau-bench: one instruction, and the agent's actions; what is no task has no blueprint."""
    if not isinstance(raw, dict) or not isinstance(raw.get("instruction"), str):
        return Blueprint(task_id)
    actions = [
        {"id": str(place), **_action({**one, "arguments": one.get("kwargs"), "requestor": "assistant"})}
        for place, one in enumerate(values.listed(raw.get("actions")))
        if isinstance(one, dict)
    ]
    return Blueprint(task_id, None, {"text": raw["instruction"]}, {"actions": actions, "env_assertions": []})


def action(raw: dict[str, Any]) -> dict[str, Any]:
    """Return one action that was to be done, or was checked."""
    return {"id": raw.get("action_id"), **_action(raw)}


def _action(raw: dict[str, Any]) -> dict[str, Any]:
    found = {name: raw.get(name) for name in _ACTION}
    return {**found, "requestor": found["requestor"] or "assistant", "arguments": found["arguments"] or {}}


def read_tasks(path: Path) -> dict[str, Blueprint]:
    """Return the tasks of a tau2 tasks.json (or of a results file) by their id; raises `InputError`."""
    found: dict[str, Blueprint] = {}
    cleaner, redactor = values.Cleaner(str(path)), Redactor()
    for name, index, value in stream_pieces(path, TolerantDecoder(path), ("tasks",)):
        if name in ("", "tasks") and index is not None and is_task(value):
            task = of_tau2(cleaner.clean(redactor.tree(value) if redactor.may_hold(str(value)) else value))
            found[task.task_id] = task
        elif name == "simulations" and found:
            break
    if not found:
        raise InputError(f"{path}: holds no task of tau2. Give its tasks.json: a list of tasks with 'user_scenario'.")
    return found


def names(tasks: Iterable[str]) -> str:
    """Return the names of tasks in an order that people expect."""
    return ", ".join(sorted(tasks, key=lambda task: (not task.isdigit(), int(task) if task.isdigit() else 0, task)))
