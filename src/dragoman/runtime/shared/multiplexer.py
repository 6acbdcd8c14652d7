"""Routes messages between one shared process and its sessions."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from functools import partial

from dragoman.adapter import EVERYONE, Adapter
from dragoman.core.ignored import is_ignored
from dragoman.core.interpreter import keys_of
from dragoman.errors import AgentProcessExited, DaemonError, DeadlinePassed, Unavailable
from dragoman.facts import Exit, Launch
from dragoman.runtime.processes.channel import line_of, peer_of, wake_in
from dragoman.runtime.session.adapter_defects import report_defect
from dragoman.runtime.shared.claims import Claims
from dragoman.runtime.shared.connection import SharedConnection
from dragoman.runtime.shared.http_process import LineProcess
from dragoman.steps import (
    Claim,
    EndInput,
    Notify,
    Outgoing,
    Request,
    Respond,
    Send,
    Signal,
    Unparsed,
)
from dragoman.wire.http import Endpoint
from dragoman.wire.jsonl import Oversize
from dragoman.wire.jsonrpc import (
    METHOD_NOT_FOUND,
    IncomingRequest,
    Notification,
    Peer,
    Reply,
    Response,
    Result,
    RpcError,
    Stray,
)

log = logging.getLogger(__name__)

HOLD_S = 5.0
"""How long a message waits for somebody to claim it."""
ASIDE = 100
"""So much that nobody waits for may wait to be written; an agent that asks on is not read then."""
UNROUTABLE = "unroutable"
"""How messages that nobody claims are counted."""
KEPT_BYTES = 1 << 16
"""So much of a message goes to the process's log."""

_Tag = tuple[SharedConnection, str] | asyncio.Future[Reply]
_Numbered = tuple[int, Notification | IncomingRequest]
_GONE = RpcError(code=-32000, message="the session that this is for is gone")
_NOBODY = RpcError(code=METHOD_NOT_FOUND, message="there is nobody here for this")


class Multiplexer:
    """One process, from its start to its end. `run` reads and routes; sessions write."""

    def __init__(
        self,
        name: str,
        adapter: Adapter,
        launch: Launch,
        process: LineProcess,
        news: asyncio.Event,
        note: Callable[[bytes], None],
        counters: Counter[str],
        on_leave: Callable[[], None],
    ) -> None:
        self.connections: set[SharedConnection] = set()
        self.doomed = False
        """The process is to end."""
        self.why: str | None = None
        self._name = name
        self._adapter = adapter
        self._process = process
        self._news = news
        self._note = note
        """Keeps a line in the process's own log."""
        self._counters = counters
        self._on_leave = on_leave
        self._peer: Endpoint[_Tag] = peer_of(launch) or Peer()
        self._routes: Claims[SharedConnection, _Numbered] = Claims()
        self._count = 0
        """How many messages the process has sent."""
        self._writing = asyncio.Lock()
        self._aside: set[asyncio.Task[None]] = set()
        self._waiting: set[asyncio.Future[Reply]] = set()
        """For answers that are about no session."""
        self._over = asyncio.Event()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def over(self) -> bool:
        """The process is gone, and everybody knows."""
        return self._over.is_set()

    def connection(self, session_id: str, wake: Callable[[], None]) -> SharedConnection:
        """A place for a session."""
        connection = SharedConnection(self, session_id, wake)
        self.connections.add(connection)
        return connection

    # --- Reading ---

    async def run(self, stop_deadline_s: float) -> Exit:
        """Read and route until the process is gone; then everybody learns of it."""
        process = self._process
        while not process.drained and not self.doomed:
            await self._news.wait()
            self._news.clear()
            full = len(self._aside) > ASIDE or any(
                connection.full for connection in self.connections
            )
            if not full:
                for line in process.take():
                    self._hear(line)
                if process.waiting:
                    self._news.set()
            self._tick()
            await asyncio.sleep(0)  # those who hear something want to work, too
        if not process.exited:
            await process.end(stop_deadline_s)
        while not process.drained:
            for line in process.take():
                self._hear(line)
        exit = process.exit()
        self._close(exit)
        return exit

    def _tick(self) -> None:
        now = asyncio.get_running_loop().time()
        for overdue in self._peer.overdue(now):
            self._replied(overdue)
        for _, said in self._routes.expired(now):
            self._nobodys(said)

    def note_room(self) -> None:
        """A connection has taken what waited for it: there may be room again."""
        if self._process.waiting:
            self._news.set()

    def _hear(self, line: bytes | Oversize) -> None:
        self._count += 1
        if isinstance(line, Oversize):
            self._unroutable(f"oversize: {line.size} bytes, sha256 {line.sha256}", line.head)
            return
        heard = self._peer.receive(line)
        if isinstance(heard, Response):
            self._replied(heard)
        elif isinstance(heard, Stray):
            self._unroutable(heard.error, line)
        else:
            self._route(heard)

    def _replied(self, replied: Response[_Tag]) -> None:
        if isinstance(replied.tag, asyncio.Future):
            if not replied.tag.done():
                replied.tag.set_result(replied.reply)
            return
        connection, tag = replied.tag
        if connection.is_closed:
            self._write_down("late", replied.message or b"")
        else:
            reply = Response(tag=tag, reply=replied.reply, message=replied.message)
            connection.hear(reply, self._count)

    def _route(self, said: Notification | IncomingRequest) -> None:
        keys = keys_of(self._adapter, said.message, partial(report_defect, self._adapter))
        if isinstance(keys, Unparsed):
            self._refuse(said, _NOBODY)
            self._unroutable(keys.error, said.message)
            return
        connection = self._routes.find(keys)
        if keys == (EVERYONE,) and self.connections:
            for each in self.connections:
                _give(each, said, self._count)
        elif connection is not None:
            _give(connection, said, self._count)
        elif not keys or keys == (EVERYONE,):
            self._refuse(said, _NOBODY)
            if not is_ignored(self._adapter.ignored, said.message):
                self._write_down("about the process", said.message)
        elif self._routes.is_late(keys):
            self._refuse(said, _GONE)
            self._write_down("late", said.message)
        else:
            self._hold(keys, said)

    def _hold(self, keys: tuple[str, ...], said: Notification | IncomingRequest) -> None:
        until = wake_in(HOLD_S, self._news.set)
        held = self._count, said
        for _, other in self._routes.hold(keys, held, len(said.message), until):
            self._nobodys(other)

    def _nobodys(self, said: Notification | IncomingRequest) -> None:
        self._refuse(said, _NOBODY)
        self._unroutable("nobody claimed it", said.message)

    def _unroutable(self, why: str, message: bytes) -> None:
        count = self._write_down(UNROUTABLE, message)
        if count & (count - 1) == 0:  # the 1st, 2nd, 4th: a flood is one problem, not thousands
            about = {"server": self._name, "why": why, "count": count}
            log.warning("a shared agent said something to nobody: %s", why, extra=about)

    def _write_down(self, what: str, message: bytes) -> int:
        """Keep what no session shows, in the process's own log, and count it."""
        self._counters[what] += 1
        self._note(b"[%b] %b\n" % (what.encode(), message[:KEPT_BYTES]))
        return self._counters[what]

    # --- Writing ---

    async def ask(self, said: Request | Notify) -> Reply:
        """Tell the process something that is about no session. Raise DaemonError."""
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        line = line_of(self._peer, said, answer, self._news.set)
        assert line is not None
        if isinstance(said, Notify):
            answer.set_result(Result(b"null"))
        self._waiting.add(answer)
        try:
            await self._write(line)
            return await answer
        finally:
            self._waiting.discard(answer)

    async def send(self, connection: SharedConnection, said: Outgoing) -> None:
        """Tell the agent something on behalf of a session. Raise DaemonError."""
        match said:
            case Claim(native_key=key):
                return self._claim(connection, key)
            case EndInput() | Signal():
                return None  # there are others
            case Send(data=data):
                return await self._write(data)
            case Respond(key=key) if key not in connection.open_requests:
                return None
            case Respond(key=key):
                connection.open_requests.discard(key)
        tag = connection, said.tag if isinstance(said, Request) else ""
        line = line_of(self._peer, said, tag, self._news.set)
        return None if line is None else await self._write(line)

    def _claim(self, connection: SharedConnection, key: str) -> None:
        other = self._routes.find((key,))
        if other is not None and other is not connection:
            raise Unavailable(
                f"{key!r} is in use by session {other.session_id!r}: end that one, or fork it"
            )
        for number, said in self._routes.claim(key, connection):
            _give(connection, said, number)

    async def _write(self, line: bytes) -> None:
        async with self._writing:  # a line is written in pieces
            if self.doomed or self._process.exited:
                raise AgentProcessExited(f"{self._name} is not running")
            try:
                await self._process.send(line)
            except DaemonError as error:
                # Half a line may be in its pipe: nobody could say anything to it any more.
                self.condemn(str(error) if isinstance(error, DeadlinePassed) else None)
                raise

    def _refuse(self, said: Notification | IncomingRequest, why: RpcError) -> None:
        if isinstance(said, IncomingRequest):
            self._answer(said.key, why)

    def _answer(self, key: str, why: RpcError) -> None:
        self._mention(self._peer.respond(key, why))

    def _part_with(self, key: str) -> None:
        """A session leaves, and the process stays."""
        said = self._adapter.delete_request and self._adapter.delete_request(key, False)
        if said:
            answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
            self._mention(line_of(self._peer, said, answer, self._news.set))

    def _mention(self, line: bytes | None) -> None:
        """Write what nobody waits for."""
        if line is not None and not self.doomed:
            task = asyncio.create_task(self._write_aside(line))
            self._aside.add(task)
            task.add_done_callback(self._aside.discard)

    async def _write_aside(self, line: bytes) -> None:
        try:
            await self._write(line)
        except DaemonError as error:
            log.debug("it was not heard: %s", error, extra={"server": self._name})
        self._news.set()

    # --- Ends ---

    def condemn(self, why: str | None) -> None:
        """End the process soon; `why` None: its exit tells."""
        if not self.doomed:
            self.doomed, self.why = True, why
            self._news.set()

    async def wait(self) -> None:
        """Wait until the process is gone, and everybody knows."""
        await self._over.wait()

    async def gone_within(self, seconds: float) -> bool:
        """Wait for the process to be gone, and everybody to know; whether it is."""
        if not self.doomed and not await self._process.over_within(seconds):
            return False
        self.condemn(None)
        await self.wait()
        return True

    async def leave(self, connection: SharedConnection) -> None:
        """A session goes; what the agent wanted of it is refused, the process goes on."""
        if connection in self.connections and (self.doomed or self._process.exited):
            self.condemn(None)
            await self.wait()  # it is better to know how it ended
        if connection in self.connections:
            self.connections.discard(connection)
            for key in connection.open_requests:
                self._answer(key, _GONE)
            for key in self._routes.leave(connection):
                self._part_with(key)
            self._news.set()
            self._on_leave()

    def _close(self, exit: Exit) -> None:
        self.doomed = True
        for answer in self._waiting:
            if not answer.done():
                answer.set_exception(AgentProcessExited("it ended"))
        for _, said in self._routes.expired(float("inf")):
            self._nobodys(said)
        connections, self.connections = self.connections, set()
        for connection in connections:
            connection.lose(exit)
        self._over.set()


def _give(connection: SharedConnection, said: Notification | IncomingRequest, number: int) -> None:
    connection.hear(said.message if isinstance(said, Notification) else said, number)
