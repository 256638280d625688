"""What every importer takes and gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from annotate.schema import (
    Annotation,
    ConsentScope,
    Conversation,
    Criterion,
    Item,
    Participant,
    Profile,
    Rater,
    Scale,
    canonical_hash,
)

Pseudonym = Callable[[str], str]
"""Turns a person's name in the source into the study's pseudonym, `p_` and twelve hexadecimal digits."""

NoteKind = Literal["repaired", "dropped", "warning"]


class Notes(Counter[tuple[NoteKind, str]]):
    """How often each thing was repaired, dropped or warned of: (kind, text) → count."""

    def repaired(self, text: str, count: int = 1) -> None:
        """Count values that were kept in another form."""
        self[("repaired", text)] += count

    def dropped(self, text: str, count: int = 1) -> None:
        """Count values that were not kept."""
        self[("dropped", text)] += count

    def warn(self, text: str, count: int = 1) -> None:
        """Count things that were kept as they are and may surprise."""
        self[("warning", text)] += count


@dataclass(frozen=True)
class Options:
    """What the caller knows and the files may not say."""

    licence: str | None = None
    scopes: tuple[ConsentScope, ...] = ()
    scopes_basis: str | None = None
    scales: Mapping[str, Scale] = field(default_factory=dict)
    map_file: Path | None = None


@dataclass
class Batch:
    """The nouns of one source, with everything that was repaired or dropped on the way."""

    format: str
    files: list[Path] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    participants: list[Participant] = field(default_factory=list)
    conversations: list[Conversation] = field(default_factory=list)
    profiles: list[Profile] = field(default_factory=list)
    scales: list[Scale] = field(default_factory=list)
    raters: list[Rater] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)
    criteria: list[Criterion] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)
    facts: dict[str, str | int] = field(default_factory=dict)


class Importer(Protocol):
    """Knows one format: recognises it by content and reads it."""

    name: str
    title: str

    def detects(self, path: Path) -> bool:
        """Whether the file or folder is of this format; reads little."""

    def read(self, paths: Sequence[Path], pseudonym: Pseudonym, options: Options) -> Batch:
        """Read everything below `paths`; raises `InputError` and writes nothing."""


def item_id(task: str, key: str) -> str:
    """Return the id of an imported item: the same task and key give the same id in every study."""
    return "i_" + canonical_hash([task, key])[:16]


def person_rater(participant: str) -> Rater:
    """Return the rater that a person is, under the same pseudonym."""
    return Rater(id="r_" + participant.removeprefix("p_"), kind="human", name=participant)
