"""Sockets of this machine, and whose they are, as far as that can be seen."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from msgspec import Struct

LISTENING = "0A"

Address = IPv4Address | IPv6Address


class Socket(Struct, frozen=True):
    """One end of a connection."""

    local: tuple[Address, int]
    remote: tuple[Address, int]
    state: str
    uid: int
    inode: str


def sockets(port: int) -> Iterator[Socket]:
    """All TCP sockets of this machine that are bound to a port."""
    suffix = f":{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            _, local, remote, state, _, _, _, uid, _, inode, *_ = line.split()
            if local.endswith(suffix):
                yield Socket(_address(local), _address(remote), state, int(uid), inode)


def holds(pid: int | str, inodes: set[str]) -> bool:
    """Whether a process has one of these sockets open."""
    wanted = {f"socket:[{inode}]" for inode in inodes}
    try:
        return any(os.readlink(entry.path) in wanted for entry in os.scandir(f"/proc/{pid}/fd"))
    except OSError:
        return False


def holder_of(port: int) -> str:
    """Who listens on this port, e.g. `pid 4242 (dragoman)`, as far as it can be seen."""
    inodes = {each.inode for each in sockets(port) if each.state == LISTENING}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and holds(entry, inodes):
            return f"pid {entry} ({_name(entry)})"
    return "a process that cannot be seen from here"


def plain(address: str) -> Address:
    """An address; one of IPv4 that is written as IPv6 is the former."""
    return _plain(ip_address(address.partition("%")[0]))


def _plain(address: Address) -> Address:
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _address(text: str) -> tuple[Address, int]:
    written, _, port = text.partition(":")
    # The kernel prints words of 32 bits in the machine's own order.
    words = [int(written[at : at + 8], 16) for at in range(0, len(written), 8)]
    packed = b"".join(word.to_bytes(4, sys.byteorder) for word in words)
    family = socket.AF_INET if len(packed) == 4 else socket.AF_INET6
    return _plain(ip_address(socket.inet_ntop(family, packed))), int(port, 16)


def _name(pid: str) -> str:
    try:
        return Path("/proc", pid, "comm").read_text().strip()
    except OSError:
        return "unknown"
