"""What turns use. Codex counts on through a thread, over resumes and forks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from dragoman.agents.codex import native
from dragoman.agents.codex.subagents import Owner
from dragoman.schema.events import Context, SessionUpdated, Usage
from dragoman.steps import Update
from dragoman.wire import counts

_COUNTS = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens",
           "reasoning_output_tokens")  # fmt: skip


class Meter:
    """The totals of the session's threads, and what of them was before the turn."""

    def __init__(self) -> None:
        self._totals: dict[str, native.Tokens] = {}
        self._before: dict[str, native.Tokens] = {}

    def hear(self, told: native.UsageUpdated, owner: Owner, *, in_turn: bool) -> Iterator[Update]:
        """A thread has used so much; what a subagent uses between turns is the next one's."""
        thread, usage = owner.thread, told.token_usage
        if owner.subagent is None:
            yield from _context_of(usage)
        # Of a thread that is resumed Codex tells again what was counted before.
        total = _counted(usage.total, self._totals.get(thread, native.Tokens()))
        if not in_turn and owner.subagent is None:
            self._before[thread] = total
        elif thread not in self._before:
            # A fork begins with what its origin has used.
            self._before[thread] = _without(total, _counted(usage.last, native.Tokens()))
        self._totals[thread] = total

    def usage(self) -> Usage | None:
        """The turn's own share; the next turn begins here."""
        own = [_since(self._before[name], total) for name, total in self._totals.items()]
        self._before = dict(self._totals)
        used = {name: sum(getattr(each, name) for each in own) for name in _COUNTS}
        if not any(used.values()):
            return None
        cached, written = used["cached_input_tokens"], used["cache_write_input_tokens"]
        return Usage(
            input_tokens=max(0, used["input_tokens"] - cached - written),
            cached_input_tokens=cached,
            cache_write_tokens=written,
            output_tokens=used["output_tokens"],
            reasoning_tokens=used["reasoning_output_tokens"],
        )


class Limits:
    """The account's limits, of which Codex tells now this and now that, and most of it again."""

    def __init__(self) -> None:
        self._known: dict[str | None, dict[str, Any]] = {}

    def hear(self, limits: dict[str, Any]) -> Iterator[Update]:
        """All that is known of a limit, if that changed."""
        given = limits.get("limitId")
        name = given if isinstance(given, str) else None
        known = self._known.get(name, {"limitId": name})
        now = {**known, **{key: value for key, value in limits.items() if value is not None}}
        self._known[name] = now
        if now != known:
            yield Update(body=SessionUpdated(rate_limits=now))


def _context_of(usage: native.TokenUsage) -> Iterator[Update]:
    """How full the window is: what the last request read and wrote."""
    used = counts.tokens(usage.last.total_tokens)
    window = counts.tokens(usage.model_context_window)
    if used is not None and window is not None:
        yield Update(body=SessionUpdated(context=Context(used=used, window=window)))


def _counted(told: native.Tokens, known: native.Tokens) -> native.Tokens:
    """The counts; in place of what is none, what was known before."""
    found = {name: counts.tokens(getattr(told, name)) for name in _COUNTS}
    return replace(known, **{name: count for name, count in found.items() if count is not None})


def _without(total: native.Tokens, last: native.Tokens) -> native.Tokens:
    rest = {name: max(0, getattr(total, name) - getattr(last, name)) for name in _COUNTS}
    return native.Tokens(**rest)


def _since(before: native.Tokens, now: native.Tokens) -> native.Tokens:
    rest = {name: counts.grown(getattr(now, name), getattr(before, name)) for name in _COUNTS}
    return native.Tokens(**rest)
