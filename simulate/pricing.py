"""What the user side of an episode costs: as billed, at list price, on one's own GPUs, or unknown with the reason."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from annotate.config import PriceConfig
from annotate.episodes import CostBasis, EpisodeFrames
from annotate.schema import Conversation, Item, Turn
from simulate.llm.cost import Rates, rates_for, table_rates

if TYPE_CHECKING:
    import pandas as pd

_MESSAGE_TOKENS = 4
"""What a message costs beside its text: its role and its borders."""
UNTOLD = 3
"""Bytes of UTF-8 for a token where no tokenizer is at hand; an upper estimate for most texts."""


@dataclass(frozen=True, slots=True)
class Price:
    """What is known of a proxy's price: by token (`rates`), by conversation, or not at all (`reason` says why)."""

    name: str
    rates: Rates | None = None
    usd_per_conversation: float | None = None
    reason: str | None = None


def price_of(model: str, prices: Mapping[str, PriceConfig]) -> Price:
    """Return the price of a proxy's model: the study's own, else litellm's, else the reason why it is unknown.

    The name is tried as it is, then behind each provider's prefix. Where providers ask different prices, or only a
    similar name is known, the price is unknown: nothing is guessed. An embedded `local/` model has a price only if the
    study gives it one, since the machine it runs on is not free.
    """
    ours = [model] if model in prices else sorted(name for name in prices if name.endswith(f"/{model}"))
    if len(ours) > 1:
        return Price(model, reason=f"[prices] has it under {' and '.join(ours)}; name the one that ran in the proxy")
    if ours:
        price = prices[ours[0]]
        return Price(ours[0], rates_for(ours[0], prices), price.usd_per_conversation)
    if model in ("", "unknown"):
        return Price(model, reason="the file does not name its model; import it with the model's name")
    if model.startswith("local/"):
        return Price(model, reason=f'it runs on your machine; give [prices."{model}"] by GPU hours')
    rates = rates_for(model, {})
    if rates is not None:
        return Price(model, rates)
    bare = re.sub(r" \([^()]*\)$", "", model)  # `MODEL (IMPLEMENTATION)`: the same model, played otherwise
    return _served(model) if bare == model else price_of(bare, prices)


def _served(model: str) -> Price:
    """Return the price that all providers of exactly this model ask, if they agree."""
    from simulate.llm.litellm_transport import load_litellm, priced_names

    table = load_litellm().model_cost
    found = {name: rates for name in priced_names(model) if (rates := table_rates(table[name])) is not None}
    remedy = f'give [prices."{model}"] in study.toml'
    if not found:
        return Price(model, reason=f"litellm's table has no such model; {remedy}")
    if len({(rates.input_usd, rates.output_usd) for rates in found.values()}) > 1:
        return Price(model, reason=f"{', '.join(list(found)[:4])} ask different prices; {remedy}")
    name = next(iter(found))
    return Price(name, found[name])


def price_episodes(
    frames: EpisodeFrames, prices: Mapping[str, PriceConfig], *, models: Mapping[str, str] | None = None
) -> EpisodeFrames:
    """Return the frames with `cost_usd`, `cost_basis` and `list_cost_usd` filled in, for episodes or for results.

    `cost_usd` is US dollars per conversation. What was billed stays billed. Else the study's GPU price is taken
    (`self_hosted`), else tokens at list price (`list`, or `estimated` where the tokens are), else it is `unknown`, nan,
    and a note says why. `list_cost_usd`, of episodes only, is tokens at list price wherever both are known; the price
    of long prompts, which holds for single calls, is not applied to an episode's sum of tokens. `models` says which
    model a proxy is, where its name does not.
    """
    frame = frames.episodes if frames.episodes is not None else frames.results
    if frame is None:
        return frames
    frame = frame.copy()
    notes: list[str] = []
    for proxy, rows in frame.groupby("proxy", observed=True).groups.items():
        price = price_of((models or {}).get(str(proxy), str(proxy)), prices)
        _fill(frame, rows, price, str(proxy), notes)
    noted = (*frames.notes, *notes)
    if frames.episodes is not None:
        return replace(frames, episodes=frame, notes=noted)
    return replace(frames, results=frame, notes=noted)


def _fill(frame: pd.DataFrame, rows: pd.Index[Any], price: Price, proxy: str, notes: list[str]) -> None:
    import numpy as np

    part = frame.loc[rows]
    listed = part["cost_usd"] * np.nan
    if price.rates is not None:
        listed = part["prompt_tokens"] * price.rates.input_usd + part["completion_tokens"] * price.rates.output_usd
    if "list_cost_usd" in frame:
        frame.loc[rows, "list_cost_usd"] = listed.where(listed.notna(), part["list_cost_usd"])
    open_ = part["cost_usd"].isna()
    if not open_.any():
        return
    if price.usd_per_conversation is not None:
        cost, basis = listed.fillna(0.0) * 0.0 + price.usd_per_conversation, _bases(part, "self_hosted")
    else:
        cost, basis = listed, _bases(part, "list")
    known = open_ & cost.notna()
    frame.loc[known[known].index, "cost_usd"] = cost[known]
    frame.loc[known[known].index, "cost_basis"] = basis[known]
    left = open_ & ~known
    frame.loc[left[left].index, "cost_basis"] = "unknown"
    if "status" in part:
        left &= part["status"] != "not_scorable"  # there is no user that could cost anything, or none that is judged
    if left.any():
        reason = price.reason or "its tokens are not counted; import it with the guidelines that it read"
        notes.append(f"cost of {proxy} is unknown in {int(left.sum()):,} of {len(part):,} rows: {reason}")
    if known.any() and price.name != proxy:
        notes.append(f"cost of {proxy}: the price of {price.name} is taken")


def _bases(part: pd.DataFrame, basis: CostBasis) -> pd.Series[str]:
    import pandas as pd

    bases = pd.Series([basis] * len(part), index=part.index, dtype=object)
    if basis == "list" and "tokens_estimated" in part:
        bases[part["tokens_estimated"].astype(bool)] = "estimated"
    return bases


@lru_cache(maxsize=64)
def token_counter(model: str) -> tuple[Any, str]:
    """Return (tokens of a text, what counts them): litellm's tokenizer where one comes with it, else bytes by three."""
    from simulate.llm.litellm_transport import text_counter

    return text_counter(model) or (_by_bytes, f"bytes / {UNTOLD}")


def _by_bytes(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // UNTOLD)


def estimate_tokens(
    conversation: Conversation, item: Item | None, run_config: Mapping[str, Any]
) -> tuple[int, int] | None:
    """Return (prompt, completion) tokens of a proxy's calls, estimated from what it read and wrote.

    Each message of the user is one call, which reads the guidelines, the blueprint, the user's tools, and the
    conversation so far as the user saw it; the prompts of all calls are added up. None where the guidelines are not
    known, or no more than the names of a user's tools: they are most of what is read, and a cost without them would
    be a third of the true one. What the user thought unseen is not known and not counted, so that the completion is a
    lower estimate for a reasoning model. Against the providers' counts in 66 public episodes of tau2 whose guidelines
    are known, by GPT-4.1 and its mini: prompt .95 to .98 of the true number, completion 1.00.
    """
    guidelines = run_config.get("guidelines")
    if not isinstance(guidelines, Mapping) or not guidelines.get("text"):
        return None
    tools = run_config.get("user_tools") or []
    if guidelines.get("kind") == "with_tools" and not (tools and all(isinstance(tool, Mapping) for tool in tools)):
        return None
    user = run_config.get("user")
    model = (user.get("model") if isinstance(user, Mapping) else None) or conversation.tags.get("proxy") or "unknown"
    count, _ = token_counter(str(model))
    read = count(_standing(item, run_config)) + _MESSAGE_TOKENS
    prompt = completion = 0
    for turn in conversation.turns:
        if turn.role != "user" and turn.seen_by not in ("both", "user"):
            continue
        size = count(_written(turn))
        if turn.role == "user":
            prompt += read
            completion += size
        read += size + _MESSAGE_TOKENS
    return prompt, completion


def _standing(item: Item | None, run_config: Mapping[str, Any]) -> str:
    """Return what stands in front of every prompt of the user: guidelines, blueprint, tools."""
    guidelines = run_config.get("guidelines")
    parts = [str(guidelines["text"]) if isinstance(guidelines, Mapping) else ""]
    blueprint = item.private.get("blueprint") if item else None
    if isinstance(blueprint, Mapping):
        parts += [f"{name}: {text}" for name, text in blueprint.items() if text]
    elif blueprint:
        parts.append(str(blueprint))
    if run_config.get("user_tools"):
        parts.append(json.dumps(run_config["user_tools"], ensure_ascii=False, default=str))
    return "\n".join(part for part in parts if part)


def _written(turn: Turn) -> str:
    """Return what a turn holds for the user: its text, what stood beside a tool call, and the user's own calls."""
    calls = [f"{call.name} {json.dumps(call.arguments, ensure_ascii=False, default=str)}" for call in turn.tool_calls]
    own = calls if turn.role == "user" else []
    return "\n".join(part for part in (turn.text, turn.private or "" if turn.role == "user" else "", *own) if part)
