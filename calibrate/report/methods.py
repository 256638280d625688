"""The methods paragraph: what the numbers of this report mean, and how a repeat gets them again."""

from __future__ import annotations

from calibrate.estimate import installed_version
from calibrate.report.aligning import TaskAlignment
from calibrate.report.context import EMBEDDED, Context
from calibrate.report.document import Block, Paragraph
from calibrate.report.realism import TaskRealism


def methods(context: Context, parts: list[TaskAlignment], told: list[TaskRealism]) -> tuple[Block, ...]:
    """Return the paragraphs that the sections of this report need."""
    texts = [
        "Every number stands with n, what entered it, and in square brackets its 95 % interval. Where a "
        "number or an interval cannot be had, the reason stands in its place. Means have t intervals over "
        "people (a person's conversations depend on each other); shares have Wilson's interval where every "
        "person gives one, else a t interval over people cut at 0 and 100 %. Words are separated by white "
        "space; where a conversation has two parts, the first is counted."
    ]
    if parts:
        texts += _alignment()
    if any(context.frames.strategies(task) for task in context.frames.tasks()):
        texts.append(
            "The cards show the last strategy of [run] strategies that has twins "
            f"({', '.join(context.config.run.strategies)}), rated by the first judge: a choice made before "
            "the results, not the best of them."
        )
    if told:
        texts += _realism(context)
    texts.append(
        "Missing ratings are left out and counted, never replaced. Figures of simulated users or judges by "
        f"the embedded model ({EMBEDDED}, 135M parameters) stand under a grey band: they show that the "
        "pipeline works and are evidence of nothing else. Conversations of simulated users, and all scores "
        "by a named judge, are made by models."
    )
    texts.append(
        f"Computed with UserCal {installed_version()}, seed {context.seed}, {context.resamples:,} resamples; "
        "every figure draws from a generator of its own, so the same data and seed give the same report. "
        "report.json holds each estimate with its method, target, resamples and seed."
    )
    return tuple(Paragraph(text) for text in texts)


def _alignment() -> list[str]:
    return [
        "Alignment. Human ratings are z-scored per person (sample standard deviation); people with fewer "
        "than three rated conversations share the mean and standard deviation of their pool; without "
        "spread z is 0. Simulated ratings are not normalised. Three levels: each conversation; means per "
        "assistant × group (the main figure); means per assistant. Group means are rounded to ten decimals "
        "before they are ranked; ties get average ranks.",
        "Three targets. The same groups on fresh conversations: tanh(atanh ρ ± z · 1.15 · SD), with the SD "
        "of atanh ρ over a bootstrap of people in which z-scores, means and ranks are computed anew. The "
        "same groups without rating noise: ρ divided by the root of both reliabilities, interval by the "
        "delta method. New assistants: delete-one-assistant jackknife of atanh ρ, t with one degree of "
        "freedom fewer than there are assistants. Several predictors on one scale are compared by eye "
        "here: their intervals are not corrected for multiplicity, and overlap is no test.",
        "The length baseline is ln(words of the assistant's messages), standardised over the human "
        "conversations of a task. It reads nothing, and a simulator is worth its price only where it does "
        "better.",
    ]


def _realism(context: Context) -> list[str]:
    margin = context.config.report.equivalence_margin_points
    return [
        "Turing test. A judge sees a pair twice with the order swapped. Where both runs name the same "
        "conversation, that is the verdict; where they name the same position, the run with strictly "
        "higher confidence decides; else it is a tie and counts one half. p tests 50 %: exact binomial "
        "without ties where each person gives one pair, else a t test over people. |p − 50| is biased "
        "upward and stands second. Judges are never pooled. Indistinguishable is claimed only where two "
        f"one-sided tests put the share within {margin:g} points of 50 % and the same judge is right in "
        "more than 60 % of pairs (lower bound) on twins known to differ.",
        "Scores of how human a user looks (1 to 5) are compared within pairs, twin − own person, with t "
        "intervals over people. Length and number of messages need no judge; what gives twins away is the "
        "trait that differs most in human standard deviations among those whose paired difference has an "
        "interval without 0.",
    ]
