"""`usercal agreement`: do raters agree, by how much beyond chance, and who disagrees with whom on what."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from annotate.errors import InputError, nearest
from annotate.study import Study
from annotate.tau_commands import parse_names
from apps.cli.options import answer, json_option, labelled, open_study, row, shown_path, study_options
from calibrate.estimate import Undefined

if TYPE_CHECKING:
    import pandas as pd

    from annotate.rating_rows import ScaleRatings
    from calibrate.agreement import Agreement, Kind
    from calibrate.stats.agreement.ratings import Level

LEVELS = ("nominal", "ordinal", "interval", "ratio")
KINDS = ("people", "models", "both")
OUT = "usercal-agreement"
_WIDTH = 110


@click.command(
    epilog="""\b
Examples:
  usercal agreement                                    every scale of the study that two raters used
  usercal agreement --scale helpfulness --by assistant --kind people
  usercal agreement ratings.csv --level ordinal        columns item, rater, value; or one column a rater
  usercal agreement labels.parquet --level nominal --unit post --raters ann,bo --out agreement/
"""
)
@click.argument("path", required=False, type=click.Path(path_type=Path), metavar="[FILE]")
@click.option(
    "--scale", "scales", multiple=True, metavar="NAME", help="Only this scale of the study (may be repeated)."
)
@click.option("--level", type=click.Choice(LEVELS), help="How the values were measured (a file does not say it).")
@click.option("--unit", metavar="COLUMN", help="What was rated (else unit, item, id, …).")
@click.option("--rater", metavar="COLUMN", help="Who rated, where a row is one rating (else rater, annotator, …).")
@click.option("--value", metavar="COLUMN", help="The rating, where a row is one rating (else value, rating, label, …).")
@click.option("--raters", metavar="A,B,C", help="Only these raters; of a table with a column each, these columns.")
@click.option(
    "--models", metavar="A,B", help="Which raters of a file are models (else a column 'kind' says it, if any)."
)
@click.option("--kind", type=click.Choice(KINDS), default="both", show_default=True, help="Whose ratings count.")
@click.option(
    "--by", metavar="COLUMN", help="Agreement in each group as well: a column, or a tag of the study's items."
)
@click.option("--cluster", metavar="COLUMN", help="What is resampled: units that depend on each other (else the unit).")
@click.option("--only", multiple=True, metavar="COLUMN=VALUE", help="Only these rows, such as origin=human.")
@click.option("--categories", metavar="A,B,C", help="All categories, lowest first (else those that occur).")
@click.option("--na", "not_applicable", multiple=True, metavar="VALUE", help="A value that means: does not apply.")
@click.option(
    "--missing", multiple=True, metavar="VALUE", help="A value that means: no rating (blank cells always do)."
)
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Seed of the resampling (else [report] seed, or 0).")
@click.option(
    "--resamples", type=click.IntRange(100, 100_000), metavar="N", help="Resamples (else [report] resamples, or 1,000)."
)
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Write HTML, Markdown, CSV, LaTeX and JSON there."
)
@click.option("--open/--no-open", "show", default=False, help="Open the HTML in the browser.")
@study_options
@json_option
def command(path: Path | None, folder: Path | None, store: str | None, as_json: bool, **given: Any) -> int:
    """Agreement of raters on any scale of the study here, or in a CSV, JSON Lines or Parquet FILE.

    Raw agreement, Krippendorff's α, κ, AC1/AC2 and ICC as the level of measurement allows, each with an interval; per
    group, and between people and models; who disagrees with whom on what; and the units that split raters most.
    """
    asked = Asked(
        **{
            **given,
            "raters": tuple(parse_names(given["raters"] or "")),
            "models": tuple(parse_names(given["models"] or "")),
            "categories": tuple(parse_names(given["categories"] or "")) or None,
        }
    )
    _check_out(asked)
    found, left_out = _from_file(path, asked) if path is not None else _from_study(folder, store, asked)
    _print(asked, found, left_out, path, as_json)
    return 0


def _check_out(asked: Asked) -> None:
    """Refuse what could not be written, before anything is computed."""
    if asked.show and asked.out is None:
        raise InputError("--open shows the HTML that --out writes. Add --out DIR, or leave out --open.")
    if asked.out is not None and asked.out.is_symlink() and not asked.out.exists():
        raise InputError(f"--out {str(asked.out)!r} is a link to a place that does not exist. Name a folder.")
    if asked.out is not None and asked.out.exists() and not asked.out.is_dir():
        raise InputError(f"--out {str(asked.out)!r} is a file, and several are written. Name a folder.")


@dataclass(frozen=True)
class Asked:
    """The options of the verb."""

    scales: tuple[str, ...]
    level: str | None
    unit: str | None
    rater: str | None
    value: str | None
    raters: tuple[str, ...]
    models: tuple[str, ...]
    kind: str
    by: str | None
    cluster: str | None
    only: tuple[str, ...]
    categories: tuple[str, ...] | None
    not_applicable: tuple[str, ...]
    missing: tuple[str, ...]
    seed: int | None
    resamples: int | None
    out: Path | None
    show: bool

    def kept(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the rows that --only asks for."""
        from calibrate.agreeing.values import written

        for condition in self.only:
            column, sign, value = condition.partition("=")
            if not sign or column not in frame.columns:
                columns = ", ".join(str(name) for name in frame.columns)
                raise InputError(f"--only {condition!r} is no COLUMN=VALUE of the table. Its columns are {columns}.")
            texts = frame[column].map(written)  # a 3 of a study is held as 3.0
            kept = frame[(texts == value) & frame[column].notna()]
            if not len(kept):
                values = ", ".join(sorted({written(held) for held in frame[column].dropna()})[:20])
                raise InputError(f"--only {condition!r} leaves no row. Column {column!r} has {values or 'no value'}.")
            frame = kept
        return frame


def _from_file(path: Path, asked: Asked) -> tuple[list[Agreement], list[str]]:
    from annotate.rating_rows import read_rating_table
    from calibrate.agreement import RESAMPLES, agreement

    if asked.scales:
        raise InputError("--scale names a scale of a study; a file has one. Leave it out, or leave out FILE.")
    if asked.level is None:
        raise InputError(
            f"{path}: a file does not say how its values were measured. Add --level {', '.join(LEVELS[:-1])} or ratio."
        )
    notes: list[str] = []
    frame = asked.kept(read_rating_table(path, notes))
    made = agreement(
        frame,
        level=cast("Level", asked.level),
        unit=asked.unit,
        rater=asked.rater,
        value=asked.value,
        raters=asked.raters,
        models=asked.models,
        by=asked.by,
        cluster=asked.cluster,
        categories=asked.categories,
        missing=asked.missing,
        not_applicable=asked.not_applicable,
        of_kind=cast("Kind", asked.kind),
        scale=path.stem,
        seed=asked.seed or 0,
        resamples=asked.resamples or RESAMPLES,
        notes=notes,
    )
    return [made], []


def _from_study(folder: Path | None, store: str | None, asked: Asked) -> tuple[list[Agreement], list[str]]:
    from annotate.rating_rows import read_rating_rows

    only_files = (
        ("--unit", asked.unit),
        ("--rater", asked.rater),
        ("--value", asked.value),
        ("--models", asked.models),
    )
    for option, value in only_files:
        if value:
            raise InputError(f"{option} is for a file; a study knows it. Leave it out, or give FILE.")
    if folder is None and Study.find(Path.cwd(), store) is None:
        raise InputError("There is no FILE and no study here: give a table of ratings, or go to a study (--study DIR).")
    study = open_study(folder, store)
    with study.open_store(create=False) as opened:
        by_scale = read_rating_rows(opened, asked.scales or None)
    _check_raters(by_scale.values(), asked.raters)
    seed = study.config.report.seed if asked.seed is None else asked.seed
    resamples = asked.resamples or study.config.report.resamples
    found: list[Agreement] = []
    left_out: list[str] = []
    for name, rated in by_scale.items():
        made = _of_scale(rated, asked, seed, resamples)
        if isinstance(made, Undefined):
            left_out.append(f"{name}: {made.reason}")
        else:
            found.append(made)
    if not found and asked.scales:
        raise InputError(f"scale {left_out[0]}. Agreement needs two raters of one unit: have more rated, or judge.")
    return found, left_out


def _check_raters(rated: Iterable[ScaleRatings], wanted: Sequence[str]) -> None:
    """Raise for a rater who was asked for and rated on none of the scales."""
    known = sorted({str(name) for scale in rated for name in scale.frame["rater"].unique()})
    for name in wanted:
        if name not in known:
            listed = ", ".join(known[:20]) or "none yet"
            raise InputError(f"there is no rater {name!r} in the study{nearest(name, known[:200])} Raters: {listed}.")


def _of_scale(rated: ScaleRatings, asked: Asked, seed: int, resamples: int) -> Agreement | Undefined:
    from calibrate.agreeing.scales import scale_agreement, within

    frame = rated.frame
    if len(frame):
        for option, column in (("--by", asked.by), ("--cluster", asked.cluster)):
            if column is not None and column not in frame.columns:
                columns = ", ".join(str(name) for name in frame.columns)
                raise InputError(f"{option} {column!r} is no column of scale {rated.scale.name!r}; it has {columns}.")
        frame = asked.kept(frame)
        frame = frame if asked.kind == "both" else frame[frame["kind"] == asked.kind]
        frame = frame[frame["rater"].isin(asked.raters)] if asked.raters else frame
    return scale_agreement(
        within(rated, frame),
        level=cast("Level | None", asked.level),
        by=asked.by,
        cluster=asked.cluster,
        categories=asked.categories,
        missing=asked.missing,
        not_applicable=asked.not_applicable,
        seed=seed,
        resamples=resamples,
    )


def _print(asked: Asked, found: Sequence[Agreement], left_out: list[str], path: Path | None, as_json: bool) -> None:
    from calibrate.report.agreement.terminal import lines, short_lines
    from calibrate.report.agreement.writing import as_dict, write

    shown = lines(found[0], width=_WIDTH) if len(found) == 1 else []
    for made in found if len(found) > 1 else ():
        shown += [made.scale, *(f"  {line}" for line in short_lines(made, _WIDTH - 2))]
    if not found:
        shown.append("No scale has a unit that two raters rated, so there is nothing to agree on yet.")
    if left_out:
        shown += labelled("left out", left_out, _WIDTH, 12)
    written: dict[str, Path] = {}
    if asked.out is not None and asked.out.exists() and not asked.out.is_dir():
        raise InputError(f"{asked.out}: is a file. Give a folder with --out.")
    if asked.out is not None and found:
        written = write(found, asked.out)
        shown.append(row("wrote", "  ".join(shown_path(place) for place in written.values())))
        if asked.show:
            click.launch(str(written["html"]))
    facts = {
        "scales": [json.loads(json.dumps(as_dict(made), default=str)) for made in found],
        "left_out": left_out,
        "paths": {kind: str(place) for kind, place in written.items()},
    }
    answer(as_json, facts, shown, _following(found, asked, path))


def _following(found: Sequence[Agreement], asked: Asked, path: Path | None) -> list[tuple[str, str]]:
    if not found:
        return [("usercal judge", "ask a model for ratings of what people rated")]
    place = "" if path is None else f" {path.name} --level {asked.level}"
    following = []
    if len(found) > 1:
        following.append((f"usercal agreement --scale {found[0].scale}", "who disagrees with whom, on what"))
    if asked.out is None:
        following.append((f"usercal agreement{place} --out {OUT}", "the same as HTML, Markdown, CSV, LaTeX and JSON"))
    return following
