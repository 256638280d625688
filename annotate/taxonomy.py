"""How a simulated user can fail: families and modes, the shipped ones and those that a study adds."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from annotate.config import check, load_toml
from annotate.errors import ConfigError, InputError, nearest
from annotate.schema import canonical_hash

SHIPPED = "taxonomy.toml"


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*")
    @classmethod
    def _says_something(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("is empty; write a text")
        return text.strip()


class Family(_Entry):
    """A kind of failure."""

    name: str
    definition: str


class Mode(_Entry):
    """One way to fail within a family: what it is, a made-up example of keeping and of failing it, what shows it."""

    name: str
    family: str
    definition: str
    passes: str
    fails: str
    evidence: str


class Taxonomy(BaseModel):
    """Families and their modes, in order; a mode's name stands once, whatever its family."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    family: tuple[Family, ...] = Field(default=())
    mode: tuple[Mode, ...] = Field(default=())

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        _once("family", [family.name for family in self.family])
        _once("mode", [mode.name for mode in self.mode])
        names = [family.name for family in self.family]
        for mode in self.mode:
            if mode.family not in names:
                raise ValueError(
                    f"mode {mode.name!r} names the family {mode.family!r}, which there is not"
                    f"{nearest(mode.family, names)} Families: {', '.join(names)}"
                )
        return self

    @property
    def families(self) -> tuple[str, ...]:
        """The names of the families, in order."""
        return tuple(family.name for family in self.family)

    @cached_property
    def _modes(self) -> dict[str, Mode]:
        return {mode.name: mode for mode in self.mode}

    def modes(self, family: str | None = None) -> tuple[Mode, ...]:
        """Return the modes of a family, or all of them, in order; `InputError` for a family there is not."""
        if family is not None:
            self.check(family)
        return tuple(mode for mode in self.mode if family in (None, mode.family))

    def check(self, family: str, mode: str | None = None) -> None:
        """Raise `InputError`, with the nearest match, where there is no such family, or no such mode in it."""
        if family not in self.families:
            raise InputError(
                f"family {family!r} is not in the taxonomy{nearest(family, self.families)} "
                f"Families: {', '.join(self.families)}."
            )
        if mode is None:
            return
        if mode not in self._modes:
            raise InputError(
                f"mode {mode!r} is not in the taxonomy{nearest(mode, self._modes)} Use one of its modes, or add it "
                "in the file that [taxonomy] path names."
            )
        if self._modes[mode].family != family:
            raise InputError(
                f"mode {mode!r} belongs to the family {self._modes[mode].family!r}, not to {family!r}. "
                "Change one of the two."
            )

    @property
    def hash(self) -> str:
        """sha256 of everything that the taxonomy says."""
        return canonical_hash(self.model_dump(mode="json"))


def load_taxonomy(extra: Path | None = None) -> Taxonomy:
    """Return the shipped taxonomy, with the families and modes of a study's own file of the same form after it.

    `ConfigError` names the file and the rule it breaks: a name that stands twice, a mode of no family, an empty text,
    an unknown key.
    """
    shipped = Taxonomy.model_validate(tomllib.loads((files("usercal_data") / SHIPPED).read_text("utf-8")))
    if extra is None:
        return shipped
    added = check(_Additions, load_toml(extra), extra)
    if not added.family and not added.mode:
        raise ConfigError(f"{extra}: holds neither a [[family]] nor a [[mode]]. Add one, or leave the file out.")
    whole: dict[str, Any] = {"family": shipped.family + added.family, "mode": shipped.mode + added.mode}
    try:
        return Taxonomy.model_validate(whole)
    except ValidationError as error:
        message = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{extra}: {message}. Change it.") from None


class _Additions(BaseModel):
    """A study's own file: its modes may name shipped families, so only the whole is checked for that."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    family: tuple[Family, ...] = ()
    mode: tuple[Mode, ...] = ()


def _once(kind: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{kind} {name!r} stands twice; names of shipped entries count, too; give it another name")
