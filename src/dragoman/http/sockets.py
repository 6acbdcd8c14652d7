"""Finds out which local process holds a port or a socket."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
from collections.abc import Collection, Iterator
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


def sockets(ports: Collection[int]) -> Iterator[Socket]:
    """All TCP sockets of this machine that are bound to one of these ports."""
    suffixes = tuple(f":{port:04X}" for port in ports)
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            _, local, remote, state, _, _, _, uid, _, inode, *_ = line.split()
            if local.endswith(suffixes):
                yield Socket(_address(local), _address(remote), state, int(uid), inode)


def open_sockets(table: str) -> set[str]:
    """The inodes of all sockets in a table of descriptors, as far as it can be read."""
    found: set[str] = set()
    try:
        folder = os.open(table, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return found  # its process has ended, or is not ours to look into
    try:
        for name in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # it was just closed
                kind, _, inode = os.readlink(name, dir_fd=folder).partition(":")
                if kind == "socket":
                    found.add(inode.strip("[]"))
    except OSError:
        return found
    finally:
        os.close(folder)
    return found


def holder_of(port: int) -> str:
    """Who listens on this port, e.g. `pid 4242 (dragoman)`, as far as it can be seen."""
    inodes = {each.inode for each in sockets([port]) if each.state == LISTENING}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and open_sockets(f"/proc/{entry}/fd") & inodes:
            return f"pid {entry} ({_name(entry)})"
    return "a process that cannot be seen from here"


def is_own_address(address: str) -> bool:
    """Whether an address is one of this machine's; also where that cannot be told."""
    family = socket.AF_INET6 if plain(address).version == 6 else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(plain(address)), 0))
    except OSError as error:
        return error.errno != errno.EADDRNOTAVAIL
    return True


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
