"""What a plan will cost, before anything is spent: calls and tokens by model, and dollars where the price is known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from annotate.schema import Conversation, Usage
from simulate.cells import Plan
from simulate.llm.cost import cost_usd, rates_for
from simulate.plan import Planned, Planner
from simulate.profiles import first_part

TOKENS_PER_WORD = 1.4
"""English prose in the tokenizers of today's models, with some room."""
_INSTRUCTIONS = 300
_REPLY_WORDS = {"user": 40, "assistant": 110, "document": 250, "judge": 40, "extract": 150}


@dataclass
class ModelLoad:
    """What one model will be asked."""

    calls: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    cost_usd: float | None = None
    basis: str = "unknown"


@dataclass
class RunPrice:
    """An estimate of a run, by litellm model name."""

    models: dict[str, ModelLoad] = field(default_factory=dict)

    @property
    def cost_usd(self) -> float | None:
        """The sum in US dollars; None where the price of any model is unknown."""
        costs = [load.cost_usd for load in self.models.values()]
        return None if any(cost is None for cost in costs) else sum(c for c in costs if c is not None)

    def lines(self, budget_usd: float | None) -> list[str]:
        """Say it: one line a model, then the sum."""
        said = []
        for name, load in self.models.items():
            price = (
                "price unknown"
                if load.cost_usd is None
                else "free"
                if load.basis == "free"
                else f"${load.cost_usd:,.2f}"
            )
            said.append(
                f"{'':<12}{name}: about {load.calls:,} calls, {load.prompt_tokens / 1e6:.2f} M tokens in, "
                f"{load.reply_tokens / 1e6:.2f} M out, {price}"
            )
        total = self.cost_usd
        budget = "none set" if budget_usd is None else f"${budget_usd:,.2f}"
        if not self.models:
            return [f"{'price':<12}nothing left to do"]
        text = (
            f"about ${total:,.2f}"
            if total is not None
            else ('unknown: give [prices."MODEL"] in study.toml for the models without one')
        )
        return [*said, f"{'price':<12}{text}   budget {budget}   (an estimate from the human conversations' lengths)"]

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain data; None is an unknown price."""
        return {"models": {name: vars(load) for name, load in self.models.items()}, "estimated_cost_usd": self.cost_usd}


def estimate_run(planner: Planner, plan: Plan[Planned]) -> RunPrice:
    """Estimate the open cells of a plan from the lengths of the conversations that they start from.

    Twins are taken to be as long as their humans, within the caps. Replies in the ledger are not known to be free
    here, so a run that is resumed half way may cost less.
    """
    loads: dict[str, ModelLoad] = defaultdict(ModelLoad)
    sizes: dict[str, tuple[int, int]] = {}
    for cell in plan.open():
        if cell.source not in sizes:
            sizes[cell.source] = _size(planner, cell.source)
        for name, prompt, reply in _calls(planner, cell, *sizes[cell.source]):
            model = planner.config.models[name].model
            load = loads[model]
            load.calls += 1
            load.prompt_tokens += prompt
            load.reply_tokens += reply
    for model, load in loads.items():
        rates = rates_for(model, planner.config.prices)
        load.cost_usd = cost_usd(Usage(prompt_tokens=load.prompt_tokens, completion_tokens=load.reply_tokens), rates)
        load.basis = rates.basis if rates else "unknown"
    return RunPrice(dict(loads))


def _size(planner: Planner, source: str) -> tuple[int, int]:
    """(user turns, tokens of the transcript) of a human conversation."""
    conversation = planner.store.get(Conversation, source)
    if conversation is None:
        return 0, 0
    turns = first_part(conversation)
    words = sum(turn.words for turn in turns)
    return max(sum(t.role == "user" for t in turns), 1), int(words * TOKENS_PER_WORD)


def _calls(planner: Planner, cell: Planned, turns: int, transcript: int) -> Iterator[tuple[str, int, int]]:
    """Yield (model, prompt tokens, reply tokens) of each call that a cell is expected to make."""
    run, room = planner.run, planner.run.prompt_tokens
    turns = min(turns, run.max_user_turns)

    def prompt(tokens: float) -> int:
        return min(int(tokens) + _INSTRUCTIONS, room) if room else int(tokens) + _INSTRUCTIONS

    def reply(purpose: str, cap: int) -> int:
        return min(int(_REPLY_WORDS[purpose] * TOKENS_PER_WORD), cap)

    if cell.kind == "profile":
        for _ in cell.parts:
            yield str(run.extractor), prompt(transcript + 500), reply("extract", run.assistant_max_tokens)
    elif cell.kind == "conversation":
        document = planner.tasks[cell.task].file.document
        for turn in range(turns):
            seen = transcript * (turn + 0.5) / turns
            yield str(run.user), prompt(seen + 400), reply("user", run.user_max_tokens)
            yield _assistant(planner, cell), prompt(seen), reply("assistant", run.assistant_max_tokens)
            if document:
                yield (
                    run.document or _assistant(planner, cell),
                    prompt(400),
                    reply("document", run.assistant_max_tokens),
                )
    else:
        both = 2 if cell.order else 1
        yield str(cell.judge), prompt(transcript * both), reply("judge", run.assistant_max_tokens)


def _assistant(planner: Planner, cell: Planned) -> str:
    conversation = planner.store.get(Conversation, cell.source)
    return str(planner.assistant_for(conversation) if conversation else planner.run.assistant)
