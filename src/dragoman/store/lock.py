"""One daemon for one data folder: a lock that a crash releases."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from dragoman.errors import StartRefused


class FolderLock:
    """Held while the daemon lives; the kernel lets go when it dies, however it dies.

    Raise StartRefused; where somebody else holds it, `details.holder` says who.
    """

    def __init__(self, data_dir: Path) -> None:
        try:
            data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._fd = os.open(data_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StartRefused(
                f"cannot use the data folder {data_dir}: {error.strerror}; make it a folder that "
                "you can write to, or choose another one with --data-dir"
            ) from None
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._fd, 64, 0).decode(errors="replace").strip() or "unknown"
            os.close(self._fd)
            raise StartRefused(
                f"another daemon (pid {holder}) uses the data folder {data_dir}; stop it, or "
                "choose another folder with --data-dir",
                holder=holder,
            ) from None
        except OSError as error:
            os.close(self._fd)
            raise StartRefused(f"cannot lock the data folder {data_dir}: {error}") from None
        with contextlib.suppress(OSError):  # a full disk: the lock holds, only its name is missing
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let the next daemon in."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, 0)
        os.close(self._fd)
