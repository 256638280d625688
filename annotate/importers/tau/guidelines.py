"""The guidelines that a proxy was given: files hold the text for users without tools, whatever the user had."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["with_tools", "without_tools", "custom", "unknown"]

_TOOL = re.compile(r"\btools?\b|\btool calls?\b", re.IGNORECASE)


@dataclass(frozen=True)
class Guidelines:
    """The text, None where it is not known; what kind of text; and whether the file's own was the wrong one."""

    text: str | None
    kind: Kind
    corrected: bool = False

    def config(self) -> dict[str, Any]:
        """Return what a run keeps of them."""
        return {
            "text": self.text,
            "hash": None if self.text is None else text_hash(self.text),
            "kind": self.kind,
            "corrected": self.corrected,
        }


def text_hash(text: str) -> str:
    """Return sha256 over the text with every stretch of white space as one space."""
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "surrogatepass")).hexdigest()


def right_text(in_file: str | None, supplied: str | None, user_has_tools: bool, has_user: bool = True) -> Guidelines:
    """Return the guidelines that the proxy saw.

    Files of tau2 always hold the text for users without tools. Where the user has tools, that is not what the proxy
    saw: the supplied text counts, else the text is not known. A file's text that itself speaks of tools is kept.
    """
    if not has_user:
        return Guidelines(None, "unknown")
    if not user_has_tools:
        if in_file is not None:
            return Guidelines(in_file, "without_tools")
        return Guidelines(supplied, "custom" if supplied is not None else "unknown")
    if in_file is not None and _TOOL.search(in_file):
        return Guidelines(in_file, "with_tools")
    if supplied is not None and in_file is not None and text_hash(supplied) == text_hash(in_file):
        supplied = None  # the same wrong text again
    return Guidelines(supplied, "with_tools", corrected=in_file is not None)
