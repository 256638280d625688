"""A metric is a point value and a kind; the kind alone decides how its interval is made, and this is where.

| kind | interval |
|---|---|
| mean | t over clusters (people) |
| proportion | Wilson where every cluster gives one row; else t over clusters, cut at 0 and 1 |
| association | tanh(atanh ρ̂ ± z · 1.15 · SD*), SD* over a cluster bootstrap of atanh ρ; Fisher's z without clusters |
| composite | bias-corrected and accelerated limits over a cluster bootstrap |
| distance | none: a percentile bootstrap covers a true 0 in no trial; see its permutation p and its floor |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from calibrate.estimate import Estimate, Interval, Signature, Undefined, fork, signature_of
from calibrate.stats.cluster_means import cluster_mean
from calibrate.stats.correlation import Coefficient, half_step
from calibrate.stats.correlation_limits import (
    MIN_GROUPS,
    RESAMPLED_SPREAD_FACTOR,
    ResampledSpread,
    correlation_limits,
    fisher_limits,
    resampled_spread,
)
from calibrate.stats.intervals import wilson
from calibrate.stats.resample import (
    Replicates,
    bca_limits,
    canonical_order,
    cluster_bootstrap,
    cluster_codes,
    cluster_jackknife,
)

Kind = Literal["mean", "proportion", "association", "distance", "composite"]
FloatArray = NDArray[np.float64]

RESAMPLES = 2000
MIN_CLUSTERS = 5  # fewer people than that are no basis for a bootstrap over people


@dataclass(frozen=True, slots=True)
class Metric:
    """What is computed (`point`, on columns with one row a unit), its kind, and how it is written.

    `point` takes the columns as arrays and returns a number or `Undefined`. `coefficient` says, for associations, whose
    steps and sampling variance theirs are.
    """

    name: str
    kind: Kind
    point: Callable[..., float | Undefined]
    unit: str | None = None
    symbol: str | None = None
    coefficient: Coefficient = "pearson"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an interval is made from.

    `columns` and `cluster` have one entry a row. `drawn` stands in for the plain bootstrap of clusters where
    a metric has a faster one, or one that recomputes more (z-scores, group means). `pairs` is the number of
    points of an association where that is not the number of rows (groups). `independent` rows belong to nobody.
    """

    columns: tuple[FloatArray, ...]
    cluster: NDArray[Any]
    level: float = 0.95
    rng: Generator | None = None
    resamples: int = RESAMPLES
    drawn: tuple[Replicates, Signature] | None = None
    pairs: int | None = None
    independent: bool = False

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.cluster)


@dataclass(frozen=True, slots=True)
class Chosen:
    """An interval or why there is none, the method that made it, and what its resamples need to be repeated."""

    interval: Interval | Undefined
    method: str | None
    signature: Signature = field(default_factory=Signature)
    extra: dict[str, float | int | str | None] = field(default_factory=dict)
    spread: ResampledSpread | None = None  # of an association

    def as_fields(self) -> dict[str, Any]:
        """Return the fields of `Estimate` that belong to the interval."""
        found = self.interval
        limits: dict[str, Any] = (
            {"interval_reason": found.reason}
            if isinstance(found, Undefined)
            else {"low": found.low, "high": found.high}
        )
        return {**limits, "method": self.method, "signature": self.signature}


def estimate(
    metric: Metric,
    *columns: ArrayLike,
    cluster: ArrayLike | None = None,
    rng: Generator | None = None,
    resamples: int = RESAMPLES,
    level: float = 0.95,
    target: str | None = None,
) -> Estimate:
    """Return a metric's value on `columns` with the interval of its kind; the order of rows changes nothing.

    Args:
        columns: what the metric's point function takes, numbers, one row a unit; drop missing values first.
        cluster: who or what each row belongs to (the person); every row for itself where it is not given.
        rng: drawn from (through a child, so that order does not matter) by kinds that resample.
        target: which population the interval speaks for.

    Raises:
        ValueError: columns of unequal length, or a value that is missing or not finite.
    """
    arrays = tuple(np.asarray(column, dtype=np.float64) for column in columns)
    labels = np.arange(len(arrays[0])) if cluster is None else np.asarray(cluster)
    if any(array.shape != labels.shape for array in arrays):
        raise ValueError(f"metric {metric.name!r}: columns and cluster must have one entry a row")
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError(f"metric {metric.name!r}: a value is missing or not finite, drop its row first")
    order = canonical_order(labels, *arrays)
    arrays, labels = tuple(array[order] for array in arrays), labels[order]
    value = metric.point(*arrays)
    clusters = None if cluster is None else cluster_codes(labels)[1]
    common: dict[str, Any] = {"n": len(labels), "clusters": clusters, "level": level, "target": target}
    if isinstance(value, Undefined):
        return Estimate.undefined(metric.name, value.reason, unit=metric.unit, **common)
    chosen = choose(metric, value, Evidence(arrays, labels, level, rng, resamples, independent=cluster is None))
    extra = {**({"symbol": metric.symbol} if metric.symbol else {}), **chosen.extra}
    return Estimate(name=metric.name, value=value, unit=metric.unit, extra=extra, **common, **chosen.as_fields())


def choose(metric: Metric, value: float, evidence: Evidence) -> Chosen:
    """Return the interval that the metric's kind asks for. Every interval of a metric comes from here."""
    return _BY_KIND[metric.kind](metric, value, evidence)


def _mean(metric: Metric, value: float, evidence: Evidence) -> Chosen:
    spread = cluster_mean(evidence.columns[0], evidence.cluster)
    if isinstance(spread, Undefined):
        return Chosen(spread, None)
    return Chosen(
        spread.limits(evidence.level),
        f"t over clusters, {spread.df} df",
        extra={"design_effect": spread.design_effect},
    )


def _proportion(metric: Metric, value: float, evidence: Evidence) -> Chosen:
    clusters = cluster_codes(evidence.cluster)[1]
    if clusters == evidence.rows:
        return Chosen(wilson(value * evidence.rows, evidence.rows, evidence.level), "Wilson")
    spread = cluster_mean(evidence.columns[0], evidence.cluster)
    if isinstance(spread, Undefined):  # as if each cluster were one trial: wide, where t would claim certainty
        method = f"Wilson as if each cluster gave one row ({spread.reason})"
        return Chosen(wilson(value * clusters, clusters, evidence.level), method)
    limits = spread.limits(evidence.level)
    return Chosen(
        Interval(max(0.0, limits.low), min(1.0, limits.high)),
        f"t over clusters, {spread.df} df, cut at 0 and 1",
        extra={"design_effect": spread.design_effect},
    )


def _association(metric: Metric, value: float, evidence: Evidence) -> Chosen:
    pairs = evidence.rows if evidence.pairs is None else evidence.pairs
    if evidence.independent:
        return Chosen(fisher_limits(value, pairs, metric.coefficient, evidence.level), "Fisher's z, independent rows")
    if pairs < MIN_GROUPS:
        return Chosen(Undefined(f"fewer than {MIN_GROUPS} pairs"), None)
    drawn = _draw(metric, evidence)
    if isinstance(drawn, Chosen):
        return drawn
    replicates, signature = drawn
    spread = resampled_spread(replicates, half_step(metric.coefficient, pairs))
    extra: dict[str, float | int | str | None] = {"undefined_resamples": replicates.undefined}
    if isinstance(spread, Undefined):
        return Chosen(spread, None, signature, extra)
    extra["limited_resamples"] = spread.limited
    method = (
        f"tanh(atanh ± z · {RESAMPLED_SPREAD_FACTOR} · SD*), bootstrap over clusters, "
        f"|value| taken as at most {spread.limit:.6g} in atanh"
    )
    limits = correlation_limits(value, spread, evidence.level)
    return Chosen(limits, method, signature, extra, spread)


def _composite(metric: Metric, value: float, evidence: Evidence) -> Chosen:
    drawn = _draw(metric, evidence)
    if isinstance(drawn, Chosen):
        return drawn
    replicates, signature = drawn
    left_out = cluster_jackknife(_on_rows(metric, evidence), evidence.cluster)
    limits = bca_limits(value, replicates, left_out, evidence.level)
    method = None if isinstance(limits, Undefined) else "bootstrap over clusters, BCa limits"
    return Chosen(limits, method, signature, {"undefined_resamples": replicates.undefined})


def _distance(metric: Metric, value: float, evidence: Evidence) -> Chosen:
    return Chosen(
        Undefined("a bootstrap of a distance never covers 0; compare it with its permutation p and its floor"), None
    )


def _draw(metric: Metric, evidence: Evidence) -> tuple[Replicates, Signature] | Chosen:
    """Return replicates over clusters and their signature; a `Chosen` that says why where none can be drawn."""
    clusters = cluster_codes(evidence.cluster)[1]
    if clusters < MIN_CLUSTERS:
        return Chosen(Undefined(f"{clusters} clusters are too few for a bootstrap (at least {MIN_CLUSTERS})"), None)
    if evidence.drawn is not None:
        return evidence.drawn
    if evidence.rng is None:
        return Chosen(Undefined("no generator was given to resample with"), None)
    child = fork(evidence.rng)
    signature = signature_of(child, evidence.resamples)
    statistic = _on_rows(metric, evidence)
    return cluster_bootstrap(statistic, evidence.cluster, evidence.resamples, child), signature


def _on_rows(metric: Metric, evidence: Evidence) -> Callable[[NDArray[np.int64]], float | Undefined]:
    return lambda rows: metric.point(*(column[rows] for column in evidence.columns))


_BY_KIND: dict[Kind, Callable[[Metric, float, Evidence], Chosen]] = {
    "mean": _mean,
    "proportion": _proportion,
    "association": _association,
    "composite": _composite,
    "distance": _distance,
}


def average(values: FloatArray) -> float | Undefined:
    """Return the mean of one column, the point function of plain means and of proportions (values 0 to 1)."""
    return float(values.mean()) if len(values) else Undefined("no values")
