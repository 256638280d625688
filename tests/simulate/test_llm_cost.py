"""Costs: the study's prices over litellm's, cached input by its own rate, unknown never zero."""

from __future__ import annotations

from typing import Any

import pytest

from annotate.config import PriceConfig
from annotate.schema import Usage
from simulate.llm.cost import cost_usd, estimate_tokens, most_usd, rates_for, read_usage, study_rates, table_rates

PRICE = PriceConfig(
    input_usd_per_million=3, output_usd_per_million=15, cached_input_usd_per_million=0.3, as_of="2026-05-01"
)
USAGE = Usage(prompt_tokens=10_000, completion_tokens=1_000, cached_tokens=9_000)


def test_cached_input_is_priced_by_its_own_rate() -> None:
    expected = 1_000 * 3e-6 + 9_000 * 0.3e-6 + 1_000 * 15e-6
    assert cost_usd(USAGE, study_rates(PRICE)) == pytest.approx(expected)
    without = PRICE.model_copy(update={"cached_input_usd_per_million": None})
    assert cost_usd(USAGE, study_rates(without)) == pytest.approx(10_000 * 3e-6 + 1_000 * 15e-6)


def test_a_provider_that_counts_more_cached_than_prompt_tokens_does_not_make_a_negative_price() -> None:
    odd = Usage(prompt_tokens=10, completion_tokens=0, cached_tokens=50)
    assert cost_usd(odd, study_rates(PRICE)) == pytest.approx(10 * 0.3e-6)


def test_the_study_comes_first_then_litellm_then_unknown() -> None:
    model = "openai/gpt-4o-mini"
    ours, theirs = rates_for(model, {model: PRICE}), rates_for(model, {})
    assert ours is not None and (ours.basis, ours.input_usd) == ("study", 3e-6)
    assert theirs is not None and theirs.basis == "litellm" and 0 < theirs.cached_input_usd < theirs.input_usd
    assert rates_for("openai/nobody-knows-it", {}) is None
    assert rates_for("anthropic/claude-unheard-of-9", {}) is None, "a similar name is no price"
    assert rates_for("no-provider-at-all", {}) is None


def test_an_embedded_model_is_free_unless_the_study_prices_it() -> None:
    free = rates_for("local/smollm2", {})
    assert free is not None and free.basis == "free" and cost_usd(None, free) == 0.0
    priced = rates_for("local/smollm2", {"local/smollm2": PRICE})
    assert priced is not None and priced.basis == "study"


def test_zero_in_litellms_table_is_unknown_and_zero_in_the_study_is_zero() -> None:
    assert table_rates({"input_cost_per_token": 0, "output_cost_per_token": 0.0}) is None
    assert table_rates({"input_cost_per_token": 1e-6}) is None
    assert table_rates(None) is None
    nothing = PriceConfig(input_usd_per_million=0, output_usd_per_million=0, as_of="2026-05-01")
    assert cost_usd(USAGE, study_rates(nothing)) == 0.0


def test_long_prompts_are_priced_by_their_tier() -> None:
    rates = table_rates(
        {
            "input_cost_per_token": 1e-6, "output_cost_per_token": 4e-6, "cache_read_input_token_cost": 1e-7,
            "input_cost_per_token_above_200k_tokens": 2e-6, "output_cost_per_token_above_200k_tokens": 6e-6,
            "cache_read_input_token_cost_above_200k_tokens": 2e-7,
        }
    )
    assert cost_usd(Usage(prompt_tokens=200_000, completion_tokens=10), rates) == pytest.approx(0.2 + 4e-5)
    assert cost_usd(Usage(prompt_tokens=300_000, completion_tokens=10), rates) == pytest.approx(0.6 + 6e-5)


@pytest.mark.parametrize("usage", [None, Usage(), Usage(prompt_tokens=5), Usage(completion_tokens=5)])
def test_missing_counts_leave_the_cost_unknown(usage: Usage | None) -> None:
    assert cost_usd(usage, study_rates(PRICE)) is None
    assert cost_usd(USAGE, None) is None


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (None, None),
        ("12", None),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, None),
        ({"prompt_tokens": 5, "completion_tokens": 2}, Usage(prompt_tokens=5, completion_tokens=2)),
        (
            {"prompt_tokens": 5, "completion_tokens": 2, "cache_read_input_tokens": 4},
            Usage(prompt_tokens=5, completion_tokens=2, cached_tokens=4),
        ),
        (
            {
                "prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3},
                "completion_tokens_details": {"reasoning_tokens": 1},
            },
            Usage(prompt_tokens=5, completion_tokens=2, cached_tokens=3, reasoning_tokens=1),
        ),
        ({"prompt_tokens": "5", "completion_tokens": -2, "prompt_tokens_details": None}, None),
    ],
)
def test_token_counts_as_providers_send_them(raw: Any, expected: Usage | None) -> None:
    assert read_usage(raw) == expected


def test_the_estimate_is_an_upper_one_in_any_script() -> None:
    words = [{"role": "user", "content": "The train leaves at seven. " * 100}]
    assert 700 <= estimate_tokens(words) <= 1000  # about 6 tokens a sentence
    assert estimate_tokens([{"role": "user", "content": "字" * 100}]) >= 100
    assert estimate_tokens([{"role": "user", "content": ""}] * 3) == 24
    assert most_usd(1_000_000, 1_000_000, study_rates(PRICE)) == pytest.approx(18.0)
    assert most_usd(1, 1, None) is None
