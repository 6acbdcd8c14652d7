"""The process of an agent: its pipes, its lines, its exit."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import signal
from collections import deque
from collections.abc import Callable, Mapping

from dragoman.errors import AgentProcessExited, DeadlinePassed
from dragoman.facts import Exit, Launch
from dragoman.runtime.processes import linux
from dragoman.runtime.processes.process_tree import SWEEP_S, Child, process_tree
from dragoman.runtime.processes.stale import forget, remember
from dragoman.runtime.processes.stderr import StderrFile, StderrFilter, StderrTail
from dragoman.store import Store
from dragoman.wire.jsonl import Lines, Oversize
from dragoman.wire.redactor import Redactor

log = logging.getLogger(__name__)

READ_BYTES = 1 << 18
PIPE_BYTES = 1 << 20
PAUSE_ABOVE_BYTES = 4 << 20
BATCH_BYTES = 1 << 20
SEND_DEADLINE_S = 10.0
STDOUT_DEADLINE_S = 5.0
STOP_DEADLINE_S = 3.0
GRACE_S = 0.5
"""How long an agent has to end by itself after its stdin was closed."""
KILL_DEADLINE_S = 5.0
"""How long the kernel may take to end what was killed, until it is left alone."""


class Lives:
    """How many processes of an agent were started, and how many of them have ended."""

    def __init__(self) -> None:
        self.starts = 0
        self.exits = 0


class AgentSubprocess:
    """A running agent. Reads by itself, up to a bound; `wake` is called when there is news."""

    def __init__(
        self,
        wake: Callable[[], None],
        mark: str,
        max_line_bytes: int,
        *,
        send_deadline_s: float = SEND_DEADLINE_S,
        stdout_deadline_s: float = STDOUT_DEADLINE_S,
        stop_deadline_s: float = STOP_DEADLINE_S,
        store: Store | None = None,
        stderr_file: StderrFile | None = None,
        lives: Lives | None = None,
        redactor: Callable[[], Redactor | None] = lambda: None,
    ) -> None:
        self.exited = False
        self._expected = False
        self._wake = wake
        self._mark = mark
        self._send_deadline_s = send_deadline_s
        self._stdout_deadline_s = stdout_deadline_s
        self._stop_deadline_s = stop_deadline_s
        self._loop = asyncio.get_running_loop()
        self._lines = Lines(max_bytes=max_line_bytes)
        self._waiting: deque[tuple[list[bytes | Oversize], int]] = deque()
        self._waiting_bytes = 0
        self._paused = False
        self._store = store
        self._stderr = StderrTail()
        self._stderr_filter = StderrFilter(redactor)
        self._stderr_file = stderr_file
        self._lives = lives or Lives()
        self._fds: dict[str, int] = {}
        self._child: Child | None = None
        self._code: int | None = None
        self._over = asyncio.Event()
        """It has ended; its pid is still its own."""
        self._watch: asyncio.Task[None] | None = None
        self._stdout_deadline: asyncio.TimerHandle | None = None
        self._stdout_closed = False
        """It was ended because it lived on without an output."""
        self._ending: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """The process's id."""
        assert self._child is not None
        return self._child.pid

    async def start(self, launch: Launch, environ: Mapping[str, str]) -> None:
        """Start it in a session of its own, on pipes of our own. Raise AgentProcessExited."""
        # uvloop's own pipes are sockets, and a child that opens /dev/stdout then fails; its
        # children also inherit copies of our ends, and never see the end of their input.
        try:
            (in_read, in_write), (out_read, out_write), (err_read, err_write) = _pipes(3)
        except OSError as error:
            raise AgentProcessExited(f"cannot start {launch.argv[0]!r}: {error}") from None
        try:
            self._child = process_tree.start(
                linux.dying_with_us(launch.argv),
                stdin=in_read,
                stdout=out_write,
                stderr=err_write,
                cwd=launch.cwd,
                environ={**environ, **launch.env},
                mark=self._mark,
            )
        except OSError as error:
            for fd in (in_write, out_read, err_read):
                os.close(fd)
            raise AgentProcessExited(f"cannot start {launch.argv[0]!r}: {error}") from None
        finally:
            for fd in (in_read, out_write, err_write):
                os.close(fd)
        self._lives.starts += 1
        self._fds = {"stdin": in_write, "stdout": out_read, "stderr": err_read}
        for fd in self._fds.values():
            os.set_blocking(fd, False)
        with contextlib.suppress(OSError):  # an unprivileged user may be over the pipe quota
            fcntl.fcntl(out_read, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._watch = asyncio.create_task(self._wait(self._child))
        try:
            await remember(self._store, self._mark, self._child.pid, self._child.started)
        finally:
            for name, read in (("stdout", self._read_stdout), ("stderr", self._read_stderr)):
                if name in self._fds:  # it may be over already
                    self._loop.add_reader(self._fds[name], read)

    # --- Reading ---

    def take(self) -> list[bytes | Oversize]:
        """The next lines, some at a time; reading goes on when enough were taken."""
        taken: list[bytes | Oversize] = []
        size = 0
        while self._waiting and size < BATCH_BYTES:
            lines, bytes_read = self._waiting.popleft()
            size += bytes_read
            taken += lines
        self._waiting_bytes -= size
        if self._paused and self._waiting_bytes < PAUSE_ABOVE_BYTES // 2 and "stdout" in self._fds:
            self._paused = False
            self._loop.add_reader(self._fds["stdout"], self._read_stdout)
        return taken

    @property
    def waiting(self) -> bool:
        """There is more to take."""
        return bool(self._waiting)

    @property
    def drained(self) -> bool:
        """It has exited, and everything that it said was taken."""
        return self.exited and not self._waiting

    def _read_stdout(self) -> bool:
        chunk = self._read("stdout")
        if chunk:
            self._queue(self._lines.feed(chunk))
        if self._waiting_bytes > PAUSE_ABOVE_BYTES and "stdout" in self._fds:
            self._paused = True
            self._loop.remove_reader(self._fds["stdout"])
        return bool(chunk)

    def _queue(self, lines: list[bytes | Oversize]) -> None:
        if lines:
            size = sum(map(_size, lines))
            self._waiting.append((lines, size))
            self._waiting_bytes += size
            self._wake()

    def _read_stderr(self) -> bool:
        chunk = self._read("stderr")
        if chunk:
            self._keep_stderr(self._stderr_filter.feed(chunk))
        return bool(chunk)

    def _keep_stderr(self, data: bytes) -> None:
        if data:
            self._stderr.feed(data)
            if self._stderr_file is not None:
                self._stderr_file.feed(data)

    def _read(self, name: str) -> bytes:
        """What there is to read; nothing: not now, or never again, and then it is closed."""
        if name not in self._fds:
            return b""
        try:
            chunk = os.read(self._fds[name], READ_BYTES)
        except BlockingIOError:
            return b""
        except OSError:
            chunk = b""
        if not chunk:
            self._close(name)
            if name == "stdout" and not self._over.is_set():
                deadline_s = self._stdout_deadline_s
                self._stdout_deadline = self._loop.call_later(deadline_s, self._end_mute)
        return chunk

    def _close(self, name: str) -> None:
        fd = self._fds.pop(name, None)
        if fd is not None:
            self._loop.remove_reader(fd)
            self._loop.remove_writer(fd)
            os.close(fd)

    # --- Writing ---

    async def send(self, line: bytes) -> None:
        """Write a line. Raise AgentProcessExited, or DeadlinePassed where nobody reads.

        One that has closed its output could not answer: it is about to end, or will be ended.
        """
        if "stdout" not in self._fds:
            raise AgentProcessExited("the agent's stdout is closed")
        rest = memoryview(line + b"\n")
        try:
            async with asyncio.timeout(self._send_deadline_s):
                while rest:
                    if "stdin" not in self._fds:
                        raise AgentProcessExited("the agent's stdin is closed")
                    try:
                        rest = rest[os.write(self._fds["stdin"], rest) :]
                    except BlockingIOError:
                        await self._writable()
        except TimeoutError:
            raise DeadlinePassed("the agent does not read its input") from None
        except OSError as error:
            raise AgentProcessExited(f"the agent's input is closed: {error.strerror}") from None

    async def _writable(self) -> None:
        fd = self._fds["stdin"]
        ready = asyncio.Event()
        self._loop.add_writer(fd, ready.set)
        try:
            await ready.wait()
        finally:
            if self._fds.get("stdin") == fd:
                self._loop.remove_writer(fd)

    # --- The end ---

    async def _wait(self, child: Child) -> None:
        confined = asyncio.create_task(asyncio.to_thread(child.confine))
        await linux.ended(child.pid)
        self._over.set()
        await confined  # it must not be reaped before: its pid could be another's
        # It is swept before it is reaped: until then nobody else can be called by its pid.
        await asyncio.wrap_future(process_tree.submit_sweep(child.mark, dict(child.family)))
        self._code = child.reap()
        # What is still in the pipes belongs to it. One that escaped may hold them open and go on
        # writing, so this ends after what a pipe can hold.
        for read in (self._read_stdout, self._read_stderr):
            for _ in range(2 * PIPE_BYTES // READ_BYTES):
                if not read():
                    break
        await forget(self._store, child.mark)
        await self._close_all()

    async def _close_all(self) -> None:
        self._queue(self._lines.close())
        for name in list(self._fds):
            self._close(name)
        if self._stdout_deadline is not None:
            self._stdout_deadline.cancel()
        self._keep_stderr(self._stderr_filter.close())
        if self._stderr_file is not None:
            await self._stderr_file.close()
        self._lives.exits += not self.exited
        self.exited = True
        self._wake()

    def exit(self) -> Exit:
        """How it ended."""
        code = self._code
        died = code is not None and code < 0
        return Exit(
            code=None if died else code,
            signal=-code if died and code is not None else None,
            expected=self._expected,
            stderr=self._stderr.result(),
            stdout_closed=self._stdout_closed,
        )

    async def end(self, deadline_s: float, *, at_work: bool = False) -> None:
        """End it and everything that it started: stdin, SIGTERM, SIGKILL, then a sweep.

        One that is at work is not asked by its stdin: it would first finish what it does.
        """
        self._expected = True
        await self._end(deadline_s, at_work=at_work)

    def _end_mute(self) -> None:
        """It has closed its output and lives on: whatever it does, nobody hears of it."""
        if not self._over.is_set() and not self._expected:
            self._ending = asyncio.create_task(self._end(self._stop_deadline_s, at_work=True))

    async def _end(self, deadline_s: float, *, at_work: bool) -> None:
        if self._watch is None:
            return
        steps = (
            (self.end_input, GRACE_S),
            (self._terminate, deadline_s),
            (self._kill, KILL_DEADLINE_S),
        )
        for step, patience_s in steps[1:] if at_work else steps:
            if not self._over.is_set():
                # Who belongs to whom can be seen only as long as nobody is gone.
                await asyncio.wrap_future(process_tree.submit_watch())
            step()
            if await self.over_within(patience_s):
                break
        timeout_s = SWEEP_S + KILL_DEADLINE_S if self._over.is_set() else 0
        _, late = await asyncio.wait([self._watch], timeout=timeout_s)
        if late and not self.exited:
            log.error("process %d cannot be ended", self.pid)
            self._watch.cancel()
            await self._close_all()

    def end_input(self) -> None:
        """Close its stdin: it is told nothing more."""
        self._close("stdin")

    def send_signal(self, name: str) -> None:
        """Signal it alone; what it started is its own to stop."""
        if self._child is not None and not self._over.is_set():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._child.pid, signal.Signals[f"SIG{name}"])

    def _terminate(self) -> None:
        self._stdout_closed = "stdout" not in self._fds and not self._over.is_set()
        self._signal(signal.SIGTERM)

    def _kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        """Signal its group, which is its own as long as it was not reaped."""
        if self._child is not None and not self._over.is_set():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child.pid, number)

    async def gone_within(self, seconds: float) -> bool:
        """Wait for it to end by itself, and until nothing is left of it; whether that is so."""
        if self._watch is not None and await self.over_within(seconds):
            await asyncio.wait([self._watch], timeout=SWEEP_S + KILL_DEADLINE_S)
        return self.exited

    async def over_within(self, seconds: float) -> bool:
        """Wait for it to end by itself; whether it did."""
        # Not asyncio.timeout: in a task that was cancelled, as one that cleans up is, early
        # versions of Python 3.11 let it raise CancelledError, and the process would live on.
        over = asyncio.ensure_future(self._over.wait())
        await asyncio.wait([over], timeout=seconds)
        over.cancel()
        return self._over.is_set()


def _size(line: bytes | Oversize) -> int:
    return len(line.head if isinstance(line, Oversize) else line)


def _pipes(count: int) -> list[tuple[int, int]]:
    """Make pipes, all or none."""
    pipes: list[tuple[int, int]] = []
    try:
        for _ in range(count):
            pipes.append(os.pipe())
    except OSError:
        for pair in pipes:
            for fd in pair:
                os.close(fd)
        raise
    return pipes
