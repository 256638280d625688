"""A task's criteria written by a model: four to eight rules, each quoting the contract that it stands on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotate.rubrics.contract import Contract
from annotate.rubrics.grounding import normalised
from annotate.schema import Conversation, Criterion, canonical_hash
from annotate.taxonomy import Taxonomy
from simulate.asking import Voice, object_schema
from simulate.llm.structured import Unparsable, parse
from simulate.prompts import Prompt, PromptBook
from simulate.rubrics.trajectory import blind

LEAST, MOST = 4, 8
PROMPT = "write_rubric"
PROMPTS = PromptBook(Path(__file__).parent / "prompts")
SOURCES = ("blueprint", "guidelines", "tools")


@dataclass(frozen=True)
class Written:
    """What a model wrote for a task: the criteria, and why there are none where the reply could not be read."""

    criteria: tuple[Criterion, ...]
    fault: str | None = None


def write_prompt(
    contract: Contract,
    taxonomy: Taxonomy,
    sample: Conversation | None = None,
    rejected: Sequence[tuple[Criterion, str]] = (),
) -> Prompt:
    """Return what the writer is asked; the sample is blind to its proxy, and `rejected` asks for a revision."""
    families = [
        {"name": family.name, "definition": family.definition, "modes": taxonomy.modes(family.name)}
        for family in taxonomy.family
    ]
    return PROMPTS.render(
        PROMPT,
        {
            "blueprint": contract.blueprint,
            "guidelines": contract.guidelines or "",
            "tools": contract.text("tools"),
            "sample": "" if sample is None else blind(sample).text,
            "families": families,
            "least": LEAST,
            "most": MOST,
            "rejected": list(rejected),
        },
    )


def rubric_schema(taxonomy: Taxonomy, text: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the JSON schema of a rubric; families, modes and sources can only be those that there are."""
    words = text or {"type": "string"}
    one = object_schema(
        {
            "family": {"type": "string", "enum": list(taxonomy.families)},
            "mode": {"type": "string", "enum": [mode.name for mode in taxonomy.modes()]},
            "rule": words,
            "applies": words,
            "source": {"type": "string", "enum": list(SOURCES)},
            "words": words,
        }
    )
    return object_schema({"rules": {"type": "array", "items": one, "minItems": 1, "maxItems": MOST}})


def read_rubric(reply: str, contract: Contract, taxonomy: Taxonomy) -> Written:
    """Return the criteria that a reply holds, each rule once; none, and why, where it cannot be read.

    Whether they may stand is decided afterwards (`decide_by_code`, `verify`): what is written badly is kept, rejected.
    """
    try:
        said = parse(reply, rubric_schema(taxonomy))["rules"]
    except Unparsable as error:
        return Written((), str(error))
    made: dict[str, Criterion] = {}
    for one in said:
        criterion = _criterion(one, contract)
        made.setdefault(criterion.id, criterion)
    return Written(tuple(made.values()))


def _criterion(said: dict[str, Any], contract: Contract) -> Criterion:
    text, span, applies = (str(said[name]).strip() for name in ("rule", "words", "applies"))
    known = [contract.item, said["mode"], said["source"], normalised(text), normalised(span)]
    return Criterion(
        id=f"k_{canonical_hash(known)[:12]}",
        family=said["family"],
        mode=said["mode"],
        text=text,
        source=said["source"],
        span=span,
        applies=applies,
        item=contract.item,
    )


async def write(
    voice: Voice,
    contract: Contract,
    taxonomy: Taxonomy,
    sample: Conversation | None = None,
    rejected: Sequence[tuple[Criterion, str]] = (),
) -> Written:
    """Ask a model for a task's criteria, or for better ones in place of those that were rejected.

    Raises:
        CallFailed: the model could not be reached, refused, or gave no readable reply in three attempts.
    """
    prompt = write_prompt(contract, taxonomy, sample, rejected)
    reply = await voice.insist(prompt, rubric_schema(taxonomy, voice.text(200)))
    return read_rubric(reply.text if reply.parsed is None else json.dumps(reply.parsed), contract, taxonomy)
