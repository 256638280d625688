"""An estimate: a number with its interval, its n and what it is an estimate of, or the reason why there is none.

Three states are kept apart. A number with an interval; a number without one, and then `interval_reason` says
why; no number, and then `reason` says why. Nothing here is ever nan or infinite.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

if TYPE_CHECKING:
    from numpy.random import Generator

NOT_ASKED = "no interval was asked for"


@dataclass(frozen=True, slots=True)
class Undefined:
    """A statistic that has no value on these data, and why (a clause that can stand in brackets)."""

    reason: str


@dataclass(frozen=True, slots=True)
class Interval:
    """Two finite limits, low ≤ high, in the unit of the value."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"interval limits must be ordered numbers, got {self.low!r} and {self.high!r}")


@cache
def installed_version() -> str:
    """Return the version of the installed distribution, or `unknown` where the source tree is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("usercal")
    except PackageNotFoundError:
        return "unknown"


class Signature(BaseModel):
    """What a repeat of the computation needs: seed, place in the seed's tree of generators, resamples, version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int | tuple[int, ...] | None = None
    spawn_key: tuple[int, ...] = ()
    resamples: int | None = Field(default=None, ge=1)
    version: str = Field(default_factory=installed_version)

    def generator(self) -> Generator:
        """Return the generator that drew the resamples, at its start (for generators of numpy's `default_rng`)."""
        from numpy.random import SeedSequence, default_rng

        if self.seed is None:
            raise ValueError("nothing was drawn for this estimate: its signature has no seed")
        return default_rng(SeedSequence(self.seed, spawn_key=self.spawn_key))


def fork(rng: Generator) -> Generator:
    """Return a fresh child of `rng`, so that a result depends on its own signature and not on earlier draws."""
    return rng.spawn(1)[0]


def signature_of(child: Generator, resamples: int) -> Signature:
    """Return the signature of resamples drawn from `child`, a generator made by `fork` and not yet used."""
    sequence = child.bit_generator.seed_seq
    entropy: Any = getattr(sequence, "entropy", None)
    seed = None if entropy is None else int(entropy) if isinstance(entropy, int) else tuple(map(int, entropy))
    return Signature(seed=seed, spawn_key=tuple(getattr(sequence, "spawn_key", ())), resamples=resamples)


class Estimate(BaseModel):
    """A value with its interval, n and target, or the reason why it is undefined.

    `n` counts the rows that enter the value, `clusters` the people (or other units) that were resampled or
    summed over, `unit` is the unit of value and limits (none for a pure number), `target` says for which
    population the interval speaks, `p_value` belongs to the test that `method` names.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: str = Field(min_length=1)
    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = Field(default=0.95, gt=0, lt=1)
    n: int = Field(ge=0)
    clusters: int | None = Field(default=None, ge=0)
    unit: str | None = None
    method: str | None = None
    target: str | None = None
    reason: str | None = None
    interval_reason: str | None = None
    p_value: float | None = Field(default=None, ge=0, le=1)
    signature: Signature = Field(default_factory=Signature)
    extra: dict[str, float | int | str | None] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _say_why_no_interval(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("value") is not None:
            bare = all(data.get(key) is None for key in ("low", "high", "interval_reason"))
            return {**data, "interval_reason": NOT_ASKED} if bare else data
        return data

    @model_validator(mode="after")
    def _check_states(self) -> Estimate:
        if (self.value is None) == (self.reason is None):
            raise ValueError("exactly one of value and reason must be given")
        if (self.low is None) != (self.high is None):
            raise ValueError("low and high must be given together")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low {self.low!r} is above high {self.high!r}")
        if self.value is None and (self.low is not None or self.p_value is not None or self.interval_reason):
            raise ValueError("an undefined estimate has no interval, no interval_reason and no p_value")
        if self.low is not None and self.interval_reason is not None:
            raise ValueError("interval_reason says why there is no interval, but there is one")
        return self

    @classmethod
    def undefined(cls, name: str, reason: str, *, n: int, **fields: Any) -> Estimate:
        """Return an estimate without a value that says why; `fields` are further fields of `Estimate`."""
        return cls(name=name, value=None, reason=reason, n=n, **fields)

    @property
    def defined(self) -> bool:
        """Whether there is a value."""
        return self.value is not None

    @property
    def interval(self) -> Interval | None:
        """The limits, or None where there are none."""
        return None if self.low is None or self.high is None else Interval(self.low, self.high)

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON-ready data; `Estimate.model_validate` reads it back."""
        return self.model_dump(mode="json")

    def format(self, label: str | None = None, *, digits: int = 2, full: bool = False) -> str:
        """Return one line: `ρ 0.41 [-0.22, 0.80] n = 12`, or with the reason in brackets where something is missing.

        `label` stands for the name; where it is not given, `extra["symbol"]` does, or the name. `full` adds
        level, target, method, clusters and signature on a second line.
        """
        head = label or str(self.extra.get("symbol") or self.name)
        if self.value is None:
            line = f"{head} undefined ({self.reason}) {self._counts()}"
        else:
            unit = f" {self.unit}" if self.unit else ""
            interval = self.interval
            limits = (
                f"[{_fixed(interval.low, digits)}, {_fixed(interval.high, digits)}]"
                if interval
                else f"[no interval: {self.interval_reason}]"
            )
            line = f"{head} {_fixed(self.value, digits)}{unit} {limits} {self._counts()}"
        if self.p_value is not None:
            line += " p < 0.001" if self.p_value < 0.001 else f" p = {self.p_value:.3f}"
        return f"{line}\n  {self._provenance()}" if full else line

    def _counts(self) -> str:
        groups = self.extra.get("groups")
        return f"n = {self.n}" + (f", {groups} groups" if groups is not None else "")

    def _provenance(self) -> str:
        sign = self.signature
        seed = sign.seed if not sign.spawn_key else f"{sign.seed}/{'.'.join(map(str, sign.spawn_key))}"
        parts = {
            "level": f"{self.level:g}",
            "target": self.target,
            "method": self.method,
            "clusters": self.clusters,
            "resamples": sign.resamples,
            "seed": seed if sign.seed is not None else None,
            "version": sign.version,
        }
        return "; ".join(f"{key} {value}" for key, value in parts.items() if value is not None)


def _fixed(value: float, digits: int) -> str:
    """Return a fixed-point number without a minus sign before zero."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text
