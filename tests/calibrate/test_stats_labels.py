"""Labels as numbers: order of first occurrence, what is missing, whatever the labels are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrate.stats.labels import numbered, places_of


@given(st.lists(st.one_of(st.none(), st.text(max_size=2), st.integers(-2, 2))))
def test_objects_are_numbered_as_pandas_does(labels: list[Any]) -> None:
    held = np.empty(len(labels), dtype=object)
    held[:] = labels
    codes, distinct = numbered(held)
    expected, known = pd.factorize(held)
    assert codes.tolist() == expected.tolist() and distinct.tolist() == list(known)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3.0, np.nan, 1.0, 3.0]),
        np.array([5, 2, 5]),
        np.array(["b", "a", "b"]),
        np.array([True, False]),
        np.array([], dtype=float),
        np.array(["2024-01-02", "2024-01-01"], dtype="datetime64[D]"),
    ],
)
def test_other_types_are_numbered_as_pandas_does(labels: Any) -> None:
    codes, distinct = numbered(labels)
    expected, known = pd.factorize(labels)
    assert codes.tolist() == expected.tolist() and distinct.tolist() == list(np.asarray(known).tolist())


def test_marks_of_other_libraries_for_what_is_missing_are_missing() -> None:
    held = np.array([pd.NA, float("nan"), None, "a"], dtype=object)
    assert numbered(held)[0].tolist() == [-1, -1, -1, 0]


def test_places_among_known_labels() -> None:
    assert places_of(np.array(["b", "x", "a"]), np.array(["a", "b"], dtype=object)).tolist() == [1, -1, 0]
    assert places_of([], ["a"]).tolist() == []
    assert places_of([2, 9], [9, 2]).tolist() == [1, 0]
