"""How fast an embedded model reads and writes on this machine."""

from __future__ import annotations

from dataclasses import dataclass

from simulate.local.server import LocalServer


@dataclass(frozen=True)
class Speed:
    """Tokens read and written in one request, and how many of each per second."""

    prompt_tokens: int
    reply_tokens: int
    read_tokens_per_second: float
    write_tokens_per_second: float


def measure(server: LocalServer, prompt_tokens: int = 400, reply_tokens: int = 100) -> Speed:
    """Ask one thing of about the given length, nothing of it cached, and return how fast it went."""
    body = {
        "messages": [{"role": "user", "content": "word " * max(prompt_tokens - 30, 1)}],
        "max_tokens": reply_tokens,
        "temperature": 0.0,
        "ignore_eos": True,
        "cache_prompt": False,
    }
    timings = server.post("/chat/completions", body)["timings"]
    return Speed(
        prompt_tokens=timings["prompt_n"],
        reply_tokens=timings["predicted_n"],
        read_tokens_per_second=timings["prompt_per_second"],
        write_tokens_per_second=timings["predicted_per_second"],
    )
