"""A table of ratings in, an `Agreement` out: overall, by kind of rater, by group, by pair, and in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from annotate.errors import InvalidData
from calibrate.agreeing.coefficients import (
    MANY_CATEGORIES,
    Settings,
    agreeing_share,
    group_agreement,
    too_few,
    with_weights,
)
from calibrate.agreeing.disagreeing import MAX_PAIRS, CommonPair, common_pairs, confusions, marginals, split_units
from calibrate.agreeing.saying import answer_of, difference_words, notes_of
from calibrate.agreeing.table import RatedTable
from calibrate.agreement import MIXED, Agreement, GroupAgreement, Kind, PairAgreement
from calibrate.metric import MIN_CLUSTERS, Metric, average, estimate
from calibrate.stats.agreement.alpha import alpha_interval
from calibrate.stats.agreement.bootstrap import bootstrap_coefficients
from calibrate.stats.agreement.ratings import Ratings, ratings_from_long
from calibrate.stats.checking import shown

PAIR_RAW = Metric("raw_agreement", "proportion", average, symbol="raw")
DIFFERENCE = Metric("model minus person", "mean", average)
PAIR_RESAMPLES = 1000


def answered(
    table: RatedTable,
    *,
    scale: str,
    of_kind: Kind,
    seed: int,
    resamples: int,
    confidence: float,
    notes: Sequence[str] = (),
) -> Agreement:
    """Return everything that is said about the agreement of a table's raters; see `calibrate.agreement.agreement`."""
    if seed is not None and (not isinstance(seed, int | np.integer) or seed < 0):
        raise InvalidData(f"a seed is a whole number from 0, got {shown(seed)}: give one.")
    settings = Settings(seed, resamples, confidence, table.cluster_of)
    table = _of_kind(table, of_kind)
    ratings = table.ratings
    if len(np.unique(ratings.rater)) < 2:
        rated = len(np.unique(ratings.rater))
        raise InvalidData(
            f"agreement needs two raters, and {'one rated' if rated else 'nobody rated'}"
            f"{'' if of_kind == 'both' else f' among {of_kind}'}: add another rater's ratings."
        )
    cluster = None if table.cluster_of == "unit" else table.cluster
    overall = group_agreement("all", ratings, cluster, settings, missing=table.missing(ratings))
    groups = _groups(table, cluster, settings)
    kinds = _kinds(table, cluster, settings)
    pairs, unsearched = common_pairs(ratings)
    return Agreement(
        scale=scale,
        level=ratings.level,
        categories=ratings.categories,
        declared=ratings.declared,
        sentence=answer_of(overall, kinds, ratings.level),
        overall=overall,
        kinds=kinds,
        groups=groups,
        group_by=table.group_by,
        raters=marginals(table),
        pairs=[_pair(table, pair, cluster, settings, overall) for pair in pairs[:MAX_PAIRS]],
        confusions=confusions(table, pairs),
        split=split_units(table),
        cluster=table.cluster_of,
        notes=(
            *notes,
            *table.notes,
            *_differences(table, cluster, settings),
            *notes_of(table, overall, len(pairs), unsearched),
        ),
    )


def _of_kind(table: RatedTable, of_kind: Kind) -> RatedTable:
    """Return the table with one kind of rater only."""
    if of_kind == "both":
        return table
    chosen = [number for number, kind in enumerate(table.rater_kinds) if kind == of_kind]
    if not chosen:
        kinds = ", ".join(sorted(set(table.rater_kinds)))
        raise InvalidData(f"no rater is of kind {of_kind!r} (there are: {kinds}): name the column that says the kind.")
    return replace(
        table,
        ratings=table.ratings.of_raters(chosen),
        rater_names=[table.rater_names[number] for number in chosen],
        rater_kinds=[of_kind] * len(chosen),
    )


def _groups(table: RatedTable, cluster: NDArray[np.object_] | None, settings: Settings) -> list[GroupAgreement]:
    if table.group is None:
        return []
    found = []
    for label in sorted(set(table.group)):
        chosen = np.asarray(table.group == label, dtype=bool)
        part = table.ratings.of_units(chosen)
        own = None if cluster is None else cluster[chosen]
        found.append(group_agreement(str(label), part, own, settings, missing=table.missing(part, chosen)))
    return found


def _kinds(table: RatedTable, cluster: NDArray[np.object_] | None, settings: Settings) -> list[GroupAgreement]:
    """Return people among themselves, models among themselves, and pairs of a person and a model."""
    kinds = np.array(table.rater_kinds, dtype=object)
    if not {"people", "models"} <= set(kinds):
        return []
    found = []
    for kind in ("people", "models"):
        part = table.ratings.of_raters(np.flatnonzero(kinds == kind).tolist())
        if (part.per_unit > 1).any():
            missing = table.missing(part) if table.crossed else 0
            found.append(group_agreement(kind, part, cluster, settings, missing=missing))
    mixed, unit = _mixed_pairs(table.ratings, kinds == "people", kinds == "models")
    if mixed.n:
        own = (table.unit_names if cluster is None else cluster)[unit]
        named = settings if cluster is not None else replace(settings, cluster_of="unit")
        found.append(group_agreement(MIXED, mixed, own, named, missing=0))
    return found


def _differences(table: RatedTable, cluster: NDArray[np.object_] | None, settings: Settings) -> list[str]:
    """Return how much higher models rate than people on the same units, in words; nothing where there is no telling."""
    ratings = table.ratings
    kinds = np.array(table.rater_kinds, dtype=object)
    numeric = all(isinstance(name, int | float) for name in ratings.categories)
    if ratings.level == "nominal" or not numeric or not {"people", "models"} <= set(kinds):
        return []
    mixed, unit = _mixed_pairs(ratings, kinds == "people", kinds == "models")
    if not mixed.n or mixed.scores is None:
        return []
    value = mixed.scores[mixed.code].reshape(-1, 2)
    owner = (table.unit_names if cluster is None else cluster)[unit]
    return [difference_words(estimate(DIFFERENCE, value[:, 1] - value[:, 0], cluster=owner, level=settings.confidence))]


def _mixed_pairs(
    ratings: Ratings, people: NDArray[np.bool_], models: NDArray[np.bool_]
) -> tuple[Ratings, NDArray[np.int64]]:
    """Return every pair of a person's and a model's rating of one unit as a unit of two raters, and its own unit."""
    left, right = np.flatnonzero(people[ratings.rater]), np.flatnonzero(models[ratings.rater])
    per_unit = np.bincount(ratings.unit[right], minlength=ratings.units)
    begin = np.cumsum(per_unit) - per_unit
    times = per_unit[ratings.unit[left]]
    first = np.repeat(left, times)
    offset = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
    second = right[begin[ratings.unit[first]] + offset]
    count = len(first)
    values = np.concatenate([ratings.code[first], ratings.code[second]])
    pair = np.tile(np.arange(count), 2)
    rater = np.repeat([0, 1], count)
    coded = ratings_from_long(pair, rater, values, level="nominal", units=count, raters=2)
    order = np.lexsort((rater, pair))
    mixed = replace(
        coded,
        code=values[order],
        categories=ratings.categories,
        level=ratings.level,
        declared=ratings.declared,
        scores=ratings.scores,
    )
    return mixed, ratings.unit[first]


def _pair(
    table: RatedTable,
    pair: CommonPair,
    cluster: NDArray[np.object_] | None,
    settings: Settings,
    overall: GroupAgreement,
) -> PairAgreement:
    """Return raw agreement of two raters and the κ (or, with many categories, the α) of their level.

    The only pair of a table has the estimates that the table has.
    """
    both = table.ratings.of_raters([pair.first, pair.second])
    chosen = both.per_unit == 2
    rated = both.of_units(chosen)
    own = None if cluster is None else cluster[chosen]
    names = table.rater_names[pair.first], table.rater_names[pair.second]
    known = overall.estimates.get("cohen_kappa" if rated.level == "nominal" else "cohen_kappa_quadratic")
    if known is not None:
        return PairAgreement(*names, rated.units, overall.estimates["raw_agreement"], known)
    raw = estimate(PAIR_RAW, agreeing_share(rated), cluster=own, level=settings.confidence, target=settings.target)
    generator = settings.generator(" / ".join(sorted(names)))
    resamples = min(settings.resamples, PAIR_RESAMPLES)
    if len(rated.categories) > MANY_CATEGORIES:
        drawn_alpha = alpha_interval(rated, generator, resamples=resamples, cluster=own, confidence=settings.confidence)
        made = replace(drawn_alpha, n=rated.units)
    else:
        weights = None if rated.level == "nominal" else "quadratic"
        drawn = bootstrap_coefficients(
            rated, ["cohen"], generator, resamples, own, confidence=settings.confidence, weights=weights
        )
        made = with_weights(drawn["cohen"], weights)
    clusters = rated.units if own is None else len(set(own))
    kappa = made.estimate(level=settings.confidence, target=settings.target, clusters=None if own is None else clusters)
    if kappa.defined and clusters < MIN_CLUSTERS:
        reason = too_few(clusters, "unit" if own is None else "cluster")
        kappa = kappa.model_copy(update={"low": None, "high": None, "interval_reason": reason})
    return PairAgreement(*names, rated.units, raw, kappa)
