"""What every statistic asks of its arguments before it computes: numbers, whole counts, one column."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData

FloatArray = NDArray[np.float64]

LARGEST = 1e150  # squares of larger values are no numbers any more
MOST = 10_000_000  # of resamples, permutations or splits: a figure with more digits than it has
MOST_COUNTED = 10**15  # of rows, pairs or trials
_SHOWN = 60


def as_numbers(values: ArrayLike, what: str, *, ndim: int | None = 1, largest: float = LARGEST) -> FloatArray:
    """Return values as numbers, nan where one is None; nan and inf themselves are for the caller to judge.

    `InvalidData`, which calls the values `what`: text, rows of unequal length, another number of axes than `ndim`
    (where one is asked for), or a size above `largest`.

    >>> as_numbers([1, None], "ratings").tolist()
    [1.0, nan]
    >>> as_numbers([1, "x"], "ratings")
    Traceback (most recent call last):
    annotate.errors.InvalidData: ratings must be numbers, got [1, 'x']: convert or drop what is none.
    """
    try:
        held = np.asarray(values)
        if held.dtype.kind in "SUmMcV":
            raise ValueError
        array = np.asarray(held, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidData(f"{what} must be numbers, got {shown(values)}: convert or drop what is none.") from None
    except OverflowError:
        raise InvalidData(f"{what} hold a number that is too large, {shown(values)}: correct or rescale it.") from None
    if ndim is not None and array.ndim != ndim:
        raise InvalidData(f"{what} need {ndim} ax{'is' if ndim == 1 else 'es'}, got shape {array.shape}: reshape them.")
    if array.size and float(np.abs(array[np.isfinite(array)]).max(initial=0.0)) > largest:
        raise InvalidData(f"{what} must be at most {largest:g} in size, got {shown(values)}: rescale them.")
    return array


def as_labels(values: ArrayLike, what: str) -> NDArray[Any]:
    """Return values of any kind as an array; `InvalidData`, which calls them `what`, for rows of unequal length.

    >>> as_labels(["a", 1], "labels").tolist()
    ['a', '1']
    """
    try:
        return np.asarray(values)
    except ValueError:
        raise InvalidData(f"{what} must be one value each, got {shown(values)}: pass one column.") from None


def is_real(value: Any) -> bool:
    """Return whether a value is a single real number of Python or numpy; a truth value is none.

    >>> [is_real(value) for value in (1, np.float64(2.0), True, "3", None, [4])]
    [True, True, False, False, False, False]
    """
    return isinstance(value, Real) and not isinstance(value, bool)


def check_number(value: Any, what: str) -> None:
    """Refuse (`InvalidData`) what is no finite number.

    >>> check_number(float("nan"), "a margin")
    Traceback (most recent call last):
    annotate.errors.InvalidData: a margin must be a finite number, got nan: correct it.
    """
    if not is_real(value) or not abs(value) <= 1e300:
        raise InvalidData(f"{what} must be a finite number, got {shown(value)}: correct it.")


def check_count(value: Any, what: str, least: int = 1, most: int = MOST, remedy: str = "correct it") -> None:
    """Refuse (`InvalidData`) what is no whole number from `least` to `most`.

    >>> check_count(2.5, "resamples")
    Traceback (most recent call last):
    annotate.errors.InvalidData: resamples must be a whole number from 1 to 10,000,000, got 2.5: correct it.
    """
    if not is_real(value) or not abs(value) <= 1e300 or value != value // 1 or not least <= value <= most:
        raise InvalidData(f"{what} must be a whole number from {least:,} to {most:,}, got {shown(value)}: {remedy}.")


def shown(value: Any) -> str:
    """Return a value as an error shows it, shortened.

    >>> shown(list(range(100)))
    '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1…'
    """
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # a whole number of thousands of digits
        return f"a {type(value).__name__} of very many digits"
    return text if len(text) <= _SHOWN + 1 else f"{text[:_SHOWN]}…"
