"""What an import found and stored, for people and for programs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from annotate.importers.contract import Batch, NoteKind, StreamSummary
from annotate.schema import Annotation

_WIDTH = 12


@dataclass
class SourceSummary:
    """What one batch held."""

    format: str
    files: list[str]
    tasks: dict[str, int]
    conversations: int
    people: int
    assistants: dict[str, int]
    items: int
    ratings: dict[str, dict[str, Any]]
    facts: dict[str, str | int]
    repaired: dict[str, int]
    dropped: dict[str, int]
    warnings: dict[str, int]


@dataclass(frozen=True)
class Failed:
    """A source that could not be imported, and the sentence that says why; nothing of it was stored."""

    source: str
    sentence: str


@dataclass
class ImportSummary:
    """What an import found in its sources, and what of it was new to the store."""

    new: int
    already_there: int
    annotations: int
    corrections: int
    profiles: int
    items_completed: int
    sources: list[SourceSummary] = field(default_factory=list)
    next_command: str = "usercal status"
    """What the reader may want next; the lines do not say it."""
    criteria: int = 0
    """Criteria of rubrics that are new."""
    completed: int = 0
    """Records in the store that got what was not known of them before: who played the user, its task, guidelines."""
    streams: list[StreamSummary] = field(default_factory=list)
    """What the importers say that read source by source."""
    failures: list[Failed] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        from dataclasses import asdict

        return {**asdict(replace(self, streams=[])), "streams": [one.to_dict() for one in self.streams]}

    def lines(self) -> list[str]:
        """Return the lines for people: the answer first, then what was found, repaired and dropped."""
        lines = self._whole_lines() if self.sources or not self.streams else []
        for stream in self.streams:
            lines += stream.lines()
        if self.completed:
            lines.append(
                _row("completed", f"{_many(self.completed, 'record')} in the store got what was not known before")
            )
        return lines + _rows("failed", [failure.sentence for failure in self.failures])

    def _whole_lines(self) -> list[str]:
        answer = f"{self.new} new, {self.already_there} already there"
        if self.corrections:
            answer += f"; {_many(self.corrections, 'rating')} differed and {_were(self.corrections)} corrected"
        if self.annotations > self.corrections and not self.new:
            answer += f"; {_many(self.annotations - self.corrections, 'annotation')} added"
        if self.criteria:
            answer += f"; {_many(self.criteria, 'criterion', 'criteria')} added"
        lines = [_row("stored", answer)]
        for source in self.sources:
            lines += _source_lines(source)
        if self.items_completed:
            lines.append(_row("completed", f"{_many(self.items_completed, 'item')} in the store got what they lacked"))
        return lines


def summarise(
    batches: Sequence[Batch],
    counts: Mapping[str, int],
    streams: Sequence[StreamSummary] = (),
    failures: Sequence[Failed] = (),
) -> ImportSummary:
    """Return the summary of batches and streamed sources, of what a plan counted, and of what failed."""
    simulated = bool(streams) or any(c.origin == "simulated" for batch in batches for c in batch.conversations)
    human = any(c.origin == "human" for batch in batches for c in batch.conversations)
    return ImportSummary(
        new=counts.get("new", 0),
        already_there=counts.get("already there", 0),
        annotations=counts.get("annotations", 0),
        corrections=counts.get("corrections", 0),
        profiles=counts.get("profiles", 0),
        items_completed=counts.get("items completed", 0),
        sources=[_summary(batch) for batch in batches],
        next_command="usercal plan" if human else "usercal ufs" if simulated else "usercal status",
        criteria=counts.get("criteria", 0),
        completed=counts.get("completed", 0),
        streams=list(streams),
        failures=list(failures),
    )


def _summary(batch: Batch) -> SourceSummary:
    conversations = batch.conversations
    notes: dict[NoteKind, dict[str, int]] = {"repaired": {}, "dropped": {}, "warning": {}}
    for (kind, text), count in sorted(batch.notes.items(), key=lambda note: (-note[1], note[0])):
        notes[kind][text] = count
    return SourceSummary(
        format=batch.format,
        files=[str(path) for path in batch.files],
        tasks=dict(Counter(c.task for c in conversations)),
        conversations=len(conversations),
        people=len({c.participant for c in conversations if c.origin == "human"}),
        assistants=dict(Counter(c.assistant for c in conversations).most_common()),
        items=len(batch.items),
        ratings=_ratings(batch.annotations),
        facts=batch.facts,
        repaired=notes["repaired"],
        dropped=notes["dropped"],
        warnings=notes["warning"],
    )


def _ratings(annotations: Sequence[Annotation]) -> dict[str, dict[str, Any]]:
    """Return for each scale n and, of numbers, mean and range, of labels how often each was given."""
    corrected = {annotation.supersedes for annotation in annotations}
    said: dict[str, list[Any]] = defaultdict(list)
    for annotation in annotations:
        if annotation.value is not None and annotation.id not in corrected:
            said[annotation.scale].append(annotation.value)
    found: dict[str, dict[str, Any]] = {}
    for scale, values in said.items():
        numbers = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
        entry: dict[str, Any] = {"n": len(values)}
        if len(numbers) == len(values):
            entry |= {"mean": sum(numbers) / len(numbers), "min": min(numbers), "max": max(numbers)}
        elif len(labels := Counter(map(str, values))) <= min(10, len(values) / 2):
            entry["labels"] = dict(labels.most_common())
        found[scale] = entry
    return found


def _source_lines(source: SourceSummary) -> list[str]:
    tasks = ", ".join(f"{task} {count}" for task, count in source.tasks.items())
    lines = [
        _row(
            "format",
            f"{source.format}: {_many(len(source.files), 'file')}, "
            f"{_many(source.conversations, 'conversation')}{f' ({tasks})' if tasks else ''}",
        )
    ]
    if source.conversations:
        lines.append(
            _row("people", f"{source.people}     assistants {len(source.assistants)}     items {source.items}")
        )
    numbers, texts = [], []
    for scale, entry in source.ratings.items():
        if "mean" in entry:
            numbers.append(f"{scale} mean {entry['mean']:.2f}, {entry['min']:g} to {entry['max']:g}, n = {entry['n']}")
        elif "labels" in entry and len(entry["labels"]) <= 3:
            shares = ", ".join(f"{label} {count}" for label, count in entry["labels"].items())
            numbers.append(f"{scale} {shares}, n = {entry['n']}")
        else:
            texts.append(f"{scale} {entry['n']}")
    lines += _rows("ratings", numbers)
    if texts:
        lines += _rows("texts", [", ".join(texts)])
    profiles = [
        f"{name.removeprefix('profiles ')} {value}"
        for name, value in source.facts.items()
        if name.startswith("profiles ")
    ]
    if profiles:
        lines.append(_row("profiles", f"joined: {', '.join(profiles)}"))
    for name, notes in (("repaired", source.repaired), ("dropped", source.dropped), ("warning", source.warnings)):
        lines += _rows(name, [f"{count} × {text}" for text, count in notes.items()])
    return lines + [_row(name, str(value)) for name, value in source.facts.items() if not name.startswith("profiles ")]


def _row(name: str, text: str) -> str:
    return f"{name:<{_WIDTH}}{text}"


def _rows(name: str, texts: Sequence[str]) -> list[str]:
    return [_row(name if place == 0 else "", text) for place, text in enumerate(texts)]


def _many(count: int, noun: str, plural: str | None = None) -> str:
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
