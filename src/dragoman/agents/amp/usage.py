"""Tokens of each turn, as far as Amp tells: neither the model, nor what it cost."""

from __future__ import annotations

from dragoman.agents.amp import native
from dragoman.schema.events import Usage
from dragoman.wire import counts


class UsageMeter:
    """Adds up what the answers of a turn used."""

    def __init__(self) -> None:
        self._usage: Usage | None = None

    def add(self, tokens: native.Tokens | None) -> None:
        """An answer is complete."""
        if tokens is None:
            return
        before = self._usage or Usage()
        self._usage = Usage(
            input_tokens=before.input_tokens + (counts.tokens(tokens.input_tokens) or 0),
            cached_input_tokens=before.cached_input_tokens
            + (counts.tokens(tokens.cache_read_input_tokens) or 0),
            cache_write_tokens=before.cache_write_tokens
            + (counts.tokens(tokens.cache_creation_input_tokens) or 0),
            output_tokens=before.output_tokens + (counts.tokens(tokens.output_tokens) or 0),
        )

    def end_turn(self) -> Usage | None:
        """What the turn used; None: no answer came."""
        usage, self._usage = self._usage, None
        return usage
