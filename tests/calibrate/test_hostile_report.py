"""Names that are out to break a page: they are shown, cut or replaced, and never obeyed."""

from __future__ import annotations

import re

import pytest

from calibrate.report.figures import Dot, scatter

NAMES = ['x" onload="alert(1)', "a\\q\\g<9>", "<script>alert(1)</script>", "task)#(", "ünï", "a b"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_an_identifier_stays_an_identifier(name: str) -> None:
    dots = [Dot(f"a{n}", "g", n, n, 3) for n in range(3)]
    figure = scatter(f"scatter-{name}", dots, x_label="x", y_label="y", caption="c", place="p")
    for svg in (figure.svg, figure.narrow):
        used = set(re.findall(r'\bid="([^"]*)"|url\(#([^)]*)\)|href="#([^"]*)"', svg or ""))
        names = {part for found in used for part in found if part}
        assert names and all(re.fullmatch(r"[A-Za-z0-9_-]+", part) for part in names)


def test_two_names_that_look_alike_have_two_identifiers() -> None:
    dots = [Dot(f"a{n}", "g", n, n, 3) for n in range(3)]
    pages = [
        scatter(f"s-{name}", dots, x_label="x", y_label="y", caption="c", place="p").svg for name in ("a b", "a.b")
    ]
    first, second = (set(re.findall(r'\bid="([^"]*)"', page)) for page in pages)
    assert first and not first & second
