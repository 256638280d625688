"""One episode of a file as a conversation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from annotate.errors import InputError
from annotate.importers.contract import Options
from annotate.importers.tau import endings, values
from annotate.importers.tau.blueprints import Blueprint, action, of_tau1
from annotate.importers.tau.endings import Status
from annotate.importers.tau.header import Header, domain_of_policy
from annotate.importers.tau.messages import NOT_A_NUMBER, Read, read_messages, said
from annotate.importers.tau.redaction import Redactor
from annotate.importers.tau.values import Cleaner
from annotate.schema import Conversation, Item, Participant, canonical_hash

PLAIN_USER = "user_simulator"
DUMMY_USER = "dummy_user"
_MESSAGES = ("messages", "traj", "ticks")


@dataclass(frozen=True)
class Episode:
    """One episode, with what a summary wants of it."""

    conversation: Conversation
    item: Item
    participant: Participant
    status: Status
    format: str
    upfront: bool
    user_has_tools: bool
    policy: str | None
    notes: Counter[str] = field(default_factory=Counter)
    cost_known: bool = False
    cost_zero: bool = False


@dataclass
class Maker:
    """Makes episodes of one file: what the file says once, and what the caller adds where it says nothing."""

    label: str
    run: str
    header: Header
    options: Options
    redactor: Redactor
    tasks: dict[str, Blueprint] = field(default_factory=dict)

    def make(self, raw: Any, place: str) -> Episode:
        """Return an episode of either benchmark; raises `InputError` with the place for what is none."""
        where = f"{self.label}, episode {place}"
        if not isinstance(raw, dict) or not ("traj" in raw or "messages" in raw or "ticks" in raw):
            raise InputError(f"{where}: has neither messages nor a trajectory. Give the file as it was written.")
        if self.redactor.may_hold(_kept_text(raw)):
            raw = self.redactor.tree(_kept(raw))
        old = "traj" in raw and "messages" not in raw
        read = read_messages(raw.get("traj" if old else "messages"), where)
        return self._tau1(raw, read, where) if old else self._tau2(raw, read, place, where)

    def _tau1(self, raw: dict[str, Any], read: Read, where: str) -> Episode:
        info = raw.get("info") if isinstance(raw.get("info"), dict) else {}
        assert isinstance(info, dict)
        task_id, trial = values.name(raw.get("task_id")), _trial(raw.get("trial"))
        task = self._task(of_tau1(task_id, self._clean(info.get("task"), where)))
        ended = endings.ended_tau1(raw, read.messages)
        status = endings.status(ended, read.messages, dummy=False, ticks=False)
        if (error := endings.tau1_error(raw)) is not None:
            status = Status("infra_error", error)
        policy = read.turns[0]["text"] if read.turns and read.turns[0]["role"] == "system" else None
        outcome = {"reward": values.number(raw.get("reward")), "agent_cost_usd": None, "seconds": None}
        return self._episode(
            raw, read, task, status, ended, outcome, simulation=f"{task_id}:{trial}", trial=trial,
            format="tau-bench 1", policy=policy, cost_usd=None,
        )  # fmt: skip

    def _tau2(self, raw: dict[str, Any], read: Read, place: str, where: str) -> Episode:
        told = raw.get("reward_info") if isinstance(raw.get("reward_info"), dict) else {}
        assert isinstance(told, dict)
        task_id = values.name(raw.get("task_id"))
        task = self._task(self.header.tasks.get(task_id) or Blueprint(task_id))
        ended = endings.ended_tau2(raw, read.messages)
        dummy = self.header.side("user").get("implementation") == DUMMY_USER
        ticks = isinstance(raw.get("ticks"), list)
        outcome = {
            "reward": values.number(told.get("reward")),
            "agent_cost_usd": values.cost(raw.get("agent_cost")),
            "seconds": values.number(raw.get("duration")),
            "action_checks": _checks(self._clean(told.get("action_checks"), where)),
        }
        policy = raw.get("policy")
        simulation = values.name(raw.get("id"))
        return self._episode(
            raw, read, task, endings.status(ended, read.messages, dummy=dummy, ticks=ticks), ended, outcome,
            simulation=place if simulation == values.UNKNOWN else simulation, trial=_trial(raw.get("trial")),
            format="tau2 1" if "mode" in raw else "tau2 0",
            policy=policy if isinstance(policy, str) else None,
            cost_usd=None if dummy else _user_cost(raw.get("user_cost"), read.messages),
        )  # fmt: skip

    def _episode(
        self, raw: dict[str, Any], read: Read, task: Blueprint, status: Status, ended: str, outcome: dict[str, Any],
        *, simulation: str, trial: str, format: str, policy: str | None, cost_usd: float | None,
    ) -> Episode:  # fmt: skip
        policies = (policy, self.header.environment.get("policy"))
        domain = (
            self.header.domain or task.domain or next(filter(None, map(domain_of_policy, policies)), values.UNKNOWN)
        )
        participant, proxy = self._proxy(read.messages)
        item = task.item(domain)
        content = said(read.turns)
        if status.status == "infra_error":
            outcome["reward"] = None
        agent = self._agent(read.messages)
        tags = {
            "proxy": proxy,
            "agent": agent,
            "domain": domain,
            "task_id": task.task_id,
            "trial": trial,
            "file": self.label,
            "simulation": simulation,
            "blueprint": "unknown" if task.parts is None else "known",
            **({} if self.options.proxy is None else {"named": "proxy"}),
        }
        # One check of everything is much faster than one for each turn.
        conversation = Conversation.model_validate(
            {
                "id": "c_" + canonical_hash(["tau", self.run, simulation, content])[:16],
                "task": item.task,
                "item": item.id,
                "participant": participant.id,
                "assistant": agent,
                "origin": "simulated",
                "turns": read.turns,
                "ended": ended,
                "outcome": {**outcome, "status": status.status, "status_reason": status.reason},
                "cost_usd": cost_usd,
                "run": self.run,
                "tags": tags,
                "provenance": {
                    "format": "tau",
                    "file": self.label,
                    "record": simulation,
                    "licence": self.options.licence,
                    "trial": trial,
                    "repairs": list(read.notes),
                },
                "content_hash": content,
            }
        )
        acts = any(turn.get("seen_by") == "user" for turn in read.turns)
        return Episode(
            conversation, item, participant, status, format, task.upfront,
            acts or task.user_acts or bool(task.user_tools), policy, read.notes,
            cost_known=cost_usd is not None, cost_zero=values.number(raw.get("user_cost")) == 0,
        )  # fmt: skip

    def _task(self, told: Blueprint) -> Blueprint:
        """Return the task as the file tells it, or, where the file lacks its blueprint, as the caller does."""
        return told if told.parts is not None else self.tasks.get(told.task_id, told)

    def _clean(self, value: Any, where: str) -> Any:
        return Cleaner(where).clean(value)

    def _proxy(self, messages: list[dict[str, Any]]) -> tuple[Participant, str]:
        """Return who played the user, under the name of the model or the one that the caller gives."""
        user = self.header.side("user")
        model = values.name(user.get("llm"))
        if model == values.UNKNOWN:
            model = self._model(messages, "user") or self.options.user_model or values.UNKNOWN
        implementation = user.get("implementation")
        other = isinstance(implementation, str) and implementation not in ("", PLAIN_USER)
        proxy = self.options.proxy or (f"{model} ({implementation})" if other else model)
        person = Participant(
            id="s_" + canonical_hash(proxy)[:12],
            kind="simulator",
            background={"model": model, "implementation": implementation if isinstance(implementation, str) else None},
        )
        return person, proxy

    def _model(self, messages: list[dict[str, Any]], role: str) -> str | None:
        found = _most_common_model(messages, role)
        return None if found is None else self.redactor.text(found)

    def _agent(self, messages: list[dict[str, Any]]) -> str:
        model = values.name(self.header.side("agent").get("llm"))
        return model if model != values.UNKNOWN else self._model(messages, "assistant") or values.UNKNOWN


def _kept_text(raw: dict[str, Any]) -> str:
    """Return whatever of an episode is kept, as one text to look for secrets in."""
    parts = [str(value) for name, value in raw.items() if name not in _MESSAGES]
    for name in ("messages", "traj"):
        for message in values.listed(raw.get(name)):
            if not isinstance(message, dict):
                continue
            content, calls = message.get("content"), message.get("tool_calls")
            if content:
                parts.append(content if type(content) is str else str(content))
            if calls:
                parts.append(str(calls))
            if "tool_messages" in message:
                parts.append(str(message["tool_messages"]))
    return "\n".join(parts)


def _kept(raw: dict[str, Any]) -> dict[str, Any]:
    """Return an episode without what is never kept: ticks, and of what a provider answered all but the model."""
    found = {name: value for name, value in raw.items() if name not in _MESSAGES}
    if isinstance(raw.get("ticks"), list):
        found["ticks"] = []
    for name in ("messages", "traj"):
        if name in raw:
            found[name] = [_without_answer(message) for message in raw[name]] if isinstance(raw[name], list) else None
    return found


def _without_answer(message: Any) -> Any:
    if not isinstance(message, dict) or not isinstance(message.get("raw_data"), dict):
        return message
    return {**message, "raw_data": {"model": message["raw_data"].get("model")}}


def _trial(raw: Any) -> str:
    found = values.name(raw)
    return "0" if found == values.UNKNOWN else found


def _most_common_model(messages: Iterable[dict[str, Any]], role: str) -> str | None:
    """Return the model that most messages of a side name; of several equally often the first."""
    models: Counter[str] = Counter()
    for message in messages:
        told = message.get("raw_data") if message.get("role") == role else None
        if isinstance(told, dict) and isinstance(told.get("model"), str):
            models[told["model"]] += 1
    return models.most_common(1)[0][0] if models else None


def _user_cost(told: Any, messages: Iterable[dict[str, Any]]) -> float | None:
    """Return what the user side cost: as told, or the sum of its messages where each has a cost."""
    known = values.cost(told)
    if known is not None or told is not None:
        return known
    parts = [values.cost(message.get("cost")) for message in messages if message.get("role") == "user"]
    found = [part for part in parts if part is not None]
    return sum(found) if found and len(found) == len(parts) else None


def _checks(raw: Any) -> list[dict[str, Any]]:
    """Return the checks of actions that the file holds: what was to be done, and whether the benchmark saw it done."""
    found = []
    for check in raw if isinstance(raw, list) else ():
        if isinstance(check, dict) and isinstance(check.get("action"), dict):
            match = check.get("action_match")
            told = action(check["action"])
            found.append({key: told[key] for key in ("name", "arguments", "requestor", "compare_args")}
                         | {"match": match if isinstance(match, bool) else None})  # fmt: skip
    return found


__all__ = ["NOT_A_NUMBER", "Episode", "Maker"]
