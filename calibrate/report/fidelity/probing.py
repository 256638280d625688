"""Judge-free probes as the report takes them: a line for each probe and proxy, never part of the UFS."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from calibrate.estimate import Estimate
from calibrate.report.document import Band, Block, Details, Note, Paragraph, Table
from calibrate.report.fidelity.amounts import named, said
from calibrate.report.wording import listed

if TYPE_CHECKING:
    from calibrate.probes.summary import ProbeSummary

ALL = "all"
BAND = "Probes, not UFS: counted by rules without a judge. A diagnostic beside the score, never part of it."


@dataclass(frozen=True, slots=True)
class ProbeLine:
    """What one probe found for one proxy: a count or share with its n, a remark, and examples from the episodes."""

    probe: str
    proxy: str
    estimate: Estimate
    note: str = ""
    examples: tuple[str, ...] = ()
    domain: str = ""


def probe_lines(summaries: Iterable[ProbeSummary]) -> tuple[ProbeLine, ...]:
    """Return what probes found as lines of the report: one for each probe, proxy and domain."""
    lines = []
    for summary in summaries:
        for own in summary.shares:
            left_out = "; ".join(f"{count:,} left out: {reason}" for reason, count in own.excluded.items())
            examples = tuple(f"{example.quote} (turn {example.turn})" for example in own.examples)
            domain = summary.domain or ALL
            lines.append(ProbeLine(own.title, summary.proxy, own.share, left_out, examples, domain))
    return tuple(lines)


def probe_blocks(lines: Sequence[ProbeLine]) -> tuple[Block, ...]:
    """Return the probes under their band, a table for each; nothing where there are none."""
    if not lines:
        return ()
    blocks: list[Block] = []
    nowhere = []
    for probe in dict.fromkeys(line.probe for line in lines):
        own = _without_doubles([line for line in lines if line.probe == probe])
        if all(line.estimate.n == 0 and line.estimate.value is None for line in own):
            reasons = dict.fromkeys(line.estimate.reason or line.note or "no reason is known" for line in own)
            nowhere.append(f"{probe} ({listed(list(reasons), 2)})")
            continue
        blocks.append(_table(probe, own))
        told = dict.fromkeys(f"{named(line.proxy)}: {text}" for line in own for text in line.examples)
        if told:
            blocks.append(Details(f"Examples: {probe}", (Note(tuple(told)),)))
    if nowhere:
        blocks.append(Paragraph(f"Probes that apply to no episode here, n\u00a0=\u00a00: {'; '.join(nowhere)}."))
    return (Band(BAND, tuple(blocks)),)


def _without_doubles(lines: Sequence[ProbeLine]) -> list[ProbeLine]:
    """Return the lines without those over all domains of a proxy that has one domain only."""
    domains = {proxy: {x.domain for x in lines if x.proxy == proxy} - {"", ALL} for proxy in {x.proxy for x in lines}}
    kept = [line for line in lines if line.domain != ALL or len(domains[line.proxy]) != 1]
    with_one = len(set().union(*domains.values())) == 1 and not any(line.domain == ALL for line in kept)
    return [replace(line, domain="") for line in kept] if with_one else kept


def _table(probe: str, lines: Sequence[ProbeLine]) -> Table:
    with_domain = any(line.domain for line in lines)
    with_note = any(line.note for line in lines)
    columns = ("Proxy", *(("Domain",) if with_domain else ()), "Found", *(("Remark",) if with_note else ()))
    rows = tuple(
        (
            named(line.proxy),
            *((line.domain or ALL,) if with_domain else ()),
            said(line.estimate),
            *((line.note,) if with_note else ()),
        )
        for line in lines
    )
    return Table(probe, columns, rows)
