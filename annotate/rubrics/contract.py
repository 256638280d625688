"""The contract of a simulated user on one task: its blueprint, the guidelines it was shown, and the tools it had."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from annotate.importers.tau.guidelines import text_hash
from annotate.schema import Item, canonical_hash

Source = Literal["blueprint", "guidelines", "tools"]
PERSONA = "persona"
_UPFRONT = re.compile(r"\b(?:up\s?front|all (?:the |your |of your )?details (?:at once|immediately))\b", re.IGNORECASE)


@dataclass(frozen=True)
class Tool:
    """A tool that the user has: `kind` is read, write, or empty where nobody says."""

    name: str
    kind: str = ""
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contract:
    """What a user of one task was given.

    item: the task's item id. parts: the blueprint's parts by name, in order; a blueprint that is one text has one part,
    `text`, and a part that is null is left out. guidelines: the text that was shown; None where it is not known.
    """

    item: str
    domain: str
    parts: Mapping[str, str]
    guidelines: str | None = None
    tools: Sequence[Tool] = ()

    @cached_property
    def blueprint(self) -> str:
        """The whole blueprint as one text, part by part."""
        return "\n".join(self.parts.values())

    @property
    def structured(self) -> bool:
        """Whether the blueprint says apart why the user calls, what it knows and how it should act."""
        return "reason_for_call" in self.parts

    @property
    def upfront(self) -> bool:
        """Whether the blueprint orders the user to give its details at once, which inverts the rule of disclosure."""
        return bool(_UPFRONT.search(self.blueprint))

    def text(self, source: Source) -> str:
        """Return the text of a source; tools are their names and arguments, one a line."""
        if source == "blueprint":
            return self.blueprint
        if source == "guidelines":
            return self.guidelines or ""
        return "\n".join(f"{tool.name}({', '.join(tool.arguments)})" for tool in self.tools)

    @property
    def blueprint_hash(self) -> str:
        """What the blueprint is known by, however it is spaced."""
        return canonical_hash({name: " ".join(text.split()) for name, text in self.parts.items()})

    @property
    def guidelines_hash(self) -> str | None:
        """What the guidelines are known by; None where they are not known."""
        return None if self.guidelines is None else text_hash(self.guidelines)

    @property
    def tools_hash(self) -> str:
        """What the tools are known by, in whatever order."""
        return canonical_hash(sorted([tool.name, sorted(tool.arguments)] for tool in self.tools))


def contract_of(item: Item, *, guidelines: str | None = None, tools: Sequence[Tool] = ()) -> Contract | None:
    """Return the contract of an item; None where its blueprint is not known."""
    raw: Any = item.private.get("blueprint")
    if isinstance(raw, str):
        raw = {"text": raw}
    if not isinstance(raw, Mapping):
        return None
    told = ((str(name), text) for name, text in raw.items() if name != "domain")
    parts = {name: text for name, text in told if isinstance(text, str) and text.strip()}
    domain = item.tags.get("domain") or item.task.removeprefix("tau_")
    return Contract(item.id, str(domain), parts, guidelines, tuple(tools)) if parts else None
