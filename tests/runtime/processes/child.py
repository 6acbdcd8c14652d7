"""Real child processes, and a loop to run them in."""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dragoman.facts import Launch
from dragoman.runtime.processes.process import AgentSubprocess
from dragoman.store import Store
from dragoman.wire.jsonl import Oversize

DEADLINE_S = 20.0
GRACE_S = 1.0


class Child:
    """An agent's process that is a few lines of Python."""

    def __init__(self, max_line_bytes: int, send_deadline_s: float, store: Store | None) -> None:
        self.mark = f"{uuid.uuid4().hex}:s1"
        self.news = asyncio.Event()
        self.process = AgentSubprocess(
            self.news.set, self.mark, max_line_bytes, send_deadline_s=send_deadline_s, store=store
        )

    async def lines(self, count: int | None = None) -> list[bytes | Oversize]:
        """Take so many lines, or all until it has ended."""
        taken: list[bytes | Oversize] = []
        async with asyncio.timeout(DEADLINE_S):
            while count is None or len(taken) < count:
                taken += self.process.take()
                if self.process.drained or (count is not None and len(taken) >= count):
                    break
                if not self.process.waiting:
                    await self.news.wait()
                    self.news.clear()
        return taken

    async def quiet(self) -> None:
        """Wait until it gives no news for a while."""
        while True:
            self.news.clear()
            try:
                async with asyncio.timeout(0.3):
                    await self.news.wait()
            except TimeoutError:
                return


@asynccontextmanager
async def child(
    code: str,
    *,
    argv: tuple[str, ...] = (),
    env: dict[str, str] | None = None,
    cwd: str = "/",
    max_line_bytes: int = 1 << 20,
    send_deadline_s: float = DEADLINE_S,
    store: Store | None = None,
) -> AsyncIterator[Child]:
    """Run a piece of Python as an agent; it is gone afterwards."""
    started = Child(max_line_bytes, send_deadline_s, store)
    command = argv or (sys.executable, "-c", code)
    await started.process.start(Launch(argv=command, cwd=cwd), env or {})
    try:
        yield started
    finally:
        await started.process.end(GRACE_S)
