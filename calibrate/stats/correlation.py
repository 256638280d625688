"""Correlation of two columns: Spearman's ρ, Pearson's r, Kendall's τ.

Conventions: a pair with a missing (nan) member is dropped; ties get average ranks; fewer than three pairs, or
a side that does not vary, leaves a coefficient undefined. Values that come out of arithmetic (z-scores, group
means) are rounded to 10 decimals before they are ranked: values equal in mathematics differ in their last
bit, and ranking that noise breaks ties at random.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.estimate import Undefined
from calibrate.stats.checking import MOST_COUNTED, as_numbers, check_count, check_number

FloatArray = NDArray[np.float64]
Coefficient = Literal["spearman", "pearson", "kendall"]

MIN_PAIRS = 3
RANK_DECIMALS = 10


def spearman(x: ArrayLike, y: ArrayLike, *, least: int = MIN_PAIRS) -> float | Undefined:
    """Return Spearman's ρ: Pearson's correlation of average ranks (never the shortcut that ignores ties).

    Undefined with fewer than `least` pairs; two pairs, which can only give ±1, have to be asked for.

    Checked against scipy's documented example: x = 1..5, y = 5, 6, 7, 8, 7 gives .8207826816681233.

    >>> round(spearman([1, 2, 3, 4, 5], [5, 6, 7, 8, 7]), 6)
    0.820783
    """
    pairs = _pairs(x, y, least)
    if isinstance(pairs, Undefined):
        return pairs
    from scipy.stats import rankdata

    return _product_moment(rankdata(pairs[0]), rankdata(pairs[1]))


def pearson(x: ArrayLike, y: ArrayLike, *, least: int = MIN_PAIRS) -> float | Undefined:
    """Return Pearson's product-moment correlation; undefined with fewer than `least` pairs (see `spearman`).

    scipy's documented example prints −0.8285:

    >>> round(pearson([1, 2, 3, 4, 5, 6, 7], [10, 9, 2.5, 6, 4, 3, 2]), 4)
    -0.8285
    """
    pairs = _pairs(x, y, least)
    return pairs if isinstance(pairs, Undefined) else _product_moment(*pairs)


def kendall(
    x: ArrayLike, y: ArrayLike, variant: Literal["a", "b", "c"] = "b", *, least: int = MIN_PAIRS
) -> float | Undefined:
    """Return Kendall's τ from concordant minus discordant pairs; undefined with fewer than `least` (see `spearman`).

    `b` divides by the geometric mean of the pairs untied on each side (the default, and what is meant by τ
    without a letter); `a` by all pairs, and stays defined (0) on a constant side; `c` (Stuart) allows for a
    table that is not square.

    scipy's documented example prints −0.4714:

    >>> round(kendall([12, 2, 1, 12, 2], [1, 4, 7, 1, 0]), 4)
    -0.4714
    """
    if variant not in ("a", "b", "c"):
        raise InvalidData(f"Kendall's τ is a, b or c, got {variant!r}: take b.")
    if variant == "a":
        return _kendall_a(*complete_pairs(x, y), least)
    pairs = _pairs(x, y, least)
    if isinstance(pairs, Undefined):
        return pairs
    if len(pairs[0]) == 2:  # no ties are left, and all variants are ±1
        return _kendall_a(*pairs, least)
    from scipy.stats import kendalltau

    tau = float(kendalltau(*pairs, variant=variant, method="asymptotic").statistic)
    return min(1.0, max(-1.0, tau))


def spearman_p(rho: float, n: int) -> float | Undefined:
    """Return the two-sided p of ρ = 0 by the t approximation with n − 2 degrees of freedom; independent pairs only.

    scipy's documented example prints .0886 for ρ = .8208 over five pairs:

    >>> round(spearman_p(0.8207826816681233, 5), 4)
    0.0886
    """
    check_count(n, "a number of pairs", 0, MOST_COUNTED)
    check_number(rho, "a correlation")
    if n < MIN_PAIRS:
        return Undefined("fewer than three pairs")
    from scipy.special import stdtr

    if abs(rho) >= 1.0:
        return 0.0
    t = rho * np.sqrt((n - 2) / ((1.0 - rho) * (1.0 + rho)))
    return float(2.0 * stdtr(n - 2, -abs(t)))


def half_step(coefficient: Coefficient, n: int) -> float:
    """Return the largest absolute value that a resample's coefficient may have before atanh is taken.

    A rank coefficient of ±1 is taken as half a step inside: the largest value below 1 that n untied pairs
    allow is 1 − 12/(n³ − n) for ρ and 1 − 4/(n² − n) for τ. Pearson's r has no steps; a resample reaches ±1
    only where it fell on two points, and is taken as 1 − 10⁻⁶.

    By hand, halfway between 1 and the next value 1 − 12/120 for five pairs:

    >>> round(half_step("spearman", 5), 6)
    0.95
    """
    check_count(n, "a number of pairs", 2, MOST_COUNTED)
    check_coefficient(coefficient)
    if coefficient == "spearman":
        return 1.0 - 6.0 / (n**3 - n)
    return 1.0 - 2.0 / (n**2 - n) if coefficient == "kendall" else 1.0 - 1e-6


def correlate(
    coefficient: Coefficient, x: ArrayLike, y: ArrayLike, *, sides: tuple[str, str] = ("first", "second")
) -> float | Undefined:
    """Return the named coefficient of values that come out of arithmetic: rounded before they are compared.

    Pearson's r itself uses the unrounded values; only whether a side varies at all is decided on rounded
    ones. `sides` are the names that the reason of an undefined coefficient uses.

    By hand: .1 + .2 and .3 tie, though they differ in the last bit, so ranks 1.5, 1.5, 3 against 1, 2, 3 give √3/2.

    >>> round(correlate("spearman", [0.1 + 0.2, 0.3, 0.4], [1, 2, 3]), 6)
    0.866025
    """
    check_coefficient(coefficient)
    left, right = complete_pairs(x, y)
    if len(left) < MIN_PAIRS:
        return Undefined("fewer than three pairs")
    rounded = _rounded(left), _rounded(right)
    for name, side in zip(sides, rounded, strict=True):
        if side.min() == side.max():
            return Undefined(f"the {name} side is constant")
    if coefficient == "pearson":
        return pearson(left, right)
    return spearman(*rounded) if coefficient == "spearman" else kendall(*rounded)


def complete_pairs(x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return both columns without the pairs of which a member is missing (nan); infinite values are refused.

    >>> [column.tolist() for column in complete_pairs([1, 2, None], [4, 5, 6])]
    [[1.0, 2.0], [4.0, 5.0]]
    """
    left, right = (as_numbers(side, "values to correlate", ndim=None, largest=np.inf) for side in (x, y))
    if left.ndim != 1 or left.shape != right.shape:
        raise InvalidData(
            f"two columns of equal length are needed, got shapes {left.shape} and {right.shape}: pass one value a pair."
        )
    if np.isinf(left).any() or np.isinf(right).any():
        raise InvalidData("a correlation needs finite values, got an infinite one: mark it as missing (nan).")
    present = ~(np.isnan(left) | np.isnan(right))
    return left[present], right[present]


def check_coefficient(coefficient: str) -> None:
    """Refuse (`InvalidData`) what is not the name of a coefficient.

    >>> check_coefficient("Pearson")
    Traceback (most recent call last):
    annotate.errors.InvalidData: a coefficient is spearman, pearson or kendall, got 'Pearson': name one of them.
    """
    if coefficient not in get_args(Coefficient):
        raise InvalidData(f"a coefficient is spearman, pearson or kendall, got {coefficient!r}: name one of them.")


def _rounded(values: FloatArray) -> FloatArray:
    """Return values rounded for comparison; those so large that nothing is behind the point stay as they are."""
    small = np.abs(values) < 1e15
    return np.where(small, np.round(np.where(small, values, 0.0), RANK_DECIMALS), values)


def _too_few(n: int, least: int) -> Undefined | None:
    check_count(least, "the least number of pairs", 2, MOST_COUNTED)
    words = {2: "two", 3: "three"}.get(least, str(least))
    return Undefined(f"fewer than {words} pairs") if n < least else None


def _pairs(x: ArrayLike, y: ArrayLike, least: int) -> tuple[FloatArray, FloatArray] | Undefined:
    left, right = complete_pairs(x, y)
    if (trouble := _too_few(len(left), least)) is not None:
        return trouble
    for name, side in (("first", left), ("second", right)):
        if side.min() == side.max():
            return Undefined(f"the {name} side is constant")
    return left, right


def _product_moment(x: FloatArray, y: FloatArray) -> float | Undefined:
    dx, dy = _direction(x), _direction(y)
    if dx is None or dy is None:
        return Undefined(f"the {'first' if dx is None else 'second'} side varies by rounding error only")
    return float(np.clip(dx @ dy, -1.0, 1.0))


def _direction(x: FloatArray) -> FloatArray | None:
    """Return x centred, with length 1; None where what is left after centring is rounding error."""
    scale = np.abs(x).max()
    centred = x / scale - np.mean(x / scale)
    length = float(np.linalg.norm(centred))
    return None if length <= 1e-13 * np.sqrt(len(x)) else centred / length


def _kendall_a(x: FloatArray, y: FloatArray, least: int) -> float | Undefined:
    if (trouble := _too_few(len(x), least)) is not None:
        return trouble
    upper = np.triu_indices(len(x), 1)
    agreement = np.sign(x[:, None] - x)[upper] * np.sign(y[:, None] - y)[upper]
    return float(agreement.mean())
