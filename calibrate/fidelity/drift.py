"""Does a proxy still behave as it did? A random sample of later episodes against those that it was chosen by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calibrate.estimate import Estimate, Undefined, fork
from calibrate.stats.intervals import normal_quantile
from calibrate.stats.proportions import independent_difference

if TYPE_CHECKING:
    import pandas as pd
    from numpy.random import Generator

    from calibrate.probes.probing import ProbeRow

Key = tuple[str, str, str]
"""(proxy, domain, measure)"""
DRIFT = "later − earlier"
METHOD = "Newcombe, independent samples"
TARGET = "later episodes of the same kind of task"
FAULTS = {
    "gold_write_missed_asked": "gold writes missed when told to",
    "first_turn_disclosure": "identifiers in the first turn",
    "unexecuted_claim": "claims without a call",
    "stop_on_confirmation": "stopped when asked to confirm",
    "text_beside_call": "text beside a tool call",
    "glued_token": "end token beside other text",
    "role_flip": "spoke as the agent",
    "leaked_thought": "showed its reasoning",
}
"""The probes whose share is compared, by name."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How often a thing was seen: x of n episodes of a proxy."""

    x: int
    n: int


@dataclass(frozen=True, slots=True)
class Drift:
    """A proxy's rate before and after; `worse` where the whole interval of the difference lies on the bad side of 0.

    `detectable` is the change that samples of this size would find in four of five cases (normal approximation at the
    earlier rate); None where a side is empty, or where they would find none.
    """

    proxy: str
    domain: str
    measure: str
    earlier: Rate
    later: Rate
    difference: Estimate
    worse: bool
    detectable: float | None


def sample_episodes(rows: pd.DataFrame, n: int, rng: Generator) -> pd.DataFrame:
    """Return n rows of each proxy (all where there are fewer), drawn at random, spread over its domains by their share.

    The draw depends on the generator and on the episodes' names, not on the order of the rows. Raises `ValueError` for
    n < 1.
    """
    if n < 1:
        raise ValueError(f"a sample has at least one episode, got {n}")
    import pandas as pd

    ordered = rows.sort_values(["proxy", "domain", "task", "trial", "episode"], kind="stable")
    parts = []
    for _, group in ordered.groupby("proxy", observed=True, sort=True):
        child = fork(rng)
        shuffled = group.iloc[child.permutation(len(group))]
        place = shuffled.groupby("domain", observed=True).cumcount()
        share = (place + 0.5) / shuffled.groupby("domain", observed=True)["domain"].transform("size")
        parts.append(shuffled.assign(_share=share).sort_values("_share", kind="stable").head(n).drop(columns="_share"))
    return pd.concat(parts) if parts else ordered


def compare_rates(
    earlier: Mapping[Key, Rate],
    later: Mapping[Key, Rate],
    *,
    worse_when: Mapping[str, int],
    level: float = 0.95,
) -> list[Drift]:
    """Return the drift of each proxy, domain and measure that both sides have, at a level that holds for all together.

    Domains are compared one by one: two runs of other domains differ for other reasons than time.
    `worse_when` says for each measure on which side of 0 a difference is bad: −1 for a fidelity that falls, 1 for a
    fault that becomes more frequent. The level of each interval is Šidák's for the number of comparisons.
    """
    keys = [key for key in earlier if key in later]
    each = level ** (1 / max(1, len(keys)))
    return [_drift(key, earlier[key], later[key], worse_when.get(key[2], 1), each) for key in keys]


def faithful_rates(rows: pd.DataFrame) -> dict[Key, Rate]:
    """Return the faithful of the scored episodes by proxy and domain, from scored rows (see `scoring.score`)."""
    scored = rows[rows["faithful"].notna()]
    return {
        (str(proxy), str(domain), "UFS"): Rate(int(group["faithful"].sum()), len(group))
        for (proxy, domain), group in scored.groupby(["proxy", "domain"], observed=True)
    }


def probe_rates(rows: Iterable[ProbeRow]) -> dict[Key, Rate]:
    """Return how often each fault that a probe looks for was found, where it applies at all (probes, not UFS)."""
    from calibrate.probes.summary import summarise

    return {
        (summary.proxy, summary.domain, FAULTS[share.probe]): Rate(share.found, share.share.n)
        for summary in summarise(rows)
        if summary.domain is not None
        for share in summary.shares
        if share.probe in FAULTS and share.share.n
    }


def unknown_cells(earlier: Mapping[Key, Rate], later: Mapping[Key, Rate]) -> list[str]:
    """Return the proxies of the later episodes, with the domain, of which there are no earlier ones, in order."""
    known = {(proxy, domain) for proxy, domain, _ in earlier}
    return list(dict.fromkeys(f"{p} in {domain}" for p, domain, _ in later if (p, domain) not in known))


def _drift(key: Key, earlier: Rate, later: Rate, bad: int, level: float) -> Drift:
    proxy, domain, measure = key
    limits = independent_difference(later.x, later.n, earlier.x, earlier.n, level)
    name = f"{measure}, {DRIFT}"
    if isinstance(limits, Undefined):
        estimate = Estimate.undefined(name, "one side has no episode that counts", n=earlier.n + later.n)
        return Drift(proxy, domain, measure, earlier, later, estimate, False, None)
    estimate = Estimate(
        name=name,
        value=later.x / later.n - earlier.x / earlier.n,
        low=limits.low,
        high=limits.high,
        level=level,
        n=earlier.n + later.n,
        method=METHOD,
        target=TARGET,
    )
    worse = limits.high < 0 if bad < 0 else limits.low > 0
    return Drift(proxy, domain, measure, earlier, later, estimate, worse, _detectable(earlier, later, level))


def _detectable(earlier: Rate, later: Rate, level: float) -> float | None:
    rate = (earlier.x + 1) / (earlier.n + 2)
    spread = float(np.sqrt(rate * (1 - rate) * (1 / earlier.n + 1 / later.n)))
    change = (normal_quantile(level) + normal_quantile(0.6)) * spread
    return change if change < max(rate, 1 - rate) else None
