"""Tokens, counted as AG-UI counts them: parts are inside of their totals."""

from __future__ import annotations

from dragoman.agui.events import TokenUsage
from dragoman.schema.events import ModelUsage, Usage

_MOST = 2**53 - 1
"""The largest number that a client in JavaScript holds."""


def token_usage(usage: Usage) -> tuple[TokenUsage, ...]:
    """One entry for each model, where the agent tells them apart."""
    if usage.models:
        return tuple(_entry(each, model) for model, each in usage.models.items())
    return (_entry(usage, None),)


def _entry(usage: Usage | ModelUsage, model: str | None) -> TokenUsage:
    given = usage.input_tokens + usage.cached_input_tokens + usage.cache_write_tokens
    # Agents differ in whether thoughts are part of what they call output; it is never less.
    output = max(usage.output_tokens, usage.reasoning_tokens)
    return TokenUsage(
        model=model,
        input_tokens=_count(given),
        output_tokens=_count(output),
        total_tokens=_count(given + output),
        reasoning_tokens=_count(usage.reasoning_tokens),
        cached_input_tokens=_count(usage.cached_input_tokens),
        cache_write_input_tokens=_count(usage.cache_write_tokens),
    )


def _count(number: int) -> int:
    return min(max(number, 0), _MOST)
