"""What stands beside the answer of `usercal ufs`: unfair comparisons, unknown modes, old prices, notes on the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annotate.errors import InputError
from apps.cli.options import labelled

if TYPE_CHECKING:
    from annotate.study import Study
    from apps.cli.fidelity_sources import Sources

OLD_PRICE_DAYS = 180


def remarks(found: Sources, study: Study | None) -> list[str]:
    """Return all remarks as labelled lines."""
    return [*_unfair(found), *_unnamed(found, study), *_old_prices(study), *_notes(found)]


def _unfair(found: Sources) -> list[str]:
    """Return what keeps the comparison from being one of like with like."""
    from annotate.importers.tau.design import DesignRow, check_design, sentences

    rows = found.frames.episodes
    if rows is None or rows["proxy"].nunique() < 2:
        return []
    columns = (rows[name].astype(str) for name in ("proxy", "agent", "domain", "task", "trial", "status"))
    told = [DesignRow(*row) for row in zip(*columns, rows["duplicate_of"].notna(), strict=True)]
    design = check_design(told)
    faults = sentences(design)[len(design.domains) :]
    bare = [d.domain for d in design.domains if len(d.proxies) > 1 and not d.complete]
    faults += [f"{', '.join(bare)}: no task was met by all proxies"] if bare else []
    return labelled("Unfair", faults[:4])


def _notes(found: Sources) -> list[str]:
    """Return what the reader of the data has to say, as far as it fits the screen; the report has all of it."""
    notes = [note for note in found.frames.notes if "counted once" not in note]
    more = [f"and {len(notes) - 4} more: see ufs.md"] if len(notes) > 4 else []
    return labelled("Note", [*notes[:4], *more])


def _unnamed(found: Sources, study: Study | None) -> list[str]:
    """Return which families and modes of the verdicts the taxonomy does not have; they are counted all the same."""
    from annotate.taxonomy import load_taxonomy

    extra = study.config.taxonomy.path if study is not None else None
    taxonomy = load_taxonomy(study.folder / extra if study is not None and extra else None)
    verdicts = found.frames.verdicts
    if verdicts is None:
        return []
    unknown = []
    for family, mode in verdicts[["family", "mode"]].drop_duplicates().itertuples(index=False):
        try:
            taxonomy.check(str(family), str(mode) if isinstance(mode, str) and mode else None)
        except InputError:
            unknown.append(f"{family}.{mode}" if isinstance(mode, str) and mode else str(family))
    if not unknown:
        return []
    shown = ", ".join(sorted(unknown)[:4]) + (f" and {len(unknown) - 4} more" if len(unknown) > 4 else "")
    known = ", ".join(taxonomy.families)
    return labelled(
        "Taxonomy",
        [f"not in it, counted all the same: {shown}. Families: {known}. Yours: [taxonomy] path in study.toml"],
    )


def _old_prices(study: Study | None) -> list[str]:
    """Return which prices of the study were true too long ago to decide by."""
    from datetime import date

    from annotate.config import age_days

    if study is None:
        return []
    ages = {model: age_days(price, date.today()) for model, price in study.config.prices.items()}
    old = [f"{model} ({days} days)" for model, days in ages.items() if days > OLD_PRICE_DAYS]
    return labelled("Old prices", [f"{', '.join(old)}: look them up, and date them in study.toml"]) if old else []
