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
    say("bind", native_session_id=resumed[0] if resumed else "corner-1")
    say("begin_turn")
    if told["text"] == "crash":
        os._exit(3)
    if told["text"] == "ignore":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    words = {**told, "pid": os.getpid(), "resumed": bool(resumed)}
    say("start_item", key="m", kind="message", role="assistant", native_id="m")
    say("delta", key="m", text=json.dumps(words))
    say("complete_item", key="m")
    say("end_turn", outcome="completed")
    if told["text"] in ("linger", "ignore"):
        signal.pause()
    if told["text"] == "fail":
        os._exit(7)


if __name__ == "__main__":
    main()
