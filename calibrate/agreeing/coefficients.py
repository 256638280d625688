"""Which coefficients a level of measurement allows, and each with its interval, for one group of units."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from numpy.typing import NDArray

from calibrate.agreement import GroupAgreement
from calibrate.estimate import Estimate, Undefined
from calibrate.metric import MIN_CLUSTERS, Metric, average, estimate
from calibrate.stats.agreement.alpha import alpha_interval
from calibrate.stats.agreement.bootstrap import bootstrap_coefficients
from calibrate.stats.agreement.coefficient import Coefficient
from calibrate.stats.agreement.paradox import paradox_remark
from calibrate.stats.agreement.ratings import Ratings
from calibrate.stats.agreement.raw import disagreeing_share, marginals_of

RAW = Metric("raw_agreement", "proportion", average, symbol="raw")
MANY_CATEGORIES = 50  # beyond it a table of categories says nothing, and weights need one
MANY_CELLS = 5_000_000  # beyond it coefficients that know who rated are left out
ICC_FORMS = ("icc_1_1", "icc_2_1", "icc_3_1", "icc_1_k", "icc_2_k", "icc_3_k")


@dataclass(frozen=True)
class Settings:
    """How intervals are made: seed, resamples, level; `cluster_of` names what is resampled."""

    seed: int
    resamples: int
    confidence: float
    cluster_of: str

    def generator(self, part: str) -> Generator:
        """Return the generator of one part: its own, so that no figure depends on which others are asked for."""
        return default_rng(SeedSequence(self.seed, spawn_key=(zlib.crc32(part.encode("utf-8", "replace")),)))

    @property
    def target(self) -> str:
        """What the intervals speak for."""
        what = "units" if self.cluster_of == "unit" else f"{self.cluster_of}s with their units"
        return f"these raters on other {what} of the same kind"


def coefficient_names(ratings: Ratings) -> dict[str, tuple[str | None, list[str]]]:
    """Return weights → names for the bootstrap, as the level allows; α and raw agreement come on top.

    Nominal: κ, AC1, Brennan–Prediger (PABAK of two categories). Ordinal: quadratic weights for all of them, and κ with
    linear ones. Conger's κ rests on each rater's own marginals, and is given where each rated half of the units or
    more. Interval and ratio: ICC, and κ and AC2 with quadratic weights where there are few categories.
    """
    raters = len(np.unique(ratings.rater))
    q = len(ratings.categories)
    if q > MANY_CATEGORIES:
        weighted: list[str] = []
    else:
        by_each = np.unique(ratings.rater, return_counts=True)[1]
        shared = ratings.units * raters <= MANY_CELLS and bool((2 * by_each >= ratings.units).all())
        kappas = ["cohen"] if raters == 2 else ["conger", "fleiss"] if shared else ["fleiss"]
        weighted = [*kappas, "ac", "pabak" if q == 2 else "bp"]
    if ratings.level == "nominal":
        return {"": (None, weighted)}
    found: dict[str, tuple[str | None, list[str]]] = {}
    if ratings.level != "ordinal":
        found["icc"] = (None, list(ICC_FORMS) if ratings.units * raters <= MANY_CELLS else [])
    found["quadratic"] = ("quadratic", weighted)
    if ratings.level == "ordinal" and raters == 2 and weighted:
        found["linear"] = ("linear", ["cohen"])
    return found


def group_agreement(
    name: str,
    ratings: Ratings,
    cluster: NDArray[np.object_] | None,
    settings: Settings,
    *,
    missing: int,
) -> GroupAgreement:
    """Return all coefficients of one group of units, with the marginals and the sentence on prevalence."""
    rated = ratings.of_units(ratings.per_unit > 0)
    labels = None if cluster is None else cluster[ratings.per_unit > 0]
    paired = int((rated.per_unit > 1).sum())
    made = _coefficients(name, rated, labels, settings)
    raw = _raw(rated, labels, settings)
    estimates: dict[str, Estimate] = {"raw_agreement": raw}
    for key, coefficient in made.items():
        clusters = None if labels is None else len(set(labels[rated.per_unit > 1]))
        estimates[key] = _checked(coefficient, clusters or paired, labels is not None).estimate(
            level=settings.confidence, target=settings.target, clusters=clusters
        )
    alpha = made[f"alpha_{rated.level}"]
    free = made.get("brennan_prediger", made.get("pabak"))
    remark = paradox_remark(
        raw.value, alpha.value, alpha.marginals, symbol="α", marginal_free=None if free is None else free.value
    )
    return GroupAgreement(
        name=name,
        units=rated.units,
        paired_units=paired,
        ratings=rated.n,
        raters=len(np.unique(rated.rater)),
        missing=missing,
        not_applicable=len(ratings.na_unit),
        estimates=estimates,
        marginals=_marginals(rated),
        remark=remark,
    )


def _coefficients(
    name: str, rated: Ratings, cluster: NDArray[np.object_] | None, settings: Settings
) -> Mapping[str, Coefficient]:
    alpha = alpha_interval(
        rated,
        settings.generator(f"{name}/alpha"),
        resamples=settings.resamples,
        cluster=cluster,
        confidence=settings.confidence,
    )
    paired = int((rated.per_unit > 1).sum())
    found = {f"alpha_{rated.level}": replace(alpha, symbol="α", n=paired)}
    for part, (weights, names) in coefficient_names(rated).items():
        if not names:
            continue
        drawn = bootstrap_coefficients(
            rated,
            names,
            settings.generator(f"{name}/{part}"),
            resamples=settings.resamples,
            cluster=cluster,
            confidence=settings.confidence,
            weights=weights,
        )
        for coefficient in drawn.values():
            named = with_weights(coefficient, weights)
            found[named.name] = named
    return found


def with_weights(coefficient: Coefficient, weights: str | None) -> Coefficient:
    """Return a coefficient whose name says its weights, and whose κ is κ_w."""
    if weights is None:
        return coefficient
    name = coefficient.name if coefficient.name.endswith(weights) else f"{coefficient.name}_{weights}"
    return replace(coefficient, name=name, symbol="κ_w" if coefficient.symbol == "κ" else coefficient.symbol)


def _checked(coefficient: Coefficient, clusters: int, clustered: bool) -> Coefficient:
    """Return the coefficient without limits where too few clusters (or units) could be resampled."""
    if isinstance(coefficient.value, Undefined) or clusters >= MIN_CLUSTERS:
        return coefficient
    return replace(coefficient, interval=Undefined(too_few(clusters, "cluster" if clustered else "unit")))


def too_few(number: int, what: str) -> str:
    """Return why so few clusters, or units with two ratings, give no interval."""
    counted = f"1 {what} is" if number == 1 else f"{number} {what}s are"
    return f"{counted} too few for a bootstrap (at least {MIN_CLUSTERS})"


def _raw(rated: Ratings, cluster: NDArray[np.object_] | None, settings: Settings) -> Estimate:
    """Return raw agreement: the mean over units of the share of their pairs of ratings that are equal."""
    share = agreeing_share(rated)
    paired = ~np.isnan(share)
    made = estimate(
        RAW,
        share[paired],
        cluster=None if cluster is None else cluster[paired],
        level=settings.confidence,
        target=settings.target,
    )
    return made if made.defined else made.model_copy(update={"reason": "no unit has two ratings"})


def agreeing_share(ratings: Ratings) -> NDArray[np.float64]:
    """Return the share of equal pairs among each unit's ratings, shape (unit,); nan where it has fewer than two."""
    return np.where(ratings.per_unit > 1, 1.0 - disagreeing_share(ratings), np.nan)


def _marginals(rated: Ratings) -> Mapping[Any, float]:
    return marginals_of(rated) if len(rated.categories) <= MANY_CATEGORIES else {}
