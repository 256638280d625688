"""`usercal import`: read conversations and ratings into the study."""

from __future__ import annotations

from pathlib import Path

import click

from annotate.study import CONFIG, KEY, Study
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
    from annotate.errors import InputError, UserCalError
    from annotate.importers.mapping import NeedsMap
    from annotate.imports import import_paths

    named = words[0] if words[0] in FORMATS and not Path(words[0]).exists() else None
    paths = [Path(word) for word in (words[1:] if named else words)]
    if not paths:
        raise InputError(f"format {named!r} is named, but no path. Write usercal import {named} PATH.")
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder. Check the path.")
    before = {name: _content(Path.cwd() / name) for name in MADE}
    study, made = _study(folder, store)
    try:
        with study.open_store() as opened:
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
    except UserCalError as error:
        if made:
            _undo(study, before)
        if isinstance(error, NeedsMap) and not as_json:
            click.echo(error.sentence, err=True)
            click.echo(error.guess.rstrip())  # alone on stdout, so that > map.toml makes the file
            return 2
        raise
    lines = ([row("study", f"made {shown_path(study.folder / CONFIG)}")] if made else []) + list(summary.lines())
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


def _study(folder: Path | None, store: str | None) -> tuple[Study, bool]:
    if folder is not None:
        return Study.open(folder, store), False
    found = Study.find(Path.cwd(), store)
    return (found, False) if found else (Study.create(Path.cwd(), store=store), True)


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
