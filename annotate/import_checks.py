"""What an import refuses, and what it may fill in of records that are there already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from annotate.errors import InputError
from annotate.schema import Annotation, Conversation, Run, Scale

_COMPARED = ("assistant", "documents", "ended", "outcome", "survey", "tags")
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


def completed(stored: Conversation, given: Conversation) -> Conversation | None:
    """Return a stored conversation with what a new import of the same file knows more of it; None for nothing.

    That is who played the user, and which task with which blueprint it was: what a file may leave out, and the caller
    can add later. A name that the caller gives a simulated user counts from then on.
    """
    if stored.id != given.id or stored.provenance is None or stored.provenance.format != "tau":
        return None
    changed: dict[str, object] = {}
    tags = dict(stored.tags)
    known, told = tags.get("proxy", "unknown"), given.tags.get("proxy", "unknown")
    if told not in (known, "unknown") and (known == "unknown" or "named" in given.tags):
        changed["participant"] = given.participant
        tags |= {name: given.tags[name] for name in ("proxy", "named") if name in given.tags}
    if stored.item != given.item and given.tags.get("blueprint") == "known" != tags.get("blueprint"):
        changed |= {"item": given.item, "task": given.task}
        tags |= {name: given.tags[name] for name in ("domain", "blueprint")}
    return stored.model_copy(update={**changed, "tags": tags}) if changed else None


def learns(stored: Run, given: Run) -> bool:
    """Whether a run that is read again tells guidelines that were not known when it was stored."""
    known, told = (run.config.get("guidelines") or {} for run in (stored, given))
    return known.get("text") is None and told.get("text") is not None


def differing(stored: Conversation, given: Conversation) -> list[str]:
    """Return what a file tells otherwise of a conversation that is there already.

    Of results of tau the tags are left out but for the proxy: they say from which file it came first, and what the
    caller added then.
    """
    names = [name for name in _COMPARED if getattr(stored, name) != getattr(given, name)]
    if stored.provenance is None or stored.provenance.format != "tau":
        return names
    known, told = stored.tags.get("proxy"), given.tags.get("proxy")
    other = told not in (known, "unknown") and "named" not in stored.tags
    return [name for name in names if name != "tags"] + (["proxy"] if other else [])
