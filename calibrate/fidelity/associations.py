"""How proxies differ as a whole: agent turns, UFS and reward against each other, and how far apart rewards are.

One point a proxy: with seven of them a correlation of .955 has the interval [.72, .99], one of .594 [−.29, .93].
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from calibrate.estimate import Estimate, Undefined, fork, signature_of
from calibrate.fidelity.counting import COMPLETED, completed
from calibrate.fidelity.means import mean_by_task
from calibrate.fidelity.reinforced import FAMILY
from calibrate.fidelity.results import Basis, Question
from calibrate.fidelity.scoring import Scored
from calibrate.stats.correlation import Coefficient, correlate
from calibrate.stats.correlation_limits import fisher_limits
from calibrate.stats.resample import cluster_codes, cluster_weights

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]


def turns_against_ufs(scored: Scored, question: Question) -> Estimate | Undefined:
    """Return Pearson's r over proxies of the agent's turns, on tasks that all completed, with UFS."""
    return _turns(scored, question, "UFS", ufs_by_proxy)


def turns_against_reward(scored: Scored, question: Question) -> Estimate | Undefined:
    """Return Pearson's r over proxies of the agent's turns, on tasks that all completed, with mean reward."""
    return _turns(scored, question, "reward", reward_by_proxy)


def ufs_against_reward(scored: Scored | pd.DataFrame, question: Question) -> Estimate | Undefined:
    """Return Pearson's r over proxies of UFS with mean reward; also from a table of results."""
    sides = ufs_by_proxy(scored, question.basis), reward_by_proxy(scored, question.basis)
    return _correlation("pearson", sides, ("UFS", "reward"), question)


def disclosure_against_rest(scored: Scored, question: Question) -> Estimate | Undefined:
    """Return Spearman's ρ over proxies of the UFS on disclosure criteria alone with that on all other criteria.

    An episode counts where a criterion of the kind applies and none of its verdicts decides by being missing.
    """
    others = [family for family in scored.families if family != FAMILY]
    if FAMILY not in scored.families or not others:
        return Undefined("criteria of disclosure and of another family are needed")
    sides = (_ufs_on(scored, [FAMILY], question.basis), _ufs_on(scored, others, question.basis))
    return _correlation("spearman", sides, ("UFS on disclosure", "UFS on the rest"), question)


def common_tasks(scored: Scored) -> set[tuple[str, str]]:
    """Return the (domain, task) that every proxy completed: an episode that ran, scored or not."""
    rows = scored.rows
    ran = rows[rows["state"].isin(COMPLETED)]
    proxies = ran.groupby(["domain", "task"], observed=True)["proxy"].nunique()
    everywhere = proxies[proxies == len(scored.proxies)]
    return {(str(domain), str(task)) for domain, task in everywhere.index}


# ------------------------------------------------------------------------------------------- one value a proxy


def ufs_by_proxy(scored: Scored | pd.DataFrame, basis: Basis) -> pd.Series[float]:
    """Return UFS by proxy, mean over domains or over episodes; nan where a domain of the data has no episode of it."""
    if not isinstance(scored, Scored):
        return _from_totals(scored, "faithful", "n", basis)
    return _mean_by_proxy(scored.rows[scored.rows["state"] == "scored"], "faithful", basis, scored)


def reward_by_proxy(scored: Scored | pd.DataFrame, basis: Basis) -> pd.Series[float]:
    """Return mean reward by proxy, over its episodes of known reward that ran; nan as for UFS."""
    if not isinstance(scored, Scored):
        return _from_totals(scored, "rewarded", "n_reward", basis)
    return _mean_by_proxy(scored.rows[scored.rows["state"].isin(COMPLETED)], "reward", basis, scored)


def _mean_by_proxy(rows: pd.DataFrame, column: str, basis: Basis, scored: Scored) -> pd.Series[float]:
    """Return a column's mean by proxy, known values only; every domain of the data counts for every proxy."""
    known = rows[np.isfinite(rows[column].to_numpy(np.float64))]
    proxies, domains = list(scored.proxies), list(scored.domains)
    if basis == "episodes":
        return cast("pd.Series[float]", known.groupby("proxy")[column].mean().reindex(proxies))
    cells = known.groupby(["proxy", "domain"])[column].mean().unstack("domain").reindex(index=proxies, columns=domains)
    return cast("pd.Series[float]", cells.mean(axis=1, skipna=False))


def _from_totals(results: pd.DataFrame, successes: str, trials: str, basis: Basis) -> pd.Series[float]:
    if basis == "episodes":
        sums = results.groupby("proxy")[[successes, trials]].sum(min_count=1)
        return cast("pd.Series[float]", sums[successes] / sums[trials])
    shares = results.assign(share=results[successes] / results[trials])
    return cast(
        "pd.Series[float]", shares.pivot(index="proxy", columns="domain", values="share").mean(axis=1, skipna=False)
    )


def _ufs_on(scored: Scored, families: list[str], basis: Basis) -> pd.Series[float]:
    """Return UFS by proxy on the criteria of some families."""
    rows = completed(scored)
    failed = rows[[f"failed:{family}" for family in families]].to_numpy(np.float64).sum(axis=1) > 0
    applies = rows[[f"applicable:{family}" for family in families]].to_numpy(np.float64).sum(axis=1) > 0
    known = rows[[f"missing:{family}" for family in families]].to_numpy(np.float64).sum(axis=1) == 0
    kept = rows.assign(kept=1.0 - failed)[applies & (known | failed)]
    return _mean_by_proxy(kept, "kept", basis, scored)


def agent_turns(scored: Scored, question: Question) -> dict[str, Estimate]:
    """Return the agent's mean turns by proxy over the tasks that every proxy completed, rollouts of a task averaged."""
    by_task = _turns_by_task(scored)
    held = {str(proxy): rows for proxy, rows in by_task.groupby("proxy", observed=True)}
    name = "agent turns, tasks that all proxies completed"
    return {
        proxy: mean_by_task(name, held.get(proxy, by_task.iloc[:0]), "agent_turns", question.level)
        for proxy in map(str, scored.proxies)
    }


def _turns_by_task(scored: Scored) -> pd.DataFrame:
    """Return the agent's mean turns by proxy, domain and task, of the tasks that every proxy completed."""
    rows, shared = scored.rows, common_tasks(scored)
    keys = zip(rows["domain"].astype(str), rows["task"].astype(str), strict=True)
    held = np.array([key in shared for key in keys], dtype=bool)
    ran = rows[held & rows["state"].isin(COMPLETED).to_numpy()]
    ran = ran.assign(proxy=ran["proxy"].astype(str))
    return ran.groupby(["proxy", "domain", "task"], observed=True)["agent_turns"].mean().reset_index()


def _turns(scored: Scored, question: Question, other: str, values: Any) -> Estimate | Undefined:
    by_task = _turns_by_task(scored)
    if by_task.empty:
        return Undefined("no task that every proxy completed")
    turns = by_task.groupby("proxy")["agent_turns"].mean()
    sides = cast("pd.Series[float]", turns), values(scored, question.basis)
    made = _correlation("pearson", sides, ("agent turns", other), question)
    return made.model_copy(update={"extra": {**made.extra, "common_tasks": len(common_tasks(scored))}})


def _correlation(
    coefficient: Coefficient,
    sides: tuple[pd.Series[float], pd.Series[float]],
    names: tuple[str, str],
    question: Question,
) -> Estimate:
    """Return a correlation over proxies that have both values, with Fisher's interval."""
    x, y = sides[0].align(sides[1], join="outer")
    known = np.isfinite(x.to_numpy(np.float64)) & np.isfinite(y.to_numpy(np.float64))
    name, n = f"{names[0]} against {names[1]}, over proxies", int(known.sum())
    common: dict[str, Any] = {"n": n, "level": question.level, "extra": {"proxies_left_out": int((~known).sum())}}
    value = correlate(coefficient, x[known], y[known], sides=names)
    if isinstance(value, Undefined):
        reason = f"{n} proxies are too few" if n < 3 else value.reason
        return Estimate.undefined(name, reason, **common)
    limits = fisher_limits(value, n, coefficient, question.level)
    symbol, who = ("r", "Pearson") if coefficient == "pearson" else ("ρ", "Spearman")
    common["extra"] |= {"symbol": symbol}
    interval: dict[str, Any] = (
        {"interval_reason": limits.reason.replace("pairs", "proxies")}
        if isinstance(limits, Undefined)
        else {"low": limits.low, "high": limits.high}
    )
    return Estimate(
        name=name,
        value=value,
        method=f"{who}, Fisher's z, one point a proxy",
        target="other proxies of the same kind",
        **common,
        **interval,
    )


# ------------------------------------------------------------------------------------------------ reward spread


def reward_spread(scored: Scored | pd.DataFrame, question: Question, rng: Generator) -> Estimate:
    """Return the largest minus the smallest mean reward over proxies, with an interval that holds also for none.

    The largest of noisy means is too large and the smallest too small, so the value is biased upward: `extra` holds the
    bias that a bootstrap over tasks (paired across proxies) shows, and the value less it, which is only part of it.
    The interval does not lean on the value: with all differences of two proxies inside simultaneous limits (max-t on
    the same bootstrap), their largest lies between the largest lower and the largest upper limit. Of seven proxies on
    80 tasks it covers .93 where rewards are equal and .99 where they spread.
    """
    name, child = "largest minus smallest mean reward", fork(rng)
    means = reward_by_proxy(scored, question.basis)
    known = means[np.isfinite(means.to_numpy(np.float64))]
    left_out: dict[str, Any] = {"proxies_left_out": len(means) - len(known)}
    common: dict[str, Any] = {"n": len(known), "level": question.level, "target": "new tasks, these proxies"}
    if len(known) < 2:
        reason = "fewer than two proxies of known mean reward"
        return Estimate.undefined(name, reason, extra=left_out, **common)
    drawn = _resampled_means(scored, list(known.index), question, child)
    drawn = drawn[np.isfinite(drawn).all(axis=1)]
    values: FloatArray = np.asarray(known, dtype=np.float64)
    value, limits = float(np.ptp(values)), _spread_limits(values, drawn, question.level, _widest(scored))
    if isinstance(limits, Undefined):
        return Estimate(name=name, value=value, interval_reason=limits.reason, extra=left_out, **common)
    bias = float(np.ptp(drawn, axis=1).mean()) - value
    extra = {**left_out, "bias": bias, "corrected": max(0.0, value - bias)}
    extra |= {"largest": str(known.idxmax()), "smallest": str(known.idxmin())}
    return Estimate(
        name=name,
        value=value,
        low=limits[0],
        high=limits[1],
        signature=signature_of(child, question.resamples),
        method="max-t over all pairs of proxies, bootstrap "
        + ("over tasks, paired" if isinstance(scored, Scored) else "of totals")
        + "; the value is biased upward",
        extra=extra,
        **common,
    )


def _widest(scored: Scored | pd.DataFrame) -> float:
    """Return how far apart two mean rewards can be: 1, or the range of rewards where they leave 0 to 1."""
    if not isinstance(scored, Scored):
        return 1.0
    rewards = scored.rows["reward"].to_numpy(np.float64)
    return float(np.nanmax(rewards, initial=1.0) - np.nanmin(rewards, initial=0.0))


def _spread_limits(
    values: FloatArray, drawn: FloatArray, level: float, widest: float
) -> tuple[float, float] | Undefined:
    """Return the largest lower and the largest upper simultaneous limit of the differences of two proxies."""
    pairs = np.array(list(combinations(range(len(values)), 2)))
    gaps = values[pairs[:, 0]] - values[pairs[:, 1]]
    resampled = drawn[:, pairs[:, 0]] - drawn[:, pairs[:, 1]]
    se = resampled.std(axis=0, ddof=1) if len(drawn) > 1 else np.zeros(len(gaps))
    moves = se > 1e-12
    if not moves.any():
        return Undefined("all resamples give the same means: too little data")
    apart = np.abs(resampled[:, moves] - gaps[moves]) / se[moves]
    reach = float(np.quantile(apart.max(axis=1), level)) * se
    size = np.abs(gaps)
    return max(0.0, float((size - reach).max())), min(widest, float((size + reach).max()))


def _resampled_means(
    scored: Scored | pd.DataFrame, proxies: list[str], question: Question, rng: Generator
) -> FloatArray:
    """Return mean rewards of resamples, shape (resample, proxy); nan where one has no episode left in a domain."""
    if not isinstance(scored, Scored):
        return _means_from_totals(scored, proxies, question, rng)
    rows = scored.rows
    known = rows[rows["state"].isin(COMPLETED) & np.isfinite(rows["reward"].to_numpy(np.float64))]
    known = known[known["proxy"].astype(str).isin(proxies)]
    place = {proxy: index for index, proxy in enumerate(proxies)}
    sums: list[FloatArray] = []
    sizes: list[FloatArray] = []
    for _, own in known.groupby(known["domain"].astype(str)):
        tasks, count = cluster_codes(own["task"].astype(str))
        flat = tasks * len(proxies) + own["proxy"].astype(str).map(place).to_numpy(np.int64)
        weights = cluster_weights(count, question.resamples, rng).astype(np.float64)
        for store, what in ((sums, own["reward"].to_numpy(np.float64)), (sizes, np.ones(len(own)))):
            table = np.bincount(flat, weights=what, minlength=count * len(proxies)).reshape(count, len(proxies))
            store.append(weights @ table)
    return _means(np.stack(sums), np.stack(sizes), question.basis)


def _means(sums: FloatArray, sizes: FloatArray, basis: Basis) -> FloatArray:
    """Return means by basis from sums and sizes of shape (domain, resample, proxy)."""
    if basis == "episodes":
        sums, sizes = sums.sum(axis=0, keepdims=True), sizes.sum(axis=0, keepdims=True)
    return cast("FloatArray", np.where(sizes > 0, sums / np.maximum(sizes, 1.0), np.nan).mean(axis=0))


def _means_from_totals(results: pd.DataFrame, proxies: list[str], question: Question, rng: Generator) -> FloatArray:
    """Return mean rewards of binomial draws per proxy and domain, as if the proxies had no task in common."""
    domains = sorted(results["domain"].astype(str).unique())
    tables = [
        results.pivot(index="domain", columns="proxy", values=column).reindex(index=domains, columns=proxies)
        for column in ("rewarded", "n_reward")
    ]
    hits, sizes = (np.nan_to_num(table.to_numpy(np.float64)) for table in tables)
    shares = np.where(sizes > 0, hits / np.maximum(sizes, 1.0), 0.0)
    shape = (len(domains), question.resamples, len(proxies))
    trials = np.broadcast_to(sizes[:, None, :], shape)
    drawn = rng.binomial(trials.astype(np.int64), np.broadcast_to(shares[:, None, :], shape))
    return _means(drawn.astype(np.float64), trials, question.basis)
