"""A process that has Dragoman loaded, and forks daemons and commands from itself.

Tests start hundreds of them, and most of a start is loading modules. What is forked is a
process of its own like any other, but for what /proc shows of its start: command line and
environment are this server's. A test that looks there starts Python anew.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import selectors
import signal
import socket
import struct
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import iter_modules
from typing import IO, Any

import dragoman.cli
from dragoman.agents import GROUP

ROOT = Path(__file__).parent.parent
LOADED = ("dragoman.http.server", "dragoman.client", "httpcore2", "rich.console", "rich.table")
NUMBER = struct.Struct("i")
MAX_REQUEST = 1 << 20


class ForkedProcess:
    """As much of `subprocess.Popen` as tests use."""

    def __init__(self, pid: int, exit_code: int, stdout: IO[str], stderr: IO[str]) -> None:
        self.pid = pid
        self.stdout = stdout
        self.stderr = stderr
        self.returncode: int | None = None
        self._exit_code = exit_code

    def poll(self) -> int | None:
        """The exit code, where there is one."""
        return self._wait(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; the exit code."""
        code = self._wait(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        return code

    def communicate(self) -> tuple[str, str]:
        """Wait for the end; what it had said."""
        with self.stdout, self.stderr, ThreadPoolExecutor(1) as beside:
            errors = beside.submit(self.stderr.read)
            said = self.stdout.read(), errors.result()
        self.wait()
        return said

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def _wait(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._exit_code], [], [], timeout)[0]:
            (self.returncode,) = NUMBER.unpack(os.read(self._exit_code, NUMBER.size))
            os.close(self._exit_code)
        return self.returncode


def fork(
    module: str,
    arguments: Sequence[str],
    env: Mapping[str, str],
    cwd: Path | None,
    stdin: str = "",
) -> ForkedProcess:
    """Run a module as `python -m` would, on a pipe with this input."""
    request = {"argv": [module, *arguments], "env": dict(env), "cwd": str(cwd or Path.cwd())}
    (given, source), (out, stdout), (err, stderr), (exit_code, told) = (os.pipe() for _ in range(4))
    assert os.write(source, stdin.encode()) == len(stdin.encode())
    os.close(source)
    server = _server()
    try:
        socket.send_fds(server, [json.dumps(request).encode()], [given, stdout, stderr, told])
        (pid,) = NUMBER.unpack(server.recv(NUMBER.size))
    finally:
        for each in (given, stdout, stderr, told):
            os.close(each)
    return ForkedProcess(pid, exit_code, os.fdopen(out), os.fdopen(err))


@cache
def _server() -> socket.socket:
    """The server of this test worker, for as long as the worker lives."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            cwd=ROOT, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
        )  # fmt: skip
    atexit.register(process.wait)
    atexit.register(ours.close)  # is run first, and ends the server
    return ours


# --- In the server ---


class _Child:
    """A process that the server has forked, and where its exit code is waited for."""

    def __init__(self, pid: int, exit_code: int) -> None:
        self.pid = pid
        self._exit_code = exit_code

    def end(self) -> None:
        """Tell its exit code."""
        _, status = os.waitpid(self.pid, 0)
        os.write(self._exit_code, NUMBER.pack(os.waitstatus_to_exitcode(status)))
        os.close(self._exit_code)


def _serve(requests: socket.socket) -> Mapping[str, Any] | None:
    """Fork for each request: returns in a child, with what it is to run; else at the end."""
    with selectors.DefaultSelector() as selector:
        selector.register(requests, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not requests:
                    selector.unregister(key.fileobj)
                    key.data.end()
                    os.close(key.fd)
                    continue
                body, fds, _, _ = socket.recv_fds(requests, MAX_REQUEST, 4)
                if not body:
                    return None
                pid = os.fork()
                if pid == 0:
                    _take_over(*fds[:3])
                    return dict(json.loads(body))
                child = _Child(pid, fds.pop())
                selector.register(os.pidfd_open(pid), selectors.EVENT_READ, child)
                for each in fds:
                    os.close(each)
                requests.send(NUMBER.pack(pid))


def _take_over(stdin: int, stdout: int, stderr: int) -> None:
    """Make these our own, and leave nothing else of the server open."""
    for number, each in enumerate((stdin, stdout, stderr)):
        os.dup2(each, number)
    os.closerange(3, 256)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)


def _run(argv: Sequence[str], env: Mapping[str, str], cwd: str) -> None:
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = [*argv]
    sys.orig_argv = [sys.executable, "-m", *argv]  # a daemon may start itself again
    warnings.simplefilter("ignore", RuntimeWarning)  # the module is loaded, and is run again
    runpy.run_module(argv[0], run_name="__main__", alter_sys=True)


def main() -> None:
    """Serve, or be what was asked for."""
    commands = (f"dragoman.cli.{each.name}" for each in iter_modules(dragoman.cli.__path__))
    for name in (*LOADED, *commands):
        importlib.import_module(name)
    for point in entry_points(group=GROUP):
        point.load()
    gc.collect()
    gc.freeze()
    request = _serve(socket.socket(fileno=int(sys.argv[1])))
    if request is not None:
        _run(**request)


if __name__ == "__main__":
    main()
