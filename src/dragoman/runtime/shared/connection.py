"""A session's connection to a shared process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import msgspec
from msgspec import UNSET

from dragoman.errors import AgentProcessExited
from dragoman.facts import Exit
from dragoman.runtime.processes.channel import AgentMessage
from dragoman.runtime.processes.process import BATCH_BYTES, PAUSE_ABOVE_BYTES
from dragoman.schema.events import Stderr
from dragoman.steps import Outgoing
from dragoman.wire.jsonrpc import IncomingRequest, Response, Stray

_LEFT = Exit(
    code=None,
    signal=None,
    expected=True,
    stderr=Stderr(head="", tail=UNSET, truncated=False, total_lines=0),
)


class _Incoming(NamedTuple):
    number: int
    """Which message of the process it was."""
    message: AgentMessage
    size: int


class Host(Protocol):
    """What a connection needs of the process it is to."""

    @property
    def pid(self) -> int:
        """The process's id."""

    async def send(self, connection: SharedConnection, said: Outgoing) -> None:
        """Tell the agent something on behalf of this connection."""

    async def gone_within(self, seconds: float) -> bool:
        """Wait for the process to be gone; whether it is."""

    async def leave(self, connection: SharedConnection) -> None:
        """Forget this connection."""

    def note_room(self) -> None:
        """Some connection has taken what waited for it."""


class SharedConnection:
    """What the shared process says to one session, and what it is told by it."""

    shared = True

    def __init__(self, host: Host, session_id: str, wake: Callable[[], None]) -> None:
        self.session_id = session_id
        self.open_requests: set[str] = set()
        """Requests of the agent that this session has to answer."""
        self._host = host
        self._wake = wake
        self._unread: deque[_Incoming] = deque()
        self._heard_bytes = 0
        self._batch: list[_Incoming] = []
        self._exit: Exit | None = None

    @property
    def pid(self) -> int:
        """The shared process's id."""
        return self._host.pid

    @property
    def waiting(self) -> bool:
        """There is more to take."""
        return bool(self._unread)

    @property
    def drained(self) -> bool:
        """The process, or the place at it, is gone, and all that it said was taken."""
        return self._exit is not None and not self._unread

    @property
    def full(self) -> bool:
        """So much waits here that the process must not say more."""
        return self._heard_bytes > PAUSE_ABOVE_BYTES

    def take(self) -> Sequence[AgentMessage]:
        """What was said next, some at a time."""
        self._batch = []
        size = 0
        while self._unread and size < BATCH_BYTES:
            said = self._unread.popleft()
            size += said.size
            self._batch.append(said)
        self._heard_bytes -= size
        self._host.note_room()
        return [said.message for said in self._batch]

    def put_back(self, count: int) -> None:
        """The last of what was taken comes again, after what a claim may bring."""
        rest = self._batch[len(self._batch) - count :]
        self._unread.extendleft(reversed(rest))
        self._heard_bytes += sum(said.size for said in rest)

    async def send(self, said: Outgoing) -> None:
        """Tell the agent. Raise DaemonError where it cannot hear."""
        if self._exit is not None:
            raise AgentProcessExited("the process that this session shared is gone")
        await self._host.send(self, said)

    async def gone_within(self, seconds: float) -> bool:
        """Wait for the process to be gone; whether it is."""
        return self.is_closed or await self._host.gone_within(seconds)

    async def end(
        self, deadline_s: float, *, patience_s: float = 0.0, at_work: bool = False
    ) -> None:
        """Leave; the process goes on for the others."""
        await self._host.leave(self)
        self._exit = self._exit or _LEFT

    def exit(self) -> Exit:
        """How it ended for this session."""
        assert self._exit is not None
        return self._exit

    # --- For the server ---

    def hear(self, message: AgentMessage, number: int) -> None:
        """The process says something to this session; what was held for it keeps its place."""
        if isinstance(message, IncomingRequest):
            self.open_requests.add(message.key)
        said = _Incoming(number, message, _size(message))
        in_order = not self._unread or self._unread[-1].number < number
        self._unread.append(said)
        if not in_order:
            self._unread = deque(sorted(self._unread, key=lambda each: each.number))
        self._heard_bytes += said.size
        self._wake()

    def lose(self, exit: Exit) -> None:
        """The process is gone, and this session did not want it."""
        self._exit = msgspec.structs.replace(exit, expected=False)
        self._wake()

    @property
    def is_closed(self) -> bool:
        """Nobody sits here any more."""
        return self._exit is not None


def _size(message: AgentMessage) -> int:
    match message:
        case bytes():
            return len(message)
        case IncomingRequest(message=line) | Stray(message=line) | Response(message=line):
            return len(line or b"")
        case _:
            return len(message.head)
