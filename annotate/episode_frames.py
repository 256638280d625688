"""Stored episodes of user proxies as the frames that fidelity is counted from; read in bulk, without a noun per row."""

from __future__ import annotations

import json
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import nan
from typing import TYPE_CHECKING, Any

from annotate.episode_repeats import mark_repeats, tell_trials_apart
from annotate.episodes import EPISODE_COLUMNS, EpisodeFrames
from annotate.errors import InputError, StoreError
from annotate.schema import Annotation, Conversation, Criterion, Item, Noun, Rater, Run
from annotate.verdict_choice import VALUES, one_rater, verdict_frame

if TYPE_CHECKING:
    import pandas as pd

    from annotate.store import Store

TokenEstimate = Callable[[Conversation, Item | None, Mapping[str, Any]], tuple[int, int] | None]
"""(conversation, its item, its run's configuration) → (prompt, completion) tokens of the user side; None: not known."""

UNKNOWN = "unknown"
_FETCH = 1000
_AT_ONCE = 100  # annotations held as objects; with more, the garbage collector begins to look at them


def read_episodes(
    store: Store, *, scale: str = "rubric", rater: str | None = None, estimate: TokenEstimate | None = None
) -> EpisodeFrames:
    """Read the simulated conversations that name their proxy, and the standing verdicts on `scale`, into frames.

    `agent_turns` counts the agent's messages that the user saw, `agent_questions` the question marks in them,
    `agent_tool_calls` the agent's calls; `user_turns` the user's messages that the agent saw. Tokens are summed over
    the calls of the proxy, nan where one of them is not counted; then `estimate`, where given, fills them in and
    `tokens_estimated` is true. `duplicate_of` does not depend on the order of import. `rater` (id or name) says whose
    verdicts count where several judged the same. `InputError` for a value that is no verdict or a criterion not stored.
    """
    import pandas as pd

    configs = _configs(store) if estimate else {}
    rows = [_row(body, store, configs, estimate) for body in _bodies(store, Conversation, origin="simulated")
            if "proxy" in body["tags"]]  # fmt: skip
    notes = [*mark_repeats(rows), *tell_trials_apart(rows), *_reworded(rows)]
    verdicts = _verdicts(store, scale, [str(row["episode"]) for row in rows])
    verdicts, said = one_rater(verdicts, _rater_id(store, rater), store.url)
    episodes = pd.DataFrame([[row[name] for name in EPISODE_COLUMNS] for row in rows], columns=EPISODE_COLUMNS)
    for name in ("reward", "cost_usd", "list_cost_usd", "prompt_tokens", "completion_tokens", "seconds"):
        episodes[name] = episodes[name].astype(float)
    return EpisodeFrames(episodes=episodes, verdicts=verdicts, source="store", notes=(*notes, *said))


def _reworded(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a note for each domain with tasks whose blueprint differs between runs that know it."""
    from annotate.importers.tau.design import reworded_sentence

    blueprints: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        if row["blueprint"]:
            blueprints[row["domain"], row["task"]].add(row["blueprint"])
    tasks: dict[str, list[str]] = defaultdict(list)
    for (domain, task), found in blueprints.items():
        if len(found) > 1 and task != UNKNOWN:
            tasks[domain].append(task)
    return [reworded_sentence(domain, found) for domain, found in sorted(tasks.items())]


def _bodies(store: Store, kind: type[Noun], **equal: str) -> Iterator[dict[str, Any]]:
    """Yield the stored bodies of a kind as plain data, in order of insertion."""
    from sqlalchemy import select
    from sqlalchemy.exc import DBAPIError

    from annotate.store.tables import SHELVES

    table = SHELVES[kind].table
    query = select(table.c.body).order_by(table.c.seq)
    for name, value in equal.items():
        query = query.where(table.c[name] == value)
    try:
        with store.engine.connect() as connection:
            found = connection.execution_options(stream_results=True, yield_per=_FETCH).execute(query)
            for body in found.scalars():
                yield json.loads(body)
    except DBAPIError as error:
        raise StoreError(f"store: {error.orig}. Close other programs that use it, and try again.") from None
    except json.JSONDecodeError as error:
        raise StoreError(f"store: a record of {table.name} is no JSON ({error.msg}). Go back to a copy.") from None


def _configs(store: Store) -> dict[str, Mapping[str, Any]]:
    return {body["id"]: body["config"] for body in _bodies(store, Run)}


def _text(value: Any) -> str:
    """Return a text that a frame can hold, `"unknown"` for an empty one."""
    return str(value).encode("utf-8", "replace").decode("utf-8") if value not in (None, "") else UNKNOWN


def _row(
    body: dict[str, Any], store: Store, configs: Mapping[str, Mapping[str, Any]], estimate: TokenEstimate | None
) -> dict[str, Any]:
    """Return an episode's facts: `EPISODE_COLUMNS`, and what repeats are told by."""
    tags, outcome = body["tags"], body["outcome"]
    cost = body["cost_usd"]
    row = {
        "episode": body["id"],
        "proxy": _text(tags.get("proxy")),
        "agent": _text(tags.get("agent") or body["assistant"]),
        "domain": _text(tags.get("domain")),
        "task": _text(tags.get("task_id")),
        "trial": str(tags.get("trial") or "0"),
        "status": outcome.get("status") or "ok",
        "status_reason": outcome.get("status_reason"),
        "reward": _number(outcome.get("reward")),
        "ended": _text(body["ended"]),
        "cost_usd": cost,
        "cost_basis": "unknown" if cost is None else "billed",
        "list_cost_usd": None,
        "seconds": _number(outcome.get("seconds")),
        "duplicate_of": None,
        "rubric": tags.get("rubric"),
        "blueprint": body["item"] if tags.get("blueprint") == "known" else None,
        "content_hash": body["content_hash"],
        "file": _text(tags.get("file")),
        "run": body["run"],
        "simulation": _text(tags.get("simulation")),
        **_counted(body["turns"]),
    }
    if row["prompt_tokens"] is None and estimate is not None and row["user_calls"]:
        conversation = store.get(Conversation, body["id"])
        config = configs.get(str(body["run"]), {})
        found = estimate(conversation, store.get(Item, body["item"]), config) if conversation is not None else None
        if found is not None:
            row["prompt_tokens"], row["completion_tokens"] = found
            row["tokens_estimated"] = True
    return row


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _counted(turns: list[dict[str, Any]]) -> dict[str, Any]:
    """Count turns, calls, questions and tokens of one conversation."""
    user = [turn for turn in turns if turn["role"] == "user"]
    agent = [turn for turn in turns if turn["role"] == "assistant"]
    said = [turn for turn in agent if turn["seen_by"] in ("both", "user") and turn["text"].strip()]
    usage = [turn["usage"] or {} for turn in user]
    counts = [(one.get("prompt_tokens"), one.get("completion_tokens")) for one in usage]
    known = bool(counts) and all(p is not None and c is not None for p, c in counts)
    return {
        "user_turns": sum(turn["seen_by"] in ("both", "assistant") for turn in user),
        "agent_turns": len(said),
        "agent_tool_calls": sum(len(turn["tool_calls"]) for turn in agent),
        "agent_questions": sum(turn["text"].count("?") for turn in said),
        "prompt_tokens": sum(p for p, _ in counts) if known else None,
        "completion_tokens": sum(c for _, c in counts) if known else None,
        "tokens_estimated": False,
        "user_calls": len(user),
    }


def _rater_id(store: Store, rater: str | None) -> str | None:
    """Return the id of the rater of that id or name; a name that nobody has is left for the choice to refuse."""
    if rater is None:
        return None
    raters = list(_bodies(store, Rater))
    if any(one["id"] == rater for one in raters):
        return rater
    named = [str(one["id"]) for one in raters if one["name"] == rater]
    if len(named) > 1:
        raise InputError(f"Rater {rater!r} is the name of {len(named)} raters: {', '.join(named)}. Give the id of one.")
    return named[0] if named else rater


class _Coded:
    """A column that is being read: each text once, and a number for each row."""

    def __init__(self, texts: list[str] | None = None) -> None:
        self.places = {text: number for number, text in enumerate(texts or [])}
        self.codes = array("i")

    def extend(self, texts: Iterable[str | None]) -> None:
        """Append rows; None is no value."""
        places = self.places
        self.codes.extend([-1 if text is None else places.setdefault(text, len(places)) for text in texts])

    def categorical(self) -> pd.Categorical:
        """Return the column."""
        import numpy as np
        import pandas as pd

        codes = np.frombuffer(self.codes, dtype=np.int32) if len(self.codes) else np.zeros(0, dtype=np.int32)
        return pd.Categorical.from_codes(codes, categories=pd.Index(list(self.places), dtype=object))


def _verdicts(store: Store, scale: str, episodes: list[str]) -> pd.DataFrame:
    """Return the standing verdicts on the episodes; those of other conversations are left out."""
    import numpy as np
    import pandas as pd

    columns = {name: _Coded() for name in ("criterion", "rater", "quote")}
    columns["episode"] = _Coded(episodes)
    wanted = set(episodes)
    values, turns = array("b"), array("d")
    superseded = {one for one in store.column(Annotation, "supersedes") if one}
    bodies = _bodies(store, Annotation, scale=scale)
    while chunk := list(islice(bodies, _AT_ONCE)):
        standing = [
            (body, target, body["evidence"] or {})
            for body in chunk
            if (target := body["target"])["kind"] == "verdict"
            and target["conversation"] in wanted
            and body["id"] not in superseded
        ]
        columns["episode"].extend([target["conversation"] for _, target, _ in standing])
        columns["criterion"].extend([target["criterion"] for _, target, _ in standing])
        columns["rater"].extend([body["rater"] for body, _, _ in standing])
        columns["quote"].extend([_quote(evidence.get("quote")) for _, _, evidence in standing])
        values.extend([_value(body) for body, _, _ in standing])
        turns.extend([nan if (turn := e.get("turn")) is None else turn for _, _, e in standing])
    whole = {name: column.categorical() for name, column in columns.items()}
    return verdict_frame(
        value=np.frombuffer(values, dtype=np.int8) if values else np.zeros(0, dtype=np.int8),
        turn=pd.Series(np.frombuffer(turns) if turns else np.zeros(0)),
        **whole,
        **_of_criteria(store, whole["criterion"]),
        rater_kind=_of_raters(store, whole["rater"]),
    )


def _value(body: Mapping[str, Any]) -> int:
    if body["missing"] is not None:
        return VALUES.index("na" if body["missing"] == "not_applicable" else "missing")
    said = {True: "pass", False: "fail"}.get(body["value"], body["value"])
    if said not in ("pass", "fail"):
        raise InputError(
            f"annotation {body['id']}: {body['value']!r} is no verdict. Give pass or fail, or say why it is missing."
        )
    return VALUES.index(said)


def _quote(text: str | None) -> str | None:
    return text.encode("utf-8", "replace").decode("utf-8") if text else None


def _of_criteria(store: Store, criteria: pd.Categorical) -> dict[str, pd.Categorical]:
    """Return family and mode of each verdict's criterion; `InputError` for one that is not stored."""
    known = {body["id"]: body for body in _bodies(store, Criterion)} if len(criteria) else {}
    absent = [str(name) for name in criteria.categories if name not in known]
    if absent or (criteria.codes < 0).any():
        what = f"criterion {absent[0]!r}" if absent else "a criterion without an id"
        raise InputError(f"Verdicts are on {what}, which is not in the store. Import the rubric that holds it.")
    return {
        name: _relabelled(criteria, [str(known[one][name]) for one in criteria.categories])
        for name in ("family", "mode")
    }


def _of_raters(store: Store, raters: pd.Categorical) -> pd.Categorical:
    kinds = {body["id"]: str(body["kind"]) for body in _bodies(store, Rater)} if len(raters) else {}
    absent = [str(one) for one in raters.categories if one not in kinds]
    if absent:
        raise InputError(f"Verdicts are by the rater {absent[0]!r}, who is not in the store. Import the raters, too.")
    return _relabelled(raters, [kinds[one] for one in raters.categories])


def _relabelled(column: pd.Categorical, texts: list[str]) -> pd.Categorical:
    """Return the column with another text for each category; several may get the same."""
    import numpy as np
    import pandas as pd

    places = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    codes = np.asarray([*(places[text] for text in texts), -1], dtype=np.int32)[column.codes]
    return pd.Categorical.from_codes(codes, categories=pd.Index(list(places), dtype=object))
