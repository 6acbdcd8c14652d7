"""A command that runs for an agent: what it prints, how it ends, and that nothing of it is left."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import logging
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence

from dragoman.runtime.processes import linux
from dragoman.runtime.processes.process import KILL_DEADLINE_S
from dragoman.runtime.processes.process_tree import SWEEP_S, Child, process_tree
from dragoman.runtime.processes.stale import forget, remember
from dragoman.store import Store

log = logging.getLogger(__name__)

READ_BYTES = 1 << 16
PAUSE_ABOVE = 1 << 18
"""Characters; while more wait to be taken nothing is read, and the command waits."""
PIPE_READS = 32
"""So often its pipe is read after its end; who escaped may hold it open and go on writing."""


class OutputPipe:
    """What comes out of a pipe, as text. Reads by itself, up to a bound."""

    def __init__(self, fd: int, wake: Callable[[], None]) -> None:
        self._fd: int | None = fd
        self._wake = wake
        self._loop = asyncio.get_running_loop()
        # A character may come in two pieces, and what is none must not cost the others.
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._texts: list[str] = []
        self.size = 0
        """How many characters wait to be taken."""
        self._is_paused = False
        os.set_blocking(fd, False)
        self._loop.add_reader(fd, self.read)

    @property
    def waiting(self) -> bool:
        """There is more to take."""
        return bool(self._texts)

    def take(self) -> str:
        """What has come since somebody last asked."""
        text, self._texts, self.size = "".join(self._texts), [], 0
        if self._is_paused and self._fd is not None:
            self._is_paused = False
            self._loop.add_reader(self._fd, self.read)
        return text

    def read(self) -> bool:
        """Read some; False: there is nothing now, or never again, and then the pipe is closed."""
        if self._fd is None:
            return False
        try:
            chunk = os.read(self._fd, READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        if not chunk:
            self.close()
            return False
        self._keep(self._decoder.decode(chunk))
        if self.size > PAUSE_ABOVE and not self._is_paused:
            self._is_paused = True
            self._loop.remove_reader(self._fd)
        return True

    def _keep(self, text: str) -> None:
        if text:
            self._texts.append(text)
            self.size += len(text)
            self._wake()

    def close(self) -> None:
        """Read no more; what was read can still be taken."""
        fd, self._fd = self._fd, None
        if fd is not None:
            self._keep(self._decoder.decode(b"", final=True))
            self._loop.remove_reader(fd)
            os.close(fd)


class TerminalProcess:
    """A command without an input. `wake` is called when there is news.

    It is over when the command is: what that has left in the background is ended with it.
    """

    def __init__(
        self, mark: str, wake: Callable[[], None], store: Store | None, stop_deadline_s: float
    ) -> None:
        self.code: int | None = None
        """Its exit code, negative for a signal."""
        self.exited = False
        """It is over, and nothing of it is left."""
        self.output: OutputPipe | None = None
        self._mark = mark
        self._wake = wake
        self._store = store
        self._stop_deadline_s = stop_deadline_s
        self._child: Child | None = None
        self._over = asyncio.Event()
        self._watch: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None

    async def start(self, argv: Sequence[str], *, cwd: str, environ: Mapping[str, str]) -> None:
        """Start it. Raise OSError or ValueError where it cannot be started."""
        read, write = os.pipe()
        try:
            child = process_tree.start(
                linux.dying_with_us(argv),
                stdin=subprocess.DEVNULL,
                stdout=write,
                stderr=write,  # the same pipe: what it prints stays in order
                cwd=cwd,
                environ=environ,
                mark=self._mark,
            )
        except (OSError, ValueError):
            os.close(read)
            raise
        finally:
            os.close(write)
        self._child, self.output = child, OutputPipe(read, self._wake)
        self._watch = asyncio.create_task(self._wait(child, self.output))
        await remember(self._store, self._mark, child.pid, child.started)

    # --- The end ---

    async def _wait(self, child: Child, output: OutputPipe) -> None:
        confined = asyncio.create_task(asyncio.to_thread(child.confine))
        await linux.ended(child.pid)
        self._over.set()
        await confined  # it must not be reaped before: its pid could be another's
        # It is swept before it is reaped: until then nobody else can be called by its pid.
        await asyncio.wrap_future(process_tree.submit_sweep(child.mark, dict(child.family)))
        self.code = child.reap()
        for _ in range(PIPE_READS):
            if not output.read():
                break
        await forget(self._store, child.mark)
        self._finish(output)

    def _finish(self, output: OutputPipe) -> None:
        output.close()
        self.exited = True
        self._wake()

    async def end(self) -> None:
        """End it and everything that it started: SIGTERM, SIGKILL, then a sweep. Many may ask."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._end())
        await asyncio.shield(self._ending)

    async def _end(self) -> None:
        if self._watch is None or self.output is None:
            return
        for number, patience_s in (
            (signal.SIGTERM, self._stop_deadline_s),
            (signal.SIGKILL, KILL_DEADLINE_S),
        ):
            if not self._over.is_set():
                # Who belongs to whom can be seen only as long as nobody is gone.
                await asyncio.wrap_future(process_tree.submit_watch())
            self._signal(number)
            over = asyncio.ensure_future(self._over.wait())
            await asyncio.wait([over], timeout=patience_s)
            over.cancel()
            if self._over.is_set():
                break
        timeout_s = SWEEP_S + KILL_DEADLINE_S if self._over.is_set() else 0
        await asyncio.wait([self._watch], timeout=timeout_s)
        if not self.exited:
            log.error("a command of %s cannot be ended", self._mark)
            self._watch.cancel()
            self._finish(self.output)

    def _signal(self, number: signal.Signals) -> None:
        """Signal its group, which is its own as long as it was not reaped."""
        if self._child is not None and not self._over.is_set():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child.pid, number)


def command_line(command: str, args: Sequence[str]) -> list[str]:
    """A program with its arguments; what comes without any is for a shell.

    Agents differ: some name a program, and some hand over what a person would type.
    """
    if args:
        return [command, *args]
    return [shutil.which("bash") or "/bin/sh", "-c", command]
