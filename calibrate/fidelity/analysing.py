"""The whole analysis of user fidelity: which proxy is the cheapest that is faithful enough, and what goes with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator

from annotate.episodes import EpisodeFrames
from annotate.errors import InputError
from calibrate.estimate import Estimate, Undefined, fork
from calibrate.fidelity.border import UNKNOWN
from calibrate.fidelity.costing import cost_of_episodes, cost_of_totals
from calibrate.fidelity.counting import (
    completed,
    counts_of,
    family_counts,
    on_common_criteria,
    powers,
    without_family,
)
from calibrate.fidelity.deciding import Ruling, decide
from calibrate.fidelity.means import TaskSums, mean_by_task
from calibrate.fidelity.results import Cost, Counts, FidelityAnalysis, ProxyScore, Question
from calibrate.fidelity.scoring import Scored, score
from calibrate.fidelity.totals import (
    NEEDS_EPISODES,
    checked_totals,
    counts_of_totals,
    sums_of_totals,
    unpaired_differences,
)

if TYPE_CHECKING:
    import pandas as pd

FULL_REWARD = 1.0 - 1e-9
FALSE_FAIL_RATES = {"1 %": 0.01, "2 %": 0.02, "5 %": 0.05}
NO_REWARD = "no episode with a known reward"
ONE_ROLLOUT = "one rollout a task: what varies between tasks and what between rollouts cannot be told apart"


def analyse(frames: EpisodeFrames, question: Question, *, rater: str | None = None) -> FidelityAnalysis:
    """Return everything that is said of the proxies; `rater` chooses whose verdicts count where several judged.

    All that is drawn comes from `question.seed`; the order of the rows changes nothing. Raises InputError for what
    `score` or the table of results does not allow, and for a question that cannot be asked.
    """
    check_question(question)
    rng = np.random.default_rng(question.seed)
    if frames.results is not None:
        return _of_totals(frames, question, rng)
    return analyse_scored(score(frames, rater=rater), question, rng)


def check_question(question: Question) -> None:
    """Raise InputError where the question cannot be asked."""
    rules: list[tuple[bool, str, object]] = [
        (0.0 <= question.q <= 1.0, "q must lie in 0..1", question.q),
        (0.0 <= question.margin <= 1.0, "the margin must lie in 0..1", question.margin),
        (0.5 < question.level < 1.0, "the level must lie between 0.5 and 1", question.level),
        (question.resamples >= 100, "at least 100 resamples are needed", question.resamples),
        (question.seed >= 0, "the seed must not be negative", question.seed),
        (question.rollouts is None or question.rollouts >= 1, "rollouts must be at least 1", question.rollouts),
        (question.prompts is None or question.prompts >= 1, "prompts must be at least 1", question.prompts),
        (question.max_seconds is None or question.max_seconds > 0, "max_seconds must be above 0", question.max_seconds),
        (question.max_turns is None or question.max_turns > 0, "max_turns must be above 0", question.max_turns),
    ]
    for holds, rule, value in rules:
        if not holds:
            raise InputError(f"{rule}, not {value!r}: choose another value.")


@dataclass(frozen=True, slots=True)
class Material:
    """What the scores of proxies are put together from: sums by task, and per proxy what is already known."""

    ufs: TaskSums
    reward: TaskSums
    reward_range: tuple[float, float]
    costs: dict[str, Cost]
    counts: dict[str, Counts]
    counts_by_domain: dict[str, dict[str, Counts]]
    seconds: dict[str, Estimate] = field(default_factory=dict)
    turns: dict[str, Estimate] = field(default_factory=dict)


# ------------------------------------------------------------------------------------------------------- episodes


def analyse_scored(scored: Scored, question: Question, rng: Generator) -> FidelityAnalysis:
    """Return the analysis of episodes that are scored already."""
    from calibrate.fidelity.associations import (
        common_tasks,
        disclosure_against_rest,
        reward_spread,
        turns_against_reward,
        turns_against_ufs,
        ufs_against_reward,
    )
    from calibrate.fidelity.differences import differences
    from calibrate.fidelity.effects import effects
    from calibrate.fidelity.reinforced import reinforced

    material = material_of(scored, question)
    streams = [fork(rng) for _ in range(5)]  # one each, so that no part depends on what another drew
    barred = excluded_by_constraints(material, question)
    raters, by_people = judged_by(scored)
    ruling = _ruled(material, question, streams[0], barred, audited=scored.audited or by_people)
    applicable = mean_by_task("applicable criteria", _scored_rows(scored), "applicable", question.level)
    return FidelityAnalysis(
        proxies=_ordered(_scores_of_episodes(scored, material, ruling, question), question),
        domains=scored.domains,
        frontier=ruling.frontier,
        frontier_pooled=ruling.frontier_pooled,
        decision=ruling.decision,
        differences=differences(scored, question, streams[1]),
        effects=effects(scored, question, streams[2]),
        reinforced=reinforced(scored, question, streams[3]),
        reward_spread=reward_spread(scored, question, streams[4]),
        turns_against_ufs=turns_against_ufs(scored, question),
        turns_against_reward=turns_against_reward(scored, question),
        ufs_against_reward=ufs_against_reward(scored, question),
        disclosure_against_rest=disclosure_against_rest(scored, question),
        common_tasks=len(common_tasks(scored)),
        tasks=scored.tasks,
        expected_failures=expected_failures(applicable.value),
        audited=scored.audited,
        by_people=by_people,
        raters=raters,
        paired=True,
        notes=(*scored.notes, *_notes(scored)),
        points=_points(material, ruling, question),
    )


def judged_by(scored: Scored) -> tuple[tuple[str, ...], bool]:
    """Return who gave the verdicts that count, by name, and whether all of them are people."""
    told = scored.verdicts[(scored.verdicts["value"] != "missing").to_numpy()]
    kinds = {str(kind) for kind in told["rater_kind"].unique()} if "rater_kind" in told else set()
    names = {str(name) for name in told["rater"].unique()} if "rater" in told else set()
    return tuple(sorted(names - {UNKNOWN})), kinds == {"human"}


def material_of(scored: Scored, question: Question) -> Material:
    """Return sums of UFS and reward by task, costs, counts, seconds and user turns of the proxies."""
    rows, ran = scored.rows, completed(scored)
    reward = ran["reward"].to_numpy(np.float64)
    low, high = min(0.0, np.nanmin(reward, initial=0.0)), max(1.0, np.nanmax(reward, initial=1.0))
    own = {proxy: rows[(rows["proxy"] == proxy).to_numpy()] for proxy in scored.proxies}
    of_ran = {proxy: ran[(ran["proxy"] == proxy).to_numpy()] for proxy in scored.proxies}
    return Material(
        ufs=TaskSums.of(rows, rows["faithful"].to_numpy(), scored.proxies, scored.domains),
        reward=TaskSums.of(ran, (reward - low) / (high - low), scored.proxies, scored.domains),
        reward_range=(float(low), float(high)),
        costs={proxy: cost_of_episodes(held, question) for proxy, held in own.items()},
        counts={proxy: counts_of(scored, proxy) for proxy in scored.proxies},
        counts_by_domain={
            proxy: {domain: counts_of(scored, proxy, domain) for domain in scored.domains} for proxy in scored.proxies
        },
        seconds={
            proxy: mean_by_task("seconds", held, "seconds", question.level, unit="s") for proxy, held in of_ran.items()
        },
        turns={proxy: mean_by_task("user turns", held, "user_turns", question.level) for proxy, held in of_ran.items()},
    )


def _scored_rows(scored: Scored) -> pd.DataFrame:
    return scored.rows[(scored.rows["state"] == "scored").to_numpy()]


def _scores_of_episodes(scored: Scored, material: Material, ruling: Ruling, question: Question) -> list[ProxyScore]:
    from calibrate.fidelity.associations import agent_turns

    rows, level = scored.rows, question.level

    def sums(values: Any) -> TaskSums:
        return TaskSums.of(rows, values, scored.proxies, scored.domains)

    without = {family: sums(without_family(scored, family)) for family in scored.families}
    common = sums(on_common_criteria(scored))
    low, high = sums(rows["faithful_low"].to_numpy()), sums(rows["faithful_high"].to_numpy())
    passed = rows["reward"].to_numpy(np.float64) >= FULL_REWARD
    failing = sums(np.where(passed, 1.0 - rows["faithful"].to_numpy(), np.nan))
    families, judged = family_counts(scored), _scored_rows(scored)
    agents = agent_turns(scored, question)
    found = []
    for proxy in scored.proxies:
        missing = material.counts[proxy].missing_verdicts > 0
        more = {
            "bounds": _bounds(low, high, proxy, "domains") if missing else None,
            "bounds_pooled": _bounds(low, high, proxy, "episodes") if missing else None,
            "power": powers(material.ufs, proxy, level),
            "families": families[proxy],
            "without": {
                family: own.estimate_over(f"UFS without {family}", proxy, question.basis, level)
                for family, own in without.items()
            },
            "applicable": mean_by_task(
                "applicable criteria", judged[(judged["proxy"] == proxy).to_numpy()], "applicable", level
            ),
            "common": common.estimate_over("UFS on common criteria", proxy, question.basis, level),
            "pass_and_fail": failing.estimate_over(
                "failing UFS", proxy, "episodes", level, nothing="no scored episode with full reward"
            ),
            "seconds": material.seconds[proxy],
            "turns": material.turns[proxy],
            "agent_turns": agents[proxy],
        }
        found.append(_score(proxy, material, ruling, question, more))
    return found


def _bounds(low: TaskSums, high: TaskSums, proxy: str, basis: Any) -> tuple[float, float] | None:
    at = low.proxies.index(proxy)
    limits = float(low.over(basis)[at]), float(high.over(basis)[at])
    return None if np.isnan(limits).any() else limits


def _notes(scored: Scored) -> list[str]:
    rows, notes = completed(scored), []
    agents = sorted(set(rows["agent"]))
    if len(agents) > 1:
        notes.append(f"the agents differ ({', '.join(agents[:4])}): proxies that met different ones are not comparable")
    rubrics = rows[(rows["rubric"] != "").to_numpy()].groupby(["domain", "task"])["rubric"].nunique()
    if (rubrics > 1).any():
        notes.append(f"{int((rubrics > 1).sum())} tasks were judged by more than one rubric set: not comparable there")
    if len(rows) and rows.groupby(["domain", "task", "proxy"]).size().max() == 1:
        notes.append(ONE_ROLLOUT)
    return notes


# --------------------------------------------------------------------------------------------------------- totals


def _of_totals(frames: EpisodeFrames, question: Question, rng: Generator) -> FidelityAnalysis:
    from calibrate.fidelity.associations import reward_spread, ufs_against_reward

    if frames.episodes is not None or frames.verdicts is not None or frames.results is None:
        raise InputError("both episodes and a table of results are given: give one of them.")
    results = checked_totals(frames.results)
    ufs = sums_of_totals(results, "faithful", "n")
    by_proxy = {proxy: results[(results["proxy"] == proxy).to_numpy()] for proxy in ufs.proxies}
    material = Material(
        ufs=ufs,
        reward=sums_of_totals(results, "rewarded", "n_reward"),
        reward_range=(0.0, 1.0),
        costs={proxy: cost_of_totals(rows, question) for proxy, rows in by_proxy.items()},
        counts={proxy: counts_of_totals(results, proxy) for proxy in ufs.proxies},
        counts_by_domain={
            proxy: {domain: counts_of_totals(results, proxy, domain) for domain in ufs.domains} for proxy in ufs.proxies
        },
    )
    streams = [fork(rng) for _ in range(2)]
    barred = excluded_by_constraints(material, question)
    ruling = _ruled(material, question, streams[0], barred, audited=frames.audited)
    missing = Undefined(NEEDS_EPISODES)
    return FidelityAnalysis(
        proxies=_ordered([_score(proxy, material, ruling, question, {}) for proxy in ufs.proxies], question),
        domains=ufs.domains,
        frontier=ruling.frontier,
        frontier_pooled=ruling.frontier_pooled,
        decision=ruling.decision,
        differences=unpaired_differences(ufs, question),
        effects=(),
        reinforced=(),
        reward_spread=reward_spread(results, question, streams[1]),
        turns_against_ufs=missing,
        turns_against_reward=missing,
        ufs_against_reward=ufs_against_reward(results, question),
        common_tasks=0,
        tasks=int(ufs.counts().max(axis=0, initial=0).sum()),
        expected_failures={},
        audited=frames.audited,
        paired=False,
        notes=(
            *frames.notes,
            "only totals are given: resamples are drawn per proxy and domain from binomials, not paired by task, and "
            "each episode counts as a task of its own; tasks are as many as the largest n of each domain",
            f"failure families, what goes with them, agent turns and rollouts: {NEEDS_EPISODES}",
        ),
        points=_points(material, ruling, question),
    )


# ----------------------------------------------------------------------------------------------- put together


def _ruled(material: Material, question: Question, rng: Generator, barred: dict[str, str], *, audited: bool) -> Ruling:
    """Return the decision, with the reason of every unknown cost among those who take no part in the frontier."""
    from dataclasses import replace

    costs = {proxy: cost.usd for proxy, cost in material.costs.items()}
    ruling = decide(material.ufs, costs, question, rng, barred=barred, audited=audited)

    def explained(excluded: dict[str, str]) -> dict[str, str]:
        reasons = {}
        for proxy, reason in excluded.items():
            why = material.costs[proxy].reason
            reasons[proxy] = f"{reason} ({why})" if why and reason.startswith("cost") else reason
        return reasons

    frontiers = [
        replace(frontier, excluded=explained(frontier.excluded))
        for frontier in (ruling.frontier, ruling.frontier_pooled)
    ]
    return replace(ruling, frontier=frontiers[0], frontier_pooled=frontiers[1])


def excluded_by_constraints(material: Material, question: Question) -> dict[str, str]:
    """Return the proxies whose mean episode breaks a constraint, or of which that is not known, with the reason."""
    barred: dict[str, str] = {}
    for what, limit, known in (
        ("seconds", question.max_seconds, material.seconds),
        ("user turns", question.max_turns, material.turns),
    ):
        for proxy in material.ufs.proxies if limit is not None else ():
            value = known[proxy].value if proxy in known else None
            if value is None:
                barred.setdefault(proxy, f"{what} unknown, and at most {limit:g} are allowed")
            elif limit is not None and value > limit:
                barred.setdefault(proxy, f"{value:.1f} {what} an episode, and at most {limit:g} are allowed")
    return barred


def _score(proxy: str, material: Material, ruling: Ruling, question: Question, more: dict[str, Any]) -> ProxyScore:
    ufs, reward, level = material.ufs, material.reward, question.level
    return ProxyScore(
        proxy=proxy,
        ufs=ufs.estimate_over("UFS", proxy, "domains", level),
        pooled=ufs.estimate_over("UFS over episodes", proxy, "episodes", level),
        by_domain={domain: ufs.estimate(f"UFS in {domain}", proxy, domain, level) for domain in ufs.domains},
        counts=material.counts[proxy],
        counts_by_domain=material.counts_by_domain[proxy],
        cost=material.costs[proxy],
        support=ruling.support[proxy],
        reward=_rescaled(
            reward.estimate_over("reward", proxy, question.basis, level, nothing=NO_REWARD), material.reward_range
        ),
        reward_by_domain={
            domain: _rescaled(
                reward.estimate(f"reward in {domain}", proxy, domain, level, nothing=NO_REWARD), material.reward_range
            )
            for domain in reward.domains
        },
        lower=ruling.lower[proxy],
        **more,
    )


def _rescaled(estimate: Estimate, limits: tuple[float, float]) -> Estimate:
    """Return an estimate of rewards that were brought to 0..1 in their own unit."""
    low, high = limits
    if (low, high) == (0.0, 1.0) or estimate.value is None:
        return estimate
    own = {
        name: None if value is None else low + value * (high - low)
        for name, value in (("value", estimate.value), ("low", estimate.low), ("high", estimate.high))
    }
    se = estimate.extra.get("se")
    extra = {"se": float(se) * (high - low)} if isinstance(se, float) else {}
    return estimate.model_copy(update={**own, "extra": extra})


def _ordered(scores: list[ProxyScore], question: Question) -> tuple[ProxyScore, ...]:
    """Return the proxies by falling UFS on the question's basis, undefined ones last, then by name."""

    def rank(own: ProxyScore) -> tuple[bool, float, str]:
        value = (own.ufs if question.basis == "domains" else own.pooled).value
        return value is None, -(value or 0.0), own.proxy

    return tuple(sorted(scores, key=rank))


def expected_failures(applicable: float | None) -> dict[str, float]:
    """Return the share of episodes a perfect proxy fails at a judge's false-fail rate, by mean applicable criteria.

    1 − (1 − e)^m: with 5.7 criteria 5.6, 10.9 and 25.4 % at 1, 2 and 5 %. Empty where the number is not known.
    """
    if applicable is None:
        return {}
    return {name: 1.0 - (1.0 - rate) ** applicable for name, rate in FALSE_FAIL_RATES.items()}


def _points(material: Material, ruling: Ruling, question: Question) -> pd.DataFrame:
    """Return one row per proxy, by name: proxy, cost_usd, ufs, low, high, reward, dominated (strictly)."""
    import pandas as pd

    front = ruling.frontier if question.basis == "domains" else ruling.frontier_pooled
    rows = []
    for proxy in material.ufs.proxies:
        ufs = material.ufs.estimate_over("UFS", proxy, question.basis, question.level)
        reward = material.reward.estimate_over("reward", proxy, question.basis, question.level)
        rows.append(
            {
                "proxy": proxy,
                "cost_usd": material.costs[proxy].usd,
                "ufs": ufs.value,
                "low": ufs.low,
                "high": ufs.high,
                "reward": _rescaled(reward, material.reward_range).value,
                "dominated": None if proxy in front.excluded else proxy in front.strictly_dominated,
            }
        )
    names = ["proxy", "cost_usd", "ufs", "low", "high", "reward", "dominated"]
    frame = pd.DataFrame(rows, columns=names)
    return frame.astype(dict.fromkeys(names[1:6], np.float64))
