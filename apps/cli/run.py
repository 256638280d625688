"""`usercal run`: carry out a plan; resumes by the same command."""

from __future__ import annotations

from pathlib import Path

import click

from apps.cli.options import Dollars, answer, json_option, row, study_options
from apps.cli.plan import study_and_run


@click.command(epilog="Example:  usercal run --budget 5")
@click.argument("config", type=click.Path(path_type=Path), required=False, metavar="[CONFIG]")
@click.option("--budget", type=Dollars(), metavar="USD", help="Stop before this is exceeded (exit 3).")
@click.option("--calls", type=click.IntRange(min=1), metavar="N", help="Stop before more calls than this are made.")
@study_options
@json_option
def command(
    config: Path | None, budget: float | None, calls: int | None, folder: Path | None, store: str | None, as_json: bool
) -> int:
    """Extract profiles, let twins talk, have them rated, as CONFIG says (else the study's own [run]).

    Every call is recorded before it is used. After a kill or Ctrl-C the same command goes on and pays for nothing
    again. Exit codes: 0 done, 1 some cells failed, 2 usage, 3 budget, 130
    stopped by Ctrl-C.
    """
    from apps.cli import work
    from simulate.ledger import StoreLedger
    from simulate.llm import preflight
    from simulate.plan import Planner, check_scales

    study, run = study_and_run(config, folder, store)
    with study.open_store(create=False) as opened:
        tasks = work.tasks_of(study, run, opened)
        check_scales(tasks.values(), study.config, run.scales)
        planner = Planner(study.config, run, tasks, opened)
        plan = planner.plan(judge=bool(run.judges))
        preflight(work.used_models(study, run))
        lines = [*work.plan_lines(plan), *(row("note", note) for note in plan.notes)]
        if not as_json:
            for line in lines:
                click.echo(line)
        summary, spending = work.execute(
            planner,
            plan,
            study,
            ledger=StoreLedger(opened),
            meter=work.Meter(quiet=as_json),
            budget_usd=budget if budget is not None else run.budget_usd,
            max_calls=calls or run.calls,
        )
    said, facts, code = work.outcome(summary, spending)
    answer(
        as_json,
        {"run": run.name, **facts},
        said,
        [("usercal report", "alignment and realism with intervals")]
        if code == 0
        else [(f"usercal run{f' {config}' if config else ''}", "goes on from here")],
    )
    return code
