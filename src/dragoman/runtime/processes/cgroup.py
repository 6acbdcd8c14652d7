"""Cgroups: a process and all that it ever starts, kept together by the kernel."""

from __future__ import annotations

import contextlib
import functools
import os
from pathlib import Path


class Cgroup:
    """A process and all that it ever starts, kept together by the kernel: a cgroup."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def kill(self) -> int:
        """Kill everybody in it at once, also who is just being born; how many there were."""
        try:
            count = len((self._folder / "cgroup.procs").read_bytes().split())
            (self._folder / "cgroup.kill").write_text("1")
        except OSError:
            return 0  # whoever may be in it is looked for by other means
        return count

    def remove(self) -> None:
        """Take it away, with those that were made inside; one that is not empty stays."""
        for folder, _, _ in os.walk(self._folder, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def create_cgroup(owner: str, pid: int, started: int) -> Cgroup | None:
    """Put a child that nobody has reaped yet into a cgroup; None where the machine has none for us.

    It takes some milliseconds. What the child has started before that is not in it.
    """
    home = _own_cgroup()
    if home is None:
        return None
    folder = home / f"dragoman-{owner}-{pid}-{started}"
    made = Cgroup(folder)
    try:
        folder.mkdir()
        (folder / "cgroup.procs").write_text(str(pid))
    except OSError:
        made.remove()
        return None
    return made


def cgroups_of(owner: str) -> list[Cgroup]:
    """Those that were made for an owner and are still there, by whomever."""
    home = _own_cgroup()
    return [] if home is None else [Cgroup(folder) for folder in home.glob(f"dragoman-{owner}-*")]


@functools.cache
def _own_cgroup() -> Path | None:
    """The folder of our own cgroup of version 2, where there is one that we may write to."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return None
    own = next((line.removeprefix("0::") for line in lines if line.startswith("0::/")), None)
    for fields in (line.split() for line in mounts if " - cgroup2 " in line):
        root, mounted = fields[3].rstrip("/"), Path(fields[4])
        if own is not None and (own == root or own.startswith(f"{root}/")):
            folder = mounted / own.removeprefix(root).lstrip("/")
            return folder if os.access(folder / "cgroup.procs", os.W_OK) else None
    return None
