"""The report of fidelity: answer first, no number without n, whatever proxies are called and whatever is missing."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from calibrate.estimate import Estimate, Undefined
from calibrate.fidelity.results import FidelityAnalysis, Question
from calibrate.report.document import Band, Block, Details, Note, Paragraph, Report, Table, to_json
from calibrate.report.fidelity import ProbeLine, compose_fidelity, terminal_lines
from calibrate.report.fidelity.amounts import money, named, said, share, threshold
from calibrate.report.fidelity.answering import settled_words
from calibrate.report.fidelity.screening import ranks
from calibrate.report.fidelity.terminal import WIDTH, columns_of, turned
from calibrate.report.html import to_html
from calibrate.report.markdown import to_markdown


def _cases() -> ModuleType:
    path = Path(__file__).with_name("test_fidelity_report_cases.py")
    spec = importlib.util.spec_from_file_location("fidelity_report_cases", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CASES = _cases()
NAMES = sorted(CASES.EVERY)
THREE_DECIMALS = re.compile(r"(?<![\d$.])[−]?(?:1\.\d{3}|\.\d{3})(?!\d)")
COUNTED = re.compile(r"n\s=\s[\d,]+|\d of [\d,]+|no value")


def made(name: str) -> FidelityAnalysis:
    analysis = CASES.EVERY[name]()
    assert isinstance(analysis, FidelityAnalysis)
    return analysis


def tables(blocks: tuple[Block, ...]) -> Iterator[Table]:
    for block in blocks:
        if isinstance(block, Table):
            yield block
        elif isinstance(block, Details | Band):
            yield from tables(block.blocks)


def texts(blocks: tuple[Block, ...]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Paragraph):
            yield block.text
        elif isinstance(block, Note):
            yield from block.items
        elif isinstance(block, Details | Band):
            yield from texts(block.blocks)


def all_blocks(report: Report) -> tuple[Block, ...]:
    return tuple(block for section in report.sections for block in section.blocks)


@pytest.mark.parametrize("name", NAMES)
def test_no_number_stands_without_n(name: str) -> None:
    report = compose_fidelity(made(name))
    for table in tables(all_blocks(report)):
        own_column = "n" in table.columns
        for row in table.rows:
            line = " | ".join(str(cell) for cell in row[1:])
            if THREE_DECIMALS.search(line):
                assert own_column or COUNTED.search(line), (table.caption, row)
    sentences = [*report.verdict, *(card.sentence for card in report.cards), *texts(all_blocks(report))]
    for text in sentences:
        if THREE_DECIMALS.search(text) and "judge failed kept criteria" not in text:
            assert COUNTED.search(text), text


@pytest.mark.parametrize("name", NAMES)
def test_every_form_is_written_whatever_is_missing(name: str) -> None:
    report = compose_fidelity(made(name), rubric="retail-v1 #3fa9c1")
    page, markdown, data = to_html(report), to_markdown(report), to_json(report)
    assert "<script" not in page and "\u202e" not in page + markdown
    for text in (page, markdown, data):
        assert not re.search(r"\b(?:nan|inf|None)\b", text)
    assert json.loads(data)["sections"][0]["title"].startswith("1. Which proxy is the cheapest")


def test_the_answer_comes_first_and_says_that_nobody_checked_the_judge() -> None:
    report = compose_fidelity(made("published"))
    assert report.verdict[0].startswith("Judge-only: Gemma-31B is the cheapest proxy that reaches UFS ≥ .84: .845")
    assert "no person has checked the judge" in report.notices[-1]
    audited = compose_fidelity(replace(made("published"), audited=True))
    assert audited.verdict[0].startswith("Gemma-31B is the cheapest")
    assert not any("no person has checked" in notice for notice in audited.notices)


def test_questions_come_in_order_and_methods_cite_what_they_use() -> None:
    report = compose_fidelity(made("published"))
    numbers = [section.title[:2] for section in report.sections[:5]]
    assert numbers == ["1.", "2.", "3.", "4.", "5."]
    methods = " ".join(block.text for block in report.methods if isinstance(block, Paragraph))
    for part in ("2,618 episodes", "seed 7", "2,000 bootstrap resamples (Efron, 1979)", "Holm, 1979", "375 tasks"):
        assert part in methods
    assert "\\cite" not in methods


def test_nobody_is_chosen_where_no_cost_is_known_and_the_reason_stands_first() -> None:
    report = compose_fidelity(made("unpriced"))
    assert report.verdict[0].startswith("Judge-only: no proxy is chosen at UFS ≥ .84")
    assert "n\u00a0=\u00a0374" in report.verdict[0]
    assert report.cards[0].answer == "No proxy"


def test_billed_and_list_cost_stand_apart_and_an_unknown_one_is_never_zero() -> None:
    report = compose_fidelity(made("published"))
    costs = next(t for t in tables(all_blocks(report)) if t.caption.startswith("US dollars"))
    gemma = next(row for row in costs.rows if row[0] == "Gemma-31B")
    gemini = next(row for row in costs.rows if row[0] == "Gemini-3.5-Flash")
    assert "list\u00a0price" in str(gemma[1]) and str(gemma[2]).startswith("$0.0175")
    assert "billed" in str(gemini[1]) and gemini[2] == "not known"
    assert "$0.0000" not in to_markdown(compose_fidelity(made("unpriced")))


def test_probes_stand_under_their_band_and_nowhere_else() -> None:
    share_of = Estimate(name="disclosed", value=0.5, low=0.2, high=0.8, n=16)
    lines = [
        ProbeLine("First-turn disclosure", "Gemma-31B", share_of, "retail 60 left out", ("I am *John*",)),
        ProbeLine("First-turn disclosure", "Qwen", Estimate.undefined("disclosed", "no identifiers", n=0)),
    ]
    report = compose_fidelity(made("published"), probes=lines)
    section = next(s for s in report.sections if s.title == "What rules find without a judge")
    band = section.blocks[0]
    assert isinstance(band, Band) and band.text.startswith("Probes, not UFS")
    assert "no value: no identifiers, n\u00a0=\u00a00" in to_html(report)
    assert not any("First-turn disclosure" in text for text in report.verdict)


def test_the_pooled_basis_is_used_throughout_when_it_is_asked_for() -> None:
    whole = made("published")
    decision = replace(whole.decision, question=replace(whole.decision.question, basis="episodes"))
    report = compose_fidelity(replace(whole, decision=decision))
    gemma = next(score for score in whole.proxies if score.proxy == "Gemma-31B")
    assert f": {share(gemma.pooled.value or 0)}" in report.verdict[0]
    assert "mean over episodes" in report.subtitle


def test_ranks_share_places_and_leave_out_the_undefined() -> None:
    values = {"a": CASES.estimate("x", 0.5, 9), "b": CASES.estimate("x", 0.9, 9), "c": CASES.estimate("x", 0.5, 9)}
    assert ranks({**values, "d": Estimate.undefined("x", "none", n=0)}) == {"b": 1, "a": 2, "c": 2}


# ------------------------------------------------------------------------------------------------------ amounts


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "unknown"), (0.0, "$0.0000"), (0.0175, "$0.0175"), (12.5, "$12.50"), (1120, "$1,120"), (4e-7, "$4.0e-07")],
)
def test_money_has_as_many_decimals_as_it_needs(value: float | None, text: str) -> None:
    assert money(value) == text


def test_shares_and_limits_are_written_as_the_field_writes_them() -> None:
    assert [share(v) for v in (0.845, 1.0, -0.043, 0.0)] == [".845", "1.000", "−.043", ".000"]
    assert [threshold(v) for v in (0.84, 0.855, 1.0, 0.9)] == [".84", ".855", "1.00", ".90"]


def test_what_is_no_share_is_not_written_as_one() -> None:
    turns = Estimate(name="turns", value=12.25, low=11.9, high=12.6, n=40)
    assert said(turns) == "12.25\u00a0[11.90,\u00a012.60], n\u00a0=\u00a040"
    assert said(None) == "not measured" and said(Undefined("too few")) == "no value: too few"


def test_a_name_is_one_line_that_cannot_turn_the_text_around_it() -> None:
    assert named("\u202eevil\x07\udc80") == "evil" and named("") == "(no name)"
    assert named("نموذج").startswith("\u2068") and named("نموذج").endswith("\u2069")
    assert len(named("x" * 500)) <= 80


# ----------------------------------------------------------------------------------------------------- terminal


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("every", [False, True])
def test_lines_fit_the_terminal_and_columns_are_aligned(name: str, every: bool) -> None:
    lines = terminal_lines(made(name), rubric="retail-v1 #3fa9c1", every=every)
    assert max(columns_of(line) for line in lines) <= WIDTH
    head = next(place for place, line in enumerate(lines) if line.startswith("proxy"))
    end = columns_of(lines[head][: lines[head].index("frontier") + len("frontier")])
    for line in lines[head + 1 :]:
        if line.startswith(("…", "No proxy", "Cost", "Assured", "  ")):
            break
        assert columns_of(re.split(r"\s+←", line)[0]) == end, line


def test_the_terminal_answers_as_the_mock_up_does() -> None:
    lines = terminal_lines(made("published"), rubric="retail-v1 #3fa9c1")
    text = "\n".join(lines)
    assert lines[0].startswith("User fidelity, judge-only: no person has checked the judge, 375 tasks in 4 domains")
    assert sum("←" in line for line in lines) == 1
    assert re.search(r"^Gemma-31B +\.845  \[\.809, \.881\] +375 .*← cheapest ≥ \.84$", text, re.M)
    assert "… 3 more (3 strictly dominated)" in lines
    assert re.search(
        r"^Differences +Gemma-31B − GPT-4\.1-mini +\+\.093 \[\.048, \.138\] paired on 374 tasks", text, re.M
    )
    assert re.search(r"^Is it settled\? +No\. \.845 against \.84 would need about 14,000 tasks", text, re.M)
    assert "Unaudited" in text and "Self-hosted?" not in text
    assert "Sonnet" not in text and "Sonnet" in "\n".join(terminal_lines(made("published"), every=True))


def test_the_self_hosted_hint_stands_only_where_a_cost_is_unknown() -> None:
    assert any(line.startswith("Self-hosted?") for line in terminal_lines(made("unpriced")))
    assert not any("0000" in line for line in terminal_lines(made("unpriced")))


def test_a_difference_is_turned_so_that_the_chosen_stands_first() -> None:
    pair = made("published").differences[0]
    other_way = replace(pair, first=pair.second, second=pair.first, estimate=turned(pair.estimate))
    assert terminal_lines(replace(made("published"), differences=(other_way,))) == terminal_lines(made("published"))


def test_the_margin_is_told_with_its_support() -> None:
    whole = made("published")
    decision = replace(whole.decision, question=Question(q=0.84, margin=0.02))
    told = settled_words(replace(whole, decision=decision))
    assert "at least .82" in told and ".92 of 2,000 resampled task sets" in told


def test_no_proxies_at_all_is_said_plainly() -> None:
    empty = replace(made("published"), proxies=(), domains=(), differences=(), effects=(), reinforced=())
    decision = replace(empty.decision, chosen=None, chosen_reason="there is no proxy")
    empty = replace(empty, decision=decision)
    assert terminal_lines(empty) == ["User fidelity: there are no proxies to compare yet."]
    report = compose_fidelity(empty)
    assert report.verdict == ("There are no proxies to compare yet, so nothing can be said.",)
    assert to_html(report) and not report.cards


def test_calls_and_turns_are_never_written_as_shares() -> None:
    small = Estimate(name="questions", value=-0.26, low=-0.5, high=-0.02, n=280)
    whole = made("published")
    reinforced = tuple(replace(own, questions=small) for own in whole.reinforced)
    report = compose_fidelity(replace(whole, reinforced=reinforced))
    table = next(t for t in tables(all_blocks(report)) if t.caption.startswith("Successful episodes"))
    assert table.rows[0][2] == "−0.26\u00a0[−0.50,\u00a0−0.02], n\u00a0=\u00a0280"


# ------------------------------------------------------------------------------------- with the analysis itself


def test_the_published_table_goes_through_the_analysis_into_the_report() -> None:
    import pandas as pd

    from annotate.episodes import RESULT_COLUMNS, EpisodeFrames
    from calibrate.fidelity.analysing import analyse

    rows = [
        (proxy, domain, *kept, *won, cost, basis, None, None)
        for proxy, (cost, basis, keeps, wins) in CASES.PUBLISHED.items()
        for domain, kept, won in zip(CASES.DOMAINS, keeps, wins, strict=True)
    ]
    frames = EpisodeFrames(results=pd.DataFrame(rows, columns=RESULT_COLUMNS), source="Table 2")
    analysis = analyse(frames, Question(q=0.84, rollouts=64, prompts=1000, resamples=200))
    text = "\n".join(terminal_lines(analysis))
    assert re.search(r"^Gemma-31B +\.845 .* \$1,120 .*← cheapest ≥ \.84$", text, re.M)
    assert "… 3 more (3 strictly dominated)" in text and "not paired" in text
    report = compose_fidelity(analysis)
    assert report.verdict[0].startswith("Judge-only: Gemma-31B is the cheapest proxy that reaches UFS ≥ .84: .845")
    assert any("Only totals" in notice for notice in report.notices)
    assert "GPT-5.4-mini, Qwen3.6-35B and Sonnet-4-6" in to_markdown(report)


def test_before_any_verdict_nothing_is_claimed_of_a_judge() -> None:
    report = compose_fidelity(made("no_verdicts"))
    assert report.notices[-1].startswith("No episode has been scored yet")
    assert report.verdict[0].startswith("No proxy is chosen")
    assert not any(table.caption.startswith("Support") for table in tables(all_blocks(report)))


def test_columns_of_a_terminal_are_counted_as_it_shows_them() -> None:
    assert [columns_of(text) for text in ("abc", "日本", "🤖", "e\u0301", "\u2068x\u2069")] == [3, 4, 2, 1, 1]
