"""The forms of a report: words for numbers, Markdown that obeys no name, one page for every screen, JSON."""

from __future__ import annotations

import json
import re

import pytest

from calibrate.estimate import Estimate
from calibrate.report import to_html, to_json, to_markdown
from calibrate.report.document import (
    Band,
    Card,
    Details,
    Figure,
    Heading,
    Note,
    Paragraph,
    Report,
    Section,
    Table,
    estimates,
)
from calibrate.report.markdown import escape
from calibrate.report.verdict import Finding, alignment_finding
from calibrate.report.wording import counted, listed, number, p_value, write


def rho(value: float | None, low: float | None = None, high: float | None = None, n: int = 12) -> Estimate:
    if value is None:
        return Estimate.undefined("spearman", "fewer than three groups", n=n)
    return Estimate(name="spearman", value=value, low=low, high=high, n=n, extra={"symbol": "ρ", "groups": 6})


# --------------------------------------------------------------------------------------------------- wording


def test_an_estimate_without_interval_or_value_has_the_reason_in_its_place() -> None:
    assert write(rho(0.41, -0.22, 0.8)).line == "ρ 0.41 [−0.22, 0.80], n = 12, 6 groups"
    assert write(rho(None, n=2)).line == "no value: fewer than three groups, n = 2"
    assert write(rho(0.41)).line == "ρ 0.41, no interval: no interval was asked for, n = 12, 6 groups"


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [(-0.001, 2, "0.00"), (-0.0, 0, "0"), (-1234.5, 1, "−1,234.5"), (0.005, 2, "0.01"), (12, 0, "12")],
)
def test_numbers_have_a_true_minus_and_none_before_zero(value: float, places: int, text: str) -> None:
    assert number(value, places) == text


@pytest.mark.parametrize(
    ("p", "text"),
    [(None, ""), (0.0, "p < .001"), (0.0314, "p = .031"), (0.9999, "p = 1"), (0.05, "p = .050")],
)
def test_p_values(p: float | None, text: str) -> None:
    assert p_value(p) == text


def test_units_are_written_as_people_read_them() -> None:
    def line(value: float, unit: str, n: int = 10) -> str:
        return write(Estimate(name="x", value=value, low=value, high=value, n=n, unit=unit)).line

    assert line(83.33, "%") == "83 % [83, 83], n = 10"
    assert line(53.44, "%", 1000) == "53.4 % [53.4, 53.4], n = 1,000"
    assert line(0.01754, "USD") == "$0.0175 [0.0175, 0.0175], n = 10"
    assert line(12.5, "USD") == "$12.50 [12.50, 12.50], n = 10"
    assert line(16.24, "words") == "16.2 words [16.2, 16.2], n = 10"


def test_counts_and_lists() -> None:
    assert (counted(1, "person", "people"), counted(1200, "person", "people")) == ("1 person", "1,200 people")
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(list("abcdefgh"), 4) == "a, b, c and 5 more"
    assert listed([]) == ""


# -------------------------------------------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("estimate", "brief"),
    [
        (rho(0.41, -0.22, 0.8), "too few: we cannot tell"),
        (rho(0.41, 0.0, 0.8), "too few: we cannot tell"),
        (rho(0.41), "no interval: we cannot tell"),
        (rho(None), "cannot be computed: fewer than three groups"),
        (rho(0.0, -0.2, 0.2), "little or no relation"),
        (rho(0.7, 0.1, 0.9), "moves with people's ratings; how closely is open"),
        (rho(0.8, 0.7, 0.9), "moves with people's ratings"),
        (rho(-0.8, -0.9, -0.7), "moves against people's ratings"),
    ],
)
def test_a_verdict_claims_what_the_interval_claims(estimate: Estimate, brief: str) -> None:
    assert alignment_finding(estimate, "ratings of twins").brief == brief


def test_one_conversation_is_too_few_in_the_singular() -> None:
    assert "1 conversation is too few" in alignment_finding(rho(0.4, -1, 1, n=1), "ratings").sentence


def test_a_finding_keeps_its_number_between_claim_and_consequence() -> None:
    found = Finding("b", "the judge can tell", "; what gives it away: length")
    assert found.sentence == "The judge can tell; what gives it away: length."
    assert found.with_number("math", "83 %") == "Math: the judge can tell (83 %); what gives it away: length."


# ------------------------------------------------------------------------------------------------- documents


def test_a_table_refuses_a_fourth_statistic_and_a_row_of_another_length() -> None:
    with pytest.raises(ValueError, match="more than 3 statistics"):
        Table("c", ("a", "b", "c", "d"), ((rho(0), rho(0), rho(0), rho(0)),))
    with pytest.raises(ValueError, match="2 cells for 1 columns"):
        Table("c", ("a",), (("x", "y"),))


def sample() -> Report:
    inner = Table("Inside", ("Who", "ρ"), (("twins", rho(0.3, 0.1, 0.5)),))
    figure = Figure('<svg id="w"></svg>', "A caption", "What it shows, in words", '<svg id="n"></svg>')
    blocks = (Heading("Part"), Paragraph("n = 12 and 83 %"), Note(("one", "two")), figure, inner)
    folded = Details("More", (Band("not evidence", (inner, Paragraph("inside the band"))),))
    card = Card("Alignment", rho(0.41, -0.22, 0.8), "A sentence.", "Not that.", band="Pipeline exercise")
    cards = (card, Card("Words", "none yet", "S.", ""))
    return Report(
        title="A title", subtitle="Sub", verdict=("It moves.",), cards=cards,
        sections=(Section("First", blocks), Section("Second", (folded,))), methods=(Paragraph("How."),),
        footer="UserCal", notices=("Not human data.",),
    )  # fmt: skip


def test_estimates_are_found_however_deep_they_stand() -> None:
    assert [e.value for e in estimates(sample())] == [0.41, 0.3, 0.3]


def test_json_holds_every_estimate_in_full_and_figures_by_their_words() -> None:
    data = json.loads(to_json(sample()))
    answer = Estimate.model_validate(data["cards"][0]["answer"])
    assert answer == rho(0.41, -0.22, 0.8)
    assert data["cards"][1]["answer"] == "none yet"
    kinds = [block["kind"] for block in data["sections"][0]["blocks"]]
    assert kinds == ["heading", "paragraph", "note", "figure", "table"]
    assert "<svg" not in json.dumps(data)
    band = data["sections"][1]["blocks"][0]["blocks"][0]
    assert (band["kind"], band["text"]) == ("band", "not evidence")


# -------------------------------------------------------------------------------------------------- Markdown


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a|b", r"a\|b"),
        ("zero_shot_cot", "zero_shot_cot"),
        ("_leading_", r"\_leading\_"),
        ("# title", r"\# title"),
        ("- item", r"\- item"),
        ("-5", "-5"),
        ("1. first", r"1\. first"),
        ("1.5 words", "1.5 words"),
        ("> quote", r"\> quote"),
        ("[−0.2, 0.8]", "[−0.2, 0.8]"),
        ("[x](y)", r"[x\](y)"),
        ("[x]: y", r"[x\]: y"),
        ("<b>", r"\<b>"),
        ("&lt; & co", "&amp;lt; & co"),
        ("$x$ for $5", r"\$x\$ for $5"),
        ("two\nlines\r\n| x |", r"two lines \| x \|"),
        ("```", r"\`\`\`"),
    ],
)
def test_nothing_in_a_name_is_markup(text: str, escaped: str) -> None:
    assert escape(text) == escaped


def test_a_band_quotes_everything_under_it() -> None:
    text = to_markdown(sample())
    banded = text[text.index("> **not evidence**") :].split("\n\n---")[0].split("\n\n## ")[0]
    assert all(line.startswith(">") for line in banded.split("\n"))
    assert "> | twins | ρ 0.30 [0.10, 0.50], n = 12, 6 groups |" in banded
    assert "> inside the band" in banded


# ------------------------------------------------------------------------------------------------------ HTML


def test_the_page_keeps_the_parts_of_a_number_on_one_line() -> None:
    assert "<p>n\u00a0=\u00a012 and 83\u00a0%</p>" in to_html(sample())


def test_every_cell_knows_its_column_where_a_narrow_screen_stacks_them() -> None:
    page = to_html(sample())
    assert page.count('data-column="ρ"') == 2
    assert "@media (max-width: 40rem)" in page and "content: attr(data-column)" in page


def test_a_figure_is_described_once_and_its_drawings_are_silent() -> None:
    page = to_html(sample())
    assert page.count('role="img" aria-label="What it shows, in words"') == 1
    assert '<div class="wide"><svg id="w"></svg></div>' in page
    assert '<div class="narrow"><svg id="n"></svg></div>' in page


def test_the_page_serves_dark_screens_print_and_the_keyboard() -> None:
    page = to_html(sample())
    for rule in ("prefers-color-scheme: dark", "@media print", ":focus-visible", "forced-colors"):
        assert rule in page
    assert re.search(r'<a class="skip" href="#report">', page)
    assert "default-src 'none'" in page


def test_a_card_and_a_band_of_an_exercise_carry_their_words() -> None:
    page = to_html(sample())
    assert re.search(r'<article class="card exercise">\s*<p class="band-text">Pipeline exercise</p>', page)
    assert 'role="group" aria-label="not evidence"' in page


def test_an_empty_report_is_still_a_page() -> None:
    page = to_html(Report("T", "S", ()))
    assert "<h1>T</h1>" in page and "<nav" not in page and 'class="verdict"' not in page
