"""The content of one file: read piece by piece, or received and put in its place when whole."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat

from dragoman.errors import Conflict, InvalidRequest, TooLarge
from dragoman.files.beneath import Place, place, sync
from dragoman.files.leftovers import hold, sweep, temporary_name
from dragoman.files.paths import Names, Root
from dragoman.files.refusals import translated
from dragoman.files.renames import rename

_NO_UNNAMED = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL)
"""What file systems and kernels say that cannot have a file without a name."""


class Reading:
    """A file that is open for reading."""

    def __init__(self, file: io.FileIO, name: str) -> None:
        info = os.fstat(file.fileno())
        self.name = name
        self.size = info.st_size
        self.modified_s = info.st_mtime_ns // 10**9
        self.version = f"{info.st_ino:x}-{info.st_size:x}-{info.st_mtime_ns:x}"
        """Another one for other content, as far as the file system can tell."""
        self._file = file
        self.is_sized = bool(info.st_blocks) or self._ends_where_it_says()
        """Whether the size is that of the content; in /proc and /sys it is not."""

    def read(self, offset: int, count: int) -> bytes:
        """So many bytes from there, or fewer at the end."""
        return os.pread(self._file.fileno(), count, offset)

    def close(self) -> None:
        """Let the file go."""
        self._file.close()

    def _ends_where_it_says(self) -> bool:
        return bool(self.read(self.size - 1, 1)) if self.size else not self.read(0, 1)


def open_file(root: Root, names: Names) -> Reading:
    """Open a regular file; nothing else is opened, since to open a pipe or a device does things."""
    path = root.tell(names)
    with translated(path), place(root, names) as found:
        _ensure_regular(found.look(), path)
        file = io.FileIO(found.open(os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY), "rb")
        try:
            _ensure_regular(os.fstat(file.fileno()), path)
            return _reading(file, found.name, path)
        except (InvalidRequest, OSError):
            file.close()
            raise


def _reading(file: io.FileIO, name: str, path: str) -> Reading:
    try:
        return Reading(file, name)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            raise
        # Some that the kernel makes up are for writing only, or have nothing to say now.
        why = (error.strerror or "it failed").lower()
        raise InvalidRequest(f"{path} cannot be read: {why}", field="path") from None


def _ensure_regular(info: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(info.st_mode):
        raise InvalidRequest(f"{path} is a folder; list it with /v1/fs/entries", field="path")
    if not stat.S_ISREG(info.st_mode):
        raise InvalidRequest(f"{path} is no regular file", field="path")


class SizeLimit:
    """Counts up to what a setting allows."""

    def __init__(self, most: int, setting: str) -> None:
        self.count = 0
        self._most = most
        self._setting = setting

    def add(self, count: int) -> None:
        """Count more. Raise TooLarge where that is too much."""
        self.count += count
        if self.count > self._most:
            raise TooLarge(
                f"it is over {self._setting}, which is {self._most}", limit=self._setting
            )


class Temporary:
    """A file on the way to its place; without a name, where the file system can have such."""

    def __init__(self, folder: int, *, may_be_unnamed: bool = True) -> None:
        self._draft: Place | None = None
        fd = _unnamed(folder) if may_be_unnamed else None
        if fd is None:
            sweep(folder)
            self._draft, fd = _named(folder)
        hold(fd)
        self.file = io.FileIO(fd, "rb+")

    def put(self, found: Place) -> None:
        """Give it its name in one step, replacing what has it."""
        if self._draft is not None:
            rename(self._draft, found)
            return
        draft = Place(found.folder, temporary_name())
        os.link(f"/proc/self/fd/{self.file.fileno()}", draft.name, dst_dir_fd=draft.folder)
        try:
            rename(draft, found)
        except OSError:
            os.unlink(draft.name, dir_fd=draft.folder)
            raise

    def close(self) -> None:
        """Leave nothing behind but what was put in its place."""
        self.file.close()
        if self._draft is not None:
            with self._draft, contextlib.suppress(FileNotFoundError):
                os.unlink(self._draft.name, dir_fd=self._draft.folder)
            self._draft = None


class PartialFile:
    """A file that is being received; it is in its place when it is whole, and not before."""

    def __init__(self, root: Root, names: Names, received: SizeLimit) -> None:
        self._root, self._names, self._received = root, names, received
        self._path = root.tell(names)
        self._mode: int | None = None
        with translated(self._path, writing=True):
            self._look()
            with ground(root, names) as found:
                self._temporary = Temporary(found.folder)

    def write(self, data: bytes) -> None:
        """Take a piece. Raise TooLarge."""
        self._received.add(len(data))
        with translated(self._path, writing=True):
            write_all(self._temporary.file, data)

    def commit(self) -> int:
        """Put the file in its place, durably, making the folders above; its size."""
        file = self._temporary.file.fileno()
        with translated(self._path, writing=True):
            if self._mode is not None:
                os.fchmod(file, self._mode)
            os.fsync(file)
            with place(self._root, self._names, make=True) as found:
                self._temporary.put(found)
                sync(found.folder)
        return self._received.count

    def close(self) -> None:
        """Leave nothing behind but what was committed."""
        self._temporary.close()

    def _look(self) -> None:
        """Refuse a folder, and remember the mode of a file that is to be replaced."""
        with contextlib.suppress(FileNotFoundError), place(self._root, self._names) as found:
            mode = found.look().st_mode
            if stat.S_ISDIR(mode):
                raise Conflict(f"{self._path} is a folder", field="path")
            self._mode = stat.S_IMODE(mode) & 0o777 if stat.S_ISREG(mode) else None


def _unnamed(folder: int) -> int | None:
    try:
        return os.open(".", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666, dir_fd=folder)
    except OSError as error:
        if error.errno in _NO_UNNAMED:
            return None
        raise


def _named(folder: int) -> tuple[Place, int]:
    draft = Place(os.dup(folder), temporary_name())
    try:
        return draft, draft.open(os.O_RDWR | os.O_CREAT | os.O_EXCL)
    except OSError:
        os.close(draft.folder)
        raise


def ground(root: Root, names: Names) -> Place:
    """The place of a path, or of the first folder above it that is missing."""
    while True:
        try:
            return place(root, names)
        except FileNotFoundError:
            if not names:
                raise
            names = names[:-1]


def write_all(file: io.FileIO, data: bytes) -> None:
    """Write all of it: one call may take a part only."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
