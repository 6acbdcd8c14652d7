"""Short words for events of a session, and for what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from dragoman.agents import adapters
from dragoman.agui.events import encode_agui
from dragoman.agui.frames import AguiFrame
from dragoman.agui.translate import Translator
from dragoman.schema.events import (
    Body,
    Event,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    TurnEnded,
    TurnStarted,
)
from dragoman.schema.items import ContentPart, Item, Text

Json = dict[str, Any]


def numbered(bodies: Iterable[Body], first: int = 1, native: str | None = "n-1") -> list[Event]:
    """Events of one session, in this order."""
    return [
        Event(
            event_id=f"evt_{number}",
            sequence=number,
            time="2026-11-18T09:00:00.500Z",
            session_id="s",
            native_session_id=native,
            synthetic=False,
            source="agent",
            type=body.type,
            data=body,
        )
        for number, body in enumerate(bodies, first)
    ]


def turn(*bodies: Body, turn_id: str = "turn_1", **end: Any) -> list[Body]:
    """A turn around what happens in it."""
    return [
        TurnStarted(turn_id=turn_id),
        *bodies,
        TurnEnded(turn_id=turn_id, **{"outcome": "completed", **end}),
    ]


def item(item_id: str, kind: Any = "message", *parts: ContentPart, **more: Any) -> Item:
    """A completed item of the agent."""
    role = {"tool_result": "tool", "status": "system"}.get(kind, "assistant")
    given = {"role": role, "status": "completed", **more}
    return Item(item_id=item_id, kind=kind, content=parts, **given)


def whole(found: Item) -> list[Body]:
    """An item that is there at once."""
    started = msgspec.structs.replace(found, status="in_progress")
    return [ItemStarted(item=started), ItemCompleted(item=found)]


def message(item_id: str, text: str, **more: Any) -> list[Body]:
    """A message that comes in one piece."""
    found = item(item_id, "message", Text(text=text), **more)
    empty = msgspec.structs.replace(found, content=(Text(text=""),), status="in_progress")
    return [
        ItemStarted(item=empty),
        ItemDelta(item_id=item_id, delta=text),
        ItemCompleted(item=found),
    ]


def translator(**more: Any) -> Translator:
    """A translator of the mock agent's sessions."""
    return Translator("thread", adapters()["mock"], **more)


def decoded(frames: Iterable[AguiFrame]) -> list[Json]:
    """Frames as a client reads them."""
    return [msgspec.json.decode(encode_agui(frame.event)) for frame in frames]


def translated(bodies: Iterable[Body], **more: Any) -> list[Json]:
    """What becomes of a session that is complete."""
    translator_ = translator(**more)
    frames = [frame for event in numbered(bodies) for frame in translator_.receive(event)]
    return decoded([*frames, *translator_.close()])


def kinds(events: Iterable[Json], *but: str) -> list[str]:
    """The types of events, but for those that are about the session."""
    return [each["type"] for each in events if each["type"] not in ("STATE_SNAPSHOT", *but)]
