"""From what came back to what is kept: judge a reply, price it, and write down the call without any secret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from annotate.schema import Call, Usage, new_id
from simulate.llm.answer import Answer, read_answer
from simulate.llm.cost import CostBasis, Rates, cost_usd
from simulate.llm.faults import Fault, short
from simulate.llm.payload import Asked
from simulate.llm.redact import hide_values
from simulate.llm.request import NEVER_BILLED, FailureKind, Structured
from simulate.llm.structured import Unparsable, parse


@dataclass(frozen=True)
class Plan:
    """A call ready to be sent: the payload, the same for the record, how it is structured, its price, if it streams."""

    asked: Asked
    payload: dict[str, Any]
    sent: dict[str, Any]
    means: Structured | None
    rates: Rates | None
    secrets: list[str]
    streams: bool = False


@dataclass(frozen=True)
class Outcome:
    """What the attempts brought: a raw reply, or the fault that ended them."""

    raw: dict[str, Any] | None = None
    fault: Fault | None = None
    attempts: int = 0
    seconds: float | None = None


@dataclass(frozen=True)
class Verdict:
    """The record of a call, the checked JSON of its reply, and whether a model answered at all."""

    call: Call
    parsed: dict[str, Any] | None
    answered: bool


def judge(plan: Plan, outcome: Outcome) -> Verdict:
    """Say whether what came back can be used, and write down the call."""
    if outcome.raw is None:
        kind: FailureKind = outcome.fault.kind if outcome.fault is not None else "empty"
        message = outcome.fault.message if outcome.fault is not None else "nothing came back"
        return Verdict(_call(plan, outcome, None, (kind, message)), None, False)
    answer = read_answer(outcome.raw, plan.means)
    problem, parsed = answer.problem, None
    schema = plan.asked.request.reply_schema
    if problem is None and schema is not None:
        try:
            parsed = parse(answer.text, schema)
        except Unparsable as error:
            problem = ("unparsable", short(str(error)))
    return Verdict(_call(plan, outcome, answer, problem), parsed, True)


def _call(plan: Plan, outcome: Outcome, answer: Answer | None, problem: tuple[FailureKind, str] | None) -> Call:
    asked, request = plan.asked, plan.asked.request
    kind, message = problem or (None, None)
    usage = answer.usage if answer is not None else None
    cost, basis = _cost(kind, answer is not None, usage, plan.rates)
    return Call(
        id=new_id("call"),
        key=asked.key,
        model=request.model.model,
        purpose=request.purpose,
        request={
            "messages": [{name: hide_values(text, plan.secrets) for name, text in m.items()} for m in asked.messages],
            "max_tokens": asked.max_tokens,
            "replicate": request.replicate,
            "schema": asked.schema,
        },
        sent=plan.sent,
        prompt=request.prompt,
        prompt_hash=request.prompt_hash,
        reply=hide_values(answer.text, plan.secrets) if answer is not None else None,
        structured_by=plan.means,
        finish_reason=answer.finish_reason if answer is not None else None,
        failure=kind,
        failure_message=message,
        usage=usage,
        cost_usd=cost,
        cost_basis=basis,
        seconds=outcome.seconds,
        attempts=outcome.attempts,
    )


def _cost(
    kind: FailureKind | None, answered: bool, usage: Usage | None, rates: Rates | None
) -> tuple[float | None, CostBasis]:
    """Return a call's cost and who says so; what no provider charges for is free, what nobody knows is unknown."""
    if not answered and kind in NEVER_BILLED:
        return 0.0, "free"
    cost = cost_usd(usage, rates)
    return (None, "unknown") if cost is None or rates is None else (cost, rates.basis)
