"""How a judge's pass/fail decides against people's: sensitivity, specificity and what follows from them.

Positive is a human pass: sensitivity q1 = P(judge pass | human pass), specificity q0 = P(judge fail | human fail). From
simple counts the limits are Wilson's; with design weights shares are ratios of weighted sums, and Wilson's limits stand
at an effective number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.estimate import Estimate, Interval, Undefined
from calibrate.stats.checking import MOST_COUNTED, as_labels, as_numbers, check_count
from calibrate.stats.intervals import check_level, normal_quantile, t_quantile, wilson

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Share:
    """One proportion: value and limits, rows in its denominator, and the effective number the limits stand on."""

    value: float | Undefined
    interval: Interval | Undefined
    n: int
    effective_n: float
    clusters: int | None = None

    def estimate(self, name: str, *, level: float = 0.95, method: str = "Wilson") -> Estimate:
        """Return it as an `Estimate` called `name`."""
        target = "decisions like these"
        if isinstance(self.value, Undefined):
            return Estimate.undefined(name, self.value.reason, n=self.n, level=level, method=method, target=target)
        extra: dict[str, float | int | str | None] = {"effective_n": self.effective_n}
        if isinstance(self.interval, Undefined):
            return Estimate(
                name=name, value=self.value, interval_reason=self.interval.reason, n=self.n, level=level,
                clusters=self.clusters, method=method, target=target, extra=extra,
            )  # fmt: skip
        return Estimate(
            name=name, value=self.value, low=self.interval.low, high=self.interval.high, n=self.n, level=level,
            clusters=self.clusters, method=method, target=target, extra=extra,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class JudgeValidity:
    """A judge against people, pass being positive.

    ppv: human pass among judge passes; npv: human fail among judge fails. youden: q0 + q1 − 1, 0 = no better than
    chance. lr_positive: q1/(1 − q0), undefined at q0 = 1; lr_negative: (1 − q1)/q0, undefined at q0 = 0.
    """

    sensitivity: Share
    specificity: Share
    ppv: Share
    npv: Share
    accuracy: Share
    youden: float | Undefined
    lr_positive: float | Undefined
    lr_negative: float | Undefined
    level: float
    method: str

    def estimates(self) -> tuple[Estimate, ...]:
        """Return the five proportions as estimates."""
        names = ("sensitivity", "specificity", "ppv", "npv", "accuracy")
        return tuple(getattr(self, name).estimate(name, level=self.level, method=self.method) for name in names)


def judge_validity_of_counts(tp: int, fn: int, fp: int, tn: int, *, level: float = 0.95) -> JudgeValidity:
    """Return sensitivity, specificity, predictive values and accuracy with Wilson's limits from a 2 × 2 table.

    tp, fn: human passes that the judge passed, failed; fp, tn: human fails that it passed, failed. A share with an
    empty denominator is undefined. `InvalidData` for counts that are negative or not whole.

    Altman and Bland (British Medical Journal 308:1552, 1994) print .90 and .63 for 231, 27, 32, 54:

    >>> validity = judge_validity_of_counts(231, 27, 32, 54)
    >>> round(validity.sensitivity.value, 2), round(validity.specificity.value, 2)
    (0.9, 0.63)
    """
    counts = {"tp": tp, "fn": fn, "fp": fp, "tn": tn}
    for name, count in counts.items():
        check_count(count, f"the count {name}", 0, MOST_COUNTED, "count the decisions again")
    check_level(level)

    def share(hits: int, n: int, what: str) -> Share:
        value = hits / n if n else Undefined(f"no {what}")
        return Share(value=value, interval=wilson(hits, n, level), n=n, effective_n=float(n))

    return _validity(
        share(tp, tp + fn, HUMAN_PASS), share(tn, tn + fp, HUMAN_FAIL), share(tp, tp + fp, JUDGE_PASS),
        share(tn, tn + fn, JUDGE_FAIL), share(tp + tn, tp + fn + fp + tn, ANY), level, "Wilson",
    )  # fmt: skip


def judge_validity(
    judge: ArrayLike,
    human: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
) -> JudgeValidity:
    """Return sensitivity, specificity, predictive values and accuracy from decisions, shape (decision,), 1 = pass.

    `weights`, shape (decision,), are positive design weights (1 / inclusion probability): shares are Σ w·hit / Σ w, and
    Wilson's limits stand at Kish's n = (Σ w)²/Σ w² of their denominator. With `cluster` (episode of each decision) they
    stand at n = p(1 − p)/V · (z/t)², never above Kish's n: V is the linearised variance of the ratio between G clusters
    of the denominator, t has G − 1 degrees of freedom; at p = 0 or 1 the clusters count as one decision each.
    Undefined: an empty denominator; limits also with one cluster. `InvalidData` for other values than 0 and 1, unequal
    lengths, weights not above 0.

    Sources: Kish, Survey Sampling (1965), section 11.7; Korn and Graubard, Survey Methodology 24:193 (1998).

    >>> both = [1] * 43 + [0] * 7 + [0] * 96 + [1] * 4
    >>> validity = judge_validity(both, [1] * 50 + [0] * 100)
    >>> validity.sensitivity.value, validity.specificity.value
    (0.86, 0.96)
    """
    f, y = _binary(judge, "judge"), _binary(human, "human")
    check_level(level)
    if len(f) != len(y):
        raise InvalidData(f"every decision needs both verdicts, got {len(f)} and {len(y)}: give arrays of one length")
    w = _weights(weights, len(f))
    codes = _codes(cluster, len(f))
    parts = (
        (f & y, y, HUMAN_PASS), (~f & ~y, ~y, HUMAN_FAIL), (f & y, f, JUDGE_PASS), (~f & ~y, ~f, JUDGE_FAIL),
        (f == y, np.ones(len(f), dtype=bool), ANY),
    )  # fmt: skip
    q1, q0, ppv, npv, accuracy = (_ratio(hit, base, w, codes, what, level) for hit, base, what in parts)
    method = "Wilson" if weights is None else "design-weighted ratio; Wilson at Kish's effective n"
    if codes is not None:
        method = "ratio, linearised variance by cluster; Wilson at the effective n"
    return _validity(q1, q0, ppv, npv, accuracy, level, method)


HUMAN_PASS, HUMAN_FAIL = "decision that people passed", "decision that people failed"
JUDGE_PASS, JUDGE_FAIL = "decision that the judge passed", "decision that the judge failed"
ANY = "decision"


def _validity(
    sensitivity: Share, specificity: Share, ppv: Share, npv: Share, accuracy: Share, level: float, method: str
) -> JudgeValidity:
    q1, q0 = sensitivity.value, specificity.value
    youden: float | Undefined
    positive: float | Undefined
    negative: float | Undefined
    if isinstance(q1, Undefined) or isinstance(q0, Undefined):
        youden = positive = negative = q1 if isinstance(q1, Undefined) else q0
    else:
        youden = q1 + q0 - 1
        positive = q1 / (1 - q0) if q0 < 1 else Undefined("specificity is 1")
        negative = (1 - q1) / q0 if q0 > 0 else Undefined("specificity is 0")
    return JudgeValidity(
        sensitivity=sensitivity, specificity=specificity, ppv=ppv, npv=npv, accuracy=accuracy, youden=youden,
        lr_positive=positive, lr_negative=negative, level=level, method=method,
    )  # fmt: skip


def _ratio(
    hit: BoolArray, base: BoolArray, w: FloatArray, codes: NDArray[np.int64] | None, what: str, level: float
) -> Share:
    n = int(base.sum())
    if n == 0:
        return Share(Undefined(f"no {what}"), Undefined(f"no {what}"), 0, 0.0)
    own = w[base]
    good = hit[base]
    value = 1.0 if good.all() else float(own[good].sum() / own.sum())
    size = min(float(n), float(own.sum() ** 2 / (own**2).sum()))
    if codes is None:
        return Share(value, wilson(value * size, size, level), n, size)
    groups, place = np.unique(codes[base], return_inverse=True)
    count = len(groups)
    if count < 2:
        return Share(value, Undefined("only one cluster: its spread cannot be told"), n, size, count)
    if value in (0.0, 1.0):
        size = min(size, float(count))
    else:
        sums = np.bincount(place, weights=own * (good - value), minlength=count)
        variance = float(count / (count - 1) * (sums**2).sum() / own.sum() ** 2)
        shrink = (normal_quantile(level) / t_quantile(level, count - 1)) ** 2
        if variance > 0:
            size = min(size, value * (1 - value) / variance * shrink)
    return Share(value, wilson(value * size, size, level), n, size, count)


def _binary(values: ArrayLike, side: str) -> BoolArray:
    array = as_labels(values, f"{side} verdicts")
    if array.ndim != 1 or array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
        if array.size == 0:
            return np.zeros(0, dtype=bool)
        raise InvalidData(f"{side} verdicts must be 0 (fail) or 1 (pass) for every decision: drop or recode the others")
    return array.astype(bool)


def _weights(weights: ArrayLike | None, n: int) -> FloatArray:
    if weights is None:
        return np.ones(n)
    w = as_numbers(weights, "design weights")
    if w.shape != (n,) or not (np.isfinite(w) & (w > 0)).all():
        raise InvalidData(f"design weights must be {n} finite numbers above 0: drop rows that could not be drawn")
    return w / w.max() if n else w


def _codes(cluster: ArrayLike | None, n: int) -> NDArray[np.int64] | None:
    if cluster is None:
        return None
    from calibrate.stats.resample import cluster_codes

    codes, _ = cluster_codes(cluster)
    if len(codes) != n:
        raise InvalidData(f"every decision needs a cluster, got {len(codes)} for {n}: give arrays of one length")
    return codes
