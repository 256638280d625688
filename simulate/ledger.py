"""The call ledger of a study: every call a row in the store, good replies found again by their key."""

from __future__ import annotations

from annotate.schema import Call
from annotate.store import Store


class StoreLedger:
    """Keeps calls in a study's store; each is durable before its reply is used."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, key: str) -> Call | None:
        """Return the good call of this key, or None."""
        found = self._store.select(Call, key=key, good=True)
        return found[0] if found else None

    def record(self, call: Call) -> None:
        """Write a call down at once."""
        with self._store.begin() as tx:
            tx.add([call])
