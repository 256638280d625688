"""Agreement as sections of a report: answer, coefficients with a chart, kinds and groups, pairs, disagreements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from calibrate.agreement import Agreement, GroupAgreement, Marginal
from calibrate.estimate import Estimate
from calibrate.report import figures
from calibrate.report.agreement.pairs import disagreement_blocks, note, pair_blocks, plain
from calibrate.report.agreement.words import (
    OVERALL,
    begun,
    category,
    clean,
    counts_words,
    decimal,
    free,
    interval_words,
    leading,
    level_words,
    methods_of,
    missing_words,
    n_words,
    parts_of,
    percent,
    says,
    scale_words,
    shares,
    symbol_of,
    tied,
    titles,
)
from calibrate.report.document import (
    MAX_STATISTICS,
    Block,
    Cell,
    Details,
    Figure,
    Heading,
    Note,
    Paragraph,
    Section,
    Table,
)
from calibrate.report.wording import counted, listed

TITLE = "Do raters agree?"
COLUMN_CATEGORIES = 5
FEW_RATERS = 8
MOST_RATERS = 60
MOST_DRAWN = 16
MOST_PARTS = 24


def section(agreements: Sequence[Agreement], title: str = TITLE) -> Section:
    """Return one section on all scales, a heading each; says so where there is no scale."""
    if not agreements:
        return Section(
            title, (Paragraph("No scale has a unit that two raters rated, so there is nothing to compare."),)
        )
    blocks: list[Block] = []
    for place, agreement in enumerate(agreements):
        if len(agreements) > 1:
            blocks.append(Heading(scale_name(agreement)))
        blocks += _answer(agreement)
        rest = tuple(_rest(agreement, place))
        blocks += rest if len(agreements) == 1 else [Details(f"More on {scale_name(agreement)}", rest)]
    return Section(title, tuple(blocks))


def sections(agreements: Sequence[Agreement]) -> tuple[Section, ...]:
    """Return a section a scale, for a report on agreement alone."""
    return tuple(
        Section(
            begun(scale_name(agreement)), (*_answer(agreement, said=len(agreements) == 1), *_rest(agreement, place))
        )
        for place, agreement in enumerate(agreements)
    )


def scale_name(agreement: Agreement) -> str:
    """Return a scale's name as it is read."""
    return clean(agreement.scale.replace("_", " "), 60)


def _answer(agreement: Agreement, *, said: bool = False) -> Iterator[Block]:
    """Yield the sentence and the remark, where the first screen has not said them, and the coefficients."""
    if not said:
        yield Paragraph(free(agreement.sentence))
        yield from note([free(agreement.overall.remark)] if agreement.overall.remark else [])
    yield _coefficient_table(agreement)


def _rest(agreement: Agreement, place: int) -> Iterator[Block]:
    drawn = _chart(agreement, place)
    if drawn is not None:
        yield drawn
    yield Note(
        (
            f"{begun(scale_words(agreement))}.",
            f"{begun(counts_words(agreement.overall))}.",
            f"{begun(missing_words(agreement.overall))}.",
            f"Intervals: {interval_words(agreement)}; {n_words(agreement.overall)}.",
            *(f"Method of the interval: {line}." for line in methods_of(agreement.overall.estimates)),
            *(_ended(free(remark)) for remark in agreement.notes if free(remark)),
        )
    )
    yield from _part_blocks(agreement, place)
    yield from pair_blocks(agreement, place)
    yield from disagreement_blocks(agreement)
    yield from _use_blocks(agreement)


def _ended(text: str) -> str:
    return begun(text if text.endswith((".", "!", "?")) else f"{text}.")


def _coefficient_table(agreement: Agreement) -> Table:
    held = list(agreement.overall.estimates.values())
    rows = tuple(
        (begun(name), plain(e), says(e) or "–")
        for name, e in zip(titles(agreement.overall.estimates), held, strict=True)
    )
    caption = f"Coefficients for all units and raters, with {level_words(held)} interval and n"
    return Table(caption, ("Coefficient", "Value", "What it says"), rows)


# -------------------------------------------------------------------------------------------------------------- charts


def _chart(agreement: Agreement, place: int) -> Figure | None:
    """Draw the coefficients; None where none has a value."""
    estimates = agreement.overall.estimates
    held = {name: e for name, e in estimates.items() if e.unit is None and e.value is not None}
    if not held:
        return None
    rows = [figures.Row(begun(name), e, simulated=False) for name, e in zip(titles(held), held.values(), strict=True)]
    return _forest(
        f"agreement-{place}",
        rows,
        "Agreement",
        "The coefficients beside each other: dots are values, lines intervals. 0 is what chance gives, save for raw "
        "agreement, which is not corrected for it.",
        agreement,
    )


def _forest(key: str, rows: Sequence[figures.Row], x_label: str, caption: str, agreement: Agreement) -> Figure:
    held = [row.estimate for row in rows]
    figure = figures.forest(
        key,
        rows,
        x_label=x_label,
        caption=caption,
        place=f"agreement on {scale_name(agreement)}",
        limits=_axis(held),
        reference=0.0,
        reference_label="chance",
    )
    return replace(figure, alt=figure.alt.replace("with 95 % intervals", f"with {level_words(held)} intervals"))


def _axis(held: Sequence[Estimate]) -> tuple[float, float]:
    lowest = min([0.0, *(part for e in held for part in (e.value, e.low) if part is not None)])
    return max(lowest, -1.0) - 0.04, 1.04


# ---------------------------------------------------------------------------------------------------- kinds and groups


def _part_blocks(agreement: Agreement, place: int) -> Iterator[Block]:
    parts = parts_of(agreement)
    if not parts:
        return
    by = list(dict.fromkeys(name for name, _ in parts))
    yield Heading(f"By {' and '.join('kind of rater' if name == 'kind' else name for name in by)}")
    everything = [agreement.overall, *(part for _, part in parts)]
    drawn = _part_chart(agreement, everything, place)
    if drawn is not None:
        yield drawn
    names = leading(agreement.overall, MAX_STATISTICS)
    yield _part_table(agreement, everything[: MOST_PARTS + 1], names)
    if len(everything) > MOST_PARTS + 1:
        more = everything[MOST_PARTS + 1 :]
        yield Details(f"{counted(len(more), 'further group')}", (_part_table(agreement, more, names),))
    yield from note([f"{clean(p.name)}: {free(p.remark)}" for _, p in parts if p.remark])
    yield from _other_coefficients(agreement, everything, names)


def _part_chart(agreement: Agreement, everything: Sequence[GroupAgreement], place: int) -> Figure | None:
    name = next((name for name in leading(agreement.overall) if name != "raw_agreement"), None)
    rows = [
        figures.Row(_part_name(agreement, part), part.estimates[name], simulated=False)
        for part in everything[:MOST_DRAWN]
        if name is not None and name in part.estimates and part.estimates[name].value is not None
    ]
    if name is None or len(rows) < 2:
        return None
    symbol = symbol_of(agreement.overall.estimates[name], name)
    more = len(everything) - MOST_DRAWN
    rest = f" {counted(more, 'further group')} in the table below." if more > 0 else ""
    caption = f"{symbol} of each part that has one: dots are values, lines intervals.{rest}"
    return _forest(f"agreement-parts-{place}", rows, symbol, caption, agreement)


def _part_table(agreement: Agreement, parts: Sequence[GroupAgreement], names: Sequence[str]) -> Table:
    columns = tuple(symbol_of(_example(agreement, parts, name), name) for name in names)
    rows = tuple((_part_name(agreement, part), *(_cell(part, name) for name in names)) for part in parts)
    return Table(f"{begun(listed(columns))}, part by part", ("Part", *map(begun, columns)), rows)


def _other_coefficients(
    agreement: Agreement, everything: Sequence[GroupAgreement], shown: Sequence[str]
) -> Iterator[Block]:
    names = list(dict.fromkeys(name for part in everything for name in part.estimates if name not in shown))
    tables: list[Block] = [_count_table(agreement, everything)]
    for start in range(0, len(names), MAX_STATISTICS):
        tables.append(_part_table(agreement, everything, names[start : start + MAX_STATISTICS]))
    yield Details("Counts of each part, and the other coefficients", tuple(tables))


def _count_table(agreement: Agreement, parts: Sequence[GroupAgreement]) -> Table:
    columns = ("Part", "Units", "With two ratings", "Ratings", "Raters", "Missing", "Not applicable")
    counts = [
        (part.units, part.paired_units, part.ratings, part.raters, part.missing, part.not_applicable) for part in parts
    ]
    rows = tuple(
        (_part_name(agreement, part), *(f"{count:,}" for count in own)) for part, own in zip(parts, counts, strict=True)
    )
    return Table("What each part holds", columns, rows)


def _example(agreement: Agreement, parts: Sequence[GroupAgreement], name: str) -> Estimate:
    return next(part.estimates[name] for part in [agreement.overall, *parts] if name in part.estimates)


def _cell(part: GroupAgreement, name: str) -> Cell:
    return plain(part.estimates[name]) if name in part.estimates else "not computed for this part"


def _part_name(agreement: Agreement, part: GroupAgreement) -> str:
    return begun(OVERALL) if part is agreement.overall else clean(part.name)


# ---------------------------------------------------------------------------------------------------- use of the scale


def _use_blocks(agreement: Agreement) -> Iterator[Block]:
    yield Heading("How the scale was used")
    ratings = agreement.overall.ratings
    told = (
        f"All ratings: {shares(agreement.overall.marginals)} (n = {ratings:,})." if ratings else "There is no rating."
    )
    yield Paragraph(told)
    if not agreement.raters:
        return
    yield _use_table(agreement, agreement.raters[:FEW_RATERS])
    rest = agreement.raters[FEW_RATERS:MOST_RATERS]
    if rest:
        beyond = len(agreement.raters) - MOST_RATERS
        blocks: list[Block] = [_use_table(agreement, rest)]
        if beyond > 0:
            blocks.append(Paragraph(f"{counted(beyond, 'more rater')} with fewer ratings: see agreement.json."))
        yield Details(f"{counted(len(agreement.raters) - FEW_RATERS, 'further rater')}", tuple(blocks))


def _use_table(agreement: Agreement, raters: Sequence[Marginal]) -> Table:
    """Return raters' shares: a column a category where they are few, else in one column."""
    in_columns = 0 < len(agreement.categories) <= COLUMN_CATEGORIES and any(own.shares for own in raters)
    means = any(own.mean is not None for own in raters)
    rows = []
    for own in raters:
        kind = "" if own.kind in ("", "raters") else f" ({clean(own.kind, 12)})"
        name = f"{clean(own.rater, 24)}{kind}"
        counts = f"{own.n:,}" + (f", {own.not_applicable:,} n/a" if own.not_applicable else "")
        if in_columns:
            told = [percent(own.shares.get(value, 0.0)) if own.n else "–" for value in agreement.categories]
            rows.append((name, counts, *map(tied, told), *([decimal(own.mean)] if means else [])))
        else:
            mean = f"; mean {decimal(own.mean)}" if own.mean is not None else ""
            rows.append((name, tied(shares(own.shares)) if own.n else "no rating", counts + mean))
    heads = [category(value, 12) for value in agreement.categories]
    many = ("Rater", "n", *heads, *(["Mean"] if means else []))
    columns = many if in_columns else ("Rater", "Shares", "n and mean" if means else "n")
    return Table("Each rater's use of the categories, of n ratings", columns, tuple(rows))
