"""The tokens that turns use, from the totals that Codex counts on through a thread."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from dragoman.agents.codex import native
from dragoman.agents.codex.subagents import Owner
from dragoman.schema.events import Context, SessionUpdated, Usage
from dragoman.steps import Update
from dragoman.wire import counts

_COUNTS = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens",
           "reasoning_output_tokens")  # fmt: skip


class TokenCounter:
    """The totals of the session's threads, now and before the turn.

    Codex's totals go on over resumes, and a fork's begin with those of its origin.
    """

    def __init__(self) -> None:
        self._totals: dict[str, native.Tokens] = {}
        self._before: dict[str, native.Tokens] = {}

    def update(
        self, notification: native.UsageUpdated, owner: Owner, *, in_turn: bool
    ) -> Iterator[Update]:
        """A thread's new total; what a subagent uses between turns counts for the next turn."""
        thread, usage = owner.thread, notification.token_usage
        if owner.subagent is None:
            yield from _context(usage)
        # Of a thread that is resumed Codex tells again what was counted before.
        total = _counts(usage.total, self._totals.get(thread, native.Tokens()))
        if not in_turn and owner.subagent is None:
            self._before[thread] = total
        elif thread not in self._before:
            # A fork begins with what its origin has used.
            self._before[thread] = _without(total, _counts(usage.last, native.Tokens()))
        self._totals[thread] = total

    def end_turn(self) -> Usage | None:
        """What the turn has used; the next one begins here."""
        shares = [_since(self._before[name], total) for name, total in self._totals.items()]
        self._before = dict(self._totals)
        used = {name: sum(getattr(each, name) for each in shares) for name in _COUNTS}
        if not any(used.values()):
            return None
        cached, cache_write = used["cached_input_tokens"], used["cache_write_input_tokens"]
        return Usage(
            input_tokens=max(0, used["input_tokens"] - cached - cache_write),
            cached_input_tokens=cached,
            cache_write_tokens=cache_write,
            output_tokens=used["output_tokens"],
            reasoning_tokens=used["reasoning_output_tokens"],
        )


def _context(usage: native.TokenUsage) -> Iterator[Update]:
    """How full the context window is: what the last request read and wrote."""
    used = counts.tokens(usage.last.total_tokens)
    window = counts.tokens(usage.model_context_window)
    if used is not None and window is not None:
        yield Update(body=SessionUpdated(context=Context(used=used, window=window)))


def _counts(tokens: native.Tokens, before: native.Tokens) -> native.Tokens:
    """The counts; a value that is no count stays as it was before."""
    values = {name: counts.tokens(getattr(tokens, name)) for name in _COUNTS}
    return replace(before, **{name: count for name, count in values.items() if count is not None})


def _without(total: native.Tokens, last: native.Tokens) -> native.Tokens:
    rest = {name: max(0, getattr(total, name) - getattr(last, name)) for name in _COUNTS}
    return native.Tokens(**rest)


def _since(before: native.Tokens, now: native.Tokens) -> native.Tokens:
    rest = {name: counts.grown(getattr(now, name), getattr(before, name)) for name in _COUNTS}
    return native.Tokens(**rest)
