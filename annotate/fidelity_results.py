"""A table of results, one row per proxy and domain, whose printed rates are turned back into counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotate.episodes import RESULT_COLUMNS, CostBasis, EpisodeFrames
from annotate.errors import InputError
from annotate.fidelity_columns import cell_text, known_columns
from annotate.fidelity_numbers import Rate, amount, counts_behind, printed_rate, whole_number, without_marks
from annotate.importers.contract import Notes
from annotate.importers.sheets import Sheet

NAMES: dict[str, tuple[str, ...]] = {
    "proxy": ("user_proxy", "user_model", "user_simulator", "simulator"),
    "domain": (),
    "ufs": ("mean_ufs", "user_fidelity_score"),
    "faithful": ("ufs_passes", "n_faithful"),
    "n": ("n_ufs", "n_scored"),
    "reward": ("agent_reward", "mean_reward"),
    "rewarded": ("reward_successes", "n_rewarded"),
    "n_reward": (),
    "n_tasks": ("tasks",),
    "cost_usd": ("cost_per_sim_usd", "cost_per_conversation_usd", "cost_per_sim", "cost_sim"),
    "cost_basis": (),
    "hosting": (),
    "prompt_tokens": ("prompt_tok",),
    "completion_tokens": ("completion_tok",),
    "mark": ("marks",),
}
"""Column → other names that it may have."""
ALL = "all"
"""The domain of a table that names none."""
_BASES: dict[str, CostBasis] = {
    "billed": "billed", "list": "list", "self_hosted": "self_hosted", "estimated": "estimated", "unknown": "unknown",
    "hosted": "billed", "open": "list",
}  # fmt: skip
_DAGGER, _ASTERISK = ("dagger", "†"), ("asterisk", "*", "∗")
_PER_CONVERSATION = ("cost_usd", "cost_basis", "prompt_tokens", "completion_tokens")


@dataclass
class _Line:
    """One row of a file: known name → text of its cell, never blank."""

    place: str
    cells: dict[str, str]
    marks: set[str] = field(default_factory=set)

    def read(self, name: str, convert: Callable[[str], Any]) -> Any:
        """Return the cell as a value, None where it is blank; a `ValueError` gets its place."""
        if name not in self.cells:
            return None
        try:
            return convert(self.cells[name])
        except ValueError as error:
            raise InputError(f"{self.place}: {name}: {str(error).rstrip('.')}.") from None

    def number(self, name: str, convert: Callable[[str], float] = whole_number) -> float | None:
        """Return the cell as a number, None where it is blank."""
        found = self.read(name, convert)
        return None if found is None else float(found)


def read_results(*paths: Path) -> EpisodeFrames:
    """Read one table of results, or several that add to each other, into `EpisodeFrames.results`.

    One row is a proxy in a domain (`"all"` where there is no such column); a file of one row per proxy may give costs
    and tokens for tables with domains, and its rates are then checked as unweighted means over them. Rates are read by
    their printed digits: the count that gives them is taken (the nearest, with a note, where several do), and where
    none does, the row is refused. `n_reward` is `n_tasks` where it is not given, or `n` where only that fits or the row
    bears an asterisk. Costs are US dollars per conversation. Raises `InputError` with line, rule, value and remedy.
    """
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    whole: dict[str, _Line] = {}
    notes: list[str] = []
    tables = [_lines(path, notes) for path in paths]
    by_domain = any("domain" in line.cells for table in tables for line in table)
    for table in tables:
        for line in table:
            if by_domain and "domain" not in line.cells:
                _keep(whole, line)
            else:
                _add(lines, line, notes)
    if not lines:
        raise InputError(f"{paths[0] if paths else 'results'}: has no rows. Check the export that wrote it.")
    _add_means(lines, whole, notes)
    return EpisodeFrames(results=_frame(lines), source=", ".join(str(path) for path in paths), notes=tuple(notes))


def _lines(path: Path, notes: list[str]) -> list[_Line]:
    said = Notes()
    sheet = Sheet.open(path, None, said)
    notes += [text for _, text in said]
    found = known_columns(path, sheet.header, NAMES)
    if "proxy" not in found:
        raise InputError(f"{path}: has no column 'proxy'. Add it; the file has {', '.join(sheet.header)}.")
    unused = [column for column in sheet.header if column not in found.values()]
    if unused:
        notes.append(f"{path.name}: columns not used: {', '.join(unused)}")
    return list(_filled(sheet, found))


def _filled(sheet: Sheet, found: dict[str, str]) -> Iterator[_Line]:
    for place, row in sheet.rows():
        cells: dict[str, str] = {}
        marks: set[str] = set()
        for name, column in found.items():
            try:
                text = cell_text(row.get(column)).strip()
            except ValueError as error:
                raise InputError(f"{place}: {name}: {error}.") from None
            if name == "proxy":
                text = text.rstrip(" †∗")
            elif name in ("ufs", "reward"):
                text, mark = without_marks(text)
                marks |= set(mark)
            if text and text not in ("-", "–", "—"):
                cells[name] = text
        if "proxy" not in cells:
            raise InputError(f"{place}: column {found['proxy']!r} is empty, and every row needs a proxy. Fill it in.")
        if "domain" in found and "domain" not in cells:
            raise InputError(f"{place}: column {found['domain']!r} is empty. Write the domain, or {ALL!r}.")
        yield _Line(place, cells, marks | set(cells.get("mark", "").casefold().split()))


def _keep(whole: dict[str, _Line], line: _Line) -> None:
    proxy = line.cells["proxy"]
    if proxy in whole:
        raise InputError(f"{line.place}: proxy {proxy!r} stands twice. Remove one row, or add the column 'domain'.")
    whole[proxy] = line


def _add(lines: dict[tuple[str, str], dict[str, Any]], line: _Line, notes: list[str]) -> None:
    """Add a row to what is known of its proxy and domain; what two tables say must be the same."""
    key = (line.cells["proxy"], line.cells.get("domain", ALL))
    row = {**_counts(line, notes), **_costs(line)}
    known = lines.setdefault(key, {"place": line.place})
    for name, value in row.items():
        if value is not None and known.get(name) not in (None, value):
            raise InputError(
                f"{line.place}: {name} of {key[0]!r} in {key[1]!r} is {value}, and {known[name]} at {known['place']}. "
                "Correct one of the two."
            )
        known[name] = known.get(name) if value is None else value


def _counts(line: _Line, notes: list[str]) -> dict[str, float | None]:
    n, tasks = line.number("n"), line.number("n_tasks")
    if n is None and tasks is not None and "ufs" in line.cells:
        n = tasks
    faithful, n = _count(line, "ufs", "faithful", [n], notes)
    given = line.number("n_reward")
    fallback = [n] if line.marks & set(_ASTERISK) and not line.marks & set(_DAGGER) else [tasks, n]
    rewarded, n_reward = _count(line, "reward", "rewarded", [given] if given is not None else fallback, notes)
    return {"faithful": faithful, "n": n, "rewarded": rewarded, "n_reward": n_reward}


def _count(
    line: _Line, rate: str, count: str, sizes: Sequence[float | None], notes: list[str]
) -> tuple[float | None, float | None]:
    """Return (count, n) of a rate, a count, or both; `sizes` are the n to try, in order."""
    tried = list(dict.fromkeys(int(n) for n in sizes if n is not None))
    given = line.number(count)
    if given is None and rate not in line.cells:
        return None, float(tried[0]) if tried else None
    if not tried:
        raise InputError(
            f"{line.place}: {rate if rate in line.cells else count} of {line.cells['proxy']!r} needs the number of "
            f"episodes behind it. Add the column {'n' if rate == 'ufs' else 'n_reward'!r}."
        )
    if given is not None and given > tried[0]:
        raise InputError(f"{line.place}: {count} is {given:.0f} of {tried[0]}. Correct one of the two.")
    found = line.read(rate, printed_rate)
    if found is None:
        return given, float(tried[0])
    if given is not None:
        if not found.rounds_from(int(given), tried[0]):
            raise InputError(
                f"{line.place}: {count} {given:.0f} of {tried[0]} is {given / max(tried[0], 1):.4f}, and {rate} says "
                f"{found.text}. Correct one of the two."
            )
        return given, float(tried[0])
    return _count_behind(line, rate, found, tried, notes)


def _count_behind(line: _Line, rate: str, found: Rate, tried: Sequence[int], notes: list[str]) -> tuple[float, float]:
    """Return (count, n) of the first n of which the printed rate is a share; `InputError` where it is of none."""
    for n in tried:
        match = counts_behind(found, n)
        if match is None:
            continue
        says = f"{line.place}: {rate} {found.text}"
        if match.fits > 1:
            notes.append(f"{says} of {n} fits {match.fits} counts; the nearest, {match.count}, is taken")
        if n != tried[0]:
            notes.append(f"{says} is no share of {tried[0]}, but of {n}: {match.count} is taken")
        return float(match.count), float(n)
    if not any(tried):
        raise InputError(
            f"{line.place}: {rate} {found.text} of {line.cells['proxy']!r} is a share of no episode (n = 0). "
            "Leave the rate out, or give its number of episodes."
        )
    raise InputError(
        f"{line.place}: {rate} {found.text} of {line.cells['proxy']!r} is no whole number out of "
        f"{' or '.join(str(n) for n in tried)}. Check the rate and its number of episodes"
        f"{', or give n_reward' if rate == 'reward' else ''}."
    )


def _costs(line: _Line) -> dict[str, Any]:
    def basis(text: str) -> CostBasis:
        word = text.casefold().replace("-", "_").replace(" ", "_")
        if word not in _BASES:
            raise ValueError(f"{text!r} says not where the cost comes from; write one of {', '.join(_BASES)}")
        return _BASES[word]

    cost = line.number("cost_usd", amount)
    said = line.read("cost_basis", basis) or line.read("hosting", basis)
    return {
        "cost_usd": cost,
        "cost_basis": None if cost is None else said or "billed",
        "prompt_tokens": line.number("prompt_tokens"),
        "completion_tokens": line.number("completion_tokens"),
    }


def _add_means(lines: dict[tuple[str, str], dict[str, Any]], whole: dict[str, _Line], notes: list[str]) -> None:
    """Give each proxy's domains its costs and tokens, and hold its printed means against those of the counts."""
    for proxy, line in whole.items():
        rows = [row for (name, _), row in lines.items() if name == proxy]
        if not rows:
            raise InputError(
                f"{line.place}: proxy {proxy!r} has no row with a domain. Correct its name, or remove the row."
            )
        costs = _costs(line)
        for row in rows:
            row.update({name: costs[name] for name in _PER_CONVERSATION if row.get(name) is None})
        for rate, count, n in (("ufs", "faithful", "n"), ("reward", "rewarded", "n_reward")):
            printed = line.read(rate, printed_rate)
            shares = [row[count] / row[n] for row in rows if row.get(count) is not None and row.get(n)]
            if printed is None or len(shares) < len(rows):
                continue
            mean = sum(shares) / len(shares)
            if abs(mean - float(printed.value)) > float(printed.half) + 1e-12:
                notes.append(
                    f"{line.place}: {rate} {printed.text} of {proxy!r} is not the mean over its domains, {mean:.4f}; "
                    "the counts are taken"
                )


def _frame(lines: dict[tuple[str, str], dict[str, Any]]) -> Any:
    import pandas as pd

    rows = []
    for (proxy, domain), row in lines.items():
        if row.get("faithful") is None:
            raise InputError(
                f"{row['place']}: {proxy!r} in {domain!r} has neither 'ufs' nor 'faithful'. Add one of the two, "
                "with 'n'."
            )
        rows.append({"proxy": proxy, "domain": domain, **row, "cost_basis": row.get("cost_basis") or "unknown"})
    frame = pd.DataFrame(rows, columns=RESULT_COLUMNS)
    numbers = [name for name in RESULT_COLUMNS if name not in ("proxy", "domain", "cost_basis")]
    frame[numbers] = frame[numbers].astype(float)
    return frame
