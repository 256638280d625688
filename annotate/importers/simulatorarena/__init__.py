"""The SimulatorArena release: human conversations about math problems and documents, with ratings and profiles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from annotate.errors import InputError
from annotate.importers.contract import Batch, Options, Pseudonym
from annotate.importers.simulatorarena import documents, math, profiles
from annotate.importers.simulatorarena.records import Builder
from annotate.importers.simulatorarena.sources import Source, find, is_source


class SimulatorArena:
    """Reads a checkout's `data` folder, or one file of annotations with what lies beside it."""

    name = "simulatorarena"
    title = "a SimulatorArena data folder, or one of its annotation files"

    def detects(self, path: Path) -> bool:
        """Whether the file, or one of the folder, holds records with `workerId`, `user_queries` and `ai_responses`."""
        return is_source(path)

    def read(self, paths: Sequence[Path], pseudonym: Pseudonym, options: Options) -> Batch:
        """Read conversations, ratings, votes, documents and profiles; raises `InputError`."""
        batch = Batch(self.name)
        builder = Builder(batch, pseudonym, options)
        for path in paths:
            for source in find(path):
                _read_source(source, builder)
        if not batch.conversations:
            raise InputError(f"{paths[0]}: holds no conversation. Give the data folder of the release.")
        builder.finish()
        return batch


def _read_source(source: Source, builder: Builder) -> None:
    builder.licence(source)
    beside = profiles.Released(source.root, builder.batch)
    for file in source.files:
        if not builder.start_file(file):
            continue
        reader = math.read_record if file.task == math.TASK else documents.read_record
        for record in file.records():
            builder.start_record(record)
            with builder.shaped():
                reader(record, builder, beside)
    beside.report()
