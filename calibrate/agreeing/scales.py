"""Agreement on a scale of a study: its level, categories, kinds of raters and clusters are known."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from annotate.rating_rows import ScaleRatings, scale_categories
from calibrate.agreement import RESAMPLES, Agreement, agreement
from calibrate.estimate import Undefined

if TYPE_CHECKING:
    import pandas as pd

    from calibrate.stats.agreement.ratings import Level

PERSON = "participant"


def scale_agreement(
    rated: ScaleRatings,
    *,
    level: Level | None = None,
    by: str | None = None,
    cluster: str | None = None,
    categories: Sequence[Any] | None = None,
    missing: Iterable[Hashable] = (),
    not_applicable: Iterable[Hashable] = (),
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Agreement | Undefined:
    """Return the agreement of a scale's raters, or why there is none: no rating, or no unit with two.

    Where every unit belongs to a person's conversation, all units of a person are resampled together; `cluster` names
    another column. A scale that several tasks use is told by task as well. Options as in `agreement`.
    """
    frame = rated.frame
    if not len(frame):
        return Undefined("no rating yet")
    valued = frame[frame["value"].notna()]
    if not len(valued) or valued.groupby("unit")["rater"].nunique().max() < 2:
        return Undefined("no unit has two ratings")
    if cluster is None and frame[PERSON].notna().all():
        cluster = PERSON
    if by is None and frame["task"].nunique(dropna=False) > 1:
        by = "task"
    repeats = f"{rated.repeats} ratings were given again by the same rater; the last one counts"
    return agreement(
        frame,
        level=level or cast("Level", rated.scale.level),
        unit="unit",
        rater="rater",
        value="value",
        kind="kind",
        by=by,
        cluster=cluster,
        categories=categories or scale_categories(rated.scale, valued["value"]),
        missing=missing,
        not_applicable=not_applicable,
        state="missing",
        scale=rated.scale.name,
        seed=seed,
        resamples=resamples,
        notes=[repeats] if rated.repeats else [],
    )


def scale_agreements(scales: Iterable[ScaleRatings], *, seed: int = 0, resamples: int = RESAMPLES) -> list[Agreement]:
    """Return the agreement on every scale that has a unit with two ratings, in the order given."""
    made = (scale_agreement(rated, seed=seed, resamples=resamples) for rated in scales)
    return [found for found in made if isinstance(found, Agreement)]


def within(rated: ScaleRatings, frame: pd.DataFrame) -> ScaleRatings:
    """Return the ratings with some of their rows."""
    return replace(rated, frame=frame)
