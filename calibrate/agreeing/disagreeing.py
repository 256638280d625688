"""Who disagrees with whom on what, and which units split raters most."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrate.agreeing.table import RatedTable
from calibrate.agreement import Confusion, Marginal, SplitUnit
from calibrate.stats.agreement.ratings import Ratings
from calibrate.stats.agreement.raw import disagreeing_share

MAX_RATERS = 60  # those with the most ratings; 1,770 pairs
MAX_PAIRS = 66  # what a matrix of twelve raters needs
MAX_CONFUSIONS = 10
MAX_SPLIT = 10
MIN_COMMON = 2
MANY_CATEGORIES = 50
SHOWN_VALUES = 12

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class CommonPair:
    """Two raters by number, and how many units both rated."""

    first: int
    second: int
    n: int


def common_pairs(ratings: Ratings) -> tuple[list[CommonPair], int]:
    """Return pairs of raters with common units, most first, and how many raters were left out of the search."""
    counts = np.bincount(ratings.rater, minlength=ratings.raters)
    busiest = np.sort(np.argsort(-counts, kind="stable")[:MAX_RATERS])
    seen = np.zeros((ratings.units, len(busiest)), dtype=np.float32)
    place = np.full(ratings.raters, -1)
    place[busiest] = np.arange(len(busiest))
    kept = place[ratings.rater] >= 0
    seen[ratings.unit[kept], place[ratings.rater[kept]]] = 1.0
    common = seen.T @ seen
    pairs = [
        CommonPair(int(busiest[a]), int(busiest[b]), int(common[a, b]))
        for a, b in combinations(range(len(busiest)), 2)
        if common[a, b] >= MIN_COMMON
    ]
    return sorted(pairs, key=lambda pair: -pair.n), ratings.raters - len(busiest)


def confusions(table: RatedTable, pairs: list[CommonPair]) -> list[Confusion]:
    """Return the commonest disagreements of pairs of raters; none where a scale has too many categories to tell."""
    ratings = table.ratings
    if len(ratings.categories) > MANY_CATEGORIES:
        return []
    found = []
    for pair in pairs:
        cells = ratings.pair_table(pair.first, pair.second)
        np.fill_diagonal(cells, 0)
        for mine, theirs in zip(*np.nonzero(cells), strict=True):
            found.append((int(cells[mine, theirs]), pair, int(mine), int(theirs)))
    found.sort(key=lambda entry: -entry[0])
    return [
        Confusion(
            first=table.rater_names[pair.first],
            second=table.rater_names[pair.second],
            first_value=ratings.categories[mine],
            second_value=ratings.categories[theirs],
            n=n,
            of=pair.n,
        )
        for n, pair, mine, theirs in found[:MAX_CONFUSIONS]
    ]


def unit_disagreement(ratings: Ratings) -> NDArray[np.float64]:
    """Return each unit's disagreement, shape (unit,): 0 = all alike, 1 = as unlike as so many can be, nan = no pair.

    Nominal: the share of pairs that differ. Other levels: the mean of |a − b| over pairs. Each is divided by the most
    that a unit with as many ratings can show, so that two ratings do not always look worse than four.
    """
    size = ratings.per_unit.astype(np.float64)
    if ratings.level == "nominal" or ratings.scores is None:
        apart, most = (
            disagreeing_share(ratings) * size * (size - 1) / 2.0,
            _most_differing(size, len(ratings.categories)),
        )
    else:
        apart, most = _distances(ratings), _most_distance(size) * (np.ptp(ratings.scores) if ratings.n else 0.0)
    return np.where(size > 1, np.divide(apart, most, out=np.zeros(ratings.units), where=most > 0), np.nan)


def _most_differing(size: NDArray[np.float64], categories: int) -> NDArray[np.float64]:
    """Return how many pairs differ at most among ratings that are spread evenly over the categories."""
    q = float(max(categories, 1))
    each, more = np.divmod(size, q)
    equal = more * (each + 1) * each / 2.0 + (q - more) * each * (each - 1) / 2.0
    return np.asarray(size * (size - 1) / 2.0 - equal)


def _distances(ratings: Ratings) -> NDArray[np.float64]:
    """Return the sum of |a − b| over pairs of each unit's ratings."""
    assert ratings.scores is not None
    size = ratings.per_unit.astype(np.float64)
    value = ratings.scores[ratings.code]
    order = np.lexsort((value, ratings.unit))
    unit, value = ratings.unit[order], value[order]
    place = np.arange(len(unit)) - (np.cumsum(ratings.per_unit) - ratings.per_unit)[unit]
    weight = 2.0 * place - size[unit] + 1.0
    return np.asarray(np.bincount(unit, weights=weight * value, minlength=ratings.units), dtype=np.float64)


def _most_distance(size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum over pairs where half of the ratings stand at either end of a scale of length 1."""
    half = np.floor(size / 2.0)
    return np.asarray(half * (size - half))


def split_units(table: RatedTable) -> list[SplitUnit]:
    """Return the units that split their raters most, those with more ratings first where two are alike."""
    ratings = table.ratings
    distance = np.round(unit_disagreement(ratings), 12)
    split = np.flatnonzero(distance > 0)
    chosen = split[np.lexsort((split, -ratings.per_unit[split], -distance[split]))][:MAX_SPLIT]
    begin = np.searchsorted(ratings.unit, chosen)
    end = np.searchsorted(ratings.unit, chosen, side="right")
    found = []
    for unit, low, high in zip(chosen, begin, end, strict=True):
        values: dict[str, Any] = {
            table.rater_names[ratings.rater[at]]: ratings.categories[ratings.code[at]] for at in range(low, high)
        }
        found.append(SplitUnit(str(table.unit_names[unit]), values, float(distance[unit])))
    return found


def marginals(table: RatedTable) -> list[Marginal]:
    """Return how each rater used the scale, those with the most ratings first."""
    ratings = table.ratings
    q = len(ratings.categories)
    numeric = all(isinstance(name, int | float) for name in ratings.categories)
    counts = np.bincount(ratings.rater, minlength=ratings.raters)
    na = np.bincount(ratings.na_rater, minlength=ratings.raters)
    sums = (
        np.bincount(ratings.rater, weights=ratings.scores[ratings.code], minlength=ratings.raters)
        if ratings.scores is not None and ratings.level != "nominal" and numeric
        else None
    )
    by_category = (
        np.bincount(ratings.rater * q + ratings.code, minlength=ratings.raters * q).reshape(ratings.raters, q)
        if q <= MANY_CATEGORIES
        else None
    )
    found = []
    for rater in np.argsort(-counts, kind="stable"):
        n = int(counts[rater])
        shares = (
            {ratings.categories[c]: float(by_category[rater, c] / n) for c in range(q)}
            if by_category is not None and n
            else {}
        )
        mean = float(sums[rater] / n) if sums is not None and n else None
        found.append(Marginal(table.rater_names[rater], table.rater_kinds[rater], n, int(na[rater]), shares, mean))
    return found
