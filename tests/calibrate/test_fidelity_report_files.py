"""The files of a fidelity analysis: figures for page and print, LaTeX, CSV, JSON, methods and cards."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import re
import shutil
import struct
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from annotate.errors import UserCalError
from calibrate.estimate import Estimate, Undefined
from calibrate.fidelity.results import FidelityAnalysis, ProxyScore
from calibrate.report.drawing import shortened
from calibrate.report.fidelity import write_fidelity, writing
from calibrate.report.fidelity.card import card_to_html, card_to_markdown, proxy_card
from calibrate.report.fidelity.figures import FIGURES, charts
from calibrate.report.fidelity.frontier import CostScale, Point
from calibrate.report.fidelity.latex import escape, to_latex
from calibrate.report.fidelity.looks import Chart, on_page
from calibrate.report.fidelity.methods import methods_source
from calibrate.report.fidelity.printing import printed
from calibrate.report.fidelity.references import bibliography, cited
from calibrate.report.fidelity.tables import COLUMNS, domains_to_csv, to_csv, to_json
from calibrate.report.fidelity.use import advice
from calibrate.report.fidelity.writing import FORMATS, clean_stem, file_stems


def _cases() -> ModuleType:
    path = Path(__file__).with_name("test_fidelity_report_cases.py")
    spec = importlib.util.spec_from_file_location("fidelity_report_cases", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CASES = _cases()
NAMES = sorted(CASES.EVERY)
QUICK = ("html", "md", "json", "csv", "tex", "methods", "cards")


def made(name: str) -> FidelityAnalysis:
    analysis = CASES.EVERY[name]()
    assert isinstance(analysis, FidelityAnalysis)
    return analysis


def chart(analysis: FidelityAnalysis, name: str) -> Chart:
    found = charts(analysis)[name]
    assert isinstance(found, Chart)
    return found


# ------------------------------------------------------------------------------------------------------ figures


@pytest.mark.parametrize("name", FIGURES)
def test_equal_numbers_give_equal_bytes_without_a_date(name: str) -> None:
    own = chart(made("published"), name)
    first, again = (printed(own, ["pdf", "svg", "png"]) for _ in range(2))
    assert first == again
    assert b"/CreationDate" not in first["pdf"] and b"Software" not in first["png"]
    assert b"date" not in first["svg"].lower().replace(b"dateti", b"")


def test_a_pdf_embeds_its_fonts_as_truetype() -> None:
    content = printed(chart(made("published"), "frontier"), ["pdf"])["pdf"]
    assert b"/FontFile2" in content and b"/Type3" not in content


@pytest.mark.parametrize(("columns", "inches"), [(1, 3.3), (2, 6.9)])
def test_print_figures_are_one_or_two_columns_wide(columns: Any, inches: float) -> None:
    files = printed(chart(made("published"), "turns"), ["pdf", "svg", "png"], columns=columns)
    box = re.search(rb"/MediaBox \[\s*0 0 ([\d.]+)", files["pdf"])
    assert box is not None and float(box[1]) == pytest.approx(72 * inches, abs=0.01)
    assert struct.unpack(">I", files["png"][16:20])[0] == pytest.approx(300 * inches, abs=1)
    width = re.search(rb'width="([\d.]+)pt"', files["svg"])
    assert width is not None and float(width[1]) == pytest.approx(72 * inches, abs=0.01)


@pytest.mark.parametrize("case", NAMES)
def test_every_figure_is_drawn_or_says_why_not(case: str) -> None:
    for name, found in charts(made(case)).items():
        if isinstance(found, Undefined):
            assert found.reason
            continue
        figure = on_page(found)
        assert figure.narrow is not None and found.table.rows
        for svg in (figure.svg, figure.narrow):
            ET.fromstring(svg)
            assert "<script" not in svg and "date" not in svg.lower(), name


def test_what_cannot_be_drawn_has_a_reason() -> None:
    none = charts(made("no_verdicts"))
    assert none["frontier"] == Undefined("no proxy has a UFS")
    assert charts(made("totals_only"))["families"] == Undefined("no verdicts by failure family are known")
    turns = charts(made("totals_only"))["turns"]
    assert isinstance(turns, Undefined) and "not known" in turns.reason


@pytest.mark.parametrize("name", FIGURES)
def test_texts_are_at_least_ten_pixels_on_a_narrow_screen(name: str) -> None:
    narrow = on_page(chart(made("published"), name)).narrow
    assert narrow is not None
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', narrow)[1])  # type: ignore[index]
    sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", narrow)]
    assert sizes and min(sizes) * min(328 / width, 96 / 72) >= 10  # 360 pixels without the margins of the page


def name_boxes(svg: str, names: set[str]) -> list[tuple[float, float, float, float]]:
    """Return left, top, right and bottom of the names in a drawing, a little smaller than they are."""
    boxes = []
    for node in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        text = "".join(node.itertext())
        if text not in names:
            continue
        move = re.search(r"translate\(([-\d.]+) ([-\d.]+)\)", node.get("transform", ""))
        x, y = (float(move[1]), float(move[2])) if move else (float(node.get("x", 0)), float(node.get("y", 0)))
        anchor = re.search(r"text-anchor: (\w+)", node.get("style", ""))
        wide = 4.6 * len(text)
        left = x - {"end": 1.0, "middle": 0.5}.get(anchor[1] if anchor else "start", 0.0) * wide
        boxes.append((left, y - 6.5, left + wide, y))
    return boxes


@pytest.mark.parametrize(("case", "fewest"), [("published", 7), ("many", 10)])
def test_names_are_written_beside_their_points_and_none_lies_on_another(case: str, fewest: int) -> None:
    analysis = made(case)
    names = {shortened(score.proxy, False, 28) for score in analysis.proxies}
    boxes = name_boxes(on_page(chart(analysis, "frontier")).svg, names)
    assert len(boxes) >= fewest
    for place, one in enumerate(boxes):
        for other in boxes[place + 1 :]:
            apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
            assert apart, (one, other)


def point(proxy: str, cost: float | None) -> Point:
    return Point(proxy, cost, 0.5, 0.4, 0.6, False, False)


def test_costs_of_zero_and_unknown_costs_have_lanes_of_their_own() -> None:
    points = [point("free", 0.0), point("cheap", 0.01), point("dear", 1.0), point("unknown", None)]
    scale = CostScale(points)
    places = [scale.at(own) for own in points]
    assert places == sorted(places) and scale.left < places[0] < scale.low < places[1]
    assert places[2] < scale.high < places[3] < scale.right
    labels = [text for _, text in scale.ticks(6)]
    assert labels[0] == "$0" and labels[-1] == "unknown" and "$0.10" in labels


@pytest.mark.parametrize("points", [[("a", 0.0)], [("a", None)], [("a", 0.0), ("b", None)], [("a", 0.02)]])
def test_a_scale_needs_no_known_cost(points: list[tuple[str, float | None]]) -> None:
    made_of = [point(*own) for own in points]
    scale = CostScale(made_of)
    assert scale.left < scale.right
    assert all(scale.left <= scale.at(own) <= scale.right for own in made_of)


# -------------------------------------------------------------------------------------------------------- LaTeX


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("50%_off & #1", r"50\%\_off \& \#1"),
        ("{a}~b^c\\d$", r"\{a\}\textasciitilde{}b\textasciicircum{}c\textbackslash{}d\$"),
        ("≥ ρ α τ² −.04", r"$\geq$ $\rho$ $\alpha$ $\tau$$^{2}$ $-$.04"),
        ("é 🤖\n\nx", "é [U+1F916] x"),
        ("\\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
    ],
)
def test_names_are_never_commands(text: str, escaped: str) -> None:
    assert escape(text) == escaped


def balanced(tex: str) -> None:
    """Check what a compiler would stumble over: braces, environments, cells of each row, raw special signs."""
    depth, opened = 0, []
    for line in tex.split("\n"):
        code = re.sub(r"(?<!\\)%.*", "", line)
        bare = re.sub(r"\\[\\{}%&#_$]", "", code)
        depth += bare.count("{") - bare.count("}")
        assert depth >= 0, line
        assert bare.count("$") % 2 == 0 and "#" not in bare, line
        assert not re.search(r"[_^]", re.sub(r"\$[^$]*\$|\\label\{[^}]*\}", "", bare)), line
        for what, name in re.findall(r"\\(begin|end)\{([a-z*]+)\}", code):
            if what == "begin":
                opened.append(name)
            else:
                assert opened.pop() == name
    assert depth == 0 and not opened


@pytest.mark.parametrize("case", NAMES)
def test_tables_would_compile(case: str) -> None:
    tex = to_latex(made(case))
    balanced(tex)
    for spec, body in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", tex, re.DOTALL):
        rows = [row for row in body.split("\n") if row.endswith(r"\\") and "multicolumn" not in row]
        assert rows and all(len(re.findall(r"(?<!\\)&", row)) == len(spec) - 1 for row in rows)
    assert "n = " in tex.split("\n")[1] and "no person has checked the judge" in tex.split("\n")[1]


def test_the_main_table_holds_the_published_numbers() -> None:
    tex = to_latex(made("published"))
    assert r"\textbf{Gemma-31B} & \$0.0175\,(list price) & .845 {[.809, .881]} & .737 {[.693, .782]} & 375 \\" in tex
    assert r"Sonnet-4-6$^{\dagger}$ & \$0.1841 & .778" in tex
    assert r"& .947 & .474 & 114 & .880 & .840 & 50 & .851 & .912 & 113 & .458 & .885 & 96 \\" in tex


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex on this machine")
def test_tables_compile(tmp_path: Path) -> None:
    body = to_latex(made("awkward"))
    head = "\\documentclass{article}\\usepackage[utf8]{inputenc}\\usepackage[T1]{fontenc}\\usepackage{booktabs}"
    (tmp_path / "t.tex").write_text(f"{head}\\begin{{document}}\n{body}\n\\end{{document}}\n", "utf-8")
    subprocess.run(["pdflatex", "-interaction=nonstopmode", "t.tex"], cwd=tmp_path, check=True, timeout=120)


# --------------------------------------------------------------------------------------------------------- data


@pytest.mark.parametrize("case", NAMES)
def test_tidy_rows_have_n_and_a_reason_where_there_is_no_value(case: str) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(made(case)))))
    assert tuple(rows[0]) == COLUMNS
    for row in rows:
        assert row["n"].isdigit() and not re.search(r"nan|inf\b", row["value"] + row["low"])
        assert row["value"] or row["reason"], row
        assert bool(row["low"]) == bool(row["high"])
    domains = list(csv.DictReader(io.StringIO(domains_to_csv(made(case)))))
    assert {row["measure"] for row in domains} <= {"ufs", "reward"}


def test_a_spreadsheet_runs_no_name() -> None:
    text = to_csv(CASES.one_proxy("=cmd|' /C calc'!A0"))
    assert all(row["proxy"].startswith("'=") for row in csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("case", NAMES)
def test_json_holds_every_estimate_in_full_and_no_nan(case: str) -> None:
    analysis = made(case)
    data = json.loads(to_json(analysis), parse_constant=pytest.fail)
    assert [own["proxy"] for own in data["proxies"]] == [
        score.proxy.encode("utf-8", "replace").decode() for score in analysis.proxies
    ]
    for own, score in zip(data["proxies"], analysis.proxies, strict=True):
        assert Estimate.model_validate(own["ufs"]) == score.ufs


# ------------------------------------------------------------------------------------------- methods and sources


@pytest.mark.parametrize("case", NAMES)
def test_every_cited_work_and_no_other_is_in_the_bibliography(case: str) -> None:
    methods = methods_source(made(case), rubric="retail-v1 #3fa9c1")
    entries = re.findall(r"^@\w+\{(\w+),$", bibliography(methods), re.M)
    assert entries == cited(methods) and "userproxybench" in entries and len(set(entries)) == len(entries)


def test_methods_name_the_intervals_that_were_used() -> None:
    whole = made("published")
    scores = tuple(
        replace(score, ufs=score.ufs.model_copy(update={"method": "Wilson by domain"})) for score in whole.proxies
    )
    methods = " ".join(methods_source(replace(whole, proxies=scores)))
    assert "intervals of the mean UFS are Wilson's" in methods and r"\cite{wilson1927}" in methods
    assert r"\cite{wilson1927}" not in " ".join(methods_source(whole))
    assert "unpaired" in " ".join(methods_source(made("totals_only")))


# -------------------------------------------------------------------------------------------------------- cards


def advised(score: ProxyScore, analysis: FidelityAnalysis) -> list[tuple[str, str]]:
    return [(own.kind, own.text) for own in advice(analysis, score)]


def test_advice_follows_from_the_numbers() -> None:
    analysis = made("published")
    scores = {score.proxy: score for score in analysis.proxies}
    qwen = advised(scores["Qwen3.6-35B"], analysis)
    assert qwen[0] == ("avoid", "where UFS ≥ .84 is needed: .612\u00a0[.576,\u00a0.648], n\u00a0=\u00a0374.")
    assert any("Gemma-31B (and 2 more) is both cheaper and more faithful" in text for _, text in qwen)
    assert any(text.startswith("where UFS ≥ .84 is needed in: telecom .254") for _, text in qwen)
    gemma = advised(scores["Gemma-31B"], analysis)
    assert ("unknown", gemma[-1][1]) == gemma[-1] and "the interval holds it" in gemma[-1][1]
    best = scores["Gemini-3.5-Flash"]
    sure = replace(best, ufs=best.ufs.model_copy(update={"low": 0.85}))
    assert advised(sure, analysis)[0][0] == "use"


def test_habits_are_advised_for_and_against_by_their_limits() -> None:
    analysis = made("published")
    base = analysis.proxies[0]
    rare = replace(base.families[0], family="goal_deviation", episodes=2)
    often = replace(base.families[0], family="premature_disclosure", episodes=120)
    between = replace(base.families[0], family="groundedness", episodes=30)
    found = advised(replace(base, families=(rare, often, between)), analysis)
    texts = {text.split(":")[0]: kind for kind, text in found}
    assert texts["to test whether an agent sees a task through to its end"] == "use"
    assert texts["to test how an agent gathers information"] == "avoid"
    assert not any("what the user reports" in text for text in texts)


@pytest.mark.parametrize("case", NAMES)
def test_every_proxy_has_a_card_that_says_who_checked(case: str) -> None:
    analysis = made(case)
    for score in analysis.proxies[:8]:
        card = proxy_card(analysis, score.proxy)
        page, markdown = card_to_html(card), card_to_markdown(card)
        assert "no person has checked the judge" in page and "no person has checked the judge" in markdown
        assert "<script>" not in page and "n\u00a0=\u00a0" in page and "http" not in re.sub("http-equiv", "", page)
        assert not re.search(r"\b(?:nan|None)\b", page + markdown)
    with pytest.raises(KeyError):
        proxy_card(analysis, "nobody")


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PDFINFO = shutil.which("pdfinfo")


@pytest.mark.skipif(CHROMIUM is None or PDFINFO is None, reason="no chromium or no pdfinfo on this machine")
@pytest.mark.parametrize("crowded", [False, True])
def test_a_card_prints_on_one_page_of_a4(tmp_path: Path, crowded: bool) -> None:
    analysis = made("published")
    score = analysis.proxies[-2]
    if crowded:
        quote = "I am John Smith, by the way, and this is all that I was told about my trip, " * 6
        families = tuple(
            replace(count, family=f"{count.family}_{k}", episodes=60 + k, quotes=(quote,))
            for k in range(3)
            for count in score.families
        )
        domains = {f"domain_with_a_long_name_{k}": score.by_domain["telecom"] for k in range(12)}
        score = replace(score, proxy="long name " * 12, families=families, by_domain=domains)
        analysis = replace(analysis, proxies=(score,), domains=tuple(domains))
    page, target = tmp_path / "card.html", tmp_path / "card.pdf"
    page.write_text(card_to_html(proxy_card(analysis, score.proxy, rubric="retail-v1")), "utf-8")
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    command += ["--disable-background-networking", f"--user-data-dir={tmp_path / 'browser'}", "--no-pdf-header-footer"]
    subprocess.run([*command, f"--print-to-pdf={target}", page.as_uri()], check=True, timeout=120, capture_output=True)
    told = subprocess.run([str(PDFINFO), str(target)], check=True, timeout=60, capture_output=True, text=True).stdout
    assert re.search(r"^Pages: +1$", told, re.M) and "A4" in told


# -------------------------------------------------------------------------------------------------------- files


def test_all_files_are_written_and_named(tmp_path: Path) -> None:
    paths = write_fidelity(CASES.one_proxy(), tmp_path / "new" / "out")
    expected = {"ufs.html", "ufs.md", "ufs.json", "ufs.csv", "ufs_domains.csv", "ufs.tex", "methods.txt", "refs.bib"}
    assert expected <= set(paths) and "cards/only-one.html" in paths
    for name in ("frontier", "reward", "families", "turns"):
        assert {f"{name}.{form}" for form in ("pdf", "svg", "png")} <= set(paths)
        assert f"{name}-wide.pdf" in paths
    assert all(path.stat().st_size for path in paths.values())
    assert not list((tmp_path / "new").rglob("*.partial"))


@pytest.mark.parametrize("case", NAMES)
def test_hostile_names_stay_inside_the_folder(case: str, tmp_path: Path) -> None:
    analysis = made(case)
    paths = write_fidelity(analysis, tmp_path / "out", formats=QUICK)
    assert all((tmp_path / "out") in path.resolve().parents for path in paths.values())
    assert len([name for name in paths if name.startswith("cards/") and name.endswith(".html")]) == len(
        analysis.proxies
    )


def test_the_same_analysis_gives_the_same_files(tmp_path: Path) -> None:
    one = write_fidelity(made("published"), tmp_path / "a", formats=QUICK)
    two = write_fidelity(made("published"), tmp_path / "b", formats=QUICK)
    assert {name: path.read_bytes() for name, path in one.items()} == {
        name: path.read_bytes() for name, path in two.items()
    }


def test_names_that_come_to_the_same_get_files_of_their_own() -> None:
    stems = file_stems(["a/b", "a b", "A-B", "plain", "con", "", "日本"])
    assert len({stem.casefold() for stem in stems.values()}) == 7
    assert stems["plain"] == "plain" and stems["con"].startswith("proxy-")
    assert all(re.fullmatch(r"[A-Za-z0-9._+-]{1,80}", stem) and not stem.startswith(".") for stem in stems.values())


def test_a_name_keeps_its_file_when_another_proxy_joins() -> None:
    assert file_stems(["gpt-4.1"])["gpt-4.1"] == file_stems(["gpt-4.1", "qwen"])["gpt-4.1"] == clean_stem("gpt-4.1")


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_fidelity(CASES.one_proxy(), tmp_path, formats=["csv"])
    before = (tmp_path / "ufs.csv").read_bytes()

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_fidelity(made("published"), tmp_path, formats=["csv"])
    assert (tmp_path / "ufs.csv").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()].count("ufs.csv") == 1 and not list(tmp_path.glob(".*"))


def test_a_figure_of_an_earlier_analysis_does_not_stay(tmp_path: Path) -> None:
    write_fidelity(CASES.one_proxy(), tmp_path, formats=["svg"])
    assert (tmp_path / "families.svg").exists()
    paths = write_fidelity(made("totals_only"), tmp_path, formats=["svg"])
    assert "families.svg" not in paths and not (tmp_path / "families.svg").exists()


def test_an_unknown_format_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UserCalError, match="format 'docx' is not known: choose of html, md"):
        write_fidelity(made("published"), tmp_path / "out", formats=["html", "docx"])
    assert not (tmp_path / "out").exists() and FORMATS[0] == "html"
    assert writing.TITLE


def test_the_methods_file_can_stand_in_a_paper(tmp_path: Path) -> None:
    paths = write_fidelity(made("published"), tmp_path, formats=["methods"], rubric="50%_set #3fa9c1")
    text = paths["methods.txt"].read_text("utf-8")
    balanced(re.sub(r"\\cite\{[^}]*\}", "", text))
    assert r"50\%\_set \#3fa9c1" in text and r"UFS $\geq$ .84" in text and r"95~\% intervals" in text
    assert r"\cite{efron1979} of tasks within domains" in text
    assert r"@article{holm1979," in paths["refs.bib"].read_text("utf-8")
    assert text.startswith("% Methods") and not re.search(r"1e-9|p: |by: ", text)


def test_the_page_links_what_lies_beside_it(tmp_path: Path) -> None:
    paths = write_fidelity(made("awkward"), tmp_path, formats=(*QUICK, "pdf"))
    page = paths["ufs.html"].read_text("utf-8")
    links = re.findall(r'<a href="([^#"]+)"', page)
    assert {"ufs.csv", "ufs.tex", "frontier.pdf"} <= set(links)
    assert all((tmp_path / link).is_file() for link in links)
    assert len([link for link in links if link.startswith("cards/")]) == len(made("awkward").proxies)


def test_marks_are_explained_where_they_occur_only() -> None:
    assert "dagger" not in to_latex(made("unpriced")) and "Bold" not in to_latex(made("unpriced"))
    assert "dagger" in to_latex(made("published")) and "Bold" in to_latex(made("published"))


def test_numbers_of_a_csv_have_ten_digits_and_a_cost_its_reason() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(made("published")))))
    assert all(len(re.sub(r"\D|^0\.0*", "", row["value"].partition("e")[0])) <= 11 for row in rows)
    costs = [row for row in rows if row["measure"] == "cost_usd"]
    assert costs and all("no interval" in row["reason"] for row in costs)
    assert not any("cannot be asked" in row["reason"] for row in rows)


def test_a_family_figure_without_cells_has_one_panel() -> None:
    whole = made("published")
    bare = replace(whole, effects=tuple(replace(effect, cells=()) for effect in whole.effects))
    assert "Second panel" in chart(whole, "families").caption
    assert "Second panel" not in chart(bare, "families").caption
    assert "Reward with it minus without" not in on_page(chart(bare, "families")).svg


def test_a_proxy_of_which_nothing_is_scored_is_in_no_figure() -> None:
    whole = made("published")
    first = whole.proxies[0]
    solo = replace(first, counts=replace(first.counts, scored=0, undefined=first.counts.total))
    table = chart(replace(whole, proxies=(solo, *whole.proxies[1:])), "reward").table
    named_rows = {row[1] for row in table.rows}
    assert first.proxy not in named_rows and whole.proxies[1].proxy in named_rows
