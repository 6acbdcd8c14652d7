"""One daemon for one data folder: a lock that a crash releases."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from dragoman.errors import StartRefused


class FolderLock:
    """Held while the daemon lives; the kernel lets go when it dies, however it dies."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / "lock"
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._fd, 64, 0).decode(errors="replace").strip() or "unknown"
            os.close(self._fd)
            raise StartRefused(
                f"another daemon (pid {holder}) uses the data folder {data_dir}; stop it, or "
                "choose another folder with --data-dir"
            ) from None
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let the next daemon in."""
        os.ftruncate(self._fd, 0)
        os.close(self._fd)
