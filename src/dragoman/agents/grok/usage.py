"""Tokens of each turn and model, and how full the model's context window is."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from dragoman.dialects.acp import native
from dragoman.schema.events import Context, ModelUsage, Usage
from dragoman.wire import counts


class UsageMeter:
    """What turns use, as Grok tells it at their ends."""

    def __init__(self) -> None:
        self._windows: dict[str, int] = {}
        self._turn: Usage | None = None

    def opened(self, models: native.SessionModels | None) -> None:
        """The session can have these models."""
        for model in () if models is None else models.available_models:
            about = model.meta if isinstance(model.meta, dict) else {}
            if window := counts.tokens(about.get("totalContextTokens")):
                self._windows[model.model_id] = window

    def note(self, told: Any) -> None:
        """A turn has used this; where it failed, its reply does not say it."""
        self._turn = usage_of(told) or self._turn

    def of_turn(self, meta: Any) -> Usage | None:
        """What a turn has used, by its result or by what was told before it."""
        told = meta.get("usage") if isinstance(meta, dict) else None
        return usage_of(told) or self._turn

    def context(self, meta: Any) -> Context | None:
        """How full the window is, where a turn's result says it."""
        about = meta if isinstance(meta, dict) else {}
        window = self._windows.get(str(about.get("modelId")))
        used = counts.tokens(about.get("totalTokens"))
        return Context(used=used, window=window) if used and window else None

    def end_turn(self) -> None:
        """Forget the turn."""
        self._turn = None


def usage_of(told: Any) -> Usage | None:
    """Tokens in our terms; None: nothing is told. Grok's input has what was cached in it."""
    if not isinstance(told, dict):
        return None
    models = told.get("modelUsage")
    used = {
        name: _model_usage(each)
        for name, each in (models if isinstance(models, dict) else {}).items()
        if isinstance(each, dict)
    }
    total = _model_usage(told)
    return Usage(
        input_tokens=total.input_tokens,
        cached_input_tokens=total.cached_input_tokens,
        cache_write_tokens=total.cache_write_tokens,
        output_tokens=total.output_tokens,
        reasoning_tokens=total.reasoning_tokens,
        models=used or UNSET,
    )


def _model_usage(told: dict[str, Any]) -> ModelUsage:
    def count(name: str) -> int:
        return counts.tokens(told.get(name)) or 0

    cached, written = count("cachedReadTokens"), count("cacheCreationTokens")
    return ModelUsage(
        input_tokens=max(count("inputTokens") - cached - written, 0),
        cached_input_tokens=cached,
        cache_write_tokens=written,
        output_tokens=count("outputTokens"),
        reasoning_tokens=count("reasoningTokens"),
    )
