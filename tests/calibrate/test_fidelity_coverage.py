"""Do the numbers of fidelity hold what they promise? Worlds with planted fidelity, difficulty, cost and reward effects.

A cell fails only where the 99.9 % interval of its simulated share lies wholly outside the promised band. Small
cells run always; with USERCAL_COVERAGE=full the whole grid does, with more trials (an hour and more). `python
tests/calibrate/test_fidelity_coverage.py` prints the table of the grid.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
import scipy.stats
from scipy.special import expit

from annotate.episodes import EpisodeFrames
from calibrate.estimate import Estimate
from calibrate.fidelity.associations import reward_spread
from calibrate.fidelity.deciding import decide
from calibrate.fidelity.differences import differences, sign_flip
from calibrate.fidelity.effects import effects
from calibrate.fidelity.means import TaskSums
from calibrate.fidelity.results import Question
from calibrate.fidelity.scoring import Scored, score
from calibrate.stats.stratified import risk_difference

Array = np.ndarray
FULL = os.environ.get("USERCAL_COVERAGE") == "full"
pytestmark = pytest.mark.timeout(3600 if FULL else 300)
CRITERIA = 6
PAPER = (114, 50, 114, 97)
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)


def promised(hits: list[bool], lowest: float, highest: float = 1.0) -> None:
    """Fail where the 99.9 % Clopper–Pearson interval of the share of hits lies outside the band."""
    n, x = len(hits), sum(hits)
    top = scipy.stats.beta.ppf(0.9995, x + 1, n - x) if x < n else 1.0
    bottom = scipy.stats.beta.ppf(0.0005, x, n - x + 1) if x else 0.0
    assert n >= 60 and top >= lowest and bottom <= highest, f"{x} of {n} = {x / n:.3f}, promised {lowest} to {highest}"


# ------------------------------------------------------------------------------------------------- planted fidelity


@cache
def strictness(ufs: float, spread: float) -> float:
    """The logit of a criterion's pass in a task of middling difficulty with which all of them pass in a share `ufs`."""

    def gap(logit: float) -> float:
        passes = expit(logit + spread * NODES) ** CRITERIA
        return float(WEIGHTS @ passes / WEIGHTS.sum() - ufs)

    return float(scipy.optimize.brentq(gap, -30, 40))


@dataclass(frozen=True)
class World:
    """Proxies of planted UFS in each domain; `spread` is how much tasks differ in difficulty (logits)."""

    ufs: tuple[tuple[float, ...], ...]  # (proxy, domain)
    sizes: tuple[int, ...]
    rollouts: int = 1
    spread: float = 1.0

    @classmethod
    def alike(cls, ufs: tuple[float, ...], sizes: tuple[int, ...], **more: float) -> World:
        return cls(tuple((value,) * len(sizes) for value in ufs), sizes, **more)

    @property
    def proxies(self) -> tuple[str, ...]:
        return tuple(f"P{place}" for place in range(len(self.ufs)))

    @property
    def domains(self) -> tuple[str, ...]:
        return tuple(f"D{place}" for place in range(len(self.sizes)))

    def truth(self, basis: str) -> Array:
        weights = np.ones(len(self.sizes)) if basis == "domains" else np.array(self.sizes, dtype=float)
        return np.array(self.ufs) @ weights / weights.sum()

    def verdicts(self, rng: np.random.Generator) -> list[Array]:
        """Whether each criterion passes, per domain shape (task, proxy, rollout, criterion)."""
        made = []
        for place, tasks in enumerate(self.sizes):
            logit = np.array([strictness(own[place], self.spread) for own in self.ufs])
            pass_rate = expit(logit + self.spread * rng.normal(size=(tasks, 1)))
            made.append(rng.random((tasks, len(logit), self.rollouts, CRITERIA)) < pass_rate[:, :, None, None])
        return made

    def sums(self, rng: np.random.Generator) -> TaskSums:
        faithful = [passed.all(axis=3).sum(axis=2).astype(float) for passed in self.verdicts(rng)]
        sizes = [np.full(kept.shape, float(self.rollouts)) for kept in faithful]
        return TaskSums(self.proxies, self.domains, tuple(faithful), tuple(sizes))

    def scored(self, rng: np.random.Generator) -> Scored:
        parts = []
        for domain, passed in zip(self.domains, self.verdicts(rng), strict=True):
            task, proxy, trial = (axis.ravel() for axis in np.indices(passed.shape[:3]))
            faithful = passed.all(axis=3).ravel().astype(float)
            parts.append(pd.DataFrame({"proxy": proxy, "domain": domain, "task": task, "trial": trial}))
            parts[-1]["faithful"] = faithful
        return scored_rows(pd.concat(parts), self.proxies, self.domains)


def scored_rows(rows: pd.DataFrame, proxies: tuple[str, ...], domains: tuple[str, ...], *families: str) -> Scored:
    """Rows as `score` gives them, from the numbers of proxies and tasks, without the way through verdicts."""
    rows = rows.assign(proxy=np.array(proxies, dtype=object)[rows["proxy"]], state="scored")
    rows = rows.assign(task=rows["task"].astype(str), episode=np.arange(len(rows)).astype(str))
    return Scored(rows.reset_index(drop=True), pd.DataFrame(), families, proxies, domains, Counter())


def test_what_is_planted_is_what_is_scored() -> None:
    """All the way: planted verdicts as a table, scored; the mean is the planted UFS, which no formula here repeats."""
    world = World.alike((0.9, 0.6), (400,), rollouts=3)
    passed = world.verdicts(np.random.default_rng(1))[0]
    task, proxy, trial, criterion = (axis.ravel() for axis in np.indices(passed.shape))
    names = pd.Series(task).astype(str) + "/" + pd.Series(proxy).astype(str) + "/" + pd.Series(trial).astype(str)
    verdicts = pd.DataFrame({"episode": names, "criterion": criterion.astype(str), "family": "groundedness"})
    verdicts["value"] = np.where(passed.ravel(), "pass", "fail")
    episodes = pd.DataFrame({"episode": names, "proxy": proxy, "domain": "D0", "task": task, "trial": trial})
    frames = EpisodeFrames(episodes=episodes.drop_duplicates("episode").assign(status="ok"), verdicts=verdicts)
    found = score(frames).rows.groupby("proxy")["faithful"].mean()
    assert found.to_numpy() == pytest.approx([0.9, 0.6], abs=0.05)


# ------------------------------------------------------------------------------------------------- intervals of UFS

UFS_CELLS = [
    ((0.84,), (60,), 1),
    ((0.97,), (60,), 1),
    ((0.84,), PAPER, 1),
    ((0.95, 0.5, 0.84, 0.9), PAPER, 1),
    ((0.84,), (60,), 4),
    ((0.97,), (30, 20), 4),
]
UFS_GRID = [
    (ufs, sizes, rollouts)
    for ufs in ((0.5,), (0.84,), (0.95,), (0.99,))
    for sizes in ((30,), (100,), (300,), (30, 20), PAPER)
    for rollouts in (1, 4)
]


def ufs_hits(ufs: tuple[float, ...], sizes: tuple[int, ...], rollouts: int, trials: int) -> dict[str, list[bool]]:
    """Whether the limits hold the truth: of the first domain, of the mean over domains, of the mean over episodes."""
    world = World((ufs * len(sizes) if len(ufs) == 1 else ufs,), sizes, rollouts)
    rng, z = np.random.default_rng(11), 1.959963984540054
    hits: dict[str, list[bool]] = {"domain": [], "domains": [], "episodes": []}
    for _ in range(trials):
        sums = world.sums(rng)
        first = sums.limits(0, 0, z)
        hits["domain"].append(bool(first.low <= ufs[0] <= first.high))
        for basis in ("domains", "episodes"):
            limits = sums.limits_over(0, basis, z)
            hits[basis].append(bool(limits.low <= world.truth(basis)[0] <= limits.high))
    return hits


@pytest.mark.parametrize(("ufs", "sizes", "rollouts"), UFS_GRID if FULL else UFS_CELLS)
def test_intervals_of_ufs(ufs: tuple[float, ...], sizes: tuple[int, ...], rollouts: int) -> None:
    for hits in ufs_hits(ufs, sizes, rollouts, 2000 if FULL else 400).values():
        promised(hits, 0.93)


# ------------------------------------------------------------------------------------------ support and assurance

PRIOR = (0.74, 0.94)  # of every proxy's UFS, uniform around q = .84
SUPPORTS = [(PAPER, 1, 0.05), ((60,), 1, 0.08), ((40, 25), 3, 0.08)]  # tasks, rollouts, how far support may be too high
BINS = (0.0, 0.1, 0.5, 0.9, 1.0)


def supports_and_truths(sizes: tuple[int, ...], rollouts: int, trials: int) -> dict[str, Array]:
    """Support and truth of (meets q, is chosen, is on the frontier), shape (trial · proxy, 2), UFS drawn from PRIOR."""
    rng, q, cost = np.random.default_rng(19), 0.84, np.array([0.8, 0.4, 0.2, 0.1, 0.05, 0.02])
    found: dict[str, list[tuple[float, float]]] = {"meets": [], "chosen": [], "frontier": []}
    for _ in range(trials):
        truth = rng.uniform(*PRIOR, size=6)
        world = World.alike(tuple(truth), sizes, rollouts=rollouts)
        costs = dict(zip(world.proxies, cost, strict=True))
        ruling = decide(world.sums(rng), costs, Question(q=q, resamples=300), rng, audited=True)
        meets = truth >= q
        true = {
            "meets": meets,
            "chosen": meets & (cost == np.where(meets, cost, np.inf).min()),
            "frontier": np.array([not ((cost < c) & (truth > t)).any() for c, t in zip(cost, truth, strict=True)]),
        }
        for what, own in found.items():
            said = [getattr(ruling.support[name], what) for name in world.proxies]
            own.extend(zip(said, true[what].astype(float), strict=True))
    return {what: np.array(own) for what, own in found.items()}


def calibration(pairs: Array) -> list[tuple[float, list[bool]]]:
    """Mean support and the truths, by bin of support."""
    place = np.digitize(pairs[:, 0], BINS[1:-1])
    held = [pairs[place == own] for own in range(len(BINS) - 1)]
    return [(float(own[:, 0].mean()), (own[:, 1] > 0).tolist()) for own in held if len(own) >= 60]


@pytest.mark.parametrize(("sizes", "rollouts", "excess"), SUPPORTS)
def test_support_is_calibrated_over_a_prior(sizes: tuple[int, ...], rollouts: int, excess: float) -> None:
    """Of the statements with support .88 about .86 hold at 375 tasks, about .81 at 60: on average over PRIOR.

    For a given truth near q it is not so, and with few tasks support is too high: the bootstrap neither draws towards
    the middle nor knows more steps than there are episodes.
    """
    for what, pairs in supports_and_truths(sizes, rollouts, 1000 if FULL else 120).items():
        bins = calibration(pairs)
        assert len(bins) >= (4 if what == "meets" else 2)
        for mean, truths in bins:
            promised(truths, max(0.0, mean - excess), min(1.0, mean + 0.05))


ASSURED_CELLS = [((0.839,) * 5, (60,), 1), ((0.839,) * 5, PAPER, 1), ((0.83, 0.839, 0.839), (40, 25), 3)]
ASSURED_GRID = [
    (ufs, sizes, rollouts)
    for ufs in ((0.839,), (0.839,) * 3, (0.839,) * 7)
    for sizes in ((30,), (100,), (40, 25), PAPER)
    for rollouts in (1, 4)
]


def false_assurances(
    ufs: tuple[float, ...], sizes: tuple[int, ...], rollouts: int, trials: int, q: float
) -> list[bool]:
    """Whether the assured rule names a proxy although all lie just below q."""
    world, rng, named = World.alike(ufs, sizes, rollouts=rollouts), np.random.default_rng(20), []
    costs = {name: 0.01 + place for place, name in enumerate(world.proxies)}
    for _ in range(trials):
        ruling = decide(world.sums(rng), costs, Question(q=q, resamples=200), rng, audited=True)
        named.append(ruling.decision.assured is not None)
    return named


@pytest.mark.parametrize(("ufs", "sizes", "rollouts"), ASSURED_GRID if FULL else ASSURED_CELLS)
def test_the_assured_rule_names_a_proxy_below_q_in_at_most_a_twentieth(
    ufs: tuple[float, ...], sizes: tuple[int, ...], rollouts: int
) -> None:
    promised(false_assurances(ufs, sizes, rollouts, 1000 if FULL else 150, 0.84), 0.0, 0.05)


def test_the_assured_rule_does_name_one_that_is_well_above_q() -> None:
    world, rng, named = World.alike((0.95, 0.7), PAPER), np.random.default_rng(21), []
    for _ in range(120):
        ruling = decide(world.sums(rng), {"P0": 2.0, "P1": 1.0}, Question(q=0.84, resamples=300), rng, audited=True)
        named.append(ruling.decision.assured == "P0")
    promised(named, 0.95)


# -------------------------------------------------------------------------------------------- paired differences

PAIR_CELLS = [((0.9, 0.9), (50,), 1), ((0.99, 0.98), (50,), 1), ((0.9, 0.8), PAPER, 1), ((0.95, 0.85), (30, 20), 4)]
PAIR_GRID = [
    (ufs, sizes, rollouts)
    for ufs in ((0.84, 0.84), (0.99, 0.98), (0.97, 0.9), (0.9, 0.7), (0.5, 0.45))
    for sizes in ((50,), (100,), (30, 20), PAPER)
    for rollouts in (1, 4)
]


def pair_hits(ufs: tuple[float, ...], sizes: tuple[int, ...], rollouts: int, trials: int) -> dict[str, list[bool]]:
    """Whether the interval of the difference holds the planted one, by basis."""
    world, rng = World.alike(ufs, sizes, rollouts=rollouts), np.random.default_rng(12)
    hits: dict[str, list[bool]] = {"domains": [], "episodes": []}
    for _ in range(trials):
        scored = world.scored(rng)
        for basis, own in hits.items():
            made = differences(scored, Question(basis=basis), rng)[0].estimate
            own.append(bool(made.low <= ufs[0] - ufs[1] <= made.high))
    return hits


@pytest.mark.parametrize(("ufs", "sizes", "rollouts"), PAIR_GRID if FULL else PAIR_CELLS)
def test_intervals_of_paired_differences(ufs: tuple[float, ...], sizes: tuple[int, ...], rollouts: int) -> None:
    for hits in pair_hits(ufs, sizes, rollouts, 500 if FULL else 150).values():
        promised(hits, 0.93)


def false_claims(world: World, trials: int) -> list[bool]:
    """Whether any pair of equal proxies is claimed to differ after Holm, per trial."""
    rng = np.random.default_rng(13)
    return [any(made.p_holm < 0.05 for made in differences(world.scored(rng), Question(), rng)) for _ in range(trials)]


@pytest.mark.parametrize("rollouts", [1, 3])
def test_holm_claims_a_difference_of_equal_proxies_in_at_most_a_twentieth_of_studies(rollouts: int) -> None:
    promised(false_claims(World.alike((0.85,) * 4, (40, 25), rollouts=rollouts), 1000 if FULL else 150), 0.0, 0.05)


def test_a_test_of_the_mean_over_domains_keeps_its_level_where_domains_pull_apart() -> None:
    """Equal on average, .2 apart in either domain: the sign test holds, if cautiously."""
    world, rng, claims = World(((0.9, 0.7), (0.7, 0.9)), (60, 60)), np.random.default_rng(14), []
    for _ in range(2000):
        sums = world.sums(rng)
        parts = np.concatenate([(own[:, 0] - own[:, 1]) / len(own) / 2 for own in sums.sums])
        claims.append(sign_flip(parts, rng).p < 0.05)
    promised(claims, 0.0, 0.05)


def test_differences_of_a_tenth_are_found_at_the_size_of_the_published_study() -> None:
    world, rng = World.alike((0.85, 0.75), PAPER), np.random.default_rng(15)
    found = [differences(world.scored(rng), Question(), rng)[0].p_holm < 0.05 for _ in range(120)]
    promised(found, 0.9)


# ------------------------------------------------------------------------------------------ effects on reward


@dataclass(frozen=True)
class Rewards:
    """A failure that lowers the chance of full reward by `effect`, and hard tasks that do both where `confounded`.

    `varied` lets the effect differ between tasks; `shared` is what the rollouts of a task and proxy have in common.
    """

    effect: float
    confounded: float
    tasks: int = 100
    proxies: int = 7
    rollouts: int = 1
    varied: float = 0.0
    shared: float = 0.0

    def scored(self, rng: np.random.Generator) -> Scored:
        hard = rng.normal(size=(self.tasks, 1, 1))
        habit = np.linspace(-2.5, 0.5, self.proxies)[:, None]
        shape = (self.tasks, self.proxies, self.rollouts)
        failed = rng.random(shape) < expit(habit + 1.5 * self.confounded * hard)
        own = self.effect + self.varied * rng.choice([-1, 1], size=(self.tasks, 1, 1))
        common = self.shared * rng.choice([-1, 1], size=(self.tasks, self.proxies, 1))
        passed = rng.random(shape) < 0.65 - 0.25 * self.confounded * np.tanh(hard) + own * failed + common
        task, proxy, trial = (axis.ravel() for axis in np.indices(shape))
        rows = pd.DataFrame({"proxy": proxy, "domain": "D0", "task": task, "trial": trial})
        rows = rows.assign(reward=passed.ravel().astype(float), faithful=1.0 - failed.ravel())
        rows["failed:premature_disclosure"], rows["missing:premature_disclosure"] = failed.ravel().astype(int), 0
        rows["applicable"] = 1
        names = tuple(f"P{place}" for place in range(self.proxies))
        return scored_rows(rows, names, ("D0",), "premature_disclosure")


EFFECT_CELLS = [
    Rewards(0.0, 0.0),
    Rewards(0.0, 1.0),
    Rewards(-0.3, 1.0),
    Rewards(-0.2, 1.0, proxies=2, tasks=80),
    Rewards(-0.1, 1.0, rollouts=4, tasks=50, shared=0.1),
    Rewards(-0.15, 1.0, varied=0.15),
]
EFFECT_GRID = [
    Rewards(effect, confounded, tasks, proxies, rollouts, varied, shared)
    for effect in (0.0, -0.15)
    for confounded in (0.0, 1.0)
    for tasks, proxies in ((40, 7), (100, 2), (100, 7))
    for rollouts, varied, shared in ((1, 0.0, 0.0), (1, 0.15, 0.0), (4, 0.0, 0.1))
]


def effect_estimates(rewards: Rewards, trials: int) -> Iterator[tuple[Estimate, Estimate]]:
    rng = np.random.default_rng(16)
    for _ in range(trials):
        made = effects(rewards.scored(rng), Question(resamples=100), rng)[0]
        yield made.within_task, made.cell_mean


@pytest.mark.parametrize("rewards", EFFECT_GRID if FULL else EFFECT_CELLS)
def test_effects_within_tasks_are_recovered_and_none_is_invented(rewards: Rewards) -> None:
    made = list(effect_estimates(rewards, 600 if FULL else 120))
    found = [within for within, _ in made]
    promised([bool(one.low <= rewards.effect <= one.high) for one in found], 0.93)
    values = np.array([one.value for one in found])
    assert abs(values.mean() - rewards.effect) < 4 * values.std() / np.sqrt(len(values))
    if rewards.effect == 0.0:
        promised([one.p_value < 0.05 for one in found], 0.0, 0.06)
    if not rewards.confounded:
        promised([bool(cell.low <= rewards.effect <= cell.high) for _, cell in made], 0.93)


def test_difficulty_biases_the_means_of_cells_where_the_difference_within_tasks_is_none() -> None:
    made = list(effect_estimates(Rewards(0.0, 1.0), 80))
    cells = np.array([cell.value for _, cell in made])
    within = np.array([one.value for one, _ in made])
    assert cells.mean() < -0.1 and abs(within.mean()) < 0.02
    promised([cell.high < 0 for _, cell in made], 0.9)


def test_many_strata_of_single_rows_and_few_of_many() -> None:
    """Sato's variance in both limits; that of Greenland and Robins would be 0 in the first."""
    rng = np.random.default_rng(17)
    for strata, side in ((60, 1), (3, 40)):
        hits = []
        for _ in range(400):
            base = rng.uniform(0.1, 0.7, strata).repeat(side)
            stratum = np.arange(strata).repeat(side)
            outcome = np.concatenate([rng.random(len(base)) < base + 0.2, rng.random(len(base)) < base])
            exposed = np.concatenate([np.ones(len(base)), np.zeros(len(base))])
            limits = risk_difference(outcome, exposed, np.tile(stratum, 2)).limits()
            hits.append(bool(limits.low <= 0.2 <= limits.high))
        promised(hits, 0.93, 0.98)


# ---------------------------------------------------------------------------------------------- spread of rewards


@pytest.mark.parametrize("means", [(0.7,) * 7, (0.8, 0.75, 0.7, 0.7, 0.65, 0.6, 0.55)])
def test_spread_of_rewards(means: tuple[float, ...]) -> None:
    """The interval holds the true spread also where there is none and the apparent one is never 0."""
    rng, hits, values = np.random.default_rng(18), [], []
    for _ in range(600 if FULL else 120):
        hard = rng.normal(0, 0.15, size=(80, 1)).clip(-0.2, 0.2)
        passed = rng.random((80, len(means))) < np.array(means) + hard
        task, proxy = (axis.ravel() for axis in np.indices(passed.shape))
        rows = pd.DataFrame({"proxy": proxy, "domain": "D0", "task": task, "reward": passed.ravel().astype(float)})
        names = tuple(f"P{place}" for place in range(len(means)))
        made = reward_spread(scored_rows(rows, names, ("D0",)), Question(resamples=300), rng)
        values.append(made.value)
        hits.append(bool(made.low <= max(means) - min(means) <= made.high))
    promised(hits, 0.93)
    assert np.mean(values) > max(means) - min(means) + 0.01


# --------------------------------------------------------------------------------------------- the table of the grid


def table(trials: int) -> Iterator[tuple[str, str, str, float]]:
    """What is measured, in which cell, what is promised, and the share found, over the whole grid."""
    for ufs, sizes, rollouts in UFS_GRID:
        cell = f"UFS {ufs[0]}, tasks {sizes}, rollouts {rollouts}"
        for what, hits in ufs_hits(ufs, sizes, rollouts, trials).items():
            yield f"interval of UFS ({what})", cell, "≥ .93", float(np.mean(hits))
    for ufs, sizes, rollouts in PAIR_GRID:
        cell = f"UFS {ufs[0]} and {ufs[1]}, tasks {sizes}, rollouts {rollouts}"
        for what, hits in pair_hits(ufs, sizes, rollouts, trials // 2).items():
            yield f"interval of a paired difference ({what})", cell, "≥ .93", float(np.mean(hits))
    for rewards in EFFECT_GRID:
        found = [within for within, _ in effect_estimates(rewards, trials // 2)]
        held = [one.low <= rewards.effect <= one.high for one in found]
        yield "effect within tasks", str(rewards), "≥ .93", float(np.mean(held))
    for ufs, sizes, rollouts in ASSURED_GRID:
        cell = f"UFS {ufs[0]}, {len(ufs)} proxies, tasks {sizes}, rollouts {rollouts}"
        named = false_assurances(ufs, sizes, rollouts, trials, 0.84)
        yield "assured though below .84", cell, "≤ .05", float(np.mean(named))
    for sizes, rollouts, excess in SUPPORTS:
        for what, pairs in supports_and_truths(sizes, rollouts, trials).items():
            for mean, truths in calibration(pairs):
                cell = f"tasks {sizes}, rollouts {rollouts}, {len(truths)} statements"
                yield f"truth of support ({what})", cell, f"{mean:.3f} − {excess} to + .05", float(np.mean(truths))


if __name__ == "__main__":
    print("| what | cell | promised | found |\n|---|---|---|---|")
    for what, cell, promise, share in table(1000):
        print(f"| {what} | {cell} | {promise} | {share:.3f} |", flush=True)
