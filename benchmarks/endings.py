"""Many sessions that are ended at once, beside as many that work on."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from benchmarks.bench import Bench
from benchmarks.daemon import Daemon, running
from benchmarks.table import Row

AGENT = [sys.executable, "-P", "-m", "dragoman.testing.mock.agent"]
GOAL_S = 3.0
STARTERS = 8


def endings(bench: Bench) -> list[Row]:
    """Terminate half of the sessions at once; the processes of the others must be there after."""
    count = bench.size(500, 8)
    half = count // 2
    with running(bench.folder) as daemon:
        names = [f"s{number}" for number in range(count)]
        with ThreadPoolExecutor(STARTERS) as pool:
            list(pool.map(lambda name: _begin(daemon, name), names))
        for name in names:
            daemon.wait_idle(name)
        alone = _terminate(daemon, names[:1])
        together = _terminate(daemon, names[1 : half + 1])
        left = [each.get("sessionIds") for each in daemon.get("/processes")["processes"]]
    wrong = [name for name in names[half + 1 :] if [name] not in left]
    lost = len(wrong) + len(left) - (count - half - 1)
    limit = _plain_s(half)
    return [
        Row(
            workload=f"{half} of {count} sessions ended at once",
            ours=f"{together:.2f} s, one alone {1000 * alone:.0f} ms",
            limit=f"end of input, wait: {limit:.2f} s",
            ratio=limit / together,
            goal=f"≤ {GOAL_S:.0f} s",
            reached=together <= GOAL_S,
            lost=lost,
        )
    ]


def _begin(daemon: Daemon, name: str) -> None:
    daemon.create(name)
    daemon.send(name, "echo hi")


def _terminate(daemon: Daemon, names: list[str]) -> float:
    """Seconds until all of them have ended, each asked for on a connection of its own."""
    with ThreadPoolExecutor(len(names)) as pool:
        began = time.monotonic()
        list(pool.map(lambda name: daemon.request("POST", f"/sessions/{name}/terminate"), names))
        return time.monotonic() - began


def _plain_s(count: int) -> float:
    """Seconds in which as many of the same processes end where nobody looks after the rest."""
    started = [
        subprocess.Popen(AGENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(count)
    ]
    for process in started:
        assert process.stdout is not None
        process.stdout.readline()
    began = time.monotonic()
    for process in started:
        assert process.stdin is not None
        process.stdin.close()
    for process in started:
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    return time.monotonic() - began
