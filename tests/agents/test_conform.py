"""The real agents are what their adapters declare."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

from dragoman.adapter import Adapter
from dragoman.agents import adapters
from tests.agents.live import command

REAL = [adapter for adapter in adapters().values() if adapter.package is not None]


@pytest.mark.slow
@pytest.mark.timeout(600)  # a server of OpenCode's takes seconds to start, and each probe has one
@pytest.mark.parametrize("adapter", REAL, ids=lambda adapter: adapter.id)
def test_nothing_has_drifted(adapter: Adapter) -> None:
    program = shlex.join(command(adapter))
    done = subprocess.run(
        [sys.executable, "-m", "dragoman.cli.main", "conform", adapter.id, "--command", program],
        capture_output=True,
        text=True,
        timeout=590,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 vanished\n0 unparsed\n0 rules broken\n" in done.stdout
    assert ": no drift (28 probes" in done.stdout
