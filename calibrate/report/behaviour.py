"""What no judge is needed for: how long messages are and how many, people against their twins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from calibrate.estimate import Estimate
from calibrate.metric import Metric, average
from calibrate.report import figures
from calibrate.report.context import Context, task_label
from calibrate.report.document import Block, Table
from calibrate.report.ratings import mean_by_person
from calibrate.report.wording import number

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Trait:
    """Something to count in a conversation: its column, name and unit, and how it gives a twin away.

    `tell` is empty for a trait that says nothing which the others do not.
    """

    column: str
    name: str
    unit: str
    tell: str
    each: str


TRAITS = (
    Trait("words_per_message", "Words per message", "words", "length", "words a message"),
    Trait("user_words", "Words per conversation", "words", "", ""),
    Trait(
        "user_turns", "Messages per conversation", "messages", "number of messages", "messages a conversation"
    ),
    Trait("document_words", "Words of the document", "words", "length of the document", "words"),
)


@dataclass(frozen=True)
class Paired:
    """A trait of people and of their twins, matched by human conversation (twins of one are averaged)."""

    trait: Trait
    person: NDArray[np.object_]
    human: NDArray[np.float64]
    twin: NDArray[np.float64]

    def estimates(self) -> tuple[Estimate, Estimate, Estimate]:
        """Return the mean of people, of twins, and of twin − own person, with intervals over people."""
        name, unit = self.trait.name.lower(), self.trait.unit
        columns = {"people": self.human, "twins": self.twin, "twin − own person": self.twin - self.human}
        made = [
            mean_by_person(Metric(f"{name}, {who}", "mean", average, unit), values, self.person)
            for who, values in columns.items()
        ]
        return made[0], made[1], made[2]

    @property
    def contrast(self) -> float:
        """How many human standard deviations the twins lie away; 0 where that cannot be said."""
        spread = float(self.human.std(ddof=1)) if len(self.human) > 1 else 0.0
        return abs(float((self.twin - self.human).mean())) / spread if spread > 0 else 0.0


def paired(context: Context, task: str, strategy: str, trait: Trait) -> Paired:
    """Return a trait of each person's conversation and of its twins under a strategy, where both have it."""
    humans = context.human(task).set_index("conversation")
    twins = context.twins(task, strategy)
    values = pd.to_numeric(twins[trait.column], errors="coerce").groupby(twins["twin_of"]).mean()
    own = pd.to_numeric(humans[trait.column], errors="coerce")
    both = pd.DataFrame({"human": own, "twin": values.reindex(own.index), "person": humans["participant"]})
    both = both[both["human"].notna() & both["twin"].notna()]
    return Paired(
        trait,
        both["person"].to_numpy(),
        both["human"].to_numpy(np.float64),
        both["twin"].to_numpy(np.float64),
    )


def gives_away(context: Context, task: str, strategy: str) -> str:
    """Say which trait tells twins from people best: `length (89 against 16 words a message)`.

    Only a trait whose paired difference has an interval without 0 counts; an empty text where none has.
    """
    clear = []
    for trait in [trait for trait in TRAITS if trait.tell]:
        both = paired(context, task, strategy, trait)
        limits = both.estimates()[2].interval
        if limits is not None and (limits.low > 0 or limits.high < 0):
            clear.append(both)
    if not clear:
        return ""
    best = max(clear, key=lambda both: both.contrast)
    places = 0 if min(best.human.mean(), best.twin.mean()) >= 10 else 1
    twin, human = number(float(best.twin.mean()), places), number(float(best.human.mean()), places)
    return f"{best.trait.tell} ({twin} against {human} {best.trait.each})"


def behaviour_blocks(context: Context, task: str) -> list[Block]:
    """Return figure and tables on the length and number of messages, strategy by strategy."""
    strategies = context.frames.strategies(task)
    spreads = [figures.Spread("people", _values(context.human(task)), simulated=False)]
    spreads += [figures.Spread(f"twins, {s}", _values(context.twins(task, s)), True) for s in strategies]
    spreads = [spread for spread in spreads if spread.values]
    blocks: list[Block] = []
    if spreads:
        drawn = figures.strips(
            f"words-{task}",
            spreads,
            x_label="Words per message",
            caption="Words per message, one value a conversation. Upright line: median, its value above; "
            "grey: the middle half; where there are no dots, a thin line runs from the 5th to the 95th "
            "percentile.",
            place=task_label(task),
        )
        blocks.append(drawn)
    for strategy in strategies:
        rows = []
        for trait in TRAITS:
            both = paired(context, task, strategy, trait)
            if len(both.human):
                rows.append((trait.name, *both.estimates()))
        if rows:
            caption = f"People and their twins, {strategy}; no judge needed"
            blocks.append(Table(caption, ("", "People", "Twins", "Twin − own person"), tuple(rows)))
    return blocks


def people_table(context: Context, task: str) -> Table:
    """Return the length and number of people's messages, for a task without twins."""
    rows = context.human(task)
    made = []
    for trait in TRAITS:
        values = pd.to_numeric(rows[trait.column], errors="coerce")
        known = values.notna()
        if known.any():
            metric = Metric(f"{trait.name.lower()}, people", "mean", average, trait.unit)
            person = rows.loc[known, "participant"].to_numpy()
            made.append((trait.name, mean_by_person(metric, values[known].to_numpy(np.float64), person)))
    return Table(f"How people talk, {task_label(task)}", ("", "Mean"), tuple(made))


def _values(rows: pd.DataFrame) -> tuple[float, ...]:
    known = pd.to_numeric(rows["words_per_message"], errors="coerce").dropna()
    return tuple(float(value) for value in known)
