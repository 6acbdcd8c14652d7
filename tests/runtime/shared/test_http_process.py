"""A process that serves HTTP: its stream, its answers, and what becomes of both when it fails."""

from __future__ import annotations

import asyncio
import functools
import json
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import AgentProcessExited
from dragoman.facts import HttpServer, Launch
from dragoman.runtime.processes.process import AgentSubprocess
from dragoman.runtime.shared.http_process import HttpProcess
from dragoman.settings import child_environ
from dragoman.wire.http import HttpCaller
from dragoman.wire.jsonl import Oversize
from dragoman.wire.jsonrpc import Notification, Response, Result, RpcError
from tests.shared_agent.http_server import PASSWORD

MAX_BYTES = 100_000
DEADLINE_S = 30
ROOT = Path(__file__).parent.parent.parent.parent


def address(line: bytes) -> str | None:
    _, found, url = line.partition(b"listens at ")
    return url.decode() if found else None


SERVER = HttpServer(address=address, events="/events", user="user", password=PASSWORD)


class Talk:
    """A process, and all that it has said."""

    def __init__(self) -> None:
        self.news = asyncio.Event()
        self.notes: list[bytes] = []
        self.caller: HttpCaller[str] = HttpCaller()
        self.events: list[Any] = []
        self.replies: dict[str, Any] = {}
        self.process = HttpProcess(self._make, SERVER, self.news.set, self.notes.append, MAX_BYTES)

    def _make(self, wake: Callable[[], None]) -> AgentSubprocess:
        return AgentSubprocess(wake, "mark", MAX_BYTES)

    async def start(self, *words: str) -> None:
        argv = (sys.executable, "-m", "tests.shared_agent.http_server", *words)
        await self.process.start(Launch(argv=argv, cwd=str(ROOT), wire="http"), child_environ())

    async def call(self, method: str, body: Any = None) -> Any:
        """Make a call, and wait for what becomes of it."""
        await self.send(method, body)
        await self.until(lambda: method in self.replies)
        return self.replies.pop(method)

    async def send(self, method: str, body: Any = None) -> None:
        await self.process.send(self.caller.request(method, body, method))

    async def until(self, done: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not done():
                await self.news.wait()
                self.news.clear()
                self._hear()

    def _hear(self) -> None:
        for line in self.process.take():
            if isinstance(line, Oversize):
                self.events.append(line)
                continue
            match self.caller.receive(line):
                case Response(tag=tag, reply=reply):
                    self.replies[tag] = reply
                case Notification(message=message):
                    self.events.append(json.loads(message))
                case stray:
                    self.events.append(stray)

    async def say(self, text: str) -> None:
        """Let the server write this to its stream, as it stands."""
        assert isinstance(await self.call("POST /say", text), Result)

    async def heard(self, count: int) -> list[Any]:
        await self.until(lambda: len(self.events) >= count)
        return self.events


@asynccontextmanager
async def talking() -> AsyncIterator[Talk]:
    talk = Talk()
    await talk.start()
    try:
        yield talk
    finally:
        await talk.process.end(1.0)


HELLO = {"hello": 1}


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test in a loop of its own."""

    @functools.wraps(test)
    def run(*given: Any, **named: Any) -> None:
        asyncio.run(test(*given, **named))

    return run


@in_loop
async def test_calls_are_answered_and_events_are_heard() -> None:
    async with talking() as talk:
        reply = await talk.call("POST /echo", {"a": [1, "ü"]})
        assert json.loads(reply.result) == {"a": [1, "ü"]}
        await talk.say('data: {"n":1}\n\ndata: {"n":2}\n\n')
        assert await talk.heard(3) == [HELLO, {"n": 1}, {"n": 2}]
        assert b"a word before\n" in talk.notes


@in_loop
async def test_an_event_may_come_in_pieces_and_twice() -> None:
    async with talking() as talk:
        await talk.say('data: {"n"')
        await talk.say(":1}\n")
        await talk.say("\n: a comment\n\n")
        await talk.say('data: {"n":1}\n\n')
        assert await talk.heard(3) == [HELLO, {"n": 1}, {"n": 1}]


@in_loop
async def test_a_stream_that_breaks_in_an_event_is_opened_again() -> None:
    async with talking() as talk:
        await talk.heard(1)
        await talk.say('data: {"half":')
        await talk.call("POST /break")
        assert await talk.heard(2) == [HELLO, HELLO]
        await talk.say('data: {"n":1}\n\n')
        assert (await talk.heard(3))[-1] == {"n": 1}


@in_loop
async def test_an_event_that_is_too_large_costs_only_itself() -> None:
    async with talking() as talk:
        large = json.dumps({"x": "y" * MAX_BYTES})
        await talk.say(f'data: {large}\n\ndata: {{"n":1}}\n\n')
        _, oversize, after = await talk.heard(3)
        assert isinstance(oversize, Oversize)
        assert oversize.size > MAX_BYTES
        assert after == {"n": 1}


@pytest.mark.parametrize(
    ("method", "code", "words"),
    [
        ("GET /fail", 500, "it is broken"),
        ("GET /redirect", 302, "HTTP 302"),
        ("GET /large", 0, "more than 100000 bytes"),
    ],
)
@in_loop
async def test_a_call_that_fails_says_why(method: str, code: int, words: str) -> None:
    async with talking() as talk:
        reply = await talk.call(method)
        assert isinstance(reply, RpcError)
        assert reply.code == code
        assert words in reply.message


@in_loop
async def test_an_answer_that_is_no_json_is_a_text() -> None:
    async with talking() as talk:
        assert json.loads((await talk.call("GET /text")).result) == "no JSON\nat all"


@in_loop
async def test_a_late_answer_holds_up_nobody() -> None:
    async with talking() as talk:
        await talk.send("GET /late")
        assert isinstance(await talk.call("POST /echo", 1), Result)
        assert "GET /late" not in talk.replies
        await talk.call("POST /go")
        await talk.until(lambda: "GET /late" in talk.replies)


@in_loop
async def test_a_server_that_hangs_is_ended() -> None:
    async with talking() as talk:
        await talk.send("GET /hang")
        await talk.process.end(1.0)
        assert talk.process.exited


@in_loop
async def test_a_server_that_dies_ends_everything() -> None:
    async with talking() as talk:
        await talk.say('data: {"n":1}\n\ndata: {"ha')
        await talk.heard(2)
        await talk.send("GET /hang")
        await talk.send("POST /die")
        await talk.until(lambda: talk.process.drained)
        assert talk.process.exit().code == 3
        assert talk.events == [HELLO, {"n": 1}]
        assert talk.replies == {}, "that it is gone says all"
        with pytest.raises(AgentProcessExited):
            await talk.send("POST /echo")


@in_loop
async def test_a_server_that_does_not_come_up_says_why() -> None:
    talk = Talk()
    with pytest.raises(AgentProcessExited, match="before it said where it listens"):
        await talk.start("--mute")


@in_loop
async def test_a_server_elsewhere_is_not_told_the_password() -> None:
    talk = Talk()
    with pytest.raises(AgentProcessExited, match="not on loopback"):
        await talk.start("--elsewhere")
    assert talk.process.exited


@in_loop
async def test_nobody_else_can_call_it() -> None:
    async with talking() as one, talking() as other:
        assert one.process._client is not None
        assert other.process._client is not None
        assert one.process._client.auth != other.process._client.auth
        answer = await one.process._client.get("/text", auth=("user", "guess"))
        assert answer.status_code == 401
