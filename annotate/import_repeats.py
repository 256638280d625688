"""Which episodes of an import repeat others, of the import or of the store: the rule of `episode_repeats`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from annotate.episode_repeats import Row, facts, mark_repeats
from annotate.schema import Conversation

if TYPE_CHECKING:
    from annotate.store import Store


class Repeats:
    """Finds which of the episodes that an import met repeat others, of the import or of the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._met: dict[str, dict[str, Row]] = defaultdict(dict)

    def note(self, found: Iterable[Row]) -> None:
        """Take note of episodes of a source that was stored, as `facts` gives them."""
        for row in found:
            if row["content_hash"] is not None:
                self._met[row["content_hash"]][row["episode"]] = row

    def duplicates(self) -> dict[str, str]:
        """Return repeating episode → the episode that counts, of those that were met."""
        others = self._in_store()
        found: dict[str, str] = {}
        for content, met in self._met.items():
            if len(met) + len(others.get(content, ())) > 1:
                rows = [{**row, "duplicate_of": None} for row in (*met.values(), *others.get(content, ()))]
                mark_repeats(rows)
                found |= {row["episode"]: row["duplicate_of"] for row in rows if row["duplicate_of"]}
        here = {episode for met in self._met.values() for episode in met}
        return {episode: first for episode, first in found.items() if episode in here}

    def _in_store(self) -> Mapping[str, list[Row]]:
        """Return the episodes of the store that were not met and whose content agrees with that of one that was."""
        names: dict[str, list[str]] = defaultdict(list)
        columns = (self._store.column(Conversation, name, origin="simulated") for name in ("id", "content_hash"))
        for identity, content in zip(*columns, strict=True):
            if content in self._met and identity not in self._met[content]:
                names[content].append(identity)
        return {
            content: [facts(one) for one in self._store.select(Conversation, id=found)]
            for content, found in names.items()
        }
