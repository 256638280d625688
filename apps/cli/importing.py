"""`usercal import`: read conversations and ratings into the study."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from annotate.study import CONFIG, KEY, Study, alone
from apps.cli.options import answer, json_option, printable, row, shown_path, study_options

if TYPE_CHECKING:
    from annotate.import_summary import ImportSummary

MADE = (CONFIG, KEY, ".gitignore", "store.db", "store.db-wal", "store.db-shm")
FORMATS = ("simulatorarena", "jsonl", "tau", "table")


@dataclass
class ReadMeter:
    """Says on stderr how much of a large file was read; says nothing of one that is read in a moment."""

    quiet: bool = False
    stored: bool = False
    """Whether a source was stored: then what was made for it stays."""
    every: float = 10.0
    _label: str = ""
    _begun: float = 0.0
    _last: float = 0.0
    _open: bool = False

    def show(self, label: str, read: int, size: int) -> None:
        """Show how far it is, if enough time has passed; 0 bytes of 0 say that the source is stored."""
        here = time.monotonic()
        if label != self._label:
            self._label, self._begun, self._last = label, here, here
        terminal = sys.stderr.isatty()
        if not size:
            self.stored = True
        elif not self.quiet and here - self._last >= (0.5 if terminal else self.every):
            self._last = here
            share = min(read / size, 1.0)
            left = (here - self._begun) / share - (here - self._begun) if share else 0.0
            line = f"▕{'█' * int(share * 24):<24}▏ {share:.0%}  {read / 1e6:,.0f}/{size / 1e6:,.0f} MB of {label}"
            line += f"   {left:.0f} s left   Ctrl-C leaves nothing of it half stored"
            click.echo(f"\r\033[K{printable(line)}" if terminal else printable(line), nl=not terminal, err=True)
            self._open = terminal

    def close(self) -> None:
        """End the line."""
        if self._open:
            click.echo("", err=True)
            self._open = False


@click.command(
    epilog="Examples:  usercal import data/   usercal import simulatorarena SimulatorArena/data   "
    "usercal import chats.csv --map map.toml   usercal import tau runs/ --guidelines guidelines_tools.md"
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
@click.option("--user-model", metavar="NAME", help="For tau: the model that played the user, where files do not say.")
@click.option("--proxy", metavar="NAME", help="For tau: what to call the simulated user, in place of its model.")
@click.option(
    "--guidelines",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="For tau: what simulated users with tools were told; results hold the text for users without.",
)
@click.option(
    "--tasks", type=click.Path(path_type=Path), metavar="FILE", help="For tau: tasks.json, for results without tasks."
)
@study_options
@json_option
def command(
    words: tuple[str, ...],
    map_file: Path | None,
    user_model: str | None,
    proxy: str | None,
    guidelines: Path | None,
    tasks: Path | None,
    folder: Path | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Read conversations into the study here.

    FORMAT is simulatorarena, jsonl, tau or table; it is found out where not named.

    Twice gives the same store, and says so. Where there is no study yet, one is made in the current folder.
    """
    from annotate.importers.mapping import NeedsMap
    from annotate.imports import import_paths

    named, paths = _named(words)
    meter = ReadMeter(quiet=as_json)
    try:
        with _study(folder, store, lambda: meter.stored) as (study, made), study.open_store() as opened:
            summary = import_paths(
                opened,
                paths,
                format=named,
                pseudonym=study.pseudonym,
                map_file=map_file,
                default_scopes=study.config.study.scopes,
                scopes_basis=study.config.study.scopes_basis,
                scales=study.config.scales,
                user_model=user_model,
                proxy=proxy,
                guidelines=guidelines,
                tasks=tasks,
                on_progress=meter.show,
            )
    except NeedsMap as error:
        _refuse_verdicts(paths)
        if as_json:
            raise
        click.echo(error.sentence, err=True)
        click.echo(error.guess.rstrip())  # alone on stdout, so that > map.toml makes the file
        return 2
    finally:
        meter.close()
    lines = ([row("study", f"made {shown_path(study.folder / CONFIG)}")] if made else []) + summary.lines()
    answer(as_json, {**summary.to_dict(), "study_made": made}, [*lines, *_hints(study)], _next(summary))
    return 1 if summary.failures else 0


def _named(words: tuple[str, ...]) -> tuple[str | None, list[Path]]:
    """Return the format, where one is named, and the paths; raises `InputError` where there is none."""
    from annotate.errors import InputError

    named = words[0] if words[0] in FORMATS and not Path(words[0]).exists() else None
    paths = [Path(word) for word in (words[1:] if named else words)]
    if not paths:
        raise InputError(f"format {named!r} is named, but no path. Write usercal import {named} PATH.")
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder. Check the path.")
    return named, paths


def _next(summary: ImportSummary) -> list[tuple[str, str]]:
    """Return the commands that may follow: what people said is reported on, what proxies did is scored."""
    found = []
    if summary.sources or not summary.streams:
        found = [
            ("usercal report", "people's ratings, and what a length count alone predicts of them"),
            ("usercal plan", "what twins and model ratings would cost"),
        ]
    return found + ([("usercal ufs", "what can be said without a model, now")] if summary.streams else [])


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
def _study(folder: Path | None, store: str | None, stored: Callable[[], bool]) -> Iterator[tuple[Study, bool]]:
    """Yield the study and whether it was made for this import; one that was is taken back if the import fails.

    A failure, or Ctrl-C, takes nothing back once a file was stored.

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
            if not stored():
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


def _refuse_verdicts(paths: Sequence[Path]) -> None:
    """Raise `InputError` where a table without a map is one that `usercal ufs` reads."""
    from annotate.errors import InputError
    from annotate.fidelity_tables import looks_like

    for path in paths:
        kind = looks_like(path)
        if kind is not None:
            what = "verdicts on user proxies" if kind == "verdicts" else "results of user proxies"
            beside = f"usercal ufs --verdicts {path}" if kind == "verdicts" else f"usercal ufs {path}"
            raise InputError(f"{path}: is a table of {what}, not of conversations. Score it: {beside}")
