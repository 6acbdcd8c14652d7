"""What all tests of agents share."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.live import shared_daemon
from tests.agents.live_agents import AGENTS
from tests.daemon import Daemon


@pytest.fixture(scope="session", autouse=True)
def no_litter() -> None:
    """Codex's sandbox puts an empty `.git` beside our folders, and leaves it when it is killed."""
    for name in (".git", ".agents", ".codex"):
        with contextlib.suppress(OSError):
            Path(tempfile.gettempdir(), name).rmdir()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon | None]:
    """A daemon that all scenarios share; None where each is recorded by itself."""
    with shared_daemon(AGENTS, tmp_path_factory.mktemp("live")) as daemon:
        yield daemon
