"""The tables: key columns for finding, a `body` JSON for the noun, and the version of its schema."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Table, UniqueConstraint
from sqlmodel import Field, SQLModel

from annotate import schema
from annotate.schema import Annotation, Call, Conversation, Noun, Profile, canonical_hash

VERSION = "0002"
"""The newest migration; a test holds it to what the migrations folder says."""


class Base(SQLModel):
    """Columns that every table has; `seq` keeps the order of insertion."""

    seq: int | None = Field(default=None, primary_key=True)
    id: str = Field(unique=True, index=True)
    schema_version: int
    body: str


class ItemRow(Base, table=True):
    __tablename__ = "item"
    task: str = Field(index=True)
    key: str = Field(index=True)


class ParticipantRow(Base, table=True):
    __tablename__ = "participant"
    kind: str


class ProfileRow(Base, table=True):
    __tablename__ = "profile"
    task: str
    conversation: str = Field(index=True)
    participant: str
    extractor: str


class ConversationRow(Base, table=True):
    __tablename__ = "conversation"
    task: str = Field(index=True)
    item: str = Field(index=True)
    participant: str
    assistant: str
    origin: str
    run: str | None = Field(default=None, index=True)
    cell: str | None = Field(default=None, unique=True)
    strategy: str | None = None
    twin_of: str | None = Field(default=None, index=True)
    content_hash: str | None = None
    import_key: str | None = Field(default=None, unique=True)


class ScaleRow(Base, table=True):
    __tablename__ = "scale"


class RaterRow(Base, table=True):
    __tablename__ = "rater"
    kind: str
    name: str


class AnnotationRow(Base, table=True):
    __tablename__ = "annotation"
    rater: str = Field(index=True)
    scale: str = Field(index=True)
    conversation: str | None = Field(default=None, index=True)
    other: str | None = None
    turn: int | None = None
    criterion: str | None = None
    run: str | None = Field(default=None, index=True)
    supersedes: str | None = None


class CriterionRow(Base, table=True):
    __tablename__ = "criterion"
    family: str


class RubricRow(Base, table=True):
    __tablename__ = "rubric"
    name: str = Field(index=True)
    item: str = Field(index=True)
    writer: str


class RubricSetRow(Base, table=True):
    __tablename__ = "rubric_set"
    __table_args__ = (UniqueConstraint("name", "version"),)
    name: str
    version: int
    content_hash: str = Field(index=True)


class AssignmentRow(Base, table=True):
    __tablename__ = "assignment"
    rater: str | None = Field(default=None, index=True)
    batch: str


class RunRow(Base, table=True):
    __tablename__ = "run"
    name: str = Field(index=True)


class CellRow(Base, table=True):
    __tablename__ = "cell"
    run: str = Field(index=True)
    kind: str


class FailureRow(Base, table=True):
    __tablename__ = "failure"
    kind: str
    cell: str | None = Field(default=None, index=True)


class CallRow(Base, table=True):
    __tablename__ = "call"
    key: str = Field(index=True)
    model: str
    purpose: str
    good: bool


class MetaRow(SQLModel, table=True):
    """Facts about the store itself, such as the fingerprint of the study's key."""

    __tablename__ = "meta"
    name: str = Field(primary_key=True)
    value: str


def import_key(conversation: Conversation) -> str | None:
    """Return what an import is recognised by: (format, content_hash, item, participant, trial), hashed."""
    source = conversation.provenance
    if source is None:
        return None
    return canonical_hash(
        [source.format, conversation.content_hash, conversation.item, conversation.participant, source.trial]
    )


def _fields(*names: str) -> Callable[[Any], dict[str, Any]]:
    return lambda noun: {name: getattr(noun, name) for name in names}


def _annotation(noun: Annotation) -> dict[str, Any]:
    target = noun.target
    return {
        "rater": noun.rater,
        "scale": noun.scale,
        "conversation": target.conversation,
        "other": target.other,
        "turn": target.turn,
        "criterion": target.criterion,
        "run": noun.run,
        "supersedes": noun.supersedes,
    }


def _conversation(noun: Conversation) -> dict[str, Any]:
    names = ("task", "item", "participant", "assistant", "origin", "run", "cell", "strategy", "twin_of", "content_hash")
    return {**{name: getattr(noun, name) for name in names}, "import_key": import_key(noun)}


def _call(noun: Call) -> dict[str, Any]:
    return {"key": noun.key, "model": noun.model, "purpose": noun.purpose, "good": noun.failure is None}


def _profile(noun: Profile) -> dict[str, Any]:
    return {name: getattr(noun, name) for name in ("task", "conversation", "participant", "extractor")}


@dataclass(frozen=True)
class Shelf:
    """Where a kind of noun lies and which of its facts are columns."""

    table: Table
    columns: Callable[[Any], dict[str, Any]]
    identity: Callable[[Any], str] = lambda noun: str(noun.id)


def _shelf(
    row: type[SQLModel],
    columns: Callable[[Any], dict[str, Any]],
    identity: Callable[[Any], str] = lambda noun: str(noun.id),
) -> Shelf:
    table: Table = row.__table__  # type: ignore[attr-defined]
    return Shelf(table, columns, identity)


SHELVES: dict[type[Noun], Shelf] = {
    schema.Item: _shelf(ItemRow, _fields("task", "key")),
    schema.Participant: _shelf(ParticipantRow, _fields("kind")),
    Profile: _shelf(ProfileRow, _profile),
    Conversation: _shelf(ConversationRow, _conversation),
    schema.Scale: _shelf(ScaleRow, _fields(), lambda noun: str(noun.name)),
    schema.Rater: _shelf(RaterRow, _fields("kind", "name")),
    Annotation: _shelf(AnnotationRow, _annotation),
    schema.Criterion: _shelf(CriterionRow, _fields("family")),
    schema.Rubric: _shelf(RubricRow, _fields("name", "item", "writer")),
    schema.RubricSet: _shelf(RubricSetRow, _fields("name", "version", "content_hash")),
    schema.Assignment: _shelf(AssignmentRow, _fields("rater", "batch")),
    schema.Run: _shelf(RunRow, _fields("name")),
    schema.Cell: _shelf(CellRow, _fields("run", "kind")),
    schema.Failure: _shelf(FailureRow, _fields("kind", "cell")),
    Call: _shelf(CallRow, _call),
}
META: Table = MetaRow.__table__  # type: ignore[attr-defined]
