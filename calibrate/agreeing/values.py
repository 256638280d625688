"""Values of ratings as plain numbers and texts, the categories that were declared, and what looks suspicious."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from annotate.errors import InvalidData
from calibrate.stats.agreement.coding import declared_categories
from calibrate.stats.agreement.ratings import Level
from calibrate.stats.checking import shown

if TYPE_CHECKING:
    import pandas as pd

_EXACT = 2.0**53  # beyond it two whole numbers can be one float
_WHOLE = re.compile(r"[+-]?\d+")
_BLANKS = {"", "nan", "NaN"}
_SUSPICIOUS = {"na", "n/a", "n.a", "not applicable", "none", "null", "skipped", "missing", "-", "?"}


def plain(values: Iterable[Hashable]) -> set[Hashable]:
    """Return values with their numbers as numbers too: what is typed as "9" also means 9."""
    found: set[Hashable] = set(values)
    for value in list(found):
        number = _number(value)
        if number is not None:
            found |= {number, str(value)}
    return found


def stands_for(value: Any, among: set[Hashable]) -> bool:
    return value is not None and value in among


def _number(value: Any) -> float | int | None:
    """Return what a value says as a number, a long whole one with all its digits; None where it says none."""
    if isinstance(value, str) and "_" in value:  # 1_2 is a label, though Python reads 12
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if not np.isfinite(number):
        return None
    long = isinstance(value, str) and abs(number) > _EXACT and _WHOLE.fullmatch(value.strip())
    return int(value) if long else number


def plain_values(column: pd.Series[Any], level: Level, special: set[Hashable]) -> list[Any]:
    """Return plain values, None where there is none; texts that are all numbers become numbers."""
    import pandas as pd

    blank = column.isna().to_numpy()
    held = [None if gone else _simple(value) for value, gone in zip(column, blank, strict=True)]
    held = [None if isinstance(value, str) and value in _BLANKS else value for value in held]
    texts = {value for value in held if isinstance(value, str)} - special
    ordered = isinstance(column.dtype, pd.CategoricalDtype) and column.cat.ordered
    numbers = {text: _number(text) for text in texts}
    if texts and not ordered and all(number is not None for number in numbers.values()):
        return [numbers.get(value, value) if isinstance(value, str) else value for value in held]
    if level in ("interval", "ratio") and texts:
        strange = next(text for text in sorted(texts) if numbers[text] is None)
        remedy = "correct it, declare it missing or not applicable, or choose another level"
        if _number(strange.replace(",", ".")) is not None:
            remedy = "write a decimal point"
        raise InvalidData(f"level {level!r} needs numbers, got {shown(strange)}: {remedy}.")
    return held


def _check_mixed(values: list[Any], special: set[Hashable]) -> None:
    """Refuse ordinal ratings of which some are numbers and some are not: they stand in no order."""
    held = {value for value in values if value is not None and value not in special}
    texts = {value for value in held if isinstance(value, str)}
    numbers = {text for text in texts if _number(text) is not None}
    if texts - numbers and len(held) > len(texts - numbers):
        raise InvalidData(
            f"level 'ordinal' has numbers and the text {shown(min(texts - numbers))}, which stand in no order: declare "
            "it missing or not applicable, or declare the categories from lowest to highest."
        )


def _simple(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list | dict | set | np.ndarray):
        raise InvalidData(f"a rating is a number or a label, got {shown(value)}: give plain values.")
    return value.strip() if isinstance(value, str) else value


def declared_values(
    column: pd.Series[Any], level: Level, categories: Sequence[Any] | None, values: list[Any], special: set[Hashable]
) -> Sequence[Any] | None:
    """Return the declared categories in the values' own type; those of an ordered categorical count as declared."""
    import pandas as pd

    categories = declared_categories(categories)

    if categories is None:
        if level == "ordinal" and isinstance(column.dtype, pd.CategoricalDtype) and column.cat.ordered:
            return [_simple(name) for name in column.cat.categories if _simple(name) not in special]
        if level == "ordinal":
            _check_mixed(values, special)
        return None
    numeric = all(isinstance(value, int | float) for value in values if value is not None and value not in special)
    numbers = [_number(name) for name in categories]
    return [
        number if numeric and number is not None else name for name, number in zip(categories, numbers, strict=True)
    ]


def written(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def suspicious(values: list[Any]) -> Iterable[str]:
    texts = sorted({value for value in values if isinstance(value, str)})
    for text in texts:
        if text.casefold().strip(".") in _SUSPICIOUS:
            yield (
                f"{text!r} was taken as a label of the scale; declare it missing or not applicable where it means that "
                "(--missing, --na)"
            )
    seen: dict[str, str] = {}
    for text in texts:
        other = seen.setdefault(text.casefold(), text)
        if other != text:
            yield f"{other!r} and {text!r} differ only in capital letters and count as two categories"
