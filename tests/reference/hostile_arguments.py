"""What users pass by mistake, by kind of argument: numbers, counts, shares, names, columns, labels, tables, records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from calibrate.stats.agreement.ratings import Ratings, ratings_of
from calibrate.stats.rectify.audited import AuditStratum
from calibrate.stats.rectify.stratified_sample import Stratum
from calibrate.stats.resample import Replicates
from calibrate.stats.two_sample.samples import TwoSample, grouped_sample, paired_sample

nan, inf = float("nan"), float("inf")


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def rated(level: str, raters: int = 3, units: int = 8, seed: int = 1) -> Ratings:
    table = np.random.default_rng(seed).integers(1, 4, (units, raters))
    return ratings_of(table, level=level)  # type: ignore[arg-type]


def pairs(seed: int = 2, persons: int = 12) -> TwoSample:
    draw = np.random.default_rng(seed)
    who = np.repeat(np.arange(persons), 2)
    return paired_sample(draw.normal(size=2 * persons), draw.normal(size=2 * persons), who, np.tile([0, 1], persons))


# ------------------------------------------------------------------------------------------------ hostile arguments

HUGE = 1e308
NUMBERS: tuple[Any, ...] = (
    nan,
    inf,
    -inf,
    -1,
    0,
    0.5,
    1,
    1.5,
    2,
    95,
    HUGE,
    -HUGE,
    5e-324,
    10**25,
    "3",
    "x",
    None,
    True,
)
COLUMNS: tuple[Any, ...] = (
    [],
    [[]],
    [[1, 2], [3, 4]],
    [1],
    [1, 2],
    [nan] * 6,
    [inf] * 6,
    [None] * 6,
    ["a"] * 6,
    ["a", "b", "c"] * 2,
    [0] * 6,
    [1] * 6,
    [-1] * 6,
    [0.5] * 6,
    [HUGE] * 6,
    [HUGE, -HUGE] * 3,
    [5e-324, 0] * 3,
    [10**400] * 6,
    [1, 0, None] * 2,
    [1, 0, nan] * 2,
    [1, 0, "x"] * 2,
    [True, False] * 3,
    [[1], [2, 3]],
    [1, 2, 3] * 400,
    3,
    None,
    "text",
    b"text",
    [{}] * 6,
    [[1]] * 6,
    [1 + 2j] * 6,
    [np.datetime64("2020-01-01")] * 6,
    np.zeros((6, 0)),
    np.zeros((2, 3, 1)),
)
LABELS: tuple[Any, ...] = (
    [],
    ["a"],
    ["a"] * 6,
    list("abcdef"),
    list("aabbcc"),
    [None] * 6,
    [nan] * 6,
    ["a", None] * 3,
    [1, "a"] * 3,
    [[1]] * 6,
    [{}] * 6,
    [[1, 2]] * 3,
    3,
    None,
    "abc",
    b"abc",
    [True, False] * 3,
    [(1, 2)] * 6,
)
TABLES: tuple[Any, ...] = (
    [],
    [[]],
    [[1]],
    [[1, 2]],
    [[1, 2], [3]],
    [[1, 2], [3, -4]],
    [[1, 2], [3, nan]],
    [[1, 2], [3, inf]],
    [[1, 2], [3, 0.5]],
    [[0, 0], [0, 0]],
    [[5, 0], [0, 0]],
    [[5, 0], [0, 5]],
    [[0, 5], [5, 0]],
    [[HUGE, 1], [1, HUGE]],
    [["a", "b"], ["c", "d"]],
    [[None, 1], [1, 1]],
    3,
    None,
    "text",
    [1, 2],
    np.zeros((2, 2, 2)),
    [[10**400, 1], [1, 1]],
    [[True, False], [False, True]],
    [[1, 2, 3], [4, 5, 6]],
    np.eye(3),
    [[1e16, 1], [1, 1e16]],
)
NAMES: tuple[Any, ...] = ("", "x", "Linear", None, 3, [], nan)
COUNTS: tuple[Any, ...] = (0, -1, 1, 2, 0.5, 2.5, nan, inf, "3", "x", None, True, 10**25, -(10**25), [1])
SHARES: tuple[Any, ...] = (0, 1, -0.1, 1.5, 95, nan, inf, "0.95", None, 1e-300, 1 - 1e-16, 0.999999, [0.9])


class Call(NamedTuple):
    """A function, good arguments by name, and the kind of hostile values for each that is replaced."""

    good: Mapping[str, Any]
    kinds: Mapping[str, tuple[Any, ...]]


def call(**arguments: tuple[tuple[Any, ...], Any]) -> Call:
    return Call({k: v for k, (_, v) in arguments.items()}, {k: kind for k, (kind, _) in arguments.items() if kind})


FIX: tuple[Any, ...] = ()
LEVEL = (SHARES, 0.95)
RNG = (FIX, rng)
X = [1.0, 2.0, 4.0, 3.0, 5.0, 7.0]
Y = [2.0, 1.0, 3.0, 5.0, 4.0, 6.0]
BITS, OTHER_BITS = [1, 0, 1, 1, 0, 1], [1, 1, 0, 1, 0, 1]
G = list("aabbcc")
T2 = [[20, 5], [10, 15]]
JUDGED = {
    "judged": (COLUMNS, [50, 30, 40, 20]),
    "audited": (COLUMNS, [20, 15, 20, 10]),
    "passed": (COLUMNS, [18, 3, 15, 2]),
    "verdict": (COLUMNS, [1, 0, 1, 0]),
    "domain": (COLUMNS, [0, 0, 1, 1]),
    "domain_weights": (COLUMNS, [0.5, 0.5]),
}
STRATA = [AuditStratum("air", "pass", 50, 20, 18), AuditStratum("air", "fail", 30, 15, 3)]
STRATA_KINDS: tuple[Any, ...] = (
    [],
    [STRATA[0]],
    STRATA[:1] * 2,
    [AuditStratum("air", "pass", 5, 0, 0)],
    None,
    "text",
    [1],
)
DOMAIN_WEIGHTS: tuple[Any, ...] = (
    {},
    {"air": 0},
    {"air": -1},
    {"air": nan},
    {"air": inf},
    {"sea": 1},
    {"air": "x"},
    [1],
    {"air": None},
)
DRAWS = (COUNTS, 20)
TARGETS: tuple[Any, ...] = ("", "x", None, 3)
PAIR_COUNTS = {"both": (COUNTS, 20), "first_only": (COUNTS, 12), "second_only": (COUNTS, 2), "neither": (COUNTS, 16)}
WEIGHTS: tuple[Any, ...] = (*NAMES, *TABLES)
WEIGHTED = {"table": (TABLES, T2), "scores": (COLUMNS, [1, 2]), "weights": (WEIGHTS, "quadratic"), "confidence": LEVEL}
REPLICATES: tuple[Any, ...] = (
    Replicates.of([]),
    Replicates.of([0.5]),
    Replicates.of([0.5, 0.5]),
    Replicates.of([nan, nan]),
    Replicates.of([1e150, -1e150]),
    Replicates.of([nan, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
    Replicates.of([-1, 1]),
)
SPREAD = Replicates.of(np.linspace(0.1, 0.8, 40))
RATED: tuple[Any, ...] = (
    *(
        ratings_of(table, level=level)  # type: ignore[arg-type]
        for level in ("nominal", "ordinal", "interval", "ratio")
        for table in (
            [],
            [[]],
            [[1]],
            [[1, None]],
            [[None, None]] * 3,
            [[1, 1]],
            [[1, 2]],
            [[1, 1]] * 6,
            [[1, 2]] * 6,
            [[1, 1], [1, 2]],
            [[1, None], [None, 2]],
            [[1, 1, None], [2, None, 2], [None, 3, 3]],
            [[HUGE, 0], [0, HUGE]],
            [[5e-324, 0], [0, 5e-324]],
            [[0, 0], [0, 1]],
            [[1e300, 1e-300]] * 3 + [[1, 2]],
            [[1 + 1e-15, 1], [1, 1 + 1e-15]],
            [[2**53, 2**53 + 2]] * 4,
            [list(range(60)), list(range(60))[::-1]],
            np.arange(300).reshape(150, 2),
        )
    ),
    ratings_of([["a", "b"], ["b", "b"]], level="nominal"),
    ratings_of([["na", "a"], ["na", "na"]], level="nominal", not_applicable=["na"]),
    ratings_of([["lo", "hi"]] * 3, level="ordinal", categories=["lo", "mid", "hi"]),
)
OF_RATED = (RATED, rated("interval"))
SAMPLES: tuple[Any, ...] = (
    paired_sample([], [], []),
    paired_sample([1.0], [2.0], ["a"]),
    paired_sample([1.0] * 6, [1.0] * 6, list("abcdef")),
    paired_sample([1.0, 2.0], [2.0, 1.0], ["a", "a"]),
    paired_sample([1e150] * 6, [-1e150] * 6, list("abcdef")),
    paired_sample([1e-300] * 6, [0.0] * 6, list("abcdef")),
    grouped_sample([], [], [], []),
    grouped_sample([1.0], [], ["a"], []),
    grouped_sample([1.0, 2.0], [3.0], ["a", "b"], ["c"]),
    grouped_sample([1.0] * 5, [1.0] * 5, list("abcde"), list("fghij")),
    paired_sample([[1.0, 2.0]] * 6, [[2.0, 1.0]] * 6, list("abcdef"), ["i"] * 6),
    paired_sample(X, Y, list("abcdef")),
)
SAMPLE = (SAMPLES, pairs())
DISTANCE = (NAMES, "energy")
COVARIANCES: tuple[Any, ...] = (*TABLES, *COLUMNS)
STRATA_OF: tuple[Any, ...] = (
    [],
    [Stratum("a", 0, 0, None, None)],
    [Stratum("a", 3, 0, None, None)],
    [Stratum("a", 3, 1, 1.0, None)],
    [Stratum("a", 3, 3, 1.0, 0.0)],
    [Stratum("a", 3, 2, HUGE, HUGE)],
    None,
    [1],
    [Stratum("a", 1, 1, 1.0, None)] * 2,
)
MAPPINGS: tuple[Any, ...] = ({}, {"a": {}}, {"a": {1: nan}}, {"a": 3}, [], None, {"a": {1: "x"}, "b": {1: None}})
MODEL = {i: i % 3 for i in range(12)}
HUMANS = {name: {i: (i + k) % 3 for i in range(12)} for k, name in enumerate("abc")}
