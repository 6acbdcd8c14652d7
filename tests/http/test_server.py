"""The daemon's start: what is refused, and what is said about it."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.daemon import Daemon


def refusal(daemon: Daemon) -> str:
    """What a daemon says that does not start."""
    with pytest.raises(AssertionError) as caught:
        daemon.start()
    return str(caught.value)


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_an_address_that_is_not_this_machines_is_refused_with_what_to_change(
    data_dir: Path, host: str
) -> None:
    told = refusal(Daemon(data_dir, "--host", host))
    assert f"cannot listen on {host}:0" in told
    assert "choose another address with --host" in told
    assert "--port" not in told


def test_a_port_that_is_taken_is_refused_with_what_to_change(data_dir: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        daemon = Daemon(data_dir)
        daemon.port = taken.getsockname()[1]
        told = refusal(daemon)
    assert "the port is taken by" in told
    assert "choose another port with --port" in told


def test_where_the_daemon_cannot_say_where_it_is_it_does_not_start(data_dir: Path) -> None:
    (data_dir / "daemon.partial").mkdir(parents=True)
    told = refusal(Daemon(data_dir))
    assert f"cannot write {data_dir / 'daemon.json'}" in told
    assert "Traceback" not in told
