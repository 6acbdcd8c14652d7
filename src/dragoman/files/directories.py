"""Where sessions may work; what a session's directory is, the file API opens."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from msgspec import Struct

from dragoman.errors import InvalidRequest, PermissionDenied
from dragoman.files.paths import is_within, printable
from dragoman.settings import Settings


class Directory(Struct, frozen=True):
    """A directory that a session may have."""

    path: str
    """As it was given."""
    real: str
    """Where it led when it was looked at; from then on no link counts."""
    is_ordinary: bool
    """Not only an admin may have it."""


class Directories:
    """The folders that sessions stay beneath, as they were when the daemon started.

    Those that `--root` names. Where it names none: the home and the folder for temporary files,
    and whatever else for an admin.
    """

    def __init__(self, settings: Settings) -> None:
        home = str(Path.home())
        self._are_given = bool(settings.roots)
        self._roots = settings.roots or (home, tempfile.gettempdir())
        self._open = tuple(map(os.path.realpath, self._roots))
        started_in = _started_in() or home
        # A service is started in `/`, which nobody has chosen.
        self._started_in = None if self._are_given or started_in == "/" else started_in
        is_fit = self._is_open(os.path.realpath(started_in))
        self.default = started_in if is_fit else self._roots[0]
        """The directory of a session that asks for none."""

    def find(self, path: str, *, is_admin: bool, field: str = "directory") -> Directory:
        """Look where a directory leads; it need not be there. `field` is how it was asked for.

        Raise PermissionDenied where that is none of the caller's. It looks at the disk.
        """
        if not os.path.isabs(path):
            raise InvalidRequest("directory must be an absolute path", field=field)
        real = os.path.realpath(path)
        is_ordinary = self._is_open(real)
        if not is_ordinary and self._are_given:
            raise PermissionDenied(
                f"{printable(path)} is outside of what sessions may work in: "
                f"{', '.join(map(printable, self._roots))}",
                field=field,
            )
        if not is_ordinary and not is_admin:
            raise PermissionDenied(
                f"{printable(path)} is neither in the daemon's home nor in its folder for "
                "temporary files: that needs the scope 'admin', or a daemon that is started with "
                "--root",
                field=field,
                scope="admin",
            )
        return Directory(path, real, is_ordinary)

    def _is_open(self, real: str) -> bool:
        # The folder itself that the daemon was started in was chosen, but not all beneath it.
        return real == self._started_in or any(is_within(real, each) for each in self._open)


def _started_in() -> str | None:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None  # it was removed meanwhile
