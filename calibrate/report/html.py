"""A report as one HTML file that asks for nothing: no network, script or font; charts are SVG in the page."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrate.estimate import Estimate
from calibrate.report.document import Report, to_json
from calibrate.report.wording import encodable, write

if TYPE_CHECKING:
    from jinja2 import Template

_TEMPLATES = Path(__file__).parent


def to_html(report: Report) -> str:
    """Return the report as self-contained HTML: every text escaped, any request forbidden by its policy."""
    return encodable(_template().render(report=report))


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["drawing"] = Markup  # SVG from `figures`, whose texts are escaped there
    environment.filters["written"] = write
    environment.tests["estimate"] = _is_estimate
    environment.filters["kind"] = _kind
    environment.filters["prose"] = _prose
    environment.filters["ranked"] = _ranked
    return environment.get_template("report.html.j2")


def _prose(text: str) -> str:
    """Keep the parts of a number together: no line ends within `n = 12`, `83 %` or `[−0.2, 0.8]`."""
    text = re.sub(r"\b([np]) ([=<]) (?=[\d.])", "\\1\u00a0\\2\u00a0", text)
    text = re.sub(r"(\[[\d.,−]+,) (?=[\d.,−]+\])", "\\1\u00a0", text)
    return re.sub(r"(?<=\d) %|(?<=[ρτ]) (?=[\d−])", lambda found: found[0].replace(" ", "\u00a0"), text)


def _ranked(report: Report) -> bool:
    """Return whether a rank correlation stands anywhere in the report, so that the legend explains ρ."""
    return "ρ" in to_json(report)


def _is_estimate(value: Any) -> bool:
    return isinstance(value, Estimate)


def _kind(block: Any) -> str:
    return type(block).__name__.lower()
