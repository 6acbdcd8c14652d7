"""How a turn ends: outcome, error, and what it used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from dragoman.agents.claude import model, native
from dragoman.schema.events import Context, ModelUsage, Outcome, Usage
from dragoman.steps import EndTurn, Report
from dragoman.wire import counts

_TOLD = ("num_turns", "duration_ms", "duration_api_ms", "terminal_reason", "origin",
         "local_command", "permission_denials")  # fmt: skip


def outcome_of(result: native.Result) -> Outcome:
    """Whether the turn was done, cut, or failed."""
    why = result.terminal_reason
    if why is not None and why.startswith("aborted"):
        return "interrupted"
    if result.subtype == "error_during_execution" and why is None and not result.errors:
        return "interrupted"  # as versions before 2.1.300 say it
    failed = result.is_error or result.subtype != "success"
    return "failed" if failed else "completed"


def end_of(result: native.Result, usage: Usage | None) -> EndTurn:
    """The end of the turn."""
    told = {name: getattr(result, name) for name in _TOLD}
    # An error is told as a message that stops by itself, which says nothing about the model.
    made_up = result.terminal_reason == "api_error" and result.stop_reason == "stop_sequence"
    return EndTurn(
        outcome=outcome_of(result),
        usage=usage,
        stop_reason=None if made_up else result.stop_reason,
        metadata={name: value for name, value in told.items() if value not in (None, ())},
    )


def failure_of(result: native.Result) -> Report:
    """Why the turn failed, where nothing said it before."""
    said = "; ".join(result.errors or ()) or result.result or result.subtype
    code = result.api_error_type or result.api_error or result.subtype
    return Report(message=said, code=code, details=_details(result.api_error_status, None))


def api_error(line: native.Assistant, text: str) -> Report:
    """An error of the model's API, which Claude Code tells as a message of its own."""
    code = line.api_error_type or line.api_error or line.error or "api_error"
    if line.message.stop_reason == "refusal" or line.refused_message_id is not None:
        code = "refusal"
    return Report(message=text, code=code, details=_details(line.api_error_status, line.request_id))


def _details(status: int | None, request_id: str | None) -> dict[str, Any] | None:
    told = {"status": status, "request_id": request_id}
    return {name: value for name, value in told.items() if value is not None} or None


class Meter:
    """What each turn used. Claude Code counts on through a process, and over resumes."""

    def __init__(self) -> None:
        self._totals: dict[str, native.ModelTokens] = {}

    def reset(self) -> None:
        """Another process, or another conversation, counts from zero."""
        self._totals = {}

    def usage(self, result: native.Result, cut: Iterable[Answer] = ()) -> Usage | None:
        """The turn's own share of what the result counts, with answers that it does not."""
        told = (result.model_usage or {}).items()
        totals = {name: _counted(total, self._totals.get(name, _NOTHING)) for name, total in told}
        if result.model_usage_since_last_result is not None:
            told = result.model_usage_since_last_result.items()
            own = {name: _counted(used, _NOTHING) for name, used in told}
        else:
            before = self._totals
            own = {name: _less(now, before.get(name, _NOTHING)) for name, now in totals.items()}
        self._totals = totals
        models = {name: _model(used) for name, used in own.items() if used != _NOTHING}
        _add(models, cut)
        return _usage(models) if models or totals else None


_NOTHING = native.ModelTokens()
_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens",
           "cache_creation_input_tokens", "thinking_tokens")  # fmt: skip


def _usage(models: dict[str, ModelUsage]) -> Usage:
    """What all models used together; a cost, unless none is known."""
    costs = [used.cost_usd for used in models.values() if used.cost_usd is not None]
    known = bool(costs) or not models
    return Usage(
        input_tokens=sum(used.input_tokens for used in models.values()),
        cached_input_tokens=sum(used.cached_input_tokens for used in models.values()),
        cache_write_tokens=sum(used.cache_write_tokens for used in models.values()),
        output_tokens=sum(used.output_tokens for used in models.values()),
        reasoning_tokens=sum(used.reasoning_tokens for used in models.values()),
        cost_usd=round(sum(costs), 9) if known else UNSET,
        cost_source="reported" if known else UNSET,
        models=models,
    )


def _counted(told: native.ModelTokens, known: native.ModelTokens) -> native.ModelTokens:
    """The counts; in place of what is none, what was known before."""
    found: dict[str, float | None] = {name: counts.tokens(getattr(told, name)) for name in _COUNTS}
    found["cost_usd"] = counts.usd(told.cost_usd)
    counted = {name: count for name, count in found.items() if count is not None}
    return msgspec.structs.replace(known, **counted)


def _less(now: native.ModelTokens, before: native.ModelTokens) -> native.ModelTokens:
    if now.output_tokens < before.output_tokens:
        return now
    names = (*_COUNTS, "cost_usd")
    rest = {name: counts.grown(getattr(now, name), getattr(before, name)) for name in names}
    return native.ModelTokens(**rest)


def _model(used: native.ModelTokens) -> ModelUsage:
    return ModelUsage(
        input_tokens=used.input_tokens,
        cached_input_tokens=used.cache_read_input_tokens,
        cache_write_tokens=used.cache_creation_input_tokens,
        output_tokens=used.output_tokens,
        reasoning_tokens=used.thinking_tokens,
        cost_usd=round(used.cost_usd, 9),
    )


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


Answer = tuple[str, model.Tokens]
"""The model, and what it said that one answer used."""


class Answers:
    """What answers used that no result has counted: all that is known of a turn without one."""

    def __init__(self) -> None:
        self._told: dict[str, Answer] = {}
        self._open: str | None = None

    def hear(self, event: model.AnyStreamed, *, interrupting: bool) -> None:
        """An answer streams. One that an interrupt cuts is in no result."""
        if isinstance(event, model.MessageStart):
            self._open = event.message.id
            self.read(event.message)
        elif isinstance(event, model.MessageDelta) and self._open is not None:
            name, tokens = self._told[self._open]
            self._told[self._open] = name, _merged(tokens, event.usage)
            # Claude Code makes one up, without a reason, where the model's own never came.
            self._open = None if event.delta.stop_reason else self._open
        elif isinstance(event, model.MessageStop) and not interrupting:
            self._open = None

    def read(self, message: model.MessageHead | native.ModelMessage) -> None:
        """An answer, or a piece of one, as a subagent's lines have it."""
        self._told[message.id] = message.model or "unknown", _merged(model.Tokens(), message.usage)

    def cut(self) -> Iterator[Answer]:
        """The answer that was not said to its end."""
        if self._open is not None:
            yield self._told[self._open]

    def usage(self) -> Usage | None:
        """What they used together; None: there was no answer."""
        models: dict[str, ModelUsage] = {}
        _add(models, self._told.values())
        return _usage(models) if models else None

    def clear(self) -> None:
        """They are counted, or the process that would is gone."""
        self._told.clear()
        self._open = None


def _merged(tokens: model.Tokens, told: model.Tokens | None) -> model.Tokens:
    """The counts of an answer come at its start, and some of them again at its end."""
    found = {} if told is None else msgspec.structs.asdict(told)
    known = {name: count for name, count in found.items() if counts.tokens(count) is not None}
    return msgspec.structs.replace(tokens, **known)


class Gauge:
    """How full the model's window is: what the last answer read, and wrote."""

    def __init__(self) -> None:
        self._model: str | None = None
        self._tokens = model.Tokens()

    def hear(self, event: model.AnyStreamed) -> None:
        """An answer streams."""
        if isinstance(event, model.MessageStart):
            self._model = event.message.model
            self._tokens = _merged(model.Tokens(), event.message.usage)
        elif isinstance(event, model.MessageDelta):
            self._tokens = _merged(self._tokens, event.usage)

    def compacted(self, tokens: Any) -> None:
        """The conversation has this many tokens now."""
        if counts.tokens(tokens) is not None:
            self._tokens = model.Tokens(input_tokens=tokens)

    def context(self, result: native.Result) -> Context | None:
        """What is known at the end of a turn."""
        known = (result.model_usage or {}).get(self._model or "")
        window = None if known is None else counts.tokens(known.context_window)
        used = sum(filter(None, msgspec.structs.astuple(self._tokens)))
        return Context(used=used, window=window) if used and window is not None else None
