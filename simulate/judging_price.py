"""What rubrics and verdicts would cost, before there are any: tokens from the episodes, dollars where known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from annotate.config import PriceConfig
from annotate.schema import Conversation, Item, Usage
from simulate.llm.cost import cost_usd, rates_for

CRITERIA_PER_TASK = 5.7
"""UserProxyBench, section 2: 2,141 criteria on 375 tasks."""
BYTES_PER_TOKEN = 4.0
_CRITERION_TOKENS = 150  # the rule and when it applies, last in the prompt
_INSTRUCTION_TOKENS = 500
_VERDICT_TOKENS = 120
_RUBRIC_TOKENS = 1200  # a set of criteria as it is written
_REVIEW_TOKENS = 900


@dataclass(frozen=True)
class JudgingLoad:
    """What a judge and a rubric writer would be asked for: counts, and tokens of each.

    `prefix_tokens` is the part of the judge's prompts that an episode's criteria share, counted once an episode: a
    provider's prompt cache serves the others.
    """

    episodes: int
    tasks: int
    without_blueprint: int
    verdicts: int
    prefix_tokens: int
    judge_prompt_tokens: int
    judge_reply_tokens: int
    rubric_prompt_tokens: int
    rubric_reply_tokens: int

    @property
    def prompt_tokens(self) -> int:
        """Tokens read by writer, verifier and judge."""
        return self.judge_prompt_tokens + self.rubric_prompt_tokens

    @property
    def reply_tokens(self) -> int:
        """Tokens written by writer, verifier and judge."""
        return self.judge_reply_tokens + self.rubric_reply_tokens

    def cost_usd(self, model: str, prices: Mapping[str, PriceConfig], *, cached: bool) -> float | None:
        """Return US dollars if `model` did all of it; None where its price is unknown.

        `cached` takes the provider's prompt cache to serve all but an episode's first reading of its prefix.
        """
        rates = rates_for(model, prices)
        read_again = self.judge_prompt_tokens - self.prefix_tokens - self.verdicts * _CRITERION_TOKENS
        usage = Usage(
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.reply_tokens,
            cached_tokens=max(0, read_again) if cached else 0,
        )
        if rates is not None and rates.tier is not None:
            from dataclasses import replace

            rates = replace(rates, tier=None, tier_tokens=None)  # many short calls, none of which is long
        return cost_usd(usage, rates)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        return {**vars(self), "prompt_tokens": self.prompt_tokens, "reply_tokens": self.reply_tokens}


def judging_load(episodes: Iterable[tuple[Conversation, Item | None, str]]) -> JudgingLoad:
    """Estimate what judging these episodes takes: each with its item (blueprint) and the text of its guidelines.

    An episode whose task has no known blueprint cannot be judged and is only counted (`without_blueprint`); `tasks` are
    blueprints, so that a task that was reworded between two runs counts twice. A verdict's prompt is the instructions,
    blueprint, guidelines, the trajectory as each side saw it, and one criterion; a task's rubric set is written once
    and reviewed once. Four bytes of UTF-8 are taken for one token.
    """
    count = unknown = 0
    prefixes = 0.0
    contracts: dict[str, float] = {}
    samples: dict[str, float] = {}
    for conversation, item, guidelines in episodes:
        if item is None or not item.private:
            unknown += 1
            continue
        count += 1
        contract = _tokens(guidelines) + _tokens(str(item.private))
        trajectory = sum(_turn_tokens(turn.text, turn.private, turn.tool_calls) for turn in conversation.turns)
        prefixes += _INSTRUCTION_TOKENS + contract + trajectory
        contracts.setdefault(conversation.item, contract)
        samples.setdefault(conversation.item, trajectory)
    tasks = len(contracts)
    verdicts = round(count * CRITERIA_PER_TASK)
    per_task = [_INSTRUCTION_TOKENS + contracts[key] + samples[key] for key in contracts]
    return JudgingLoad(
        episodes=count,
        tasks=tasks,
        without_blueprint=unknown,
        verdicts=verdicts,
        prefix_tokens=round(prefixes),
        judge_prompt_tokens=round(prefixes * CRITERIA_PER_TASK) + verdicts * _CRITERION_TOKENS,
        judge_reply_tokens=verdicts * _VERDICT_TOKENS,
        rubric_prompt_tokens=round(2 * sum(per_task)) + tasks * _RUBRIC_TOKENS,
        rubric_reply_tokens=tasks * (_RUBRIC_TOKENS + _REVIEW_TOKENS),
    )


def _tokens(text: str | None) -> float:
    return len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN if text else 0.0


def _turn_tokens(text: str, private: str | None, calls: Iterable[Any]) -> float:
    return (
        8 + _tokens(text) + _tokens(private) + sum(_tokens(call.name) + _tokens(str(call.arguments)) for call in calls)
    )
