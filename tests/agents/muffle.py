"""An agent behind a wall: while FLAG exists, what it says after the next message is not passed on.

Where FLAG says `lose`, neither is that message; else FLAG says `passed` when it was. Usage:
muffle.py FLAG COMMAND …
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

MESSAGES = (
    b'"turn/start"', b'"turn/steer"', b'"type":"prompt"', b'"type":"user"', b'"session/prompt"',
)  # fmt: skip
"""In the line that brings a message to Codex, Pi, Claude Code, Amp or Grok."""


def main(flag: Path, command: list[str]) -> None:
    """Relay until the input ends."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    heard = threading.Event()
    heard.set()
    threading.Thread(target=pass_on, args=(process.stdout, heard), daemon=True).start()
    for line in sys.stdin.buffer:
        muffled = flag.exists() and any(method in line for method in MESSAGES)
        if muffled:
            heard.clear()
            if flag.read_text() == "lose":
                flag.write_text("lost")
                continue
        process.stdin.write(line)
        process.stdin.flush()
        if muffled:
            flag.write_text("passed")
    process.stdin.close()
    process.wait()


def pass_on(said: IO[bytes], heard: threading.Event) -> None:
    """Repeat what is said, as long as it is to be heard; who says no more is gone."""
    for line in said:
        if heard.is_set():
            os.write(1, line)
    if heard.is_set():
        os._exit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
