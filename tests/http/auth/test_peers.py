"""Who is at the other end: told from processes that are really there."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from ipaddress import ip_address

import pytest

from dragoman.http.auth.peers import Ends, Peers, look
from dragoman.http.sockets import is_own_address

HERE = ip_address("127.0.0.1")
CALLS = """
import socket, sys
held = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
print(held.getsockname()[1], flush=True)
sys.stdin.read()
"""


@contextmanager
def called_by_a_child() -> Iterator[tuple[Ends, int]]:
    """A connection that a process below us holds, and who that is."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        child = subprocess.Popen(
            [sys.executable, "-c", CALLS, str(port)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        with child:
            assert child.stdout is not None
            own_port = int(child.stdout.readline())
            yield ((HERE, own_port), (HERE, port)), child.pid


def test_what_is_below_us_is_an_agent() -> None:
    with called_by_a_child() as (ends, pid):
        found = look([ends])[ends]
        assert (found.kind, found.pid) == ("agent", pid)


def test_many_are_found_at_once() -> None:
    async def all_of(wanted: list[Ends]) -> list[str]:
        peers = Peers()
        return [each.kind for each in await asyncio.gather(*map(peers.find, wanted))]

    with called_by_a_child() as (one, _), called_by_a_child() as (two, _):
        nobody = ((HERE, 1), (HERE, 2))
        assert asyncio.run(all_of([one, nobody, two, one])) == ["agent", "unseen", "agent", "agent"]


def test_a_local_address_without_a_socket_is_unseen_and_another_one_elsewhere() -> None:
    for address, kind in (("127.0.0.1", "unseen"), ("::1", "unseen"), ("192.0.2.1", "remote")):
        ends = ((ip_address(address), 4242), (HERE, 1))
        assert look([ends])[ends].kind == kind


@pytest.mark.parametrize(
    ("address", "is_ours"),
    [
        ("127.0.0.1", True), ("127.9.9.9", True), ("::ffff:127.0.0.1", True),
        ("192.0.2.1", False), ("::ffff:192.0.2.1", False), ("203.0.113.7", False),
    ],
)  # fmt: skip
def test_addresses_of_this_machine_are_known(address: str, is_ours: bool) -> None:
    assert is_own_address(address) is is_ours
