"""`usercal ufs`: how faithfully user proxies keep to their brief, and which is the cheapest that is faithful enough."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from annotate.errors import InputError
from annotate.study import Study
from annotate.tau_commands import parse_names
from apps.cli.fidelity_sources import Reading, Sources, gather
from apps.cli.options import answer, json_option, labelled, shown_path, study_options

if TYPE_CHECKING:
    from calibrate.fidelity.results import FidelityAnalysis, Question
    from calibrate.report.fidelity.probing import ProbeLine

OUT = "usercal-ufs"
FIGURES = (".pdf", ".svg", ".png")


@click.command(
    epilog="""\b
Examples:
  usercal ufs runs/
  usercal ufs verdicts.csv --q .84 --rollouts 64 --prompts 1000
  usercal ufs runs/ --verdicts verdicts.csv
  usercal ufs later/ --sample 100
  usercal ufs --commands gpt-4.1-mini,gpt-4.1 --agent gpt-4.1
"""
)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@click.option("--q", type=click.FloatRange(0, 1), help="The fidelity that is enough, 0 to 1 (else [fidelity] q).")
@click.option("--margin", type=click.FloatRange(0, 1), help="How far below q is still enough (else [fidelity] margin).")
@click.option(
    "--mean",
    "basis",
    type=click.Choice(["domains", "episodes"]),
    help="Decide by the mean over domains (as the paper's tables) or over episodes.",
)
@click.option("--rollouts", type=click.IntRange(1), metavar="N", help="Rollouts a prompt, for the cost of an epoch.")
@click.option("--prompts", type=click.IntRange(1), metavar="N", help="Prompts of an epoch.")
@click.option(
    "--max-seconds", type=click.FloatRange(0, min_open=True), help="Only proxies whose mean episode is no longer."
)
@click.option("--max-turns", type=click.FloatRange(0, min_open=True), help="Only proxies that take no more user turns.")
@click.option(
    "--verdicts", type=click.Path(path_type=Path), metavar="FILE", help="A table of verdicts on these episodes."
)
@click.option("--rater", metavar="NAME", help="Whose verdicts count, where several judged the same.")
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help="Compare N episodes a proxy of PATH with the study, and warn of drift.",
)
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="With --sample: compare with this instead of the study.",
)
@click.option(
    "--commands", metavar="A,B,C", help="Print the tau2 run lines of a fair pilot of these proxies, and stop."
)
@click.option("--agent", metavar="MODEL", help="With --commands: the one agent of all runs.")
@click.option("--domains", metavar="D,E", help="Only these domains (with --commands: else airline,retail,telecom).")
@click.option(
    "--tasks-per-domain", type=click.IntRange(1), metavar="N", help="With --commands: the first N tasks (else all)."
)
@click.option(
    "--trials", type=click.IntRange(1), default=1, show_default=True, help="With --commands: rollouts a task."
)
@click.option(
    "--judge", metavar="MODEL", help="The model whose price for judging is told (else the study's first judge)."
)
@click.option("--user-model", metavar="NAME", help="The proxy's model, where run files do not say.")
@click.option("--proxy", metavar="NAME", help="The proxy's name, where its model's is not enough.")
@click.option(
    "--guidelines",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The guidelines that users with tools were shown.",
)
@click.option(
    "--tasks",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="tau2's tasks.json, where run files lack their tasks.",
)
@click.option(
    "--seed", type=click.IntRange(0), metavar="N", help="Seed of the resampling and of --sample (else [report] seed)."
)
@click.option(
    "--resamples", type=click.IntRange(100, 100_000), metavar="N", help="Resamples (else [report] resamples)."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help=f"Where to write (else the study's reports/ufs, or ./{OUT}).",
)
@click.option("--open/--no-open", "show", default=False, help="Open the report in the browser.")
@study_options
@json_option
def command(paths: tuple[Path, ...], folder: Path | None, store: str | None, as_json: bool, **given: Any) -> int:
    """User fidelity of the proxies in PATH: tau-bench or tau2 results, a table of verdicts, or one of results.

    Without PATH the study here. Before anybody has judged, it tells what needs no model (probes, not UFS) and what
    judging would cost; with verdicts, the User Fidelity Score, the frontier, and the cheapest proxy that is faithful
    enough. Asks no model and spends nothing.
    """
    asked = Asked(**{**given, "domains": parse_names(given["domains"] or "")})
    study = Study.open(folder, store) if folder else Study.find(Path.cwd(), store)
    if asked.commands is not None:
        from apps.cli.fidelity_pilot import print_pilot

        return print_pilot(asked, study, as_json)
    reading = Reading(asked.user_model, asked.guidelines, asked.tasks, asked.proxy)
    found = gather(paths, study=study, verdicts=asked.verdicts, rater=asked.rater, reading=reading)
    found = found.within(asked.domains)
    if asked.sample is not None or asked.baseline is not None:
        from apps.cli.fidelity_drift import print_drift

        return print_drift(asked, found, study, paths, as_json)
    if not found.judged:
        from apps.cli.fidelity_probes import print_probes

        return print_probes(asked, found, study, paths, as_json)
    return _print_analysis(asked, found, study, paths, as_json)


@dataclass(frozen=True)
class Asked:
    """The options of the command, by name."""

    q: float | None = None
    margin: float | None = None
    basis: str | None = None
    rollouts: int | None = None
    prompts: int | None = None
    max_seconds: float | None = None
    max_turns: float | None = None
    verdicts: Path | None = None
    rater: str | None = None
    sample: int | None = None
    baseline: Path | None = None
    commands: str | None = None
    agent: str | None = None
    domains: tuple[str, ...] = ()
    tasks_per_domain: int | None = None
    trials: int = 1
    judge: str | None = None
    user_model: str | None = None
    proxy: str | None = None
    guidelines: Path | None = None
    tasks: Path | None = None
    seed: int | None = None
    resamples: int | None = None
    out: Path | None = None
    show: bool = False

    def question(self, study: Study | None) -> Question:
        """Return what is asked of the proxies: the options, else the study's `[fidelity]` and `[report]`."""
        from calibrate.fidelity.results import Question

        if (self.rollouts is None) != (self.prompts is None):
            raise InputError("--rollouts and --prompts make an epoch together. Give both, or neither.")
        names = ("q", "margin", "basis", "rollouts", "prompts", "max_seconds", "max_turns", "seed", "resamples")
        settled: dict[str, Any] = {}
        if study is not None:
            settled = study.config.fidelity.model_dump(exclude_none=True)
            settled |= {"seed": study.config.report.seed, "resamples": study.config.report.resamples}
        settled |= {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return Question(**settled)

    def place(self, study: Study | None, paths: tuple[Path, ...]) -> Path:
        """Return the folder to write to."""
        if self.out is not None:
            beside = next((place for place in (self.out, *self.out.parents) if place.exists()), None)
            if beside is not None and not beside.is_dir():
                raise InputError(f"--out: {beside} is a file. Give a folder to write into.")
            return self.out
        return study.reports / "ufs" if study is not None and not paths else Path(OUT)


def _print_analysis(asked: Asked, found: Sources, study: Study | None, paths: tuple[Path, ...], as_json: bool) -> int:
    from apps.cli.fidelity_remarks import remarks
    from calibrate.fidelity.analysing import analyse
    from calibrate.report.fidelity import terminal, writing

    question, found, out = asked.question(study), found.scorable(), asked.place(study, paths)
    analysis = analyse(found.frames, question, rater=asked.rater)
    title = study.config.study.name if study is not None and not paths else "User fidelity"
    written = writing.write_fidelity(analysis, out, title=title, probes=_probe_lines(found))
    lines = [
        *terminal.terminal_lines(analysis),
        *remarks(found, study),
        *_use(analysis, found),
    ]
    lines += labelled("Wrote", [_wrote(out, written)])
    if asked.show:
        click.launch(str(written["ufs.html"]))
    facts = json.loads(written["ufs.json"].read_text("utf-8")) if as_json else {}
    answer(
        as_json,
        {"paths": {kind: str(path) for kind, path in written.items()}, "analysis": facts},
        lines,
        _following(analysis),
    )
    return 0


def _probe_lines(found: Sources) -> tuple[ProbeLine, ...]:
    if not found.probes:
        return ()
    from calibrate.probes.summary import summarise
    from calibrate.report.fidelity.probing import probe_lines

    return probe_lines(summarise(found.probes))


def _use(analysis: FidelityAnalysis, found: Sources) -> list[str]:
    """Return the arguments with which tau2 uses the chosen proxy as it was measured."""
    from annotate.tau_commands import user_arguments

    chosen = analysis.decision.chosen
    how = found.user_arguments.get(chosen or "")
    if chosen is None or not isinstance(how, Mapping):
        return []
    return [
        f"{'Use it':<17}tau2 run … {user_arguments(str(how.get('model') or chosen), how.get('llm_args'))}"
    ]  # to paste


def _wrote(out: Path, written: Mapping[str, Path]) -> str:
    """Return the folder and what is in it: the texts by name, the figures and cards by their number."""
    texts = [name for name, path in written.items() if path.parent == out and path.suffix not in FIGURES]
    figures = sum(path.suffix in FIGURES for path in written.values())
    cards = sum(path.parent != out for path in written.values())
    drawn = f"  {figures} figures (PDF, SVG, PNG; 3.3 and 6.9 in)" if figures else ""
    return f"{shown_path(out)}/  {'  '.join(texts)}{drawn}" + (f"  cards/ ({cards})" if cards else "")


def _following(analysis: FidelityAnalysis) -> list[tuple[str, str]]:
    names = shlex.quote(",".join(score.proxy for score in analysis.proxies[:3]))
    return [
        (f"usercal ufs --commands {names} --agent MODEL", "a fair pilot"),
        ("usercal ufs PATH --sample 100", "later runs: has fidelity drifted?"),
    ]
