"""An archive that is being received: unpacked aside, and put in its place when it is whole."""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import stat
import zlib
from collections.abc import Iterator

from msgspec import Struct

from dragoman.errors import Conflict, InvalidRequest, TooLarge
from dragoman.files.beneath import Place, destined, folder, names_in, real_path
from dragoman.files.content import SizeLimit, ground, write_all
from dragoman.files.leftovers import hold, sweep, temporary_name
from dragoman.files.paths import Names, Root, is_within, names_of, split
from dragoman.files.refusals import translated
from dragoman.files.removal import remove_tree
from dragoman.files.renames import is_there, rename, rename_new
from dragoman.wire.tar import Member, Tar

MAX_DEPTH = 64
"""So many folders may lie above a member."""
MAX_PATHS = 1024
"""So many paths an answer names."""
_FREE_BYTES = 1024 * 1024
"""So much may come out of however little."""
_PIECE_BYTES = 256 * 1024
_GZIP = b"\x1f\x8b"
_FOLDER = os.O_PATH | os.O_DIRECTORY
_HELD = os.O_RDONLY | os.O_DIRECTORY

_libc = ctypes.CDLL(None, use_errno=True)


class ArchiveLimits(Struct, frozen=True):
    """What an archive may be at most."""

    size_bytes: int
    entries: int
    ratio: int


class Inflate:
    """Unpacks gzip, where the first bytes say so, and refuses what swells too much."""

    def __init__(self, ratio: int) -> None:
        self._ratio = ratio
        self._head = b""
        self._received = self._bytes_out = 0
        self._gzip: zlib._Decompress | None = None
        self._is_plain = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take a piece; what it stands for, in pieces of bounded size."""
        self._received += len(data)
        if not self._is_plain and self._gzip is None:
            data = self._head = self._head + data
            if len(data) < len(_GZIP):
                return
            self._is_plain = not data.startswith(_GZIP)
        if self._is_plain:
            yield data
            return
        yield from self._inflate(data)

    def close(self) -> None:
        """All was fed. Raise InvalidRequest where the end is missing."""
        if self._gzip is not None and not self._gzip.eof:
            raise InvalidRequest("the archive ends early", field="body")

    def _inflate(self, data: bytes) -> Iterator[bytes]:
        piece = b""
        while True:
            if self._gzip is None or self._gzip.eof:
                # Another one may follow, and tapes are padded.
                if not (data := data.lstrip(b"\0")):
                    return
                self._gzip = zlib.decompressobj(wbits=31)
            elif not data and len(piece) < _PIECE_BYTES:
                return
            try:
                piece = self._gzip.decompress(data, _PIECE_BYTES)
            except zlib.error as error:
                raise InvalidRequest(f"this is no gzip: {error}", field="body") from None
            self._count(len(piece))
            yield piece
            data = self._gzip.unused_data if self._gzip.eof else self._gzip.unconsumed_tail

    def _count(self, count: int) -> None:
        self._bytes_out += count
        if self._bytes_out > max(_FREE_BYTES, self._received * self._ratio):
            raise TooLarge(
                f"the archive grows to more than {self._ratio} times its size (max_archive_ratio)",
                limit="max_archive_ratio",
            )


class Unpacker:
    """Unpacks an archive into a folder of its own, beside the place that it is for."""

    def __init__(self, root: Root, names: Names, limits: ArchiveLimits) -> None:
        self._root, self._names = root, names
        self._path = root.tell(names)
        self._received = SizeLimit(limits.size_bytes, "max_upload_bytes")
        self._inflated = SizeLimit(limits.size_bytes, "max_upload_bytes")
        self._promised = SizeLimit(limits.size_bytes, "max_upload_bytes")
        self._entries = SizeLimit(limits.entries, "max_archive_entries")
        self._inflate, self._tar = Inflate(limits.ratio), Tar()
        self._file: io.FileIO | None = None
        self._paths: dict[str, None] = {}
        self.truncated = False
        inside = (*names, ".")  # the folder itself, where it is there already
        with translated(self._path, writing=True), ground(root, inside) as found:
            sweep(found.folder)
            self._stage, self._top = _stage(found.folder)

    def feed(self, data: bytes) -> None:
        """Take a piece. Raise TooLarge, InvalidRequest."""
        self._received.add(len(data))
        with translated(self._path, writing=True):
            for piece in self._inflate.feed(data):
                self._inflated.add(len(piece))
                for found in self._tar.feed(piece):
                    if isinstance(found, Member):
                        self._member(found)
                    elif self._file is not None:
                        write_all(self._file, found)

    def commit(self) -> tuple[str, ...]:
        """Put all of it in its place, making the folders above; the first paths."""
        self._inflate.close()
        self._tar.close()
        self._close_file()
        with translated(self._path, writing=True):
            self._sync()
            self._ensure_open(destined(self._root, self._names))
            with folder(self._root, self._names, make=True) as target:
                self._check(self._top, target)
                self._merge(self._top, target)
            self._sync()
        return tuple(self._paths)

    def close(self) -> None:
        """Leave nothing behind but what was put in its place."""
        self._close_file()
        os.close(self._top)
        with self._stage, contextlib.suppress(FileNotFoundError):
            remove_tree(self._stage)

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    # --- Unpacking ---

    def _member(self, member: Member) -> None:
        self._close_file()
        names = _names(member)
        self._entries.add(1)
        self._promised.add(member.size)
        if not names:
            return
        with self._above(names) as above:
            self._make(member, Place(above, names[-1]), len(names) - 1)
        path = self._root.tell((*self._names, *names))
        if len(self._paths) < MAX_PATHS:
            self._paths[path] = None
        elif path not in self._paths:
            self.truncated = True

    def _make(self, member: Member, here: Place, depth: int) -> None:
        if member.kind == "folder":
            os.close(self._enter(here))
            return
        if is_there(here):
            # Of two members with one name, the later one counts.
            os.unlink(here.name, dir_fd=here.folder)
        if member.kind == "link":
            _ensure_inside(member, depth)
            os.symlink(member.target, here.name, dir_fd=here.folder)
            return
        mode = 0o777 if member.is_executable else 0o666
        self._file = io.FileIO(here.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb")

    @contextlib.contextmanager
    def _above(self, names: Names) -> Iterator[int]:
        """The folder that a member is in, made where it is missing."""
        here = os.dup(self._top)
        try:
            for name in names[:-1]:
                below = self._enter(Place(here, name))
                os.close(here)
                here = below
            yield here
        finally:
            os.close(here)

    def _enter(self, here: Place) -> int:
        try:
            os.mkdir(here.name, dir_fd=here.folder)
            self._entries.add(1)
        except FileExistsError:
            try:
                return here.open(_FOLDER)
            except NotADirectoryError:
                raise InvalidRequest(
                    "the archive holds a path through something that is no folder", field="body"
                ) from None
        return here.open(_FOLDER)

    # --- Putting in place ---

    def _sync(self) -> None:
        """Wait for the disk that holds the stage, and so what is moved out of it."""
        if _libc.syncfs(self._top) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))

    def _ensure_open(self, real: str) -> None:
        """Raise PermissionDenied where a folder of the archive brings along what stays shut."""
        for closed in self._root.closed:
            if not is_within(closed, real):
                continue
            names = split(closed)[len(split(real)) :]
            for count in range(1, len(names) + 1):
                here = Place(self._top, "/".join(names[:count]))
                if not is_there(here):
                    break
                if count == len(names) or not stat.S_ISDIR(here.look().st_mode):
                    self._root.ensure_open(closed)

    def _check(self, source: int, target: int) -> None:
        """Raise Conflict before anything is done about it."""
        for name in names_in(source):
            here, there = Place(source, name), Place(target, name)
            if not is_there(there):
                continue
            self._root.ensure_open(real_path(there))
            is_folder = stat.S_ISDIR(here.look().st_mode)
            if is_folder != stat.S_ISDIR(there.look().st_mode):
                raise Conflict(
                    f"{name!a} is a folder in one of the archive and {self._path}, and not in "
                    "the other",
                    field="path",
                )
            if is_folder:
                with _opened(here) as below, _opened(there) as there_below:
                    self._check(below, there_below)

    def _merge(self, source: int, target: int) -> None:
        for name in names_in(source):
            here, there = Place(source, name), Place(target, name)
            self._root.ensure_open(real_path(there))
            if not stat.S_ISDIR(here.look().st_mode):
                rename(here, there)
                continue
            try:
                rename_new(here, there)
            except FileExistsError:
                with _opened(here) as below, _opened(there) as there_below:
                    self._merge(below, there_below)


def _stage(folder: int) -> tuple[Place, int]:
    """A folder for what is on its way, and its descriptor; nothing is left where that fails."""
    with contextlib.ExitStack() as undo:
        stage = undo.enter_context(Place(os.dup(folder), temporary_name()))
        os.mkdir(stage.name, 0o700, dir_fd=stage.folder)
        undo.callback(os.rmdir, stage.name, dir_fd=stage.folder)
        top = stage.open(_HELD)
        hold(top)
        undo.pop_all()
    return stage, top


@contextlib.contextmanager
def _opened(found: Place) -> Iterator[int]:
    opened = found.open(_FOLDER)
    try:
        yield opened
    finally:
        os.close(opened)


def _names(member: Member) -> Names:
    if member.name.startswith("/"):
        raise InvalidRequest("the archive holds an absolute path", field="body")
    names = names_of(member.name, "body")
    if len(names) > MAX_DEPTH:
        raise InvalidRequest(f"the archive is more than {MAX_DEPTH} folders deep", field="body")
    return names


def _ensure_inside(link: Member, depth: int) -> None:
    """Raise InvalidRequest for a link that would lead out of the archive."""
    if "\0" in link.target or not link.target:
        raise InvalidRequest("the archive holds a symbolic link to nowhere", field="body")
    names = split(link.target)
    up = next((at for at, name in enumerate(names) if name != ".."), len(names))
    if link.target.startswith("/") or up > depth:
        raise InvalidRequest("the archive holds a symbolic link that leads out of it", field="body")
    if ".." in names[up:]:
        # What is gone up from may itself be a link, and then nobody can tell where that leads.
        raise InvalidRequest(
            "the archive holds a symbolic link that could lead out of it: in its target, '..' may "
            "only come first",
            field="body",
        )
