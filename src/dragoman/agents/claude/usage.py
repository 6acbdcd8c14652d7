"""Tokens and cost of each turn, and how full the model's context window is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from dragoman.agents.claude import native
from dragoman.schema.events import Context, ModelUsage, Usage
from dragoman.wire import counts


class UsageMeter:
    """Counts what the turns of a session use."""

    def __init__(self) -> None:
        self._totals = _Totals()
        self._answers = _Answers()
        self._window = _ContextWindow()

    def stream(self, event: native.AnyModelEvent, *, is_interrupting: bool) -> None:
        """An answer of the main agent streams."""
        self._window.stream(event)
        self._answers.stream(event, is_interrupting=is_interrupting)

    def add_subagent(self, message: native.ModelMessage) -> None:
        """A subagent's answer, or a block of it."""
        self._answers.add(message)

    def compact(self, tokens: Any) -> None:
        """The conversation was compacted to this many tokens."""
        self._window.compact(tokens)

    def end_turn(self, result: native.Result, *, is_interrupted: bool) -> Usage | None:
        """What the turn that ends has used."""
        unfinished = self._answers.unfinished() if is_interrupted else ()
        usage = self._totals.usage(result, unfinished)
        self._answers.clear()
        return usage

    def context(self, result: native.Result) -> Context | None:
        """How full the model's window is at the end of a turn, where that is known."""
        return self._window.context(result)

    def reset(self) -> None:
        """Another conversation counts from zero."""
        self._totals.reset()

    def close(self) -> Usage | None:
        """The process is gone: what the turn used that it has not counted."""
        usage = self._answers.usage()
        self._answers.clear()
        self._totals.reset()
        return usage


# --- What a result counts ---

_ZERO = native.ModelTokens()
_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens",
           "cache_creation_input_tokens", "thinking_tokens")  # fmt: skip


class _Totals:
    """What each model used so far. Claude Code counts on from turn to turn, and over resumes."""

    def __init__(self) -> None:
        self._totals: dict[str, native.ModelTokens] = {}

    def reset(self) -> None:
        """Another process, or another conversation, counts from zero."""
        self._totals = {}

    def usage(self, result: native.Result, unfinished: Iterable[Answer]) -> Usage | None:
        """The turn's own share of what the result counts, with answers that it does not."""
        before = self._totals
        self._totals = {
            name: _valid(total, before.get(name, _ZERO))
            for name, total in (result.model_usage or {}).items()
        }
        if result.model_usage_since_last_result is not None:
            since = result.model_usage_since_last_result.items()
            own = {name: _valid(tokens, _ZERO) for name, tokens in since}
        else:
            now = self._totals.items()
            own = {name: _since(before.get(name, _ZERO), total) for name, total in now}
        models = {name: _model_usage(tokens) for name, tokens in own.items() if tokens != _ZERO}
        _add(models, unfinished)
        return _usage(models) if models or self._totals else None


def _valid(tokens: native.ModelTokens, before: native.ModelTokens) -> native.ModelTokens:
    """The counts; in place of a wrong one, the one before."""
    checked: dict[str, float | None] = {
        name: counts.tokens(getattr(tokens, name)) for name in _COUNTS
    }
    checked["cost_usd"] = counts.usd(tokens.cost_usd)
    valid = {name: count for name, count in checked.items() if count is not None}
    return msgspec.structs.replace(before, **valid)


def _since(before: native.ModelTokens, now: native.ModelTokens) -> native.ModelTokens:
    if now.output_tokens < before.output_tokens:
        return now
    names = (*_COUNTS, "cost_usd")
    grown = {name: counts.grown(getattr(now, name), getattr(before, name)) for name in names}
    return native.ModelTokens(**grown)


def _model_usage(tokens: native.ModelTokens) -> ModelUsage:
    return ModelUsage(
        input_tokens=tokens.input_tokens,
        cached_input_tokens=tokens.cache_read_input_tokens,
        cache_write_tokens=tokens.cache_creation_input_tokens,
        output_tokens=tokens.output_tokens,
        reasoning_tokens=tokens.thinking_tokens,
        cost_usd=round(tokens.cost_usd, 9),
    )


def _usage(models: dict[str, ModelUsage]) -> Usage:
    """What all models used together; a cost, unless that of each is unknown."""
    costs = [used.cost_usd for used in models.values() if used.cost_usd is not None]
    has_cost = bool(costs) or not models
    return Usage(
        input_tokens=sum(used.input_tokens for used in models.values()),
        cached_input_tokens=sum(used.cached_input_tokens for used in models.values()),
        cache_write_tokens=sum(used.cache_write_tokens for used in models.values()),
        output_tokens=sum(used.output_tokens for used in models.values()),
        reasoning_tokens=sum(used.reasoning_tokens for used in models.values()),
        cost_usd=round(sum(costs), 9) if has_cost else UNSET,
        cost_source="reported" if has_cost else UNSET,
        models=models,
    )


# --- What answers count themselves ---

Answer = tuple[str, native.AnswerTokens]
"""The model, and what it says that one answer used."""


class _Answers:
    """What answers used that no result has counted: all that is known of a turn without one."""

    def __init__(self) -> None:
        self._answers: dict[str, Answer] = {}
        self._open: str | None = None
        """The id of the answer that streams."""

    def stream(self, event: native.AnyModelEvent, *, is_interrupting: bool) -> None:
        """An answer streams. One that an interrupt cuts off is in no result."""
        if isinstance(event, native.MessageStart):
            self._open = event.message.id
            self.add(event.message)
        elif isinstance(event, native.MessageDelta) and self._open is not None:
            name, tokens = self._answers[self._open]
            self._answers[self._open] = name, _with_counts(tokens, event.usage)
            # Where the model's own never came, 2.1.325 sends one that has no stop reason.
            self._open = None if event.delta.stop_reason else self._open
        elif isinstance(event, native.MessageStop) and not is_interrupting:
            self._open = None

    def add(self, message: native.MessageHead | native.ModelMessage) -> None:
        """An answer, or a block of one, with its counts so far."""
        tokens = _with_counts(native.AnswerTokens(), message.usage)
        self._answers[message.id] = message.model or "unknown", tokens

    def unfinished(self) -> Iterator[Answer]:
        """The answer that was cut off."""
        if self._open is not None:
            yield self._answers[self._open]

    def usage(self) -> Usage | None:
        """What they used together; None: there was no answer."""
        models: dict[str, ModelUsage] = {}
        _add(models, self._answers.values())
        return _usage(models) if models else None

    def clear(self) -> None:
        """A result has counted them, or none will."""
        self._answers.clear()
        self._open = None


def _add(models: dict[str, ModelUsage], answers: Iterable[Answer]) -> None:
    for name, tokens in answers:
        used = models.get(name, ModelUsage())
        models[name] = msgspec.structs.replace(
            used,
            input_tokens=used.input_tokens + (tokens.input_tokens or 0),
            cached_input_tokens=used.cached_input_tokens + (tokens.cache_read_input_tokens or 0),
            cache_write_tokens=used.cache_write_tokens + (tokens.cache_creation_input_tokens or 0),
            output_tokens=used.output_tokens + (tokens.output_tokens or 0),
        )


def _with_counts(
    tokens: native.AnswerTokens, update: native.AnswerTokens | None
) -> native.AnswerTokens:
    """The counts of an answer come at its start, and some of them again at its end."""
    fields = {} if update is None else msgspec.structs.asdict(update)
    valid = {name: count for name, count in fields.items() if counts.tokens(count) is not None}
    return msgspec.structs.replace(tokens, **valid)


# --- The context window ---


class _ContextWindow:
    """How full the model's window is: what the last answer read and wrote."""

    def __init__(self) -> None:
        self._model: str | None = None
        self._tokens = native.AnswerTokens()

    def stream(self, event: native.AnyModelEvent) -> None:
        """An answer streams."""
        if isinstance(event, native.MessageStart):
            self._model = event.message.model
            self._tokens = _with_counts(native.AnswerTokens(), event.message.usage)
        elif isinstance(event, native.MessageDelta):
            self._tokens = _with_counts(self._tokens, event.usage)

    def compact(self, tokens: Any) -> None:
        """The conversation has this many tokens now."""
        if counts.tokens(tokens) is not None:
            self._tokens = native.AnswerTokens(input_tokens=tokens)

    def context(self, result: native.Result) -> Context | None:
        """What is known at the end of a turn."""
        tokens = (result.model_usage or {}).get(self._model or "")
        window = None if tokens is None else counts.tokens(tokens.context_window)
        used = sum(filter(None, msgspec.structs.astuple(self._tokens)))
        return Context(used=used, window=window) if used and window is not None else None
