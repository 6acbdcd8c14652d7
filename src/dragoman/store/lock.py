"""Locks the data folder for one daemon, and notices when its files are replaced."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from dragoman.errors import StartRefused

Identity = tuple[int, int]
"""Of a file, whatever its name: device and inode."""


class FolderLock:
    """Held while the daemon lives; the kernel lets go when it dies, however it dies.

    The folder itself is locked too: a file can be removed, and then its lock keeps nobody out.
    Raise StartRefused; where somebody else holds it, `details.holder` says who.
    """

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._path = f"{data_dir}/lock"
        with contextlib.ExitStack() as undo:
            try:
                data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._folder = os.open(data_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                undo.callback(os.close, self._folder)
                if not _lock_folder(self._folder):
                    raise self._refusal()
                self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                undo.callback(os.close, self._fd)
            except OSError as error:
                raise StartRefused(
                    f"cannot use the data folder {data_dir}: {error.strerror}; make it a folder "
                    "that you can write to, or choose another one with --data-dir"
                ) from None
            try:
                if not _lock(self._fd):
                    raise self._refusal()
            except OSError as error:
                raise StartRefused(f"cannot lock the data folder {data_dir}: {error}") from None
            self._identity = _of(os.fstat(self._fd))
            # As text: this is looked at very often.
            self._watched = {str(data_dir): _of(os.fstat(self._folder))}
            undo.pop_all()
        self._sign()

    def _refusal(self) -> StartRefused:
        holder = ""
        with contextlib.suppress(OSError):  # it was removed; the folder is locked all the same
            holder = Path(self._path).read_text(errors="replace")[:64].strip()
        holder = holder or "unknown"
        return StartRefused(
            f"another daemon (pid {holder}) uses the data folder {self._data_dir}; stop it, or "
            "choose another folder with --data-dir",
            holder=holder,
        )

    def _sign(self) -> None:
        with contextlib.suppress(OSError):  # a full disk: the lock holds, only its name is missing
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def watch(self, path: Path) -> None:
        """From now on, `lost_files` tells of this file too."""
        self._watched[str(path)] = _of(path.stat())

    def lost_files(self) -> str | None:
        """What is no longer where it was, and what to do; None: everything is.

        What is written to a file that was removed is gone with the process.
        """
        for path, identity in self._watched.items():
            if _identity(path) != identity:
                return (
                    f"{path} was removed, moved or replaced while the daemon runs, and what it "
                    "would write now could be lost: put it back, or stop the daemon and start it "
                    "again"
                )
        if _identity(self._path) != self._identity and not self._take_over():
            return (
                f"{self._path} was removed while the daemon runs, and may let another one in: "
                f"`touch {self._path}` lets this one go on"
            )
        return None

    def _take_over(self) -> bool:
        """Lock the file that is there in the place of ours, if nobody else has."""
        with contextlib.suppress(OSError):
            fd = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
            if _lock(fd):
                os.close(self._fd)
                self._fd, self._identity = fd, _of(os.fstat(fd))
                self._sign()
                return True
            os.close(fd)
        return False

    def release(self) -> None:
        """Let the next daemon in."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, 0)
        os.close(self._fd)
        os.close(self._folder)


def _lock(fd: int) -> bool:
    """Whether it is ours now; somebody else's is not waited for."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_folder(fd: int) -> bool:
    """The same where folders can be locked; on NFS the file has to do."""
    try:
        return _lock(fd)
    except OSError:
        return True


def _of(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino


def _identity(path: str) -> Identity | None:
    try:
        return _of(os.stat(path))
    except OSError:
        return None
