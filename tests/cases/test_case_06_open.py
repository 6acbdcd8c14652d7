"""Case 6: no token on an address that others reach: the daemon does not start, and says why."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.1"])
def test_case_06_no_token_beyond_loopback_does_not_start(data_dir: Path, address: str) -> None:
    words = ["serve", "--host", address, "--port", "0", "--no-token", "--data-dir", str(data_dir)]
    done = subprocess.run(
        [sys.executable, "-m", "dragoman.cli.main", *words],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout == ""
    assert "drop --no-token, or bind to 127.0.0.1" in done.stderr
    assert not data_dir.exists()
