"""Agreement coefficients: weights, refused input, and hostile tables, which give a number or a reason."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annotate.errors import InvalidData
from calibrate.estimate import Undefined
from calibrate.stats.agreement.coefficient import Coefficient
from calibrate.stats.agreement.fleiss import fleiss_category_kappas, fleiss_kappa, randolph
from calibrate.stats.agreement.icc import icc
from calibrate.stats.agreement.light import all_agree, light_kappa, pairwise_agreement
from calibrate.stats.agreement.multirater import gwet
from calibrate.stats.agreement.ratings import Ratings, ratings_of
from calibrate.stats.agreement.tables import as_counts, contingency_table
from calibrate.stats.agreement.two_raters import (
    cohen_kappa,
    cohen_kappa_of_table,
)
from calibrate.stats.agreement.weights import ratings_weights, weight_matrix

pytestmark = pytest.mark.filterwarnings("error")

N = None


def value_of(made: Coefficient) -> float:
    assert isinstance(made.value, float)
    return made.value


# ------------------------------------------------------------------------------------------------------------- weights


def test_weights_go_by_the_values_of_declared_categories() -> None:
    first, second = [1, 2, 4, 4, 2, 1, 4], [1, 4, 4, 2, 2, 2, 4]
    declared = cohen_kappa(first, second, categories=[1, 2, 3, 4], weights="quadratic")
    occurred = cohen_kappa(first, second, categories=[1, 2, 4], weights="quadratic")
    assert declared.value == pytest.approx(value_of(occurred))  # the values are the same, declared or not
    places = cohen_kappa_of_table(contingency_table(first, second, [1, 2, 4]), weights="quadratic")
    assert abs(value_of(places) - value_of(declared)) > 0.01


def test_labels_need_a_declared_order_for_distances() -> None:
    rated = ratings_of([["low", "high"]], level="nominal")
    with pytest.raises(InvalidData, match="declare the categories"):
        gwet(rated, "linear")
    declared = ratings_of([["low", "high"]], level="nominal", categories=["low", "middle", "high"])
    assert ratings_weights("linear", declared).tolist() == [[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]]


@pytest.mark.parametrize(
    ("weights", "scores", "says"),
    [
        ("cubic", [1, 2], "must be one of"),
        ([[1, 0.5]], [1, 2], "one row and column a category"),
        ([[1, 0.5], [0.4, 1]], [1, 2], "symmetric"),
        ([[0, 0.5], [0.5, 1]], [1, 2], "1 on the diagonal"),
        ([[1, -3], [-3, 1]], [1, 2], "in 0..1"),
        ([[1, np.nan], [np.nan, 1]], [1, 2], "finite"),
        ([["a", "b"], ["c", "d"]], [1, 2], "matrix of numbers"),
        (None, [], "at least one category"),
        ("linear", [1, 1], "finite and differ"),
        ("linear", [1, np.inf], "finite and differ"),
    ],
)
def test_weights_that_are_none(weights: Any, scores: list[float], says: str) -> None:
    with pytest.raises(InvalidData, match=says):
        weight_matrix(weights, scores)


# ------------------------------------------------------------------------------------------------------------- hostile


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: cohen_kappa([1, 2], [1], categories=[1, 2]), "same units"),
        (lambda: cohen_kappa([1, 3], [1, 2], categories=[1, 2]), "not among the categories"),
        (lambda: cohen_kappa([1], [1], categories=[1, 1]), "list each of them once"),
        (lambda: cohen_kappa_of_table([[1, 2, 3], [1, 2, 3]]), "square"),
        (lambda: cohen_kappa_of_table([[1, -2], [1, 2]]), "whole numbers from 0"),
        (lambda: cohen_kappa_of_table([[1, np.nan], [1, 2]]), "whole numbers from 0"),
        (lambda: cohen_kappa_of_table([[0.5, 0.2], [0.2, 0.1]]), "whole numbers from 0"),
        (lambda: cohen_kappa_of_table([["a", "b"], ["c", "d"]]), "holds counts"),
        (lambda: cohen_kappa_of_table([[1, 2], [3]]), "holds counts"),
        (lambda: cohen_kappa_of_table([]), "square"),
        (lambda: cohen_kappa_of_table([[1, 2], [1, 2]], scores=[1, 2, 3]), "one value a category"),
        (lambda: fleiss_kappa([[1.5, 2]]), "whole number"),
        (lambda: fleiss_kappa([[-1, 2]]), "whole number"),
        (lambda: fleiss_kappa([[np.inf, 2]]), "whole number"),
        (lambda: fleiss_kappa([["a"]]), "numbers"),
        (lambda: fleiss_kappa([1, 2]), "one row a unit"),
        (lambda: all_agree(ratings_of([[1, 2]], level="nominal"), -1), "0 or more"),
        (lambda: all_agree(ratings_of([["a", "b"]], level="nominal"), 1), "numeric categories"),
        (lambda: all_agree(ratings_of([[1, 2]], level="nominal"), math.nan), "0 or more"),
        (lambda: icc(ratings_of([["a", "b"], ["b", "a"]], level="nominal")), "needs numbers"),
    ],
)
def test_refused_input_says_rule_value_and_remedy_in_one_sentence(call: Callable[[], object], says: str) -> None:
    with pytest.raises(InvalidData, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)


HOSTILE: list[list[list[Any]]] = [
    [],
    [[]],
    [[N]],
    [[N, N], [N, N]],
    [[1]],
    [[1, N], [N, 2]],
    [[1, 2]],
    [[1, 1]],
    [[1, 1], [1, 1]],
    [[1, 2], [2, 1]],
    [[1, N, N], [N, 2, N], [3, 3, N]],
    [[5] * 40],
    [[1e300, -1e300], [0.0, 1e-300]],
    [[1.7e308, -1.7e308], [0.0, 1e-300]],
    [[1, 2, 3, 4, 5], [5, 4, 3, 2, 1], [1, 1, 1, 1, 1]],
    [[0.1 + 0.2, 0.3], [0.3, 0.3]],
]


def everything(rated: Ratings, weights: str | None) -> list[Coefficient]:
    many = [*gwet(rated, weights).values(), light_kappa(rated, weights), pairwise_agreement(rated, weights)]
    return [*many, all_agree(rated), fleiss_kappa(rated), randolph(rated), *icc(rated).values()]


@pytest.mark.parametrize("weights", [None, "linear", "quadratic", "ordinal"])
@pytest.mark.parametrize("rows", HOSTILE, ids=str)
def test_hostile_tables_give_a_number_or_a_reason_and_no_warning(rows: list[list[Any]], weights: str | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for made in everything(ratings_of(rows, level="interval"), weights):
            shown = made.estimate()  # refuses nan, infinity and limits the wrong way round
            assert (shown.value is None) == bool(shown.reason)
            numbers = [made.observed, made.expected, made.raw, made.se, made.se_null, *made.extra.values()]
            assert all(isinstance(one, str) or one is None or math.isfinite(one) for one in numbers)
            assert all(math.isfinite(share) for share in made.marginals.values())


def test_missing_values_of_every_kind_are_dropped_by_pairs() -> None:
    made = cohen_kappa([1, None, 2, 2, 1, 3, math.nan], [1, 2, 2, None, 1, 2, np.float64("nan")], categories=[1, 2, 3])
    assert (made.n, made.value) == (4, pytest.approx(0.6))


def test_a_single_category_name_of_a_table_of_counts_is_kept_apart() -> None:
    kappas = fleiss_category_kappas([[3, 0, 0], [2, 1, 0]])
    assert kappas[3].value == Undefined("nobody used the category")
    assert as_counts([[3, 0], [1, 2]]).dtype == np.float64


def test_names_and_symbols() -> None:
    rated = ratings_of([[1, 2, 2], [3, 3, 3], [1, 1, 2]], level="interval")
    plain, weighted = gwet(rated), gwet(rated, "quadratic")
    assert [one.name for one in plain.values()] == [
        "percent_agreement", "gwet_ac1", "brennan_prediger", "fleiss_kappa", "conger_kappa", "krippendorff_alpha",
    ]  # fmt: skip
    assert (weighted["ac"].name, weighted["ac"].symbol) == ("gwet_ac2", "AC2")
    assert weighted["pa"].raw == plain["pa"].value
    assert weighted["pa"].value != weighted["pa"].raw
