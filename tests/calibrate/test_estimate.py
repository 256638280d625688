from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from calibrate.estimate import NOT_ASKED, Estimate, Interval, Signature, fork, signature_of

numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)


@pytest.mark.parametrize("field", ["value", "low", "high", "p_value"])
@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_no_number_is_ever_nan_or_infinite(field: str, wrong: float) -> None:
    fields = {"name": "m", "value": 0.5, "low": 0.1, "high": 0.9, "n": 3, "p_value": 0.2} | {field: wrong}
    with pytest.raises(ValidationError):
        Estimate(**fields)


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_extra_holds_no_nan_either(wrong: float) -> None:
    with pytest.raises(ValidationError):
        Estimate(name="m", value=0.5, n=3, extra={"design_effect": wrong})


@pytest.mark.parametrize(
    "fields",
    [
        {"value": None},  # no reason
        {"value": 1.0, "reason": "but there is a value"},
        {"value": 1.0, "low": 0.0},
        {"value": 1.0, "low": 2.0, "high": 0.0},
        {"value": 1.0, "low": 0.0, "high": 2.0, "interval_reason": "but there is one"},
        {"value": None, "reason": "no data", "low": 0.0, "high": 1.0},
        {"value": None, "reason": "no data", "p_value": 0.5},
        {"value": 1.0, "p_value": 1.2},
        {"value": 1.0, "n": -1},
        {"value": 1.0, "level": 95},
        {"value": 1.0, "surprise": 1},
    ],
)
def test_contradictions_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Estimate(**({"name": "m", "n": 3} | fields))


def test_a_value_without_an_interval_says_so() -> None:
    assert Estimate(name="m", value=1.0, n=3).interval_reason == NOT_ASKED
    assert Estimate(name="m", value=1.0, n=3, interval_reason="too few").interval_reason == "too few"


def test_undefined_says_why_and_counts() -> None:
    made = Estimate.undefined("rho", "fewer than three groups", n=2)
    assert not made.defined
    assert made.interval is None
    assert made.format("ρ") == "ρ undefined (fewer than three groups) n = 2"


def test_format_is_one_line_with_value_interval_and_n() -> None:
    made = Estimate(name="rho", value=0.4099, low=-0.2249, high=0.8, n=12)
    assert made.format("ρ") == "ρ 0.41 [-0.22, 0.80] n = 12"
    assert made.model_copy(update={"extra": {"groups": 6, "symbol": "ρ"}}).format() == (
        "ρ 0.41 [-0.22, 0.80] n = 12, 6 groups"
    )
    assert Estimate(name="d", value=-0.001, low=-0.004, high=0.5, n=4, unit="points", p_value=0.0004).format() == (
        "d 0.00 points [0.00, 0.50] n = 4 p < 0.001"
    )
    assert Estimate(name="d", value=1, n=4, interval_reason="one cluster").format(digits=0) == (
        "d 1 [no interval: one cluster] n = 4"
    )


def test_full_format_names_target_method_and_signature() -> None:
    signature = Signature(seed=7, spawn_key=(0,), resamples=1000, version="1.2")
    made = Estimate(
        name="rho", value=0.4, low=0, high=1, n=12, clusters=9, target="new tasks", method="BCa", signature=signature
    )
    assert made.format(full=True).splitlines()[1] == (
        "  level 0.95; target new tasks; method BCa; clusters 9; resamples 1000; seed 7/0; version 1.2"
    )


@given(value=numbers, reach=st.floats(0, 1e6), n=st.integers(0, 10**9), p=st.floats(0, 1))
def test_as_dict_is_json_and_reads_back(value: float, reach: float, n: int, p: float) -> None:
    made = Estimate(name="m", value=value, low=value - reach, high=value + reach, n=n, p_value=p)
    assert Estimate.model_validate(json.loads(json.dumps(made.as_dict(), allow_nan=False))) == made


def test_signature_repeats_the_draws_whatever_was_drawn_before() -> None:
    rng = np.random.default_rng(7)
    rng.random(5)
    first, second = fork(rng), fork(rng)
    signatures = [signature_of(child, 10) for child in (first, second)]
    assert signatures[0] != signatures[1]
    assert signatures[0] == signature_of(fork(np.random.default_rng(7)), 10)
    for child, signature in zip((first, second), signatures, strict=True):
        assert (signature.generator().random(4) == child.random(4)).all()


def test_a_sequence_of_seeds_is_kept() -> None:
    signature = signature_of(fork(np.random.default_rng([3, 4])), 10)
    assert signature.seed == (3, 4)
    assert signature.generator().random() == fork(np.random.default_rng([3, 4])).random()


def test_nothing_drawn_has_no_generator() -> None:
    with pytest.raises(ValueError, match="no seed"):
        Signature().generator()


def test_an_interval_is_ordered_and_finite_in_order() -> None:
    with pytest.raises(ValueError, match="ordered"):
        Interval(1.0, 0.0)
    with pytest.raises(ValueError, match="ordered"):
        Interval(math.nan, 1.0)
