"""What a set of episodes can compare: which agents, which tasks every proxy has, how often each was repeated."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

UNKNOWN = "unknown"
_AGENTS_NAMED = 3


class DesignRow(NamedTuple):
    """One episode as a design sees it; `status` is ok, infra_error or not_scorable, `blueprint` tells items apart."""

    proxy: str
    agent: str
    domain: str
    task: str
    trial: str
    status: str = "ok"
    duplicate: bool = False
    blueprint: str = ""


@dataclass(frozen=True)
class Pair:
    """On how many tasks two proxies can be compared, of all that either of them has."""

    one: str
    other: str
    shared: int
    either: int


@dataclass(frozen=True)
class DomainDesign:
    """One domain: how many tasks each proxy has, which tasks all have, and which are missing for whom."""

    domain: str
    tasks: int
    proxies: dict[str, int]
    trials: dict[str, int]
    """Trials of most tasks, by proxy."""
    agents: dict[str, int]
    unequal_trials: list[str]
    """Tasks that not every proxy that has them repeated equally often."""
    complete: list[str]
    """Tasks that all proxies have."""
    incomplete: dict[str, list[str]]
    """Task → the proxies that lack it."""
    pairs: list[Pair]
    scored: int
    """Episodes on the complete tasks."""
    agents_differ: bool
    """Whether proxies met different agents here."""
    unknown_tasks: int = 0
    """Episodes whose task is not known: they can be paired with nothing."""
    reworded: list[str] = field(default_factory=list)
    """Tasks whose blueprint is not the same in all episodes that know it."""


@dataclass(frozen=True)
class Design:
    """All domains, and what keeps a comparison of proxies from being fair; empty `faults` where nothing does."""

    domains: list[DomainDesign] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def fair(self) -> bool:
        """Whether proxies can be compared, and every comparison is one of like with like."""
        compared = [domain for domain in self.domains if len(domain.proxies) > 1]
        return bool(compared) and not self.faults and all(domain.complete for domain in compared)


def check_design(rows: Iterable[DesignRow]) -> Design:
    """Return what can be compared; episodes that repeat others, failed or cannot be scored are left out."""
    by_domain: dict[str, list[DesignRow]] = defaultdict(list)
    for row in rows:
        if row.status == "ok" and not row.duplicate:
            by_domain[row.domain].append(row)
    domains = [_domain(name, found) for name, found in sorted(by_domain.items())]
    return Design(domains, [fault for one in domains for fault in _faults(one)])


def _domain(domain: str, rows: Sequence[DesignRow]) -> DomainDesign:
    known = [row for row in rows if row.task != UNKNOWN]
    trials: dict[str, Counter[str]] = defaultdict(Counter)
    agents: dict[str, set[str]] = defaultdict(set)
    for row in known:
        trials[row.task][row.proxy] += 1
    blueprints: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        agents[row.proxy].add(row.agent)
        if row.blueprint:
            blueprints[row.task].add(row.blueprint)
    proxies = sorted({row.proxy for row in rows})
    tasks = sorted(trials, key=_natural)
    having = {proxy: {task for task in tasks if trials[task][proxy]} for proxy in proxies}
    complete = [task for task in tasks if all(task in having[proxy] for proxy in proxies)]
    kept = set(complete)
    return DomainDesign(
        domain=domain,
        tasks=len(tasks),
        proxies={proxy: len(having[proxy]) for proxy in proxies},
        trials={proxy: _usual(trials[task][proxy] for task in having[proxy]) for proxy in proxies},
        agents=dict(Counter(row.agent for row in rows).most_common()),
        unequal_trials=[task for task in tasks if len({count for count in trials[task].values() if count}) > 1],
        complete=complete,
        incomplete={task: missing for task in tasks if (missing := [p for p in proxies if task not in having[p]])},
        pairs=[
            Pair(one, other, len(having[one] & having[other]), len(having[one] | having[other]))
            for one, other in combinations(proxies, 2)
        ],
        scored=sum(row.task in kept for row in known),
        agents_differ=len({frozenset(found) for found in agents.values()}) > 1,
        unknown_tasks=len(rows) - len(known),
        reworded=[task for task in tasks if len(blueprints[task]) > 1],
    )


def _usual(counts: Iterable[int]) -> int:
    found = Counter(counts).most_common()
    return found[0][0] if found else 0


def _natural(task: str) -> tuple[bool, int, str]:
    return (not task.isdecimal(), int(task) if task.isdecimal() and len(task) < 19 else 0, task)


def _faults(domain: DomainDesign) -> list[str]:
    found = []
    if len(domain.proxies) > 1:
        if domain.agents_differ:
            which = f" ({', '.join(domain.agents)})" if len(domain.agents) <= _AGENTS_NAMED else ""
            found.append(
                f"{domain.domain}: the proxies met different agents{which}, so what differs may be the agents' doing"
            )
        if domain.reworded:
            found.append(reworded_sentence(domain.domain, domain.reworded))
        if domain.unequal_trials:
            found.append(
                f"{domain.domain}: {many(len(domain.unequal_trials), 'task')} "
                f"{'was' if len(domain.unequal_trials) == 1 else 'were'} not repeated equally often by all proxies "
                f"({listed(domain.unequal_trials)})"
            )
    return found


def reworded_sentence(domain: str, tasks: Sequence[str]) -> str:
    """Return what is to be said of tasks of one name and several blueprints."""
    one = len(tasks) == 1
    return (
        f"{domain}: {many(len(tasks), 'task')} ({listed(tasks)}) {'has' if one else 'have'} another blueprint in "
        "another run, so what differs may be the benchmark's version"
    )


def sentences(design: Design) -> list[str]:
    """Return what a reader wants to know before comparing proxies: a sentence for each domain, then the faults."""
    domains: dict[str, list[str]] = defaultdict(list)
    for fault in design.faults:
        domain, text = fault.split(": ", 1)
        domains[text].append(domain)
    return [_sentence(domain) for domain in design.domains] + [f"{', '.join(d)}: {text}" for text, d in domains.items()]


def _sentence(domain: DomainDesign) -> str:
    proxies = len(domain.proxies)
    if proxies == 1:
        said = f"{domain.domain}: one proxy, so nothing is compared; {many(domain.tasks, 'task')}"
        repeats = next(iter(domain.trials.values()))
        said += f" × {many(repeats, 'trial')}" if repeats > 1 else ""
    else:
        n = len(domain.complete)
        all_ = "both" if proxies == 2 else f"all {proxies}"
        said = f"{domain.domain}: {many(n, 'task') if n else 'no task'} {'has' if n < 2 else 'have'} {all_} proxies"
        if domain.incomplete:
            lack = len(domain.incomplete)
            said += f"; {lack:,} {'does' if lack == 1 else 'do'} not ({listed(list(domain.incomplete))})"
        if n:
            said += f": compared on {n:,}, {domain.scored:,} episodes"
        if proxies > 2 and domain.incomplete:
            best = max(domain.pairs, key=lambda pair: pair.shared)
            said += f"; most for two: {best.one} and {best.other}, {many(best.shared, 'task')}"
    if domain.unknown_tasks:
        said += f"; {many(domain.unknown_tasks, 'episode')} of unknown task"
    return said


def many(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(names: Sequence[str], most: int = 4, width: int = 48) -> str:
    """Return some names, each cut to a width, and how many more there are."""
    if sum(map(len, names[:most])) > 2 * width:
        most = min(most, 2)
    shown = [name if len(name) <= width else name[: width - 1] + "…" for name in names[:most]]
    return ", ".join(shown) + (f" and {len(names) - most:,} more" if len(names) > most else "")
