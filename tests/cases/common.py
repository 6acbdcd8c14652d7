"""What several cases need: a look at the daemon's process, and patience for what it does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from dragoman.testing.conformance import check_lines
from tests.daemon import Daemon

DEADLINE_S = 30.0


def eventually(happened: Callable[[], bool], what: str, seconds: float = DEADLINE_S) -> None:
    """Wait for something that the daemon tells nobody about."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"it never happened that {what}"
        time.sleep(0.02)


def pid_of(daemon: Daemon) -> int:
    """The daemon's pid."""
    assert daemon.process is not None
    return daemon.process.pid


def open_files(daemon: Daemon) -> int:
    """How many descriptors the daemon holds."""
    return len(os.listdir(f"/proc/{pid_of(daemon)}/fd"))


def memory_bytes(daemon: Daemon) -> int:
    """How much memory the daemon has in use."""
    status = Path(f"/proc/{pid_of(daemon)}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def assert_conforms(events: list[dict[str, Any]]) -> None:
    """The events of a session keep every rule, from the first on."""
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    assert check_lines([msgspec.json.encode(event) for event in events]) == []


def types(events: list[dict[str, Any]]) -> list[str]:
    """The types of events, in order."""
    return [event["type"] for event in events]


def wait_for_agent(daemon: Daemon, session_id: str, type: str, after: int = 0) -> dict[str, Any]:
    """The next event of a type that is the agent's own."""
    with daemon.stream(f"/sessions/{session_id}/events/sse?offset={after}") as stream:
        for event in stream:
            if event["type"] == type and event["source"] == "agent":
                return event
    raise AssertionError(f"the stream ended without {type}")
