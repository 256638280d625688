"""Judge-free probes as the report takes them: a line for each probe and proxy, never part of the UFS."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calibrate.estimate import Estimate
from calibrate.report.document import Band, Block, Details, Note, Paragraph, Table
from calibrate.report.fidelity.amounts import named, said

if TYPE_CHECKING:
    from calibrate.probes.summary import ProbeSummary

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
            domain = summary.domain or "all"
            lines.append(ProbeLine(own.title, summary.proxy, own.share, left_out, examples, domain))
    return tuple(lines)


def probe_blocks(lines: Sequence[ProbeLine]) -> tuple[Block, ...]:
    """Return the probes under their band, a table for each; nothing where there are none."""
    if not lines:
        return ()
    blocks: list[Block] = []
    for probe in dict.fromkeys(line.probe for line in lines):
        own = [line for line in lines if line.probe == probe]
        blocks.append(_table(probe, own))
        examples = tuple(f"{named(line.proxy)}: {text}" for line in own for text in line.examples)
        if examples:
            blocks.append(Details(f"Examples: {probe}", (Note(examples),)))
    return (Band(BAND, tuple(blocks)),)


def _table(probe: str, lines: Sequence[ProbeLine]) -> Table | Paragraph:
    with_domain = any(line.domain for line in lines)
    with_note = any(line.note for line in lines)
    columns = ("Proxy", *(("Domain",) if with_domain else ()), "Found", *(("Remark",) if with_note else ()))
    rows = tuple(
        (
            named(line.proxy),
            *((line.domain or "all",) if with_domain else ()),
            said(line.estimate),
            *((line.note,) if with_note else ()),
        )
        for line in lines
    )
    return Table(probe, columns, rows)
