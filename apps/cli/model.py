"""`usercal model`: the embedded model."""

from __future__ import annotations

import sys

import click

from apps.cli.options import answer, json_option, row


@click.group(epilog="Example:  usercal model pull")
def command() -> None:
    """The embedded model: a 135M model that runs on this machine. A pipeline exercise, not evidence."""


@command.command("pull", epilog="Example:  usercal model pull")
@click.argument("name", default="local/smollm2")
@click.option("--verify", is_flag=True, help="Hash the file again even where it is there.")
@json_option
def pull(name: str, verify: bool, as_json: bool) -> None:
    """Fetch the weights once (93 MB), check their hash, and keep them in the cache folder."""
    from simulate import local

    path = local.pull(name, progress=None if as_json else _show, verify=verify)
    size = path.stat().st_size / 1e6
    answer(
        as_json,
        {"model": name, "path": str(path), "megabytes": round(size, 1)},
        [row("model", f"{name} is here and its hash is right ({size:.0f} MB)"), row("file", str(path))],
        [(f"usercal check --model {name}", "try it: plain, structured, streamed")],
    )


@command.command("list", epilog="Example:  usercal model list")
@json_option
def listing(as_json: bool) -> None:
    """List the embedded models and whether they are on this machine."""
    from simulate import local

    rows = [
        {"name": name, "licence": model.licence, "here": local.pulled(name) is not None}
        for name, model in local.MODELS.items()
    ]
    answer(
        as_json,
        {"models": rows},
        [
            row("model", f"{r['name']}   {r['licence']}   {'on this machine' if r['here'] else 'not pulled yet'}")
            for r in rows
        ],
        [("usercal model pull", "fetch it")] if not all(r["here"] for r in rows) else [],
    )


def _show(done: int, total: int | None) -> None:
    if sys.stderr.isatty():
        share = f" of {total / 1e6:.0f}" if total else ""
        click.echo(f"\rpulling  {done / 1e6:.0f}{share} MB ", nl=False, err=True)
        if total and done >= total:
            click.echo("", err=True)
