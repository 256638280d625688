"""What an import of tau files found: one screen for people, everything for programs."""

from __future__ import annotations

import json
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from annotate.importers.tau.blueprints import names
from annotate.importers.tau.design import UNKNOWN, Design, DesignRow, check_design, listed, many, sentences

_WIDTH = 12
_SCREEN = 110
_FILES_SHOWN = 3


@dataclass
class FileSummary:
    """What one file held, counted as it was read."""

    file: str
    path: str
    format: str = "unknown"
    episodes: int = 0
    new: int = 0
    already_there: int = 0
    repeats: int = 0
    """Episodes that repeat those of another file, and are linked to them."""
    domains: Counter[str] = field(default_factory=Counter)
    proxies: Counter[str] = field(default_factory=Counter)
    agents: Counter[str] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    reward_sum: float = 0.0
    n_reward: int = 0
    costs: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(proxy, known | zero | absent | none) → episodes; none where nobody played the user."""
    upfront: set[tuple[str, str]] = field(default_factory=set)
    """(domain, task) of blueprints that order the user to give all details at once."""
    guidelines: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    """The arguments of the user's model, without secrets."""
    secrets_removed: int = 0
    repaired: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)

    @property
    def reward(self) -> float | None:
        """The mean reward of the episodes that have one; None where none has."""
        return self.reward_sum / self.n_reward if self.n_reward else None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        costs: dict[str, dict[str, int]] = defaultdict(dict)
        for (proxy, basis), count in self.costs.items():
            costs[proxy][basis] = count
        told = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "reward_sum"}
        return {
            **{name: dict(value) if isinstance(value, Counter) else value for name, value in told.items()},
            "costs": dict(costs),
            "reward": self.reward,
            "upfront": [{"domain": domain, "task": task} for domain, task in sorted(self.upfront)],
        }


def summed(
    read: Iterable[tuple[FileSummary, list[tuple[str, DesignRow]]]],
    passed_over: Sequence[tuple[str, str]],
    duplicates: Mapping[str, str],
) -> TauSummary:
    """Return the summary of files with the rows of their episodes; an episode that repeats another is linked to it."""
    files: list[FileSummary] = []
    rows: dict[str, DesignRow] = {}
    for file, found in read:
        file.repeats = sum(identity in duplicates for identity, _ in found)
        files.append(file)
        rows |= {identity: row._replace(duplicate=identity in duplicates) for identity, row in found}
    return TauSummary(files, list(rows.values()), list(passed_over))


@dataclass
class TauSummary:
    """What all files of an import held together, and what can be compared with them."""

    files: list[FileSummary]
    rows: list[DesignRow]
    passed_over: list[tuple[str, str]]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        design = check_design(self.rows)
        return {
            "format": "tau",
            "files": [file.to_dict() for file in self.files],
            "episodes": sum(file.episodes for file in self.files),
            "passed_over": [{"file": name, "why": why} for name, why in self.passed_over],
            "warnings": self._warnings(),
            "design": {**asdict(design), "fair": design.fair, "sentences": sentences(design)},
        }

    def lines(self) -> list[str]:
        """Return the lines for people."""
        design = check_design(self.rows)
        return [
            *self._head(),
            *self._proxies(design),
            *self._kept(),
            *self._costs(),
            *_rows("check", sentences(design)),
            *_rows("warning", self._warnings()),
            *_rows("file", self._per_file()),
            *self._stored(),
        ]

    def _sum(self, name: str) -> Counter[str]:
        total: Counter[str] = Counter()
        for file in self.files:
            total.update(getattr(file, name))
        return total

    def _head(self) -> list[str]:
        formats = Counter(file.format for file in self.files if file.episodes)
        domains = self._sum("domains")
        episodes = sum(file.episodes for file in self.files)
        said = f"{', '.join(formats) or 'tau2'} results: {many(len(self.files), 'file')}, "
        said += many(episodes, "conversation")
        said += f", {_shape(self.rows)}, {_domains(domains)}" if episodes else ""
        return [_row("format", said)]

    def _proxies(self, design: Design) -> list[str]:
        proxies, agents = self._sum("proxies"), self._sum("agents")
        if not proxies:
            return []
        lines = [_row("proxies", _counts(proxies, ("unknown", "→ name it: --user-model NAME")))]
        compared = [domain for domain in design.domains if len(domain.proxies) > 1]
        if set(agents) == {UNKNOWN}:
            verdict = "the files do not say: whether it was one cannot be told"
        elif len(agents) == 1:
            verdict = "one: comparison is fair" if len(proxies) > 1 else "one"
        elif not compared:
            verdict = "several; no domain has two proxies to compare"
        elif any(domain.agents_differ for domain in compared):
            verdict = "several, and not the same for every proxy: not fair"
        else:
            verdict = "several, the same for every proxy that is compared"
        return [*lines, _row("agent" if len(agents) == 1 else "agents", f"{_counts(agents)} ({verdict})")]

    def _kept(self) -> list[str]:
        reasons = Counter(reason for file in self.files for reason in file.reasons.elements())
        errors = [f"{count:,} {reason.removeprefix('infra_error: ')}" for reason, count in reasons.most_common()
                  if reason.startswith("infra_error: ")]  # fmt: skip
        others = [f"{count:,} {reason.removeprefix('not_scorable: ')}" for reason, count in reasons.most_common()
                  if reason.startswith("not_scorable: ")]  # fmt: skip
        lines = [_row("errors", f"{', '.join(errors)}: kept, not scored")] if errors else []
        lines += [_row("unscorable", f"{', '.join(others)}: kept, not scored")] if others else []
        return lines + _rows("repaired", [f"{n:,} {text}" for text, n in self._sum("repaired").most_common()])

    def _costs(self) -> list[str]:
        by_proxy: dict[str, Counter[str]] = defaultdict(Counter)
        for file in self.files:
            for (proxy, basis), count in file.costs.items():
                by_proxy[proxy][basis] += count
        known = [proxy if len(found) == 1 else f"{proxy} ({found['known']:,} of {found.total():,})"
                 for proxy, found in sorted(by_proxy.items()) if found["known"]]  # fmt: skip
        unknown = [f"{proxy} ({_why(found)})" for proxy, found in sorted(by_proxy.items()) if not found["known"]]
        said = f"billed: {', '.join(known)}" if known else ""
        if unknown:
            said += f"{'; ' if said else ''}unknown: {', '.join(unknown)} → give [prices] in study.toml"
        return [_row("costs", said)] if said else []

    def _warnings(self) -> list[str]:
        found = []
        upfront: dict[str, set[str]] = defaultdict(set)
        for file in self.files:
            for domain, task in file.upfront:
                upfront[domain].add(task)
        for domain, tasks in sorted(upfront.items()):
            one = len(tasks) == 1
            found.append(
                f'{domain} task{"" if one else "s"} {names(tasks)} order{"s" if one else ""} "all details upfront": '
                "first-turn disclosure does not apply there"
            )
        return (
            found
            + self._unclear()
            + self._guidelines()
            + self._settings()
            + [f"{n:,} {text}" if n > 1 else text for text, n in self._sum("warnings").most_common()]
        )

    def _unclear(self) -> list[str]:
        """Name tasks of which a proxy has several episodes of one trial: they cannot be told apart."""
        told = [row for row in self.rows if row.task != UNKNOWN and not row.duplicate and row.status == "ok"]
        cells = Counter(row._replace(blueprint="") for row in told)
        tasks = sorted({row.task for row, count in cells.items() if count > 1})
        if not tasks:
            return []
        return [
            f"{many(len(tasks), 'task')} of which one proxy has several episodes with the same trial number "
            f"({listed(tasks)}) → number the trials in the file, or tell the proxies apart with --proxy NAME"
        ]

    def _guidelines(self) -> list[str]:
        """Name the files whose guidelines are not those that the proxy saw, with the remedy."""
        wrong = [f for f in self.files if f.episodes and f.guidelines.get("corrected") and f.guidelines["text"] is None]
        if not wrong:
            return []
        return [
            f"{listed([file.file for file in wrong], 2)}: the user had tools, and the guidelines in the file are "
            "those of users without → import again with --guidelines FILE"
        ]

    def _settings(self) -> list[str]:
        """Name the proxies whose settings differ between files: one name for what are two."""
        seen: dict[str, set[str]] = defaultdict(set)
        for file in self.files:
            for proxy in file.proxies:
                seen[proxy].add(json.dumps(file.settings, sort_keys=True, default=str))
        differ = [proxy for proxy, found in sorted(seen.items()) if len(found) > 1 and proxy != UNKNOWN]
        return (
            [f"{listed(differ)}: settings of the model differ between files → tell them apart with --proxy NAME"]
            if differ
            else []
        )

    def _per_file(self) -> list[str]:
        if len(self.files) < 2:
            return [_of_file(file) for file in self.files]
        shown = sorted(self.files, key=lambda file: -file.episodes)[:_FILES_SHOWN]
        lines = [f"{file.file}: {_of_file(file)}" for file in shown]
        if rest := len(self.files) - len(shown):
            lines.append(f"and {many(rest, 'file')} more, {sum(f.episodes for f in self.files) - _total(shown):,} "
                         "conversations (--json lists all)")  # fmt: skip
        return lines

    def _stored(self) -> list[str]:
        new, there = (sum(getattr(file, name) for file in self.files) for name in ("new", "already_there"))
        said = f"{new:,} new, {there:,} already there"
        if repeats := sum(file.repeats for file in self.files):
            said += f"; {repeats:,} of them repeat{'s' if repeats == 1 else ''} another file's: linked, counted once"
        if secrets := sum(file.secrets_removed for file in self.files):
            said += f"      secrets: {many(secrets, 'value')} removed"
        lines = [_row("stored", said)]
        if self.passed_over:
            lines.append(_row("passed over", listed([f"{name} ({why})" for name, why in self.passed_over])))
        return lines


def _domains(domains: Counter[str]) -> str:
    return f"domain {next(iter(domains))}" if len(domains) == 1 else f"domains {_counts(domains, separator=', ')}"


def _shape(rows: Sequence[DesignRow]) -> str:
    """Return tasks × proxies × trials where every proxy has every task equally often, else how many of each."""
    cells = Counter((row.proxy, row.domain, row.task) for row in rows if row.task != UNKNOWN and not row.duplicate)
    tasks, proxies = {cell[1:] for cell in cells}, {row.proxy for row in rows}
    n_proxies = f"{len(proxies):,} prox{'y' if len(proxies) == 1 else 'ies'}"
    repeats = set(cells.values())
    if len(repeats) == 1 and len(cells) == len(tasks) * len(proxies):
        return f"{many(len(tasks), 'task')} × {n_proxies} × {many(next(iter(repeats)), 'trial')}"
    most = max(repeats, default=0)
    return f"{many(len(tasks), 'task')}, {n_proxies}" + (f", up to {many(most, 'trial')}" if most > 1 else "")


def _of_file(file: FileSummary) -> str:
    if not file.episodes:
        return "no episodes (a run that had just begun)"
    cost = sum(count for (_, basis), count in file.costs.items() if basis == "known")
    reward = "no reward" if file.reward is None else f"reward {file.reward:.2f}, n = {file.n_reward:,}"
    return "; ".join((
        f"{file.episodes:,} {'/'.join(file.domains)}",
        f"{'/'.join(file.proxies)} with {'/'.join(file.agents)}",
        _counts(file.endings, separator=", "),
        reward,
        "cost known" if cost == file.episodes else "cost unknown" if not cost else f"cost known of {cost:,}",
    ))  # fmt: skip


def _total(files: Iterable[FileSummary]) -> int:
    return sum(file.episodes for file in files)


def _why(found: Counter[str]) -> str:
    return "price 0 in the file" if found["zero"] else "no user took part" if found["none"] else "not in the file"


def _counts(
    counter: Counter[str], remark: tuple[str, str] = ("", ""), separator: str = "   ", most: int = 6
) -> str:
    shown = [
        f"{name} {count:,}{f' {remark[1]}' if name == remark[0] else ''}" for name, count in counter.most_common(most)
    ]
    return separator.join(shown) + (f" and {len(counter) - most} more" if len(counter) > most else "")


def _row(name: str, text: str) -> str:
    """Return a labelled line, in as many lines of the screen as it needs."""
    indent = " " * _WIDTH
    lines = textwrap.wrap(text, _SCREEN - _WIDTH, break_long_words=False, break_on_hyphens=False) or [""]
    return f"{name:<{_WIDTH}}" + f"\n{indent}".join(lines)


def _rows(name: str, texts: Sequence[str]) -> list[str]:
    return [_row(name if place == 0 else "", text) for place, text in enumerate(texts)]
