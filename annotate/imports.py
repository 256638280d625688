"""Import files into a store: detect the format, read, and write in one transaction, or one for each large source."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from annotate.episode_repeats import Row, facts
from annotate.errors import InputError
from annotate.import_repeats import Repeats
from annotate.import_summary import Failed, ImportSummary, summarise
from annotate.importers.contract import (
    Batch,
    Importer,
    Options,
    Pseudonym,
    Reading,
    StreamingImporter,
    StreamSummary,
    reads_whole,
    streams,
)
from annotate.schema import ConsentScope, Scale

if TYPE_CHECKING:
    from annotate.store import Store

Progress = Callable[[str, int, int], None]
"""Told the source, and how many bytes of how many were read; 0 bytes of 0 once a source is stored."""


def import_paths(
    store: Store,
    paths: Sequence[Path],
    *,
    pseudonym: Pseudonym,
    format: str | None = None,
    map_file: Path | None = None,
    licence: str | None = None,
    default_scopes: tuple[ConsentScope, ...] = (),
    scopes_basis: str | None = None,
    scales: Mapping[str, Scale] | None = None,
    user_model: str | None = None,
    proxy: str | None = None,
    guidelines: Path | None = None,
    tasks: Path | None = None,
    on_progress: Progress | None = None,
) -> ImportSummary:
    """Import files or folders and return what was found and stored; raises `InputError` and then writes nothing.

    `format` names an importer, else each path is recognised by its content. `default_scopes` are what people
    consented to where the files do not say; `scales` those that the study declares. A conversation is known again by
    (format, content, item, participant, trial): importing twice changes nothing, and ratings that differ become
    corrections. Raises `NeedsMap`, which carries a guess, for a table without `map_file`.

    Results of tau-bench and tau2 are stored file by file: one that cannot be read is named in `failures`, nothing of
    it is stored, and the others are; where none can be read, `InputError` says why. `user_model`, `guidelines` and
    `tasks` are used where such files do not say who played the user, what it was told and which tasks it had; `proxy`
    names the simulated user otherwise than by its model.
    """
    from annotate.importers.tau import read_guidelines
    from annotate.importing import Plan

    declared = {**{scale.name: scale for scale in store.select(Scale)}, **(scales or {})}
    told = None if guidelines is None else read_guidelines(guidelines)
    options = Options(licence, default_scopes, scopes_basis, declared, map_file, user_model, proxy, told, tasks)
    groups, unknown = _groups(paths, format)
    work = _Work(store, pseudonym, options, on_progress)
    streamed = [(importer, group) for importer, group in groups if streams(importer)]
    whole = [(importer, group) for importer, group in groups if reads_whole(importer)]
    if not streamed:
        if unknown:
            raise unknown[0][1]
        work.whole(whole)
        return work.summary()
    work.failures += [Failed(str(path), str(error)) for path, error in unknown]
    if whole:
        work.guarded(", ".join(str(path) for _, group in whole for path in group), lambda: work.whole(whole))
        work.plan = Plan(store, work.plan.counts)
    for importer, group in streamed:
        work.streamed(importer, group)
    if not work.done:
        raise InputError("\n".join(failure.sentence for failure in work.failures))
    return work.summary()


class _Work:
    """One import under way: what was stored so far, and what failed."""

    def __init__(self, store: Store, pseudonym: Pseudonym, options: Options, on_progress: Progress | None) -> None:
        from annotate.importing import Plan

        self.store, self.pseudonym, self.options, self.on_progress = store, pseudonym, options, on_progress
        self.plan = Plan(store)
        self.batches: list[Batch] = []
        self.streams: list[StreamSummary] = []
        self.failures: list[Failed] = []
        self.repeats = Repeats(store)
        self.done = 0

    def whole(self, groups: Sequence[tuple[Importer, list[Path]]]) -> None:
        """Read everything, then write it in one transaction."""
        batches = [importer.read(group, self.pseudonym, self.options) for importer, group in groups]
        for batch in batches:
            self.plan.add(batch)
        self.plan.write()
        self.batches += batches
        self.done += len(batches)

    def streamed(self, importer: StreamingImporter, paths: Sequence[Path]) -> None:
        """Read and write source by source, each in a transaction of its own."""
        sources = importer.sources(paths, self.options, self._on_read)
        self.failures += [Failed(path, why) for path, why in sources.broken]
        stored: list[Reading] = []
        for reading, size in zip(sources.readings, sources.sizes, strict=True):
            self._label, self._size = reading.label, size
            if self.guarded(reading.label, lambda reading=reading: self._one(reading)):  # type: ignore[misc]
                stored.append(reading)
        if stored:
            self.streams.append(sources.summarise(stored, self.repeats.duplicates()))

    def _one(self, reading: Reading) -> None:
        met: list[Row] = []
        with _collector_paused(), self.store.begin() as transaction:
            for batch in reading.batches():
                added = self.plan.add(batch)
                self.plan.flush(transaction)
                reading.stored(batch, added.new, added.names)
                met += [
                    facts(one, added.names[one.id])
                    for one in batch.conversations
                    if one.content_hash is not None and one.turns
                ]
        self.repeats.note(met)
        self.done += 1
        if self.on_progress is not None:
            self.on_progress(reading.label, 0, 0)

    def guarded(self, name: str, step: Callable[[], None]) -> bool:
        """Carry out a step; one that fails for the file's sake is noted, and the store is looked at anew."""
        from annotate.importing import Plan

        counts = Counter(self.plan.counts)
        try:
            step()
        except InputError as error:
            self.failures.append(Failed(name, str(error)))
            self.plan = Plan(self.store, counts)
            return False
        return True

    def _on_read(self, read: int) -> None:
        if self.on_progress is not None:
            self.on_progress(self._label, read, self._size)

    def summary(self) -> ImportSummary:
        """Return what was found and stored."""
        return summarise(self.batches, self.plan.counts, self.streams, self.failures)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Do not search for cycles meanwhile: what is read has none, and the search takes a third of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def group(paths: Sequence[Path], format: str | None = None) -> list[tuple[Importer | StreamingImporter, list[Path]]]:
    """Return the importers that the paths need, each with its paths, in the order given."""
    groups, unknown = _groups(paths, format)
    if unknown:
        raise unknown[0][1]
    return groups


def _groups(
    paths: Sequence[Path], format: str | None
) -> tuple[list[tuple[Importer | StreamingImporter, list[Path]]], list[tuple[Path, InputError]]]:
    """Return the importers with their paths, and the paths that none knows."""
    from annotate.importers.registry import by_name, detect

    if not paths:
        raise InputError("nothing to import: no path was given. Give a file or a folder.")
    groups: dict[str, tuple[Importer | StreamingImporter, list[Path]]] = {}
    unknown: list[tuple[Path, InputError]] = []
    given: dict[str, Path] = {}
    for path in paths:
        given.setdefault(os.path.realpath(path), path)
    for path in given.values():
        try:
            importer = by_name(format) if format else detect(path)
        except InputError as error:
            if format:
                raise
            unknown.append((path, error))
            continue
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder. Check the path.")
        groups.setdefault(importer.name, (importer, []))[1].append(path)
    return list(groups.values()), unknown


__all__ = ["Batch", "ImportSummary", "Progress", "group", "import_paths"]
