"""The files of the daemon: what is asked for on the loop, and done by a few threads beside it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

from dragoman.errors import NotFound, StartRefused
from dragoman.runtime.files import tree
from dragoman.runtime.files.archive import ArchiveLimits, Unpacker
from dragoman.runtime.files.beneath import has_openat2
from dragoman.runtime.files.content import Draft, Limit, Reading, open_file
from dragoman.runtime.files.paths import Names, Root, find, names_of
from dragoman.schema.files import FsEntry, FsStat, FsUnpacked, FsWritten
from dragoman.settings import Settings, default_config

WORKERS = 8
"""So many things are done to files at once; the rest waits."""
_PIECE_BYTES = 256 * 1024

P = ParamSpec("P")
T = TypeVar("T")


class Files:
    """People's files. `directory` is a session's, and the root; without one, the settings say."""

    def __init__(self, settings: Settings) -> None:
        for root in settings.roots:
            if not os.path.isdir(root):
                raise StartRefused(f"--root {root} is no folder; make it, or name another one")
        self._settings = settings
        self._closed = _closed(settings, os.environ)
        self._pool = ThreadPoolExecutor(WORKERS, "files")

    async def entries(self, directory: str | None, path: str) -> list[FsEntry]:
        """What a folder holds, by name."""
        return await self.run(lambda: tree.entries(*self._find(directory, path)))

    async def stat(self, directory: str | None, path: str) -> FsStat:
        """What a path leads to."""
        return await self.run(lambda: tree.look(*self._find(directory, path)))

    async def open(self, directory: str | None, path: str) -> Reading:
        """A file, open for reading."""
        return await self.run(lambda: open_file(*self._find(directory, path)))

    async def open_stored(self, session_id: str, name: str) -> Reading:
        """A file that a session's events name."""
        folder = str(Path(self._settings.data_dir) / "files" / session_id)
        names = names_of(name, "name")
        if len(names) != 1 or name.startswith("."):
            raise NotFound(f"there is no stored file {name!r}")
        return await self.run(open_file, Root(folder, folder), names)

    async def write(
        self, directory: str | None, path: str, body: AsyncIterator[bytes]
    ) -> FsWritten:
        """Put a file in its place when all of it has come."""
        root, names = await self.run(self._find, directory, path)
        limit = Limit(self._settings.max_upload_bytes, "max_upload_bytes")
        draft = await self.run(Draft, root, names, limit)
        try:
            async for piece in _pieces(body):
                await self.run(draft.write, piece)
            size = await self.run(draft.commit)
        finally:
            await self.run(draft.close)
        return FsWritten(path=root.tell(names), bytes_written=size)

    async def unpack(
        self, directory: str | None, path: str, body: AsyncIterator[bytes]
    ) -> FsUnpacked:
        """Put what is in an archive into a folder when all of it has come."""
        root, names = await self.run(self._find, directory, path)
        settings = self._settings
        limits = ArchiveLimits(
            size_bytes=settings.max_upload_bytes,
            entries=settings.max_archive_entries,
            ratio=settings.max_archive_ratio,
        )
        unpacker = await self.run(Unpacker, root, names, limits)
        try:
            async for piece in _pieces(body):
                await self.run(unpacker.feed, piece)
            paths = await self.run(unpacker.commit)
        finally:
            await self.run(unpacker.close)
        return FsUnpacked(paths=paths, truncated=unpacker.truncated)

    async def make_folder(self, directory: str | None, path: str) -> str:
        """Make a folder and those above it; its path."""
        root, names = await self.run(self._find, directory, path)
        await self.run(tree.make_folder, root, names)
        return root.tell(names)

    async def remove(self, directory: str | None, path: str, *, recursive: bool) -> str:
        """Remove an entry; its path."""
        root, names = await self.run(self._find, directory, path)
        await self.run(tree.remove, root, names, recursive=recursive)
        return root.tell(names)

    async def move(
        self, directory: str | None, source: str, target: str, *, overwrite: bool
    ) -> tuple[str, str]:
        """Move an entry; both of its paths."""
        old = await self.run(self._find, directory, source, "from")
        new = await self.run(self._find, directory, target, "to")
        await self.run(tree.move, old, new, overwrite=overwrite)
        return old[0].tell(old[1]), new[0].tell(new[1])

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do something that blocks, beside the loop."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, partial(work, *args, **kwargs))

    def close(self) -> None:
        """Begin nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _find(self, directory: str | None, path: str, field: str = "path") -> tuple[Root, Names]:
        given = (directory,) if directory is not None else self._settings.roots
        roots = [
            Root(root, os.path.realpath(root), self._closed, by_hand=not has_openat2())
            for root in given or (str(Path.home()),)
        ]
        return find(roots, path, field)


def _closed(settings: Settings, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Our own data, and whatever else may hold the token."""
    config = environ.get("DRAGOMAN_CONFIG") or default_config(environ)
    own = (settings.data_dir, settings.token_file, config)
    return tuple(os.path.realpath(Path(each).expanduser()) for each in own if each)


async def _pieces(body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """A body in pieces that are worth a thread's while."""
    held = bytearray()
    async for chunk in body:
        held += chunk
        if len(held) >= _PIECE_BYTES:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)
