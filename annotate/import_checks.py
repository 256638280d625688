"""What an import refuses: what a database cannot hold, and annotations of something that they cannot be of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from annotate.errors import InputError
from annotate.schema import Annotation, Scale

_NEEDED = {
    "conversation": ("conversation", "turn", "pair", "verdict"),
    "other": ("pair",),
    "turn": ("turn",),
    "criterion": ("criterion", "verdict"),
}
"""What of a target is said for which kinds of target; a turn may also be said of a verdict."""


@contextmanager
def storable() -> Iterator[None]:
    """Say what a database cannot hold: texts may have half a character, names may not; numbers have bounds."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise InputError(
            f"a name or key in the files holds half a character and cannot be stored: {error.object[:80]!r}. "
            "Fix it in the files; nothing was written."
        ) from None
    except OverflowError as error:
        raise InputError(
            f"a turn number in the files cannot be stored ({error}). Fix it in the files; nothing was written."
        ) from None


def check_target(annotation: Annotation, scale: Scale) -> None:
    """Raise where what is rated is not what the scale is for, or is not said."""
    name, target = f"annotation {annotation.id!r}", annotation.target
    if target.kind != scale.target:
        raise InputError(
            f"{name}: rates a {target.kind}, and scale {scale.name!r} is for a {scale.target}. Change one of them."
        )
    for key, kinds in _NEEDED.items():
        there = getattr(target, key) is not None
        if there == (target.kind in kinds) or (there and key == "turn" and target.kind == "verdict"):
            continue
        what = f"has {key!r}, which it cannot have" if there else f"needs {key!r}, and has none"
        raise InputError(f"{name}: the target is a {target.kind}, which {what}. Change it.")
    if target.kind == "pair" and target.conversation == target.other:
        raise InputError(f"{name}: compares conversation {target.other!r} with itself. Change one of the two.")


def check_corrections(annotations: Iterable[Annotation]) -> None:
    """Raise where annotations correct each other in a ring, so that none of them would count."""
    follows = {annotation.id: annotation.supersedes for annotation in annotations}
    sound: set[str] = set()
    for start in follows:
        seen: dict[str, None] = {}
        step: str | None = start
        while step in follows and step not in sound:
            if step in seen:
                raise InputError(f"annotation {step!r}: corrects itself, by way of 'supersedes'. Remove one of these.")
            seen[str(step)] = None
            step = follows[str(step)]
        sound |= set(seen)
