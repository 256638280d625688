"""Import files into a store: detect the format, read everything, then write it in one transaction."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from annotate.errors import InputError
from annotate.import_summary import ImportSummary, summarise
from annotate.importers.contract import Batch, Importer, Options, Pseudonym
from annotate.schema import ConsentScope, Scale

if TYPE_CHECKING:
    from annotate.store import Store


def import_paths(
    store: Store,
    paths: Sequence[Path],
    *,
    pseudonym: Pseudonym,
    format: str | None = None,
    map_file: Path | None = None,
    licence: str | None = None,
    default_scopes: tuple[ConsentScope, ...] = (),
    scopes_basis: str | None = None,
    scales: Mapping[str, Scale] | None = None,
) -> ImportSummary:
    """Import files or folders and return what was found and stored; raises `InputError` and then writes nothing.

    `format` names an importer, else each path is recognised by its content. `default_scopes` are what people
    consented to where the files do not say; `scales` those that the study declares. A conversation is known again by
    (format, content, item, participant, trial): importing twice changes nothing, and ratings that differ become
    corrections. Raises `NeedsMap`, which carries a guess, for a table without `map_file`.
    """
    from annotate.importing import Plan

    declared = {**{scale.name: scale for scale in store.select(Scale)}, **(scales or {})}
    options = Options(licence, default_scopes, scopes_basis, declared, map_file)
    groups = group(paths, format)
    batches = [importer.read(group, pseudonym, options) for importer, group in groups]
    plan = Plan(store)
    for batch in batches:
        plan.add(batch)
    plan.write()
    return summarise(batches, plan.counts)


def group(paths: Sequence[Path], format: str | None = None) -> list[tuple[Importer, list[Path]]]:
    """Return the importers that the paths need, each with its paths, in the order given."""
    from annotate.importers.registry import by_name, detect

    if not paths:
        raise InputError("nothing to import: no path was given. Give a file or a folder.")
    groups: dict[str, tuple[Importer, list[Path]]] = {}
    given: dict[str, Path] = {}
    for path in paths:
        given.setdefault(os.path.realpath(path), path)
    for path in given.values():
        importer = by_name(format) if format else detect(path)
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder. Check the path.")
        groups.setdefault(importer.name, (importer, []))[1].append(path)
    return list(groups.values())


__all__ = ["Batch", "ImportSummary", "group", "import_paths"]
