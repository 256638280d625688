"""The contracts of a study's tasks: blueprints from its items, guidelines from its runs, tools from a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annotate.episodes import TASK_PREFIX
from annotate.errors import InputError
from annotate.importers.reading import read_json
from annotate.rubrics.contract import Contract, Tool, contract_of
from annotate.schema import Conversation, Item, Run

if TYPE_CHECKING:
    from annotate.store import Store


def read_contracts(store: Store, *, tools: Sequence[Tool] = (), domain: str | None = None) -> list[Contract]:
    """Return the contract of each task of user proxies in the store whose blueprint is known, in order of import.

    Guidelines and tools are those of the first run of the task that knows them. `tools`, where given, are those of the
    tasks of `domain`, or of all where it is None.
    """
    told = Told(store)
    first: dict[str, dict[str, Any]] = {}
    for episode in store.iterate(Conversation, origin="simulated"):
        found = first.setdefault(episode.item, {})
        run = str(episode.run)
        if run in told.guidelines:
            found.setdefault("guidelines", told.guidelines[run])
        if run in told.tools:
            found.setdefault("tools", told.tools[run])
    contracts = []
    for item in store.iterate(Item):
        if item.task.startswith(TASK_PREFIX):
            own = first.get(item.id, {})
            if tools and domain in (None, item.tags.get("domain")):
                own = {**own, "tools": tools}
            if (contract := contract_of(item, **own)) is not None:
                contracts.append(contract)
    return contracts


class Told:
    """What the runs of a study tell of contracts: run → the guidelines' text, and the tools that its users had."""

    def __init__(self, store: Store) -> None:
        self.guidelines: dict[str, str] = {}
        self.tools: dict[str, tuple[Tool, ...]] = {}
        for run in store.iterate(Run):
            text = (run.config.get("guidelines") or {}).get("text")
            if isinstance(text, str) and text.strip():
                self.guidelines[run.id] = text
            if isinstance(listed := run.config.get("user_tools"), list):
                self.tools[run.id] = tuple(_tool(Path(f"run {run.name}"), one) for one in listed)

    def contract(self, episode: Conversation, item: Item, tools: Sequence[Tool] = ()) -> Contract | None:
        """Return the contract of one episode, with the guidelines of its own run; None for an unknown blueprint.

        `tools` are its tools where its run does not know them.
        """
        run = str(episode.run)
        return contract_of(item, guidelines=self.guidelines.get(run), tools=self.tools.get(run, tuple(tools)))


def read_tools(path: Path) -> tuple[str | None, tuple[Tool, ...]]:
    """Read a user's tools from a JSON file: their domain, if the file says it, and the tools.

    The file is {"domain": …, "tools": [{"name", "kind", "arguments"}]}, or the list alone; `kind` is read or write,
    `arguments` a list of names.

    Raises:
        InputError: the file is not such a file.
    """
    raw = read_json(path)
    domain = raw.get("domain") if isinstance(raw, dict) else None
    listed = raw.get("tools") if isinstance(raw, dict) else raw
    if not isinstance(listed, list) or not listed:
        raise InputError(f"{path}: holds no list of tools. Give a list of objects with name, kind and arguments.")
    return domain if isinstance(domain, str) else None, tuple(_tool(path, one) for one in listed)


def _tool(path: Path, raw: Any) -> Tool:
    name = raw.get("name") if isinstance(raw, dict) else None
    if not isinstance(name, str) or not name.strip():
        said = json.dumps(raw, ensure_ascii=False)[:60]
        raise InputError(f"{path}: {said} is no tool. Give each tool a name, and read or write as its kind.")
    kind, arguments = raw.get("kind", ""), raw.get("arguments", [])
    if kind not in ("", "read", "write"):
        raise InputError(f"{path}: tool {name!r} has the kind {kind!r}. Kinds are read and write; leave others out.")
    if not isinstance(arguments, list) or not all(isinstance(argument, str) for argument in arguments):
        raise InputError(f"{path}: the arguments of tool {name!r} are no list of names. List them.")
    return Tool(name, kind, tuple(arguments))
