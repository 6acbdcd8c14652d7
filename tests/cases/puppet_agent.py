"""An agent that does what its prompt says: which bytes to write, piece by piece, how to end.

It speaks the dialect of the mock agent, in whose place it is started. A prompt is a list of acts:
["write", base64], ["pause"], ["stderr", text], ["exit", code], ["kill", signal], ["deaf"] and
["stay"].
"""

from __future__ import annotations

import base64
import json
import os
import sys
import time
from typing import Any


def main() -> None:
    """Be the agent until the input ends."""
    if last_words := os.environ.get("PUPPET_DIES"):
        sys.stderr.write(last_words)
        sys.exit(5)
    options = dict(
        argument.removeprefix("--").split("=") for argument in sys.argv if "=" in argument
    )
    if not os.environ.get("PUPPET_SILENT"):
        hello = {"type": "hello", "session": options.get("session", f"puppet-{os.getpid()}")}
        write(json.dumps(hello).encode() + b"\n")
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
        case "pause":
            time.sleep(0.02)  # long enough for a reader to see what was written as it is
        case "stderr":
            os.write(2, given.encode())
        case "exit":
            os._exit(given)
        case "kill":
            os.kill(os.getpid(), given)
        case "deaf":
            os.close(0)
            os.closerange(3, 1024)  # a copy of stdin may have been inherited
        case "stay":
            time.sleep(300)


def write(data: bytes) -> None:
    """Write all of it."""
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    main()
