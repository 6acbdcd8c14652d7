"""A token on the command line or in a variable is gone from /proc once the daemon serves."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.cli.hide_token import without_token
from tests.daemon import Daemon

TOKEN = "a-secret-that-nobody-may-see"


@pytest.mark.parametrize("way", ["flag", "flag=", "variable"])
def test_the_given_token_opens_the_door_and_is_not_to_be_seen(data_dir: Path, way: str) -> None:
    flags = {"flag": ("--token", TOKEN), "flag=": (f"--token={TOKEN}",), "variable": ()}[way]
    env = {"DRAGOMAN_TOKEN": TOKEN} if way == "variable" else {}
    daemon = Daemon(data_dir, *flags, env=env)
    daemon.start()
    try:
        assert daemon.process is not None
        proc = Path("/proc", str(daemon.process.pid))
        shown = (proc / "cmdline").read_bytes() + (proc / "environ").read_bytes()
        assert TOKEN.encode() not in shown
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        connection = daemon.connect()
        connection.request("GET", "/v1/agents", headers=bearer)
        assert connection.getresponse().status == 200
        connection.close()
    finally:
        daemon.stop()


def test_only_the_token_is_left_out() -> None:
    given = [
        "python",
        "dragoman",
        "serve",
        "--token",
        "x",
        "--port",
        "1",
        "--token=y",
        "--token-file",
        "z",
    ]
    assert without_token(given) == [
        "python",
        "dragoman",
        "serve",
        "--port",
        "1",
        "--token-file",
        "z",
    ]
