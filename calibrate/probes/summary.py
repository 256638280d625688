"""The probes of many episodes, per proxy and domain: counts, shares with intervals, and a few places to look at.

A diagnostic beside the UFS, never part of it: every record says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from calibrate.estimate import Estimate, Interval, Undefined
from calibrate.probes.probing import LABEL, ProbeRow
from calibrate.stats.intervals import normal_quantile, wilson

TARGET = "new tasks like these"
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Example:
    """A place to look at: the episode, the position of the turn, and a short quote without identifiers."""

    episode: str
    turn: int
    quote: str

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON-ready data."""
        return {"episode": self.episode, "turn": self.turn, "quote": self.quote}


@dataclass(frozen=True, slots=True)
class ProbeShare:
    """In how many of the episodes a probe applies to it found something; `excluded` counts the others by reason."""

    probe: str
    title: str
    found: int
    share: Estimate
    excluded: dict[str, int] = field(default_factory=dict)
    examples: tuple[Example, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON-ready data."""
        return {
            "probe": self.probe,
            "title": self.title,
            "found": self.found,
            "share": self.share.as_dict(),
            "excluded": dict(self.excluded),
            "examples": [example.as_dict() for example in self.examples],
        }


@dataclass(frozen=True, slots=True)
class WriteCounts:
    """Gold user writes of the scorable episodes, counted one by one (the shares count episodes).

    `missed_asked` is what can be held against the proxy: the agent told it to act and it never did. The rest of
    `missed` is the agent's, which never asked. `missed_loosely` counts as tau2 does.
    """

    writes: int
    missed: int
    missed_mentioned: int
    missed_asked: int
    missed_loosely: int
    order_violations: int
    odd_toggles: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON-ready data."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class ProbeSummary:
    """What the probes say of one proxy in one domain; `domain` is None where all are taken together.

    `left_out` counts episodes that no probe reads: infrastructure errors, and those without a user.
    """

    proxy: str
    domain: str | None
    episodes: int
    left_out: dict[str, int]
    gold_writes: WriteCounts
    shares: tuple[ProbeShare, ...]
    label: str = LABEL

    def __getitem__(self, probe: str) -> ProbeShare:
        """Return the share of one probe by its name."""
        return next(share for share in self.shares if share.probe == probe)

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON-ready data."""
        return {
            "label": self.label,
            "proxy": self.proxy,
            "domain": self.domain,
            "episodes": self.episodes,
            "left_out": dict(self.left_out),
            "gold_writes": self.gold_writes.as_dict(),
            "shares": [share.as_dict() for share in self.shares],
        }


# What a probe says of a row: found or not, or the reason why it says nothing of it.
_Reads = Callable[[ProbeRow], bool | str]


def _scorable(found: Callable[[ProbeRow], bool]) -> _Reads:
    return lambda row: found(row) if row.scorable else "no gold user write"


def _disclosed(row: ProbeRow) -> bool | str:
    return row.disclosure if row.disclosed_first is None else row.disclosed_first


def _disclosed_with_name(row: ProbeRow) -> bool | str:
    return row.disclosure if row.disclosed_first_with_name is None else row.disclosed_first_with_name


def _claimed(row: ProbeRow) -> bool | str:
    return "user has no tools" if row.unexecuted_claims is None else row.unexecuted_claims > 0


def _glued(row: ProbeRow) -> bool | str:
    return row.end_glued if row.end_token is not None else "no end token"


def _stopped(row: ProbeRow) -> bool | str:
    return row.stop_on_confirmation if row.end_token == "STOP" else "not ended by STOP"


def _with_calls(found: Callable[[ProbeRow], bool]) -> _Reads:
    return lambda row: found(row) if row.user_calls else "no user call"


PROBES: dict[str, tuple[str, _Reads]] = {
    "gold_write_missed": ("gold user writes missed", _scorable(lambda row: bool(row.missed))),
    "gold_write_missed_asked": ("… though the agent asked for them", _scorable(lambda row: row.missed_asked > 0)),
    "order_violation": ("gold user writes out of order", _scorable(lambda row: bool(row.order_violation))),
    "first_turn_disclosure": ("identifiers in the first turn, unasked", _disclosed),
    "first_turn_disclosure_with_name": ("… names counted", _disclosed_with_name),
    "unexecuted_claim": ("claims without a call", _claimed),
    "stop_on_confirmation": ("stopped when asked to confirm", _stopped),
    "glued_token": ("end token beside other text", _glued),
    "text_beside_call": ("text beside a tool call", _with_calls(lambda row: row.text_beside_call > 0)),
    "several_calls": ("several calls in one turn", _with_calls(lambda row: row.several_calls > 0)),
    "role_flip": ("spoke as the agent", lambda row: row.role_flip),
    "leaked_thought": ("showed its reasoning", lambda row: row.leaked_thought),
}
"""Name → (title, what it says of a row), in the order of a report."""

_FINDINGS = {"first_turn_disclosure_with_name": ("first_turn_disclosure", "first_turn_name")}
"""Under which names a probe's findings are kept, where that is not its own name."""


def summarise(rows: Iterable[ProbeRow], *, level: float = 0.95, examples: int = 3) -> tuple[ProbeSummary, ...]:
    """Return one summary per proxy, and one per proxy and domain where it has several; proxies and domains by name.

    Rows of duplicates must be left out before (`without`). Shares are Wilson's (no trials: undefined, with the reason).
    """
    groups: dict[tuple[str, str | None], list[ProbeRow]] = {}
    for row in rows:
        groups.setdefault((row.proxy, None), []).append(row)
        groups.setdefault((row.proxy, row.domain), []).append(row)
    ordered = sorted(groups, key=lambda key: (key[0], key[1] is not None, key[1] or ""))
    return tuple(_summary(proxy, domain, groups[proxy, domain], level, examples) for proxy, domain in ordered)


def without(rows: Iterable[ProbeRow], episodes: Collection[str]) -> list[ProbeRow]:
    """Return the rows of other episodes than the given ones, such as those that repeat another file's."""
    return [row for row in rows if row.episode not in episodes]


def _summary(proxy: str, domain: str | None, rows: Sequence[ProbeRow], level: float, examples: int) -> ProbeSummary:
    left_out: dict[str, int] = {}
    read = []
    for row in rows:
        reason = _left_out(row)
        if reason is None:
            read.append(row)
        else:
            left_out[reason] = left_out.get(reason, 0) + 1
    shares = tuple(_share(name, read, level, examples) for name in PROBES)
    return ProbeSummary(proxy, domain, len(rows), left_out, _write_counts(read), shares)


def _left_out(row: ProbeRow) -> str | None:
    if row.status == "infra_error":
        return "infrastructure error"
    return "no user turn" if row.user_turns == 0 else None


def _write_counts(rows: Sequence[ProbeRow]) -> WriteCounts:
    scorable = [row for row in rows if row.scorable]
    return WriteCounts(
        writes=sum(row.gold_writes for row in scorable),
        missed=sum(len(row.missed) for row in scorable),
        missed_mentioned=sum(row.missed_mentioned for row in scorable),
        missed_asked=sum(row.missed_asked for row in scorable),
        missed_loosely=sum(row.missed_loosely for row in scorable),
        order_violations=sum(bool(row.order_violation) for row in scorable),
        odd_toggles=sum(len(row.odd_toggles) for row in scorable),
    )


def _share(probe: str, rows: Sequence[ProbeRow], level: float, examples: int) -> ProbeShare:
    title, reads = PROBES[probe]
    excluded: dict[str, int] = {}
    hits: list[ProbeRow] = []
    by_task: dict[tuple[str, str], list[bool]] = {}
    for row in rows:
        said = reads(row)
        if isinstance(said, str):
            excluded[said] = excluded.get(said, 0) + 1
            continue
        task = (row.domain, row.episode if row.task == UNKNOWN else row.task)
        by_task.setdefault(task, []).append(said)
        if said:
            hits.append(row)
    share = _estimate(probe, list(by_task.values()), level, excluded)
    return ProbeShare(probe, title, len(hits), share, excluded, _examples(probe, hits, examples))


def _estimate(probe: str, by_task: Sequence[Sequence[bool]], level: float, excluded: dict[str, int]) -> Estimate:
    """Return the share of episodes with Wilson's limits; the trials of a task are one cluster."""
    n, found = sum(map(len, by_task)), sum(map(sum, by_task))
    if n == 0:
        why = max(excluded, key=lambda reason: excluded[reason]) if excluded else "no episodes"
        return Estimate.undefined(probe, f"applies to no episode: {why}", n=0, target=TARGET, level=level)
    limits, method = _limits(by_task, found, n, level)
    return Estimate(
        name=probe,
        value=found / n,
        level=level,
        n=n,
        clusters=len(by_task),
        method=method,
        target=TARGET,
        extra={"found": found, "label": LABEL},
        **(
            {"low": limits.low, "high": limits.high}
            if isinstance(limits, Interval)
            else {"interval_reason": limits.reason}
        ),
    )


def _limits(
    by_task: Sequence[Sequence[bool]], found: int, n: int, level: float
) -> tuple[Interval | Undefined, str]:
    if n == len(by_task):
        return wilson(found, n, level), "Wilson"
    import numpy as np

    from calibrate.fidelity.means import effective_episodes

    sums, sizes = (np.array([float(count(own)) for own in by_task]) for count in (sum, len))
    effective = effective_episodes(sums, sizes, normal_quantile(level), whole=True)
    if isinstance(effective, Undefined):
        return effective, "Wilson at the effective n by task"
    return wilson(found / n * effective, effective, level), "Wilson at the effective n by task"


def _examples(probe: str, hits: Sequence[ProbeRow], count: int) -> tuple[Example, ...]:
    """Return one example from each of the first episodes that have one."""
    names = _FINDINGS.get(probe, (probe,))
    found = []
    for row in hits:
        first = next((finding for finding in row.findings if finding.probe in names), None)
        if first is not None:
            found.append(Example(row.episode, first.turn, first.quote))
    return tuple(found[:count])
