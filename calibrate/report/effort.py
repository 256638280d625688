"""What it took, and what is missing: calls, cost, failures, ratings that are not there."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calibrate.estimate import Estimate
from calibrate.metric import Metric, average
from calibrate.report.context import Context, task_label
from calibrate.report.document import Block, Note, Paragraph, Section, Table
from calibrate.report.ratings import mean_by_person, rated_scales
from calibrate.report.wording import capital, counted, listed, number

COST = Metric("cost of a conversation, mean", "mean", average, unit="USD")


def cost_section(context: Context) -> Section | None:
    """Return calls, cost, and the cost of a simulated conversation; None where no model was asked."""
    calls = context.frames.calls
    rows = tuple(
        (f"{task_label(task)}, {strategy}", _cost(context, task, strategy))
        for task in context.frames.tasks()
        for strategy in context.frames.strategies(task)
    )
    if not calls.get("calls") and not rows:
        return None
    blocks: list[Block] = [Paragraph(_calls(context))]
    if rows:
        blocks.append(Table("Cost of a simulated conversation", ("Twins", "Mean cost"), rows))
    return Section("What it cost", tuple(blocks))


def _calls(context: Context) -> str:
    calls = context.frames.calls
    asked, failed, recorded = (int(calls.get(key) or 0) for key in ("calls", "failed", "recorded"))
    cost = calls.get("cost_usd")
    price = (
        "cost unknown: the price of at least one call is not known"
        if cost is None
        else f"${number(cost, _cents(cost))} in all"
    )
    parts = [counted(asked, "call"), f"{failed:,} failed", price]
    if recorded:
        parts.insert(
            1,
            "all replies recorded earlier" if recorded == asked else f"{recorded:,} replies recorded earlier",
        )
    models = [str(name) for name in calls.get("models", [])]
    return f"{'; '.join(parts)}." + (f" Models: {listed(models, 12)}." if models else "")


def _cents(cost: float) -> int:
    return 2 if cost >= 1 or cost == 0 else 4


def _cost(context: Context, task: str, strategy: str) -> Estimate:
    twins = context.twins(task, strategy)
    cost = pd.to_numeric(twins["cost_usd"], errors="coerce")
    if cost.isna().any() or not len(cost):
        unknown = int(cost.isna().sum())
        reason = f"unknown: the cost of {unknown:,} of {counted(len(cost), 'conversation')} is not known"
        return Estimate.undefined(COST.name, reason, n=len(cost), unit="USD")
    person = twins["twin_of"].map(context.frames.by_conversation["participant"]).fillna(twins["participant"])
    return mean_by_person(COST, cost.to_numpy(np.float64), person.to_numpy())


def missing_section(context: Context) -> Section:
    """Return what is missing and why, or that nothing is."""
    items = [*_failures(context), *_missing_ratings(context), *_unrated(context), *_twinless(context)]
    blocks: tuple[Block, ...] = (
        (Note(tuple(items)),) if items else (Paragraph("Nothing that was asked for is missing."),)
    )
    return Section("What is missing", blocks)


def _failures(context: Context) -> list[str]:
    kinds = context.frames.failures
    total = sum(kinds.values())
    if not total:
        return []
    named = ", ".join(f"{number_:,} {kind.replace('_', ' ')}" for kind, number_ in sorted(kinds.items()))
    return [f"{counted(total, 'failure')} on record, by kind: {named}."]


def _missing_ratings(context: Context) -> list[str]:
    said = {"unparsable": "could not be read", "skipped": "were skipped", "not_applicable": "did not apply"}
    tables = [context.frames.ratings, context.frames.pairs.assign(scale="turing")]
    items = []
    for table in tables:
        absent = table[table["missing"].notna()]
        for (scale, kind), rows in absent.groupby(["scale", "missing"], sort=True):
            asked = int((table["scale"] == scale).sum())
            why = said.get(str(kind), str(kind))
            items.append(f"Scale {str(scale).replace('_', ' ')}: {len(rows):,} of {asked:,} answers {why}.")
    return items


def _unrated(context: Context) -> list[str]:
    items = []
    for task in context.frames.tasks():
        human = set(context.human(task)["conversation"])
        scales = rated_scales(context, task)
        if human and not scales:
            items.append(
                f"{capital(task_label(task))}: no person's rating of {counted(len(human), 'conversation')}."
            )
        for scale in scales:
            lacking = human - set(context.frames.human_ratings(task, scale)["conversation"])
            if lacking:
                items.append(
                    f"{capital(task_label(task))}: {len(lacking):,} of "
                    f"{counted(len(human), 'human conversation')} have no rating by their person on "
                    f"{scale.replace('_', ' ')}."
                )
    return items


def _twinless(context: Context) -> list[str]:
    items = []
    for task in context.frames.tasks():
        human = set(context.human(task)["conversation"])
        for strategy in context.frames.strategies(task):
            lacking = human - set(context.twins(task, strategy)["twin_of"])
            if lacking:
                items.append(
                    f"{capital(task_label(task))}: {len(lacking):,} of "
                    f"{counted(len(human), 'human conversation')} have no twin ({strategy})."
                )
    return items
