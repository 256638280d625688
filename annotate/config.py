"""`study.toml` and run files: an error names the file, the key, what is allowed and the nearest match."""

from __future__ import annotations

import json
import re
import tomllib
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from annotate.errors import ConfigError, nearest
from annotate.schema import ConsentScope, Scale

Model = TypeVar("Model", bound=BaseModel)
Setting = float | Literal["default"]
# Steps that pydantic puts into the place of an error for the branches of a union; they are no keys.
UNION_STEPS = re.compile(r"(function-|literal\[|constrained-).*|bool|float|int|str")


class Section(BaseModel):
    """Base of every section: frozen, no unknown key."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_in_place_of_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        field = cls.model_fields[str(info.field_name)]
        if isinstance(value, bool) and field.annotation is not bool:
            raise ValueError("true and false stand for neither a number nor a text here")
        return value


class StudySection(Section):
    """`[study]`: what the study is called, and where its records lie."""

    name: str = Field(min_length=1)
    language: str = "en"
    store: str = "sqlite:///store.db"
    scopes: tuple[ConsentScope, ...] = ()
    scopes_basis: str | None = None


class ModelConfig(Section):
    """`[models.NAME]`: a litellm model name (or `local/smollm2`) with its sampling settings.

    A sampling setting is a number, or `"default"`: then it is not sent at all.
    """

    model: str
    temperature: Setting = "default"
    top_p: Setting = "default"
    seed: int | Literal["default"] = "default"
    max_tokens: int = Field(default=1024, ge=1)
    concurrency: int = Field(default=8, ge=1, le=1000)
    context_tokens: int | None = Field(default=None, ge=1)
    timeout_seconds: float = Field(default=120, gt=0)
    retries: int = Field(default=4, ge=0, le=20)
    api_base: str | None = None
    structured: Literal["auto", "schema", "tool", "text"] = "auto"
    params: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _no_secrets(self) -> ModelConfig:
        secret = [k for k in self.params if "key" in k.lower() or "secret" in k.lower() or k.lower() == "token"]
        if secret:
            raise ValueError(f"{secret[0]!r} looks like a secret; secrets come from the environment only")
        return self

    @field_validator("params")
    @classmethod
    def _can_be_sent(cls, params: dict[str, Any]) -> dict[str, Any]:
        try:
            json.dumps(params, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"cannot be sent, since JSON has no such value ({error})") from None
        return params

    @field_validator("api_base")
    @classmethod
    def _is_an_address(cls, address: str | None) -> str | None:
        if address is None:
            return None
        if not re.match(r"https?://[^/\s]+", address):
            raise ValueError("an address begins with http:// or https://, such as http://localhost:8000/v1")
        if "@" in address.split("/")[2]:
            raise PydanticCustomError(
                "secret", "a password in an address is a secret; secrets come from the environment only"
            )
        return address


class PriceConfig(Section):
    """`[prices."MODEL"]`: what a model cost on a day: by million tokens, or by the hour of one's own GPUs.

    Exactly one of the two is given in full; `conversations_per_hour` is the measured rate of all `gpus` together.
    """

    input_usd_per_million: float | None = Field(default=None, ge=0)
    output_usd_per_million: float | None = Field(default=None, ge=0)
    cached_input_usd_per_million: float | None = Field(default=None, ge=0)
    gpu_hour_usd: float | None = Field(default=None, gt=0)
    gpus: float | None = Field(default=None, gt=0)
    conversations_per_hour: float | None = Field(default=None, gt=0)
    as_of: str

    @field_validator("as_of", mode="before")
    @classmethod
    def _is_a_day(cls, day: Any) -> Any:
        if isinstance(day, datetime):
            day = day.date()
        if isinstance(day, date):
            return day.isoformat()
        if isinstance(day, str):
            try:
                return date.fromisoformat(day.strip()).isoformat()
            except ValueError:
                raise ValueError('must be a day of the calendar, such as "2026-11-01"') from None
        return day

    @model_validator(mode="after")
    def _one_of_two_forms(self) -> PriceConfig:
        tokens = {name: getattr(self, name) for name in ("input_usd_per_million", "output_usd_per_million")}
        hours = {name: getattr(self, name) for name in ("gpu_hour_usd", "gpus", "conversations_per_hour")}
        by_tokens = any(v is not None for v in (*tokens.values(), self.cached_input_usd_per_million))
        by_hours = any(v is not None for v in hours.values())
        if by_tokens and by_hours:
            raise ValueError(
                "a price is either by million tokens or by GPU hours, and here are keys of both; leave out one kind"
            )
        if not by_tokens and not by_hours:
            raise ValueError(f"a price needs {' and '.join(tokens)}, or {', '.join(hours)}; here is neither")
        absent = [name for name, value in (hours if by_hours else tokens).items() if value is None]
        if absent:
            raise ValueError(f"{absent[0]!r} is missing, and without it the price is not complete; add it")
        return self

    @property
    def usd_per_conversation(self) -> float | None:
        """US dollars per conversation on one's own GPUs; None where the price is by tokens."""
        if self.gpu_hour_usd is None or self.gpus is None or self.conversations_per_hour is None:
            return None
        return self.gpu_hour_usd * self.gpus / self.conversations_per_hour


def age_days(price: PriceConfig, today: date) -> int:
    """Return how many days before `today` a price was true; negative where its day is still to come."""
    return (today - date.fromisoformat(price.as_of)).days


class TaskConfig(Section):
    """`[tasks.NAME]`: a task folder anywhere, and the tags by which its conversations are grouped."""

    path: str | None = None
    group_by: tuple[str, ...] | None = None


class TaxonomySection(Section):
    """`[taxonomy]`: a TOML file with further failure families and modes, relative to the study's folder."""

    path: str | None = Field(default=None, min_length=1)


class FidelitySection(Section):
    """`[fidelity]`: what is asked of user proxies; `usercal ufs` has an option for each, which comes first."""

    q: float = Field(default=0.84, ge=0, le=1)
    margin: float = Field(default=0.0, ge=0, le=1)
    basis: Literal["domains", "episodes"] = "domains"
    rollouts: int | None = Field(default=None, ge=1)
    prompts: int | None = Field(default=None, ge=1)
    max_seconds: float | None = Field(default=None, gt=0)
    max_turns: float | None = Field(default=None, gt=0)


class StrategyConfig(Section):
    """`[strategies.NAME]`: what a simulated user is given, and whether it thinks first."""

    think: bool = True
    parts: tuple[Literal["knowledge", "preferences", "writing", "interaction"], ...] = ()
    length_range: bool = False


class RunSection(Section):
    """`[run]`: which conversations are twinned, by which users, against which assistants, and who rates them."""

    name: str = Field(default="run", min_length=1)
    tasks: tuple[str, ...] = ()
    conversations: int | None = Field(default=None, ge=1)
    per_task: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    strategies: tuple[str, ...] = ("zero_shot_cot", "profile")
    user: str | None = None
    assistant: str | None = None
    assistants: dict[str, str] = Field(default_factory=dict)
    document: str | None = None
    extractor: str | None = None
    judges: tuple[str, ...] = ()
    scales: tuple[str, ...] = ()
    trials: int = Field(default=1, ge=1, le=1000)
    max_user_turns: int = Field(default=15, ge=1, le=200)
    user_max_tokens: int = Field(default=256, ge=16)
    assistant_max_tokens: int = Field(default=1024, ge=16)
    prompt_tokens: int | None = Field(default=None, ge=200)
    calls: int | None = Field(default=None, ge=1)
    budget_usd: float | None = Field(default=None, ge=0)
    concurrency: int = Field(default=16, ge=1, le=1000)


class ReportSection(Section):
    """`[report]`: how the numbers are computed."""

    resamples: int = Field(default=2000, ge=100, le=100_000)
    seed: int = Field(default=7, ge=0)
    equivalence_margin_points: float = Field(default=10, gt=0, lt=50)


class StudyConfig(Section):
    """The whole of `study.toml`."""

    study: StudySection
    models: dict[str, ModelConfig] = Field(default_factory=dict)
    prices: dict[str, PriceConfig] = Field(default_factory=dict)
    tasks: dict[str, TaskConfig] = Field(default_factory=dict)
    taxonomy: TaxonomySection = Field(default_factory=TaxonomySection)
    fidelity: FidelitySection = Field(default_factory=FidelitySection)
    scales: dict[str, Scale] = Field(default_factory=dict)
    strategies: dict[str, StrategyConfig] = Field(default_factory=dict)
    consent: dict[str, str] = Field(default_factory=dict)
    run: RunSection = Field(default_factory=RunSection)
    report: ReportSection = Field(default_factory=ReportSection)

    @model_validator(mode="before")
    @classmethod
    def _name_scales(cls, raw: Any) -> Any:
        return name_scales(raw)


def name_scales(raw: Any) -> Any:
    """Return a file's content with the names of its `[scales.NAME]` in them; `ValueError` where one says another."""
    if not isinstance(raw, dict) or not isinstance(raw.get("scales"), dict):
        return raw
    for name, scale in raw["scales"].items():
        if isinstance(scale, dict) and scale.get("name", name) != name:
            raise ValueError(f"[scales.{name}] says name = {scale['name']!r}; leave that line out")
    named = {name: {"name": name, **v} if isinstance(v, dict) else v for name, v in raw["scales"].items()}
    return {**raw, "scales": named}


def load_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file; raise `ConfigError` with file, line and remedy."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file. Check the path.") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start}). Save the file as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}. Fix that line.") from None
    except RecursionError:
        raise ConfigError(f"{path}: is nested too deeply to be read. Fix its brackets.") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}). Check the path and its permissions.") from None


def check(model: type[Model], raw: dict[str, Any], path: Path) -> Model:
    """Validate `raw` as `model`; raise `ConfigError` that names file, key, allowed keys and the nearest match."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        problems = sorted(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
        raise ConfigError(f"{path}: {_sentence(model, problems[0])}") from None


def _sentence(model: type[BaseModel], problem: Any) -> str:
    where = [str(step) for step in problem["loc"] if not UNION_STEPS.fullmatch(str(step))]
    key = ".".join(where) or "file"
    if problem["type"] == "extra_forbidden":
        allowed = _allowed(model, problem["loc"][:-1])
        return f"unknown key {key!r}{nearest(where[-1], allowed)} Allowed here: {', '.join(allowed)}."
    if problem["type"] == "missing":
        return f"key {key!r} is required and missing. Add it."
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "literal_error" and isinstance(problem["input"], str):
        message += nearest(problem["input"], re.findall(r"'([^']*)'", problem["ctx"]["expected"])).rstrip("?.")
    message = message[:1].lower() + message[1:]
    if not where:
        return f"{message}. Change it."
    shown = repr(problem["input"])
    # A whole section is not repeated: it is long, and may hold the very secret that is complained of.
    hidden = isinstance(problem["input"], (dict, list)) or problem["type"] == "secret"
    value = "" if hidden else f" (it is {_cut(shown)})"
    return f"key {key!r}: {message}{value}. Change it."


def _cut(shown: str, most: int = 60) -> str:
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."


def _allowed(model: type[BaseModel], loc: tuple[Any, ...]) -> list[str]:
    """Follow `loc` through the models and return the keys allowed at its end."""
    here: Any = model
    for step in loc:
        fields = getattr(here, "model_fields", {})
        if step in fields:
            here = fields[step].annotation
            if (origin := getattr(here, "__origin__", None)) in (dict, tuple):
                here = here.__args__[1 if origin is dict else 0]
    return sorted(getattr(here, "model_fields", {}))
