"""Endpoints for a session's events: pages, SSE streams, the stream of a turn."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from dragoman.errors import DragomanError, HistoryDiverged, InvalidRequest
from dragoman.http import parse
from dragoman.http.connection import Connection, connection_of
from dragoman.http.context import daemon_of, limits_of
from dragoman.http.problems import refuse
from dragoman.http.send_buffer import LARGE_BYTES
from dragoman.http.sessions import idempotency_key
from dragoman.http.turn_stream import turn_of
from dragoman.schema.http import EventQuery, Message, StreamQuery, TurnStreamQuery
from dragoman.store import Batch, Page, Store
from dragoman.wire.sse import HEARTBEAT, chain

_LINK = re.compile(rb"[0-9A-Fa-f]{32}")
_STREAM_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class PageEndpoint:
    """GET a page of events."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the stored lines, joined."""
        store = daemon_of(scope).store
        session_id = scope["path_params"]["session_id"]
        try:
            wanted = parse.query(EventQuery, scope["query_string"])
            for given in (wanted.after_chain, after_chain(scope)):
                await _ensure_linked(store, session_id, wanted.offset, given)
            with limits_of(scope).backlog.page() as max_bytes:
                page = await store.read(
                    session_id,
                    wanted.offset,
                    wanted.limit,
                    raw=wanted.include_raw,
                    compact=wanted.compact,
                    max_bytes=max_bytes,
                )
        except DragomanError as error:
            return await refuse(scope, send, error)
        return await _send_page(page, send)


async def _send_page(page: Page, send: Send) -> None:
    more = b"true" if page.has_more else b"false"
    link = b"" if page.link is None else b',"chain":"%b"' % page.link.hex().encode()
    pieces = [b'{"events":[', page.events, b'],"hasMore":%b%b}' % (more, link)]
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(sum(map(len, pieces))).encode()),
    ]
    if len(page.events) < LARGE_BYTES:
        pieces = [b"".join(pieces)]  # of a large page there is no second copy
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for piece in pieces:
        more_body = piece is not pieces[-1]
        await send({"type": "http.response.body", "body": piece, "more_body": more_body})


class EventStream:
    """GET a session's events as they come."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Replay what is after the position, then go on live."""
        store = daemon_of(scope).store
        session_id = scope["path_params"]["session_id"]
        try:
            wanted = parse.query(StreamQuery, scope["query_string"])
            held = await store.hold(session_id)
            last, ended = await store.position(session_id)
            resumed, given = last_event_id(scope), after_chain(scope)
            after = wanted.offset if resumed is None else resumed
            # An EventSource that reconnects says both: where it began, with the link that it was
            # given there, and where it is now.
            await _ensure_linked(store, session_id, wanted.offset or after, wanted.after_chain)
            await _ensure_linked(store, session_id, after, given)
            if after > last and (given or wanted.after_chain):
                raise HistoryDiverged(session_id, after, last)
            _ensure_known(wanted.offset, last, "offset")
            _ensure_known(resumed or 0, last, "Last-Event-ID")
            link = await store.link(session_id, after)
        except DragomanError as error:
            return await refuse(scope, send, error)
        if ended and resumed == last:
            # An EventSource that came for more stops at this answer.
            await send({"type": "http.response.start", "status": 204, "headers": []})
            return await send({"type": "http.response.body"})
        sink = connection_of(scope).write_chunk
        batches = store.follow(held, after, raw=wanted.include_raw, sink=sink)
        # Something at once, so that a reader knows that it is connected.
        first = HEARTBEAT if link is None else chain(after, link)
        return await stream(batches, scope, send, first=first)


async def _ensure_linked(store: Store, session_id: str, sequence: int, given: str | None) -> None:
    """Raise HistoryDiverged where the log is not the one in which the event has this link."""
    if given is not None and await store.link(session_id, sequence) != bytes.fromhex(given):
        last, _ = await store.position(session_id)
        raise HistoryDiverged(session_id, sequence, last)


def _ensure_known(position: int, last: int, field: str) -> None:
    if position > last:
        raise InvalidRequest(
            f"the position {position} is beyond the last event, {last}", field=field
        )


class TurnStream:
    """POST a message and follow its turn."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Accept the message, then stream until its turn is over."""
        daemon = daemon_of(scope)
        session_id = scope["path_params"]["session_id"]
        request = Request(scope, receive)
        try:
            wanted = parse.query(TurnStreamQuery, scope["query_string"])
            key = idempotency_key(request)
            message = await parse.body(request, Message, daemon.settings.max_body_bytes)
            held = await daemon.store.hold(session_id)
            after, _ = await daemon.store.position(session_id)
            receipt = await daemon.sessions.send(session_id, message, key, wanted.delivery)
        except DragomanError as error:
            return await refuse(scope, send, error)
        if not receipt.fresh:
            after = 0
        batches = daemon.store.follow(held, after, raw=wanted.include_raw)
        turn = turn_of(receipt.message_id, batches, held)
        header = (b"dragoman-message-id", receipt.message_id.encode())
        return await stream(turn, scope, send, [header])


def last_event_id(scope: Scope) -> int | None:
    """The position that a reader resumes from, by its header. Raise InvalidRequest."""
    for name, value in scope["headers"]:
        if name == b"last-event-id":
            position = parse.number(value.decode("latin-1"))
            if position is None:
                raise InvalidRequest(
                    "Last-Event-ID must be the id of an event of this stream", field="Last-Event-ID"
                )
            return position
    return None


def after_chain(scope: Scope) -> str | None:
    """The link that a reader resumes with, by its header. Raise InvalidRequest."""
    for name, value in scope["headers"]:
        if name == b"dragoman-after-chain":
            if not _LINK.fullmatch(value):
                raise InvalidRequest(
                    "Dragoman-After-Chain must be 32 hexadecimal digits, as a page or a stream "
                    "told them",
                    field="Dragoman-After-Chain",
                )
            return str(value, "ascii")
    return None


async def stream(
    batches: AsyncGenerator[Batch],
    scope: Scope,
    send: Send,
    headers: list[tuple[bytes, bytes]] | None = None,
    *,
    first: bytes = HEARTBEAT,
) -> None:
    """Send what comes until it ends, the reader goes, or takes nothing for too long."""
    start = {"status": 200, "headers": [*_STREAM_HEADERS, *(headers or [])]}
    await send({"type": "http.response.start", **start})
    if scope["method"] == "HEAD":
        return await send({"type": "http.response.body"})
    connection = connection_of(scope)
    if connection.is_closing():
        return None  # who has gone before this moment tells nobody any more
    sending = asyncio.current_task()
    assert sending is not None
    connection.on_lost = sending.cancel
    try:
        await send({"type": "http.response.body", "body": first, "more_body": True})
        await _send_all(batches, daemon_of(scope).settings.stalled_reader_s, connection, send)
    except TimeoutError:
        connection.drop()
    except asyncio.CancelledError:
        if not connection.is_closing() or sending.uncancel():
            raise
    finally:
        connection.on_lost = None
    return None


async def _send_all(
    batches: AsyncGenerator[Batch], timeout_s: float, connection: Connection, send: Send
) -> None:
    async with contextlib.aclosing(batches):
        async for batch in batches:
            await connection.send_chunk(batch.frames or HEARTBEAT, send, timeout_s)
    await send({"type": "http.response.body"})
