"""A bench with the real Qwen Code."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.live import Bench, bench, shared_daemon
from tests.agents.qwen.live.agent import QWEN
from tests.daemon import Daemon


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon | None]:
    """A daemon that all scenarios share; None where each is recorded by itself."""
    with shared_daemon([QWEN], tmp_path_factory.mktemp("qwen")) as daemon:
        yield daemon


@pytest.fixture
def qwen(shared: Daemon | None, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A bench for one scenario."""
    with bench(QWEN, shared, request) as made:
        yield made
