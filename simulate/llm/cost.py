"""What a call costs: the study's own dated prices first, litellm's table second, and `unknown` where neither knows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from annotate.config import PriceConfig
from annotate.schema import Usage

CostBasis = Literal["study", "litellm", "free", "unknown"]
_TIER = re.compile(r"input_cost_per_token_above_(\d+)k_tokens$")


@dataclass(frozen=True)
class Rates:
    """US dollars per token, and who says so; above `tier_tokens` of prompt the `tier` rates hold for the whole call."""

    input_usd: float
    output_usd: float
    cached_input_usd: float
    basis: CostBasis
    tier_tokens: int | None = None
    tier: Rates | None = None


FREE = Rates(0.0, 0.0, 0.0, "free")


def study_rates(price: PriceConfig) -> Rates | None:
    """Return the rates of a `[prices."MODEL"]` section; cached input costs as other input where it is not given.

    None where the price is by GPU hours: it is known for a conversation, not for a token.
    """
    full, output, cached = (
        price.input_usd_per_million, price.output_usd_per_million, price.cached_input_usd_per_million,
    )  # fmt: skip
    if full is None or output is None:
        return None
    return Rates(full / 1e6, output / 1e6, (full if cached is None else cached) / 1e6, "study")


def table_rates(entry: Mapping[str, Any] | None) -> Rates | None:
    """Return the rates of an entry of litellm's table; None without one, or where it is zero, which says nothing."""
    if not entry:
        return None
    plain = _entry_rates(entry, "")
    if plain is None:
        return None
    tiers = sorted(int(match[1]) for name in entry if (match := _TIER.match(name)))
    if not tiers:
        return plain
    above = _entry_rates(entry, f"_above_{tiers[0]}k_tokens")
    return Rates(plain.input_usd, plain.output_usd, plain.cached_input_usd, "litellm", tiers[0] * 1000, above)


def _entry_rates(entry: Mapping[str, Any], suffix: str) -> Rates | None:
    given, taken = entry.get(f"input_cost_per_token{suffix}"), entry.get(f"output_cost_per_token{suffix}")
    if not isinstance(given, (int, float)) or not isinstance(taken, (int, float)) or (given == 0 and taken == 0):
        return None
    cached = entry.get(f"cache_read_input_token_cost{suffix}")
    cached = cached if isinstance(cached, (int, float)) else given
    return Rates(float(given), float(taken), float(cached), "litellm")


def rates_for(model: str, prices: Mapping[str, PriceConfig]) -> Rates | None:
    """Return the rates of a model: the study's, free for a `local/` one, litellm's, or None (unknown)."""
    if model in prices:
        return study_rates(prices[model])
    if model.startswith("local/"):
        return FREE
    from simulate.llm.litellm_transport import price_entry

    return table_rates(price_entry(model))


def cost_usd(usage: Usage | None, rates: Rates | None) -> float | None:
    """Return what a call cost in US dollars; None where the price or the token counts are unknown."""
    if rates is None:
        return None
    if rates.basis == "free":
        return 0.0
    if usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    if rates.tier is not None and rates.tier_tokens is not None and usage.prompt_tokens > rates.tier_tokens:
        rates = rates.tier
    cached = min(usage.cached_tokens or 0, usage.prompt_tokens)
    fresh = usage.prompt_tokens - cached
    return fresh * rates.input_usd + cached * rates.cached_input_usd + usage.completion_tokens * rates.output_usd


def most_usd(prompt_tokens: int, max_tokens: int, rates: Rates | None) -> float | None:
    """Return the most that a call of this size may cost in US dollars; None where the price is unknown."""
    return cost_usd(Usage(prompt_tokens=prompt_tokens, completion_tokens=max_tokens), rates)


def estimate_tokens(messages: Sequence[Mapping[str, Any]]) -> int:
    """Return a cheap upper estimate of a prompt's tokens: one for three bytes of UTF-8, and eight for each message."""
    return sum(-(-len(str(m.get("content", "")).encode("utf-8", "replace")) // 3) + 8 for m in messages)


def read_usage(raw: Any) -> Usage | None:
    """Return the provider's token counts; None where it sent none (litellm then fills in zeros)."""
    if not isinstance(raw, Mapping):
        return None
    prompt, completion = _count(raw.get("prompt_tokens")), _count(raw.get("completion_tokens"))
    if not prompt and not completion:
        return None
    details, spent = raw.get("prompt_tokens_details"), raw.get("completion_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, Mapping) else None
    if cached is None:
        cached = _count(raw.get("cache_read_input_tokens"))
    reasoning = _count(spent.get("reasoning_tokens")) if isinstance(spent, Mapping) else None
    return Usage(prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached, reasoning_tokens=reasoning)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
