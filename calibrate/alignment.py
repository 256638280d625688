"""Rating alignment: do simulated ratings order conversations, groups and assistants as human ratings do?

Three levels: `instance` (each conversation), `intermediate` (means per assistant × group, the main figure),
`system` (means per assistant). Three coefficients: Spearman's ρ, Pearson's r, Kendall's τ-b. Two scales for
the human side: `raw`, and `z` (relative to the annotator, see `stats.normalise`); simulated ratings are never
normalised.

Three targets, because one number answers three questions, each with an interval of its own:

| target | value | interval |
|---|---|---|
| fresh_conversations | ρ̂ | tanh(atanh ρ̂ ± z · 1.15 · SD*), SD* over a bootstrap of annotators |
| noise_free | ρ̂ / √(rel_h · rel_s) | ± z · 1.15 · SE by the delta method |
| new_assistants | ρ̂ | jackknife of atanh ρ over assistants, t with A − 1 degrees of freedom |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from annotate.errors import InputError
from calibrate.estimate import Estimate, Signature, Undefined, fork, signature_of
from calibrate.metric import Chosen, Evidence, Metric, choose
from calibrate.stats.correlation import MIN_PAIRS, Coefficient, correlate, half_step, kendall, pearson, spearman
from calibrate.stats.correlation_limits import MIN_GROUPS, jackknife_limits, noise_free_limits
from calibrate.stats.group_means import group_means, reliability_of_means
from calibrate.stats.grouped import Draws, Level, Rows, Scores, bootstrap
from calibrate.stats.normalise import Scales, fit_scales
from calibrate.stats.resample import Replicates, cluster_jackknife

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "COEFFICIENTS",
    "KENDALL",
    "PEARSON",
    "SPEARMAN",
    "TARGETS",
    "Alignment",
    "Cell",
    "Coefficient",
    "Level",
    "Scores",
    "Target",
    "align",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Target = Literal["fresh_conversations", "noise_free", "new_assistants"]

SPEARMAN = Metric("spearman", "association", spearman, symbol="ρ", coefficient="spearman")
PEARSON = Metric("pearson", "association", pearson, symbol="r", coefficient="pearson")
KENDALL = Metric("kendall", "association", kendall, symbol="τ", coefficient="kendall")
COEFFICIENTS: dict[Coefficient, Metric] = {"spearman": SPEARMAN, "pearson": PEARSON, "kendall": KENDALL}

TARGETS: dict[Target, str] = {
    "fresh_conversations": "the same assistants and groups on fresh conversations",
    "noise_free": "the same groups' true means, without rating noise",
    "new_assistants": "new assistants",
}
RESAMPLES = 1000
_REQUIRED = ("conversation", "annotator", "assistant", "human", "simulated")


class Cell(NamedTuple):
    """Which figure of an alignment."""

    level: Level
    coefficient: Coefficient
    scores: Scores
    target: Target

    @property
    def name(self) -> str:
        """The name that its estimate carries."""
        return "alignment." + ".".join(self)


@dataclass(frozen=True)
class Alignment:
    """All estimates of an alignment, the group means behind them, and what was left out.

    `group_means` has one row per assistant × group: n, human_raw, human_z, simulated. `human_z` is the
    z-score of each matched row, in the order of the frame. `dropped` counts, by column, the rows in which it
    is missing (a row that lacks two counts at both), `rows_dropped` counts each row once.
    """

    estimates: dict[Cell, Estimate]
    group_means: pd.DataFrame
    human_z: FloatArray
    scales: Scales
    dropped: dict[str, int]
    rows_dropped: int

    def get(
        self,
        level: Level = "intermediate",
        coefficient: Coefficient = "spearman",
        scores: Scores = "z",
        target: Target = "fresh_conversations",
    ) -> Estimate:
        """Return one estimate; with no argument the main figure."""
        return self.estimates[Cell(level, coefficient, scores, target)]


def align(
    frame: pd.DataFrame,
    *,
    rng: Generator | None = None,
    groups: Sequence[str] = ("group",),
    all_ratings: pd.DataFrame | None = None,
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
    ddof: int = 1,
) -> Alignment:
    """Return how well simulated ratings follow human ones: three levels × coefficients × targets, raw and z-scored.

    Neither the order of rows nor the names of annotators and conversations change an estimate.

    Args:
        frame: one row a conversation: conversation, annotator, assistant, the columns in `groups`, human,
            simulated. A row with anything missing is left out and counted.
        rng: drawn from through a child; without it there is no bootstrap interval, and each estimate says so.
        groups: columns that make, with the assistant, the groups of the intermediate level (difficulty,
            document type).
        all_ratings: annotator and human of every human rating there is, for the z-scores; where it is not
            given, all human ratings in `frame`, also those without a simulated one.
        resamples: bootstrap resamples of annotators; z-scores, group means and ranks are recomputed in each.
        confidence: level of the intervals.
        ddof: of the annotators' standard deviations.

    Raises:
        InputError: a column is missing, a rating is not a number, or an annotator rates a conversation twice.
    """
    matched, dropped = _matched(frame, groups)
    ordered, ratings = _ordered(matched, _ratings(frame if all_ratings is None else all_ratings), groups)
    rows = _rows(ordered, ratings, groups, ddof)
    signature, draws = _draw(rows, rng, resamples)
    estimates: dict[Cell, Estimate] = {}
    for level in get_args(Level):
        for coefficient in get_args(Coefficient):
            for scores in get_args(Scores):
                drawn = draws.get((level, coefficient, scores))
                figure = _Figure(rows, level, coefficient, scores, confidence, drawn, signature)
                estimates |= figure.estimates()
    return Alignment(
        estimates=estimates,
        group_means=_table(ordered, rows, groups),
        human_z=rows.scales.z(matched["annotator"].to_numpy(), matched["human"].to_numpy(np.float64)),
        scales=rows.scales,
        dropped=dropped,
        rows_dropped=len(frame) - len(matched),
    )


# --------------------------------------------------------------------------------------------------------- reading


def _matched(frame: pd.DataFrame, groups: Sequence[str]) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return the rows that have everything, ratings as numbers, and how many rows lack each column."""
    columns = [*_REQUIRED, *groups]
    _require(frame, columns)
    table = frame[columns].assign(**{side: _numbers(frame, side) for side in ("human", "simulated")})
    missing = table.isna()
    matched = table[~missing.any(axis=1)].reset_index(drop=True)
    twice = matched[matched.duplicated(["conversation", "annotator"])]
    if len(twice):
        first = twice.iloc[0]
        raise InputError(
            f"alignment: annotator '{first['annotator']}' rates conversation '{first['conversation']}' more than once. "
            "Keep one rating, and align one simulator at a time."
        )
    return matched, {str(column): int(count) for column, count in missing.sum().items() if count}


def _ratings(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return annotator and human of all human ratings that the z-scores rest on."""
    _require(ratings, ["annotator", "human"])
    return ratings[["annotator"]].assign(human=_numbers(ratings, "human")).dropna()


def _ordered(
    matched: pd.DataFrame, ratings: pd.DataFrame, groups: Sequence[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both tables with annotators sorted by what they rated: the bootstrap numbers them in this order."""
    cells = matched.assign(_cell=_number(matched, ["assistant", *groups]))
    held: dict[Any, tuple[list[Any], list[Any]]] = {}
    for side, (table, columns) in enumerate(((ratings, ["human"]), (cells, ["_cell", "human", "simulated"]))):
        for who, row in zip(table["annotator"], table[columns].itertuples(index=False, name=None), strict=True):
            held.setdefault(who, ([], []))[side].append(row)
    place = {who: rank for rank, who in enumerate(sorted(held, key=lambda who: tuple(map(sorted, held[who]))))}
    return (
        _sorted(cells, place, ["_cell", "human", "simulated"]).drop(columns="_cell"),
        _sorted(ratings, place, ["human"]),
    )


def _sorted(table: pd.DataFrame, place: dict[Any, int], columns: list[str]) -> pd.DataFrame:
    ranked = table.assign(_place=table["annotator"].map(place))
    return ranked.sort_values(["_place", *columns], kind="stable").drop(columns="_place").reset_index(drop=True)


def _require(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    lacking = [column for column in columns if column not in frame.columns]
    if lacking:
        raise InputError(f"alignment: column {lacking[0]!r} is missing. Needed are {', '.join(columns)}.")


def _numbers(frame: pd.DataFrame, column: str) -> pd.Series[float]:
    import pandas as pd

    numbers = pd.to_numeric(frame[column], errors="coerce").astype("float64")
    wrong = (numbers.isna() & frame[column].notna()) | np.isinf(numbers)
    if wrong.any():
        value = frame.loc[wrong, column].iloc[0]
        raise InputError(
            f"alignment: {column} rating '{value}' is not a number. Leave a missing rating empty and export again."
        )
    return numbers


def _rows(matched: pd.DataFrame, ratings: pd.DataFrame, groups: Sequence[str], ddof: int) -> Rows:
    rater, human = ratings["annotator"].to_numpy(), ratings["human"].to_numpy(np.float64)
    scales = fit_scales(rater, human, ddof=ddof)
    annotator, rating = matched["annotator"].to_numpy(), matched["human"].to_numpy(np.float64)
    try:
        person = scales.codes(annotator)
    except ValueError as error:
        raise InputError(f"alignment: {error}. Pass all human ratings as all_ratings, or none.") from error
    return Rows(
        person=person,
        assistant=_number(matched, ["assistant"]),
        cell=_number(matched, ["assistant", *groups]),
        human=rating,
        z=scales.z(annotator, rating),
        simulated=matched["simulated"].to_numpy(np.float64),
        file_person=scales.codes(rater),
        file_human=human,
        scales=scales,
    )


def _number(frame: pd.DataFrame, columns: list[str]) -> IntArray:
    return np.asarray(frame.groupby(columns, sort=True, observed=True).ngroup(), dtype=np.int64)


def _draw(rows: Rows, rng: Generator | None, resamples: int) -> tuple[Signature, Draws]:
    if rng is None or len(rows.human) == 0:
        return Signature(), {}
    child = fork(rng)
    return signature_of(child, resamples), bootstrap(rows, resamples, child)


def _table(matched: pd.DataFrame, rows: Rows, groups: Sequence[str]) -> pd.DataFrame:
    table = matched.assign(human_raw=rows.human, human_z=rows.z)
    by = table.groupby(["assistant", *groups], sort=True, observed=True)
    means = by[["human_raw", "human_z", "simulated"]].mean()
    means.insert(0, "n", by.size())
    return means.reset_index()


# ------------------------------------------------------------------------------------------------------- estimates


@dataclass(frozen=True)
class _Figure:
    """One coefficient at one level on one scale, and its estimates for the three targets."""

    rows: Rows
    level: Level
    coefficient: Coefficient
    scores: Scores
    confidence: float
    drawn: Replicates | None
    signature: Signature

    def estimates(self) -> dict[Cell, Estimate]:
        """Return the estimate for each target."""
        value = self._on(np.arange(len(self.rows.human)))
        made: dict[Target, Estimate]
        if isinstance(value, Undefined):
            made = {target: self._undefined(target, value.reason) for target in get_args(Target)}
        else:
            fresh = self._fresh(value)
            made = {
                "fresh_conversations": self._estimate("fresh_conversations", value, fresh),
                "noise_free": self._noise_free(value, fresh),
                "new_assistants": self._estimate("new_assistants", value, self._new_assistants(value)),
            }
        return {self._cell(target): estimate for target, estimate in made.items()}

    def _on(self, chosen: IntArray) -> float | Undefined:
        """Return the coefficient on a selection of rows, z-scores as they are."""
        human, simulated = self.rows.side(self.scores)[chosen], self.rows.simulated[chosen]
        if self.level != "instance":
            means = group_means(self.rows.units(self.level)[chosen], human, simulated)
            human, simulated = means.x, means.y
        if len(human) < MIN_PAIRS:
            return Undefined(f"fewer than three {'conversations' if self.level == 'instance' else 'groups'}")
        return correlate(self.coefficient, human, simulated, sides=("human", "simulated"))

    def _fresh(self, value: float) -> Chosen:
        evidence = Evidence(
            columns=(),
            cluster=self.rows.person,
            level=self.confidence,
            drawn=None if self.drawn is None else (self.drawn, self.signature),
            pairs=self._units,
        )
        return choose(COEFFICIENTS[self.coefficient], value, evidence)

    def _noise_free(self, value: float, fresh: Chosen) -> Estimate:
        if self.level == "instance":
            return self._undefined("noise_free", "one rating a conversation tells nothing of its noise")
        if self.coefficient == "kendall":
            return self._undefined("noise_free", "the correction for unreliability does not hold for Kendall's τ")
        units = self.rows.units(self.level)
        human = reliability_of_means(units, self.rows.side(self.scores))
        simulated = reliability_of_means(units, self.rows.simulated)
        if isinstance(human, Undefined):
            return self._undefined("noise_free", f"human side: {human.reason}")
        if isinstance(simulated, Undefined):
            return self._undefined("noise_free", f"simulated side: {simulated.reason}")
        sd = None if fresh.spread is None else fresh.spread.sd
        found = noise_free_limits(value, sd, human, simulated, self.confidence)
        if isinstance(found, Undefined):
            return self._undefined("noise_free", found.reason)
        method = (
            "ρ̂/√(rel_human · rel_simulated), SE · 1.15 by the delta method and a bootstrap over annotators; "
            "the noise of both sides is taken as independent"
        )
        extra: dict[str, float | int | str | None] = {
            "reliability_human": human.value,
            "reliability_simulated": simulated.value,
            "groups_of_one_rating": human.borrowed,
            "value_before_cut_at_1": found.uncut,
        }
        return self._estimate("noise_free", found.value, Chosen(found.interval, method, fresh.signature, extra))

    def _new_assistants(self, value: float) -> Chosen:
        assistants = int(self.rows.assistant.max()) + 1
        if assistants < MIN_GROUPS:
            return Chosen(Undefined(f"{assistants} assistants are too few (at least {MIN_GROUPS})"), None)
        left_out = cluster_jackknife(self._on, self.rows.assistant)
        limit = half_step(self.coefficient, self._units)
        method = f"delete-one-assistant jackknife of atanh, t with {assistants - 1} df, z-scores held"
        return Chosen(jackknife_limits(value, left_out, limit, self.confidence), method)

    @property
    def _units(self) -> int:
        return len(np.unique(self.rows.units(self.level)))

    def _cell(self, target: Target) -> Cell:
        return Cell(self.level, self.coefficient, self.scores, target)

    def _common(self, target: Target) -> dict[str, Any]:
        assistants = len(np.unique(self.rows.assistant))
        symbol = COEFFICIENTS[self.coefficient].symbol
        extra: dict[str, float | int | str | None] = {"assistants": assistants, "symbol": symbol}
        if self.level != "instance":
            extra["groups"] = self._units
        clusters = assistants if target == "new_assistants" else len(np.unique(self.rows.person))
        return {
            "n": len(self.rows.human),
            "clusters": clusters,
            "level": self.confidence,
            "target": TARGETS[target],
            "extra": extra,
        }

    def _undefined(self, target: Target, reason: str) -> Estimate:
        return Estimate.undefined(self._cell(target).name, reason, **self._common(target))

    def _estimate(self, target: Target, value: float, chosen: Chosen) -> Estimate:
        common = self._common(target)
        common["extra"] |= chosen.extra
        return Estimate(name=self._cell(target).name, value=value, **common, **chosen.as_fields())
