"""An agent that does what its prompt says: which bytes to write, piece by piece, how to end.

It speaks the dialect of the mock agent, in whose place it is started. A prompt is a list of acts:
["write", base64], ["huge", bytes], ["pause"], ["stderr", text], ["flood", lines], ["start", argv],
["exit", code], ["kill", signal], ["ignore", signal], ["deaf"], ["mute"] and ["stay"].
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from typing import Any


def main() -> None:
    """Be the agent until the input ends."""
    if last_words := os.environ.get("PUPPET_DIES"):
        # In base64: what the environment says as it is would be redacted.
        sys.stderr.write(base64.b64decode(last_words).decode())
        sys.exit(5)
    if name := os.environ.get("PUPPET_DIES_OF"):
        sys.exit(f"bad {name}: {os.environ[name]}")
    options = dict(
        argument.removeprefix("--").split("=") for argument in sys.argv if "=" in argument
    )
    if not os.environ.get("PUPPET_SILENT"):
        name = options.get("session", f"puppet-{os.getpid()}")
        write(json.dumps({"type": "bind", "native_session_id": name}).encode() + b"\n")
    for line in sys.stdin.buffer:
        command = json.loads(line)
        if command["type"] == "prompt":
            for act in json.loads(command["text"]):
                perform(*act)


def perform(act: str, given: Any = None) -> None:
    """Do one thing."""
    match act:
        case "write":
            write(base64.b64decode(given))
        case "huge":
            for _ in range(given >> 20):
                write(b"x" * (1 << 20))
            write(b"\n")
        case "pause":
            time.sleep(0.02)  # long enough for a reader to see what was written as it is
        case "stderr":
            os.write(2, given.encode())
        case "flood":
            flood(given)
        case "start":
            start(given)
        case "ignore":
            signal.signal(given, signal.SIG_IGN)
        case "exit":
            os._exit(given)
        case "kill":
            os.kill(os.getpid(), given)
        case "deaf":
            os.close(0)
        case "mute":
            os.close(1)
        case "stay":
            time.sleep(300)


def flood(lines: int) -> None:
    """Write so many numbered lines of 1 KiB to stderr, as fast as it can."""
    with open(2, "wb", buffering=1 << 20, closefd=False) as stderr:
        for number in range(1, lines + 1):
            stderr.write(b"line %d %b\n" % (number, b"x" * (1017 - len(str(number)))))


def start(argv: list[str]) -> None:
    """Run a program that says when it is ready, and does not end."""
    started = subprocess.Popen([sys.executable, "-S", *argv], stdout=subprocess.PIPE)
    assert started.stdout is not None
    assert started.stdout.readline() == b"ready\n"


def write(data: bytes) -> None:
    """Write all of it."""
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    main()
