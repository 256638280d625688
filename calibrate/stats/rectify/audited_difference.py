"""The difference of two proxies' audited UFS, by draws (PJ), paired over the tasks where both played the same."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined, fork, signature_of
from calibrate.stats.checking import check_count
from calibrate.stats.rectify.audit_draws import pj_draws, task_bootstrap
from calibrate.stats.rectify.audited import AuditStratum, StratumArrays, Verdict, arrays_of, audited_ufs
from calibrate.stats.rectify.pooling import TARGETS, Target
from calibrate.stats.rectify.rectified import Rectified

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
NAMES = ("first", "second")
PJ = "difference of two audited proxies: quantiles of draws from pooled-Jeffreys posteriors"


@dataclass(frozen=True, slots=True)
class JudgedTasks:
    """Both proxies' verdicts episode by episode, all of one length: task and domain of each episode, and the verdicts.

    None where a proxy has no verdict. Several rollouts of a task are several rows of that task.
    """

    task: Sequence[Hashable]
    domain: Sequence[str]
    first: Sequence[Verdict | None]
    second: Sequence[Verdict | None]

    def __post_init__(self) -> None:
        lengths = {len(self.task), len(self.domain), len(self.first), len(self.second)}
        if len(lengths) > 1:
            raise InvalidData(
                f"task, domain and both verdicts must have one length, got {sorted(lengths)}: fill with None"
            )


def audited_difference(
    first: Sequence[AuditStratum],
    second: Sequence[AuditStratum],
    rng: Generator,
    *,
    draws: int = 4000,
    domain_weights: Mapping[str, float] | None = None,
    target: Target = "finite",
    level: float = 0.95,
    judged: JudgedTasks | None = None,
) -> Rectified:
    """Return θ_first − θ_second of two audited proxies, with the central quantiles of their differing draws.

    The audits are taken as independent samples. Target *tasks*: `judged` resamples tasks for both proxies together;
    None takes their tasks as independent, which is wide where both played the same. `extra["support"]` is the share of
    draws above 0 (ties half). Undefined where one of them is. The generator is forked: order of strata and rows is of
    no effect. `InvalidData` as in `audited_ufs`, for fewer than 100 draws and where `judged` does not match the strata.

    >>> import numpy as np
    >>> good = [AuditStratum("a", "pass", 300, 40, 40), AuditStratum("a", "fail", 40, 20, 8)]
    >>> poor = [AuditStratum("a", "pass", 200, 40, 38), AuditStratum("a", "fail", 140, 20, 4)]
    >>> difference = audited_difference(good, poor, np.random.default_rng(7))
    >>> round(difference.value, 3), difference.interval.low > 0.1, difference.interval.high < 0.5
    (0.288, True, True)
    """
    check_count(draws, "draws")
    if draws < 100:
        raise InvalidData(f"at least 100 draws are needed for limits, got {draws}: ask for 4000")
    both = [audited_ufs(s, domain_weights=domain_weights, target=target, level=level) for s in (first, second)]
    n = sum(one.n for one in both)
    for one, name in zip(both, NAMES, strict=True):
        if isinstance(one.value, Undefined):
            no = Undefined(f"the {name} proxy has no value: {one.value.reason}")
            return Rectified("audited_difference", no, n, PJ, TARGETS[target], interval=no, level=level)
    child = fork(rng)
    signature = signature_of(child, draws)
    arrays = [arrays_of(strata, domain_weights) for strata in (first, second)]
    resampled: list[IntArray | None] = [None, None]
    if target == "tasks" and judged is not None:
        resampled = list(_paired_counts(arrays, judged, fork(child), draws))
    drawn = [
        pj_draws(
            a.judged, a.audited, a.passed, verdict=a.verdict, domain=a.domain, domain_weights=a.domain_weights,
            target=target, rng=fork(child), draws=draws, resampled=counts,
        )
        for a, counts in zip(arrays, resampled, strict=True)
    ]  # fmt: skip
    gap = drawn[0] - drawn[1]
    value = _number(both[0]) - _number(both[1])
    low, high = np.quantile(gap, [(1 - level) / 2, (1 + level) / 2])
    alone = target == "tasks" and judged is None
    return Rectified(
        name="audited_difference", value=value, n=n, method=PJ, target=TARGETS[target], level=level,
        interval=Interval(min(float(low), value), max(float(high), value)), signature=signature,
        remark="tasks of the two proxies are taken as independent: give both verdicts of each task" if alone else None,
        extra={"support": float((gap > 0).mean() + (gap == 0).mean() / 2)},
    )  # fmt: skip


def _paired_counts(
    arrays: Sequence[StratumArrays], judged: JudgedTasks, rng: Generator, draws: int
) -> tuple[IntArray, IntArray]:
    """Return judged episodes of each stratum of the first and the second proxy in the same bootstraps of tasks."""
    codes = np.array(
        [_codes(a, judged.domain, v, n) for a, v, n in zip(arrays, (judged.first, judged.second), NAMES, strict=True)]
    )
    widths = [len(a.keys) for a in arrays]
    counts = task_bootstrap(codes, np.asarray(judged.task, dtype=object), judged.domain, max(widths), rng, draws)
    return counts[:, 0, : widths[0]], counts[:, 1, : widths[1]]


def _number(one: Rectified) -> float:
    assert isinstance(one.value, float)
    return one.value


def _codes(arrays: StratumArrays, domain: Sequence[str], verdict: Sequence[Verdict | None], name: str) -> IntArray:
    place = {key: index for index, key in enumerate(arrays.keys)}
    codes = np.full(len(verdict), -1, dtype=np.int64)
    for row, (where, what) in enumerate(zip(domain, verdict, strict=True)):
        if what is not None:
            if (where, what) not in place:
                raise InvalidData(f"the {name} proxy has a {what} verdict in {where!r} but no such stratum: add it")
            codes[row] = place[where, what]
    held = np.bincount(codes[codes >= 0], minlength=len(place))
    if not np.array_equal(held, arrays.judged):
        raise InvalidData(
            f"verdicts of the {name} proxy count {held.tolist()} by stratum, its strata {arrays.judged.tolist()}: give"
            " the same episodes to both"
        )
    return codes
