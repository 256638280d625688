"""`usercal init`: make a study folder."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from annotate.study import Study
from apps.cli.options import answer, json_option, row, shown_path


@click.command(epilog="Example:  usercal init tutoring")
@click.argument("folder", type=click.Path(path_type=Path), default=".")
@click.option("--name", help="What the study is called (else the folder's name).")
@json_option
def command(folder: Path, name: str | None, as_json: bool) -> None:
    """Make a study FOLDER with study.toml, a key for pseudonyms, and an empty store."""
    study = Study.create(folder, name)
    study.open_store().close()
    into = "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "
    answer(
        as_json,
        {"study": study.config.study.name, "folder": str(folder)},
        [
            row("study", f"{study.config.study.name!r} in {shown_path(folder)}"),
            row("made", "study.toml (edit it), study.key (keep it: pseudonyms depend on it), store.db"),
        ],
        [
            (f"{into}usercal import PATH", "your conversations: JSONL, CSV, Parquet, a SimulatorArena checkout"),
            (f"{into}usercal check", "which of your keys and servers work"),
        ],
    )
