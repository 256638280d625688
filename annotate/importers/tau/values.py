"""Take single values as they are meant: unknown stays unknown, numbers are finite, names are texts."""

from __future__ import annotations

import json
import math
from typing import Any

from annotate.errors import InputError

UNKNOWN = "unknown"
_DEEPEST = 100


def number(value: Any) -> float | None:
    """Return a finite number; None for null, a truth value, a text, NaN and infinity."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def cost(value: Any) -> float | None:
    """Return a cost in US dollars; zero is what an unpriced model is given, hence None, as is a negative one."""
    found = number(value)
    return found if found is not None and found > 0 else None


def count(value: Any) -> int | None:
    """Return a count of tokens, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def name(value: Any) -> str:
    """Return an identity or a model's name as text, whether it is written as a number or a text; else 'unknown'."""
    if isinstance(value, bool) or value is None or isinstance(value, (dict, list)):
        return UNKNOWN
    return str(value).strip() or UNKNOWN


def listed(value: Any) -> list[Any]:
    """Return a list; of what is none, nothing."""
    return value if isinstance(value, list) else []


def text(value: Any) -> tuple[str, bool]:
    """Return the content of a message as text, and whether it had to be put into this form."""
    if value is None:
        return "", False
    if isinstance(value, str):
        return value, False
    if isinstance(value, list) and all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in value):
        return "\n".join(part["text"] for part in value), True
    return json.dumps(value, ensure_ascii=False), True


class Cleaner:
    """Makes JSON values storable: what is too large for a number becomes None and is counted."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.unknown_numbers = 0

    def clean(self, value: Any, depth: int = 0) -> Any:
        """Return the value with None for infinity; raises `InputError` for brackets too deep for a store."""
        if not isinstance(value, (dict, list)):
            return self._plain(value)
        if depth > _DEEPEST:
            raise InputError(f"{self.where}: is nested too deeply to be stored (over {_DEEPEST} brackets). Fix it.")
        if isinstance(value, dict):
            return {
                key: part if type(part) is str else self.clean(part, depth + 1)  # most are texts
                for key, part in value.items()
            }
        return [part if type(part) is str else self.clean(part, depth + 1) for part in value]

    def _plain(self, value: Any) -> Any:
        if type(value) is float and not math.isfinite(value):
            self.unknown_numbers += 1
            return None
        return value
