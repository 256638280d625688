"""What every importer takes and gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeGuard

from annotate.schema import (
    Annotation,
    ConsentScope,
    Conversation,
    Criterion,
    Item,
    Participant,
    Profile,
    Rater,
    Run,
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
    user_model: str | None = None
    """The model that played the user, for files that do not say."""
    proxy: str | None = None
    """What to call the simulated user, in place of its model."""
    guidelines: str | None = None
    """The text that simulated users with tools were given."""
    tasks: Path | None = None
    """A file of tasks, for results that hold none."""


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
    runs: list[Run] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)
    facts: dict[str, str | int] = field(default_factory=dict)


class Format(Protocol):
    """Knows one format and recognises it by content."""

    name: str
    title: str

    def detects(self, path: Path) -> bool:
        """Whether the file or folder is of this format; reads little."""


class Importer(Format, Protocol):
    """Reads a format at once: all of its files are one batch."""

    def read(self, paths: Sequence[Path], pseudonym: Pseudonym, options: Options) -> Batch:
        """Read everything below `paths`; raises `InputError` and writes nothing."""


class Reading(Protocol):
    """One source that is read in batches, each small beside the file."""

    @property
    def label(self) -> str:
        """What the source is called."""

    def batches(self) -> Iterator[Batch]:
        """Yield the nouns of the source; raises `InputError`, whereupon nothing of the source is stored."""

    def stored(self, batch: Batch, new: int, names: Mapping[str, str]) -> None:
        """Take note of how much of a batch was new, and under which identities its conversations are stored."""


class StreamSummary(Protocol):
    """What an import of streamed sources found."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""

    def lines(self) -> list[str]:
        """Return the lines for people."""


@dataclass(frozen=True)
class Sources:
    """What an importer found: sources to read, with their sizes in bytes, and those that cannot be read, with why."""

    readings: list[Reading]
    sizes: list[int]
    broken: list[tuple[str, str]]
    summarise: Callable[[Sequence[Reading], Mapping[str, str]], StreamSummary]
    """Sums up the sources that were stored; conversations that repeat others are given with those that count."""


class StreamingImporter(Format, Protocol):
    """Reads a format in batches, each source in a transaction of its own."""

    def sources(self, paths: Sequence[Path], options: Options, on_read: Callable[[int], None] | None = None) -> Sources:
        """Find the sources below `paths`; `on_read` is told how many bytes of the present one were read."""


def reads_whole(importer: Format) -> TypeGuard[Importer]:
    """Whether an importer reads its sources at once."""
    return not streams(importer)


def streams(importer: Format) -> TypeGuard[StreamingImporter]:
    """Whether an importer reads its sources in batches."""
    return hasattr(importer, "sources")


def item_id(task: str, key: str) -> str:
    """Return the id of an imported item: the same task and key give the same id in every study."""
    return "i_" + canonical_hash([task, key])[:16]


def person_rater(participant: str) -> Rater:
    """Return the rater that a person is, under the same pseudonym."""
    return Rater(id="r_" + participant.removeprefix("p_"), kind="human", name=participant)
