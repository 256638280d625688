"""Prompts: Jinja2 files with front matter, strict on undefined names, known by the hash of all that they include."""

from __future__ import annotations

import hashlib
import re
import secrets
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError, UndefinedError, meta

from annotate.errors import ConfigError, nearest

SHARED = Path(__file__).parent / "templates"
_FRONT = re.compile(r"\A\+\+\+\n(.*?)\n\+\+\+\n", re.DOTALL)
_ROLE = re.compile(r"^=== (system|user|assistant)$", re.MULTILINE)
# In place of the === of a template: what somebody said may hold that line too, and must not begin a message.
_MARK = f"=== {secrets.token_hex(8)} "
_MARKED = re.compile(rf"^{_MARK}(system|user|assistant)$", re.MULTILINE)


@dataclass(frozen=True)
class Prompt:
    """A rendered prompt: chat messages, and the name, version and hash of the template they came from."""

    name: str
    version: int
    hash: str
    messages: tuple[dict[str, str], ...]


class _Loader(FileSystemLoader):
    """Loads templates without their front matter, and with the beginnings of their messages marked."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Any]:
        source, path, fresh = super().get_source(environment, template)
        return _ROLE.sub(rf"{_MARK}\1", _FRONT.sub("", source)), path, fresh


@dataclass(frozen=True)
class PromptBook:
    """The prompts of a task: its own folder first, then those that all tasks share."""

    folder: Path
    _environment: Environment = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        environment = Environment(
            loader=_Loader([self.folder, SHARED]),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=False,
            autoescape=False,
        )
        object.__setattr__(self, "_environment", environment)

    def names(self) -> list[str]:
        """The templates there are."""
        return sorted({path.stem for place in (self.folder, SHARED) for path in place.glob("*.md")})

    def has(self, name: str) -> bool:
        """Whether there is such a template."""
        return any((place / f"{name}.md").is_file() for place in (self.folder, SHARED))

    def hash(self, name: str) -> str:
        """Return the hash over the template and everything it includes."""
        return _hash(self.folder, name)

    def render(self, name: str, values: Mapping[str, Any]) -> Prompt:
        """Render a template to messages; raises `ConfigError` for an undefined name or a broken template."""
        path = self._path(name)
        front = _front(path)
        if missing := sorted(set(front["variables"]) - set(values)):
            raise ConfigError(
                f"{path}: variable {missing[0]!r} is not given. Remove it from the front matter, or use "
                f"one of {', '.join(sorted(values))}."
            )
        try:
            text = self._environment.get_template(f"{name}.md").render({k: values[k] for k in front["variables"]})
        except Exception as error:  # noqa: BLE001 (a template may compute anything, and raise anything)
            raise _broken(path, error) from None
        return Prompt(name, front["version"], self.hash(name), _messages(text, path))

    def check(self, name: str) -> None:
        """Raise `ConfigError` for a template that is missing or cannot be read, without rendering it."""
        path = self._path(name)
        _front(path)
        self.hash(name)
        if not _ROLE.search(_source(path)):
            raise _without_message(path)

    def _path(self, name: str) -> Path:
        for place in (self.folder, SHARED):
            if (place / f"{name}.md").is_file():
                return place / f"{name}.md"
        raise ConfigError(f"{self.folder}: there is no prompt {name!r}{nearest(name, self.names())}")


@lru_cache(maxsize=256)
def _hash(folder: Path, name: str) -> str:
    digest = hashlib.sha256()
    environment = Environment(autoescape=False)
    todo, seen = [f"{name}.md"], set()
    while todo:
        file = todo.pop(0)
        if file in seen:
            continue
        seen.add(file)
        path = next((p / file for p in (folder, SHARED) if (p / file).is_file()), None)
        if path is None:
            raise ConfigError(f"{folder}: prompt {name!r} includes {file!r}, which does not exist. Add it.")
        source = _source(path)
        digest.update(file.encode() + b"\0" + source.encode() + b"\0")
        try:
            todo += sorted(n for n in meta.find_referenced_templates(environment.parse(source)) if n)
        except TemplateError as error:
            raise _broken(path, error) from None
    return digest.hexdigest()[:16]


@lru_cache(maxsize=256)
def _front(path: Path) -> dict[str, Any]:
    found = _FRONT.match(_source(path))
    try:
        front = tomllib.loads(found[1]) if found else {}
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: its front matter is not valid TOML: {error}. Fix it.") from None
    for key in ("name", "version", "variables"):
        if key not in front:
            raise ConfigError(
                f"{path}: its front matter lacks {key!r}. Begin the file with +++, name, version, variables, +++."
            )
    for key, kind, form in (("version", int, "a whole number"), ("variables", list, "a list of names")):
        if not isinstance(front[key], kind) or isinstance(front[key], bool):
            raise ConfigError(f"{path}: {key} in its front matter is {front[key]!r}. Write {form}.")
    if front["name"] != path.stem:
        raise ConfigError(f"{path}: its front matter says name = {front['name']!r}. Write {path.stem!r}.")
    return front


def _source(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start}). Save the file as UTF-8.") from None


def _broken(path: Path, error: Exception) -> ConfigError:
    if isinstance(error, UndefinedError):
        return ConfigError(f"{path}: {error.message}. Fix the template, or list the variable in its front matter.")
    if isinstance(error, RecursionError):
        return ConfigError(f"{path}: includes itself. Fix the template.")
    said = str(error).strip().splitlines()
    return ConfigError(f"{path}: {said[0] if said else type(error).__name__}. Fix the template.")


def _without_message(path: Path) -> ConfigError:
    return ConfigError(f"{path}: has no message. Begin one with a line '=== system' or '=== user'.")


def _messages(text: str, path: Path) -> tuple[dict[str, str], ...]:
    parts = _MARKED.split(text)
    if len(parts) < 3:
        raise _without_message(path)
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    return tuple(
        {"role": role, "content": re.sub(r"\n{3,}", "\n\n", body).strip()} for role, body in pairs if body.strip()
    )
