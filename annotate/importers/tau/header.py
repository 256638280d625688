"""What a file says before, between or after its episodes: how the run was made, and its tasks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotate.importers.reading import BEGIN, TolerantDecoder, stream_pieces
from annotate.importers.tau import values
from annotate.importers.tau.blueprints import Blueprint, of_tau2
from annotate.importers.tau.redaction import Redactor
from annotate.importers.tau.shapes import is_episode, is_info, is_task
from annotate.importers.tau.values import Cleaner

_HEADING = re.compile(r"^#\s+(\w+)\s+(?:agent|domain)\s+policy\b", re.IGNORECASE | re.MULTILINE)
_TOOLED = ("telecom", "telecom-workflow", "banking", "banking_knowledge")
"""Domains whose users have tools of their own."""


@dataclass
class Header:
    """How a run was made; empty where the file does not say."""

    info: dict[str, Any] = field(default_factory=dict)
    tasks: dict[str, Blueprint] = field(default_factory=dict)

    def side(self, name: str) -> dict[str, Any]:
        """Return what the file says of `user` or `agent`."""
        found = self.info.get(f"{name}_info")
        return found if isinstance(found, dict) else {}

    @property
    def environment(self) -> dict[str, Any]:
        """What the file says of the environment."""
        found = self.info.get("environment_info")
        return found if isinstance(found, dict) else {}

    @property
    def domain(self) -> str | None:
        """The domain that the file names."""
        found = self.environment.get("domain_name")
        return found if isinstance(found, str) and found else None


def read_header(path: Path, redactor: Redactor, on_read: Callable[[int], None] | None = None) -> Header:
    """Read what stands outside the episodes; goes past them only where they come before it.

    Secrets are removed here, once, so that whatever is made of the header is free of them.
    """
    header = Header()
    decoder, cleaner = TolerantDecoder(path), Cleaner(str(path))
    had: set[str] = set()
    for name, index, value in stream_pieces(path, decoder, lambda _: True, on_read=on_read):
        if name == "" or (index is not None and name != "tasks" and {"info", "tasks"} <= had):
            break
        if index is None:
            had.add(name)
            if name == "info" and is_info(value):
                header.info = cleaner.clean(redactor.settings(value))
        elif index == BEGIN:
            had.add(name)
        elif name == "tasks" and is_task(value) and not is_episode(value):
            task = of_tau2(cleaner.clean(redactor.tree(value) if redactor.may_hold(str(value)) else value))
            header.tasks[task.task_id] = task
    return header


def domain_of_policy(policy: Any) -> str | None:
    """Return the domain that an agent's policy names in its heading, such as '# Retail agent policy'."""
    found = _HEADING.search(policy[:4000]) if isinstance(policy, str) else None
    return found.group(1).lower() if found else None


def domain_has_user_tools(domain: str) -> bool:
    """Whether users have tools in a domain, as far as that is known of it."""
    return domain in _TOOLED


def tool_names(header: Header) -> list[str]:
    """Return the names of the user's tools, where the file or its tasks list them."""
    told = header.side("user").get("tools")
    listed = told if isinstance(told, (list, dict)) else ()
    found = {values.name(tool.get("name")) if isinstance(tool, dict) else values.name(tool) for tool in listed}
    for task in header.tasks.values():
        found.update(task.user_tools)
    return sorted(found - {values.UNKNOWN})
