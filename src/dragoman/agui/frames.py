"""Frames: AG-UI's events with their places in the stream, and what caused them."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct

from dragoman.agui.events import AguiEvent, encode_agui
from dragoman.agui.messages import MessageHistory
from dragoman.schema.events import Event
from dragoman.schema.items import Item

Place = tuple[int, int]
"""The event of the session at which a frame is said, and its number among those of that event."""


class AguiFrame(Struct, frozen=True):
    """An event of AG-UI, and its place in the stream."""

    place: Place
    event: AguiEvent

    @property
    def id(self) -> str:
        """Its place as a client names it in `Last-Event-ID`."""
        return f"{self.place[0]}.{self.place[1]}"

    def encode(self) -> bytes:
        """The frame as it is sent; AG-UI's client splits at LF alone."""
        return b"id: %s\ndata: %s\n\n" % (self.id.encode(), encode_agui(self.event))


def parse_place(text: str) -> Place | None:
    """A place by its id; None: it is none."""
    sequence, dot, index = text.partition(".")
    if not (dot and sequence.isdecimal() and index.isdecimal() and text.isascii()):
        return None
    return (int(sequence), int(index)) if len(text) <= 40 else None


class FrameWriter:
    """Gives every event its place, its time and its origin."""

    def __init__(self, history: MessageHistory) -> None:
        self.history = history
        self._frames: list[AguiFrame] = []
        self._sequence = 0
        self._index = 0
        self.cause: Event | None = None

    @property
    def cause_id(self) -> str:
        """The id of the event that what is said comes of."""
        return "" if self.cause is None else self.cause.event_id

    @property
    def session_id(self) -> str | None:
        """The session that is spoken of."""
        return None if self.cause is None else self.cause.session_id

    def move(self, sequence: int) -> None:
        """What is said from here on has its place at this event."""
        if sequence != self._sequence:
            self._sequence, self._index = sequence, 0

    def attribute(self, cause: Event) -> None:
        """What is said from here on comes of this event."""
        self.cause = cause

    def say(
        self,
        kind: type[AguiEvent],
        *,
        item: Item | None = None,
        about: dict[str, Any] | None = None,
        tanstack: dict[str, Any] | None = None,
        **fields: Any,
    ) -> None:
        """Say one event. `about` is told of it under our name, `tanstack` under theirs."""
        metadata: dict[str, Any] = {"dragoman": {**self._origin(item), **(about or {})}}
        if tanstack:
            metadata["tanstack"] = tanstack
        time = None if self.cause is None else milliseconds(self.cause.time)
        event = kind(timestamp=time, metadata=metadata, **fields)
        self._frames.append(AguiFrame((self._sequence, self._index), event))
        self._index += 1
        self.history.apply(event)

    def _origin(self, item: Item | None) -> dict[str, Any]:
        if self.cause is None:
            return {}
        origin: dict[str, Any] = {
            "sequence": self.cause.sequence,
            "eventId": self.cause.event_id,
        }
        if self.cause.synthetic:
            origin["synthetic"] = True
        if self.cause.native_session_id is not None:
            origin["nativeSessionId"] = self.cause.native_session_id
        if item is not None and item.native_item_id is not None:
            origin["nativeItemId"] = item.native_item_id
        return origin

    def take(self) -> list[AguiFrame]:
        """What was said since the last time."""
        frames, self._frames = self._frames, []
        return frames


_FACTS = {
    "status": "status",
    "phase": "phase",
    "stop_reason": "stopReason",
    "reason": "reason",
    "duration_ms": "durationMs",
    "message_id": "messageId",
    "title": "title",
    "server": "server",
    "command": "command",
    "cwd": "cwd",
    "exit_code": "exitCode",
    "output_path": "outputPath",
    "truncated": "truncated",
    "retracts": "retracts",
}


def facts_of(item: Item) -> dict[str, Any]:
    """What an item says beside its content."""
    found = ((name, getattr(item, field)) for field, name in _FACTS.items())
    return {name: value for name, value in found if value is not UNSET and value is not None}


def milliseconds(time: str) -> int | None:
    """A time of an event as a number; None where it is none."""
    try:
        year, month, day = (int(part) for part in time[:10].split("-"))
        hour, minute = int(time[11:13]), int(time[14:16])
        second = float(time[17:].rstrip("Z"))
    except ValueError:
        return None
    # Days since the epoch, with years that begin in March (Howard Hinnant, days_from_civil).
    year -= month <= 2
    days = (
        365 * year + year // 4 - year // 100 + year // 400
        + (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 719469
    )  # fmt: skip
    total = ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000
    return int(total) if abs(total) < 2**53 else None
