"""Document creation: one conversation per record, with a version of the document after every exchange."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from annotate.importers import scales
from annotate.importers.simulatorarena.profiles import Released
from annotate.importers.simulatorarena.records import Builder, Exchanges, Raw, known
from annotate.importers.simulatorarena.votes import Votes
from annotate.schema import Conversation, DocumentVersion, Provenance, canonical_hash, new_id

TASK = "document_creation"

_TEXTS = {"strength": scales.STRENGTHS, "weakness": scales.WEAKNESSES, "why_stop": scales.WHY_STOP}
_RATINGS = {"overall_interaction_rating": scales.INTERACTION, "overall_document_rating": scales.DOCUMENT}
_SURVEY = {"selected_intent_index": "selected_intent_index", "edit_document_old": "document_before_edit"}
_KNOWN = {
    "workerId",
    "user_queries",
    "ai_responses",
    "model",
    "document_type",
    "intent",
    "document_history",
    "bullet_points",
    "bullet_points_responses",
    "turn_level_vote",
    "edit_document",
    "edit_document_index",
    *_TEXTS,
    *_RATINGS,
    *_SURVEY,
}


def read_record(record: Raw, builder: Builder, released: Released) -> None:
    """Add the conversation of one record, with its document, ratings, votes and profile."""
    builder.require(record, "workerId", "user_queries", "ai_responses", "model", "document_type", "intent")
    builder.leave_out(record, _KNOWN)
    exchanges = builder.exchanges(record, lambda n: None, latex=False)
    votes = Votes(exchanges, builder.notes)
    votes.read("turn_level_vote", record.get("turn_level_vote"), _place)
    survey = {**known(record, _SURVEY), "prewriting": _prewriting(record, builder, released)}
    conversation = builder.store(
        Conversation(
            id=new_id("c"),
            task=TASK,
            item=_item(record, builder),
            participant=builder.person(record),
            assistant=str(record["model"]),
            origin="human",
            turns=tuple(exchanges.turns),
            documents=_versions(record, exchanges, builder),
            ended=record.get("why_stop") or None,
            survey={name: value for name, value in survey.items() if value},
            tags={"own_topic": "no" if "selected_intent_index" in record else "yes"},
            provenance=Provenance(format="", file="", record="", repairs=tuple(votes.repairs)),
        )
    )
    if conversation is None:
        return
    for name, scale in _RATINGS.items():
        builder.rate(conversation, scale, record.get(name))
        if record.get(name) is None:
            builder.notes.warn(f"conversations without a rating of the {scale.name}")
    for name, scale in _TEXTS.items():
        builder.say(conversation, scale, record.get(name))
    votes.add_to(conversation, builder)
    released.join_document(record, conversation)


def _place(pair: tuple[int, int]) -> tuple[int, int] | None:
    """Return the exchange of a key `[i, i]`: the page showed two lines of its own first, then two for each exchange."""
    index = pair[0]
    if pair[0] != pair[1] or index < 2:
        return None
    return (index - 2) // 2, 1 if index % 2 == 0 else 0


def _item(record: Raw, builder: Builder) -> str:
    kind, intent = str(record["document_type"]), str(record["intent"])
    key = f"{kind.replace(' ', '_')}-{canonical_hash(intent)[:12]}"
    inputs = {"document_type": kind, "topic": intent, "intent": intent}
    return builder.item(TASK, key, inputs=inputs, tags={"document_type": kind})


def _versions(record: Raw, exchanges: Exchanges, builder: Builder) -> tuple[DocumentVersion, ...]:
    history = record.get("document_history")
    if not isinstance(history, list):
        builder.notes.warn("records without a document history")
        return ()
    if len(history) != len(record["user_queries"]):
        builder.notes.warn("document histories without one entry for each message: the entries there are were taken")
    edited = _edited(record, history, builder)
    versions: list[DocumentVersion] = []
    before = ""
    for exchange, entry in enumerate(history):
        text = entry
        if not isinstance(text, str):
            builder.notes.repaired("entries of a document history that are no text: the text before them was kept")
            text = before
        versions.append(
            DocumentVersion(
                version=exchange,
                turn=exchanges.last_of(exchange),
                text=text,
                changed=text != before,
                author="user" if exchange == edited else "model",
            )
        )
        before = text
    return tuple(versions)


def _edited(record: Raw, history: list[Any], builder: Builder) -> int | None:
    index = record.get("edit_document_index")
    if not record.get("edit_document") and index is None:
        return None
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(history):
        builder.notes.dropped("edits of a document at a place that it does not have")
        return None
    builder.notes.repaired(
        "documents edited by their person: that version is marked as the person's, "
        "the text before it is kept with the survey"
    )
    return index


def _prewriting(record: Raw, builder: Builder, released: Released) -> list[dict[str, str]]:
    """Return the pre-writing questions with the person's answers; the released ones only where the record has none."""
    questions, answers = record.get("bullet_points") or [], record.get("bullet_points_responses") or []
    if not isinstance(questions, list) or not isinstance(answers, list):
        builder.notes.dropped("pre-writing questions or answers that are no list")
        questions, answers = [], []
    if len(questions) != len(answers):
        builder.notes.warn("a record has not as many pre-writing answers as questions")
    own = [{"question": str(q or ""), "answer": str(a or "")} for q, a in zip_longest(questions, answers)]
    if own:
        released.count_unused_background(record)
        return own
    return released.background(record)
