"""Durable ingest: lines of an agent's process, committed; and what they take on disk."""

from __future__ import annotations

import sys
import time

from benchmarks.agent import say
from benchmarks.bench import Bench
from benchmarks.daemon import AGENT, DEADLINE_S, Daemon, paced_agent, running
from benchmarks.limits import split_rate, write_rate
from benchmarks.table import Row, amount

MOCK = (sys.executable, "-P", "-m", "dragoman.testing.mock.agent")
EMPTY = len(say(type="delta", key="m1", text=""))
POLL_S = 0.02
BEGINNING = 10
DISK_GOAL = 1.5
PAGE = 10_000


def ingest(bench: Bench) -> list[Row]:
    """Small lines are pieces of a text, large ones are output of a tool."""
    return [
        _ingest(bench, "280 B", 280, bench.size(400_000, 300), 148_000, 148_000),
        _ingest(bench, "22 KB", 22_000, bench.size(20_000, 50), 18_000, 9_000),
        _ingest(bench, "1.1 MB", 1_100_000, bench.size(500, 5), 475, 237),
    ]


def _ingest(bench: Bench, name: str, size: int, count: int, goal: int, least: int) -> Row:
    small = size < 1000
    prompt = f"burst {count} {size - EMPTY}" if small else f"lines {count} {size}"
    env = {} if small else {"DRAGOMAN_MOCK_COMMAND": paced_agent()}
    with running(bench.folder, **env) as daemon:
        daemon.create("in")
        daemon.send("in", prompt)
        rate = _committed_rate(daemon, "in", count)
        daemon.wait_idle("in")
        lost = _lost(daemon, "in", count)
    agent = MOCK if small else (sys.executable, str(AGENT))
    split = split_rate(agent, prompt)
    disk = write_rate(bench.folder, size, min(count * size, 1 << 29))
    return Row(
        workload=f"ingest of {name} lines, committed",
        ours=f"{amount(rate)}, {rate * size / 1e6:.0f} MB/s",
        limit=f"split {amount(split)}, fdatasync {amount(disk)}",
        ratio=rate / min(split, disk),
        goal=f"≥ {amount(goal)}" + ("" if goal == least else f", at least {amount(least)}"),
        reached=rate >= least,
        lost=lost,
    )


def _committed_rate(daemon: Daemon, session_id: str, count: int) -> float:
    """Events in a second, from the first to the last, as anyone sees them committed."""
    start, at_start = 0.0, 0
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        seen, now = daemon.count(session_id), time.monotonic()
        if not start and seen > BEGINNING:
            start, at_start = now, seen
        if seen >= count + BEGINNING // 2:
            # All at the first look: it was faster than we can tell.
            return (seen - at_start or seen) / (now - start or POLL_S)
        time.sleep(POLL_S)
    raise RuntimeError(f"only {seen} of {count} events came")


def _lost(daemon: Daemon, session_id: str, count: int) -> int:
    """Lines without an event, by what is stored: each event has the next sequence."""
    after, lines = 0, 0
    while True:
        page = daemon.get(f"/sessions/{session_id}/events?offset={after}&limit={PAGE}")
        for event in page["events"]:
            after += 1
            if event["sequence"] != after:
                raise RuntimeError(f"event {event['sequence']} follows {after - 1}")
            lines += event["type"] == "item.delta" and event["source"] == "agent"
        if not page["hasMore"]:
            return count - lines


def store(bench: Bench) -> list[Row]:
    """Bytes on disk, after the daemon has stopped, against the events as they are shown."""
    return [
        _store(bench, "280 B", 280, bench.size(50_000, 300)),
        _store(bench, "22 KB", 22_000, bench.size(2_000, 20)),
    ]


def _store(bench: Bench, name: str, size: int, count: int) -> Row:
    prompt = f"lines {count} {size}"
    with running(bench.folder, DRAGOMAN_MOCK_COMMAND=paced_agent()) as daemon:
        daemon.create("kept")
        daemon.send("kept", prompt)
        daemon.wait_idle("kept")
        events = daemon.count("kept")
        whole, bare = (_shown_bytes(daemon, "kept", raw) for raw in (True, False))
        daemon.stop()
        disk = daemon.disk_bytes()
    return Row(
        workload=f"on disk, events of {name} lines",
        ours=f"{disk / events:.0f} B, {disk / whole:.2f}× with raw, {disk / bare:.2f}× without",
        limit=f"encoded with raw: {whole / events:.0f} B",
        ratio=disk / whole,
        goal=f"≤ {DISK_GOAL}× the encoded event",
        reached=disk / whole <= DISK_GOAL,
        lost=max(0, count - events),
    )


def _shown_bytes(daemon: Daemon, session_id: str, raw: bool) -> int:
    size, after, last = 0, 0, daemon.count(session_id)
    while after < last:
        path = f"/sessions/{session_id}/events?offset={after}&limit={PAGE}&include_raw={raw}"
        body = daemon.request("GET", path.lower())
        size += len(body)
        after = int(body[body.rindex(b'"sequence":') + 11 :].partition(b",")[0])
    return size
