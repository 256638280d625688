"""The gateway: asks a model once for equal questions, within limits and a budget, and records what came of it."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, cast

from annotate.config import PriceConfig
from annotate.errors import ModelError
from annotate.schema import Call
from simulate.llm.budget import Purse
from simulate.llm.cost import Rates, estimate_tokens, most_usd, rates_for
from simulate.llm.faults import Fault, classify
from simulate.llm.ledger import Ledger, Replay
from simulate.llm.payload import Asked, build, prepare
from simulate.llm.records import Outcome, Plan, Verdict, judge
from simulate.llm.redact import environment_secrets
from simulate.llm.request import (
    RETRYABLE,
    CallFailed,
    FailureKind,
    OnText,
    Reply,
    Request,
    StreamingTransport,
    Transport,
)
from simulate.llm.routes import Destination, find_destination
from simulate.llm.streaming import stream_reply
from simulate.llm.structured import Unparsable, best_means, parse

_LONGEST_PAUSE_SECONDS = 60.0


@dataclass
class _Lane:
    """What all calls to one model share: how many run at once, and until when the provider asked them to wait."""

    slots: asyncio.Semaphore
    resting_until: float = 0.0

    async def rest(self) -> None:
        """Wait until the provider lets calls through again."""
        while (left := self.resting_until - time.monotonic()) > 0:
            await asyncio.sleep(left)


@dataclass
class _Flight:
    """A call under way, and how many wait for it."""

    task: asyncio.Task[Reply]
    waiting: int = 0


class Gateway:
    """Asks models. One gateway serves one event loop; use it as `async with Gateway(ledger, prices=…) as gateway`.

    `budget_usd` and `max_calls` bound what is sent; cached replies cost nothing and are not counted. `on_call` is
    told of every call once it is recorded. An `offline` gateway only answers from the ledger.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        prices: Mapping[str, PriceConfig],
        budget_usd: float | None = None,
        max_calls: int | None = None,
        transport: Transport | None = None,
        on_call: Callable[[Call], None] | None = None,
        offline: bool = False,
        backoff_seconds: float = 0.5,
    ) -> None:
        self.ledger = ledger
        self.prices = prices
        self.offline = offline
        self.cached_calls = 0
        """Replies from the ledger, or shared with an equal call under way."""
        self.paid_calls = 0
        """Calls that a model answered, usably or not."""
        self.failed_calls = 0
        """Calls that brought no usable reply."""
        self.unknown_cost_calls = 0
        """Answered calls whose price or token counts are unknown: `spent_usd` leaves them out."""
        self._purse = Purse(budget_usd, max_calls)
        self.transport = transport
        self._on_call = on_call
        self._backoff_seconds = backoff_seconds
        self._lanes: dict[str, _Lane] = {}
        self._flights: dict[str, _Flight] = {}
        self._rates: dict[str, Rates | None] = {}
        self._secrets = environment_secrets()

    @property
    def spent_usd(self) -> float:
        """US dollars that this gateway's calls cost, as far as their price is known."""
        return self._purse.spent_usd

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop the calls under way and close the connections."""
        tasks = [flight.task for flight in self._flights.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        close = getattr(self.transport, "aclose", None)
        if close is not None:
            await close()

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """Return a usable reply: from the ledger, from an equal call under way, or from the model.

        `on_text` is handed the text as it comes (whole, where the reply is cached or structured). Raises `CallFailed`
        when the call brought no usable reply, `BudgetError` before anything is sent that the budget does not cover,
        and `ModelError` when the model cannot be used as configured.
        """
        asked = prepare(request)
        flight = self._flights.get(asked.key)
        if flight is not None:
            shared = await self._wait_for(asked.key, flight)
            return self._without_cost(Reply(shared.text, shared.parsed, shared.call, from_cache=True), on_text)
        cached = self._cached(asked)
        if cached is not None:
            return self._without_cost(cached, on_text)
        if self.offline:
            self._replay_failure(asked)
            raise ModelError(
                f"Model {request.model.model!r} was not asked: no recorded reply fits this {request.purpose} request, "
                "and only recorded replies are used here; run it live, or use the recording of this version."
            )
        flight = _Flight(asyncio.create_task(self._fly(asked, on_text)))
        flight.task.add_done_callback(_retrieve)
        self._flights[asked.key] = flight
        return await self._wait_for(asked.key, flight)

    def _replay_failure(self, asked: Asked) -> None:
        """Raise the failure that the recording holds for this request, if it holds one."""
        call = self.ledger.find_failure(asked.key) if isinstance(self.ledger, Replay) else None
        if call is not None and call.failure is not None:
            self.cached_calls += 1
            self.failed_calls += 1
            kind = cast(FailureKind, call.failure)
            raise CallFailed(kind, call.failure_message or kind, kind in RETRYABLE, call)

    def _without_cost(self, reply: Reply, on_text: OnText | None) -> Reply:
        self.cached_calls += 1
        if on_text is not None:
            on_text(reply.text)
        return reply

    async def _wait_for(self, key: str, flight: _Flight) -> Reply:
        """Wait for a call; the last one to give up stops it, and waits until it has stopped."""
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                self._forget(key, flight.task)
                flight.task.cancel()
                await asyncio.wait([flight.task])

    def _forget(self, key: str, task: asyncio.Task[Any] | None) -> None:
        flight = self._flights.get(key)
        if flight is not None and flight.task is task:
            del self._flights[key]

    def _cached(self, asked: Asked) -> Reply | None:
        call = self.ledger.find(asked.key)
        if call is None or call.failure is not None or call.reply is None:
            return None
        parsed = None
        if asked.request.reply_schema is not None:
            try:
                parsed = parse(call.reply, asked.request.reply_schema)
            except Unparsable:
                return None
        return Reply(call.reply, parsed, call, from_cache=True)

    async def _fly(self, asked: Asked, on_text: OnText | None) -> Reply:
        """Make one call, record it, and return its reply or raise its failure."""
        model = asked.request.model
        lane = self._lanes.setdefault(asked.request.model_name, _Lane(asyncio.Semaphore(model.concurrency)))
        try:
            async with lane.slots:
                plan, destination = await self._plan(asked, on_text)
                too_long = await destination.too_long(asked)
                if too_long is not None:
                    return self._finish(judge(plan, Outcome(fault=Fault("context_exceeded", too_long, False))))
                reserved = await self._purse.reserve(model.model, most_usd(*_size(asked), plan.rates))
                cost = None
                try:
                    verdict = judge(plan, await self._attempt(plan, lane, on_text))
                    cost = verdict.call.cost_usd
                    reply = self._finish(verdict)
                finally:
                    self._purse.settle(reserved, cost)
                if on_text is not None and not plan.streams:
                    on_text(reply.text)
                return reply
        finally:
            self._forget(asked.key, asyncio.current_task())

    async def _plan(self, asked: Asked, on_text: OnText | None) -> tuple[Plan, Destination]:
        model = asked.request.model
        if self.transport is None:
            await self._open_transport()
        destination = await find_destination(model)
        means = best_means(model) if asked.schema is not None else None
        payload, sent = build(asked, destination.route, means, self._secrets)
        if model.model not in self._rates:
            self._rates[model.model] = rates_for(model.model, self.prices)
        streams = on_text is not None and means is None and isinstance(self.transport, StreamingTransport)
        return Plan(asked, payload, sent, means, self._rates[model.model], self._secrets, streams), destination

    async def _open_transport(self) -> None:
        """Import litellm beside the event loop: it takes seconds, and what else runs here must not stand still."""
        from simulate.llm.litellm_transport import LitellmTransport, litellm_is_loaded, load_litellm

        if not litellm_is_loaded():
            await asyncio.to_thread(load_litellm)
        if self.transport is None:
            self.transport = LitellmTransport()

    async def _attempt(self, plan: Plan, lane: _Lane, on_text: OnText | None) -> Outcome:
        """Send a call, and again where that can help; every attempt is counted."""
        model = plan.asked.request.model
        attempts = 0
        while True:
            await lane.rest()
            attempts += 1
            began = time.perf_counter()
            said: list[str] = []
            try:
                async with asyncio.timeout(model.timeout_seconds):
                    raw = await self._send(plan, on_text, said)
                return Outcome(raw, None, attempts, time.perf_counter() - began)
            except TimeoutError:
                fault = Fault("timeout", f"no reply within {model.timeout_seconds:g} s", True)
            except Exception as error:
                found = classify(error)
                if found is None:
                    raise
                fault = found
            if not fault.may_retry or attempts > model.retries or said:
                return Outcome(None, fault, attempts, time.perf_counter() - began)
            await asyncio.sleep(self._pause_seconds(attempts, fault, lane))

    async def _send(self, plan: Plan, on_text: OnText | None, said: list[str]) -> dict[str, Any]:
        """Send a payload once; the pieces of a streamed reply are handed on and noted in `said`."""
        if on_text is None or not plan.streams:
            return await cast(Transport, self.transport).send(plan.payload)

        def tell(text: str) -> None:
            said.append(text)
            on_text(text)

        return await stream_reply(cast(StreamingTransport, self.transport), plan.payload, tell)

    def _pause_seconds(self, attempts: int, fault: Fault, lane: _Lane) -> float:
        """Return how long to wait: what the provider asked for, or else a growing random pause; a minute at most."""
        if fault.wait_seconds is not None:
            pause = min(fault.wait_seconds, _LONGEST_PAUSE_SECONDS)
            lane.resting_until = max(lane.resting_until, time.monotonic() + pause)
            return pause * (1 + random.random() / 10)
        return min(self._backoff_seconds * 2.0 ** (attempts - 1), _LONGEST_PAUSE_SECONDS / 2) * (0.5 + random.random())

    def _finish(self, verdict: Verdict) -> Reply:
        """Record the call before anybody sees it, then return its reply or raise its failure."""
        call = verdict.call
        self.ledger.record(call)
        if verdict.answered:
            self.paid_calls += 1
            self.unknown_cost_calls += call.cost_usd is None
        self.failed_calls += call.failure is not None
        if self._on_call is not None:
            self._on_call(call)
        if call.failure is not None:
            kind = cast(FailureKind, call.failure)
            raise CallFailed(kind, call.failure_message or kind, kind in RETRYABLE, call)
        return Reply(call.reply or "", verdict.parsed, call, from_cache=False)


def _size(asked: Asked) -> tuple[int, int]:
    """Return (prompt tokens at most, reply tokens at most) of a call, by a cheap estimate."""
    schema_tokens = len(str(asked.schema)) // 3 if asked.schema is not None else 0
    return estimate_tokens(asked.messages) + schema_tokens, asked.max_tokens


def _retrieve(task: asyncio.Task[Reply]) -> None:
    """Look at a task's error, so that none is reported as never seen when everybody stopped waiting."""
    if not task.cancelled():
        task.exception()
