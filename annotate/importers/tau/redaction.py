"""Keep keys, tokens and passwords out of what is stored: by the name of a setting, and by the look of a value."""

from __future__ import annotations

import re
from typing import Any

REMOVED = "[secret removed]"

_SECRET_NAME = re.compile(
    r"""api_?key | secret | passw | passphrase | passwd | credential | authori[sz]ation | bearer | cookie
      | private_?key | access_?key | account_?key | ^aws_ | ^sas$ | headers?$ | signature
      | (?:^|_)(?:key|token|auth|pat|jwt|dsn)$""",
    re.VERBOSE,
)
_HARMLESS_NAME = re.compile(r"cache_key$|stop_token$|(?:bos|eos|pad|unk|sep|cls|mask|end|start)_token$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_LOOKS_SECRET = re.compile(
    r"""
      \b(?:sk|pk|rk)-[A-Za-z0-9_\-]{12,}
    | \b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,}
    | \b(?:gsk|hf|xai|tgp|r8|nvapi|pplx|csk|fw|glpat|dop|lsv2)[_-][A-Za-z0-9_\-]{16,}
    | \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,}
    | \bAIza[A-Za-z0-9_\-]{20,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{12,}
    | \bxox[abprs]-[A-Za-z0-9\-]{10,}
    | \beyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}(?:\.[A-Za-z0-9_\-]*)?
    | -----BEGIN[A-Z ]*PRIVATE\ KEY-----(?:.|\n)*?(?:-----END[A-Z ]*PRIVATE\ KEY-----|\Z)
    | (?:(?<=[Bb]earer\ )|(?<=BEARER\ ))[A-Za-z0-9_\-.~+/]{16,}=*
    | (?<=[Aa]uthorization:\ [Bb]asic\ )[A-Za-z0-9+/]{8,}=*
    """,
    re.VERBOSE,
)
_PREFIXED = re.compile(
    r"""[_-](?:(?<=[sprg]k[_-])|(?<=hf[_-])|(?<=r8[_-])|(?<=fw[_-])|(?<=xai[_-])|(?<=tgp[_-])|(?<=dop[_-])|(?<=gh[pousr]_)
      |(?<=plx[_-])|(?<=sv2[_-])|(?<=pat[_-])|(?<=api[_-])|(?<=xox[abprs]-))[A-Za-z0-9_\-]{10}""",
    re.VERBOSE,
)
"""Where a secret with a prefix may stand. It begins with a rare character, so that texts without one cost little."""
_MARKS = ("AIza", "AKIA", "ASIA", "eyJ", "PRIVATE KEY", "earer ", "EARER ", "uthorization: ")
"""What the others begin with. Most texts hold none, and asking is much faster than `_LOOKS_SECRET`."""
_AROUND = (24, 64)  # characters before and after a place in which its whole secret is looked for
_URL_SECRET = re.compile(
    r"\b[a-z][a-z0-9+.\-]*://[^/\s:@]*:[^/\s@]+@"
    r"| [?&;](?:[\w\-]*key|[\w\-]*token|sig|signature|secret|password)=[^&\s]{4,}",
    re.IGNORECASE | re.VERBOSE,
)
_URL_USER = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
_URL_MARKS = ("key=", "token=", "sig=", "signature=", "secret=", "password=", "KEY=", "TOKEN=", "Key=", "Token=")
_SHORTEST = 8
"""A shorter secret is not looked for in texts: it would be found in ordinary words."""


class Redactor:
    """Removes secrets and counts them; remembers those it saw, so that they are found where they are repeated."""

    def __init__(self) -> None:
        self.removed = 0
        self._values: list[str] = []

    def settings(self, value: Any) -> Any:
        """Return settings without the entries that are named like secrets or hold what looks like one."""
        if isinstance(value, dict):
            kept = {}
            for name, part in value.items():
                if _names_secret(str(name)):
                    if part not in (None, "", {}, []):
                        self.removed += 1
                        self._remember(part)
                elif not self._drops(part):
                    kept[name] = self.settings(part)
            return kept
        if isinstance(value, list):
            return [self.settings(part) for part in value if not self._drops(part)]
        return self.text(value) if isinstance(value, str) else value

    def may_hold(self, texts: str) -> bool:
        """Whether a text may hold a secret: those that do not are the rule, and need no closer look."""
        for value in self._values:
            if value in texts:
                return True
        before, after = _AROUND
        for place in _PREFIXED.finditer(texts):
            if _LOOKS_SECRET.search(texts, max(0, place.start() - before), place.end() + after):
                return True
        for mark in _MARKS:
            if mark in texts:
                if _LOOKS_SECRET.search(texts):
                    return True
                break
        if "://" in texts and _URL_USER.search(texts):
            return True
        for mark in _URL_MARKS:
            if mark in texts:
                return _URL_SECRET.search(texts) is not None
        return False

    def text(self, text: str) -> str:
        """Return a text with every secret replaced."""
        for value in self._values:
            if value in text:
                self.removed += text.count(value)
                text = text.replace(value, REMOVED)
        text, found = _LOOKS_SECRET.subn(REMOVED, text)
        text, urls = _URL_SECRET.subn(REMOVED, text)
        self.removed += found + urls
        return text

    def tree(self, value: Any) -> Any:
        """Return a JSON value with every secret in its texts replaced, also in the names of members."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(name): self.tree(part) for name, part in value.items()}
        return [self.tree(part) for part in value] if isinstance(value, list) else value

    def _drops(self, value: Any) -> bool:
        """Whether a setting is a secret by its look; a text of several words is kept, without the secret."""
        if not isinstance(value, str) or any(space in value for space in " \n"):
            return False
        if not (_LOOKS_SECRET.search(value) or _URL_SECRET.search(value)):
            return False
        self.removed += 1
        self._remember(value)
        return True

    def _remember(self, value: Any) -> None:
        """Note a secret's value, and what of it follows a word such as Bearer."""
        if isinstance(value, str):
            for part in (value, value.rsplit(" ", 1)[-1]):
                if len(part) >= _SHORTEST and part not in self._values:
                    self._values.append(part)
            self._values.sort(key=len, reverse=True)
        elif isinstance(value, dict):
            for name, part in value.items():
                if _names_secret(str(name)) or (isinstance(part, str) and _LOOKS_SECRET.search(part)):
                    self._remember(part)
        elif isinstance(value, list):
            for part in value:
                if isinstance(part, str) and _LOOKS_SECRET.search(part):
                    self._remember(part)


def _names_secret(name: str) -> bool:
    plain = _CAMEL.sub("_", name).lower().replace("-", "_")
    return bool(_SECRET_NAME.search(plain)) and not _HARMLESS_NAME.search(plain)
