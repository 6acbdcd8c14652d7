"""Tokens and cost of each turn, and how full the window is."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from dragoman.dialects.acp import native
from dragoman.schema.events import Context, SessionUpdated, Usage
from dragoman.wire import counts


class UsageMeter:
    """What turns use. What an agent tells in a reply is for its turn; costs are totals."""

    def __init__(self) -> None:
        self._cost = 0.0
        self._spent: float | None = None
        self._requests: list[native.TokenCounts] = []
        """Of this turn, where the agent tells of each."""
        self._context: Context | None = None

    def update(self, update: native.UsageUpdate) -> SessionUpdated | None:
        """The window, and the session's cost so far; None: nothing new that can be right."""
        cost = update.cost if isinstance(update.cost, dict) else {}
        total = counts.usd(cost.get("amount")) if cost.get("currency") == "USD" else None
        if total is not None:
            self._spent = (self._spent or 0.0) + counts.grown(total, self._cost)
            self._cost = total
        used, size = counts.tokens(update.used), counts.tokens(update.size)
        if used is None or not size:
            return None
        context = Context(used=used, window=size)
        if context == self._context:
            return None
        self._context = context
        return SessionUpdated(context=context)

    def request(self, meta: Any) -> None:
        """One request to the model; Qwen Code (0.24.4) tells of each in the `_meta` of an empty
        piece of its answer."""
        told = meta.get("usage") if isinstance(meta, dict) else None
        if isinstance(told, dict):
            self._requests.append(msgspec.convert(told, native.TokenCounts))

    def end_turn(self, told: native.TokenCounts | None) -> Usage | None:
        """What the turn has used."""
        requests, self._requests = self._requests, []
        spent, self._spent = self._spent, None
        parts = [usage_of(each) for each in requests or (() if told is None else (told,))]
        if not parts and not spent:
            return None
        return Usage(
            input_tokens=sum(each.input_tokens for each in parts),
            cached_input_tokens=sum(each.cached_input_tokens for each in parts),
            cache_write_tokens=sum(each.cache_write_tokens for each in parts),
            output_tokens=sum(each.output_tokens for each in parts),
            reasoning_tokens=sum(each.reasoning_tokens for each in parts),
            cost_usd=spent or UNSET,
            cost_source="reported" if spent else UNSET,
        )

    def reset(self) -> None:
        """Forget the process: the next one may count anew."""
        self._cost, self._spent = 0.0, None
        self._requests.clear()
        self._context = None


def usage_of(told: native.TokenCounts) -> Usage:
    """Tokens in our terms. The protocol leaves open whether what was cached is a part of the input,
    and thoughts a part of the output; the total tells it."""
    read, written = counts.tokens(told.cached_read_tokens), counts.tokens(told.cached_write_tokens)
    cached = (read or 0) + (written or 0)
    thought = counts.tokens(told.thought_tokens) or 0
    input, output = counts.tokens(told.input_tokens) or 0, counts.tokens(told.output_tokens) or 0
    total = counts.tokens(told.total_tokens)
    apart = cached + thought if total is None else total - input - output
    if cached and apart < cached and input >= cached:
        input -= cached
        apart += cached
    return Usage(
        input_tokens=input,
        cached_input_tokens=read or 0,
        cache_write_tokens=written or 0,
        output_tokens=output + (thought if thought and apart >= cached + thought else 0),
        reasoning_tokens=thought,
    )
