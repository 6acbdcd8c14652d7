"""Case 21: whatever an agent starts, and however it hides, nothing of it is left."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dragoman.runtime.processes import linux
from dragoman.runtime.processes.cgroup import cgroups_of, create_cgroup
from tests.daemon import Daemon, running
from tests.testing.story import Talk, of_type, outcome, said

from .common import eventually, memory_bytes, pid_of, wait_for_agent
from .culprits import (
    MISDEEDS,
    WORDS,
    assert_nothing_left,
    descendants,
    misdeed,
    patience,
    token,
    with_token,
)
from .puppet import BEGIN, ENV, MESSAGE, Act, prompt, write

QUICK = {**ENV, "DRAGOMAN_STOP_DEADLINE_S": "0.3"}
KINDS = (
    "stay", "stubborn", "double-fork", "setsid", "daemon", "scrubbed", "scrubbed-daemon", "tree",
    "hoppers", "hydra",
)  # fmt: skip
FLAT_BYTES = 32 << 20
HELLO = patience(1)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("daemon"), env=QUICK) as started:
        yield started


@pytest.fixture(autouse=True)
def ended(daemon: Daemon) -> Iterator[None]:
    """No test leaves a session to the next one, whatever happened in it."""
    yield
    if daemon.process is not None:
        for session in daemon.get("/sessions")["sessions"]:
            daemon.request("POST", f"/sessions/{session['sessionId']}/terminate")


def can_pen() -> bool:
    """Whether this machine lets us keep processes together."""
    with subprocess.Popen(["sleep", "60"]) as child:
        cgroup = create_cgroup("probe", child.pid, linux.start_time(child.pid))
        child.kill()
    if cgroup is not None:
        cgroup.remove()
    return cgroup is not None


needs_pens = pytest.mark.skipif(not can_pen(), reason="the kernel keeps nothing together for us")


def begin(daemon: Daemon, kind: str, name: str, *then: Act) -> Talk:
    """A session whose agent has started something."""
    talk = Talk(daemon)
    talk.send(misdeed(kind, name, *then))
    wait_for_agent(daemon, talk.id, "item.delta")
    return talk


@pytest.mark.parametrize("kind", KINDS)
def test_case_21_after_terminate_nothing_is_left_and_nobody_else_notices(
    daemon: Daemon, kind: str
) -> None:
    before = memory_bytes(daemon)
    name = token()
    talk = begin(daemon, kind, name)
    eventually(lambda: bool(with_token(name)), "what it started is seen")
    other = Talk(daemon)
    other.send(patience(50))
    wait_for_agent(daemon, other.id, "item.delta")
    talk.terminate()
    assert_nothing_left(daemon, name, spared=set(other.processes()))
    assert talk.processes() == []
    events = talk.conforms()
    assert events[-1]["type"] == "session.ended"
    assert other.until("turn.ended")["data"]["outcome"] == "completed"
    assert said(other.conforms()) == ["There. " * 50]
    other.terminate()
    assert memory_bytes(daemon) - before < FLAT_BYTES


@pytest.mark.parametrize("kind", KINDS)
def test_case_21_an_agent_that_dies_leaves_nothing_either(daemon: Daemon, kind: str) -> None:
    name = token()
    talk = Talk(daemon)
    talk.turn(HELLO)
    turn = talk.turn(misdeed(kind, name, ["exit", 0]))
    assert outcome(turn) == "failed"
    assert_nothing_left(daemon, name)
    assert outcome(talk.turn(HELLO)) == "completed"
    talk.conforms()
    talk.terminate()


def test_case_21_an_agent_that_ignores_sigterm_is_killed_with_all_it_started(
    daemon: Daemon,
) -> None:
    name = token()
    talk = Talk(daemon)
    start: Act = ["start", [str(MISDEEDS), "stubborn", name]]
    deaf: Act = ["ignore", signal.SIGTERM]
    talk.send(prompt(deaf, start, *write(BEGIN + MESSAGE + WORDS), ["stay"]))
    wait_for_agent(daemon, talk.id, "item.delta")
    talk.terminate()
    assert_nothing_left(daemon, name)
    talk.conforms()


def test_case_21_what_belongs_to_one_of_many_ends_at_the_latest_with_the_last(
    daemon: Daemon,
) -> None:
    """Who hides everything about himself among several agents is nobody's, and not for long."""
    older = Talk(daemon)
    older.turn(HELLO)
    name = token()
    talk = begin(daemon, "scrubbed-daemon", name)
    talk.terminate()
    assert outcome(older.turn(HELLO)) == "completed"
    older.terminate()
    assert_nothing_left(daemon, name)


@needs_pens
def test_case_21_where_the_kernel_helps_who_hides_everything_ends_with_his_own_agent(
    daemon: Daemon,
) -> None:
    older = Talk(daemon)
    older.turn(HELLO)
    name = token()
    talk = begin(daemon, "scrubbed-daemon", name)
    talk.terminate()
    assert with_token(name) == set()
    assert outcome(older.turn(HELLO)) == "completed"
    older.terminate()


@needs_pens
@pytest.mark.parametrize("end", ["terminate", "stop", "kill"])
def test_case_21_not_even_a_fork_bomb_outruns_the_kernel(data_dir: Path, end: str) -> None:
    name = token()
    with running(data_dir, env=QUICK) as daemon:
        talk = begin(daemon, "swarm", name)
        if end == "terminate":
            talk.terminate()
        elif end == "stop":
            assert daemon.stop() == 0
            daemon.start()
        else:
            daemon.kill()
            daemon.start()
        assert with_token(name) == set()
        eventually(lambda: cgroups_of(linux.mark_of(data_dir)) == [], "nothing is left of it")
        talk.conforms()


@pytest.mark.parametrize("kind", KINDS)
def test_case_21_when_the_daemon_stops_nothing_is_left(data_dir: Path, kind: str) -> None:
    name = token()
    with running(data_dir, env=QUICK) as daemon:
        talks = [begin(daemon, kind, name) for _ in range(2)]
        assert daemon.stop() == 0
        assert with_token(name) == set()
        daemon.start()
        for talk in talks:
            assert of_type(talk.conforms(), "turn.ended")[0]["outcome"] == "interrupted"
            assert of_type(talk.events(), "session.ended") == []


@pytest.mark.parametrize("kind", KINDS)
def test_case_21_what_a_killed_daemon_leaves_is_ended_by_the_next(
    data_dir: Path, kind: str
) -> None:
    name = token()
    with running(data_dir, env=QUICK) as daemon:
        talk = begin(daemon, kind, name)
        if kind.startswith("scrubbed"):
            eventually(lambda: written_down(data_dir) == 2, "it was written down")
        daemon.kill()
        eventually(lambda: bool(with_token(name)), "what it started is seen")
        daemon.start()
        assert with_token(name) == set()
        assert written_down(data_dir) == 0
        talk.conforms()


def written_down(data_dir: Path) -> int:
    """How many processes the next daemon would find in the store."""
    with closing(sqlite3.connect(f"file:{data_dir / 'dragoman.db'}?mode=ro", uri=True)) as db:
        (count,) = db.execute("SELECT count(*) FROM processes").fetchone()
    return int(count)


def test_case_21_an_agent_is_written_down_until_nothing_is_left_of_it(data_dir: Path) -> None:
    with running(data_dir, env=QUICK) as daemon:
        talk = Talk(daemon)
        talk.turn(HELLO)
        assert written_down(data_dir) == 1
        talk.terminate()
        assert written_down(data_dir) == 0


def test_case_21_what_others_started_is_not_touched(data_dir: Path) -> None:
    """Not even a child of the daemon that was there before it, nor its orphans."""
    name = token()
    argv = [sys.executable, "-m", Daemon.MODULE, "serve", "--port", "0", "--data-dir"]
    script = f'"$1" -S {MISDEEDS} stay {name} >/dev/null & shift; exec "$@"'
    served = subprocess.Popen(
        ["/bin/sh", "-c", script, "sh", sys.executable, *argv, str(data_dir)],
        stdout=subprocess.PIPE,
        env=os.environ | QUICK,
        text=True,
    )
    daemon = Daemon(data_dir)
    daemon.process = served
    try:
        assert served.stdout is not None
        daemon.port = int(served.stdout.readline().rpartition(":")[2])
        eventually(lambda: len(with_token(name)) == 1, "the neighbour was there")
        talk = begin(daemon, "tree", token())
        talk.terminate()
        assert len(with_token(name)) == 1
    finally:
        daemon.stop()
        (neighbour,) = with_token(name)
        os.kill(neighbour, signal.SIGKILL)


def test_case_21_the_first_process_of_a_container_reaps_what_everybody_leaves(
    data_dir: Path,
) -> None:
    inside = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    try:
        permitted = subprocess.run([*inside, "true"], capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if permitted.returncode:
        pytest.skip(f"no pid namespace can be made here: {permitted.stderr.decode()}")
    name = token()
    argv = [sys.executable, "-m", Daemon.MODULE, "serve", "--port", "0", "--data-dir"]
    served = subprocess.Popen(
        [*inside, *argv, str(data_dir)], stdout=subprocess.PIPE, env=os.environ | QUICK, text=True
    )
    daemon = Daemon(data_dir)
    daemon.process = served
    try:
        assert served.stdout is not None
        daemon.port = int(served.stdout.readline().rpartition(":")[2])
        (first,) = (each for each in descendants(daemon) if each.parent == pid_of(daemon))
        # One that comes from outside, and leaves us an orphan that ends, and one that stays.
        subprocess.run(
            ["nsenter", f"--target={first.pid}", "--pid", "--mount", "/bin/sh", "-c",
             f"true & {sys.executable} -S {MISDEEDS} daemon {name} >/dev/null"],
            check=True,
        )  # fmt: skip
        talk = begin(daemon, "daemon", token())
        talk.terminate()
        assert talk.processes() == []
        eventually(lambda: len(with_token(name)) == 1, "the guest was there")
        eventually(
            lambda: not [each for each in descendants(daemon) if each.dead],
            "the dead were reaped",
        )
    finally:
        for each in descendants(daemon):
            if each.parent == pid_of(daemon):
                os.kill(each.pid, signal.SIGTERM)
        served.wait(20)
        daemon.stop()
    assert with_token(name) == set()
