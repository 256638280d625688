"""`usercal judge`: ask models for ratings on any scale."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from apps.cli.options import Dollars, answer, json_option, open_study, row, study_options


@click.command(epilog="Example:  usercal judge --scale interaction --model small --budget 2")
@click.option(
    "--scale",
    "scales",
    multiple=True,
    required=True,
    metavar="NAME",
    help="interaction, document, likert_writing, likert_interaction, turing, final_answer, or one of study.toml; "
    "can be repeated.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="A [models.NAME] of study.toml or a litellm name; can be repeated (else [run] judges).",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N human conversations a task.")
@click.option("--budget", type=Dollars(), metavar="USD", help="Stop before this is exceeded (exit 3).")
@study_options
@json_option
def command(
    scales: tuple[str, ...],
    models: tuple[str, ...],
    limit: int | None,
    budget: float | None,
    folder: Path | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Have models rate the conversations in the store, human and simulated, on a SCALE.

    Turing tests compare each twin with its human conversation, in both orders. Ratings are ordinary annotations; those
    that are there already are not asked for again.
    """
    from annotate.errors import ConfigError
    from apps.cli import work
    from simulate.ledger import StoreLedger
    from simulate.llm import preflight
    from simulate.plan import Planner, check_scales

    study = open_study(folder, store)
    for name in models:
        study = work.with_model(study, name)
    update: dict[str, Any] = {"scales": scales, "judges": models or study.config.run.judges}
    update |= {"conversations": limit, "per_task": {}} if limit else {"conversations": None, "per_task": {}}
    run = study.config.run.model_copy(update=update)
    if not run.judges:
        raise ConfigError("no judge is named. Add --model NAME, or set [run] judges in study.toml.")
    with study.open_store(create=False) as opened:
        tasks = work.tasks_of(study, run, opened)
        check_scales(tasks.values(), study.config, scales)
        planner = Planner(study.config, run, tasks, opened)
        plan = planner.plan_judging()
        preflight({name: study.config.models[name] for name in run.judges})
        if not as_json:
            for line in [*work.plan_lines(plan), *(row("note", note) for note in plan.notes)]:
                click.echo(line)
        summary, spending = work.execute(
            planner,
            plan,
            study,
            ledger=StoreLedger(opened),
            budget_usd=budget,
            meter=work.Meter(unit="ratings", quiet=as_json),
        )
    said, facts, code = work.outcome(summary, spending)
    answer(as_json, facts, said, [("usercal report", "what the ratings say")])
    return code
