"""Kin: what we start, what becomes of it, and who is left alone."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from dragoman.runtime.processes import linux
from dragoman.runtime.processes.process_tree import Child, process_tree
from dragoman.runtime.processes.stale import kill_stale
from dragoman.store import ProcessRow
from dragoman.store.sqlite import SqliteStore
from tests.store.shelf import using

from .child import child

SLEEP = "import time; print('ready', flush=True); time.sleep(60)"
STRAY = (
    "import os, sys\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    f"os.execve(sys.executable, [sys.executable, '-c', {SLEEP!r}], {{}})"
)

SCRUBBED = (
    "def scrubbed(pid):\n"
    "    try: words = open(f'/proc/{pid}/cmdline', 'rb').read()\n"
    "    except OSError: return False\n"
    "    return words != b'' and b'fork' not in words\n"
)
"""Whether a stray has executed something else; one that has just ended has no mark either."""


@pytest.fixture
def mark() -> str:
    return f"{uuid.uuid4().hex}:s1"


def start(code: str, mark: str) -> tuple[Child, bytes]:
    """Start a piece of Python; it, and the first line that it says."""
    read, write = os.pipe()
    try:
        started = process_tree.start(
            [sys.executable, "-c", code],
            environ={},
            cwd="/",
            mark=mark,
            stdin=subprocess.DEVNULL,
            stdout=write,
            stderr=subprocess.DEVNULL,
        )
    finally:
        os.close(write)
    with open(read, "rb") as said:
        return started, said.readline()


def test_a_process_whose_start_time_differs_is_never_signalled(mark: str) -> None:
    started, _ = start(SLEEP, mark)
    assert not linux.send_signal(started.pid, started.started - 1, signal.SIGKILL)
    assert started.reap() is None
    assert linux.send_signal(started.pid, started.started, signal.SIGKILL)
    assert started.reap(5) == -signal.SIGKILL
    assert not linux.send_signal(started.pid, started.started, signal.SIGKILL)


def test_a_sweep_spares_who_has_the_pid_of_one_that_is_gone(mark: str) -> None:
    started, _ = start(SLEEP, mark)
    assert process_tree.sweep("another:s1", {started.pid: started.started - 1}) == 0
    assert started.reap() is None
    assert process_tree.sweep("another:s1", {started.pid: started.started}) == 1
    assert started.reap(5) == -signal.SIGKILL


def test_a_family_is_found_without_marks_and_across_sessions(mark: str) -> None:
    code = (
        "import os, subprocess, sys\n"
        f"grown = subprocess.Popen([sys.executable, '-c', {SLEEP!r}], env={{}},\n"
        "    start_new_session=True, stdout=subprocess.PIPE)\n"
        "grown.stdout.readline(); print(grown.pid, flush=True); grown.wait()"
    )
    started, said = start(code, mark)
    assert [pid for pid, _ in linux.marked(mark)] == [started.pid]
    assert process_tree.sweep(mark, started.family) == 2
    assert linux.look(int(said)) is None or linux.state(int(said)) == "Z"
    assert started.reap(5) == -signal.SIGKILL


def test_who_was_seen_among_the_descendants_is_known_when_the_parent_is_gone(mark: str) -> None:
    code = (
        "import os, subprocess, sys\n"
        f"grown = subprocess.Popen([sys.executable, '-c', {SLEEP!r}], env={{}},\n"
        "    start_new_session=True, stdout=subprocess.PIPE)\n"
        "grown.stdout.readline(); print(grown.pid, flush=True); grown.wait()"
    )
    started, said = start(code, mark)
    (stranger,) = (process for owner, process in process_tree.watch() if owner == mark)
    assert stranger.pid == int(said)
    assert [each for each in process_tree.watch() if each[0] == mark] == []
    assert linux.send_signal(started.pid, started.started, signal.SIGKILL)
    assert started.reap(5) == -signal.SIGKILL
    assert process_tree.sweep(mark, started.family) == 1
    assert linux.look(stranger.pid) is None or linux.state(stranger.pid) == "Z"


def test_a_process_whose_first_thread_ended_still_lives(mark: str) -> None:
    code = (
        "import ctypes, threading, time\n"
        "def run(): time.sleep(0.2); print('ready', flush=True); time.sleep(60)\n"
        "threading.Thread(target=run).start()\n"
        "ctypes.CDLL(None).pthread_exit(None)"
    )
    started, _ = start(code, mark)
    found = linux.look(started.pid)
    assert found is not None
    assert (found.state, found.dead) == ("Z", False)
    assert process_tree.sweep(mark, started.family) == 1
    assert started.reap(5) == -signal.SIGKILL


def test_exit_codes_of_our_own_are_kept_while_orphans_are_reaped() -> None:
    """In a process of its own: whoever adopts does so until it ends."""
    code = (
        "import os, subprocess, sys, time\n"
        "from dragoman.runtime.processes import linux\n"
        "from dragoman.runtime.processes.process_tree import process_tree\n"
        "process_tree.adopt()\n"
        "def start(code, mark):\n"
        "    return process_tree.start([sys.executable, '-c', code], environ={}, cwd='/',\n"
        "        mark=mark, stdin=0, stdout=1, stderr=2)\n"
        "own = start('raise SystemExit(7)', 'folder:s1')\n"
        "orphan = start('import os\\nif os.fork(): os._exit(0)', 'folder:s2')\n"
        "other = start('import time; time.sleep(60)', 'folder:s3')\n"
        "while linux.state(own.pid) != 'Z' or linux.state(orphan.pid) != 'Z': time.sleep(0.01)\n"
        "for _ in range(3): process_tree.watch()\n"
        "assert own.reap() == 7 and orphan.reap() == 0\n"
        f"stray = start({STRAY!r}, 'folder:s4')\n"
        "while linux.state(stray.pid) != 'Z': time.sleep(0.01)\n"
        "def mine(): return {p.pid for p in linux.everyone() if p.parent == os.getpid()}\n"
        "def lost(): return [p for p in mine() - {other.pid, stray.pid} if linux.state(p) != 'Z']\n"
        f"{SCRUBBED}"
        "while [scrubbed(p) for p in lost()] != [True]: time.sleep(0.01)\n"
        "process_tree.sweep('folder:s4', stray.family); stray.reap()\n"
        "assert len(lost()) == 1, 'it may be one of s3, too'\n"
        "process_tree.sweep('folder:s3', other.family); assert other.reap(5) == -9\n"
        "deadline = time.monotonic() + 5\n"
        "while mine() and time.monotonic() < deadline: process_tree.watch()\n"
        "assert mine() == set()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_what_either_of_two_may_have_started_ends_when_both_do() -> None:
    """Before, each of two that ended at once left it to the other, for a second."""
    code = (
        "import os, sys, time\n"
        "from dragoman.runtime.processes import linux\n"
        "from dragoman.runtime.processes.process_tree import process_tree\n"
        "process_tree.adopt()\n"
        "def start(code, mark):\n"
        "    return process_tree.start([sys.executable, '-c', code], environ={}, cwd='/',\n"
        "        mark=mark, stdin=0, stdout=1, stderr=2)\n"
        "one = start('import time; time.sleep(60)', 'folder:s1')\n"
        f"other = start({STRAY!r}, 'folder:s2')\n"
        "def lost():\n"
        "    return [p for p in linux.everyone() if p.parent == os.getpid() and not p.dead\n"
        "        and p.pid not in (one.pid, other.pid)]\n"
        f"{SCRUBBED}"
        "while [scrubbed(p.pid) for p in lost()] != [True]: time.sleep(0.01)\n"
        "results = [process_tree.submit_sweep(each.mark, each.family) for each in (one, other)]\n"
        "counts = [result.result() for result in results]\n"
        "assert lost() == [], lost()\n"
        "assert one.reap(5) == -9 and other.reap(5) == 0\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_a_child_has_its_three_files_and_no_other_and_nor_have_its_children() -> None:
    async def run() -> None:
        code = (
            "import os, subprocess, sys\n"
            "print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1], flush=True)\n"
            "subprocess.run([sys.executable, '-c', 'import os\\n'\n"
            "    'print(sorted(map(int, os.listdir(\"/proc/self/fd\")))[:-1])'], close_fds=False)"
        )
        async with child(SLEEP), child(code) as started:
            assert await started.lines() == [b"[0, 1, 2]"] * 2

    asyncio.run(run())


def test_the_end_of_input_is_seen_although_others_were_started_meanwhile() -> None:
    async def run() -> None:
        code = "import sys; print('ready', flush=True); sys.stdin.read(); print('bye')"
        async with child(code) as started, child(SLEEP) as later:
            await started.lines(1)
            await later.lines(1)
            began = time.monotonic()
            await started.process.end(30)
            assert time.monotonic() - began < 20
            assert started.process.exit().code == 0

    asyncio.run(run())


# --- What a killed daemon leaves ---


def test_what_was_written_down_is_ended_unless_it_is_somebody_else(
    tmp_path: Path, mark: str
) -> None:
    wanted, _ = start(SLEEP, "gone:s1")
    spared, _ = start(SLEEP, "other:s1")
    folder = mark.partition(":")[0]
    boot = linux.boot()

    async def work(store: SqliteStore) -> int:
        for each, started, when in (
            (wanted.pid, wanted.started, boot),
            (spared.pid, spared.started - 1, boot),
            (spared.pid, spared.started, "an earlier boot"),
        ):
            row = ProcessRow(mark=mark, pid=each, started=started, boot=when)
            await store.process_started(row)
        count = await kill_stale(store, folder)
        assert await store.processes() == []
        return count

    assert using(tmp_path, work) == 1
    assert wanted.reap(5) == -signal.SIGKILL
    assert spared.reap() is None
    process_tree.sweep("other:s1", spared.family)
    spared.reap(5)


def test_a_process_is_written_down_before_it_is_heard(tmp_path: Path) -> None:
    async def work(store: SqliteStore) -> None:
        async with child("print('hello')", store=store) as agent:
            assert not agent.process.waiting
            (row,) = await store.processes()
            assert (row.mark, row.pid, row.boot) == (agent.mark, agent.process.pid, linux.boot())
            assert await agent.lines() == [b"hello"]
            assert await store.processes() == []

    using(tmp_path, work)


def test_a_sweep_without_a_free_descriptor_waits_for_one() -> None:
    """Who cannot see anybody must not believe that nobody is there."""
    code = (
        "import os, resource, subprocess, sys, threading, time\n"
        "from dragoman.runtime.processes.process_tree import process_tree\n"
        "devnull = os.open('/dev/null', os.O_RDWR)\n"
        f"child = process_tree.start([sys.executable, '-c', {SLEEP!r}], environ={{}}, cwd='/',\n"
        "    mark='folder:s1', stdin=devnull, stdout=devnull, stderr=devnull)\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
        "taken = []\n"
        "try:\n"
        "    while True: taken.append(os.dup(devnull))\n"
        "except OSError: pass\n"
        "threading.Timer(0.3, lambda: [os.close(each) for each in taken]).start()\n"
        "assert process_tree.sweep('folder:s1', child.family) == 1\n"
        "assert child.reap(5) == -9\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
