"""Every public statistic under hostile arguments: a sentence, a reason or finite numbers, and never a warning.

Each function is called as it should be, and then with one argument after the other replaced by what users pass by
mistake. Allowed are `InvalidData` (one sentence with its remedy), `Undefined`, and results that are finite throughout;
`TypeError` only where the argument is of a type that no data could be.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hostile_arguments import COUNTS, LABELS, NAMES, NUMBERS, SHARES, rng
from hostile_calls import CALLS, INNER, NAN_IS_SAID

import calibrate.stats
from annotate.errors import InvalidData
from calibrate.estimate import Estimate, Undefined

APART = ("planning",)  # has hostile tests of its own


# -------------------------------------------------------------------------------------------------------- the rule

SCALARS = (NUMBERS, COUNTS, SHARES, NAMES)


def function_of(name: str) -> Callable[..., Any]:
    module, _, function = name.rpartition(".")
    found: Callable[..., Any] = getattr(importlib.import_module(f"calibrate.stats.{module}"), function)
    return found


def made(function: Callable[..., Any], good: Mapping[str, Any], replaced: Mapping[str, Any]) -> Any:
    given = {key: value() if value is rng else value for key, value in good.items()} | dict(replaced)
    names = inspect.signature(function).parameters
    if set(given) <= set(names):
        return function(**given)
    return function(*given.values())  # takes further columns by place


def never_data(value: Any, kind: tuple[Any, ...]) -> bool:
    """Whether a value is of a type that no user's data could be, so that a TypeError is an answer."""
    if any(kind is scalars for scalars in SCALARS):
        return not isinstance(value, int | float | np.number)
    if isinstance(value, np.ndarray) or not isinstance(value, list):
        return not isinstance(value, np.ndarray) or value.ndim > 1
    if kind is LABELS and any(isinstance(row, list) for row in value):
        return True
    flat = [inner for row in value for inner in (row if isinstance(row, list) else [row])]
    return any(not (inner is None or isinstance(inner, int | float | str)) for inner in flat)


def not_finite(result: Any, place: str = "") -> Iterator[str]:
    """Yield the places of numbers in a result that are nan or infinite."""
    if isinstance(result, float | np.floating):
        if not np.isfinite(result):
            yield f"{place} is {result}"
    elif isinstance(result, np.ndarray):
        if result.dtype.kind == "f" and not np.isfinite(result).all():
            yield f"{place} holds {result[~np.isfinite(result)][0]}"
    elif isinstance(result, Undefined | str | bytes):
        return
    elif isinstance(result, Estimate):
        yield from not_finite(result.model_dump(), place)
    elif dataclasses.is_dataclass(result) and not isinstance(result, type):
        for field in dataclasses.fields(result):
            yield from not_finite(getattr(result, field.name), f"{place}.{field.name}")
    elif isinstance(result, Mapping):
        for key, value in result.items():
            yield from not_finite(value, f"{place}[{key!r}]")
    elif isinstance(result, list | tuple):
        for index, value in enumerate(result):
            yield from not_finite(value, f"{place}[{index}]")


def trouble_of(name: str, argument: str, value: Any) -> str | None:
    """Return what is wrong with the answer to one hostile argument."""
    held = CALLS[name]
    try:
        result = made(function_of(name), held.good, {argument: value})
    except InvalidData as error:
        sentence = str(error)
        if len(sentence) > 400 or "\n" in sentence:
            return f"no one sentence: {sentence[:200]}"
        return None if any(mark in sentence for mark in (": ", "; ")) else f"no remedy: {sentence}"
    except TypeError as error:
        return None if never_data(value, held.kinds[argument]) else f"TypeError: {error}"
    except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
        return f"{type(error).__name__}: {error}"
    return None if name in NAN_IS_SAID else next(not_finite(result), None)


@pytest.mark.parametrize("name", CALLS)
def test_a_hostile_argument_gives_a_sentence_a_reason_or_finite_numbers(name: str) -> None:
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for argument, values in CALLS[name].kinds.items():
            for value in values:
                trouble = trouble_of(name, argument, value)
                if trouble is not None:
                    found.append(f"{argument} = {value!r:.80}: {trouble:.200}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", CALLS)
def test_the_call_that_is_made_hostile_is_a_good_one(name: str) -> None:
    result = made(function_of(name), CALLS[name].good, {})
    assert not isinstance(result, Undefined)


def test_every_public_statistic_is_called_or_is_inner() -> None:
    known = set()
    for entry in pkgutil.walk_packages(calibrate.stats.__path__, "calibrate.stats."):
        short = entry.name.removeprefix("calibrate.stats.")
        if short.startswith(APART):
            continue
        module = importlib.import_module(entry.name)
        for key, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == entry.name and not key.startswith("_"):
                known.add(f"{short}.{key}")
    assert known - set(CALLS) - INNER == set()
    assert (set(CALLS) | INNER) - known == set()
