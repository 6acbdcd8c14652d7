"""Who is at the other end of a connection on this machine, as far as the system tells."""

from __future__ import annotations

import asyncio
import os

from starlette.types import Scope

from dragoman.errors import PermissionDenied
from dragoman.http.port import Socket, holds, plain, sockets
from dragoman.runtime import linux
from dragoman.runtime.kin import kin


async def ensure_own_user(scope: Scope) -> None:
    """Refuse another user of this machine, who may have seen a ticket in a list of processes."""
    found = await asyncio.to_thread(_other_end, scope)
    if found is not None and found.uid != os.getuid():
        raise PermissionDenied("this ticket was made for another user of this machine")


async def ensure_no_agent(scope: Scope) -> None:
    """Refuse what comes from a process that an agent of ours started."""
    if not kin.children():
        return
    pid = await asyncio.to_thread(_agent, scope)
    if pid is not None:
        raise PermissionDenied(
            f"this came from process {pid}, which an agent has started; an agent cannot approve "
            "what it does itself",
            pid=pid,
        )


def _other_end(scope: Scope) -> Socket | None:
    """The caller's own end of the connection; None where it is on another machine."""
    if not scope["client"] or not scope["server"]:
        return None
    caller = (plain(scope["client"][0]), scope["client"][1])
    us = (plain(scope["server"][0]), scope["server"][1])
    return next(
        (each for each in sockets(caller[1]) if (each.local, each.remote) == (caller, us)), None
    )


def _agent(scope: Scope) -> int | None:
    """Which process below us is at the other end."""
    found = _other_end(scope)
    if found is None:
        return None
    parents = {process.pid: process.parent for process in linux.everyone()}
    below = (pid for pid in parents if _is_below(pid, os.getpid(), parents))
    return next((pid for pid in below if holds(pid, {found.inode})), None)


def _is_below(pid: int, root: int, parents: dict[int, int]) -> bool:
    while (parent := parents.get(pid, 0)) and parent != root:
        pid = parent
    return parent == root
