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
from calibrate.fidelity.results import FidelityAnalysis, Frontier, Question
from calibrate.report.document import Band, Block, Details, Note, Paragraph, Report, Table, to_json
from calibrate.report.fidelity import ProbeLine, compose_fidelity, terminal_lines
from calibrate.report.fidelity.amounts import money, named, said, share, threshold
from calibrate.report.fidelity.answering import settled_words
from calibrate.report.fidelity.choosing import turned
from calibrate.report.fidelity.methods import methods_source
from calibrate.report.fidelity.screening import ranks
from calibrate.report.fidelity.terminal import WIDTH, columns_of
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
    parts = ("2,618 scored episodes", "seed 7", "2,000 bootstrap resamples (Efron, 1979)", "Holm, 1979", "375 tasks")
    for part in parts:
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
        if line.startswith(("…", "No proxy", "c.: ", "supp.", "Cost", "Assured", "  ")):
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
    assert "Unaudited" in text and "Cost unknown" not in text
    assert "Sonnet" not in text and "Sonnet" in "\n".join(terminal_lines(made("published"), every=True))


def test_the_self_hosted_hint_stands_only_where_a_cost_is_unknown() -> None:
    assert any(line.startswith("Cost unknown") for line in terminal_lines(made("unpriced")))
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


# ------------------------------------------------------------------------------------------------- rules of wording


def written_by(analysis: FidelityAnalysis) -> str:
    report = compose_fidelity(analysis)
    return "\n".join([to_html(report), to_markdown(report), *terminal_lines(analysis), *methods_source(analysis)])


def test_where_people_judged_no_judge_is_blamed_and_they_are_named() -> None:
    text = written_by(replace(made("published"), by_people=True, raters=("Ana", "Ben")))
    assert not re.search(r"judge-only|unaudited\b(?!\))|no person has checked", text, re.IGNORECASE)
    assert "judged by people (Ana and Ben)" in text and "Judged by people (Ana and Ben). One person" in text
    assert "All verdicts were given by people, by Ana and Ben." in text


def test_a_model_that_judged_is_named() -> None:
    text = written_by(replace(made("published"), raters=("opus-judge",)))
    assert "no person has checked the judge (verdicts by opus-judge)" in text
    assert "The verdicts are a judge's, by opus-judge; no person has checked them." in text


def with_decision(analysis: FidelityAnalysis, **fields: object) -> FidelityAnalysis:
    return replace(analysis, decision=replace(analysis.decision, **fields))


def test_what_the_tasks_settle_is_said_and_that_an_audit_is_missing() -> None:
    reason = (
        "as far as the tasks go it is settled that no proxy reaches .95 (every simultaneous upper limit lies below "
    )
    reason += "it); what is missing is an audit of the judge"
    lines = "\n".join(terminal_lines(with_decision(made("published"), chosen=None, needed_reason=reason)))
    assert "Is it settled?   As far as the tasks go it is settled that no proxy reaches .95; what is missing" in lines


def test_the_best_is_named_once_and_ties_are_named_as_ties() -> None:
    whole = made("published")
    none = with_decision(
        whole, chosen=None, chosen_reason="none reaches 0.95: the best, Gemini-3.5-Flash, has 0.864 (x)"
    )
    assert compose_fidelity(none).verdict[0].count("Gemini-3.5-Flash") == 1
    assert "0.864" not in compose_fidelity(none).verdict[0]
    second = replace(whole.proxies[1], ufs=whole.proxies[0].ufs)
    tied = replace(none, proxies=(whole.proxies[0], second, *whole.proxies[2:]))
    assert "Gemini-3.5-Flash and Gemma-31B tie for the most faithful" in compose_fidelity(tied).verdict[0]


def test_a_sentence_begins_with_a_capital_after_no() -> None:
    lines = terminal_lines(with_decision(made("unpriced"), needed_reason="no proxy has both a cost and a UFS"))
    assert "Is it settled?   No. No proxy has both a cost and a UFS." in lines


def test_a_constraint_that_is_not_known_is_the_reason_everywhere() -> None:
    whole = made("many")
    reason = "user turns unknown, and at most 8 are allowed"
    frontier = Frontier((), (), (), (), {}, {score.proxy: reason for score in whole.proxies})
    barred = replace(whole, frontier=frontier, frontier_pooled=frontier)
    barred = with_decision(barred, chosen=None, chosen_reason=f"no proxy meets the constraints: {reason}")
    lines = "\n".join(terminal_lines(barred))
    assert "34 of which user turns are unknown" in lines and "without a known cost" not in lines
    assert f"No proxy is chosen: no proxy meets the constraints: {reason}" in " ".join(lines.split())
    assert f"takes no part: {reason}" in to_markdown(compose_fidelity(barred))


def test_what_a_table_of_results_does_not_tell_is_not_zero() -> None:
    whole = made("totals_only")
    first = whole.proxies[0]
    lost = replace(first, reward=first.reward.model_copy(update={"n": first.counts.scored + 1}))
    text = written_by(replace(whole, proxies=(lost, *whole.proxies[1:])))
    assert "The table of results gives 2,618 scored episodes" in text and "We scored" not in text
    assert "does not tell which" in text and "1 episode with a reward and no UFS" in text
    assert "duplicate episodes counted once" not in text


def test_one_thing_is_singular() -> None:
    text = written_by(made("one_proxy"))
    assert not re.search(r"(?<![\d,.])1 (?:proxies|domains|pairs|cells|episodes(?! a))", text)


def test_pairs_put_the_more_faithful_first_and_give_p_once() -> None:
    whole = made("published")
    pair = whole.differences[0]
    other_way = replace(pair, first=pair.second, second=pair.first, estimate=turned(pair.estimate))
    table = next(
        t
        for t in tables(all_blocks(compose_fidelity(replace(whole, differences=(other_way,)))))
        if t.caption.startswith("Differences")
    )
    assert table.rows[0][0] == "Gemma-31B minus GPT-4.1-mini" and str(table.rows[0][1]).startswith(".093")
    assert "p" not in str(table.rows[0][1]) and "Tasks" not in table.columns


def test_probes_that_apply_to_nothing_are_one_line_and_one_domain_is_one_row() -> None:
    share_of = Estimate(name="disclosed", value=0.5, low=0.2, high=0.8, n=16)
    lines = [
        ProbeLine("Early", "a", share_of, "", ("quote",), "retail"),
        ProbeLine("Early", "a", share_of, "", ("quote",), "all"),
        ProbeLine("Writes", "a", Estimate.undefined("writes", "no gold write", n=0), "", (), "retail"),
    ]
    text = to_markdown(compose_fidelity(made("published"), probes=lines))
    assert text.count("quote") == 1 and "| all |" not in text
    told = text.replace("\u00a0", " ")
    assert "Probes that apply to no episode here, n = 0: Writes (no gold write)." in told
