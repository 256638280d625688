"""Every public function of the statistics carries an example that is run, and every example holds."""

from __future__ import annotations

import doctest
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import calibrate.stats


def modules() -> list[ModuleType]:
    found = pkgutil.walk_packages(calibrate.stats.__path__, "calibrate.stats.")
    return [import_module(entry.name) for entry in found]


def public_functions(module: ModuleType) -> Iterator[Callable[..., Any]]:
    for name, value in vars(module).items():
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_"):
            yield value


MODULES = modules()
FUNCTIONS = [function for module in MODULES for function in public_functions(module)]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples_hold(module: ModuleType) -> None:
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS).failed == 0


@pytest.mark.parametrize(
    "function", FUNCTIONS, ids=lambda f: f"{f.__module__.removeprefix('calibrate.stats.')}.{f.__name__}"
)
def test_a_public_function_has_an_example(function: Callable[..., Any]) -> None:
    assert ">>>" in (function.__doc__ or ""), f"{function.__qualname__} has no doctest"


def test_there_are_functions_to_look_at() -> None:
    assert len(FUNCTIONS) > 50
