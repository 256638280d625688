"""Try a model with at most four tiny calls, and say how it has to be configured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from annotate.config import ModelConfig
from annotate.errors import ModelError
from annotate.schema import Call
from simulate.llm.faults import refused_setting
from simulate.llm.gateway import Gateway
from simulate.llm.ledger import MemoryLedger
from simulate.llm.payload import settings_of
from simulate.llm.request import CallFailed, Reply, Request, StreamingTransport, Structured, Transport
from simulate.llm.structured import Unparsable, best_means, parse

MOST_CALLS = 4
_SCHEMA: dict[str, Any] = {
    "title": "probe",
    "type": "object",
    "properties": {"word": {"type": "string", "maxLength": 20}, "number": {"type": "integer"}},
    "required": ["word", "number"],
    "additionalProperties": False,
}
_QUESTION = 'Reply with exactly this JSON object and nothing else: {"word": "yes", "number": 7}'
_MAX_TOKENS = 256
_SAMPLING = ("temperature", "top_p", "seed")


@dataclass(frozen=True)
class ProbeStep:
    """One thing that was tried: its name, whether it worked, and in a few words what was seen."""

    name: str
    works: bool
    detail: str
    seconds: float | None = None
    call: Call | None = None


@dataclass(frozen=True)
class ProbeResult:
    """What a model can do. `structured` is None where no means worked; `toml` is the section to paste."""

    model_name: str
    model: ModelConfig
    steps: tuple[ProbeStep, ...]
    answers: bool
    structured: Structured | None
    streams: bool
    counts_tokens: bool
    refused: tuple[str, ...]
    toml: str
    cost_usd: float | None


@dataclass
class _Trial:
    """A probe under way."""

    name: str
    model: ModelConfig
    gateway: Gateway
    ledger: MemoryLedger
    steps: list[ProbeStep] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def left(self) -> int:
        """How many calls may still be made."""
        return MOST_CALLS - len(self.ledger.calls)

    async def ask(
        self, purpose: str, model: ModelConfig, schema: bool = False, stream: bool = False
    ) -> Reply | CallFailed:
        """Make one call; a failure is returned, for it is an answer to what was asked."""
        request = Request(
            model_name=self.name,
            model=model,
            messages=({"role": "user", "content": _QUESTION},),
            purpose=f"probe {purpose}",
            reply_schema=_SCHEMA if schema else None,
            max_tokens=_MAX_TOKENS,
            replicate=len(self.ledger.calls),
        )
        try:
            return await self.gateway.ask(request, on_text=(lambda _: None) if stream else None)
        except CallFailed as failed:
            cut = failed.kind == "length" and not schema  # a small model that does not stop answers all the same
            return Reply(failed.call.reply or "", None, failed.call, from_cache=False) if cut else failed

    def note(self, name: str, works: bool, detail: str, call: Call | None = None) -> None:
        """Write down what was seen."""
        self.steps.append(ProbeStep(name, works, detail, call.seconds if call is not None else None, call))


async def probe(model_name: str, model: ModelConfig, transport: Transport | None = None) -> ProbeResult:
    """Try a plain reply with its token counts, a structured and a streamed one: at most four calls, none repeated."""
    ledger = MemoryLedger()
    trial_model = model.model_copy(update={"retries": 0})
    async with Gateway(ledger, prices={}, transport=transport, max_calls=MOST_CALLS) as gateway:
        trial = _Trial(model_name, trial_model, gateway, ledger)
        plain = await _try_plain(trial)
        structured: Structured | None = None
        streams = False
        if plain is not None:
            structured = await _try_structured(trial, plain)
            streams = await _try_stream(trial)
    counts = plain is not None and plain.call.usage is not None
    if plain is not None:
        seen = "sent with the reply" if counts else "not sent: costs stay unknown"
        trial.note("token counts", counts, seen, plain.call)
    advised = _advised(model, structured, trial.refused)
    return ProbeResult(
        model_name=model_name,
        model=advised,
        steps=tuple(trial.steps),
        answers=plain is not None,
        structured=structured,
        streams=streams,
        counts_tokens=counts,
        refused=tuple(trial.refused),
        toml=as_toml(model_name, advised),
        cost_usd=_sum(ledger.calls),
    )


async def _try_plain(trial: _Trial) -> Reply | None:
    """Ask for a plain reply; a sampling setting that is refused is left out, and that is tried once more."""
    for _ in range(2):
        reply = await trial.ask("plain", trial.model)
        if isinstance(reply, Reply):
            cut = f", cut at {_MAX_TOKENS} tokens" if reply.call.failure == "length" else ""
            trial.note("plain reply", True, f"{reply.text.strip()[:60]!r}{cut}", reply.call)
            return reply
        setting = refused_setting(reply.message, settings_of(trial.name, trial.model))
        if reply.kind != "refused_setting" or setting not in _SAMPLING:
            trial.note("plain reply", False, str(reply), reply.call)
            return None
        trial.refused.append(setting)
        trial.note(setting, False, reply.message, reply.call)
        trial.model = trial.model.model_copy(update={setting: "default"})
    trial.note("plain reply", False, "two settings are refused; set both to \"default\" and check again")
    return None


async def _try_structured(trial: _Trial, plain: Reply) -> Structured | None:
    """Try the best means, then a tool; JSON in text was seen, or not, in the plain reply. Leaves one call over."""
    first = trial.model.structured if trial.model.structured != "auto" else _first_means(trial.model)
    ways: list[Structured] = [first, *(way for way in ("schema", "tool") if way != first)] if first != "text" else []
    for way in ways:
        if trial.left < 2:
            break
        reply = await trial.ask(way, trial.model.model_copy(update={"structured": way}), schema=True)
        works = isinstance(reply, Reply)
        trial.note(f"structured by {way}", works, "fits the schema" if works else str(reply), reply.call)
        if works:
            return way
    try:
        parse(plain.text, _SCHEMA)
    except Unparsable as error:
        trial.note("structured by text", False, str(error), plain.call)
        return None
    trial.note("structured by text", True, "the plain reply was the JSON that was asked for", plain.call)
    return "text"


def _first_means(model: ModelConfig) -> Structured:
    """Return where to begin: a server that litellm does not know is tried by schema all the same."""
    means = best_means(model)
    return "schema" if means == "text" else means


async def _try_stream(trial: _Trial) -> bool:
    if not trial.left or not isinstance(trial.gateway.transport, StreamingTransport):
        trial.note("streaming", False, "not tried")
        return False
    reply = await trial.ask("streaming", trial.model, stream=True)
    works = isinstance(reply, Reply)
    trial.note("streaming", works, "works" if works else str(reply), reply.call)
    return works


def _advised(model: ModelConfig, structured: Structured | None, refused: list[str]) -> ModelConfig:
    changes: dict[str, Any] = dict.fromkeys(refused, "default")
    if structured is not None:
        changes["structured"] = structured
    return model.model_copy(update=changes)


def _sum(calls: list[Call]) -> float | None:
    costs = [call.cost_usd for call in calls]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def as_toml(model_name: str, model: ModelConfig) -> str:
    """Return the `[models.NAME]` section that says what differs from the defaults."""
    lines = [f"[models.{_key(model_name)}]"]
    for key, value in model.model_dump(exclude_defaults=True).items():
        if value is not None:
            lines.append(f"{key} = {_value(value)}")
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    bare = name and all(letter.isascii() and (letter.isalnum() or letter in "-_") for letter in name)
    return name if bare else json.dumps(name, ensure_ascii=False)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(str(k))} = {_value(v)}" for k, v in value.items() if v is not None) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(part) for part in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (int, float)):
        return repr(value)
    raise ModelError(f"{value!r} cannot be written as TOML; set it in study.toml by hand.")
