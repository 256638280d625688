"""The figures of an analysis counted a second time, in plain loops over the definitions, from a table of verdicts."""

from __future__ import annotations

import csv
import math
import random
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from annotate.episodes import EpisodeFrames
from annotate.fidelity_tables import read_verdicts
from calibrate.estimate import Estimate
from calibrate.fidelity.analysing import analyse
from calibrate.fidelity.results import FidelityAnalysis, ProxyScore, Question

Key = tuple[str, str, str, str]
FAMILIES = {
    "premature_disclosure": ("volunteers_unasked_info", "dumps_blueprint"),
    "groundedness": ("self_contradiction", "misreports_tool_result"),
    "goal_deviation": ("stops_prematurely",),
    "missed_information": ("withholds_requested_info",),
}
KEPT = {"A": 0.985, "B": 0.97, "C": 0.95, "D": 0.93, "E": 0.96, "F": 0.88}
COST = {"A": 0.05, "B": 0.02, "C": 0.01, "D": 0.004, "E": 0.02, "F": 0.03}
QUESTION = Question(q=0.8, rollouts=64, prompts=1000)
Z = 1.959963984540054


def made_up(path: Path, trials: int, seed: int, domains: tuple[str, ...], missing: float) -> Path:
    """Write verdicts of six proxies on 30 tasks a domain; some episodes broke off, some rows stand twice."""
    rng = np.random.default_rng(seed)
    rows = []
    for place, domain in enumerate(domains):
        for task in range(30):
            names = rng.choice(list(FAMILIES), size=int(rng.integers(3, 7)), p=[0.4, 0.3, 0.15, 0.15])
            criteria = [(f"c{at}", str(name), str(rng.choice(FAMILIES[str(name)]))) for at, name in enumerate(names)]
            hard = float(rng.normal(0.0, 0.02)) - 0.01 * place
            for proxy, kept in KEPT.items():
                for trial in range(trials):
                    rows += episode_rows(rng, proxy, (domain, task, trial), criteria, kept + hard, missing)
    table = pd.DataFrame(rows)
    table = pd.concat([table, table.sample(25, random_state=1)]).sample(frac=1.0, random_state=2)
    table.to_csv(path, index=False)
    return path


def episode_rows(
    rng: np.random.Generator,
    proxy: str,
    place: tuple[str, int, int],
    criteria: list[tuple[str, str, str]],
    kept: float,
    missing: float,
) -> list[dict[str, object]]:
    held = []
    for criterion, family, mode in criteria:
        passes = rng.random() < min(1.0, kept - 0.08 * (family == "premature_disclosure"))
        value = rng.choice(["na", "missing", "judged"], p=[0.15, missing, 0.85 - missing])
        held.append((criterion, family, mode, ("pass" if passes else "fail") if value == "judged" else str(value)))
    fails = {family for _, family, _, value in held if value == "fail"}
    domain, task, trial = place
    facts = {
        "proxy": proxy,
        "domain": domain,
        "task": f"t{task}",
        "trial": trial,
        "status": "infra_error" if rng.random() < 0.015 else "ok",
        "reward": float("nan")
        if rng.random() < 0.02
        else float(rng.random() < 0.75 - 0.4 * ("goal_deviation" in fails)),
        "cost_usd": COST[proxy] * (1.0 + 0.1 * (task % 5 - 2)),
        "agent": "one",
        "agent_turns": int(rng.poisson(8 + 4 * kept)),
        "agent_tool_calls": int(rng.poisson(6 - ("premature_disclosure" in fails))),
        "agent_questions": int(rng.poisson(3)),
    }
    return [{**facts, **dict(zip(("criterion", "family", "mode", "verdict"), own, strict=True))} for own in held]


# ------------------------------------------------------------------------------------------------- second count


@dataclass
class Told:
    status: str
    reward: float
    cost: float
    counts: dict[str, int]
    verdicts: dict[str, tuple[str, str, str]]


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def product(values: list[str]) -> float | None:
    """Return f of one episode; None where it is undefined or unscored."""
    held = [value for value in values if value != "na"]
    if "fail" in held:
        return 0.0
    return None if not held or "missing" in held else 1.0


class Count:
    """Everything counted again from the rows of the file, one episode after the other."""

    def __init__(self, path: Path) -> None:
        self.all: dict[Key, Told] = {}
        for row in csv.DictReader(path.open(encoding="utf-8")):
            key = (row["proxy"], row["domain"], row["task"], row["trial"])
            counts = {name: int(row[name]) for name in ("agent_turns", "agent_tool_calls", "agent_questions")}
            reward = float(row["reward"]) if row["reward"] else math.nan
            told = self.all.setdefault(key, Told(row["status"], reward, float(row["cost_usd"]), counts, {}))
            told.verdicts[row["criterion"]] = (row["family"], row["mode"], row["verdict"])
        self.ran = {key: told for key, told in self.all.items() if told.status == "ok"}
        self.proxies = sorted({key[0] for key in self.all})
        self.domains = sorted({key[1] for key in self.all})
        self.tasks = sorted({key[1:3] for key in self.all})
        found = {key: product([value for _, _, value in told.verdicts.values()]) for key, told in self.ran.items()}
        self.scored = {key: value for key, value in found.items() if value is not None}

    def over(self, values: Mapping[Key, float], proxy: str, *, pooled: bool = False) -> float | None:
        by_domain = [[value for key, value in values.items() if key[:2] == (proxy, domain)] for domain in self.domains]
        if pooled:
            return mean([value for own in by_domain for value in own])
        means = [mean(own) for own in by_domain]
        known = [value for value in means if value is not None]
        return mean(known) if len(known) == len(means) else None

    def kept(self, which: Callable[[Key, str, str], bool]) -> dict[Key, float]:
        """Return f on some of the criteria: `which` is asked episode, criterion and family."""
        found = {}
        for key, told in self.ran.items():
            value = product([v for name, (family, _, v) in told.verdicts.items() if which(key, name, family)])
            if value is not None:
                found[key] = value
        return found

    def occurred(self, family: str) -> dict[Key, bool]:
        """Return of which judged episodes of known reward it is known whether the family failed."""
        found = {}
        for key, told in self.ran.items():
            if not any(value in ("pass", "fail") for _, _, value in told.verdicts.values()):
                continue
            values = [value for name, _, value in self.ran[key].verdicts.values() if name == family]
            if not math.isnan(self.ran[key].reward) and ("fail" in values or "missing" not in values):
                found[key] = "fail" in values
        return found

    def sides(self, family: str, number: Callable[[Told], float], **wanted: object) -> tuple[list[float], list[float]]:
        """Return a number of the episodes with the family and without, of one proxy, domain or (domain, task)."""
        split: tuple[list[float], list[float]] = ([], [])
        for key, has in self.occurred(family).items():
            parts = {"proxy": key[0], "domain": key[1], "task": key[1:3], "reward": self.ran[key].reward}
            if all(parts[name] == value for name, value in wanted.items()):
                split[not has].append(number(self.ran[key]))
        return split

    def gaps(self, first: str, second: str) -> list[list[float]]:
        """Return by domain the difference of each task that both completed, rollouts averaged."""
        found: list[list[float]] = [[] for _ in self.domains]
        for domain, task in self.tasks:
            one, two = (
                mean([value for key, value in self.scored.items() if key[:3] == (proxy, domain, task)])
                for proxy in (first, second)
            )
            if one is not None and two is not None:
                found[self.domains.index(domain)].append(one - two)
        return found


@pytest.fixture(scope="module", params=[1, 2], ids=["one rollout", "two rollouts"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Count, FidelityAnalysis]:
    path = tmp_path_factory.mktemp("verdicts") / "verdicts.csv"
    made_up(path, request.param, 10 + request.param, ("airline", "retail", "telecom"), missing=0.03)
    return Count(path), analyse(read_verdicts(path), QUESTION)


def by_name(made: FidelityAnalysis) -> dict[str, ProxyScore]:
    return {own.proxy: own for own in made.proxies}


def value_of(estimate: Estimate | None) -> float:
    assert estimate is not None and estimate.value is not None
    return estimate.value


def close(value: Any) -> Any:
    return pytest.approx(value, abs=1e-9)


def all_but(family: str) -> Callable[[Key, str, str], bool]:
    return lambda _key, _name, own: own != family


def counted(column: str) -> Callable[[Told], float]:
    return lambda told: told.counts[column]


# -------------------------------------------------------------------------------------------------------- tests


def test_scores_counts_and_bounds(both: tuple[Count, FidelityAnalysis]) -> None:
    count, made = both
    assert [own.proxy for own in made.proxies] == sorted(
        count.proxies, key=lambda name: (-(count.over(count.scored, name) or 0.0), name)
    )
    every = {key: [v for _, _, v in told.verdicts.values() if v != "na"] for key, told in count.ran.items()}
    low = {key: float(all(v == "pass" for v in held)) for key, held in every.items() if held}
    high = {key: float("fail" not in held) for key, held in every.items() if held}
    for proxy, own in by_name(made).items():
        ran = [key for key in count.ran if key[0] == proxy]
        scored = [key for key in ran if key in count.scored]
        undefined = [key for key in ran if not every[key]]
        assert own.counts.total == sum(key[0] == proxy for key in count.all)
        assert (own.counts.scored, own.counts.undefined) == (len(scored), len(undefined))
        assert own.counts.unscored == len(ran) - len(scored) - len(undefined) > 0
        assert own.counts.infra_errors == own.counts.total - len(ran)
        assert own.counts.missing_verdicts == sum(held.count("missing") for held in (every[key] for key in ran))
        assert value_of(own.ufs) == close(count.over(count.scored, proxy))
        assert value_of(own.pooled) == close(count.over(count.scored, proxy, pooled=True))
        assert own.bounds == close((count.over(low, proxy), count.over(high, proxy)))
        rewards = {key: told.reward for key, told in count.ran.items() if not math.isnan(told.reward)}
        assert value_of(own.reward) == close(count.over(rewards, proxy))
        cost = mean([count.ran[key].cost for key in ran])
        assert own.cost.usd == close(cost) and own.cost.epoch_usd == close((cost or 0.0) * 64 * 1000)


def test_wilson_limits_of_one_rollout(both: tuple[Count, FidelityAnalysis]) -> None:
    count, made = both
    if max(key[3] for key in count.all) != "0":
        pytest.skip("by task, the limits are another matter")
    for proxy, own in by_name(made).items():
        variance = 0.0
        for domain in count.domains:
            held = [value for key, value in count.scored.items() if key[:2] == (proxy, domain)]
            p, n = sum(held) / len(held), len(held)
            variance += p * (1 - p) / n / len(count.domains) ** 2
            low, high = stats.binomtest(int(sum(held)), n).proportion_ci(0.95, method="wilson")
            assert (own.by_domain[domain].low, own.by_domain[domain].high) == close((low, high))
        theta = value_of(own.ufs)
        n_effective = theta * (1 - theta) / variance
        centre = (theta + Z**2 / 2 / n_effective) / (1 + Z**2 / n_effective)
        reach = Z * math.sqrt(variance + Z**2 / 4 / n_effective**2) / (1 + Z**2 / n_effective)
        assert (own.ufs.low, own.ufs.high) == close((centre - reach, centre + reach))


def test_rollouts_families_and_other_sets_of_criteria(both: tuple[Count, FidelityAnalysis]) -> None:
    count, made = both
    applies: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    has: dict[tuple[str, str], set[str]] = defaultdict(set)
    for key, told in count.ran.items():
        has[key[1], key[2]].add(key[0])
        for name, (_, _, value) in told.verdicts.items():
            if value != "na":
                applies[key[1], key[2], name].add(key[0])
    common = count.kept(lambda key, name, _: applies[key[1], key[2], name] >= has[key[1], key[2]])
    for proxy, own in by_name(made).items():
        assert value_of(own.common) == close(count.over(common, proxy))
        for family in FAMILIES:
            left = count.kept(all_but(family))
            assert value_of(own.without[family]) == close(count.over(left, proxy))
        for k, estimate in own.power.items():
            assert value_of(estimate) == close(power(count, proxy, k))
        for profile in own.families:
            wanted = [
                [v for f, m, v in e.verdicts.values() if f == profile.family and profile.mode in (None, m)]
                for key, e in count.ran.items()
                if key[0] == proxy
            ]
            assert profile.episodes == sum("fail" in held for held in wanted)
            assert profile.verdicts == sum(held.count("fail") for held in wanted)
            assert profile.applicable == profile.verdicts + sum(held.count("pass") for held in wanted)
        passed = [key for key in count.scored if key[0] == proxy and count.ran[key].reward == 1.0]
        assert value_of(own.pass_and_fail) == close(mean([1.0 - count.scored[key] for key in passed]))


def power(count: Count, proxy: str, k: int) -> float | None:
    """Return UFS^k by listing every set of k rollouts of each task."""
    by_domain = []
    for domain in count.domains:
        shares = []
        for place in [own for own in count.tasks if own[0] == domain]:
            held = [value for key, value in count.scored.items() if key[:3] == (proxy, *place)]
            sets = [float(all(chosen)) for chosen in combinations(held, k)]
            shares += [sum(sets) / len(sets)] if sets else []
        by_domain.append(sum(shares) / len(shares))
    return mean(by_domain)


def test_effects_within_tasks_and_in_cells(both: tuple[Count, FidelityAnalysis]) -> None:
    count, made = both
    for effect in made.effects:
        top = bottom = base = slope = 0.0
        for place in count.tasks:
            with_it, without = count.sides(effect.family, lambda told: told.reward, task=place)
            n1, n0, a, c = len(with_it), len(without), sum(with_it), sum(without)
            if n1 and n0:
                n = n1 + n0
                top, bottom = top + (a * n0 - c * n1) / n, bottom + n1 * n0 / n
                slope += (n1**2 * c - n0**2 * a + n1 * n0 * (n0 - n1) / 2) / n**2
                base += (a * (n0 - c) + c * (n1 - a)) / (2 * n)
        value, inflation = top / bottom, float(effect.within_task.extra["inflation"] or 0.0)
        assert value_of(effect.within_task) == close(value)
        for limit in (effect.within_task.low, effect.within_task.high):
            assert limit is not None  # at a limit the squared distance is z² times the variance there
            assert (value - limit) ** 2 == close(Z**2 * inflation * (base + slope * limit) / bottom**2)
        cells = []
        for proxy in count.proxies:
            for domain in count.domains:
                one, two = count.sides(effect.family, lambda told: told.reward, proxy=proxy, domain=domain)
                if min(len(one), len(two)) >= 5:
                    cells.append((proxy, domain, len(one), len(two), sum(one) / len(one) - sum(two) / len(two)))
        assert [own[:4] for own in effect.cells] == [own[:4] for own in cells]
        assert [own[4] for own in effect.cells] == close([own[4] for own in cells])


def test_what_is_reinforced(both: tuple[Count, FidelityAnalysis]) -> None:
    count, made = both
    single = max(key[3] for key in count.all) == "0"
    seen = 0
    for own in made.reinforced:
        for estimate, column in ((own.tool_calls, "agent_tool_calls"), (own.questions, "agent_questions")):
            one, two = count.sides("premature_disclosure", counted(column), proxy=own.proxy, reward=1.0)
            if min(len(one), len(two)) < 5:
                assert estimate.value is None
                continue
            seen += 1
            assert value_of(estimate) == close(sum(one) / len(one) - sum(two) / len(two))
            if single:
                low, high = stats.ttest_ind(one, two, equal_var=False).confidence_interval(0.95)
                assert (estimate.low, estimate.high) == close((low, high))
    assert seen >= 4


def test_correlations_over_proxies(both: tuple[Count, FidelityAnalysis]) -> None:
    count, made = both
    shared = [
        place for place in count.tasks if len({key[0] for key in count.ran if key[1:3] == place}) == len(count.proxies)
    ]
    turns: list[float] = []
    for proxy in count.proxies:
        by_task: dict[tuple[str, str], list[float]] = defaultdict(list)
        for key, told in count.ran.items():
            if key[0] == proxy and (key[1], key[2]) in shared:
                by_task[key[1], key[2]].append(told.counts["agent_turns"])
        turns.append(sum(sum(own) / len(own) for own in by_task.values()) / len(by_task))
    ufs = [count.over(count.scored, proxy) or 0.0 for proxy in count.proxies]
    assert made.common_tasks == len(shared)
    found = stats.pearsonr(turns, ufs)
    low, high = found.confidence_interval(0.95)
    correlation = made.turns_against_ufs
    assert isinstance(correlation, Estimate)
    assert (correlation.value, correlation.low, correlation.high) == close((found.statistic, low, high))


def test_differences_and_their_tests(both: tuple[Count, FidelityAnalysis]) -> None:
    count, made = both
    draws = np.random.default_rng(3)
    ps: list[float] = []
    for own in made.differences:
        gaps = count.gaps(own.first, own.second)
        assert value_of(own.estimate) == close(sum(sum(held) / len(held) for held in gaps) / len(gaps))
        assert own.tasks == sum(len(held) for held in gaps)
        parts = np.array([gap / len(held) / len(gaps) for held in gaps for gap in held if gap])
        flipped = draws.choice([-1.0, 1.0], size=(20_000, len(parts))) @ parts
        share = float((np.abs(flipped) >= abs(parts.sum()) - 1e-12).mean())
        assert own.estimate.p_value is not None
        assert own.estimate.p_value == pytest.approx(share, abs=0.002 + 4 * math.sqrt(share * (1 - share) / 20_000))
        ps.append(own.estimate.p_value)
    highest, adjusted = 0.0, [0.0] * len(ps)
    for step, at in enumerate(np.argsort(ps, kind="stable")):
        highest = max(highest, min(1.0, (len(ps) - step) * ps[at]))
        adjusted[at] = highest
    assert [own.p_holm for own in made.differences] == close(adjusted)


def test_of_one_domain_the_test_is_mcnemars(tmp_path: Path) -> None:
    path = made_up(tmp_path / "verdicts.csv", 1, 5, ("telecom",), missing=0.03)
    count, made = Count(path), analyse(read_verdicts(path), QUESTION)
    for own in made.differences:
        (held,) = count.gaps(own.first, own.second)
        up, down = sum(gap > 0 for gap in held), sum(gap < 0 for gap in held)
        assert own.estimate.p_value == close(stats.binomtest(up, up + down).pvalue if up + down else 1.0)


def test_disclosure_against_the_rest_where_nothing_is_missing(tmp_path: Path) -> None:
    path = made_up(tmp_path / "verdicts.csv", 1, 6, ("airline", "retail"), missing=0.0)
    count, made = Count(path), analyse(read_verdicts(path), QUESTION)
    disclosure = count.kept(lambda _key, _name, family: family == "premature_disclosure")
    others = count.kept(lambda _key, _name, family: family != "premature_disclosure")
    only, rest = ([count.over(kept, proxy) or 0.0 for proxy in count.proxies] for kept in (disclosure, others))
    assert isinstance(made.disclosure_against_rest, Estimate)
    assert made.disclosure_against_rest.value == close(stats.spearmanr(only, rest).statistic)


def test_support_is_that_of_a_plain_loop_over_tasks(both: tuple[Count, FidelityAnalysis]) -> None:
    count, made = both
    scores, resamples, dice = by_name(made), 1500, random.Random(99)
    held: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for key, value in count.scored.items():
        held[key[0], key[1]][key[2]].append(value)
    met: dict[str, int] = dict.fromkeys(count.proxies, 0)
    chosen, undominated = dict(met), dict(met)
    for _ in range(resamples):
        ufs = dict.fromkeys(count.proxies, 0.0)
        for domain in count.domains:
            tasks = [task for place, task in count.tasks if place == domain]
            drawn, between = dice.choices(tasks, k=len(tasks)), dice.uniform(-0.5, 0.5)
            for proxy in count.proxies:
                own = held[proxy, domain]
                values = [value for task in drawn for value in own.get(task, [])]
                added = sum(len(v) for v in own.values()) / len(own) / len(count.domains)
                smooth = (sum(values) + added / 2 + between) / (len(values) + added)
                ufs[proxy] += min(1.0, max(0.0, smooth)) / len(count.domains)
        cost = {proxy: round(scores[proxy].cost.usd or 0.0, 12) for proxy in count.proxies}
        reaching = [proxy for proxy in count.proxies if ufs[proxy] >= QUESTION.q]
        winner = min(reaching, key=lambda name: (cost[name], -ufs[name], name)) if reaching else None
        for proxy in count.proxies:
            met[proxy] += proxy in reaching
            chosen[proxy] += proxy == winner
            undominated[proxy] += not any(cost[o] < cost[proxy] and ufs[o] > ufs[proxy] for o in count.proxies)
    for proxy, score in scores.items():
        for told, times in (
            (score.support.meets, met),
            (score.support.chosen, chosen),
            (score.support.frontier, undominated),
        ):
            share = times[proxy] / resamples
            error = math.sqrt(max(share * (1 - share), 0.002) * (1 / resamples + 1 / QUESTION.resamples))
            assert told == pytest.approx(share, abs=4 * error)


def test_simultaneous_lower_limits_use_the_critical_value_of_resampled_tasks(
    both: tuple[Count, FidelityAnalysis],
) -> None:
    count, made = both
    draws = np.random.default_rng(8)
    resampled = np.zeros((4000, len(count.proxies)))
    for domain in count.domains:
        tasks = [place for place in count.tasks if place[0] == domain]
        sums, sizes = np.zeros((len(tasks), len(count.proxies))), np.zeros((len(tasks), len(count.proxies)))
        for key, value in count.scored.items():
            if key[1] == domain:
                at = tasks.index((key[1], key[2])), count.proxies.index(key[0])
                sums[at], sizes[at] = sums[at] + value, sizes[at] + 1
        drawn = draws.integers(len(tasks), size=(4000, len(tasks)))
        resampled += sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1) / len(count.domains)
    together = np.random.default_rng(9).multivariate_normal(
        np.zeros(len(count.proxies)), np.corrcoef(resampled.T), size=100_000
    )
    critical = float(np.quantile(together.max(axis=1), 0.95))
    for own in made.proxies:
        theta, lower = value_of(own.ufs), own.lower
        assert lower is not None
        # A Wilson limit solves (θ − L)² = c² L(1 − L)/n; solved for c with the n behind the two-sided interval.
        assert own.ufs.low is not None
        n_effective = Z**2 * own.ufs.low * (1 - own.ufs.low) / (theta - own.ufs.low) ** 2
        standard_errors = (theta - lower) / math.sqrt(lower * (1 - lower) / n_effective)
        assert standard_errors == pytest.approx(critical, abs=0.06)


def test_how_many_tasks_would_settle_the_published_choice() -> None:
    shares = [89 / 114, 44 / 50, 101 / 114, 81 / 97]  # UserProxyBench, Table 2, Gemma-31B
    variance = sum(p * (1 - p) for p in shares) / 4
    results = pd.DataFrame(
        {
            "proxy": "Gemma-31B",
            "domain": ["Telecom", "Airline", "Retail", "Banking"],
            "faithful": [89, 44, 101, 81],
            "n": [114, 50, 114, 97],
            "cost_usd": 0.0175,
            "cost_basis": "list",
        }
    )
    decision = analyse(EpisodeFrames(results=results), Question(q=0.84)).decision
    assert decision.chosen == "Gemma-31B"
    assert decision.needed_n == math.ceil(stats.norm.ppf(0.95) ** 2 * variance / (0.845 - 0.84) ** 2) == 13950


def test_proxies_that_fail_on_the_same_tasks_are_compared_on_the_same_draws(tmp_path: Path) -> None:
    path, fails = tmp_path / "verdicts.csv", {3, 8, 15, 22, 31, 40, 47, 58}
    rows = [
        f"{proxy},retail,t{task},c,groundedness,{'fail' if task in fails else 'pass'},{cost}"
        for proxy, cost in (("a", 0.01), ("b", 0.02), ("c", 0.03))
        for task in range(60)
    ]
    path.write_text("proxy,domain,task,criterion,family,verdict,cost_usd\n" + "\n".join(rows), encoding="utf-8")
    made = analyse(read_verdicts(path), QUESTION)
    one_sided = stats.binomtest(52, 60).proportion_ci(0.90, method="wilson").low
    for own in made.proxies:
        assert own.lower == pytest.approx(one_sided, abs=0.002)
        assert own.support.frontier == 1.0
        assert own.support.chosen == (own.support.meets if own.proxy == "a" else 0.0)
