"""The mapping file of a table: which column is what; and a guess at one from the table itself."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from annotate.config import Section, check, load_toml, name_scales
from annotate.errors import ConfigError, InputError, nearest
from annotate.schema import Role, Scale

Row = dict[str, Any]


class NeedsMap(InputError):
    """A table was given without a mapping file; `guess` is the text of one to start from. Nothing was written."""

    def __init__(self, path: Path, guess: str) -> None:
        self.sentence = (
            f"{path}: a table needs a mapping file that says which column is what. Save this guess as map.toml, mend "
            "it, and give it with --map map.toml; nothing was written."
        )
        super().__init__(f"{self.sentence}\n\n{guess}")
        self.guess = guess


class Columns(Section):
    """`[columns]`: the column of each thing. Long form: one row a turn, `role` and `text`. Wide: `user` and `reply`."""

    conversation: str
    person: str | None = None
    item: str | None = None
    assistant: str | None = None
    task: str | None = None
    turn: str | None = None
    role: str | None = None
    text: str | None = None
    user: str | None = None
    reply: str | None = None


class Constants(Section):
    """`[constants]`: what is the same in every row and stands in no column."""

    person: str | None = Field(default=None, min_length=1)
    item: str | None = Field(default=None, min_length=1)
    assistant: str | None = Field(default=None, min_length=1)
    task: str | None = Field(default=None, min_length=1)


class TableMap(Section):
    """The whole mapping file."""

    columns: Columns
    constants: Constants = Field(default_factory=Constants)
    roles: dict[str, Role] = Field(default_factory=dict)
    ratings: dict[str, str] = Field(default_factory=dict)
    tags: dict[str, str] = Field(default_factory=dict)
    scales: dict[str, Scale] = Field(default_factory=dict)
    delimiter: str | None = Field(default=None, min_length=1, max_length=1)

    @model_validator(mode="before")
    @classmethod
    def _name_scales(cls, raw: Any) -> Any:
        return name_scales(raw)

    @property
    def long(self) -> bool:
        """Whether a row is one turn; else it is one message with its reply."""
        return self.columns.role is not None


def load_map(path: Path) -> TableMap:
    """Read a mapping file; raises `ConfigError`."""
    found = check(TableMap, load_toml(path), path)
    columns = found.columns
    wide = columns.user is not None or columns.reply is not None
    if found.long != (columns.text is not None) or found.long == wide:
        raise ConfigError(
            f"{path}: [columns] names either 'role' and 'text' (one row a turn), or 'user' and 'reply' "
            "(one row for a message and its reply). Give one of the two pairs."
        )
    if not found.long and (columns.user is None or columns.reply is None):
        raise ConfigError(f"{path}: [columns] needs both 'user' and 'reply'. Add the missing one.")
    for one, other in (("user", "reply"), ("role", "text")):
        if (column := getattr(columns, one)) is not None and column == getattr(columns, other):
            raise ConfigError(f"{path}: [columns] {one} and {other} are both {column!r}. Name two columns.")
    for name in ("person", "item", "assistant", "task"):
        if (getattr(columns, name) is None) == (getattr(found.constants, name) is None):
            raise ConfigError(
                f"{path}: {name!r} is needed once: name its column in [columns], or its value in [constants]."
            )
    return found


def check_columns(found: TableMap, header: Sequence[str], path: Path) -> None:
    """Raise `ConfigError` where a mapping file names a column that the table does not have."""
    named = [*found.columns.model_dump(exclude_none=True).values(), *found.ratings, *found.tags.values()]
    for column in named:
        if column not in header:
            raise ConfigError(
                f"{path}: the table has no column {column!r}{nearest(column, header)} It has: {', '.join(header)}."
            )


# --- the guess -------------------------------------------------------------------------------------------------------

_WORDS: dict[str, tuple[str, ...]] = {
    "conversation": (
        "conversation_id",
        "conversation",
        "chat_id",
        "dialogue_id",
        "dialog_id",
        "session_id",
        "thread_id",
        "conv_id",
        "chat",
        "dialogue",
        "dialog",
        "session",
        "thread",
    ),
    "person": (
        "person",
        "worker_id",
        "worker",
        "participant_id",
        "participant",
        "user_id",
        "annotator_id",
        "annotator",
        "subject_id",
        "username",
        "rater",
    ),
    "item": ("item", "item_id", "task_id", "problem_id", "prompt_id", "question_id", "topic", "problem", "scenario"),
    "assistant": (
        "assistant_name",
        "assistant_model",
        "model",
        "model_name",
        "agent",
        "system_name",
        "bot_name",
        "llm",
    ),
    "turn": (
        "turn",
        "turn_id",
        "turn_index",
        "turn_number",
        "message_index",
        "message_id",
        "index",
        "position",
        "order",
        "timestamp",
        "created_at",
        "time",
    ),
    "role": ("role", "speaker", "sender", "author", "from", "who"),
    "text": ("text", "message", "content", "utterance", "body"),
    "user": (
        "user",
        "user_message",
        "user_text",
        "query",
        "user_query",
        "human",
        "prompt",
        "input",
        "question",
        "user_utterance",
    ),
    "reply": (
        "reply",
        "assistant_message",
        "assistant_text",
        "response",
        "answer",
        "output",
        "ai_response",
        "assistant_reply",
        "bot",
        "assistant",
        "model_response",
        "completion",
    ),
}
_RATING = re.compile(r"rating|score|rate\b|likert|helpful|quality|satisf|stars|fluency|coheren", re.IGNORECASE)
_SCALES = ((1, 3), (1, 5), (1, 7), (1, 10), (0, 1), (0, 5), (0, 10), (0, 100), (-5, 5))


def guess_map(path: Path, header: Sequence[str], rows: Iterable[Row]) -> str:
    """Return the text of a mapping file guessed from the columns' names and the first rows; it is valid TOML."""
    sample = [row for row, _ in zip(rows, range(2000), strict=False)]
    free = list(header)
    columns: dict[str, str] = {}
    for name in ("role", "text", "user", "reply", "conversation", "person", "item", "assistant", "turn"):
        if name in ("user", "reply") and "role" in columns and "text" in columns:
            continue
        if (column := _named(free, _WORDS[name])) is not None:
            columns[name] = column
            free.remove(column)
    wide = "role" not in columns or "text" not in columns
    for name in ("role", "text") if wide else ():
        columns.pop(name, None)
    ratings = {column: scale for column in free if (scale := _scale(column, sample)) is not None}
    return _written(path, columns, wide, ratings, _odd_roles(columns.get("role"), sample))


def _named(header: Sequence[str], words: Sequence[str]) -> str | None:
    plain: dict[str, str] = {}
    for column in header:
        plain.setdefault(re.sub(r"[\W_]+", "", column).lower(), column)
    return next((plain[key] for word in words if (key := word.replace("_", "")) in plain), None)


def _scale(column: str, sample: Sequence[Row]) -> tuple[float, float] | None:
    """Return the bounds of a scale that the numbers of a column fit into, or None where it is no rating."""
    values = [row.get(column) for row in sample if row.get(column) not in (None, "")]
    numbers = [number for value in values if (number := as_number(value)) is not None]
    if not values or len(numbers) < len(values) or not _RATING.search(column):
        return None
    low, high = min(numbers), max(numbers)
    return next(((a, b) for a, b in _SCALES if a <= low and high <= b), (low, high if high > low else low + 1))


def as_number(value: Any) -> int | float | None:
    """Return a number that a cell holds, as an integer where it is one; None where it holds none."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        text = value.strip()
        if re.fullmatch(r"[+-]?\d{1,18}", text):
            return int(text)
        if not re.fullmatch(r"[+-]?(\d{1,30}\.\d*|\.\d+)([eE][+-]?\d{1,2})?", text):
            return None
        value = float(text)
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _odd_roles(column: str | None, sample: Sequence[Row]) -> list[str]:
    if column is None:
        return []
    return sorted({str(row.get(column)) for row in sample} - set(ROLES))[:5]


ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "system": "system",
    "tool": "tool",
}
"""What a role column may say without a `[roles]` section; upper and lower case are the same."""


def quote(text: str) -> str:
    """Return a text as a TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _written(
    path: Path, columns: dict[str, str], wide: bool, ratings: dict[str, tuple[float, float]], odd: list[str]
) -> str:
    needed = ["conversation", "person", "item", "assistant", *(["user", "reply"] if wide else ["role", "text"]), "turn"]
    lines = [
        f"# A guess from the columns of {path.name}. Mend what is wrong; docs/formats.md says what the keys mean.",
        "[columns]",
    ]
    constants = ['task = "my_task"             # math_tutoring, document_creation, or a task of your own']
    for name in needed:
        if name in columns:
            lines.append(f"{name} = {quote(columns[name])}")
        elif name in ("person", "item", "assistant"):
            constants.append(
                f"{name} = {quote('unknown')}          # no column looks like it: name one above, "
                "or give its value here"
            )
        elif name != "turn":
            lines.append(f"{name} = {quote('?')}                # no column looks like it: name it")
    lines += ["", "[constants]", *constants]
    if odd:
        lines += [
            "",
            "[roles]                      # what the role column says = user, assistant, system or tool",
            *(f'{quote(role)} = "user"' for role in odd),
        ]
    if ratings:
        lines += [
            "",
            "[ratings]                    # column = scale",
            *(f"{quote(column)} = {quote(column)}" for column in ratings),
        ]
        for column, (low, high) in ratings.items():
            lines += ["", f"[scales.{quote(column)}]", 'level = "ordinal"', f"minimum = {low:g}", f"maximum = {high:g}"]
    return "\n".join(lines) + "\n"
