"""Frames of a store: who rated, what is one judge, which words count, what the calls cost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotate.frames import TURING, UNNAMED, StudyFrames, judge_names, read_frames
from annotate.schema import (
    Annotation,
    Call,
    Conversation,
    Noun,
    Participant,
    Presentation,
    Rater,
    Scale,
    Target,
    Turn,
)
from annotate.store import Store

PERSON = Participant(id="p_ann", kind="human")
SCALES = (
    Scale(name="interaction", level="ordinal", minimum=1, maximum=10),
    Scale(name=TURING, level="nominal", target="pair", labels=("first", "second")),
)


def chat(name: str, **fields: Any) -> Conversation:
    defaults: dict[str, Any] = {
        "task": "math_tutoring", "item": "i", "participant": "p_ann", "assistant": "a", "origin": "human",
        "turns": (
            Turn(position=0, role="user", text="two words"),
            Turn(position=1, role="assistant", text="an answer"),
        ),
    }  # fmt: skip
    return Conversation(id=name, **{**defaults, **fields})


def judge(name: str, model: str = "openai/m", identity: str | None = None) -> Rater:
    return Rater(id=identity or f"m_{name}", kind="model", name=name, model=model, prompt_hash="h")


def rating(name: str, rater: Rater, value: float, **fields: Any) -> Annotation:
    return Annotation(
        id=f"{name} {rater.id}", rater=rater.id, scale="interaction", target=Target(conversation=name), value=value,
        **fields,
    )  # fmt: skip


def pair(rater: Rater, scale: str, position: int) -> Annotation:
    return Annotation(
        id=f"{rater.id} {scale} {position}", rater=rater.id, scale=scale, value="first",
        target=Target(kind="pair", conversation="h", other="t"), presentation=Presentation(position=position),
    )  # fmt: skip


def call(name: str, **fields: Any) -> Call:
    return Call(id=name, key=name, model="openai/m", purpose="judge", request={}, **fields)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


def frames(store: Store, *nouns: Noun) -> StudyFrames:
    with store.begin() as transaction:
        transaction.add([PERSON, *SCALES, *nouns])
    return read_frames(store)


def test_two_raters_of_one_model_on_one_scale_are_two_judges(store: Store) -> None:
    strict, lenient, other = judge("strict"), judge("lenient"), judge("else", "openai/n")
    made = frames(
        store, strict, lenient, other, chat("h"),
        rating("h", strict, 2), rating("h", lenient, 9), rating("h", other, 5),
    )  # fmt: skip
    assert made.judges("interaction") == ["openai/m (strict)", "openai/m (lenient)", "openai/n"]
    assert made.model_ratings("interaction", "openai/m (strict)", None).to_dict() == {"h": 2.0}
    assert made.model_ratings("interaction", "openai/m", None).empty


def test_a_judge_with_a_prompt_for_each_task_is_one_judge_and_a_changed_prompt_another() -> None:
    first, second = judge("j", identity="m_1"), judge("j", identity="m_2")
    raters = {"m_1": first, "m_2": second, "r_ann": Rater(id="r_ann", kind="human", name="p_ann")}
    own = {("math", "interaction", "m_1"), ("documents", "interaction", "m_2"), ("math", "interaction", "r_ann")}
    assert judge_names(raters, own) == {"m_1": "openai/m", "m_2": "openai/m", "r_ann": None}
    both = own | {("math", "interaction", "m_2")}
    assert judge_names(raters, both) == {"m_1": "openai/m (j, m_1)", "m_2": "openai/m (j, m_2)", "r_ann": None}


def test_a_correction_replaces_a_rating(store: Store) -> None:
    rater = judge("j")
    made = frames(store, rater, chat("h"), rating("h", rater, 2),
                  Annotation(id="new", rater=rater.id, scale="interaction", target=Target(conversation="h"), value=3,
                             supersedes=f"h {rater.id}"))  # fmt: skip
    assert made.ratings["value"].tolist() == [3]


def test_only_pairs_of_the_turing_test_are_its_verdicts(store: Store) -> None:
    rater, twin = judge("j"), chat("t", origin="simulated", strategy="profile", twin_of="h")
    preferred = Scale(name="preferred", level="nominal", target="pair", labels=("first", "second"))
    made = frames(store, rater, preferred, chat("h"), twin, pair(rater, TURING, 2), pair(rater, "preferred", 1))
    assert made.pairs[["position", "picked"]].to_numpy().tolist() == [[2, 1]]


def test_simulated_conversations_without_a_strategy_are_not_lost(store: Store) -> None:
    made = frames(store, chat("h"), chat("t", origin="simulated", participant="s_1", twin_of="h"))
    assert made.strategies("math_tutoring") == [UNNAMED]
    assert made.conversations["strategy"].fillna("").tolist() == ["", UNNAMED]


def test_words_beside_a_file_count_and_a_file_alone_is_no_message_of_no_words(store: Store) -> None:
    turns = (
        Turn(position=0, role="user", text="see this please", attachments=("a.png",)),
        Turn(position=1, role="assistant", text="", missing=True),
        Turn(position=2, role="user", text="", attachments=("b.png",)),
        Turn(position=3, role="user", text=""),
        Turn(position=4, role="assistant", text="it is four"),
    )
    row = frames(store, chat("h", turns=turns)).conversations.iloc[0]
    assert (row["user_turns"], row["user_words"], row["words_per_message"], row["assistant_words"]) == (3, 3, 1.5, 3)


@pytest.mark.parametrize(
    ("calls", "cost"),
    [
        ([], 0.0),
        ([{"reply": "x", "cost_usd": 0.5}, {"reply": "y", "failure": "unparsable", "cost_usd": 0.25}], 0.75),
        ([{"reply": "x", "cost_usd": 0.5}, {"failure": "timeout"}], 0.5),
        ([{"reply": "x", "cost_usd": 0.5}, {"reply": "y", "failure": "unparsable"}], None),
        ([{"reply": "x"}], None),
    ],
)
def test_unusable_answers_were_paid_for_and_an_unknown_price_is_unknown(
    store: Store, calls: list[dict[str, Any]], cost: float | None
) -> None:
    made = frames(store, *(call(str(number), **fields) for number, fields in enumerate(calls)))
    assert made.calls["cost_usd"] == cost
