"""How an audit of judged episodes is shared out between verdicts, and how wide the limits of its UFS will be.

The rule: below 100 audited episodes a proxy the mean of proportional and Neyman shares, from 100 Neyman's; within a
verdict in proportion to size. Before there is a pilot, the judge is guessed to be wrong about 3 % of the episodes that
pass and 35 % of those that fail. A pilot replaces the guesses only where it found discordances in both classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.estimate import Undefined
from calibrate.stats.rectify.allocation import Allocation, allocate
from calibrate.stats.rectify.pooling import Target, pjm_limits

FloatArray = NDArray[np.float64]
Basis = Literal["prior guesses", "pilot"]

FAIL, PASS = 0, 1
NEYMAN_FROM = 100
PRIOR_DISCORDANCE: Mapping[int, float] = MappingProxyType({FAIL: 0.35, PASS: 0.03})  # share of wrong verdicts
_TAIL = 1e-7  # probability of audit outcomes that the expected width leaves out, each side of each class


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """Episodes to audit in each stratum, the discordances they rest on (fail, pass), and where those are from."""

    allocation: Allocation
    discordance: tuple[float, float]
    basis: Basis
    rule: Literal["mean of proportional and Neyman", "Neyman"]


@dataclass(frozen=True, slots=True)
class BestAudit:
    """Episodes to audit of those judged fail and judged pass, and the expected width of the limits of UFS."""

    audited: tuple[int, int]
    width: float


@dataclass(frozen=True, slots=True)
class JudgedShares:
    """What a judge makes of episodes: share judged pass, and share that is faithful among judged fail and pass."""

    judged_pass: float
    faithful_if_fail: float
    faithful_if_pass: float


def plan_audit(
    total: int,
    judged: Sequence[int],
    verdict: Sequence[int],
    *,
    pilot: tuple[Sequence[int], Sequence[int]] | None = None,
    minimum: int = 2,
) -> AuditPlan:
    """Share `total` audited episodes out over strata of `judged` episodes, by the rule of this module.

    Args:
        total: episodes of one proxy to audit.
        judged: episodes of each stratum (domain by verdict), shape (stratum,).
        verdict: 0 = judged fail, 1 = judged pass, of each stratum, shape (stratum,).
        pilot: audited and discordant (wrongly judged) episodes of a pilot, each as (fail, pass).
        minimum: episodes of a stratum at least, or all of a smaller one.

    Raises:
        InvalidData: a verdict other than 0 and 1, unfit pilot counts, a total outside what the strata allow.

    By hand: Neyman 755 √(.03 · .97) = 128.8 and 245 √(.35 · .65) = 116.9 are .524 and .476; the mean with .755 and
    .245 is .640 and .360 of 40:

    >>> plan = plan_audit(40, [755, 245], [1, 0])
    >>> plan.allocation.counts, plan.rule
    ((26, 14), 'mean of proportional and Neyman')
    >>> plan_audit(100, [755, 245], [1, 0]).allocation.counts
    (52, 48)
    """
    size, verdicts = np.asarray(judged), np.asarray(verdict)
    if verdicts.shape != size.shape or size.ndim != 1 or not np.isin(verdicts, (FAIL, PASS)).all():
        raise InvalidData(f"each stratum needs a verdict, 0 (fail) or 1 (pass), got {list(verdict)!r}: give one each.")
    if size.dtype.kind not in "iu" or (size < 0).any() or not size.sum():
        raise InvalidData(f"judged episodes must be whole numbers from 0, not all 0, got {list(judged)!r}: count them.")
    wrong, basis = _discordance(pilot)
    spread = np.where(
        verdicts == PASS, np.sqrt(wrong[PASS] * (1 - wrong[PASS])), np.sqrt(wrong[FAIL] * (1 - wrong[FAIL]))
    )
    proportional, neyman = size / size.sum(), size * spread / (size * spread).sum()
    few = total < NEYMAN_FROM
    shares = (proportional + neyman) / 2 if few else neyman
    return AuditPlan(
        allocation=allocate(total, list(judged), shares, minimum=minimum),
        discordance=wrong,
        basis=basis,
        rule="mean of proportional and Neyman" if few else "Neyman",
    )


def expected_pjm_width(
    judged: Sequence[int],
    audited: Sequence[int],
    faithful: Sequence[int],
    *,
    target: Target = "finite",
    level: float = 0.95,
) -> float | Undefined:
    """Return the expected width of PJM limits of UFS, over all outcomes of the audit (hypergeometric, independent).

    All three are (fail, pass): episodes judged so, how many of them are audited, and how many are taken to be truly
    faithful. Domains are pooled, which is near for audits proportional to size within a verdict. Undefined where a
    class of judged episodes is not audited.

    Raises:
        InvalidData: counts that are not 0 ≤ audited ≤ judged and 0 ≤ faithful ≤ judged whole numbers.

    Simulations with 375 episodes and UFS .8 had .227 from 40 audited ones and .133 from 100 without a judge (here: one
    who passes nothing):

    >>> [round(expected_pjm_width([375, 0], [n, 0], [300, 0]), 3) for n in (40, 100)]
    [0.226, 0.133]
    """
    big, small, true = (
        _pair(values, name) for values, name in ((judged, "judged"), (audited, "audited"), (faithful, "faithful"))
    )
    if (small > big).any() or (true > big).any():
        raise InvalidData(
            f"audited and faithful episodes are some of those judged, got {small.tolist()!r} and {true.tolist()!r} of "
            f"{big.tolist()!r}: correct the counts."
        )
    if big.sum() == 0:
        return Undefined("no episode was judged")
    if ((big > 0) & (small == 0)).any():
        return Undefined("a class of judged episodes is not audited")
    (fails, fail_odds), (passes, pass_odds) = (_outcomes(*one) for one in zip(big, small, true, strict=True))
    outcomes = np.stack(np.meshgrid(fails, passes, indexing="ij"), axis=-1)
    _, low, high = pjm_limits(big, small, outcomes, verdict=[FAIL, PASS], domain=[0, 0], target=target, level=level)
    return float(fail_odds @ (high - low) @ pass_odds)


def narrowest_audit(
    total: int, judged: Sequence[int], faithful: Sequence[int], *, target: Target = "finite", level: float = 0.95
) -> BestAudit | Undefined:
    """Return the split of `total` audited episodes between verdicts with the smallest expected PJM width.

    `judged` and `faithful` as in `expected_pjm_width`; at least two episodes of each class, or all of a smaller one.
    Undefined where the total does not reach that. The width is taken at every eighth of the range, then ever finer
    about the best, so that it is the minimum where there is one.

    Raises:
        InvalidData: unfit counts, or more to audit than was judged.

    A judge's error of 1 % (`judged_shares`) at UFS .8: simulations had widths of .127 from 40 audited episodes and .057
    from 100, by the rule of this module:

    >>> best = narrowest_audit(40, [92, 283], [18, 282])
    >>> best.audited, round(best.width, 3), round(narrowest_audit(100, [92, 283], [18, 282]).width, 3)
    ((15, 25), 0.129, 0.058)
    """
    big = _pair(judged, "judged")
    if not 0 <= total <= big.sum():
        raise InvalidData(f"between 0 and {big.sum()} judged episodes can be audited, got {total!r}: change the total.")
    lower = np.minimum(2, big)
    if total < lower.sum():
        return Undefined(f"fewer than {lower.sum()} episodes to audit")
    first, last = max(int(lower[FAIL]), total - int(big[PASS])), min(int(big[FAIL]), total - int(lower[PASS]))
    seen: dict[int, float] = {}

    def width(fails: int) -> float:
        if fails not in seen:
            found = expected_pjm_width(judged, [fails, total - fails], faithful, target=target, level=level)
            seen[fails] = float("inf") if isinstance(found, Undefined) else found
        return seen[fails]

    step = max(1, (last - first) // 8)
    best = min(sorted({*range(first, last + 1, step), last}), key=width)
    while step > 1:
        step = max(1, step // 2)
        best = min((place for place in (best - step, best, best + step) if first <= place <= last), key=width)
    return BestAudit((best, total - best), width(best))


def judged_shares(ufs: float, false_pass: float, false_fail: float, criteria: float) -> JudgedShares | Undefined:
    """Return what a judge who errs on single criteria, independently, makes of whole episodes.

    `false_pass` and `false_fail` are rates a criterion, `criteria` their (mean) number an episode, each kept with
    `ufs` ** (1 / criteria). Undefined where the judge passes all episodes or none.

    Raises:
        InvalidData: a share outside 0..1, no criterion.

    A judge's error of 1 % makes a proxy with six criteria that is all faithful look .941 faithful:

    >>> round(judged_shares(1.0, 0.01, 0.01, 6).judged_pass, 3)
    0.941
    """
    for name, share in (("ufs", ufs), ("false_pass", false_pass), ("false_fail", false_fail)):
        if not 0 <= share <= 1:
            raise InvalidData(f"{name} must be a share in 0..1, got {share!r}: divide by the number of cases.")
    if criteria < 1:
        raise InvalidData(f"an episode needs at least one criterion, got {criteria!r}: count its criteria.")
    kept = ufs ** (1 / criteria)
    accepted = (kept * (1 - false_fail) + (1 - kept) * false_pass) ** criteria
    both = (kept * (1 - false_fail)) ** criteria
    if not 0 < accepted < 1:
        return Undefined("the judge gives all episodes one verdict")
    return JudgedShares(accepted, (ufs - both) / (1 - accepted), both / accepted)


def _discordance(pilot: tuple[Sequence[int], Sequence[int]] | None) -> tuple[tuple[float, float], Basis]:
    prior = (PRIOR_DISCORDANCE[FAIL], PRIOR_DISCORDANCE[PASS])
    if pilot is None:
        return prior, "prior guesses"
    audited, wrong = _pair(pilot[0], "a pilot's audited"), _pair(pilot[1], "a pilot's discordant")
    if (wrong > audited).any():
        raise InvalidData(f"discordant episodes are some of those audited, got {wrong.tolist()!r}: correct the counts.")
    if (wrong == 0).any() or (wrong == audited).any():
        return prior, "prior guesses"
    shares = wrong / audited
    return (float(shares[FAIL]), float(shares[PASS])), "pilot"


def _outcomes(judged: int, audited: int, faithful: int) -> tuple[NDArray[np.int64], FloatArray]:
    """Return the numbers of faithful episodes that an audit may find, and their probabilities."""
    from scipy.stats import hypergeom

    places = np.arange(max(0, audited - (judged - faithful)), min(audited, faithful) + 1)
    odds = np.asarray(hypergeom.pmf(places, judged, faithful, audited), dtype=np.float64) if judged else np.ones(1)
    kept = odds > _TAIL
    return places[kept], odds[kept] / odds[kept].sum()


def _pair(values: ArrayLike, name: str) -> NDArray[np.int64]:
    pair = np.asarray(values)
    if pair.shape != (2,) or pair.dtype.kind not in "iu" or (pair < 0).any():
        raise InvalidData(
            f"{name} episodes must be two whole numbers, of fails and passes, got {values!r}: count them."
        )
    return pair.astype(np.int64)
