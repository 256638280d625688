"""Labels (persons, clusters, groups) as numbers, in order of first occurrence."""

from __future__ import annotations

from collections.abc import Mapping
from operator import ne
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.errors import InvalidData
from calibrate.stats.checking import as_labels

IntArray = NDArray[np.int64]
MISSING = -1


def numbered(labels: ArrayLike) -> tuple[IntArray, NDArray[Any]]:
    """Return a number for each label and the distinct labels, both by first occurrence; −1 where a label is missing.

    None and nan are missing. Labels are numbers, texts, or any objects that can be compared.

    >>> codes, distinct = numbered(["b", "a", "b", None])
    >>> codes.tolist(), distinct.tolist()
    ([0, 1, 0, -1], ['b', 'a'])
    """
    held = _one_column(labels)
    if held.dtype == object:
        return _objects(held)
    present = ~np.isnan(held) if held.dtype.kind == "f" else np.ones(len(held), dtype=bool)
    distinct, first, inverse = np.unique(held[present], return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    codes = np.full(len(held), MISSING, dtype=np.int64)
    codes[present] = place[inverse.reshape(-1)]
    return codes, distinct[order]


def places_of(labels: ArrayLike, known: ArrayLike) -> IntArray:
    """Return the place of each label among `known`, which holds none twice; −1 for one that is not there.

    >>> places_of(["bo", "ann", "zoe"], ["ann", "bo"]).tolist()
    [1, 0, -1]
    """
    codes, distinct = numbered(labels)
    place: Mapping[Any, int] = {label: index for index, label in enumerate(_one_column(known).tolist())}
    found = np.array([*(place.get(label, MISSING) for label in distinct.tolist()), MISSING], dtype=np.int64)
    return found[codes]


def _one_column(labels: ArrayLike) -> NDArray[Any]:
    held = as_labels(labels, "labels")
    if held.ndim != 1:
        raise InvalidData(f"labels need one axis, one label a row, got shape {held.shape}: pass one column.")
    return held


def _objects(held: NDArray[Any]) -> tuple[IntArray, NDArray[Any]]:
    place: dict[Any, int] = {}
    codes = [MISSING if is_missing(label) else place.setdefault(label, len(place)) for label in held.tolist()]
    distinct = np.empty(len(place), dtype=object)
    distinct[:] = list(place)
    return np.array(codes, dtype=np.int64), distinct


def is_missing(label: Any) -> bool:
    """Return whether a label is None, nan, or another library's mark for what is not there.

    >>> [is_missing(label) for label in (None, float("nan"), 0, "", "nan")]
    [True, True, False, False, False]
    """
    if label is None or isinstance(label, str):
        return label is None
    try:
        return bool(ne(label, label))
    except TypeError:  # a mark that equals nothing, itself included
        return True
