"""Audited UFS: the share of episodes whose user is faithful, from a judge's verdicts and an audited sample of them.

Strata are verdict × domain; an audited episode has the human outcome f = 1 (faithful) or 0. With N_h judged, n_h
audited and x_h faithful episodes in stratum h, ω_d the weight of domain d and N_d its judged episodes,

    θ = Σ_h W_h x_h/n_h,  W_h = ω_d N_h/N_d.

Strata of one verdict class v are pooled for the limits (pooled-Jeffreys MOVER, PJM): p_v = Σ W_h p_h/W_v at the
effective size n_v = W_v² / Σ W_h² (N_h − n_h)/(n_h (N_h − 1)) gives Jeffreys limits l_v, u_v, and

    L = θ − √Σ_v W_v² (p_v − l_v)²,  U = θ + √Σ_v W_v² (u_v − p_v)².

Sources: effective size, Kish, Survey Sampling (1965), section 11.7; Jeffreys limits, Brown, Cai and DasGupta,
Statistical Science 16:101 (2001), section 4.3; square-and-add of limits, Zou and Donner, Statistics in Medicine 27:1693
(2008).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.checking import check_number
from calibrate.stats.rectify.audit_draws import pj_draws, task_bootstrap
from calibrate.stats.rectify.pooling import TARGETS, Target, check_target, pjm_limits
from calibrate.stats.rectify.rectified import Rectified

__all__ = [
    "PJM", "TARGETS", "VERDICTS", "AuditStratum", "StratumArrays", "Target", "Verdict",
    "arrays_of", "audited_ufs", "pj_draws", "pjm_limits", "task_bootstrap", "why_undefined",
]  # fmt: skip

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Verdict = Literal["fail", "pass", "flagged"]

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
PJM = "stratified by verdict and domain; pooled-Jeffreys MOVER limits"


@dataclass(frozen=True, slots=True)
class AuditStratum:
    """Counts of one stratum: episodes judged, audited, and found faithful (f = 1) by the audit.

    `flagged` holds verdicts that contradict their own evidence: a class of its own, audited in full where possible.
    """

    domain: str
    verdict: Verdict
    judged: int
    audited: int
    passed: int

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise InvalidData(
                f"an audit stratum's verdict must be one of {', '.join(VERDICTS)}, got {self.verdict!r}: rename it"
            )
        counts = (self.passed, self.audited, self.judged)
        if not all(_whole(count) for count in counts) or not 0 <= counts[0] <= counts[1] <= counts[2]:
            raise InvalidData(
                f"{self.name}: whole numbers 0 ≤ passed ≤ audited ≤ judged are needed, got {self.passed!r}, "
                f"{self.audited!r}, {self.judged!r}: count the audited episodes again"
            )

    @property
    def name(self) -> str:
        """The stratum in words, for reasons and tables."""
        return f"stratum {self.domain!r} × {self.verdict}"


@dataclass(frozen=True, slots=True)
class StratumArrays:
    """Strata as arrays in an order that depends on what they hold, with codes of class and domain."""

    judged: IntArray
    audited: IntArray
    passed: IntArray
    verdict: IntArray
    domain: IntArray
    domains: tuple[str, ...]
    domain_weights: FloatArray | None
    keys: tuple[tuple[str, Verdict], ...]

    def groups(self) -> dict[str, Any]:
        """Return the keywords that the array functions take."""
        return {"verdict": self.verdict, "domain": self.domain, "domain_weights": self.domain_weights}


def arrays_of(strata: Sequence[AuditStratum], domain_weights: Mapping[str, float] | None) -> StratumArrays:
    """Return strata as arrays; doubled strata and weights of unknown domains are refused (`InvalidData`).

    >>> arrays_of([AuditStratum("a", "pass", 9, 3, 3), AuditStratum("a", "fail", 5, 3, 0)], None).judged.tolist()
    [5, 9]
    """
    if not all(isinstance(s, AuditStratum) for s in strata):
        raise InvalidData("an audit is of AuditStratum records: make them by audit_strata, or one a domain and verdict")
    keys = [(s.domain, s.verdict) for s in strata]
    if len(set(keys)) < len(keys):
        double = next(s for s in strata if keys.count((s.domain, s.verdict)) > 1)
        raise InvalidData(f"{double.name} is given twice: add its counts up")
    present = {s.domain for s in strata}
    if domain_weights is not None and set(domain_weights) != present:
        odd = sorted(set(domain_weights) ^ present, key=str)[0]
        raise InvalidData(
            f"domain weights must name exactly the audited domains, and {odd!r} is in one of the two only: "
            "weigh each once"
        )
    for domain, weight in (domain_weights or {}).items():
        check_number(weight, f"the weight of domain {domain!r}")
    content = {
        d: (
            sorted((VERDICTS.index(s.verdict), s.judged, s.audited, s.passed) for s in strata if s.domain == d),
            0.0 if domain_weights is None else domain_weights[d],
        )
        for d in present
    }
    domains = tuple(sorted(present, key=lambda d: (content[d], d)))
    ordered = sorted(strata, key=lambda s: (domains.index(s.domain), VERDICTS.index(s.verdict)))
    counts = np.array([(s.judged, s.audited, s.passed) for s in ordered], dtype=np.int64).reshape(-1, 3).T
    return StratumArrays(
        judged=counts[0], audited=counts[1], passed=counts[2],
        verdict=np.array([VERDICTS.index(s.verdict) for s in ordered], dtype=np.int64),
        domain=np.array([domains.index(s.domain) for s in ordered], dtype=np.int64),
        domains=domains,
        domain_weights=None if domain_weights is None else np.array([float(domain_weights[d]) for d in domains]),
        keys=tuple((s.domain, s.verdict) for s in ordered),
    )  # fmt: skip


def audited_ufs(
    strata: Sequence[AuditStratum],
    *,
    domain_weights: Mapping[str, float] | None = None,
    target: Target = "finite",
    level: float = 0.95,
    tasks: Mapping[str, int] | None = None,
) -> Rectified:
    """Estimate the share of episodes with a faithful user from verdicts and their audit: θ = Σ W_h p_h with PJM limits.

    `domain_weights` sum to 1 (None: by judged episodes). Target *finite*: these judged episodes; *tasks*: new tasks of
    the same domains, and then with several rollouts a task `tasks` counts the tasks of each domain. Undefined, with the
    stratum's name, where episodes were judged and none audited. `InvalidData` for doubled strata and unfit weights.

    >>> audit = [AuditStratum("a", "pass", 55, 20, 20), AuditStratum("a", "fail", 96, 17, 2)]
    >>> print(audited_ufs(audit).estimate().format(digits=3))
    audited_ufs 0.439 [0.376, 0.558] n = 37
    >>> audited_ufs([AuditStratum("a", "pass", 100, 0, 0)]).value
    Undefined(reason="none of the 100 judged episodes of stratum 'a' × pass was audited")
    """
    arrays = arrays_of(strata, domain_weights)
    n = int(arrays.audited.sum())
    trouble = why_undefined(strata, domain_weights)
    base: dict[str, Any] = {"name": "audited_ufs", "n": n, "method": PJM, "level": level}
    check_target(target, level)
    if trouble is not None:
        return Rectified(value=trouble, target=TARGETS[target], interval=trouble, **base)
    value, low, high = pjm_limits(
        arrays.judged, arrays.audited, arrays.passed, verdict=arrays.verdict, domain=arrays.domain,
        domain_weights=arrays.domain_weights, target=target, level=level,
        tasks=None if tasks is None else _ordered_tasks(tasks, arrays.domains),
    )  # fmt: skip
    extra = {"judged": int(arrays.judged.sum()), "strata": len(strata), "domains": len(arrays.domains)}
    limits = Interval(min(float(low), float(value)), max(float(high), float(value)))
    return Rectified(value=float(value), interval=limits, target=TARGETS[target], extra=extra, **base)


def why_undefined(strata: Sequence[AuditStratum], domain_weights: Mapping[str, float] | None) -> Undefined | None:
    """Return why an audit has no value: nothing judged, a domain of weight without episodes, a stratum unaudited.

    >>> why_undefined([AuditStratum("a", "pass", 9, 3, 3)], None) is None
    True
    """
    judged: dict[str, int] = {}
    for stratum in strata:
        judged[stratum.domain] = judged.get(stratum.domain, 0) + stratum.judged
    if sum(judged.values()) == 0:
        return Undefined("no episode was judged")
    weights = judged if domain_weights is None else domain_weights
    empty = sorted(d for d in judged if judged[d] == 0 and weights[d] > 0)
    if empty:
        return Undefined(f"domain {empty[0]!r} has a weight but no judged episode")
    open_ = [s for s in strata if s.judged > 0 and s.audited == 0 and weights[s.domain] > 0]
    if open_:
        first = min(open_, key=lambda s: (s.domain, s.verdict))
        more = f" ({len(open_) - 1} more strata likewise)" if len(open_) > 1 else ""
        return Undefined(f"none of the {first.judged} judged episodes of {first.name} was audited{more}")
    return None


def _whole(count: object) -> bool:
    real = isinstance(count, int | float | np.integer | np.floating) and not isinstance(count, bool)
    return real and bool(np.isfinite(count)) and count == int(count)  # type: ignore[call-overload]


def _ordered_tasks(tasks: Mapping[str, int], domains: tuple[str, ...]) -> list[int]:
    lost = sorted(set(domains) - set(tasks))
    if lost:
        raise InvalidData(f"tasks must be counted for every domain, and {lost[0]!r} has no count: add it")
    return [tasks[domain] for domain in domains]
