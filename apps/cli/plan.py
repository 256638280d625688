"""`usercal plan`: what a run would do and cost."""

from __future__ import annotations

from pathlib import Path

import click

from annotate.config import RunSection
from annotate.study import CONFIG, Study
from apps.cli.options import answer, json_option, open_study, row, study_options


@click.command(epilog="Example:  usercal plan study.toml")
@click.argument("config", type=click.Path(path_type=Path), required=False, metavar="[CONFIG]")
@study_options
@json_option
def command(config: Path | None, folder: Path | None, store: str | None, as_json: bool) -> None:
    """Say what CONFIG (a study.toml or a run file; else the study's own) would do and cost. Spends nothing."""
    from apps.cli import work
    from simulate.plan import Planner, check_scales
    from simulate.price import estimate_run

    study, run = study_and_run(config, folder, store)
    with study.open_store(create=False) as opened:
        tasks = work.tasks_of(study, run, opened)
        check_scales(tasks.values(), study.config, run.scales)
        planner = Planner(study.config, run, tasks, opened)
        plan = planner.plan(judge=bool(run.judges))
        priced = estimate_run(planner, plan)
    lines = [*work.plan_lines(plan), *(row("note", note) for note in plan.notes), *priced.lines(run.budget_usd)]
    facts = {
        "run": run.name,
        "cells": {
            label: dict(zip(("done", "planned"), plan.count(kind), strict=True))
            for kind, label in work.KINDS
        },
        "notes": plan.notes,
        **priced.to_dict(),
    }
    planned = any(plan.count(kind)[1] for kind, _ in work.KINDS)
    following = [(f"usercal run{f' {config}' if config else ''}", "do it; Ctrl-C and resume any time")]
    answer(as_json, facts, lines, following if planned else [("usercal import PATH", "people's conversations first")])


def study_and_run(config: Path | None, folder: Path | None, store: str | None) -> tuple[Study, RunSection]:
    """Return the study and the run section; a CONFIG named study.toml also says which study."""
    from annotate.errors import ConfigError
    from apps.cli.work import run_section

    if config is not None and not config.is_file():
        raise ConfigError(f"{config}: there is no such file. Check the path, or leave it out to use the study's [run].")
    if folder is None and config is not None and config.name == CONFIG:
        return (study := Study.open(config.parent, store)), study.config.run
    study = open_study(folder, store)
    return study, run_section(study, config)
