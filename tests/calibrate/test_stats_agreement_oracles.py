"""Agreement coefficients against other programs: irrCAC, R's psych, vcd and psy (frozen), statsmodels, scikit-learn.

What is known to be wrong in them is asserted to be so, that nobody takes it for a second opinion.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrate.estimate import Interval
from calibrate.stats.agreement.fleiss import fleiss_kappa, randolph
from calibrate.stats.agreement.icc import ICC_NAMES, icc
from calibrate.stats.agreement.light import light_kappa
from calibrate.stats.agreement.multirater import gwet
from calibrate.stats.agreement.ratings import ratings_of
from calibrate.stats.agreement.two_raters import cohen_kappa, cohen_kappa_of_table

GOLDEN = Path(__file__).parents[1] / "golden"
IRRCAC = json.loads((GOLDEN / "agreement_irrcac.json").read_text())
R = json.loads((GOLDEN / "agreement_r.json").read_text())


def by_id(cases: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in cases]


# ---------------------------------------------------------------------------------------------------------- irrCAC


@pytest.mark.parametrize("name", ["ac", "bp", "fleiss", "conger", "kripp"])
@pytest.mark.parametrize("case", by_id(IRRCAC["cases"]))
def test_irrcac(case: dict[str, Any], name: str) -> None:
    """Values, terms and standard errors to 11 digits, with missing cells and every kind of weights.

    "ordinal" here are irrCAC's weights, which are not Krippendorff's ordinal distances; ours of that name are the same.
    """
    rated = ratings_of(case["ratings"], level="ordinal", categories=case["categories"])
    ours, theirs = gwet(rated, case["weights"])[name], case["irrcac"][name]
    assert ours.value == pytest.approx(theirs["value"], abs=2e-12)
    assert ours.se == pytest.approx(theirs["se"], abs=2e-12)
    assert ours.observed == pytest.approx(theirs["observed"], abs=2e-12)
    assert ours.expected == pytest.approx(theirs["expected"], abs=2e-12)
    assert isinstance(ours.interval, Interval)
    # their t quantile (scipy 1.12) is off by 1e-9, ours is R's to 16 digits
    assert [ours.interval.low, ours.interval.high] == pytest.approx([theirs["low"], theirs["high"]], abs=5e-9)
    if name != "bp":
        assert ours.p_value == pytest.approx(theirs["p"], abs=1e-12)


@pytest.mark.parametrize("case", by_id(IRRCAC["cases"]))
def test_irrcac_has_a_one_sided_p_for_brennan_prediger_and_ours_is_twice_it(case: dict[str, Any]) -> None:
    rated = ratings_of(case["ratings"], level="ordinal", categories=case["categories"])
    ours = gwet(rated, case["weights"])["bp"]
    assert ours.p_value == pytest.approx(2 * case["irrcac"]["bp"]["p"], rel=1e-6, abs=1e-13)


def test_the_frozen_tables_hold_missing_cells_weights_and_unused_categories() -> None:
    cases = IRRCAC["cases"]
    assert {case["weights"] for case in cases} == {"identity", "linear", "quadratic", "ordinal"}
    assert sum(any(None in row for row in case["ratings"]) for case in cases) >= 6
    assert any(len(case["ratings"][0]) >= 5 for case in cases)


# --------------------------------------------------------------------------------------------------------------- R


@pytest.mark.parametrize("case", by_id(R["pairs"]))
def test_vcd_kappa_and_its_standard_error(case: dict[str, Any]) -> None:
    for weights, theirs in case["r"]["vcd"].items():
        ours = cohen_kappa_of_table(case["table"], weights=None if weights == "plain" else weights)
        assert ours.value == pytest.approx(theirs["value"], abs=1e-13)
        assert ours.se == pytest.approx(theirs["se"], abs=1e-13)


@pytest.mark.parametrize("case", by_id(R["pairs"]))
def test_psych_kappa_without_its_weighted_standard_error(case: dict[str, Any]) -> None:
    plain, quadratic = case["r"]["psych"]["plain"], case["r"]["psych"]["quadratic"]
    ours = cohen_kappa_of_table(case["table"])
    assert (ours.value, ours.se) == pytest.approx((plain["value"], plain["se"]), abs=1e-13)
    assert cohen_kappa_of_table(case["table"], weights="quadratic").value == pytest.approx(
        quadratic["value"], abs=1e-13
    )


def test_psych_has_a_wrong_weighted_standard_error() -> None:
    """On one of these tables it is .397 above Fleiss, Cohen and Everitt's, which vcd and statsmodels have too."""
    gaps = [
        case["r"]["psych"]["quadratic"]["se"] - case["r"]["vcd"]["quadratic"]["se"]
        for case in R["pairs"]
        if len(case["table"]) > 2
    ]
    assert max(np.abs(gaps)) > 0.1


@pytest.mark.parametrize("case", by_id(R["scales"]))
def test_psych_and_psy_intraclass_correlations(case: dict[str, Any]) -> None:
    made = icc(ratings_of(case["ratings"], level="interval"))
    for name, theirs in zip(ICC_NAMES, case["r"]["psych"], strict=True):
        ours = made[name]
        assert ours.value == pytest.approx(theirs["value"], abs=1e-12)
        assert ours.extra["f"] == pytest.approx(theirs["f"], rel=1e-12)
        assert (ours.extra["df1"], ours.extra["df2"]) == (theirs["df1"], theirs["df2"])
        assert ours.p_value == pytest.approx(theirs["p"], rel=1e-9, abs=1e-14)
        assert isinstance(ours.interval, Interval)
        assert [ours.interval.low, ours.interval.high] == pytest.approx([theirs["low"], theirs["high"]], abs=1e-11)
    assert made["icc_2_1"].value == pytest.approx(case["r"]["psy"]["agreement"], abs=1e-12)
    assert made["icc_3_1"].value == pytest.approx(case["r"]["psy"]["consistency"], abs=1e-12)


@pytest.mark.parametrize("case", by_id(R["lights"]))
def test_psy_light_kappa(case: dict[str, Any]) -> None:
    rated = ratings_of(case["ratings"], level="nominal", categories=case["categories"])
    assert light_kappa(rated).value == pytest.approx(case["r"]["psy"], abs=1e-13)


# ------------------------------------------------------------------------------------------------------ statsmodels


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@pytest.mark.parametrize("seed", range(6))
def test_statsmodels_cohen_kappa_with_both_standard_errors(seed: int, weights: str | None) -> None:
    from statsmodels.stats.inter_rater import cohens_kappa

    table = np.random.default_rng(seed).integers(0, 9, (4, 4)) + np.diag([6, 3, 8, 2])
    theirs = cohens_kappa(table, wt={None: None, "linear": "linear", "quadratic": "quadratic"}[weights])
    ours = cohen_kappa_of_table(table, weights=weights)
    assert ours.value == pytest.approx(theirs.kappa, abs=1e-12)
    assert ours.se == pytest.approx(theirs.std_kappa, abs=1e-11)
    assert ours.se_null == pytest.approx(theirs.std_kappa0, abs=1e-11)
    assert ours.extra["z"] == pytest.approx(theirs.z_value, abs=1e-9)
    assert ours.p_value == pytest.approx(theirs.pvalue_two_sided, abs=1e-12)
    assert isinstance(ours.interval, Interval)
    assert ours.interval.low == pytest.approx(theirs.kappa_low, abs=1e-11)
    assert ours.interval.high == pytest.approx(min(1.0, theirs.kappa_upp), abs=1e-11)


@pytest.mark.parametrize("seed", range(5))
def test_statsmodels_fleiss_and_randolph(seed: int) -> None:
    from statsmodels.stats.inter_rater import fleiss_kappa as theirs

    rng = np.random.default_rng(seed)
    counts = rng.multinomial(5, rng.dirichlet(np.ones(4)), size=12)
    assert fleiss_kappa(counts).value == pytest.approx(theirs(counts, method="fleiss"), abs=1e-12)
    assert randolph(counts).value == pytest.approx(theirs(counts, method="randolph"), abs=1e-12)


# ------------------------------------------------------------------------------------------------------ scikit-learn

# Raters 2 and 3 of the anxiety data of R's irr: a scale of 1 to 6 on which neither said 5.
SECOND = [3, 6, 4, 6, 2, 4, 2, 4, 3, 3, 2, 3, 3, 3, 2, 2, 1, 3, 3, 4]
THIRD = [2, 1, 4, 4, 3, 2, 1, 6, 1, 1, 1, 2, 3, 3, 1, 1, 3, 3, 2, 2]


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_scikit_learn_agrees_where_it_is_given_the_whole_scale(weights: str | None) -> None:
    from sklearn.metrics import cohen_kappa_score

    theirs = cohen_kappa_score(SECOND, THIRD, labels=[1, 2, 3, 4, 5, 6], weights=weights)
    assert cohen_kappa(SECOND, THIRD, categories=range(1, 7), weights=weights).value == pytest.approx(theirs, abs=1e-13)


def test_scikit_learn_takes_the_places_of_what_occurred_for_the_scale() -> None:
    """Left alone it makes 4 and 6 neighbours: .146 is κ_w of another scale, .126 that of this one."""
    from sklearn.metrics import cohen_kappa_score

    ours = cohen_kappa(SECOND, THIRD, categories=range(1, 7), weights="linear").value
    assert ours == pytest.approx(0.126, abs=5e-4)
    assert cohen_kappa_score(SECOND, THIRD, weights="linear") == pytest.approx(0.146, abs=5e-4)
    labels = [str(label) for label in (1, 2, 3, 4, 6)]  # labels that are no numbers are at their declared places
    places = cohen_kappa([str(v) for v in SECOND], [str(v) for v in THIRD], categories=labels, weights="linear").value
    assert places == pytest.approx(0.1459075, abs=1e-7)


def test_scikit_learn_has_no_value_where_both_raters_are_constant_and_neither_have_we() -> None:
    from sklearn.metrics import cohen_kappa_score

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = cohen_kappa_score(["a"] * 5, ["a"] * 5, labels=["a", "b"])
    assert np.isnan(theirs)
    ours = cohen_kappa(["a"] * 5, ["a"] * 5, categories=["a", "b"])
    assert ours.estimate().value is None
    assert ours.raw == 1.0
