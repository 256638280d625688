"""One importer per format; each reads files into a `Batch` of nouns and writes nothing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from annotate.importers.contract import Batch, Importer, Notes, Options, Pseudonym
    from annotate.importers.mapping import NeedsMap
    from annotate.importers.registry import REGISTRY, by_name, detect

__all__ = ["REGISTRY", "Batch", "Importer", "NeedsMap", "Notes", "Options", "Pseudonym", "by_name", "detect"]

_HOME = {
    **dict.fromkeys(("Batch", "Importer", "Notes", "Options", "Pseudonym"), "contract"),
    "NeedsMap": "mapping",
    **dict.fromkeys(("REGISTRY", "by_name", "detect"), "registry"),
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"annotate.importers.{_HOME[name]}"), name)
    raise AttributeError(f"module 'annotate.importers' has no attribute {name!r}")
