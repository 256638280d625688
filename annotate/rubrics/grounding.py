"""Whether a criterion stands on its contract: the span it quotes must be there, word for word."""

from __future__ import annotations

import re

from annotate.rubrics.contract import Contract
from annotate.schema import Criterion
from annotate.taxonomy import Taxonomy

MIN_SPAN = 2  # words; one word grounds nothing
_CALL = re.compile(r"`?([A-Za-z_][A-Za-z0-9_]*)`?\s*(?:\(|tool\b)")


def normalised(text: str) -> str:
    """Return a text with every stretch of white space as one space, and straight quotation marks."""
    straight = text.translate({0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"', 0xA0: " "})
    return " ".join(straight.split())


def is_grounded(span: str, text: str) -> bool:
    """Whether a span stands in a text verbatim, white space aside."""
    return bool(span.strip()) and normalised(span) in normalised(text)


def fault_of(criterion: Criterion, contract: Contract, taxonomy: Taxonomy) -> str | None:
    """Return why a criterion cannot stand, as code can tell it; None where nothing is wrong.

    The span must stand in the source that it names, a mode must be of its family, and a tool that the criterion is
    grounded in must exist.
    """
    modes = {mode.name: mode.family for mode in taxonomy.mode}
    if criterion.family not in {family.name for family in taxonomy.family}:
        return f"family {criterion.family!r} is not in the taxonomy"
    if modes.get(criterion.mode) != criterion.family:
        known = modes.get(criterion.mode)
        return f"mode {criterion.mode!r} is {'not in the taxonomy' if known is None else f'of family {known!r}'}"
    if not criterion.text.strip():
        return "the statement is empty"
    if not criterion.span.strip():
        return "no span is quoted"
    source = contract.text(criterion.source)
    if not source:
        return f"there are no {criterion.source} to quote"
    if not is_grounded(criterion.span, source):
        return f"the span does not stand in the {criterion.source}"
    if len(criterion.span.split()) < MIN_SPAN and criterion.source != "tools":
        return f"a span of {len(criterion.span.split())} word grounds nothing"
    missing = missing_tools(criterion.span, contract) if criterion.source != "guidelines" else []
    return f"the span names a tool that does not exist: {missing[0]}" if missing else None


def missing_tools(text: str, contract: Contract) -> list[str]:
    """Return the tools named in a text (`name` tool, name(…)) that the user does not have; none where none are known.

    All telecom blueprints of tau2 name `get_status_bar`, which is really `check_status_bar`.
    """
    if not contract.tools:
        return []
    known = {tool.name for tool in contract.tools}
    named = dict.fromkeys(name for name in _CALL.findall(text) if "_" in name)
    return [name for name in named if name not in known]
