"""Which proxy to use: the cheapest that is faithful enough, how firmly the tasks support it, and what is assured.

Support is the share of resampled task sets in which a statement holds, smoothed (`TaskSums.smoothed`). It is about one
minus a one-sided p, not the probability that the statement is true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from calibrate.estimate import Undefined, fork
from calibrate.fidelity.domination import TOLERANCE, cheapest, dominators, frontier, operating_point, taking_part
from calibrate.fidelity.means import TaskSums, combine
from calibrate.fidelity.planning import needed_tasks
from calibrate.fidelity.planning import short as _short
from calibrate.fidelity.results import Decision, Frontier, Question, Support
from calibrate.stats.resample import MAX_UNDEFINED_SHARE
from calibrate.stats.simultaneous import max_t_critical

FloatArray = NDArray[np.float64]
UNAUDITED = "the judge is unaudited"
NAMED = 3  # proxies or reasons that a sentence names
BASIS_WORDS = {"domains": "mean over domains", "episodes": "mean over episodes"}


@dataclass(frozen=True, slots=True)
class Ruling:
    """The decision with what it rests on; `support` and the simultaneous limits are by proxy.

    `lower` and `upper` are each one-sided and simultaneous over the proxies, on the basis of the question; None where
    the UFS or its spread is undefined. `critical` is the number of standard errors they use.
    """

    decision: Decision
    frontier: Frontier
    frontier_pooled: Frontier
    support: dict[str, Support]
    lower: dict[str, float | None]
    upper: dict[str, float | None]
    critical: float


def decide(
    sums: TaskSums,
    costs: Mapping[str, float | None],
    question: Question,
    rng: Generator,
    *,
    barred: Mapping[str, str] | None = None,
    audited: bool = False,
) -> Ruling:
    """Return the point rule's and the assured rule's proxy for UFS ≥ q, from UFS by task and costs in US dollars.

    `barred` proxies (→ reason) take no part in choice and frontier. Without an audit of the judge nothing is assured;
    the simultaneous limits are given all the same.
    """
    out = dict(barred or {})
    by_basis = {basis: _points(sums, costs, sums.over(basis)) for basis in BASIS_WORDS}  # type: ignore[arg-type]
    means, counts = sums.draw(question.resamples, fork(rng))
    draws = combine(means, counts, question.basis)
    points = by_basis[question.basis]
    lower, upper, critical = simultaneous_limits(sums, draws, question, fork(rng))
    smooth = combine(sums.smoothed(means, counts, fork(rng)), counts, question.basis)
    support = supports(points, smooth, sums.proxies, question, out)
    decision = _decision(sums, points, lower, upper, support, question, out, audited)
    return Ruling(
        decision=decision,
        frontier=frontier(by_basis["domains"], out),
        frontier_pooled=frontier(by_basis["episodes"], out),
        support=support,
        lower=lower,
        upper=upper,
        critical=critical,
    )


def _points(
    sums: TaskSums, costs: Mapping[str, float | None], values: FloatArray
) -> dict[str, tuple[float | None, float | None]]:
    return {
        proxy: (costs.get(proxy), None if np.isnan(value) else float(value))
        for proxy, value in zip(sums.proxies, values, strict=True)
    }


def supports(
    points: Mapping[str, tuple[float | None, float | None]],
    draws: FloatArray,
    proxies: tuple[str, ...],
    question: Question,
    barred: Mapping[str, str],
) -> dict[str, Support]:
    """Return for each proxy in how many resamples, shape (resample, proxy), it meets q, is chosen, is undominated.

    Costs stay as they are. Resamples that leave a proxy undefined do not count; None where they are more than a fifth.
    """
    known, _ = taking_part(points, barred)
    names = sorted(known)
    places = [proxies.index(name) for name in names]
    usable = np.isfinite(draws[:, places]).sum(axis=1) == len(places)
    enough = bool(names) and _enough(usable)
    cost = np.array([known[name][0] for name in names])
    drawn = draws[usable][:, places] if enough else np.zeros((0, len(names)))
    winners = cheapest(cost, drawn, question.q)
    dominated: NDArray[np.bool_] = np.asarray(dominators(cost, drawn).any(axis=-1))
    found = {}
    for at, proxy in enumerate(proxies):
        own = draws[:, at]
        place = names.index(proxy) if enough and proxy in names else None
        found[proxy] = Support(
            meets=_share(own, question.q),
            chosen=None if place is None else float((winners == place).mean()),
            frontier=None if place is None else float((~dominated[:, place]).mean()),
            meets_with_margin=_share(own, question.q - question.margin) if question.margin > 0 else None,
        )
    return found


def _share(draws: FloatArray, q: float) -> float | None:
    known = np.isfinite(draws)
    return float((draws[known] >= q - TOLERANCE).mean()) if _enough(known) else None


def _enough(usable: NDArray[np.bool_]) -> bool:
    return bool(usable.any()) and float((~usable).mean()) <= MAX_UNDEFINED_SHARE


def simultaneous_limits(
    sums: TaskSums, draws: FloatArray, question: Question, rng: Generator
) -> tuple[dict[str, float | None], dict[str, float | None], float]:
    """Return lower and upper limits of UFS that hold for all proxies at once, and the standard errors they use.

    Max-t with the proxies' correlations over resampled tasks; the limits themselves are Wilson's, squared and added, so
    that a proxy whose episodes all pass is not infinitely certain.
    """
    values = sums.over(question.basis)
    critical = max_t_critical(draws[:, np.isfinite(values)], question.level, rng)
    lower: dict[str, float | None] = {}
    upper: dict[str, float | None] = {}
    for at, proxy in enumerate(sums.proxies):
        limits = sums.limits_over(at, question.basis, critical)
        lower[proxy] = None if isinstance(limits, Undefined) else limits.low
        upper[proxy] = None if isinstance(limits, Undefined) else limits.high
    return lower, upper, critical


# ------------------------------------------------------------------------------------------------------- decision


def _decision(
    sums: TaskSums,
    points: Mapping[str, tuple[float | None, float | None]],
    lower: Mapping[str, float | None],
    upper: Mapping[str, float | None],
    support: Mapping[str, Support],
    question: Question,
    barred: Mapping[str, str],
    audited: bool,
) -> Decision:
    chosen = operating_point(points, question.q, barred)
    reaching = {name: point for name, point in points.items() if (lower[name] or 0.0) >= question.q - TOLERANCE}
    bound = operating_point(reaching, -np.inf, barred)
    assured = bound if audited else None
    known, _ = taking_part(points, barred)
    out_of_reach = chosen is None and bool(known) and all((upper[name] or 1.0) < question.q for name in known)
    settled = audited and (out_of_reach if chosen is None else assured == chosen)
    subject = chosen or (max(known, key=lambda name: (known[name][1], name)) if known else None)
    tasks_tell = out_of_reach if chosen is None else bound == chosen
    none = _nobody(points, barred) if subject is None else ""
    needed, needed_reason = _needed(sums, subject, question, chosen, none, settled=settled, tasks_tell=tasks_tell)
    margin = support[chosen].meets_with_margin if chosen else None
    return Decision(
        question=question,
        chosen=chosen,
        chosen_reason=_chosen_reason(chosen, known, points, question, barred),
        assured=assured,
        assured_reason=_assured_reason(assured, lower, question, audited=audited),
        settled=settled,
        needed_n=needed,
        needed_reason=needed_reason,
        margin_support=margin,
    )


def _chosen_reason(
    chosen: str | None,
    known: Mapping[str, tuple[float, float]],
    points: Mapping[str, tuple[float | None, float | None]],
    question: Question,
    barred: Mapping[str, str],
) -> str:
    over = BASIS_WORDS[question.basis]
    if chosen is not None:
        return f"the cheapest with UFS ≥ {_short(question.q)} ({_share_words(known[chosen][1])}, {over})"
    if not known:
        return _nobody(points, barred)
    reach = f"none reaches {_short(question.q)}: {_best_words(known)} ({over})"
    unpriced = [name for name, (_, ufs) in points.items() if name not in known and ufs is not None]
    met = [name for name in unpriced if (points[name][1] or 0.0) >= question.q - TOLERANCE]
    return reach + (f"; {', '.join(met)} would, but cannot be chosen: {_why_not(met, barred)}" if met else "")


def _why_not(names: list[str], barred: Mapping[str, str]) -> str:
    reasons = list(dict.fromkeys(barred.get(name, "cost unknown") for name in names))
    return "; ".join(reasons[:NAMED])


def _best_words(known: Mapping[str, tuple[float, float]]) -> str:
    """Return the best of the proxies with its UFS, or all that share the first place."""
    top = max(ufs for _, ufs in known.values())
    best = sorted(name for name, (_, ufs) in known.items() if ufs >= top - TOLERANCE)
    value = _share_words(top)
    if len(best) == 1:
        return f"the best, {best[0]}, has {value}"
    more = f" and {len(best) - NAMED} more" if len(best) > NAMED else ""
    names = ", ".join(best[:NAMED]) if more else f"{', '.join(best[:-1])} and {best[-1]}"
    return f"{names}{more} tie for the best with {value}"


def _nobody(points: Mapping[str, tuple[float | None, float | None]], barred: Mapping[str, str]) -> str:
    """Return why no proxy can be chosen at all: left out by a constraint, without a cost, or without a UFS."""
    if not points:
        return "there is no proxy"
    able = [name for name, (cost, ufs) in points.items() if cost is not None and ufs is not None]
    reasons = list(dict.fromkeys(barred[name] for name in able if name in barred))
    if reasons:
        shown = "; ".join(reasons[:NAMED]) + (f"; and {len(reasons) - NAMED} more" if len(reasons) > NAMED else "")
        return f"no proxy meets the constraints: {shown}"
    return "no proxy has both a cost and a UFS"


def _assured_reason(
    assured: str | None, lower: Mapping[str, float | None], question: Question, *, audited: bool
) -> str:
    if not audited:
        return UNAUDITED
    level = f"{question.level * 100:g} %"
    if assured is not None:
        limit = _share_words(lower[assured] or 0.0)
        return f"the cheapest whose simultaneous {level} lower limit reaches {_short(question.q)} ({limit})"
    bounds = [bound for bound in lower.values() if bound is not None]
    if not bounds:
        return "no proxy has a lower limit"
    return (
        f"no proxy that can be chosen has a simultaneous {level} lower limit of at least {_short(question.q)}; the "
        f"largest lower limit of all is {_share_words(max(bounds))}"
    )


def _needed(
    sums: TaskSums,
    subject: str | None,
    question: Question,
    chosen: str | None,
    nobody: str,
    *,
    settled: bool,
    tasks_tell: bool,
) -> tuple[int | None, str]:
    """Return how many tasks would settle it; None where the tasks settle it as it is, whatever else is missing."""
    q = _short(question.q)
    if settled and chosen is None:
        return None, f"settled: no proxy reaches {q} (every simultaneous upper limit lies below it)"
    if settled:
        return None, "settled: the assured rule and the point rule agree"
    if subject is None:
        return None, nobody
    if tasks_tell and chosen is None:
        what = f"that no proxy reaches {q} (every simultaneous upper limit lies below it)"
        return None, f"as far as the tasks go it is settled {what}; what is missing is an audit of the judge"
    if tasks_tell:
        what = f"that {subject} reaches {q} (its simultaneous lower limit does)"
        return None, f"as far as the tasks go it is settled {what}; what is missing is an audit of the judge"
    needed, reason = needed_tasks(sums, subject, question)
    if needed is None:
        return None, reason
    at = sums.proxies.index(subject)
    tasks = int(sums.task_counts()[at].sum())
    there = f"n = {tasks:,} scored {'task' if tasks == 1 else 'tasks'} of {subject} now"
    if needed <= tasks:
        return needed, f"{reason}; {there}, and what is missing is a limit that holds for all proxies at once"
    return needed, f"{reason}; {there}"


def _share_words(value: float) -> str:
    """Return a share as the report writes it: `.864`, `1.000`."""
    text = f"{value:.3f}"
    return text.removeprefix("0")
