"""Case 22: a daemon that is killed while many agents run leaves none of them to its successor."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from dragoman.runtime.processes import linux
from tests.daemon import running
from tests.testing.story import Talk, lives, of_type, said

from .common import wait_for_agent

AGENTS = 20
DEADLINE_S = 5.0


def test_case_22_twenty_agents_of_a_killed_daemon_are_gone_and_each_stream_is_closed_once(
    data_dir: Path,
) -> None:
    mark = f"{linux.mark_of(data_dir)}:"
    with running(data_dir) as daemon:
        talks = [Talk(daemon) for _ in range(AGENTS)]
        for at, talk in enumerate(talks):
            talk.send("spawn-children" if at % 2 else "hang")
        for at, talk in enumerate(talks):
            wait_for_agent(daemon, talk.id, "item.completed" if at % 2 else "item.delta")
        old = [pid for pid, _ in linux.marked(mark)]
        assert len(old) >= AGENTS
        daemon.kill()
        began = time.monotonic()
        daemon.start()
        assert [pid for pid in old if lives(pid)] == []
        assert time.monotonic() - began < DEADLINE_S
        for talk in talks:
            events = talk.conforms()
            ends = of_type(events, "turn.ended")
            assert [data["outcome"] for data in ends] == ["interrupted"]
            assert events[-1]["type"] == "turn.ended"
            assert of_type(events, "session.ended") == []
        lengths = [len(talk.events()) for talk in talks]
        daemon.kill()
        daemon.start()
        assert [len(talk.events()) for talk in talks] == lengths
        assert said(talks[0].turn("echo hi")) == ["hi"]
        assert {pid for pid, _ in linux.marked(mark)} == set(talks[0].processes())


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_case_22_an_agent_ends_with_its_daemon_also_before_the_next_start(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        talk = Talk(daemon)
        talk.send("hang")
        talk.until("item.delta")
        (pid,) = talk.processes()
        daemon.kill()
        deadline = time.monotonic() + 10
        while lives(pid):
            assert time.monotonic() < deadline, "the agent works on without a daemon"
            os.sched_yield()
        daemon.start()


def test_case_22_a_copy_of_the_folder_leaves_the_agents_alone(
    data_dir: Path, tmp_path: Path
) -> None:
    with running(data_dir) as daemon:
        talk = Talk(daemon)
        talk.send("hang")
        talk.until("item.delta")
        (tmp_path / "copy").mkdir()
        with (
            closing(sqlite3.connect(data_dir / "dragoman.db")) as source,
            closing(sqlite3.connect(tmp_path / "copy" / "dragoman.db")) as copy,
        ):
            source.backup(copy)
        with running(tmp_path / "copy") as other:
            assert other.events(talk.id)[-1]["data"]["outcome"] == "interrupted"
        (pid,) = talk.processes()
        assert lives(pid)
        assert daemon.get(f"/sessions/{talk.id}")["status"] == "running"
