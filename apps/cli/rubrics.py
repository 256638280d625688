"""`usercal rubrics`: the rules that a user's contract makes, task by task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apps.cli.options import answer, json_option, labelled, open_study, row, shown_path, study_options

if TYPE_CHECKING:
    from annotate.rubrics.contract import Contract
    from annotate.schema import Criterion


@click.group(epilog="Example:  usercal rubrics template --out criteria.jsonl")
def command() -> None:
    """Rubrics: what a simulated user owes its blueprint, its guidelines and its tools, rule by rule."""


@command.command(
    "template",
    epilog="""\b
Examples:
  usercal rubrics template --out criteria.jsonl
  usercal rubrics template --tools user_tools.json --out criteria.jsonl
""",
)
@click.option("--tools", type=click.Path(path_type=Path), metavar="FILE", help="JSON: the tools that users had.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write them: .csv, else JSON Lines.")
@study_options
@json_option
def template(tools: Path | None, out: Path | None, folder: Path | None, store: str | None, as_json: bool) -> int:
    """Make criteria from the blueprints in the study by code: no model, no cost, the same for everybody.

    Disclosure of each fact that the user knows, what it does not know, the end, claims of actions and results of tools;
    each quotes the piece of the contract that it stands on.
    """
    from annotate.rubrics.stored import read_contracts, read_tools
    from annotate.rubrics.template import VERSION, template_criteria

    domain, surface = read_tools(tools) if tools is not None else (None, ())
    study = open_study(folder, store)
    with study.open_store(create=False) as opened:
        contracts = read_contracts(opened, tools=surface, domain=domain)
    made = {contract.item: template_criteria(contract) for contract in contracts}
    if out is not None:
        _write(out, [criterion for criteria in made.values() for criterion in criteria])
    facts = {
        "template": VERSION,
        "tasks": len(contracts),
        "without_parts": sum(not contract.structured for contract in contracts),
        "criteria": sum(map(len, made.values())),
        "families": _counts(contracts, made),
        "path": None if out is None else str(out),
    }
    answer(as_json, facts, _lines(contracts, made, out), _following(bool(contracts), out))
    return 0


def _counts(contracts: Sequence[Contract], made: dict[str, list[Criterion]]) -> dict[str, dict[str, int]]:
    """Return domain → family → how many criteria."""
    counts: dict[str, Counter[str]] = {}
    for contract in contracts:
        counts.setdefault(contract.domain, Counter()).update(one.family for one in made[contract.item])
    return {domain: dict(sorted(families.items())) for domain, families in counts.items()}


def _lines(contracts: Sequence[Contract], made: dict[str, list[Criterion]], out: Path | None) -> list[str]:
    if not contracts:
        return [
            "No task of a user proxy with a known blueprint is in the study, so there is nothing to make rules from."
        ]
    from calibrate.report.wording import counted

    total = counted(sum(map(len, made.values())), "criterion", "criteria")
    plain = sum(not contract.structured for contract in contracts)
    lines = [f"{total} on {counted(len(contracts) - plain, 'task')}, by code; every one quotes its contract."]
    for domain, families in _counts(contracts, made).items():
        own = [contract for contract in contracts if contract.domain == domain]
        told = "  ".join(f"{family.replace('_', ' ')} {n:,}" for family, n in families.items())
        lines.append(row(domain[:11], f"{counted(len(own), 'task')}: {told or 'none'}"))
    if plain:
        lines.append(
            row("left out", f"{counted(plain, 'task')} of one text: a template cannot tell the parts of a blueprint")
        )
    upfront = sum(contract.upfront for contract in contracts)
    if upfront:
        lines.append(
            row(
                "upfront", f"all details at once are ordered by {counted(upfront, 'task')}: no rule of disclosure there"
            )
        )
    unknown = sum(contract.guidelines is None for contract in contracts)
    if unknown:
        lines.append(row("guidelines", f"not known for {counted(unknown, 'task')}: rules stand on the blueprint alone"))
    if out is not None:
        lines.append(row("wrote", shown_path(out)))
    return lines


def _following(any_task: bool, out: Path | None) -> list[tuple[str, str]]:
    if not any_task:
        return [("usercal import runs/", "tau-bench or tau2 results, with their tasks")]
    if out is None:
        return [("usercal rubrics template --out criteria.jsonl", "write them, to read and to edit")]
    return [(f"usercal rubrics import {shown_path(out)}", "take them into the study, as they are or edited")]


@command.command("import", epilog="Example:  usercal rubrics import criteria.csv")
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--tools", type=click.Path(path_type=Path), metavar="FILE", help="JSON: the tools that users had.")
@study_options
@json_option
def take(path: Path, tools: Path | None, folder: Path | None, store: str | None, as_json: bool) -> int:
    """Take criteria that people wrote or edited into the study: JSON Lines, CSV or Parquet.

    Each must stand on its task's contract: the words it quotes must be there. One that does not is named and left out.
    """
    from annotate.rubrics.files import read_criteria
    from annotate.rubrics.grounding import fault_of
    from annotate.rubrics.stored import read_contracts, read_tools
    from annotate.schema import Criterion
    from annotate.taxonomy import load_taxonomy

    study = open_study(folder, store)
    domain, surface = read_tools(tools) if tools is not None else (None, ())
    criteria = read_criteria(path)
    extra = study.config.taxonomy.path
    taxonomy = load_taxonomy(study.folder / extra if extra else None)
    with study.open_store(create=False) as opened:
        contracts = {one.item: one for one in read_contracts(opened, tools=surface, domain=domain)}
        faults: dict[str, str] = {}
        for one in criteria:
            contract = contracts.get(one.item or "")
            fault = "its task is not in the study" if contract is None else fault_of(one, contract, taxonomy)
            if fault is not None:
                faults[one.id] = fault
        known = opened.ids(Criterion)
        new = [one for one in criteria if one.id not in known and one.id not in faults]
        with opened.begin() as transaction:
            transaction.add(new)
    there = sum(one.id in known for one in criteria if one.id not in faults)
    lines = [row("stored", f"{len(new):,} new, {there:,} already there")]
    shown = [f"{name}: {fault}" for name, fault in list(faults.items())[:5]]
    more = [f"… {len(faults) - len(shown):,} more (--json)"] if len(faults) > len(shown) else []
    lines += labelled(f"left out {len(faults)}", [*shown, *more], indent=14) if faults else []
    answer(as_json, {"new": len(new), "already_there": there, "left_out": faults}, lines)
    return 1 if faults and not new and not there else 0


def _write(path: Path, criteria: Sequence[Criterion]) -> None:
    """Write the criteria beside their place and then put them there, so that nothing is ever half written."""
    from annotate.rubrics.files import criteria_text

    partial = path.with_name(f"{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(criteria_text(criteria, path.suffix), "utf-8")
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
