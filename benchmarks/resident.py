"""What a daemon costs that has nothing to do: idle connections, start-up, memory, processor."""

from __future__ import annotations

import resource
import select
import socket
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.bench import Bench
from benchmarks.daemon import Daemon, running, start
from benchmarks.table import Row

CONNECTION_GOAL_KB = 16
START_GOAL_MS = 300
MEMORY_GOAL_MB = 50
HEARTBEAT_S = 2
DEADLINE_S = 60.0


def idle(bench: Bench) -> list[Row]:
    """Silent streams: what each holds, and whether the heartbeat reaches all of them."""
    count = bench.size(1000, 20)
    _allow_files(2 * count + 100)
    with running(bench.folder, DRAGOMAN_HEARTBEAT_S=str(HEARTBEAT_S)) as daemon:
        daemon.create("quiet")
        readers = [_connect(daemon) for _ in range(min(count, 20))]  # warm, so not counted
        _await_all(readers)
        before = daemon.memory_kb()
        more = [_connect(daemon) for _ in range(count)]
        _await_all(more)
        each = (daemon.memory_kb() - before) / count
        silent = _await_all(readers + more)
        for reader in readers + more:
            reader.close()
    return [
        Row(
            workload=f"{count} idle streams",
            ours=f"{each:.1f} KB each",
            goal=f"≤ {CONNECTION_GOAL_KB} KB each, a heartbeat to all",
            reached=each <= CONNECTION_GOAL_KB and silent == 0,
            lost=silent,
        )
    ]


def _allow_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))


def _connect(daemon: Daemon) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", daemon.port))
    connection.sendall(
        f"GET /v1/sessions/quiet/events/sse?offset=1 HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\n"
        f"Authorization: Bearer {daemon.token}\r\n\r\n".encode()
    )
    return connection


def _await_all(readers: list[socket.socket]) -> int:
    """Wait until each has received a comment; how many have not."""
    waiting = {reader.fileno(): reader for reader in readers}
    poll = select.poll()
    for fd in waiting:
        poll.register(fd, select.POLLIN)
    deadline = time.monotonic() + DEADLINE_S
    while waiting and time.monotonic() < deadline:
        for fd, _ in poll.poll(1000):
            if b"\n: chain" in waiting[fd].recv(1 << 16):
                poll.unregister(fd)
                del waiting[fd]
    return len(waiting)


def startup(bench: Bench) -> list[Row]:
    """From exec to the first answered request; then memory and processor time at rest."""
    times, memory, cpu = [], 0, 0.0
    for _ in range(bench.size(7, 2)):
        with TemporaryDirectory(dir=bench.folder) as made:
            began = time.monotonic()
            daemon = start(Path(made))
            times.append(time.monotonic() - began)
            try:
                memory = daemon.memory_kb()
            finally:
                daemon.stop()
    with running(bench.folder) as daemon:
        seconds = bench.size(5, 1)
        before = daemon.cpu_s()
        time.sleep(seconds)
        cpu = (daemon.cpu_s() - before) / seconds
        memory = daemon.memory_kb()
    ours, bare = 1000 * median(times), _interpreter_ms(bench)
    return [
        Row(
            workload="start to first answer",
            ours=f"{ours:.0f} ms",
            limit=f"bare interpreter: {bare:.0f} ms",
            ratio=bare / ours,
            goal=f"≤ {START_GOAL_MS} ms",
            reached=ours <= START_GOAL_MS,
        ),
        Row(
            workload="at rest",
            ours=f"{memory / 1024:.0f} MB, {cpu:.1%} of a core",
            goal=f"≤ {MEMORY_GOAL_MB} MB",
            reached=memory <= MEMORY_GOAL_MB * 1024,
        ),
    ]


def _interpreter_ms(bench: Bench) -> float:
    times = []
    for _ in range(bench.repeats):
        began = time.monotonic()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        times.append(time.monotonic() - began)
    return 1000 * median(times)
