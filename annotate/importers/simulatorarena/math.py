"""Math tutoring: one conversation per record, the turns of its two problems kept apart."""

from __future__ import annotations

from typing import Any

from annotate.importers import scales
from annotate.importers.simulatorarena.profiles import Released
from annotate.importers.simulatorarena.records import Builder, Raw, known
from annotate.importers.simulatorarena.votes import Votes
from annotate.schema import Conversation, Provenance, new_id

TASK = "math_tutoring"

_SURVEY = {
    "math_expertise": "math_expertise",
    "why_ask_tutor": "why_ask_tutor",
    "turk_initial_solution": "initial_solution",
    "turk_solution": "solution",
    "turk_problem_2_solution": "solution_problem_2",
    "why_stop_for_problem_2": "why_stop_problem_2",
    "cheat": "cheat",
}
_TEXTS = {
    "why_stop": scales.WHY_STOP,
    "strength_weakness": scales.STRENGTHS_WEAKNESSES,
    "strength_weakness_for_problem_2": scales.STRENGTHS_WEAKNESSES_PROBLEM_2,
    "why_stop_other_reason": scales.WHY_STOP_OTHER,
    "why_stop_other_reason_for_problem_2": scales.WHY_STOP_OTHER_PROBLEM_2,
}
_RATINGS = {"overall_rating": scales.INTERACTION, "overall_rating_for_problem_2": scales.INTERACTION_PROBLEM_2}
_PROBLEM = {"question": "problem", "problem": "problem"}
_REFERENCE = {
    "solution": "solution",
    "problem_1_gold_final_answer": "answer",
    "similar_question": "problem_2",
    "problem_2_gold_solution": "solution_2",
    "problem_2_gold_final_answer": "answer_2",
    "question_location": "location",
    "similar_question_location": "location_2",
    "dataset": "dataset",
}
_TAGS = {"level": "level", "type": "subject"}
_OUTCOME_TEXTS = {"turk_final_answer": "final_answer", "turk_problem_2_final_answer": "final_answer_problem_2"}
_CORRECT = {"problem_1_correctness": "correct", "problem_2_correctness": "correct_problem_2"}
_SOLVED = {"solve_or_not": "solved_selfreport", "problem_2_solve_or_not": "solved_selfreport_problem_2"}
_VOTES = ("turn_level_vote", "problem_2_turn_level_vote")
_KNOWN = {
    "workerId",
    "user_id",
    "user_queries",
    "ai_responses",
    "model",
    "problem_id",
    "problem_1_turns",
    "moved_to_problem_2",
    *_SURVEY,
    *_TEXTS,
    *_RATINGS,
    *_PROBLEM,
    *_REFERENCE,
    *_TAGS,
    *_OUTCOME_TEXTS,
    *_CORRECT,
    *_SOLVED,
    *_VOTES,
}


def read_record(record: Raw, builder: Builder, released: Released) -> None:
    """Add the conversation of one record, with its ratings, votes and profile."""
    builder.require(record, "workerId", "user_queries", "ai_responses", "model", "problem_id")
    builder.leave_out(record, _KNOWN)
    person = builder.person(record)
    if record.get("user_id"):
        builder.notes.dropped("field 'user_id': it is not the person (that is workerId)")
    first = _problem_1_turns(record, builder)
    exchanges = builder.exchanges(record, lambda n: "problem_1" if n < first else "problem_2", latex=True)
    votes = Votes(exchanges, builder.notes)
    for field in _VOTES:
        votes.read(field, record.get(field), lambda pair: pair if pair[0] >= 0 and pair[1] in (0, 1) else None)
    conversation = builder.store(
        Conversation(
            id=new_id("c"),
            task=TASK,
            item=_item(record, builder, released),
            participant=person,
            assistant=str(record["model"]),
            origin="human",
            turns=tuple(exchanges.turns),
            ended=record.get("why_stop") or None,
            outcome=_outcome(record, builder),
            survey=known(record, _SURVEY),
            provenance=Provenance(format="", file="", record="", repairs=tuple(votes.repairs)),
        )
    )
    if conversation is None:
        return
    for name, scale in _RATINGS.items():
        builder.rate(conversation, scale, record.get(name))
    for name, scale in _TEXTS.items():
        builder.say(conversation, scale, record.get(name))
    votes.add_to(conversation, builder)
    if record.get("overall_rating") is None:
        builder.notes.warn("conversations without a rating of the interaction")
    released.join_math(record, conversation)


def _problem_1_turns(record: Raw, builder: Builder) -> int:
    """Return how many exchanges belong to the first problem; all of them where the record says -1 or nothing."""
    count, available = record.get("problem_1_turns"), len(record["user_queries"])
    if not isinstance(count, int) or isinstance(count, bool) or count <= 0:
        if count != -1:
            builder.notes.warn("records without a usable problem_1_turns: all turns belong to the first problem")
        return max(available, len(record["ai_responses"]))
    if count > available:
        builder.notes.warn("problem_1_turns above the number of turns: all turns belong to the first problem")
    return count


def _item(record: Raw, builder: Builder, released: Released) -> str:
    inputs = known(record, _PROBLEM)
    reference = known(record, _REFERENCE)
    concepts = released.concepts(record["problem_id"])
    if concepts is not None:
        reference["concepts"] = concepts
    tags = {name: str(value) for name, value in known(record, _TAGS).items()}
    if not inputs:
        builder.notes.warn("problems without text (a redacted release): their items say subject, level, concepts")
        inputs = {**tags, **({"concepts": "; ".join(c["name"] for c in concepts)} if concepts else {})}
    return builder.item(TASK, str(record["problem_id"]), inputs=inputs, reference=reference, tags=tags)


def _outcome(record: Raw, builder: Builder) -> dict[str, Any]:
    outcome: dict[str, Any] = {}
    for field, name in _CORRECT.items():
        value = record.get(field)
        if value in ("correct", "incorrect"):
            outcome[name] = value == "correct"
        elif value is not None:
            outcome[name] = None
            builder.notes.warn(f"{field} that is neither correct nor incorrect: kept as unknown")
    for field, name in _SOLVED.items():
        if record.get(field) in ("yes", "no"):
            outcome[name] = record[field] == "yes"
    outcome.update(known(record, _OUTCOME_TEXTS))
    if isinstance(record.get("moved_to_problem_2"), bool):
        outcome["moved_to_problem_2"] = record["moved_to_problem_2"]
    return outcome
