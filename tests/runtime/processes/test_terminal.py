"""Commands that run for agents: bounded, whole, and gone."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Awaitable, Callable

from dragoman.runtime.processes import linux
from dragoman.runtime.processes.terminal import (
    PAUSE_ABOVE,
    READ_BYTES,
    TerminalProcess,
    command_line,
)

DEADLINE_S = 20.0


def run(command: str, use: Callable[[TerminalProcess, asyncio.Event], Awaitable[None]]) -> None:
    """Run a command, and see that nothing of it is left."""
    mark = f"{uuid.uuid4().hex}:s/term_1"

    async def main() -> None:
        news = asyncio.Event()
        terminal = TerminalProcess(mark, news.set, None, 0.3)
        environ = {"PATH": os.environ["PATH"]}
        await terminal.start(command_line(command, ()), cwd="/", environ=environ)
        try:
            async with asyncio.timeout(DEADLINE_S):
                await use(terminal, news)
        finally:
            await terminal.end()
        assert terminal.exited

    asyncio.run(main())
    assert list(linux.marked(mark)) == []


async def until_exit(terminal: TerminalProcess, news: asyncio.Event) -> str:
    """Take all that it prints."""
    assert terminal.output is not None
    text = ""
    while not terminal.exited or terminal.output.waiting:
        await news.wait()
        news.clear()
        text += terminal.output.take()
    return text


def test_all_that_is_printed_arrives_in_order() -> None:
    async def use(terminal: TerminalProcess, news: asyncio.Event) -> None:
        text = await until_exit(terminal, news)
        lines = "".join(f"{n}\n" for n in range(1, 200_001))
        assert text == lines + "the end\n"
        assert terminal.code == 3

    run("seq 200000; echo the end >&2; exit 3", use)


def test_nobody_reads_more_than_is_taken() -> None:
    async def use(terminal: TerminalProcess, news: asyncio.Event) -> None:
        assert terminal.output is not None
        for _ in range(3):
            size = 0
            while size <= PAUSE_ABOVE:  # it is full, and waits to be taken
                await news.wait()
                news.clear()
                size = terminal.output.size
            for _ in range(1000):  # whoever read on would have read more by now
                await asyncio.sleep(0)
            assert len(terminal.output.take()) <= PAUSE_ABOVE + READ_BYTES

    run("yes", use)


def test_what_it_leaves_in_the_background_ends_with_it() -> None:
    async def use(terminal: TerminalProcess, news: asyncio.Event) -> None:
        assert await until_exit(terminal, news) == "begun\n"
        assert terminal.code == 0

    run("sleep 60 & (setsid sleep 60 &) ; echo begun", use)


def test_many_may_end_it_at_once() -> None:
    async def use(terminal: TerminalProcess, news: asyncio.Event) -> None:
        await asyncio.gather(terminal.end(), terminal.end(), terminal.end())
        assert terminal.code == -15

    run("exec sleep 60", use)
