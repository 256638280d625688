"""Put a streamed reply together again: the same shape as one that came in one piece."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from simulate.llm.request import StreamingTransport


async def stream_reply(
    transport: StreamingTransport, payload: dict[str, Any], on_text: Callable[[str], None]
) -> dict[str, Any]:
    """Hand every piece of text to `on_text` as it comes; return the OpenAI-shaped whole."""
    pieces: list[str] = []
    reason: str | None = None
    usage: Any = None
    refusal: str = ""
    async for chunk in transport.stream(payload):
        usage = chunk.get("usage") or usage
        choices = chunk.get("choices") or []
        if not choices or not isinstance(choices[0], Mapping):
            continue
        delta = choices[0].get("delta") or {}
        reason = choices[0].get("finish_reason") or reason
        refusal += delta.get("refusal") or ""
        text = delta.get("content")
        if isinstance(text, str) and text:
            pieces.append(text)
            on_text(text)
    message = {"role": "assistant", "content": "".join(pieces), "refusal": refusal or None}
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage}
