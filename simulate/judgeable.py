"""Whether a model can be asked for a rating on a scale, before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping

from annotate.errors import ConfigError
from annotate.schema import Scale
from simulate.task import CORRECT, Task

TURING = "turing"


def check_judgeable(task: Task, scale: Scale, stored: Mapping[str, Scale]) -> None:
    """Raise `ConfigError` where no prompt can ask for a scale, or where the study's ratings on it mean another one."""
    _check_prompt(task, scale)
    if scale.name == "final_answer" and CORRECT not in task.scales and task.outcome is not None:
        raise ConfigError(f"scale {CORRECT!r}: what outcome.py says has no scale. Add it to task.toml with its labels.")
    before = stored.get(scale.name)
    if before is not None and _meaning(before) != _meaning(scale):
        raise ConfigError(
            f"scale {scale.name!r}: is {_said(scale)} here, and the study has ratings on it as {_said(before)}. "
            f"Declare [scales.{scale.name}] in study.toml as the ratings have it, or rename one of the two."
        )


def _check_prompt(task: Task, scale: Scale) -> None:
    own = f"rate_{scale.name}"
    if scale.target == "pair":
        if scale.labels != ("first", "second"):
            raise ConfigError(f'scale {scale.name!r}: compares a pair. Write labels = ["first", "second"].')
        if not task.prompts.has(own):
            raise ConfigError(f"scale {scale.name!r}: compares a pair, and has no prompt. Add prompts/{own}.md.")
    elif scale.target != "conversation":
        raise ConfigError(
            f"scale {scale.name!r}: is for a {scale.target}, and models rate whole conversations or pairs. "
            'Write target = "conversation", or ask people.'
        )
    elif scale.name == TURING:
        raise ConfigError(f"scale {TURING!r}: is a comparison of a pair. Give a scale of another kind another name.")
    elif scale.numeric and not (_whole(scale.minimum) and _whole(scale.maximum)):
        raise ConfigError(
            f"scale {scale.name!r}: a model is asked for a whole number within bounds. "
            "Give 'minimum' and 'maximum' as whole numbers."
        )


def _whole(bound: float | None) -> bool:
    return bound is not None and float(bound).is_integer()


def _meaning(scale: Scale) -> tuple[object, ...]:
    labels = tuple(sorted(scale.labels)) if scale.level == "nominal" else scale.labels
    return scale.target, scale.level == "text", labels, *((scale.minimum, scale.maximum) if scale.numeric else ())


def _said(scale: Scale) -> str:
    if scale.labels:
        return f"one of {', '.join(scale.labels)} for a {scale.target}"
    if not scale.numeric:
        return f"a text for a {scale.target}"
    low, high = (("open" if bound is None else f"{bound:g}") for bound in (scale.minimum, scale.maximum))
    return f"{low} to {high} for a {scale.target}"
