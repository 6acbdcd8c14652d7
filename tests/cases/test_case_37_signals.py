"""Case 37: whatever signal comes, the daemon ends in order or not at all."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path

import pytest

from tests.daemon import DEADLINE_S, Daemon
from tests.testing.story import Talk, of_type

from .common import assert_conforms, eventually, pid_of, wait_for_agent
from .culprits import misdeed, patience, token, with_token
from .puppet import ENV

STOPS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGXCPU", "SIGPWR")
IGNORED = ("SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGIO", "SIGRTMIN")


class OnATerminal(Daemon):
    """A daemon that a person has started in a terminal."""

    def start(self) -> None:
        self.files.mkdir(parents=True, exist_ok=True)
        self.terminal, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", self.MODULE, "serve", "--data-dir", str(self.data_dir),
             "--port", "0"],
            stdin=theirs, stdout=theirs, stderr=theirs, text=True, env=self._env,
            start_new_session=True, preexec_fn=lambda: ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(theirs)
        shown = b""
        while b"listens on" not in shown or not shown.endswith(b"\n"):
            shown += os.read(self.terminal, 1024)
        self.port = int(shown.split(b"listens on ")[1].split()[0].rpartition(b":")[2])


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    started = Daemon(tmp_path / "data", env=ENV)
    started.start()
    yield started
    if started.process is not None:
        started.stop()


def at_work(daemon: Daemon) -> tuple[Talk, str]:
    """A session whose agent works, and has started something that would outlive it."""
    name, talk = token(), Talk(daemon)
    talk.send(misdeed("daemon", name))
    wait_for_agent(daemon, talk.id, "item.delta")
    assert with_token(name)
    return talk, name


def assert_interrupted(talk: Talk) -> None:
    (ended,) = of_type(talk.events(), "turn.ended")
    assert ended["outcome"] == "interrupted"
    assert_conforms(talk.events())


@pytest.mark.parametrize("name", STOPS)
def test_case_37_a_signal_that_stops_leaves_no_process(daemon: Daemon, name: str) -> None:
    """Before, all but SIGTERM and SIGINT killed the daemon, and its agents' children lived on."""
    talk, program = at_work(daemon)
    os.kill(pid_of(daemon), getattr(signal, name))
    assert daemon._reap() == 0
    assert with_token(program) == set()
    daemon.start()
    assert_interrupted(talk)


@pytest.mark.parametrize("name", IGNORED)
def test_case_37_a_signal_without_a_meaning_is_ignored(daemon: Daemon, name: str) -> None:
    """Before, each of these killed the daemon, and its agents' children lived on."""
    talk = Talk(daemon)
    talk.send(patience(2))
    wait_for_agent(daemon, talk.id, "item.delta")
    os.kill(pid_of(daemon), getattr(signal, name))
    assert talk.until("turn.ended")["data"]["outcome"] == "completed"


def test_case_37_a_signal_that_is_ignored_here_is_not_ignored_by_agents(daemon: Daemon) -> None:
    talk, program = at_work(daemon)
    numbers = {getattr(signal, name) for name in IGNORED}
    for pid in with_token(program):
        status = Path(f"/proc/{pid}/status").read_text()
        (line,) = [line for line in status.splitlines() if line.startswith("SigIgn:")]
        assert not [number for number in numbers if int(line.split()[1], 16) >> number - 1 & 1]
    talk.terminate()


def test_case_37_a_terminal_that_is_closed_ends_everything(tmp_path: Path) -> None:
    """Before, what an agent had started ran on until the next start."""
    daemon = OnATerminal(tmp_path / "data", env=ENV)
    daemon.start()
    talk, program = at_work(daemon)
    os.close(daemon.terminal)
    assert daemon.process is not None
    assert daemon.process.wait(DEADLINE_S) == 0
    assert with_token(program) == set()
    again = Daemon(tmp_path / "data", env=ENV)
    again.start()
    talk.daemon = again
    assert_interrupted(talk)
    again.stop()


def test_case_37_under_nohup_a_daemon_outlives_its_terminal(tmp_path: Path) -> None:
    class Nohup(Daemon):
        """What `nohup` does to a program."""

        def start(self) -> None:
            before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
            try:
                super().start()
            finally:
                signal.signal(signal.SIGHUP, before)

    daemon = Nohup(tmp_path / "data", env=ENV)
    daemon.python = (sys.executable,)
    daemon.start()
    try:
        talk = Talk(daemon)
        os.kill(pid_of(daemon), signal.SIGHUP)
        talk.turn(patience(1))
        eventually(lambda: daemon.get("/health")["status"] == "ok", "the daemon serves on")
    finally:
        daemon.stop()
