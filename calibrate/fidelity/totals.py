"""A table of results: totals per proxy and domain, where nobody gives episodes, hence nothing paired by task."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from annotate.errors import InputError
from calibrate.estimate import Estimate
from calibrate.fidelity.border import UNKNOWN, numbers, require, texts
from calibrate.fidelity.means import NEW_TASKS, TaskSums
from calibrate.fidelity.results import Counts, Difference, Question
from calibrate.stats.multiplicity import holm

if TYPE_CHECKING:
    import pandas as pd

NEEDS_EPISODES = "needs episodes, and only totals are given"


def checked_totals(given: pd.DataFrame) -> pd.DataFrame:
    """Return the table checked, one row per (proxy, domain), in their order; identical repeats collapse.

    Raises InputError for counts that are not whole, above their n or absent, a negative cost, conflicting repeats.
    """
    import pandas as pd

    require(given, ["proxy", "domain", "faithful", "n"], "results")
    frame = pd.DataFrame({name: texts(given[name], UNKNOWN) for name in ("proxy", "domain")})
    for name in ("faithful", "n", "rewarded", "n_reward", "cost_usd", "prompt_tokens", "completion_tokens"):
        frame[name] = numbers(given[name], name) if name in given else np.nan
    frame["cost_basis"] = texts(given["cost_basis"], UNKNOWN) if "cost_basis" in given else UNKNOWN
    frame = frame.drop_duplicates()
    for proxy, domain in frame[["proxy", "domain"]][frame.duplicated(["proxy", "domain"])].itertuples(index=False):
        raise InputError(f"proxy {proxy!r} has two different rows for domain {domain!r}: remove one of them.")
    for part, whole, needed in (("faithful", "n", True), ("rewarded", "n_reward", False)):
        _check_counts(frame, part, whole, needed=needed)
    return frame.sort_values(["proxy", "domain"]).reset_index(drop=True)


def _check_counts(frame: pd.DataFrame, part: str, whole: str, *, needed: bool) -> None:
    x, n = frame[part].to_numpy(np.float64), frame[whole].to_numpy(np.float64)
    absent = np.isnan(x) | np.isnan(n)
    exact = (x == np.floor(x)) if part == "faithful" else np.ones(len(x), dtype=bool)
    wrong = (absent if needed else np.isnan(x) != np.isnan(n)) | (
        ~absent & ((x < 0) | (x > n) | ~exact | (n != np.floor(n)))
    )
    for at in np.flatnonzero(wrong)[:1]:
        proxy, domain = frame["proxy"].iloc[at], frame["domain"].iloc[at]
        raise InputError(
            f"proxy {proxy!r}, domain {domain!r}: {part} {x[at]:g} of {whole} {n[at]:g} is not a count: both must be "
            f"given, with 0 ≤ {part} ≤ {whole}."
        )


def sums_of_totals(results: pd.DataFrame, part: str, whole: str) -> TaskSums:
    """Return totals as sums that can be averaged and resampled; what is not told does not enter."""
    proxies, domains = sorted(set(results["proxy"])), sorted(set(results["domain"]))

    def table(column: str) -> Any:
        cells = results.pivot(index="proxy", columns="domain", values=column)
        return np.nan_to_num(cells.reindex(index=proxies, columns=domains).to_numpy(np.float64))

    x, n = table(part), table(whole)
    rows = range(len(domains))
    return TaskSums(
        tuple(proxies),
        tuple(domains),
        tuple(x[:, [at]].T for at in rows),
        tuple(n[:, [at]].T for at in rows),
        whole=part == "faithful",
        totals=True,
    )


def counts_of_totals(results: pd.DataFrame, proxy: str, domain: str | None = None) -> Counts:
    """Return the scored episodes of a proxy; of others a table of results tells nothing."""
    own = results[(results["proxy"] == proxy) & ((results["domain"] == domain) | (domain is None))]
    n = int(own["n"].sum())
    return Counts(n, n, 0, 0, 0, 0, 0, 0)


def unpaired_differences(sums: TaskSums, question: Question) -> tuple[Difference, ...]:
    """Return UFS of the first minus the second of each pair, as if the two had no task in common; Holm over all pairs.

    Limits by Newcombe's square and add of the two proxies' own; p by z with their standard errors, `tasks` is 0.
    """
    from scipy.special import ndtr

    estimates = {proxy: sums.estimate_over("UFS", proxy, question.basis, question.level) for proxy in sums.proxies}
    pairs, made = list(combinations(sums.proxies, 2)), []
    for first, second in pairs:
        one, two = estimates[first], estimates[second]
        fields: dict[str, Any] = {"n": one.n + two.n, "level": question.level, "target": NEW_TASKS}
        name = f"UFS of {first} minus {second}"
        if one.value is None or two.value is None or one.interval is None or two.interval is None:
            made.append(Estimate.undefined(name, "the UFS of one of the two is undefined", **fields))
            continue
        gap = one.value - two.value
        se = float(np.hypot(float(one.extra["se"] or 0.0), float(two.extra["se"] or 0.0)))
        made.append(
            Estimate(
                name=name,
                value=gap,
                low=gap - float(np.hypot(one.value - one.interval.low, two.interval.high - two.value)),
                high=gap + float(np.hypot(one.interval.high - one.value, two.value - two.interval.low)),
                p_value=float(2 * ndtr(-abs(gap) / se)),
                method="unpaired: Newcombe's square and add; z test",
                extra={"se": se},
                **fields,
            )
        )
    adjusted = holm([estimate.p_value for estimate in made])
    return tuple(Difference(*pair, own, p, tasks=0) for pair, own, p in zip(pairs, made, adjusted, strict=True))
