"""Pairs of raters: a matrix of raters, the list of pairs with n and interval, and who disagrees with whom on what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from calibrate.agreement import Agreement
from calibrate.estimate import Estimate
from calibrate.report.agreement.words import category, clean, pair_sign, percent, tied
from calibrate.report.document import Block, Details, Figure, Heading, Note, Paragraph, Table
from calibrate.report.drawing import HUMAN, INK, draw
from calibrate.report.wording import counted, decimals, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MATRIX_FROM = 4  # raters; the pairs of fewer are read faster as a list
MOST_RATERS = 12
FEW_PAIRS = 6
FEW_SPLIT = 5
SHOWN_RATINGS = 8  # of a unit
NAMED_COLUMNS = 5  # the matrix of more raters is drawn: as a table its columns would be too narrow
_NO_PAIR = "–"


def plain(estimate: Estimate) -> Estimate:
    """Return an estimate as a cell shows it: its row or column says the sign; the test against 0 is in the data."""
    extra = {key: value for key, value in estimate.extra.items() if key != "symbol"}
    return estimate.model_copy(update={"extra": extra, "p_value": None})


def pair_blocks(agreement: Agreement, place: int = 0) -> Iterator[Block]:
    """Yield the matrix of raters (of the 12 with the most ratings) and the pairs in full."""
    if not agreement.pairs:
        return
    yield Heading("Pair by pair")
    chosen = matrix_raters(agreement)
    if len(chosen) > NAMED_COLUMNS:
        yield _drawn_matrix(agreement, chosen, place)
    elif len(chosen) >= MATRIX_FROM:
        yield _matrix(agreement, chosen)
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
        f"{pair_sign(agreement)} above the diagonal, raw agreement below it.{which} n and interval of "
        f"each pair stand below; {_NO_PAIR} stands where the pair is not listed there, or has no value"
    )


def _matrix(agreement: Agreement, chosen: Sequence[str]) -> Table:
    held = _cells(agreement, chosen)
    columns = range(len(chosen))
    rows = tuple(
        (clean(name, 20), *(" " if row == column else _short(held.get((row, column))) for column in columns))
        for row, name in enumerate(chosen)
    )
    return Table(_matrix_caption(agreement, chosen), ("Rater", *(clean(name, 14) for name in chosen)), rows)


def _drawn_matrix(agreement: Agreement, chosen: Sequence[str], place: int) -> Figure:
    """Draw the matrix: the fuller a cell's shade, the higher its value; raters by number, named at the rows."""
    held, size = _cells(agreement, chosen), len(chosen)

    def paint(axes: Axes, narrow: bool) -> None:
        for row in range(size):
            for column in range(size):
                estimate = held.get((row, column))
                value = None if estimate is None else estimate.value
                if value is not None:
                    shade = 0.55 * min(max(value, 0.0), 1.0)
                    square = (column - 0.5, row - 0.5)
                    axes.add_patch(Rectangle(square, 1, 1, facecolor=HUMAN, alpha=shade, linewidth=0))
                text = "" if row == column else _short(estimate)
                text = text.replace("0.", ".", 1) if narrow else text
                axes.text(column, row, text, ha="center", va="center", color=INK, fontsize=6.2 if narrow else 9)
        axes.set_xlim(-0.5, size - 0.5)
        axes.set_ylim(size - 0.5, -0.5)
        axes.set_xticks(range(size), [str(at) for at in range(1, size + 1)])
        axes.xaxis.tick_top()
        names = [f"{clean(name, 9 if narrow else 20)} · {at}" for at, name in enumerate(chosen, 1)]
        axes.set_yticks(range(size), names)
        axes.tick_params(axis="y", labelcolor=INK, labelsize=7.5 if narrow else 9.5)
        axes.tick_params(axis="x", labelsize=7.5 if narrow else 9.5)
        axes.spines["bottom"].set_visible(False)

    from matplotlib.patches import Rectangle

    svg, small = draw(
        paint, key=f"agreement-matrix-{place}", height=lambda narrow: 0.5 + size * (0.2 if narrow else 0.3)
    )
    caption = _matrix_caption(agreement, chosen)
    told = "; ".join(
        f"{clean(chosen[row], 20)} and {clean(chosen[column], 20)} {_short(held[row, column])}"
        for row, column in sorted(held)
        if row < column
    )
    alt = f"Matrix of {size} raters. {caption}. {pair_sign(agreement)}: {told}."
    return Figure(svg, f"{caption}.", alt, small)


def _short(estimate: Estimate | None) -> str:
    if estimate is None or estimate.value is None:
        return _NO_PAIR
    return number(estimate.value, decimals(estimate))


def _pair_table(agreement: Agreement) -> Table:
    rows = [
        (f"{clean(pair.first, 24)} / {clean(pair.second, 24)}", plain(pair.raw), plain(pair.kappa))
        for pair in agreement.pairs
    ]
    sign = pair_sign(agreement)
    return Table("Pairs of raters on the units that both rated", ("Pair", "Raw agreement", sign), tuple(rows))


def disagreement_blocks(agreement: Agreement) -> Iterator[Block]:
    """Yield who disagrees with whom on what, and the units that split raters most."""
    yield Heading("Where they disagree")
    if agreement.confusions:
        yield _confusion_table(agreement)
    elif agreement.overall.paired_units:
        yield Paragraph("No pair of raters has a disagreement to show, or the scale has too many categories for it.")
    if not agreement.split:
        if not agreement.confusions:
            yield Paragraph("No unit splits its raters.")
        return
    yield _split_table(agreement, 0, FEW_SPLIT)
    if len(agreement.split) > FEW_SPLIT:
        more = len(agreement.split) - FEW_SPLIT
        yield Details(f"{counted(more, 'further unit')}", (_split_table(agreement, FEW_SPLIT, len(agreement.split)),))


def _confusion_table(agreement: Agreement) -> Table:
    rows = tuple(
        (
            f"{clean(own.first, 24)}: {category(own.first_value)}",
            f"{clean(own.second, 24)}: {category(own.second_value)}",
            tied(f"{own.n:,} of {own.of:,} units ({percent(own.n / own.of) if own.of else _NO_PAIR})"),
        )
        for own in agreement.confusions
    )
    return Table("The commonest disagreements of two raters", ("One says", "The other says", "How often"), rows)


def _split_table(agreement: Agreement, start: int, end: int) -> Table:
    rows = []
    for unit in agreement.split[start:end]:
        values = ", ".join(
            f"{clean(name, 20)}: {category(value)}" for name, value in list(unit.values.items())[:SHOWN_RATINGS]
        )
        more = f", and {len(unit.values) - SHOWN_RATINGS} more" if len(unit.values) > SHOWN_RATINGS else ""
        rows.append((clean(unit.unit), values + more, tied(f"{number(unit.disagreement)} (n = {len(unit.values):,})")))
    caption = "Units that split their raters most; distance is the mean between two ratings, 1 the worst there is"
    return Table(caption, ("Unit", "Ratings", "Distance"), tuple(rows))


def note(items: list[str]) -> Iterator[Note]:
    """Yield a list of remarks where there are any."""
    if items:
        yield Note(tuple(items))
