"""Episodes that stand in two files: the same content, and nothing that says that they are two."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from annotate.schema import Conversation

if TYPE_CHECKING:
    from annotate.store import Store

UNKNOWN = "unknown"


class Told(NamedTuple):
    """What a file says of an episode beside its content."""

    episode: str
    simulation: str
    domain: str
    task: str
    trial: str
    facts: int
    """How many of reward, cost, ending and blueprint are known."""


def rank(told: Told) -> tuple[bool, int, str, str]:
    """Return what the one that counts is chosen by, whatever came first: task known, more facts, smaller simulation."""
    return told.task == UNKNOWN, -told.facts, told.simulation, told.episode


class Repeats:
    """Finds which of the episodes that an import met repeat others, of the import or of the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._met: dict[str, dict[str, Told]] = defaultdict(dict)

    def note(self, found: Iterable[tuple[str, Told]]) -> None:
        """Take note of episodes of a source that was stored: (content hash, what was told)."""
        for content, told in found:
            self._met[content][told.episode] = told

    def duplicates(self) -> dict[str, str]:
        """Return repeating episode → the episode that counts, of those that were met."""
        others = self._in_store()
        found: dict[str, str] = {}
        for content, met in self._met.items():
            if len(met) + len(others.get(content, ())) > 1:
                linked = _linked([*met.values(), *others.get(content, ())])
                found |= {one: first for one, first in linked.items() if one in met}
        return found

    def _in_store(self) -> Mapping[str, list[Told]]:
        """Return the episodes of the store that were not met and whose content agrees with that of one that was."""
        names: dict[str, list[str]] = defaultdict(list)
        columns = (self._store.column(Conversation, name, origin="simulated") for name in ("id", "content_hash"))
        for identity, content in zip(*columns, strict=True):
            if content in self._met and identity not in self._met[content]:
                names[content].append(identity)
        return {
            content: [told(one) for one in self._store.select(Conversation, id=found)]
            for content, found in names.items()
        }


def _linked(alike: Iterable[Told]) -> dict[str, str]:
    """Return repeating episode → the one that counts, among episodes of the same content.

    Two are one where they have the same simulation, or the same task and trial, or a task that is not known.
    """
    found: dict[str, str] = {}
    first: str | None = None
    by_simulation: dict[str, str] = {}
    by_cell: dict[tuple[str, str, str], str] = {}
    for one in sorted(alike, key=rank):
        cell = one.domain, one.task, one.trial
        same = by_simulation.get(one.simulation) or (first if one.task == UNKNOWN else by_cell.get(cell))
        if same is not None:
            found[one.episode] = same
        counts = same or one.episode
        first = first or counts
        by_simulation.setdefault(one.simulation, counts)
        by_cell.setdefault(cell, counts)
    return found


def told(conversation: Conversation, episode: str | None = None) -> Told:
    """Return what a file says of an episode; `episode` is the identity under which it is stored, if another."""
    tags = conversation.tags
    simulation, domain, task, trial = (tags.get(name, UNKNOWN) for name in ("simulation", "domain", "task_id", "trial"))
    facts = (
        conversation.outcome.get("reward") is not None,
        conversation.cost_usd is not None,
        conversation.ended not in (None, UNKNOWN),
        tags.get("blueprint") == "known",
    )
    return Told(episode or conversation.id, simulation, domain, task, trial, sum(facts))
