"""The real Claude Code is what its adapter declares."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dragoman.agents.claude import ADAPTER
from tests.agents.live import executable


@pytest.mark.slow
def test_nothing_has_drifted() -> None:
    program = executable(ADAPTER)
    done = subprocess.run(
        [sys.executable, "-m", "dragoman.cli.main", "conform", ADAPTER.id, "--command", program],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 vanished\n0 unparsed\n0 rules broken\n" in done.stdout
    assert ": no drift (28 probes" in done.stdout
