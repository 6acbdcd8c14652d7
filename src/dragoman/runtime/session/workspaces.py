"""The directories that sessions work in: one watcher and one row of snapshots for each."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Literal

from dragoman.runtime.processes.process_tree import process_tree
from dragoman.settings import Settings
from dragoman.workspace.workspace import Workspace

THREADS = 4
TreeName = Literal["start", "turn", "head", "end"]
"""What a session keeps: the directory as it found it, as its turn found it, the commit that the
turn began at, and the directory as it was at the session's end."""


class Workspaces:
    """All directories in use. For the event loop."""

    def __init__(self, settings: Settings, mark: str) -> None:
        # What we write there is no news of a session's: each piece of it would be the next.
        self._data_dir = os.path.realpath(settings.data_dir)
        self._root = Path(self._data_dir) / "workspaces"
        self._max_diff_bytes = settings.max_diff_bytes
        # A mark that no session can have: what ends with a session must not end these.
        self._start = partial(process_tree.start, mark=f"{mark}:/git")
        self._executor = ThreadPoolExecutor(THREADS, "workspace")
        self._open: dict[str, Workspace] = {}
        self._users: dict[str, int] = {}

    def enter(self, directory: str) -> Workspace:
        """A directory, for somebody who works in it until they `leave`."""
        self._users[directory] = self._users.get(directory, 0) + 1
        if directory not in self._open:
            self._open[directory] = Workspace(
                directory,
                self._root / _key(directory),
                self._executor,
                self._start,
                self._max_diff_bytes,
                (self._data_dir,),
            )
        return self._open[directory]

    def leave(self, workspace: Workspace) -> None:
        """Somebody works there no more."""
        directory = workspace.directory
        self._users[directory] -= 1
        if not self._users[directory]:
            del self._users[directory], self._open[directory]

    @contextlib.contextmanager
    def visit(self, directory: str) -> Iterator[Workspace]:
        """A directory for a moment."""
        workspace = self.enter(directory)
        try:
            yield workspace
        finally:
            self.leave(workspace)

    async def forget(self, directory: str, session_id: str) -> None:
        """A session was deleted: so are its snapshots, and with the last one's everything."""
        await asyncio.to_thread(self._forget, self._root / _key(directory), session_id)

    def _forget(self, place: Path, session_id: str) -> None:
        refs = place / "refs" / "sessions"
        shutil.rmtree(refs / _key(session_id), ignore_errors=True)
        if not refs.is_dir() or not any(refs.iterdir()):
            shutil.rmtree(place, ignore_errors=True)

    def close(self) -> None:
        """Let go of every thread."""
        self._executor.shutdown(wait=False, cancel_futures=True)


def tree_name(session_id: str, name: TreeName) -> str:
    """Under what name a session keeps a tree."""
    return f"sessions/{_key(session_id)}/{name}"


def _key(text: str) -> str:
    """A name for a folder, of any text."""
    return hashlib.blake2b(text.encode(errors="surrogateescape"), digest_size=16).hexdigest()
