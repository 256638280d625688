"""What fidelity is counted from: one row per episode of a proxy, one row per verdict on it, or a table of results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pandas as pd

VerdictValue = Literal["pass", "fail", "na", "missing"]
EpisodeStatus = Literal["ok", "infra_error", "not_scorable"]
CostBasis = Literal["billed", "list", "self_hosted", "estimated", "unknown"]

TASK_PREFIX = "tau_"
"""The tasks whose conversations are episodes of user proxies, such as `tau_retail`; they are no twins of anybody."""

EPISODE_COLUMNS = [
    "episode",
    "proxy",
    "agent",
    "domain",
    "task",
    "trial",
    "status",
    "status_reason",
    "reward",
    "ended",
    "cost_usd",
    "cost_basis",
    "list_cost_usd",
    "prompt_tokens",
    "completion_tokens",
    "tokens_estimated",
    "seconds",
    "user_turns",
    "agent_turns",
    "agent_tool_calls",
    "agent_questions",
    "duplicate_of",
    "rubric",
]
VERDICT_COLUMNS = ["episode", "criterion", "family", "mode", "value", "rater", "rater_kind", "turn", "quote"]
RESULT_COLUMNS = [
    "proxy",
    "domain",
    "faithful",
    "n",
    "rewarded",
    "n_reward",
    "cost_usd",
    "cost_basis",
    "prompt_tokens",
    "completion_tokens",
]


@dataclass(frozen=True)
class EpisodeFrames:
    """Everything that fidelity is counted from; exactly one of (`episodes` and `verdicts`) and `results` is given.

    episodes: `EPISODE_COLUMNS`, one row per (proxy, domain, task, trial). `episode` is an id; `task` and `trial` are
        texts; `status` an `EpisodeStatus`, with its reason; `reward` a number or nan (unknown); `cost_usd` what the
        user side cost, nan where unknown, and `cost_basis` who says so; `list_cost_usd` the same at list price;
        tokens are those of the user side, nan where neither counted nor estimated; `seconds` how long the episode
        took, nan where unknown; `agent_questions` counts question marks in the agent's messages; `duplicate_of` is the
        episode whose content it repeats, None where it is the first; `rubric` the hash of its rubric set, None
        where there is none.
    verdicts: `VERDICT_COLUMNS`, one row per criterion of an episode, as a rater saw it; `value` is a `VerdictValue`:
        `na` is a condition that never arose, `missing` a verdict that could not be read or was never given.
    results: `RESULT_COLUMNS`, one row per (proxy, domain), where somebody gives totals and no episodes; `faithful` of
        `n` scored episodes kept every criterion, `rewarded` of `n_reward` succeeded (nan where not told).
    """

    episodes: pd.DataFrame | None = None
    verdicts: pd.DataFrame | None = None
    results: pd.DataFrame | None = None
    source: str = ""
    audited: bool = False
    notes: tuple[str, ...] = field(default_factory=tuple)
