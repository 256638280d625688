"""`usercal status`: what the study holds."""

from __future__ import annotations

from pathlib import Path

import click

from apps.cli.options import answer, json_option, open_study, row, shown_path, study_options


@click.command(epilog="Example:  usercal status")
@study_options
@json_option
def command(folder: Path | None, store: str | None, as_json: bool) -> None:
    """Say what the study holds, and what comes next."""
    from annotate.episodes import TASK_PREFIX
    from annotate.schema import Annotation, Call, Conversation, Failure, Item, Profile

    study = open_study(folder, store)
    with study.open_store() as opened:
        human = len(opened.column(Conversation, "origin", origin="human"))
        simulated = opened.column(Conversation, "task", origin="simulated")
        episodes = sum(task.startswith(TASK_PREFIX) for task in simulated)
        twins = len(simulated) - episodes
        counts = {
            "human_conversations": human,
            "simulated_conversations": twins,
            "proxy_episodes": episodes,
            "people": len(set(opened.column(Conversation, "participant", origin="human"))),
            "items": opened.count(Item),
            "profiles": opened.count(Profile),
            "annotations": opened.count(Annotation),
            "calls": opened.count(Call),
            "failures": opened.count(Failure),
        }
        tasks = sorted(set(opened.column(Conversation, "task")))
    lines = [
        row("study", f"{study.config.study.name!r} in {shown_path(study.folder)}"),
        row("human", f"{human} conversations of {counts['people']} people; tasks: {', '.join(tasks) or 'none yet'}"),
        row("twins", f"{twins} conversations, {counts['profiles']} profiles"),
        row("ratings", f"{counts['annotations']} annotations"),
        row("calls", f"{counts['calls']} in the ledger; {counts['failures']} failures on record"),
    ]
    if episodes:
        lines.insert(3, row("proxies", f"{episodes} episodes of user proxies"))
    if not human and episodes:
        following = [("usercal ufs", "what they show of the proxies' fidelity")]
    elif not human:
        following = [("usercal import PATH", "your conversations")]
    elif not twins:
        following = [("usercal report", "what people alone say"), ("usercal plan", "what twins would cost")]
    else:
        following = [("usercal report", "alignment and realism with intervals")]
    answer(as_json, {"study": study.config.study.name, "tasks": tasks, **counts}, lines, following)
