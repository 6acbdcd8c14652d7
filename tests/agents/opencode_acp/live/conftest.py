"""A bench with the real `opencode acp`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.live import Bench, bench, shared_daemon
from tests.agents.opencode_acp.live.agent import OPENCODE_ACP
from tests.daemon import Daemon


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon | None]:
    """A daemon that all scenarios share; None where each is recorded by itself."""
    with shared_daemon([OPENCODE_ACP], tmp_path_factory.mktemp("opencode_acp")) as daemon:
        yield daemon


@pytest.fixture
def opencode(shared: Daemon | None, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A bench for one scenario."""
    with bench(OPENCODE_ACP, shared, request) as made:
        yield made
