"""A process that many sessions share: started on demand, restarted with back-off."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from dragoman.adapter import Adapter
from dragoman.errors import AgentProcessExited, DaemonError, Unavailable
from dragoman.facts import Exit, Launch
from dragoman.runtime.processes.process import AgentSubprocess, Lives
from dragoman.runtime.processes.stderr import StderrFile, without_secrets
from dragoman.runtime.shared.connection import SharedConnection
from dragoman.runtime.shared.http_process import HttpProcess
from dragoman.runtime.shared.multiplexer import UNROUTABLE, Multiplexer
from dragoman.schema.http import ServerStatus
from dragoman.settings import Settings, child_environ
from dragoman.steps import Request
from dragoman.store import Store
from dragoman.wire.jsonrpc import Overdue, Reply, RpcError
from dragoman.wire.redactor import Redactor, Secret

log = logging.getLogger(__name__)

IDLE_S = 300.0
"""How long a process without sessions stays, where the settings do not say."""
STEADY_S = 30.0
"""Who has run for so long has not come up in vain."""
BACKOFF_S = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""How long the next start waits after so many failures in a row."""
PATIENT_S = 2.0
"""A longer wait is refused: the person hears why, and may try again."""


class SharedProcess:
    """One process after another, under one name."""

    def __init__(
        self,
        name: str,
        adapter: Adapter,
        launch: Launch,
        settings: Settings,
        mark: str,
        store: Store,
        lives: Lives,
        redactor: Redactor | None,
    ) -> None:
        self.agent = adapter.id
        self.counters: Counter[str] = Counter()
        """What was said to nobody, too late, or about the process; its own log has all of it."""
        self.name = name
        self._adapter = adapter
        self._launch = launch
        self._settings = settings
        self.mark = f"{mark}:server:{name}"
        self._store = store
        self._lives = lives
        self._redactor = redactor
        self._multiplexer: Multiplexer | None = None
        self._task: asyncio.Task[None] | None = None
        self._starting: asyncio.Task[None] | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._up_since: float | None = None
        self._failures = 0
        self._not_before = 0.0
        self._restarts = 0
        self._last_error: str | None = None
        self._last_exit: Exit | None = None
        """None: we ended it."""
        self._unused = False
        """It ends because nobody needs it."""
        self._closed = False

    @property
    def running(self) -> bool:
        """It serves."""
        multiplexer = self._multiplexer
        return self._up_since is not None and multiplexer is not None and not multiplexer.doomed

    @property
    def session_ids(self) -> tuple[str, ...]:
        """The sessions that have a place at it."""
        connections = self._multiplexer.connections if self._multiplexer is not None else ()
        return tuple(sorted(connection.session_id for connection in connections))

    @property
    def blank(self) -> bool:
        """It does not run, and there is nothing to tell of it."""
        return self._multiplexer is None and self._starting is None and self._last_error is None

    def status(self) -> ServerStatus:
        """Its health."""
        up = self._up_since
        uptime_s = None if up is None else asyncio.get_running_loop().time() - up
        return ServerStatus(
            status="running" if self.running else "error" if self._failures else "stopped",
            uptime_ms=None if uptime_s is None else int(uptime_s * 1000),
            restart_count=self._restarts,
            last_error=self._last_error,
            unrouted=self.counters[UNROUTABLE],
        )

    def keep_secret(self, secrets: Sequence[Secret]) -> None:
        """What the process writes is kept without these, too."""
        known = self._redactor
        if known is not None and set(secrets) - set(known.secrets):
            self._redactor = Redactor((*known.secrets, *secrets))

    # --- Starting ---

    async def connection(self, session_id: str, wake: Callable[[], None]) -> SharedConnection:
        """A place for a session, at a process that serves. Raise DaemonError."""
        multiplexer = await self._serving()
        connection = multiplexer.connection(session_id, wake)
        self._keep()
        return connection

    async def ask(self, said: Request) -> Reply:
        """Ask for something that is about no running session. Raise DaemonError."""
        return await (await self._serving()).ask(said)

    async def _serving(self) -> Multiplexer:
        """The process that serves, started where none does. Raise DaemonError."""
        if not self.running:
            if self._starting is None:
                self._starting = asyncio.create_task(self._start())
                self._starting.add_done_callback(self._started)
            await asyncio.shield(self._starting)  # the others wait for the same
        if not self.running or self._multiplexer is None:
            why = f"{self.name} ended as soon as it had started"
            raise AgentProcessExited(why, self._last_exit)
        return self._multiplexer

    def _started(self, task: asyncio.Task[None]) -> None:
        self._starting = None
        if not task.cancelled():
            task.exception()  # those who wait have heard it, if anybody still does

    async def _start(self) -> None:
        if self._task is not None:
            await asyncio.wait([self._task])
        loop = asyncio.get_running_loop()
        wait_s = self._not_before - loop.time()
        if wait_s > PATIENT_S:
            raise Unavailable(
                f"{self.name} failed {self._failures} times in a row ({self._last_error}); "
                f"it may start again in {wait_s:.0f} s"
            )
        await asyncio.sleep(max(0.0, wait_s))
        if self._closed:
            raise Unavailable("the daemon is stopping")
        self._restarts += self._failures > 0
        self._unused = False
        multiplexer = await self._launched()
        await self._greet(multiplexer)
        if multiplexer.over:
            why = f"{self.name} did not come up: {self._last_error}"
            raise AgentProcessExited(why, self._last_exit)
        self._up_since = loop.time()
        self._keep()
        log.info("shared agent started", extra={"server": self.name, "pid": multiplexer.pid})

    async def _launched(self) -> Multiplexer:
        settings, news = self._settings, asyncio.Event()
        # No session's id has a plus sign.
        name = f"server+{self.name}"
        book = StderrFile(Path(settings.data_dir), name, settings.max_stderr_bytes)

        def note(said: bytes) -> None:
            book.feed(without_secrets(said, self._redactor))

        process = self._process(news.set, book, note)
        try:
            await process.start(self._launch, child_environ())
        except AgentProcessExited as error:
            self._failed(str(error))
            raise
        multiplexer = self._multiplexer = Multiplexer(
            self.name,
            self._adapter,
            self._launch,
            process,
            news,
            note,
            self.counters,
            self._keep,
        )
        self._task = asyncio.create_task(self._run(multiplexer), name=f"server-{self.name}")
        if self._closed:
            multiplexer.condemn(None)
        return multiplexer

    def _process(
        self, wake: Callable[[], None], book: StderrFile, note: Callable[[bytes], None]
    ) -> AgentSubprocess | HttpProcess:
        settings = self._settings

        def make(wake: Callable[[], None]) -> AgentSubprocess:
            return AgentSubprocess(
                wake,
                self.mark,
                settings.max_line_bytes,
                send_deadline_s=settings.send_deadline_s,
                stdout_deadline_s=settings.stdout_deadline_s,
                stop_deadline_s=settings.stop_deadline_s,
                store=self._store,
                stderr_file=book,
                lives=self._lives,
                redactor=lambda: self._redactor,
            )

        server = self._adapter.http
        if self._launch.wire != "http" or server is None:
            return make(wake)
        return HttpProcess(make, server, wake, note, settings.max_line_bytes)

    async def _greet(self, multiplexer: Multiplexer) -> None:
        """Say hello, once for all sessions; who does not answer is ended."""
        for said in self._adapter.handshake:
            try:
                reply = await multiplexer.ask(said)
            except DaemonError:
                multiplexer.condemn(None)
            else:
                if isinstance(reply, RpcError):
                    multiplexer.condemn(f"it refused {said.method!r}: {reply.message}")
                elif isinstance(reply, Overdue):
                    multiplexer.condemn(f"it did not answer {said.method!r}")
            if multiplexer.doomed:
                return await multiplexer.wait()
        return None

    # --- Ends ---

    async def _run(self, multiplexer: Multiplexer) -> None:
        exit = await multiplexer.run(self._settings.stop_deadline_s)
        if self._unused:
            self._failures = 0
        else:
            self._failed(multiplexer.why or _how(exit))
            self._last_exit = exit if multiplexer.why is None else None
        self._multiplexer = self._up_since = None
        log.info("shared agent ended", extra={"server": self.name, **self.counters})

    def _failed(self, why: str) -> None:
        now = asyncio.get_running_loop().time()
        steady = self._up_since is not None and now - self._up_since > STEADY_S
        self._failures = 1 if steady else self._failures + 1
        self._not_before = now + BACKOFF_S[min(self._failures, len(BACKOFF_S)) - 1]
        self._last_error = why
        log.error("shared agent failed", extra={"server": self.name, "why": why})

    def _keep(self) -> None:
        """Without sessions it stays for a while only."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        if self.running and self._multiplexer is not None and not self._multiplexer.connections:
            seconds = self._settings.idle_process_s or IDLE_S
            self._idle = asyncio.get_running_loop().call_later(seconds, self._rest)

    def _rest(self) -> None:
        if self.running and self._multiplexer is not None and not self._multiplexer.connections:
            self._unused = True
            self._multiplexer.condemn(None)

    async def stop(self) -> None:
        """End it for good."""
        self._closed = self._unused = True
        if self._multiplexer is not None:
            self._multiplexer.condemn(None)
        if self._starting is not None:
            await asyncio.wait([self._starting])
        if self._task is not None:
            await asyncio.wait([self._task])
        if self._idle is not None:
            self._idle.cancel()


def _how(exit: Exit) -> str:
    """How a process ended, with its last words."""
    if exit.stdout_closed:
        return "it closed its output and lived on"
    how = f"exit code {exit.code}" if exit.signal is None else f"signal {exit.signal}"
    lines = [line.strip() for line in str(exit.stderr.tail or exit.stderr.head).splitlines()]
    told = [line for line in lines if line.lower().startswith("error")] or [*filter(None, lines)]
    return f"{how}: {told[-1]}" if told else how
