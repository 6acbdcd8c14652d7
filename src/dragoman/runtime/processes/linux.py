"""What only Linux has: /proc, pidfds, subreapers, malloc limits.

Another system is added by writing its twin: the same names, with the same meaning.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
import hashlib
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

MARK = "DRAGOMAN_MARK"
_GONE = (FileNotFoundError, ProcessLookupError)
_PR_SET_CHILD_SUBREAPER = 36
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_LARGE_BYTES = 4 << 20
"""Larger than nearly all lines of agents: a block of its own costs a page fault for each 4 KiB."""
_SPARE_BYTES = 32 << 20
_LOOKS = 3
"""How often it is tried to see a line of processes that changes meanwhile."""


class Process(NamedTuple):
    """A process as it was when it was looked at; pid and start time are its identity."""

    pid: int
    started: int
    """In ticks since boot."""
    parent: int
    group: int
    session: int
    state: str
    threads: int

    @property
    def dead(self) -> bool:
        """It only waits to be reaped; other threads may outlive the first one."""
        return self.state in ("Z", "X") and self.threads <= 1


def look(pid: int) -> Process | None:
    """A process, None where there is none. Raise OSError where nobody can be seen."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            fields = file.read().rpartition(b")")[2].split()
    except _GONE:
        return None
    parent, group, session = map(int, fields[1:4])
    state, threads, started = fields[0].decode(), int(fields[17]), int(fields[19])
    return Process(pid, started, parent, group, session, state, threads)


class ProcessUsage(NamedTuple):
    """What a process is, and costs."""

    command: str
    started_at: float
    """In seconds since the epoch."""
    memory_bytes: int
    """In RAM; what it shares with others is counted for each."""
    cpu_s: float


def usage(pid: int) -> ProcessUsage | None:
    """How a process does; None where there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            name, _, rest = file.read().partition(b"(")[2].rpartition(b")")
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().rstrip(b"\0").replace(b"\0", b" ")
    except OSError:
        return None
    fields = rest.split()
    ticks = os.sysconf("SC_CLK_TCK")
    return ProcessUsage(
        command=(words or name).decode(errors="replace"),
        started_at=_booted_at() + int(fields[19]) / ticks,
        memory_bytes=int(fields[21]) * os.sysconf("SC_PAGE_SIZE"),
        cpu_s=(int(fields[11]) + int(fields[12])) / ticks,
    )


@functools.cache
def _booted_at() -> float:
    """When the machine was started, in seconds since the epoch."""
    with open("/proc/stat", "rb") as file:
        return next(float(line.split()[1]) for line in file if line.startswith(b"btime "))


def everyone() -> Iterator[Process]:
    """Every process there is, newest first: who starts others in a hurry is met early."""
    for pid in sorted((int(name) for name in os.listdir("/proc") if name.isdigit()), reverse=True):
        found = look(pid)
        if found is not None:
            yield found


def threads(pid: int) -> list[int]:
    """The threads of a process; none where it is gone."""
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except (*_GONE, PermissionError):
        return []


def ancestry(pid: int) -> list[Process]:
    """A process and those above it, as far as they can be seen."""
    line: list[Process] = []
    while pid and (found := look(pid)) is not None and found not in line:
        line.append(found)
        pid = found.parent
    return line


def lineage(process: Process) -> list[Process] | None:
    """A process and all above it; None where one cannot be seen, or they do not hold still."""
    for _ in range(_LOOKS):
        # Read twice: whose parent ends in between has another one, and nobody gets past us so.
        line, again = ancestry(process.pid), ancestry(process.pid)
        same = [(each.pid, each.started) for each in line]
        if (
            same == [(each.pid, each.started) for each in again]
            and same[:1] == [(process.pid, process.started)]
            and line[-1].parent == 0
        ):
            return line
    return None


def shows(pid: int, secret: str) -> bool:
    """Whether a process shows a secret to others: in its command line, or its environment."""
    for name in ("cmdline", "environ"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", "rb") as file:
            if secret.encode() in file.read():
                return True
    return False


def mark_on(pid: int) -> str | None:
    """The mark that a process carries in its environment, as it was when it was executed."""
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            environ = b"\0" + file.read()
    except (*_GONE, PermissionError):
        return None  # it has ended, or is not ours to read
    _, found, rest = environ.partition(f"\0{MARK}=".encode())
    return rest.partition(b"\0")[0].decode(errors="replace") if found else None


def marked(mark: str) -> Iterator[tuple[int, int]]:
    """Pid and start time of every process with this mark; one that ends in `:` stands for all."""
    for process in everyone():
        if covers(mark, mark_on(process.pid)):
            yield process.pid, process.started


def covers(mark: str, found: str | None) -> bool:
    """Whether a mark that was found is this one, or one of those that it stands for."""
    return found == mark or (found is not None and mark.endswith(":") and found.startswith(mark))


def lives(pid: int, started: int) -> bool:
    """Whether exactly this process is there, or waits to be reaped. Raise OSError as `look`."""
    found = look(pid)
    return found is not None and found.started == started


def start_time(pid: int) -> int:
    """When a process started. Raise ProcessLookupError."""
    found = look(pid)
    if found is None:
        raise ProcessLookupError(pid)
    return found.started


def state(pid: int) -> str:
    """The process's state, `Z` for one that only waits to be reaped. Raise ProcessLookupError."""
    found = look(pid)
    if found is None:
        raise ProcessLookupError(pid)
    return found.state


def send_signal(pid: int, started: int, number: signal.Signals) -> bool:
    """Signal exactly this process; False where it is gone, whoever may have its pid now."""
    fd = None
    try:
        with contextlib.suppress(OSError):
            fd = os.pidfd_open(pid)
        # The descriptor is of whoever had the pid when it was opened: if that is the one we mean
        # now, it cannot become another one.
        found = look(pid)
        if found is None or found.started != started or found.dead:
            return False
        if fd is not None:
            signal.pidfd_send_signal(fd, number)
        else:
            os.kill(pid, number)
    except OSError:
        return False
    finally:
        if fd is not None:
            os.close(fd)
    return True


async def ended(pid: int) -> None:
    """Wait until our own child has ended; it is not reaped, so nobody else can get its pid."""
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    try:
        fd = os.pidfd_open(pid)
    except OSError:  # an old kernel, or a sandbox
        threading.Thread(target=_wait_for, args=(pid, loop, over), daemon=True).start()
        await over.wait()
        return
    loop.add_reader(fd, over.set)
    try:
        await over.wait()
    finally:
        loop.remove_reader(fd)
        os.close(fd)


def _wait_for(pid: int, loop: asyncio.AbstractEventLoop, over: asyncio.Event) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    with contextlib.suppress(RuntimeError):  # the loop may be over, too
        loop.call_soon_threadsafe(over.set)


def free_large_blocks() -> None:
    """From now on large blocks of memory go back to the system when they are freed."""
    # The C library raises its limit with each one that is freed, and then keeps them for itself.
    # Who sets one limit sets both: the other falls to 128 KiB, and every line would pay for it.
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have none
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _SPARE_BYTES)


def adopt_orphans() -> None:
    """From now on whatever loses its parent among our descendants becomes our child."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot adopt orphans")


def dying_with_us(argv: Sequence[str]) -> list[str]:
    """A command that is told to end when we are killed, where the machine has a tool for that."""
    # A prctl between fork and exec is not for a process with threads; it survives the exec.
    tool = shutil.which("setpriv")
    if tool is None or not _is_program(argv[0]):
        return list(argv)  # what cannot be started fails as itself, not as the tool
    return [tool, "--pdeathsig", "TERM", "--", *argv]


def _is_program(name: str) -> bool:
    try:
        with open(shutil.which(name) or name, "rb") as file:
            head = file.read(256)
    except OSError:
        return False
    if not head.startswith(b"#!"):
        return head.startswith(b"\x7fELF")
    interpreter = head[2:].split(maxsplit=1)
    return bool(interpreter) and os.access(interpreter[0], os.X_OK)


def boot() -> str:
    """What tells one run of the machine from another: start times mean nothing in the next."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def mark_of(folder: Path) -> str:
    """The mark of everything that is started on behalf of a folder."""
    return hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]


def uptime_ms() -> int:
    """Milliseconds since the machine was started, asleep or awake; nobody can set this clock."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
