"""What an agent starts that wants to approve itself, and what a person's program does in earnest.

`approver.py PORT TOKEN_FILE REPORT WAY REQUEST...` says `ready` when its report is written. It
looks for the daemon's token wherever it can. Then, with the token that its user could read, it
tries to answer in the person's place. WAY says how it holds its sockets meanwhile:

plain       as everybody does
thread      in a thread with a table of descriptors of its own
leaderless  in a thread of a process whose first thread has ended
in_flight   sent away through another socket, and not received yet
undumpable  in a process that its own user may not look into
"""

from __future__ import annotations

import array
import ctypes
import http.client
import json
import os
import platform
import select
import socket
import sys
import threading
import time
from pathlib import Path

CLONE_FILES = 0x400
PR_SET_DUMPABLE = 4
EXIT = {"x86_64": 60}.get(platform.machine(), 93)
"""The system call that ends one thread, and not its process."""

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Look, try, tell, and stay until somebody ends it."""
    way = sys.argv[4]
    if way == "undumpable":
        assert libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
    if way not in ("thread", "leaderless"):
        work(way)
        return
    threading.Thread(target=in_thread, args=(way,)).start()
    if way == "leaderless":
        libc.syscall(EXIT, 0)


def in_thread(way: str) -> None:
    """Work where a look at the process does not show what is held."""
    if way == "thread":
        assert libc.unshare(CLONE_FILES) == 0
    else:
        while Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.01)
    work("plain")


def work(way: str) -> None:
    """Look, try and tell."""
    port, token_file, report, _, *requests = sys.argv[1:]
    token = Path(token_file).read_text().strip()
    answers = [ask(int(port), token, way, each) for each in requests]
    partial = Path(f"{report}.partial")
    partial.write_text(json.dumps({"seen": where(token), "answers": answers}))
    partial.replace(report)
    os.write(1, b"ready\n")
    if not os.environ.get("LEAVES"):
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
            except OSError:  # not ours to read, or its first thread has ended
                continue
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return found


def ask(port: int, token: str, way: str, request: str) -> list[object]:
    """Send what a person would; status, body and cookie of the answer."""
    method, _, target = request.partition(" ")
    target, _, body = target.partition(" ")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.connect()
    if way == "in_flight":
        # The kernel holds half a packet back for a moment: it leaves when nobody has the socket.
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request(method, target, body or None, headers)
    if way == "in_flight":
        connection.sock = sent_away(connection.sock)
    answer = connection.getresponse()
    return [answer.status, json.loads(answer.read() or b"null"), answer.getheader("Set-Cookie")]


def sent_away(held: socket.socket) -> socket.socket:
    """Put a socket into another one, and take it out again when there is something to read."""
    left, right = socket.socketpair()
    with left, right, select.epoll() as events:
        # It tells of the connection, also while no descriptor stands for it.
        events.register(held, select.EPOLLIN)
        sent = array.array("i", [held.fileno()])
        left.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, sent)])
        held.close()
        assert events.poll(30)
        _, ancillary, _, _ = right.recvmsg(1, socket.CMSG_SPACE(sent.itemsize))
        back = socket.socket(fileno=array.array("i", ancillary[0][2])[0])
        back.settimeout(30)
        return back


if __name__ == "__main__":
    main()
