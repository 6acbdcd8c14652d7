"""What is Linux's own: finding processes by the mark in their environment."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

MARK = "DRAGOMAN_MARK"
_SWEEPS = 50


def marked(mark: str) -> Iterator[tuple[int, int]]:
    """Pid and start time of every process with this mark; one that ends in `:` stands for all."""
    # A name that begins like another must not match it: s1 is not s10.
    wanted = f"\0{MARK}={mark}".encode() + (b"" if mark.endswith(":") else b"\0")
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            environ = Path("/proc", entry, "environ").read_bytes()
            if wanted in b"\0%b\0" % environ:
                yield int(entry), start_time(int(entry))
        except OSError:
            continue  # it ended while we looked, or is not ours to read


def start_time(pid: int) -> int:
    """When a process started, in ticks since boot: with its pid, its identity."""
    stat = Path("/proc", str(pid), "stat").read_bytes()
    return int(stat.rpartition(b")")[2].split()[19])


def state(pid: int) -> str:
    """The process's state, `Z` for one that only waits to be reaped."""
    stat = Path("/proc", str(pid), "stat").read_bytes()
    return stat.rpartition(b")")[2].split()[0].decode()


def sweep(mark: str) -> int:
    """Kill every process that carries this mark until none is left; how many there were."""
    seen: set[tuple[int, int]] = set()
    clean = 0
    for attempt in range(_SWEEPS):
        living = [found for found in marked(mark) if _alive(*found)]
        clean = 0 if living else clean + 1
        if clean == 2:  # in the middle of an exec a process shows no environment: look again
            break
        for pid, started in living:
            seen.add((pid, started))
            with contextlib.suppress(OSError):
                if start_time(pid) == started:
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.001 * (attempt + 1))  # the kernel needs a moment; this runs in a thread
    return len(seen)


def _alive(pid: int, started: int) -> bool:
    try:
        return start_time(pid) == started and state(pid) not in ("Z", "X")
    except OSError:
        return False


def mark_of(folder: Path) -> str:
    """The mark of everything that is started on behalf of a folder."""
    return hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
