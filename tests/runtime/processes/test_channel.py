"""How a session's words become lines, and when their time is over."""

from __future__ import annotations

import asyncio

import uvloop

from dragoman.runtime.processes.channel import line_of
from dragoman.steps import Request
from dragoman.wire.jsonrpc import Overdue, Peer, Response


def test_who_is_woken_at_a_deadline_finds_it_passed() -> None:
    """Timers of the loop ring at whole milliseconds, also a little early."""

    async def run() -> None:
        loop = asyncio.get_running_loop()
        for number in range(100):
            peer: Peer[str] = Peer()
            woken = asyncio.Event()
            asked = Request(method="sing", params={}, deadline_s=0.001 + number / 30_000)
            assert line_of(peer, asked, "tag", woken.set)
            await woken.wait()
            assert peer.overdue(loop.time()) == [Response(tag="tag", reply=Overdue())]

    uvloop.run(run())
