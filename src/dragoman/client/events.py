"""Events as the client gives them: also those of a daemon that is newer than the client."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from dragoman.client.failures import BadAnswer
from dragoman.schema.events import BODIES, Body, Event, Source, decode, encode


class UnknownData(Body, frozen=True, kw_only=True):
    """The data of an event type that this version does not know."""

    type = "unmodelled"
    data: Any


class _Typed(Struct):
    type: str


class _Rawed(Struct):
    raw: Raw = Raw(b"null")


class _EventEnvelope(Struct, kw_only=True):
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
_rawed = msgspec.json.Decoder(_Rawed)
_envelope = msgspec.json.Decoder(_EventEnvelope)


def decode_event(line: bytes | str) -> Event:
    """Decode one event; of an unknown type the data stays as it came."""
    try:
        if _typed.decode(line).type in BODIES:
            return decode(line)
        fields = msgspec.structs.asdict(_envelope.decode(line))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadAnswer(f"the daemon sent an event that cannot be understood: {error}") from None
    return Event(**{**fields, "data": UnknownData(data=fields["data"])})


def without_raw(line: bytes) -> bytes:
    """An event's line as it is without its native message, which stands last in it."""
    if line.endswith(b'"raw":null}'):
        return line
    raw = bytes(_rawed.decode(line).raw)
    # The message is kept as it was written, with spaces around it too.
    return line[:-1].rstrip(b" \t").removesuffix(raw).rstrip(b" \t") + b"null}"


def encode_event(event: Event) -> bytes:
    """Encode an event as the daemon does."""
    if isinstance(event.data, UnknownData):
        return msgspec.json.encode({**msgspec.structs.asdict(event), "data": event.data.data})
    return encode(event)
