"""Options that many verbs share, and how a verb answers: lines for people, or one JSON object."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from annotate.errors import StudyError
from annotate.study import Study

F = TypeVar("F", bound=Callable[..., Any])
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Dollars(click.FloatRange):
    """An amount of US dollars: a number from 0 on. NaN and infinity are none: no sum is ever above them."""

    name = "dollars"

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the amount, or complain."""
        amount = super().convert(value, param, ctx)
        if not math.isfinite(amount):
            self.fail(f"{value} is no amount of dollars. Give a number, or leave it out for no limit.", param, ctx)
        return amount


def study_options(function: F) -> F:
    """Add --study and --store."""
    function = click.option(
        "--store",
        metavar="URL",
        help="Another store, as a path or a SQLAlchemy URL (else USERCAL_STORE, else study.toml).",
    )(function)
    return click.option(
        "--study",
        "folder",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="The study folder (else the nearest one above the current folder).",
    )(function)


def json_option(function: F) -> F:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")(function)


def open_study(folder: Path | None, store: str | None) -> Study:
    """Open the named study, or the nearest one; raises `StudyError` where there is none."""
    if folder is not None:
        return Study.open(folder, store)
    found = Study.find(Path.cwd(), store)
    if found is None:
        raise StudyError(
            f"{Path.cwd()}: there is no study here or above. Make one: usercal init DIR, or name one with --study DIR."
        )
    return found


def answer(
    as_json: bool, facts: dict[str, Any], lines: Iterable[str], next_commands: Iterable[tuple[str, str]] = ()
) -> None:
    """Print the facts as JSON, or the lines and then the next commands."""
    following = list(next_commands)
    if as_json:
        facts = {**facts, "next": [command for command, _ in following]}
        click.echo(json.dumps(facts, ensure_ascii=False, indent=2, default=str))
        return
    for line in lines:
        click.echo(printable(line))
    width = max((len(command) for command, _ in following), default=0)
    for position, (command, what) in enumerate(following):
        said = f"{'Next:' if position == 0 else '     '}  {command.ljust(width)}  {what}".rstrip()
        click.echo(printable(said))


def printable(text: str) -> str:
    """Return text without what a terminal would obey: names in a study may hold control characters."""
    return _CONTROL.sub("\ufffd", text)


def shown_path(path: Path) -> str:
    """Return the path from here where that is shorter."""
    try:
        relative = path.resolve().relative_to(Path.cwd().resolve())
    except ValueError:
        return str(path)
    return "." if relative == Path() else f"./{relative}"


def row(label: str, text: str) -> str:
    """Return a labelled line."""
    return f"{label:<12}{text}"


def labelled(label: str, texts: Iterable[str], width: int = 110, indent: int = 17) -> list[str]:
    """Return texts under one label, each in as many lines of the screen as it needs."""
    lines: list[str] = []
    for text in texts:
        wrapped = textwrap.wrap(text, width - indent, break_long_words=False, break_on_hyphens=False) or [""]
        lines += [f"{'' if lines or place else label:<{indent}}{line}" for place, line in enumerate(wrapped)]
    return lines
