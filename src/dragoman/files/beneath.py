"""Where a path leads, found by descriptors, so that no link gets out, whenever it is planted.

The kernel does it in one step (`openat2`, RESOLVE_BENEATH). What it refuses or cannot do is walked
by hand, one name after another, and a link is read, never followed by the kernel: one that leads
to a place beneath the root, also by an absolute path, is as good as a folder.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
from collections.abc import Iterator, Sequence
from types import TracebackType

from dragoman.errors import PermissionDenied
from dragoman.files.paths import Root, split

MAX_LINKS = 40
MAX_STEPS = 10_000
"""So many folders are entered for one path: links can be made to lead about without end."""

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_OPENAT2 = 437
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_BY_HAND = (errno.EXDEV, errno.EAGAIN)
"""A link that is absolute or leaves, or a rename meanwhile."""

_libc = ctypes.CDLL(None, use_errno=True)


class _How(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


class Place:
    """A name in a folder that is held open. There may be nothing of that name."""

    def __init__(self, folder: int, name: str) -> None:
        self.folder = folder
        self.name = name

    def __enter__(self) -> Place:
        """Use it until the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let the folder go."""
        os.close(self.folder)

    def look(self) -> os.stat_result:
        """What is there now; of a link, the link."""
        return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)

    def open(self, flags: int, mode: int = 0o666) -> int:
        """Open what is there, if it is no link."""
        flags |= os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(self.name, flags, mode, dir_fd=self.folder)


def place(
    root: Root,
    names: Sequence[str],
    *,
    follow: bool = True,
    make: bool = False,
    whole: bool = False,
) -> Place:
    """Find where a path leads. `follow` a link at its end, too; `make` the folders above.

    Raise PermissionDenied where it leads out of the root, or to what stays shut, or, with `whole`,
    to what must not go; and what the kernel says.
    """
    found = _place(root, names, follow=follow, make=make, whole=whole)
    try:
        root.ensure_open(real_path(found), whole=whole)
    except (PermissionDenied, OSError):
        os.close(found.folder)
        raise
    return found


@contextlib.contextmanager
def folder(root: Root, names: Sequence[str], *, make: bool = False) -> Iterator[int]:
    """Hold a folder open; `make` it, and those above, where they are missing."""
    opened = _folder(root, names, make=make)
    try:
        root.ensure_open(_real(opened))
        yield opened
    finally:
        os.close(opened)


def real_path(found: Place) -> str:
    """Where a place really is, as the kernel knows it."""
    return os.path.normpath(os.path.join(_real(found.folder), found.name))


def destined(root: Root, names: Sequence[str]) -> str:
    """Where a path really leads, or will once the folders that it lacks are made."""
    way = _Way(root)
    try:
        with way.go(names, make=False) as found:
            return real_path(found)
    except FileNotFoundError:
        if not way.missing or ".." in way.missing:
            raise
        return os.path.join(_real(way.folder), *way.missing)
    finally:
        way.close()


def names_in(folder: int) -> list[str]:
    """What a folder holds, in no order."""
    opened = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        return os.listdir(opened)
    finally:
        os.close(opened)


def sync(folder: int) -> None:
    """Make what was named or renamed in a folder durable."""
    try:
        opened = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    except PermissionError:
        return  # one that we may write to and not read; the disk will come to it by itself
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _place(root: Root, names: Sequence[str], *, follow: bool, make: bool, whole: bool) -> Place:
    if not names:
        return Place(_open_root(root), ".")
    *above, name = names
    try:
        opened = _folder(root, above)
    except FileNotFoundError:
        if not make:
            raise
        return walk(root, names, make=True, whole=whole)
    try:
        if not follow or _link(opened, name) is None:
            return Place(os.dup(opened), name)
    finally:
        os.close(opened)
    return walk(root, names, make=make, whole=whole)


def _folder(root: Root, names: Sequence[str], *, make: bool = False) -> int:
    if not root.by_hand:
        top = _open_root(root)
        try:
            return openat2(top, names)
        except OSError as error:
            if error.errno not in _BY_HAND and not (make and error.errno == errno.ENOENT):
                raise
        finally:
            os.close(top)
    with walk(root, names, make=make) as found:
        return _enter(root, found, make=make)


@functools.cache
def has_openat2() -> bool:
    """Whether the kernel has the call, and lets us use it: some containers do not."""
    top = os.open("/", _FOLDER)
    try:
        os.close(openat2(top, ()))
    except OSError:
        return False
    finally:
        os.close(top)
    return True


def openat2(top: int, names: Sequence[str], *, through_links: bool = True) -> int:
    """Open a folder beneath another in one step."""
    links = _NO_MAGICLINKS if through_links else _NO_SYMLINKS
    how = _How(_FOLDER, 0, _BENEATH | links)
    path = os.fsencode("/".join(names) or ".")
    opened = int(
        _libc.syscall(_OPENAT2, top, path, ctypes.byref(how), ctypes.c_size_t(ctypes.sizeof(how)))
    )
    if opened < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return opened


def walk(root: Root, names: Sequence[str], *, make: bool = False, whole: bool = False) -> Place:
    """Find where a path leads by hand, following a link at its end, too."""
    if make:
        # Before the first folder is made: nothing is to be left on a way that ends in a refusal.
        root.ensure_open(destined(root, names), whole=whole)
    way = _Way(root)
    try:
        return way.go(names, make=make)
    finally:
        way.close()


class _Way:
    """A way down from a root. It holds one folder, and knows the names that lead to it."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self.folder = _open_root(root)
        self.missing: tuple[str, ...] = ()
        """What was still to come where a folder was not there."""
        self._names: list[str] = []
        self._links = self._steps = 0

    def close(self) -> None:
        os.close(self.folder)

    def go(self, names: Sequence[str], *, make: bool) -> Place:
        waiting = list(reversed(names))
        while waiting:
            name = waiting.pop()
            if name == "..":
                self._back_to(self._names[:-1] if self._names else None)
            elif (target := _link(self.folder, name)) is not None:
                waiting += reversed(self._behind(target))
            elif not waiting:
                return Place(os.dup(self.folder), name)
            else:
                self.missing = (name, *reversed(waiting))
                self._down(name, make=make)
                self.missing = ()
        return Place(os.dup(self.folder), ".")

    def _behind(self, target: str) -> Sequence[str]:
        """The names that a link stands for, from where the way has come to."""
        self._links += 1
        if self._links > MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if not target.startswith("/"):
            return split(target)
        below = self._root.below(target)
        if below is None:
            raise _outside()
        self._back_to([])
        return below

    def _down(self, name: str, *, make: bool = False) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        below = _enter(self._root, Place(self.folder, name), make=make)
        os.close(self.folder)
        self.folder = below
        self._names.append(name)

    def _back_to(self, names: Sequence[str] | None) -> None:
        # From the top again: the kernel's own '..' leads to wherever a folder was moved meanwhile.
        if names is None:
            raise _outside()
        top = _open_root(self._root)
        os.close(self.folder)
        self.folder, self._names = top, []
        for name in names:
            self._down(name)


def _enter(root: Root, found: Place, *, make: bool) -> int:
    try:
        return found.open(_FOLDER)
    except FileNotFoundError:
        if not make:
            raise
    root.ensure_open(real_path(found))
    with contextlib.suppress(FileExistsError):
        os.mkdir(found.name, dir_fd=found.folder)
        sync(found.folder)
    return found.open(_FOLDER)


def _link(above: int, name: str) -> str | None:
    """Where a link leads, as it says; None for anything else."""
    try:
        return os.readlink(name, dir_fd=above)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT):
            return None
        raise


def _open_root(root: Root) -> int:
    """Open what a root was when its links were followed; none of its folders may be one now."""
    here, names = os.open("/", _FOLDER), split(root.real)
    try:
        if not root.by_hand:
            return openat2(here, names, through_links=False)
        for name in names:
            below = _no_link(Place(here, name))
            os.close(here)
            here = below
        return os.dup(here)
    finally:
        os.close(here)


def _no_link(found: Place) -> int:
    try:
        return found.open(_FOLDER)
    except NotADirectoryError:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None


def _real(folder: int) -> str:
    return os.readlink(f"/proc/self/fd/{folder}")


def _outside() -> PermissionDenied:
    return PermissionDenied("a link on this path leads out of what is open here", field="path")
