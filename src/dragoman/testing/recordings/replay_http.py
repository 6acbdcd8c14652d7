"""Replays a recording of an agent that serves HTTP: calls are answered as they were recorded.

A call is the same as a recorded one if verb, path and the kind of its body are. Calls that run
side by side have no order, so whichever comes is paired with the next recorded one that it is
like; it is answered, and events are sent, in the order of the recording.
"""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from queue import SimpleQueue
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
from msgspec import Raw, Struct

from dragoman.testing.recordings.http_calls import with_calls
from dragoman.testing.recordings.substitutions import Mismatch, Substitutions, difference
from dragoman.testing.recordings.transcript import Ending, Eof, Line, PassedSignal, Run
from dragoman.wire.http import Call, call_in

_ADDRESS = re.compile(rb"http://(?:127\.0\.0\.1|localhost|\[::1\]):\d+")
_VERB = re.compile(r"(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) /")
_STREAM = "text/event-stream"
NO_CONTENT, BAD_GATEWAY = 204, 502


class RecordedAnswer(Struct, frozen=True):
    """What became of a call, as it is in a recording."""

    id: str
    status: int
    body: Raw = Raw(b"null")


class ReceivedCall(Struct, eq=False):
    """A call that came, and waits for its answer."""

    call: Call
    reply: Callable[[int, bytes], None]
    """Answer it, before this returns: the process may end right after it."""


class OpenStream(Struct, eq=False):
    """An event stream that was opened."""

    file: BufferedIOBase
    closed: threading.Event


News = ReceivedCall | OpenStream | int
"""A call, a stream, or the number of a signal."""


def is_http(run: Run) -> bool:
    """Whether the recorded process served HTTP."""
    return any(line.http or _call_of(line) for line in run.lines("in"))


def replay_http(run: Run, argv: Sequence[str], *, timing: bool = False) -> Ending:
    """Play one process at a free port of loopback. Raise Mismatch."""
    (calls,) = with_calls((run,))
    server = StandInServer()
    player = HttpReplay(calls, argv, server, timing=timing)
    for entry in run.entries:
        if isinstance(entry, PassedSignal):
            signal.signal(entry.number, lambda number, _: server.news.put(number))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    _print_address(run, server.server_port)
    for number, entry in enumerate(calls.entries):
        player.play(number, entry)
    return run.ending or Ending(t=0.0, code=0, signal=None)


def _print_address(run: Run, port: int) -> None:
    """Say where we listen, in the words of the agent where the recording has them."""
    is_raw = any(line.http for line in run.lines("out"))
    printed = [line.data for line in run.lines("out") if is_raw and line.http is None]
    told = next(filter(_ADDRESS.search, printed), b"listening on http://127.0.0.1:0")
    write_all(1, _ADDRESS.sub(b"http://127.0.0.1:%d" % port, told) + b"\n")


class HttpReplay:
    """Goes through a recording, and makes of it what is answered and sent."""

    def __init__(
        self, run: Run, argv: Sequence[str], server: StandInServer, *, timing: bool
    ) -> None:
        self._names = Substitutions()
        self._names.learn_argv(run.meta.argv, argv)
        self._entries = run.entries
        self._news = server.news
        self._timing = timing
        self._began = time.monotonic()
        self._waiting: list[ReceivedCall] = []
        """Calls that came before the recording came to them."""
        self._paired: dict[str, ReceivedCall] = {}
        """The recorded id of a call → the call that came."""
        self._stream: OpenStream | None = None
        self._signals: list[int] = []

    def play(self, number: int, entry: Line | Eof | PassedSignal) -> None:
        """Wait for what went in; say what came out."""
        if self._timing:
            time.sleep(max(0.0, self._began + entry.t - time.monotonic()))
        match entry:
            case Line(dir="in", data=data):
                self._await(number, call_in(data))
            case Line(dir="err", data=data):
                write_all(2, self._names.apply(data) + b"\n")
            case Line(data=data):
                self._say(data)
            case PassedSignal(number=expected):
                while expected not in self._signals:
                    self._take(self._news.get())
            case Eof():
                pass  # a server does not care for its stdin

    # --- What comes ---

    def _take(self, news: News) -> None:
        match news:
            case ReceivedCall():
                self._waiting.append(news)
            case OpenStream():
                self._close_stream()
                self._stream = news
            case int():
                self._signals.append(news)

    def _await(self, number: int, recorded: Call) -> None:
        """Pair a recorded call with one that comes."""
        while True:
            for received in self._waiting:
                if self._difference(recorded, received.call) is None:
                    self._pair(recorded, received)
                    return
            self._ensure_recorded(number, recorded)
            if self._signals:
                came = b"signal %d" % self._signals[0]
                raise Mismatch(_shown(recorded), came, "less was said than recorded")
            self._take(self._news.get())

    def _ensure_recorded(self, number: int, expected: Call) -> None:
        """Each call that waits is like one that is still to come."""
        later = [_call_of(each) for each in self._entries[number:] if isinstance(each, Line)]
        calls = [call for call in later if call is not None]
        for received in self._waiting:
            if all(self._difference(call, received.call) for call in calls):
                why = self._difference(expected, received.call) or ""
                raise Mismatch(_shown(expected), _shown(received.call), why)

    def _pair(self, recorded: Call, received: ReceivedCall) -> None:
        self._waiting.remove(received)
        self._paired[recorded.id] = received
        one, other = _query(recorded), _query(received.call)
        for name in one.keys() & other.keys():
            self._names.learn_word(one[name], other[name])
        self._names.learn(_body(recorded), _body(received.call))

    def _difference(self, recorded: Call, came: Call) -> str | None:
        """Why a call is another one than the recorded; None: it is the same."""
        if recorded.verb != came.verb:
            return f"another verb: {recorded.verb}, {came.verb}"
        path = self._names.apply(urlsplit(recorded.target).path.encode()).decode()
        if path != urlsplit(came.target).path:
            return f"another path: {path}, {urlsplit(came.target).path}"
        keys = _query(recorded).keys() ^ _query(came).keys()
        if keys:
            return f"other parameters: {', '.join(sorted(keys))}"
        return difference(_body(recorded), _body(came))

    # --- What is said ---

    def _say(self, data: bytes) -> None:
        """An answer to a call, or an event."""
        answer = _answer_of(data)
        if answer is None:
            self._send(self._names.apply(data))
            return
        received = self._paired.pop(answer.id, None)
        if received is None:
            return  # to a call that was made before the recording began
        body = b"" if answer.status == NO_CONTENT else self._names.apply(bytes(answer.body))
        with suppress(OSError):
            received.reply(answer.status or BAD_GATEWAY, body)

    def _send(self, event: bytes) -> None:
        """To the stream that is open; where it has broken, to the next."""
        while True:
            while self._stream is None:
                self._take(self._news.get())
            try:
                self._stream.file.write(b"data: " + event + b"\n\n")
                return
            except OSError:
                self._close_stream()

    def _close_stream(self) -> None:
        if self._stream is not None:
            self._stream.closed.set()
            self._stream = None


class StandInServer(ThreadingHTTPServer):
    """Takes calls, one thread for each connection; the player answers them."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), StandInHandler)
        self.news: SimpleQueue[News] = SimpleQueue()


class StandInHandler(BaseHTTPRequestHandler):
    server: StandInServer
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        """Prepare for the connection's calls, which come one after another."""
        super().setup()
        self._is_answered = threading.Event()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: stderr is the agent's."""

    def handle(self) -> None:
        """Serve a connection; whoever goes away in the middle is not missed."""
        with suppress(ConnectionError):
            super().handle()

    def _call(self) -> None:
        if self.headers.get("Accept") == _STREAM:
            self._stream()
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        params = msgspec.json.decode(body) if body.strip() else None
        call = Call(id="", method=f"{self.command} {self.path}", params=params)
        self.server.news.put(ReceivedCall(call, self._reply))
        self._is_answered.wait()
        self._is_answered.clear()

    def _reply(self, status: int, body: bytes) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            if status != NO_CONTENT:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        finally:
            self._is_answered.set()

    def _stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", _STREAM)
        self.send_header("Connection", "close")
        self.end_headers()
        stream = OpenStream(self.wfile, threading.Event())
        self.server.news.put(stream)
        stream.closed.wait()

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _call


def _call_of(line: Line) -> Call | None:
    """The call in a line of a recording; None: it is none."""
    if line.dir != "in":
        return None
    try:
        call = call_in(line.data)
    except msgspec.DecodeError:
        return None
    return call if _VERB.match(call.method) else None


def _answer_of(line: bytes) -> RecordedAnswer | None:
    try:
        return msgspec.json.decode(line, type=RecordedAnswer)
    except msgspec.DecodeError:
        return None


def _query(call: Call) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(call.target).query, keep_blank_values=True))


def _body(call: Call) -> bytes:
    return msgspec.json.encode({} if call.params is None else call.params)


def _shown(call: Call) -> bytes:
    return call.method.encode() + b" " + _body(call)


def write_all(fd: int, data: bytes) -> None:
    """Write all of it."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
