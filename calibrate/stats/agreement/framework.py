"""Gwet's framework: six coefficients from the same units, errors by linearisation, missing ratings or not.

Everything is counted as *disagreement* (1 − weight), so that a coefficient without a value is recognised by a chance
disagreement of exactly 0, and agreement of chance by two numbers that are equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from calibrate.estimate import Interval, Undefined
from calibrate.stats.agreement.coefficient import NO_INTERVAL, Coefficient
from calibrate.stats.agreement.paradox import paradox_remark
from calibrate.stats.agreement.ratings import FloatArray, IntArray, Ratings
from calibrate.stats.agreement.weights import is_identity
from calibrate.stats.intervals import check_level

ROUNDING = 1e-14
NO_UNIT = Undefined("no unit has two ratings")
ONE_CATEGORY = Undefined("all ratings are in one category: chance agreement is 1")
ONE_DECLARED = Undefined("only one category is declared")
ONE_UNIT = Undefined("one unit has no spread")
METHOD = "linearised standard error, t interval (Gwet 2014)"


def chance_corrected(observed: float, expected: float) -> float | Undefined:
    """Return 1 − observed/expected of two disagreements; exactly 0 where they are equal but for rounding.

    Undefined where chance takes everybody to agree (expected 0).

    >>> chance_corrected(0.3, 0.5)
    0.4
    >>> chance_corrected(0.0, 0.0)
    Undefined(reason='all ratings are in one category: chance agreement is 1')
    """
    if expected <= ROUNDING:
        return ONE_CATEGORY
    if abs(observed - expected) <= ROUNDING * expected:
        return 0.0
    return float(1.0 - observed / expected)


@dataclass(frozen=True, slots=True)
class Linear:
    """A coefficient with its terms and the unit's part in it, shape (unit,), whose spread gives the standard error."""

    value: float | Undefined
    observed: float | None = None
    expected: float | None = None
    parts: FloatArray | None = None
    centre: float | None = None


@dataclass(frozen=True, eq=False)
class Framework:
    """Units with at least one rating, as counts, and the weights.

    counts: shape (unit, category). times: how often the unit stands in the data, shape (unit,).
    unit, rater, code: the ratings one by one, shape (rating,).
    disagreement: 1 − weight, shape (category, category).
    """

    counts: FloatArray
    times: FloatArray
    unit: IntArray
    rater: IntArray
    code: IntArray
    categories: tuple[Any, ...]
    disagreement: FloatArray

    @classmethod
    def of_ratings(cls, ratings: Ratings, weights: FloatArray) -> Framework:
        """Return the framework of ratings; units without a rating are left out."""
        rated = ratings.of_units(ratings.per_unit > 0)
        return cls(
            counts=rated.counts().astype(np.float64),
            times=np.ones(rated.units),
            unit=rated.unit,
            rater=rated.rater,
            code=rated.code,
            categories=rated.categories,
            disagreement=1.0 - weights,
        )

    @classmethod
    def of_table(cls, table: FloatArray, weights: FloatArray, categories: tuple[Any, ...]) -> Framework:
        """Return the framework of a contingency table: each cell is a kind of unit that stands there so many times."""
        first, second = np.nonzero(table)
        kinds, q = len(first), len(table)
        counts = np.zeros((kinds, q))
        np.add.at(counts, (np.arange(kinds), first), 1.0)
        np.add.at(counts, (np.arange(kinds), second), 1.0)
        return cls(
            counts=counts,
            times=table[first, second],
            unit=np.repeat(np.arange(kinds), 2),
            rater=np.tile([0, 1], kinds),
            code=np.column_stack([first, second]).ravel(),
            categories=categories,
            disagreement=1.0 - weights,
        )

    @classmethod
    def of_counts(cls, counts: FloatArray, weights: FloatArray, categories: tuple[Any, ...]) -> Framework:
        """Return the framework of a table of counts; who rated is not known, so that Conger's κ has no value."""
        nobody = np.zeros(0, dtype=np.int64)
        held = counts[counts.sum(axis=1) > 0]
        return cls(held, np.ones(len(held)), nobody, nobody, nobody, categories, 1.0 - weights)

    # ------------------------------------------------------------------------------------------------------ counting

    @cached_property
    def size(self) -> FloatArray:
        """Ratings of each unit, shape (unit,)."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.float64)

    @cached_property
    def paired(self) -> FloatArray:
        """1 where a unit has two ratings or more, 0 elsewhere, shape (unit,)."""
        return (self.size >= 2).astype(np.float64)

    @cached_property
    def n(self) -> float:
        """How many units there are."""
        return float(self.times.sum())

    @cached_property
    def n_paired(self) -> float:
        """How many units have two ratings or more."""
        return float(self.times @ self.paired)

    @cached_property
    def q(self) -> int:
        """How many categories are declared."""
        return len(self.disagreement)

    @cached_property
    def marginals(self) -> Mapping[Any, float]:
        """Category → share of all ratings."""
        held = self.times @ self.counts
        total = held.sum()
        return dict(zip(self.categories, (held / total).tolist(), strict=True)) if total else {}

    @cached_property
    def split(self) -> FloatArray:
        """Mean disagreement of the unit's pairs of ratings, 0 where there is no pair, shape (unit,)."""
        return self._split(self.disagreement)

    @cached_property
    def raw(self) -> float | None:
        """Mean over units of the unweighted share of agreeing pairs; None where no unit has two ratings."""
        if not self.n_paired:
            return None
        if is_identity(1.0 - self.disagreement):
            return 1.0 - self.observed
        return 1.0 - float(self.times @ self._split(1.0 - np.eye(self.q)) / self.n_paired)

    @cached_property
    def observed(self) -> float:
        """Mean over units with two ratings or more of the weighted disagreement of pairs."""
        return float(self.times @ self.split / self.n_paired)

    @cached_property
    def shares(self) -> FloatArray:
        """Share of each category in the unit's ratings, shape (unit, category)."""
        return self.counts / self.size[:, None]

    @cached_property
    def prevalence(self) -> FloatArray:
        """Mean over units of `shares`, shape (category,): units with a single rating count too."""
        return self.times @ self.shares / max(self.n, 1.0)

    @cached_property
    def weight_sum(self) -> float:
        """T_w: the sum of all agreement weights."""
        return float((1.0 - self.disagreement).sum())

    def _split(self, disagreement: FloatArray) -> FloatArray:
        pairs = np.maximum(self.size * (self.size - 1.0), 1.0)
        return np.asarray(((self.counts @ disagreement) * self.counts).sum(axis=1) / pairs, dtype=np.float64)

    # -------------------------------------------------------------------------------------------------- coefficients

    def agreement(self) -> Linear:
        """Return weighted percent agreement: the mean over units of the agreeing share of pairs."""
        if not self.n_paired:
            return Linear(NO_UNIT)
        scale = self.n / self.n_paired
        value = 1.0 - self.observed
        return Linear(value, value, None, scale * self.paired * (1.0 - self.split), value)

    def brennan_prediger(self) -> Linear:
        """Return the coefficient with p_e = T_w/q²."""
        return self._corrected(1.0 - self.weight_sum / self.q**2 if self.q else 0.0, None)

    def gwet(self) -> Linear:
        """Return AC1, or AC2 with weights: p_e = T_w/(q(q − 1)) Σ π_k (1 − π_k)."""
        if self.q < 2:
            return Linear(ONE_DECLARED) if self.n_paired else Linear(NO_UNIT)
        factor = self.weight_sum / (self.q * (self.q - 1.0))
        expected = 1.0 - factor * float((self.prevalence * (1.0 - self.prevalence)).sum())
        return self._corrected(expected, 2.0 * (1.0 - factor * (self.shares @ (1.0 - self.prevalence)) - expected))

    def fleiss(self) -> Linear:
        """Return Fleiss' κ with p_e = Σ w_kl π_k π_l."""
        toward = self.disagreement @ self.prevalence
        expected = float(self.prevalence @ toward)
        return self._corrected(expected, 2.0 * (self.shares @ toward - expected))

    def conger(self) -> Linear:
        """Return Conger's κ: p_e is the mean over pairs of raters of Σ w_kl p_gk p_hl; Cohen's for two raters."""
        names, rater = np.unique(self.rater, return_inverse=True)
        if not self.n_paired:
            return Linear(NO_UNIT)
        if len(names) < 2:
            return Linear(Undefined("who gave which rating is not known"))
        raters, units = len(names), len(self.times)
        flat = np.bincount(rater * self.q + self.code, self.times[self.unit], raters * self.q)
        used = flat.reshape(raters, self.q)
        rated = used.sum(axis=1)
        share = used / rated[:, None]
        toward = (share.sum(axis=0) - share) @ self.disagreement  # (rater, category): towards all the others
        own = (share * toward).sum(axis=1)
        pairs = raters * (raters - 1.0)
        each = (self.n / rated[rater]) * (toward[rater, self.code] - own[rater])
        moved: FloatArray = 2.0 * np.bincount(self.unit, each, units).astype(np.float64) / pairs
        return self._corrected(float(own.sum()) / pairs, moved)

    def krippendorff(self) -> Linear:
        """Return Krippendorff's α with the weights as 1 − distance; only units with two ratings or more count."""
        if not self.n_paired:
            return Linear(NO_UNIT)
        times = self.times * self.paired
        ratings = float(times @ self.size)
        mean_size = ratings / self.n_paired
        share = times @ self.counts / ratings
        toward = self.disagreement @ share
        expected = float(share @ toward)
        observed = float(times @ (self.size * self.split)) / ratings
        small = 1.0 - 1.0 / ratings
        value = chance_corrected(small * observed, expected)
        terms = (1.0 - small * observed, 1.0 - expected)
        if isinstance(value, Undefined):
            return Linear(value, *terms)
        centre = 1.0 - observed / expected
        larger = (self.size - mean_size) / mean_size
        split = self.size * self.split / mean_size - small * observed * larger
        moved = self.counts @ toward / mean_size - expected * larger - expected
        parts = 1.0 - split / expected + 2.0 * (1.0 - centre) * moved / expected
        return Linear(value, *terms, parts, centre)

    def _corrected(self, expected: float, moved: FloatArray | None) -> Linear:
        """Return 1 − observed/expected and the units' parts in it.

        moved: what each unit does to the expected disagreement, shape (unit,); None where that is a constant.
        """
        if not self.n_paired:
            return Linear(NO_UNIT)
        value = chance_corrected(self.observed, expected)
        terms = (1.0 - self.observed, 1.0 - expected)
        if isinstance(value, Undefined):
            return Linear(ONE_DECLARED if self.q < 2 else value, *terms)
        scale = self.n / self.n_paired
        parts = scale * self.paired * (expected - self.split) / expected
        if moved is not None:
            parts = parts + (1.0 - value) * moved / expected
        return Linear(value, *terms, parts, value)

    # ---------------------------------------------------------------------------------------------------- inference

    def coefficient(
        self, linear: Linear, name: str, symbol: str, level: float, *, paired_only: bool = False, prone: bool = False
    ) -> Coefficient:
        """Return the coefficient with its standard error, t interval (upper limit cut at 1) and two-sided p.

        paired_only: only units with two ratings or more count (α). prone: the marginals can make it low.
        """
        times = self.times * self.paired if paired_only else self.times
        n = float(times.sum())
        se = _standard_error(linear, times)
        remark = None
        if prone:
            free = self.brennan_prediger().value
            remark = paradox_remark(self.raw, linear.value, self.marginals, symbol=symbol, marginal_free=free)
        limits, p_value = t_limits(linear.value, se, n - 1.0, level)
        return Coefficient(
            name=name,
            value=linear.value,
            observed=linear.observed,
            expected=linear.expected,
            raw=self.raw,
            marginals=self.marginals,
            n=round(n),
            interval=limits,
            method=METHOD,
            se=se,
            p_value=p_value,
            remark=remark,
            symbol=symbol,
            extra={"paired_units": round(self.n_paired), "df": round(n) - 1 if se is not None else None},
        )


def t_limits(
    value: float | Undefined, se: float | None, df: float, level: float
) -> tuple[Interval | Undefined, float | None]:
    """Return value ± t·se, the upper limit cut at 1, and the two-sided p of the value against 0.

    A standard error of 0 (all units alike) gives limits equal to the value, and p = 0 unless the value is 0 itself.
    Undefined: no value, or a single unit.

    >>> limits, p = t_limits(0.775444068, 0.142949951, 11, 0.95)
    >>> round(limits.low, 4), limits.high, round(p, 6)
    (0.4608, 1.0, 0.000209)
    """
    from scipy.special import stdtr, stdtrit

    check_level(level)
    if isinstance(value, Undefined):
        return NO_INTERVAL, None
    if se is None:
        return ONE_UNIT, None
    reach = float(stdtrit(df, 0.5 + level / 2.0)) * se
    high = min(1.0, value + reach)
    limits = Interval(min(value - reach, high), high)
    if se == 0.0:
        return limits, None if value == 0.0 else 0.0
    return limits, float(2.0 * stdtr(df, -abs(value) / se))


def _standard_error(linear: Linear, times: FloatArray) -> float | None:
    n = float(times.sum())
    if linear.parts is None or linear.centre is None or n < 2:
        return None
    se = float(np.sqrt(times @ (linear.parts - linear.centre) ** 2 / (n * (n - 1.0))))
    return 0.0 if se <= ROUNDING else se
