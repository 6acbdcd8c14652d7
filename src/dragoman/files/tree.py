"""What is beneath a root: looked at, made, moved and removed. Blocking; for worker threads."""

from __future__ import annotations

import errno
import os
import stat
from datetime import UTC, datetime

from dragoman.errors import Conflict, InvalidRequest, PermissionDenied
from dragoman.files.beneath import Place, folder, names_in, place, real_path, sync
from dragoman.files.paths import Names, Root, is_within, printable
from dragoman.files.refusals import translated
from dragoman.files.removal import remove_tree
from dragoman.files.renames import exchange, rename, rename_new
from dragoman.schema.files import EntryKind, EntryType, FsEntry, FsStat

_IN_THE_WAY = (errno.ENOTEMPTY, errno.EEXIST, errno.EISDIR, errno.ENOTDIR)


# --- Looking ---


def entries(root: Root, names: Names) -> list[FsEntry]:
    """What a folder holds, by name."""
    path = root.tell(names)
    with translated(path):
        try:
            with folder(root, names) as opened:
                found = sorted(names_in(opened), key=os.fsencode)
                return [each for name in found if (each := _entry(root, names, opened, name))]
        except NotADirectoryError:
            raise InvalidRequest(f"{path} is no folder; read it as a file", field="path") from None


def _entry(root: Root, names: Names, opened: int, name: str) -> FsEntry | None:
    here = Place(opened, name)
    try:
        info = here.look()
        target = os.readlink(name, dir_fd=opened) if stat.S_ISLNK(info.st_mode) else None
    except OSError:
        return None  # it has just gone
    seen = info if target is None else _behind(root, (*names, name)) or info
    return FsEntry(
        name=printable(name),
        path=root.tell((*names, name)),
        entry_type=_type(seen),
        size=seen.st_size,
        modified=_time(seen),
        kind=_kind(info),
        target=None if target is None else printable(target),
    )


def _behind(root: Root, names: Names) -> os.stat_result | None:
    """What a link leads to, where that can be seen."""
    try:
        with place(root, names) as found:
            return found.look()
    except (OSError, PermissionDenied):
        return None


def look(root: Root, names: Names) -> FsStat:
    """What a path leads to."""
    path = root.tell(names)
    with translated(path):
        with place(root, names, follow=False) as here:
            info = here.look()
            is_link = stat.S_ISLNK(info.st_mode)
            target = os.readlink(here.name, dir_fd=here.folder) if is_link else None
        if is_link:
            with place(root, names) as there:
                seen = there.look()
        else:
            seen = info
    return FsStat(
        path=path,
        entry_type=_type(seen),
        size=seen.st_size,
        modified=_time(seen),
        kind=_kind(info),
        target=None if target is None else printable(target),
    )


def _type(info: os.stat_result) -> EntryType:
    return "directory" if stat.S_ISDIR(info.st_mode) else "file"


def _kind(info: os.stat_result) -> EntryKind:
    mode = info.st_mode
    if stat.S_ISLNK(mode):
        return "symlink"
    if stat.S_ISREG(mode):
        return "file"
    return "directory" if stat.S_ISDIR(mode) else "other"


def _time(info: os.stat_result) -> str | None:
    try:
        moment = datetime.fromtimestamp(info.st_mtime_ns // 10**9, UTC)
    except (OverflowError, ValueError):
        return None  # a time that no calendar has
    fraction = info.st_mtime_ns // 10**6 % 1000
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{fraction:03}Z"


# --- Changing ---


def make_folder(root: Root, names: Names) -> None:
    """Make a folder and those above it; one that is there is fine."""
    with translated(root.tell(names), writing=True), folder(root, names, make=True):
        pass


def remove(root: Root, names: Names, *, recursive: bool) -> None:
    """Remove an entry; of a link, the link."""
    path = root.tell(names)
    with translated(path), _movable(root, names) as found:
        if not stat.S_ISDIR(found.look().st_mode):
            os.unlink(found.name, dir_fd=found.folder)
        elif recursive:
            remove_tree(found)
        else:
            _remove_empty(found, path)
        sync(found.folder)


def _remove_empty(found: Place, path: str) -> None:
    try:
        os.rmdir(found.name, dir_fd=found.folder)
    except OSError as error:
        if error.errno != errno.ENOTEMPTY:
            raise
        raise Conflict(
            f"{path} is not empty; with recursive=true it is removed with all that is in it",
            field="recursive",
        ) from None


def move(source: tuple[Root, Names], target: tuple[Root, Names], *, overwrite: bool) -> None:
    """Move an entry, making the folders above its new place; of a link, the link."""
    told_source, told_target = source[0].tell(source[1]), target[0].tell(target[1])
    with translated(told_source, field="from"), _movable(*source) as old:
        if stat.S_ISDIR(old.look().st_mode):
            _ensure_elsewhere(old, *target)
        with translated(told_target, writing=True, field="to"), _movable(*target, make=True) as new:
            if overwrite:
                _replace(old, new)
            else:
                _rename(old, new, told_target)
            sync(new.folder)
            sync(old.folder)


def _ensure_elsewhere(old: Place, root: Root, names: Names) -> None:
    """Refuse what the kernel would, but before the folders above are made."""
    above = os.path.realpath(os.path.join(root.real, *names[:-1]))
    if is_within(above, real_path(old)):
        raise InvalidRequest("a folder cannot be moved into itself", field="to")


def _movable(root: Root, names: Names, *, make: bool = False) -> Place:
    """An entry that may be taken away: neither a root, nor around what stays shut."""
    if not names:
        raise PermissionDenied("a root itself can neither be moved nor removed", field="path")
    return place(root, names, follow=False, make=make, whole=True)


def _rename(old: Place, new: Place, path: str) -> None:
    try:
        rename_new(old, new)
    except FileExistsError:
        raise Conflict(f"{path} exists; overwrite=true replaces it", field="overwrite") from None


def _replace(old: Place, new: Place) -> None:
    try:
        rename(old, new)
    except OSError as error:
        if error.errno not in _IN_THE_WAY:
            raise
        # A folder with something in it cannot be replaced, but it can change places.
        exchange(old, new)
        remove_tree(old)
