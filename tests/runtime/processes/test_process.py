"""An agent's process: its lines, its stderr, its input, and its end."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from dragoman.errors import AgentProcessExited, DeadlinePassed
from dragoman.facts import Launch
from dragoman.runtime.processes.process import (
    PAUSE_ABOVE_BYTES,
    PIPE_BYTES,
    READ_BYTES,
    AgentSubprocess,
)
from dragoman.wire.jsonl import Oversize

from .child import child


def test_it_gives_whole_lines_and_how_it_ended() -> None:
    async def run() -> None:
        code = "print('one'); print('two', end='', flush=True); raise SystemExit(7)"
        async with child(code) as started:
            assert await started.lines() == [b"one", b"two"]
            exit = started.process.exit()
            assert (exit.code, exit.signal, exit.expected) == (7, None, False)

    asyncio.run(run())


def test_it_tells_the_signal_that_ended_it() -> None:
    async def run() -> None:
        async with child("import os; os.kill(os.getpid(), 9)") as started:
            await started.lines()
            exit = started.process.exit()
            assert (exit.code, exit.signal, exit.expected) == (None, 9, False)

    asyncio.run(run())


def test_a_signal_is_for_the_process_alone() -> None:
    """What it started is its own to stop: SIGINT to all would end a command that it may go on."""

    async def run() -> None:
        code = (
            "import os, signal, subprocess, sys\n"
            "other = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)\n"
            "def stop(*_):\n"
            "    os.write(1, b'stopped %r\\n' % other.poll()); other.kill(); sys.exit()\n"
            "signal.signal(signal.SIGINT, stop)\n"
            "os.write(1, b'ready\\n')\n"  # `print` in a handler fails while another one prints
            "signal.pause()"
        )
        async with child(code) as started:
            assert await started.lines(1) == [b"ready"]
            started.process.send_signal("INT")
            assert await started.lines() == [b"stopped None"]
            started.process.send_signal("INT")  # it is gone: nobody else is signalled

    asyncio.run(run())


def test_it_runs_in_its_directory_with_its_environment_and_a_mark(tmp_path: Path) -> None:
    async def run() -> None:
        code = "import os; print(os.getcwd()); print(sorted(os.environ))"
        async with child(code, env={"A": "1", "B": "2"}, cwd=str(tmp_path)) as started:
            where, names = await started.lines()
            assert where == str(tmp_path).encode()
            assert isinstance(names, bytes)
            assert {"A", "B", "DRAGOMAN_MARK"} <= set(eval(names))

    asyncio.run(run())


def test_it_leads_a_group_and_a_session_and_has_files_that_can_be_opened_by_name() -> None:
    """A socket in the place of a pipe could not be."""

    async def run() -> None:
        code = (
            "import os; pid = os.getpid(); own = os.getsid(0) == os.getpgid(0) == pid\n"
            "with open('/dev/stdout', 'w') as out: print(own, file=out)\n"
            "with open('/dev/stderr', 'w') as out: print(own, file=out)\n"
            "with open('/dev/stdin') as given: print(given.readline())"
        )
        async with child(code) as started:
            assert await started.lines(1) == [b"True"]
            await started.process.send(b"hello")
            assert await started.lines(1) == [b"hello"]
            await started.lines()
            assert started.process.exit().stderr.head == "True"

    asyncio.run(run())


def test_it_answers_what_it_is_sent() -> None:
    async def run() -> None:
        code = "import sys\nfor line in sys.stdin: print(line.upper(), end='', flush=True)"
        async with child(code) as started:
            await started.process.send(b"hello")
            assert await started.lines(1) == [b"HELLO"]
            big = b"x" * 500_000
            await started.process.send(big)
            assert await started.lines(1) == [big.upper()]

    asyncio.run(run())


def test_a_line_over_the_limit_is_known_by_its_size_only() -> None:
    async def run() -> None:
        code = "print('x' * 5000); print('short')"
        async with child(code, max_line_bytes=1024) as started:
            oversize, short = await started.lines()
            assert isinstance(oversize, Oversize)
            assert (oversize.size, short) == (5000, b"short")

    asyncio.run(run())


def test_reading_pauses_while_nobody_takes_and_nothing_is_lost() -> None:
    async def run() -> None:
        total = 64 << 20
        code = f"import sys\nfor _ in range({total >> 16}): sys.stdout.write('x' * 65535 + '\\n')"
        async with child(code) as started:
            await started.quiet()
            assert (
                _written(started.process.pid) <= PAUSE_ABOVE_BYTES + 2 * PIPE_BYTES + 2 * READ_BYTES
            )
            assert not started.process.exited
            lines = await started.lines()
            assert sum(len(line) + 1 for line in lines if isinstance(line, bytes)) == total

    asyncio.run(run())


def _written(pid: int) -> int:
    """How many bytes a process has written."""
    counters = Path(f"/proc/{pid}/io").read_text()
    return int(counters.partition("wchar:")[2].split()[0])


# --- stderr ---


@pytest.mark.parametrize(
    ("count", "head", "tail"),
    [(0, 0, None), (1, 1, None), (70, 70, None), (71, 20, 50), (5000, 20, 50)],
)
def test_of_stderr_the_beginning_and_the_end_are_kept(
    count: int, head: int, tail: int | None
) -> None:
    async def run() -> None:
        code = f"import sys\nfor n in range(1, {count} + 1): sys.stderr.write(f'line {{n}}\\n')"
        async with child(code) as started:
            await started.lines()
            stderr = started.process.exit().stderr
            assert (stderr.total_lines, stderr.truncated) == (count, tail is not None)
            assert stderr.head == "\n".join(f"line {n}" for n in range(1, head + 1))
            if tail is not None:
                assert stderr.tail == "\n".join(
                    f"line {n}" for n in range(count - tail + 1, count + 1)
                )

    asyncio.run(run())


def test_a_flood_on_stderr_blocks_nobody() -> None:
    async def run() -> None:
        code = (
            "import sys\nfor _ in range(200): sys.stderr.write('y' * 100_000)\nprint('done')\n"
            "sys.stderr.buffer.write(b'\\n\\xff last')"
        )
        async with child(code) as started:
            assert await started.lines() == [b"done"]
            stderr = started.process.exit().stderr
            assert stderr.total_lines == 2
            assert isinstance(stderr.head, str)
            assert len(stderr.head) < 1 << 17
            assert stderr.head.endswith("\ufffd last")

    asyncio.run(run())


# --- Input ---


def test_input_that_nobody_reads_passes_its_deadline() -> None:
    async def run() -> None:
        async with child("import time; time.sleep(60)", send_deadline_s=0.2) as started:
            with pytest.raises(DeadlinePassed):
                await started.process.send(b"x" * (1 << 20))

    asyncio.run(run())


def test_input_of_a_process_that_is_gone_is_refused() -> None:
    async def run() -> None:
        async with child("print('bye')") as started:
            await started.lines()
            with pytest.raises(AgentProcessExited):
                await started.process.send(b"hello")

    asyncio.run(run())


def test_a_process_that_dies_while_it_is_written_to_is_noticed() -> None:
    async def run() -> None:
        code = "import sys; sys.stdin.read(1); raise SystemExit(4)"
        async with child(code) as started:
            with pytest.raises(AgentProcessExited):
                await started.process.send(b"x" * (8 << 20))

    asyncio.run(run())


def test_a_command_that_is_not_there_leaves_nothing_open() -> None:
    async def run() -> None:
        before = _pipes()
        process = AgentSubprocess(lambda: None, "m:s1", 1024)
        for argv, cwd in ((("/no/such/agent",), "/"), (("/bin/true",), "/no/such/folder")):
            with pytest.raises(AgentProcessExited):
                await process.start(Launch(argv=argv, cwd=cwd), {})
        assert _pipes() == before

    asyncio.run(run())


def _pipes() -> list[str]:
    """Our ends of pipes; other threads of the tests may open other files meanwhile."""
    found = (os.path.realpath(path) for path in Path("/proc/self/fd").iterdir())
    return sorted(path for path in found if "pipe:" in path)


# --- The end ---


def test_the_end_of_its_input_is_enough_for_one_that_listens() -> None:
    async def run() -> None:
        code = "import sys\nprint('ready', flush=True)\nsys.stdin.read()\nprint('bye')"
        async with child(code) as started:
            await started.lines(1)
            await started.process.end(5)
            assert await started.lines() == [b"bye"]
            exit = started.process.exit()
            assert (exit.code, exit.expected) == (0, True)

    asyncio.run(run())


def test_one_that_does_not_listen_is_terminated() -> None:
    async def run() -> None:
        async with child("import time; print('ready', flush=True); time.sleep(60)") as started:
            await started.lines(1)
            await started.process.end(5)
            assert started.process.exit().signal == signal.SIGTERM

    asyncio.run(run())


def test_one_that_ignores_that_is_killed_after_the_deadline() -> None:
    async def run() -> None:
        code = (
            "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "print('ready', flush=True); time.sleep(60)"
        )
        async with child(code) as started:
            await started.lines(1)
            began = time.monotonic()
            await started.process.end(0.2)
            assert time.monotonic() - began < 5
            assert started.process.exit().signal == signal.SIGKILL
            assert started.process.drained

    asyncio.run(run())


def test_a_grandchild_that_holds_the_pipes_does_not_keep_it_alive() -> None:
    async def run() -> None:
        code = (
            "import subprocess, sys\n"
            "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
            "print('bye')"
        )
        async with child(code) as started:
            assert await started.lines() == [b"bye"]
            assert started.process.exit().code == 0

    asyncio.run(run())


def test_to_end_it_twice_is_to_end_it_once() -> None:
    async def run() -> None:
        async with child("import sys; sys.stdin.read()") as started:
            await started.process.end(5)
            await started.process.end(5)
            assert started.process.exited

    asyncio.run(run())
