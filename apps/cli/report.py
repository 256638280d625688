"""`usercal report`: what the study says, as HTML, Markdown and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from annotate.study import Study
from apps.cli.options import answer, json_option, open_study, row, shown_path, study_options

if TYPE_CHECKING:
    from calibrate.report.document import Report
    from calibrate.report.published import Published


@click.command(epilog="Example:  usercal report --out reports/")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Where to write (else the study's reports/)."
)
@click.option("--seed", type=int, metavar="N", help="Seed of the resampling (else [report] seed).")
@click.option("--resamples", type=click.IntRange(100, 100_000), metavar="N", help="Resamples (else [report]).")
@click.option("--open/--no-open", "show", default=False, help="Open the report in the browser.")
@study_options
@json_option
def command(
    out: Path | None,
    seed: int | None,
    resamples: int | None,
    show: bool,
    folder: Path | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Compute alignment, realism and outcome from the store, each with n and interval, and write the report.

    Spends nothing and asks no model. report.html is one self-contained file; report.md and report.json hold the same
    numbers.
    """
    study = open_study(folder, store)
    report, paths = write_report(study, out or study.reports, seed=seed, resamples=resamples)
    from calibrate.report.composing import headline

    lines = [row(line.label, line.text) for line in headline(report)]
    lines.append(row("report", shown_path(paths["html"])))
    if show:
        click.launch(str(paths["html"]))
    data = json.loads(paths["json"].read_text("utf-8")) if as_json else {}
    answer(
        as_json,
        {"paths": {kind: str(path) for kind, path in paths.items()}, "report": data},
        lines,
        _following(study),
    )


def _following(study: Study) -> list[tuple[str, str]]:
    from annotate.episodes import TASK_PREFIX
    from annotate.schema import Conversation

    with study.open_store(create=False) as opened:
        tasks = set(opened.column(Conversation, "task"))
    proxies = [task for task in tasks if task.startswith(TASK_PREFIX)]
    following = [("usercal ufs", "the episodes of user proxies, which this report leaves out")] if proxies else []
    if len(proxies) < len(tasks) or not tasks:
        following.append(("usercal plan", "what twins and model ratings would cost"))
    return following


def _put(path: Path, text: str) -> None:
    """Write a file beside its place and then put it there; a disk that fills up leaves what was there."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.write_text(text, "utf-8")
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def write_report(
    study: Study,
    out: Path,
    *,
    seed: int | None = None,
    resamples: int | None = None,
    demo: bool = False,
    title: str | None = None,
    published: Published | None = None,
) -> tuple[Report, dict[str, Path]]:
    """Compute the report of a study and write it in three forms; return it and the paths."""
    from annotate.errors import StudyError
    from annotate.frames import read_frames
    from annotate.rating_rows import read_rating_rows
    from calibrate.agreeing.scales import scale_agreements
    from calibrate.report.composing import compose
    from calibrate.report.document import to_json
    from calibrate.report.html import to_html
    from calibrate.report.markdown import to_markdown
    from simulate.task import has_folder, load_tasks

    with study.open_store(create=False) as opened:
        frames = read_frames(opened)
        rated = read_rating_rows(opened)
    # What people said can be reported of any task; one without a folder is grouped as study.toml says.
    named = [name for name in frames.tasks() if has_folder(name, study.config.tasks)]
    tasks = load_tasks(named, study.config.tasks, study.folder)
    seed = study.config.report.seed if seed is None else seed
    resamples = resamples or study.config.report.resamples
    report = compose(
        frames,
        study.config,
        seed=seed,
        resamples=resamples,
        agreements=scale_agreements(rated.values(), seed=seed, resamples=resamples),
        title=title or study.config.study.name,
        recorded=bool(frames.calls["recorded"]),
        demo=demo,
        group_by={name: task.group_by for name, task in tasks.items()},
        published=published,
    )
    paths = {kind: out / f"report.{kind}" for kind in ("html", "md", "json")}
    try:
        out.mkdir(parents=True, exist_ok=True)
        for kind, text in (("html", to_html(report)), ("md", to_markdown(report)), ("json", to_json(report))):
            _put(paths[kind], text)
    except OSError as error:
        raise StudyError(
            f"{out}: the report cannot be written ({error.strerror}). Choose another place with --out."
        ) from None
    return report, paths
