"""A directory for all who work in it: one watcher, one row of snapshots, many listeners."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TypeVar

from dragoman.schema.events import SandboxFile, SandboxFileDiff
from dragoman.schema.file_events import FileEventOptions
from dragoman.workspace.file_tree import PathChange
from dragoman.workspace.git import GitError, StartProgram, start_plainly
from dragoman.workspace.ignore import IgnoreRules
from dragoman.workspace.snapshots import Snapshots
from dragoman.workspace.watcher import DirectoryWatcher

log = logging.getLogger(__name__)
T = TypeVar("T")
FileEvent = SandboxFile | SandboxFileDiff

IGNORE_DEADLINE_S = 5.0
MOST_DIFFS = 200
"""So many files that change at once get a diff of their own."""
PRUNE_S = 60.0
READY_S = 2.0
"""So long a turn waits until its directory is watched."""


class FileListener:
    """Who is told of what happens in a directory, as far as they want to be."""

    def __init__(
        self,
        directory: str,
        options: FileEventOptions,
        deliver: Callable[[Sequence[FileEvent]], None],
        on_problem: Callable[[str], None],
    ) -> None:
        self.options = options
        self.deliver = deliver
        self.on_problem = on_problem
        self.base: str | None = None
        """The tree that diffs of single files are to."""
        self._prefix = f"{directory}/"
        self._rules = IgnoreRules(options.ignore)

    def select(self, changes: Sequence[PathChange], ignored: frozenset[str]) -> list[PathChange]:
        """Those that this one wants to hear of."""
        return [
            change
            for change in changes
            if not self._rules.match(change.path.removeprefix(self._prefix))
            and not (self.options.gitignore and change.path in ignored)
        ]


class Workspace:
    """One directory. Everything but `snapshots` is for the event loop."""

    def __init__(
        self,
        directory: str,
        place: Path,
        executor: Executor,
        start: StartProgram = start_plainly,
        max_diff_bytes: int = 1 << 20,
        closed: Collection[str] = (),
    ) -> None:
        self.directory = directory
        self.snapshots = Snapshots(Path(directory), place, start, closed)
        self._closed = closed
        self._executor = executor
        self._max_diff_bytes = max_diff_bytes
        self._loop = asyncio.get_running_loop()
        self._watcher: DirectoryWatcher | None = None
        self._listeners: list[FileListener] = []
        self._busy = 0
        self._problem: str | None = None
        self._batches: deque[tuple[int, list[PathChange]]] = deque()
        self._work: asyncio.Task[None] | None = None
        self._snapshot: asyncio.Task[str] | None = None
        """The one that has not begun yet: good for all who ask until it does."""
        self._snapshot_lock = asyncio.Lock()
        self._pruning: asyncio.Task[None] | None = None

    # --- Listening ---

    def listen(self, listener: FileListener) -> None:
        """Tell somebody from now on."""
        self._listeners.append(listener)
        if self._watcher is None:
            self._problem = None
            self._watcher = DirectoryWatcher(
                self.directory,
                lambda changes: self._from_thread(self._arrive, changes),
                lambda problem: self._from_thread(self._complain, problem),
                self._closed,
            )
            self._watcher.start()
        elif self._problem is not None:
            listener.on_problem(self._problem)

    def leave(self, listener: FileListener) -> None:
        """Tell somebody nothing more; the last one lets the directory go."""
        if listener in self._listeners:
            self._listeners.remove(listener)
        if not self._listeners and self._watcher is not None:
            self._watcher.stop()
            self._watcher = None

    async def ready(self) -> None:
        """Wait until everything that happens is told; not for ever, the directory may be huge."""
        if self._watcher is not None:
            ready = asyncio.wrap_future(self._watcher.ready)
            await asyncio.wait([ready], timeout=READY_S)

    def set_busy(self, busy: bool) -> None:
        """An agent begins to work here, or one has stopped."""
        self._busy += 1 if busy else -1
        if self._watcher is not None:
            self._watcher.set_busy(self._busy > 0)

    async def settle(self, paths: Iterable[str]) -> None:
        """Look at these paths now, and wait until all that is known has been told."""
        if self._watcher is not None:
            self._arrive(await self.run(self._watcher.look, list(paths)))
        while self._work is not None:
            await asyncio.shield(self._work)

    # --- Snapshots ---

    async def snapshot(self, deadline_s: float) -> str:
        """The tree as it is now, or was a moment after this was asked. Raise GitError."""
        if self._snapshot is None:
            self._snapshot = asyncio.create_task(self._take(deadline_s))
        return await asyncio.shield(self._snapshot)

    async def _take(self, deadline_s: float) -> str:
        async with self._snapshot_lock:
            self._snapshot = None  # who asks from now on needs another one
            return await self.run(self.snapshots.take, deadline_s)

    def prune(self) -> None:
        """Remove copies that nobody needs any more, beside whatever else is done."""
        if self._pruning is None or self._pruning.done():
            self._pruning = asyncio.create_task(self._prune())

    async def _prune(self) -> None:
        try:
            await self.run(self.snapshots.prune, PRUNE_S)
        except GitError as error:
            log.warning("old copies of files in %s stay: %s", self.directory, error)

    async def run(self, function: Callable[..., T], *arguments: object) -> T:
        """Do something with files in a thread. Raise GitError where they cannot be kept."""
        try:
            return await self._loop.run_in_executor(self._executor, lambda: function(*arguments))
        except OSError as error:  # a full disk, say
            raise GitError(f"files cannot be compared: {error.strerror or error}") from None

    # --- What the watcher says ---

    def _from_thread(self, function: Callable[[T], None], value: T) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, value)

    def _arrive(self, changes: list[PathChange]) -> None:
        if changes:
            self._batches.append((time.time_ns() // 1_000_000, changes))
            if self._work is None:
                self._work = asyncio.create_task(self._hand_out())

    def _complain(self, problem: str) -> None:
        self._problem = problem
        log.warning("%s: %s", self.directory, problem)
        for listener in list(self._listeners):
            listener.on_problem(problem)

    async def _hand_out(self) -> None:
        try:
            while self._batches:
                timestamp, changes = self._batches.popleft()
                await self._hand_out_batch(timestamp, changes)
        finally:
            self._work = None

    async def _hand_out_batch(self, timestamp: int, changes: list[PathChange]) -> None:
        listeners = list(self._listeners)
        needs_git = any(each.options.gitignore or each.options.diff for each in listeners)
        ignored = await self._ignored(changes) if needs_git else frozenset()
        for listener in listeners:
            chosen = listener.select(changes, ignored)
            events: list[FileEvent] = [
                SandboxFile(change=change.type, path=as_text(change.path), timestamp=timestamp)
                for change in chosen
            ]
            if listener.options.diff and chosen:
                shown = [change.path for change in chosen if change.path not in ignored]
                events += await self._diffs(listener, shown[:MOST_DIFFS])
            if events:
                listener.deliver(events)

    async def _ignored(self, changes: Sequence[PathChange]) -> frozenset[str]:
        prefix = f"{self.directory}/"
        paths = [change.path.removeprefix(prefix) for change in changes]
        try:
            found = await self.run(self.snapshots.ignored, paths, IGNORE_DEADLINE_S)
        except GitError as error:
            log.warning("what git ignores in %s is not known: %s", self.directory, error)
            return frozenset(change.path for change in changes)  # withheld rather than shown
        return frozenset(prefix + path for path in found)

    async def _diffs(self, listener: FileListener, paths: Sequence[str]) -> list[SandboxFileDiff]:
        if listener.base is None or not paths:
            return []
        prefix = f"{self.directory}/"
        try:
            tree = await self.snapshot(IGNORE_DEADLINE_S)
            diffs = await self.run(
                self.snapshots.diff_each,
                listener.base,
                tree,
                [path.removeprefix(prefix) for path in paths],
                self._max_diff_bytes,
                IGNORE_DEADLINE_S,
            )
        except GitError as error:
            log.warning("files that changed in %s have no diffs: %s", self.directory, error)
            return []
        return [
            SandboxFileDiff(path=as_text(path), diff=diffs.get(path.removeprefix(prefix), ""))
            for path in paths
        ]


def as_text(path: str) -> str:
    """A path as JSON can hold it: a name may be no UTF-8."""
    return path.encode(errors="surrogateescape").decode(errors="replace")
