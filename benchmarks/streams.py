"""Streams: replay from the store, many readers flat out, many readers at a steady rate."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.daemon import AGENT, Daemon, paced_agent, running
from benchmarks.limits import commit_ms
from benchmarks.table import Row, amount

BEGINNING = 10
"""The first events of a session: its start, the turn, the prompt."""
REPLAY_GOAL = 1e6
FANOUT_SHARE = 0.3
CONTROL_P99_MS = 1.2
GROWTH_KB = 64 << 10
DELTA_BYTES = 64


def _path(session_id: str) -> str:
    return f"/v1/sessions/{session_id}/events/sse"


def replay(bench: Bench) -> list[Row]:
    """One reader takes a whole session from the store."""
    events = bench.size(1_000_000, 500)
    with running(bench.folder) as daemon:
        daemon.fill("long", events, DELTA_BYTES)
        before = daemon.memory_kb()
        daemon.forget_peak()
        with bench.load.following(
            daemon.port, daemon.token, _path("long"), readers=1, skip=BEGINNING, until=events
        ) as readers:
            found = readers.result()
        growth = max(0, daemon.peak_kb() - before)
        file = bench.folder / "stream"
        upto = _save(daemon, "long", file, bench.size(100_000, 200))
    limit = bench.load.fanout_limit(file, 1, BEGINNING, upto)
    return [
        Row(
            workload=f"replay of {amount(events, '')} events, 1 reader",
            ours=f"{amount(found.rate)}, {found.megabytes:.0f} MB/s, +{growth / 1024:.0f} MB",
            limit=f"{bench.load.language} send: {amount(limit.rate)}",
            ratio=found.rate / limit.rate,
            goal="≥ 1M/s, memory bounded",
            reached=found.rate >= REPLAY_GOAL and growth < GROWTH_KB,
            lost=found.lost,
        )
    ]


def fanout(bench: Bench) -> list[Row]:
    """Readers of a session whose agent says as much as it can."""
    rows = []
    for readers, events in ((1, bench.size(200_000, 300)), (100, bench.size(100_000, 300))):
        with running(bench.folder) as daemon:
            daemon.create("loud")
            with bench.load.following(
                daemon.port, daemon.token, _path("loud"),
                readers=readers, skip=BEGINNING, until=events,
            ) as reading:  # fmt: skip
                daemon.send("loud", f"burst {events} {DELTA_BYTES}")
                found = reading.result()
            daemon.wait_idle("loud")
            file = bench.folder / "stream"
            upto = _save(daemon, "loud", file, bench.size(20_000, 200))
        limit = bench.load.fanout_limit(file, readers, BEGINNING, upto)
        ratio = found.rate / limit.rate
        many = readers > 1
        rows.append(
            Row(
                workload=f"{readers} reader{'s' * many} flat out, durable",
                ours=f"{amount(found.rate)}, {found.megabytes:.0f} MB/s",
                limit=f"{bench.load.language} epoll: {amount(limit.rate)}",
                ratio=ratio,
                goal=f"≥ {FANOUT_SHARE:.0%} of the limit, 0 lost" if many else "0 lost",
                reached=found.lost == 0 and (ratio >= FANOUT_SHARE or not many),
                lost=found.lost,
            )
        )
    return rows


def latency(bench: Bench) -> list[Row]:
    """From the agent's write to the receipt by each of 100 readers, commit included."""
    readers = bench.size(100, 5)
    rate, seconds = bench.size(1000, 100), bench.size(8, 1)
    with running(bench.folder, DRAGOMAN_MOCK_COMMAND=paced_agent()) as daemon:
        daemon.create("steady")
        with bench.load.following(
            daemon.port, daemon.token, _path("steady"),
            readers=readers, skip=BEGINNING, until=rate * seconds,
        ) as reading:  # fmt: skip
            daemon.send("steady", f"pace {rate} {seconds}")
            found = reading.result()
    limit = bench.load.relay_limit(
        (sys.executable, str(AGENT)), f"pace {rate} {seconds}", readers, BEGINNING, rate * seconds
    )
    commit = commit_ms(bench.folder)
    return [
        Row(
            workload=f"{readers} readers, {rate} events/s, latency",
            ours=f"p50 {found.p50_ms:.2f}, p99 {found.p99_ms:.2f} ms",
            limit=f"{bench.load.language} relay: p50 {limit.p50_ms:.2f}, p99 {limit.p99_ms:.2f} ms",
            ratio=limit.p99_ms / found.p99_ms,
            goal=f"p99 ≤ {CONTROL_P99_MS} ms + a commit's {commit:.2f}",
            reached=found.p99_ms <= CONTROL_P99_MS + commit,
            lost=found.lost,
        )
    ]


def _save(daemon: Daemon, session_id: str, file: Path, events: int) -> int:
    """Keep the bytes of a stream's beginning, at least so many events; the last one's sequence."""
    head = (
        f"GET {_path(session_id)} HTTP/1.0\r\nHost: 127.0.0.1:{daemon.port}\r\n"
        f"Authorization: Bearer {daemon.token}\r\n\r\n"
    )
    received, last = bytearray(), 0
    with socket.create_connection(("127.0.0.1", daemon.port)) as connection:
        connection.sendall(head.encode())
        while last < events:
            received += connection.recv(1 << 20)
            whole = received.rfind(b"\n\n")
            start = received.rfind(b"\n\nid: ", 0, whole)
            if start > 0:
                last = int(received[start + 6 : received.index(b"\n", start + 6)])
    body = bytes(received[received.index(b"id: ") : whole + 2])
    file.write_bytes(body)
    return last
