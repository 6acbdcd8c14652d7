"""A bench with the real Amp."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.amp.live.agent import AMP
from tests.agents.live import Bench, bench, shared_daemon
from tests.daemon import Daemon


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon | None]:
    """A daemon that all scenarios share; None where each is recorded by itself."""
    with shared_daemon([AMP], tmp_path_factory.mktemp("amp")) as daemon:
        yield daemon


@pytest.fixture
def amp(shared: Daemon | None, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A bench for one scenario."""
    with bench(AMP, shared, request) as made:
        yield made
