"""What a probe is, and how it fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from dragoman.errors import DragomanError
from dragoman.facts import Feature

if TYPE_CHECKING:
    from dragoman.testing.conform.context import ProbeContext


class ProbeFailure(DragomanError):
    """What was expected did not happen; this did."""

    title = "Missed"

    def __init__(self, expected: str, observation: str) -> None:
        super().__init__(f"expected {expected}; seen: {observation}")
        self.expected = expected
        self.observation = observation


class NoRecipe(DragomanError):
    """The agent's drill does not say how to make it do this."""

    title = "Untried"


Trial = Callable[["ProbeContext"], None]


class Probe(Struct, frozen=True, kw_only=True):
    """A trial of one feature; raises Missed where the stream does not show it."""

    name: str
    feature: Feature | None
    """None: every agent must pass."""
    trial: Trial


def expect(holds: object, expected: str, observation: object) -> None:
    """Raise Missed unless it holds."""
    if not holds:
        raise ProbeFailure(expected, str(observation))
