"""Where a model is: at a provider, or in a server that UserCal runs itself; and whether a prompt fits into it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from annotate.config import ModelConfig
from simulate.llm.cost import estimate_tokens
from simulate.llm.payload import Asked, Route, is_local


class LocalServer(Protocol):
    """What the gateway needs of the server of an embedded model."""

    base_url: str
    api_key: str
    model_id: str

    def count_prompt_tokens(self, messages: Sequence[Mapping[str, str]]) -> Any:
        """Return how many tokens the prompt has, chat template included."""
        ...


@dataclass(frozen=True)
class Destination:
    """Where a model is reached, how much it can read, and who counts its tokens."""

    model: ModelConfig
    route: Route
    context_tokens: int | None
    server: LocalServer | None = None

    async def too_long(self, asked: Asked) -> str | None:
        """Return a sentence where prompt and reply together exceed the context, else None; exact where it matters."""
        if self.context_tokens is None:
            return None
        room = self.context_tokens - asked.max_tokens
        if self.server is None and estimate_tokens(asked.messages) <= room:
            return None
        tokens = await self._count(asked.messages)
        if tokens <= room:
            return None
        return (
            f"the prompt has {tokens} tokens and the reply may have {asked.max_tokens}, more than the context of "
            f"{self.context_tokens} of {self.model.model!r}; shorten the prompt, or lower max_tokens"
        )

    async def _count(self, messages: list[dict[str, str]]) -> int:
        if self.server is None:
            from simulate.llm.litellm_transport import count_tokens

            return await asyncio.to_thread(count_tokens, self.model.model, messages)
        counted = await asyncio.to_thread(self.server.count_prompt_tokens, messages)
        return int(await counted if inspect.isawaitable(counted) else counted)


async def find_destination(model: ModelConfig) -> Destination:
    """Return where a model is reached; an embedded model's server is started where it does not run yet."""
    if not is_local(model):
        return Destination(model, Route(model.model, model.api_base), model.context_tokens)
    from simulate.local import get_server

    server: LocalServer = await asyncio.to_thread(get_server, model.model)
    context = model.context_tokens or getattr(server, "context_tokens", None)
    return Destination(model, Route(f"openai/{server.model_id}", server.base_url, server.api_key), context, server)
