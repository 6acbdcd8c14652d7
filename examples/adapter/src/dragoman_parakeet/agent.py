"""Parakeet itself: `python -m dragoman_parakeet.agent`. Repeats each prompt, word by word."""

from __future__ import annotations

import json
import queue
import re
import sys
import threading
from typing import Any

PAUSE_S = 0.03


def say(**message: Any) -> None:
    """Write a line."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(text: str, lines: queue.Queue[dict[str, Any] | None]) -> None:
    """Repeat a prompt; `slowly:` leaves time to be stopped."""
    if text == "fail":
        say(type="done", error="it does not want to")
        return
    slowly = text.startswith("slowly: ")
    say(type="start")
    for word in re.findall(r"\s*\S+", text.removeprefix("slowly: ")):
        say(type="word", text=word)
        if slowly and is_stopped(lines):
            say(type="done", stopped=True)
            return
    say(type="done")


def is_stopped(lines: queue.Queue[dict[str, Any] | None]) -> bool:
    """Wait a moment; whether somebody says stop meanwhile."""
    try:
        line = lines.get(timeout=PAUSE_S)
    except queue.Empty:
        return False
    return line is None or line["type"] == "stop"


def main() -> None:
    """Answer one prompt after another, until stdin ends."""
    lines: queue.Queue[dict[str, Any] | None] = queue.Queue()

    def read() -> None:
        for line in sys.stdin:
            lines.put(json.loads(line))
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    say(type="ready")
    while (line := lines.get()) is not None:
        if line["type"] == "prompt":
            answer(line["text"], lines)


if __name__ == "__main__":
    main()
