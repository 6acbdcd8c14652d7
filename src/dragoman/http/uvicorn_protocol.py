"""Uvicorn's HTTP protocol with limits on size and time; its private names are only here."""

from __future__ import annotations

import asyncio
import fcntl
import math
import struct
import termios
from collections.abc import Callable
from typing import Any, cast

import httptools
from starlette.types import ASGIApp, Send
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from dragoman.errors import (
    DragomanError,
    HeadersTooLarge,
    InvalidRequest,
    RequestTimeout,
    Unavailable,
)
from dragoman.http.connection import CONNECTION, TARGET
from dragoman.http.connection_limits import ConnectionLimits
from dragoman.http.problems import MEDIA_TYPE, headers_of, problem
from dragoman.http.send_buffer import Outgoing
from dragoman.schema.http import to_json

MAX_PIPELINED = 32
"""So many requests may wait behind the one that is being answered."""
PART_S = 2.0
PART_BYTES = 32 * 1024 * 1024
"""Who was answered before all was said may go on for so long, unheard, before the line is cut."""

LOOKS = 10
"""So often in its time a reader that stalls is looked at."""
NEVER = math.inf


class Protocol(HttpToolsProtocol):
    """One connection. Refuses with problem documents what is too large, too slow or not HTTP."""

    on_lost: Callable[[], object] | None = None
    """Called when the other side has gone; cheaper than a task that waits for it."""

    def __init__(self, *args: Any, connection_limits: ConnectionLimits, **more: Any) -> None:
        super().__init__(*args, **more)
        self.connection_limits = connection_limits
        self._limits = connection_limits.limits
        self._deadline = NEVER
        self._is_head = False
        self._is_message = False
        self._messages = 0
        self._head_bytes = 0
        self._head_count = 0
        self._unfinished_bytes = 0
        self._unheard_bytes = 0
        self._parting = False
        self._answering: RequestResponseCycle | None = None
        self._refusal: DragomanError | None = None
        self._stall = (0, NEVER)
        self._is_framed = True
        self._framing = b""
        """Of the body of a request that asked for an upgrade."""
        self._heard_all = False

    # --- Coming and going ---

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there, and may come in where there is room."""
        super().connection_made(transport)
        self._parted = _CycleTransport(self)
        self._deadline = self.loop.time() + self._limits.header_s
        if not self.connection_limits.enter(self):
            self.refuse(Unavailable("there are too many connections; try again later"))

    def connection_lost(self, exc: Exception | None) -> None:
        """The other side has gone."""
        super().connection_lost(exc)
        self._let_go()
        self.connection_limits.leave(self)
        if self.on_lost is not None:
            self.on_lost()

    def stand_aside(self) -> None:
        """Let others go first: this one is only kept waiting."""
        self.connection_limits.idle(self)

    def make_room(self) -> None:
        """Go, since others have something to ask."""
        self.transport.abort() if self._parting else self.transport.close()

    def look(self, now: float) -> None:
        """End what has taken too long."""
        if self._is_stalled(now):
            self.transport.abort()
        elif now < self._deadline or self.flow.read_paused:
            return
        elif self._parting or not self._is_message:
            self.transport.abort()
        else:
            what = "headers" if self._is_head else "body"
            self.refuse(RequestTimeout(f"the request's {what} took too long to come"))

    def _is_stalled(self, now: float) -> bool:
        """Whether the reader has left an answer untaken for too long."""
        if not self.transport.get_write_buffer_size():
            self._stall = (0, NEVER)
            return False
        untaken, since = self.untaken(), self._stall[1]
        if untaken != self._stall[0] or since == NEVER:
            self._stall = (untaken, now)
            return False
        return now - since > self._limits.stalled_s

    # --- What comes in ---

    def data_received(self, data: bytes) -> None:
        """Some bytes of a request, or of several."""
        self._unset_keepalive_if_required()
        if self._parting or self._heard_all:
            self._ignore(len(data))
            return
        if self._deadline == NEVER and not self._is_answering():
            self._deadline = self.loop.time() + self._limits.header_s
        was_idle, before = not self._is_message, self._messages
        try:
            self._feed(data)
        except httptools.HttpParserError:
            if not self._heard_all:
                self.refuse(self._refusal or InvalidRequest("this is not a valid HTTP/1.1 request"))
        else:
            # The parser keeps an unfinished header to itself, so its bytes are counted here; but
            # not where others came before its head.
            if self._is_head and self._messages == before + was_idle:
                self._ensure_ends(len(data))

    def _feed(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # Nothing is upgraded. The parser takes what follows for another protocol's, though it
            # may be this request's body: a parser of its own reads that, and nothing else.
            self.logger.debug("an upgrade was asked for and ignored")
            if self._framing:
                self.parser = httptools.HttpRequestParser(_Body(self))
                self.parser.feed_data(b"POST / HTTP/1.1\r\n" + self._framing + b"\r\n\r\n")
                self._feed(data[upgrade.args[0] :])

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._annotate(CONNECTION, self)
        self._messages += 1
        self._is_head = self._is_message = True
        self._head_bytes = self._head_count = self._unfinished_bytes = 0

    def on_url(self, url: bytes) -> None:
        """Take a piece of the target."""
        super().on_url(url)
        if len(self.url) > self._limits.header_bytes:
            self._stop(self._too_large())

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; one that comes after the body is counted and left out."""
        self._head_count += 1
        self._head_bytes += len(name) + len(value) + 4
        if self._head_count > self._limits.header_count or (
            self._head_bytes + len(self.url) > self._limits.header_bytes
        ):
            self._stop(self._too_large())
        # Whoever reads headers has looked at them before this one came.
        if self._is_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start to answer a request."""
        self._is_head = False
        self._ensure_framing()
        if len(self.pipeline) >= MAX_PIPELINED:
            self._stop(InvalidRequest(f"more than {MAX_PIPELINED} requests were sent ahead"))
        if not self.url.startswith(b"/"):
            # Parsing would hide the authority of an absolute target, and fail on a bare one.
            self._annotate(TARGET, self.url)
            self.url = b"/"
        self.connection_limits.busy(self)
        self._unheard_bytes = 0
        self._deadline = self.loop.time() + self._limits.body_s
        super().on_headers_complete()
        # A cast, because a cycle needs only these three methods of a transport.
        self.cycle.transport = cast("asyncio.Transport", self._parted)
        if self.parser.should_upgrade():
            # We never upgrade, but the parser reads nothing after being asked to.
            self.cycle.keep_alive = False
            self._framing = self._body_framing()

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        super().on_body(body)
        self._deadline = self.loop.time() + self._limits.body_s
        if self.cycle.response_complete:
            self._ignore(len(body))

    def on_message_complete(self) -> None:
        """All of a request is here."""
        if self._framing and not self._heard_all:
            return  # so the parser thinks, which has not read the body
        self._is_message = False
        self._deadline = NEVER
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """An answer is written."""
        if self._parting:
            return
        super().on_response_complete()
        if not self.pipeline and not self.transport.is_closing():
            self.connection_limits.idle(self)
            if self._is_head:
                self._deadline = self.loop.time() + self._limits.header_s

    def _ensure_framing(self) -> None:
        codings = [value for name, value in self.headers if name == b"transfer-encoding"]
        is_new = self.parser.get_http_version() == "1.1"
        if codings and not (is_new and [each.lower() for each in codings] == [b"chunked"]):
            # Two servers that understand such a body differently can be made to disagree on
            # where the next request begins.
            self._stop(InvalidRequest("the only Transfer-Encoding that is understood is chunked"))

    def _body_framing(self) -> bytes:
        """How the body of this request is framed; nothing where it has none."""
        for name, value in self.headers:
            if name == b"transfer-encoding" or (
                name == b"content-length" and value.strip() != b"0"
            ):
                return name + b": " + value
        return b""

    def _ensure_ends(self, size: int) -> None:
        self._unfinished_bytes += size
        if self._unfinished_bytes > self._limits.header_bytes:
            self.refuse(self._too_large())

    def _too_large(self) -> HeadersTooLarge:
        return HeadersTooLarge(
            f"a request may have {self._limits.header_count} headers, and with its target "
            f"{self._limits.header_bytes} bytes of them"
        )

    def _stop(self, error: DragomanError) -> None:
        """Stop the parser; whoever feeds it tells the error."""
        self._refusal = error
        raise error

    def _annotate(self, key: str, value: object) -> None:
        # A cast, because uvicorn's type of a scope has no room for keys of others.
        cast("dict[str, Any]", self.scope)[key] = value

    # --- What goes out ---

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        # Uvicorn knows only the request that came last, not the one that is being answered.
        self._answering = cycle
        is_old = cycle.scope["http_version"] == "1.0"
        # Casts, because uvicorn's types of ASGI and Starlette's are two names for one thing.
        outgoing = Outgoing(
            cast("ASGIApp", app), self, self.connection_limits.backlog, is_old=is_old
        )
        super()._start_asgi_task(cycle, cast("ASGI3Application", outgoing))

    def write_chunk(self, body: bytes) -> bool:
        """Write a chunk without copying it; False: the reader is slow, or gone."""
        # A hundred readers of one session share one bytes object this way.
        if self.flow.write_paused or self.transport.is_closing():
            return False
        if self._is_framed:
            self.transport.writelines((b"%x\r\n" % len(body), body, b"\r\n"))
        else:
            self.transport.write(body)
        return True

    def is_closing(self) -> bool:
        """Nothing more can be sent."""
        return self.transport.is_closing()

    async def send_chunk(self, body: bytes, send: Send, timeout_s: float) -> None:
        """Write a chunk when there is room. Raise TimeoutError where nothing is taken for long."""
        while not self.write_chunk(body):
            await self._wait_for_room(send, timeout_s)
            await asyncio.sleep(0)  # one who is gone is noticed here

    async def _wait_for_room(self, send: Send, timeout_s: float) -> None:
        untaken, since = self.untaken(), self.loop.time()
        while True:
            try:
                async with asyncio.timeout(timeout_s / LOOKS):
                    return await send({"type": "http.response.body", "more_body": True})
            except TimeoutError:
                # At first the kernel goes on with what it has: that is no sign of life later on.
                if (left := self.untaken()) != untaken:
                    untaken, since = left, self.loop.time()
                elif self.loop.time() - since >= timeout_s:
                    raise

    def unframe(self) -> None:
        """Send the answer that begins now without framing; the end of the connection is its end."""
        self._is_framed = False
        assert self._answering is not None
        self._answering.chunked_encoding = False
        self._answering.keep_alive = False

    def write(self, data: bytes) -> None:
        """Write without framing."""
        if not self.transport.is_closing():
            self.transport.write(data)

    async def drain(self) -> None:
        """Wait until the reader has taken nearly everything, or is gone."""
        await self.flow.drain()

    def stalled_s(self, now: float) -> float:
        """For how long the reader has taken nothing of what waits for it, as was seen lately."""
        return max(0.0, now - self._stall[1])

    def untaken(self) -> int:
        """How many bytes the reader has yet to take."""
        if self.transport.is_closing():
            return 0
        # The kernel holds megabytes, and tells of room only when a third of them is taken.
        fd = self.transport.get_extra_info("socket").fileno()
        (in_kernel,) = struct.unpack("i", fcntl.ioctl(fd, termios.TIOCOUTQ, bytes(4)))
        return int(in_kernel) + self.transport.get_write_buffer_size()

    def drop(self) -> None:
        """Drop the connection, with whatever its reader never took."""
        self.transport.abort()

    def refuse(self, error: DragomanError) -> None:
        """Answer with a problem and part; where an answer is under way, only that."""
        if self._is_answering():
            self._let_go()
            self.transport.close()
            return
        body = to_json(problem(error, None))
        lines = {
            "content-type": MEDIA_TYPE,
            "content-length": str(len(body)),
            "x-content-type-options": "nosniff",
            "cache-control": "no-store",
            "connection": "close",
            **headers_of(error),
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self.transport.write(STATUS_LINE[error.status] + head.encode() + b"\r\n" + body)
        self._let_go()
        self._is_message = True
        self.part()

    def _let_go(self) -> None:
        """Whoever is at work on a request has nobody to answer any more."""
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
            self._answering.message_event.set()

    def part(self) -> None:
        """Close; who has not said everything is first heard out for a moment, unheeded."""
        # A connection that is closed on bytes that nobody read is reset, and whoever is still
        # sending may then never see the answer.
        if self._parting or self.transport.is_closing():
            return
        if not self._is_message:
            self.transport.close()
            return
        self._parting = True
        self._deadline = self.loop.time() + PART_S
        self.flow.resume_reading()
        self.transport.write_eof()

    def _ignore(self, size: int) -> None:
        self._unheard_bytes += size
        if self._unheard_bytes > PART_BYTES:
            self.transport.abort()

    def _is_answering(self) -> bool:
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            return False
        return cycle.response_started or not cycle.more_body


class _CycleTransport:
    """A cycle's transport, whose close is ours."""

    def __init__(self, connection: Protocol) -> None:
        self.write = connection.transport.write
        self.is_closing = connection.transport.is_closing
        self.close = connection.part


class _Body:
    """Reads the body of a request whose head another parser has read."""

    def __init__(self, connection: Protocol) -> None:
        self.on_body = connection.on_body
        self._connection = connection

    def on_message_complete(self) -> None:
        """All of it is here, and nothing after it is heard."""
        self._connection._heard_all = True
        self._connection.on_message_complete()
