"""A bench with the real Claude Code."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.claude.live.agent import CLAUDE
from tests.agents.live import Bench, bench, shared_daemon
from tests.daemon import Daemon


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon | None]:
    """A daemon that all scenarios share; None where each is recorded by itself."""
    with shared_daemon([CLAUDE], tmp_path_factory.mktemp("claude")) as daemon:
        yield daemon


@pytest.fixture
def claude(shared: Daemon | None, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A bench for one scenario."""
    with bench(CLAUDE, shared, request) as made:
        yield made
