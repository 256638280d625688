"""The report at every stage of a study: what it claims, what it refuses to, and that all forms agree."""

from __future__ import annotations

import json
import math
import os
import random
import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from annotate.config import StudyConfig
from annotate.errors import ConfigError
from annotate.frames import CONVERSATION_COLUMNS, PAIR_COLUMNS, RATING_COLUMNS, StudyFrames
from annotate.importers.contract import person_rater
from annotate.schema import Scale
from calibrate.estimate import Estimate
from calibrate.report import Report, compose, headline, to_html, to_json, to_markdown
from calibrate.report.aligning import aligned, length_baseline
from calibrate.report.behaviour import TRAITS, gives_away, paired
from calibrate.report.context import Context
from calibrate.report.document import Band, Block, Details, Figure, Note, Paragraph, Table, estimates
from calibrate.report.effort import cost_section, missing_section
from calibrate.report.markdown import escape
from calibrate.report.outcomes import outcome_section
from calibrate.report.ratings import human_frame, mean_rating
from calibrate.report.realism import realism_section, told_apart
from calibrate.report.wording import write

EMBEDDED = "local/smollm2"
GROUPS = {"math_tutoring": ("level",), "document_creation": ("document_type",)}
AWKWARD = 'a|b <script>alert("x")</script> *b* _i_ [l](javascript:1) `c` $x$ 😀 & &amp; # 1.'


class Study:
    """Builds frames row by row."""

    def __init__(self) -> None:
        self.conversations: list[dict[str, Any]] = []
        self.ratings: list[dict[str, Any]] = []
        self.pairs: list[dict[str, Any]] = []
        self.scales = {
            name: Scale(name=name, level="ordinal", minimum=1, maximum=top)
            for name, top in (("interaction", 10), ("document", 10), ("likert_writing", 5))
        }
        self.scales["turing"] = Scale(
            name="turing", level="nominal", target="pair", labels=("first", "second")
        )
        self.scales["correct"] = Scale(
            name="correct", level="nominal", labels=("correct", "incorrect", "unknown")
        )
        self.calls: dict[str, Any] = {"calls": 0, "failed": 0, "recorded": 0, "cost_usd": 0, "models": []}
        self.failures: dict[str, int] = {}

    def human(self, name: str, **fields: Any) -> str:
        defaults = {
            "task": "math_tutoring", "item": "m1", "participant": "p1", "assistant": "a", "origin": "human",
            "user_turns": 4, "user_words": 60, "words_per_message": 15.0, "assistant_words": 300,
            "tags": {"level": "Level 3"},
        }  # fmt: skip
        self.conversations.append(
            {**dict.fromkeys(CONVERSATION_COLUMNS), "conversation": name, **defaults, **fields}
        )
        return name

    def twin(self, of: str, strategy: str = "profile", **fields: Any) -> str:
        own = next(row for row in self.conversations if row["conversation"] == of)
        name = f"twin-{strategy}-{of}"
        self.conversations.append(
            {**own, "conversation": name, "origin": "simulated", "strategy": strategy, "twin_of": of,
             "participant": "simulator", "correct": None, **fields}
        )  # fmt: skip
        return name

    def rate(self, conversation: str, value: Any, scale: str = "interaction", *, model: str | None = None,
             person: str = "p1", missing: str | None = None) -> None:  # fmt: skip
        kind = "human" if model is None else "model"
        self.ratings.append(
            {"conversation": conversation, "scale": scale, "turn": None, "rater": model or person_rater(person).id,
             "rater_kind": kind, "model": model, "value": None if missing else value, "missing": missing,
             "seconds": None}
        )  # fmt: skip

    def show(self, human: str, twin: str, picks: tuple[Any, ...], *, model: str = "judge",
             positions: tuple[int, ...] = (1, 2), confidence: float | None = 0.7) -> None:  # fmt: skip
        for position, pick in zip(positions, picks, strict=True):
            self.pairs.append(
                {"human": human, "twin": twin, "rater": model, "rater_kind": "model", "model": model,
                 "position": position, "picked": pick, "confidence": confidence,
                 "missing": "unparsable" if pick is None else None}
            )  # fmt: skip

    def frames(self) -> StudyFrames:
        return StudyFrames(
            conversations=pd.DataFrame(self.conversations, columns=CONVERSATION_COLUMNS),
            ratings=pd.DataFrame(self.ratings, columns=RATING_COLUMNS),
            pairs=pd.DataFrame(self.pairs, columns=PAIR_COLUMNS),
            scales=self.scales, profiles=0, calls=self.calls, failures=self.failures,
        )  # fmt: skip


def people_only(conversations: int = 12, people: int = 9, rename: str = "") -> Study:
    study, rng = Study(), random.Random(3)
    for number in range(conversations):
        person, assistant = f"p{number % people}{rename}", "ab"[number % 2] + rename
        document = number % 3 == 2
        name = study.human(
            f"c{number}", participant=person, assistant=assistant, item=f"i{number % 5}",
            assistant_words=200 + 37 * ((number * 7) % 11), words_per_message=10.0 + rng.random() * 8,
            user_turns=3 + number % 4, task="document_creation" if document else "math_tutoring",
            tags={"document_type": f"blog{rename}"} if document else {"level": f"L{3 + number % 3}{rename}"},
            correct=None if document else number % 4 != 0, document_words=200 + number if document else None,
        )  # fmt: skip
        value = min(10, max(1, 5 + 2 * (number % 2) + rng.choice((-2, -1, 0, 1, 2))))
        study.rate(name, value, person=person)
        if document:
            study.rate(name, min(10, value + rng.choice((0, 1))), scale="document", person=person)
    return study


def with_twins(judge: str = "openai/judge", conversations: int = 12, rename: str = "") -> Study:
    study, rng = people_only(conversations, rename=rename), random.Random(5)
    for row in [dict(row) for row in study.conversations]:
        human = row["conversation"]
        own = next(
            r["value"] for r in study.ratings if r["conversation"] == human and r["rater_kind"] == "human"
        )
        study.rate(human, min(10, max(1, own + rng.choice((-1, 0, 1)))), model=judge)
        study.rate(human, 5, scale="likert_writing", model=judge)
        for strategy in ("zero_shot_cot", "profile"):
            twin = study.twin(human, strategy, words_per_message=60.0 + 5 * rng.random(), cost_usd=None)
            study.rate(twin, min(10, max(1, own + rng.choice((-2, 0, 2)))), model=judge)
            study.rate(twin, rng.choice((2, 3)), scale="likert_writing", model=judge)
            if row["task"] == "math_tutoring":
                study.rate(
                    twin, rng.choice(("correct", "incorrect", "unknown")), scale="correct", model=judge
                )
            else:
                study.rate(twin, rng.choice((4, 5, 8)), scale="document", model=judge)
            right = rng.random() < 0.95
            study.show(human, twin, (1, 2) if right else (2, 1), model=judge)
    study.calls |= {"calls": 99, "failed": 2, "recorded": 99, "cost_usd": None, "models": [judge]}
    study.failures = {"rate_limit": 2}
    return study


def config(**sections: Any) -> StudyConfig:
    return StudyConfig.model_validate({"study": {"name": "s"}, **sections})


def make(study: Study, settings: StudyConfig | None = None, *, drawn: bool = False, **options: Any) -> Report:
    """Compose a report; without its drawings unless they are asked for, which takes most of the time."""
    defaults: dict[str, Any] = {"seed": 7, "resamples": 100, "title": "T", "recorded": False, "demo": False}
    everything = {**defaults, "group_by": GROUPS, **options}
    if drawn:
        return compose(study.frames(), settings or config(), **everything)
    with mock.patch("calibrate.report.figures.draw", return_value=("", "")):
        return compose(study.frames(), settings or config(), **everything)


@cache
def standard(kind: str) -> Report:
    """Reports that several tests read."""
    if kind == "awkward":
        return make(with_twins(f"{EMBEDDED}{AWKWARD}", rename=AWKWARD), drawn=True, title=f"{AWKWARD} \ud800")
    if kind == "one":
        return make(with_twins(conversations=1), drawn=True)
    studies = {
        "people": people_only,
        "twins": with_twins,
        "embedded": lambda: with_twins(EMBEDDED),
        "empty": Study,
    }
    return make(studies[kind](), drawn=True)


def context_of(study: Study) -> Context:
    return Context(study.frames(), config(), 7, 200, False, False, GROUPS)


class _Text(HTMLParser):
    """The visible text of a page, and what it refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.hidden = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.hidden = self.hidden or tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self.hidden = self.hidden and tag != "style"

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.parts.append(data)


def read(page: str) -> tuple[str, list[tuple[str, dict[str, str | None]]]]:
    parser = _Text()
    parser.feed(page)
    return " ".join("".join(parser.parts).replace("\u00a0", " ").split()), parser.tags


def blocks_of(report: Report) -> list[Block]:
    found: list[Block] = []

    def walk(blocks: tuple[Block, ...]) -> None:
        for block in blocks:
            found.append(block)
            if isinstance(block, Details | Band):
                walk(block.blocks)

    for section in report.sections:
        walk(section.blocks)
    return found


def said(report: Report) -> str:
    """Everything that a report says, as text."""
    return " ".join(to_markdown(report).split()).replace("\\", "")


# ------------------------------------------------------------------------------------------ the same numbers


def numbers_in_json(data: Any) -> list[Estimate]:
    if isinstance(data, dict):
        if "interval_reason" in data:
            return [Estimate.model_validate(data)]
        return [number for value in data.values() for number in numbers_in_json(value)]
    return [number for value in data for number in numbers_in_json(value)] if isinstance(data, list) else []


def in_html(estimate: Estimate) -> str:
    parts = write(estimate)
    counts = f"{parts.counts}, {parts.p}" if parts.p else parts.counts
    value = f"{parts.symbol} {parts.value}".strip() if parts.value else ""
    return " ".join(part for part in (value, parts.interval, parts.note, counts) if part)


@pytest.mark.parametrize("kind", ["people", "twins", "awkward", "empty"])
def test_every_estimate_of_the_json_stands_in_html_and_markdown(kind: str) -> None:
    report = standard(kind)
    listed = numbers_in_json(json.loads(to_json(report)))
    assert [e.name for e in listed] == [e.name for e in estimates(report)]
    page, markdown = read(to_html(report))[0], to_markdown(report)
    for line, times in Counter(in_html(estimate) for estimate in listed).items():
        assert page.count(line) >= times, line
    for line, times in Counter(escape(write(estimate).line) for estimate in listed).items():
        assert markdown.count(line) >= times, line


@pytest.mark.parametrize("kind", ["people", "twins", "embedded", "one", "empty"])
def test_nothing_is_ever_nan_and_every_number_has_an_interval_or_a_reason(kind: str) -> None:
    report = standard(kind)
    page, _ = read(to_html(report))
    for text in (
        page,
        to_markdown(report),
        to_json(report),
        *(f.svg for f in blocks_of(report) if isinstance(f, Figure)),
    ):
        assert not re.search(r"\b(nan|NaN|inf|None)\b", text)
    for estimate in estimates(report):
        assert estimate.value is None or estimate.interval is not None or estimate.interval_reason
        assert estimate.value is None or math.isfinite(estimate.value)


def test_the_same_study_and_seed_give_the_same_bytes_and_another_seed_other_limits() -> None:
    first, again, other = standard("twins"), make(with_twins(), drawn=True), make(with_twins(), seed=8)
    assert to_html(first) == to_html(again)
    assert to_json(first) == to_json(again)
    assert to_json(first) != to_json(other)
    assert [e.value for e in estimates(first)] == [e.value for e in estimates(other)]


# ---------------------------------------------------------------------------------------------------- stages


def test_an_empty_study_says_so_and_has_no_cards() -> None:
    report = make(Study())
    assert report.cards == ()
    assert report.verdict == ("There are no conversations in this study yet, so nothing can be said.",)
    assert list(estimates(report)) == []
    assert headline(report) == []
    assert "No conversations yet." in to_html(report)


def test_one_conversation_gives_reasons_in_place_of_numbers() -> None:
    study = Study()
    study.rate(study.human("c"), 8)
    report = make(study)
    line = next(line for line in headline(report) if line.label == "alignment")
    assert "no value" not in line.text
    assert "cannot be computed: fewer than three groups" in line.text
    rating = next(card.answer for card in report.cards if card.kind == "ratings")
    assert isinstance(rating, Estimate) and rating.value == 8 and rating.interval is None
    assert "only one cluster" in str(rating.interval_reason)


def test_human_conversations_alone_give_ratings_their_relation_and_the_length_baseline() -> None:
    report = standard("people")
    captions = [block.caption for block in blocks_of(report) if isinstance(block, Table)]
    assert any("Mean human rating by assistant and level" in caption for caption in captions)
    assert any("How people's ratings of document creation relate" in caption for caption in captions)
    assert any("How people talk" in caption for caption in captions)
    assert {card.kind for card in report.cards} == {"ratings", "alignment"}
    assert "this report describes the people only" in report.verdict[-1]
    lines = {line.label: line for line in headline(report)}
    assert set(lines) == {"ratings", "alignment"}
    assert "reads nothing" in lines["alignment"].text


def test_the_length_baseline_is_standardised_log_words_and_has_no_value_without_words() -> None:
    study = Study()
    for name, words in (("c0", 100), ("c1", 200), ("c2", 400), ("c3", 0)):
        study.human(name, assistant_words=words)
    found = length_baseline(context_of(study), "math_tutoring")
    logs = np.log([100, 200, 400])
    assert found[["c0", "c1", "c2"]].to_numpy() == pytest.approx((logs - logs.mean()) / logs.std(ddof=1))
    assert math.isnan(found["c3"])


def test_ratings_of_a_second_part_are_shown_and_not_aligned_with_words_of_the_first() -> None:
    study = people_only()
    study.scales["interaction_problem_2"] = Scale(
        name="interaction_problem_2", level="ordinal", minimum=1, maximum=10
    )
    study.rate("c0", 3, scale="interaction_problem_2", person="p0")
    assert all(part.scale != "interaction_problem_2" for part in aligned(context_of(study)))
    assert "Math tutoring, interaction problem 2 (1–10)" in said(make(study))


def test_equal_lengths_leave_the_baseline_undefined_not_constant() -> None:
    study = Study()
    for number in range(6):
        name = study.human(f"c{number}", participant=f"p{number}", assistant="abc"[number % 3])
        study.rate(name, number + 2, person=f"p{number}")
    estimate = aligned(context_of(study))[0].shown.main
    assert estimate.value is None and estimate.n == 0


def test_with_ratings_of_human_conversations_the_judge_is_on_the_card_beside_the_baseline() -> None:
    study = people_only()
    for row in study.conversations:
        study.rate(row["conversation"], 5 + int(row["conversation"][1:]) % 3, model="openai/judge")
    report = make(study)
    card = next(card for card in report.cards if card.kind == "alignment")
    assert "openai/judge's ratings of people's own conversations" in card.sentence
    assert "Counting the assistant's words" in card.sentence
    assert "the judge read the person's own conversation" in card.cannot_tell


def test_the_card_shows_the_last_planned_strategy_and_not_the_better_one() -> None:
    study = people_only(conversations=24, people=12)
    for row in [dict(row) for row in study.conversations]:
        own = next(r["value"] for r in study.ratings if r["conversation"] == row["conversation"])
        noisy = own + 0.5 * (int(row["conversation"][1:]) % 4)
        study.rate(study.twin(row["conversation"], "zero_shot_cot"), noisy, model="j")
        study.rate(study.twin(row["conversation"], "profile"), 12 - noisy, model="j")
    report = make(study)
    card = next(card for card in report.cards if card.kind == "alignment")
    assert isinstance(card.answer, Estimate) and card.answer.value is not None
    assert card.answer.value < -0.5
    assert "move against people's ratings" in card.sentence
    backwards = make(study, config(run={"strategies": ["profile", "zero_shot_cot"]}))
    answer = next(card for card in backwards.cards if card.kind == "alignment").answer
    assert isinstance(answer, Estimate) and answer.value is not None and answer.value > 0.5


def test_all_missing_ratings_are_counted_and_never_replaced() -> None:
    study = people_only()
    for row in [dict(row) for row in study.conversations]:
        study.rate(study.twin(row["conversation"]), None, model="j", missing="unparsable")
    report = make(study)
    card = next(card for card in report.cards if card.kind == "alignment")
    assert isinstance(card.answer, Estimate) and card.answer.value is None and card.answer.n == 0
    text = said(report)
    assert "Scale interaction: 12 of 24 answers could not be read." in text
    assert "twins, profile, rated by j: 8 of 8" in text.lower()


def test_constant_ratings_have_no_correlation_and_say_which_side_is_constant() -> None:
    study = people_only()
    for rating in study.ratings:
        rating["value"] = 7
    for row in [dict(row) for row in study.conversations]:
        study.rate(study.twin(row["conversation"]), 5 + int(row["conversation"][1:]) % 3, model="j")
    report = make(study)
    answer = next(card for card in report.cards if card.kind == "alignment").answer
    assert isinstance(answer, Estimate) and "human side is constant" in str(answer.reason)
    assert "z = 0 because the rater's values do not vary" in said(report)


def test_two_human_ratings_of_one_conversation_by_one_person_are_averaged_not_an_error() -> None:
    study = people_only()
    study.rate("c0", 1, person="p0")
    frame = aligned(context_of(study))[0].shown.frame
    assert frame["conversation"].is_unique
    own = [r["value"] for r in study.ratings if r["conversation"] == "c0"]
    assert frame.set_index("conversation").loc["c0", "human"] == pytest.approx(sum(own) / 2)


def test_an_item_without_the_grouping_tag_stays_in() -> None:
    study = people_only()
    study.conversations[0]["tags"] = {}
    report = make(study)
    assert "not given" in said(report)
    answer = next(card for card in report.cards if card.kind == "alignment").answer
    assert isinstance(answer, Estimate) and answer.n == 8


# --------------------------------------------------------------------------------------------------- realism


def test_what_gives_twins_away_needs_an_interval_without_zero() -> None:
    clear = with_twins()
    assert gives_away(context_of(clear), "math_tutoring", "profile").startswith(
        "length (63 against 13 words a message"
    )
    vague = people_only()
    for row in [dict(row) for row in vague.conversations]:
        shift = 6.0 if int(row["conversation"][1:]) % 2 else -6.0
        vague.twin(row["conversation"], words_per_message=row["words_per_message"] + shift)
    assert gives_away(context_of(vague), "math_tutoring", "profile") == ""


def test_twins_of_one_person_are_averaged_before_they_are_compared() -> None:
    study = Study()
    study.human("c", words_per_message=10.0)
    study.twin("c", words_per_message=20.0)
    study.conversations.append(
        {**study.conversations[-1], "conversation": "second", "words_per_message": 40.0}
    )
    both = paired(context_of(study), "math_tutoring", "profile", TRAITS[0])
    assert both.twin.tolist() == [30.0] and both.human.tolist() == [10.0]


def test_a_judge_that_always_finds_the_person_can_tell_and_the_line_says_so() -> None:
    study = with_twins(conversations=36)
    study.ratings = []
    line = next(line for line in headline(make(study)) if line.label == "realism")
    assert re.match(
        r"math tutoring: Turing (9\d|100) % right  \[\d+, \d+\]  n = 24   the judge can tell;", line.text
    )
    assert "what gives it away: length" in line.remark


def test_a_share_near_one_half_is_not_called_indistinguishable() -> None:
    study = people_only(conversations=24, people=24)
    for number, row in enumerate([dict(row) for row in study.conversations]):
        study.show(row["conversation"], study.twin(row["conversation"]), (1, 2) if number % 2 else (2, 1))
    report = make(study)
    card = next(card for card in report.cards if card.kind == "realism")
    assert "too few to tell" in card.sentence
    assert "cannot tell twins" not in said(report)
    assert "not shown; with perfect twins it would take about 215 pairs" in said(report)


def test_pairs_shown_once_or_unreadable_are_left_out_and_counted() -> None:
    study = people_only(conversations=12, people=12)
    for row in [dict(row) for row in study.conversations]:
        twin = study.twin(row["conversation"])
        if row["conversation"] == "c0":
            study.show(row["conversation"], twin, (1,), positions=(1,))
        elif row["conversation"] == "c1":
            study.show(row["conversation"], twin, (1, None))
        else:
            study.show(row["conversation"], twin, (1, 2))
    told = told_apart(context_of(study))[0].shown
    assert told is not None
    assert (told.result.verdicts.scored, told.result.verdicts.missing, told.incomplete) == (6, 1, 1)
    assert "1 pair left out for an unreadable verdict, 1 shown in one order only" in said(make(study))


def test_a_judge_that_never_answers_leaves_no_share_and_says_why() -> None:
    study = people_only()
    for row in [dict(row) for row in study.conversations]:
        study.show(row["conversation"], study.twin(row["conversation"]), (None, None))
    report = make(study)
    line = next(line for line in headline(report) if line.label == "realism")
    assert "Turing  n = 0   cannot be computed: no" in line.text
    assert "Scale turing: 24 of 24 answers could not be read." in said(report)


def test_an_impossible_seed_is_one_sentence() -> None:
    with pytest.raises(ConfigError, match="seed: -1 is below 0"):
        make(Study(), seed=-1)


def test_an_impossible_margin_is_refused_at_the_border() -> None:
    with pytest.raises(ValidationError, match="less than 50"):
        config(report={"equivalence_margin_points": 50})


def test_human_readers_stand_beside_model_judges_and_are_not_pooled() -> None:
    study = with_twins()
    for row in [dict(row) for row in study.pairs if row["twin"].startswith("twin-profile")]:
        study.pairs.append({**row, "rater": f"reader{row['position']}", "rater_kind": "human", "model": None})
    section = realism_section(told_apart(context_of(study)))
    tables = [block for block in section.blocks if isinstance(block, Table)]
    table = next(
        table for table in tables if table.caption == "Turing test: how often human readers found the person"
    )
    assert [row[0] for row in table.rows] == ["twins, profile, read by human readers"]
    assert isinstance(table.rows[0][1], Estimate) and table.rows[0][1].n == 16


# ---------------------------------------------------------------------------- outcome, cost, what is missing


def test_macro_f1_compares_twins_with_their_own_person() -> None:
    study = people_only()
    for row in [dict(row) for row in study.conversations]:
        if row["task"] == "math_tutoring":
            study.rate(
                study.twin(row["conversation"]),
                "correct" if row["correct"] else "unknown",
                scale="correct",
                model="j",
            )
    table = next(b for b in blocks_of(make(study)) if isinstance(b, Table) and "Macro-F1" in b.columns)
    agreement = table.rows[0][1]
    assert isinstance(agreement, Estimate) and agreement.value == pytest.approx(1) and agreement.n == 8
    assert "with an unknown outcome, counted as incorrect" in said(make(study))


def test_a_person_counts_once_however_many_twins_there_are_and_every_unjudged_twin_is_counted() -> None:
    study = Study()
    study.human("c0", correct=True, participant="p0")
    study.human("c1", correct=False, participant="p1")
    for name, twins in (("c0", 3), ("c1", 1)):
        for trial in range(twins):
            study.twin(name, conversation=f"{name}-{trial}")
            twin = f"{name}-{trial}"
            if trial < 2:
                study.rate(twin, "correct", scale="correct", model="j")
    section = outcome_section(context_of(study), [])
    assert section is not None
    table = next(block for block in section.blocks if isinstance(block, Table))
    macro, people, twins_correct = table.rows[0][1:]
    assert isinstance(people, Estimate) and (people.value, people.n) == (50.0, 2)
    assert isinstance(macro, Estimate) and macro.n == 3
    assert isinstance(twins_correct, Estimate) and (twins_correct.value, twins_correct.n) == (100.0, 3)
    note = next(block for block in section.blocks if isinstance(block, Note))
    assert note.items == ("1 twin left out, its outcome or its person's is missing (profile, j).",)


def test_simulators_of_one_strategy_that_are_counted_together_are_named() -> None:
    study = with_twins()
    assert "simulators and are counted together" not in said(make(study))
    study.conversations[-1]["participant"] = "another simulator"
    text = said(make(study))
    assert "were played by 2 simulators and are counted together" in text


def test_judges_stand_in_the_order_of_the_run_file_and_not_in_that_of_their_answers() -> None:
    study = with_twins("openai/quick")
    for row in [dict(row) for row in study.ratings if row["model"]]:
        study.ratings.append({**row, "rater": "slow", "model": "openai/slow"})
    for row in [dict(row) for row in study.pairs]:
        study.pairs.append({**row, "rater": "slow", "model": "openai/slow"})
    models = {"s": {"model": "openai/slow"}, "q": {"model": "openai/quick"}}
    for judges in (["s", "q"], ["q", "s"]):
        settings = config(models=models, run={"judges": judges})
        context = Context(study.frames(), settings, 7, 200, False, False, GROUPS)
        named = [models[judge]["model"] for judge in judges]
        assert [context.judges(scale) for scale in ("turing", "interaction", "likert_writing")] == [named] * 3
        assert [part.shown.judge for part in aligned(context)] == [named[0]] * 3
        assert [part.shown.judge for part in told_apart(context) if part.shown] == [named[0]] * 2
    assert context_of(study).judges("turing") == ["openai/quick", "openai/slow"]


def test_predictors_that_say_the_same_get_the_same_interval() -> None:
    study = people_only(conversations=24, people=12)
    for row in [dict(row) for row in study.conversations]:
        value = 5 + int(row["conversation"][1:]) % 3
        study.rate(row["conversation"], value, model="j")
        study.rate(study.twin(row["conversation"]), value, model="j")
    judge, twins = aligned(context_of(study))[0].predictors[1:]
    assert judge.main.interval is not None
    assert judge.main == twins.main


def test_an_unknown_price_is_unknown_and_a_known_one_has_an_interval() -> None:
    study = with_twins()
    text = said(standard("twins"))
    assert "cost unknown: the price of at least one call is not known" in text
    assert "the cost of 8 of 8 conversations is not known" in text
    for number, row in enumerate(study.conversations):
        row["cost_usd"] = 0.01 + 0.001 * number if row["origin"] == "simulated" else None
    study.calls["cost_usd"] = 1.5
    section = cost_section(context_of(study))
    assert section is not None
    text = said(Report("", "", (), sections=(section,)))
    assert "$1.50 in all" in text
    assert re.search(r"\$0\.0\d\d\d \[0\.0\d\d\d, 0\.0\d\d\d\], n = 8", text)


def test_missing_things_are_listed_by_kind() -> None:
    study = with_twins()
    study.failures = {"rate_limit": 2, "refused": 1}
    study.ratings = [
        r for r in study.ratings if not (r["conversation"] == "c0" and r["rater_kind"] == "human")
    ]
    study.conversations = [c for c in study.conversations if c["conversation"] != "twin-profile-c4"]
    missing = missing_section(context_of(study))
    text = " ".join(item for block in missing.blocks if isinstance(block, Note) for item in block.items)
    assert "3 failures on record, by kind: 2 rate limit, 1 refused." in text
    assert "Math tutoring: 1 of 8 human conversations have no rating by their person on interaction." in text
    assert "Math tutoring: 1 of 8 human conversations have no twin (profile)." in text


def test_nothing_missing_is_said_in_words() -> None:
    missing = missing_section(context_of(people_only()))
    assert missing.blocks == (Paragraph("Nothing that was asked for is missing."),)


# ------------------------------------------------------------------------------------------ honest labelling


def test_figures_of_the_embedded_model_stand_under_the_grey_band_and_the_people_do_not() -> None:
    report = standard("embedded")
    assert all(card.band for card in report.cards)
    assert report.verdict[0].startswith("Pipeline exercise, not evidence")
    free: list[str] = []

    def walk(blocks: tuple[Block, ...], banded: bool) -> None:
        for block in blocks:
            if isinstance(block, Band):
                assert "not evidence" in block.text
                walk(block.blocks, True)
            elif isinstance(block, Details):
                walk(block.blocks, banded)
            elif isinstance(block, Table) and not banded:
                free.extend(str(row[0]) for row in block.rows)
                assert not any("twin" in str(row[0]) or EMBEDDED in str(row[0]) for row in block.rows), (
                    block.caption
                )

    for section in report.sections:
        if section.title != "What it cost":
            walk(section.blocks, False)
    assert "length baseline: reads nothing" in free
    assert all("not evidence" in line.text for line in headline(report))


def test_neighbouring_bands_are_one() -> None:
    for section in standard("embedded").sections:
        bands = [isinstance(block, Band) for block in section.blocks]
        assert not any(first and second for first, second in pairwise(bands)), section.title


def test_twins_of_the_embedded_model_are_an_exercise_whoever_judges_them() -> None:
    settings = config(models={"small": {"model": EMBEDDED}}, run={"user": "small"})
    assert all(card.band for card in make(with_twins("openai/judge"), settings).cards)
    assert not any(card.band for card in standard("twins").cards)


def test_demo_and_recorded_replies_are_named_only_where_they_are_true() -> None:
    plain = standard("twins")
    shown = make(with_twins(), demo=True, recorded=True)
    assert len(shown.notices) == len(plain.notices) + 2
    for words in ("written by the authors of UserCal; they are not human data", "were recorded earlier"):
        assert words in to_html(shown) and words in to_markdown(shown)
        assert words not in to_html(plain)
    assert "made by models" in " ".join(plain.notices)
    assert standard("people").notices == ()


def test_names_cannot_break_out_of_any_form() -> None:
    report = standard("awkward")
    page, markdown = to_html(report), to_markdown(report)
    text, tags = read(page)
    assert not any(tag == "script" for tag, _ in tags)
    assert "<script>" in text
    assert page.encode("utf-8") and markdown.encode("utf-8") and to_json(report).encode("utf-8")
    assert "<script>" not in markdown.replace("\\<script>", "")
    assert not re.search(r"(?<!\\)\]\(javascript", markdown)
    for table in re.findall(r"(?:^\|.*\n)+", markdown, flags=re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.strip().split("\n")}) == 1
    assert "😀" in text


# -------------------------------------------------------------------------------------------------- the page


def test_the_page_is_self_contained_and_described_for_everybody() -> None:
    page = to_html(standard("twins"))
    _, tags = read(page)
    names = [name for name, _ in tags]
    assert not {"script", "img", "link", "iframe", "object", "audio", "video"} & set(names)
    assert not re.findall(r"(?:src|href)=[\"'](?!#)", page)
    assert not re.search(r"@import|url\((?!#)", page)
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) == {"http://www.w3.org/2000/svg"}
    identifiers = [str(attrs["id"]) for _, attrs in tags if attrs.get("id")]
    assert len(identifiers) == len(set(identifiers))
    for target in re.findall(r"(?:url\(|href=\")#([^)\"]+)", page):
        assert target in identifiers
    levels = [int(name[1]) for name in names if re.fullmatch(r"h[1-6]", name)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert names.count("table") == names.count("caption") > 5
    pictures = [attrs for _, attrs in tags if attrs.get("role") == "img"]
    assert len(pictures) == names.count("figure") > 3
    assert all(len(str(attrs["aria-label"])) > 40 for attrs in pictures)


def test_a_thousand_conversations_do_not_draw_a_thousand_dots() -> None:
    study = people_only(conversations=1000, people=400)
    for row in [dict(row) for row in study.conversations]:
        study.twin(row["conversation"], words_per_message=30.0 + len(row["item"]))
    report = make(study, drawn=True)
    assert len(to_html(report)) < 600_000


@pytest.mark.shared
@pytest.mark.parametrize("task", ["math", "doc"])
def test_the_length_baseline_is_that_of_the_published_subset(task: str) -> None:
    cases = Path(os.environ.get("USERCAL_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
    table = cases / "cases" / f"alignment_{task}.csv"
    if not table.is_file():
        pytest.skip(f"the case file alignment_{task}.csv is not at hand (USERCAL_SHARED names its folder)")
    rows, study = pd.read_csv(table), Study()
    for name, words in zip(rows["conversation_id"], rows["words"], strict=True):
        study.human(str(name), assistant_words=int(words))
    found = length_baseline(context_of(study), "math_tutoring")
    assert found[rows["conversation_id"]].to_numpy() == pytest.approx(rows["pred_z"].to_numpy(), abs=1e-9)


def test_four_pairs_settle_nothing_even_where_the_interval_lies_on_one_side() -> None:
    study = Study()
    for number in range(4):
        human = study.human(f"c{number}", participant=f"p{number}")
        study.show(human, study.twin(human), (2, 1))  # both orders: the twin is taken for the person
    line = next(line for line in headline(make(study)) if line.label == "realism")
    assert "0 % right" in line.text and "too few: we cannot tell" in line.text


def test_an_interval_of_ratings_ends_where_the_scale_ends() -> None:
    study = Study()
    for number, value in enumerate((2, 10)):
        study.rate(study.human(f"c{number}", participant=f"p{number}"), value, person=f"p{number}")
    found = mean_rating(human_frame(context_of(study), "math_tutoring", "interaction"))
    assert (found.value, found.low, found.high) == (6.0, 1.0, 10.0)
    assert found.method is not None and "cut at the scale's bounds" in found.method
