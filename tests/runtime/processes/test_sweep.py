"""No process is left, and nobody else's is harmed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator

import msgspec
import pytest

from dragoman.adapter import Spec
from dragoman.agents.mock import ADAPTER
from dragoman.runtime.processes import linux
from dragoman.runtime.processes.process_tree import process_tree

from .child import child

SLEEP = "import time; print('ready', flush=True); time.sleep(60)"


@pytest.fixture
def folder() -> str:
    """The part of a mark that names the data folder."""
    return uuid.uuid4().hex


@pytest.fixture
def started(folder: str) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Processes of the sessions s1 and s10, and of a session of another daemon."""
    marks = (f"{folder}:s1", f"{folder}:s10", f"{folder}x:s1")
    processes = {mark: _start(mark) for mark in marks}
    yield processes
    for process in processes.values():
        process.kill()
        process.communicate()


def _start(mark: str) -> subprocess.Popen[bytes]:
    env = {**os.environ, linux.MARK: mark}
    process = subprocess.Popen([sys.executable, "-c", SLEEP], env=env, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def _survivors(processes: dict[str, subprocess.Popen[bytes]]) -> list[str]:
    return [mark for mark, process in processes.items() if process.poll() is None]


def test_a_sweep_of_one_session_leaves_those_whose_names_begin_alike(
    folder: str, started: dict[str, subprocess.Popen[bytes]]
) -> None:
    assert process_tree.sweep(f"{folder}:s1") == 1
    assert _survivors(started) == [f"{folder}:s10", f"{folder}x:s1"]


def test_a_sweep_of_a_daemon_takes_all_its_sessions_and_no_neighbours(
    folder: str, started: dict[str, subprocess.Popen[bytes]]
) -> None:
    assert process_tree.sweep(f"{folder}:") == 2
    assert _survivors(started) == [f"{folder}x:s1"]


def test_a_sweep_that_finds_nothing_does_nothing(folder: str) -> None:
    assert process_tree.sweep(f"{folder}:s1") == 0


def test_case_34_sweeps_at_the_same_time_share_their_looks(folder: str) -> None:
    """Before, each read all of /proc three times by itself: what many cost grew with the square."""
    marks = [f"{folder}:s{number}" for number in range(24)]
    processes = [_start(mark) for mark in marks]
    before = process_tree.looks
    results = [process_tree.submit_sweep(mark) for mark in marks]
    assert [result.result() for result in results] == [1] * len(marks)
    assert process_tree.looks - before < len(marks)
    for process in processes:
        process.communicate()
        assert process.returncode == -signal.SIGKILL


def test_sweeps_at_the_same_time_each_find_what_is_theirs(folder: str) -> None:
    marks = [f"{folder}:s1", f"{folder}:s1", f"{folder}:s2", f"{folder}:"]
    processes = [_start(f"{folder}:s{number}") for number in (1, 2, 3)]
    results = [process_tree.submit_sweep(mark) for mark in marks]
    assert [result.result() for result in results] == [1, 1, 1, 3]
    for process in processes:
        process.communicate()
        assert process.returncode == -signal.SIGKILL


def test_a_process_is_known_by_its_pid_and_its_start() -> None:
    assert linux.start_time(os.getpid()) == linux.start_time(os.getpid())
    assert linux.start_time(os.getpid()) > linux.start_time(1)
    assert linux.state(os.getpid()) == "R"


def test_everything_that_the_mock_agent_started_ends_with_it() -> None:
    async def run() -> None:
        spec = Spec(session_id="s1", agent="mock", agent_mode="build", directory="/")
        argv = ADAPTER.launch(spec, ADAPTER.command).argv
        async with child("", argv=argv, env=dict(os.environ)) as agent:
            await agent.process.send(b'{"type":"prompt","id":"m1","text":"spawn-children"}')
            pids: list[int] = []
            while not pids:
                for line in await agent.lines(1):
                    assert isinstance(line, bytes)
                    said = msgspec.json.decode(line)
                    if said["type"] == "complete_item" and said["key"].endswith(":result"):
                        pids = [int(pid) for pid in said["content"][0]["output"].split()]
            assert agent.process.pid in {pid for pid, _ in linux.marked(agent.mark)}
            assert all(linux.state(pid) != "Z" for pid in pids)
            await agent.process.end(1)
            assert [pid for pid, _ in linux.marked(agent.mark) if linux.state(pid) != "Z"] == []

    asyncio.run(run())
