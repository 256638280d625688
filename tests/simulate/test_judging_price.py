"""What judging would cost: counted from the episodes, cached or not, unknown where no price is known."""

from __future__ import annotations

import pytest

from annotate.config import PriceConfig
from annotate.schema import Conversation, Item, ToolCall, Turn
from simulate.judging_price import CRITERIA_PER_TASK, judging_load

PRICES = {
    "judge": PriceConfig(
        input_usd_per_million=5, cached_input_usd_per_million=0.5, output_usd_per_million=25, as_of="2026-08-01"
    )
}
ITEM = Item(id="i_1", task="tau_retail", key="1", private={"blueprint": {"text": "x" * 400}})


def episode(number: int, item: str = "i_1", words: int = 1000) -> Conversation:
    turns = (
        Turn(position=0, role="assistant", text="a" * words),
        Turn(position=1, role="user", text="", private="b" * 40, tool_calls=(ToolCall(name="look", arguments={}),)),
    )
    return Conversation(
        id=f"c_{number}",
        task="tau_retail",
        item=item,
        participant="s_1",
        assistant="m",
        origin="simulated",
        turns=turns,
    )


def test_verdicts_are_the_papers_number_of_criteria_an_episode() -> None:
    load = judging_load([(episode(n), ITEM, "g" * 100) for n in range(100)])
    assert (load.episodes, load.tasks, load.verdicts) == (100, 1, round(100 * CRITERIA_PER_TASK))
    assert load.judge_prompt_tokens > load.prefix_tokens * 5


def test_a_longer_episode_costs_more_and_a_cache_less() -> None:
    short = judging_load([(episode(1), ITEM, "")])
    long = judging_load([(episode(1, words=40_000), ITEM, "")])
    assert long.prefix_tokens - short.prefix_tokens == pytest.approx(39_000 / 4, abs=1)
    many = judging_load([(episode(n, words=40_000), ITEM, "") for n in range(20)])
    full, cached = (many.cost_usd("judge", PRICES, cached=flag) for flag in (False, True))
    assert full is not None and cached is not None and cached < full / 2


def test_an_unknown_price_is_unknown_and_no_episode_costs_nothing() -> None:
    assert judging_load([(episode(1), ITEM, "")]).cost_usd("nobody/knows", {}, cached=True) is None
    nothing = judging_load([])
    assert nothing.episodes == nothing.verdicts == nothing.prompt_tokens == 0
    assert nothing.cost_usd("judge", PRICES, cached=False) == 0


def test_an_episode_without_a_blueprint_cannot_be_judged_and_is_counted() -> None:
    bare = ITEM.model_copy(update={"private": {}})
    load = judging_load([(episode(1), ITEM, ""), (episode(2, "i_2"), bare, ""), (episode(3, "i_3"), None, "")])
    assert (load.episodes, load.tasks, load.without_blueprint) == (1, 1, 2)
