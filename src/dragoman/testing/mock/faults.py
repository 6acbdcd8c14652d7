"""The mock agent's faults: crashes, garbage, floods, silence."""

from __future__ import annotations

import os
import signal
import sys
import time

from dragoman.testing.mock.lines import (
    Pause,
    Script,
    call,
    complete,
    delta,
    encode,
    fresh,
    result,
    say,
    start_message,
)

STUBBORN_S = 300
"""Nothing that is hard to end lives longer than this, whoever forgets it."""

BUFFER_BYTES = 1 << 18
CHUNK_BYTES = 1 << 20

GARBAGE = (
    b"warning: this is a log line\n",
    b"invalid UTF-8: \xff\xfe\xc3\x28\n",
    b'{"type":"delta","key":"m0","text":"\xff"}\n',
    b"\xef\xbb\xbfa byte order mark\n",
    "one line\u2028not two\n".encode(),
    b"progress 10%\rprogress 20%\n",
    b'{"type":"delta\x00"}\n',
    b'{"type":"begin_turn"}{"type":"begin_turn"}\n',
    b"[" * 100_000 + b"]" * 100_000 + b"\n",
    b'{"type":"begin_turn","extra":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    b'{"type":"begin_turn","extra":"trunc\n',
)
"""Lines that cannot be decoded, each for another reason."""


def slow(count: int = 100) -> Script:
    """Says so many words, one every 10 ms."""
    message = fresh("m")
    yield start_message(message)
    for number in range(1, count + 1):
        yield delta(message, f"{number} ")
        yield Pause(0.01)
    yield complete(message)
    return None


def burst(count: int = 1000, size: int = 200) -> Script:
    """Says so many pieces of so many bytes, as fast as it can."""
    message = fresh("m")
    yield start_message(message)
    text = "All work and no play makes Jack a dull boy. " * (size // 44 + 1)
    line = encode(delta(message, text[:size]))
    lines_in_buffer = max(1, BUFFER_BYTES // len(line))
    buffer = line * min(count, lines_in_buffer)
    whole_buffers, rest = divmod(count, lines_in_buffer)
    for _ in range(whole_buffers):
        yield buffer
        yield Pause(0)
    yield line * rest
    yield complete(message)
    return None


def huge(size: int = CHUNK_BYTES) -> Script:
    """Says one line of so many bytes, and goes on."""
    message = fresh("m")
    yield start_message(message)
    head, tail = encode(delta(message, "^")).rstrip().split(b"^")
    yield head
    filling = b"x" * CHUNK_BYTES
    left = max(0, size - len(head) - len(tail))
    while left > 0:
        yield filling[:left]
        left -= CHUNK_BYTES
    yield tail + b"\n"
    yield complete(message)
    yield from say("That was a long line.")
    return None


def garbage() -> Script:
    """Writes lines that nobody can decode, and goes on."""
    yield from GARBAGE
    yield from say("That was garbage.")
    return None


def crash() -> Script:
    """Dies in the middle of a sentence, with exit code 3."""
    yield from _begin("I do not feel so w")
    sys.stderr.write("mock agent: something terrible happened\nmock agent: exit code 3\n")
    raise SystemExit(3)


def hang() -> Script:
    """Begins to speak and never ends; an interrupt is heard."""
    yield from _begin("Wait for it ")
    yield Pause(None)
    return None


def ignore_sigterm() -> Script:
    """Ignores SIGTERM, the end of its input and interrupts, for at most five minutes."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    yield from _begin(f"Process {os.getpid()} ignores you now.")
    time.sleep(STUBBORN_S)
    return None


def spawn_children() -> Script:
    """Starts processes that stay for at most five minutes, names them, and hangs."""
    message, tool = fresh("m"), fresh("t")
    yield from say("I start some processes.", id=message)
    yield from call(tool, "spawn", {"seconds": STUBBORN_S}, message=message)
    pids = [pid for leaves_session in (False, True) for pid in _family(leaves_session)]
    yield from result(tool, "".join(f"{pid}\n" for pid in pids), message=message)
    yield Pause(None)
    return None


def _begin(text: str) -> Script:
    message = fresh("m")
    yield start_message(message)
    yield delta(message, text)
    return None


def _family(leaves_session: bool) -> tuple[int, int]:
    """Start a child and its child; give their pids."""
    import subprocess  # here, since nothing else needs it and a start should be fast

    child = subprocess.Popen(
        ["/bin/sh", "-c", f"sleep {STUBBORN_S} >&- 2>&- & echo $!; exec >&- 2>&-; wait"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=leaves_session,
    )
    assert child.stdout is not None
    with child.stdout as printed:
        return child.pid, int(printed.readline())
