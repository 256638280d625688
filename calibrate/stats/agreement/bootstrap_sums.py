"""Agreement coefficients as functions of sums over units: what a bootstrap needs to do all resamples in one product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from calibrate.stats.agreement.framework import ROUNDING, Framework
from calibrate.stats.agreement.icc import ICC_NAMES, LARGEST, POSITIVE
from calibrate.stats.agreement.ratings import FloatArray, IntArray, Ratings
from calibrate.stats.agreement.raw import disagreeing_share

BY_CATEGORY = frozenset({"pa", "ac", "bp", "fleiss", "conger", "kripp", "pabak", "light", "cohen", "scott"})
BY_RATER = frozenset({"conger", "cohen", "light", *ICC_NAMES})  # it matters who gave which rating
TWO_RATERS = frozenset({"cohen", "scott"})
PRONE = frozenset({"fleiss", "conger", "kripp", "light", "cohen", "scott", *ICC_NAMES})  # the marginals can make it low
SYMBOLS = {
    "pa": "p_o", "raw": "p_o", "ac": "AC", "bp": "S", "fleiss": "κ", "conger": "κ", "kripp": "α", "pabak": "PABAK",
    "light": "κ", "all_agree": "all agree", "cohen": "κ", "scott": "π",
    **{name: f"ICC({name[4]},{name[6]})" for name in ICC_NAMES},
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Terms:
    """Values of a coefficient, and its observed and expected agreement, shape (resample,); nan where there is none."""

    value: FloatArray
    observed: FloatArray
    expected: FloatArray


@dataclass(frozen=True, eq=False)
class Sums:
    """parts: what each unit adds, shape (unit, sum). finish: sums, shape (resample, sum), to values.

    counted: shape (unit,), 1 where the unit counts in n.
    """

    parts: FloatArray
    finish: Callable[[FloatArray], Terms]
    counted: FloatArray


def sums_of(name: str, ratings: Ratings, weights: FloatArray) -> Sums:
    """Return the sums of a coefficient (a key of `SYMBOLS`) of ratings without unrated units.

    >>> from calibrate.stats.agreement.ratings import ratings_of
    >>> one = sums_of("pa", ratings_of([[1, 1], [1, 2]], level="nominal"), np.eye(2))
    >>> one.finish(np.array([[1.0, 1.0], [3.0, 1.0]]) @ one.parts).value.tolist()
    [0.5, 0.75]
    """
    if name in ICC_NAMES:
        return _icc(name, ratings)
    if name == "cohen":
        return _cohen(ratings, weights)
    if name == "light":
        return _light(ratings, weights)
    if name == "all_agree":
        return _all_agree(ratings)
    if name == "raw":
        return _raw(ratings)
    if name == "pabak":
        weights = np.eye(len(weights))
    frame = Framework.of_ratings(ratings, weights)
    if name == "conger":
        return _conger(frame, ratings)
    if name in ("kripp", "scott"):
        return _paired(frame, small=name == "kripp")
    return _rated(frame, name)


def _rated(frame: Framework, name: str) -> Sums:
    """pa, ac, bp, pabak, fleiss: paired units and their disagreement; rated units and their shares."""
    q, disagreement, total = frame.q, frame.disagreement, frame.weight_sum
    parts = np.column_stack([frame.paired, frame.paired * frame.split, np.ones(len(frame.size)), frame.shares])

    def finish(sums: FloatArray) -> Terms:
        observed = _over(sums[:, 1], sums[:, 0])
        if name == "pa":
            return Terms(1.0 - observed, 1.0 - observed, np.full(len(sums), np.nan))
        prevalence = _over(sums[:, 3:], sums[:, 2:3])
        if name == "ac":
            factor = total / (q * (q - 1.0)) if q > 1 else 1.0
            expected = 1.0 - factor * (prevalence * (1.0 - prevalence)).sum(axis=1) if q > 1 else np.zeros(len(sums))
        elif name == "fleiss":
            expected = ((prevalence @ disagreement) * prevalence).sum(axis=1)
        else:
            fits = q == 2 if name == "pabak" else q >= 1
            expected = np.full(len(sums), 1.0 - total / q**2 if fits else np.nan)
        return _corrected(observed, expected)

    return Sums(parts, finish, np.ones(len(frame.size)))


def _raw(ratings: Ratings) -> Sums:
    paired = (ratings.per_unit >= 2).astype(np.float64)

    def finish(sums: FloatArray) -> Terms:
        share = 1.0 - _over(sums[:, 1], sums[:, 0])
        return Terms(share, share, np.full(len(sums), np.nan))

    return Sums(np.column_stack([paired, paired * disagreeing_share(ratings)]), finish, paired)


def _paired(frame: Framework, *, small: bool) -> Sums:
    """Krippendorff's α (with its correction for small samples) and Scott's π: units with two ratings or more only."""
    disagreement = frame.disagreement
    paired = frame.paired[:, None] * frame.counts
    parts = np.column_stack([frame.paired * frame.size * frame.split, paired])

    def finish(sums: FloatArray) -> Terms:
        ratings = sums[:, 1:].sum(axis=1)
        share = _over(sums[:, 1:], ratings[:, None])
        observed = _over(sums[:, 0], ratings)
        if small:
            observed = observed * (1.0 - _over(np.ones(len(sums)), ratings))
        return _corrected(observed, ((share @ disagreement) * share).sum(axis=1))

    return Sums(parts, finish, frame.paired)


def _conger(frame: Framework, ratings: Ratings) -> Sums:
    q, disagreement = frame.q, frame.disagreement
    who, rater = np.unique(ratings.rater, return_inverse=True)
    raters, units = len(who), ratings.units
    used = np.zeros((units, raters * q))
    used[ratings.unit, rater * q + ratings.code] = 1.0
    parts = np.column_stack([frame.paired, frame.paired * frame.split, used])

    def finish(sums: FloatArray) -> Terms:
        used = sums[:, 2:].reshape(len(sums), raters, q)
        rated = used.sum(axis=2, keepdims=True)
        share = np.divide(used, rated, out=np.zeros_like(used), where=rated > 0)
        others = share.sum(axis=1, keepdims=True) - share
        active = (rated[:, :, 0] > 0).sum(axis=1).astype(np.float64)
        expected = _over(((share @ disagreement) * others).sum(axis=(1, 2)), active * (active - 1.0))
        return _corrected(_over(sums[:, 1], sums[:, 0]), expected)

    return Sums(parts, finish, np.ones(units))


def _cohen(ratings: Ratings, weights: FloatArray) -> Sums:
    first, second = np.unique(ratings.rater).tolist()
    cells = ratings.matrix()
    return _pair(cells[:, first], cells[:, second], 1.0 - weights)


def _pair(first: IntArray, second: IntArray, disagreement: FloatArray) -> Sums:
    q = len(disagreement)
    both = ((first >= 0) & (second >= 0)).astype(np.float64)
    mine, theirs = np.maximum(first, 0), np.maximum(second, 0)
    rows, columns = np.eye(q)[mine] * both[:, None], np.eye(q)[theirs] * both[:, None]
    parts = np.column_stack([both, both * disagreement[mine, theirs], rows, columns])

    def finish(sums: FloatArray) -> Terms:
        row, column = _over(sums[:, 2 : 2 + q], sums[:, :1]), _over(sums[:, 2 + q :], sums[:, :1])
        return _corrected(_over(sums[:, 1], sums[:, 0]), ((row @ disagreement) * column).sum(axis=1))

    return Sums(parts, finish, both)


def _light(ratings: Ratings, weights: FloatArray) -> Sums:
    cells = ratings.matrix()
    raters = np.unique(ratings.rater).tolist()
    pairs = [_pair(cells[:, g], cells[:, h], 1.0 - weights) for g, h in combinations(raters, 2)]
    width = 2 + 2 * len(weights)

    def finish(sums: FloatArray) -> Terms:
        made = [pair.finish(sums[:, at * width : (at + 1) * width]) for at, pair in enumerate(pairs)]
        means = (np.mean([getattr(one, term) for one in made], axis=0) for term in ("value", "observed", "expected"))
        return Terms(*means)

    empty = np.zeros((ratings.units, 0))
    parts = np.concatenate([pair.parts for pair in pairs], axis=1) if pairs else empty
    if not pairs:
        return Sums(parts, _nowhere, np.zeros(ratings.units))
    return Sums(parts, finish, (ratings.per_unit >= 2).astype(np.float64))


def _all_agree(ratings: Ratings) -> Sums:
    raters = len(np.unique(ratings.rater))
    complete = (ratings.per_unit == raters) & (raters >= 2)
    agreeing = complete & (disagreeing_share(ratings) == 0.0)
    parts = np.column_stack([complete, agreeing]).astype(np.float64)

    def finish(sums: FloatArray) -> Terms:
        share = _over(sums[:, 1], sums[:, 0])
        return Terms(share, share, np.full(len(sums), np.nan))

    return Sums(parts, finish, parts[:, 0])


def _icc(name: str, ratings: Ratings) -> Sums:
    raters = np.unique(ratings.rater)
    k = len(raters)
    complete = (ratings.per_unit == k) & (k >= 2)
    scores = np.zeros(len(ratings.categories)) if ratings.scores is None else ratings.scores
    x = np.where(complete[:, None], scores[ratings.matrix()[:, raters]], np.nan)
    held = x[complete]
    if np.abs(held).max(initial=0.0) > LARGEST:
        return Sums(np.zeros((ratings.units, 0)), _nowhere, complete.astype(np.float64))
    if len(held):  # a common origin and unit change no coefficient, and keep the sums of squares small
        x = (x - (held.max() + held.min()) / 2.0) / (np.ptp(held) or 1.0)
    x = np.where(complete[:, None], x, 0.0)
    parts = np.column_stack([complete.astype(np.float64), (x**2).sum(axis=1), x.sum(axis=1) ** 2, x])

    def finish(sums: FloatArray) -> Terms:
        n, total = sums[:, 0], sums[:, 3:].sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            middle = total**2 / (n * k)
            between, raters_sum = sums[:, 2] / k - middle, (sums[:, 3:] ** 2).sum(axis=1) / n - middle
            error = sums[:, 1] - middle - between - raters_sum
            floor = 1e-12 * (sums[:, 1] + 1e-30)
            between, raters_sum, error = (np.where(part <= floor, 0.0, part) for part in (between, raters_sum, error))
            value = _icc_of(name, between / (n - 1), raters_sum / (k - 1), error / ((n - 1) * (k - 1)), n, k)
            value = np.where((n > 1.0 + ROUNDING) & (between + raters_sum + error > 0.0), value, np.nan)
        nothing = np.full(len(sums), np.nan)
        return Terms(np.where(np.isfinite(value), value, np.nan), nothing, nothing)

    return Sums(parts, finish if k >= 2 else _nowhere, complete.astype(np.float64))


def _icc_of(name: str, b: FloatArray, j: FloatArray, e: FloatArray, n: FloatArray, k: int) -> FloatArray:
    within = (j + (n - 1) * e) / n
    drift = (j - e) / n
    above = b - (within if name[4] == "1" else e)
    below = {
        "icc_1_1": b + (k - 1) * within,
        "icc_2_1": b + (k - 1) * e + k * drift,
        "icc_3_1": b + (k - 1) * e,
        "icc_1_k": b,
        "icc_2_k": b + drift,
        "icc_3_k": b,
    }[name]
    return np.asarray(np.where(below > POSITIVE * (b + within + j + e), above / below, np.nan), dtype=np.float64)


def _nowhere(sums: FloatArray) -> Terms:
    nothing = np.full(len(sums), np.nan)
    return Terms(nothing, nothing, nothing)


def _over(above: FloatArray, below: FloatArray) -> FloatArray:
    """Return a quotient, nan where the divisor is 0."""
    shape = np.broadcast_shapes(above.shape, below.shape)
    return np.asarray(np.divide(above, below, out=np.full(shape, np.nan), where=below > 0), dtype=np.float64)


def _corrected(observed: FloatArray, expected: FloatArray) -> Terms:
    """Return 1 − observed/expected of two disagreements, nan where the expected one is 0."""
    some = expected > ROUNDING
    value = 1.0 - np.divide(observed, expected, out=np.full(len(expected), np.nan), where=some)
    level = np.abs(observed - expected) <= ROUNDING * expected
    return Terms(np.where(some & level, 0.0, value), 1.0 - observed, 1.0 - expected)
