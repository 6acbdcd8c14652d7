"""The real agents are what their adapters declare."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence

import pytest

from dragoman.adapter import Adapter
from dragoman.agents import adapters
from dragoman.runtime.provision.install import Installer
from tests.agents.acp_agents import known_adapter
from tests.agents.live import command
from tests.daemon import AGENTS

PARTS = {
    "amp": ("text", "tool-call", "command", "interrupt", "error"),
    "claude": ("text", "file-change", "permission-reject", "queue", "lifecycle", "shared-process"),
    "codex": ("text", "file-change", "permission-reject", "queue", "lifecycle"),
    "grok": ("text", "mcp", "permission-reject", "plan-mode", "variant"),
    "opencode": ("text", "permission-reject", "resume"),
    "opencode-acp": ("text", "permission-always", "fork"),
    "pi": ("text", "file-change", "subagent", "permission-reject", "plan-mode", "queue",
           "lifecycle", "shared-process"),
    "qwen": ("text", "command", "permission-reject", "question", "resume"),
}  # fmt: skip
"""Probes that CI is content with, because each starts processes that take a second or more: a few
of what an agent has, which live scenarios see in full, and what it is declared not to have, where
that is little. With DRAGOMAN_TEST_CONFORM=all every probe is tried."""
REAL = [adapter for adapter in adapters().values() if adapter.package is not None]
REAL += [known_adapter("opencode-acp"), known_adapter("qwen")]


@pytest.mark.slow
@pytest.mark.timeout(600)  # a server of OpenCode's takes seconds to start, and each probe has one
@pytest.mark.parametrize("adapter", REAL, ids=lambda adapter: adapter.id)
def test_nothing_has_drifted(adapter: Adapter) -> None:
    conforms(adapter, command(adapter))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("agent", ["opencode", "pi"])
def test_the_oldest_version_has_not_drifted_either(agent: str) -> None:
    adapter = adapters()[agent]
    assert adapter.least_version is not None
    program = Installer(AGENTS, os.environ).command(adapter, adapter.least_version)
    if program is None:
        pytest.skip(f"{adapter.name} {adapter.least_version} is not installed beside the other")
    conforms(adapter, program)


def conforms(adapter: Adapter, command: Sequence[str]) -> None:
    """The program is what its adapter declares of its version."""
    program = shlex.join(command)
    is_whole = os.environ.get("DRAGOMAN_TEST_CONFORM") == "all"
    part = () if is_whole else PARTS.get(adapter.id, ())
    only = [word for probe in part for word in ("--only", probe)]
    words = [sys.executable, "-m", "dragoman.cli.main", "conform", adapter.id]
    done = subprocess.run(
        [*words, "--command", program, *only],
        capture_output=True,
        text=True,
        timeout=890,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 vanished\n0 unparsed\n0 rules broken\n" in done.stdout
    assert f": no drift ({len(part) or 28} probes" in done.stdout
