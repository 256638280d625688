"""Keep secrets out of records and messages: values of secret environment variables, and whatever looks like a key."""

from __future__ import annotations

import os
import re
from typing import Any

HIDDEN = "[redacted]"
_SECRET_NAME = re.compile(r"(KEY|TOKEN|PASSWD|CREDENTIAL)S?$|_KEY_|API_?KEY|SECRET|PASSWORD", re.IGNORECASE)
_LOOKS_SECRET = re.compile(
    r"""
      \b(?:sk|pk|rk)-[A-Za-z0-9*_\-]{6,}            # OpenAI, Anthropic and those who copy them, also half masked
    | \b(?:gsk|hf|xai|tgp|r8|nvapi|pplx|csk|fw)[_-][A-Za-z0-9_\-]{12,}
    | \bgh[pousr]_[A-Za-z0-9]{20,}
    | \bAIza[A-Za-z0-9_\-]{20,}                      # Google
    | \b(?:AKIA|ASIA)[A-Z0-9]{12,}                   # Amazon
    | \beyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}(?:\.[A-Za-z0-9_\-]*)?
    """,
    re.VERBOSE,
)
_NAMED_SECRET = re.compile(
    r"""(\bbearer\s+|\b(?:api[_-]?key|access[_-]?token|auth[_-]?token|secret|password|authorization)
        ["']?\s*[:=]\s*["']?(?:bearer\s+)?)([A-Za-z0-9_\-.~+/*]{6,}=*)""",
    re.VERBOSE | re.IGNORECASE,
)
_CREDENTIALS_IN_URL = re.compile(r"(\b[a-z][a-z0-9+.\-]*://)[^/\s:@]+:[^/\s@]+@", re.IGNORECASE)
_SECRET_FIELDS = frozenset({"api_key", "apikey", "x-api-key", "authorization", "proxy-authorization", "api-key"})


def environment_secrets() -> list[str]:
    """Return the values of environment variables named like secrets, longest first; short values are no secrets."""
    found = {value for name, value in os.environ.items() if len(value) >= 12 and _SECRET_NAME.search(name)}
    return sorted(found, key=len, reverse=True)


def hide_values(text: str, secrets: list[str]) -> str:
    """Replace every occurrence of the given secrets; everything else stays as it is."""
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, HIDDEN)
    return text


def redact(text: str, secrets: list[str] | None = None) -> str:
    """Replace known secrets and whatever looks like a key; for messages and settings, not for what people wrote."""
    text = hide_values(text, environment_secrets() if secrets is None else secrets)
    text = _CREDENTIALS_IN_URL.sub(rf"\1{HIDDEN}@", text)
    text = _LOOKS_SECRET.sub(HIDDEN, text)
    return _NAMED_SECRET.sub(rf"\1{HIDDEN}", text)


def redact_tree(value: Any, secrets: list[str]) -> Any:
    """Apply `redact` to every text in a tree of dicts and lists; fields that hold credentials are hidden whole."""
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, dict):
        return {
            key: HIDDEN if str(key).lower() in _SECRET_FIELDS else redact_tree(inner, secrets)
            for key, inner in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [redact_tree(inner, secrets) for inner in value]
    return value
