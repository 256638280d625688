"""constraints.txt: a version for everything that can be installed, each within what pyproject.toml asks for."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
LINES = [line for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if not line.startswith("#")]
PINS = {canonicalize_name(name): Version(pin) for name, pin in (line.split("==") for line in LINES)}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def wanted() -> list[Requirement]:
    """Every requirement of the core and of all extras."""
    return [
        Requirement(text) for text in (*PROJECT["dependencies"], *(one for extra in EXTRAS.values() for one in extra))
    ]


def test_each_line_is_a_name_and_a_version_and_nothing_else() -> None:
    assert [line for line in LINES if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*==[0-9][0-9a-z.]*", line)] == []
    assert sorted(LINES, key=lambda line: line.split("==")[0]) == LINES


def test_every_requirement_is_pinned_within_its_bounds() -> None:
    unpinned = [str(one) for one in wanted() if canonicalize_name(one.name) not in PINS]
    outside = [
        str(one) for one in wanted() if not one.specifier.contains(PINS.get(canonicalize_name(one.name), Version("0")))
    ]
    assert (unpinned, outside) == ([], [])


def test_what_the_requirements_require_is_pinned_too() -> None:
    """Follows the metadata of what is installed here; what is not installed was followed when the file was written."""
    missing: set[str] = set()
    todo, seen = wanted(), set()
    while todo:
        requirement = todo.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        if key[0] not in PINS:
            missing.add(str(requirement))
        try:
            further = [Requirement(text) for text in requires(requirement.name) or ()]
        except PackageNotFoundError:
            continue
        for one in further:
            chosen = one.marker is None or any(
                one.marker.evaluate({"extra": extra}) for extra in ("", *requirement.extras)
            )
            if chosen:
                todo.append(one)
    assert sorted(missing) == []


def test_torch_is_pinned_where_it_is_asked_for() -> None:
    asked = [one for one in wanted() if one.name == "torch"]
    assert [str(one.specifier) for one in asked] == [f"=={PINS[canonicalize_name('torch')]}"]


def test_the_extras_are_those_that_messages_name() -> None:
    assert sorted(EXTRAS) == ["apps", "datasets", "dev", "embed", "labelstudio", "local", "postgres", "ray"]
