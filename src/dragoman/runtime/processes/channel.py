"""The channel from a session to its agent: a dedicated process, or a shared one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from dragoman.errors import DaemonError
from dragoman.facts import Exit, Launch
from dragoman.runtime.processes.process import AgentSubprocess
from dragoman.steps import Claim, EndInput, Notify, Outgoing, Request, Respond, Send, Signal
from dragoman.wire.http import Endpoint, HttpCaller
from dragoman.wire.jsonl import Oversize
from dragoman.wire.jsonrpc import IncomingRequest, Notification, Peer, Response, Stray

Tag = TypeVar("Tag")
AgentMessage = bytes | Oversize | IncomingRequest | Response[str] | Stray
"""A message, one that was too large, a request, what became of ours, and what fits nothing."""
PATIENCE_S = 2.0
"""How long a process that has done its work may take to end by itself."""
_TICK_S = 0.002
"""The loop's clock has whole milliseconds, and its timers are rounded to them."""


class Channel(Protocol):
    """One session's way to its agent."""

    shared: bool
    """Others use the process too: it goes on when this session leaves."""

    @property
    def pid(self) -> int:
        """The id of the process at the other end."""

    @property
    def waiting(self) -> bool:
        """There is more to take."""

    @property
    def drained(self) -> bool:
        """The process is gone, and everything that it said was taken."""

    def take(self) -> Sequence[AgentMessage]:
        """What the agent said next, some at a time."""

    def put_back(self, count: int) -> None:
        """So many of what was taken last come again: a claim may bring what was said before."""

    async def send(self, said: Outgoing) -> None:
        """Tell the agent. Raise DaemonError where it cannot hear."""

    async def gone_within(self, seconds: float) -> bool:
        """Wait for an end that we did not cause; True: it has come, and there is no more to hear
        than what waits."""

    async def end(
        self, deadline_s: float, *, patience_s: float = 0.0, at_work: bool = False
    ) -> None:
        """Leave nothing of this session running; patience comes before any force."""

    def exit(self) -> Exit:
        """How it ended."""


class DedicatedProcess:
    """A process that serves one session, and ends with it."""

    shared = False

    def __init__(self, process: AgentSubprocess, launch: Launch, wake: Callable[[], None]) -> None:
        self._process = process
        self._peer: Endpoint[str] | None = peer_of(launch)
        self._open_requests: dict[str, bytes] = {}
        """The agent's requests that were not answered."""
        self._wake = wake
        self._loop = asyncio.get_running_loop()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def waiting(self) -> bool:
        """There is more to take."""
        return self._process.waiting

    @property
    def drained(self) -> bool:
        """It has exited, and everything that it said was taken."""
        return self._process.drained

    def take(self) -> Sequence[AgentMessage]:
        """What it said next, some at a time; and which requests of ours are overdue."""
        lines = self._process.take()
        if self._peer is None:
            return lines
        heard: list[AgentMessage] = []
        for line in lines:
            said = line if isinstance(line, Oversize) else self._peer.receive(line)
            if isinstance(said, IncomingRequest):
                self._open_requests[said.key] = said.message
            heard.append(said.message if isinstance(said, Notification) else said)
        return [*heard, *self._peer.overdue(self._loop.time())]

    def put_back(self, count: int) -> None:
        """Do nothing: all that it says is for this session, and in order."""

    async def send(self, said: Outgoing) -> None:
        """Write it down for the process. Raise DaemonError where nobody reads."""
        match said:
            case Send(data=data):
                await self._process.send(data)
            case EndInput():
                self._process.end_input()
            case Signal(name=name):
                self._process.send_signal(name)
            case Claim():
                pass  # all that it says is for this session
            case _:
                assert self._peer is not None, "only a JSON-RPC agent is sent requests"
                await self._say(self._peer, said)

    async def _say(self, peer: Endpoint[str], said: Request | Notify | Respond) -> None:
        tag = said.tag if isinstance(said, Request) else ""
        line = line_of(peer, said, tag, self._wake)
        if line is None:
            return
        asked = self._open_requests.pop(said.key, None) if isinstance(said, Respond) else None
        try:
            await self._process.send(line)
        except DaemonError:
            if asked is not None and isinstance(said, Respond):
                self._open_requests[said.key] = asked
                peer.receive(asked)  # it still waits: somebody else may answer it
            raise

    async def gone_within(self, seconds: float) -> bool:
        """Wait for the process to end by itself; whether it has."""
        return await self._process.gone_within(seconds)

    async def end(
        self, deadline_s: float, *, patience_s: float = 0.0, at_work: bool = False
    ) -> None:
        """End the process and everything that it started."""
        if patience_s:
            await self._process.over_within(patience_s)
        await self._process.end(deadline_s, at_work=at_work)

    def exit(self) -> Exit:
        """How it ended."""
        return self._process.exit()


def peer_of(launch: Launch) -> Endpoint[Any] | None:
    """Our end of the wire; None: it has plain lines."""
    if launch.wire == "http":
        return HttpCaller()
    return None if launch.wire == "jsonl" else Peer(bare=launch.wire == "jsonrpc-bare")


def line_of(
    peer: Endpoint[Tag], said: Request | Notify | Respond, tag: Tag, wake: Callable[[], None]
) -> bytes | None:
    """The line to write, None: an answer that nobody waits for. `wake` is called at a deadline."""
    match said:
        case Request(method=method, params=params, deadline_s=deadline_s):
            if deadline_s is None:
                return peer.request(method, params, tag)
            return peer.request(method, params, tag, wake_in(deadline_s, wake))
        case Notify(method=method, params=params):
            return peer.notify(method, params)
        case Respond(key=key, result=result, error=error):
            return peer.respond(key, result if error is None else error)


def wake_in(seconds: float, wake: Callable[[], None]) -> float:
    """When so many seconds are over; `wake` is called then, and never a moment early."""
    loop = asyncio.get_running_loop()
    due = loop.time() + seconds
    loop.call_at(due + _TICK_S, wake)
    return due
