"""`usercal check`: what is wrong or missing, without spending anything; one model with at most four tiny calls."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from typing import Any

import click

from annotate.config import ModelConfig
from annotate.study import Study
from apps.cli.options import answer, json_option, row, shown_path, study_options

EXTRAS = {
    "apps": "streamlit",
    "embed": "sentence_transformers",
    "local": "xllamacpp",
    "postgres": "psycopg",
    "labelstudio": "label_studio_sdk",
    "ray": "ray",
    "datasets": "datasets",
}


@click.command(epilog="Examples:  usercal check   usercal check --model openai/gpt-4o-mini")
@click.option("--model", metavar="NAME", help="Try one model: a [models.NAME] of study.toml, or any litellm name.")
@study_options
@json_option
def command(model: str | None, folder: Path | None, store: str | None, as_json: bool) -> int:
    """Check the study here: config, tasks, store, keys, extras.

    With --model, try that model with at most four tiny calls, and print the block for study.toml.

    Exit code 1 where something that the study needs is missing.
    """
    study = Study.open(folder, store) if folder else Study.find(Path.cwd(), store)
    if model is not None:
        return _model(model, study, as_json)
    problems: list[str] = []
    lines = [row("extras", ", ".join(f"{name} {'yes' if there else 'no'}" for name, there in extras().items()))]
    facts: dict[str, Any] = {"extras": extras()}
    if study is None:
        lines.insert(0, row("study", "none here (usercal init makes one)"))
    else:
        lines.insert(0, row("study", f"{study.config.study.name!r} in {shown_path(study.folder)}: config is right"))
        lines += _study(study, problems)
        facts["study"] = study.config.study.name
    lines += [row("problem", problem) for problem in problems]
    answer(
        as_json,
        {**facts, "problems": problems},
        lines,
        [("usercal status", "what the study holds")]
        if study
        else [("usercal init DIR", "make a study"), ("usercal demo", "see the whole chain")],
    )
    return 1 if problems else 0


def extras() -> dict[str, bool]:
    """Return which extras are installed."""
    return {name: importlib.util.find_spec(module) is not None for name, module in EXTRAS.items()}


def _study(study: Study, problems: list[str]) -> list[str]:
    """Check tasks, store and models; append what is wrong."""
    from annotate.errors import MissingExtraError, UserCalError
    from simulate.llm import preflight
    from simulate.plan import check_run, strategies_of
    from simulate.task import load_task, shipped

    lines = []
    for name in sorted({*shipped(), *study.config.tasks}):
        try:
            task = load_task(name, study.config.tasks, study.folder)
            task.check()
            lines.append(row("task", f"{name}: {len(task.scales)} scales, prompts {', '.join(task.prompts.names())}"))
        except UserCalError as error:
            problems.append(str(error))
    for step in (
        lambda: study.open_store().close(),
        lambda: strategies_of(study.config, study.config.run),
        lambda: check_run(study.config, study.config.run, twins=True),
    ):
        try:
            step()
        except UserCalError as error:
            problems.append(str(error))
    for name, config in study.config.models.items():
        try:
            preflight({name: config})
            if config.model.startswith("local/") and not extras()["local"]:
                raise MissingExtraError("local", f"model {name!r} ({config.model})")
            lines.append(row("model", f"{name} = {config.model}: can be asked"))
        except UserCalError as error:
            problems.append(str(error))
    return lines


def _model(name: str, study: Study | None, as_json: bool) -> int:
    from simulate.llm import preflight, probe

    declared = study.config.models if study else {}
    config = declared.get(name) or ModelConfig(model=name)
    label = name if name in declared else name.rsplit("/", 1)[-1].replace(".", "-").replace(":", "-")
    preflight({label: config})
    result = asyncio.run(probe(label, config))
    price = "price unknown" if result.cost_usd is None else f"${result.cost_usd:.4f}"
    shown = [
        ("model", f"{config.model} {'answers' if result.answers else 'does not answer'}"),
        *((step.name, f"{'yes' if step.works else 'no':<5}{step.detail}") for step in result.steps),
        ("calls", f"{len({id(step.call) for step in result.steps if step.call})}, {price}"),
    ]
    width = max(len(label) for label, _ in shown) + 2
    lines = [f"{label:<{width}}{text}" for label, text in shown]
    if result.answers:
        lines += ["", "Paste into study.toml:", "", result.toml.rstrip(), ""]
    facts = {
        "model": config.model, "answers": result.answers, "structured": result.structured, "streams": result.streams,
        "counts_tokens": result.counts_tokens, "refused": result.refused, "cost_usd": result.cost_usd,
        "toml": result.toml,
        "steps": [{"name": s.name, "works": s.works, "detail": s.detail, "seconds": s.seconds} for s in result.steps],
    }  # fmt: skip
    answer(as_json, facts, lines, [("usercal plan", "what a run with it would cost")] if result.answers else [])
    return 0 if result.answers else 1
