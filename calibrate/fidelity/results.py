"""What an analysis of fidelity says: plain records, each number an `Estimate` or with the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pandas as pd

    from annotate.episodes import CostBasis
    from calibrate.estimate import Estimate, Undefined

Basis = Literal["domains", "episodes"]
"""The mean a decision uses: unweighted over domains (the paper's tables) or over episodes (its equation 1)."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of the proxies.

    `q` is the fidelity that is enough, `margin` how far below it is still enough, `rollouts` × `prompts` the size of
    an epoch; `max_seconds` and `max_turns` are further constraints on the mean episode, None for none.
    """

    q: float = 0.84
    margin: float = 0.0
    basis: Basis = "domains"
    rollouts: int | None = None
    prompts: int | None = None
    max_seconds: float | None = None
    max_turns: float | None = None
    level: float = 0.95
    resamples: int = 2000
    seed: int = 7


@dataclass(frozen=True, slots=True)
class Counts:
    """Episodes of a proxy by what became of them; the parts add up to `total`."""

    total: int
    scored: int
    undefined: int
    unscored: int
    infra_errors: int
    not_scorable: int
    duplicates: int
    missing_verdicts: int


@dataclass(frozen=True, slots=True)
class Cost:
    """US dollars of the user side per conversation; None where unknown, and then `reason` says why."""

    usd: float | None
    basis: CostBasis
    n: int
    reason: str | None = None
    list_usd: float | None = None
    epoch_usd: float | None = None


@dataclass(frozen=True, slots=True)
class FamilyCount:
    """How often a failure family, or a mode of it, was met: failing episodes, failing verdicts, applicable verdicts."""

    family: str
    mode: str | None
    episodes: int
    verdicts: int
    applicable: int
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Support:
    """Shares of resampled task sets in which a statement holds; None where it cannot be asked (unknown cost)."""

    meets: float | None
    chosen: float | None
    frontier: float | None
    meets_with_margin: float | None = None


@dataclass(frozen=True, slots=True)
class ProxyScore:
    """Everything that is said of one proxy.

    `ufs` is the unweighted mean over domains, `pooled` the mean over episodes; `bounds` are the complete set's UFS with
    every missing verdict failing and passing (None where nothing is missing); `lower` is the simultaneous lower bound
    of the assured rule; `power` is UFS^k by k; `common` is the UFS on criteria that apply to all proxies of a task;
    `without` is the UFS without a family, by family; `applicable` the mean number of applicable criteria.
    """

    proxy: str
    ufs: Estimate
    pooled: Estimate
    by_domain: dict[str, Estimate]
    counts: Counts
    counts_by_domain: dict[str, Counts]
    cost: Cost
    support: Support
    reward: Estimate
    reward_by_domain: dict[str, Estimate] = field(default_factory=dict)
    bounds: tuple[float, float] | None = None
    lower: float | None = None
    power: dict[int, Estimate] = field(default_factory=dict)
    families: tuple[FamilyCount, ...] = ()
    without: dict[str, Estimate] = field(default_factory=dict)
    applicable: Estimate | None = None
    common: Estimate | None = None
    pass_and_fail: Estimate | None = None
    """Of the episodes with full reward, the share that fails UFS."""
    seconds: Estimate | None = None
    turns: Estimate | None = None
    """The user's turns, over all episodes that ran."""
    agent_turns: Estimate | None = None
    """The agent's turns, over the tasks that every proxy completed."""
    """The user's turns in an episode."""
    bounds_pooled: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Frontier:
    """Who is dominated: strictly (the paper: cheaper and more faithful), and in Pareto's sense; by cost, then name."""

    strict: tuple[str, ...]
    pareto: tuple[str, ...]
    strictly_dominated: tuple[str, ...]
    pareto_dominated: tuple[str, ...]
    dominated_by: dict[str, tuple[str, ...]]
    excluded: dict[str, str]
    """proxy → why it takes no part (cost or UFS unknown)."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The cheapest proxy that is faithful enough: by the point rule, and by the assured rule.

    `needed_n` is how many tasks would settle on which side of q the chosen proxy (or the best, if none is) lies; None
    where it is settled or never can be (`needed_reason`).
    """

    question: Question
    chosen: str | None
    chosen_reason: str
    assured: str | None
    assured_reason: str
    settled: bool
    needed_n: int | None
    needed_reason: str
    margin_support: float | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """UFS of `first` minus `second`, paired on the tasks that both completed; `p_holm` over all pairs."""

    first: str
    second: str
    estimate: Estimate
    p_holm: float | None
    tasks: int


@dataclass(frozen=True, slots=True)
class Effect:
    """What a failure family goes with: reward of episodes with it minus without.

    `within_task` is Mantel–Haenszel by task across proxies; `cells` are the paper's: proxy × domain with at least five
    episodes on both sides, with their mean, median and the count of negative, zero and positive ones.
    """

    family: str
    within_task: Estimate
    cells: tuple[tuple[str, str, int, int, float], ...]
    """(proxy, domain, n with, n without, difference)"""
    cell_mean: Estimate
    cell_median: float | None
    signs: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Reinforced:
    """On successful episodes of one proxy: the agent's tool calls and questions, over-disclosing minus not."""

    proxy: str
    tool_calls: Estimate
    questions: Estimate


@dataclass(frozen=True, slots=True)
class FidelityAnalysis:
    """The whole analysis, proxies by falling UFS."""

    proxies: tuple[ProxyScore, ...]
    domains: tuple[str, ...]
    frontier: Frontier
    frontier_pooled: Frontier
    decision: Decision
    differences: tuple[Difference, ...]
    effects: tuple[Effect, ...]
    reinforced: tuple[Reinforced, ...]
    reward_spread: Estimate
    """Largest minus smallest mean reward over proxies."""
    turns_against_ufs: Estimate | Undefined
    turns_against_reward: Estimate | Undefined
    ufs_against_reward: Estimate | Undefined
    common_tasks: int
    """Tasks that every proxy completed."""
    tasks: int
    expected_failures: dict[str, float]
    """Under a judge's false-fail rate (`1 %`): the share of episodes a perfect proxy would fail."""
    audited: bool
    paired: bool
    """False where only totals are known: then resamples are drawn per proxy and domain, not per task."""
    notes: tuple[str, ...] = ()
    by_people: bool = False
    """Whether every verdict was given by a person: then there is no judge to be audited."""
    raters: tuple[str, ...] = ()
    """Who gave the verdicts, where it is known."""
    points: pd.DataFrame | None = None
    """One row per proxy: proxy, cost_usd, ufs, low, high, reward, dominated."""
    disclosure_against_rest: Estimate | Undefined | None = None
    """Spearman's rho over proxies of UFS on disclosure criteria with UFS on all others; None where only totals are."""
