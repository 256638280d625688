"""Tasks: a folder with `task.toml`, prompts, and optionally an outcome; shipped ones are found like any other."""

from __future__ import annotations

import importlib.util
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from annotate.config import Section, TaskConfig, check, load_toml
from annotate.errors import ConfigError, OutcomeError, nearest
from annotate.schema import Conversation, Item, Scale
from simulate.prompts import PromptBook

SHIPPED = Path(__file__).parent / "tasks"
CORRECT = "correct"
"""The scale of what a task's own code says of a final answer."""
Part = Literal["knowledge", "preferences", "writing", "interaction"]


class TaskFile(Section):
    """What `task.toml` holds."""

    name: str
    title: str
    user_role: str
    assistant_role: str
    document: bool = False
    group_by: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ("writing", "interaction")
    styles: str = "base"
    topic: tuple[str, ...] = ()
    run_scales: tuple[str, ...] = ()
    views: dict[str, tuple[Literal["topic", "preferences", "transcript", "document"], ...]] = Field(
        default_factory=dict
    )
    scales: tuple[Scale, ...] = ()

    @model_validator(mode="after")
    def _each_scale_once(self) -> TaskFile:
        names = [scale.name for scale in self.scales]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"scale {twice[0]!r} stands twice; remove one of the two")
        return self


class Attribute(Section):
    """One attribute of message style: what is asked, what may be said, and how a twin is told."""

    key: str
    name: str
    question: str
    values: tuple[str, ...] = Field(min_length=1, max_length=20)
    english_only: bool
    instruct: str

    @field_validator("instruct")
    @classmethod
    def _takes_a_value(cls, text: str) -> str:
        try:
            text.format(value="")
        except (LookupError, ValueError, AttributeError):
            raise ValueError("the only thing in braces is {value}; write {{ and }} for braces") from None
        return text


class PreferenceAttribute(Section):
    """One thing that people may want of a kind of document."""

    key: str
    name: str
    question: str


@dataclass(frozen=True)
class Task:
    """A task as its folder declares it."""

    folder: Path
    file: TaskFile
    group_by: tuple[str, ...]

    @property
    def name(self) -> str:
        """The identifier."""
        return self.file.name

    @cached_property
    def prompts(self) -> PromptBook:
        """The prompts of the folder, over those that all tasks share."""
        return PromptBook(self.folder / "prompts")

    @cached_property
    def scales(self) -> dict[str, Scale]:
        """Name → scale."""
        return {scale.name: scale for scale in self.file.scales}

    @cached_property
    def styles(self) -> dict[str, tuple[Attribute, ...]]:
        """`writing` and `interaction` → the attributes that a profile of this task may have."""
        own = self.folder / f"{self.file.styles}.toml"
        source = files("usercal_data") / "styles" / f"{self.file.styles}.toml"
        if own.is_file():
            raw, path = load_toml(own), own
        elif source.is_file():
            path = Path(str(source))
            raw = tomllib.loads(source.read_text("utf-8"))
        else:
            raise ConfigError(f"{own}: there is no such file. Add it, or write styles = \"base\" in task.toml.")
        return {
            part: tuple(check(Attribute, entry, path) for entry in raw.get(part, []))
            for part in ("writing", "interaction")
        }

    def preferences(self, item: Item) -> tuple[PreferenceAttribute, ...]:
        """The preference attributes of the item's kind of document."""
        kind = str(item.inputs.get("document_type", "")).lower()
        for source in (files("usercal_data") / "preferences").iterdir():
            if (
                source.name.endswith(".toml")
                and kind.split(" ")[0].split("/")[0] == source.name.split("_")[0].split(".")[0]
            ):
                raw = tomllib.loads(source.read_text("utf-8"))
                return tuple(check(PreferenceAttribute, p, Path(source.name)) for p in raw["preference"])
        return ()

    def topic(self, item: Item) -> dict[str, str]:
        """What the task is about, as label → text, from what both sides may see."""
        names = self.file.topic or tuple(item.inputs)
        return {name.replace("_", " "): str(item.inputs[name]) for name in names if item.inputs.get(name)}

    @cached_property
    def outcome(self) -> Callable[[Item, Conversation, str], str] | None:
        """The folder's `outcome(item, conversation, answer) -> label`, where it has an `outcome.py`."""
        path = self.folder / "outcome.py"
        if not path.is_file():
            return None
        spec = importlib.util.spec_from_file_location(f"usercal_task_{self.name}", path)
        if spec is None or spec.loader is None:
            raise ConfigError(f"{path}: cannot be loaded as Python. Fix or remove it.")
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:  # noqa: BLE001 (somebody's own code may raise anything)
            raise ConfigError(f"{path}: cannot be loaded ({_said(error)}). Fix or remove it.") from None
        function: Callable[[Item, Conversation, str], str] | None = getattr(module, "outcome", None)
        if not callable(function):
            raise ConfigError(f"{path}: has no function 'outcome(item, conversation, answer)'. Add it.")
        return function

    def judge_outcome(self, item: Item, conversation: Conversation, answer: str) -> str:
        """Return what the task's own code says of a final answer; `OutcomeError` where it raises or says else."""
        path, labels = self.folder / "outcome.py", self.scales[CORRECT].labels
        if self.outcome is None:
            raise OutcomeError(f"{path}: there is no such file. Add it.")
        try:
            label = self.outcome(item, conversation, answer)
        except (Exception, SystemExit) as error:  # noqa: BLE001
            raise OutcomeError(f"{path}: raised {_said(error)}. Fix it; the reply is kept.") from None
        if label not in labels:
            raise OutcomeError(f"{path}: returned {label!r}, which is none of {', '.join(labels)}. Fix it.")
        return label

    def check(self) -> None:
        """Raise `ConfigError` for whatever of the folder cannot be used: prompts, styles, outcome."""
        needed = ["assistant", "user", "rate", *(["update_document"] if self.file.document else [])]
        asking = [name for name in self.prompts.names() if name.startswith(("rate_", "extract_"))]
        for name in (*needed, *asking):
            self.prompts.check(name)
        _ = self.styles
        if self.outcome is not None and CORRECT not in self.scales:
            raise ConfigError(
                f"{self.folder / 'task.toml'}: has an outcome.py, but no scale {CORRECT!r} for what it says. "
                f"Add one with its labels, and a scale 'final_answer' of level text."
            )


def _said(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def shipped() -> list[str]:
    """The tasks that come with UserCal."""
    return sorted(path.parent.name for path in SHIPPED.glob("*/task.toml"))


def load_task(name: str, declared: Mapping[str, TaskConfig], base: Path) -> Task:
    """Load a task by name: declared in `[tasks.NAME]` with a path from `base`, or shipped; raises `ConfigError`."""
    config = declared.get(name, TaskConfig())
    if not has_folder(name, declared):
        known = sorted(task for task in {*shipped(), *declared} if has_folder(task, declared))
        raise ConfigError(
            f"task {name!r} is not known{nearest(name, known)} Known: {', '.join(known)}; "
            f'declare another with [tasks.{name}] path = "…".'
        )
    folder = (base / config.path) if config.path else SHIPPED / name
    path = folder / "task.toml"
    if not path.is_file():
        raise ConfigError(f"{path}: task {name!r} has no task.toml there. Check [tasks.{name}] path.")
    raw: dict[str, Any] = load_toml(path)
    file = check(TaskFile, raw, path)
    if file.name != name:
        raise ConfigError(f"{path}: says name = {file.name!r}, but the study calls it {name!r}. Make them equal.")
    return Task(folder, file, config.group_by if config.group_by is not None else file.group_by)


def has_folder(name: str, declared: Mapping[str, TaskConfig]) -> bool:
    """Whether a task of this name is shipped, or declared with a path; a name alone never leads to another folder."""
    return name in shipped() or bool(declared.get(name, TaskConfig()).path)


def load_tasks(names: list[str], declared: Mapping[str, TaskConfig], base: Path) -> dict[str, Task]:
    """Load several tasks."""
    return {name: load_task(name, declared, base) for name in names}
