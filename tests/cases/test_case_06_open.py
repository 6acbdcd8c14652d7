"""Case 6: no token on an address that others reach: the daemon does not start, and says why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def refusal(data_dir: Path, *words: str, **env: str) -> str:
    """What a daemon without a token says instead of starting."""
    given = ["serve", "--port", "0", "--no-token", "--data-dir", str(data_dir), *words]
    done = subprocess.run(
        [sys.executable, "-m", "dragoman.cli.main", *given], env={**os.environ, **env},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout == ""
    assert not data_dir.exists()
    return done.stderr


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.1"])
def test_case_06_no_token_beyond_loopback_does_not_start(data_dir: Path, address: str) -> None:
    told = refusal(data_dir, "--host", address)
    assert "drop --no-token, or bind to 127.0.0.1" in told


def test_case_06_no_token_under_any_name_does_not_start(data_dir: Path) -> None:
    """Before, it started, and any web page could use it through a name that leads to loopback."""
    right = "drop --no-token, or name each host with --allow-host"
    assert right in refusal(data_dir, "--allow-host", "*")
    assert right in refusal(data_dir, "--allow-host", "box.local", "--allow-host", "*")
    assert right in refusal(data_dir, DRAGOMAN_ALLOW_HOST="*")
