"""An agent that speaks the mock's dialect, for what the mock does not do.

`pace RATE SECONDS` says so many lines a second, each with the time at which it was written;
`lines COUNT BYTES` prints lines of exactly that size, as output of a tool.
It imports nothing but the standard library, so that it starts fast.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

BUFFER_BYTES = 1 << 18


def say(**message: Any) -> bytes:
    """One line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def pace(rate: int, seconds: int) -> Iterator[bytes]:
    """Deltas at a steady rate; each begins with @ and the monotonic time in nanoseconds."""
    yield say(type="start_item", key="m1", kind="message", role="assistant", native_id="m1")
    start = time.monotonic()
    for number in range(rate * seconds):
        due = start + number / rate
        while (left := due - time.monotonic()) > 0:
            time.sleep(left)
        yield say(type="delta", key="m1", text=f"@{time.monotonic_ns()} " + "x" * 80)
    yield say(type="complete_item", key="m1")


def lines(count: int, size: int) -> Iterator[bytes]:
    """Output of a tool, as fast as it is read."""
    call = {"type": "tool_call", "name": "Bash", "arguments": "", "call_id": "t1"}
    result = {"type": "tool_result", "call_id": "t1", "output": ""}
    yield say(type="start_item", key="t1", kind="tool_call", role="assistant", content=[call])
    yield say(type="start_item", key="r1", kind="tool_result", role="tool", content=[result])
    empty = len(say(type="delta", key="r1", content_type="output", text=""))
    line = say(type="delta", key="r1", content_type="output", text="x" * (size - empty))
    together = max(1, BUFFER_BYTES // size)
    for _ in range(count // together):
        yield line * together
    yield line * (count % together)
    yield say(type="complete_item", key="r1", content=[result])


def main() -> None:
    """Answer prompts until the input ends."""
    write, flush = sys.stdout.buffer.write, sys.stdout.buffer.flush
    write(say(type="bind", native_session_id="bench"))
    flush()
    for line in sys.stdin:
        command = json.loads(line)
        if command["type"] == "prompt":
            name, first, second = command["text"].split()
            write(say(type="begin_turn"))
            for said in {"pace": pace, "lines": lines}[name](int(first), int(second)):
                write(said)
                flush()
            write(say(type="end_turn", outcome="completed"))
            flush()


if __name__ == "__main__":
    main()
