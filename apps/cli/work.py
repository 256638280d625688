"""What `plan`, `run`, `judge`, `profiles` and `demo` share: plan, price, show progress, stop cleanly, sum up."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from annotate.config import ModelConfig, RunSection
from annotate.study import Study, load_run
from apps.cli.options import row

if TYPE_CHECKING:
    from annotate.store import Store
    from simulate.cells import Plan
    from simulate.engine import Engine, Progress, Summary
    from simulate.llm import Gateway, Ledger
    from simulate.plan import Planner
    from simulate.task import Task

KINDS = (("profile", "profiles"), ("conversation", "twins"), ("annotation", "ratings"))
_EVERY_SECONDS = 2.0


def run_section(study: Study, config: Path | None) -> RunSection:
    """Return the `[run]` of a run file, or of the study."""
    return study.config.run if config is None else load_run(config, study.config)


def tasks_of(study: Study, run: RunSection, store: Store) -> dict[str, Task]:
    """Load the tasks that the run names, or those of the conversations in the store."""
    from annotate.schema import Conversation
    from simulate.task import load_tasks

    names = list(run.tasks) or sorted(set(store.column(Conversation, "task", origin="human")))
    tasks = load_tasks(names, study.config.tasks, study.folder)
    for task in tasks.values():
        task.check()
    return tasks


def with_model(study: Study, name: str) -> Study:
    """Return the study with `name` among its models: declared, or any litellm name with default settings."""
    if name in study.config.models or "/" not in name:
        return study
    models = {**study.config.models, name: ModelConfig(model=name)}
    return Study(study.folder, study.config.model_copy(update={"models": models}), study.store_override)


def used_models(study: Study, run: RunSection) -> dict[str, ModelConfig]:
    """Return the models that a run talks to, by their name in study.toml."""
    names = {run.user, run.assistant, run.document, run.extractor, *run.judges, *run.assistants.values()} - {None}
    return {str(name): study.config.models[str(name)] for name in sorted(map(str, names))}


@dataclass
class Meter:
    """One line that says how far the work is; on a terminal it is rewritten, elsewhere a line every few seconds."""

    unit: str = "cells"
    quiet: bool = False
    every: float = 10.0
    _begun: float = field(default_factory=time.monotonic)
    _last: float = 0.0
    _open: bool = False

    def show(self, progress: Progress, gateway: Gateway) -> None:
        """Show the progress, if enough time has passed."""
        here = time.monotonic()
        terminal = sys.stderr.isatty()
        finished = progress.done + progress.failed >= progress.total
        if self.quiet or (here - self._last < (0.2 if terminal else self.every) and not finished):
            return
        self._last = here
        line = self._line(progress, gateway, here - self._begun)
        if terminal:
            click.echo(f"\r\033[K{line}", nl=False, err=True)
            self._open = True
        else:
            click.echo(line, err=True)

    def close(self) -> None:
        """End the line."""
        if self._open:
            click.echo("", err=True)
            self._open = False

    def _line(self, progress: Progress, gateway: Gateway, seconds: float) -> str:
        share = progress.done / progress.total if progress.total else 1.0
        bar = "█" * int(share * 24)
        left = seconds / share - seconds if share > 0.02 else None
        parts = [
            f"▕{bar:<24}▏ {share:.0%}  {progress.done:,}/{progress.total:,} {self.unit}",
            f"{gateway.paid_calls:,} calls",
            money(gateway),
        ]
        if gateway.cached_calls:
            parts.append(f"{gateway.cached_calls:,} from the ledger")
        if left is not None and progress.done < progress.total:
            parts.append(f"{duration(left)} left")
        parts.append(f"{progress.failed} failed")
        if sys.stderr.isatty():
            parts.append("Ctrl-C stops cleanly")
        return "   ".join(parts)


def money(gateway: Gateway) -> str:
    """Return what was spent; unknown prices are named, never shown as nothing."""
    unknown = gateway.unknown_cost_calls
    known = f"${gateway.spent_usd:,.2f}"
    return f"{known} and {unknown:,} calls of unknown price" if unknown else known


def duration(seconds: float) -> str:
    """Return seconds, minutes or hours as a person would say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


Observer = Callable[["Progress"], None]


def execute(planner: Planner, plan: Plan[Any], study: Study, **how: Any) -> tuple[Summary, dict[str, Any]]:
    """Carry out a plan of profiles, twins and ratings; see `carry_out`."""
    from simulate.runner import Runner

    return carry_out(lambda gateway, observe: Runner(planner, plan, gateway, observe), study, **how)


def carry_out(
    make: Callable[[Gateway, Observer], Engine[Any]],
    study: Study,
    *,
    ledger: Ledger,
    meter: Meter,
    offline: bool = False,
    budget_usd: float | None = None,
    max_calls: int | None = None,
) -> tuple[Summary, dict[str, Any]]:
    """Let the engine that `make` returns do its work; Ctrl-C stops after the calls under way.

    Returns the summary and the spending.
    """
    from simulate.llm import Gateway

    async def work() -> tuple[Summary, dict[str, Any]]:
        gateway = Gateway(
            ledger,
            prices=study.config.prices,
            budget_usd=budget_usd,
            max_calls=max_calls,
            offline=offline,
            on_call=lambda _: meter.show(runner.progress, gateway),
        )
        runner = make(gateway, lambda progress: meter.show(progress, gateway))
        meter.show(runner.progress, gateway)
        async with gateway:
            with _interruptible(runner.stop.set):
                summary = await runner.execute()
            return summary, {
                "paid_calls": gateway.paid_calls,
                "cached_calls": gateway.cached_calls,
                "spent_usd": None if gateway.unknown_cost_calls else gateway.spent_usd,
                "calls_of_unknown_price": gateway.unknown_cost_calls,
                "spent": money(gateway),
            }

    try:
        return asyncio.run(work())
    finally:
        meter.close()


@contextlib.contextmanager
def _interruptible(stop: Callable[[], None]) -> Any:
    """The first Ctrl-C (or a request to end) stops cleanly, so that no paid reply is lost; the second at once."""
    loop = asyncio.get_running_loop()
    asked = (signal.SIGINT, signal.SIGTERM)

    def first() -> None:
        stop()
        click.echo("\nStopping when the calls under way have answered. Ctrl-C again stops now.", err=True)
        for one in asked:
            loop.remove_signal_handler(one)

    try:
        for one in asked:
            loop.add_signal_handler(one, first)
    except (NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread: Ctrl-C stops at once
        yield
        return
    try:
        yield
    finally:
        for one in asked:
            loop.remove_signal_handler(one)


def plan_lines(plan: Plan[Any]) -> list[str]:
    """Say what is planned and what is done already."""
    counts = {label: plan.count(kind) for kind, label in KINDS}
    total = sum(planned for _, planned in counts.values())
    done = sum(finished for finished, _ in counts.values())
    if not total:
        return [row("plan", "nothing: no conversation is chosen, or nothing is to be made of it")]
    kinds = ", ".join(f"{planned:,} {label}" for label, (_, planned) in counts.items() if planned)
    return [row("plan", f"{kinds}: {total:,} cells; {done:,} done before")]


def outcome(summary: Summary, spending: dict[str, Any]) -> tuple[list[str], dict[str, Any], int]:
    """Say what a run did; return lines, facts and the exit code (0 done, 1 some failed, 3 budget, 130 stopped)."""
    kinds: dict[str, int] = {}
    for failure in summary.failures:
        kinds[failure.kind] = kinds.get(failure.kind, 0) + 1
    lines = [
        row(
            "done",
            f"{summary.done:,} cells, {summary.already:,} before; {spending['paid_calls']:,} calls "
            f"({spending['cached_calls']:,} more from the ledger), {spending['spent']}",
        )
    ]
    if summary.unreadable:
        lines.append(row("unreadable", f"{summary.unreadable:,} replies (kept as missing, never as a value)"))
    if summary.failed or summary.blocked:
        why = ", ".join(f"{kind} {n:,}" for kind, n in sorted(kinds.items()))
        lines.append(
            row(
                "failed",
                f"{summary.failed:,} cells ({why}); {summary.blocked:,} waited for them. The same "
                "command tries them again.",
            )
        )
        first = summary.failures[0].message if summary.failures else ""
        lines.append(row("", f"first: {first[:160]}"))
    if summary.stopped:
        lines.append(row("stopped", "as asked. The same command goes on from here and pays for nothing again."))
    if summary.budget:
        lines.append(row("budget", f"{summary.budget} The same command goes on from here."))
    facts = {
        "done": summary.done,
        "already": summary.already,
        "failed": summary.failed,
        "blocked": summary.blocked,
        "unreadable": summary.unreadable,
        "stopped": summary.stopped,
        "budget": summary.budget,
        "failures": kinds,
        **{name: value for name, value in spending.items() if name != "spent"},
    }
    code = 130 if summary.stopped else 3 if summary.budget else 1 if summary.failed or summary.blocked else 0
    return lines, facts, code
