"""The store: one database of nouns, opened by URL, written in transactions, read in bulk."""

from annotate.store.database import Store, Transaction

__all__ = ["Store", "Transaction"]
