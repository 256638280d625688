"""The command lines of a fair pilot: agent, tasks, trials and seed are the same for every proxy: runs can be paired."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotate.errors import InputError

SEED = 300
"""The seed of all runs; tau2 draws the seed of each trial from it, so proxies meet the same trials."""
TAU_DOMAINS = ("airline", "retail", "telecom")
"""The domains of a pilot that names none."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Pilot:
    """What every proxy of a pilot is run on; `tasks` per domain is None for all, or the first so many."""

    agent: str
    domains: tuple[str, ...]
    tasks: int | None = None
    trials: int = 1
    seed: int = SEED
    agent_args: Mapping[str, Any] | None = None
    user_args: Mapping[str, Any] | None = None


def pilot_commands(proxies: Sequence[str], pilot: Pilot) -> list[str]:
    """Return one `tau2 run` line a proxy and domain, ready to paste into a shell.

    Raises:
        InputError: no proxy, one named twice, two whose results would have the same name, or a pilot of no size.
    """
    _check(proxies, pilot)
    return [_line(proxy, domain, pilot) for domain in pilot.domains for proxy in proxies]


def user_arguments(model: str, args: Mapping[str, Any] | None) -> str:
    """Return the arguments with which `tau2 run` uses a proxy as it was measured."""
    words = ["--user-llm", model]
    if args:
        words += ["--user-llm-args", json.dumps(args, sort_keys=True, ensure_ascii=False)]
    return shlex.join(words)


def parse_names(text: str) -> tuple[str, ...]:
    """Return the names of a list such as `a,b,c`."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def result_name(proxy: str, domain: str) -> str:
    """Return the name under which tau2 saves a run."""
    return f"{domain}_{_UNSAFE.sub('-', proxy).strip('-')}"


def check_names(proxies: Sequence[str]) -> None:
    """Raise `InputError` where no proxy is named, one twice, or two whose results would have the same name."""
    if not proxies:
        raise InputError("--commands: no proxy is named. Give model names with commas: --commands gpt-4.1-mini,gpt-4.1")
    saved: dict[str, str] = {}
    for proxy in proxies:
        name = result_name(proxy, "")
        if name in saved:
            same = saved[name] == proxy
            raise InputError(
                f"--commands: {proxy!r} is named twice. Name each proxy once."
                if same
                else f"--commands: {saved[name]!r} and {proxy!r} would be saved under one name. Run them apart."
            )
        saved[name] = proxy


def _check(proxies: Sequence[str], pilot: Pilot) -> None:
    check_names(proxies)
    if not pilot.domains:
        raise InputError("--domains: no domain is named. Give tau2's domains with commas: --domains retail,airline")
    for name in (pilot.agent, *proxies, *pilot.domains):
        if name.startswith("-") or not name.isprintable():
            raise InputError(
                f"--commands: {name!r} begins with a dash or holds a control character, so that a line with it is not "
                "safe to paste. Name the models yourself: --agent MODEL"
            )
    for name, number in (("--tasks-per-domain", pilot.tasks), ("--trials", pilot.trials)):
        if number is not None and number < 1:
            raise InputError(f"{name}: {number} is below 1. Give a whole number from 1 on.")


def _line(proxy: str, domain: str, pilot: Pilot) -> str:
    words = ["tau2", "run", "--domain", domain, "--agent-llm", pilot.agent]
    if pilot.agent_args:
        words += ["--agent-llm-args", json.dumps(pilot.agent_args, sort_keys=True)]
    line = [*words, *shlex.split(user_arguments(proxy, pilot.user_args)), "--num-trials", str(pilot.trials)]
    if pilot.tasks is not None:
        line += ["--num-tasks", str(pilot.tasks)]
    return shlex.join([*line, "--seed", str(pilot.seed), "--save-to", result_name(proxy, domain)])
