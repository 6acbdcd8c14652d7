"""Who holds a port, so that a refused start can say it."""

from __future__ import annotations

import os
from pathlib import Path

_LISTENING = "0A"


def holder_of(port: int) -> str:
    """Who listens on this port, e.g. `pid 4242 (dragoman)`, as far as it can be seen."""
    inodes = _listening_inodes(port)
    for entry in os.listdir("/proc"):
        if entry.isdigit() and _holds(Path("/proc", entry, "fd"), inodes):
            return f"pid {entry} ({_name(entry)})"
    return "a process that cannot be seen from here"


def _listening_inodes(port: int) -> set[str]:
    found: set[str] = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(f"socket:[{fields[9]}]")
    return found


def _holds(folder: Path, inodes: set[str]) -> bool:
    try:
        return any(os.readlink(entry.path) in inodes for entry in os.scandir(folder))
    except OSError:
        return False


def _name(pid: str) -> str:
    try:
        return Path("/proc", pid, "comm").read_text().strip()
    except OSError:
        return "unknown"
