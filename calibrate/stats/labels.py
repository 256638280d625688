"""Labels (persons, clusters, groups) as numbers, in order of first occurrence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

IntArray = NDArray[np.int64]
MISSING = -1


def numbered(labels: ArrayLike) -> tuple[IntArray, NDArray[Any]]:
    """Return a number for each label and the distinct labels, both by first occurrence; −1 where a label is missing.

    None and nan are missing. Labels are numbers, texts, or any objects that can be compared.

    >>> codes, distinct = numbered(["b", "a", "b", None])
    >>> codes.tolist(), distinct.tolist()
    ([0, 1, 0, -1], ['b', 'a'])
    """
    held = np.asarray(labels).reshape(-1)
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
    place: Mapping[Any, int] = {label: index for index, label in enumerate(np.asarray(known).tolist())}
    found = np.array([*(place.get(label, MISSING) for label in distinct.tolist()), MISSING], dtype=np.int64)
    return found[codes]


def _objects(held: NDArray[Any]) -> tuple[IntArray, NDArray[Any]]:
    place: dict[Any, int] = {}
    codes = [MISSING if _is_missing(label) else place.setdefault(label, len(place)) for label in held.tolist()]
    distinct = np.empty(len(place), dtype=object)
    distinct[:] = list(place)
    return np.array(codes, dtype=np.int64), distinct


def _is_missing(label: Any) -> bool:
    if isinstance(label, str):
        return False
    if label is None:
        return True
    different = label != label  # noqa: PLR0124 - only nan differs from itself
    return different is not False and different is not np.False_
