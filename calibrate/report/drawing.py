"""matplotlib to inline SVG: deterministic, themed by the page, readable without it.

Text stays text in the fonts of the page (it can be searched and read aloud, and any script or emoji shows),
so no font must be embedded. Colours are CSS variables with a fallback: the page sets them for light and dark,
and an SVG cut out of it stays legible. No date, no version, no random identifiers: equal numbers give equal
bytes.
"""

from __future__ import annotations

import html
import io
import re
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, GRID, PAPER = "#010203", "#020304", "#030405", "#040506"
HUMAN, SIMULATED, THIRD, SHADE = "#050607", "#060708", "#070809", "#08090a"
# What stands in the drawing → the page's variable, and its value where there is no page.
_COLOURS = {
    INK: ("--ink", "#1c2127"),
    MUTED: ("--muted", "#59636e"),
    GRID: ("--line", "#dfe3e8"),
    PAPER: ("--paper", "#ffffff"),
    HUMAN: ("--human", "#1f5fa8"),
    SIMULATED: ("--simulated", "#b6530f"),
    THIRD: ("--third", "#5b4a9c"),
    SHADE: ("--shade", "#e4e8ec"),
}
WIDE_INCHES, NARROW_INCHES = 8.1, 3.6
_POINTS_PER_INCH = 72
FONT_POINTS = 9.5
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")  # what XML does not allow
_JOINER = "\u200d"  # holds the parts of one emoji together


@contextmanager
def _style(salt: str) -> Iterator[None]:
    import matplotlib as mpl

    settings: Any = {
        "svg.hashsalt": salt,
        "svg.fonttype": "none",
        "text.parse_math": False,
        "font.size": FONT_POINTS,
        "font.family": "DejaVu Sans",
        "axes.unicode_minus": True,
        "text.color": INK,
        "axes.edgecolor": GRID,
        "axes.labelcolor": MUTED,
        "axes.facecolor": "none",
        "figure.facecolor": "none",
        "savefig.facecolor": "none",
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.spines.left": False,
        "axes.linewidth": 0.8,
        "xtick.bottom": False,
        "ytick.left": False,
        "axes.grid": False,
        "legend.frameon": False,
        "axes.labelsize": FONT_POINTS,
        "xtick.labelsize": FONT_POINTS,
        "ytick.labelsize": FONT_POINTS,
    }
    with mpl.rc_context(settings), warnings.catch_warnings():
        # Measuring needs a font; a sign that it lacks is drawn by the page's fonts all the same.
        warnings.filterwarnings("ignore", message=r".*Glyph.*missing from font.*")
        warnings.filterwarnings("ignore", message=r".*constrained_layout not applied.*")
        yield


def draw(
    paint: Callable[[Axes, bool], None], *, key: str, height: Callable[[bool], float]
) -> tuple[str, str]:
    """Return a chart twice as SVG, for wide and for narrow screens.

    Args:
        paint: draws into the axes; told whether the drawing is the narrow one.
        key: unique within the page; identifiers inside the SVG start with it.
        height: inches, told the same.
    """
    return _one(paint, f"{key}-w", height(False), narrow=False), _one(
        paint, f"{key}-n", height(True), narrow=True
    )


def _one(paint: Callable[[Axes, bool], None], key: str, height: float, *, narrow: bool) -> str:
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as MplFigure

    with _style(key):
        figure = MplFigure(figsize=(NARROW_INCHES if narrow else WIDE_INCHES, height), layout="constrained")
        FigureCanvasSVG(figure)
        paint(figure.add_subplot(), narrow)
        return _themed(_saved(figure), key)


def _saved(figure: Figure) -> str:
    target = io.StringIO()
    figure.savefig(
        target, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
    )
    return target.getvalue()


def _identifier(key: str) -> str:
    """Return a key as it may stand in an identifier: a task may be called anything."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "-", key)
    return plain if plain == key else f"{plain[:40]}-{zlib.crc32(key.encode('utf-8', 'replace')):08x}"


def _themed(svg: str, key: str) -> str:
    """Cut the SVG out of its file, put variables for colours, and make identifiers unique in the page."""
    key = _identifier(key)
    svg = _CONTROL.sub("", svg[svg.index("<svg") :])
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'style="[^"]*"', lambda found: _themed_style(found[0]), svg)
    used = set(re.findall(r"url\(#([^)]+)\)", svg)) | set(re.findall(r'xlink:href="#([^"]+)"', svg))
    svg = re.sub(r' id="([^"]+)"', lambda m: f' id="{key}-{m[1]}"' if m[1] in used else "", svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{key}-\1)", svg)
    svg = re.sub(r'xlink:href="#([^"]+)"', rf'href="#{key}-\1"', svg)
    width, height = (float(part) for part in re.findall(r'(?:width|height)="([\d.]+)pt"', svg)[:2])
    pixels = 96 / _POINTS_PER_INCH
    return re.sub(
        r"<svg [^>]*>",
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width * pixels:.0f}" height="{height * pixels:.0f}" aria-hidden="true" focusable="false" '
        f'stroke-linejoin="round">',
        svg,
        count=1,
    ).strip()


def _themed_style(style: str) -> str:
    for colour, (variable, fallback) in _COLOURS.items():
        style = style.replace(colour, f"var({variable}, {fallback})")
    style = re.sub(r"font-family: [^;\"]*", "font-family: inherit", style)
    return re.sub(r"font: (?:([a-z0-9]+) )?(\d+\.?\d*px) [^;\"]*", _font, style)


def _font(found: re.Match[str]) -> str:
    weight = f"font-weight: {found[1]}; " if found[1] else ""
    return f"{weight}font-size: {found[2]}; font-family: inherit"


def shortened(name: str, narrow: bool, wide_characters: int = 34) -> str:
    """Return a name as an axis can show it: no control signs, and short; a cut is shown as such."""
    most = 16 if narrow else wide_characters
    clean = " ".join("".join(sign if sign.isprintable() or sign == _JOINER else " " for sign in name).split())
    return clean if len(clean) <= most else clean[: most - 1] + "…"


def escaped(text: str) -> str:
    """Return text as it may stand in SVG or HTML."""
    return html.escape(text, quote=True)
