"""Watch a directory without a daemon: an async iterator of what happens to its files."""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dragoman.schema.file_events import FileEventOptions
from dragoman.workspace.workspace import FileEvent, FileListener, Workspace

log = logging.getLogger(__name__)
DEADLINE_S = 10.0


async def watch(
    directory: str | Path,
    *,
    ignore: Sequence[str] = (),
    gitignore: bool = False,
    diff: bool = False,
) -> AsyncIterator[FileEvent]:
    """What happens to the files beneath a directory, from the first `anext` on.

    `ignore` leaves out names, or paths from the directory on, beside `.git` and `node_modules`;
    `gitignore` what git ignores; `diff` adds how each file differs from the commit that is checked
    out now, or, without a repository, from how the directory is now. Raise NotADirectoryError.
    """
    path = await asyncio.to_thread(os.path.realpath, directory)
    if not await asyncio.to_thread(os.path.isdir, path):
        raise NotADirectoryError(f"there is no directory {path!r}")
    queue: asyncio.Queue[Sequence[FileEvent]] = asyncio.Queue()
    options = FileEventOptions(ignore=tuple(ignore), gitignore=gitignore, diff=diff)
    listener = FileListener(path, options, queue.put_nowait, log.warning)
    with (
        tempfile.TemporaryDirectory(prefix="dragoman-watch-") as place,
        ThreadPoolExecutor(2, "watch") as executor,
    ):
        workspace = Workspace(path, Path(place) / "repository", executor)
        workspace.listen(listener)
        workspace.set_busy(True)
        try:
            await workspace.ready()
            if diff:
                tree = await workspace.snapshot(DEADLINE_S)
                head = await workspace.run(workspace.snapshots.head, DEADLINE_S)
                listener.base = head or tree
            while True:
                for event in await queue.get():
                    yield event
        finally:
            workspace.leave(listener)
