"""Means and totals from samples with unequal chances: stratified, Horvitz–Thompson and Hájek.

For shares near 0 or 1 and few units a stratum the t and normal limits here are poor; an audit of 0/1 outcomes uses
`calibrate.stats.rectify.audited`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.estimate import Interval, Undefined
from calibrate.stats.checking import as_numbers, shown
from calibrate.stats.intervals import normal_quantile, t_quantile
from calibrate.stats.rectify.rectified import Rectified

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Stratum:
    """One stratum: units in it, units drawn, their mean and variance (divisor n − 1; None where n < 2)."""

    name: str
    size: int
    drawn: int
    mean: float | None
    variance: float | None

    def __post_init__(self) -> None:
        whole = np.isfinite(self.size) and self.drawn % 1 == 0 == self.size % 1
        if not (whole and 0 <= self.drawn <= self.size):
            raise InvalidData(
                f"stratum {self.name!r}: whole numbers 0 ≤ drawn ≤ size are needed, got {self.drawn!r} of {self.size!r}"
                ": count its units again"
            )
        numbers = [v for v in (self.mean, self.variance) if v is not None]
        if not all(np.isfinite(v) for v in numbers) or (self.variance is not None and self.variance < 0):
            raise InvalidData(f"stratum {self.name!r}: mean and variance must be finite, and variance from 0: drop it")
        if self.drawn > 0 and self.mean is None:
            raise InvalidData(f"stratum {self.name!r}: {self.drawn} units were drawn but there is no mean: give it")

    @classmethod
    def of_share(cls, name: str, size: int, drawn: int, hits: int) -> Stratum:
        """Return a stratum of 0/1 outcomes with `hits` ones: variance n p (1 − p)/(n − 1)."""
        if not 0 <= hits <= drawn:
            raise InvalidData(f"stratum {name!r}: hits must lie in 0..{drawn}, got {hits!r}: count them again")
        p = hits / drawn if drawn else None
        return cls(name, size, drawn, p, None if p is None or drawn < 2 else drawn * p * (1 - p) / (drawn - 1))


@dataclass(frozen=True, slots=True)
class StratifiedMean:
    """A stratified mean and total of `size` units. se: undefined where a stratum has one unit drawn of several.

    df: drawn units − strata, for Student's t; 0 = no t limits.
    """

    value: float | Undefined
    se: float | Undefined
    df: int
    n: int
    size: int
    strata: int

    @property
    def total(self) -> float | Undefined:
        """The mean times all units."""
        return self.value if isinstance(self.value, Undefined) else self.value * self.size

    @property
    def total_se(self) -> float | Undefined:
        """Standard error of the total."""
        return self.se if isinstance(self.se, Undefined) else self.se * self.size

    def limits(self, distribution: Literal["t", "normal"] = "t", level: float = 0.95) -> Interval | Undefined:
        """Return mean ± quantile · se; a census of every stratum has both limits at the mean."""
        if isinstance(self.value, Undefined):
            return self.value
        if isinstance(self.se, Undefined):
            return self.se
        if self.n == self.size:
            return Interval(self.value, self.value)
        if self.se == 0.0:
            return Undefined("no stratum varies: its spread cannot be told")
        if distribution == "t" and self.df < 1:
            return Undefined("no degree of freedom is left for t")
        reach = self.se * (t_quantile(level, self.df) if distribution == "t" else normal_quantile(level))
        return Interval(self.value - reach, self.value + reach)

    def rectified(self, level: float = 0.95) -> Rectified:
        """Return the mean with t limits as a `Rectified`."""
        return Rectified(
            name="stratified_mean", value=self.value, n=self.n, method=f"stratified mean; t limits with {self.df} df",
            target="these units", interval=self.limits("t", level), level=level,
            se=None if isinstance(self.se, Undefined) else self.se, extra={"strata": self.strata},
        )  # fmt: skip


def stratified_mean(strata: Sequence[Stratum]) -> StratifiedMean:
    """Return ȳ = Σ W_h ȳ_h, W_h = N_h/N, with Var = Σ W_h² (1 − n_h/N_h) s_h²/n_h: the mean over all units.

    A stratum drawn in full adds nothing to the variance; one drawn unit of several leaves it undefined, and no unit of
    several the mean; empty strata do not count. `InvalidData` for two strata of one name.

    Source: Cochran, Sampling Techniques (1977), chapter 5. Lohr, Sampling: Design and Analysis, example 3.2
    prints 295,561 with standard error 16,380 for acres of farmland:

    >>> acres = stratified_mean([
    ...     Stratum("NC", 1054, 103, 300504.155339806, 29618183543.2894),
    ...     Stratum("NE", 220, 21, 97629.8095238095, 7647472708.1619),
    ...     Stratum("S", 1382, 135, 211315.044444444, 53587487856.192),
    ...     Stratum("W", 422, 41, 662295.512195122, 396185950266.256),
    ... ])
    >>> round(acres.value), round(acres.se)
    (295561, 16380)
    """
    if not all(isinstance(s, Stratum) for s in strata):
        raise InvalidData("a stratified mean is of Stratum records: make them by strata_of or Stratum.of_share")
    if len({s.name for s in strata}) < len(strata):
        raise InvalidData("a stratum is given twice: add its units up")
    held = sorted((s for s in strata if s.size > 0), key=lambda s: (s.size, s.drawn, s.mean or 0.0, s.variance or 0.0))
    size, n = sum(s.size for s in held), sum(s.drawn for s in held)
    df = max(0, n - len(held))
    undrawn = [s.name for s in held if s.drawn == 0]
    if not held or undrawn:
        no = Undefined(f"no unit of stratum {min(undrawn)!r} was drawn" if undrawn else "there is no unit")
        return StratifiedMean(no, no, df, n, size, len(held))
    value = float(sum(s.size / size * s.mean for s in held if s.mean is not None))
    lonely = [s.name for s in held if s.drawn < s.size and (s.drawn == 1 or s.variance is None)]
    if lonely:
        alone = Undefined(f"only one unit of stratum {min(lonely)!r} was drawn: its spread cannot be told")
        return StratifiedMean(value, alone, df, n, size, len(held))
    parts = [(s.size / size) ** 2 * (1 - s.drawn / s.size) * (s.variance or 0.0) / s.drawn for s in held]
    return StratifiedMean(value, float(np.sqrt(sum(parts))), df, n, size, len(held))


def strata_of(values: ArrayLike, stratum: Sequence[Hashable], sizes: Mapping[Hashable, int]) -> tuple[Stratum, ...]:
    """Return strata from drawn values, shape (unit,), the stratum of each, and how many units every stratum has.

    `InvalidData` for a value that is not finite and a stratum without a size.

    >>> strata_of([1, 0, 1], ["a", "a", "b"], {"a": 9, "b": 1})[0]
    Stratum(name='a', size=9, drawn=2, mean=0.5, variance=0.5)
    """
    y = as_numbers(values, "values")
    if y.ndim != 1 or len(y) != len(stratum) or not np.isfinite(y).all():
        raise InvalidData(
            f"every unit needs a finite value and a stratum, got {y.shape} and {len(stratum)}: drop others"
        )
    lost = sorted(str(s) for s in set(stratum) - set(sizes))
    if lost:
        raise InvalidData(f"stratum {lost[0]!r} has drawn units but no size: count its units")
    groups = {name: y[[i for i, s in enumerate(stratum) if s == name]] for name in sizes}
    return tuple(
        Stratum(
            str(name), sizes[name], len(own), float(np.sort(own).mean()) if len(own) else None,
            float(np.sort(own).var(ddof=1)) if len(own) > 1 else None,
        )
        for name, own in groups.items()
    )  # fmt: skip


# -------------------------------------------------------------------------------------------------- unequal chances


def horvitz_thompson_total(values: ArrayLike, inclusion: ArrayLike) -> float | Undefined:
    """Return Σ y_i/π_i over the drawn units, shape (unit,): the total over all units, unbiased.

    Undefined without a drawn unit. `InvalidData`: unequal lengths, a value not finite, π outside (0, 1].

    Source: Horvitz and Thompson, Journal of the American Statistical Association 47:663 (1952). Lohr's
    supermarkets B and D give 326.146:

    >>> round(horvitz_thompson_total([20, 245], [0.37051282, 0.90018315]), 2)
    326.15
    """
    y, pi = _drawn(values, inclusion)
    return float((y / pi).sum()) if len(y) else Undefined("no unit was drawn")


def sen_yates_grundy_variance(values: ArrayLike, inclusion: ArrayLike, joint: ArrayLike) -> float | Undefined:
    """Return Σ_{i<j} (π_i π_j − π_ij)/π_ij (y_i/π_i − y_j/π_j)², the variance of the Horvitz–Thompson total.

    For designs of a fixed number of draws; `joint`, shape (unit, unit), holds π_ij of the drawn units (its diagonal is
    not read). Undefined with fewer than two units, and where the estimate is negative, as it can be. `InvalidData`
    where π_ij is not above 0, asymmetric or above π_i.

    Source: Yates and Grundy, Journal of the Royal Statistical Society B 15:253 (1953); Sen (1953). Lohr's A and B:

    >>> joint = [[0.19001832, 0.01726190], [0.01726190, 0.37051282]]
    >>> round(sen_yates_grundy_variance([11, 20], [0.19001832, 0.37051282], joint), 2)
    47.06
    """
    y, pi = _drawn(values, inclusion)
    both = _joint(joint, pi)
    if len(y) < 2:
        return Undefined(f"{len(y)} drawn units are too few (at least 2)")
    one, two = np.triu_indices(len(y), 1)
    ratio = y / pi
    share, gap = pi[one] * pi[two] / both[one, two] - 1.0, (ratio[one] - ratio[two]) ** 2
    variance = float((share * gap).sum())
    if variance < -1e-12 * float(gap.sum()):
        return Undefined("the estimated variance is negative")
    return max(variance, 0.0)


def design_variance(values: ArrayLike, inclusion: ArrayLike, joint: ArrayLike) -> float:
    """Return Σ_{i<j} (π_i π_j − π_ij)(y_i/π_i − y_j/π_j)² over ALL units: the true variance of the total.

    For designs of a fixed number of draws; for planning, and for checks where every value is known. π_ij may be 0.
    `InvalidData` as in `sen_yates_grundy_variance`.

    >>> design_variance([1, 3], [0.5, 0.5], [[0.5, 0.0], [0.0, 0.5]])  # one of the two, totals 2 or 6
    4.0
    """
    y, pi = _drawn(values, inclusion)
    both = _joint(joint, pi, positive=False)
    one, two = np.triu_indices(len(y), 1)
    ratio = y / pi
    return float(((pi[one] * pi[two] - both[one, two]) * (ratio[one] - ratio[two]) ** 2).sum())


def two_draw_inclusion(chances: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return (π_i, π_ij), shapes (unit,) and (unit, unit), of two draws without replacement by size.

    The first unit is drawn with `chances` ψ (they sum to 1), the second from the rest in proportion to ψ:
    π_ij = ψ_i ψ_j/(1 − ψ_i) + ψ_i ψ_j/(1 − ψ_j), π_i = Σ_j π_ij, on the diagonal π_i. `InvalidData`: fewer than two
    units, chances not in (0, 1) or with another sum.

    Lohr, Sampling: Design and Analysis, chapter 6 (supermarkets, 1/16 to 10/16):

    >>> inclusion, joint = two_draw_inclusion([1 / 16, 2 / 16, 3 / 16, 10 / 16])
    >>> inclusion.round(4).tolist(), joint[0, 1].round(4).item()
    ([0.19, 0.3705, 0.5393, 0.9002], 0.0173)
    """
    psi = as_numbers(chances, "chances")
    if psi.ndim != 1 or len(psi) < 2 or not ((psi > 0) & (psi < 1)).all() or abs(psi.sum() - 1) > 1e-9:
        raise InvalidData(
            f"chances must lie between 0 and 1 and sum to 1, got {shown(psi.tolist())}: divide by their sum"
        )
    one = np.outer(psi / (1 - psi), psi)
    joint = one + one.T
    np.fill_diagonal(joint, 0.0)
    inclusion = joint.sum(axis=1)
    np.fill_diagonal(joint, inclusion)
    return inclusion, joint


@dataclass(frozen=True, slots=True)
class HajekMean:
    """A weighted mean Σ w y/Σ w with its linearised standard error (None with fewer than two units)."""

    value: float
    se: float | None
    n: int
    weight_sum: float


def hajek_mean(values: ArrayLike, weights: ArrayLike) -> HajekMean | Undefined:
    """Return Σ w_i y_i / Σ w_i over drawn units, shape (unit,), w_i = 1/π_i; the number of all units is not needed.

    Its standard error is that of a ratio, with draws taken as independent: n/(n − 1) Σ w_i² (y_i − ȳ)²/(Σ w)².
    Undefined without a unit. `InvalidData`: unequal lengths, a value not finite, a weight not above 0.

    Source: Hájek (1971); Särndal, Swensson and Wretman, Model Assisted Survey Sampling (1992), section 5.7.

    >>> hajek_mean([1, 0, 1, 1, 0, 1], [2, 4, 4, 10, 10, 10]).value
    0.65
    """
    y, w = as_numbers(values, "values"), as_numbers(weights, "weights")
    if y.ndim != 1 or y.shape != w.shape or not np.isfinite(y).all() or not (np.isfinite(w) & (w > 0)).all():
        raise InvalidData(
            "every drawn unit needs a finite value and a weight above 0: drop units that could not be drawn"
        )
    if len(y) == 0:
        return Undefined("no unit was drawn")
    total = float(w.sum())
    value = float((w * y).sum() / total)
    n = len(y)
    se = float(np.sqrt(n / (n - 1) * ((w * (y - value)) ** 2).sum()) / total) if n > 1 else None
    return HajekMean(value, se, n, total)


def _drawn(values: ArrayLike, inclusion: ArrayLike) -> tuple[FloatArray, FloatArray]:
    y, pi = as_numbers(values, "values"), as_numbers(inclusion, "inclusion probabilities")
    if y.ndim != 1 or y.shape != pi.shape or not np.isfinite(y).all() or not ((pi > 0) & (pi <= 1)).all():
        raise InvalidData(
            "every unit needs a finite value and an inclusion probability above 0, at most 1: correct them"
        )
    return y, pi


def _joint(joint: ArrayLike, pi: FloatArray, *, positive: bool = True) -> FloatArray:
    both = as_numbers(joint, "joint probabilities", ndim=2)
    n = len(pi)
    if both.shape != (n, n):
        raise InvalidData(f"joint probabilities need the shape {(n, n)}, got {both.shape}: one row a unit")
    off = both[~np.eye(n, dtype=bool)]
    least = np.minimum.outer(pi, pi)[~np.eye(n, dtype=bool)]
    lowest_fails = (off <= 0).any() if positive else (off < 0).any()
    if lowest_fails or (off > least + 1e-9).any() or not np.allclose(both, both.T, rtol=0, atol=1e-12):
        raise InvalidData("joint probabilities must be symmetric, above 0 and at most each unit's own: correct them")
    return both
