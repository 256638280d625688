"""The items that ship with UserCal: math problems and document topics, written for it."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from annotate.errors import InputError, nearest
from annotate.importers.contract import item_id
from annotate.schema import Item


def bank_items(task: str) -> list[Item]:
    """Return the shipped items of `math_tutoring` or `document_creation`, in order; `InputError` for another task."""
    readers = {
        "math_tutoring": ("math_problems.jsonl", _problem),
        "document_creation": ("document_topics.jsonl", _topic),
    }
    if task not in readers:
        raise InputError(f"task {task!r} has no shipped items{nearest(task, readers)} Tasks: {', '.join(readers)}.")
    name, reader = readers[task]
    lines = (files("usercal_data") / name).read_text("utf-8").splitlines()
    return [reader(json.loads(line)) for line in lines if line.strip()]


def _problem(raw: dict[str, Any]) -> Item:
    return Item(
        id=item_id("math_tutoring", raw["key"]),
        task="math_tutoring",
        key=raw["key"],
        inputs={"problem": raw["problem"]},
        reference={
            "solution": raw["solution"],
            "answer": raw["answer"],
            "concepts": raw["concepts"],
            "twin": raw["twin"],
        },
        tags={"level": raw["level"], "subject": raw["subject"]},
    )


def _topic(raw: dict[str, Any]) -> Item:
    return Item(
        id=item_id("document_creation", raw["key"]),
        task="document_creation",
        key=raw["key"],
        inputs={"document_type": raw["document_type"], "topic": raw["topic"], "questions": raw["questions"]},
        tags={"document_type": raw["document_type"]},
    )
