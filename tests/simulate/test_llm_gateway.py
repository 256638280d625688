"""The gateway against a transport without a network: one call for equal questions, limits, budget, records."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from annotate.config import ModelConfig, PriceConfig
from annotate.errors import BudgetError, ModelError
from annotate.schema import Call
from simulate.llm import CallFailed, Gateway, MemoryLedger, Reply, Request

OWN = "openai/own"
PRICE = {OWN: PriceConfig(input_usd_per_million=1000, output_usd_per_million=2000, as_of="2026-05-01")}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


class HttpError(Exception):
    """An error as providers' clients raise it."""

    def __init__(self, status_code: int, message: str = "no", headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.headers = headers


def reply(text: str | None = "hello", reason: str = "stop", usage: Any = "default", **message: Any) -> dict[str, Any]:
    if usage == "default":
        usage = {"prompt_tokens": 10, "completion_tokens": 5}
    return {"choices": [{"message": {"content": text, **message}, "finish_reason": reason}], "usage": usage}


class Fake:
    """Answers with what it is given, in order; the last answer repeats. An exception is raised, a callable called."""

    def __init__(self, *answers: Any, seconds: float = 0.0) -> None:
        self.answers = list(answers) or [reply()]
        self.seconds = seconds
        self.sent: list[dict[str, Any]] = []
        self.running = 0
        self.most_running = 0

    async def send(self, payload: dict[str, Any]) -> dict[str, Any]:
        self.sent.append(payload)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.running -= 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return dict(answer(payload) if callable(answer) else answer)


def config(**changes: Any) -> ModelConfig:
    return ModelConfig(**{"model": OWN, "api_base": "http://127.0.0.1:1/v1", "max_tokens": 100, **changes})


def question(text: str = "hi", model: ModelConfig | None = None, **changes: Any) -> Request:
    values: dict[str, Any] = {
        "model_name": "judge",
        "model": model or config(),
        "messages": ({"role": "user", "content": text},),
        "purpose": "judge",
        **changes,
    }
    return Request(**values)


def gateway(fake: Fake, ledger: MemoryLedger | None = None, **options: Any) -> Gateway:
    return Gateway(ledger or MemoryLedger(), transport=fake, **{"prices": PRICE, "backoff_seconds": 0.001, **options})


def run(fake: Fake, body: Callable[[Gateway], Any], ledger: MemoryLedger | None = None, **options: Any) -> Any:
    async def inside() -> Any:
        async with gateway(fake, ledger, **options) as opened:
            return await body(opened)

    return asyncio.run(inside())


def ask(fake: Fake, request: Request | None = None, ledger: MemoryLedger | None = None, **options: Any) -> Reply:
    answer: Reply = run(fake, lambda opened: opened.ask(request or question()), ledger, **options)
    return answer


def failure(fake: Fake, request: Request | None = None, ledger: MemoryLedger | None = None) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        ask(fake, request, ledger)
    return caught.value


# ---------------------------------------------------------------------------------------------------- single flight


def test_fifty_equal_questions_at_once_make_one_call() -> None:
    fake, ledger = Fake(seconds=0.02), MemoryLedger()

    async def body(opened: Gateway) -> list[Reply]:
        return list(await asyncio.gather(*(opened.ask(question()) for _ in range(50))))

    replies = run(fake, body, ledger)
    assert len(fake.sent) == len(ledger.calls) == 1
    assert {r.text for r in replies} == {"hello"}
    assert [r.from_cache for r in replies].count(False) == 1, "the cost of one call must not be counted fifty times"


def test_a_failed_call_is_shared_by_those_who_wait_and_poisons_nobody_later() -> None:
    fake = Fake(HttpError(400, "bad"), reply("better"), seconds=0.01)

    async def body(opened: Gateway) -> tuple[list[Any], Reply]:
        first = await asyncio.gather(*(opened.ask(question()) for _ in range(5)), return_exceptions=True)
        return first, await opened.ask(question())

    first, later = run(fake, body)
    assert [type(error) for error in first] == [CallFailed] * 5
    assert later.text == "better" and not later.from_cache
    assert len(fake.sent) == 2


def test_one_waiter_that_gives_up_does_not_stop_the_others() -> None:
    fake, ledger = Fake(seconds=0.05), MemoryLedger()

    async def body(opened: Gateway) -> list[Any]:
        tasks = [asyncio.create_task(opened.ask(question())) for _ in range(3)]
        await asyncio.sleep(0.01)
        tasks[0].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    results = run(fake, body, ledger)
    assert isinstance(results[0], asyncio.CancelledError)
    assert [r.text for r in results[1:]] == ["hello", "hello"]
    assert len(ledger.calls) == 1


def test_when_everybody_gives_up_the_call_stops_nothing_is_recorded_and_the_next_one_is_not_poisoned() -> None:
    fake, ledger = Fake(seconds=0.05), MemoryLedger()

    async def body(opened: Gateway) -> Reply:
        tasks = [asyncio.create_task(opened.ask(question())) for _ in range(3)]
        await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        again = asyncio.create_task(opened.ask(question()))
        await asyncio.gather(*tasks, return_exceptions=True)
        assert fake.running <= 1 and not ledger.calls
        return await again

    assert run(fake, body, ledger, budget_usd=1.0).text == "hello"
    assert len(ledger.calls) == 1


def test_who_gives_up_waits_until_the_call_has_stopped() -> None:
    class Slow(Fake):
        async def send(self, payload: dict[str, Any]) -> dict[str, Any]:
            try:
                return await super().send(payload)
            finally:
                self.running += 1
                await asyncio.sleep(0.02)
                self.running -= 1

    async def body(opened: Gateway) -> int:
        task = asyncio.create_task(opened.ask(question()))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return fake.running

    fake = Slow(seconds=30)
    assert run(fake, body) == 0


def test_closing_the_gateway_stops_calls_under_way() -> None:
    fake = Fake(seconds=30)

    async def body() -> list[Any]:
        opened = gateway(fake)
        task = asyncio.create_task(opened.ask(question()))
        await asyncio.sleep(0.01)
        await opened.aclose()
        return [*await asyncio.gather(task, return_exceptions=True)]

    assert isinstance(asyncio.run(body())[0], asyncio.CancelledError)
    assert fake.running == 0


# ------------------------------------------------------------------------------------------------------- concurrency


def test_no_more_calls_run_at_once_than_a_model_allows_and_models_do_not_wait_for_each_other() -> None:
    fake = Fake(seconds=0.01)
    narrow, other = config(concurrency=3), config(concurrency=2, model="openai/other")

    async def body(opened: Gateway) -> None:
        requests = [question(str(i), narrow) for i in range(12)]
        requests += [question(str(i), other, model_name="user") for i in range(12)]
        await asyncio.gather(*(opened.ask(r) for r in requests))

    run(fake, body)
    assert fake.most_running == 5


# ------------------------------------------------------------------------------------------------------------ retries


@pytest.mark.parametrize("status", [408, 429, 500, 503, 529])
def test_a_passing_fault_is_tried_again_and_the_attempts_are_counted(status: int) -> None:
    answer = ask(Fake(HttpError(status), HttpError(status), reply()))
    assert answer.call.attempts == 3 and answer.call.failure is None


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (HttpError(400, "Unsupported value: 'temperature' does not support 0.0 with this model."), "refused_setting"),
        (HttpError(400, "`temperature` and `top_p` cannot both be specified for this model."), "refused_setting"),
        (HttpError(400, "messages: roles must alternate"), "refused"),
        (HttpError(400, "This model's maximum context length is 8192 tokens"), "context_exceeded"),
        (HttpError(400, "blocked by the content management policy"), "filtered"),
        (HttpError(401, "who are you"), "authentication"),
        (HttpError(403, "not yours"), "authentication"),
        (HttpError(404, "no such thing"), "no_such_model"),
        (HttpError(429, "insufficient_quota: you exceeded your current quota"), "budget"),
    ],
)
def test_a_lasting_fault_is_sent_once(error: HttpError, kind: str) -> None:
    fake, ledger = Fake(error), MemoryLedger()
    failed = failure(fake, ledger=ledger)
    assert (failed.kind, failed.call.attempts, len(fake.sent)) == (kind, 1, 1)
    assert not failed.retryable
    assert [call.failure for call in ledger.calls] == [kind]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (HttpError(503), "server"),
        (HttpError(500, "Connection error."), "connection"),
        (ConnectionResetError("gone"), "connection"),
        (TimeoutError(), "timeout"),
        (HttpError(429, "RESOURCE_EXHAUSTED: you exceeded your current quota, please retry in 7 s"), "rate_limit"),
    ],
)
def test_retries_end_where_the_model_says(error: Exception, kind: str) -> None:
    fake = Fake(error)
    failed = failure(fake, question(model=config(retries=2)))
    assert (failed.kind, failed.call.attempts, len(fake.sent), failed.retryable) == (kind, 3, 3, True)


def test_a_silent_model_times_out() -> None:
    failed = failure(Fake(seconds=30), question(model=config(timeout_seconds=0.02, retries=1)))
    assert (failed.kind, failed.call.attempts) == ("timeout", 2)
    assert "0.02 s" in failed.message


def test_retry_after_is_honoured_by_all_calls_to_the_model() -> None:
    refused_at: list[float] = []
    sent_at: list[float] = []

    def answer(payload: dict[str, Any]) -> dict[str, Any]:
        if not refused_at:
            refused_at.append(time.monotonic())
            raise HttpError(429, headers={"Retry-After": "0.3"})
        sent_at.append(time.monotonic())
        return reply()

    async def body(opened: Gateway) -> None:
        first = asyncio.create_task(opened.ask(question("a")))
        while not refused_at:
            await asyncio.sleep(0)
        await asyncio.gather(first, *(opened.ask(question(text)) for text in "bcd"))

    run(Fake(answer), body)
    assert len(sent_at) == 4 and min(sent_at) - refused_at[0] >= 0.29


def test_an_hour_of_retry_after_is_cut_to_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await real(0)

    async def body(opened: Gateway) -> None:
        monkeypatch.setattr("simulate.llm.gateway.asyncio.sleep", sleep)
        monkeypatch.setattr("simulate.llm.gateway._Lane.rest", lambda self: real(0))
        await opened.ask(question())

    run(Fake(HttpError(429, headers={"retry-after": "3600"}), reply()), body)
    assert 60 <= max(slept) <= 66


def test_an_error_in_a_program_is_no_failed_call_and_leaves_no_record() -> None:
    ledger = MemoryLedger()
    with pytest.raises(ZeroDivisionError):
        ask(Fake(ZeroDivisionError("oops")), ledger=ledger)
    assert not ledger.calls


# ------------------------------------------------------------------------------------------------- unusable replies


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        (reply("half a sen", reason="length"), "length"),
        (reply("", reason="content_filter"), "filtered"),
        (reply("partly", reason="content_filter"), "filtered"),
        (reply(None, refusal="I cannot"), "filtered"),
        (reply(""), "empty"),
        (reply(" \n"), "empty"),
        (reply(None), "empty"),
        ({"choices": [], "usage": None}, "empty"),
        ({}, "empty"),
    ],
)
def test_an_unusable_reply_is_paid_recorded_and_asked_again(bad: dict[str, Any], kind: str) -> None:
    ledger = MemoryLedger()
    assert failure(Fake(bad), ledger=ledger).kind == kind
    assert ledger.calls[0].failure == kind
    if bad.get("usage"):
        assert ledger.calls[0].cost_usd == pytest.approx(0.02)
    fake = Fake()
    assert ask(fake, ledger=ledger).text == "hello"
    assert len(fake.sent) == 1


def test_a_structured_reply_is_good_only_after_it_fits_its_schema() -> None:
    ledger, request = MemoryLedger(), question(reply_schema=SCHEMA)
    failed = failure(Fake(reply('{"n": "seven"}')), request, ledger)
    assert failed.kind == "unparsable" and "'n'" in failed.message
    assert failed.call.reply == '{"n": "seven"}', "what came is kept"
    fake = Fake(reply('{"n": 7}'))
    assert ask(fake, request, ledger).parsed == {"n": 7}
    again = ask(Fake(HttpError(500)), request, ledger)
    assert again.from_cache and again.parsed == {"n": 7}


# --------------------------------------------------------------------------------------------------- cache and ledger


def test_a_resumed_run_pays_nothing_for_what_is_there() -> None:
    ledger = MemoryLedger()

    async def body(opened: Gateway) -> Gateway:
        await asyncio.gather(*(opened.ask(question(str(i))) for i in range(20)))
        return opened

    first = run(Fake(), body, ledger)
    fake = Fake()
    second = run(fake, body, ledger, budget_usd=0.0)
    assert first.paid_calls == 20 and first.spent_usd == pytest.approx(20 * 0.02)
    assert (second.paid_calls, second.cached_calls, second.spent_usd, fake.sent) == (0, 20, 0.0, [])


def test_the_call_is_recorded_before_the_caller_sees_it() -> None:
    ledger = MemoryLedger()
    seen: list[tuple[str, int]] = []
    ask(Fake(), ledger=ledger, on_call=lambda call: seen.append((call.id, len(ledger.calls))))
    assert seen == [(ledger.calls[0].id, 1)]


@pytest.mark.parametrize(
    "changed",
    [
        question(model=config(model="openai/another")),
        question(model=config(api_base="http://127.0.0.1:2/v1")),
        question(model=config(temperature=0.0)),
        question(model=config(seed=3)),
        question(model=config(params={"top_k": 4})),
        question(max_tokens=7),
        question(replicate=1),
        question("hi "),
        question(reply_schema=SCHEMA),
        question(messages=({"role": "system", "content": "hi"},)),
    ],
)
def test_what_shapes_the_answer_is_in_the_key(changed: Request) -> None:
    assert _key(changed) != _key(question())


@pytest.mark.parametrize(
    "changed",
    [
        question(model=config(timeout_seconds=3)),
        question(model=config(retries=0)),
        question(model=config(concurrency=99)),
        question(purpose="something else"),
        question(model_name="other"),
        question(prompt="judge", prompt_hash="abc"),
        question(model=config(structured="tool")),
    ],
)
def test_what_only_fetches_the_answer_is_not(changed: Request) -> None:
    assert _key(changed) == _key(question())


def test_the_way_of_a_structured_reply_is_in_the_key() -> None:
    by_tool = question(model=config(structured="tool"), reply_schema=SCHEMA)
    assert _key(by_tool) != _key(question(reply_schema=SCHEMA))


def _key(request: Request) -> str:
    answer = reply('{"n": 1}')
    return ask(Fake(answer), request).call.key


def test_a_stored_reply_that_does_not_fit_its_schema_is_asked_for_again() -> None:
    ledger, request = MemoryLedger(), question(reply_schema=SCHEMA)
    good = ask(Fake(reply('{"n": 7}')), request, ledger).call
    ledger.record(good.model_copy(update={"reply": '{"n": "seven"}'}))
    assert ask(Fake(reply('{"n": 8}')), request, ledger).parsed == {"n": 8}


def test_offline_answers_from_the_ledger_only() -> None:
    ledger = MemoryLedger()
    ask(Fake(), ledger=ledger)
    fake = Fake()
    assert ask(fake, ledger=ledger, offline=True).from_cache
    with pytest.raises(ModelError, match="not asked"):
        ask(fake, question("new"), ledger, offline=True)
    assert not fake.sent


# ------------------------------------------------------------------------------------------------------------- budget


def test_nothing_is_sent_that_the_budget_does_not_cover() -> None:
    fake = Fake()
    with pytest.raises(BudgetError, match=r"\$0\.10 does not cover"):
        ask(fake, budget_usd=0.10)  # 100 tokens of reply alone may cost 0.20
    assert not fake.sent


def test_concurrent_calls_never_spend_more_than_the_budget() -> None:
    fake = Fake(reply(usage={"prompt_tokens": 10, "completion_tokens": 100}), seconds=0.002)

    async def body(opened: Gateway) -> tuple[list[Any], float]:
        asks = (opened.ask(question(str(i), config(concurrency=50))) for i in range(50))
        return await asyncio.gather(*asks, return_exceptions=True), opened.spent_usd

    results, spent = run(fake, body, budget_usd=1.0)
    refused = [r for r in results if isinstance(r, BudgetError)]
    assert spent <= 1.0 and len(fake.sent) == 4 and len(refused) == 46


def test_a_call_waits_for_what_calls_under_way_give_back() -> None:
    fake = Fake(reply(usage={"prompt_tokens": 1, "completion_tokens": 1}), seconds=0.002)

    async def body(opened: Gateway) -> float:
        await asyncio.gather(*(opened.ask(question(str(i))) for i in range(10)))
        return opened.spent_usd

    assert run(fake, body, budget_usd=0.30) == pytest.approx(10 * 0.003), "one at a time, but all ten fit"


def test_the_number_of_calls_is_limited_and_cached_ones_do_not_count() -> None:
    ledger = MemoryLedger()
    ask(Fake(), question("old"), ledger)

    async def body(opened: Gateway) -> list[Any]:
        texts = ("old", "a", "b", "c")
        return [await asyncio.gather(opened.ask(question(t)), return_exceptions=True) for t in texts]

    fake = Fake()
    results = run(fake, body, ledger, max_calls=2)
    assert isinstance(results[3][0], BudgetError) and len(fake.sent) == 2


def test_money_is_given_back_when_a_call_fails() -> None:
    async def body(opened: Gateway) -> Reply:
        with pytest.raises(CallFailed):
            await opened.ask(question("a"))
        return await opened.ask(question("b"))

    assert run(Fake(HttpError(400), reply()), body, budget_usd=0.30).text == "hello"


def test_an_unknown_price_is_unknown_and_never_zero() -> None:
    async def body(opened: Gateway) -> tuple[Call, Gateway]:
        return (await opened.ask(question())).call, opened

    call, opened = run(Fake(), body, prices={}, budget_usd=0.01)
    assert call.cost_usd is None and call.cost_basis == "unknown"
    assert opened.unknown_cost_calls == 1 and opened.spent_usd == 0.0


def test_a_price_without_token_counts_is_unknown_too() -> None:
    for usage in (None, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": 5}):
        call = ask(Fake(reply(usage=usage))).call
        assert call.cost_usd is None and call.cost_basis == "unknown"


def test_a_refused_call_cost_nothing_and_a_lost_one_nobody_knows() -> None:
    assert failure(Fake(HttpError(400))).call.cost_usd == 0.0
    assert failure(Fake(HttpError(500)), question(model=config(retries=0))).call.cost_usd is None


# ------------------------------------------------------------------------------------------------------- what is sent


def test_default_settings_are_not_sent_and_what_was_sent_is_recorded() -> None:
    fake = Fake()
    call = ask(fake, question(model=config(temperature=0.0, params={"reasoning_effort": "low"}))).call
    payload = fake.sent[0]
    assert payload["temperature"] == 0.0 and "top_p" not in payload and "seed" not in payload
    assert payload["timeout"] == 120 and payload["max_tokens"] == 100
    assert call.sent == {
        "model": OWN,
        "temperature": 0.0,
        "reasoning_effort": "low",
        "max_tokens": 100,
        "api_base": "http://127.0.0.1:1/v1",
    }
    assert call.request["messages"] == [{"role": "user", "content": "hi"}]


def test_params_cannot_undo_what_the_gateway_decides() -> None:
    with pytest.raises(ModelError, match=r"\[models\.judge\] params: 'num_retries'"):
        ask(Fake(), question(model=config(params={"num_retries": 9})))


def test_lone_surrogates_are_replaced_and_pairs_joined() -> None:
    fake = Fake(reply("cut \ud83d"))
    text = "broken \ud83d, a pair \ud83d\ude00, é, 字"
    answer = ask(fake, question(text))
    assert fake.sent[0]["messages"][0]["content"] == "broken \ufffd, a pair 😀, é, 字"
    assert answer.text == "cut \ufffd"
    answer.call.model_dump_json().encode("utf-8")


def test_a_secret_of_the_environment_in_a_message_is_sent_and_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "canary-0123456789")
    fake = Fake(reply("you said canary-0123456789"))
    call = ask(fake, question("my key is canary-0123456789", config(params={"user": "canary-0123456789"}))).call
    assert fake.sent[0]["messages"][0]["content"] == "my key is canary-0123456789"
    assert "canary-0123456789" not in call.model_dump_json() and call.reply == "you said [redacted]"


def test_a_failure_survives_a_process_boundary() -> None:
    failed = failure(Fake(HttpError(404, "gone")))
    copy = pickle.loads(pickle.dumps(failed))
    assert (copy.kind, copy.message, copy.call) == (failed.kind, failed.message, failed.call)
    assert copy.record(cell="cell_1").call_id == failed.call.id


# ---------------------------------------------------------------------------------------------------------- streaming


class FakeStream(Fake):
    """Streams its first answers' chunks."""

    def __init__(self, *chunks: dict[str, Any] | Exception) -> None:
        super().__init__()
        self.chunks = chunks

    async def stream(self, payload: dict[str, Any]) -> Any:
        self.sent.append(payload)
        for chunk in self.chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk


def piece(text: str | None, reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": text}, "finish_reason": reason}]}


def test_a_streamed_reply_is_told_piece_by_piece_and_recorded_whole() -> None:
    ledger = MemoryLedger()
    told: list[str] = []
    usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
    fake = FakeStream(piece("he"), piece("llo"), piece(None, "stop"), usage)
    answer = run(fake, lambda opened: opened.ask(question(), told.append), ledger)
    assert told == ["he", "llo"] and answer.text == ledger.calls[0].reply == "hello"
    assert answer.call.cost_usd == pytest.approx(0.007)
    told.clear()
    run(fake, lambda opened: opened.ask(question(), told.append), ledger)
    assert told == ["hello"], "a cached reply is told whole"


def test_a_stream_that_breaks_after_words_were_told_is_not_begun_again() -> None:
    told: list[str] = []
    fake = FakeStream(piece("he"), ConnectionResetError("gone"))
    with pytest.raises(CallFailed) as caught:
        run(fake, lambda opened: opened.ask(question(), told.append))
    assert caught.value.kind == "connection" and told == ["he"] and len(fake.sent) == 1


def test_a_transport_without_streaming_tells_the_whole_text() -> None:
    told: list[str] = []
    run(Fake(), lambda opened: opened.ask(question(), told.append))
    assert told == ["hello"]


# -------------------------------------------------------------------------------------------------------- the package


def test_every_public_name_is_there_twice_and_importing_them_loads_nothing_heavy() -> None:
    script = (
        "import sys, simulate.llm as llm\n"
        "for _ in range(2):\n"
        "    found = [getattr(llm, name) for name in llm.__all__]\n"
        "    assert not any(type(value).__name__ == 'module' for value in found), found\n"
        "heavy = {'litellm', 'openai', 'jsonschema', 'sqlmodel', 'pandas', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).resolve().parents[2], timeout=60)
