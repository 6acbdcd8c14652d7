"""Prints the way of a line to a frame: `python -m tests.trace_line`.

A daemon runs a turn of the mock agent in this process. Between two deltas every function of ours
that is called is noted, in the order of its first call, whichever thread calls it.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import dragoman
from dragoman.cli.main import main

SOURCE = str(Path(dragoman.__file__).parent) + os.sep
FIRST, LAST = 2, 6
"""Between these deltas is looked; before the first there may be more than a line."""


class Trace:
    """The functions that were called while it was on."""

    def __init__(self) -> None:
        self.calls: dict[str, None] = {}
        self.is_on = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if self.is_on and event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            module = frame.f_code.co_filename.removeprefix(SOURCE).removesuffix(".py")
            self.calls[f"{module}:{frame.f_code.co_qualname}"] = None


def talk(data_dir: Path, trace: Trace) -> None:
    """Have a turn, and look at some of its deltas."""
    while not (data_dir / "daemon.json").exists():
        time.sleep(0.05)
    port = int(json.loads((data_dir / "daemon.json").read_bytes())["url"].rpartition(":")[2])
    headers = {"Authorization": f"Bearer {(data_dir / 'token').read_text().strip()}"}

    def ask(path: str, **body: Any) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        sent = {**headers, "Content-Type": "application/json"}
        connection.request("POST", f"/v1/sessions/s{path}", json.dumps(body), sent)
        return connection.getresponse()

    work = data_dir.with_name("work")
    work.mkdir()
    assert ask("", agent="mock", directory=str(work)).status == 200
    stream = ask("/messages/stream", message="slow 30")
    deltas = 0
    while line := stream.readline():
        deltas += b'"type":"item.delta"' in line
        trace.is_on = FIRST <= deltas < LAST
        if deltas == LAST:
            break
    sys.stdout.write("\n".join(trace.calls) + "\n")
    sys.stdout.flush()
    os.kill(os.getpid(), 15)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        trace = Trace()
        threading.Thread(target=talk, args=(Path(folder) / "d", trace), daemon=True).start()
        threading.setprofile(trace)
        sys.setprofile(trace)
        sys.argv[1:] = ["serve", "--data-dir", str(Path(folder) / "d"), "--port", "0"]
        main()
