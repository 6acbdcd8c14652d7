"""What a session talks through: a process of its own here, a seat at a shared one in `shared`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from dragoman.adapter import Claim, EndInput, Exit, Launch, Notify, Outgoing, Request, Respond, Send
from dragoman.runtime.process import AgentProcess
from dragoman.wire.jsonl import Oversize
from dragoman.wire.jsonrpc import Asked, Peer, Replied, Stray, Told

Tag = TypeVar("Tag")
Heard = bytes | Oversize | Asked | Replied[str] | Stray
"""A message, one that was too large, a request, what became of ours, and what fits nothing."""
PATIENCE_S = 2.0
"""How long a process that has done its work may take to end by itself."""


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

    def take(self) -> Sequence[Heard]:
        """What the agent said next, some at a time."""

    async def send(self, said: Outgoing) -> None:
        """Tell the agent. Raise DaemonError where it cannot hear."""

    async def end(
        self, deadline_s: float, *, patience_s: float = 0.0, at_work: bool = False
    ) -> None:
        """Leave nothing of this session running; patience comes before any force."""

    def exit(self) -> Exit:
        """How it ended."""


class Own:
    """A process that serves one session, and ends with it."""

    shared = False

    def __init__(self, process: AgentProcess, launch: Launch, wake: Callable[[], None]) -> None:
        self._process = process
        self._peer: Peer[str] | None = peer_of(launch)
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

    def take(self) -> Sequence[Heard]:
        """What it said next, some at a time; and which requests of ours are overdue."""
        lines = self._process.take()
        if self._peer is None:
            return lines
        heard: list[Heard] = []
        for line in lines:
            said = line if isinstance(line, Oversize) else self._peer.receive(line)
            heard.append(said.message if isinstance(said, Told) else said)
        return [*heard, *self._peer.overdue(self._loop.time())]

    async def send(self, said: Outgoing) -> None:
        """Write it down for the process. Raise DaemonError where nobody reads."""
        match said:
            case Send(data=data):
                await self._process.send(data)
            case EndInput():
                self._process.end_input()
            case Claim():
                pass  # all that it says is for this session
            case _:
                assert self._peer is not None, "only a JSON-RPC agent is sent requests"
                tag = said.tag if isinstance(said, Request) else ""
                line = line_of(self._peer, said, tag, self._wake)
                if line is not None:
                    await self._process.send(line)

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


def peer_of(launch: Launch) -> Peer[Any] | None:
    """Our end of the wire; None: it has plain lines."""
    return None if launch.wire == "jsonl" else Peer(bare=launch.wire == "jsonrpc-bare")


def line_of(
    peer: Peer[Tag], said: Request | Notify | Respond, tag: Tag, wake: Callable[[], None]
) -> bytes | None:
    """The line to write, None: an answer that nobody waits for. `wake` is called at a deadline."""
    match said:
        case Request(method=method, params=params, deadline_s=deadline_s):
            if deadline_s is None:
                return peer.request(method, params, tag)
            loop = asyncio.get_running_loop()
            due = loop.time() + deadline_s
            loop.call_at(due, wake)
            return peer.request(method, params, tag, due)
        case Notify(method=method, params=params):
            return peer.notify(method, params)
        case Respond(key=key, result=result, error=error):
            return peer.respond(key, result if error is None else error)
