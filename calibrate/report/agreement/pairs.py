"""Pairs of raters: a matrix of raters, the list of pairs with n and interval, and who disagrees with whom on what."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from calibrate.agreeing.disagreeing import MANY_CATEGORIES
from calibrate.agreement import Agreement, Confusion, SplitUnit
from calibrate.estimate import Estimate
from calibrate.report.agreement.titles import begun, category, clean, pair_sign, pair_title
from calibrate.report.agreement.words import percent, tied
from calibrate.report.document import Block, Details, Figure, Note, Paragraph, Table
from calibrate.report.drawing import HUMAN, INK, draw
from calibrate.report.wording import counted, decimals, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MATRIX_FROM = 5  # raters; the pairs of fewer are read faster as a list
MOST_RATERS = 12
FEW_PAIRS = 6
FEW_CONFUSIONS = 5
FEW_SPLIT = 5
SHOWN_RATINGS = 8  # of a unit
_NO_PAIR = "–"
_DISTANCE = "distance: 0 = all alike, 1 = as unlike as so many ratings can be"
# On a narrow screen the matrix gives way to the list of pairs, and its caption with it.
_NOT_DRAWN = (
    '<svg class="agreement-matrix" width="0" height="0" aria-hidden="true" focusable="false"><style>'
    "@media (max-width: 40rem) { figure:has(.agreement-matrix) { display: none; } }</style></svg>"
)


def plain(estimate: Estimate) -> Estimate:
    """Return an estimate as a cell shows it: its row or column says the sign; the test against 0 is in the data."""
    extra = {key: value for key, value in estimate.extra.items() if key != "symbol"}
    return estimate.model_copy(update={"extra": extra, "p_value": None})


def pair_blocks(agreement: Agreement, place: int = 0) -> Iterator[Block]:
    """Yield the matrix of raters (of the 12 with the most ratings) and the pairs in full."""
    chosen = matrix_raters(agreement)
    if len(chosen) >= MATRIX_FROM:
        yield _drawn_matrix(agreement, chosen, place)
    table = _pair_table(agreement)
    if len(agreement.pairs) <= FEW_PAIRS:
        yield table
    else:
        yield Details(f"All {counted(len(agreement.pairs), 'pair')} with n and interval", (table,))


def matrix_raters(agreement: Agreement) -> list[str]:
    """Return the raters of the matrix: at most 12, those with the most ratings among those that have a pair."""
    counts = {marginal.rater: marginal.n for marginal in agreement.raters}
    paired = dict.fromkeys(name for pair in agreement.pairs for name in (pair.first, pair.second))
    by_count = sorted(paired, key=lambda name: -counts.get(name, 0))
    return by_count[:MOST_RATERS]


def _cells(agreement: Agreement, chosen: Sequence[str]) -> dict[tuple[int, int], Estimate]:
    """Return κ above and raw agreement below the diagonal, by row and column; nothing where there is no pair."""
    place = {name: at for at, name in enumerate(chosen)}
    cells = {}
    for pair in agreement.pairs:
        if pair.first in place and pair.second in place:
            low, high = sorted((place[pair.first], place[pair.second]))
            cells[low, high], cells[high, low] = pair.kappa, pair.raw
    return cells


def _matrix_caption(agreement: Agreement, chosen: Sequence[str]) -> str:
    raters = {name for pair in agreement.pairs for name in (pair.first, pair.second)}
    total = max(len(raters), len(agreement.raters))
    which = f" The {len(chosen)} of {total:,} raters with the most ratings." if len(chosen) < total else ""
    return (
        f"{pair_title(agreement)} above the diagonal, raw agreement below it.{which} n and interval of "
        f"each pair stand below; {_NO_PAIR} stands where the pair is not listed there, or has no value"
    )


def _drawn_matrix(agreement: Agreement, chosen: Sequence[str], place: int) -> Figure:
    """Draw the matrix: the fuller a cell's shade, the higher its value; raters by number, named at the rows."""
    held, size = _cells(agreement, chosen), len(chosen)
    svg, _ = draw(_painter(held, chosen), key=f"agreement-matrix-{place}", height=lambda narrow: 0.4 + size * 0.29)
    caption = _matrix_caption(agreement, chosen)
    told = "; ".join(
        f"{clean(chosen[row], 20)} and {clean(chosen[column], 20)} {_short(held[row, column])}"
        for row, column in sorted(held)
        if row < column
    )
    alt = f"Matrix of {size} raters. {caption}. {pair_sign(agreement)}: {told}."
    return Figure(svg, f"{caption}.", alt, _NOT_DRAWN)


def _painter(held: Mapping[tuple[int, int], Estimate], chosen: Sequence[str]) -> Callable[[Axes, bool], None]:
    from matplotlib.patches import Rectangle

    size = len(chosen)

    def paint(axes: Axes, narrow: bool) -> None:
        for row in range(size):
            for column in range(size):
                estimate = held.get((row, column))
                if estimate is not None and estimate.value is not None:
                    shade = 0.55 * min(max(estimate.value, 0.0), 1.0)
                    square = (column - 0.5, row - 0.5)
                    axes.add_patch(Rectangle(square, 1, 1, facecolor=HUMAN, alpha=shade, linewidth=0))
                text = "" if row == column else _short(estimate)
                axes.text(column, row, text, ha="center", va="center", color=INK, fontsize=9)
        axes.set_xlim(-0.5, size - 0.5)
        axes.set_ylim(size - 0.5, -0.5)
        axes.set_xticks(range(size), [str(at) for at in range(1, size + 1)])
        axes.xaxis.tick_top()
        axes.set_yticks(range(size), [f"{clean(name, 20)} · {at}" for at, name in enumerate(chosen, 1)])
        axes.tick_params(axis="y", labelcolor=INK)
        axes.spines["bottom"].set_visible(False)

    return paint


def _short(estimate: Estimate | None) -> str:
    if estimate is None or estimate.value is None:
        return _NO_PAIR
    return number(estimate.value, decimals(estimate))


def _pair_table(agreement: Agreement) -> Table:
    rows = [
        (f"{clean(pair.first, 24)} / {clean(pair.second, 24)}", plain(pair.raw), plain(pair.kappa))
        for pair in agreement.pairs
    ]
    columns = ("Pair", "Raw agreement", begun(pair_title(agreement)))
    return Table("Pairs of raters on the units that both rated", columns, tuple(rows))


def disagreement_blocks(agreement: Agreement) -> Iterator[Block]:
    """Yield who disagrees with whom on what, and the units that split raters most."""
    few = agreement.confusions[:FEW_CONFUSIONS]
    if few:
        yield _confusion_table(few, "The commonest disagreements of two raters")
    else:
        yield Paragraph(why_no_disagreement(agreement))
    if agreement.split:
        yield _split_table(agreement.split[:FEW_SPLIT], f"Units that split their raters most; {_DISTANCE}")
    elif few:
        yield Paragraph("No unit splits its raters.")
    further = _further(agreement)
    if further:
        yield Details("Further disagreements and units", further)


def _further(agreement: Agreement) -> tuple[Block, ...]:
    made: list[Block] = []
    confusions, split = agreement.confusions[FEW_CONFUSIONS:], agreement.split[FEW_SPLIT:]
    if confusions:
        made.append(_confusion_table(confusions, f"The next {counted(len(confusions), 'disagreement')}"))
    if split:
        made.append(_split_table(split, f"The next {counted(len(split), 'unit')}"))
    return tuple(made)


def why_no_disagreement(agreement: Agreement) -> str:
    """Return why no disagreement of two raters is listed: too many categories, nothing in common, or none there."""
    held = len(agreement.categories)
    if held > MANY_CATEGORIES:
        return f"The scale has {held:,} categories; with more than {MANY_CATEGORIES} no pairs of categories are listed."
    if not agreement.pairs:
        return "No two raters rated two or more of the same units, so no disagreement of two raters is listed."
    return "No two raters disagree on any unit."


def _confusion_table(confusions: Sequence[Confusion], caption: str) -> Table:
    rows = tuple(
        (
            f"{clean(own.first, 24)}: {category(own.first_value)}",
            f"{clean(own.second, 24)}: {category(own.second_value)}",
            tied(f"{own.n:,} of {own.of:,} units ({percent(own.n / own.of) if own.of else _NO_PAIR})"),
        )
        for own in confusions
    )
    return Table(caption, ("One says", "The other says", "How often"), rows)


def _split_table(split: Sequence[SplitUnit], caption: str) -> Table:
    rows = []
    for unit in split:
        values = ", ".join(
            f"{clean(name, 20)}: {category(value)}" for name, value in list(unit.values.items())[:SHOWN_RATINGS]
        )
        more = f", and {len(unit.values) - SHOWN_RATINGS} more" if len(unit.values) > SHOWN_RATINGS else ""
        told = tied(f"{number(unit.disagreement)} (n = {len(unit.values):,})")
        rows.append((clean(unit.unit), values + more, told))
    return Table(caption, ("Unit", "Ratings", "Distance"), tuple(rows))


def note(items: list[str]) -> Iterator[Note]:
    """Yield a list of remarks where there are any."""
    if items:
        yield Note(tuple(items))
