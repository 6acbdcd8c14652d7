"""Stamps drafts: id, sequence, time; encodes each event once."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from dragoman.schema.events import Draft, Source
from dragoman.store.ids import new_ids, now_ms, timestamp
from dragoman.store.native_payload import share
from dragoman.wire.raw import as_json

_encode = msgspec.json.Encoder().encode


EventRow = tuple[int, int, int, int | None, bytes, bytes | None, int | None, int | None, int | None]
"""session, sequence, total, raw_at, line, raw, raw_cut, raw_from, raw_size: a row of `events`.

`total` is the size of all lines of the session up to here: how many bytes lie between two
events is one subtraction, and a page is bounded without looking at what it holds.
`raw_at` names the event whose native message is also this one's; the last three are `Shared`.
"""


class _Middle(Struct):
    """What the events of one batch have in common, in the order of the envelope."""

    time: str
    session_id: str
    native_session_id: str | None
    synthetic: bool
    source: Source
    type: str


def stamp(
    session_id: str, number: int, after: int, total: int, drafts: Sequence[Draft]
) -> list[EventRow]:
    """Stamp drafts that follow the event `after`. Gives the bytes that `events.encode` would."""
    time = timestamp(now_ms())
    middles: dict[tuple[str | None, Source, str], bytes] = {}
    rows: list[EventRow] = []
    kept: bytes | None = None
    kept_at = 0
    ids = new_ids("evt", len(drafts))
    for sequence, event_id, draft in zip(
        range(after + 1, after + 1 + len(drafts)), ids, drafts, strict=True
    ):
        native, source, type = draft.native_session_id, draft.source, draft.body.type
        middle = middles.get((native, source, type))
        if middle is None:
            common = _Middle(time, session_id, native, source == "daemon", source, type)
            middle = middles[native, source, type] = _encode(common)[1:-1]
        line = b'{"event_id":"%b","sequence":%d,%b,"data":%b,"raw":null}' % (
            event_id, sequence, middle, _encode(draft.body),
        )  # fmt: skip
        total += len(line)
        if draft.raw is None:
            rows.append((number, sequence, total, None, line, None, None, None, None))
        elif draft.raw is kept:
            rows.append((number, sequence, total, kept_at, line, None, None, None, None))
        else:
            kept, kept_at = draft.raw, sequence
            raw, (cut, start, size) = share(line, as_json(draft.raw))
            rows.append((number, sequence, total, None, line, raw, cut, start, size))
    return rows
