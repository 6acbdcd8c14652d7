"""The files of a directory as they were last seen, and what has happened to them since."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct

from dragoman.schema.events import FileChangeType

ALWAYS_LEFT_OUT = frozenset({".git", "node_modules"})
"""Folders that nobody is told of: git's own, and what a package manager keeps."""


class PathChange(Struct, frozen=True, order=True):
    """What happened to one file."""

    path: str
    type: FileChangeType


class FileTree:
    """What is known of the files beneath a directory. Links are entries, and never followed.

    For one thread at a time.
    """

    def __init__(self, directory: str, closed: Collection[str] = ()) -> None:
        self.directory = directory
        self._closed = closed
        """Folders that are not looked into."""
        self._folders: dict[str, dict[str, int]] = {}
        """For each folder its files, and by what each is known to be the same."""
        self._new_folders: list[str] = []

    @property
    def folders(self) -> Iterable[str]:
        """Every folder in it, itself among them."""
        return self._folders.keys()

    def take_new_folders(self) -> list[str]:
        """The folders that were found since somebody last asked."""
        new, self._new_folders = self._new_folders, []
        return new

    @property
    def file_count(self) -> int:
        """How many files there are."""
        return sum(map(len, self._folders.values()))

    def scan(self) -> list[PathChange]:
        """Look at everything; what has happened since the last look."""
        missing = set(self._folders)
        changes: list[PathChange] = []
        missing -= self._scan_beneath(self.directory, changes)
        for folder in missing:
            changes += self._forget(folder)
        return changes

    def look(self, paths: Iterable[str]) -> list[PathChange]:
        """Look at these paths, of files or folders, and at what is in new folders."""
        changes: list[PathChange] = []
        for path in sorted(set(paths)):
            folder, _, name = path.rpartition("/")
            if path == self.directory:
                changes += self.scan()
            elif folder in self._folders and not self._leaves_out(path, name):
                changes += self._look_at(path, folder, name)
        return changes

    def look_into(self, folders: Iterable[str]) -> list[PathChange]:
        """Look at all that is in these folders, and in those that are new in them."""
        changes: list[PathChange] = []
        for folder in folders:
            if folder in self._folders:
                for inner in self._look_into(folder, changes):
                    if inner not in self._folders:
                        self._scan_beneath(inner, changes)
        return changes

    def _leaves_out(self, path: str, name: str) -> bool:
        return name in ALWAYS_LEFT_OUT or path in self._closed

    def _look_at(self, path: str, folder: str, name: str) -> Iterator[PathChange]:
        signature = _signature(path)
        if signature is None and path not in self._folders and _is_folder(path):
            changes: list[PathChange] = []
            self._scan_beneath(path, changes)
            yield from changes
        elif path in self._folders and not _is_folder(path):
            yield from self._forget_beneath(path)
        yield from self._compare(folder, name, signature)

    def _compare(self, folder: str, name: str, signature: int | None) -> Iterator[PathChange]:
        known = self._folders[folder].get(name)
        if signature == known:
            return
        path = f"{folder}/{name}"
        if signature is None:
            del self._folders[folder][name]
            yield PathChange(path, "delete")
        else:
            self._folders[folder][name] = signature
            yield PathChange(path, "create" if known is None else "change")

    def _scan_beneath(self, folder: str, changes: list[PathChange]) -> set[str]:
        """Compare the files of a folder and of those in it; which folders these are."""
        found: set[str] = set()
        waiting = [folder]
        while waiting:
            place = waiting.pop()
            if _is_folder(place):
                found.add(place)
                waiting += self._look_into(place, changes)
        return found

    def _look_into(self, folder: str, changes: list[PathChange]) -> list[str]:
        """Compare a folder's own files; the folders in it that anybody is told of."""
        if folder not in self._folders:
            self._folders[folder] = {}
            self._new_folders.append(folder)
        known, missing = self._folders[folder], set(self._folders[folder])
        inner = []
        for entry in _entries(folder):
            name = entry.name
            if name in ALWAYS_LEFT_OUT:
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.path not in self._closed:
                    inner.append(entry.path)
                continue
            missing.discard(name)
            signature = _signature(entry.path)
            if signature != known.get(name):
                changes += self._compare(folder, name, signature)
        for name in missing:
            changes += self._compare(folder, name, None)
        return inner

    def _forget_beneath(self, path: str) -> Iterator[PathChange]:
        prefix = f"{path}/"
        for folder in [each for each in self._folders if each == path or each.startswith(prefix)]:
            yield from self._forget(folder)

    def _forget(self, folder: str) -> Iterator[PathChange]:
        for name in self._folders.pop(folder):
            yield PathChange(f"{folder}/{name}", "delete")


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # gone again, or not ours to see
        return []


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _signature(path: str) -> int | None:
    """What changes with a file's content or mode; None: no file is there.

    One number, because there may be hundreds of thousands of them.
    """
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if stat.S_ISDIR(found.st_mode):
        return None
    return hash((found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode))
