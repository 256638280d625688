"""Values of ratings turned into categories, their numbers and their scores."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotate.errors import InvalidData
from calibrate.stats.labels import is_missing

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
NUMBERS = "fiub"  # kinds of numpy's data types
INFINITE = "a rating is infinite: leave it out, or correct it."


def factorised(value: Any) -> tuple[IntArray, NDArray[Any]]:
    """Return a number for each value's label, and the labels, shape (label,): numbers as they are, or objects.

    >>> code, labels = factorised(["yes", "no", "yes", None])
    >>> code.tolist(), labels.tolist()
    ([0, 1, 0, 2], ['yes', 'no', None])
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in NUMBERS:
        if value.ndim != 1:
            raise InvalidData(f"values need shape (rating,), got {value.shape}: give one for each rating.")
        known = value.astype(np.float64) if value.dtype.kind == "f" else value
        labels = np.unique(known)  # nan, if there is any, is the last one, and is found there
        return np.searchsorted(labels, known).astype(np.int64), labels
    place: dict[Any, int] = {}
    try:
        plain = (v.item() if isinstance(v, np.generic) else v for v in value)
        codes = [place.setdefault(v, len(place)) for v in plain]
    except TypeError:
        raise InvalidData("a rating is a number or a label, got something else (a list?): give plain values.") from None
    return np.array(codes, dtype=np.int64), _objects(place)


def _objects(values: Any) -> NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


def declared_categories(categories: Sequence[Any] | None) -> list[Any] | None:
    """Return the declared categories once each, in their order.

    >>> declared_categories(["low", "high", "low"])
    ['low', 'high']
    """
    if categories is None:
        return None
    if isinstance(categories, str | bytes):
        raise InvalidData(f"categories are a list, got {categories!r}: list them one by one.")
    try:
        names = list(dict.fromkeys(name.item() if isinstance(name, np.generic) else name for name in categories))
    except TypeError:
        raise InvalidData(
            f"categories are a list of values, got {written(categories)}: list them one by one."
        ) from None
    if any(is_missing(name) for name in names):
        raise InvalidData("a declared category is None or nan, which mean a missing rating: leave it out.")
    return names


def coded(
    labels: NDArray[Any], level: str, declared: list[Any] | None
) -> tuple[tuple[Any, ...], IntArray, FloatArray | None]:
    """Return the categories, the category of each label, and the scores of the categories.

    >>> coded(np.array([3.0, 1.0]), "ordinal", None)
    ((1, 3), array([1, 0]), array([1., 3.]))
    """
    numeric = labels.dtype != object or all(isinstance(label, int | float) for label in labels)
    if declared is not None:
        numeric = numeric and all(isinstance(name, int | float) for name in declared)
    if numeric and level != "nominal":
        return _numeric(labels, level, declared)
    held = labels.tolist()
    if level in ("interval", "ratio"):
        strange = next(label for label in [*held, *(declared or ())] if not isinstance(label, int | float))
        raise InvalidData(
            f"level {level!r} needs numbers, got {written(strange)}: give numbers, or the level 'ordinal'."
        )
    if level == "ordinal" and declared is None:
        raise InvalidData(
            f"ordinal labels have no order of their own ({written(held[0])}): declare the categories from lowest to "
            "highest."
        )
    if any(isinstance(name, float) and not isfinite(name) for name in [*held, *(declared or ())]):
        raise InvalidData(INFINITE)
    names = [_whole(name) for name in (_in_order(held) if declared is None else declared)]
    place = {name: index for index, name in enumerate(names)}
    strange = next((label for label in held if label not in place), None)
    if strange is not None:
        raise _undeclared(_whole(strange), names)
    code = np.array([place[label] for label in held], dtype=np.int64)
    if level == "ordinal":
        return tuple(names), code, np.arange(1.0, len(names) + 1.0)
    return tuple(names), code, _scores(names)


def _scores(names: list[Any]) -> FloatArray | None:
    """Return nominal categories as numbers, where they all are numbers that can be held as such and told apart."""
    if not names or not all(isinstance(name, int | float) for name in names):
        return None
    try:
        scores = np.array([float(name) for name in names])
    except OverflowError:
        return None
    return scores if len(np.unique(scores)) == len(names) else None


def _in_order(labels: list[Any]) -> list[Any]:
    """Return labels in ascending order, numbers before text, what has no order of its own by how it is written."""
    try:
        return sorted(
            labels, key=lambda name: ("", name) if isinstance(name, int | float) else (type(name).__name__, name)
        )
    except TypeError:
        return sorted(labels, key=lambda name: (type(name).__name__, repr(name)))


def _place_in_order(name: Any) -> tuple[str, Any]:
    return ("", name) if isinstance(name, int | float) else (type(name).__name__, name)


def _whole(name: Any) -> Any:
    return int(name) if isinstance(name, float) and name.is_integer() else name


def _numeric(
    labels: NDArray[Any], level: str, declared: list[Any] | None
) -> tuple[tuple[Any, ...], IntArray, FloatArray]:
    """Code numbers by their place among the ascending categories."""
    value = _floats(labels)
    scores = np.unique(value if declared is None else _floats(declared))
    if not (np.isfinite(value).all() and np.isfinite(scores).all()):
        raise InvalidData(INFINITE)
    if len(scores) < len(labels if declared is None else declared):
        raise InvalidData("two ratings differ only beyond the sixteenth digit: round them, or use the level 'nominal'.")
    if level == "ratio" and len(scores) and scores[0] < 0:
        raise InvalidData(f"ratio level requires non-negative values, got {scores[0]:g}: use the level 'interval'.")
    names = tuple(_whole(score) for score in scores.tolist())
    code = np.searchsorted(scores, value)
    known = np.zeros(len(value), dtype=bool)
    if len(scores):
        known = scores[np.minimum(code, len(scores) - 1)] == value
    if not known.all():
        raise _undeclared(_whole(float(value[~known][0])), list(names))
    return names, code.astype(np.int64), scores + 0.0  # no minus before zero


def _floats(numbers: Any) -> FloatArray:
    try:
        return np.array(numbers, dtype=np.float64)
    except OverflowError:
        largest = max(numbers, key=abs)
        raise InvalidData(f"value {written(largest)} is too large for a number with a scale: correct it.") from None


def _undeclared(value: Any, names: list[Any]) -> InvalidData:
    listed = ", ".join(written(name) for name in names[:20]) + (", …" if len(names) > 20 else "")
    return InvalidData(f"value {written(value)} is not among the declared categories ({listed}): correct or add it.")


def written(value: Any) -> str:
    """Return a value as it is written in an error, shortened.

    >>> written("word")
    "'word'"
    """
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # a whole number of thousands of digits
        return f"a {type(value).__name__} of very many digits"
    return text if len(text) <= 60 else f"{text[:57]}…"
