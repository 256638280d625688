"""Charts of coefficients: a row each with its interval, the line of chance, and thin marks where α's bars are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calibrate.agreeing.saying import RELIABLE, TENTATIVE
from calibrate.agreement import Agreement, GroupAgreement
from calibrate.estimate import Estimate
from calibrate.report.agreement.pairs import plain
from calibrate.report.agreement.titles import begun, clean, is_alpha, leading, symbol_of, titles
from calibrate.report.agreement.words import OVERALL, level_words, scale_name
from calibrate.report.document import Figure
from calibrate.report.drawing import HUMAN, INK, MUTED, draw, shortened
from calibrate.report.wording import MINUS, counted, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_DRAWN = 16
LOWEST = -1.0  # what lies below it is shown by an arrow
_EDGE = 0.05
_APART = 0.45  # how far the row of raw agreement, which chance has no line in, stands above the others
_BARS = "thin marks stand at α = .667 and .80, the bars that the verdict compares the interval with"
_ARROW = f"an arrow says that an interval goes on below {MINUS}1"


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    estimate: Estimate
    y: float
    corrected: bool
    alpha: bool


def coefficient_chart(agreement: Agreement, place: int) -> Figure | None:
    """Draw the coefficients of all ratings; None where none has a value."""
    held = {name: e for name, e in agreement.overall.estimates.items() if e.unit is None and e.value is not None}
    rows = [(begun(title), name, held[name]) for title, name in zip(titles(held), held, strict=True)]
    said = ["dots are values, lines intervals, and the dashed line at 0 is what chance gives"]
    if any(name == "raw_agreement" for name in held):
        said.append("raw agreement, which is not corrected for chance, stands apart")
    return _chart(f"agreement-{place}", rows, "Agreement", said, agreement) if rows else None


def part_chart(agreement: Agreement, everything: Sequence[GroupAgreement], place: int) -> Figure | None:
    """Draw α, or what leads beyond raw agreement, of each part; None where fewer than two have a value."""
    name = next((name for name in leading(agreement.overall) if name != "raw_agreement"), None)
    rows = [
        (begun(OVERALL) if part is agreement.overall else clean(part.name), name, part.estimates[name])
        for part in everything[:MOST_DRAWN]
        if name is not None and name in part.estimates and part.estimates[name].value is not None
    ]
    if name is None or len(rows) < 2:
        return None
    symbol = symbol_of(agreement.overall.estimates[name], name)
    said = [f"{symbol} of each part that has one: dots are values, lines intervals"]
    more = len(everything) - MOST_DRAWN
    if more > 0:
        said.append(f"{counted(more, 'further group')} in the table below")
    return _chart(f"agreement-parts-{place}", rows, symbol, said, agreement)


def _chart(
    key: str, found: Sequence[tuple[str, str, Estimate]], x_label: str, said: Sequence[str], agreement: Agreement
) -> Figure:
    rows: list[_Row] = []
    y = 0.0
    for label, name, estimate in found:
        rows.append(_Row(label, plain(estimate), y, name != "raw_agreement", is_alpha(name)))
        y -= 1.0 if rows[-1].corrected else 1.0 + _APART
    held = [row.estimate for row in rows]
    texts = [*said, *([_BARS] if any(row.alpha for row in rows) else [])]
    texts += [_ARROW] if any(_below(e) for e in held) else []
    spans = rows[0].y - rows[-1].y
    svg, small = draw(
        _painter(rows, x_label), key=key, height=lambda narrow: (spans + 1) * (0.52 if narrow else 0.33) + 0.72
    )
    told = "; ".join(f"{row.label}: {write(row.estimate).line}" for row in rows)
    alt = f"Agreement on {scale_name(agreement)}. {begun(x_label)}, with {level_words(held)} intervals. {told}."
    return Figure(svg, f"{begun('; '.join(texts))}.", alt, small)


def _below(estimate: Estimate) -> bool:
    return any(part is not None and part < LOWEST for part in (estimate.value, estimate.low))


def _painter(rows: Sequence[_Row], x_label: str) -> Callable[[Axes, bool], None]:
    def paint(axes: Axes, narrow: bool) -> None:
        held = [part for row in rows for part in (row.estimate.value, row.estimate.low) if part is not None]
        low = max(min([0.0, *held]), LOWEST) - _EDGE
        axes.set_xlim(low, 1.0 + _EDGE)
        axes.set_ylim(rows[-1].y - 0.6, 0.75 if narrow else 0.6)
        _lines_of_chance(axes, rows, narrow)
        for row in rows:
            _bars(axes, row, narrow)
            _drawn(axes, row, low)
        _labels(axes, rows, narrow)
        _ticks(axes, low)
        axes.set_xlabel(x_label)

    return paint


def _lines_of_chance(axes: Axes, rows: Sequence[_Row], narrow: bool) -> None:
    """Draw the line of chance: whole below raw agreement; on a narrow screen row by row, free of the labels."""
    own = [row.y for row in rows if row.corrected]
    ends = [(y - 0.32, y + 0.2) for y in own] if narrow else [(min(own) - 0.6, max(own) + 0.5)] if own else []
    for end, start in ends:
        axes.plot([0, 0], [start, end], color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=1)


def _bars(axes: Axes, row: _Row, narrow: bool) -> None:
    if row.alpha:
        for bar in (TENTATIVE, RELIABLE):
            axes.plot([bar, bar], [row.y - 0.3, row.y + (0.2 if narrow else 0.3)], color=MUTED, linewidth=0.8, zorder=1)


def _drawn(axes: Axes, row: _Row, low: float) -> None:
    """Draw a value and its interval; an arrow at the edge stands for what goes on beyond it."""
    value, interval, y = row.estimate.value, row.estimate.interval, row.y
    assert value is not None
    if interval is not None:
        ends = max(interval.low, low), max(interval.high, low)
        axes.plot(ends, [y, y], color=HUMAN, linewidth=2.2, solid_capstyle="butt", zorder=2)
        for end, shown in zip((interval.low, interval.high), ends, strict=True):
            if end >= LOWEST:
                axes.plot([shown, shown], [y - 0.12, y + 0.12], color=HUMAN, linewidth=1.4, zorder=2)
    if _below(row.estimate):
        axes.plot(low, y, marker="<", color=HUMAN, markersize=8, zorder=3, clip_on=False)
    if value >= LOWEST:
        axes.plot(value, y, marker="o", color=HUMAN, markersize=7, zorder=4, clip_on=False)


def _labels(axes: Axes, rows: Sequence[_Row], narrow: bool) -> None:
    """Name the rows: beside the axis where there is room, above each row where there is not."""
    axes.set_yticks([])
    if not narrow:
        axes.set_yticks([row.y for row in rows], [shortened(row.label, False) for row in rows])
        axes.tick_params(axis="y", labelcolor=INK, pad=8)
        return
    for row in rows:
        axes.annotate(
            shortened(row.label, False, 46),
            (0, row.y + 0.26),
            xycoords=("axes fraction", "data"),
            va="bottom",
            fontsize=9,
            color=INK,
            annotation_clip=False,
        )


def _ticks(axes: Axes, low: float) -> None:
    """Put marks a fifth apart, or a half where the axis is long, and name the 0."""
    step = 0.2 if low > -0.5 else 0.5
    places = [round(step * at, 1) for at in range(-5, 6) if low <= step * at <= 1.0]
    axes.set_xticks(places, ["0\nchance" if at == 0 else f"{at:.1f}".replace("-", MINUS) for at in places])
