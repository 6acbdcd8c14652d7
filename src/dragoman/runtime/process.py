"""An agent's process: its pipes, its lines, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
from collections import deque
from collections.abc import Callable, Mapping

from msgspec import UNSET

from dragoman.adapter import Exit, Launch
from dragoman.errors import AgentProcessExited, DeadlinePassed
from dragoman.runtime import linux
from dragoman.schema.events import Stderr
from dragoman.wire.jsonl import Lines, Oversize

READ_BYTES = 1 << 18
PIPE_BYTES = 1 << 20
PAUSE_ABOVE_BYTES = 4 << 20
BATCH_BYTES = 1 << 20
SEND_DEADLINE_S = 10.0
GRACE_S = 0.5
"""How long an agent has to end by itself after its stdin was closed."""
HEAD_LINES, TAIL_LINES = 20, 50


class StderrTail:
    """The first and last lines of stderr, however much there is."""

    def __init__(self) -> None:
        self._lines = Lines(max_bytes=1 << 16)
        self._head: list[str] = []
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._total = 0

    def feed(self, chunk: bytes) -> None:
        """Take in what was written."""
        self._keep(self._lines.feed(chunk))

    def result(self) -> Stderr:
        """What is kept: all of it up to 70 lines."""
        self._keep(self._lines.close())
        if self._total <= HEAD_LINES + TAIL_LINES:
            head = "\n".join([*self._head, *self._tail])
            return Stderr(head=head, truncated=False, total_lines=self._total)
        return Stderr(
            head="\n".join(self._head),
            tail="\n".join(self._tail) if self._tail else UNSET,
            truncated=True,
            total_lines=self._total,
        )

    def _keep(self, lines: list[bytes | Oversize]) -> None:
        for line in lines:
            text = (line.head if isinstance(line, Oversize) else line).decode(errors="replace")
            self._total += 1
            if len(self._head) < HEAD_LINES:
                self._head.append(text)
            else:
                self._tail.append(text)


class AgentProcess:
    """A running agent. Reads by itself, up to a bound; `wake` is called when there is news."""

    def __init__(
        self,
        wake: Callable[[], None],
        mark: str,
        max_line_bytes: int,
        *,
        send_deadline_s: float = SEND_DEADLINE_S,
    ) -> None:
        self.exited = False
        self._expected = False
        self._wake = wake
        self._mark = mark
        self._send_deadline_s = send_deadline_s
        self._loop = asyncio.get_running_loop()
        self._lines = Lines(max_bytes=max_line_bytes)
        self._waiting: deque[tuple[list[bytes | Oversize], int]] = deque()
        self._waiting_bytes = 0
        self._paused = False
        self._stderr = StderrTail()
        self._fds: dict[str, int] = {}
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """The process's id."""
        assert self._process is not None
        return self._process.pid

    async def start(self, launch: Launch, environ: Mapping[str, str]) -> None:
        """Start it in a session of its own, on pipes of our own. Raise AgentProcessExited."""
        # uvloop's own pipes are sockets, and a child that opens /dev/stdout then fails.
        try:
            (in_read, in_write), (out_read, out_write), (err_read, err_write) = _pipes(3)
        except OSError as error:
            raise AgentProcessExited(f"cannot start {launch.argv[0]!r}: {error}") from None
        try:
            self._process = await asyncio.create_subprocess_exec(
                *launch.argv,
                stdin=in_read,
                stdout=out_write,
                stderr=err_write,
                cwd=launch.cwd,
                env={**environ, **launch.env, linux.MARK: self._mark},
                start_new_session=True,
            )
        except OSError as error:
            for fd in (in_write, out_read, err_read):
                os.close(fd)
            raise AgentProcessExited(f"cannot start {launch.argv[0]!r}: {error}") from None
        finally:
            for fd in (in_read, out_write, err_write):
                os.close(fd)
        self._fds = {"stdin": in_write, "stdout": out_read, "stderr": err_read}
        for fd in self._fds.values():
            os.set_blocking(fd, False)
        with contextlib.suppress(OSError):  # an unprivileged user may be over the pipe quota
            fcntl.fcntl(out_read, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._loop.add_reader(out_read, self._read_stdout)
        self._loop.add_reader(err_read, self._read_stderr)
        self._watch = asyncio.create_task(self._wait())

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
            self._stderr.feed(chunk)
        return bool(chunk)

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
        return chunk

    def _close(self, name: str) -> None:
        fd = self._fds.pop(name, None)
        if fd is not None:
            self._loop.remove_reader(fd)
            self._loop.remove_writer(fd)
            os.close(fd)

    # --- Writing ---

    async def send(self, line: bytes) -> None:
        """Write a line. Raise AgentProcessExited, or DeadlinePassed where nobody reads."""
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

    async def _wait(self) -> None:
        assert self._process is not None
        await self._process.wait()
        # What is still in the pipes belongs to it. A grandchild may hold them open and go on
        # writing, so this ends after what a pipe can hold.
        for read in (self._read_stdout, self._read_stderr):
            for _ in range(2 * PIPE_BYTES // READ_BYTES):
                if not read():
                    break
        self._queue(self._lines.close())
        for name in list(self._fds):
            self._close(name)
        self.exited = True
        self._wake()

    def exit(self) -> Exit:
        """How it ended."""
        assert self._process is not None
        code = self._process.returncode
        died = code is not None and code < 0
        return Exit(
            code=None if died else code,
            signal=-code if died and code is not None else None,
            expected=self._expected,
            stderr=self._stderr.result(),
        )

    async def end(self, deadline_s: float) -> None:
        """End it and everything that it started: stdin, SIGTERM, SIGKILL, then a sweep."""
        self._expected = True
        self._close("stdin")
        if not self.exited and not await self._gone_within(GRACE_S):
            self._signal(signal.SIGTERM)
            if not await self._gone_within(deadline_s):
                self._signal(signal.SIGKILL)
        await asyncio.to_thread(linux.sweep, self._mark)
        if self._watch is not None:
            await self._watch

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    async def _gone_within(self, seconds: float) -> bool:
        assert self._process is not None
        try:
            async with asyncio.timeout(seconds):
                await self._process.wait()
        except TimeoutError:
            return False
        return True


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
