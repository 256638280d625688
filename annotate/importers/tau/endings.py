"""How an episode ended, and whether it can be scored."""

from __future__ import annotations

from typing import Any, NamedTuple

from annotate.importers.tau import values
from annotate.importers.tau.order import TOKENS

INFRASTRUCTURE = "infrastructure_error"
_NOT_THE_USERS = (INFRASTRUCTURE, "unexpected_error")


class Status(NamedTuple):
    """`ok`, `infra_error` or `not_scorable`, and why."""

    status: str
    reason: str | None = None


def end_token(messages: list[dict[str, Any]]) -> str | None:
    """Return what the token means in the user's last message that was shown; None where there is none."""
    for message in reversed(messages):
        if message.get("role") != "user" or message.get("tool_calls"):
            continue
        content = message.get("content")
        if not isinstance(content, str):
            return None
        found = {content.rfind(token): meaning for token, meaning in TOKENS.items() if token in content}
        return found[max(found)] if found else None
    return None


def ended_tau2(raw: dict[str, Any], messages: list[dict[str, Any]]) -> str:
    """Return why a tau2 episode ended: the file says user_stop for all three tokens, so the token counts."""
    reason = values.name(raw.get("termination_reason"))
    if reason not in ("user_stop", values.UNKNOWN):
        return reason
    return end_token(messages) or reason


def ended_tau1(raw: dict[str, Any], messages: list[dict[str, Any]]) -> str:
    """Return why a tau-bench episode ended, which its file does not say: the token, a tool that ends, or neither."""
    if tau1_error(raw) is not None:
        return INFRASTRUCTURE
    token = end_token(messages) if messages and messages[-1].get("role") == "user" else None
    if token is not None:
        return token
    if not messages:
        return values.UNKNOWN
    return "terminate_tool" if messages[-1].get("role") == "tool" else "max_steps"


def tau1_error(raw: dict[str, Any]) -> str | None:
    """Return the kind of error that tau-bench wrote down in place of an episode, or None."""
    info = raw.get("info")
    if not isinstance(info, dict) or "error" not in info or "reward_info" in info:
        return None
    return str(info["error"]).split(":", 1)[0].strip()[:80] or "error"


def status(ended: str, messages: list[dict[str, Any]], *, dummy: bool, ticks: bool) -> Status:
    """Return whether an episode counts: errors of the machinery and episodes without a user do not."""
    if ended in _NOT_THE_USERS:
        return Status("infra_error", ended)
    if not messages:
        return Status("not_scorable", "voice: ticks and no messages" if ticks else "no messages")
    if dummy:
        return Status("not_scorable", "solo: no user took part")
    if not any(message.get("role") == "user" for message in messages):
        return Status("not_scorable", "no message of the user")
    return Status("ok")
