"""Human reference figures: what the imported people did, in the shape of a published reference file.

Words are whitespace tokens of the original text. Messages that are only a file and replies that are missing are skipped
and counted. Every standard deviation has n - 1 in its denominator and is None for a single value.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from annotate.importers.contract import person_rater
from annotate.schema import Annotation, Conversation, Item, Turn

if TYPE_CHECKING:
    from annotate.store import Store

Figures = dict[str, Any]
Pairs = dict[str, tuple[list[float], list[float]]]

MATH, DOCUMENTS = "math_tutoring", "document_creation"
_DROPPED_VOTE = re.compile(r"dropped (\w*turn_level_vote) \[\s*\d+\s*,\s*([01])\s*\]:")


def length_range(words: Sequence[int]) -> tuple[int, int] | None:
    """Return the range of message lengths in words that a twin is asked to keep: 3 to 43 gives (1, 45).

    lo = 5·⌊min/5⌋, at least 1; hi = 5·⌈max/5⌉, at least 5; None where there is no message. Never the exact numbers.
    """
    if not words:
        return None
    return max(1, 5 * (min(words) // 5)), max(5, 5 * -(-max(words) // 5))


def summary(values: Sequence[float], *, distribution: bool = False) -> Figures:
    """Return n, mean, median, sd_ddof1, min and max; with `distribution` also how often each value occurs."""
    if not values:
        return {"n": 0, "mean": None, "median": None, "sd_ddof1": None, "min": None, "max": None}
    figures: Figures = {
        "n": len(values),
        "mean": statistics.fmean(values),
        "median": float(statistics.median(values)),
        "sd_ddof1": statistics.stdev(values) if len(values) > 1 else None,
        "min": float(min(values)),
        "max": float(max(values)),
    }
    if distribution:
        figures["distribution"] = _counts(sorted(values))
    return figures


def human_reference(
    conversations: Iterable[Conversation], annotations: Iterable[Annotation], items: Iterable[Item]
) -> dict[str, Figures]:
    """Return the figures of the human conversations of both tasks, without the correlations: {task: {figure: value}}.

    Corrected annotations count once, with their last value. Tasks without a human conversation are left out.
    """
    sample = Sample(conversations, annotations, items)
    found = {}
    for task, describe in ((MATH, _math), (DOCUMENTS, _documents)):
        if chosen := sample.of(task):
            found[task] = describe(sample, chosen)
    return found


def human_pairs(
    conversations: Iterable[Conversation], annotations: Iterable[Annotation], items: Iterable[Item]
) -> dict[str, Pairs]:
    """Return the paired series that the reference correlates: {task: {name: (x, y)}}, a pair for each conversation."""
    sample = Sample(conversations, annotations, items)
    return {
        task: pairs(sample, chosen)
        for task, pairs in ((MATH, _math_pairs), (DOCUMENTS, _document_pairs))
        if (chosen := sample.of(task))
    }


def reference_of(store: Store) -> dict[str, Figures]:
    """Return the human reference figures of a store."""
    return human_reference(store.iterate(Conversation, origin="human"), store.iterate(Annotation), store.iterate(Item))


class Sample:
    """Human conversations with what their own people said about them."""

    def __init__(
        self, conversations: Iterable[Conversation], annotations: Iterable[Annotation], items: Iterable[Item]
    ) -> None:
        self._conversations = [c for c in conversations if c.origin == "human"]
        self._items = {item.id: item for item in items}
        self._said: dict[tuple[str, str], list[Annotation]] = defaultdict(list)
        given = list(annotations)
        corrected = {a.supersedes for a in given if a.supersedes}
        for annotation in given:
            if annotation.id not in corrected and annotation.value is not None and annotation.target.conversation:
                self._said[annotation.target.conversation, annotation.scale].append(annotation)

    def of(self, task: str) -> list[Conversation]:
        """Return the conversations of a task."""
        return [c for c in self._conversations if c.task == task]

    def tag(self, conversation: Conversation, name: str) -> str:
        """Return a tag of the conversation or of its item."""
        item = self._items.get(conversation.item)
        return conversation.tags.get(name) or (item.tags.get(name, "") if item else "")

    def rating(self, conversation: Conversation, scale: str) -> float | None:
        """Return the person's number on a scale, or None."""
        numbers = [a.value for a in self._own(conversation, scale) if isinstance(a.value, (int, float))]
        return numbers[-1] if numbers else None

    def thumbs(self, conversation: Conversation, part: str | None = None) -> list[Annotation]:
        """Return the thumbs on replies, of one part where it is given."""
        places = {turn.position for turn in in_part(conversation, part)}
        return [a for a in self._own(conversation, "thumb") if a.target.turn in places]

    def _own(self, conversation: Conversation, scale: str) -> list[Annotation]:
        """Return what the conversation's person said, or, where they are not among the raters, what people said."""
        said = self._said.get((conversation.id, scale), [])
        name = person_rater(conversation.participant).id
        return [a for a in said if a.rater == name] or [a for a in said if a.run is None and a.call_id is None]

    def rated(self, chosen: Sequence[Conversation], scale: str) -> list[tuple[Conversation, float]]:
        """Return the conversations that have a number on a scale, with it."""
        return [(c, value) for c in chosen if (value := self.rating(c, scale)) is not None]


def in_part(conversation: Conversation, part: str | None) -> list[Turn]:
    """Return the turns of a part; all of them where the conversation has no parts."""
    turns = conversation.messages()
    if part is None or all(turn.part is None for turn in turns):
        return list(turns)
    return [turn for turn in turns if turn.part == part]


def _side(conversation: Conversation, role: str, part: str | None = None) -> list[Turn]:
    return [turn for turn in in_part(conversation, part) if turn.role == role]


def _readable(turns: Iterable[Turn]) -> list[Turn]:
    return [turn for turn in turns if not turn.missing and (turn.text or not turn.attachments)]


def _words(conversation: Conversation, role: str, part: str | None = None) -> list[int]:
    return [turn.words for turn in _readable(_side(conversation, role, part))]


def _counts(values: Iterable[float]) -> dict[str, int]:
    return dict(Counter(str(int(value)) if float(value).is_integer() else str(value) for value in values))


def _choices(values: Iterable[Any]) -> dict[str, int]:
    return dict(sorted(Counter(str(value) for value in values if value is not None).items()))


def _share(hits: int, of: int) -> Figures:
    return {"n": of, "k": hits, "share": hits / of if of else None}


def _grouped(pairs: Iterable[tuple[Hashable, float]]) -> dict[str, Figures]:
    groups: dict[str, list[float]] = defaultdict(list)
    for key, value in pairs:
        groups[str(key)].append(value)
    return {key: summary(groups[key]) for key in sorted(groups)}


def _people(chosen: Sequence[Conversation]) -> Figures:
    counts = Counter(c.participant for c in chosen)
    return {
        "n_conversations": len(chosen),
        "n_annotators": len(counts),
        "annotators_with_2plus": sum(count > 1 for count in counts.values()),
    }


def _user_words(chosen: Sequence[Conversation], part: str | None = None) -> Figures:
    series = [words for c in chosen if (words := _words(c, "user", part))]
    ranges = [found for words in series if (found := length_range(words))]
    pooled = [count for words in series for count in words]
    return {
        "pooled_per_message": summary(pooled),
        "per_conversation_mean": summary([statistics.fmean(words) for words in series]),
        "first_message": summary([words[0] for words in series]),
        "later_messages": summary([count for words in series for count in words[1:]]),
        "empty_messages": sum(count == 0 for count in pooled),
        "length_control_low": _counts(sorted(low for low, _ in ranges)),
        "length_control_high": _counts(sorted(high for _, high in ranges)),
    }


def _assistant_words(chosen: Sequence[Conversation], part: str | None = None) -> tuple[Figures, Figures]:
    series = [_words(c, "assistant", part) for c in chosen]
    return summary([count for words in series for count in words]), summary([sum(words) for words in series])


def _vote_figures(
    sample: Sample, chosen: Sequence[Conversation], part: str | None
) -> tuple[int, int, int, float | None]:
    """Return assistant turns, voted turns, conversations with a vote, and the share of votes that are up."""
    thumbs = [sample.thumbs(c, part) for c in chosen]
    votes = [a.value == "up" for said in thumbs for a in said]
    turns = sum(len(_side(c, "assistant", part)) for c in chosen)
    return turns, len(votes), sum(bool(said) for said in thumbs), statistics.fmean(votes) if votes else None


def _up_share(sample: Sample, conversation: Conversation, part: str | None = None) -> float | None:
    thumbs = sample.thumbs(conversation, part)
    return statistics.fmean(a.value == "up" for a in thumbs) if thumbs else None


def _math(sample: Sample, chosen: Sequence[Conversation]) -> Figures:
    first = "problem_1"
    per_message, per_conversation = _assistant_words(chosen, first)
    turns = [len(_side(c, "user", first)) for c in chosen]
    rated = sample.rated(chosen, "interaction")
    return {
        **_people(chosen),
        "skipped": {
            "non_str_user_all": sum(bool(t.attachments) and not t.text for c in chosen for t in _side(c, "user")),
            "none_assistant_all": sum(t.missing for c in chosen for t in _side(c, "assistant")),
        },
        "turns_problem_1": summary(turns),
        "turns_whole_session": summary([len(_side(c, "user")) for c in chosen]),
        "single_turn_problem_1": sum(count == 1 for count in turns),
        "user_words_problem_1": _user_words(chosen, first),
        "user_words_whole_session": _user_words(chosen),
        "assistant_words_per_message_problem_1": per_message,
        "assistant_words_per_conversation_problem_1": per_conversation,
        "overall_rating": summary([value for _, value in rated], distribution=True),
        "overall_rating_problem_2_optional": summary(
            [value for _, value in sample.rated(chosen, "interaction_problem_2")], distribution=True
        ),
        "rating_by_assistant": _grouped((c.assistant, value) for c, value in rated),
        "rating_by_level": _grouped((sample.tag(c, "level"), value) for c, value in rated),
        "rating_by_type": _grouped((sample.tag(c, "subject"), value) for c, value in rated),
        **_math_outcomes(sample, chosen, rated),
        "votes": _math_votes(sample, chosen),
        "why_ask_tutor": _choices(c.survey.get("why_ask_tutor") for c in chosen),
        "why_stop": _choices(c.ended for c in chosen),
        "math_expertise": _choices(c.survey.get("math_expertise") for c in chosen),
    }


def _math_outcomes(
    sample: Sample, chosen: Sequence[Conversation], rated: Sequence[tuple[Conversation, float]]
) -> Figures:
    # An unknown result counts as incorrect, as in the protocol.
    correct = {c.id: int(c.outcome.get("correct") is True) for c in chosen}
    moved = [c for c in chosen if c.outcome.get("moved_to_problem_2")]
    second = [int(c.outcome.get("correct_problem_2") is True) for c in moved]
    by_result = {
        name: summary([value for c, value in rated if correct[c.id] == hit])
        for name, hit in (("correct", 1), ("incorrect", 0))
    }
    return {
        "correct_problem_1": _share(sum(correct.values()), len(chosen)),
        "correct_problem_2_given_attempted": _share(sum(second), len(moved)),
        "correct_problem_1_among_moved": _share(sum(correct[c.id] for c in moved), len(moved)),
        "table_c1_c2_moved": _choices(f"c1={correct[c.id]},c2={hit}" for c, hit in zip(moved, second, strict=True)),
        "table_selfreport_solved_vs_c1": _choices(
            f"solved={bool(c.outcome.get('solved_selfreport'))},c1={correct[c.id]}" for c in chosen
        ),
        "correct_by_assistant": _grouped((c.assistant, correct[c.id]) for c in chosen),
        "correct_by_level": _grouped((sample.tag(c, "level"), correct[c.id]) for c in chosen),
        "mean_rating_correct_vs_incorrect": by_result,
    }


def _math_votes(sample: Sample, chosen: Sequence[Conversation]) -> Figures:
    turns, voted, with_vote, up = _vote_figures(sample, chosen, "problem_1")
    raw = Counter(
        f"{flag}|side1"
        for c in chosen
        for a in sample.thumbs(c)
        for flag in a.flags
        if flag.endswith("turn_level_vote")
    )
    for conversation in chosen:
        for repair in conversation.provenance.repairs if conversation.provenance else ():
            if match := _DROPPED_VOTE.match(repair):
                raw[f"{match[1]}|side{match[2]}"] += 1
    return {
        "raw_counts": dict(raw),
        "assistant_turns_problem_1": turns,
        "voted_turns_problem_1": voted,
        "share_turns_voted_problem_1": voted / turns if turns else None,
        "conversations_with_any_vote_p1": with_vote,
        "share_conversations_with_any_vote_p1": with_vote / len(chosen),
        "up_share_of_votes_p1": up,
    }


def _documents(sample: Sample, chosen: Sequence[Conversation]) -> Figures:
    per_message, per_conversation = _assistant_words(chosen)
    turns = [len(_side(c, "user")) for c in chosen]
    figures: Figures = {
        **_people(chosen),
        "turns": summary(turns),
        "turns_distribution": _counts(sorted(turns)),
        "user_words": _user_words(chosen),
        "assistant_words_per_message": per_message,
        "assistant_words_per_conversation": per_conversation,
    }
    for scale in ("interaction", "document"):
        rated = sample.rated(chosen, scale)
        figures[f"{scale}_rating"] = summary([value for _, value in rated], distribution=True)
        figures[f"{scale}_rating_by_assistant"] = _grouped((c.assistant, value) for c, value in rated)
        figures[f"{scale}_rating_by_type"] = _grouped((sample.tag(c, "document_type"), value) for c, value in rated)
    all_turns, voted, with_vote, up = _vote_figures(sample, chosen, None)
    figures["votes"] = {
        "assistant_turns": all_turns,
        "voted_turns": voted,
        "share_turns_voted": voted / all_turns if all_turns else None,
        "conversations_with_any_vote": with_vote,
        "share_conversations_with_any_vote": with_vote / len(chosen),
        "up_share_of_votes": up,
    }
    own = sum(sample.tag(c, "own_topic") == "yes" for c in chosen)
    return {
        **figures,
        **_canvas(chosen),
        "prewriting_answers": summary(
            [sum(bool(pair["answer"].strip()) for pair in c.survey.get("prewriting", ())) for c in chosen]
        ),
        "own_intent": {"n": len(chosen), "k": own},
        "why_stop": _choices(c.ended for c in chosen),
    }


def _canvas(chosen: Sequence[Conversation]) -> Figures:
    """Return the figures of the document: its last version, when it began, how often it changed."""
    final = [c.documents[-1].words for c in chosen if c.documents]
    started = [next((i for i, v in enumerate(c.documents, 1) if v.text.strip()), None) for c in chosen]
    steps = [version.changed for c in chosen for version in c.documents]
    return {
        "final_document_words": summary(final),
        "final_document_over_500_words": {"n": len(final), "k": sum(words > 500 for words in final)},
        "final_document_over_600_words": {"n": len(final), "k": sum(words > 600 for words in final)},
        "turn_of_first_nonempty_document": summary([i for i in started if i is not None], distribution=True),
        "document_changed_steps_share": _share(sum(steps), len(steps)),
    }


def _paired(
    chosen: Iterable[Conversation], x: Callable[[Conversation], float | None], y: Callable[[Conversation], float | None]
) -> tuple[list[float], list[float]]:
    both = [(a, b) for c in chosen if (a := x(c)) is not None and (b := y(c)) is not None]
    return [float(a) for a, _ in both], [float(b) for _, b in both]


def _total_words(conversation: Conversation, part: str | None = None) -> float | None:
    words = _words(conversation, "user", part)
    return sum(words) if words else None


def _log_words(conversation: Conversation, part: str | None = None) -> float | None:
    total = sum(_words(conversation, "assistant", part))
    return math.log(total) if total else None


def _hit(outcome: Mapping[str, Any], name: str) -> float | None:
    return float(outcome[name] is True) if name in outcome else None


def _math_pairs(sample: Sample, chosen: Sequence[Conversation]) -> Pairs:
    first = "problem_1"

    def rating(c: Conversation) -> float | None:
        return sample.rating(c, "interaction")

    return {
        "corr_rating_vs_correct_problem_1": _paired(chosen, rating, lambda c: _hit(c.outcome, "correct")),
        "corr_rating_vs_correct_problem_2": _paired(chosen, rating, lambda c: _hit(c.outcome, "correct_problem_2")),
        "corr_rating_vs_rating_problem_2": _paired(chosen, rating, lambda c: sample.rating(c, "interaction_problem_2")),
        "corr_rating_vs_turns_problem_1": _paired(chosen, rating, lambda c: len(_side(c, "user", first))),
        "corr_rating_vs_user_words_p1": _paired(chosen, rating, lambda c: _total_words(c, first)),
        "corr_rating_vs_log_assistant_words_p1": _paired(chosen, rating, lambda c: _log_words(c, first)),
        "corr_rating_vs_up_share_p1": _paired(chosen, rating, lambda c: _up_share(sample, c, first)),
    }


def _document_pairs(sample: Sample, chosen: Sequence[Conversation]) -> Pairs:
    def interaction(c: Conversation) -> float | None:
        return sample.rating(c, "interaction")

    def document(c: Conversation) -> float | None:
        return sample.rating(c, "document")

    return {
        "corr_interaction_vs_document_rating": _paired(chosen, interaction, document),
        "corr_interaction_vs_turns": _paired(chosen, interaction, lambda c: len(_side(c, "user"))),
        "corr_document_vs_turns": _paired(chosen, document, lambda c: len(_side(c, "user"))),
        "corr_interaction_vs_user_words": _paired(chosen, interaction, _total_words),
        "corr_interaction_vs_log_assistant_words": _paired(chosen, interaction, _log_words),
        "corr_document_vs_log_assistant_words": _paired(chosen, document, _log_words),
        "corr_document_vs_final_document_words": _paired(
            chosen, document, lambda c: c.documents[-1].words if c.documents else None
        ),
        "corr_interaction_vs_up_share": _paired(chosen, interaction, lambda c: _up_share(sample, c)),
    }
