"""Events as the client gives them: also those of a daemon that is newer than the client."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from dragoman.client.failures import BadAnswer
from dragoman.schema.events import BODIES, Body, Event, Source, decode, encode


class Unmodelled(Body, frozen=True, kw_only=True):
    """The data of an event type that this version does not know."""

    type = "unmodelled"
    data: Any


class _Typed(Struct):
    type: str


class _Envelope(Struct, kw_only=True):
    event_id: str
    sequence: int
    time: str
    session_id: str
    native_session_id: str | None = None
    synthetic: bool
    source: Source
    type: str
    data: Any = None
    raw: Any = None


_typed = msgspec.json.Decoder(_Typed)
_envelope = msgspec.json.Decoder(_Envelope)


def decode_event(line: bytes | str) -> Event:
    """Decode one event; of an unknown type the data stays as it came."""
    try:
        if _typed.decode(line).type in BODIES:
            return decode(line)
        fields = msgspec.structs.asdict(_envelope.decode(line))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadAnswer(f"the daemon sent an event that cannot be understood: {error}") from None
    return Event(**{**fields, "data": Unmodelled(data=fields["data"])})


def encode_event(event: Event) -> bytes:
    """Encode an event as the daemon does."""
    if isinstance(event.data, Unmodelled):
        return msgspec.json.encode({**msgspec.structs.asdict(event), "data": event.data.data})
    return encode(event)
