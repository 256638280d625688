"""What a table of episodes or verdicts must hold, checked once: texts, numbers, allowed values, categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from annotate.errors import InputError, nearest

if TYPE_CHECKING:
    import pandas as pd

UNKNOWN = "unknown"


def require(frame: pd.DataFrame, columns: list[str], what: str) -> None:
    missing = [name for name in columns if name not in frame]
    if missing:
        raise InputError(f"the {what} have no column {missing[0]!r}: add it to the table.")


def texts(column: pd.Series[Any], absent: str) -> NDArray[Any]:
    filled = column.astype(object).where(column.notna(), absent)
    return filled.astype(str).to_numpy(dtype=object)


def numbers(column: pd.Series[Any], name: str) -> NDArray[np.float64]:
    import pandas as pd

    numbers = pd.to_numeric(column.astype(object), errors="coerce").to_numpy(dtype=np.float64)
    wrong = np.flatnonzero((np.isnan(numbers) & column.notna().to_numpy()) | np.isinf(numbers))
    if len(wrong):
        raise InputError(
            f"{name} {str(column.iloc[wrong[0]])!r} is not a number: correct it, or leave it empty for unknown."
        )
    if name.endswith("cost_usd") and (numbers < 0).any():
        raise InputError(f"{name} {float(np.nanmin(numbers))!r} is below 0: correct it, or leave it empty for unknown.")
    return numbers


def check_values(column: pd.Series[Any], allowed: tuple[str, ...], what: str) -> None:
    seen = column.cat.categories if hasattr(column, "cat") else column.unique()
    wrong = [str(value) for value in seen if value not in allowed]
    if wrong:
        raise InputError(f"{what} {wrong[0]!r} is none of {', '.join(allowed)}{nearest(wrong[0], allowed)}")


def categories(column: pd.Series[Any]) -> pd.Categorical:
    """Return texts as a categorical with sorted categories, an absent one as `unknown`."""
    import pandas as pd

    codes, seen = pd.factorize(column, sort=False, use_na_sentinel=True)
    labels = [str(value) for value in seen] + [UNKNOWN] * bool((codes < 0).any())
    names = sorted(set(labels))
    places = {name: place for place, name in enumerate(names)}
    lookup = np.array([places[label] for label in labels], dtype=np.int64)
    return pd.Categorical.from_codes(lookup[codes] if len(codes) else codes, categories=pd.Index(names, dtype=object))
