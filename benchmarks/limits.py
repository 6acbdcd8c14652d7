"""What the machine can do with the same bytes, measured in the same run."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.bench import Bench
from benchmarks.daemon import free_port

DEADLINE_S = 60.0
WRITE_BYTES = 1 << 20
READ_BYTES = 1 << 18
LAST_LINE = b'{"type":"end_turn"'
NGINX = """
daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1; {user}
events {{ worker_connections 1024; }}
http {{
    access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 100000000;
    open_file_cache max=16; default_type application/json;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{port}; root {folder}; }}
}}
"""


@contextmanager
def static_server(bench: Bench, body: bytes) -> Iterator[tuple[str, int, str]]:
    """A server of these bytes: its name, port and path. Nginx where it is installed."""
    with TemporaryDirectory(dir=bench.folder) as made:
        folder = Path(made)
        (folder / "page").write_bytes(body)
        nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
        if nginx is None:
            with bench.load.static(folder / "page") as port:
                yield f"{bench.load.language} epoll", port, "/page"
        else:
            with _nginx(nginx, folder) as port:
                yield "nginx", port, "/page"


@contextmanager
def _nginx(executable: str, folder: Path) -> Iterator[int]:
    port = free_port()
    user = "user root;" if os.geteuid() == 0 else ""
    config = folder / "nginx.conf"
    config.write_text(NGINX.format(folder=folder, port=port, user=user))
    process = subprocess.Popen([executable, "-p", folder, "-c", config, "-e", folder / "error.log"])
    try:
        _wait_for(port)
        yield port
    finally:
        process.terminate()
        process.wait(DEADLINE_S)


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.01)
        else:
            return
    raise RuntimeError(f"nobody listens on port {port}")


def write_rate(folder: Path, line_bytes: int, total_bytes: int) -> float:
    """Lines in a second that `write` and `fdatasync` take, a MiB at a time."""
    together = max(1, WRITE_BYTES // line_bytes)
    chunk = b"x" * (line_bytes * together)
    rounds = max(1, total_bytes // len(chunk))
    path = folder / "written"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        start = time.monotonic()
        for _ in range(rounds):
            os.write(fd, chunk)
            os.fdatasync(fd)
        return rounds * together / (time.monotonic() - start)
    finally:
        os.close(fd)
        path.unlink()


def split_rate(agent: Sequence[str], prompt: str) -> float:
    """Lines in a second that Python reads from the same agent and splits, doing nothing else."""
    command = {"type": "prompt", "message_id": "m", "text": prompt}
    with subprocess.Popen(agent, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        fd = process.stdout.fileno()
        with contextlib.suppress(OSError):  # an unprivileged user may be over the pipe quota
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, WRITE_BYTES)
        process.stdin.write(json.dumps(command).encode() + b"\n")
        process.stdin.flush()
        try:
            return _split_all(fd)
        finally:
            process.kill()


def _split_all(fd: int) -> float:
    rest = bytearray(os.read(fd, 1))  # it has begun; a larger read could be all there is
    lines, start = 0, time.monotonic()
    while not rest.startswith(LAST_LINE):
        chunk = os.read(fd, READ_BYTES)
        first, *others = chunk.split(b"\n")
        rest += first
        for line in others:
            if rest.startswith(LAST_LINE):
                break
            lines += 1
            rest = bytearray(line)
    return lines / (time.monotonic() - start)


def commit_ms(folder: Path, rounds: int = 500) -> float:
    """The 99th percentile of one small commit by SQLite, as the store makes it."""
    path = folder / "commits.db"
    db = sqlite3.connect(path, isolation_level=None)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("CREATE TABLE events (id INTEGER PRIMARY KEY, line BLOB)")
        times = []
        for _ in range(rounds):
            start = time.monotonic()
            db.execute("INSERT INTO events (line) VALUES (?)", (b"x" * 400,))
            times.append(time.monotonic() - start)
        return 1000 * sorted(times)[rounds * 99 // 100]
    finally:
        db.close()
        for left in folder.glob("commits.db*"):
            left.unlink()
