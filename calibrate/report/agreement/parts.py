"""Kinds of raters and groups of units: α of each drawn, few of them side by side, many as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from calibrate.agreement import MIXED, Agreement, GroupAgreement
from calibrate.estimate import Estimate
from calibrate.report.agreement.charts import part_chart
from calibrate.report.agreement.pairs import note, plain
from calibrate.report.agreement.titles import begun, clean, leading, shorts
from calibrate.report.agreement.words import OVERALL, free, pairs_words, parts_of
from calibrate.report.document import MAX_STATISTICS, Block, Cell, Details, Table
from calibrate.report.wording import counted

MOST_PARTS = 24
FEW_COEFFICIENTS = 4
NOT_COMPUTED = "not computed"


def part_blocks(agreement: Agreement, place: int) -> Iterator[Block]:
    """Yield α of each part as a chart, the coefficients of each, and, folded away, counts and further coefficients."""
    parts = [part for _, part in parts_of(agreement)]
    drawn = part_chart(agreement, [agreement.overall, *parts], place)
    if drawn is not None:
        yield drawn
    folded: list[Block] = [_count_table(agreement, [agreement.overall, *parts[:MOST_PARTS]])]
    for by in dict.fromkeys(name for name, _ in parts_of(agreement)):
        own = [part for name, part in parts_of(agreement) if name == by]
        caption = "By kind of rater" if by == "kind" else f"By {by}"
        if len(own) <= MAX_STATISTICS:
            chosen, rest = _leading(agreement, own)
            yield _turned(agreement, own, chosen, caption)
            if rest:
                folded.append(_turned(agreement, own, rest, f"{caption}: further coefficients"))
            continue
        chosen = leading(agreement.overall, MAX_STATISTICS)
        yield _rows(agreement, own[:MOST_PARTS], chosen, caption)
        more = own[MOST_PARTS:]
        if more:
            table = _rows(agreement, more, chosen, f"The next {counted(len(more), 'part')}")
            yield Details(f"{counted(len(more), 'further group')}", (table,))
        rest = [name for name in _examples(agreement, own) if name not in chosen]
        for start in range(0, len(rest), MAX_STATISTICS):
            names = rest[start : start + MAX_STATISTICS]
            folded.append(_rows(agreement, own, names, f"{caption}: further coefficients"))
    yield from note([f"{clean(part.name)}: {free(part.remark)}" for part in parts if part.remark])
    yield Details("Counts of each part" + (", and further coefficients" if len(folded) > 1 else ""), tuple(folded))


def _examples(agreement: Agreement, parts: Sequence[GroupAgreement]) -> dict[str, Estimate]:
    """Return the coefficients that at least one part has, by name, in the order of all ratings, then of the parts."""
    held: dict[str, Estimate] = {}
    for part in parts:
        for name, estimate in part.estimates.items():
            held.setdefault(name, estimate)
    order = list(dict.fromkeys([*agreement.overall.estimates, *held]))
    return {name: held[name] for name in order if name in held}


def _named(agreement: Agreement, parts: Sequence[GroupAgreement]) -> Mapping[str, str]:
    return shorts({**agreement.overall.estimates, **_examples(agreement, parts)})


def _leading(agreement: Agreement, parts: Sequence[GroupAgreement]) -> tuple[list[str], list[str]]:
    """Return the coefficients to show, of those that a part has, and those to fold away; few are all shown."""
    names = list(_examples(agreement, parts))
    if len(names) <= FEW_COEFFICIENTS:
        return names, []
    chosen = [name for name in leading(agreement.overall, MAX_STATISTICS) if name in names]
    return chosen, [name for name in names if name not in chosen]


def _turned(agreement: Agreement, parts: Sequence[GroupAgreement], names: Sequence[str], caption: str) -> Table:
    """Return a row a coefficient and a column a part."""
    named = _named(agreement, parts)
    rows = tuple((begun(named[name]), *(_cell(part, name) for part in parts)) for name in names)
    heads = [_head(agreement, part) for part in parts]
    return Table(caption, ("Coefficient", *heads), rows)


def _head(agreement: Agreement, part: GroupAgreement) -> str:
    """Return a kind with a capital letter, the pairs marked as such, and the name of a group as it is."""
    if not any(part is own for own in agreement.kinds):
        return clean(part.name)
    return begun(clean(part.name)) + (", n = pairs" if part.name == MIXED else "")


def _rows(agreement: Agreement, parts: Sequence[GroupAgreement], names: Sequence[str], caption: str) -> Table:
    """Return a row a part and a column a coefficient, at most three of those that a part has."""
    named = _named(agreement, parts)
    shown = [name for name in names if any(name in part.estimates for part in parts)]
    rows = tuple(
        (clean(part.name) + (" (n = pairs)" if part.name == MIXED else ""), *(_cell(part, name) for name in shown))
        for part in parts
    )
    return Table(caption, ("Part", *(begun(named[name]) for name in shown)), rows)


def _cell(part: GroupAgreement, name: str) -> Cell:
    return plain(part.estimates[name]) if name in part.estimates else NOT_COMPUTED


def _count_table(agreement: Agreement, parts: Sequence[GroupAgreement]) -> Table:
    columns = ("Part", "Units", "With two ratings", "Ratings", "Raters", "Missing", "Not applicable")
    rows = []
    for part in parts:
        if part.name == MIXED and any(part is own for own in agreement.kinds):
            rows.append((clean(part.name), pairs_words(agreement, part), *["–"] * 5))
            continue
        counts = part.units, part.paired_units, part.ratings, part.raters, part.missing, part.not_applicable
        name = begun(OVERALL) if part is agreement.overall else clean(part.name)
        rows.append((name, *(f"{count:,}" for count in counts)))
    return Table("What each part holds", columns, tuple(rows))
