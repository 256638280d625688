"""Rubric sets: criteria frozen by their hash, with the contracts that they were written for, and found again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from annotate.errors import InputError, nearest
from annotate.rubrics.contract import Contract, Tool
from annotate.schema import Criterion, Rejection, Rubric, RubricSet, UserTool, canonical_hash

if TYPE_CHECKING:
    from annotate.store import Store

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.]*(?:-(?!v\d+$)[A-Za-z0-9_.]+)*")
_FULL = re.compile(r"(?P<name>.+)-v(?P<version>\d+)")


def check_name(name: str) -> str:
    """Return a name that a set may have; `InputError` for one that could be taken for a version or a hash."""
    if not _NAME.fullmatch(name) or _FULL.fullmatch(name):
        raise InputError(
            f"rubric set {name!r}: a name is letters, digits, _ . and -, and does not end in -v and a number. "
            "Choose another name, such as retail."
        )
    return name


def rubric_of(
    identity: str,
    name: str,
    contract: Contract,
    criteria: Sequence[Criterion],
    *,
    writer: str,
    model: str | None = None,
    fault: str | None = None,
    sample: str | None = None,
    revises: str | None = None,
    call_ids: tuple[str, ...] = (),
) -> Rubric:
    """Return the record of criteria that were written for a contract."""
    return Rubric(
        id=identity,
        name=name,
        item=contract.item,
        domain=contract.domain,
        writer=writer,
        model=model,
        criteria=tuple(one.id for one in criteria),
        fault=fault,
        blueprint_hash=contract.blueprint_hash,
        guidelines_hash=contract.guidelines_hash,
        tools_hash=contract.tools_hash,
        tools=tuple(UserTool(name=t.name, kind=t.kind, arguments=tuple(t.arguments)) for t in contract.tools),
        sample=sample,
        revises=revises,
        call_ids=call_ids,
    )


def freeze(
    name: str,
    rubrics: Sequence[Rubric],
    accepted: Sequence[Criterion],
    rejected: Sequence[Rejection] = (),
    *,
    earlier: Iterable[RubricSet] = (),
    verifier: str | None = None,
    forced: bool = False,
    redundancy: str | None = None,
) -> RubricSet:
    """Return the set of the accepted criteria: a new version of its name, or the one of `earlier` that is the same."""
    content = _content_hash(rubrics, accepted)
    versions = [one for one in earlier if one.name == name]
    for one in versions:
        if one.content_hash == content and one.verifier == verifier:
            return one
    version = max((one.version for one in versions), default=0) + 1
    return RubricSet(
        id=f"u_{canonical_hash([name, version, content])[:16]}",
        name=name,
        version=version,
        content_hash=content,
        rubrics=tuple(one.id for one in rubrics),
        criteria=tuple(one.id for one in accepted),
        rejected=tuple(rejected),
        writers=tuple(dict.fromkeys(one.model or one.writer for one in rubrics)),
        verifier=verifier,
        forced=forced,
        redundancy=redundancy,
    )


def _content_hash(rubrics: Sequence[Rubric], accepted: Sequence[Criterion]) -> str:
    """Hash what is judged by, not who wrote it nor in which order."""
    contracts = {one.item: [one.blueprint_hash, one.guidelines_hash, one.tools_hash] for one in rubrics}
    return canonical_hash([contracts, sorted(canonical_hash(one.model_dump()) for one in accepted)])


def find_set(store: Store, reference: str) -> RubricSet:
    """Return the set that is meant: `retail` (its newest version), `retail-v1`, or `#3fa9c1` (a hash's beginning).

    Raises:
        InputError: there is none, or the hash's beginning is that of several.
    """
    known = store.select(RubricSet)
    if reference.startswith("#"):
        found = [one for one in known if one.content_hash.startswith(reference[1:].lower())] if reference[1:] else []
        if len({one.content_hash for one in found}) > 1:
            raise InputError(f"rubric set {reference}: {len(found)} sets begin so. Give more of the hash, or a name.")
    else:
        full = _FULL.fullmatch(reference)
        name, version = (full["name"], int(full["version"])) if full else (reference, None)
        found = [one for one in known if one.name == name and version in (None, one.version)]
    if not found:
        labels = [f"{one.name}-v{one.version}" for one in known]
        raise InputError(
            f"rubric set {reference!r} is not in the study{nearest(reference, labels)} "
            + (f"Sets: {', '.join(labels[:10])}." if labels else "Make one: usercal rubrics template")
        )
    return max(found, key=lambda one: one.version)


@dataclass(frozen=True)
class Rules:
    """A rubric set with what it holds: the criteria of each task that it was written for."""

    set: RubricSet
    rubrics: tuple[Rubric, ...]
    criteria: Mapping[str, Criterion]

    @cached_property
    def by_item(self) -> dict[str, tuple[Criterion, ...]]:
        """Item → its accepted criteria, in the order of the set; an item may have none."""
        found: dict[str, list[Criterion]] = {one.item: [] for one in self.rubrics}
        for name in self.set.criteria:
            criterion = self.criteria[name]
            found.setdefault(str(criterion.item), []).append(criterion)
        return {item: tuple(own) for item, own in found.items()}

    @cached_property
    def written_for(self) -> dict[str, Rubric]:
        """Item → a rubric, which names the contract."""
        return {one.item: one for one in self.rubrics}

    def tools(self, item: str) -> tuple[Tool, ...]:
        """Return the user's tools that the criteria of a task were written for."""
        rubric = self.written_for.get(item)
        return tuple(Tool(t.name, t.kind, t.arguments) for t in rubric.tools) if rubric else ()

    def misfit(self, contract: Contract) -> str | None:
        """Return why a contract is none that the set was written for; None where it is one."""
        rubric = self.written_for.get(contract.item)
        if rubric is None:
            return "the set has no rules for this blueprint"
        if rubric.blueprint_hash != contract.blueprint_hash:
            return "the set was written for another blueprint"
        if rubric.guidelines_hash != contract.guidelines_hash:
            if contract.guidelines is None:
                return "the set was written for guidelines, and none of this run are known"
            return "the set was written for other guidelines"
        return "the set was written for other tools" if rubric.tools_hash != contract.tools_hash else None


def rules_of(store: Store, chosen: RubricSet) -> Rules:
    """Read what a set holds."""
    rubrics = {one.id: one for one in store.iterate(Rubric)}
    wanted = set(chosen.criteria)
    criteria = {one.id: one for one in store.iterate(Criterion) if one.id in wanted}
    return Rules(chosen, tuple(rubrics[name] for name in chosen.rubrics if name in rubrics), criteria)
