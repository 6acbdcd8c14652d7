"""Tokens and cost of each turn, and how full the model's context window is."""

from __future__ import annotations

import msgspec
from msgspec import UNSET

from dragoman.agents.pi import native
from dragoman.schema.events import Context, ModelUsage, Usage
from dragoman.wire import counts


class UsageMeter:
    """Adds up what the answers of a turn used."""

    def __init__(self) -> None:
        self._models: dict[str, ModelUsage] = {}
        self._window: int | None = None
        self._context: int | None = None

    def set_model(self, model: native.Model) -> None:
        """The session works with this model now."""
        self._window = counts.tokens(model.context_window) or None

    def add(self, message: native.Message) -> None:
        """An answer is complete, or was cut."""
        tokens = message.usage
        if tokens is None:
            return
        used = _usage_of(tokens)
        name = f"{message.provider}/{message.model}" if message.provider else message.model
        self._add(name or "unknown", used)
        size = (
            used.input_tokens
            + used.cached_input_tokens
            + used.cache_write_tokens
            + used.output_tokens
        )
        self._context = size or self._context

    def add_tool(self, message: native.Message) -> None:
        """A tool is done, and may have asked a model itself."""
        if message.usage is not None:
            self._add(message.tool_name or "tool", _usage_of(message.usage))

    def compact(self, result: native.CompactionResult) -> None:
        """A summary was made; what the conversation is now is only estimated."""
        if result.usage is not None:
            self._add("compaction", _usage_of(result.usage))
        self._context = counts.tokens(result.estimated_tokens_after)

    def context(self) -> Context | None:
        """How full the window is, where both are known."""
        if not self._context or self._window is None:
            return None
        return Context(used=self._context, window=self._window)

    def end_turn(self) -> Usage | None:
        """What the turn used; None: no answer came."""
        models, self._models = self._models, {}
        if not models:
            return None
        costs = [each.cost_usd for each in models.values() if each.cost_usd is not None]
        return Usage(
            input_tokens=sum(each.input_tokens for each in models.values()),
            cached_input_tokens=sum(each.cached_input_tokens for each in models.values()),
            cache_write_tokens=sum(each.cache_write_tokens for each in models.values()),
            output_tokens=sum(each.output_tokens for each in models.values()),
            reasoning_tokens=sum(each.reasoning_tokens for each in models.values()),
            cost_usd=sum(costs) if costs else UNSET,
            # Pi multiplies tokens with the prices in its own list.
            cost_source="estimated" if costs else UNSET,
            models=models,
        )

    def _add(self, name: str, used: ModelUsage) -> None:
        before = self._models.get(name, ModelUsage())
        cost = used.cost_usd if before.cost_usd is None else before.cost_usd + (used.cost_usd or 0)
        fields = ("input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens",
                  "reasoning_tokens")  # fmt: skip
        sums = {name: getattr(before, name) + getattr(used, name) for name in fields}
        self._models[name] = ModelUsage(**sums, cost_usd=cost)


def _usage_of(tokens: native.Tokens) -> ModelUsage:
    counted = {
        name: counts.tokens(value) or 0
        for name, value in msgspec.structs.asdict(tokens).items()
        if name != "cost"
    }
    return ModelUsage(
        input_tokens=counted["input"],
        cached_input_tokens=counted["cache_read"],
        cache_write_tokens=counted["cache_write"],
        output_tokens=counted["output"],
        reasoning_tokens=counted["reasoning"],
        cost_usd=None if tokens.cost is None else counts.usd(tokens.cost.total),
    )
