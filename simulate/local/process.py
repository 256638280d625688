"""The process that serves an embedded model. Run by `simulate.local.server`, as a file: it imports nothing of ours.

Reads its settings as one line of JSON from standard input, says on standard output where it listens or why it does
not, and ends with whoever started it: when standard input closes, or when its parent is another one.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

_LOOK_SECONDS = 1.0


def main() -> None:
    """Serve until the parent is gone."""
    parent = os.getppid()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    settings = json.loads(sys.stdin.buffer.readline())
    try:
        server = serve(settings)
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        said = {"error": f"{type(error).__name__}: {error}"}
    else:
        said = {"url": server.listening_address}
    answers.write(json.dumps(said) + "\n")
    answers.close()
    if "url" in said:
        _wait_for_the_end(parent)
    os._exit(0)


def serve(settings: dict[str, Any]) -> Any:
    """Start a server with the given settings; returns it when it listens.

    Without flash attention, whose sums depend on the number of threads: so a request with `cache_prompt` false gets
    one reply, whatever the threads, the slots and the requests beside it. What the cache keeps of a model's own words
    was summed one token at a time, and shifts log probabilities by up to 0.1.
    """
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["weights"]
    params.model_alias = {settings["alias"]}
    params.api_keys = [settings["api_key"]]
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.cors_origins, params.cors_credentials = "", False
    params.n_parallel = settings["slots"]
    params.n_ctx = settings["n_ctx"] * settings["slots"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.cache_ram_mib = settings["cache_mib"]
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.ctx_shift = False
    params.ui = params.endpoint_slots = False
    params.verbosity = 1
    return xllamacpp.Server(params)


def _wait_for_the_end(parent: int) -> None:
    closed = threading.Event()

    def watch() -> None:
        while sys.stdin.buffer.read(1):
            pass
        closed.set()

    threading.Thread(target=watch, daemon=True).start()
    while not closed.wait(_LOOK_SECONDS):
        if os.name == "posix" and os.getppid() != parent:
            return


if __name__ == "__main__":
    main()
