"""Endpoints for AG-UI: a session's events in the words of its front ends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from starlette.types import Receive, Scope, Send

from dragoman.agui.frames import Place, parse_place
from dragoman.agui.translate import Translator
from dragoman.errors import DragomanError, InvalidRequest
from dragoman.http import parse
from dragoman.http.context import daemon_of
from dragoman.http.events import stream
from dragoman.http.problems import refuse
from dragoman.runtime.session.manager import SessionManager
from dragoman.runtime.session.missing_agent import absent
from dragoman.schema.events import Event, SessionEnded, decode
from dragoman.schema.http import AguiQuery
from dragoman.store import Batch, LogEnd

_SLICE = 64
"""So many events are translated at a stretch; then others have their turn."""


class AguiSessionStream:
    """GET a session's events as AG-UI, from its first one on."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Translate what is stored, then go on live."""
        daemon = daemon_of(scope)
        session_id = scope["path_params"]["session_id"]
        try:
            wanted = parse.query(AguiQuery, scope["query_string"])
            row = await daemon.sessions.row(session_id)
            held = await daemon.store.hold(session_id)
            last, ended = await daemon.store.position(session_id)
            after = last_place(scope)
            if after is not None and after[0] > last:
                raise InvalidRequest(
                    f"the position {after[0]} is beyond the last event, {last}",
                    field="Last-Event-ID",
                )
        except DragomanError as error:
            return await refuse(scope, send, error)
        batches = daemon.store.follow(held, 0, raw=wanted.include_raw)
        agent = row.create.agent
        adapter = daemon.agents.adapter(agent) if daemon.agents.has(agent) else absent(agent)
        shown = translated(batches, Translator(session_id, adapter), daemon.sessions, held, after)
        if ended and after is not None:
            first = await anext(shown, None)
            if first is None:
                # An EventSource that came for more stops at this answer.
                await send({"type": "http.response.start", "status": 204, "headers": []})
                return await send({"type": "http.response.body"})
            return await stream(_again(first, shown), scope, send)
        return await stream(shown, scope, send)


async def _again(first: Batch, rest: AsyncGenerator[Batch]) -> AsyncGenerator[Batch]:
    """What was read ahead, and the rest."""
    async with contextlib.aclosing(rest):
        yield first
        async for batch in rest:
            yield batch


def last_place(scope: Scope) -> Place | None:
    """The frame that a reader has seen last, by its header. Raise InvalidRequest."""
    for name, value in scope["headers"]:
        if name == b"last-event-id":
            if (place := parse_place(value.decode("latin-1"))) is None:
                raise InvalidRequest(
                    "Last-Event-ID must be the id of a frame of this stream", field="Last-Event-ID"
                )
            return place
    return None


async def translated(
    batches: AsyncGenerator[Batch],
    translator: Translator,
    sessions: SessionManager,
    held: LogEnd,
    after: Place | None,
) -> AsyncGenerator[Batch]:
    """The frames of AG-UI after a place; a batch without any says that we live."""
    last, ended = 0, False
    async with contextlib.aclosing(batches):
        async for batch in batches:
            events = _events(batch.frames)
            if not events:
                yield Batch(b"", last)
            for first in range(0, len(events), _SLICE):
                some = events[first : first + _SLICE]
                frames = [frame for event in some for frame in translator.receive(event)]
                last, ended = some[-1].sequence, isinstance(some[-1].data, SessionEnded)
                if sessions.asks_a_person(some[-1]):
                    frames += translator.settle()
                if new := b"".join(f.encode() for f in frames if after is None or f.place > after):
                    yield Batch(new, last)
                await asyncio.sleep(0)
    if held.end and not ended:
        # The session was deleted before all of it was read.
        frames = [frame for event in _events(held.end) for frame in translator.receive(event)]
        yield Batch(b"".join(frame.encode() for frame in frames), last)


def _events(frames: bytes) -> list[Event]:
    blocks = (block for block in frames.split(b"\n\n") if b"data: " in block[:64])
    return [decode(block[block.index(b"data: ") + 6 :]) for block in blocks]
