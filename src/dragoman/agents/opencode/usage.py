"""What a turn used, summed over its model steps, those of subagents included."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET

from dragoman.agents.opencode import native
from dragoman.schema.events import Context, SessionUpdated, Usage
from dragoman.steps import Update
from dragoman.wire import counts


class StepUsage:
    """The steps of the running turn; each counts once, however often it is told."""

    def __init__(self) -> None:
        self.windows: dict[str, int] = {}
        """How large the context window of each model is."""
        self._steps: dict[str, native.StepFinishPart] = {}

    def add(
        self, part: native.StepFinishPart, model: str | None, *, is_subagent: bool
    ) -> Iterator[Update]:
        """A step is over; how full the context window is now."""
        self._steps[part.id] = part
        window = self.windows.get(model or "")
        if is_subagent or window is None:
            return
        tokens = part.tokens
        read, write = tokens.cache.read, tokens.cache.write
        parts = (tokens.input, tokens.output, tokens.reasoning, read, write)
        used = sum(map(_count, parts))
        if used:
            yield Update(body=SessionUpdated(context=Context(used=used, window=window)))

    def end_turn(self) -> Usage | None:
        """What the turn has used."""
        steps, self._steps = list(self._steps.values()), {}
        if not steps:
            return None
        cost = sum(counts.usd(step.cost) or 0.0 for step in steps)
        reasoning = sum(_count(step.tokens.reasoning) for step in steps)
        return Usage(
            input_tokens=sum(_count(step.tokens.input) for step in steps),
            cached_input_tokens=sum(_count(step.tokens.cache.read) for step in steps),
            cache_write_tokens=sum(_count(step.tokens.cache.write) for step in steps),
            # OpenCode (1.18.33) counts thoughts apart from what is said.
            output_tokens=sum(_count(step.tokens.output) for step in steps) + reasoning,
            reasoning_tokens=reasoning,
            cost_usd=cost or UNSET,
            cost_source="reported" if cost else UNSET,
        )


def _count(value: object) -> int:
    return counts.tokens(value) or 0
