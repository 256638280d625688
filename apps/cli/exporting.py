"""`usercal export`: write the study in open formats."""

from __future__ import annotations

from pathlib import Path

import click

from apps.cli.options import answer, json_option, open_study, row, shown_path, study_options


@click.command(epilog="Example:  usercal export jsonl out/")
@click.argument("format_name", type=click.Choice(["jsonl", "csv", "parquet"]), metavar="FORMAT")
@click.argument("target", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--force", is_flag=True, help="Replace what is in DIR.")
@study_options
@json_option
def command(format_name: str, target: Path, force: bool, folder: Path | None, store: str | None, as_json: bool) -> None:
    """Write the study to DIR as FORMAT (jsonl, csv, parquet), within what people consented to.

    jsonl writes conversations.jsonl, one conversation a line, and its siblings; `usercal import DIR` reads it back.
    """
    from annotate.export import export_study

    study = open_study(folder, store)
    with study.open_store(create=False) as opened:
        manifest = export_study(opened, format_name, target, force=force)
    counts = ", ".join(f"{entry['records']:,} {name.rsplit('.', 1)[0]}" for name, entry in manifest["files"].items())
    held = manifest.get("withheld", {})
    lines = [row("wrote", f"{shown_path(target)}: {counts}")]
    replaced = {what: n for what, n in held.items() if what.endswith("_replaced") and n}
    kept_back = {what: n for what, n in held.items() if what not in replaced and n}
    if kept_back:
        said = "; ".join(f"{n:,} {what.replace('_', ' ')}" for what, n in kept_back.items())
        lines.append(row("withheld", f"{said}  (no consent to share them)"))
    if replaced:
        said = "; ".join(f"{n:,} {what.removesuffix('_replaced')}" for what, n in replaced.items())
        lines.append(row("replaced", f"{said}, which {format_name} cannot hold"))
    answer(
        as_json,
        {"directory": str(target), **manifest},
        lines,
        [(f"usercal import {target}", "reads it back, in another study")] if format_name == "jsonl" else [],
    )
