"""One episode, all probes: what can be said of a proxy without a model. Never part of the UFS."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from annotate.schema import Conversation, Item, Turn
from calibrate.probes.claims import probe_claims
from calibrate.probes.disclosure import Applies, probe_disclosure
from calibrate.probes.gold_writes import probe_gold_writes
from calibrate.probes.mechanics import probe_mechanics
from calibrate.probes.sides import Finding, Sides, sides
from calibrate.probes.tools import tool_kinds, writes

if TYPE_CHECKING:
    import pandas as pd

LABEL = "probes, not UFS"


@dataclass(frozen=True, slots=True)
class ProbeRow:
    """What the probes say of one episode.

    `user_said` and `agent_told` count the messages that the other side saw. `gold_actions` and `gold_writes` count
    what the task expects of the user; `scorable` says that a gold user write and a user exist: only then can a miss
    be held against anyone. `disclosure` says whether first-turn disclosure applies, and `disclosed_first`, its
    headline, is None where it does not. `unexecuted_claims` is None where the user has no tools to claim anything of.
    Tokens are None where no turn of the user counted any, `user_cost_usd` where it is unknown.
    """

    episode: str
    proxy: str
    agent: str
    domain: str
    task: str
    trial: str
    file: str
    simulation: str
    status: str
    reward: float | None
    ended: str | None
    turns: int
    user_turns: int
    user_said: int
    agent_turns: int
    agent_told: int
    user_calls: int
    user_writes: int
    user_call_errors: int
    has_blueprint: bool
    gold_actions: int
    gold_writes: int
    scorable: bool
    missed_loosely: int
    missed: tuple[str, ...]
    missed_mentioned: int
    missed_asked: int
    order_violation: bool | None
    odd_toggles: tuple[str, ...]
    checks_agree: bool | None
    disclosure: Applies
    identifiers: int
    identifier_kinds: tuple[str, ...]
    ordered_up_front: bool
    first_words: int
    first_kinds: tuple[str, ...]
    first_unasked: tuple[str, ...]
    ever_unasked: tuple[str, ...]
    disclosed_first: bool | None
    disclosed_first_with_name: bool | None
    unexecuted_claims: int | None
    end_token: str | None
    end_glued: bool
    text_beside_call: int
    several_calls: int
    stop_on_confirmation: bool
    stop_agreed: bool
    role_flip: bool
    leaked_thought: bool
    prompt_tokens: int | None
    completion_tokens: int | None
    user_cost_usd: float | None
    findings: tuple[Finding, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON-ready data, with the label that says what these are."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}
        return {"label": LABEL, **plain, "findings": [finding.as_dict() for finding in self.findings]}


def probe(conversation: Conversation, item: Item | None, run_config: Mapping[str, Any] | None = None) -> ProbeRow:
    """Return what the probes say of one episode; `item` is None where its task is not known.

    `run_config` is the configuration of its run: its `user_tools`, where given, say which of them write.
    """
    both, kinds, tags = sides(conversation), tool_kinds(run_config), conversation.tags
    domain = tags.get("domain") or conversation.task.removeprefix("tau_")
    gold = probe_gold_writes(conversation, item, both, kinds)
    told = probe_disclosure(item, both)
    claims = probe_claims(both, domain)
    mechanics = probe_mechanics(both)
    outcome = conversation.outcome
    return ProbeRow(
        episode=conversation.id,
        proxy=tags.get("proxy", "unknown"),
        agent=tags.get("agent", conversation.assistant),
        domain=domain,
        task=tags.get("task_id", "unknown"),
        trial=tags.get("trial", "0"),
        file=tags.get("file", ""),
        simulation=tags.get("simulation", ""),
        status=str(outcome.get("status", "ok")),
        reward=_number(outcome.get("reward")),
        ended=conversation.ended,
        **_counts(conversation, both),
        user_writes=sum(writes(call.name, kinds) for call in both.calls),
        has_blueprint=bool(item is not None and item.private.get("blueprint")),
        gold_actions=gold.actions,
        gold_writes=gold.writes,
        scorable=gold.writes > 0 and bool(both.user),
        missed_loosely=gold.missed_loosely,
        missed=gold.missed,
        missed_mentioned=gold.missed_mentioned,
        missed_asked=gold.missed_asked,
        order_violation=gold.order_violation,
        odd_toggles=gold.odd_toggles,
        checks_agree=gold.checks_agree,
        disclosure=told.applies,
        identifiers=told.identifiers,
        identifier_kinds=told.kinds,
        ordered_up_front=told.ordered_up_front,
        first_words=told.first_words,
        first_kinds=told.first,
        first_unasked=told.first_unasked,
        ever_unasked=told.ever_unasked,
        disclosed_first=told.headline,
        disclosed_first_with_name=told.with_name,
        unexecuted_claims=None if claims is None else len(claims),
        end_token=mechanics.end_token,
        end_glued=mechanics.end_glued,
        text_beside_call=mechanics.text_beside_call,
        several_calls=mechanics.several_calls,
        stop_on_confirmation=mechanics.stop_on_confirmation,
        stop_agreed=mechanics.stop_agreed,
        role_flip=mechanics.role_flip,
        leaked_thought=mechanics.leaked_thought,
        user_cost_usd=conversation.cost_usd,
        findings=(*gold.findings, *told.findings, *(claims or ()), *mechanics.findings),
    )


def _counts(conversation: Conversation, both: Sides) -> dict[str, Any]:
    return {
        "turns": len(conversation.turns),
        "user_turns": len(both.user),
        "user_said": len(both.said),
        "agent_turns": sum(turn.role == "assistant" for turn in conversation.turns),
        "agent_told": len(both.told),
        "user_calls": len(both.calls),
        "user_call_errors": sum(call.error for call in both.calls),
        "prompt_tokens": _tokens(both.user, "prompt_tokens"),
        "completion_tokens": _tokens(both.user, "completion_tokens"),
    }


def _tokens(turns: Iterable[Turn], name: str) -> int | None:
    counted = [getattr(turn.usage, name) for turn in turns if turn.usage is not None]
    known = [count for count in counted if count is not None]
    return sum(known) if known else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def probe_table(rows: Iterable[ProbeRow]) -> pd.DataFrame:
    """Return one row per episode with the fields of `ProbeRow` as columns, without findings.

    Lists of names are texts joined by `|`; what does not apply is missing (`None` or `NA`), never 0.
    """
    import pandas as pd

    names = [field.name for field in fields(ProbeRow) if field.name != "findings"]
    plain = [
        {
            name: "|".join(value) if isinstance(value, tuple) else value
            for name in names
            for value in [getattr(row, name)]
        }
        for row in rows
    ]
    table = pd.DataFrame(plain, columns=names)
    flags = ["order_violation", "checks_agree", "disclosed_first", "disclosed_first_with_name"]
    whole = ["unexecuted_claims", "prompt_tokens", "completion_tokens"]
    return table.astype({**dict.fromkeys(flags, "boolean"), **dict.fromkeys(whole, "Int64")})
