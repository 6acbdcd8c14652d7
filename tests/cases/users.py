"""Daemons and people's programs under the user of the tests, or, where that is root, another."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import dragoman
from tests.daemon import Daemon

from .puppet import AGENT

APPROVER = Path(__file__).with_name("approver.py")
NOBODY = 65534
SOURCES = os.pathsep.join(
    [str(Path(dragoman.__file__).parent.parent), *(p for p in sys.path if "site-packages" in p)]
)


class User:
    """Somebody on this machine: how he runs Python, and a folder of his own."""

    def __init__(self, python: tuple[str, ...], folder: Path) -> None:
        self.python = python
        self.folder = folder

    @contextmanager
    def daemon(self, **env: str) -> Iterator[Daemon]:
        """A daemon of this user's, with the puppet as its agent."""
        agent = f"{self.python[-1]} {AGENT}"
        given = {"DRAGOMAN_MOCK_COMMAND": agent, "HOME": str(self.folder), **env}
        daemon = Daemon(self.folder / "data", env=given)
        daemon.python = self.python
        daemon.start()
        try:
            yield daemon
        finally:
            daemon.stop()

    def run(self, *argv: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run Python as this user, to its end."""
        return subprocess.run(
            [*self.python, *argv], env={**os.environ, "HOME": str(self.folder), **env},
            cwd=self.folder, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    def ask(self, daemon: Daemon, *requests: str) -> list[Any]:
        """What a program of this user's, beside all agents, gets for its requests."""
        report = self.folder / "person.json"
        words = [str(daemon.port), str(daemon.data_dir / "token"), str(report), "plain"]
        done = self.run(str(APPROVER), *words, *requests, LEAVES="1")
        assert done.returncode == 0, done.stderr
        answers: list[Any] = json.loads(report.read_text())["answers"]
        return answers


@contextmanager
def this_user() -> Iterator[User]:
    """Whoever runs the tests."""
    with tempfile.TemporaryDirectory(prefix="dragoman-user-") as folder:
        yield User((sys.executable,), Path(folder))


@contextmanager
def ordinary_user() -> Iterator[User]:
    """Somebody who may not do everything, where root can pose as one."""
    if os.geteuid() != 0:
        pytest.skip("whoever runs the tests is an ordinary user already")
    if shutil.which("setpriv") is None:
        pytest.skip("there is no setpriv to pose as an ordinary user with")
    with tempfile.TemporaryDirectory(prefix="dragoman-user-") as folder:
        os.chown(folder, NOBODY, NOBODY)
        user = next((each for each in _candidates(Path(folder)) if _works(each)), None)
        if user is None:
            pytest.skip("an ordinary user can run no Python here that has what Dragoman needs")
        yield user


def _candidates(folder: Path) -> Iterator[User]:
    posing = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    # The home of root, where a Python of its own may lie, is shut to others: then another one of
    # the same version serves. What setpriv starts itself may still come from there, hence `env`.
    version = f"python3.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/local/bin/{version}", f"/usr/bin/{version}"):
        yield User((*posing, "env", f"PYTHONPATH={SOURCES}", python), folder)


def _works(user: User) -> bool:
    again = "import subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"
    try:
        return user.run("-c", f"import dragoman.http.server; {again}").returncode == 0
    except OSError:
        return False
