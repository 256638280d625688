"""A small study with two tasks, and models that are answered by rule."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotate.bank import bank_items
from annotate.config import ModelConfig, PriceConfig, RunSection, StudyConfig
from annotate.schema import Conversation, DocumentVersion, Participant, Turn
from annotate.store import Store

sys.path.insert(0, str(Path(__file__).parent))

MODEL = ModelConfig(model="openai/scripted", api_base="http://127.0.0.1:9", structured="schema", temperature=0.0)
PRICE = PriceConfig(input_usd_per_million=1.0, output_usd_per_million=10.0, as_of="2026-11-01")


def run_section(**changes: object) -> RunSection:
    """The run of the tests."""
    base = {
        "user": "m",
        "assistant": "m",
        "document": "m",
        "extractor": "m",
        "judges": ("m",),
        "max_user_turns": 2,
        "strategies": ("zero_shot_cot", "profile_length"),
    }
    return RunSection.model_validate({**base, **changes})


def config(run: RunSection) -> StudyConfig:
    """The study of the tests."""
    return StudyConfig.model_validate(
        {"study": {"name": "t"}, "models": {"m": MODEL}, "prices": {MODEL.model: PRICE}, "run": run}
    )


def conversation(number: int, task: str, item: str) -> Conversation:
    """A human conversation of two exchanges."""
    turns = tuple(
        Turn(position=n, role="user" if n % 2 == 0 else "assistant", text=f"human text {number} {n}") for n in range(4)
    )
    documents = (
        (DocumentVersion(version=0, turn=1, text="Dear you, the heating."),) if task == "document_creation" else ()
    )
    survey = {"prewriting": [{"question": "What is broken?", "answer": "the heating"}]} if documents else {}
    return Conversation(
        id=f"c_{number}",
        task=task,
        item=item,
        participant=f"p_{number}",
        assistant="assistant-a",
        origin="human",
        turns=turns,
        documents=documents,
        survey=survey,
        outcome={} if documents else {"correct": True},
    ).completed()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with two math conversations and one about a document."""
    with Store.open(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        problems, topics = bank_items("math_tutoring"), bank_items("document_creation")
        talks = [
            conversation(1, "math_tutoring", problems[0].id),
            conversation(2, "math_tutoring", problems[1].id),
            conversation(3, "document_creation", topics[0].id),
        ]
        with opened.begin() as tx:
            tx.add([*problems, *topics, *talks])
            tx.add([Participant(id=f"p_{n}", kind="human") for n in (1, 2, 3)])
        yield opened
