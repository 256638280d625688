"""Krippendorff's α for any number of raters and any missing ratings, at four levels of measurement, and its bootstrap.

α = 1 − D_o/D_e. n counts the pairable ratings, those in units with two ratings or more; all others are dropped before
anything is counted, the marginals of the ordinal distance among it. Not defined where all pairable ratings are equal.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined, fork, signature_of
from calibrate.stats.agreement.coefficient import NO_INTERVAL, Coefficient
from calibrate.stats.agreement.distances import Sums, distances_of, unit_scores
from calibrate.stats.agreement.pairable import Pairable, pairable_of
from calibrate.stats.agreement.paradox import paradox_remark
from calibrate.stats.agreement.ratings import FloatArray, Ratings
from calibrate.stats.checking import check_count
from calibrate.stats.intervals import check_level

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import ArrayLike

PACKAGE, CLOSED_FORM = "krippendorff package", "closed form"
FEWEST_CLUSTERS = 5  # fewer have so few different resamples that their quantiles mean nothing
_PACKAGE_CELLS = 2_000_000  # units × categories², of which the package holds some copies
_PARADOX_CATEGORIES = 1000
_ROUNDING = 1e-14
NO_UNIT = Undefined("no unit has two ratings")
ALL_EQUAL = Undefined("all pairable ratings are equal: nothing but agreement is expected")


def alpha(ratings: Ratings) -> Coefficient:
    """Return Krippendorff's α at the level of the ratings: 1 is agreement, 0 what chance gives, below 0 less than that.

    Two ways, which tests hold together: the `krippendorff` package where units × categories² is at most two million,
    and else sums that need no table of values by values (`calibrate.stats.agreement.distances`). The package is asked
    only where it is right: single ratings and unused categories are dropped and constant data are answered before,
    negative ratio values are refused. A single pairable unit has exactly α = 0, and agreement throughout exactly 1.

    Args:
        ratings: of units by raters; missing ones are no entries, "not applicable" does not count.

    Returns:
        Coefficient: `observed` and `expected` agreement are 1 − D/δ²_max, δ²_max being the largest squared distance
        between two of the ratings, so that value = (observed − expected)/(1 − expected). `raw` is the mean over units
        of the share of agreeing pairs. `n` counts pairable ratings (`extra["pairable_values"]` too), `extra["units"]`
        pairable units, `extra["computed_by"]` names the way. `marginals` are shares of the pairable ratings.

    Undefined: no unit with two ratings; all pairable ratings equal (never 1, never 0).

    Raises:
        InvalidData: negative values at ratio level.

    Source: Krippendorff, Content Analysis, 2018, chapter 12: α = 1 − (n − 1) Σ o_ck δ²_ck / Σ n_c n_k δ²_ck;
    four observers and twelve units of Krippendorff 2011, which prints .743, .815, .849 and .797:

    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> x = None
    >>> table = [[1, 1, x, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4], [4, 4, 4, 4],
    ...          [1, 1, 2, 1], [2, 2, 2, 2], [x, 5, 5, 5], [x, x, 1, 1], [x, 3, x, x]]
    >>> [round(alpha(ratings_of(table, level=level)).value, 3) for level in ("nominal", "ordinal", "interval", "ratio")]
    [0.743, 0.815, 0.849, 0.797]
    """
    return _described(ratings, pairable_of(ratings))


def alpha_interval(
    ratings: Ratings,
    rng: Generator,
    *,
    resamples: int = 1000,
    cluster: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Coefficient:
    """Return α with percentile limits of a bootstrap of pairable units, or of clusters of them; target: new units.

    Pairable units (clusters with a pairable unit) are drawn with replacement, as many as there are, and α is computed
    anew with all its terms, the marginals of the ordinal distance among them. The result depends on what units hold,
    not on their order or the order of raters. This is not the macro KALPHA's bootstrap, which draws pairs of ratings as
    if they were independent and gives limits about half as wide.

    Args:
        ratings: of units by raters.
        rng: generator; resamples come from a child of it, see the signature.
        cluster: of each unit, shape (unit,), such as its conversation or participant; units by themselves if None.
        confidence: level of the limits.

    Returns:
        Coefficient of `alpha` with `interval`, and the standard deviation of the defined resamples as `se`;
        `extra["undefined_resamples"]` counts resamples in which all ratings are equal, which have no α and are never
        replaced; `extra["clusters"]` what was drawn.

    Undefined: as `alpha`. Limits: fewer than five units (clusters); more than a fifth of the resamples undefined; all
    resamples alike.

    Raises:
        InvalidData: `cluster` is not one label a unit, no resamples, or a confidence outside 0 to 1.

    Source: percentile bootstrap, Davison and Hinkley 1997, section 5.3. Two raters and twelve articles of Krippendorff
    2011, which prints α = .692 (the limits are ours):

    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> articles = ["ab", "aa", "bb", "bb", "db", "cc", "cc", "cc", "ee", "dd", "dd", "ad"]
    >>> rated = ratings_of([list(pair) for pair in articles], level="nominal")
    >>> found = alpha_interval(rated, np.random.default_rng(1), resamples=5000)
    >>> round(found.value, 3), round(found.interval.low, 1), round(found.interval.high, 1)
    (0.692, 0.3, 1.0)
    """
    from calibrate.stats.agreement.alpha_bootstrap import alpha_replicates, draws_of
    from calibrate.stats.resample import percentile_limits

    _check(resamples, confidence)
    child = fork(rng)
    units = pairable_of(ratings)
    draws = draws_of(units, ratings.units, cluster)
    plain = _described(ratings, units)
    extra = {**plain.extra, "clusters": draws.clusters, "undefined_resamples": None}
    found = replace(plain, method=f"percentile bootstrap by {'unit' if cluster is None else 'cluster'}", extra=extra)
    if isinstance(found.value, Undefined):
        return found
    replicates = alpha_replicates(units, draws, resamples, child)
    limits: Interval | Undefined = percentile_limits(replicates, confidence)
    if draws.clusters < FEWEST_CLUSTERS:
        drawn = "units" if cluster is None else "clusters"
        limits = Undefined(f"{draws.clusters} {drawn} are too few for a bootstrap (it takes {FEWEST_CLUSTERS} or more)")
    return replace(
        found,
        interval=limits,
        se=float(replicates.values.std(ddof=1)) if isinstance(limits, Interval) else None,
        signature=signature_of(child, resamples),
        extra={**extra, "undefined_resamples": replicates.undefined},
    )


def closed_form(units: Pairable) -> float | Undefined:
    """Return α from sums over kinds of units, without a table of values by values; the `Undefined` of `alpha`.

    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> closed_form(pairable_of(ratings_of([[0, 1], [1, 0], [0, 1], [1, 0]], level="interval")))
    -0.75
    """
    settled = _settled(units)
    return _value(units, _point_sums(units)) if settled is None else settled


def by_package(units: Pairable) -> float | Undefined:
    """Return α of the `krippendorff` package, asked in a way in which it is right; the `Undefined` of `alpha`.

    The values it gets are scaled (the largest size below 1): it takes (c − k)/(c + k) for 0 where c + k overflows.

    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> round(by_package(pairable_of(ratings_of([[0, 1], [1, 0], [0, 1], [1, 0]], level="interval"))), 2)
    -0.75
    """
    import krippendorff

    settled = _settled(units)
    if settled is not None:
        return settled
    counts = units.counts if isinstance(units.counts, np.ndarray) else units.counts.toarray()
    domain = np.arange(units.categories, dtype=np.float64)
    if units.level in ("interval", "ratio") and units.scores is not None:
        domain = unit_scores(units.scores)
    with np.errstate(all="ignore"):
        value = krippendorff.alpha(
            value_counts=np.repeat(counts, units.alike, axis=0),
            value_domain=domain,
            level_of_measurement=units.level,
        )
    return float(value) if np.isfinite(value) else Undefined("distances too small for floating-point numbers")


# ------------------------------------------------------------------------------------------------------------- parts


def _described(ratings: Ratings, units: Pairable) -> Coefficient:
    """Return α with everything that stands beside it, without an interval."""
    if units.level == "ratio" and units.scores is not None and (units.scores < 0).any():
        raise InvalidData(
            f"ratio level requires non-negative values, got {units.scores.min():g}: use the level 'interval'."
        )
    few = len(units.unit) * units.categories**2 <= _PACKAGE_CELLS
    value = by_package(units) if few else closed_form(units)
    if isinstance(value, float) and abs(value) <= _ROUNDING:
        value = 0.0
    n = int(units.marginals.sum())
    shares = np.zeros(len(ratings.categories))
    shares[units.used] = units.marginals / max(n, 1)
    marginals = dict(zip(ratings.categories, shares.tolist(), strict=True)) if n else {}
    raw = observed = expected = remark = None
    if n:
        raw = float(units.alike @ units.agreeing) / len(units.unit)
        if units.categories > 1:
            sums = _point_sums(units)
            observed, expected = _agreement(sums.within / sums.n, sums), _agreement(_mean_distance(sums), sums)
        free = _without_marginals(ratings, units) if raw >= 0.5 else None
        remark = paradox_remark(raw, value, marginals, symbol="α", marginal_free=free)
    return Coefficient(
        name=f"alpha_{units.level}",
        value=value,
        observed=observed,
        expected=expected,
        raw=raw,
        marginals=marginals,
        n=n,
        interval=NO_INTERVAL,
        method=f"Krippendorff's α, {units.level} distance",
        remark=remark,
        symbol="α",
        extra={"pairable_values": n, "units": len(units.unit), "computed_by": PACKAGE if few else CLOSED_FORM},
    )


def _settled(units: Pairable) -> float | Undefined | None:
    """Return α where it takes no computation; None elsewhere."""
    if not len(units.unit):
        return NO_UNIT
    if units.categories < 2:
        return ALL_EQUAL
    if len(units.unit) == 1:
        return 0.0
    return None if units.split.any() else 1.0


def _point_sums(units: Pairable) -> Sums:
    return distances_of(units).sums(units.alike[None, :].astype(np.float64))


def _value(units: Pairable, sums: Sums) -> float | Undefined:
    if not sums.among[0] > 0.0:
        return Undefined("distances too small for floating-point numbers")
    return float(1.0 - (sums.n[0] - 1.0) * sums.within[0] / sums.among[0])


def _mean_distance(sums: Sums) -> FloatArray:
    return sums.among / (sums.n * (sums.n - 1.0))


def _agreement(distance: FloatArray, sums: Sums) -> float | None:
    return float(1.0 - distance[0] / sums.largest[0]) if sums.largest[0] > 0.0 else None


def _without_marginals(ratings: Ratings, units: Pairable) -> float | None:
    """Return what Brennan–Prediger's coefficient is at these distances: chance uses all categories alike."""
    q = len(ratings.categories)
    if units.level == "nominal" or not 2 <= q <= _PARADOX_CATEGORIES:
        return None
    if units.level == "ordinal":
        used = np.zeros(q)
        used[units.used] = units.marginals
        place = np.cumsum(used) - used / 2.0
    elif ratings.scores is None:
        return None
    else:
        place = unit_scores(ratings.scores)
    apart = place[:, None] - place
    if units.level == "ratio":
        total = place[:, None] + place
        apart = np.divide(apart, total, out=np.zeros_like(apart), where=total > 0)
    inside = (apart**2)[np.ix_(units.used, units.used)]
    sums = _point_sums(units)
    observed = float(sums.within[0] / sums.n[0] / sums.largest[0]) * float(inside.max()) if sums.largest[0] else 0.0
    expected = float((apart**2).mean())
    return 1.0 - observed / expected if expected > 0.0 else None


def _check(resamples: int, confidence: float) -> None:
    check_count(resamples, "resamples")
    check_level(confidence)
