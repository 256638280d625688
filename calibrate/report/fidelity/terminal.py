"""The lines of `usercal ufs`: the answer first, then n and interval, then what is missing. At most 110 columns."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from textwrap import wrap

from calibrate.fidelity.results import Difference, FidelityAnalysis, ProxyScore
from calibrate.report.fidelity.amounts import (
    audit_words,
    basis_words,
    bounds_of,
    by_name,
    checked,
    clause,
    decided,
    left_without_ufs,
    limits,
    money,
    named,
    percent,
    phrase,
    said,
    scored,
    sentence,
    share,
    size,
    threshold,
)
from calibrate.report.fidelity.answering import not_chosen, settled_words
from calibrate.report.fidelity.choosing import ordered_pairs, turned
from calibrate.report.fidelity.families import family_rows
from calibrate.report.fidelity.frontier import used_frontier
from calibrate.report.wording import counted, listed, p_value

WIDTH = 110
ROWS_SHOWN = 6
LONGEST_NAME = 24
UNAUDITED = "no person has checked the judge; its errors multiply over the criteria of an episode"
BY_PEOPLE = "one person's errors multiply over the criteria of an episode too"
_LABEL = 17
_BASES = {"billed": "", "unknown": "", "list": "(l)", "self_hosted": "(s)", "estimated": "(e)"}
_BASIS_WORDS = {"list": "(l) list price", "self_hosted": "(s) self-hosted", "estimated": "(e) estimated"}


def terminal_lines(analysis: FidelityAnalysis, *, rubric: str | None = None, every: bool = False) -> list[str]:
    """Return the result as lines, without a list of files and without the next command.

    Args:
        rubric: name or hash of the rubric set, None where none is known.
        every: show all proxies, also those that are dominated.
    """
    if not analysis.proxies:
        return ["User fidelity: there are no proxies to compare yet."]
    lines = [*_wrapped(_head(analysis)), *_table(analysis, every), *_wrapped(_legend(analysis))]
    remarks = [
        ("Cost", _cost_words(analysis)),
        ("Assured", _assured(analysis)),
        ("Is it settled?", _settled(analysis)),
        ("Differences", _differences(analysis)),
        ("Worst habit", _habit(analysis)),
        ("Missing", _missing(analysis)),
        ("Rubric set", "" if rubric is None else f"{rubric} (same set = comparable numbers)"),
        ("Unaudited", "" if checked(analysis) else UNAUDITED),
        ("By people", BY_PEOPLE if analysis.by_people else ""),
        ("Cost unknown", _cost_unknown(analysis)),
    ]
    for label, text in remarks:
        if text:
            lines += _labelled(label, text)
    return lines


def _plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def _head(analysis: FidelityAnalysis) -> str:
    pairing = "" if analysis.paired else ", only totals known (not paired by task)"
    return (
        f"User fidelity, {audit_words(analysis)}, {counted(analysis.tasks, 'task')} in "
        f"{counted(len(analysis.domains), 'domain')}, {basis_words(analysis.decision.question.basis)}{pairing}"
    )


def _table(analysis: FidelityAnalysis, every: bool) -> list[str]:
    question = analysis.decision.question
    shown = shown_proxies(analysis, every)
    columns = ["proxy", "UFS", percent(question.level), "n", "reward", "$/conv"]
    with_epoch = question.rollouts is not None and question.prompts is not None
    columns += [f"{(question.rollouts or 0) * (question.prompts or 0):,} c."] if with_epoch else []
    columns += [f"supp.≥{threshold(question.q)}", "frontier"]
    rows = [_plain_cells(columns)] + [_row(analysis, score, with_epoch) for score in shown]
    widths = [max(columns_of(row[place]) for row in rows) for place in range(len(columns))]
    lines = [_aligned(row, widths) for row in rows]
    for place, score in enumerate(shown):
        if score.proxy == analysis.decision.chosen:
            lines[place + 1 : place + 2] = _pointed(lines[place + 1], f"← cheapest ≥ {threshold(question.q)}")
    if analysis.decision.chosen is None:
        lines += _wrapped(sentence(f"No proxy is chosen: {not_chosen(analysis)}"))
    return lines + _others(analysis, shown)


def _legend(analysis: FidelityAnalysis) -> str:
    """Return what the last two columns say, where one of them says anything."""
    told = [score.support for score in analysis.proxies]
    if all(own.meets is None and own.frontier is None for own in told):
        return ""
    what = "task sets" if analysis.paired else "results"
    question = analysis.decision.question
    epoch = "c.: conversations; " if question.rollouts is not None and question.prompts is not None else ""
    return f"{epoch}supp.: share of resampled {what}; frontier: share in which it is undominated"


def _plain_cells(cells: Sequence[str]) -> list[str]:
    return [_plain(cell) for cell in cells]


def shown_proxies(analysis: FidelityAnalysis, every: bool) -> list[ProxyScore]:
    """Return the proxies of the short table, by falling UFS: the chosen and the undominated, then the rest."""
    if every or len(analysis.proxies) <= ROWS_SHOWN:
        return list(analysis.proxies)
    frontier, chosen = used_frontier(analysis), analysis.decision.chosen
    first = [score for score in analysis.proxies if score.proxy == chosen]
    kept = [score for score in analysis.proxies if score.proxy in frontier.strict and score.proxy != chosen]
    if not frontier.strict:
        kept = [score for score in analysis.proxies if score.proxy != chosen]
    names = {score.proxy for score in (first + kept)[:ROWS_SHOWN]}
    return [score for score in analysis.proxies if score.proxy in names]


def _others(analysis: FidelityAnalysis, shown: Sequence[ProxyScore]) -> list[str]:
    hidden = {score.proxy for score in analysis.proxies} - {score.proxy for score in shown}
    if not hidden:
        return []
    frontier = used_frontier(analysis)
    parts = []
    dominated = len(hidden & set(frontier.strictly_dominated))
    parts += [f"{dominated:,} strictly dominated"] if dominated else []
    left_out = Counter(_why_out(frontier.excluded[proxy]) for proxy in sorted(hidden & set(frontier.excluded)))
    parts += [f"{count:,} {why}" for why, count in left_out.items()]
    return [f"… {len(hidden):,} more" + (f" ({', '.join(parts)})" if parts else "")]


def _why_out(reason: str) -> str:
    """Return in a few words why a proxy takes no part: a constraint, or what is not known of it."""
    found = re.match(r"(?:[\d.,]+ )?(seconds|user turns)( unknown)?", reason)
    if found is None:
        return "without a known cost or UFS"
    return f"of which {found[1]} are unknown" if found[2] else f"with more {found[1]} than allowed"


def _row(analysis: FidelityAnalysis, score: ProxyScore, with_epoch: bool) -> list[str]:
    estimate = decided(score, analysis.decision.question.basis)
    cost, support = score.cost, score.support
    dollars = "unknown" if cost.usd is None else f"{_short_money(cost.usd)} {_BASES[cost.basis]}".strip()
    marked = any(_BASES[other.cost.basis] for other in analysis.proxies if other.cost.usd is not None)
    dollars += "    " if marked and not dollars.endswith(")") and cost.usd is not None else ""
    cells = [
        named(score.proxy, LONGEST_NAME),
        "undef." if estimate.value is None else share(estimate.value),
        _plain(limits(estimate)) or "no interval",
        f"{estimate.n:,}",
        "unknown" if score.reward.value is None else share(score.reward.value),
        dollars,
    ]
    cells += [money(cost.epoch_usd)] if with_epoch else []
    return [*cells, _part(support.meets), _part(support.frontier)]


def _short_money(value: float) -> str:
    text = money(value).removeprefix("$")
    return text[1:] if text.startswith("0.") else text


def _part(value: float | None) -> str:
    return "–" if value is None else share(value, 2)


def columns_of(text: str) -> int:
    """Return how many columns of a terminal a text takes: wide signs two, combining and invisible ones none."""
    width = 0
    for sign in text:
        if unicodedata.combining(sign) or unicodedata.category(sign) in ("Cf", "Cc", "Mn", "Me"):
            continue
        width += 2 if unicodedata.east_asian_width(sign) in ("W", "F") else 1
    return width


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    parts = []
    for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        gap = " " * (width - columns_of(cell))
        parts.append(cell + gap if place == 0 else gap + cell)
    return "  ".join(parts).rstrip()


def _pointed(line: str, text: str) -> list[str]:
    """Return a row with the arrow at its end, or below it where the row is too long."""
    full = f"{line}  {text}"
    return [full] if columns_of(full) <= WIDTH else [line, f"  {text.replace('←', '↑')}"]


def _wrapped(text: str) -> list[str]:
    return [_plain(part) for part in wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)]


def _labelled(label: str, text: str) -> list[str]:
    indent = " " * _LABEL
    # No line ends at a no-break space, such as that in `n = 12`; the terminal then gets plain spaces.
    parts = wrap(text, WIDTH - _LABEL, break_on_hyphens=False)
    return [(label.ljust(_LABEL) if place == 0 else indent) + _plain(part) for place, part in enumerate(parts)]


def _cost_words(analysis: FidelityAnalysis) -> str:
    bases = {score.cost.basis for score in analysis.proxies if score.cost.usd is not None}
    words = [text for basis, text in _BASIS_WORDS.items() if basis in bases]
    unknown = sum(score.cost.usd is None for score in analysis.proxies)
    if unknown:
        words.append(f"unknown for {unknown:,} of {len(analysis.proxies):,}, which cannot be chosen")
    return ("others billed; " if words and "billed" in bases else "") + "; ".join(words)


def _settled(analysis: FidelityAnalysis) -> str:
    """Return the sentence of the report without what stands in its round brackets."""
    text = settled_words(analysis, brief=True)
    found = re.match(r"Not settled: ", text)
    return f"No. {sentence(text[found.end() :])}" if found else text.replace("Not settled.", "No.")


def _assured(analysis: FidelityAnalysis) -> str:
    decision = analysis.decision
    if decision.assured is None:
        return f"none ({clause(decision.assured_reason)})"
    score = by_name(analysis).get(decision.assured)
    counts = "" if score is None else f", {size(decided(score, decision.question.basis).n)}"
    return f"{named(decision.assured)}{counts} ({clause(decision.assured_reason)})"


def _differences(analysis: FidelityAnalysis) -> str:
    pair = _telling(analysis)
    if pair is None:
        return ""
    estimate, first, second = pair.estimate, pair.first, pair.second
    if second == analysis.decision.chosen:
        estimate, first, second = turned(estimate), second, first
    sizes = f"paired on {counted(pair.tasks, 'task')}" if analysis.paired else "not paired"
    sizes += f", {size(estimate.n)}" if estimate.n != pair.tasks or not analysis.paired else ""
    value = "" if estimate.value is None else ("+" if estimate.value >= 0 else "") + share(estimate.value)
    head = f"{value} {limits(estimate)}".strip() or said(estimate)
    holm = "" if pair.p_holm is None else f", Holm {p_value(pair.p_holm)}"
    names = f"{named(first, LONGEST_NAME)} − {named(second, LONGEST_NAME)}"
    more = f" ({counted(len(analysis.differences) - 1, 'more pair')})" if len(analysis.differences) > 1 else ""
    return f"{names}  {head} {sizes}{holm}{more}"


def _telling(analysis: FidelityAnalysis) -> Difference | None:
    """Return the difference to show: of the chosen proxy with the cheapest other, else the first."""
    chosen = analysis.decision.chosen
    pairs = ordered_pairs(analysis)
    own = [pair for pair in pairs if chosen in (pair.first, pair.second)]
    scores = by_name(analysis)

    def cost(pair: Difference) -> float:
        other = scores.get(pair.second if pair.first == chosen else pair.first)
        return other.cost.usd if other is not None and other.cost.usd is not None else float("inf")

    return min(own, key=cost) if own else next(iter(pairs), None)


def _habit(analysis: FidelityAnalysis) -> str:
    rows = [row for row in family_rows(analysis) if row.episodes]
    if not rows:
        return ""
    worst, text = rows[0], ""
    mean = worst.mean
    if mean is not None and mean.value is not None:
        text = f", Δreward {said(mean)} in {counted(len(worst.cells), 'cell')}"
        if mean.low is not None and mean.high is not None and mean.low <= 0 <= mean.high:
            text += "; the interval holds 0"
    return f"{phrase(worst.family)} ({worst.episodes:,} of {scored(analysis):,} scored episodes{text})"


def _missing(analysis: FidelityAnalysis) -> str:
    if not analysis.paired:
        return _missing_of_totals(analysis)
    counts = [score.counts for score in analysis.proxies]
    verdicts = sum(own.missing_verdicts for own in counts)
    parts = [counted(verdicts, "verdict")] if verdicts else []
    named_counts = {
        "undefined (no criterion applied)": sum(own.undefined for own in counts),
        "unscored": sum(own.unscored for own in counts),
        "infrastructure errors": sum(own.infra_errors for own in counts),
        "not scorable": sum(own.not_scorable for own in counts),
        "duplicates counted once": sum(own.duplicates for own in counts),
    }
    parts += [f"{count:,} {word}" for word, count in named_counts.items() if count]
    chosen = by_name(analysis).get(analysis.decision.chosen or "")
    bounds = None if chosen is None else bounds_of(chosen, analysis.decision.question.basis)
    if chosen is not None and bounds is not None:
        low, high = bounds
        n = chosen.counts.scored + chosen.counts.unscored
        parts.append(f"bounds of {named(chosen.proxy, LONGEST_NAME)} {share(low)}–{share(high)}, {size(n)}")
    return ", ".join(parts) or f"nothing, of {counted(sum(own.total for own in counts), 'episode')}"


def _missing_of_totals(analysis: FidelityAnalysis) -> str:
    """Return what a table of results shows to be missing; the rest it does not tell."""
    lost = {score.proxy: left_without_ufs(score) for score in analysis.proxies if left_without_ufs(score)}
    rest = "a table of results does not tell which were undefined, unscored, broken off or repeated"
    if not lost:
        return rest
    shown = [f"{named(proxy, LONGEST_NAME)} {n:,}" for proxy, n in list(lost.items())[:3]]
    more = f", {len(lost) - 3} more proxies" if len(lost) > 3 else ""
    return f"{counted(sum(lost.values()), 'episode')} with a reward and no UFS ({', '.join(shown)}{more}); {rest}"


def _cost_unknown(analysis: FidelityAnalysis) -> str:
    """Return how a proxy of unknown cost gets one, where there is such a proxy."""
    unknown = [score.proxy for score in analysis.proxies if score.cost.usd is None]
    if not unknown:
        return ""
    names = listed([named(name, LONGEST_NAME) for name in unknown], 3)
    return f"{names}: give runs with billed costs, a cost_usd column, or [prices] in study.toml"
