"""Patterns of wording, written as lists of alternatives."""

from __future__ import annotations

import re


def either(*alternatives: str, flags: re.RegexFlag = re.IGNORECASE) -> re.Pattern[str]:
    """Return a pattern that any of the alternatives matches, case ignored; apostrophes are straight ones."""
    return re.compile("|".join(alternatives), flags)
