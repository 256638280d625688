"""The only file that imports litellm: sends and streams calls, and answers what litellm knows about models.

litellm is imported inside functions, after the environment said that it must not fetch anything; none of its global
settings is touched, every choice goes with the call.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakSet

from annotate.errors import ModelError
from simulate.llm.quiet import quiet_output
from simulate.llm.request import Structured

# Read by litellm when it is imported: no table from the network, no search for .env files, only errors in its log.
_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_OFFLINE_MODE": "true",
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOG": "ERROR",
}
_loaded = threading.Event()
_PER_CALL: dict[str, Any] = {"drop_params": False, "max_retries": 0, "num_retries": 0}


def load_litellm() -> Any:
    """Import litellm (some seconds the first time) and return it."""
    fresh = "litellm" not in sys.modules
    if fresh:
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        # litellm makes its coroutines in a thread; a call cancelled at that moment leaves one that nobody awaits.
        warnings.filterwarnings(
            "ignore", r"coroutine '.*(acompletion|async_completion)\w*' was never awaited", RuntimeWarning
        )
    import litellm

    if fresh:
        # litellm brings some 400,000 objects that never die; frozen, they no longer stop every full garbage collection
        # for half a second.
        gc.collect()
        gc.freeze()
    _loaded.set()
    return litellm


def litellm_is_loaded() -> bool:
    """Whether the import is over (in `sys.modules` it stands as soon as it begins)."""
    return _loaded.is_set()


class LitellmTransport:
    """Sends calls through litellm; close it, or its connections stay open."""

    _open: ClassVar[WeakSet[LitellmTransport]] = WeakSet()

    def __init__(self) -> None:
        self._open.add(self)

    async def send(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Send a call and return the OpenAI-shaped reply; raises litellm's exceptions."""
        litellm = load_litellm()
        with quiet_output():
            try:
                reply = await litellm.acompletion(**_arguments(payload))
            except ImportError as error:
                raise _missing_package(payload, error) from None
        return as_dict(reply)

    async def stream(self, payload: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Yield the chunks of a reply; `usage` only where the provider sent it (litellm would make one up)."""
        litellm = load_litellm()
        arguments = {**_arguments(payload), "stream": True, "stream_options": {"include_usage": True}}
        with quiet_output():
            try:
                pieces = await litellm.acompletion(**arguments)
            except ImportError as error:
                raise _missing_package(payload, error) from None
        iterator = pieces.__aiter__()
        while True:
            with quiet_output():
                try:
                    piece = await iterator.__anext__()
                except StopAsyncIteration:
                    return
            chunk = as_dict(piece)
            if chunk.get("usage") and not _provider_sent_usage(pieces):
                chunk["usage"] = None
            yield chunk

    async def aclose(self) -> None:
        """Close the connections once no other transport of this process is open."""
        if self in self._open:
            self._open.remove(self)
            if not self._open and litellm_is_loaded():
                await _close_clients()


def _arguments(payload: Mapping[str, Any]) -> dict[str, Any]:
    arguments = {**payload, **_PER_CALL}
    own_server = str(payload["model"]).startswith("openai/") and payload.get("api_base")
    if own_server and "api_key" not in payload and not os.environ.get("OPENAI_API_KEY"):
        arguments["api_key"] = "none"  # the client insists on one, a server of one's own mostly asks for none
    return arguments


def _missing_package(payload: Mapping[str, Any], error: ImportError) -> ModelError:
    package = error.name or str(error)
    return ModelError(
        f"Model {payload['model']!r} needs the package {package!r}: pip install {package}, or choose another model; "
        "nothing was sent or paid."
    )


def as_dict(reply: Any) -> dict[str, Any]:
    """Return a reply or a chunk as plain data."""
    dump = getattr(reply, "model_dump", None)
    return dict(dump() if callable(dump) else reply)


def _provider_sent_usage(pieces: Any) -> bool:
    chunks = getattr(pieces, "chunks", None)
    return chunks is None or any(getattr(chunk, "usage", None) for chunk in chunks)


async def _close_clients() -> None:
    """Close litellm's cached clients, and forget them: a closed one would fail the next call."""
    litellm = load_litellm()
    await import_module("litellm.llms.custom_httpx.async_client_cleanup").close_litellm_async_clients()
    cache = getattr(litellm, "in_memory_llm_clients_cache", None)
    if cache is not None:
        cache.flush_cache()


@lru_cache(maxsize=512)
def provider_of(model: str) -> tuple[str, str] | None:
    """Return (name without provider, provider), or None where litellm knows no such provider."""
    litellm = load_litellm()
    with quiet_output():
        try:
            name, provider, _, _ = litellm.get_llm_provider(model)
        except litellm.exceptions.BadRequestError:
            return None
    return name, provider


def price_entry(model: str) -> Mapping[str, Any] | None:
    """Return litellm's table entry for exactly this model, or None; it never guesses by a similar name."""
    found = provider_of(model)
    if found is None:
        return None
    name, provider = found
    table: Mapping[str, Mapping[str, Any]] = load_litellm().model_cost
    exact = table.get(model)
    if exact is not None:
        return exact
    entry = table.get(name)
    return entry if entry is not None and str(entry.get("litellm_provider", "")).startswith(provider) else None


@lru_cache(maxsize=512)
def structured_support(model: str) -> Structured:
    """Return the best means of structured replies that litellm knows this model to have."""
    litellm = load_litellm()
    found = provider_of(model)
    if found is None:
        return "text"
    name, provider = found
    if litellm.supports_response_schema(name, provider):
        return "schema"
    return "tool" if litellm.supports_function_calling(name, provider) else "text"


def refuses(model: str, settings: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Whether litellm knows that the model turns these sampling settings down, given the other parameters."""
    litellm = load_litellm()
    found = provider_of(model)
    if found is None:
        return False
    from litellm.utils import get_optional_params

    known = {key: value for key, value in others.items() if key == "reasoning_effort"}
    with quiet_output():
        try:
            get_optional_params(model=found[0], custom_llm_provider=found[1], drop_params=False, **settings, **known)
        except litellm.exceptions.UnsupportedParamsError:
            return True
    return False


def missing_environment(model: str, api_base: str | None) -> list[str]:
    """Return the environment variables that litellm needs for this model and that are not set."""
    with quiet_output():
        report = load_litellm().validate_environment(model=model, api_base=api_base)
    return [] if report.get("keys_in_environment") else list(report.get("missing_keys") or [])


def count_tokens(model: str, messages: Sequence[Mapping[str, str]]) -> int:
    """Return how many tokens a prompt has by litellm's tokenizer for the model (an approximation for most)."""
    with quiet_output():
        return int(load_litellm().token_counter(model=model, messages=list(messages)))


# Models whose tokenizers some versions of litellm fetch, and the names under which tiktoken keeps its encodings.
_FETCHED = re.compile(r"llama-?[23]|replicate|command|cohere", re.IGNORECASE)
_ENCODINGS = {
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
}
_BASIC = "gpt-4"


def text_counter(model: str) -> tuple[Callable[[str], int], str] | None:
    """Return (tokens of a text, what counts them) for a model, without a network; None where no tokenizer is there.

    A model whose tokenizer would have to be fetched is counted with the encoding that comes with litellm.
    """
    litellm = load_litellm()
    own_folder = Path(litellm.__file__).parent / "litellm_core_utils" / "tokenizers"
    folder = Path(os.environ.get("CUSTOM_TIKTOKEN_CACHE_DIR") or own_folder)
    there = {name for name, file in _ENCODINGS.items() if (folder / file).is_file()}
    if "cl100k_base" not in there:
        return None
    own = provider_of(model) is not None and not _FETCHED.search(model) and "o200k_base" in there
    name = model if own else _BASIC

    def count(text: str) -> int:
        return int(litellm.token_counter(model=name, text=text.encode("utf-8", "replace").decode("utf-8")))

    with quiet_output():
        try:
            count("a text")
        except (OSError, ValueError):
            return None
    return count, f"litellm's tokenizer for {name}" if own else "litellm's cl100k_base"


def priced_names(model: str) -> list[str]:
    """Return the names `PROVIDER/MODEL` of litellm's table for this very model; none if it names its provider."""
    litellm = load_litellm()
    if provider_of(model) is not None:
        return []
    providers = {str(getattr(provider, "value", provider)) for provider in litellm.provider_list}
    return sorted(name for provider in providers if (name := f"{provider}/{model}") in litellm.model_cost)
