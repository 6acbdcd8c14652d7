"""The page in a real browser: a session of 100,000 events, and one that streams."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec import Struct

from benchmarks.bench import Bench
from benchmarks.daemon import Daemon, paced_agent, start
from benchmarks.table import Row

SCRIPT = Path(__file__).with_name("inspector.mjs")
OPEN_GOAL_MS = 2000
FRAME_GOAL_MS = 34
"""Two frames of a screen that shows sixty a second."""
HEAP_GOAL_MB = 150
LARGE_GOAL_KB = 1000
SMALL_GOAL_KB = 60
TASK_GOAL_MS = 100
PIECES = 230
ITEMS = 193
EVERYDAY = ("demo", "tools", "markdown", "reasoning", "subagent")


class Frames(Struct, frozen=True):
    """The gaps between frames, in milliseconds."""

    count: int
    p50: float
    p95: float
    longest: float

    def __str__(self) -> str:
        """The gaps, as people say them."""
        return f"p50 {self.p50:.0f}, p95 {self.p95:.0f}, longest {self.longest:.0f} ms"


class Read(Struct, frozen=True):
    """What the daemon answered to the page, as it came over the wire."""

    bytes: int
    requests: int

    def __str__(self) -> str:
        """How much it was."""
        return f"{self.bytes / 1000:.0f} KB, {self.requests} requests"


class Seen(Struct, frozen=True):
    """What the browser measured."""

    plain_ms: float
    plain_scroll: Frames
    small_read: Read
    large_read: Read
    open_ms: float
    open_heap_mb: float
    talk: Frames
    talk_heap_mb: float
    jump_ms: float
    list: Frames
    list_heap_mb: float
    stream: Frames
    stream_heap_mb: float
    burst_task_ms: float


def inspector(bench: Bench) -> list[Row]:
    """Open, scroll and stream."""
    if shutil.which("node") is None:
        return [Row(workload="inspector", ours="not measured: there is no Node")]
    with TemporaryDirectory(dir=bench.folder) as made:
        daemon = start(Path(made))
        try:
            events = _fill(daemon, bench.size(100_000, 2_000))
            items = _fill_items(daemon, bench.size(ITEMS, 20))
            daemon.create("live")
            daemon.stop()
            daemon = start(Path(made), {"DRAGOMAN_MOCK_COMMAND": paced_agent()})
            burst = bench.size(20_000, 500)
            seen = _look(daemon, events, burst, bench.size(8, 1))
        finally:
            if daemon.process.poll() is None:
                daemon.stop()
    return _rows(seen, events, items, burst)


def _fill(daemon: Daemon, events: int) -> int:
    """A long working day: answers in many pieces, tools, thoughts and subagents."""
    daemon.create("large")
    turn = 0
    while daemon.count("large") < events:
        prompt = EVERYDAY[turn % len(EVERYDAY)] if turn % 3 == 0 else f"burst {PIECES} 48"
        daemon.send("large", prompt)
        daemon.wait_idle("large")
        turn += 1
    return daemon.count("large")


def _fill_items(daemon: Daemon, items: int) -> int:
    """A short day: no more than so many items, or few more."""
    daemon.create("small")
    turn = made = 0
    while made < items:
        daemon.send("small", EVERYDAY[turn % len(EVERYDAY)])
        daemon.wait_idle("small")
        turn += 1
        page = msgspec.json.decode(daemon.request("GET", "/sessions/small/events?limit=10000"))
        made = sum(event["type"] == "item.completed" for event in page["events"])
    return made


def _look(daemon: Daemon, events: int, burst: int, seconds: int) -> Seen:
    url = f"http://127.0.0.1:{daemon.port}"
    ticket = msgspec.json.decode(daemon.request("POST", "/tickets"))["ticket"]
    sessions = ("large", "small", "live")
    words = [f"{url}/ui/?ticket={ticket}", url, *sessions, *map(str, (events, burst, seconds))]
    done = subprocess.run(["node", SCRIPT, *words], stdout=subprocess.PIPE, check=True, timeout=300)
    return msgspec.json.decode(done.stdout, type=Seen)


def _rows(seen: Seen, events: int, items: int, burst: int) -> list[Row]:
    size = f"{events // 1000}k events" if events >= 1000 else f"{events} events"
    limit = f"a plain page: {seen.plain_scroll}"

    def moving(what: str, frames: Frames, heap_mb: float) -> Row:
        return Row(
            workload=f"inspector, {what}",
            ours=f"{frames}, heap {heap_mb:.0f} MB",
            limit=limit,
            ratio=seen.plain_scroll.p95 / frames.p95,
            goal=f"p95 ≤ {FRAME_GOAL_MS} ms, heap ≤ {HEAP_GOAL_MB} MB",
            reached=frames.p95 <= FRAME_GOAL_MS and heap_mb <= HEAP_GOAL_MB,
        )

    def reading(what: str, read: Read, goal_kb: int) -> Row:
        return Row(
            workload=f"inspector, {what}, read to open",
            ours=str(read),
            goal=f"≤ {goal_kb} KB",
            reached=read.bytes <= goal_kb * 1000,
        )

    return [
        reading(f"{items} items", seen.small_read, SMALL_GOAL_KB),
        reading(size, seen.large_read, LARGE_GOAL_KB),
        Row(
            workload=f"inspector, {size}, conversation opens",
            ours=f"{seen.open_ms:.0f} ms, heap {seen.open_heap_mb:.0f} MB",
            limit=f"a plain page: {seen.plain_ms:.0f} ms",
            ratio=seen.plain_ms / seen.open_ms,
            goal=f"≤ {OPEN_GOAL_MS} ms",
            reached=seen.open_ms <= OPEN_GOAL_MS,
        ),
        moving(f"{size}, conversation scrolls", seen.talk, seen.talk_heap_mb),
        Row(
            workload=f"inspector, {size}, events open in the middle",
            ours=f"{seen.jump_ms:.0f} ms",
            limit=f"a plain page: {seen.plain_ms:.0f} ms",
            ratio=seen.plain_ms / seen.jump_ms,
            goal=f"≤ {OPEN_GOAL_MS} ms",
            reached=seen.jump_ms <= OPEN_GOAL_MS,
        ),
        moving(f"{size}, events scroll", seen.list, seen.list_heap_mb),
        moving("50 events/s stream", seen.stream, seen.stream_heap_mb),
        Row(
            workload=f"inspector, {burst} events burst in",
            ours=f"longest task {seen.burst_task_ms:.0f} ms" if seen.burst_task_ms else "≤ 50 ms",
            goal=f"≤ {TASK_GOAL_MS} ms",
            reached=seen.burst_task_ms <= TASK_GOAL_MS,
        ),
    ]
