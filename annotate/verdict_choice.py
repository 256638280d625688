"""The frame of verdicts, and whose verdicts count where several raters judged the same criterion of an episode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from annotate.episodes import VERDICT_COLUMNS
from annotate.errors import InputError, nearest

if TYPE_CHECKING:
    import pandas as pd

VALUES = ("pass", "fail", "na", "missing")


def verdict_frame(*, value: Any, **columns: Any) -> pd.DataFrame:
    """Return verdicts as a frame of categoricals; `value` holds positions in `VALUES`."""
    import pandas as pd

    values = pd.Categorical.from_codes(value, categories=pd.Index(list(VALUES), dtype=object))
    return pd.DataFrame({**columns, "value": values})[VERDICT_COLUMNS]


def one_rater(verdicts: pd.DataFrame, rater: str | None, source: str) -> tuple[pd.DataFrame, list[str]]:
    """Return the verdicts that count and what there is to say: of `rater`, or of all where no two judged the same.

    Without `rater`, where a model and people judged the same, the model's count (people check it, in an audit).
    `InputError` where several models did, or nobody has that name.
    """
    if rater is not None:
        return _of(verdicts, rater, source)
    if not _clash(verdicts):
        return verdicts, []
    models = verdicts[verdicts["rater_kind"] == "model"]
    if len(models) and not _clash(models):
        left = len(verdicts) - len(models)
        return _trimmed(models), [
            f"{left:,} verdicts of people are left out where a model judged too; theirs count with --rater NAME"
        ]
    names = [str(name) for name in (models if len(models) else verdicts)["rater"].dropna().unique()]
    raise InputError(
        f"{source}: several raters judged the same criterion of an episode ({', '.join(names[:6])}). "
        "Say whose verdicts count: --rater NAME"
    )


def _of(verdicts: pd.DataFrame, rater: str, source: str) -> tuple[pd.DataFrame, list[str]]:
    chosen = verdicts[verdicts["rater"] == rater]
    if not len(chosen):
        names = [str(name) for name in verdicts["rater"].dropna().unique()]
        raise InputError(
            f"{source}: no verdict is by the rater {rater!r}{nearest(rater, names)} "
            f"Raters: {', '.join(names[:10]) or 'none is named'}."
        )
    left = len(verdicts) - len(chosen)
    return _trimmed(chosen), [f"{left:,} verdicts of other raters than {rater!r} are left out"] if left else []


def _trimmed(verdicts: pd.DataFrame) -> pd.DataFrame:
    return verdicts.reset_index(drop=True)


def _clash(verdicts: pd.DataFrame) -> bool:
    """Whether an (episode, criterion) has more than one verdict."""
    if verdicts["rater"].cat.codes.nunique() < 2:
        return False
    codes = verdicts["episode"].cat.codes.astype("int64") * (len(verdicts["criterion"].cat.categories) + 1)
    return bool((codes + verdicts["criterion"].cat.codes).duplicated().any())
