"""The agent itself: JSON-RPC lines on stdin and stdout, nothing but the standard library.

`env NAME` answers with a variable, `wait` until it is cancelled or `go on` is touched in its
directory, anything else with the same words.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from typing import Any

Lines = queue.Queue[dict[str, Any] | None]


def say(**message: Any) -> None:
    """Write a message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(session: str, text: str) -> None:
    """Say a piece of the answer."""
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    say(method="session/update", params={"sessionId": session, "update": chunk})


def is_cancelled(lines: Lines, gate: str) -> bool:
    """Wait until somebody cancels, or the gate is there."""
    while not os.path.exists(gate):
        try:
            line = lines.get(timeout=0.02)
        except queue.Empty:
            continue
        if line is None or line.get("method") == "session/cancel":
            return True
    return False


def prompt(params: dict[str, Any], lines: Lines) -> str:
    """Answer a prompt; the reason why it stops."""
    session, text = params["sessionId"], params["prompt"][0]["text"]
    words = text.split()
    if words[:1] == ["env"]:
        update(session, os.environ.get(words[1], "(not set)"))
    elif words[:1] == ["wait"]:
        update(session, "waiting")
        if is_cancelled(lines, words[1]):
            return "cancelled"
    else:
        update(session, text)
    return "end_turn"


def main() -> None:
    """Serve one client, until stdin ends."""
    lines: Lines = queue.Queue()

    def read() -> None:
        for line in sys.stdin:
            lines.put(json.loads(line))
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    sessions = 0
    while (line := lines.get()) is not None:
        method, number = line.get("method"), line.get("id")
        if method == "initialize":
            say(id=number, result={"protocolVersion": 1, "agentCapabilities": {}})
        elif method == "session/new":
            sessions += 1
            say(id=number, result={"sessionId": f"{os.getpid()}-{sessions}"})
        elif method == "session/prompt":
            say(id=number, result={"stopReason": prompt(line["params"], lines)})
        elif number is not None:
            say(id=number, error={"code": -32601, "message": f"no {method}"})


if __name__ == "__main__":
    main()
