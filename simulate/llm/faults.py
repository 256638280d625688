"""What an exception of a provider means: which kind of failure it is, and whether asking again can help."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from annotate.errors import UserCalError
from simulate.llm.redact import redact
from simulate.llm.request import FailureKind

_MESSAGE_CHARACTERS = 500

# By the names of the exception's classes (litellm's and openai's): neither has to be imported to tell them apart.
_BY_CLASS: dict[str, FailureKind] = {
    "UnsupportedParamsError": "refused_setting",
    "ContextWindowExceededError": "context_exceeded",
    "ContentPolicyViolationError": "filtered",
    "JSONSchemaValidationError": "unparsable",
    "AuthenticationError": "authentication",
    "PermissionDeniedError": "authentication",
    "NotFoundError": "no_such_model",
    "RateLimitError": "rate_limit",
    "Timeout": "timeout",
    "APITimeoutError": "timeout",
    "TimeoutError": "timeout",
    "TimeoutException": "timeout",
    "ServerTimeoutError": "timeout",
}
_CONNECTION_CLASSES = frozenset({"APIConnectionError", "ConnectionError", "OSError", "ClientError", "TransportError"})
_BY_STATUS: dict[int, FailureKind] = {
    401: "authentication",
    403: "authentication",
    404: "no_such_model",
    408: "timeout",
    413: "context_exceeded",
    429: "rate_limit",
}
_CONNECTION_TEXT = re.compile(
    r"connection error|cannot connect|connection (?:refused|reset|aborted)|server disconnected|name or service not",
    re.I,
)
_CONTEXT_TEXT = re.compile(
    r"context[ _](?:length|window|size)|maximum context|prompt is too long|input is too long|too many (?:input )?token",
    re.I,
)
_MODEL_TEXT = re.compile(
    r"model_not_found|llm provider not provided|no such model|unknown model|model .{0,80}(?:does not exist|not found)"
    r"|(?:invalid|not a valid) model",
    re.I,
)
_FILTER_TEXT = re.compile(r"content[ _](?:filter|policy|management)|responsible ?ai|safety (?:system|filter)", re.I)
_KEY_TEXT = re.compile(r"(?:invalid|incorrect|missing|no) api[ _-]?key|api[ _-]?key (?:not|is missing|must be)", re.I)
_QUOTA_TEXT = re.compile(r"insufficient_quota|exceeded your current quota|credit balance is too low|billing_hard", re.I)
_PASSING_TEXT = re.compile(r"per[ _]?minute|per[ _]?second|retry[ _]?(?:in|delay|after)|resource_exhausted", re.I)
_REFUSAL = re.compile(
    r"unsupported|not support|deprecated|cannot both|not allowed|not permitted|only the default|unrecognized|unknown"
    r"|extra inputs|not available|must be 1\b|may only be",
    re.I,
)
_SETTINGS = ("temperature", "top_p", "seed", "response_format", "json_schema", "tool_choice", "tools", "max_tokens",
             "max_completion_tokens", "reasoning_effort", "stream_options")


@dataclass(frozen=True)
class Fault:
    """Why a call brought no answer, whether the same call may be sent again, and how long the provider asks to wait."""

    kind: FailureKind
    message: str
    may_retry: bool
    wait_seconds: float | None = None


def classify(error: Exception) -> Fault | None:
    """Return what a transport's exception means, or None where it is no failure of a call but an error in a program."""
    if isinstance(error, UserCalError):
        return None
    names = {cls.__name__ for cls in type(error).__mro__}
    status = _status_of(error)
    kind = _kind(error, names, status)
    if kind is None:
        return None
    message = short(str(error) or type(error).__name__)
    may_retry = kind in ("timeout", "connection", "rate_limit", "server")
    return Fault(kind, message, may_retry, _wait_seconds(error) if may_retry else None)


def short(message: str) -> str:
    """Return a message fit for a record: on one line, without secrets, at most 500 characters."""
    line = " ".join(redact(message).split())
    return line if len(line) <= _MESSAGE_CHARACTERS else line[: _MESSAGE_CHARACTERS - 1] + "…"


def refused_setting(message: str, sent: Mapping[str, Any]) -> str | None:
    """Return the name of the sent setting that a provider's message turns down, or None."""
    for name in (*_SETTINGS, *sent):
        known = name in sent or name in ("json_schema", "tools", "max_completion_tokens")
        if known and re.search(rf"\b{name}\b", message) and _REFUSAL.search(message):
            return name
    return None


def _kind(error: Exception, names: set[str], status: int | None) -> FailureKind | None:
    text = f"{error} {getattr(error, 'code', '') or ''}"
    for name, kind in _BY_CLASS.items():
        if name in names:
            return _quota(kind, text)
    if status is not None:
        if status in _BY_STATUS:
            return _quota(_BY_STATUS[status], text)
        if status >= 500:
            return "connection" if "APIConnectionError" in names or _CONNECTION_TEXT.search(text) else "server"
        if status >= 400:
            return _bad_request(text)
    return "connection" if names & _CONNECTION_CLASSES else None


def _quota(kind: FailureKind, text: str) -> FailureKind:
    """Used-up credit comes as a rate limit, and waiting does not bring it back."""
    used_up = kind == "rate_limit" and _QUOTA_TEXT.search(text) and not _PASSING_TEXT.search(text)
    return "budget" if used_up else kind


def _bad_request(text: str) -> FailureKind:
    if _CONTEXT_TEXT.search(text):
        return "context_exceeded"
    if _FILTER_TEXT.search(text):
        return "filtered"
    if _QUOTA_TEXT.search(text):
        return "budget"
    if _KEY_TEXT.search(text):
        return "authentication"
    if refused_setting(text, dict.fromkeys(_SETTINGS)):
        return "refused_setting"
    return "no_such_model" if _MODEL_TEXT.search(text) else "refused"


def _status_of(error: Exception) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "status"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool) and value >= 400:
                return value
    return None


def _wait_seconds(error: Exception) -> float | None:
    """Return what the `Retry-After` header asks for, in seconds from now; None where it is absent or unreadable."""
    for holder in (getattr(error, "response", None), error):
        headers = getattr(holder, "headers", None) or getattr(holder, "litellm_response_headers", None)
        if not headers:
            continue
        lowered = {str(name).lower(): str(value) for name, value in dict(headers).items()}
        if lowered.get("retry-after-ms", "").strip().isdigit():
            return int(lowered["retry-after-ms"]) / 1000
        if "retry-after" in lowered:
            return _read_retry_after(lowered["retry-after"].strip())
    return None


def _read_retry_after(value: str) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
        except (TypeError, ValueError):
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.now(UTC)).total_seconds()
    return None if math.isnan(seconds) else min(max(seconds, 0.0), 86_400.0)
