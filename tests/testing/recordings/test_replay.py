"""`dragoman replay` stands in for an agent."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.recordings.transcript import Ending, Eof, Line, Meta, PassedSignal, Run, dump

REPLAY = (sys.executable, "-m", "dragoman.cli.main", "replay")
DEADLINE_S = 30


def line(**fields: Any) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()


def into(**fields: Any) -> Line:
    return Line(t=0, dir="in", data=line(**fields))


def out(**fields: Any) -> Line:
    return Line(t=0, dir="out", data=line(**fields))


def a_run(*entries: Line | Eof | PassedSignal, argv: tuple[str, ...] = (), **ending: Any) -> Run:
    how = {"code": 0, "signal": None, **ending}
    return Run(meta=Meta(argv=argv, cwd="/recorded/place"), entries=entries,
               ending=Ending(t=0.0, **how))  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "x.jsonl"


def play(file: Path, *flags: str, said: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*REPLAY, *flags], input=said, capture_output=True, timeout=DEADLINE_S, check=False,
        cwd=file.parent,
    )  # fmt: skip


CONVERSATION = a_run(
    out(type="hello", session="recorded-id", cwd="/recorded/place"),
    into(type="prompt", id="recorded-prompt", text="recorded words"),
    Line(t=0, dir="err", data=b"working"),
    out(type="echo", of="recorded-prompt", text="recorded words"),
    Line(t=0, dir="out", data=b"half a line", open=True),
    Eof(t=0),
    argv=("agent", "--session-id", "recorded-id"),
    code=3,
)


def test_it_says_what_was_recorded_with_the_names_of_today(file: Path) -> None:
    file.write_bytes(dump((CONVERSATION,)))
    said = line(type="prompt", id="prompt-of-today", text="words of today") + b"\n"
    flags = (str(file), "--session-id", "id-of-today", "--whatever", "-x")
    done = play(file, *flags, said=said)
    assert done.stdout.splitlines() == [
        line(type="hello", session="id-of-today", cwd=str(file.parent)),
        line(type="echo", of="prompt-of-today", text="words of today"),
        b"half a line",
    ]
    assert not done.stdout.endswith(b"\n")
    assert (done.stderr, done.returncode) == (b"working\n", 3)


def test_it_waits_for_what_it_was_told(file: Path) -> None:
    file.write_bytes(dump((CONVERSATION,)))
    process = subprocess.Popen(
        [*REPLAY, str(file)], bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert b"hello" in process.stdout.readline()
    process.stdin.write(line(type="prompt", id="a", text="b") + b"\n")
    assert b"echo" in process.stdout.readline()
    assert process.stdout.read(100) == b"half a line"
    assert process.poll() is None, "it waits for the end of its input"
    process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 3


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        (line(type="interrupt") + b"\n", b"other keys: id, text"),
        (b"", b"less was said than recorded"),
        ((line(type="prompt", id="a", text="b") + b"\n") * 2, b"more was said than recorded"),
    ],
)
def test_something_else_is_an_error_that_shows_both(
    file: Path, said: bytes, complaint: bytes
) -> None:
    file.write_bytes(dump((CONVERSATION,)))
    done = play(file, str(file), said=said)
    assert done.returncode == 1
    assert complaint in done.stderr
    assert b"expected: " in done.stderr
    assert b"Traceback" not in done.stderr


def test_it_dies_of_the_recorded_signal(file: Path) -> None:
    file.write_bytes(dump((a_run(code=None, signal=signal.SIGKILL),)))
    assert play(file, str(file)).returncode == -signal.SIGKILL


def test_it_awaits_a_signal_that_was_passed_on(file: Path) -> None:
    stopped = a_run(out(type="ready"), PassedSignal(t=0, number=15), out(type="bye"), code=143)
    file.write_bytes(dump((stopped,)))
    process = subprocess.Popen([*REPLAY, str(file)], bufsize=0, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.read(100) == line(type="ready") + b"\n"
    process.terminate()
    assert process.communicate(timeout=DEADLINE_S)[0] == line(type="bye") + b"\n"
    assert process.returncode == 143


def test_each_start_plays_the_next_process(file: Path, tmp_path: Path) -> None:
    file.write_bytes(dump(tuple(a_run(out(n=n)) for n in (1, 2))))
    flags = (f"--state={tmp_path / 'count'}", str(file), "--resume")
    assert [play(file, *flags).stdout for _ in range(2)] == [b'{"n":1}\n', b'{"n":2}\n']
    third = play(file, *flags)
    assert third.returncode == 1
    assert b"start 3 of a recording that holds 2 processes" in third.stderr


def test_without_a_count_several_processes_are_refused(file: Path) -> None:
    file.write_bytes(dump((a_run(), a_run())))
    done = play(file, str(file))
    assert done.returncode == 1
    assert b"--state" in done.stderr


@pytest.mark.parametrize("text", [None, b"", b"no json\n{}\n"])
def test_what_cannot_be_played_is_said(file: Path, text: bytes | None) -> None:
    if text is not None:
        file.write_bytes(text)
    done = play(file, str(file))
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert str(file).encode() in done.stderr


def test_with_timing_it_takes_its_time(file: Path) -> None:
    slow = a_run(Line(t=0.3, dir="out", data=b"late"))
    file.write_bytes(dump((slow,)))
    process = subprocess.run(
        [sys.executable, "-c",
         "import subprocess, sys, time; began = time.monotonic();"
         "subprocess.run(sys.argv[1:], check=True); print(time.monotonic() - began)",
         *REPLAY, "--timing", str(file)],
        capture_output=True, check=True,
    )  # fmt: skip
    assert float(process.stdout.split()[-1]) >= 0.3
