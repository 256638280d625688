"""Agreement as lines, page, Markdown, CSV, LaTeX and JSON. All records here are made up, not computed."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from calibrate.agreement import Agreement, Confusion, GroupAgreement, Marginal, PairAgreement, SplitUnit
from calibrate.estimate import Estimate, Signature
from calibrate.report.agreement.composing import compose_agreement
from calibrate.report.agreement.latex import to_latex
from calibrate.report.agreement.section import section, sections
from calibrate.report.agreement.tables import COLUMNS, to_csv, to_json
from calibrate.report.agreement.terminal import cut, lines, short_lines
from calibrate.report.agreement.writing import as_dict, write
from calibrate.report.document import Band, Block, Details, Figure, Report, Table, estimates
from calibrate.report.fidelity.terminal import columns_of
from calibrate.report.html import to_html
from calibrate.report.markdown import to_markdown
from calibrate.report.wording import number

BOOTSTRAP = "percentile bootstrap of clusters"
SPLIT = "no unit has two ratings"
FLAT = "all ratings are in one category, so nothing is left beyond chance"
FEW = "2 clusters are too few to resample"
REMARK = "Raw agreement is 91 % and α only 0.12 because 95 % of all ratings are 'no': read it beside AC1."
NASTY = [
    "<script>alert(1)</script>",
    "line\nbreak\ttab",
    "x" * 300,
    "日本語の評価者" * 6,
    "=HYPERLINK(1)",
    "a|b*c_d`e",
    r"\input{x} & 50 % $ #",
    "\u202eevil\u2066",
    "",
    "\ud800 half",
    "👩‍👩‍👧 family",
    "[bracket]",
]


def est(name: str, value: float | None, low: float | None = None, high: float | None = None, **more: Any) -> Estimate:
    """Return a made-up estimate."""
    fields: dict[str, Any] = {
        "n": 36, "clusters": 12, "method": BOOTSTRAP, "target": "these raters, other units",
        "signature": Signature(seed=7, spawn_key=(1, 2), resamples=1000, version="9.9"), **more,
    }  # fmt: skip
    return Estimate(name=name, value=value, low=low, high=high, **fields)


def coefficients(shift: float = 0.0) -> dict[str, Estimate]:
    """Return all ordinary coefficients of an ordinal scale; one without a value, one without an interval."""
    held = [
        est("raw_agreement", 0.62 + shift, 0.51 + shift, 0.73 + shift),
        est("alpha_ordinal", 0.71 + shift, 0.58 + shift, 0.82 + shift, extra={"symbol": "α"}),
        est("alpha_nominal", 0.41 + shift, 0.29 + shift, 0.54 + shift, extra={"symbol": "α"}, n=35),
        est("light_kappa_quadratic", 0.69 + shift, 0.55 + shift, 0.81 + shift, extra={"symbol": "κ_w"}),
        est("gwet_ac2_quadratic", 0.83 + shift, 0.74 + shift, 0.91 + shift, method="linearised t interval", p_value=0),
        est("brennan_prediger", -0.04 + shift, interval_reason=FEW),
        est("icc_2_1", None, reason="raters did not all rate all units", n=22),
    ]
    known = {estimate.name: estimate for estimate in held}
    # As the computation has it: the weights stand in the key alone.
    known["cohen_kappa_linear"] = est("cohen_kappa", 0.55 + shift, 0.4 + shift, 0.7 + shift, extra={"symbol": "κ"})
    known["cohen_kappa_quadratic"] = est("cohen_kappa", 0.66 + shift, 0.5 + shift, 0.8 + shift, extra={"symbol": "κ"})
    return known


def group(name: str, held: Mapping[str, Estimate], **more: Any) -> GroupAgreement:
    """Return a made-up part with 40 units."""
    counts: dict[str, Any] = {
        "units": 40, "paired_units": 36, "ratings": 110, "raters": 3, "missing": 8, "not_applicable": 2,
        "marginals": {1: 0.1, 2: 0.2, 3: 0.25, 4: 0.25, 5: 0.2}, **more,
    }  # fmt: skip
    return GroupAgreement(name=name, estimates=held, **counts)


def sample(names: tuple[str, ...] = ("ann", "bo", "judge-mini"), /, **more: Any) -> Agreement:
    """Return a made-up agreement on a scale of five with kinds and groups."""
    kinds = ["people"] * (len(names) - 1) + ["models"]
    undefined = {name: est(name, None, reason=SPLIT, n=0) for name in coefficients()}
    fields: dict[str, Any] = {
        "scale": "helpfulness",
        "level": "ordinal",
        "categories": (1, 2, 3, 4, 5),
        "declared": True,
        "sentence": "Raters agree well beyond chance on helpfulness: α 0.71 [0.58, 0.82], n = 36 units.",
        "overall": group("all", coefficients()),
        "kinds": [group("people", coefficients(0.05), raters=2), group("models", undefined, raters=1)],
        "groups": [group("tutor A", coefficients(0.02)), group("tutor B", coefficients(-0.1), remark=REMARK)],
        "group_by": "assistant",
        "raters": [
            Marginal(name, kind, 36, place, {1: 0.1, 2: 0.2, 3: 0.25, 4: 0.25, 5: 0.2}, 3.25 if place else None)
            for place, (name, kind) in enumerate(zip(names, kinds, strict=True))
        ],
        "pairs": [
            PairAgreement(first, second, 30 + at, est("raw_agreement", 0.6 + at / 1000, 0.4, 0.8, n=30 + at),
                          est("cohen_kappa_quadratic", 0.5 + at / 1000, 0.3, 0.7, n=30 + at, extra={"symbol": "κ_w"}))
            for at, (first, second) in enumerate(combinations(names, 2))
        ][:40],
        "confusions": [Confusion(names[0], names[-1], 4, 5, 6, 31)] if len(names) > 1 else [],
        "split": [
            SplitUnit(f"item-{at}", {name: 1 + 4 * (i % 2) for i, name in enumerate(names)}, 0.667) for at in range(8)
        ],
        "cluster": "participant",
        "notes": ["3 ratings were given again by the same rater; the last one counts"],
        **more,
    }  # fmt: skip
    return Agreement(**fields)


def paradox() -> Agreement:
    """Return a made-up agreement of two raters who say 'no' nearly always."""
    held = {
        "raw_agreement": est("raw_agreement", 0.91, 0.86, 0.95, n=125),
        "alpha_nominal": est("alpha_nominal", 0.12, -0.04, 0.31, n=125, extra={"symbol": "α"}),
        "cohen_kappa": est("cohen_kappa", None, reason=FLAT, n=125, extra={"symbol": "κ"}),
        "gwet_ac1": est("gwet_ac1", 0.9, 0.85, 0.95, n=125),
        "pabak": est("pabak", 0.82, 0.72, 0.9, n=125),
    }
    overall = group("all", held, raters=2, marginals={"no": 0.95, "yes": 0.05}, remark=REMARK)
    more = {"level": "nominal", "categories": ("no", "yes"), "declared": False, "overall": overall, "cluster": "unit"}
    return sample(("ann", "bo"), scale="contains_error", kinds=[], groups=[], group_by=None, **more)


def many(raters: int = 200, categories: int = 300) -> Agreement:
    """Return a made-up agreement of very many raters, categories and groups."""
    names = tuple(f"rater {at:03}" for at in range(raters))
    held = dict.fromkeys(range(categories), 1 / categories)
    groups = [group(f"group {at}", coefficients(-at / 1000)) for at in range(100)]
    overall = group("all", coefficients(), raters=raters, marginals=held)
    marginals = [Marginal(name, "raters", 40, 0, held, 3.0) for name in names]
    more = {"categories": tuple(range(categories)), "groups": groups, "raters": marginals}
    return sample(names, scale="topic", level="interval", overall=overall, kinds=[], **more)


def nothing() -> Agreement:
    """Return a made-up agreement of one rater: nothing can be compared."""
    held = {name: est(name, None, reason=SPLIT, n=0) for name in coefficients()}
    empty = group("all", held, units=0, paired_units=0, ratings=0, raters=0, missing=0, not_applicable=0, marginals={})
    more = {"overall": empty, "categories": (), "pairs": [], "confusions": [], "split": [], "notes": []}
    said = "Nothing can be said about helpfulness: no unit has two ratings."
    return sample(("ann",), sentence=said, kinds=[], groups=[], group_by=None, raters=[], **more)


def hostile() -> Agreement:
    """Return a made-up agreement whose every label is out to break something."""
    names = tuple(NASTY)
    groups = [group(name, coefficients(), marginals=dict.fromkeys(NASTY, 1 / 12)) for name in NASTY]
    confused = [Confusion(name, NASTY[0], name, NASTY[-1], 3, 0) for name in NASTY]
    split = [SplitUnit(name, dict(zip(NASTY, NASTY, strict=True)), 1.0) for name in NASTY]
    overall = group("all", coefficients(), marginals=dict.fromkeys(NASTY, 1 / 12), remark=NASTY[0])
    raters = [Marginal(name, name, 0, 3, dict.fromkeys(NASTY, 1 / 12), None) for name in NASTY]
    more = {"scale": NASTY[0], "cluster": NASTY[6], "group_by": NASTY[1], "notes": NASTY, "categories": names}
    return sample(names, groups=groups, confusions=confused, split=split, overall=overall, raters=raters, **more)


SAMPLES = [sample(), paradox(), many(), nothing(), hostile(), sample(("ann", "bo"), kinds=[], groups=[])]
NAMES = ["sample", "paradox", "many", "nothing", "hostile", "two"]
each = pytest.mark.parametrize("agreement", SAMPLES, ids=NAMES)


@cache
def report_of(name: str) -> Report:
    """Return the report of a sample, composed once."""
    return compose_agreement([SAMPLES[NAMES.index(name)]])


def parts(agreement: Agreement) -> list[GroupAgreement]:
    """Return all parts of an agreement, all ratings first."""
    return [agreement.overall, *agreement.kinds, *agreement.groups]


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
    assert len(text) <= 48
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
    for said in ("whole clusters (participant), 12 of them", "1,000 resamples", "the last one counts", "5: 20 % (n ="):
        assert said in text
    assert "item-5" not in text  # the five that split raters most
    for said in ("Cohen's κ_w (linear)", "Cohen's κ_w (quadratic)", "AC2", "ICC(2,1)", "Light's κ_w (quadratic)"):
        assert said in text
    assert "n counts units; that of" not in text


def test_lines_say_where_n_counts_ratings() -> None:
    held = {**coefficients(), "alpha_ordinal": est("alpha_ordinal", 0.7, 0.6, 0.8, n=110)}
    text = " ".join(" ".join(lines(sample(overall=group("all", held)), 110)).split())
    assert "n counts units; that of Krippendorff's α (ordinal) counts ratings" in text


def test_a_paradox_is_remarked_on() -> None:
    assert "91 % and α only 0.12" in " ".join(lines(paradox(), 100))
    assert any(line.startswith("Remark ") for line in lines(paradox(), 100))
    assert not any(line.startswith("Remark ") for line in lines(sample(), 100))


def test_short_lines_hold_sentence_values_intervals_and_n() -> None:
    text = " ".join(" ".join(short_lines(sample(), 110)).split())
    assert sample().sentence in text
    assert "α 0.71 [0.58, 0.82] n = 36" in text and "raw 0.62 [0.51, 0.73] n = 36" in text
    assert SPLIT in " ".join(short_lines(nothing(), 110))


def test_the_kappa_of_pairs_is_called_weighted_where_weights_counted() -> None:
    seen = {"symbol": "κ", "observed": 0.93, "raw_agreement": 0.4}
    pairs = [PairAgreement("a", "b", 9, est("raw_agreement", 0.4), est("cohen_kappa", 0.7, extra=seen))]
    assert next(t for t in tables(section([sample(pairs=pairs)]).blocks) if "Pairs" in t.caption).columns[2] == "κ_w"
    pairs = [replace(pairs[0], kappa=est("cohen_kappa", 0.7, extra={**seen, "observed": 0.4}))]
    assert next(t for t in tables(section([sample(pairs=pairs)]).blocks) if "Pairs" in t.caption).columns[2] == "κ"


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
    for pair in agreement.pairs:
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


def test_the_matrix_shows_twelve_raters_and_says_so() -> None:
    drawn = next(b for b in report_of("many").sections[0].blocks if isinstance(b, Figure) and "diagonal" in b.caption)
    assert "The 12 of 200 raters with the most ratings." in drawn.caption
    assert "rater 011" in drawn.svg and "rater 012" not in drawn.svg and "rater 000 and rater 011 0.51" in drawn.alt
    small = sections([sample(("ann", "bo", "cy", "judge-mini"), kinds=[], groups=[])])[0]
    matrix = next(t for t in tables(small.blocks) if "above the diagonal" in t.caption)
    assert matrix.rows[0] == ("ann", " ", "0.50", "0.50", "0.50") and matrix.rows[1][:2] == ("bo", "0.60")
    assert matrix.columns == ("Rater", "ann", "bo", "cy", "judge-mini")
    assert not any("above the diagonal" in t.caption for t in tables(report_of("sample").sections[0].blocks))


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


# ----------------------------------------------------------------------------------------------------------------- data


@each
def test_csv_comes_back_from_pandas_as_it_was(agreement: Agreement) -> None:
    pd = pytest.importorskip("pandas")
    text = to_csv([agreement])
    frame = pd.read_csv(io.StringIO(text), keep_default_na=False, dtype=str)
    assert tuple(frame.columns) == COLUMNS
    known = [entry for part in parts(agreement) for entry in part.estimates.items()]
    known += [(e.name, e) for pair in agreement.pairs for e in (pair.raw, pair.kappa)]
    keys, expected = [key for key, _ in known], [e for _, e in known]
    assert list(frame["coefficient"]) == keys
    assert len(frame) == len(expected)
    for row, e in zip(frame.to_dict("records"), expected, strict=True):
        read = {k: None if row[k] == "" else float(row[k]) for k in ("value", "low", "high", "p_value")}
        assert (read["value"], read["low"], read["high"], read["p_value"]) == (e.value, e.low, e.high, e.p_value)
        assert (int(row["n"]), int(row["clusters"])) == (e.n, e.clusters)
        assert (row["undefined_reason"], row["interval_reason"]) == (e.reason or "", e.interval_reason or "")
        assert (row["seed"], row["spawn_key"], row["resamples"], row["version"]) == ("7", "1 2", "1000", "9.9")


def test_no_cell_of_the_csv_is_a_formula() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.read_csv(io.StringIO(to_csv([hostile()])), keep_default_na=False, dtype=str)
    for column in ("scale", "group", "group_by", "rater_1", "rater_2"):
        assert not frame[column].str.startswith(("=", "+", "-", "@")).any()
    assert set(frame["rater_1"]) >= {"line\nbreak\ttab", "'=HYPERLINK(1)"}


@each
def test_json_is_complete_and_has_no_nan(agreement: Agreement) -> None:
    data = json.loads(to_json([agreement]), parse_constant=pytest.fail)["scales"][0]
    assert data == json.loads(json.dumps(as_dict(agreement)).encode("utf-8", "replace")) or agreement is SAMPLES[4]
    for name, e in agreement.overall.estimates.items():
        assert Estimate.model_validate(data["overall"]["estimates"][name]) == e
    assert len(data["pairs"]) == len(agreement.pairs) and len(data["raters"]) == len(agreement.raters)
    odd = replace(agreement, raters=[Marginal("a", "people", 1, 0, {float("nan"): 1.0}, float("inf"))])
    assert json.loads(to_json([odd]))["scales"][0]["raters"][0]["mean"] is None


@each
def test_latex_is_balanced_and_nothing_is_a_command(agreement: Agreement) -> None:
    text = to_latex([agreement])
    bare = re.sub(r"\\[\\{}%&#$_]", "", text)
    assert bare.count("{") == bare.count("}") and bare.count("$") % 2 == 0
    for environment in ("table", "tabular"):
        assert text.count(rf"\begin{{{environment}}}") == text.count(rf"\end{{{environment}}}") > 0
    assert r"\input" not in text and not re.search(r"(?<!\\)[#%&]", re.sub(r" & |^%.*$", "", text, flags=re.M))
    for body in re.findall(r"\\begin\{tabular\}\{(l*r*)\}\n(.*?)\\end\{tabular\}", text, flags=re.S):
        rows = [line for line in body[1].split("\n") if line.endswith(r"\\")]
        assert all(line.count(" & ") == len(body[0]) - 1 for line in rows) and rows
    assert not re.search(r"\\\\\n[\[*]", text)


def test_latex_tells_n_method_and_reasons() -> None:
    text = to_latex([sample()])
    for said in (
        r"$\kappa_{\mathrm{w}}$",
        r"$\alpha$ (ordinal)",
        "0.71 & {[0.58, 0.82]} & 36",
        BOOTSTRAP,
        "1,000 resamples",
    ):
        assert said in text
    for said in ("undefined & -- & 22", "No value or no interval: " + FEW, "36 with two ratings or more", "tutor A"):
        assert said in text


# ---------------------------------------------------------------------------------------------------------------- files


def test_files_are_put_whole_and_nothing_is_left(tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    paths = write([sample(), hostile()], out)
    assert {kind: path.name for kind, path in paths.items()} == {
        kind: f"agreement.{kind}" for kind in ("html", "md", "csv", "tex", "json")
    }
    assert sorted(path.name for path in out.iterdir()) == sorted(path.name for path in paths.values())
    first = {kind: path.read_bytes() for kind, path in paths.items()}
    assert first == {kind: path.read_bytes() for kind, path in write([sample(), hostile()], out).items()}
    assert 'href="agreement.csv"' in paths["html"].read_text()


def test_a_full_disk_leaves_the_earlier_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = write([sample()], tmp_path)["html"].read_bytes()

    def full(path: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write([paradox()], tmp_path)
    assert (tmp_path / "agreement.html").read_bytes() == before
    assert not list(tmp_path.glob(".*partial"))
