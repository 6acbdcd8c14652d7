"""A bench with the real Codex."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.codex.live.agent import CODEX
from tests.agents.live import Bench, bench, shared_daemon
from tests.daemon import Daemon


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon | None]:
    """A daemon that all scenarios share; None where each is recorded by itself."""
    with shared_daemon([CODEX], tmp_path_factory.mktemp("codex")) as daemon:
        yield daemon


@pytest.fixture
def codex(shared: Daemon | None, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A bench for one scenario: its home is its own, and so is its app server."""
    with bench(CODEX, shared, request) as made:
        yield made
