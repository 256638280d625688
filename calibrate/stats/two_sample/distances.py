"""Distances of two samples, each with a permutation p; those that are U-statistics with a jackknife interval.

| name | what | interval |
|---|---|---|
| ks | largest gap of the two distribution functions, one feature | none |
| wasserstein | area between the two distribution functions (Wasserstein-1), one feature, in its unit | none |
| energy | 2E‖X − Y‖ − E‖X − X'‖ − E‖Y − Y'‖, any number of features, in their unit | jackknife over people |
| mmd | E k(X, X') + E k(Y, Y') − 2E k(X, Y), k Gaussian: the squared maximum mean discrepancy | jackknife over people |

Each row counts once. Energy and MMD are U-statistics over people: terms between rows of one person (a conversation and
its twin, two conversations of one person) are left out, so that both are right on average and can fall below 0 where
the samples are alike. They are the squares of the distances that some programs print. KS and Wasserstein-1 are never
below 0 and never 0 on average: they stand beside their floor. Features are taken as they come: scale them first where
their units differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.random import Generator

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.exchange import permutation_p
from calibrate.stats.intervals import t_quantile
from calibrate.stats.two_sample.samples import (
    FloatArray,
    Labels,
    TwoSample,
    labels_without_each_person,
    observed_labels,
    permuted_labels,
)
from calibrate.stats.two_sample.u_statistics import QuadraticForm, blocks, euclidean, gaussian

DistanceName = Literal["ks", "wasserstein", "energy", "mmd"]
NAMES: tuple[DistanceName, ...] = get_args(DistanceName)
U_STATISTICS: tuple[DistanceName, ...] = ("energy", "mmd")

ROWS_FOR_BANDWIDTH = 1_500
MIN_PERSONS = 5  # fewer people than that are no basis for a jackknife
ROUNDING = 1e-12  # values that differ by less than this share of a distance's scale are equal

NO_BOOTSTRAP = "a bootstrap of a distance never covers 0; compare it with its permutation p and its floor"


@dataclass(frozen=True, slots=True)
class Measure:
    """A distance made ready for one sample: everything that no relabelling changes is computed.

    of: gives the distance under each line of labels, shape (draw,); nan where a draw leaves a side without the rows
    that the distance needs. scale: the size of its terms, in its unit: differences far below it are rounding.
    bandwidth: of the Gaussian kernel, None for other distances. degenerate_variance: of a U-statistic whose true value
    is 0, None for KS and Wasserstein.
    """

    name: DistanceName
    of: Callable[[Labels], FloatArray]
    scale: float
    bandwidth: float | None = None
    degenerate_variance: float | None = None


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """value: the distance. p: the share of relabellings at least as far apart, the data's own labels among them.

    smallest: the smallest p that so few people can give. null: the distances under relabelling, shape (permutation,).
    """

    value: float
    p: float
    smallest: float
    null: FloatArray


def measure(sample: TwoSample, name: DistanceName, *, bandwidth: float | None = None) -> Measure | Undefined:
    """Return the distance `name` made ready for relabelling the sample; bandwidth: of MMD, by default the median's.

    Undefined without rows on both sides, for energy and MMD with fewer than two people on a side (no two rows of
    different people), for MMD where all values are equal (no bandwidth).

    Raises:
        InvalidData: an unknown name, several features for a distance of one feature, a bandwidth that is none.

    >>> from calibrate.stats.two_sample.samples import grouped_sample
    >>> ready = measure(grouped_sample([0, 1, 3], [5, 6, 8], list("abc"), list("def")), "wasserstein")
    >>> ready.of(observed_labels(grouped_sample([0, 1, 3], [5, 6, 8], list("abc"), list("def"))))
    array([5.])
    """
    if name not in NAMES:
        raise InvalidData(f"a distance is one of {', '.join(NAMES)}, got {name!r}: choose one of them.")
    features = sample.values.shape[1]
    if name not in U_STATISTICS and features != 1:
        raise InvalidData(f"{name} needs one feature, got {features}: choose one column, or energy or mmd.")
    first, second = sample.persons_by_side
    if min(first, second) < 1:
        return Undefined(f"no rows on {'either' if first == second else 'one'} side")
    if name in ("ks", "wasserstein"):
        scale = 1.0 if name == "ks" else float(np.ptp(sample.values))
        return Measure(name, _gap_of_distributions(sample, largest=name == "ks"), scale)
    if min(first, second) < 2:
        return Undefined("a U-statistic over people needs at least two on each side, there is one")
    if name == "energy":
        form, scale = QuadraticForm(sample, euclidean), float(np.linalg.norm(np.ptp(sample.values, axis=0)))
        return Measure(name, form.of, scale, degenerate_variance=form.degenerate_variance)
    if bandwidth is not None and not 0.0 < bandwidth < np.inf:
        raise InvalidData(f"a bandwidth must be above 0 and finite, got {bandwidth!r}: leave it out for the median.")
    width = median_bandwidth(sample) if bandwidth is None else bandwidth
    if isinstance(width, Undefined):
        return width
    form = QuadraticForm(sample, lambda rows, others: -gaussian(rows, others, width))
    return Measure(name, form.of, 1.0, width, form.degenerate_variance)


def distance(sample: TwoSample, name: DistanceName) -> float | Undefined:
    """Return how far apart the two samples are, in the unit of the table above.

    0 says alike; energy and MMD fall below 0 by chance where the samples are alike. Undefined: see `measure`.

    Sources: Székely and Rizzo 2013, equation 2.1 (energy); Gretton et al. 2012, equation 3 (MMD²_u); Vallender 1974
    (Wasserstein-1 as the area between distribution functions). Two points at 0 and two at 2 are 2·2 − 0 − 0 = 4 apart.

    >>> from calibrate.stats.two_sample.samples import grouped_sample
    >>> apart = grouped_sample([0, 0], [2, 2], ["a", "b"], ["c", "d"])
    >>> [distance(apart, name) for name in ("ks", "wasserstein", "energy")]
    [1.0, 2.0, 4.0]
    >>> round(distance(apart, "mmd"), 6)  # the bandwidth is the median distance 2: 1 + 1 − 2·exp(−1/2)
    0.786939
    """
    ready = measure(sample, name)
    if isinstance(ready, Undefined):
        return ready
    return _observed(sample, ready)


def median_bandwidth(sample: TwoSample) -> float | Undefined:
    """Return the median distance between different rows of both samples together (the median heuristic).

    No relabelling changes it. Where more than half of the distances are 0 it is the median of the others. From more
    than 1,500 rows it is computed on 1,500 of them, evenly spread over the order in which the sample keeps its rows.
    Undefined where all rows are equal. Source: Gretton et al. 2012, section 8.

    >>> from calibrate.stats.two_sample.samples import grouped_sample
    >>> median_bandwidth(grouped_sample([0, 1], [3], ["a", "b"], ["c"]))
    2.0
    """
    from scipy.spatial.distance import pdist

    pairs = sample.pairs
    if len(sample.values) > ROWS_FOR_BANDWIDTH:
        kept = ROWS_FOR_BANDWIDTH // (2 if sample.paired else 1)
        chosen = np.unique(np.linspace(0, pairs - 1, kept).round().astype(np.int64))
        chosen = np.concatenate([chosen, chosen + pairs]) if sample.paired else chosen
    else:
        chosen = np.arange(len(sample.values))
    apart = pdist(sample.values[chosen])
    if not len(apart) or float(apart.max()) == 0.0:
        return Undefined("all values are equal, so that the median heuristic gives no bandwidth")
    middle = float(np.median(apart))
    return middle if middle > 0.0 else float(np.median(apart[apart > 0.0]))


def permutation_test(
    sample: TwoSample, name: DistanceName, rng: Generator, permutations: int = 999
) -> PermutationTest | Undefined:
    """Return the distance with the p of "both samples are alike", people being exchanged as the design says.

    p = (1 + relabellings at least as far apart)/(1 + permutations), one-sided: only large distances count. With few
    people it cannot be small: `smallest` says how small. Undefined: see `measure`.

    Source: Phipson and Smyth 2010, equation 2 (why the data's own labels count).

    >>> from calibrate.stats.two_sample.samples import paired_sample
    >>> far = paired_sample(range(8), range(20, 28), list("abcdefgh"))
    >>> test = permutation_test(far, "wasserstein", np.random.default_rng(1), 499)
    >>> test.value, test.p < 0.03, test.smallest
    (20.0, True, 0.0078125)
    """
    ready = measure(sample, name)
    if isinstance(ready, Undefined):
        return ready
    return permutation_test_of(sample, ready, permuted_labels(sample, rng, permutations))


def permutation_test_of(sample: TwoSample, ready: Measure, labels: Labels) -> PermutationTest | Undefined:
    """Return the permutation test of a distance under labels that were drawn before (several distances share them).

    >>> from calibrate.stats.two_sample.samples import paired_sample
    >>> same = paired_sample([1, 2, 3], [1, 2, 3], list("abc"))
    >>> labels = permuted_labels(same, np.random.default_rng(1), 99)
    >>> permutation_test_of(same, measure(same, "ks"), labels).p
    1.0
    """
    value, null = _observed(sample, ready), ready.of(labels)
    if isinstance(value, Undefined):
        return value
    size = ready.scale or 1.0
    p = permutation_p(value / size, null / size, tail="greater")
    return PermutationTest(value, p, max(smallest_p(sample), 1 / (1 + len(null))), null)


def smallest_p(sample: TwoSample) -> float:
    """Return the smallest p that relabelling these people can give, however far apart the samples are.

    Paired: 2/2^persons (swapping everybody changes no distance); grouped: one over the ways to deal people to the
    sides, twice that where both sides hold as many.

    >>> from calibrate.stats.two_sample.samples import grouped_sample, paired_sample
    >>> smallest_p(paired_sample([1, 2, 3], [4, 5, 6], list("abc")))
    0.25
    >>> round(smallest_p(grouped_sample([1, 2, 3], [4, 5, 6], list("abc"), list("def"))), 6)
    0.1
    """
    if sample.paired:
        return 2.0 ** max(1 - sample.persons, -1000)
    from scipy.special import gammaln

    first, second = sample.persons_by_side
    ways = gammaln(first + second + 1) - gammaln(first + 1) - gammaln(second + 1)
    return float(min(1.0, np.exp(-ways) * (2.0 if first == second else 1.0)))


def jackknife_interval(
    sample: TwoSample, ready: Measure, level: float = 0.95, *, limits: Literal["score", "plain"] = "score"
) -> Interval | Undefined:
    """Return limits of energy or MMD from a jackknife over people: for new people, on the same items.

    Plain limits are U ± t √v₁, v₁ the jackknife variance. Where the distance is small v₁ is small with it and the upper
    limit too low (coverage .79 to .96 over 8 to 60 people). Score limits, as Wilson's for a proportion, take that into
    account: all θ with (U − θ)² ≤ t² (v₀ + θ v₁/U), v₀ the variance that is left at distance 0, and U in the divisor at
    least √v₀; the lower limit is the lower of the two forms (coverage .95 to 1). A lower limit below 0 says that the
    samples may be alike; the upper one is never below 0. v₁ paired: (P − 1)/P Σ_p (θ₍₋p₎ − θ̄)², t with P − 1 degrees of
    freedom; grouped: the sum of that over both sides, Welch's degrees of freedom.

    Undefined for KS and Wasserstein (no bootstrap or jackknife of them covers), with fewer than five people on a side,
    and where leaving out one of them changes nothing.

    Source: Arvesen 1969, section 3 (jackknifing U-statistics).

    >>> from calibrate.stats.two_sample.samples import paired_sample
    >>> far = paired_sample([0, 1, 2, 3, 4, 5], [10, 12, 11, 14, 13, 15], list("abcdef"))
    >>> limits = jackknife_interval(far, measure(far, "energy"))
    >>> limits.low < distance(far, "energy") < limits.high
    True
    """
    if ready.degenerate_variance is None:
        return Undefined(NO_BOOTSTRAP)
    few = min(sample.persons_by_side)
    if few < MIN_PERSONS:
        return Undefined(f"{few} people are too few for a jackknife (at least {MIN_PERSONS} on each side)")
    value = _observed(sample, ready)
    if isinstance(value, Undefined):
        return value
    left_out = ready.of(labels_without_each_person(sample))
    parts = [left_out] if sample.paired else [left_out[sample.first], left_out[~sample.first]]
    variances = np.array([(len(part) - 1) / len(part) * ((part - part.mean()) ** 2).sum() for part in parts])
    total = float(variances.sum())
    if not np.isfinite(total) or total <= (ROUNDING * ready.scale) ** 2:
        return Undefined("leaving out one person never changes the value")
    freedom = np.array([len(part) - 1 for part in parts])
    t = t_quantile(level, float(total**2 / (variances**2 / freedom).sum()))
    plain = Interval(float(value - t * np.sqrt(total)), float(max(0.0, value + t * np.sqrt(total))))
    if limits == "plain":
        return plain
    score = _score_limits(value, total, ready.degenerate_variance, t)
    return Interval(min(plain.low, score.low), score.high)


def _score_limits(value: float, variance: float, degenerate: float, t: float) -> Interval:
    """Return the roots of (value − θ)² = t² (degenerate + θ · variance/value)."""
    slope = t * t * variance / max(value, float(np.sqrt(degenerate)))
    middle = value + slope / 2.0
    reach = np.sqrt(max(0.0, slope * value + slope * slope / 4.0 + t * t * degenerate))
    return Interval(float(middle - reach), float(max(0.0, middle + reach)))


def _observed(sample: TwoSample, ready: Measure) -> float | Undefined:
    value = float(ready.of(observed_labels(sample))[0])
    if not np.isfinite(value):
        return Undefined("no two rows of different people on one side")
    return value if abs(value) > ROUNDING * ready.scale else 0.0


# ------------------------------------------------------------------------------------------------ one feature, sorted


def _gap_of_distributions(sample: TwoSample, *, largest: bool) -> Callable[[Labels], FloatArray]:
    """Return KS or Wasserstein-1 as a function of labels: values are sorted once, draws are cumulative sums."""
    values = sample.values[:, 0]
    order = np.argsort(values, kind="stable")
    ordered, unit = values[order], sample.unit[order]
    gaps = np.diff(ordered)
    ends = np.append(gaps > 0.0, True)  # a step of a distribution function is complete at the last of equal values

    def of(labels: Labels) -> FloatArray:
        found = np.full(len(labels.first), np.nan)
        for block in blocks(len(labels.first), len(values)):
            below = [
                np.cumsum(side[block][:, unit], axis=1, dtype=np.float64) for side in (labels.first, labels.second)
            ]
            rows = [counted[:, -1:] for counted in below]
            enough = (rows[0][:, 0] > 0) & (rows[1][:, 0] > 0)
            gap = np.abs(below[0] / np.maximum(rows[0], 1.0) - below[1] / np.maximum(rows[1], 1.0))
            result = gap[:, ends].max(axis=1) if largest else gap[:, :-1] @ gaps
            found[block] = np.where(enough, result, np.nan)
        return found

    return of
