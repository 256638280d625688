"""Agreement as CSV, frame, JSON, LaTeX, fragment and sentence, and the files. All records here are made up."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from agreement_samples import FEW, NAMES, SAMPLES, hostile, mixed, nothing, paradox, parts, sample

from calibrate.agreement import Agreement, Marginal
from calibrate.estimate import Estimate
from calibrate.report.agreement.latex import to_latex
from calibrate.report.agreement.tables import COLUMNS, summary, to_csv, to_fragment, to_frame, to_json
from calibrate.report.agreement.writing import as_dict, write

each = pytest.mark.parametrize("agreement", SAMPLES, ids=NAMES)


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
        drawn = str(e.signature.resamples or "")
        assert (row["seed"], row["spawn_key"], row["resamples"], row["version"]) == ("7", "1 2", drawn, "9.9")


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
        "percentile bootstrap of clusters (participant), 12 of them",
        "1,000 resamples",
        "They speak of these raters, other units.",
    ):
        assert said in text
    for said in ("undefined & -- & 22", "No value or no interval: " + FEW, "36 with two ratings or more", "tutor A"):
        assert said in text


def test_latex_names_what_the_parts_are_parts_by() -> None:
    assert "by kind of rater and assistant." in to_latex([sample()])
    assert "by assistant." in to_latex([sample(kinds=[])]) and "by kind of rater" not in to_latex([sample(kinds=[])])
    assert "by kind of rater." in to_latex([mixed()])


@each
def test_a_frame_has_the_rows_of_the_csv_with_numbers_as_numbers(agreement: Agreement) -> None:
    pd = pytest.importorskip("pandas")
    frame, text = to_frame(agreement), pd.read_csv(io.StringIO(to_csv([agreement])), keep_default_na=False, dtype=str)
    assert tuple(frame.columns) == COLUMNS and list(frame["coefficient"]) == list(text["coefficient"])
    assert list(frame["n"]) == [int(n) for n in text["n"]] and frame["value"].dtype == "float64"
    assert [None if pd.isna(v) else v for v in frame["value"]] == [float(v) if v else None for v in text["value"]]
    assert len(to_frame([agreement, agreement])) == 2 * len(frame)


@each
def test_a_fragment_escapes_every_label_and_asks_for_nothing(agreement: Agreement) -> None:
    text = to_fragment(agreement)
    assert text.startswith("<div") and text.endswith("</div>") and text.encode()
    assert not re.search(r"<(?!/?(div|p|table|thead|tbody|tr|th|td)\b)", text)
    assert not set(text) & {"\u202e", "\u2066", "\x00"} and "http" not in text
    for end in ("table", "tr", "td", "th", "p"):
        assert len(re.findall(rf"<{end}\b", text)) == text.count(f"</{end}>")
    for e in agreement.overall.estimates.values():
        assert f">{e.n:,}</td>" in text


def test_a_summary_can_be_quoted() -> None:
    text = summary(mixed())
    for said in (
        "Four raters (40 units, 110 ratings) agreed on 86 % of pairs of ratings [82, 90] "
        "(95 % interval, t over clusters (participant))",
        "Krippendorff's α (nominal) = .56 [.46, .65] (95 % interval, percentile bootstrap of clusters (participant), "
        "12 of them, 1,000 resamples, seed 7)",
        "Intervals speak of these raters, other units.",
        "A person and a model agreed in 86 % [82, 90] of 89 pairs of ratings; Krippendorff's α (nominal) = .56",
    ):
        assert said in text
    assert "Gwet's AC1 = .90" in summary(paradox()) and "cannot be compared: no unit has two ratings." in summary(
        nothing()
    )
    assert "\n" not in summary(hostile())


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
