"""The purse of a run: money is reserved before a call is sent and settled when it is back."""

from __future__ import annotations

import asyncio

from annotate.errors import BudgetError


class Purse:
    """What may be spent and what is; amounts in US dollars, calls counted when they are sent."""

    def __init__(self, budget_usd: float | None, max_calls: int | None) -> None:
        self.budget_usd = budget_usd
        self.max_calls = max_calls
        self.spent_usd = 0.0
        self.calls = 0
        self._reserved_usd = 0.0
        self._open = 0
        self._settled = asyncio.Event()

    async def reserve(self, model: str, most_usd: float | None) -> float:
        """Set aside the most a call may cost, waiting for calls under way that hold it; raises `BudgetError`."""
        most = most_usd or 0.0
        while True:
            if self.max_calls is not None and self.calls >= self.max_calls:
                raise BudgetError(
                    f"The limit of {self.max_calls} calls is reached: raise 'calls' in [run], or stop here; "
                    "what was answered is kept."
                )
            if self._fits(most):
                break
            if not self._open:
                raise BudgetError(
                    f"The budget of ${self.budget_usd:.2f} does not cover the next call to {model!r}: "
                    f"${self.spent_usd:.4f} is spent and it may cost ${most:.4f}; raise the budget, or stop here; "
                    "what was paid for is kept."
                )
            await self._settled.wait()
        self.calls += 1
        self._reserved_usd += most
        self._open += 1 if most else 0
        return most

    def settle(self, reserved: float, cost_usd: float | None) -> None:
        """Give back what was set aside and take what the call really cost."""
        self.spent_usd += cost_usd or 0.0
        self._reserved_usd -= reserved
        self._open -= 1 if reserved else 0
        if not self._open:
            self._reserved_usd = 0.0
        self._settled.set()
        self._settled = asyncio.Event()

    def _fits(self, most: float) -> bool:
        # A call that certainly costs nothing, or whose price is unknown, is not held back by a budget.
        if self.budget_usd is None or not most:
            return True
        return self.spent_usd + self._reserved_usd + most <= self.budget_usd + 1e-9
