"""Analyses made by hand for the tests of the report: the published counts with made-up habits, and the hard cases.

The counts are those of UserProxyBench's Table 2; families, turns, supports and effects are invented.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any

from calibrate.estimate import Estimate, Signature, Undefined
from calibrate.fidelity.results import (
    Cost,
    Counts,
    Decision,
    Difference,
    Effect,
    FamilyCount,
    FidelityAnalysis,
    Frontier,
    ProxyScore,
    Question,
    Reinforced,
    Support,
)

DOMAINS = ("telecom", "airline", "retail", "banking")
FAMILIES = ("premature_disclosure", "groundedness", "missed_information", "goal_deviation")
PUBLISHED: dict[str, tuple[float, str, list[tuple[int, int]], list[tuple[int, int]]]] = {
    # proxy: cost, basis, (passes, n) of UFS by domain, (successes, n) of reward by domain
    "Sonnet-4-6": (
        0.1841,
        "billed",
        [(54, 114), (42, 50), (103, 113), (85, 96)],
        [(108, 114), (44, 50), (97, 114), (44, 96)],
    ),
    "Gemini-3.5-Flash": (
        0.0558,
        "billed",
        [(81, 114), (47, 50), (105, 113), (85, 97)],
        [(110, 114), (44, 50), (101, 114), (44, 97)],
    ),
    "Qwen3.6-35B": (
        0.0249,
        "list",
        [(29, 114), (34, 50), (73, 113), (84, 97)],
        [(102, 114), (46, 50), (98, 114), (43, 97)],
    ),
    "Gemma-31B": (
        0.0175,
        "list",
        [(89, 114), (44, 50), (101, 114), (81, 97)],
        [(104, 114), (42, 50), (87, 114), (42, 97)],
    ),
    "Gemma-26B": (
        0.0147,
        "list",
        [(67, 114), (40, 50), (99, 114), (75, 96)],
        [(95, 114), (44, 50), (83, 114), (42, 96)],
    ),
    "GPT-5.4-mini": (
        0.0144,
        "billed",
        [(37, 114), (29, 50), (81, 113), (75, 97)],
        [(102, 114), (32, 50), (67, 114), (44, 97)],
    ),
    "GPT-4.1-mini": (
        0.0063,
        "billed",
        [(84, 114), (37, 50), (88, 113), (73, 97)],
        [(108, 114), (40, 50), (82, 114), (40, 97)],
    ),
}
TURNS = [11.9, 13.4, 11.2, 13.1, 12.4, 10.9, 12.2]


def estimate(name: str, value: float, n: int, half: float | None = None, **fields: Any) -> Estimate:
    """A share with a symmetric interval, cut at 0 and 1 where it is no difference."""
    half = 1.96 * sqrt(max(value * (1 - value), 0.0) / max(n, 1)) if half is None else half
    floor = -1.0 if fields.pop("signed", False) else 0.0
    fields = {"method": "bootstrap over tasks", "target": "new tasks", **fields}
    return Estimate(name=name, value=value, low=max(value - half, floor), high=min(value + half, 1.0), n=n, **fields)


def plain(name: str, value: float, n: int, unit: str) -> Estimate:
    return Estimate(name=name, value=value, low=value - 0.4, high=value + 0.4, n=n, unit=unit, method="t over tasks")


def counts(n: int, lost: int = 0) -> Counts:
    return Counts(
        total=n + lost,
        scored=n,
        undefined=lost,
        unscored=0,
        infra_errors=0,
        not_scorable=0,
        duplicates=0,
        missing_verdicts=0,
    )


def habits(index: int, n: int) -> tuple[FamilyCount, ...]:
    found = []
    for place, family in enumerate(FAMILIES):
        episodes = (40 - 9 * place) + 7 * (index % 3)
        quotes = (f"I am John Smith, by the way ({family}).", 'My number is "555-123-2002".')
        found.append(FamilyCount(family, None, episodes, episodes + 6, n * 2))
        found.append(FamilyCount(family, f"mode_{place}_a", episodes - 3, episodes, n, quotes))
        found.append(FamilyCount(family, f"mode_{place}_b", 3, 6, n))
    return tuple(found)


def proxy_score(
    index: int,
    name: str,
    cost: float | None,
    basis: Any,
    kept: list[tuple[int, int]],
    won: list[tuple[int, int]],
    domains: tuple[str, ...] = DOMAINS,
) -> ProxyScore:
    n = sum(size for _, size in kept)
    by_domain = {d: estimate("UFS", k / m, m) for d, (k, m) in zip(domains, kept, strict=True)}
    reward = {d: estimate("reward", k / m, m) for d, (k, m) in zip(domains, won, strict=True)}
    mean = sum(k / m for k, m in kept) / len(kept)
    mean_reward = sum(k / m for k, m in won) / len(won)
    known = cost is not None
    return ProxyScore(
        proxy=name,
        ufs=estimate("UFS", mean, n, 0.036, signature=Signature(seed=7, resamples=2000)),
        pooled=estimate("UFS", sum(k for k, _ in kept) / n, n),
        by_domain=by_domain,
        counts=counts(n, 375 - n if n <= 375 else 0),
        counts_by_domain={d: counts(m) for d, (_, m) in zip(domains, kept, strict=True)},
        cost=Cost(
            cost,
            basis if known else "unknown",
            n if known else 0,
            None if known else "the file prices this model at 0",
            cost if basis == "list" else None,
            cost * 64_000 if known else None,
        ),
        support=Support(min(mean, 1.0), 0.6 if known else None, 0.9 if known else None, 0.92 if index == 3 else None),
        reward=estimate("reward", mean_reward, n),
        reward_by_domain=reward,
        bounds=(mean - 0.003, mean + 0.001) if index == 3 else None,
        lower=mean - 0.05,
        power={1: estimate("UFS^1", mean, n), 2: estimate("UFS^2", mean**2, n)},
        families=habits(index, n),
        without={"premature_disclosure": estimate("UFS without", min(mean + 0.06, 1.0), n)},
        applicable=plain("applicable", 5.1 + 0.05 * index, n, "criteria"),
        common=estimate("UFS on common criteria", mean + 0.01, n),
        pass_and_fail=estimate("fails UFS", 0.2 + 0.01 * index, n),
        seconds=plain("seconds", 41.0 + index, n, "seconds"),
        turns=plain("turns", TURNS[index % 7] + 0.13 * (index // 7), 374, "turns"),
        agent_turns=plain("turns", TURNS[index % 7] + 0.13 * (index // 7), 374, "turns"),
    )


def question(**fields: Any) -> Question:
    return Question(**{"q": 0.84, "rollouts": 64, "prompts": 1000, **fields})


def analysis_of(scores: list[ProxyScore], domains: tuple[str, ...] = DOMAINS, **fields: Any) -> FidelityAnalysis:
    """An analysis of the scores: the frontier is worked out here in the plainest way."""
    scores = sorted(scores, key=lambda s: -(s.ufs.value if s.ufs.value is not None else -1))
    priced = [s for s in scores if s.cost.usd is not None and s.ufs.value is not None]
    beaten = {
        s.proxy: tuple(o.proxy for o in priced if o.cost.usd < s.cost.usd and o.ufs.value > s.ufs.value)  # type: ignore[operator]
        for s in priced
    }
    order = [s.proxy for s in sorted(priced, key=lambda s: (s.cost.usd or 0.0, s.proxy))]
    dominated = tuple(name for name in order if beaten[name])
    kept = tuple(name for name in order if not beaten[name])
    excluded = {s.proxy: "its cost is unknown" for s in scores if s.cost.usd is None}
    excluded |= {s.proxy: "its UFS is undefined" for s in scores if s.ufs.value is None}
    frontier = Frontier(kept, kept, dominated, dominated, {k: v for k, v in beaten.items() if v}, excluded)
    good = [s for s in priced if (s.ufs.value or 0) >= 0.84]
    chosen = min(good, key=lambda s: s.cost.usd or 0.0).proxy if good else None
    decision = Decision(
        question(),
        chosen,
        "the cheapest of those that reach .84" if chosen else "no proxy with a known cost reaches .84",
        None,
        "the judge is unaudited",
        False,
        14_000 if chosen else None,
        f".845 against .84 would need about 14,000 tasks; n = 375 scored tasks of {chosen} now"
        if chosen
        else "no proxy is near q",
        0.92 if chosen else None,
    )
    base = FidelityAnalysis(
        proxies=tuple(scores),
        domains=domains,
        frontier=frontier,
        frontier_pooled=frontier,
        decision=decision,
        differences=(),
        effects=(),
        reinforced=(),
        reward_spread=estimate("reward spread", 0.152, len(scores), 0.03),
        turns_against_ufs=Undefined("fewer than three proxies"),
        turns_against_reward=Undefined("fewer than three proxies"),
        ufs_against_reward=Undefined("fewer than three proxies"),
        common_tasks=374,
        tasks=375,
        expected_failures={"1 %": 0.056, "2 %": 0.109, "5 %": 0.25},
        audited=False,
        paired=True,
        notes=("Retail task 60 orders all details upfront: first-turn disclosure does not apply there.",),
    )
    return replace(base, **fields)


def published() -> FidelityAnalysis:
    """Seven proxies, four domains: everything that an analysis can hold."""
    scores = [proxy_score(i, name, *row) for i, (name, row) in enumerate(PUBLISHED.items())]
    pair = Difference(
        "Gemma-31B",
        "GPT-4.1-mini",
        estimate("UFS difference", 0.093, 374, 0.045, signed=True, p_value=0.0001),
        0.0006,
        374,
    )
    cells = tuple(
        (name, domain, 20, 90, round(-0.5 + 0.03 * k, 3))
        for k, (name, domain) in enumerate((p, d) for p in PUBLISHED for d in DOMAINS[:2])
    )
    effects = tuple(
        Effect(
            family,
            estimate("within task", -0.04 - 0.1 * place, 300, 0.05, signed=True),
            tuple((p, d, a, b, value * (0.2 + 0.3 * place)) for p, d, a, b, value in cells),
            estimate("cell mean", -0.043 - 0.15 * place, 14, 0.06, signed=True),
            0.033 - 0.1 * place,
            (6, 1, 7),
        )
        for place, family in enumerate(FAMILIES)
    )
    reinforced = tuple(
        Reinforced(
            name,
            Estimate(name="tool calls", value=-1.06, low=-1.5, high=-0.6, n=280, unit="calls"),
            Estimate.undefined("questions", "fewer than five episodes on one side", n=4),
        )
        for name in PUBLISHED
    )
    return analysis_of(
        scores,
        differences=(pair,),
        effects=effects,
        reinforced=reinforced,
        turns_against_ufs=estimate("r", 0.955, 7, 0.03, signed=True),
        turns_against_reward=estimate("r", 0.594, 7, 0.4, signed=True),
        ufs_against_reward=estimate("r", 0.61, 7, 0.3, signed=True),
    )


def one_proxy(name: str = "only-one") -> FidelityAnalysis:
    return analysis_of([proxy_score(0, name, 0.01, "billed", [(9, 10)], [(8, 10)], ("retail",))], ("retail",))


def many(count: int = 40) -> FidelityAnalysis:
    scores = []
    for k in range(count):
        kept = [(60 + (k * 7) % 50, 114), (30 + k % 20, 50), (70 + (k * 3) % 40, 113), (50 + k, 97)]
        won = [(90 + k % 20, 114), (40 + k % 9, 50), (80 + k % 30, 114), (40 + k % 7, 97)]
        cost = None if k % 11 == 10 else 0.0 if k == 5 else 0.002 * 1.13**k
        scores.append(proxy_score(k, f"proxy-model-number-{k}-instruct", cost, "billed", kept, won))
    return analysis_of(scores)


def unpriced() -> FidelityAnalysis:
    return analysis_of(
        [proxy_score(i, name, None, "unknown", row[2], row[3]) for i, (name, row) in enumerate(PUBLISHED.items())]
    )


def no_verdicts() -> FidelityAnalysis:
    """Episodes without a single verdict: no UFS anywhere."""
    empty = Counts(375, 0, 0, 375, 0, 0, 0, 0)
    scores = []
    for index, (name, row) in enumerate(PUBLISHED.items()):
        none = Estimate.undefined("UFS", "no episode has a verdict", n=0)
        base = proxy_score(index, name, row[0], row[1], row[2], row[3])
        scores.append(
            replace(
                base,
                ufs=none,
                pooled=none,
                by_domain=dict.fromkeys(DOMAINS, none),
                counts=empty,
                support=Support(None, None, None),
                families=(),
                without={},
                power={},
                bounds=None,
                lower=None,
                applicable=None,
                common=None,
                pass_and_fail=None,
            )
        )
    return analysis_of(scores, expected_failures={})


def totals_only() -> FidelityAnalysis:
    """A table of results: nothing is paired, nobody knows families, turns or effects."""
    whole = published()
    scores = [
        replace(
            score,
            families=(),
            without={},
            applicable=None,
            common=None,
            pass_and_fail=None,
            seconds=None,
            turns=None,
            agent_turns=None,
            power={},
        )
        for score in whole.proxies
    ]
    none = Undefined("turns are not in a table of results")
    return analysis_of(scores, paired=False, turns_against_ufs=none, turns_against_reward=none, common_tasks=0)


AWKWARD_NAMES = (
    "<script>alert(1)</script>",
    "50%_off & #1 {curly} ~tilde^ \\back $5",
    "🤖 emoji/модель 日本語",
    "نموذج المستخدم",
    "a very long proxy name " * 8,
    "\u202eevil\x07\udc80",
    "../../etc/passwd",
    "",
)


def awkward() -> FidelityAnalysis:
    rows = list(PUBLISHED.values())
    return analysis_of(
        [proxy_score(i, name, *rows[i % 7][:2], rows[i % 7][2], rows[i % 7][3]) for i, name in enumerate(AWKWARD_NAMES)]
    )


EVERY = {
    "published": published,
    "one_proxy": one_proxy,
    "many": many,
    "unpriced": unpriced,
    "no_verdicts": no_verdicts,
    "totals_only": totals_only,
    "awkward": awkward,
}


def test_the_published_counts_give_the_published_choice() -> None:
    analysis = published()
    assert analysis.decision.chosen == "Gemma-31B"
    assert set(analysis.frontier.strictly_dominated) == {"GPT-5.4-mini", "Qwen3.6-35B", "Sonnet-4-6"}
