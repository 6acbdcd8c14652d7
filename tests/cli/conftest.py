"""A canned daemon, and the command line as a person runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import dragoman
from tests.client.canned import TOKEN, Canned, serving
from tests.daemon import Daemon, running
from tests.fork_server import fork

SOURCE = Path(dragoman.__file__).parent.parent


class Terminal:
    """Runs commands in a clean environment with its own home."""

    MODULE = "dragoman.cli.main"

    def __init__(self, home: Path, url: str | None) -> None:
        self.home = home
        self.environ = {
            name: value for name, value in os.environ.items() if not name.startswith("DRAGOMAN_")
        }
        for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
            self.environ.pop(name, None)
        self.environ |= {"HOME": str(home), "PYTHONPATH": str(SOURCE), "DRAGOMAN_TOKEN": TOKEN}
        if url:
            self.environ["DRAGOMAN_URL"] = url

    def argv(self, *args: str) -> list[str]:
        """The command as a list."""
        return [sys.executable, "-m", self.MODULE, *args]

    def run(
        self, *args: str, stdin: str | None = None, code: int = 0
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end and check its exit code."""
        process = fork(self.MODULE, args, self.environ, self.home, stdin or "")
        stdout, stderr = process.communicate()
        assert process.wait() == code, stdout + stderr
        return subprocess.CompletedProcess(args, code, stdout, stderr)


@pytest.fixture
def daemon() -> Iterator[Canned]:
    """A canned daemon."""
    with serving() as canned:
        yield canned


@pytest.fixture
def terminal(daemon: Canned, tmp_path: Path) -> Terminal:
    """A terminal next to it."""
    return Terminal(tmp_path, daemon.url)


class Beside(Terminal):
    """A terminal beside a real daemon."""

    def __init__(self, home: Path, daemon: Daemon) -> None:
        super().__init__(home, None)
        del self.environ["DRAGOMAN_TOKEN"]
        self.environ["DRAGOMAN_DATA_DIR"] = str(daemon.data_dir)

    @contextmanager
    def open(self, *args: str) -> Iterator[subprocess.Popen[str]]:
        """Run a command beside others."""
        with subprocess.Popen(
            self.argv(*args), env=self.environ, cwd=self.home, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            try:
                yield process
            finally:
                process.kill()  # nothing where it has ended; else it would be waited for


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon that the tests of this module share."""
    with running(tmp_path_factory.mktemp("real")) as started:
        yield started


@pytest.fixture
def beside(real: Daemon, tmp_path: Path) -> Beside:
    """A terminal beside it."""
    return Beside(tmp_path, real)
