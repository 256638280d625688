"""The store as frames: what `calibrate` counts, one row per conversation, per rating, per shown pair."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from annotate.episodes import TASK_PREFIX
from annotate.importers.contract import person_rater
from annotate.schema import Annotation, Conversation, Item, Profile, Rater, Scale

if TYPE_CHECKING:
    from annotate.store import Store

CONVERSATION_COLUMNS = [
    "conversation",
    "task",
    "item",
    "participant",
    "assistant",
    "origin",
    "strategy",
    "twin_of",
    "run",
    "source",
    "ended",
    "user_turns",
    "user_words",
    "words_per_message",
    "assistant_words",
    "document_words",
    "cost_usd",
    "correct",
    "tags",
]
RATING_COLUMNS = ["conversation", "scale", "turn", "rater", "rater_kind", "model", "value", "missing", "seconds"]
PAIR_COLUMNS = ["human", "twin", "rater", "rater_kind", "model", "position", "picked", "confidence", "missing"]
UNNAMED = "unnamed"
"""The strategy of simulated conversations that name none."""
TURING = "turing"


@dataclass(frozen=True)
class StudyFrames:
    """Everything that is counted.

    conversations: one row per conversation, `CONVERSATION_COLUMNS`; words are whitespace tokens, of the first part
        only where a conversation has parts; `correct` is True, False or None; `tags` a dict of the item's tags.
    ratings: one row per standing annotation (not superseded) of a conversation or a turn, `RATING_COLUMNS`;
        `value` is a number on numeric scales and a label else, None where `missing` says why; `model` names a model
        rater: the model, with more where several raters of one model used a scale (see `judge_names`).
    pairs: one row per pair shown for the Turing test, `PAIR_COLUMNS`; `position` of the human one is 1 or 2,
        `picked` says which was taken for it.
    scales: name → Scale.
    """

    conversations: pd.DataFrame
    ratings: pd.DataFrame
    pairs: pd.DataFrame
    scales: dict[str, Scale]
    profiles: int
    calls: dict[str, Any]
    failures: dict[str, int]

    @cached_property
    def by_conversation(self) -> pd.DataFrame:
        """The conversations, indexed by id."""
        return self.conversations.set_index("conversation", drop=False)

    def tasks(self) -> list[str]:
        """The tasks that have conversations, in order of appearance."""
        return list(dict.fromkeys(self.conversations["task"]))

    def strategies(self, task: str) -> list[str]:
        """The strategies that have twins of a task, in order of appearance."""
        rows = self.conversations.query("task == @task and origin == 'simulated'")
        return list(dict.fromkeys(rows["strategy"].dropna()))

    def judges(self, scale: str) -> list[str]:
        """The model raters that used a scale, by name (see `judge_names`), in order of appearance."""
        rows = self.pairs if scale == TURING else self.ratings[self.ratings["scale"] == scale]
        return list(dict.fromkeys(rows.loc[rows["rater_kind"] == "model", "model"]))

    def human_ratings(self, task: str, scale: str) -> pd.DataFrame:
        """People's ratings of their own conversations: conversation, participant, assistant, human, a column a tag."""
        rows = self.ratings[
            (self.ratings["scale"] == scale)
            & (self.ratings["rater_kind"] == "human")
            & self.ratings["turn"].isna()
            & self.ratings["value"].notna()
        ]
        rows = rows.merge(self.conversations, on="conversation")
        own = rows["participant"].map(lambda participant: person_rater(participant).id)
        rows = rows[(rows["task"] == task) & (rows["origin"] == "human") & (rows["rater"] == own)]
        frame = rows[["conversation", "participant", "assistant"]].assign(human=rows["value"].astype(float))
        tags = pd.DataFrame(list(rows["tags"]), index=rows.index)
        return pd.concat([frame, tags[[c for c in tags if c not in frame]]], axis=1).reset_index(drop=True)

    def model_ratings(self, scale: str, judge: str, strategy: str | None) -> pd.Series[float]:
        """A judge's mean rating by human conversation: of itself (strategy None) or of its twins under a strategy."""
        rows = self.ratings[
            (self.ratings["scale"] == scale) & (self.ratings["model"] == judge) & self.ratings["value"].notna()
        ].merge(self.conversations, on="conversation")
        if strategy is None:
            rows = rows[rows["origin"] == "human"]
            key = rows["conversation"]
        else:
            rows = rows[rows["strategy"] == strategy]
            key = rows["twin_of"]
        return rows["value"].astype(float).groupby(key).mean()

    def alignment(self, task: str, scale: str, judge: str, strategy: str | None) -> pd.DataFrame:
        """`human_ratings` with a column `simulated`; nan where the judge gave none."""
        frame = self.human_ratings(task, scale)
        return frame.assign(simulated=frame["conversation"].map(self.model_ratings(scale, judge, strategy)))


def read_frames(store: Store) -> StudyFrames:
    """Read the store into frames, in bulk. Episodes of user proxies are left out: `episode_frames` reads those."""
    from annotate.schema import Failure

    items = {item.id: item for item in store.iterate(Item)}
    raters = {rater.id: rater for rater in store.iterate(Rater)}
    conversations = pd.DataFrame(
        [
            _conversation(c, items.get(c.item))
            for c in store.iterate(Conversation)
            if c.origin == "human" or not c.task.startswith(TASK_PREFIX)
        ],
        columns=CONVERSATION_COLUMNS,
    )
    ratings, pairs = _annotations(store, raters)
    tasks = dict(zip(conversations["conversation"], conversations["task"], strict=True))
    names = judge_names(
        raters,
        {(tasks.get(row["conversation"]), row["scale"], row["rater"]) for row in ratings}
        | {(tasks.get(row["human"]), TURING, row["rater"]) for row in pairs},
    )
    for row in (*ratings, *pairs):
        row["model"] = names[row["rater"]]
    failures = pd.Series(store.column(Failure, "kind"), dtype=object).value_counts()
    return StudyFrames(
        conversations=conversations,
        ratings=pd.DataFrame(ratings, columns=RATING_COLUMNS),
        pairs=pd.DataFrame(pairs, columns=PAIR_COLUMNS),
        scales={scale.name: scale for scale in store.iterate(Scale)},
        profiles=store.count(Profile),
        calls=_calls(store),
        failures={str(kind): int(n) for kind, n in failures.items()},
    )


def _annotations(store: Store, raters: Mapping[str, Rater]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of ratings and of pairs; corrected annotations and other scales for pairs are left out."""
    superseded = {identity for identity in store.column(Annotation, "supersedes") if identity}
    ratings: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    for note in store.iterate(Annotation, chunk=5000):
        if note.id in superseded:
            continue
        if note.target.kind in ("conversation", "turn"):
            ratings.append(_rating(note, raters[note.rater]))
        elif note.target.kind == "pair" and note.scale == TURING:
            pairs.append(_pair(note, raters[note.rater]))
    return ratings, pairs


def judge_names(raters: Mapping[str, Rater], used: set[tuple[str | None, str, str]]) -> dict[str, str | None]:
    """Return a name for each rater, so that two raters are never counted as one: the model where that tells them apart.

    A model that was asked with another prompt or temperature is another rater. Where several raters of one model used
    one scale of a task (`used`: task, scale, rater id), their names, and if need be their ids, stand behind the model.
    """
    rivals: dict[str, set[str]] = defaultdict(set)
    by_use: dict[tuple[str | None, str, str], set[str]] = defaultdict(set)
    for task, scale, identity in used:
        model = raters[identity].model
        if model is not None:
            by_use[task, scale, model].add(identity)
    for identities in by_use.values():
        for identity in identities if len(identities) > 1 else ():
            rivals[identity] |= identities - {identity}
    names = {identity: rater.model for identity, rater in raters.items()}
    for identity, others in rivals.items():
        own = raters[identity].name
        alike = any(raters[other].name == own for other in others)
        names[identity] = f"{raters[identity].model} ({own}{f', {identity}' if alike else ''})"
    return names


def _clean(text: str | None) -> str | None:
    """Replace lone surrogates, which a frame cannot hold; the store keeps the name as it was."""
    return None if text is None else text.encode("utf-8", "replace").decode("utf-8")


def _conversation(conversation: Conversation, item: Item | None) -> dict[str, Any]:
    parts = {turn.part for turn in conversation.turns if turn.part}
    first = "problem_1" if "problem_1" in parts else None
    readable = [t for t in conversation.messages(first) if not t.missing and (t.text or not t.attachments)]
    user = [turn.words for turn in readable if turn.role == "user"]
    assistant = [turn.words for turn in readable if turn.role == "assistant"]
    correct = conversation.outcome.get("correct")
    return {
        "conversation": conversation.id,
        "task": conversation.task,
        "item": conversation.item,
        "participant": conversation.participant,
        "assistant": _clean(conversation.assistant),
        "origin": conversation.origin,
        "strategy": conversation.strategy or (UNNAMED if conversation.origin == "simulated" else None),
        "twin_of": conversation.twin_of,
        "run": conversation.run,
        "source": conversation.provenance.format if conversation.provenance else None,
        "ended": _clean(conversation.ended),
        "user_turns": len([t for t in conversation.messages(first) if t.role == "user"]),
        "user_words": sum(user),
        "words_per_message": sum(user) / len(user) if user else None,
        "assistant_words": sum(assistant),
        "document_words": len(conversation.document.split()) if conversation.document is not None else None,
        "cost_usd": conversation.cost_usd,
        "correct": correct if isinstance(correct, bool) else None,
        "tags": {str(_clean(k)): _clean(v) for k, v in {**(item.tags if item else {}), **conversation.tags}.items()},
    }


def _rating(note: Annotation, rater: Rater) -> dict[str, Any]:
    return {
        "conversation": note.target.conversation,
        "scale": note.scale,
        "turn": note.target.turn,
        "rater": rater.id,
        "rater_kind": rater.kind,
        "value": _clean(note.value) if isinstance(note.value, str) else note.value,
        "missing": note.missing,
        "seconds": note.seconds,
    }


def _pair(note: Annotation, rater: Rater) -> dict[str, Any]:
    return {
        "human": note.target.conversation,
        "twin": note.target.other,
        "rater": rater.id,
        "rater_kind": rater.kind,
        "position": note.presentation.position if note.presentation else None,
        "picked": {"first": 1, "second": 2}.get(str(note.value)),
        "confidence": note.confidence,
        "missing": note.missing,
    }


def _calls(store: Store) -> dict[str, Any]:
    """Counts and cost of the calls, without reading their texts.

    An answer that could not be used was paid for and counts; a call without an answer counts where its cost is known.
    """
    from sqlalchemy import text

    with store.engine.connect() as connection:
        bodies = connection.execute(text('SELECT body FROM "call"')).scalars()
        calls = [json.loads(body) for body in bodies]
    answered = [call for call in calls if call["failure"] is None or call["reply"] is not None]
    return {
        "calls": len(calls),
        "failed": sum(call["failure"] is not None for call in calls),
        "recorded": sum(bool(call["recorded"]) for call in calls),
        "cost_usd": None
        if any(call["cost_usd"] is None for call in answered)
        else sum(call["cost_usd"] or 0.0 for call in calls),
        "models": sorted({call["model"] for call in calls}),
    }
