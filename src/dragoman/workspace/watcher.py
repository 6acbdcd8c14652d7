"""Watches one directory in a thread of its own, and tells what happens to its files.

Every folder is watched by itself: so nothing is spent on `.git` and `node_modules`, and no link
leads out of the directory, as both would if the library were to find folders by itself. What it
says is only where to look. What has happened is found by comparing the files with how they were
last seen, so a file that an editor replaces is a change, whatever became of the names meanwhile.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future

from watchfiles._rust_notify import RustNotify

from dragoman.workspace.file_tree import FileTree, PathChange

log = logging.getLogger(__name__)

BUSY_STEP_MS, IDLE_STEP_MS = 25, 250
"""How often it is looked whether there is news, while an agent is at work and while none is."""
GATHER_MS = 400
"""So long changes are gathered at most while more of them come."""
BUSY_LOOK_MS, IDLE_LOOK_MS = 1000, 5000
"""So often it is looked whether the directory is still the one that is watched."""
STORM = 2000
"""Of more changes at once than this, the system may have lost some: everything is looked at."""
POLL_S = 2.0
MOST_WATCHERS = 512
"""So many directories are watched by the system at once, each by a thread. The rest is looked at
now and then."""
_INSTANCES = "/proc/sys/fs/inotify/max_user_instances"


class WatchLimit(Exception):
    """The system watches no more; the message says what to do."""


class _Places:
    """The directories that are watched by the system, of all in this process."""

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def take(self) -> Iterator[None]:
        most = min(MOST_WATCHERS, _instances() // 2)  # agents and editors of the user need some
        with self._lock:
            if self._count >= most:
                raise WatchLimit(f"{most} directories are watched already")
            self._count += 1
        try:
            yield
        finally:
            with self._lock:
                self._count -= 1


_places = _Places()


class DirectoryWatcher:
    """What happens beneath a directory. `on_changes` and `on_problem` are called in its thread."""

    def __init__(
        self,
        directory: str,
        on_changes: Callable[[list[PathChange]], None],
        on_problem: Callable[[str], None],
        closed: Collection[str] = (),
    ) -> None:
        self._tree = FileTree(directory, closed)
        self._on_changes = on_changes
        self._on_problem = on_problem
        self._lock = threading.Lock()
        """Guards the tree."""
        self._stopped = threading.Event()
        self._new_folders: list[str] = []
        """Those that are not watched yet."""
        self._busy = True
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self.ready: Future[None] = Future()
        """Done once everything that happens from now on is told."""

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Let go. What is under way may still be told."""
        self._stopped.set()

    def set_busy(self, busy: bool) -> None:
        """Look often, or seldom, from the next news on."""
        # Not woken for it: who is woken (watchfiles 1.3) forgets what has happened.
        self._busy = busy

    def look(self, paths: Iterable[str]) -> list[PathChange]:
        """Look at these paths now; what has happened to them is returned, and not told again."""
        with self._lock:
            return self._tree.look(paths)

    @property
    def file_count(self) -> int:
        """How many files there are."""
        return self._tree.file_count

    # --- The thread ---

    def _run(self) -> None:
        try:
            with self._lock:
                self._tree.scan()
                self._tree.take_new_folders()
            self._watch_or_poll()
        finally:
            if not self.ready.done():
                self.ready.set_result(None)

    def _watch_or_poll(self) -> None:
        try:
            with _places.take():
                self._watch()
        except WatchLimit as limit:
            self._on_problem(f"{limit}; files are looked at every few seconds instead")
            self._poll()

    def _is_ready(self) -> None:
        if not self.ready.done():
            self.ready.set_result(None)

    def _watch(self) -> None:
        while not self._stopped.is_set():
            root = _identity(self._tree.directory)
            if root is None:
                self._tell_scan()
                self._is_ready()
                self._stopped.wait(POLL_S / 4)
                continue
            notify = self._open()
            try:
                self._tell_scan()  # what happened before it was watched
                self._is_ready()
                while self._follow(notify, root):
                    notify = self._replace(notify)
            finally:
                notify.close()

    def _follow(self, notify: RustNotify, root: tuple[int, int]) -> bool:
        """Tell what happens until a folder has to be watched that is not; False: all have to."""
        storm = False
        while not self._stopped.is_set():
            if self._new_folders:
                return True
            step, look = (
                (BUSY_STEP_MS, BUSY_LOOK_MS) if self._busy else (IDLE_STEP_MS, IDLE_LOOK_MS)
            )
            found = notify.watch(GATHER_MS, step, look, self._stopped)
            if isinstance(found, set):
                storm = storm or len(found) > STORM
                self._tell(self._tree.look, [path for _, path in found])
            elif storm:
                storm = False
                self._tell_scan()
            if _identity(self._tree.directory) != root:
                return False
        return False

    def _replace(self, notify: RustNotify) -> RustNotify:
        """Watch new folders too. The old one is let go last, so that nothing falls between."""
        new, self._new_folders = self._new_folders, []
        newer = self._open()
        found = notify.watch(0, 1, 1, threading.Event())
        notify.close()
        self._tell(self._tree.look_into, new)
        if isinstance(found, set):
            self._tell(self._tree.look, [path for _, path in found])
        return newer

    def _poll(self) -> None:
        self._is_ready()
        while not self._stopped.is_set():
            began = time.monotonic()
            self._tell_scan()
            # However large it is, it takes no more than a small part of a processor.
            self._stopped.wait(max(POLL_S, 20 * (time.monotonic() - began)))

    def _open(self) -> RustNotify:
        """Have the system watch each folder by itself. Raise WatchLimit."""
        with self._lock:
            folders = list(self._tree.folders) or [self._tree.directory]
        while True:
            try:
                # debug, polling and its delay, recursive, and no error, not even of a limit
                return RustNotify(folders, False, False, 300, False, False)
            except (FileNotFoundError, PermissionError):
                readable = [folder for folder in folders if _is_readable(folder)]
                if len(readable) in (0, len(folders)):
                    raise WatchLimit("the directory cannot be watched") from None
                folders = readable
            except OSError as error:
                raise WatchLimit(_why(error)) from None

    def _tell_scan(self) -> None:
        self._tell(lambda _: self._tree.scan(), ())

    def _tell(
        self, look: Callable[[Iterable[str]], list[PathChange]], paths: Iterable[str]
    ) -> None:
        with self._lock:
            changes = look(paths)
            self._new_folders += self._tree.take_new_folders()
        self._emit(changes)

    def _emit(self, changes: list[PathChange]) -> None:
        if changes:
            log.debug("%d changes beneath %s, first: %s %s", len(changes), self._tree.directory,
                      changes[0].type, changes[0].path)  # fmt: skip
            self._on_changes(changes)


def _is_readable(folder: str) -> bool:
    return os.path.isdir(folder) and os.access(folder, os.R_OK)


def _instances() -> int:
    """How many watchers the system gives a user."""
    try:
        with open(_INSTANCES) as file:
            return int(file.read())
    except (OSError, ValueError):
        return MOST_WATCHERS


def _why(error: OSError) -> str:
    text = str(error)
    if "limit" in text.lower() or "space" in text.lower():
        return "the system watches no more folders; raise fs.inotify.max_user_watches"
    if "too many open files" in text.lower():
        return "the system gives no more watchers; raise fs.inotify.max_user_instances"
    return f"the directory cannot be watched: {text}"


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
