"""`usercal import`: read conversations and ratings into the study."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from annotate.study import CONFIG, KEY, Study, alone
from apps.cli.options import answer, json_option, row, shown_path, study_options

MADE = (CONFIG, KEY, ".gitignore", "store.db", "store.db-wal", "store.db-shm")
FORMATS = ("simulatorarena", "jsonl", "table")


@click.command(
    epilog="Examples:  usercal import data/   usercal import simulatorarena SimulatorArena/data   "
    "usercal import chats.csv --map map.toml"
)
@click.argument("words", nargs=-1, required=True, metavar="[FORMAT] PATH...")
@click.option(
    "--map",
    "map_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="For tables: which column is person, item, assistant, turn, text, rating. Without one a guessed "
    "mapping is printed and nothing is written.",
)
@study_options
@json_option
def command(
    words: tuple[str, ...], map_file: Path | None, folder: Path | None, store: str | None, as_json: bool
) -> int:
    """Read conversations into the study here.

    FORMAT is simulatorarena, jsonl or table; it is found out where not named.

    Twice gives the same store, and says so. Where there is no study yet, one is made in the current folder.
    """
    from annotate.errors import InputError
    from annotate.importers.mapping import NeedsMap
    from annotate.imports import import_paths

    named = words[0] if words[0] in FORMATS and not Path(words[0]).exists() else None
    paths = [Path(word) for word in (words[1:] if named else words)]
    if not paths:
        raise InputError(f"format {named!r} is named, but no path. Write usercal import {named} PATH.")
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder. Check the path.")
    try:
        with _study(folder, store) as (study, made), study.open_store() as opened:
            summary = import_paths(
                opened,
                paths,
                format=named,
                pseudonym=study.pseudonym,
                map_file=map_file,
                default_scopes=study.config.study.scopes,
                scopes_basis=study.config.study.scopes_basis,
                scales=study.config.scales,
            )
    except NeedsMap as error:
        if as_json:
            raise
        click.echo(error.sentence, err=True)
        click.echo(error.guess.rstrip())  # alone on stdout, so that > map.toml makes the file
        return 2
    hints = _hints(study)
    lines = ([row("study", f"made {shown_path(study.folder / CONFIG)}")] if made else []) + [*summary.lines(), *hints]
    answer(
        as_json,
        {**summary.to_dict(), "study_made": made},
        lines,
        [
            ("usercal report", "people's ratings, and what a length count alone predicts of them"),
            ("usercal plan", "what twins and model ratings would cost"),
        ],
    )
    return 0


def _hints(study: Study) -> list[str]:
    """Say now what would otherwise be found out later: consent that is not stated, tasks that have no folder."""
    from annotate.schema import Conversation, Participant
    from simulate.task import has_folder

    hints = []
    with study.open_store() as opened:
        silent = sum(not p.scopes for p in opened.iterate(Participant, kind="human"))
        tasks = sorted(set(opened.column(Conversation, "task", origin="human")))
    if silent:
        hints.append(row("consent", f"not stated for {silent:,} people: an export leaves them out. Set [study] scopes "
                                    "in study.toml and import again."))  # fmt: skip
    hints += [row("task", f"{name!r} has no folder yet: report works, twins need one (docs/add-a-task.md).")
              for name in tasks if not has_folder(name, study.config.tasks)]  # fmt: skip
    return hints


@contextmanager
def _study(folder: Path | None, store: str | None) -> Iterator[tuple[Study, bool]]:
    """Yield the study and whether it was made for this import; one that was is taken back if the import fails.

    Imports into one folder wait for each other, so that none takes back what another has just written.
    """
    found = None if folder else Study.find(Path.cwd(), store)
    with alone(folder or (found.folder if found else Path.cwd())):
        study = Study.open(folder, store) if folder else Study.find(Path.cwd(), store)
        if study is not None:
            yield study, False
            return
        before = {name: _content(Path.cwd() / name) for name in MADE}
        study = Study.create(Path.cwd(), store=store)
        try:
            yield study, True
        except BaseException:
            _undo(study, before)
            raise


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _undo(study: Study, before: dict[str, bytes | None]) -> None:
    """Leave the folder as it was before a study was made for an import that failed."""
    for name, content in before.items():
        path = study.folder / name
        if content is None:
            path.unlink(missing_ok=True)
        elif path.read_bytes() != content:
            path.write_bytes(content)
    if study.reports.is_dir() and not any(study.reports.iterdir()):
        study.reports.rmdir()
