"""Tokens and cost of each turn, and how full the window is."""

from __future__ import annotations

from msgspec import UNSET

from dragoman.dialects.acp import native
from dragoman.schema.events import Context, SessionUpdated, Usage
from dragoman.wire import counts


class UsageMeter:
    """What turns use. What an agent tells in a reply is for its turn; costs are totals."""

    def __init__(self) -> None:
        self._cost = 0.0
        self._spent: float | None = None

    def update(self, update: native.UsageUpdate) -> SessionUpdated | None:
        """The window, and the session's cost so far; None: nothing that can be right."""
        cost = update.cost if isinstance(update.cost, dict) else {}
        total = counts.usd(cost.get("amount")) if cost.get("currency") == "USD" else None
        if total is not None:
            self._spent = (self._spent or 0.0) + counts.grown(total, self._cost)
            self._cost = total
        used, size = counts.tokens(update.used), counts.tokens(update.size)
        if used is None or not size:
            return None
        return SessionUpdated(context=Context(used=used, window=size))

    def end_turn(self, told: native.TokenCounts | None) -> Usage | None:
        """What the turn has used."""
        spent, self._spent = self._spent, None
        cost = spent if spent else UNSET
        if told is None:
            return None if cost is UNSET else Usage(cost_usd=cost, cost_source="reported")
        return Usage(
            input_tokens=counts.tokens(told.input_tokens) or 0,
            cached_input_tokens=counts.tokens(told.cached_read_tokens) or 0,
            cache_write_tokens=counts.tokens(told.cached_write_tokens) or 0,
            output_tokens=counts.tokens(told.output_tokens) or 0,
            reasoning_tokens=counts.tokens(told.thought_tokens) or 0,
            cost_usd=cost,
            cost_source=UNSET if cost is UNSET else "reported",
        )

    def reset(self) -> None:
        """Forget the process: the next one may count anew."""
        self._cost, self._spent = 0.0, None
