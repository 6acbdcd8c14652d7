"""A bench with the real Claude Code."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.agents.claude import ADAPTER
from tests.agents.live import RECORD, Bench, bench, chosen, command
from tests.daemon import Daemon, running


def environ(url: str, home: Path) -> dict[str, str]:
    """Claude Code's environment: nothing but the model on loopback, and nothing of ours."""
    return {
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-ant-fake",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "LANG": "C.UTF-8",
    }


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon | None]:
    """A daemon that the scenarios of a module share; None where each is recorded by itself."""
    command(ADAPTER)
    if os.environ.get(RECORD):
        yield None
        return
    with running(tmp_path_factory.mktemp("live"), env=chosen(ADAPTER)) as daemon:
        yield daemon


@pytest.fixture
def claude(
    shared: Daemon | None, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Bench]:
    """A bench for one scenario."""
    case = request.node.name.removeprefix("test_").partition("[")[0]
    with bench(ADAPTER, environ, shared, tmp_path, case) as made:
        yield made
