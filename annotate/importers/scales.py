"""The scales of the imported studies: what people were asked, with its level and its bounds."""

from __future__ import annotations

from annotate.schema import Scale


def _one_to_ten(name: str, question: str) -> Scale:
    return Scale(name=name, level="ordinal", minimum=1, maximum=10, question=question)


def _text(name: str, question: str) -> Scale:
    return Scale(name=name, level="text", question=question)


INTERACTION = _one_to_ten("interaction", "How good was the interaction with the assistant?")
INTERACTION_PROBLEM_2 = _one_to_ten("interaction_problem_2", "How good was the interaction on the second problem?")
DOCUMENT = _one_to_ten("document", "How good is the document?")
THUMB = Scale(name="thumb", level="nominal", target="turn", labels=("up", "down"), question="Was this reply helpful?")
STRENGTHS = _text("strengths", "What was good about the assistant?")
WEAKNESSES = _text("weaknesses", "What was not good about the assistant?")
STRENGTHS_WEAKNESSES = _text("strengths_weaknesses", "What was good and what was not good about the tutor?")
STRENGTHS_WEAKNESSES_PROBLEM_2 = _text(
    "strengths_weaknesses_problem_2", "What was good and what was not good about the tutor on the second problem?"
)
WHY_STOP = _text("why_stop", "Why did you stop?")
WHY_STOP_OTHER = _text("why_stop_other", "Which other reason was it?")
WHY_STOP_OTHER_PROBLEM_2 = _text("why_stop_other_problem_2", "Which other reason was it on the second problem?")

SCALES: dict[str, Scale] = {
    scale.name: scale
    for scale in (
        INTERACTION,
        INTERACTION_PROBLEM_2,
        DOCUMENT,
        THUMB,
        STRENGTHS,
        WEAKNESSES,
        STRENGTHS_WEAKNESSES,
        STRENGTHS_WEAKNESSES_PROBLEM_2,
        WHY_STOP,
        WHY_STOP_OTHER,
        WHY_STOP_OTHER_PROBLEM_2,
    )
}
