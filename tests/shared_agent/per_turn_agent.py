"""An agent that reads its input to the end, does one turn, and is done."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any


def say(type: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"type": type, **fields}) + "\n")
    sys.stdout.flush()


def main() -> None:
    resumed = [word.partition("=")[2] for word in sys.argv[1:] if word.startswith("--resume=")]
    told = json.loads(sys.stdin.read())  # without an end of its input it never begins
    say("hello", session=resumed[0] if resumed else "corner-1")
    say("turn_started", turn="t")
    if told["text"] == "crash":
        os._exit(3)
    if told["text"] == "ignore":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    words = {**told, "pid": os.getpid(), "resumed": bool(resumed)}
    say("message_start", id="m")
    say("text_delta", id="m", text=json.dumps(words))
    say("message_end", id="m")
    say("turn_ended", turn="t", outcome="completed")
    if told["text"] in ("linger", "ignore"):
        signal.pause()
    if told["text"] == "fail":
        os._exit(7)


if __name__ == "__main__":
    main()
