"""Answers that are the same, however they are written, and answers that are not."""

from __future__ import annotations

import pytest

from annotate.bank import bank_items
from simulate.task import SHIPPED, load_task


def same(given: str, reference: str) -> bool:
    import importlib.util

    spec = importlib.util.spec_from_file_location("math_outcome", SHIPPED / "math_tutoring" / "outcome.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return bool(module.same_answer(given, reference))


@pytest.mark.parametrize(("given", "reference"), [
    ("13/18", "\\frac{13}{18}"), ("$\\frac{26}{36}$", "13/18"), ("x = 64", "64"), ("64 euros", "64"), ("1,024", "1024"),
    ("2\\sqrt{3}", "2*sqrt(3)"), ("0.5", "1/2"), ("\\boxed{7}", "7"),
    ("3\\pi", "3pi"), ("  A and B ", "a and b"), ("2^5", "32"),
    ("\\dfrac{1}{3}", "1/3"), ("-4.", "-4"), ("25\\%", "25"),
])  # fmt: skip
def test_the_same_answer(given: str, reference: str) -> None:
    assert same(given, reference)


@pytest.mark.parametrize(("given", "reference"), [
    ("13/19", "13/18"), ("", "0"), ("64 or 65", "64"), ("__import__('os')", "1"), ("9**9**9**9", "1"), ("(" * 500, "1"),
    ("one half", "1/2"), ("1/0", "0"), ("nan", "0"),
])  # fmt: skip
def test_another_answer(given: str, reference: str) -> None:
    assert not same(given, reference)


def test_every_reference_of_the_bank_is_its_own_answer() -> None:
    from pathlib import Path

    task = load_task("math_tutoring", {}, Path())
    assert task.outcome is not None
    for item in bank_items("math_tutoring"):
        assert task.outcome(item, None, str(item.reference["answer"])) == "correct"  # type: ignore[arg-type]
        assert task.outcome(item, None, "") == "unknown"  # type: ignore[arg-type]
