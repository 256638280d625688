"""A share of 0/1 outcomes from a judge and an audit nested in what it judged, row by row, rows in clusters or not.

The stratified difference estimator Σ W_h [f_h + mean_h(y − f)] has f constant within a stratum of verdict × domain, so
it is Σ W_h mean_h(y): audited UFS for any outcome. Its limits are the recommended ones (PJM, see
`calibrate.stats.rectify.audited`); where rows of one cluster (criteria of an episode, rollouts of a task) go together,
each class's effective size is divided by its design effect.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.checking import as_labels, as_numbers, shown
from calibrate.stats.intervals import normal_quantile, t_quantile
from calibrate.stats.rectify.audited import PJM, AuditStratum, StratumArrays, Verdict, arrays_of, audited_ufs
from calibrate.stats.rectify.pooling import TARGETS, Target, mover_limits, pool_verdicts
from calibrate.stats.rectify.rectified import Rectified

FloatArray = NDArray[np.float64]
ONE_CLUSTER = Undefined("the audited rows of one verdict lie in one cluster: their spread cannot be told")


def audit_strata(
    judge: ArrayLike, human: ArrayLike, domain: Sequence[str] | None = None, *, flagged: ArrayLike | None = None
) -> tuple[AuditStratum, ...]:
    """Return the strata of rows, shape (row,): `judge` 0/1, `human` 0/1 or nan where not audited, domain of each.

    `flagged` rows (bool) are a class of their own. `InvalidData`: unequal lengths, another value than 0, 1 (or nan).

    >>> nan = float("nan")
    >>> audit_strata([1, 1, 0], [1, nan, 0])[0]
    AuditStratum(domain='all', verdict='pass', judged=2, audited=1, passed=1)
    """
    f, y, where, odd = _rows(judge, human, domain, flagged)
    counts: dict[tuple[str, Verdict], list[int]] = {}
    for key, outcome in zip(_keys(f, where, odd), y, strict=True):
        own = counts.setdefault(key, [0, 0, 0])
        own[0] += 1
        if not np.isnan(outcome):
            own[1] += 1
            own[2] += int(outcome)
    return tuple(AuditStratum(d, v, *own) for (d, v), own in counts.items())


def stratified_difference(
    judge: ArrayLike,
    human: ArrayLike,
    domain: Sequence[str] | None = None,
    *,
    flagged: ArrayLike | None = None,
    cluster: Sequence[Hashable] | None = None,
    domain_weights: Mapping[str, float] | None = None,
    target: Target = "finite",
    level: float = 0.95,
) -> Rectified:
    """Return the share of rows with human outcome 1, from judged rows of which some are audited (rows as
    `audit_strata`).

    With `cluster`, shape (row,), the effective size of a verdict class is divided by deff · (t/z)²: deff = Var by
    cluster / Var by row of Σ w (y − p_h) over its audited rows, w = W_h/n_h, at least 1; where no outcome varies, the
    mean cluster size Σ m²/Σ m. t has G − 1 df for the class's G audited clusters; rows alone in their cluster change
    nothing. For target *tasks* clusters are the tasks. Undefined as `audited_ufs`; limits also where a class has one
    audited cluster.

    >>> nan = float("nan")
    >>> judge = [1] * 55 + [0] * 96
    >>> human = [1] * 20 + [nan] * 35 + [1] * 2 + [0] * 15 + [nan] * 79
    >>> print(stratified_difference(judge, human).estimate().format(digits=3))
    stratified_difference 0.439 [0.376, 0.558] n = 37
    """
    strata = audit_strata(judge, human, domain, flagged=flagged)
    plain = audited_ufs(strata, domain_weights=domain_weights, target=target, level=level)
    plain = replace(plain, name="stratified_difference")
    if cluster is None or isinstance(plain.value, Undefined):
        return plain
    f, y, where, odd = _rows(judge, human, domain, flagged)
    if len(cluster) != len(y):
        raise InvalidData(f"every row needs a cluster, got {len(cluster)} for {len(y)}: give arrays of one length")
    arrays = arrays_of(strata, domain_weights)
    keys = _keys(f, where, odd)
    place = {key: index for index, key in enumerate(arrays.keys)}
    stratum = np.array([place[key] for key in keys], dtype=np.int64)
    counts = (arrays.judged, arrays.audited, arrays.passed)
    pooled = pool_verdicts(*counts, **arrays.groups())
    effects = _design_effects(arrays, stratum, y, _cluster_numbers(cluster), level)
    audited_clusters = len({c for c, outcome in zip(cluster, y, strict=True) if not np.isnan(outcome)})
    method = f"{PJM} at effective sizes over the design effect"
    if isinstance(effects, Undefined):
        return replace(plain, interval=effects, clusters=audited_clusters, method=method)
    tasks = [len({c for c, d in zip(cluster, where, strict=True) if d == name}) for name in arrays.domains]
    pooled = replace(pooled, size=pooled.size / effects)
    low, high = mover_limits(pooled, target=target, level=level, tasks=tasks if target == "tasks" else None)
    limits = Interval(min(float(low), plain.value), max(float(high), plain.value))
    return replace(
        plain, interval=limits, clusters=audited_clusters, method=method, target=TARGETS[target],
        extra={**plain.extra, "largest_design_effect": float(effects.max())},
    )  # fmt: skip


def _design_effects(
    arrays: StratumArrays, stratum: NDArray[np.int64], y: FloatArray, cluster: NDArray[np.int64], level: float
) -> FloatArray | Undefined:
    """Return what each class's effective size is divided by, shape (class,)."""
    effects = np.ones(int(arrays.verdict.max()) + 1)
    audited = ~np.isnan(y)
    domain_sizes = np.bincount(arrays.domain, weights=arrays.judged)
    omega = domain_sizes / domain_sizes.sum() if arrays.domain_weights is None else arrays.domain_weights
    weight = omega[arrays.domain] / np.maximum(domain_sizes[arrays.domain], 1) * arrays.judged
    per_row = np.divide(weight, arrays.audited, out=np.zeros_like(weight), where=arrays.audited > 0)
    share = np.divide(arrays.passed, arrays.audited, out=np.zeros_like(weight), where=arrays.audited > 0)
    for verdict in np.unique(arrays.verdict):
        own = np.flatnonzero(audited & (arrays.verdict[stratum] == verdict))
        census = (arrays.audited == arrays.judged)[arrays.verdict == verdict].all()
        if len(own) == 0 or census:
            continue
        sizes = np.unique(cluster[own], return_counts=True)[1]
        if sizes.max() == 1:
            continue
        if len(sizes) < 2:
            return ONE_CLUSTER
        residual = per_row[stratum[own]] * (y[own] - share[stratum[own]])
        effect = _effect(residual, cluster[own], sizes)
        effects[verdict] = effect * (t_quantile(level, len(sizes) - 1) / normal_quantile(level)) ** 2
    return effects


def _effect(residual: FloatArray, cluster: NDArray[np.int64], sizes: NDArray[np.int64]) -> float:
    place = np.unique(cluster, return_inverse=True)[1]
    n, groups = len(residual), len(sizes)
    by_row = n / (n - 1) * float((residual**2).sum())
    if by_row <= 1e-24:
        return float((sizes**2).sum() / sizes.sum())
    by_cluster = groups / (groups - 1) * float((np.bincount(place, weights=residual) ** 2).sum())
    return max(1.0, by_cluster / by_row)


def _cluster_numbers(cluster: Sequence[Hashable]) -> NDArray[np.int64]:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in cluster], dtype=np.int64)


def _keys(f: FloatArray, where: Sequence[str], odd: NDArray[np.bool_]) -> list[tuple[str, Verdict]]:
    return [(d, "flagged" if o else "pass" if v == 1 else "fail") for d, v, o in zip(where, f, odd, strict=True)]


def _rows(
    judge: ArrayLike, human: ArrayLike, domain: Sequence[str] | None, flagged: ArrayLike | None
) -> tuple[FloatArray, FloatArray, Sequence[str], NDArray[np.bool_]]:
    f, y = as_numbers(judge, "judge verdicts"), as_numbers(human, "human outcomes")
    where = ["all"] * len(f) if domain is None else list(domain)
    if not all(isinstance(name, str) for name in where):
        strange = next(name for name in where if not isinstance(name, str))
        raise InvalidData(f"a domain is a name, got {shown(strange)}: give each row's domain as a text")
    odd = np.zeros(len(f), dtype=bool) if flagged is None else as_labels(flagged, "flags").astype(bool)
    if f.ndim != 1 or not f.shape == y.shape == odd.shape or len(where) != len(f):
        raise InvalidData(
            "every row needs a verdict, a human outcome (nan where not audited) and a domain: fill them up"
        )
    if not np.isin(f, (0, 1)).all() or not (np.isnan(y) | np.isin(y, (0, 1))).all():
        raise InvalidData("verdicts must be 0 or 1 and human outcomes 0, 1 or nan (not audited): recode the others")
    return f, y, where, odd
