"""What an agent starts that wants to approve itself.

`approver.py PORT TOKEN_FILE REPORT REQUEST...` says `ready` when its report is written. It runs
below the agent, looks for the daemon's token wherever it can, and then, with the token that its
user could read, tries to answer in the person's place.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import time
from pathlib import Path


def main() -> None:
    """Look, try, tell, and stay until somebody ends it."""
    port, token_file, report, *paths = sys.argv[1:]
    token = Path(token_file).read_text().strip()
    told = {"seen": where(token), "answers": [ask(int(port), token, path) for path in paths]}
    partial = Path(f"{report}.partial")
    partial.write_text(json.dumps(told))
    partial.replace(report)
    os.write(1, b"ready\n")
    time.sleep(60)


def where(token: str) -> list[str]:
    """The environments and command lines, ours and of all above us, that hold the token."""
    found = []
    pid = os.getpid()
    while pid > 1:
        for name in ("environ", "cmdline"):
            try:
                if token.encode() in Path(f"/proc/{pid}/{name}").read_bytes():
                    found.append(f"{pid}/{name}")
            except PermissionError:
                continue
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return found


def ask(port: int, token: str, path: str) -> list[object]:
    """Send what a person would."""
    method, _, target = path.partition(" ")
    target, _, body = target.partition(" ")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request(method, target, body or None, headers)
    answer = connection.getresponse()
    return [answer.status, json.loads(answer.read() or b"null")]


if __name__ == "__main__":
    main()
