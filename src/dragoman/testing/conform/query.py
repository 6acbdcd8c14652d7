"""Queries over events for probes. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from msgspec import UNSET

from dragoman.schema.events import (
    Event,
    ItemCompleted,
    ItemDelta,
    TurnEnded,
)
from dragoman.schema.items import DeltaType, Item, ItemKind, Reasoning, Role, Text, ToolResult

Part = TypeVar("Part")


def items(
    events: Iterable[Event], kind: ItemKind | None = None, role: Role | None = None
) -> list[Item]:
    """Items that are complete."""
    return [
        event.data.item
        for event in events
        if isinstance(event.data, ItemCompleted)
        and kind in (None, event.data.item.kind)
        and role in (None, event.data.item.role)
    ]


def parts(found: Iterable[Item], type: type[Part]) -> list[Part]:
    """Their parts of one type."""
    return [part for item in found for part in item.content if isinstance(part, type)]


def text(events: Iterable[Event]) -> str:
    """What the agent itself said to the person."""
    own = [item for item in items(events, "message", "assistant") if item.subagent_id is UNSET]
    return "".join(part.text for part in parts(own, Text))


def reasoning(events: Iterable[Event]) -> str:
    """What it thought."""
    return "".join(part.text for part in parts(items(events), Reasoning))


def printed(events: Iterable[Event]) -> str:
    """What its tools gave back."""
    return "".join(part.output for part in parts(items(events), ToolResult))


def deltas(events: Iterable[Event], type: DeltaType = "text") -> list[ItemDelta]:
    """Pieces of what streamed."""
    found = [event.data for event in events if isinstance(event.data, ItemDelta)]
    return [delta for delta in found if delta.content_type == type]


def outcome(events: Iterable[Event]) -> str:
    """How the turn ended, as a person would say it."""
    ends = [event.data for event in events if isinstance(event.data, TurnEnded)]
    return str(ends[-1].outcome) if ends else "no end"


def ends_turn(event: Event) -> bool:
    """Whether a turn is over."""
    return isinstance(event.data, TurnEnded)


def is_answer(event: Event) -> bool:
    """Whether it is a piece of an answer: text from the agent."""
    return (
        isinstance(event.data, ItemDelta)
        and event.source == "agent"
        and event.data.content_type == "text"
    )
