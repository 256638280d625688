"""Bootstrap limits of many agreement coefficients at once, by units or by clusters, in strata, with sampling weights.

Every coefficient here is a function of sums over units. A resample is a row that says how often each unit is drawn, so
that all resamples are one matrix product. Units that were rated alike are one *kind*; without clusters kinds are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.estimate import Signature, Undefined, fork, signature_of
from calibrate.stats.agreement.bootstrap_sums import (
    BY_CATEGORY,
    BY_RATER,
    PRONE,
    SYMBOLS,
    TWO_RATERS,
    Sums,
    Terms,
    sums_of,
)
from calibrate.stats.agreement.coefficient import NO_INTERVAL, Coefficient
from calibrate.stats.agreement.icc import ICC_NAMES, icc
from calibrate.stats.agreement.light import all_agree, light_kappa
from calibrate.stats.agreement.multirater import gwet
from calibrate.stats.agreement.paradox import paradox_remark
from calibrate.stats.agreement.ratings import FloatArray, IntArray, Ratings
from calibrate.stats.agreement.raw import marginals_of, sorted_codes
from calibrate.stats.agreement.weights import Weights, is_identity, ratings_weights
from calibrate.stats.checking import as_numbers, check_count
from calibrate.stats.resample import Replicates, canonical_order, percentile_limits

_MAX_DRAWN = 4_000_000  # draws held at a time
_MAX_CELLS = 50_000_000  # of a table that is built at all
_FULL_NAMES = {
    "pa": "percent_agreement", "raw": "raw_agreement", "bp": "brennan_prediger", "fleiss": "fleiss_kappa",
    "conger": "conger_kappa", "kripp": "krippendorff_alpha", "light": "light_kappa", "cohen": "cohen_kappa",
    "scott": "scott_pi",
}  # fmt: skip


def bootstrap_coefficients(
    ratings: Ratings,
    names: Sequence[str],
    rng: Generator,
    resamples: int = 1000,
    cluster: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    confidence: float = 0.95,
    *,
    weights: Weights = None,
    unit_weights: ArrayLike | None = None,
) -> dict[str, Coefficient]:
    """Return coefficients with percentile limits of a cluster bootstrap, all from the same resamples; no p, no SE.

    A cluster is drawn with all its units, with replacement, as often as its stratum has clusters. Resamples in which a
    coefficient has no value are counted in `extra["undefined_resamples"]`, never replaced; with more than a fifth of
    them there are no limits. The result depends on what units hold, and not on their order.

    Args:
        ratings: of units by raters.
        names: any of pa, ac, bp, fleiss, conger, kripp (see `gwet`), raw (unweighted pa), pabak, light, all_agree,
            cohen and scott (two raters, on units that both rated), icc_1_1 … icc_3_k (complete units).
        rng: generator; the limits come from a child of it, see the signature.
        cluster: of each unit, shape (unit,); the unit itself where not given.
        strata: of each unit, shape (unit,), within which clusters are drawn; one stratum where not given. A stratum
            with a single cluster adds nothing to the spread (`extra["single_cluster_strata"]`).
        confidence: level of the limits.
        weights: agreement weights, as in `weight_matrix`.
        unit_weights: sampling weights of the units, shape (unit,), above 0; values are weighted by them too.

    Raises:
        InvalidData: an unknown name, arrays that do not have one entry a unit, a cluster in two strata, a sampling
            weight that is not above 0, or too many units and raters for coefficients that look at who rated.

    Undefined: as each coefficient without resampling. Limits: a single cluster, or resamples that are all alike.

    Source: Davison and Hinkley 1997, section 3.8; percentile limits. Gwet's table of 125 pairs has AC1 = .941:

    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> rated = ratings_of(118 * [[0, 0]] + 5 * [[0, 1]] + 2 * [[1, 0]], level="nominal")
    >>> found = bootstrap_coefficients(rated, ["ac", "cohen"], np.random.default_rng(1), 2000)
    >>> ac = found["ac"]
    >>> round(ac.value, 3), round(ac.interval.low, 2), round(ac.interval.high, 2)
    (0.941, 0.89, 0.98)
    """
    chosen = list(dict.fromkeys(names))
    rated = ratings.of_units(ratings.per_unit > 0)
    _check(rated, chosen, resamples)
    sample = _sample(ratings, chosen, cluster, strata, unit_weights)
    by_category = bool(BY_CATEGORY & set(chosen))
    matrix = ratings_weights(weights, ratings) if by_category else np.ones((0, 0))
    beside = ["raw", "bp"] if by_category else ["raw"]
    sums = {name: sums_of(name, sample.kinds, matrix) for name in dict.fromkeys([*chosen, *beside])}
    child = fork(rng)
    drawn = _drawn(sample, [sums[name].parts for name in chosen], resamples, child)
    point = {name: one.finish(sample.weight[None, :] @ one.parts) for name, one in sums.items()}
    common = _Common(sample, confidence, _method(cluster, strata), signature_of(child, resamples), point)
    result: dict[str, Coefficient] = {}
    for name, part in zip(chosen, drawn, strict=True):
        number = _number(point[name].value)
        value = _why(name, rated, weights) if number is None else number
        result[name] = common.coefficient(name, value, Replicates.of(sums[name].finish(part).value), sums[name], matrix)
    return result


def coefficient_names() -> tuple[str, ...]:
    """Return all names that `bootstrap_coefficients` knows.

    >>> coefficient_names()[:4]
    ('pa', 'raw', 'ac', 'bp')
    """
    return tuple(SYMBOLS)


# ----------------------------------------------------------------------------------------------------------- sample


@dataclass(frozen=True, eq=False)
class _Stratum:
    """What is drawn, as entries: number of the thing, kind, and sampling weight.

    alike: how many clusters each thing stands for, shape (thing,).
    """

    thing: IntArray
    kind: IntArray
    weight: FloatArray
    alike: IntArray

    def parts(self, of_kinds: FloatArray) -> FloatArray:
        """Return what each thing adds to the sums, shape (thing, sum)."""
        starts = np.flatnonzero(np.r_[True, np.diff(self.thing) > 0])
        return np.asarray(np.add.reduceat(self.weight[:, None] * of_kinds[self.kind], starts, axis=0), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Sample:
    """kinds: one unit of each kind. size, weight: of its units, how many and their sampling weights, shape (kind,)."""

    kinds: Ratings
    size: FloatArray
    weight: FloatArray
    strata: list[_Stratum]

    @property
    def clusters(self) -> int:
        return sum(int(one.alike.sum()) for one in self.strata)


def _sample(
    ratings: Ratings,
    names: Sequence[str],
    cluster: ArrayLike | None,
    strata: ArrayLike | None,
    unit_weights: ArrayLike | None,
) -> _Sample:
    chosen = ratings.per_unit > 0
    rated = ratings.of_units(chosen)
    rank, first = _kinds(rated, names)
    place = np.argsort(np.argsort(first))  # of a kind, by content, in `kinds`, which keeps the order of units
    kind = place[rank]
    kinds = rated.of_units(np.isin(np.arange(rated.units), first))
    weight = _sampling_weights(ratings, chosen, unit_weights)
    stratum = np.zeros(rated.units, dtype=np.int64)
    if strata is not None:
        stratum = _labels("strata", strata, ratings)[chosen]
    group = None if cluster is None else _labels("cluster", cluster, ratings)[chosen]
    if group is not None and len(set(zip(group.tolist(), stratum.tolist(), strict=True))) > len(set(group.tolist())):
        raise InvalidData("a cluster lies in two strata: make every stratum of whole clusters.")
    parts = [np.flatnonzero(stratum == level) for level in np.unique(stratum)]
    return _Sample(
        kinds=kinds,
        size=np.bincount(kind, minlength=kinds.units).astype(np.float64),
        weight=np.bincount(kind, weight, kinds.units).astype(np.float64),
        strata=[_things(place, rank[own], weight[own], None if group is None else group[own]) for own in parts],
    )


def _things(place: IntArray, rank: IntArray, weight: FloatArray, group: IntArray | None) -> _Stratum:
    """Return the things of one stratum in an order that depends on their content: equal units, or clusters."""
    if group is None:
        held, alike = np.unique(np.column_stack([rank.astype(np.float64), weight]), axis=0, return_counts=True)
        return _Stratum(np.arange(len(held)), place[held[:, 0].astype(np.int64)], held[:, 1], alike.astype(np.int64))
    order = canonical_order(group, rank, weight)
    thing = np.cumsum(np.r_[0, np.diff(group[order]) != 0])
    return _Stratum(thing, place[rank[order]], weight[order], np.ones(int(thing[-1]) + 1, dtype=np.int64))


def _kinds(rated: Ratings, names: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Return each unit's kind, numbered by content, and one unit of each kind.

    Content is what was given, in ascending order; for coefficients that look at who rated it is what each rater gave,
    raters being sorted by their own use of the categories.
    """
    if not rated.units:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    content = sorted_codes(rated)
    if BY_RATER & set(names):
        if rated.units * rated.raters > _MAX_CELLS:
            raise InvalidData(
                f"{rated.units} units × {rated.raters} raters are too many for coefficients that look at who rated: "
                "ask for pa, ac, bp, fleiss or kripp."
            )
        q = len(rated.categories)
        used = np.bincount(rated.rater * q + rated.code, minlength=rated.raters * q).reshape(rated.raters, q)
        content = np.ascontiguousarray(rated.matrix()[:, np.lexsort(used.T[::-1])])
    _, first, kind = np.unique(content, axis=0, return_index=True, return_inverse=True)
    return kind.reshape(-1).astype(np.int64), first.astype(np.int64)


def _drawn(sample: _Sample, parts: Sequence[FloatArray], resamples: int, rng: Generator) -> list[FloatArray]:
    """Return the sums of every resample, for each coefficient an array, shape (resample, sum)."""
    ends = np.cumsum([part.shape[1] for part in parts])
    width = int(ends[-1]) if len(ends) else 0
    if sample.kinds.units * width > 4 * _MAX_CELLS:
        raise InvalidData(
            f"{sample.kinds.units} kinds of units × {width} sums are too many to resample at once: ask for fewer "
            "coefficients, or leave out light and conger."
        )
    stacked = np.concatenate(parts, axis=1) if parts else np.zeros((sample.kinds.units, 0))
    total = np.zeros((resamples, width))
    for stratum in sample.strata:
        of_things, clusters = stratum.parts(stacked), int(stratum.alike.sum())
        step = max(1, _MAX_DRAWN // len(stratum.alike))
        for start in range(0, resamples, step):
            rows = slice(start, min(start + step, resamples))
            often = rng.multinomial(clusters, stratum.alike / clusters, size=rows.stop - rows.start)
            total[rows] += often @ of_things
    return np.split(total, ends[:-1], axis=1) if len(ends) else []


# ------------------------------------------------------------------------------------------------------------ checks


def _check(rated: Ratings, names: Sequence[str], resamples: int) -> None:
    unknown = [name for name in names if name not in SYMBOLS]
    if unknown:
        raise InvalidData(f"no coefficient is called {unknown[0]!r}: choose from {', '.join(SYMBOLS)}.")
    check_count(resamples, "resamples")
    raters = len(np.unique(rated.rater))
    if TWO_RATERS & set(names) and raters != 2:
        raise InvalidData(f"cohen and scott are for two raters, got {raters}: ask for conger and fleiss.")
    if set(ICC_NAMES) & set(names) and rated.scores is None and rated.n:
        raise InvalidData(
            f"intraclass correlation needs numbers, got {rated.categories[0]!r}: leave icc out for labels."
        )


def _labels(what: str, values: ArrayLike, ratings: Ratings) -> IntArray:
    held = np.asarray(values)
    if held.shape != (ratings.units,):
        raise InvalidData(
            f"{what} needs one entry a unit ({ratings.units}), got shape {held.shape}: add what is missing."
        )
    missing = [value is None or (isinstance(value, float) and np.isnan(value)) for value in held.tolist()]
    if any(missing):
        raise InvalidData(
            f"{what} is missing for unit {missing.index(True)}: say to which it belongs, or drop the unit."
        )
    return np.unique(held.astype(str), return_inverse=True)[1].astype(np.int64)


def _sampling_weights(ratings: Ratings, chosen: NDArray[np.bool_], unit_weights: ArrayLike | None) -> FloatArray:
    """Return sampling weights of rated units, scaled to a mean of 1."""
    if unit_weights is None:
        return np.ones(int(chosen.sum()))
    held = as_numbers(unit_weights, "unit_weights")
    if held.shape != (ratings.units,):
        raise InvalidData(f"unit_weights needs one entry a unit ({ratings.units}), got shape {held.shape}: add them.")
    own = held[chosen]
    if not (np.isfinite(own) & (own > 0)).all():
        wrong = own[~(np.isfinite(own) & (own > 0))][0]
        raise InvalidData(f"a sampling weight must be above 0, got {wrong:g}: drop units that cannot be sampled.")
    return own / own.mean() if len(own) else own


# --------------------------------------------------------------------------------------------------------- assembling


@dataclass(frozen=True, eq=False)
class _Common:
    """What all coefficients of one bootstrap share; `point` has the terms without resampling by name."""

    sample: _Sample
    level: float
    method: str
    signature: Signature
    point: Mapping[str, Terms]

    def coefficient(
        self, name: str, value: float | Undefined, replicates: Replicates, sums: Sums, weights: FloatArray
    ) -> Coefficient:
        sample, point = self.sample, self.point
        raw, marginals = _number(point["raw"].value), marginals_of(sample.kinds, sample.weight)
        limits = percentile_limits(replicates, self.level)
        if sample.clusters < 2:
            limits = Undefined("a single cluster has no spread")
        symbol, full = _called(name, weights)
        remark = None
        if name in PRONE:
            free = _number(point["bp"].value) if "bp" in point else None
            remark = paradox_remark(raw, value, marginals, symbol=symbol, marginal_free=free)
        return Coefficient(
            name=full,
            value=value,
            observed=_number(point[name].observed),
            expected=_number(point[name].expected),
            raw=raw,
            marginals=marginals,
            n=round(float(sample.size @ sums.counted)),
            interval=NO_INTERVAL if isinstance(value, Undefined) else limits,
            method=self.method,
            remark=remark,
            symbol=symbol,
            signature=self.signature,
            extra={
                "undefined_resamples": replicates.undefined,
                "clusters": sample.clusters,
                "strata": len(sample.strata),
                "single_cluster_strata": sum(int(one.alike.sum()) == 1 for one in sample.strata),
            },
        )


def _called(name: str, weights: FloatArray) -> tuple[str, str]:
    if name == "ac":
        kind = "1" if is_identity(weights) else "2"
        return f"AC{kind}", f"gwet_ac{kind}"
    return SYMBOLS[name], _FULL_NAMES.get(name, name)


def _why(name: str, rated: Ratings, weights: Weights) -> Undefined:
    """Return the reason that the coefficient itself gives for having no value."""
    found: float | Undefined
    if name == "pabak" and len(rated.categories) != 2:
        return Undefined(f"PABAK is for two categories and {len(rated.categories)} are declared")
    if name in ICC_NAMES:
        found = icc(rated)[name].value
    elif name in ("light", "all_agree"):
        found = (light_kappa(rated, weights) if name == "light" else all_agree(rated)).value
    else:
        alias = {"raw": "pa", "pabak": "bp", "cohen": "conger", "scott": "fleiss"}
        found = gwet(rated, None if name in ("raw", "pabak") else weights)[alias.get(name, name)].value
    return found if isinstance(found, Undefined) else Undefined("all ratings that can be compared are in one category")


def _number(values: FloatArray) -> float | None:
    return None if np.isnan(values[0]) else float(values[0])


def _method(cluster: ArrayLike | None, strata: ArrayLike | None) -> str:
    return f"percentile bootstrap by {'units' if cluster is None else 'clusters'}" + (
        "" if strata is None else " within strata"
    )
