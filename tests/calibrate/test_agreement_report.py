"""Agreement as lines and as page and Markdown. All records here are made up, not computed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from agreement_samples import (
    FEW,
    NAMES,
    SAMPLES,
    SPLIT,
    coefficients,
    est,
    group,
    many,
    mixed,
    nothing,
    paradox,
    parts,
    sample,
)

from calibrate.agreement import Agreement, PairAgreement
from calibrate.report.agreement.composing import compose_agreement
from calibrate.report.agreement.pairs import pair_blocks
from calibrate.report.agreement.section import section, sections
from calibrate.report.agreement.terminal import cut, lines, short_lines
from calibrate.report.agreement.usage import median_words, together
from calibrate.report.agreement.writing import write
from calibrate.report.document import Band, Block, Details, Figure, Heading, Report, Table, estimates
from calibrate.report.fidelity.terminal import columns_of
from calibrate.report.html import to_html
from calibrate.report.markdown import to_markdown
from calibrate.report.wording import number

each = pytest.mark.parametrize("agreement", SAMPLES, ids=NAMES)


@cache
def report_of(name: str) -> Report:
    """Return the report of a sample, composed once."""
    return compose_agreement([SAMPLES[NAMES.index(name)]])


# ------------------------------------------------------------------------------------------------------------ terminal


@each
@pytest.mark.parametrize("width", [40, 80, 100, 110])
def test_no_line_is_wider_than_asked(agreement: Agreement, width: int) -> None:
    for line in [*lines(agreement, width), *short_lines(agreement, width)]:
        assert columns_of(line) <= width, line
        assert "\n" not in line and "\u202e" not in line and "\t" not in line


def test_lines_tell_every_coefficient_with_interval_and_n() -> None:
    agreement = sample()
    text = lines(agreement, 90)
    for e in agreement.overall.estimates.values():
        if e.value is None:
            assert any(e.reason is not None and e.reason in line and f"n = {e.n}" in line for line in text)
        elif e.low is not None and e.high is not None:
            limits = rf"{number(e.value)} +\[{number(e.low)}, {number(e.high)}\] +{e.n}$"
            assert any(re.search(limits, line) for line in text), e
        else:
            assert any(re.search(rf"{number(e.value)} +{e.n}$", line) for line in text)
            assert any(e.interval_reason is not None and f"no interval: {e.interval_reason}" in line for line in text)


def test_the_answer_is_the_first_line_and_one_screen_holds_all() -> None:
    text = lines(sample(), 100)
    assert text[0] == sample().sentence
    assert len(text) <= 50
    assert len(lines(SAMPLES[2], 100)) <= 60


def test_lines_tell_parts_disagreements_missing_notes_and_intervals() -> None:
    text = "\n".join(lines(sample(), 110))
    for said in (
        "by kind",
        "by assistant",
        "tutor B",
        "undefined (1) 0",
        f"(1) {SPLIT}",
        "6 of 31 (19 %)  ann: 4, judge-mini: 5",
    ):
        assert said in text
    for said in ("item-0", "distance 0.67 of 1", "8 ratings missing; 2 not applicable (2 % of 112 answers)", "seed 7"):
        assert said in text
    for said in (
        "clusters (participant), 12 of them",
        "1,000 resamples",
        "the last one counts",
        "median 3; mean 3.25 (n =",
    ):
        assert said in text
    assert "item-2" not in text  # the two that split raters most
    for said in ("Cohen's κw (linear)", "Cohen's κw (quadratic)", "AC2", "ICC(2,1)", "Light's κw (quadratic)"):
        assert said in text
    assert "κ_w" not in text and "seed 7, for AC2; percentile bootstrap" in " ".join(text.split())


def test_n_is_said_truly() -> None:
    held = {**coefficients(), "alpha_ordinal": est("alpha_ordinal", 0.7, 0.6, 0.8, n=110)}
    text = " ".join(" ".join(lines(sample(overall=group("all", held)), 110)).split())
    assert "counts units with two ratings or more; for α ordinal, the 110 ratings" in text
    assert "for ICC(2,1), the 22 units that everybody rated" in text
    for written in ("\n".join(lines(mixed(), 110)), to_html(report_of("mixed")), to_markdown(report_of("mixed"))):
        told = " ".join(written.split())
        assert (
            "for Conger κ and Fleiss κ, the 40 units with a rating; in “people and models”, pairs of ratings (89)"
            in told
        )
    held = mixed(cluster="unit")
    assert "pairs of ratings (89 from 12 units)" in " ".join(" ".join(lines(held, 110)).split())
    counts = next(t for t in tables(report_of("mixed").sections[0].blocks) if t.caption == "What each part holds")
    assert counts.rows[-1] == ("people and models", "pairs of ratings (89)", "–", "–", "–", "–", "–")


def test_intervals_are_told_by_method_in_one_wording_with_their_target() -> None:
    told = "t over clusters (participant) for raw; percentile bootstrap of clusters (participant), 12 of them"
    for written in ("\n".join(lines(mixed(), 110)), to_html(report_of("mixed")), to_markdown(report_of("mixed"))):
        text = " ".join(written.split())
        assert told in text and "speak of these raters, other units" in text
        assert "by cluster" not in text and "bootstrap by" not in text
    text = " ".join(" ".join(lines(mixed(cluster="unit"), 110)).split())
    assert "t over units for raw; percentile bootstrap of units, 12 of them" in text


def test_the_lines_of_four_raters_tell_every_pair_and_fit_a_screen() -> None:
    text = lines(mixed(), 110)
    assert len(text) <= 55
    assert sum("κw 0.5" in line and "raw 0.6" in line and "n = 3" in line for line in text) == 6
    assert "least" not in "\n".join(text) and "least" in "\n".join(lines(many(), 110))


def test_a_paradox_is_remarked_on() -> None:
    assert "91 % and α only 0.12" in " ".join(lines(paradox(), 100))
    assert any(line.startswith("Remark ") for line in lines(paradox(), 100))
    assert not any(line.startswith("Remark ") for line in lines(sample(), 100))


def test_short_lines_hold_sentence_values_intervals_and_n() -> None:
    text = " ".join(" ".join(short_lines(sample(), 110)).split())
    assert sample().sentence in text
    assert "α ordinal 0.71 [0.58, 0.82] n = 36" in text and "raw 0.62 [0.51, 0.73] n = 36" in text
    assert SPLIT in " ".join(short_lines(nothing(), 110))


def pair_table(agreement: Agreement) -> Table:
    """Return the table of pairs of raters."""
    return next(t for t in tables(tuple(pair_blocks(agreement))) if t.caption.startswith("Pairs of raters"))


def test_the_kappa_of_pairs_is_called_weighted_where_weights_counted() -> None:
    seen = {"symbol": "κ", "observed": 0.93, "raw_agreement": 0.4}
    pairs = [PairAgreement("a", "b", 9, est("raw_agreement", 0.4), est("cohen_kappa", 0.7, extra=seen))]
    assert pair_table(sample(pairs=pairs)).columns[2] == "Cohen's κw"
    pairs = [replace(pairs[0], kappa=est("cohen_kappa", 0.7, extra={**seen, "observed": 0.4}))]
    assert pair_table(sample(pairs=pairs)).columns[2] == "Cohen's κ"


def test_a_cut_counts_columns_and_shows_itself() -> None:
    assert cut("日本語", 6) == "日本語"
    assert cut("日本語", 5) == "日本…"
    assert columns_of(cut("日本語" * 9, 12)) <= 12


# ------------------------------------------------------------------------------------------------------------ documents


def tables(blocks: tuple[Block, ...]) -> Iterator[Table]:
    """Yield all tables, also those that are folded away."""
    for block in blocks:
        if isinstance(block, Table):
            yield block
        elif isinstance(block, Details | Band):
            yield from tables(block.blocks)


@pytest.mark.parametrize("name", NAMES)
def test_the_report_holds_every_estimate_of_the_records(name: str) -> None:
    agreement = SAMPLES[NAMES.index(name)]
    held = {(e.name, e.value, e.low, e.high, e.n) for e in estimates(report_of(name))}
    for part in parts(agreement):
        for e in part.estimates.values():
            assert (e.name, e.value, e.low, e.high, e.n) in held
    for pair in agreement.pairs if len(agreement.pairs) > 1 else ():  # one pair is what all ratings are
        for e in (pair.raw, pair.kappa):
            assert (e.name, e.value, e.low, e.high, e.n) in held


@pytest.mark.parametrize("name", NAMES)
def test_pages_escape_every_label(name: str) -> None:
    report = report_of(name)
    page, text = to_html(report), to_markdown(report)
    assert "<script" not in page and "</script" not in page
    assert not re.search(r"(?<!\\)<script", text)
    assert page.encode() and text.encode()
    assert not set(page + text) & {"\u202e", "\u2066", "\x00"}
    assert re.search(r"\bnan\b|\binf\b|\bNone\b", re.sub(r"<style>.*?</style>", "", page, flags=re.S)) is None


def test_reasons_stand_where_numbers_are_missing() -> None:
    page = to_html(report_of("sample"))
    for reason in (FEW, SPLIT, "raters did not all rate all units"):
        assert reason in page


def test_identifiers_of_several_scales_do_not_clash() -> None:
    page = to_html(compose_agreement([sample(), paradox(), many(20, 4)]))
    found = re.findall(r'\bid="([^"]+)"', page)
    assert len(found) == len(set(found))
    together = section([sample(), paradox()])
    assert len([t for t in tables(together.blocks) if t.caption.startswith("Coefficients for all units")]) == 2


def test_the_matrix_shows_twelve_raters_and_gives_way_on_a_narrow_screen() -> None:
    drawn = next(b for b in report_of("many").sections[0].blocks if isinstance(b, Figure) and "diagonal" in b.caption)
    assert "The 12 of 200 raters with the most ratings." in drawn.caption
    assert "rater 011" in drawn.svg and "rater 012" not in drawn.svg and "rater 000 and rater 011 0.51" in drawn.alt
    assert drawn.narrow is not None and "rater" not in drawn.narrow
    assert "figure:has(.agreement-matrix) { display: none; }" in drawn.narrow
    assert "diagonal" not in to_html(report_of("mixed"))  # six pairs are read faster as a list


def test_no_two_columns_or_rows_of_parts_are_called_alike_and_none_is_empty() -> None:
    for name in NAMES:
        for table in tables(report_of(name).sections[0].blocks):
            assert len(set(table.columns)) == len(table.columns) or name == "hostile", table.columns
    own = next(t for t in tables(report_of("mixed").sections[0].blocks) if t.caption == "By kind of rater")
    assert own.columns == ("Coefficient", "People", "People and models, n = pairs")
    assert [row[0] for row in own.rows] == ["Raw", "α", "Cohen κ"]  # no part has Conger's or Fleiss'
    text = " ".join(to_markdown(report_of("sample")).split())
    assert "Cohen κw linear" in text and "Cohen κw quadratic" in text and "not computed" not in text
    raw = {"raw_agreement": est("raw_agreement", 0.5)}
    bare = sample(groups=[group("a", coefficients()), group("b", raw)])
    assert to_markdown(compose_agreement([bare])).count("not computed") == 8


def test_weighted_kappa_is_written_without_an_underscore() -> None:
    for name in NAMES:
        assert "κ_" not in to_html(report_of(name)) + to_markdown(report_of(name))


def test_bars_that_leave_the_chart_have_an_arrow_and_chance_no_line_through_raw_agreement() -> None:
    drawn = next(b for b in report_of("mixed").sections[0].blocks if isinstance(b, Figure))
    assert "an arrow says that an interval goes on below −1" in drawn.caption and "−1.30" in drawn.alt
    assert "α = .667 and .80" in drawn.caption and drawn.caption.startswith("Dots")
    plain = next(b for b in report_of("sample").sections[0].blocks if isinstance(b, Figure))
    assert "arrow" not in plain.caption
    for figure in (b for b in report_of("sample").sections[0].blocks if isinstance(b, Figure)):
        assert not figure.caption.startswith("Α") and "chance" in figure.svg


def test_headings_stand_below_the_name_of_the_scale() -> None:
    blocks = section([sample(), paradox()]).blocks
    assert [b.text for b in blocks if isinstance(b, Heading)] == ["Helpfulness (1–5)", "Contains error"]
    folded = [b.summary for b in blocks if isinstance(b, Details)]
    assert folded[:4] == [
        "Chart, counts and intervals",
        "By kind of rater and assistant",
        "Pair by pair",
        "Where they disagree",
    ]
    assert not any(isinstance(inner, Heading) for b in blocks if isinstance(b, Details) for inner in b.blocks)
    assert compose_agreement([sample(), paradox()]).verdict[1].startswith("Contains error: ")
    report = compose_agreement([paradox()])
    assert report.title == "Do raters agree? contains_error" and report.sections[0].title == "contains_error"


def test_use_of_the_scale_has_median_mean_and_kinds_together() -> None:
    everybody, people, models = together(mixed())
    assert people.shares == pytest.approx({1: 0.4, 2: 0.6}) and people.n == 40 and people.mean == pytest.approx(1.6)
    assert models.shares == pytest.approx({1: 0.5, 2: 0.5}) and everybody.mean == pytest.approx(1.55)
    assert [median_words(mixed(), own) for own in (people, models)] == ["2", "1.5"]
    assert median_words(mixed(level="nominal"), people) == ""
    words = mixed(categories=("low", "high"))
    assert median_words(words, replace(models, shares={"low": 0.5, "high": 0.5})) == "low to high"
    table = next(t for t in tables(report_of("sample").sections[0].blocks) if t.caption.startswith("Shares"))
    assert table.columns == ("Ratings of", "n", "1", "2", "3", "4", "5", "Median", "Mean")
    assert table.rows[3][-2:] == ("3", "3.25") and table.rows[0][0] == "All ratings"
    seven = dict.fromkeys(range(1, 8), 1 / 7)
    wide = sample(categories=tuple(seven), overall=group("all", coefficients(), marginals=seven))
    assert len(next(t for t in tables(sections([wide])[0].blocks) if t.caption.startswith("Shares")).columns) == 11


def test_what_there_is_no_disagreement_for_is_said() -> None:
    for held, why in (
        (many(), "The scale has 300 categories; with more than 50"),
        (sample(confusions=[]), "No two raters disagree on any unit"),
        (sample(confusions=[], pairs=[]), "No two raters rated two or more of the same units"),
    ):
        bare = replace(held, confusions=[])
        assert why in to_markdown(compose_agreement([bare])) and why in " ".join(lines(bare, 110))


def test_no_caption_is_printed_twice_and_no_bracket_escaped(tmp_path: Path) -> None:
    said = "α = 0.41 [−0.31, 0.49]: too little, and κ only -0.04"
    held = mixed(sentence=said)
    text = write([held], tmp_path)["md"].read_text("utf-8")
    assert "[−0.31, 0.49]: too little" in text and "κ only −0.04" in text and "\\]" not in text
    captions = [t.caption for t in tables(compose_agreement([held]).sections[0].blocks)]
    assert len(captions) == len(set(captions))
    page = (tmp_path / "agreement.html").read_text("utf-8")
    assert "95 % intervals: t over" in page[page.index("<footer>") :]
    assert "td.number .counts, .dense td .interval { display: inline; }" in page
    assert "To quote" in text and "To quote" in page and "Four raters (40 units, 110 ratings)" in text


def test_explanations_need_no_literature() -> None:
    page = to_html(report_of("sample")) + to_html(report_of("paradox")) + to_html(report_of("mixed"))
    for said in (
        "shuffled among everybody",
        "guessed at their own rates",
        "guessed equally often",
        "not corrected for chance",
    ):
        assert said in page
    for unsaid in ("chance is in it", "AC1 with weights", "set of shares", "Method of the interval"):
        assert unsaid not in page


def test_records_without_any_coefficient_are_written_too(tmp_path: Path) -> None:
    odd = {float("nan"): 0.5, float("inf"): 0.25, 2.5: 0.25, True: 0.0, None: 0.0}
    bare = sample(overall=group("all", {}, marginals=odd), categories=tuple(odd), kinds=[group("people", {})])
    assert "nothing to compare" in "\n".join([*lines(bare, 80), *short_lines(bare, 80)])
    assert set(write([bare, bare], tmp_path)) == {"html", "md", "csv", "tex", "json"}


def test_a_section_says_that_there_is_nothing() -> None:
    assert "nothing to compare" in str(section([]).blocks[0])
    assert "nothing can be said" in to_html(compose_agreement([]))
    assert lines(nothing(), 80)[0] == nothing().sentence


def test_a_chart_is_drawn_for_light_and_dark_and_not_without_values() -> None:
    page = to_html(report_of("sample"))
    assert page.count("<svg") == 4 and "var(--human" in page and "prefers-color-scheme: dark" in page
    assert "Α" not in page and "Κ" not in page  # signs are never made capitals
    assert "<svg" not in to_html(report_of("nothing"))
