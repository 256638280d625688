"""Charts: the same bytes for the same numbers, legible without colour, themed by the page, without dates."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from calibrate.estimate import Estimate
from calibrate.report import figures
from calibrate.report.document import Figure
from calibrate.report.drawing import shortened

AWKWARD = "<b>&amp; $x^2$ \\frac 😀 \"q\" 'a' \x07 日本語"


def mean(value: float, low: float | None = None, high: float | None = None) -> Estimate:
    return Estimate(name="mean", value=value, low=low, high=high, n=5)


UNDEFINED = Estimate.undefined("mean", "fewer than three groups", n=2)


def scatter(name: str = "a") -> Figure:
    dots = [figures.Dot(f"{name}{n % 3}", f"g{n}", n / 3, 5 + n % 4, n + 1) for n in range(9)]
    return figures.scatter("s", dots, x_label=f"x {name}", y_label="y", caption="c", place="math")


def forest(name: str = "a") -> Figure:
    rows = [
        figures.Row(name, mean(0.2, -0.4, 0.7), detail=f"by {name}"),
        figures.Row("none", UNDEFINED),
        figures.Row("bare", mean(0.3), simulated=False),
    ]
    return figures.forest(
        "f",
        rows,
        x_label="ρ",
        caption="c",
        place="math",
        limits=(-1, 1),
        reference=0,
        reference_label="none",
        margin=0.1,
    )


def strips(name: str = "a") -> Figure:
    rows = [
        figures.Spread(name, (3.0, 3.0, 9.5), False),
        figures.Spread("twins", tuple(map(float, range(200))), True),
    ]
    return figures.strips("t", rows, x_label="Words", caption="c", place="math")


def ratings(name: str = "a") -> Figure:
    rows = [
        figures.Ratings(name, {7.0: 3, 8.0: 1}, mean(7.25, 6, 8.5)),
        figures.Ratings("b", {1.0: 1}, mean(1.0)),
    ]
    return figures.ratings("r", rows, x_label="Rating", caption="c", place="math", limits=(1, 10))


EVERY = [scatter, forest, strips, ratings]


@pytest.mark.parametrize("figure", EVERY)
def test_equal_numbers_give_equal_bytes(figure: object) -> None:
    assert callable(figure)
    assert figure() == figure()


@pytest.mark.parametrize("figure", EVERY)
def test_names_are_text_whatever_signs_they_hold(figure: object) -> None:
    assert callable(figure)
    drawn = figure(AWKWARD)
    for svg in (drawn.svg, drawn.narrow):
        root = ET.fromstring(svg)
        texts = " ".join("".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text"))
        assert "<b>&amp;" in texts and "$x" in texts


@pytest.mark.parametrize("figure", EVERY)
def test_a_drawing_has_no_date_no_style_of_its_own_no_fixed_colour_and_no_stray_identifier(
    figure: object,
) -> None:
    assert callable(figure)
    for svg in (figure().svg, figure().narrow):
        for unwanted in ("metadata", "<style", "<!--", "<?xml", "DejaVu", "xlink", "nan"):
            assert unwanted not in svg, unwanted
        bare = re.sub(r"var\(--[a-z]+, #[0-9a-f]{6}\)", "", svg)
        assert not re.search(r"#[0-9a-f]{6}\b", bare)
        identifiers = re.findall(r' id="([^"]+)"', svg)
        used = set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', svg))
        assert set(identifiers) == {first or second for first, second in used}
        assert len(identifiers) == len(set(identifiers))


@pytest.mark.parametrize("figure", EVERY)
def test_both_drawings_fit_their_screens_and_the_words_say_what_they_show(figure: object) -> None:
    assert callable(figure)
    drawn = figure()
    widths = [int(re.search(r'width="(\d+)"', svg)[1]) for svg in (drawn.svg, drawn.narrow)]  # type: ignore[index]
    assert widths[0] > 600 and widths[1] <= 360
    assert drawn.alt.startswith("Math. ") and "nan" not in drawn.alt
    identifiers = [set(re.findall(r' id="([^"]+)"', svg)) for svg in (drawn.svg, drawn.narrow)]
    assert not identifiers[0] & identifiers[1]


def test_a_forest_writes_the_reason_where_a_number_would_stand() -> None:
    drawn = forest()
    assert "no value: fewer than three groups" in drawn.svg
    assert "none: no value: fewer than three groups, n = 2" in drawn.alt
    assert "a, by a: 0.20 [−0.40, 0.70], n = 5" in drawn.alt


def test_assistants_differ_by_shape_and_not_by_hue_alone() -> None:
    shapes = re.findall(r"<defs>\s*<path [^>]*?d=\"([^\"]+)\"", scatter().svg)
    assert len({shape.strip() for shape in shapes}) >= 3


def test_many_values_are_drawn_as_quantiles_and_few_as_dots() -> None:
    dots = [
        style for style in re.findall(r"<use [^>]*style=\"([^\"]*)\"", strips().svg) if "--human" in style
    ]
    assert len(dots) == 3 and "--simulated" not in "".join(re.findall(r"<use [^>]*>", strips().svg))
    assert "twins: median 99.5, middle half 49.8 to 149.2, n = 200" in strips().alt


def test_a_long_name_shows_that_it_was_cut() -> None:
    assert shortened("a" * 50, narrow=True) == "a" * 15 + "…"
    assert shortened("line\none\x00", narrow=False) == "line one"
