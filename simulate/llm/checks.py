"""Before anything is paid: is there such a model, is its key set, does it take the settings it is configured with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from annotate.config import ModelConfig
from annotate.errors import ModelError
from simulate.llm.faults import refused_setting
from simulate.llm.payload import is_local, settings_of
from simulate.llm.request import CallFailed
from simulate.llm.structured import self_hosted

NOTHING_PAID = "nothing was sent or paid."
_SAMPLING = ("temperature", "top_p", "seed")

# What litellm does not know: models that take temperature or top_p, but not both. As of 2026-05: Anthropic's since
# Claude Opus 4.1, by the error "`temperature` and `top_p` cannot both be specified for this model".
_ONE_OF_BOTH = re.compile(r"claude-(?:opus-4[.-]?[1-9]|(?:sonnet|haiku)-4[.-]?[5-9]|(?:opus|sonnet|haiku)-[5-9])\b")

# Providers that may find credentials elsewhere than in variables (profiles, metadata servers): no variable is missed.
_OWN_CREDENTIALS = frozenset({"bedrock", "bedrock_converse", "sagemaker", "sagemaker_chat", "vertex_ai"})

# Providers of which one variable of several is enough.
_ANY_ONE = frozenset({"gemini"})


def preflight(models: Mapping[str, ModelConfig]) -> None:
    """Raise `ModelError` with one sentence for the first model that cannot be used as configured; asks nobody.

    `models` are the `[models.NAME]` sections that will be used. Checks what litellm and a small table of our own know:
    the provider, the environment variables of its key, and settings that the model turns down.
    """
    for name, model in models.items():
        settings = settings_of(name, model)
        if is_local(model):
            continue
        _check_provider(name, model)
        _check_environment(name, model)
        for setting in _SAMPLING:
            if setting in settings:
                _check_setting(name, model, setting, settings)
        if {"temperature", "top_p"} <= settings.keys() and _ONE_OF_BOTH.search(model.model):
            raise ModelError(
                f"Model {model.model!r} refuses temperature {settings['temperature']} together with top_p "
                f"{settings['top_p']}: set top_p = \"default\" for it in study.toml ([models.{name}]), "
                f"or choose another; {NOTHING_PAID}"
            )


def refusal(name: str, model: ModelConfig, setting: str) -> ModelError:
    """Return the error for a sampling setting that a model turns down."""
    value = settings_of(name, model).get(setting)
    return ModelError(
        f"Model {model.model!r} refuses {setting} {value}: set {setting} = \"default\" for it in study.toml "
        f"([models.{name}]), or choose another; {NOTHING_PAID}"
    )


def as_model_error(failed: CallFailed, name: str, model: ModelConfig) -> ModelError | None:
    """Return the error that ends a run where every further call to the model would fail in the same way, else None."""
    if failed.kind == "refused_setting":
        setting = refused_setting(failed.message, settings_of(name, model))
        if setting in _SAMPLING:
            return refusal(name, model, setting)
        what = f"refuses {setting}" if setting else "refuses a setting"
        return _error(name, model, f"{what} ({failed.message}): change [models.{name}]")
    if failed.kind == "authentication":
        return _error(name, model, f"turned the key down ({failed.message}): check the key in the environment")
    if failed.kind == "no_such_model":
        return _error(name, model, f"is not there ({failed.message}): check the name in [models.{name}]")
    if failed.kind == "budget":
        return _error(name, model, f"has no credit left ({failed.message}): top up the account")
    return None


def _error(name: str, model: ModelConfig, what: str) -> ModelError:
    return ModelError(f"Model {model.model!r} {what.rstrip('.')}, or choose another for [models.{name}].")


def _check_provider(name: str, model: ModelConfig) -> None:
    from simulate.llm.litellm_transport import provider_of

    if provider_of(model.model) is None:
        raise ModelError(
            f"Model {model.model!r} names no provider that is known: write 'provider/name', or 'openai/name' with an "
            f"api_base for a server of your own, in study.toml ([models.{name}]); {NOTHING_PAID}"
        )


def _check_environment(name: str, model: ModelConfig) -> None:
    from simulate.llm.litellm_transport import missing_environment, provider_of

    found = provider_of(model.model)
    if self_hosted(model) or found is None or found[1] in _OWN_CREDENTIALS:
        return
    missing = missing_environment(model.model, model.api_base)
    if model.api_base is not None:
        missing = [key for key in missing if "BASE" not in key]
    if missing:
        raise ModelError(
            f"Model {model.model!r} needs {_listed(missing, found[1] in _ANY_ONE)} in the environment: set it first, "
            f"or choose another model for [models.{name}]; {NOTHING_PAID}"
        )


def _listed(names: list[str], one_is_enough: bool) -> str:
    if one_is_enough:
        return " or ".join(names)
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _check_setting(name: str, model: ModelConfig, setting: str, settings: Mapping[str, Any]) -> None:
    from simulate.llm.litellm_transport import refuses

    if refuses(model.model, {setting: settings[setting]}, settings):
        raise refusal(name, model, setting)
