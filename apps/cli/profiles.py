"""`usercal profiles`: extract and show profiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from apps.cli.options import Dollars, answer, json_option, open_study, row, study_options


@click.group(epilog="Example:  usercal profiles extract --model small --limit 5")
def command() -> None:
    """Profiles: what a person knows or wants, how they write and act, how long their messages are."""


@command.command("extract", epilog="Example:  usercal profiles extract --model small --limit 5")
@click.option("--model", metavar="NAME", help="A [models.NAME] of study.toml or a litellm name (else [run] extractor).")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N conversations a task.")
@click.option("--budget", type=Dollars(), metavar="USD", help="Stop before this is exceeded (exit 3).")
@study_options
@json_option
def extract(
    model: str | None, limit: int | None, budget: float | None, folder: Path | None, store: str | None, as_json: bool
) -> int:
    """Extract a profile from each human conversation; those that are there already are not asked for again."""
    from apps.cli import work
    from simulate.ledger import StoreLedger
    from simulate.llm import preflight
    from simulate.plan import Planner

    study = open_study(folder, store)
    study = work.with_model(study, model) if model else study
    update: dict[str, Any] = {"extractor": model} if model else {}
    update |= {"conversations": limit, "per_task": {}} if limit else {}
    run = study.config.run.model_copy(update=update)
    with study.open_store(create=False) as opened:
        planner = Planner(study.config, run, work.tasks_of(study, run, opened), opened)
        plan = planner.plan_profiles()
        preflight({str(run.extractor): study.config.models[str(run.extractor)]})
        if not as_json:
            for line in work.plan_lines(plan):
                click.echo(line)
        summary, spending = work.execute(
            planner,
            plan,
            study,
            ledger=StoreLedger(opened),
            budget_usd=budget,
            meter=work.Meter(unit="profiles", quiet=as_json),
        )
    said, facts, code = work.outcome(summary, spending)
    answer(as_json, facts, said, [("usercal profiles show", "read them"), ("usercal plan", "what twins would cost")])
    return code


@command.command("show", epilog="Example:  usercal profiles show --limit 3")
@click.argument("profile_id", required=False, metavar="[ID]")
@click.option("--limit", type=click.IntRange(min=1), default=3, show_default=True, help="How many.")
@study_options
@json_option
def show(profile_id: str | None, limit: int, folder: Path | None, store: str | None, as_json: bool) -> None:
    """Show profiles: all parts, which model extracted them, and what was left unknown."""
    from annotate.errors import InputError
    from annotate.schema import Profile

    study = open_study(folder, store)
    with study.open_store(create=False) as opened:
        found = opened.select(Profile, id=profile_id) if profile_id else opened.select(Profile)
        if profile_id and not found:
            raise InputError(f"profile {profile_id!r} is not in the store. List them: usercal profiles show")
        shown = found[:limit]
    lines = [line for profile in shown for line in _lines(profile)]
    lines.append(row("profiles", f"{len(found)} in the store, {len(shown)} shown"))
    answer(
        as_json,
        {"profiles": [p.model_dump(mode="json") for p in shown], "count": len(found)},
        lines,
        [("usercal plan", "what twins would cost")] if found else [("usercal profiles extract", "make some")],
    )


def _lines(profile: Any) -> list[str]:
    lines = [f"{profile.id}  {profile.task}  by {profile.extractor}, of conversation {profile.conversation}"]
    if profile.length_range:
        lines.append(f"  messages of {profile.length_range[0]} to {profile.length_range[1]} words")
    for entry in profile.knowledge or ():
        lines.append(f"  knows      {entry.concept}: {entry.state}")
    for entry in profile.preferences or ():
        lines.append(f"  wants      {entry.name}: {entry.answer}")
    for part in ("writing", "interaction"):
        known = [v for v in getattr(profile, part) or () if v.value != "unknown"]
        unknown = len(getattr(profile, part) or ()) - len(known)
        lines += [f"  {part:<11}{v.key.replace('_', ' ')}: {v.value}" for v in known]
        if unknown:
            lines.append(f"  {part:<11}{unknown} unknown")
    return lines + [f"  problem    {problem}" for problem in profile.problems]
