"""A bench with the real OpenCode."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.live import Bench, bench, shared_daemon
from tests.agents.opencode.live.agent import OPENCODE
from tests.daemon import Daemon


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon | None]:
    """A daemon that all scenarios share; None where each is recorded by itself."""
    with shared_daemon([OPENCODE], tmp_path_factory.mktemp("opencode")) as daemon:
        yield daemon


@pytest.fixture
def opencode(shared: Daemon | None, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A bench for one scenario."""
    with bench(OPENCODE, shared, request) as made:
        yield made
