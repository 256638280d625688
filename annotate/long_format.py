"""UserCal's own format: a folder of JSON Lines files that the export writes and the import reads."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from annotate.schema import (
    Annotation,
    ConsentScope,
    Conversation,
    Criterion,
    Item,
    Noun,
    Origin,
    Participant,
    Profile,
    Provenance,
    Rater,
    Scale,
    Value,
)

FORMAT = "usercal-export/1"
MANIFEST = "manifest.json"
FILES: dict[str, type[Noun]] = {
    "participants": Participant,
    "raters": Rater,
    "scales": Scale,
    "criteria": Criterion,
    "items": Item,
    "conversations": Conversation,
    "profiles": Profile,
    "annotations": Annotation,
}
"""The files of a folder, without their ending, in the order in which they are written and read."""

# Keys that only lines of that kind have; the first kind whose keys are all there is the kind of a line.
MARKS: tuple[tuple[str, frozenset[str]], ...] = (
    ("conversations", frozenset({"task", "turns"})),
    ("conversations", frozenset({"conversation", "task", "assistant"})),
    ("annotations", frozenset({"scale", "target"})),
    ("profiles", frozenset({"conversation", "extractor"})),
    ("criteria", frozenset({"family", "mode", "span"})),
    ("scales", frozenset({"name", "level"})),
    ("raters", frozenset({"id", "kind", "name"})),
    ("participants", frozenset({"id", "kind"})),
    ("participants", frozenset({"person", "scopes"})),
    ("items", frozenset({"task", "key"})),
)


def _named(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty; give it a name")
    return text


Name = Annotated[str, AfterValidator(_named)]


class ItemLine(BaseModel):
    """An item written out on a conversation's line."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    key: Name
    inputs: dict[str, Any] = Field(default_factory=dict)
    private: dict[str, Any] = Field(default_factory=dict)
    reference: dict[str, Any] = Field(default_factory=dict)
    tags: dict[str, str] = Field(default_factory=dict)


class ConversationLine(BaseModel):
    """One line of `conversations.jsonl`.

    A line with `id` comes from an export and is taken as it is; one without gets an id, a pseudonym for its `person`,
    and annotations for its `ratings` and for the texts of its `survey`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    conversation: Name | None = None
    id: Name | None = None
    task: Name
    item: Name | ItemLine
    item_id: str | None = None
    person: Name | None = None
    participant: Name | None = None
    assistant: Name
    origin: Origin = "human"
    turns: tuple[dict[str, Any], ...]
    documents: tuple[dict[str, Any], ...] = ()
    ended: str | None = None
    ratings: dict[str, Value | None] = Field(default_factory=dict)
    outcome: dict[str, Any] = Field(default_factory=dict)
    background: dict[str, Any] = Field(default_factory=dict)
    survey: dict[str, Any] = Field(default_factory=dict)
    tags: dict[str, str] = Field(default_factory=dict)
    scopes: tuple[ConsentScope, ...] | None = None
    scopes_basis: str | None = None
    licence: str | None = None
    trial: str | int | None = None
    twin_of: str | None = None
    profile: str | None = None
    strategy: str | None = None
    run: str | None = None
    cell: str | None = None
    cost_usd: float | None = None
    withheld: bool = False
    provenance: Provenance | None = None
    content_hash: str | None = None
    created_at: AwareDatetime | None = None


def kind_of(line: dict[str, Any]) -> str | None:
    """Return which file a line belongs to, or None."""
    return next((kind for kind, keys in MARKS if keys <= line.keys()), None)


def body(noun: Noun) -> dict[str, Any]:
    """Return a noun as JSON values, without what is at its default."""
    try:
        return noun.model_dump(mode="json", exclude_defaults=True)
    except UnicodeEncodeError:  # a lone surrogate in the name of a key
        plain: dict[str, Any] = json.loads(json.dumps(noun.model_dump(exclude_defaults=True), default=str))
        return plain


def conversation_line(
    conversation: Conversation, item_key: str, scopes: tuple[ConsentScope, ...] | None
) -> dict[str, Any]:
    """Return the line of a stored conversation: its fields, with the item's key for its id."""
    fields = body(conversation)
    turns = [{name: value for name, value in turn.items() if name != "position"} for turn in fields.pop("turns", [])]
    line: dict[str, Any] = {
        "id": fields.pop("id"),
        "task": fields.pop("task"),
        "item": item_key,
        "item_id": fields.pop("item"),
    }
    line.update({name: fields.pop(name) for name in ("participant", "assistant", "origin")})
    if scopes is not None:
        line["scopes"] = list(scopes)
    return {**line, "turns": turns, **fields}
