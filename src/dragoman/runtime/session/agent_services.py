"""Files and terminals of one session's agent: begun in the session's task, and done beside it."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections import deque
from collections.abc import Callable, Mapping

from dragoman.errors import DragomanError, NotFound, RequestError
from dragoman.files import Directories, FileService
from dragoman.runtime.processes.terminal import TerminalProcess, command_line
from dragoman.services import (
    EndTerminal,
    FileRead,
    FileWritten,
    ReadTextFile,
    Service,
    ServiceEvent,
    ServiceRefused,
    StartTerminal,
    TerminalExited,
    TerminalOutput,
    TerminalStarted,
    WriteTextFile,
)
from dragoman.settings import child_environ
from dragoman.store import Store

log = logging.getLogger(__name__)
FileRequest = ReadTextFile | WriteTextFile


class TextFiles:
    """Text files beneath the directory of a session, by the rules of the file API."""

    def __init__(self, files: FileService, directories: Directories) -> None:
        self._files = files
        self._directories = directories

    async def carry_out(self, directory: str, step: FileRequest) -> ServiceEvent:
        """Read or write a file, and say what became of it."""
        try:
            return await self._carry_out(directory, step)
        except NotFound as error:
            return ServiceRefused(key=step.key, reason="not_found", message=str(error))
        except RequestError as error:
            return ServiceRefused(key=step.key, reason="invalid", message=str(error))
        except (DragomanError, OSError) as error:
            return ServiceRefused(key=step.key, reason="failed", message=str(error))

    async def _carry_out(self, directory: str, step: FileRequest) -> ServiceEvent:
        # Again each time: it may be from a time with other roots, or lead elsewhere by now. Whoever
        # made the session was allowed to have it there.
        root = await self._files.run(self._directories.find, directory, is_admin=True)
        if isinstance(step, ReadTextFile):
            text = await self._files.read_text(root, step.path, step.line, step.limit)
            return FileRead(key=step.key, content=text)
        before = await self._files.write_text(root, step.path, step.content)
        return FileWritten(key=step.key, is_new=before.is_new, before=before.text)


class AgentServices:
    """What one session's agent has asked for. `wake` is called when something became of it."""

    def __init__(
        self,
        directory: str,
        files: TextFiles,
        mark: str,
        wake: Callable[[], None],
        store: Store,
        stop_deadline_s: float,
    ) -> None:
        self.env: Mapping[str, str] = {}
        """What the agent was started with; commands get it, too, as those that it starts itself."""
        self._directory = directory
        self._files = files
        self._mark = mark
        self._wake = wake
        self._store = store
        self._stop_deadline_s = stop_deadline_s
        self._terminals: dict[str, TerminalProcess] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._events: deque[ServiceEvent] = deque()
        self._requests: deque[FileRequest] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._has_room = asyncio.Event()

    @property
    def is_running(self) -> bool:
        """A command runs."""
        return bool(self._terminals)

    async def begin(self, step: Service) -> None:
        """Begin something; what becomes of it is to be taken later."""
        match step:
            case ReadTextFile() | WriteTextFile():
                self._requests.append(step)
                if self._worker is None or self._worker.done():
                    self._worker = asyncio.create_task(self._work())
            case StartTerminal():
                await self._start(step)
            case EndTerminal(key=key):
                if (terminal := self._terminals.get(key)) is not None:
                    task = asyncio.create_task(terminal.end())
                    self._ending.add(task)
                    task.add_done_callback(self._ending.discard)

    async def _work(self) -> None:
        """Files one after another: in the order of the requests, and with one thread at most."""
        while self._requests:
            self._put(await self._files.carry_out(self._directory, self._requests.popleft()))
            # What was read is held by nobody until it is taken: one at a time is enough.
            self._has_room.clear()
            await self._has_room.wait()

    async def _start(self, step: StartTerminal) -> None:
        mark = f"{self._mark}/{step.key}"
        terminal = TerminalProcess(mark, self._wake, self._store, self._stop_deadline_s)
        argv = command_line(step.command, step.args)
        environ = {**child_environ(), **self.env, **step.env}
        self._terminals[step.key] = terminal
        try:
            await terminal.start(argv, cwd=step.cwd, environ=environ)
        except (OSError, ValueError) as error:
            del self._terminals[step.key]
            message = f"cannot start {step.command!r} in {step.cwd}: {error}"
            self._put(ServiceRefused(key=step.key, reason="invalid", message=message))
            return
        log.info("command started", extra={"mark": mark})
        self._put(TerminalStarted(key=step.key))

    def _put(self, event: ServiceEvent) -> None:
        self._events.append(event)
        self._wake()

    # --- What became of it ---

    @property
    def waiting(self) -> bool:
        """There is more to take."""
        if self._events or not self._terminals:
            return bool(self._events)
        return any(
            each.exited or (each.output is not None and each.output.waiting)
            for each in self._terminals.values()
        )

    def take(self) -> list[ServiceEvent]:
        """What has become of things since somebody last asked, in order for each of them."""
        if not self._events and not self._terminals:
            return []  # by far the most: the agent speaks, and has asked for nothing
        events, self._events = list(self._events), deque()
        self._has_room.set()
        for key, terminal in list(self._terminals.items()):
            has_exited = terminal.exited
            text = "" if terminal.output is None else terminal.output.take()
            if text:
                events.append(TerminalOutput(key=key, text=text))
            if has_exited:
                del self._terminals[key]
                events.append(_exit_of(key, terminal.code))
        return events

    async def end(self) -> None:
        """End all commands, and begin nothing more of what waits."""
        self._requests.clear()
        if self._worker is not None:
            self._worker.cancel()
            self._worker = None
        await asyncio.gather(*(each.end() for each in self._terminals.values()))


def _exit_of(key: str, code: int | None) -> TerminalExited:
    if code is not None and code < 0:
        return TerminalExited(key=key, signal=_name_of(-code))
    return TerminalExited(key=key, code=code)


def _name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"SIG{number}"
