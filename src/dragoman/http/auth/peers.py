"""Finds out which local process is at the other end of a connection.

What an agent may not do is decided here by evidence. A process that is below us, carries our mark
or is below one of ours is an agent, whatever token it has. One that is seen elsewhere is none.
Where nobody is seen at the other end, that proves nothing: a socket can be held by a process that
is not ours to look into, or wait inside of another socket, where it is in nobody's hands.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Collection, Iterable, Iterator
from typing import Literal

from msgspec import Struct
from starlette.types import Scope

from dragoman.errors import PermissionDenied
from dragoman.http.auth.authenticator import Authenticator, Credential
from dragoman.http.sockets import Address, Socket, is_own_address, open_sockets, plain, sockets
from dragoman.runtime.processes import linux
from dragoman.runtime.processes.linux import Process
from dragoman.runtime.processes.process_tree import process_tree

_ADVICE = (
    "agents can read the daemon's own token, so use one with a name, which `dragoman token create` "
    "makes in a terminal of the daemon's user"
)
_ADVICE_WITHOUT_TOKEN = "start the daemon without --no-token, and use a token with a name"

Ends = tuple[tuple[Address, int], tuple[Address, int]]
"""A connection as its caller sees it: its own address and ours."""


class LocalPeer(Struct, frozen=True):
    """Who is at the other end."""

    kind: Literal["agent", "outsider", "unseen", "remote"]
    """Below us; elsewhere on this machine; on it, but not to be seen; on another machine."""
    pid: int | None = None


async def ensure_own_user(scope: Scope) -> None:
    """Refuse another user of this machine, who may have seen a ticket in a list of processes."""
    found = await asyncio.to_thread(_other_end, scope)
    if found is not None and found.uid != os.getuid():
        raise PermissionDenied("this ticket was made for another user of this machine")


def _other_end(scope: Scope) -> Socket | None:
    """The caller's own end of the connection; None where it is on another machine."""
    ends = _ends(scope)
    return None if ends is None else _sockets_at([ends]).get(ends)


async def ensure_person(scope: Scope, entry: Credential) -> None:
    """Refuse an agent; and, while there may be agents, whoever cannot be told from one.

    Whoever came in by a secret that no agent can read need not be seen.
    """
    if process_tree.is_childless():
        return
    ends, state = _ends(scope), scope["app"].state
    peers: Peers = state.peers
    authenticator: Authenticator = state.authenticator
    peer = LocalPeer("unseen") if ends is None else await peers.find(ends)
    if peer.kind == "agent":
        raise PermissionDenied(
            f"this came from process {peer.pid}, which an agent has started; an agent cannot "
            "approve what it does itself",
            pid=peer.pid,
        )
    if peer.kind == "unseen" and not authenticator.has_secret(entry):
        raise PermissionDenied(
            "agents are running, and the process that asks cannot be seen, so it may be an "
            f"agent's; {_ADVICE_WITHOUT_TOKEN if authenticator.is_open else _ADVICE}"
        )


def _ends(scope: Scope) -> Ends | None:
    if not scope["client"] or not scope["server"]:
        return None
    (caller, port), (us, our_port) = scope["client"], scope["server"]
    return (plain(caller), port), (plain(us), our_port)


class Peers:
    """Looks for who is at the other end of connections, once for all who wait for it.

    So a crowd of callers costs no more than one after another.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._lookups: set[Ends] = set()
        self._next: asyncio.Task[dict[Ends, LocalPeer]] | None = None

    async def find(self, ends: Ends) -> LocalPeer:
        """Who is at the other end of a connection now."""
        self._lookups.add(ends)
        if self._next is None:
            self._next = asyncio.create_task(self._look())
        return (await asyncio.shield(self._next))[ends]

    async def _look(self) -> dict[Ends, LocalPeer]:
        async with self._lock:
            # Whoever comes from now on needs a look that begins later.
            wanted, self._lookups, self._next = self._lookups, set(), None
            return await asyncio.to_thread(look, wanted)


def look(wanted: Collection[Ends]) -> dict[Ends, LocalPeer]:
    """Who is at the other end of each of these connections."""
    try:
        found = _sockets_at(wanted)
        holders = _holders({each.inode for each in found.values()})
        return {ends: _peer(ends, found.get(ends), holders) for ends in wanted}
    except OSError:  # no descriptor is free: who sees nothing must not vouch for anybody
        return dict.fromkeys(wanted, LocalPeer("unseen"))


def _sockets_at(wanted: Collection[Ends]) -> dict[Ends, Socket]:
    ports = {port for (_, port), _ in wanted}
    return {
        (each.local, each.remote): each
        for each in sockets(ports)
        if (each.local, each.remote) in wanted
    }


def _peer(ends: Ends, found: Socket | None, holders: dict[str, Process]) -> LocalPeer:
    if found is None:
        return LocalPeer("unseen" if is_own_address(str(ends[0][0])) else "remote")
    holder = holders.get(found.inode)
    line = None if holder is None else linux.lineage(holder)
    if holder is None or line is None:
        return LocalPeer("unseen")
    return LocalPeer("agent" if process_tree.has_member(line) else "outsider", holder.pid)


def _holders(inodes: set[str]) -> dict[str, Process]:
    """Who has each of these sockets open; where there are several, one that may be an agent's."""
    everyone = list(linux.everyone())
    outsiders = _outsiders(everyone)
    others = [each for each in everyone if each.pid in outsiders]
    ours = [each for each in everyone if each.pid not in outsiders and each.pid != os.getpid()]
    found: dict[str, Process] = {}
    # Threads come last: one with a table of its own is rare, and people have none.
    for process, table in itertools.chain(_tables(ours), _tables(others), _thread_tables(ours)):
        if not inodes:
            break
        held = open_sockets(table) & inodes
        found |= dict.fromkeys(held, process)
        inodes = inodes - held
    return found


def _outsiders(everyone: Iterable[Process]) -> set[int]:
    """Who descends from the first process, and not from us.

    Where a parent has ended meanwhile there is a gap, and who is behind it may be below us.
    """
    children: dict[int, list[int]] = {}
    for process in everyone:
        children.setdefault(process.parent, []).append(process.pid)
    found: set[int] = set()
    waiting = [0]
    while waiting:
        born = [pid for pid in children.pop(waiting.pop(), ()) if pid != os.getpid()]
        found.update(born)
        waiting += born
    return found


def _tables(processes: Iterable[Process]) -> Iterator[tuple[Process, str]]:
    """The tables of descriptors of processes, as they are without threads."""
    for process in processes:
        yield process, f"/proc/{process.pid}/fd"


def _thread_tables(processes: Iterable[Process]) -> Iterator[tuple[Process, str]]:
    """Those of their threads, which may have their own, or outlive the first one."""
    for process in processes:
        if process.threads > 1:
            for thread in linux.threads(process.pid):
                yield process, f"/proc/{process.pid}/task/{thread}/fd"
