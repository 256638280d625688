"""The one gateway to models: every question that UserCal asks of a model goes through here, and is recorded.

    async with Gateway(MemoryLedger(), prices={}) as gateway:
        reply = await gateway.ask(Request("judge", model, messages, purpose="judge"))

`litellm` is imported in one file, `litellm_transport`, and only when a hosted model is really asked.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulate.llm.checks import as_model_error, preflight
    from simulate.llm.gateway import Gateway
    from simulate.llm.ledger import LayeredLedger, Ledger, MemoryLedger, RecordedLedger, write_recording
    from simulate.llm.probing import ProbeResult, ProbeStep, probe
    from simulate.llm.request import CallFailed, FailureKind, Reply, Request, StreamingTransport, Transport

_HOMES = {
    "CallFailed": "request",
    "FailureKind": "request",
    "Gateway": "gateway",
    "LayeredLedger": "ledger",
    "Ledger": "ledger",
    "MemoryLedger": "ledger",
    "ProbeResult": "probing",
    "ProbeStep": "probing",
    "RecordedLedger": "ledger",
    "Reply": "request",
    "Request": "request",
    "StreamingTransport": "request",
    "Transport": "request",
    "as_model_error": "checks",
    "preflight": "checks",
    "probe": "probing",
    "write_recording": "ledger",
}

__all__ = [
    "CallFailed",
    "FailureKind",
    "Gateway",
    "LayeredLedger",
    "Ledger",
    "MemoryLedger",
    "ProbeResult",
    "ProbeStep",
    "RecordedLedger",
    "Reply",
    "Request",
    "StreamingTransport",
    "Transport",
    "as_model_error",
    "preflight",
    "probe",
    "write_recording",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
