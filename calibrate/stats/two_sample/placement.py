"""Where a measured figure stands between a floor (people against people) and a ceiling (known to be different)."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from annotate.errors import InvalidData
from calibrate.estimate import Estimate, Interval, Undefined
from calibrate.stats.checking import MOST_COUNTED, as_numbers, check_count, check_number, shown
from calibrate.stats.intervals import check_level, normal_quantile, t_quantile
from calibrate.stats.two_sample.distances import MIN_PERSONS, U_STATISTICS, DistanceName, Measure, measure
from calibrate.stats.two_sample.samples import FloatArray, TwoSample, labels_without_each_person, observed_labels

LARGEST_FIGURE = 1e70  # so that no product of four is infinite
LEAST_RATIO = 4.0  # standard errors between floor and ceiling; with fewer the limits of the ratio are no help


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of two estimates with Fieller's limits."""

    value: float
    interval: Interval


def fieller(
    numerator: float,
    denominator: float,
    covariance: ArrayLike,
    level: float = 0.95,
    *,
    df: float | None = None,
    least_ratio: float = LEAST_RATIO,
) -> Ratio | Undefined:
    """Return numerator/denominator with Fieller's limits, from their covariance matrix, shape (2, 2).

    Limits are the roots r of (a − r b)² = t² (V_aa − 2 r V_ab + r² V_bb), t from Student's distribution with `df`
    degrees of freedom, or the normal one. Refused (undefined) unless |denominator| ≥ `least_ratio` standard errors:
    nearer to 0 they can be unbounded.

    Raises:
        InvalidData: figures that are not finite, or no covariance matrix.

    Source: Fieller 1954, section 3. With a denominator that is known exactly they are the plain limits:

    >>> ratio = fieller(1.0, 2.0, [[0.04, 0.0], [0.0, 0.0]])
    >>> ratio.value, round(ratio.interval.low, 3), round(ratio.interval.high, 3)
    (0.5, 0.304, 0.696)
    >>> fieller(1.0, 2.0, [[0.04, 0.0], [0.0, 1.0]]).reason
    'the denominator 2 is only 2.0 standard errors from 0, at least 4 are needed'
    """
    matrix = _covariance(covariance, 2)
    check_level(level)
    _check_figures(numerator, denominator, least_ratio)
    if df is not None:
        check_number(df, "degrees of freedom")
    if df is not None and df < 1:
        raise InvalidData(f"degrees of freedom must be at least 1, got {df!r}: compare over more people.")
    se = float(np.sqrt(matrix[1, 1]))
    if denominator == 0.0:
        return Undefined("the denominator is 0")
    if abs(denominator) < least_ratio * se:
        return Undefined(
            f"the denominator {denominator:g} is only {abs(denominator) / se:.1f} standard errors from 0, "
            f"at least {least_ratio:g} are needed"
        )
    square = (normal_quantile(level) if df is None else t_quantile(level, df)) ** 2
    a = denominator**2 - square * matrix[1, 1]
    if a <= 0.0:
        return Undefined("the limits of the ratio are unbounded: too few degrees of freedom")
    b = numerator * denominator - square * matrix[0, 1]
    c = numerator**2 - square * matrix[0, 0]
    root = float(np.sqrt(max(0.0, b * b - a * c)))
    return Ratio(numerator / denominator, Interval(float((b - root) / a), float((b + root) / a)))


def placement(
    measured: float,
    floor: float,
    ceiling: float,
    covariance: ArrayLike,
    *,
    n: int,
    level: float = 0.95,
    df: float | None = None,
    target: str | None = None,
) -> Estimate:
    """Return R = (M − F)/(C − F): 0 at the floor, 1 at the ceiling, with Fieller's limits.

    covariance: of (measured, floor, ceiling), shape (3, 3), or their standard errors, shape (3,), where they are
    independent. M, F and C and their standard errors stand in `extra`, since R alone hides them. Undefined unless
    |C − F| is at least 4 standard errors. R is not cut at 0 and 1. n: the rows behind the three figures.

    Raises:
        InvalidData: figures that are not finite, or no covariance.

    >>> found = placement(0.3, 0.1, 0.9, [0.04, 0.02, 0.05], n=100)
    >>> print(found.format("R"))
    R 0.25 [0.14, 0.36] n = 100
    >>> print(placement(0.3, 0.1, 0.2, [0.04, 0.02, 0.05], n=100).format("R"))
    R undefined (ceiling − floor: the denominator 0.1 is only 1.9 standard errors from 0, at least 4 are needed) n = 100
    """
    check_count(n, "n", 0, MOST_COUNTED)
    _check_figures(measured, floor, ceiling)
    given = as_numbers(covariance, "a covariance", ndim=None)
    if given.ndim == 1 and (given < 0).any():
        raise InvalidData(f"a standard error is at least 0, got {float(given.min())}: give standard errors.")
    matrix = _covariance(np.diag(given**2) if given.ndim == 1 else given, 3)
    contrast = np.array([[1.0, -1.0, 0.0], [0.0, -1.0, 1.0]])
    ratio = fieller(measured - floor, ceiling - floor, contrast @ matrix @ contrast.T, level, df=df)
    se = np.sqrt(np.diag(matrix))
    extra: dict[str, float | int | str | None] = {"measured": measured, "floor": floor, "ceiling": ceiling}
    extra |= {f"{name}_se": float(error) for name, error in zip(("measured", "floor", "ceiling"), se, strict=True)}
    method = "(measured − floor)/(ceiling − floor), Fieller"
    if isinstance(ratio, Undefined):
        reason = f"ceiling − floor: {ratio.reason}"
        return Estimate.undefined("placement", reason, n=n, level=level, method=method, target=target, extra=extra)
    return Estimate(
        name="placement",
        value=ratio.value,
        low=ratio.interval.low,
        high=ratio.interval.high,
        level=level,
        n=n,
        method=method,
        target=target,
        extra=extra,
    )


def joint_covariance(samples: list[TwoSample], name: DistanceName) -> FloatArray | Undefined:
    """Return the jackknife covariance over people of energy or MMD of several paired samples, shape (sample, sample).

    The samples hold the same people (twins, and a control of known difference, against the same humans), who are left
    out together: C_jk = (P − 1)/P Σ_p (θ_j(−p) − θ̄_j)(θ_k(−p) − θ̄_k). MMD takes the first's bandwidth in all. People
    are matched by their labels. Undefined where a distance is, with fewer than five people, and for KS and Wasserstein.

    Raises:
        InvalidData: samples that are not paired, or not of the same people.

    >>> from calibrate.stats.two_sample.samples import paired_sample
    >>> human, people = [0, 2, 3, 5, 7, 9], list("abcdef")
    >>> twins, control = paired_sample(human, [1, 1, 4, 5, 8, 8], people), paired_sample(human, [30] * 6, people)
    >>> joint_covariance([twins, control], "energy").shape
    (2, 2)
    """
    if name not in U_STATISTICS:
        return Undefined("only energy and MMD have a jackknife; KS and Wasserstein stand beside their floor")
    if not samples:
        raise InvalidData("a covariance needs at least one sample, got none: give the samples that are compared.")
    columns: list[FloatArray] = []
    width: float | None = None
    for sample in samples:
        if not sample.paired or set(sample.people) != set(samples[0].people):
            raise InvalidData("joint samples must be paired and hold the same people: select the same pairs.")
        if sample.persons < MIN_PERSONS:
            return Undefined(f"{sample.persons} people are too few for a jackknife (at least {MIN_PERSONS})")
        ready = measure(sample, name, bandwidth=width)
        if isinstance(ready, Undefined):
            return ready
        width = ready.bandwidth
        place = {label: number for number, label in enumerate(sample.people)}
        columns.append(ready.of(labels_without_each_person(sample))[[place[label] for label in samples[0].people]])
    left_out = np.column_stack(columns)
    if not np.isfinite(left_out).all():
        return Undefined("undefined without one of the people: too little data")
    people = len(left_out)
    centred = left_out - left_out.mean(axis=0)
    return np.asarray((people - 1) / people * centred.T @ centred)


def distance_placement(twins: TwoSample, control: TwoSample, name: DistanceName, *, level: float = 0.95) -> Estimate:
    """Return where the twins' energy or MMD stands between people (0) and a control of known difference (1).

    twins, control: paired samples of the same people, such as twins and shuffled twins. The floor of a U-statistic,
    people against other people, is 0 and known, so that R = M/C, with Fieller's limits from the joint jackknife over
    people. To both variances is added what is left of them at distance 0 (`QuadraticForm`), where a jackknife says too
    little. Undefined where the jackknife is, or unless the control's distance is at least 4 standard errors from 0.

    Raises:
        InvalidData: as `joint_covariance`.

    >>> from calibrate.stats.two_sample.samples import paired_sample
    >>> human, people = [0, 2, 3, 5, 7, 9], list("abcdef")
    >>> twins, control = paired_sample(human, [5, 6, 8, 9, 9, 12], people), paired_sample(human, [30] * 6, people)
    >>> found = distance_placement(twins, control, "energy")
    >>> round(found.value, 3), found.extra["floor"], round(found.extra["measured"], 3), round(found.extra["ceiling"], 3)
    (0.042, 0.0, 2.0, 47.2)
    """
    ready = measure(twins, name)
    width = None if isinstance(ready, Undefined) else ready.bandwidth
    other = measure(control, name, bandwidth=width)
    covariance = joint_covariance([twins, control], name)
    counts = {"n": twins.pairs, "clusters": twins.persons}
    for part in (ready, other, covariance):
        if isinstance(part, Undefined):
            return Estimate.undefined("placement", part.reason, **counts, level=level)
    assert isinstance(ready, Measure) and isinstance(other, Measure) and isinstance(covariance, np.ndarray)
    full = np.zeros((3, 3))
    full[np.ix_([0, 2], [0, 2])] = covariance
    full[[0, 2], [0, 2]] += [ready.degenerate_variance or 0.0, other.degenerate_variance or 0.0]
    measured, ceiling = (float(each.of(observed_labels(s))[0]) for each, s in ((ready, twins), (other, control)))
    target = "new people like these, on the same items"
    found = placement(measured, 0.0, ceiling, full, n=twins.pairs, level=level, df=twins.persons - 1, target=target)
    return found.model_copy(update={"clusters": twins.persons})


def _check_figures(*figures: float) -> None:
    if not all(isinstance(figure, Real) and abs(figure) <= LARGEST_FIGURE for figure in figures):
        got = ", ".join(shown(figure) for figure in figures)
        raise InvalidData(
            f"a ratio needs finite figures of at most {LARGEST_FIGURE:g} in size, got {got}: drop undefined ones."
        )


def _covariance(given: ArrayLike, size: int) -> FloatArray:
    matrix = as_numbers(given, "a covariance", ndim=None)
    if matrix.shape != (size, size):
        raise InvalidData(f"a covariance of {size} figures has shape ({size}, {size}), got {matrix.shape}: give one.")
    if not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T):
        raise InvalidData("a covariance matrix must be finite and symmetric: recompute it.")
    if float(np.linalg.eigvalsh(matrix).min()) < -1e-9 * float(np.abs(matrix).max(initial=0.0)):
        raise InvalidData("a covariance matrix must have no negative eigenvalue: recompute it.")
    return matrix
