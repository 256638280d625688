"""What the parts of a report share: frames, groups, where the data come from, and the randomness."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calibrate.estimate import Estimate
from calibrate.report.document import Band, Block

if TYPE_CHECKING:
    import pandas as pd
    from numpy.random import Generator

    from annotate.config import StudyConfig
    from annotate.frames import StudyFrames

EMBEDDED = "local/smollm2"
EXERCISE = f"Pipeline exercise, not evidence: {EMBEDDED}, the embedded 135M model."
SHORT_EXERCISE = "Pipeline exercise, not evidence"
ALL_EXERCISE = (
    f"{SHORT_EXERCISE}: every figure of a twin or a judge below rests on {EMBEDDED} (135M parameters)."
)
LABELS = {"math_tutoring": "math tutoring", "document_creation": "document creation", "service": "service"}


@dataclass(frozen=True)
class Context:
    """A study as the report sees it. `group_by`: task → the tags that make groups with the assistant."""

    frames: StudyFrames
    config: StudyConfig
    seed: int
    resamples: int
    recorded: bool
    demo: bool
    group_by: Mapping[str, tuple[str, ...]]

    def generator(self, part: str) -> Generator:
        """Return the generator of one part: its own, so that a figure does not depend on other parts."""
        from numpy.random import SeedSequence, default_rng

        return default_rng(SeedSequence(self.seed, spawn_key=(zlib.crc32(part.encode("utf-8", "replace")),)))

    def groups(self, task: str) -> tuple[str, ...]:
        """Return the tags that group a task: as given, or as its section of study.toml says."""
        if task in self.group_by:
            return self.group_by[task]
        declared = self.config.tasks.get(task)
        return declared.group_by or () if declared else ()

    def human(self, task: str) -> pd.DataFrame:
        """Return the human conversations of a task."""
        rows = self.frames.conversations
        return rows[(rows["task"] == task) & (rows["origin"] == "human")]

    def twins(self, task: str, strategy: str | None = None) -> pd.DataFrame:
        """Return the simulated conversations of a task, of one strategy where it is given."""
        rows = self.frames.conversations
        chosen = (rows["task"] == task) & (rows["origin"] == "simulated")
        return rows[chosen if strategy is None else chosen & (rows["strategy"] == strategy)]

    def main_strategy(self, task: str) -> str | None:
        """Return the strategy on the cards: the last of the run file that has twins, else the last that has.

        Fixed by the run file and not by the results, so that the cards never show the luckiest of several.
        """
        present = self.frames.strategies(task)
        planned = [name for name in self.config.run.strategies if name in present]
        chosen = planned or present
        return chosen[-1] if chosen else None

    def judges(self, scale: str) -> list[str]:
        """Return the models that judged on a scale, those of [run] judges first and in its order.

        Which model happened to answer first decides nothing.
        """
        planned = [(self.model_name(name), name) for name in self.config.run.judges]

        def place(judge: str) -> int:
            known = (
                index
                for index, (model, name) in enumerate(planned)
                if judge in (model, f"{model} ({name})") or judge.startswith(f"{model} ({name}, ")
            )
            return next(known, len(planned))

        return sorted((judge for judge in self.frames.judges(scale) if judge), key=place)

    def model_name(self, name: str | None) -> str:
        """Return the full name of a model of study.toml, or the name itself where it declares none."""
        declared = self.config.models.get(name or "")
        return declared.model if declared else str(name)

    def exercise_judge(self, judge: str) -> bool:
        """Whether a judge is the embedded model."""
        return self.model_name(judge).startswith(EMBEDDED)

    @property
    def exercise_twins(self) -> bool:
        """Whether the twins were written by the embedded model, or talked to it."""
        run = self.config.run
        parties = [
            self.model_name(name) for name in (run.user, run.assistant, *run.assistants.values()) if name
        ]
        models = parties or [str(name) for name in self.frames.calls.get("models", [])]
        return any(name.startswith(EMBEDDED) for name in models)


def task_label(task: str) -> str:
    """Return a task's name as prose."""
    return LABELS.get(task, task.replace("_", " "))


def banded(exercise: bool, blocks: list[Block]) -> list[Block]:
    """Return the blocks, under the grey band where they rest on the embedded model."""
    return [Band(EXERCISE, tuple(blocks))] if exercise and blocks else blocks


def joined(blocks: list[Block]) -> tuple[Block, ...]:
    """Return the blocks, neighbouring bands of the same text as one."""
    made: list[Block] = []
    for block in blocks:
        last = made[-1] if made else None
        if isinstance(block, Band) and isinstance(last, Band) and last.text == block.text:
            made[-1] = Band(block.text, (*last.blocks, *block.blocks))
        else:
            made.append(block)
    return tuple(made)


def scaled(estimate: Estimate, factor: float, unit: str) -> Estimate:
    """Return an estimate in another unit: value and limits times `factor` (shares as percentages)."""
    changed: dict[str, float | str | None] = {"unit": unit}
    for name in ("value", "low", "high"):
        number = getattr(estimate, name)
        changed[name] = None if number is None else number * factor
    return estimate.model_copy(update=changed)
