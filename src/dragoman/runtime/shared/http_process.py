"""An agent's process that serves HTTP on loopback: calls go out, its event stream comes in."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol

import httpx2
import msgspec

from dragoman.errors import AgentProcessExited
from dragoman.facts import Exit, HttpServer, Launch
from dragoman.runtime.processes.process import (
    BATCH_BYTES,
    PAUSE_ABOVE_BYTES,
    STOP_DEADLINE_S,
    AgentSubprocess,
)
from dragoman.wire.http import NO_ANSWER, answer_line, call_in
from dragoman.wire.jsonl import Oversize
from dragoman.wire.sse import BoundedSseParser

log = logging.getLogger(__name__)

START_S = 60.0
"""How long it may take to say where it listens, and to open its event stream."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Nobody else is told the password."""
CONNECT_S = 10.0
CALL_S = 120.0
"""How long a call may take before its connection is closed; who waits for it gave up before."""
SILENCE_S = 60.0
"""A stream that says nothing for so long has broken: a heartbeat comes more often."""
RETRY_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
"""How long the next try to open the stream waits after so many failures in a row."""
GONE_S = 1.0
"""How soon the end of a process is seen after that of its connections."""


class LineProcess(Protocol):
    """A process that hears and says lines, whatever carries them."""

    @property
    def pid(self) -> int:
        """The process's id."""

    @property
    def exited(self) -> bool:
        """It is gone."""

    @property
    def waiting(self) -> bool:
        """There is more to take."""

    @property
    def drained(self) -> bool:
        """It has exited, and everything that it said was taken."""

    def take(self) -> list[bytes | Oversize]:
        """The next lines, some at a time."""

    async def send(self, line: bytes) -> None:
        """Tell it something. Raise AgentProcessExited, or DeadlinePassed."""

    async def end(self, deadline_s: float, *, at_work: bool = False) -> None:
        """End it and everything that it started."""

    async def over_within(self, seconds: float) -> bool:
        """Wait for it to end by itself; whether it did."""

    def exit(self) -> Exit:
        """How it ended."""


MakeProcess = Callable[[Callable[[], None]], AgentSubprocess]
"""Makes a process that calls this when there is news."""


class HttpProcess:
    """A running server. Its stdout only tells where it listens; `note` keeps what else is there."""

    def __init__(
        self,
        make: MakeProcess,
        server: HttpServer,
        wake: Callable[[], None],
        note: Callable[[bytes], None],
        max_bytes: int,
        *,
        silence_s: float = SILENCE_S,
    ) -> None:
        self._process = make(self._on_news)
        self._server = server
        self._wake = wake
        self._note = note
        self._max_bytes = max_bytes
        self._silence_s = silence_s
        self._client: httpx2.AsyncClient | None = None
        self._address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: deque[bytes | Oversize] = deque()
        self._waiting_bytes = 0
        self._room = asyncio.Event()

    # --- As any process ---

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def exited(self) -> bool:
        """It is gone."""
        return self._process.exited

    @property
    def waiting(self) -> bool:
        """There is more to take."""
        return bool(self._waiting)

    @property
    def drained(self) -> bool:
        """It has exited, and everything that it said was taken."""
        return self._process.drained and not self._waiting

    def take(self) -> list[bytes | Oversize]:
        """The next events and answers, some at a time."""
        self._on_stdout()
        taken: list[bytes | Oversize] = []
        size = 0
        while self._waiting and size < BATCH_BYTES:
            line = self._waiting.popleft()
            size += _size(line)
            taken.append(line)
        self._waiting_bytes -= size
        if self._waiting_bytes < PAUSE_ABOVE_BYTES // 2:
            self._room.set()
        return taken

    async def over_within(self, seconds: float) -> bool:
        """Wait for it to end by itself; whether it did."""
        return await self._process.over_within(seconds)

    def exit(self) -> Exit:
        """How it ended."""
        return self._process.exit()

    async def end(self, deadline_s: float, *, at_work: bool = False) -> None:
        """End it and everything that it started; a server does not care for its stdin."""
        await self._process.end(deadline_s, at_work=True)
        await self._disconnect()

    async def _disconnect(self) -> None:
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self._client is not None:
            await self._client.aclose()

    # --- Its start ---

    async def start(self, launch: Launch, environ: Mapping[str, str]) -> None:
        """Start it, and wait until its event stream is open. Raise AgentProcessExited."""
        password = secrets.token_urlsafe(32)
        given = {**launch.env, self._server.password: password}
        await self._process.start(msgspec.structs.replace(launch, env=given), environ)
        try:
            async with asyncio.timeout(START_S):
                url = await self._address
                if httpx2.URL(url).host not in LOOPBACK:
                    raise AgentProcessExited(f"it listens at {url}, and not on loopback")
                self._client = httpx2.AsyncClient(
                    base_url=url,
                    auth=(self._server.user, password),
                    timeout=httpx2.Timeout(CALL_S, connect=CONNECT_S),
                    limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
                    # The environment's proxies are not for what is on this machine.
                    trust_env=False,
                )
                opened = asyncio.Event()
                self._spawn(self._listen(self._client, opened))
                await opened.wait()
        except (TimeoutError, AgentProcessExited) as error:
            await self.end(STOP_DEADLINE_S)
            why = str(error) or f"it did not serve within {START_S:g} s"
            raise AgentProcessExited(why, self.exit() if not str(error) else None) from None

    def _on_news(self) -> None:
        """The process has printed something, or is gone."""
        self._on_stdout()
        if self._process.exited:
            if not self._address.done():
                self._address.set_exception(
                    AgentProcessExited("it ended before it said where it listens")
                )
            self._spawn(self._disconnect())
        self._wake()

    def _on_stdout(self) -> None:
        for line in self._process.take():
            text = line.head if isinstance(line, Oversize) else line
            url = None if self._address.done() else self._server.address(text)
            if url is not None:
                self._address.set_result(url)
            self._note(text + b"\n")

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- Its events ---

    async def _listen(self, client: httpx2.AsyncClient, opened: asyncio.Event) -> None:
        """Read the stream, and open it again when it breaks, for as long as the process lives."""
        failures = 0
        while not self._process.exited:
            try:
                failures = await self._read_events(client, opened, failures)
                why = "it ended"
            except (httpx2.HTTPError, httpx2.StreamError) as error:
                why = f"{type(error).__name__}: {error}"
            wait_s = RETRY_S[min(failures, len(RETRY_S) - 1)]
            failures += 1
            if opened.is_set() and not await self._process.over_within(wait_s):
                log.warning("the event stream of process %d broke: %s", self.pid, why)
            elif not opened.is_set():
                await asyncio.sleep(wait_s)

    async def _read_events(
        self, client: httpx2.AsyncClient, opened: asyncio.Event, failures: int
    ) -> int:
        """Read until the stream ends; how many failures in a row there are."""
        timeout = httpx2.Timeout(CONNECT_S, read=self._silence_s)
        parser = BoundedSseParser(self._max_bytes)
        headers = {"Accept": "text/event-stream"}
        async with client.stream(
            "GET", self._server.events, headers=headers, timeout=timeout
        ) as response:
            if response.status_code != httpx2.codes.OK:
                return failures
            async for chunk in response.aiter_bytes():
                opened.set()
                self._queue(parser.feed(chunk))
                failures = 0
                while self._waiting_bytes > PAUSE_ABOVE_BYTES:
                    self._room.clear()
                    await self._room.wait()
        return failures

    def _queue(self, lines: list[bytes | Oversize]) -> None:
        if lines:
            self._waiting.extend(lines)
            self._waiting_bytes += sum(map(_size, lines))
            self._wake()

    # --- Calls ---

    async def send(self, line: bytes) -> None:
        """Make a call; its answer is a line. Raise AgentProcessExited."""
        if self._client is None or self._process.exited:
            raise AgentProcessExited("the agent is not running")
        self._spawn(self._call(self._client, line))

    async def _call(self, client: httpx2.AsyncClient, line: bytes) -> None:
        call = call_in(line)
        body = {} if call.params is None else {"json": call.params}
        try:
            async with client.stream(call.verb, call.target, **body) as response:
                status, content = response.status_code, await self._content(response)
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            # Where the process is gone, that is what everybody is told, and nothing else.
            if await self._process.over_within(GONE_S):
                return
            status, content = NO_ANSWER, f"{type(error).__name__}: {error}".encode()
        self._queue([answer_line(call.id, status, content)])

    async def _content(self, response: httpx2.Response) -> bytes:
        content = bytearray()
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > self._max_bytes:
                raise httpx2.StreamError(f"an answer of more than {self._max_bytes} bytes")
        return bytes(content)


def _size(line: bytes | Oversize) -> int:
    return len(line.head if isinstance(line, Oversize) else line)
