"""A real daemon, started as a user starts it, and what a measurement wants to know of it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

AGENT = Path(__file__).with_name("agent.py")
DEADLINE_S = 120.0
POLL_S = 0.02


class Daemon:
    """A running daemon; measurements talk to it over its socket like anyone."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, data_dir: Path) -> None:
        self.process = process
        self.port = port
        self.data_dir = data_dir

    @property
    def token(self) -> str:
        """The token that opens it."""
        return (self.data_dir / "token").read_text().strip()

    def request(self, method: str, path: str, body: Any = None) -> bytes:
        """One request; the body of its good answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body)
        try:
            connection.request(method, f"/v1{path}", data, headers)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {content[:300]!r}")
        return content

    def get(self, path: str) -> Any:
        """GET, decoded."""
        return json.loads(self.request("GET", path))

    def create(self, session_id: str) -> None:
        """Make a session of the mock agent."""
        self.request("POST", f"/sessions/{session_id}", {"agent": "mock"})

    def send(self, session_id: str, message: str) -> None:
        """Send a message."""
        self.request("POST", f"/sessions/{session_id}/messages", {"message": message})

    def count(self, session_id: str) -> int:
        """How many events are committed."""
        return int(self.get(f"/sessions/{session_id}")["eventCount"])

    def wait_idle(self, session_id: str) -> None:
        """Wait until the turn is over."""
        deadline = time.monotonic() + DEADLINE_S
        while (info := self.get(f"/sessions/{session_id}"))["status"] != "idle" or not info[
            "lastOutcome"
        ]:
            if time.monotonic() > deadline:
                raise RuntimeError(f"session {session_id} is still {info['status']}")
            time.sleep(POLL_S)

    def fill(self, session_id: str, events: int, text_bytes: int = 64) -> int:
        """Make a session with at least so many events; how many it has."""
        self.create(session_id)
        self.send(session_id, f"burst {events} {text_bytes}")
        self.wait_idle(session_id)
        return self.count(session_id)

    # --- What it costs ---

    def memory_kb(self) -> int:
        """What it holds in memory now."""
        return self._status("VmRSS")

    def peak_kb(self) -> int:
        """The most it ever held, since the last `forget_peak`."""
        return self._status("VmHWM")

    def forget_peak(self) -> None:
        """Start to look for the peak anew."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def cpu_s(self) -> float:
        """Seconds of processor time it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def disk_bytes(self) -> int:
        """What its database takes, with everything that belongs to it."""
        return sum(path.stat().st_size for path in self.data_dir.glob("dragoman.db*"))

    def _status(self, name: str) -> int:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1])
        raise RuntimeError(f"the kernel does not tell {name}")

    def stop(self) -> None:
        """SIGTERM, and wait."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(DEADLINE_S)


@contextmanager
def running(folder: Path, **env: str) -> Iterator[Daemon]:
    """A daemon on a fresh data folder, gone afterwards."""
    with TemporaryDirectory(dir=folder) as made:
        daemon = start(Path(made), env)
        try:
            yield daemon
        finally:
            if daemon.process.poll() is None:
                daemon.stop()


def paced_agent() -> str:
    """The value of DRAGOMAN_MOCK_COMMAND that starts the agent of this folder."""
    return f"{sys.executable} {AGENT}"


def start(data_dir: Path, env: Mapping[str, str] | None = None) -> Daemon:
    """Start a daemon and wait until it answers."""
    port = free_port()
    ours = {name: value for name, value in os.environ.items() if not name.startswith("DRAGOMAN_")}
    process = subprocess.Popen(
        [*_command(), "serve", "--data-dir", str(data_dir), "--port", str(port)],
        stdout=subprocess.DEVNULL,
        env={**ours, **(env or {})},
    )
    while not _healthy(port):
        if process.poll() is not None:
            raise RuntimeError(f"the daemon did not start: exit code {process.returncode}")
        time.sleep(0.001)
    return Daemon(process, port, data_dir)


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _command() -> list[str]:
    script = Path(sys.executable).with_name("dragoman")
    return [str(script)] if script.exists() else [sys.executable, "-m", "dragoman.cli.main"]


def _healthy(port: int) -> bool:
    """One GET /v1/health was answered; a refused connection costs next to nothing."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return connection.recv(64).startswith(b"HTTP/1.1 200")
    except OSError:
        return False
