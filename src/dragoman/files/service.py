"""The files of the daemon: what is asked for on the loop, and done by a few threads beside it."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

from dragoman.errors import NotFound, StartRefused
from dragoman.files import tree
from dragoman.files.archive import ArchiveLimits, Unpacker
from dragoman.files.beneath import has_openat2
from dragoman.files.content import PartialFile, Reading, SizeLimit, open_file
from dragoman.files.directories import Directory
from dragoman.files.paths import Names, Root, find, names_of
from dragoman.files.text import ReplacedText, read_text, replace_text
from dragoman.files.uploads import U, Upload, Uploads, stopping
from dragoman.schema.files import FsEntry, FsStat, FsUnpacked, FsWritten
from dragoman.settings import Settings, default_config

WORKERS = 8
"""So many things are done to files at once; the rest waits."""
_PIECE_BYTES = 256 * 1024

P = ParamSpec("P")
T = TypeVar("T")


class FileService:
    """People's files. `directory` is a session's, and the root; without one, the settings say."""

    def __init__(self, settings: Settings) -> None:
        for root in settings.roots:
            if not os.path.isdir(root):
                raise StartRefused(f"--root {root} is no folder; make it, or name another one")
        self._settings = settings
        self._closed = _closed(settings, os.environ)
        self._stored = os.path.join(os.path.realpath(settings.data_dir), "files")
        # Once: a root that is a link stays what the operator meant.
        given = settings.roots or (str(Path.home()),)
        real = {root: os.path.realpath(root) for root in given}
        self._fixed = _spellings(*given)
        self._roots = [self._root(*root) for root in real.items()]
        self._uploads = Uploads()
        self._pool = ThreadPoolExecutor(WORKERS, "files")

    async def entries(self, directory: Directory | None, path: str) -> list[FsEntry]:
        """What a folder holds, by name."""
        return await self.run(lambda: tree.entries(*self._find(directory, path)))

    async def stat(self, directory: Directory | None, path: str) -> FsStat:
        """What a path leads to."""
        return await self.run(lambda: tree.look(*self._find(directory, path)))

    async def open(self, directory: Directory | None, path: str) -> Reading:
        """A file, open for reading."""
        return await self.run(lambda: open_file(*self._find(directory, path)))

    async def open_stored(self, session_id: str, name: str) -> Reading:
        """A file that a session's events name."""
        folder = os.path.join(self._stored, session_id)
        names = names_of(name, "name")
        if len(names) != 1 or name.startswith("."):
            raise NotFound(f"there is no stored file {name!r}")
        return await self.run(open_file, Root(folder, folder), names)

    async def write(
        self, directory: Directory | None, path: str, body: AsyncIterator[bytes]
    ) -> FsWritten:
        """Put a file in its place when all of it has come."""
        root, names = await self.run(self._find, directory, path)
        limit = SizeLimit(self._settings.max_upload_bytes, "max_upload_bytes")
        async with self._receiving(lambda: PartialFile(root, names, limit)) as draft:
            async for piece in _pieces(body):
                await self.run(draft.do, PartialFile.write, piece)
            size = await self.run(draft.do, PartialFile.commit)
        return FsWritten(path=root.tell(names), bytes_written=size)

    async def read_text(
        self, directory: Directory, path: str, line: int | None, limit: int | None
    ) -> str:
        """A text file, or some lines of it."""
        return await self.run(lambda: read_text(*self._find(directory, path), line, limit))

    async def write_text(self, directory: Directory, path: str, text: str) -> ReplacedText:
        """Put a text file in its place; what was there before."""
        limit = SizeLimit(self._settings.max_upload_bytes, "max_upload_bytes")
        return await self.run(lambda: replace_text(*self._find(directory, path), text, limit))

    async def unpack(
        self, directory: Directory | None, path: str, body: AsyncIterator[bytes]
    ) -> FsUnpacked:
        """Put what is in an archive into a folder when all of it has come."""
        root, names = await self.run(self._find, directory, path)
        settings = self._settings
        limits = ArchiveLimits(
            size_bytes=settings.max_upload_bytes,
            entries=settings.max_archive_entries,
            ratio=settings.max_archive_ratio,
        )
        async with self._receiving(lambda: Unpacker(root, names, limits)) as unpacker:
            async for piece in _pieces(body):
                await self.run(unpacker.do, Unpacker.feed, piece)
            paths = await self.run(unpacker.do, Unpacker.commit)
        return FsUnpacked(paths=paths, truncated=unpacker.upload.truncated)

    async def make_folder(self, directory: Directory | None, path: str) -> str:
        """Make a folder and those above it; its path."""
        root, names = await self.run(self._find, directory, path)
        await self.run(tree.make_folder, root, names)
        return root.tell(names)

    async def remove(self, directory: Directory | None, path: str, *, recursive: bool) -> str:
        """Remove an entry; its path."""
        root, names = await self.run(self._find, directory, path)
        await self.run(tree.remove, root, names, recursive=recursive)
        return root.tell(names)

    async def move(
        self, directory: Directory | None, source: str, target: str, *, overwrite: bool
    ) -> tuple[str, str]:
        """Move an entry; both of its paths."""
        old = await self.run(self._find, directory, source, "from")
        new = await self.run(self._find, directory, target, "to")
        await self.run(tree.move, old, new, overwrite=overwrite)
        return old[0].tell(old[1]), new[0].tell(new[1])

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do something that blocks, beside the loop. Raise Unavailable when all is over."""
        if self._uploads.is_stopped:
            raise stopping()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, self._work, partial(work, *args, **kwargs))

    def close(self) -> None:
        """Begin nothing more. What was being received goes, before the process ends."""
        for end in self._uploads.stop():
            self._pool.submit(end)
        self._pool.shutdown(wait=False)

    def _work(self, work: Callable[[], T]) -> T:
        if self._uploads.is_stopped:
            raise stopping()
        return work()

    @contextlib.asynccontextmanager
    async def _receiving(self, begin: Callable[[], U]) -> AsyncIterator[Upload[U]]:
        held = await self.run(self._uploads.begin, begin)
        try:
            yield held
        finally:
            await self.run(held.close)

    def _find(
        self, directory: Directory | None, path: str, field: str = "path"
    ) -> tuple[Root, Names]:
        if directory is None:
            return find(self._roots, path, field)
        return find([self._root(directory.path, directory.real)], path, field)

    def _root(self, path: str, real: str) -> Root:
        return Root(path, real, self._closed, self._fixed, by_hand=not has_openat2())


def _closed(settings: Settings, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Our own data, and whatever else may hold the token."""
    configs = (settings.config, environ.get("DRAGOMAN_CONFIG"), str(default_config(environ)))
    own = (settings.data_dir, settings.token_file, *configs)
    return _spellings(*(os.path.expanduser(each) for each in own if each))


def _spellings(*paths: str) -> tuple[str, ...]:
    """Paths as they were given, as they are, and where a link at their end lies."""
    found: dict[str, None] = {}
    for path in map(os.path.abspath, paths):
        above, name = os.path.split(path)
        lying = os.path.join(os.path.realpath(above), name)
        found |= dict.fromkeys((path, os.path.realpath(path), lying))
    return tuple(found)


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
