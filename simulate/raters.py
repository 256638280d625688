"""Simulated raters: any scale, put to any model, written down as ordinary annotations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from annotate.errors import InputError
from annotate.schema import (
    Annotation,
    Call,
    Conversation,
    Evidence,
    Item,
    Missing,
    Presentation,
    Profile,
    Rater,
    Scale,
    Target,
    Value,
    canonical_hash,
)
from simulate.asking import Voice, object_schema
from simulate.llm import CallFailed, Reply
from simulate.profiles import first_part
from simulate.prompts import Prompt
from simulate.task import CORRECT, Task
from simulate.transcripts import shorten, transcribe
from simulate.users import fit_topic

UNREADABLE = frozenset({"unparsable", "empty", "length", "filtered"})


@dataclass(frozen=True)
class SimulatedRater:
    """One model that judges on one scale of a task."""

    voice: Voice
    task: Task
    scale: Scale
    room: int | None = None

    @property
    def prompt_name(self) -> str:
        """The template that asks."""
        return prompt_name(self.task, self.scale.name)

    @property
    def rater(self) -> Rater:
        """The rater that the annotations name: a model with the hash of its prompt."""
        return model_rater(self.voice, self.task.prompts.hash(self.prompt_name))

    async def rate(
        self, identity: str, conversation: Conversation, item: Item, profile: Profile | None, run: str | None
    ) -> list[Annotation]:
        """Return the annotation of one conversation; an unreadable reply is `missing`, not a failure."""
        target = Target(kind="conversation", conversation=conversation.id)
        if self.scale.name in ("document",) and not (conversation.document or "").strip():
            return [self._missing(identity, target, "not_applicable", run, flags=("no_document",))]
        prompt, cut = self._prompt(conversation, item, profile)
        flags = ("cut_to_fit",) if cut else ()
        try:
            reply = await self.voice.insist(prompt, self._schema())
        except CallFailed as failed:
            return [self._unreadable(failed, identity, target, run, flags)]
        if self.scale.name == "final_answer":
            return self._answer(reply, identity, conversation, item, target, run, flags)
        try:
            value = self.scale.check(_typed((reply.parsed or {})["answer"], self.scale))
        except InputError:
            return [self._missing(identity, target, "unparsable", run, call=reply.call, flags=(*flags, "out_of_scale"))]
        return [self._note(identity, target, value, reply.call, run, flags=flags, comment=_reason(reply))]

    async def compare(
        self, identity: str, human: Conversation, twin: Conversation, item: Item, human_first: bool, run: str | None
    ) -> list[Annotation]:
        """Return the verdict on a pair, shown with the human conversation first or second."""
        target = Target(kind="pair", conversation=human.id, other=twin.id)
        place = Presentation(position=1 if human_first else 2)
        room = None if self.room is None else (self.room - 160) // 2
        shown = {"human": transcribe(first_part(human), room=room), "twin": transcribe(first_part(twin), room=room)}
        order = ("human", "twin") if human_first else ("twin", "human")
        prompt = self.task.prompts.render(
            self.prompt_name,
            {
                "task": self.task.file,
                "scale": self.scale,
                "first": shown[order[0]].text,
                "second": shown[order[1]].text,
            },
        )
        flags = ("cut_to_fit",) if any(part.cut for part in shown.values()) else ()
        schema = object_schema(
            {
                "reason": self.voice.text(80),
                "answer": {"type": "string", "enum": ["first", "second"]},
                "confidence": {"type": "integer", "minimum": 0, "maximum": 100},
            }
        )
        try:
            reply = await self.voice.insist(prompt, schema)
        except CallFailed as failed:
            return [self._unreadable(failed, identity, target, run, flags, place)]
        said = reply.parsed or {}
        confidence = min(max(float(said["confidence"]) / 100, 0.0), 1.0)
        return [
            self._note(
                identity,
                target,
                str(said["answer"]),
                reply.call,
                run,
                flags=flags,
                comment=_reason(reply),
                confidence=confidence,
                presentation=place,
            )
        ]

    def _prompt(self, conversation: Conversation, item: Item, profile: Profile | None) -> tuple[Prompt, bool]:
        room = None if self.room is None else self.room - 150
        views = self.task.file.views.get(self.scale.name, ("topic", "transcript"))
        turns = first_part(conversation)
        shown = transcribe(turns, room=None if room is None else int(room * (0.6 if "topic" in views else 0.95)))
        document = conversation.document or ""
        cut_document = document if room is None else shorten(document, int(room * 0.6))
        values: dict[str, Any] = {
            "task": self.task.file,
            "scale": self.scale,
            "topic": fit_topic(self.task.topic(item), room),
            "preferences": (profile.preferences or ())[:8] if profile else (),
            "transcript": shown.text,
            "document": cut_document,
            "views": views,
        }
        if self.prompt_name == "rate_final_answer":
            values = {name: values[name] for name in ("task", "topic", "transcript")}
        cut = (shown.cut and "transcript" in views) or (cut_document != document and "document" in views)
        return self.task.prompts.render(self.prompt_name, values), cut

    def _schema(self) -> dict[str, Any]:
        if self.scale.name == "final_answer":
            return object_schema({"answer": self.voice.text(40)})
        if self.scale.labels:
            answer: dict[str, Any] = {"type": "string", "enum": list(self.scale.labels)}
        elif self.scale.numeric:
            answer = {"type": "integer", "minimum": self.scale.minimum, "maximum": self.scale.maximum}
            answer = {key: value for key, value in answer.items() if value is not None}
        else:
            answer = self.voice.text()
        return object_schema({"reason": self.voice.text(80), "answer": answer})

    def _answer(
        self,
        reply: Reply,
        identity: str,
        conversation: Conversation,
        item: Item,
        target: Target,
        run: str | None,
        flags: tuple[str, ...],
    ) -> list[Annotation]:
        """The final answer as text, and beside it whether it is the reference answer, by the task's own code."""
        text = str((reply.parsed or {}).get("answer", "")).strip()
        notes = [self._note(identity, target, text, reply.call, run, flags=flags)]
        second = f"{identity}c"
        if "answer" not in item.reference or self.task.outcome is None:
            missing = self._missing(second, target, "not_applicable", run, flags=(*flags, "no_reference_answer"))
            return [*notes, missing.model_copy(update={"scale": CORRECT})]
        label = self.task.judge_outcome(item, conversation, text)
        note = self._note(second, target, label, reply.call, run, flags=flags)
        return [*notes, note.model_copy(update={"scale": CORRECT})]

    def _note(
        self,
        identity: str,
        target: Target,
        value: Value,
        call: Call,
        run: str | None,
        *,
        flags: tuple[str, ...] = (),
        comment: str | None = None,
        confidence: float | None = None,
        presentation: Presentation | None = None,
        evidence: Evidence | None = None,
    ) -> Annotation:
        return Annotation(
            id=identity,
            rater=self.rater.id,
            scale=self.scale.name,
            target=target,
            value=value,
            confidence=confidence,
            evidence=evidence,
            presentation=presentation,
            flags=flags,
            comment=comment,
            seconds=call.seconds,
            call_id=call.id,
            run=run,
        )

    def _missing(
        self,
        identity: str,
        target: Target,
        missing: Missing,
        run: str | None,
        *,
        call: Call | None = None,
        flags: tuple[str, ...] = (),
        presentation: Presentation | None = None,
    ) -> Annotation:
        return Annotation(
            id=identity,
            rater=self.rater.id,
            scale=self.scale.name,
            target=target,
            missing=missing,
            flags=flags,
            presentation=presentation,
            call_id=call.id if call else None,
            run=run,
        )

    def _unreadable(
        self,
        failed: CallFailed,
        identity: str,
        target: Target,
        run: str | None,
        flags: tuple[str, ...],
        place: Presentation | None = None,
    ) -> Annotation:
        if failed.kind not in UNREADABLE:
            raise failed
        return self._missing(
            identity, target, "unparsable", run, call=failed.call, flags=(*flags, failed.kind), presentation=place
        )


def model_rater(voice: Voice, prompt_hash: str) -> Rater:
    """Return the rater that a model is with one prompt: another prompt or temperature is another rater."""
    identity = canonical_hash([voice.model.model, voice.model.temperature, prompt_hash])[:12]
    return Rater(id=f"m_{identity}", kind="model", name=voice.name, model=voice.model.model, prompt_hash=prompt_hash)


def prompt_name(task: Task, scale: str) -> str:
    """Return the template for a scale: `rate_SCALE` where there is one, else the general `rate`."""
    own = f"rate_{scale}"
    return own if task.prompts.has(own) else "rate"


def _reason(reply: Reply) -> str | None:
    return str((reply.parsed or {}).get("reason", "")).strip() or None


def _typed(answer: Any, scale: Scale) -> Value:
    if scale.numeric and isinstance(answer, float) and answer.is_integer():
        return int(answer)
    return answer if isinstance(answer, (int, float)) and scale.numeric else str(answer)
