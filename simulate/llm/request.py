"""What goes into the gateway and what comes out: a request, a reply, a failure, and the seam to the network."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import BaseModel

from annotate.config import ModelConfig
from annotate.schema import Call, Failure, new_id

FailureKind = Literal[
    "timeout",
    "connection",
    "rate_limit",
    "server",
    "refused_setting",
    "refused",
    "authentication",
    "no_such_model",
    "context_exceeded",
    "length",
    "empty",
    "filtered",
    "unparsable",
    "budget",
]
Structured = Literal["schema", "tool", "text"]
OnText = Callable[[str], None]

RETRYABLE: frozenset[str] = frozenset({"timeout", "connection", "rate_limit", "server", "empty", "unparsable"})
"""Failures after which the same question may get an answer when it is asked again."""

NEVER_BILLED: frozenset[str] = frozenset(
    {"rate_limit", "refused_setting", "refused", "authentication", "no_such_model", "context_exceeded", "budget"}
)
"""Failures for which no provider charges: the request was turned down before a model read it."""


@dataclass(frozen=True)
class Request:
    """One question to a model. `model_name` is the key in `[models]`; `replicate` tells equal questions apart."""

    model_name: str
    model: ModelConfig
    messages: tuple[dict[str, str], ...]
    purpose: str
    reply_schema: dict[str, Any] | type[BaseModel] | None = None
    max_tokens: int | None = None
    replicate: int = 0
    prompt: str | None = None
    prompt_hash: str | None = None


@dataclass(frozen=True)
class Reply:
    """A usable answer. `parsed` is the checked JSON of a structured reply; a reply `from_cache` cost nothing now."""

    text: str
    parsed: dict[str, Any] | None
    call: Call
    from_cache: bool


class CallFailed(Exception):
    """A call brought no usable reply: `kind` says why, `call` records it, `retryable`: asking again may help."""

    def __init__(self, kind: FailureKind, message: str, retryable: bool, call: Call) -> None:
        super().__init__(kind, message, retryable, call)
        self.kind = kind
        self.message = message
        self.retryable = retryable
        self.call = call

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"

    def record(self, cell: str | None = None) -> Failure:
        """Return the failure as a record for the store."""
        return Failure(
            id=new_id("f"),
            kind=self.kind,
            message=self.message,
            cell=cell,
            call_id=self.call.id,
            retryable=self.retryable,
        )


@runtime_checkable
class Transport(Protocol):
    """The seam to the network: one method, so that everything above it is tested without one."""

    async def send(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Send an OpenAI-shaped request; return the OpenAI-shaped reply, or raise the provider's error."""
        ...


@runtime_checkable
class StreamingTransport(Transport, Protocol):
    """A transport that can also hand over a reply piece by piece."""

    def stream(self, payload: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Yield OpenAI-shaped chunks; the last may carry `usage`, where the provider sent it."""
        ...
