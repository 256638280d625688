"""Episodes that repeat each other, and episodes that only look alike by their task and trial."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from annotate.schema import Conversation

UNKNOWN = "unknown"
_FACTS = ("proxy", "agent", "domain", "ended")
_NUMBERS = ("reward", "cost_usd", "seconds")

Row = dict[str, Any]


def mark_repeats(rows: Sequence[Row]) -> list[str]:
    """Set `duplicate_of` on each row whose content another one has, and return what there is to say.

    Two of the same content are one episode if they have the same simulation id, or come from two files and a task id is
    missing in one of them, or task and trial are the same. The one with a known task counts, then the one that knows
    more, then the one of the smaller simulation id: never the one that happened to be imported first.
    """
    alike: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["content_hash"] is not None:
            alike[row["content_hash"]].append(row)
    repeats = 0
    for group in alike.values():
        counted: list[Row] = []
        for row in sorted(group, key=_rank):
            first = next((one for one in counted if _same(one, row)), None)
            if first is None:
                counted.append(row)
            else:
                row["duplicate_of"] = first["episode"]
                repeats += 1
    return [f"{repeats:,} episodes repeat another and are counted once"] if repeats else []


def facts(conversation: Conversation, episode: str | None = None) -> Row:
    """Return what `mark_repeats` reads of an episode; `episode` is the identity that it is stored under, if another."""
    tags, outcome = conversation.tags, conversation.outcome
    named = {
        name: str(tags.get(tag) or UNKNOWN)
        for name, tag in (("proxy", "proxy"), ("agent", "agent"), ("domain", "domain"), ("task", "task_id"),
                          ("simulation", "simulation"), ("file", "file"))
    }  # fmt: skip
    return {
        **named,
        "episode": episode or conversation.id,
        "trial": str(tags.get("trial") or "0"),
        "ended": conversation.ended or UNKNOWN,
        "reward": outcome.get("reward"),
        "cost_usd": conversation.cost_usd,
        "seconds": outcome.get("seconds"),
        "content_hash": conversation.content_hash,
        "run": conversation.run,
        "duplicate_of": None,
    }


def _rank(row: Row) -> tuple[Any, ...]:
    known = sum(row[name] != UNKNOWN for name in _FACTS) + sum(row[name] is not None for name in _NUMBERS)
    # The last two only decide between copies that nothing else tells apart.
    return (
        row["task"] == UNKNOWN,
        -known,
        row["simulation"] == UNKNOWN,
        row["simulation"],
        row["file"],
        row["episode"],
    )


def _same(first: Row, second: Row) -> bool:
    if any(UNKNOWN not in (first[n], second[n]) and first[n] != second[n] for n in ("proxy", "domain")):
        return False
    if first["simulation"] != UNKNOWN and first["simulation"] == second["simulation"]:
        return True
    if first["run"] == second["run"] and first["file"] == second["file"]:
        return False
    if UNKNOWN in (first["task"], second["task"]):
        return True
    return bool((first["task"], first["trial"]) == (second["task"], second["trial"]))


def tell_trials_apart(rows: Sequence[Row]) -> list[str]:
    """Give counted episodes that share proxy, domain, task and trial trials of their own; return what there is to say.

    Two runs both call their first trial 0: such a trial gets the name of its file, and its simulation id where that is
    not enough. An unknown task gets a name by its content, so that no two are taken for rollouts of one task.
    """
    unknown = [row for row in rows if row["task"] == UNKNOWN]
    for row in unknown:
        row["task"] = f"{UNKNOWN} {str(row['content_hash'] or row['episode'])[:8]}"
    renamed = _with_more(rows, "file")
    if renamed:
        _with_more(rows, "simulation")
        _with_more(rows, "episode")
    alone = sum(row["duplicate_of"] is None for row in unknown)
    said = [f"{alone:,} episodes do not name their task, so they pair with none"] if alone else []
    if renamed:
        said.append(f"{renamed:,} episodes of several runs had the same trial; their trials are named after the files")
    return said


def _with_more(rows: Sequence[Row], name: str) -> int:
    """Add a fact to the trials of counted episodes that are not yet told apart; return to how many."""
    shared: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if row["duplicate_of"] is None:
            shared[row["proxy"], row["domain"], row["task"], row["trial"]].append(row)
    crowded = [row for group in shared.values() if len(group) > 1 for row in group]
    for row in crowded:
        row["trial"] = f"{row['trial']} {row[name]}"
    return len(crowded)
