"""Agreement of raters on one scale: a table of ratings in, everything that is said about it out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from calibrate.estimate import Estimate
from calibrate.stats.agreement.ratings import Level

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

RESAMPLES = 1000
MIXED = "people and models"
"""The kind that holds every pair of a person's and a model's rating of one unit."""
Kind = Literal["people", "models", "both"]


@dataclass(frozen=True)
class Marginal:
    """How one rater used the scale: `shares` by category (of `n` ratings), mean where the level has one."""

    rater: str
    kind: str
    n: int
    not_applicable: int
    shares: Mapping[Any, float]
    mean: float | None


@dataclass(frozen=True)
class PairAgreement:
    """Two raters on the `n` units that both rated: raw agreement and the level's κ (see `kappa.name`)."""

    first: str
    second: str
    n: int
    raw: Estimate
    kappa: Estimate


@dataclass(frozen=True)
class Confusion:
    """`n` of the pair's `of` common units were `first_value` to the first rater and `second_value` to the second."""

    first: str
    second: str
    first_value: Any
    second_value: Any
    n: int
    of: int


@dataclass(frozen=True)
class SplitUnit:
    """A unit that raters split on: `disagreement` is the mean distance between its ratings, 1 the worst there is."""

    unit: str
    values: Mapping[str, Any]
    disagreement: float


@dataclass(frozen=True)
class GroupAgreement:
    """All coefficients of one group of units (or of all of them), by name, in the order in which they are shown.

    `estimates` always holds `raw_agreement`; `marginals` are the shares of all ratings together; `remark` is one
    sentence where the prevalence paradox bites.
    """

    name: str
    units: int
    paired_units: int
    ratings: int
    raters: int
    missing: int
    not_applicable: int
    estimates: Mapping[str, Estimate]
    marginals: Mapping[Any, float]
    remark: str | None = None


@dataclass(frozen=True, repr=False)
class Agreement:
    """What raters agree on, on one scale.

    sentence: the plain answer. overall: all units and raters. kinds: people among themselves, models among themselves,
    and pairs of a person and a model, where both kinds rated. groups: one entry a group that was asked for.
    notes: what a reader must know before using the numbers (few units, ties, left-out rows).
    """

    scale: str
    level: Level
    categories: tuple[Any, ...]
    declared: bool
    sentence: str
    overall: GroupAgreement
    kinds: Sequence[GroupAgreement]
    groups: Sequence[GroupAgreement]
    group_by: str | None
    raters: Sequence[Marginal]
    pairs: Sequence[PairAgreement]
    confusions: Sequence[Confusion]
    split: Sequence[SplitUnit]
    cluster: str
    notes: Sequence[str] = field(default_factory=tuple)

    def __repr__(self) -> str:
        return f"<Agreement on {self.scale!r}: {self.sentence}>"

    def __str__(self) -> str:
        from calibrate.report.agreement.terminal import lines

        return "\n".join(lines(self))

    def _repr_html_(self) -> str:
        from calibrate.report.agreement.tables import to_fragment

        return to_fragment(self)

    def to_frame(self) -> pd.DataFrame:
        """Return every number as a tidy frame: one row a coefficient of all, a kind, a group or a pair."""
        from calibrate.report.agreement.tables import to_frame

        return to_frame(self)

    def summary(self) -> str:
        """Return a sentence for a paper: who rated what, raw agreement, α, with interval, method and target."""
        from calibrate.report.agreement.tables import summary

        return summary(self)

    def write(self, folder: Path) -> dict[str, Path]:
        """Write HTML, Markdown, CSV, LaTeX and JSON into a folder; return their paths."""
        from calibrate.report.agreement.writing import write

        return write([self], folder)


def agreement(
    frame: pd.DataFrame,
    *,
    level: Level,
    unit: str | None = None,
    rater: str | None = None,
    value: str | None = None,
    kind: str | None = None,
    raters: Sequence[str] = (),
    models: Sequence[str] = (),
    by: str | None = None,
    cluster: str | None = None,
    categories: Sequence[Any] | None = None,
    missing: Iterable[Hashable] | str = (),
    not_applicable: Iterable[Hashable] | str = (),
    state: str | None = None,
    of_kind: Kind = "both",
    scale: str = "ratings",
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
    notes: Sequence[str] = (),
) -> Agreement:
    """Return how well raters agree: raw agreement, α, κ, AC1/AC2, ICC as the level allows, each with an interval.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"ann": [1, 2, 3, 3, 2, 1], "bo": [1, 2, 3, 3, 2, 2], "cy": [1, 3, 3, 3, 2, 1]})
    >>> round(agreement(table, level="ordinal", resamples=200).overall.estimates["alpha_ordinal"].value, 3)
    0.864

    Args:
        frame: one row a rating (columns for unit, rater and value), or one row a unit and one column a rater. Missing
            ratings are None, nan, blank text, or absent rows.
        level: of measurement: nominal, ordinal, interval or ratio. Always given: no coefficient can guess it.
        unit, rater, value, kind: names of columns; where not given they are found by their usual names. `kind` says of
            each rater whether it is one of people or of models.
        raters: only these, of a wide table these columns. A column that nobody named and that holds other values than
            the rest is refused.
        models: which of the raters are models; all others are people. Without it a column `kind` says so, if any.
        by: a column whose values make groups of units; each gets its own coefficients.
        cluster: a column that says which units depend on each other (a person's conversations); whole clusters are
            resampled. Each unit for itself where it is not given.
        categories: all that could have been used, lowest first; those that occur where not given.
        missing, not_applicable: values that mean "no rating" and "does not apply"; one that never occurs is refused.
        state: a column that says `not_applicable` where the value is empty for that reason.
        of_kind: only people, only models, or both.
        scale: a name for what was rated.
        seed, resamples, confidence: of the bootstrap intervals.

    Raises:
        InvalidData: a column is not there, a value breaks the level's rules, a unit is rated twice by one rater, or
            there are not two raters.
    """
    from calibrate.agreeing.answering import answered
    from calibrate.agreeing.naming import Naming
    from calibrate.agreeing.table import read_frame

    naming = Naming(unit, rater, value, kind, by, cluster, _several(raters), _several(models))
    table = read_frame(
        frame,
        naming,
        level=level,
        categories=categories,
        missing=_several(missing),
        not_applicable=_several(not_applicable),
        state=state,
    )
    return answered(
        table, scale=scale, of_kind=of_kind, seed=seed, resamples=resamples, confidence=confidence, notes=notes
    )


def _several(values: Iterable[Any] | str) -> tuple[Any, ...]:
    """Return values as a tuple; a text is one value, not its letters."""
    if values is None:
        return ()
    return (values,) if isinstance(values, str | int | float) else tuple(values)
