"""One criterion of one episode, put to a model that does not know who played the user; the answer as an annotation."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from annotate.rubrics.contract import Contract
from annotate.schema import Annotation, Conversation, Criterion, Rater, Scale, Target
from simulate.asking import Voice
from simulate.llm import CallFailed
from simulate.prompts import Prompt, PromptBook
from simulate.raters import UNREADABLE, model_rater
from simulate.rubrics.trajectory import Trajectory, blind
from simulate.rubrics.verdict import Verdict, read_verdict, verdict_schema

SCALE = Scale(
    name="rubric",
    level="nominal",
    target="verdict",
    labels=("pass", "fail"),
    question="Did the user keep to this rule of its brief?",
)
PROMPT = "judge_criterion"
PROMPTS = PromptBook(Path(__file__).parent / "prompts")


def judge_prompt(contract: Contract, trajectory: Trajectory, criterion: Criterion) -> Prompt:
    """Return what a judge is asked: all that an episode's criteria share first, which prompt caches then serve."""
    return PROMPTS.render(
        PROMPT,
        {
            "blueprint": contract.blueprint,
            "guidelines": contract.guidelines or "",
            "tools": contract.text("tools"),
            "trajectory": trajectory.text,
            "criterion": criterion,
        },
    )


@dataclass(frozen=True)
class CriterionJudge:
    """A model that judges criteria one at a time. `names` are further names that would give a proxy away."""

    voice: Voice
    names: tuple[str, ...] = ()

    @property
    def rater(self) -> Rater:
        """The rater that the annotations name: a model with the hash of its prompt."""
        return model_rater(self.voice, PROMPTS.hash(PROMPT))

    async def judge(
        self,
        identity: str,
        conversation: Conversation,
        contract: Contract,
        criterion: Criterion,
        *,
        run: str | None = None,
        replicate: int = 0,
    ) -> Annotation:
        """Return the verdict on one criterion; an unreadable reply is `missing`, and no conversation is run again.

        Raises:
            CallFailed: the model could not be reached, or refused; that is no verdict of any kind.
        """
        prompt = judge_prompt(contract, blind(conversation, self.names), criterion)
        schema = verdict_schema(self.voice.text(160))
        try:
            reply = await self.voice.insist(prompt, schema, replicate=replicate)
        except CallFailed as failed:
            if failed.kind not in UNREADABLE:
                raise
            verdict, call = Verdict(None, "unparsable", None, str(failed), (failed.kind,)), failed.call
        else:
            said = reply.text if reply.parsed is None else json.dumps(reply.parsed)
            verdict, call = read_verdict(said, conversation, criterion, self.names), reply.call
        return Annotation(
            id=identity,
            rater=self.rater.id,
            scale=SCALE.name,
            target=Target(kind="verdict", conversation=conversation.id, criterion=criterion.id),
            value=verdict.value,
            missing=verdict.missing,
            evidence=verdict.evidence,
            flags=verdict.flags,
            seconds=call.seconds if call else None,
            comment=verdict.reason.strip() or None,
            call_id=call.id if call else None,
            run=run,
        )


def flagged(notes: Iterable[Annotation]) -> list[Annotation]:
    """Return the verdicts that look odd: they are kept, and audited before all others."""
    return [note for note in notes if note.value is not None and note.flags]
