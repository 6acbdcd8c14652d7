"""`dragoman record` stands between a daemon and an agent, and neither notices."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dragoman.testing.recordings.transcript import Ending, Eof, Line, Meta, PassedSignal, Run, load
from dragoman.testing.recordings.writer import Tape

RECORD = (sys.executable, "-m", "dragoman.cli.main", "record")
DEADLINE_S = 30

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start an agent (Python code) under a recorder; both are gone after the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(code: str, *flags: str, out: Path = tmp_path / "x.jsonl") -> subprocess.Popen[bytes]:
        argv = [*RECORD, f"--out={out}", *flags, "--", sys.executable, "-u", "-c", code]
        process = subprocess.Popen(
            argv, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=DEADLINE_S)


def recorded(path: Path) -> Run:
    (run,) = load(path.read_bytes())
    return run


ECHO = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line)"


def test_every_byte_passes_in_both_directions(start: Start, tmp_path: Path) -> None:
    said = b'{"a":1}\n\n\xff\xfe\r\n' + b"x" * 300_000 + b"\nno end"
    echo = start("import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())")
    out, err = echo.communicate(said, timeout=DEADLINE_S)
    assert (out, err, echo.returncode) == (said, b"", 0)
    run = recorded(tmp_path / "x.jsonl")
    for dir in ("in", "out"):
        lines = run.lines(dir)
        assert b"".join(line.data + (b"" if line.open else b"\n") for line in lines) == said
        assert [line.open for line in lines] == [False] * (len(lines) - 1) + [True]
    assert run.ending == Ending(t=run.ending.t if run.ending else 0, code=0, signal=None)


def test_nothing_waits_in_a_buffer(start: Start) -> None:
    echo = start("import os\nwhile chunk := os.read(0, 100): os.write(1, chunk)")
    assert echo.stdin is not None
    assert echo.stdout is not None
    for piece in (b"half", b" a line\n", b"more"):
        echo.stdin.write(piece)
        assert echo.stdout.read(100) == piece


def test_an_answer_is_never_recorded_before_its_question(start: Start, tmp_path: Path) -> None:
    echo = start(ECHO)
    assert echo.stdin is not None
    assert echo.stdout is not None
    for number in range(200):
        echo.stdin.write(b"%d\n" % number)
        assert echo.stdout.read(100) == b"%d\n" % number
    echo.communicate(timeout=DEADLINE_S)
    entries = recorded(tmp_path / "x.jsonl").entries
    told = [(entry.dir, int(entry.data)) for entry in entries if isinstance(entry, Line)]
    assert told == [(dir, number) for number in range(200) for dir in ("in", "out")]
    assert isinstance(entries[-1], Eof)


def test_stderr_and_exit_code_are_the_agents(start: Start, tmp_path: Path) -> None:
    agent = start("import sys; sys.stderr.write('oh no\\n'); sys.exit(3)")
    assert agent.communicate(timeout=DEADLINE_S) == (b"", b"oh no\n")
    assert agent.returncode == 3
    run = recorded(tmp_path / "x.jsonl")
    assert [line.data for line in run.lines("err")] == [b"oh no"]
    assert run.ending is not None
    assert run.ending.code == 3


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1])
def test_an_agent_that_dies_of_a_signal_takes_us_along(
    start: Start, tmp_path: Path, number: int
) -> None:
    agent = start(f"import os; os.kill(os.getpid(), {int(number)})")
    agent.communicate(timeout=DEADLINE_S)
    assert agent.returncode == -number
    ending = recorded(tmp_path / "x.jsonl").ending
    assert ending is not None
    assert (ending.code, ending.signal) == (None, number)


STUBBORN = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: (print("bye"), sys.exit(143)))
signal.signal(signal.SIGUSR1, lambda *_: print("heard"))
print("ready")
while True: signal.pause()
"""


def test_signals_are_passed_on_once_and_the_end_is_recorded(start: Start, tmp_path: Path) -> None:
    agent = start(STUBBORN)
    assert agent.stdout is not None
    assert agent.stdout.readline() == b"ready\n"
    agent.send_signal(signal.SIGUSR1)
    assert agent.stdout.readline() == b"heard\n"
    agent.send_signal(signal.SIGTERM)
    assert agent.communicate(timeout=DEADLINE_S)[0] == b"bye\n"
    assert agent.returncode == 143
    run = recorded(tmp_path / "x.jsonl")
    heard = [entry for entry in run.entries if not isinstance(entry, Eof)]
    assert [
        entry.number if isinstance(entry, PassedSignal) else entry.data.decode() for entry in heard
    ] == ["ready", signal.SIGUSR1, "heard", signal.SIGTERM, "bye"]
    assert run.ending is not None
    assert run.ending.code == 143


def test_when_it_is_killed_everything_until_then_is_on_file(start: Start, tmp_path: Path) -> None:
    agent = start(ECHO)
    assert agent.stdin is not None
    assert agent.stdout is not None
    agent.stdin.write(b"one\n")
    assert agent.stdout.readline() == b"one\n"
    agent.kill()
    agent.communicate(timeout=DEADLINE_S)
    run = recorded(tmp_path / "x.jsonl")
    assert [entry.data for entry in run.entries if isinstance(entry, Line)] == [b"one", b"one"]
    assert run.ending is None


def test_an_agent_that_ends_while_a_child_holds_its_pipes_does_not_hold_us(start: Start) -> None:
    agent = start(
        "import subprocess; child = subprocess.Popen(['sleep', '60'], start_new_session=True);"
        "print(child.pid)"
    )
    assert agent.stdout is not None
    child = int(agent.stdout.readline())
    try:
        assert agent.wait(DEADLINE_S) == 0
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_folder_gets_a_file_for_each_process(start: Start, tmp_path: Path) -> None:
    for _ in range(2):
        start("", out=tmp_path).communicate(timeout=DEADLINE_S)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["001.jsonl", "002.jsonl"]


def test_processes_one_after_another_share_a_file_and_at_once_they_do_not(
    start: Start, tmp_path: Path
) -> None:
    first = start("")
    first.communicate(timeout=DEADLINE_S)
    second = start("print('x'); input()")
    assert second.stdout is not None
    assert second.stdout.readline() == b"x\n"
    third = start("")
    third.communicate(timeout=DEADLINE_S)
    second.communicate(b"\n", timeout=DEADLINE_S)
    assert len(load((tmp_path / "x.jsonl").read_bytes())) == 2
    assert len(load((tmp_path / "x-002.jsonl").read_bytes())) == 1


def test_input_that_ends_after_the_process_is_not_recorded(tmp_path: Path) -> None:
    """The one who writes to an agent may notice its end late."""
    tape = Tape(tmp_path / "x.jsonl")
    for entry in (Meta(agent="x"), Ending(t=1.0, code=0, signal=None), Eof(t=2.0)):
        tape.write(entry)
    tape.close()
    (run,) = load(tape.path.read_bytes())
    assert run.entries == ()


def test_it_is_scrubbed_at_the_end_unless_asked_otherwise(start: Start, tmp_path: Path) -> None:
    said = f"print({str(Path.cwd())!r})"
    start(said).communicate(timeout=DEADLINE_S)
    run = recorded(tmp_path / "x.jsonl")
    assert (run.meta.cwd, run.lines("out")[0].data) == ("/workspace", b"/workspace")
    start(said, "--no-scrub", out=tmp_path / "raw.jsonl").communicate(timeout=DEADLINE_S)
    run = recorded(tmp_path / "raw.jsonl")
    assert (run.meta.cwd, run.lines("out")[0].data) == (os.getcwd(), os.getcwd().encode())


def test_a_recording_that_cannot_be_written_does_not_stop_the_agent(start: Start) -> None:
    agent = start(ECHO, out=Path("/dev/full"))
    out, err = agent.communicate(b"still here\n", timeout=DEADLINE_S)
    assert (out, agent.returncode) == (b"still here\n", 0)
    assert b"No space left" in err


@pytest.mark.parametrize("argv", [["--", "/no/such/agent"], [], ["--http=http://x", "--", "y"]])
def test_what_cannot_be_recorded_is_refused(tmp_path: Path, argv: list[str]) -> None:
    done = subprocess.run(
        [*RECORD, f"--out={tmp_path / 'x.jsonl'}", *argv], capture_output=True, check=False
    )
    assert done.returncode == (127 if "/no/such/agent" in argv else 2)
    assert b"Traceback" not in done.stderr
    assert done.stderr
