"""The numbers of an analysis as data: tidy CSV, one row per proxy and measure, CSV by domain, and JSON in full."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any

from calibrate.estimate import Estimate, Undefined
from calibrate.fidelity.results import FidelityAnalysis, ProxyScore
from calibrate.report.fidelity.amounts import COST_WORDS, decided, left_without_ufs
from calibrate.report.fidelity.frontier import used_frontier
from calibrate.report.wording import encodable

COLUMNS = ("proxy", "measure", "value", "low", "high", "level", "n", "unit", "method", "target", "reason")
DIGITS = 10  # of the numbers in a CSV; JSON holds them in full
DOMAIN_COLUMNS = ("proxy", "domain", *COLUMNS[1:])
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_csv(analysis: FidelityAnalysis) -> str:
    """Return one row per proxy and measure; an empty value has its reason, a value without limits says why."""
    rows = [[score.proxy, *row] for score in analysis.proxies for row in _measures(analysis, score)]
    return _written(COLUMNS, rows)


def domains_to_csv(analysis: FidelityAnalysis) -> str:
    """Return UFS and reward, one row per proxy, domain and measure."""
    rows: list[list[Any]] = []
    for score in analysis.proxies:
        for domain in analysis.domains:
            for name, own in (("ufs", score.by_domain), ("reward", score.reward_by_domain)):
                if domain in own:
                    rows.append([score.proxy, domain, *_row(name, own[domain])])
    return _written(DOMAIN_COLUMNS, rows)


def _measures(analysis: FidelityAnalysis, score: ProxyScore) -> Iterator[list[Any]]:
    yield _row("ufs_mean_over_domains", score.ufs)
    yield _row("ufs_mean_over_episodes", score.pooled)
    yield _row("reward", score.reward)
    optional = {
        "ufs_on_common_criteria": score.common,
        "applicable_criteria": score.applicable,
        "successes_that_fail_ufs": score.pass_and_fail,
        "seconds": score.seconds,
        "user_turns": score.turns,
    }
    for name, estimate in optional.items():
        if estimate is not None:
            yield _row(name, estimate)
    for k, estimate in sorted(score.power.items()):
        yield _row(f"ufs_power_{k}", estimate)
    for family, estimate in score.without.items():
        yield _row(f"ufs_without_{family}", estimate)
    yield from _costs(score)
    yield from _supports(analysis, score)
    yield from _bounds(score)
    yield from _counts(analysis, score)


def _row(measure: str, e: Estimate) -> list[Any]:
    limits = [e.value, e.low, e.high, e.level]
    return [measure, *limits, e.n, e.unit, e.method, e.target, e.reason or e.interval_reason]


def _plain(measure: str, value: float | None, n: int, unit: str | None, method: str, reason: str | None) -> list[Any]:
    return [measure, value, None, None, None, n, unit, method, None, reason]


def _costs(score: ProxyScore) -> Iterator[list[Any]]:
    cost = score.cost
    why = None if cost.usd is None else f"mean of {COST_WORDS[cost.basis]} costs; no interval is given"
    yield _plain("cost_usd", cost.usd, cost.n, "USD", cost.basis, cost.reason or why)
    if cost.list_usd is not None:
        yield _plain("list_cost_usd", cost.list_usd, cost.n, "USD", "list", "mean at list price; no interval is given")
    if cost.epoch_usd is not None:
        why = "a multiple of the mean cost; no interval is given"
        yield _plain("epoch_cost_usd", cost.epoch_usd, cost.n, "USD", "cost × rollouts × prompts", why)


def _bounds(score: ProxyScore) -> Iterator[list[Any]]:
    n = score.counts.scored + score.counts.unscored
    for name, bounds in (("domains", score.bounds), ("episodes", score.bounds_pooled)):
        if bounds is not None:
            for mark, value in zip(("low", "high"), bounds, strict=True):
                yield _plain(f"ufs_mean_over_{name}_missing_{mark}", value, n, None, "missing verdicts decided", None)


def _supports(analysis: FidelityAnalysis, score: ProxyScore) -> Iterator[list[Any]]:
    question, support = analysis.decision.question, score.support
    n = (score.ufs if question.basis == "domains" else score.pooled).n
    how = f"share of {question.resamples} resampled task sets"
    named = {
        f"support_meets_{question.q:g}": support.meets,
        **({"support_meets_with_margin": support.meets_with_margin} if question.margin > 0 else {}),
        "support_chosen": support.chosen,
        "support_frontier": support.frontier,
    }
    for name, value in named.items():
        yield _plain(name, value, n, None, how, None if value is not None else _why_no_support(analysis, score, name))
    if score.lower is not None:
        yield _plain("ufs_simultaneous_lower", score.lower, n, None, "max-t over proxies", None)


def _why_no_support(analysis: FidelityAnalysis, score: ProxyScore, name: str) -> str:
    """Return why a share of resamples is not known: no UFS, no cost, a constraint, or too few with a value."""
    if decided(score, analysis.decision.question.basis).value is None:
        return "the UFS is undefined"
    if name in ("support_chosen", "support_frontier"):
        if score.cost.usd is None:
            return "the cost is unknown"
        if score.proxy in used_frontier(analysis).excluded:
            return used_frontier(analysis).excluded[score.proxy]
    return "too many resamples leave a UFS undefined"


def _counts(analysis: FidelityAnalysis, score: ProxyScore) -> Iterator[list[Any]]:
    counts = score.counts
    if not analysis.paired:
        yield _plain("episodes_scored", counts.scored, counts.total, "episodes", "count", None)
        yield _plain("episodes_with_reward_only", left_without_ufs(score), score.reward.n, "episodes", "count", None)
        return
    for name in ("scored", "undefined", "unscored", "infra_errors", "not_scorable", "duplicates"):
        yield _plain(f"episodes_{name}", getattr(counts, name), counts.total, "episodes", "count", None)
    yield _plain("missing_verdicts", counts.missing_verdicts, counts.total, "verdicts", "count", None)
    for family in score.families:
        name = family.family if family.mode is None else f"{family.family}.{family.mode}"
        yield _plain(f"episodes_failing_{name}", family.episodes, counts.scored, "episodes", "count", None)


def _written(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([[_cell(value) for value in row] for row in rows])
    return encodable(target.getvalue())


def _cell(value: Any) -> Any:
    """Return a cell that a spreadsheet shows and never runs; numbers with ten significant digits."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    if isinstance(value, str):
        text = value.replace("\x00", "")
        return f"'{text}" if text.startswith(_FORMULA) else text
    return value


def to_json(analysis: FidelityAnalysis) -> str:
    """Return the whole analysis as JSON, every estimate in full; no nan, and what is unknown is null."""
    text = json.dumps(as_data(analysis), ensure_ascii=False, indent=1, allow_nan=False)
    return encodable(text) + "\n"


def as_data(value: Any) -> Any:
    """Return plain JSON-ready data of a record of an analysis."""
    if isinstance(value, Estimate):
        return value.as_dict()
    if isinstance(value, Undefined):
        return {"value": None, "reason": value.reason}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_data(getattr(value, field.name)) for field in fields(value) if field.name != "points"}
    if isinstance(value, dict):
        return {str(key): as_data(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_data(inner) for inner in value]
    return _number(value)


def _number(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not isfinite(value) else value
